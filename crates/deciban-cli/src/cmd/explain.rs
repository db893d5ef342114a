//! `deciban explain`: why a row is decided as it is, as a ledger in decibans.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use deciban::data::Batch;
use deciban::evidence::decibans;
use deciban::explain::{Entry, Order, explain};
use deciban::learn::{Classifier, Model};
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::args::{PriorArg, ReadArgs, one_of, open_for_model};
use crate::output::say;
use crate::progress::Progress;
use crate::table::{Table, number};

/// Explain decisions: what each feature of a row says, in decibans, adding up to the posterior odds
#[derive(Args)]
#[command(after_help = "Examples:
  deciban explain wine.deciban new.csv
  deciban explain wine.deciban wine.csv --row 84 --classes Barolo,Grignolino
  deciban explain spam.deciban messages.tsv --no-header --no-quotes --row 3
  deciban explain wine.deciban wine.csv --summary

Ten decibans are odds of 10 to 1. The ledger of a row begins with the prior odds of two classes, the
most probable and the next unless --classes names them; the total is the posterior log-odds. Columns
that a model takes jointly are averaged over all orders in which they could become known.")]
pub struct Explain {
    /// A model file
    model: PathBuf,
    /// Tables: files, globs, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    data: Vec<String>,
    /// Only these rows, counted from 1
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "summary")]
    row: Vec<u64>,
    /// For the first class over the second, in every row
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    classes: Option<Vec<String>>,
    /// The prior: empirical, uniform, or CLASS=P,...; the model's unless given
    #[arg(long)]
    prior: Option<PriorArg>,
    /// How jointly modelled columns share what they say: averaged over orders, or as in the file
    #[arg(long, value_parser = one_of(&Order::ALL), default_value = "average")]
    order: Order,
    /// Features that are shown of each row; the others are folded into one line
    #[arg(long, value_name = "N", default_value_t = 12)]
    most: usize,
    /// Instead of rows, the features that say most over all rows
    #[arg(long)]
    summary: bool,
    /// Print one JSON object per row, or one of the summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// What is explained, settled once.
struct Task {
    model: Model,
    prior: Prior,
    pair: Option<(usize, usize)>,
    order: Order,
    rows: Vec<u64>,
}

/// The ledger of a row, in decibans.
struct Row {
    number: u64,
    of: usize,
    over: usize,
    posterior: [f64; 2],
    prior: f64,
    entries: Vec<(Entry, f64)>,
    total: f64,
}

impl Explain {
    pub fn run(self) -> Result<()> {
        let model = Model::load(&self.model)?;
        let mut files = open_for_model(&self.data, &self.read, model.schema(), false)?;
        let schema = model.schema();
        let class = |name: &String| {
            let message = || format!("there is no class `{name}`: there are {}", schema.classes().join(", "));
            schema.class(name.trim()).ok_or_else(|| Error::parameter("--classes", message()))
        };
        let pair = match self.classes.as_deref() {
            None => None,
            Some([a, b]) if a != b => Some((class(a)?, class(b)?)),
            Some(_) => return Err(Error::parameter("--classes", "give two classes: A,B")),
        };
        let prior = match &self.prior {
            Some(prior) => prior.resolve(schema, model.empirical())?,
            None => model.prior().clone(),
        };
        let task = Task { prior, pair, order: self.order, rows: self.row.clone(), model };
        let _progress = Progress::watch(&mut files, "explaining");
        if self.summary {
            let mut summary = Summary::default();
            files.map_in_order(
                |batch| task.explain(batch),
                |rows| {
                    rows.iter().for_each(|row| summary.add(row));
                    Ok(())
                },
            )?;
            return summary.print(self.json, self.most);
        }
        let mut found = 0;
        files.map_in_order(
            |batch| task.explain(batch),
            |rows| {
                for row in rows {
                    let classes = task.model.schema().classes();
                    match (self.json, found) {
                        (true, _) => say!("{}", row.json(classes)),
                        (false, 0) => say!("{}", row.text(classes, self.most).trim_end()),
                        (false, _) => say!("\n{}", row.text(classes, self.most).trim_end()),
                    }
                    found += 1;
                }
                Ok(())
            },
        )?;
        match self.row.len() {
            asked if found < asked => {
                Err(Error::parameter("--row", format!("{} of the rows are not there", asked - found)))
            }
            _ => Ok(()),
        }
    }
}

