//! What `deciban update` and `deciban forget` have in common: a model or statistics file, and rows that come or go.

use std::path::{Path, PathBuf};

use clap::Args;
use deciban::data::Schema;
use deciban::file::Archive;
use deciban::learn::Statistics;
use deciban::output::Held;
use deciban::{Error, Result};
use deciban_data::Files;
use deciban_tasks::{Change, Kept, Receipt, Remark};
use serde_json::json;

use super::fit::is_statistics;
use crate::args::ReadArgs;
use crate::output::{Destination, note, say, tell};
use crate::progress::Progress;

/// Which rows, and where the result goes.
#[derive(Args)]
pub struct ChangeArgs {
    /// A model file with statistics (`fit --keep-statistics`), or a statistics file
    #[arg(value_name = "MODEL|STATS")]
    file: PathBuf,
    /// Labelled rows: tables (files, globs, or - for standard input), statistics files, or models with statistics
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Tables with the other rows of the model, all of them: those it has learned from before, or those that stay.
    /// Members of a fused model that learn from rows are refitted with them
    #[arg(long, value_name = "TABLE")]
    rows: Vec<String>,
    /// Write the result to this file; by default the first file is replaced
    #[arg(long, short, value_name = "FILE")]
    output: Option<Destination>,
    /// Print the receipt as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

impl ChangeArgs {
    pub fn run(self, change: Change) -> Result<()> {
        if let Some(output) = &self.output {
            let inputs = self.data.iter().chain(&self.rows).map(Path::new).chain([self.file.as_path()]);
            output.check(inputs.chain(self.read.labels()))?;
        }
        // Two changes of one file at a time would lose one of them.
        let held = match &self.output {
            Some(_) => None,
            None => {
                let waits = || note!("waiting for another process that changes {}", self.file.display());
                Some(Held::new(&self.file, waits)?)
            }
        };
        let (receipt, after, bytes) = match is_statistics(&self.file.display().to_string()) {
            true => {
                if !self.rows.is_empty() {
                    return Err(Error::parameter("rows", "a statistics file learns from statistics: drop the option"));
                }
                let before = Statistics::load(&self.file)?;
                let mut after = before.clone();
                self.statistics(&before)?.iter().try_for_each(|rows| change.apply(&mut after, rows))?;
                let bytes = after.to_bytes()?;
                (Receipt::between(&before, &after, change), after, bytes)
            }
            false => {
                let kept = Kept::load(&self.file)?;
                let mut changed = kept.changed(change, &self.statistics(kept.source()?.statistics())?)?;
                if !self.rows.is_empty() {
                    let files = self.all_rows(change, changed.schema())?;
                    changed = changed.with_rows(&files)?;
                }
                let (kept, receipt) = changed.finish()?;
                (receipt, kept.source()?.statistics().clone(), kept.to_bytes()?)
            }
        };
        if let Some(output) = &self.output {
            output.write(&bytes)?;
        }
        if let Some(held) = held {
            held.replace(&bytes)?;
        }
        let place = self.output.as_ref().map_or(self.file.display().to_string(), Destination::to_string);
        match self.json {
            true => say!("{:#}", json!(receipt)),
            false => {
                let rows: f64 = after.summary().rows().iter().sum();
                note!("{place}: {rows} rows, {} columns", after.schema().columns().len());
                note!("{}", receipt.text().trim_end());
            }
        }
        Ok(())
    }

    /// All rows that the model is to know: the other ones, and those that come.
    fn all_rows(&self, change: Change, schema: &Schema) -> Result<Files> {
        let new: &[String] = if change == Change::Update { &self.data } else { &[] };
        let is_table = |path: &&String| *path != "-" && Archive::kind_of(path).is_none();
        if let Some(path) = new.iter().find(|path| !is_table(path)) {
            return Err(Error::parameter("rows", format!("members that learn from rows need a table, not `{path}`")));
        }
        let tables = [new, &self.rows].concat();
        let mut files = Files::open_more(&tables, self.read.options(Some(schema.target())), schema)?;
        files.make_rereadable()?;
        Ok(files)
    }

    /// The statistics of the rows, summarised as those of `like`.
    fn statistics(&self, like: &Statistics) -> Result<Vec<Statistics>> {
        let (mut all, mut tables) = (Vec::new(), Vec::new());
        for path in &self.data {
            match Archive::kind_of(path).as_deref() {
                Some("model") => all.push(Kept::load(path)?.source()?.single()?.clone()),
                _ if is_statistics(path) => all.push(Statistics::load(path)?),
                _ => tables.push(path.clone()),
            }
        }
        if !tables.is_empty() {
            let schema = like.schema();
            let mut files = Files::open_more(&tables, self.read.options(Some(schema.target())), schema)?;
            let progress = Progress::watch(&mut files, "reading");
            let rows = like.of_more(&files)?;
            drop(progress);
            tell(&Remark::warnings(files.warnings()).collect::<Vec<_>>());
            if rows.summary().rows().iter().sum::<f64>() == 0.0 {
                return Err(Error::Classes("there are no labelled rows".into()));
            }
            all.push(rows);
        }
        Ok(all)
    }
}
