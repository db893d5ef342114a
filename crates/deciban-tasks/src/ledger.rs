//! Ledgers of rows: what `explain` prints and `plot --kind ledger` draws.

use deciban::data::{Batch, Schema};
use deciban::evidence::decibans;
use deciban::explain::{Entry, Order, explain};
use deciban::learn::{Classifier, Model};
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde_json::{Value, json};

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
        let class = |name: &String| {
            let message = || format!("there is no class `{name}`: there are {}", schema.classes().join(", "));
            schema.class(name.trim()).ok_or_else(|| Error::parameter(option, message()))
        };
        match names {
            None => Ok(Between::Best),
            Some([a]) => Ok(Between::Rest(class(a)?)),
            Some([a, b]) if a != b => Ok(Between::Two(class(a)?, class(b)?)),
            Some(_) => Err(Error::parameter(option, "give two classes, A,B, or one, which is taken against the rest")),
        }
    }
}

/// What is explained, settled once.
pub struct Task {
    pub model: Model,
    pub prior: Prior,
    pub between: Between,
    pub order: Order,
    /// Only these, counted from 1; all where there are none.
    pub rows: Vec<u64>,
}

/// The ledger of a row, in decibans.
pub struct Row {
    pub number: u64,
    of: usize,
    /// `None` for all others.
    over: Option<usize>,
    posterior: [f64; 2],
    prior: f64,
    pub entries: Vec<(Entry, f64)>,
    total: f64,
}

impl Task {
    /// The ledgers of the rows of a batch that are asked for.
    pub fn explain(&self, batch: &Batch<'_>) -> Result<Vec<Row>> {
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
            let said = ledger.entries.iter().map(|nats| decibans(*nats));
            Row {
                number: batch.row_number(i) + 1,
                of,
                over,
                posterior: [p[of], over.map_or_else(others, |over| p[over])],
                prior: decibans(ledger.prior),
                entries: explanation.entries.into_iter().zip(said).collect(),
                total,
            }
        };
        Ok(explanations.into_iter().enumerate().map(row).collect())
    }
}

/// The most probable class and the next; the first two where no class is possible.
fn two_best(log_p: &[f64]) -> (usize, Option<usize>) {
    let mut order: Vec<usize> = (0..log_p.len()).collect();
    order.sort_by(|&a, &b| log_p[b].partial_cmp(&log_p[a]).unwrap_or(std::cmp::Ordering::Equal));
    (order[0], Some(order[1]))
}

impl Row {
    pub fn json(&self, classes: &[String]) -> Value {
        let there = self.entries.iter().filter(|(entry, _)| !entry.missing);
        let feature =
            |(entry, said): &(Entry, f64)| json!({ "name": entry.name, "value": entry.value, "decibans": said });
        json!({
            "row": self.number,
            "of": classes[self.of],
            "over": self.over.map(|over| &classes[over]),
            "posterior": self.posterior,
            "prior": self.prior,
            "features": there.map(feature).collect::<Vec<_>>(),
            "missing": self.entries.iter().filter(|(e, _)| e.missing).map(|(e, _)| &e.name).collect::<Vec<_>>(),
            "total": self.total,
        })
    }

    /// What it is about: `A over B`.
    pub fn title(&self, classes: &[String]) -> String {
        let over = self.over.map_or("the rest", |over| classes[over].as_str());
        format!("row {}: {} over {over}", self.number, classes[self.of])
    }

    /// The posterior of both sides.
    pub fn odds(&self) -> String {
        let p = self.posterior.map(|p| number(p, 4));
        format!("posterior {} and {}", p[0], p[1])
    }

    /// The prior odds, the features that say most, and the rest in one line: name, value and decibans. They
    /// add up to the total.
    pub fn lines(&self, most: usize) -> Vec<(String, String, f64)> {
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
        lines
    }

    pub fn text(&self, classes: &[String], most: usize) -> String {
        let mut lines = self.lines(most);
        lines.push(("total".into(), String::new(), self.total));
        let mut text = format!("{}, {}\n{}", self.title(classes), self.odds(), bars(&lines));
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