impl Task {
    fn explain(&self, batch: &Batch<'_>) -> Result<Vec<Row>> {
        if self.rows.is_empty() {
            return self.part(batch);
        }
        let wanted = (0..batch.rows()).filter(|&row| self.rows.contains(&(batch.row_number(row) + 1)));
        let mut all = Vec::new();
        for row in wanted {
            all.extend(self.part(&batch.slice(row..row + 1))?);
        }
        Ok(all)
    }

    fn part(&self, batch: &Batch<'_>) -> Result<Vec<Row>> {
        let explanations = explain(&self.model, batch, self.order)?;
        let posterior = self.model.evidence(batch)?.posterior(&self.prior);
        let row = |(i, explanation): (usize, deciban::explain::Explanation)| {
            let p = posterior.row(i);
            let (of, over) = self.pair.unwrap_or_else(|| two_best(posterior.log_row(i)));
            let ledger = explanation.ledger(of, over, &self.prior);
            let total = decibans(ledger.total());
            let said = ledger.entries.iter().map(|nats| decibans(*nats));
            Row {
                number: batch.row_number(i) + 1,
                of,
                over,
                posterior: [p[of], p[over]],
                prior: decibans(ledger.prior),
                entries: explanation.entries.into_iter().zip(said).collect(),
                total,
            }
        };
        Ok(explanations.into_iter().enumerate().map(row).collect())
    }
}

/// The most probable class and the next; the first two where no class is possible.
fn two_best(log_p: &[f64]) -> (usize, usize) {
    let mut order: Vec<usize> = (0..log_p.len()).collect();
    order.sort_by(|&a, &b| log_p[b].partial_cmp(&log_p[a]).unwrap_or(std::cmp::Ordering::Equal));
    (order[0], order[1])
}

impl Row {
    fn json(&self, classes: &[String]) -> Value {
        let there = self.entries.iter().filter(|(entry, _)| !entry.missing);
        let feature =
            |(entry, said): &(Entry, f64)| json!({ "name": entry.name, "value": entry.value, "decibans": said });
        json!({
            "row": self.number,
            "of": classes[self.of],
            "over": classes[self.over],
            "posterior": self.posterior,
            "prior": self.prior,
            "features": there.map(feature).collect::<Vec<_>>(),
            "missing": self.entries.iter().filter(|(e, _)| e.missing).map(|(e, _)| &e.name).collect::<Vec<_>>(),
            "total": self.total,
        })
    }

    fn text(&self, classes: &[String], most: usize) -> String {
        let mut ranked: Vec<&(Entry, f64)> = self.entries.iter().filter(|(entry, _)| !entry.missing).collect();
        ranked.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.name.cmp(&b.0.name)));
        // One feature more takes no more room than a line about it.
        let shown = if ranked.len() <= most + 1 { ranked.len() } else { most };
        let mut lines: Vec<(String, String, f64)> = vec![("prior odds".into(), String::new(), self.prior)];
        lines.extend(ranked[..shown].iter().map(|(entry, said)| (entry.name.clone(), entry.value.clone(), *said)));
        if shown < ranked.len() {
            let rest = ranked[shown..].iter().map(|(_, said)| said).sum();
            lines.push((format!("{} other features", ranked.len() - shown), String::new(), rest));
        }
        lines.push(("total".into(), String::new(), self.total));
        let p = self.posterior.map(|p| number(p, 4));
        let (of, over) = (&classes[self.of], &classes[self.over]);
        let mut text =
            format!("row {}: {of} over {over}, posterior {} and {}\n{}", self.number, p[0], p[1], bars(&lines));
        let missing: Vec<&str> = self.entries.iter().filter(|(e, _)| e.missing).map(|(e, _)| e.name.as_str()).collect();
        if !missing.is_empty() {
            text += &format!("missing: {}\n", missing.join(", "));
        }
        text
    }
}

