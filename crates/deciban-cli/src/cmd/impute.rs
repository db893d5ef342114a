//! `deciban impute`: missing cells of a table filled by a model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use deciban::Result;
use deciban::data::{Cells, Kind, Rows, Tile};
use deciban::impute::How;
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban_data::{Files, Options, Part, peek_columns};
use deciban_tasks::numbers::number;
use deciban_tasks::{FilledCell, Imputing, PriorChoice, companion_note, fills, quoted, unseen};
use serde_json::{Map, Value, json};

use crate::args::ReadArgs;
use crate::output::{Destination, note, stream, tell};
use crate::progress::Progress;

/// Fill the missing cells of a table by a model that describes rows
#[derive(Args)]
#[command(after_help = "Examples:
  deciban impute titanic.deciban titanic.csv -o whole.csv
  deciban impute titanic.deciban titanic.csv --draw --seed 7 > one-of-many.csv
  deciban impute wine.deciban new.csv --prior uniform --json

A number is filled by its mean given the other cells of its row, a category by its most probable
level; --draw draws both instead, so that the spread of the columns stays what it was. Where the row
has its class, in the column of the target, the cells come from that class; otherwise from all
classes, by their posterior probability. The table is written as CSV with the same columns and rows;
columns that the model does not know, the target, and cells that are there stay as they are.")]
pub struct Impute {
    /// A model file
    model: PathBuf,
    /// Tables: files, globs, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Fill each row by a draw from the model
    #[arg(long)]
    draw: bool,
    /// The seed of --draw
    #[arg(long, default_value_t = 0, requires = "draw")]
    seed: u64,
    /// The prior of rows without a class: empirical, uniform, or CLASS=P,...; by default the model's
    #[arg(long)]
    prior: Option<PriorChoice>,
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<Destination>,
    #[command(flatten)]
    read: ReadArgs,
}

/// How rows are written.
struct Form<'a> {
    task: Imputing<'a>,
    /// All columns of the table.
    names: Vec<String>,
    /// The place of each in the model, if it has it.
    places: Vec<Option<usize>>,
    json: bool,
}

impl Impute {
    pub fn run(self) -> Result<()> {
        let inputs = || self.data.iter().map(Path::new).chain([self.model.as_path()]);
        self.output.iter().try_for_each(|output| output.check(inputs()))?;
        let model = Model::load(&self.model)?;
        fills(&model)?;
        let schema = model.schema();
        let names = peek_columns(&self.data, &self.read.options(None))?;
        let target = names.iter().find(|name| *name == schema.target()).map(String::as_str);
        let options = self.read.options(target);
        let options = Options { keep: names.clone(), unlabelled: true, unknown_classes: true, ..options };
        let mut files = Files::open_as(&self.data, options, schema)?;
        let prior = self.prior.clone().unwrap_or_default().resolve(schema, model.prior(), model.empirical())?;
        let how = if self.draw { How::Draw(self.seed) } else { How::Mean };
        let place = |name: &String| schema.columns().iter().position(|column| column.name == *name);
        let places = names.iter().map(place).collect();
        let form = Form { task: Imputing { model: &model, prior, how }, places, names, json: self.json };
        let _progress = Progress::watch(&mut files, "filling");
        let mut counts = vec![0u64; schema.columns().len()];
        stream(self.output.as_ref(), |out| {
            // Not before the first rows: if these fail, nothing is printed that looks like a table.
            let mut header = match self.json || !self.read.has_header() {
                true => String::new(),
                false => form.names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(",") + "\n",
            };
            files.map_parts_in_order(
                |part| form.rows(part),
                |(text, filled)| {
                    filled.into_iter().for_each(|column| counts[column] += 1);
                    out.put(&(std::mem::take(&mut header) + &text))
                },
            )?;
            out.put(&header)
        })?;
        tell(&unseen(&files));
        tell(&Vec::from_iter(companion_note(&model, Asks::Cells)));
        let of_column = |(column, count): (usize, &u64)| format!("{count} of {}", schema.columns()[column].name);
        let filled: Vec<String> = counts.iter().enumerate().filter(|(_, n)| **n > 0).map(of_column).collect();
        match filled.is_empty() {
            true => note!("no cell was missing"),
            false => note!("filled cells: {}", deciban::shown(&filled.join(", "))),
        }
        Ok(())
    }
}

impl Form<'_> {
    /// The text of some rows, and the columns of the cells that were filled.
    fn rows(&self, part: &Part<'_>) -> Result<(String, Vec<usize>)> {
        let (batch, schema) = (part.batch(), self.task.model.schema());
        let filled = self.task.fill(batch)?;
        let cells: HashMap<(usize, usize), &FilledCell> =
            filled.iter().map(|cell| ((cell.row, cell.column), cell)).collect();
        let numbers: Vec<Option<Tile>> = match self.json {
            true => self.places.iter().map(|place| place.and_then(|c| self.numbers(part, c))).collect(),
            false => Vec::new(),
        };
        let mut text = String::new();
        for row in 0..batch.rows() {
            let filled = |place: usize| self.places[place].and_then(|column| cells.get(&(row, column)));
            if self.json {
                let value = |place: usize| match (filled(place), &numbers[place]) {
                    (Some(cell), _) => cell.json(schema),
                    (None, Some(numbers)) => number(numbers.column(0)[row]),
                    (None, None) => json!(part.kept(place, row)),
                };
                let object: Map<String, Value> =
                    self.names.iter().cloned().enumerate().map(|(place, name)| (name, value(place))).collect();
                text += &Value::Object(object).to_string();
            } else {
                for place in 0..self.names.len() {
                    if place > 0 {
                        text.push(',');
                    }
                    text += &match filled(place) {
                        Some(cell) => quoted(&cell.text),
                        None => quoted(&part.kept(place, row)),
                    };
                }
            }
            text.push('\n');
        }
        Ok((text, filled.into_iter().map(|cell| cell.column).collect()))
    }

    /// The numbers of a column, if it holds plain ones.
    fn numbers(&self, part: &Part<'_>, column: usize) -> Option<Tile> {
        let schema = self.task.model.schema();
        let own = &schema.columns()[column];
        let plain =
            matches!(own.kind, Kind::Number | Kind::Count) && !schema.spelling().columns.contains_key(&own.name);
        let mut tile = Tile::default();
        let all = Rows::Range(0..part.batch().rows());
        plain.then(|| Cells::new(part.batch(), &[column], all).read_numbers(&mut tile)).and_then(Result::ok)?;
        Some(tile)
    }
}
