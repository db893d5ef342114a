//! Ledgers of rows: what `explain` prints and `plot --kind ledger` draws.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use deciban::data::{Batch, Schema};
use deciban::evidence::decibans;
use deciban::explain::{Entry, Order};
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::posterior::Prior;
use deciban::{Error, Result, shown};
use serde::Serialize;

use crate::application::find_class;
use crate::numbers;
use crate::table::number;

/// Which classes a ledger is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Between {
    /// The most probable one of each row, and the next.
    Best,
    /// The first over the second.
    Two(usize, usize),
    /// One over all others.
    Rest(usize),
}

impl Between {
    /// As an option names them: `A,B`, or `A` alone.
    pub fn named(names: Option<&[String]>, schema: &Schema, option: &'static str) -> Result<Self> {
        let class = |name: &String| find_class(schema, name.trim(), option);
        match names {
            None => Ok(Between::Best),
            Some([a]) => Ok(Between::Rest(class(a)?)),
            Some([a, b]) if a != b => Ok(Between::Two(class(a)?, class(b)?)),
            Some(_) => Err(Error::parameter(option, "give two classes, A,B, or one, which is taken against the rest")),
        }
    }
}

/// The ledger of a row for one class over another, or over all others, in decibans: prior odds and features add
/// up to the total, the posterior log-odds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// The row, counted from 1.
    pub row: u64,
    /// The class it speaks for.
    pub of: String,
    /// The class it is weighed against; `None` for all others.
    pub over: Option<String>,
    /// The posterior probability of both sides.
    pub posterior: [f64; 2],
    /// The prior odds.
    #[serde(serialize_with = "numbers::one")]
    pub prior: f64,
    /// What each feature says.
    pub features: Vec<Line>,
    /// Columns that are missing, and say nothing.
    pub missing: Vec<String>,
    /// The posterior odds.
    #[serde(serialize_with = "numbers::one")]
    pub total: f64,
}

/// What a feature says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The column, word, or what else it is.
    pub name: String,
    /// What the cell holds.
    pub value: String,
    /// What it says for the first class.
    #[serde(serialize_with = "numbers::one")]
    pub decibans: f64,
    /// The columns of a pair that speaks together.
    #[serde(skip)]
    pub pair: Option<[String; 2]>,
}

/// Which ledgers are made of the rows of a model.
pub struct Explaining<'a> {
    /// The model.
    pub model: &'a Model,
    /// The prior.
    pub prior: Prior,
    /// For which class, over which.
    pub between: Between,
    /// How columns that are modelled jointly share what they say.
    pub order: Order,
    /// Only these rows, counted from 1; all where there are none.
    pub rows: Vec<u64>,
}

impl Explaining<'_> {
    /// The ledgers of the rows of a batch that are asked for.
    pub fn explain(&self, batch: &Batch<'_>) -> Result<Vec<Ledger>> {
        self.explain_until(batch, &AtomicBool::new(false))
    }

    /// The same, but soon after `stop` turns true it ends, with [`Error::Interrupted`].
    pub fn explain_until(&self, batch: &Batch<'_>, stop: &AtomicBool) -> Result<Vec<Ledger>> {
        if self.rows.is_empty() {
            return self.part(batch, stop);
        }
        let wanted = (0..batch.rows()).filter(|&row| self.rows.contains(&(batch.row_number(row) + 1)));
        let mut all = Vec::new();
        for row in wanted {
            all.extend(self.part(&batch.slice(row..row + 1), stop)?);
        }
        Ok(all)
    }

    fn part(&self, batch: &Batch<'_>, stop: &AtomicBool) -> Result<Vec<Ledger>> {
        let explanations = self.model.explain_until(batch, self.order, stop)?;
        let posterior = self.model.evidence(batch)?.posterior(&self.prior);
        let classes = self.model.schema().classes();
        let row = |(i, explanation): (usize, deciban::explain::Explanation)| {
            let p = posterior.row(i);
            let (of, over) = match self.between {
                Between::Best => two_best(posterior.log_row(i)),
                Between::Two(of, over) => (of, Some(over)),
                Between::Rest(of) => (of, None),
            };
            let ledger = match over {
                Some(over) => explanation.ledger(of, over, &self.prior),
                None => explanation.over_rest(of, &self.prior),
            };
            let others = || (0..p.len()).filter(|k| *k != of).map(|k| p[k]).sum();
            let total = decibans(ledger.total());
            let entries = || explanation.entries.iter().zip(&ledger.entries);
            let line = |(entry, nats): (&Entry, &f64)| Line {
                name: entry.name.clone(),
                value: entry.value.clone(),
                decibans: decibans(*nats),
                pair: pair(&entry.name, self.model.schema()),
            };
            Ledger {
                row: batch.row_number(i) + 1,
                of: classes[of].clone(),
                over: over.map(|over| classes[over].clone()),
                posterior: [p[of], over.map_or_else(others, |over| p[over])],
                prior: decibans(ledger.prior),
                features: entries().filter(|(entry, _)| !entry.missing).map(line).collect(),
                missing: entries().filter(|(entry, _)| entry.missing).map(|(entry, _)| entry.name.clone()).collect(),
                total,
            }
        };
        Ok(explanations.into_iter().enumerate().map(row).collect())
    }
}

/// The two columns whose pair has this name.
fn pair(name: &str, schema: &Schema) -> Option<[String; 2]> {
    const TIMES: &str = " × ";
    let is_column = |name: &str| schema.columns().iter().any(|column| column.name == name);
    let mut splits = name.match_indices(TIMES).map(|(at, _)| [&name[..at], &name[at + TIMES.len()..]]);
    let found = splits.find(|split| split.iter().all(|name| is_column(name)))?;
    (!is_column(name)).then(|| found.map(String::from))
}

