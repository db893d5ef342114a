//! `deciban fuse`: several fitted models become one, with weights from rows that none of them has seen.

use std::path::{Path, PathBuf};

use clap::Args;
use deciban::Result;
use deciban::model::Model;
use deciban_data::Files;
use deciban_tasks::{Fusible, Fusing};

use crate::args::{LlrArgs, LlrClassArgs, ReadArgs, open_for_model};
use crate::output::{Destination, note, say, tell};
use crate::progress::Progress;

/// Fuse fitted models into one by labelled rows that none of them was fitted on
#[derive(Args)]
#[command(after_help = "Examples:
  deciban fuse gaussian.deciban logistic.deciban --rows held-out.csv -o fused.deciban
  deciban fuse a.deciban b.deciban c.deciban --rows 'held-out/*.parquet' -o fused.deciban
  deciban fuse a.deciban b.deciban --rows held-out.csv -o fused.deciban --json
  deciban fuse --llr one --llr other --target same --rows scores.csv -o fused.deciban

The evidence of the fused model is the sum of the members' evidence, each multiplied by a weight of at
least 0, plus an offset for each class. Weights and offsets have the least log loss on the rows.

The models need the same target, classes and columns, and may be calibrated. A model that is fused
itself, as `fit` makes them by default, is opened: its members take part one by one. A model with next
to no weight is left out. The rows must be new to all models: rows that a model was fitted on make it look
better than it is, and give it too much weight. Where no rows can be held back,
`deciban fit --model fused` learns members and weights by cross-validation.

With --llr no models are needed: each column holds the log-likelihood ratios of one system.")]
pub struct Fuse {
    /// Two or more model files
    #[arg(required_unless_present = "llr", conflicts_with = "llr", num_args = 2.., value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Tables of labelled rows: files, globs, or - for standard input; repeat the option for more
    #[arg(long, required = true, value_name = "DATA")]
    rows: Vec<String>,
    /// Write the fused model to this file
    #[arg(long, short, value_name = "FILE")]
    output: Destination,
    /// Print members, weights, offsets and log losses as JSON
    #[arg(long)]
    json: bool,
    /// The number of folds by which log losses are cross-validated
    #[arg(long, value_name = "K", default_value_t = Fusing::default().folds)]
    folds: usize,
    /// The seed by which rows are dealt into folds
    #[arg(long, value_name = "N", default_value_t = Fusing::default().seed)]
    seed: u64,
    /// Memory that the evidence of the rows may take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = Fusing::default().memory >> 20)]
    memory: usize,
    #[command(flatten)]
    llr: LlrArgs,
    #[command(flatten)]
    classes: LlrClassArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Fuse {
    pub fn run(self) -> Result<()> {
        let inputs = self.rows.iter().map(Path::new).chain(self.models.iter().map(PathBuf::as_path));
        self.output.check(inputs.chain(self.read.labels()))?;
        let (fusible, mut files) = self.open()?;
        files.make_rereadable()?;
        let progress = Progress::watch(&mut files, "scoring");
        let request = Fusing { folds: self.folds, seed: self.seed, memory: self.memory << 20 };
        let fused = fusible.fuse(&files, &request)?;
        drop(progress);
        self.output.write(&fused.model.to_bytes()?)?;
        tell(&fused.remarks);
        if self.json {
            say!("{:#}", fused.json());
            return Ok(());
        }
        note!("{}: {} models, weights from {} rows", self.output, fused.members.len(), fused.rows);
        note!("{}", fused.text());
        Ok(())
    }

    /// Opens the models that are fused, and the rows.
    fn open(&self) -> Result<(Fusible, Files)> {
        if self.llr.is_given() {
            let (target, positive) = (self.classes.target.as_deref(), self.classes.positive.as_deref());
            let (models, files) = self.llr.open(&self.rows, &self.read, target, positive)?;
            return Ok((Fusible::new(models)?, files));
        }
        let load = |path: &PathBuf| Ok((path.display().to_string(), Model::load(path)?));
        let fusible = Fusible::new(self.models.iter().map(load).collect::<Result<_>>()?)?;
        let files = open_for_model(&self.rows, &self.read, fusible.schema(), true)?;
        Ok((fusible, files))
    }
}
