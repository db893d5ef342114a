//! `deciban fuse`: several fitted models become one, with weights from rows that none of them has seen.

use std::path::{Path, PathBuf};

use clap::Args;
use deciban::Result;
use deciban::model::Model;
use deciban_tasks::{Fusible, Fusing};

use crate::args::{ReadArgs, open_for_model};
use crate::output::{Destination, note, say, tell};
use crate::progress::Progress;

/// Fuse fitted models into one by labelled rows that none of them was fitted on
#[derive(Args)]
#[command(after_help = "Examples:
  deciban fuse gaussian.deciban logistic.deciban --rows held-out.csv -o fused.deciban
  deciban fuse a.deciban b.deciban c.deciban --rows 'held-out/*.parquet' -o fused.deciban
  deciban fuse a.deciban b.deciban --rows held-out.csv -o fused.deciban --json

The evidence of the fused model is the sum of the members' evidence, each multiplied by a weight of at
least 0, plus an offset for each class. Weights and offsets have the least log loss on the rows.

The models need the same target, classes and columns, and may be calibrated. A model that is fused
itself, as `fit` makes them by default, is opened: its members take part one by one. A model with next
to no weight is left out. The rows must be new to all models: rows that a model was fitted on make it look
better than it is, and give it too much weight. Where no rows can be held back,
`deciban fit --model fused` learns members and weights by cross-validation.")]
pub struct Fuse {
    /// Two or more model files
    #[arg(required = true, num_args = 2.., value_name = "MODEL")]
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
    read: ReadArgs,
}

impl Fuse {
    pub fn run(self) -> Result<()> {
        let inputs = self.rows.iter().map(Path::new).chain(self.models.iter().map(PathBuf::as_path));
        self.output.check(inputs.chain(self.read.labels()))?;
        let load = |path: &PathBuf| Ok((path.display().to_string(), Model::load(path)?));
        let fusible = Fusible::new(self.models.iter().map(load).collect::<Result<_>>()?)?;
        let mut files = open_for_model(&self.rows, &self.read, fusible.schema(), true)?;
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
        note!("{}: {} models, weights from {} rows", self.output, self.models.len(), fused.rows);
        note!("{}", fused.text());
        Ok(())
    }
}