/// The most probable class and the next; the first two where no class is possible.
fn two_best(log_p: &[f64]) -> (usize, Option<usize>) {
    let mut order: Vec<usize> = (0..log_p.len()).collect();
    order.sort_by(|&a, &b| log_p[b].partial_cmp(&log_p[a]).unwrap_or(std::cmp::Ordering::Equal));
    (order[0], Some(order[1]))
}

impl Ledger {
    /// What it is about: `A over B`.
    pub fn title(&self) -> String {
        let over = self.over.as_deref().unwrap_or("the rest");
        format!("row {}: {} over {}", self.row, shown(&self.of), shown(over))
    }

    /// The posterior of both sides.
    pub fn odds(&self) -> String {
        let p = self.posterior.map(|p| number(p, 4));
        format!("posterior {} and {}", p[0], p[1])
    }

    /// What columns say where each has half of what its pairs say, which is the Shapley value of the column.
    fn by_column(&self) -> Vec<Line> {
        let (pairs, lines): (Vec<&Line>, Vec<&Line>) = self.features.iter().partition(|line| line.pair.is_some());
        let mut shares: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for pair in pairs {
            for column in pair.pair.iter().flatten() {
                let (count, sum) = shares.entry(column).or_default();
                *count += 1;
                *sum += 0.5 * pair.decibans;
            }
        }
        let of_column = |line: &Line| {
            let (count, sum) = shares.get(line.name.as_str()).copied().unwrap_or_default();
            let pairs = if count == 1 { "pair" } else { "pairs" };
            let name = if count == 0 { line.name.clone() } else { format!("{} and {count} {pairs}", line.name) };
            Line { name, decibans: line.decibans + sum, ..line.clone() }
        };
        // A column that says nothing alone still has its pairs.
        let silent = shares.keys().filter(|name| lines.iter().all(|line| line.name != **name));
        let silent: Vec<Line> = silent.map(|name| plain(name.to_string(), 0.0)).collect();
        lines.into_iter().chain(&silent).map(of_column).collect()
    }

    /// The prior odds, the features that say most, and the rest in one line. They add up to the total. Where not all
    /// features are shown, pairs of columns are shown with their columns.
    pub fn lines(&self, most: usize) -> Vec<Line> {
        let is_long = self.features.len() > most + 1;
        let grouped = if is_long && self.features.iter().any(|line| line.pair.is_some()) {
            self.by_column()
        } else {
            self.features.clone()
        };
        let mut ranked: Vec<&Line> = grouped.iter().collect();
        ranked.sort_by(|a, b| b.decibans.abs().total_cmp(&a.decibans.abs()).then_with(|| a.name.cmp(&b.name)));
        // One feature more takes no more room than a line about it.
        let shown = if ranked.len() <= most + 1 { ranked.len() } else { most };
        let mut lines = vec![plain("prior odds".into(), self.prior)];
        lines.extend(ranked[..shown].iter().map(|&line| line.clone()));
        if shown < ranked.len() {
            let rest = ranked[shown..].iter().map(|line| line.decibans).sum();
            lines.push(plain(format!("{} other features", ranked.len() - shown), rest));
        }
        lines
    }

    /// A table with bars, of at most so many features and the rest.
    pub fn text(&self, most: usize) -> String {
        let mut lines = self.lines(most);
        lines.push(plain("total".into(), self.total));
        let mut text = format!("{}, {}\n{}", self.title(), self.odds(), bars(&lines));
        if !self.missing.is_empty() {
            text += &format!("missing: {}\n", shown(&self.missing.join(", ")));
        }
        text
    }
}

/// A line that is not of a cell.
fn plain(name: String, decibans: f64) -> Line {
    Line { name, value: String::new(), decibans, pair: None }
}

/// Two decimals and a sign, which 0 has too.
fn signed(x: f64) -> String {
    let text = format!("{x:+.2}");
    if text == "-0.00" { "+0.00".into() } else { text }
}

/// Aligned lines with a bar each: what speaks against the first class to the left, for it to the right.
fn bars(lines: &[Line]) -> String {
    const WIDTH: usize = 24;
    const LONGEST: usize = 40;
    let cut = |text: &str| match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST - 1).chain(['…']).collect::<String>(),
        false => text.to_string(),
    };
    let rows: Vec<[String; 3]> =
        lines.iter().map(|line| [cut(&shown(&line.name)), cut(&shown(&line.value)), signed(line.decibans)]).collect();
    let width = |j: usize| rows.iter().map(|row| row[j].chars().count()).max().unwrap_or(0);
    let (names, values, numbers) = (width(0), width(1), width(2));
    let finite = lines.iter().map(|line| line.decibans.abs()).filter(|x| x.is_finite());
    let longest = finite.fold(f64::MIN_POSITIVE, f64::max);
    let length = |x: f64| if x.is_nan() { 0 } else { ((x.abs() / longest).min(1.0) * WIDTH as f64).round() as usize };
    // Room to the left only for what speaks against.
    let left = lines.iter().filter(|line| line.decibans < 0.0).map(|line| length(line.decibans)).max().unwrap_or(0);
    let mut text = String::new();
    for (row, line) in rows.iter().zip(lines) {
        let [name, value, said] = row;
        let bar = "█".repeat(length(line.decibans));
        let drawn = if line.decibans < 0.0 { format!("{bar:>left$}│") } else { format!("{:>left$}│{bar}", "") };
        text += format!("  {name:<names$}  {value:>values$}  {said:>numbers$}  {drawn}").trim_end();
        text.push('\n');
    }
    text
}