/// Two decimals and a sign, which 0 has too.
fn signed(x: f64) -> String {
    let text = format!("{x:+.2}");
    if text == "-0.00" { "+0.00".into() } else { text }
}

/// Aligned lines with a bar each: what speaks against the first class to the left, for it to the right.
fn bars(lines: &[(String, String, f64)]) -> String {
    const WIDTH: usize = 24;
    const LONGEST: usize = 40;
    let cut = |text: &str| match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST - 1).chain(['…']).collect::<String>(),
        false => text.to_string(),
    };
    let rows: Vec<[String; 3]> =
        lines.iter().map(|(name, value, said)| [cut(name), cut(value), signed(*said)]).collect();
    let width = |j: usize| rows.iter().map(|row| row[j].chars().count()).max().unwrap_or(0);
    let (names, values, numbers) = (width(0), width(1), width(2));
    let finite = lines.iter().map(|line| line.2.abs()).filter(|x| x.is_finite());
    let longest = finite.fold(f64::MIN_POSITIVE, f64::max);
    let length = |x: f64| if x.is_nan() { 0 } else { ((x.abs() / longest).min(1.0) * WIDTH as f64).round() as usize };
    // Room to the left only for what speaks against.
    let left = lines.iter().filter(|line| line.2 < 0.0).map(|line| length(line.2)).max().unwrap_or(0);
    let mut text = String::new();
    for (row, line) in rows.iter().zip(lines) {
        let [name, value, said] = row;
        let bar = "█".repeat(length(line.2));
        let drawn = if line.2 < 0.0 { format!("{bar:>left$}│") } else { format!("{:>left$}│{bar}", "") };
        text += format!("  {name:<names$}  {value:>values$}  {said:>numbers$}  {drawn}").trim_end();
        text.push('\n');
    }
    text
}

/// Sums over rows of what features say.
#[derive(Default)]
struct Summary {
    rows: f64,
    features: HashMap<String, [f64; 3]>,
}

impl Summary {
    fn add(&mut self, row: &Row) {
        self.rows += 1.0;
        for (entry, said) in row.entries.iter().filter(|(entry, _)| !entry.missing) {
            let sums = self.features.entry(entry.name.clone()).or_default();
            sums[0] += said.abs();
            sums[1] += said;
            sums[2] += 1.0;
        }
    }

    fn print(self, json: bool, most: usize) -> Result<()> {
        let mut ranked: Vec<(String, [f64; 3])> = self.features.into_iter().collect();
        ranked.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]).then_with(|| a.0.cmp(&b.0)));
        let rows = self.rows.max(1.0);
        if json {
            let feature = |(name, sums): &(String, [f64; 3])| json!({ "name": name, "mean_abs_decibans": sums[0] / rows, "mean_decibans": sums[1] / rows, "rows": sums[2] });
            let features: Vec<Value> = ranked.iter().map(feature).collect();
            say!("{:#}", json!({ "rows": self.rows, "features": features }));
            return Ok(());
        }
        let mut table = Table::new(["feature", "mean |decibans|", "mean decibans", "rows"]);
        for (name, sums) in ranked.iter().take(most) {
            let [size, mean] = [sums[0] / rows, sums[1] / rows].map(|x| format!("{x:.2}"));
            table.row([name.clone(), size, mean, format!("{}", sums[2])]);
        }
        say!("{}", table.to_string().trim_end());
        if ranked.len() > most {
            say!("... and {} more", ranked.len() - most);
        }
        Ok(())
    }
}
