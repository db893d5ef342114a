//! A row's evidence as a ledger: how much each feature says, in nats per class, adding up to the
//! evidence. Differences between two classes, with the prior odds, add up to the posterior log-odds.
//!
//! - Columns that are independent given the class: each says log p(xⱼ | class).
//! - Columns modelled jointly (`columns.rs`): what one says depends on which others are known. With
//!   v(S) = log p(x_S | class), the cells outside S integrated out, a column says v(S ∪ j) − v(S):
//!   with S the columns before it in the file (the chain rule), or averaged over all orders
//!   (Shapley 1953).
//! - Words, each on its own; Gaussians after PCA or LDA by a straight path from the training mean
//!   (`family/gaussian/explain.rs`); a density says so by [`Density::parts`].
//! - Linear models (`slopes.rs`): each feature's share of the score, times the mean slope of the log
//!   posterior on the way from the average row (Aumann & Shapley 1974).
//!
//! - Additive models: what each column and each pair says is a cell of its table.
//!
//! - Fused models: the sum of the members' ledgers, each times its weight.
//!
//! Each model explains its own rows ([`Classifier::explain`](crate::learn::Classifier::explain)).
//!
//! A missing cell says nothing: it is listed, with 0. In additive models, where it is a level of its own, it may say
//! something, and in logistic models it says what is expected of it.
//!
//! For a class a against all others, whose evidence is that of a mixture, each entry is the mean of what
//! it says for a over each other class j, weighted by wⱼ (Sato 1976, Vartia 1976):
//!
//! ```text
//! Σⱼ wⱼ (eₐ − eⱼ),   wⱼ ∝ L(sⱼ, tⱼ),   L(s, t) = (s − t)/(ln s − ln t)
//! ```
//!
//! with sⱼ and tⱼ the shares of class j among the others before and after the row is seen. It adds up:
//! with Eⱼ the evidence of the row for j and Y its sum over the others, ln(tⱼ/sⱼ) = Eⱼ − ln(Y₁/Y₀), so that
//! Σ L (Eⱼ − ln(Y₁/Y₀)) = Σ (tⱼ − sⱼ) = 0.

mod columns;
mod slopes;

pub(crate) use columns::explain as explain_columns;
pub(crate) use slopes::{base, slopes};

use crate::data::{Batch, Cells, Column, Kind, MISSING, Rows, Tile};
use crate::error::Result;
pub use crate::evidence::Entry;
pub(crate) use crate::evidence::{AVERAGE, COMPONENTS, CONSTANT};
use crate::numerics::{log_shares, log_sum_exp};
use crate::posterior::Prior;

/// In which order columns that are modelled jointly become known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The average over all orders: exact up to [`MOST_EXACT`] columns, beyond that over
    /// [`SAMPLED`] orders drawn with a fixed seed, each with its reverse.
    #[default]
    Average,
    /// As they stand in the file.
    File,
}

impl Order {
    /// Both, by the names of the command line.
    pub const ALL: [(&'static str, Order); 2] = [("average", Order::Average), ("file", Order::File)];
}

/// Up to so many columns all orders are averaged.
pub const MOST_EXACT: usize = 13;
/// With more, so many orders and their reverses.
pub const SAMPLED: usize = 16;

/// What all features of a row say, in the order of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The features.
    pub entries: Vec<Entry>,
}

/// A row's evidence for one class over another, or over all others, in nats: it adds up to the posterior log-odds.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// ln of the prior odds.
    pub prior: f64,
    /// What each entry of the explanation says.
    pub entries: Vec<f64>,
}

impl Ledger {
    /// The log-odds of the posterior.
    pub fn total(&self) -> f64 {
        self.prior + self.entries.iter().sum::<f64>()
    }
}

impl Explanation {
    /// For class `a` over class `b`.
    pub fn ledger(&self, a: usize, b: usize, prior: &Prior) -> Ledger {
        let p = prior.probabilities();
        Ledger {
            prior: p[a].ln() - p[b].ln(),
            entries: self.entries.iter().map(|entry| entry.evidence[a] - entry.evidence[b]).collect(),
        }
    }

