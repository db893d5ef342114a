//! `deciban calibrate`: makes a model's evidence mean what it says, by rows it was not fitted on.

use std::path::{Path, PathBuf};

use clap::Args;
use deciban::Result;
use deciban::calibrate::{
    Calibration, Calibrator, Held, HeldScores, Method, Piece, Rescored, ScoredRows, cllr, min_cllr,
};
use deciban::data::Batch;
use deciban::decision::Costs;
use deciban::evaluate::Scored;
use deciban::learn::Classifier;
use deciban::model::{CalibratedModel, Model};
use deciban_data::Files;
use serde_json::json;

use crate::args::{LlrArgs, LlrClassArgs, ReadArgs, one_of, open_for_model};
use crate::output::{Destination, say};
use crate::progress::Progress;
use deciban_tasks::PriorChoice;
use deciban_tasks::describe;
use deciban_tasks::scored::{Keeping, collect, labelled};
use deciban_tasks::table::number;

/// Calibrate a model's evidence on labelled rows that it was not fitted on
#[derive(Args)]
#[command(after_help = "Examples:
  deciban calibrate cancer.deciban held-out.csv -o calibrated.deciban
  deciban calibrate cancer.deciban held-out.csv --method pav -o calibrated.deciban
  deciban calibrate digits.deciban held-out.csv --method temperature -o calibrated.deciban
  deciban calibrate --llr score --target same_speaker scores.csv -o calibrated.deciban

Where no rows can be held back, `deciban fit --calibrate` learns the map by cross-validation.
The result is a model file like others: predict, evaluate and the rest use its calibrated evidence.
Calibrated evidence is still free of any prior.

With --llr no model is needed: a column holds log-likelihood ratios, from wherever they are. The
result is a model of this column.")]
pub struct Calibrate {
    /// A model file; with --llr the first table
    model: PathBuf,
    /// Tables: files, globs, or - for standard input
    #[arg(required_unless_present = "llr", value_name = "DATA")]
    data: Vec<String>,
    /// A line for the LLR, pool adjacent violators, one scale, or beta calibration
    #[arg(long, value_parser = one_of(&Method::ALL), default_value = "logistic")]
    method: Method,
    /// The prior at which the calibration should be best: uniform, empirical, or CLASS=P,...
    #[arg(long, default_value = "uniform")]
    prior: PriorChoice,
    /// Rows of every class added at random: 1 for pav, so that no evidence is infinite, else 0
    #[arg(long, value_name = "A")]
    pseudo_count: Option<f64>,
    /// Write the calibrated model to this file
    #[arg(long, short, value_name = "FILE")]
    output: Destination,
    /// Print the calibration as JSON
    #[arg(long)]
    json: bool,
    /// Keep the evidence of rows up to so much memory, in MiB; where it takes more, rows are scored
    /// several times
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    memory: usize,
    #[command(flatten)]
    llr: LlrArgs,
    #[command(flatten)]
    classes: LlrClassArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Calibrate {
    pub fn run(self) -> Result<()> {
        let inputs = self.data.iter().map(Path::new).chain([self.model.as_path()]);
        self.output.check(inputs.chain(self.read.labels()))?;
        let (model, mut files) = self.open()?;
        let schema = model.schema().clone();
        let classes = schema.classes();
        files.make_rereadable()?;
        let progress = Progress::watch(&mut files, "scoring");
        let costs = Costs::zero_one(classes);
        let score = |x: &Batch<'_>| model.evidence(x);
        let collected = collect(&files, classes, model.prior(), &costs, Keeping::All(self.memory << 20), score, None)?;
        let prior = self.prior.resolve(&schema, model.prior(), model.empirical())?;
        let calibrator =
            Calibrator { method: self.method, prior: Some(prior), pseudo_count: self.pseudo_count, bounded: false };
        let count = collected.evaluation.rows();
        let (map, [before, after, least]) = match &collected.rows {
            Some(rows) => {
                let map = calibrator.fit(rows.evidence(), rows.truth(), Some(rows.weights()), classes)?;
                let costs = costs_of(&Held::new(rows.evidence(), rows.truth(), rows.weights()), &map)?;
                (map, costs)
            }
            None => {
                let score = |batch: &Batch<'_>| {
                    let rows = labelled(batch, model.evidence(batch)?, None)?;
                    let (truth, weights) = (rows.truth().to_vec(), rows.weights().to_vec());
                    Ok(Piece {
                        evidence: rows.evidence().clone(),
                        truth,
                        weights,
                        folds: Vec::new(),
                        cells: Vec::new(),
                    })
                };
                let rows = Rescored { engine: &files, classes: classes.len(), score };
                let map = calibrator.fit_rows(&rows, classes, None)?;
                let costs = costs_of(&rows, &map)?;
                (map, costs)
            }
        };
        drop(progress);
        let text = describe::calibration(&map, classes);
        // The map is that of whole rows.
        let whole = |rows: &Scored| HeldScores::new(rows, &vec![schema.columns().len() as u32; rows.rows()], 0);
        let scores = collected.rows.as_ref().map(whole).transpose()?.flatten();
        let calibrated = Model::Calibrated(CalibratedModel::new(model, map.clone())?.with_scores(scores)?);
        self.output.write(&calibrated.to_bytes()?)?;
        if self.json {
            let report = json!({
                "calibration": describe::calibration_json(&map),
                "rows": count,
                "cllr_before": before,
                "cllr": after,
                "min_cllr": least,
            });
            say!("{report:#}");
            return Ok(());
        }
        crate::output::note!("{}: {} calibration by {} rows", self.output, self.method.name(), count);
        crate::output::note!("{text}");
        let [was, is, least] = [before, after, least].map(|x| number(x, 4));
        crate::output::note!("Cllr on these rows: {was} before, {is} after, {least} at best (bits)");
        Ok(())
    }
}

impl Calibrate {
    /// The model without any calibration, and the rows.
    fn open(&self) -> Result<(Model, Files)> {
        if self.llr.is_given() {
            let tables = [&[self.model.display().to_string()], &self.data[..]].concat();
            let (target, positive) = (self.classes.target.as_deref(), self.classes.positive.as_deref());
            let (_, model, files) = self.llr.open_one(&tables, &self.read, target, positive)?;
            return Ok((model, files));
        }
        let model = match Model::load(&self.model)? {
            Model::Calibrated(calibrated) => {
                crate::output::note!(
                    "note: {} is calibrated already: the new calibration replaces it",
                    self.model.display()
                );
                calibrated.into_model()
            }
            model => model,
        };
        let files = open_for_model(&self.data, &self.read, model.schema(), true)?;
        Ok((model, files))
    }
}

/// Cllr before calibration, after it, and at best, in bits.
fn costs_of(rows: &impl ScoredRows, map: &Calibration) -> Result<[f64; 3]> {
    let [before, after] = cllr(rows, std::slice::from_ref(map), 0.0)?;
    Ok([before, after, min_cllr(rows, Some(map))?.min(before)])
}
