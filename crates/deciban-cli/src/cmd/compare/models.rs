//! `deciban compare MODEL MODEL... DATA`: models as they are, judged by the same rows.

use std::path::Path;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use deciban::data::Schema;
use deciban::file::Archive;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::{Error, Result};
use deciban_tasks::Application;
use deciban_tasks::comparison::{Judged, Judgement};

use super::Compare;
use crate::args::open_for_model;
use crate::output::say;
use crate::progress::Progress;

/// Options that make sense beside model files, and beside LLRs; others are about learning.
const TAKEN: [&str; 6] = ["data", "json", "seed", "prior", "costs", "reject"];
const TAKEN_BY_LLRS: [&str; 4] = ["llr", "unit", "target", "positive"];

/// Whether a path is a model file. What is called one is opened as one, so that its own fault is told.
fn is_model(path: &str) -> bool {
    let named = Path::new(path).extension().is_some_and(|e| e == "deciban");
    named || Archive::kind_of(path).as_deref() == Some("model")
}

/// The model files that stand first, and the rest.
pub fn split(data: &[String]) -> (&[String], &[String]) {
    data.split_at(data.iter().take_while(|path| is_model(path)).count())
}

/// Refuses options of learning beside model files and LLRs.
pub fn check(program: &mut clap::Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(("compare", given)) = matches.subcommand() else { return Ok(()) };
    let data: Vec<&String> = given.get_many("data").into_iter().flatten().collect();
    let told = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let (has_llrs, has_models) = (told("llr"), data.first().is_some_and(|path| is_model(path)));
    let (what, taken) = match (has_llrs, has_models) {
        (false, false) => return Ok(()),
        (true, _) => ("columns of log-likelihood ratios", &TAKEN_BY_LLRS[..]),
        (false, true) => ("model files", &[][..]),
    };
    let Some(command) = program.find_subcommand_mut("compare") else { return Ok(()) };
    let is_foreign = |arg: &&clap::Arg| {
        let id = arg.get_id().as_str();
        told(id) && !TAKEN.contains(&id) && !taken.contains(&id) && arg.get_help_heading() != Some("Reading")
    };
    let foreign = command.get_arguments().find(is_foreign).map(|arg| arg.get_id().as_str().replace('_', "-"));
    match foreign {
        Some(id) => {
            let message = format!("--{id} is for learning, and {what} are compared as they are: drop the option");
            Err(command.error(ErrorKind::ArgumentConflict, message))
        }
        None => Ok(()),
    }
}

impl Compare {
    /// Judges model files and tells the best and how much worse the others are.
    pub(super) fn models(&self, models: &[String], data: &[String]) -> Result<()> {
        if let Some(late) = data.iter().find(|path| is_model(path)) {
            return Err(Error::Usage(format!("{late}: model files stand before the tables")));
        }
        if let ([one], _) = (models, data) {
            return Err(Error::Usage(format!("{one} is one model only: give another, or `deciban evaluate` it")));
        }
        if data.is_empty() {
            return Err(Error::Usage("give a table after the model files: rows that none of them has seen".into()));
        }
        if data.iter().any(|path| path == "-") {
            return Err(Error::Usage("-: every model reads the rows, standard input is read once: give a file".into()));
        }
        let first = Model::load(&models[0])?.schema().clone();
        let application = self.decision.application()?;
        let mut judged = Vec::new();
        for file in models {
            let one = (|| {
                let model = Model::load(file)?;
                Judged::order((file, model.schema()), (&models[0], &first))?;
                let mut rows = open_for_model(data, &self.read, model.schema(), true)?;
                let _progress = Progress::watch(&mut rows, "comparing");
                Judged::new((file, &model), (&models[0], &first), models.len(), &application, &rows)
            })();
            judged.push(one.map_err(|error| match error {
                // What names the model already, and what is not the fault of this one.
                Error::File { .. } | Error::Io { .. } => error,
                error if error.is_usage() || error.to_string().starts_with(file.as_str()) => error,
                error => Error::Schema(format!("{file}: {}", error.marked())),
            })?);
        }
        self.say(judged, &first, &application)
    }

    /// Judges columns of LLRs in the same way.
    pub(super) fn llrs(&self) -> Result<()> {
        if let Some(model) = self.data.iter().find(|path| is_model(path)) {
            return Err(Error::Usage(format!("{model}: with --llr no model is compared: give tables alone")));
        }
        let (models, mut rows) =
            self.llr.open(&self.data, &self.read, self.columns.target(), self.positive.as_deref())?;
        let [(name, first), _, ..] = &models[..] else {
            return Err(Error::parameter("llr", "give two columns or more, or `deciban evaluate` the one"));
        };
        let (first, application) = ((name.as_str(), first.schema()), self.decision.application()?);
        let _progress = Progress::watch(&mut rows, "comparing");
        let judge = |(name, model): &(String, Model)| {
            Judged::new((name.as_str(), model), first, models.len(), &application, &rows)
        };
        let judged = models.iter().map(judge).collect::<Result<_>>()?;
        self.say(judged, first.1, &application)
    }

    fn say(&self, judged: Vec<Judged>, first: &Schema, application: &Application) -> Result<()> {
        let judgement = Judgement::new(judged, first, application, self.folds.seed())?;
        match self.json {
            true => say!("{:#}", judgement.json()),
            false => say!("{}", judgement.text().trim_end()),
        }
        Ok(())
    }
}
