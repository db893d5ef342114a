//! `deciban predict`: a decision and posteriors for every row.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban::{Error, Result};
use deciban_data::{Files, Options, Part};
use deciban_tasks::{Form, Outside, PriorChoice, Shown, companion_note, unseen};

use super::adapt_prior::AdaptArgs;
use crate::args::{DecisionArgs, ReadArgs, UnusualArgs, are_folders};
use crate::output::{Destination, note, stream, tell};
use crate::progress::Progress;

/// Decide about new rows: decision and posterior of each class, as CSV
#[derive(Args)]
#[command(after_help = "Examples:
  deciban predict wine.deciban new.csv
  deciban predict wine.deciban new.csv --prior Barolo=0.1 --evidence
  deciban predict cancer.deciban new.csv --costs 'malignant>benign=1000' --reject 0.2
  deciban predict wine.deciban new.csv --keep id -o decisions.csv
  deciban predict spam.deciban inbox.csv --adapt-prior
  deciban predict wine.deciban new.csv --density --none-of-these 0.01
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
    /// Add log p(x), low for outliers, and its rank: the share of the model's own rows that are no more usual
    #[arg(long)]
    density: bool,
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
    /// Carry these columns of the input through, in front of the decision; of folders also `file`
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<String>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<Destination>,
    #[command(flatten)]
    decision: DecisionArgs,
    #[command(flatten)]
    unusual: UnusualArgs,
    /// Take the shares of the classes among these rows for the prior, as `deciban adapt-prior` finds them
    #[arg(long, help_heading = "Application")]
    adapt_prior: bool,
    #[command(flatten)]
    adapt: AdaptArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// The column of the files of rows.
const FILE: &str = "file";

impl Predict {
    pub fn run(self) -> Result<()> {
        let inputs = || self.data.iter().map(Path::new).chain([self.model.as_path()]);
        self.output.iter().try_for_each(|output| output.check(inputs()))?;
        let model = Model::load(&self.model)?;
        // Rows of folders have no such column, but a file each.
        let folders = are_folders(&self.data);
        let is_file = |name: &String| folders && name == FILE;
        let keep: Vec<String> = self.keep.iter().filter(|name| !is_file(name)).cloned().collect();
        let options = Options { keep, keep_file: true, ..self.read.options(None) };
        let mut files = Files::open_as(&self.data, options, model.schema())?;
        if self.adapt_prior {
            files.make_rereadable()?;
        }
        // Texts without a class are always shown with their files.
        let documents = files.documents()?.is_some();
        let mut front: Vec<String> = documents.then(|| FILE.to_string()).into_iter().collect();
        front.extend(self.keep.iter().filter(|name| !(documents && is_file(name))).cloned());
        let mut kept = 0..;
        let places: Vec<Option<usize>> = front
            .iter()
            .enumerate()
            .map(|(i, name)| if is_file(name) || (documents && i == 0) { None } else { kept.next() })
            .collect();
        let form = self.form(&model, front, &mut files)?;
        let outside = Outside::new(&model);
        let rows = |part: &Part<'_>| {
            outside.look(part.batch());
            let cell = |place: &Option<usize>, row| match place {
                None => Cow::from(part.file(row)),
                Some(place) => part.kept(*place, row),
            };
            let front = |row| places.iter().map(|place| cell(place, row)).collect();
            match self.json {
                true => form.json(&model, part.batch(), front),
                false => form.csv(&model, part.batch(), front),
            }
        };
        let _progress = Progress::watch(&mut files, "predicting");
        let mut undefined = 0;
        stream(self.output.as_ref(), |out| {
            // Not before the first rows: if these fail, nothing is printed that looks like an answer.
            let mut header = if self.json { String::new() } else { form.header() };
            files.map_parts_in_order(rows, |(text, zero_over_zero)| {
                undefined += zero_over_zero;
                out.put(&(std::mem::take(&mut header) + &text))
            })?;
            out.put(&header)
        })?;
        tell(&unseen(&files));
        tell(&outside.remarks());
        if self.density || self.unusual.is_given() {
            tell(&Vec::from_iter(companion_note(&model, Asks::Rows)));
        }
        if undefined > 0 {
            note!(
                "warning: rows impossible under every class with a prior above 0: {undefined}; \
                 their posterior is 0/0 and they have no decision (a cell is what no class ever had, or a number so far \
                 from all others that the square of its distance is beyond the largest double)"
            );
        }
        Ok(())
    }

    fn form(&self, model: &Model, front: Vec<String>, files: &mut Files) -> Result<Form> {
        let mut application = self.unusual.put(self.decision.application()?);
        if self.adapt_prior {
            application.prior = self.adapted(model, files)?;
        } else if self.adapt.labelled.is_some() {
            return Err(Error::parameter("labelled", "it is for §adapt_prior"));
        }
        Form::new(model, &application, &Shown { evidence: self.evidence, density: self.density, front })
    }

    /// The shares of the classes among the rows.
    fn adapted(&self, model: &Model, files: &mut Files) -> Result<PriorChoice> {
        if self.decision.has_prior() {
            return Err(Error::parameter("prior", "give it, or §adapt_prior"));
        }
        let progress = Progress::watch(files, "scoring");
        let adapted = self.adapt.run(model, files, &self.read)?;
        drop(progress);
        tell(&adapted.remarks);
        note!("{}", adapted.text().trim_end());
        Ok(PriorChoice::Listed(adapted.prior()?.probabilities().to_vec()))
    }
}