    /// For class `a` over all others together, which have the shares of the prior among themselves.
    ///
    /// ```
    /// use deciban::explain::{Entry, Explanation};
    /// use deciban::posterior::Prior;
    /// // One feature: likelihoods 0.5, 0.2 and 0.1 of three classes.
    /// let entry = Entry::new("colour", "red", [0.5f64, 0.2, 0.1].map(f64::ln).to_vec());
    /// let ledger = Explanation { entries: vec![entry] }.over_rest(0, &Prior::uniform(3));
    /// assert!((ledger.prior - 0.5f64.ln()).abs() < 1e-15);
    /// // 0.5 against the mean of 0.2 and 0.1.
    /// assert!((ledger.entries[0] - (0.5f64 / 0.15).ln()).abs() < 1e-14);
    /// ```
    pub fn over_rest(&self, a: usize, prior: &Prior) -> Ledger {
        let p = prior.probabilities();
        let others: Vec<usize> = (0..p.len()).filter(|&j| j != a).collect();
        let before: Vec<f64> = others.iter().map(|&j| p[j].ln()).collect();
        let said = |j: usize| self.entries.iter().map(|entry| entry.evidence[j]).sum::<f64>();
        let after: Vec<f64> = others.iter().zip(&before).map(|(&j, p)| p + said(j)).collect();
        let weights = mixture_weights(&before, &after);
        let entry = |entry: &Entry| {
            // A class that the row or the prior rules out has no part: 0 · ∞ is 0 here.
            let parts = others.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
            parts.map(|(&j, w)| w * (entry.evidence[a] - entry.evidence[j])).sum()
        };
        Ledger { prior: p[a].ln() - log_sum_exp(&before), entries: self.entries.iter().map(entry).collect() }
    }
}

/// The name of the line of a word: the word, or `column=word` where something else may have the name of the word.
pub(crate) fn word_line(columns: &[Column], text: usize, word: &str) -> String {
    let texts = columns.iter().filter(|column| column.kind == Kind::Text).count();
    match texts > 1 || columns.iter().any(|column| column.name == word) {
        true => format!("{}={word}", columns[text].name),
        false => word.to_string(),
    }
}

/// wⱼ, from the log-weights of classes before and after; where the row rules all of them out, the shares
/// from before.
fn mixture_weights(before: &[f64], after: &[f64]) -> Vec<f64> {
    let shares = |of: &[f64]| {
        let mut shares = of.to_vec();
        log_shares(&mut shares);
        shares
    };
    let (before, after) = (shares(before), shares(after));
    if after.iter().any(|t| t.is_nan()) {
        return before.iter().map(|s| s.exp()).collect();
    }
    let means: Vec<f64> = before.iter().zip(&after).map(|(s, t)| logarithmic_mean(*s, *t)).collect();
    let total: f64 = means.iter().sum();
    means.iter().map(|mean| mean / total).collect()
}

/// (s − t)/(ln s − ln t) from ln s and ln t; 0 where one is −∞. A share that has become tiny still counts:
/// the mean falls as slowly as 1/ln t.
fn logarithmic_mean(ln_s: f64, ln_t: f64) -> f64 {
    let (larger, d) = (ln_s.max(ln_t), (ln_s - ln_t).abs());
    match d {
        0.0 => larger.exp(),
        _ if larger == f64::NEG_INFINITY => 0.0,
        // With the smaller one e^−d times the larger.
        d => larger.exp() * -(-d).exp_m1() / d,
    }
}

/// What a cell holds, for people to read.
pub(crate) fn cell(x: &Batch<'_>, row: usize, c: usize, column: &Column) -> Result<String> {
    let place = [c];
    let cells = Cells::new(x, &place, Rows::Range(row..row + 1));
    if column.is_numeric() {
        let mut number = Tile::default();
        cells.read_numbers(&mut number)?;
        let x = number.column(0)[0];
        return Ok(if x.is_nan() { "missing".into() } else { format!("{x}") });
    }
    let mut code = Vec::new();
    cells.read_codes(0, &mut code)?;
    Ok(match column.levels.get(code[0] as usize) {
        Some(level) => level.clone(),
        None if code[0] == MISSING => "missing".into(),
        None => "unseen".into(),
    })
}
