//! `deciban stats`: rows to a statistics file.

use std::path::Path;

use clap::Args;
use clap::builder::PossibleValuesParser;
use deciban::learn::{Generative, Named};
use deciban::{Error, Result};
use deciban_tasks::sql::{self, Dialect, Query};
use deciban_tasks::{Learning, collect, describe};

use crate::args::{ColumnArgs, GenerativeArgs, ReadArgs, one_of};
use crate::output::{Destination, bytes, note, tell};
use crate::progress::Progress;

/// Summarise labelled rows into a statistics file, to merge, forget and fit from
#[derive(Args)]
#[command(after_help = "Examples:
  deciban stats hospital-a.csv --target diagnosis -o a.stats
  deciban stats big.csv --target class --covariance diagonal --folds 5 -o big.stats
  deciban stats --sql duckdb --table wines --target type --number alcohol,hue
  deciban stats --from-sql result.csv -o wines.stats

Statistics hold means and covariances (with --covariance diagonal only variances), never rows.
Any model of the same columns can be fitted from them. --folds keeps them apart by fold, which
--shrinkage auto and --pooling auto need. Options that do not shape statistics are for `fit`.

--sql prints the queries by which a database makes the statistics itself, so that no row leaves it:
one for the columns of --number, one for each of --category. Save their results as CSV with a header
and give them to --from-sql, with the same --model and --covariance.")]
pub struct Stats {
    /// Tables: files, globs, or - for standard input
    #[arg(required_unless_present_any = ["sql", "from_sql"], value_name = "DATA")]
    data: Vec<String>,
    /// Write the statistics to this file
    #[arg(long, short, value_name = "FILE", required_unless_present = "sql")]
    output: Option<Destination>,
    /// Print the queries by which a database makes the statistics: duckdb, postgres or sqlite
    #[arg(long, value_name = "DIALECT", value_parser = one_of(&Dialect::ALL), requires_all = ["table", "target"],
          conflicts_with_all = ["data", "from_sql", "output"])]
    sql: Option<Dialect>,
    /// The table that --sql asks, or a query in brackets
    #[arg(long, value_name = "TABLE", requires = "sql")]
    table: Option<String>,
    /// Make the statistics of the results of these queries: CSV files with a header
    #[arg(long, value_name = "RESULT", num_args = 1.., conflicts_with = "data")]
    from_sql: Vec<String>,
    /// The kind of model that the statistics are for
    #[arg(long, value_parser = generative(), default_value = "gaussian")]
    model: String,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    generative: GenerativeArgs,
    #[command(flatten)]
    read: ReadArgs,
}

impl Stats {
    pub fn run(self) -> Result<()> {
        let request = Learning {
            model: self.model.clone(),
            options: self.generative.options()?,
            sort_classes: self.columns.sorts_classes(&self.read),
            ..Learning::default()
        };
        if let (Some(dialect), Some(table)) = (self.sql, &self.table) {
            return self.ask(&request, dialect, table);
        }
        // The argument parser asks for it.
        let Some(output) = &self.output else { return Ok(()) };
        output.check(self.data.iter().chain(&self.from_sql).map(Path::new).chain(self.read.labels()))?;
        if !self.from_sql.is_empty() {
            return self.answered(&request, output);
        }
        let mut files = self.columns.open(&self.data, &self.read)?;
        let progress = Progress::watch(&mut files, "reading");
        let (statistics, remarks) = collect(&request, &mut files)?;
        drop(progress);
        output.write(&statistics.to_bytes()?)?;
        tell(&remarks);
        note!("{}", describe::statistics(&output.to_string(), &statistics).trim_end());
        Ok(())
    }

    /// Prints the queries.
    fn ask(&self, request: &Learning, dialect: Dialect, table: &str) -> Result<()> {
        let (numbers, categories) = self.columns.for_database()?;
        let diagonal = sql::is_diagonal(request, &numbers)?;
        let query = Query {
            dialect,
            table: table.into(),
            target: self.columns.target().unwrap_or_default().into(),
            numbers,
            categories,
            weight: self.read.weight().map(String::from),
            diagonal,
        };
        for statement in query.statements()? {
            // As it is: the names are those of the database.
            bytes(format!("{statement}\n\n").as_bytes())?;
        }
        Ok(())
    }

    /// Makes the statistics of the results.
    fn answered(&self, request: &Learning, output: &Destination) -> Result<()> {
        let read = |path: &String| match std::fs::read_to_string(path) {
            Ok(text) => Ok((path.clone(), text)),
            Err(e) => Err(Error::io(path, e)),
        };
        let results = self.from_sql.iter().map(read).collect::<Result<Vec<_>>>()?;
        let statistics = sql::statistics(request, &results)?;
        output.write(&statistics.to_bytes()?)?;
        note!("{}", describe::statistics(&output.to_string(), &statistics).trim_end());
        Ok(())
    }
}

/// The names that `--model` takes.
fn generative() -> PossibleValuesParser {
    PossibleValuesParser::new(Generative::MODELS.iter().map(|(name, _)| *name))
}
