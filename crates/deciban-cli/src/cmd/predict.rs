//! `deciban predict`: a decision and posteriors for every row.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use deciban::decision::Costs;
use deciban::evidence::decibans;
use deciban::learn::{Classifier, Model};
use deciban::output::Pending;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use deciban_data::{Files, Options, Part};
use deciban_tasks::numbers::number;
use deciban_tasks::table::exact;
use deciban_tasks::{Terms, unseen};
use serde_json::{Map, Value, json};

use crate::args::{DecisionArgs, ReadArgs};
use crate::output::{Destination, note, tell};
use crate::progress::Progress;

/// Decide about new rows: decision and posterior of each class, as CSV
#[derive(Args)]
#[command(after_help = "Examples:
  deciban predict wine.deciban new.csv
  deciban predict wine.deciban new.csv --prior Barolo=0.1 --evidence
  deciban predict cancer.deciban new.csv --costs 'malignant>benign=1000' --reject 0.2
  deciban predict wine.deciban new.csv --keep id -o decisions.csv
  deciban predict spam.deciban letter.txt inbox
  cat new.csv | deciban predict wine.deciban - --json")]
pub struct Predict {
    /// A model file
    model: PathBuf,
    /// Tables: files, globs, or - for standard input; for a model of one text also texts and folders of texts
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Add the log-likelihood ratio of each class against the others, in decibans
    #[arg(long)]
    evidence: bool,
    /// Add log p(x), low for outliers
    #[arg(long)]
    density: bool,
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
    /// Carry these columns of the input through, in front of the decision
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<String>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<Destination>,
    #[command(flatten)]
    decision: DecisionArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// What is printed for each row, settled once.
struct Form {
    model: Model,
    prior: Prior,
    costs: Costs,
    evidence: bool,
    density: bool,
    risk: bool,
    json: bool,
    names: Vec<String>,
    /// Whether each row is a text of its own, with the name of its file.
    documents: bool,
    /// How many columns are carried through.
    kept: usize,
}

impl Predict {
    pub fn run(self) -> Result<()> {
        let inputs = || self.data.iter().map(Path::new).chain([self.model.as_path()]);
        self.output.iter().try_for_each(|output| output.check(inputs()))?;
        let model = Model::load(&self.model)?;
        let options = Options { keep: self.keep.clone(), keep_file: true, ..self.read.options(None) };
        let mut files = Files::open_as(&self.data, options, model.schema())?;
        let form = self.form(model, files.documents()?.is_some())?;
        let _progress = Progress::watch(&mut files, "predicting");
        let target = self.output.as_ref().map_or("standard output".into(), Destination::to_string);
        // The kind alone: the system's word may name the temporary file.
        let failed = |e: std::io::Error| Error::io(&target, e.kind().into());
        let mut undefined = 0;
        let mut write_all = |out: &mut dyn Write| -> Result<()> {
            // Not before the first rows: if these fail, nothing is printed that looks like an answer.
            let mut header = match form.json {
                true => String::new(),
                false => form.names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(",") + "\n",
            };
            files.map_parts_in_order(
                |part| form.rows(part),
                |(text, zero_over_zero)| {
                    undefined += zero_over_zero;
                    let text = std::mem::take(&mut header) + &text;
                    out.write_all(text.as_bytes()).map_err(failed)
                },
            )?;
            out.write_all(header.as_bytes()).and_then(|()| out.flush()).map_err(failed)
        };
        match self.output.as_ref().and_then(Destination::path) {
            None => write_all(&mut std::io::BufWriter::new(std::io::stdout().lock()))?,
            Some(path) => {
                let mut file = Pending::new(path)?;
                write_all(&mut file)?;
                file.commit()?;
            }
        }
        tell(&unseen(&files));
        if undefined > 0 {
            note!(
                "warning: rows impossible under every class with a prior above 0: {undefined}; \
                 their posterior is 0/0 and they have no decision"
            );
        }
        Ok(())
    }

    fn form(&self, model: Model, documents: bool) -> Result<Form> {
        let message = match model {
            Model::Generative(_) => None,
            Model::Logistic(_) | Model::NoisyOr(_) | Model::LeastSquares(_) => {
                Some("this model knows classes given rows, not how usual a row is: fit a generative one")
            }
            Model::Calibrated(_) => Some("calibrated evidence is no density: use the model from before calibration"),
        };
        if let Some(message) = message.filter(|_| self.density) {
            return Err(Error::parameter("density", message));
        }
        let schema = model.schema();
        let mut names: Vec<String> =
            documents.then(|| "file".to_string()).into_iter().chain(self.keep.clone()).collect();
        names.push("decision".into());
        names.extend(schema.classes().iter().map(|c| format!("p({c})")));
        if self.evidence {
            names.extend(schema.classes().iter().map(|c| format!("evidence({c})")));
        }
        if self.density {
            names.push("log p(x)".into());
        }
        if self.decision.has_costs() {
            names.push("risk".into());
        }
        let Terms { prior, costs, has_costs } = self.decision.application()?.to_model(&model)?;
        let (evidence, density, json) = (self.evidence, self.density, self.json);
        Ok(Form {
            prior,
            costs,
            evidence,
            density,
            risk: has_costs,
            json,
            names,
            documents,
            kept: self.keep.len(),
            model,
        })
    }
}

impl Form {
    /// The text of some rows, and how many of them have no posterior.
    fn rows(&self, part: &Part<'_>) -> Result<(String, usize)> {
        let evidence = self.model.evidence(part.batch())?;
        let posterior = evidence.posterior(&self.prior);
        let decisions = posterior.decide(&self.costs);
        let density = if self.density { evidence.log_density(&self.prior) } else { Vec::new() };
        let mut text = String::with_capacity(decisions.len() * 24 * self.names.len());
        for (row, decision) in decisions.iter().enumerate() {
            let action = decision.action.map(|a| self.costs.actions()[a].as_str());
            let mut numbers = posterior.row(row);
            if self.evidence {
                numbers.extend((0..evidence.classes()).map(|k| decibans(evidence.llr(row, k))));
            }
            numbers.extend(density.get(row));
            numbers.extend(self.risk.then_some(decision.risk));
            let file = self.documents.then(|| Cow::from(part.file(row)));
            let kept = file.into_iter().chain((0..self.kept).map(|place| part.kept(place, row)));
            if self.json {
                let values = kept.map(|cell| json!(cell)).chain([json!(action)]).chain(numbers.into_iter().map(number));
                let object: Map<String, Value> = self.names.iter().cloned().zip(values).collect();
                text += &Value::Object(object).to_string();
            } else {
                for cell in kept {
                    text += &quoted(&cell);
                    text.push(',');
                }
                text += &quoted(action.unwrap_or_default());
                for x in numbers {
                    text.push(',');
                    if !x.is_nan() {
                        text += &exact(x);
                    }
                }
            }
            text.push('\n');
        }
        Ok((text, posterior.undefined()))
    }
}

/// A CSV field.
pub fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_string(),
    }
}
