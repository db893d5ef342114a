//! `deciban adapt-prior`: how common the classes are among rows without labels.

use std::path::PathBuf;

use clap::Args;
use deciban::Result;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban_data::Files;
use deciban_tasks::{Adapted, Adapting, Input, adapt_prior};

use crate::args::{ReadArgs, open_for_model, open_to_judge};
use crate::output::{say, tell};
use crate::progress::Progress;

/// Estimate how common the classes are among rows without labels
#[derive(Args)]
#[command(after_help = "Examples:
  deciban adapt-prior spam.deciban inbox.csv
  deciban adapt-prior spam.deciban inbox.csv --labelled checked.csv
  deciban adapt-prior spam.deciban inbox.csv --json

A model knows how common the classes were in its training data. Where it is used they may be more or
less common: the evidence of the new rows says how common they are there, if within each class the
rows look as they did in training. `deciban predict --adapt-prior` estimates the shares and uses them.

The estimate is only as good as the evidence. Fit with --calibrate logistic --folds 20, or give some
labelled rows with --labelled: they calibrate the evidence, correct the shares, and widen the
intervals by what so few labelled rows leave open.")]
pub struct AdaptPrior {
    /// A model file
    model: PathBuf,
    /// Tables: files, globs, or - for standard input; for a model of one text also texts and folders of texts
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    #[command(flatten)]
    adapt: AdaptArgs,
    /// Print the shares as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// How shares are estimated.
#[derive(Args)]
#[command(next_help_heading = "Shares of the classes")]
pub struct AdaptArgs {
    /// A table of labelled rows that the model was not fitted on, to calibrate and correct the shares
    #[arg(long, value_name = "FILE")]
    pub labelled: Option<String>,
    /// The share of intervals that should hold the true share
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    confidence: f64,
}

impl AdaptPrior {
    pub fn run(self) -> Result<()> {
        let model = Model::load(&self.model)?;
        let mut files = open_for_model(&self.data, &self.read, model.schema(), false)?;
        let progress = Progress::watch(&mut files, "scoring");
        let adapted = self.adapt.run(&model, &files, &self.read)?;
        drop(progress);
        tell(&adapted.remarks);
        match self.json {
            true => say!("{:#}", adapted.json()?),
            false => say!("{}", adapted.text().trim_end()),
        }
        Ok(())
    }
}

impl AdaptArgs {
    /// Estimates the shares among rows.
    pub fn run(&self, model: &Model, rows: &Files, read: &ReadArgs) -> Result<Adapted> {
        let labelled = match &self.labelled {
            Some(file) => Some(open_to_judge(std::slice::from_ref(file), read, model.schema())?),
            None => None,
        };
        let labelled = labelled.as_ref().map(|rows| rows as &dyn Input);
        adapt_prior(model, rows, labelled, &Adapting { confidence: self.confidence, ..Adapting::default() })
    }
}
