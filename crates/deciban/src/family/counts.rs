//! What the discrete families share: vectors of weights indexed by a level's code, which grow as
//! new levels turn up, and what to do with a level that training never saw.

use serde::{Deserialize, Serialize};

use crate::data::{Cells, MISSING, UNSEEN};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::vectorised;

/// More levels than this in a column are taken for a mistake: an identifier, or damaged codes.
pub(crate) const MOST_LEVELS: usize = 1 << 24;

/// What to do with a level that training never saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// Score it as a level of count 0: it has its share of the pseudo-counts.
    #[default]
    Share,
    /// Refuse the row.
    Error,
}

impl Unseen {
    /// All of them, by the names of the command line.
    pub const ALL: [(&'static str, Unseen); 2] = [("share", Unseen::Share), ("error", Unseen::Error)];
}

/// Refuses a pseudo-count that is negative or not finite.
pub(super) fn check_pseudo_count(pseudo_count: f64) -> Result<()> {
    match pseudo_count.is_finite() && pseudo_count >= 0.0 {
        true => Ok(()),
        false => Err(Error::parameter("pseudo_count", "give a finite number of at least 0")),
    }
}

/// One more than the largest code of a level in a column, [`MISSING`] apart. At fit every level has
/// a code, so [`UNSEEN`] is refused.
pub(super) fn levels_in(codes: &[u32], x: &Cells<'_>, name: &str) -> Result<usize> {
    // One more than a missing code is 0.
    let levels = vectorised!(codes.iter().fold(0, |most, code| code.wrapping_add(1).max(most))) as usize;
    if levels <= MOST_LEVELS {
        return Ok(levels);
    }
    let wrong = |&code: &u32| code != MISSING && code as usize >= MOST_LEVELS;
    let i = codes.iter().position(wrong).unwrap_or(0);
    let why = match codes[i] {
        UNSEEN => "its level is not among the column's levels".to_string(),
        code => format!("its level has the number {code}, and {MOST_LEVELS} are too many to learn from"),
    };
    Err(Error::Cell { column: name.into(), row: x.row_number(i) + 1, message: why })
}

/// The error of a level that training never saw, where [`Unseen::Error`] asks for it.
pub(super) fn refuse_unseen(name: &str, row: u64) -> Error {
    let message = "the level was not in the training data; fit with it, or without §refuse_unseen".into();
    Error::Cell { column: name.into(), row: row + 1, message }
}

/// The error of a class without any cell to estimate from.
pub(super) fn nothing_to_estimate(column: &str, class: &str) -> Error {
    Error::Classes(format!(
        "class `{class}` has no cell in column `{column}` to estimate from: give §pseudo_count above 0, or drop it with §ignore='{column}'"
    ))
}

/// a ← a + b, cell by cell; a grows to hold b.
pub(crate) fn add(a: &mut Vec<f64>, b: &[f64]) {
    if a.len() < b.len() {
        a.resize(b.len(), 0.0);
    }
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}

/// a − b, where the rows behind b are among those of a.
///
/// Weights that are not integers round as they are summed. What is left of them after all rows
/// are gone must be 0, or maximum likelihood would take the level for a possible one.
pub(super) fn difference(a: f64, b: f64) -> Result<f64> {
    const ROUNDING: f64 = 1e-12;
    match a - b {
        rest if rest.abs() <= ROUNDING * a.abs().max(b.abs()) => Ok(0.0),
        rest if rest > 0.0 => Ok(rest),
        _ => Err(Error::Cancellation(format!("cannot remove a weight of {b} from {a}: those rows were never added"))),
    }
}

/// a − b, cell by cell, and as long as a.
pub(super) fn differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    let of = |(b, i): (f64, usize)| difference(a.get(i).copied().unwrap_or(0.0), b);
    if let Some(i) = (a.len()..b.len()).find(|&i| b[i] != 0.0) {
        return Err(of((b[i], i)).err().unwrap_or_else(|| Error::Cancellation("unknown level".into())));
    }
    (0..a.len()).map(|i| of((b.get(i).copied().unwrap_or(0.0), i))).collect()
}

/// The new code of a level; an empty map leaves it as it is.
pub(super) fn renumbered(map: &[u32], code: usize) -> Result<usize> {
    match map.get(code) {
        _ if map.is_empty() => Ok(code),
        Some(&new) if (new as usize) < MOST_LEVELS => Ok(new as usize),
        _ => Err(Error::Schema(format!("the new order of the levels has no place for level {code}"))),
    }
}

/// The counts with level `i` at `map[i]`.
pub(crate) fn relevel(counts: &[f64], map: &[u32]) -> Result<Vec<f64>> {
    let mut moved = Vec::new();
    for (code, &n) in counts.iter().enumerate().filter(|(_, n)| **n != 0.0) {
        let new = renumbered(map, code)?;
        if moved.len() <= new {
            moved.resize(new + 1, 0.0);
        }
        moved[new] += n;
    }
    Ok(moved)
}

/// Marks the levels whose weight is not 0.
pub(crate) fn mark(weights: impl IntoIterator<Item = f64>, seen: &mut [bool]) {
    seen.iter_mut().zip(weights).for_each(|(seen, weight)| *seen |= weight > 0.0);
}

/// The name of a level, as `column=level`.
pub(super) fn level_name(column: &crate::data::Column, level: usize) -> String {
    match column.levels.get(level) {
        Some(name) => format!("{}={name}", column.name),
        None => format!("{}=#{level}", column.name),
    }
}

/// Vectors of several lengths, each of weights that are finite and at least 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ragged(pub Vec<Vec<f64>>);

impl Stored for Ragged {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let lengths: Vec<usize> = self.0.iter().map(Vec::len).collect();
        archive.put_json(&format!("{name}.lengths"), &lengths)?;
        archive.put(&format!("{name}.weights"), &[lengths.iter().sum()], &self.0.concat())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let lengths: Vec<usize> = archive.json(&format!("{name}.lengths"))?;
        let total = lengths.iter().try_fold(0usize, |sum, &l| sum.checked_add(l));
        let total = total.ok_or_else(|| archive.damaged(&format!("`{name}` is too long")))?;
        let mut rest = weights(archive, &format!("{name}.weights"), total)?;
        let mut cut = |length: usize| {
            let (head, tail) = rest.split_at(length);
            rest = tail;
            head.to_vec()
        };
        Ok(Ragged(lengths.into_iter().map(&mut cut).collect()))
    }
}

/// An array of finite weights of at least 0.
pub(super) fn weights<'a>(archive: &'a Archive, name: &str, length: usize) -> Result<&'a [f64]> {
    let weights = archive.finite(name, &[length])?;
    match weights.iter().all(|w| *w >= 0.0) {
        true => Ok(weights),
        false => Err(archive.damaged(&format!("array `{name}` holds a weight below 0"))),
    }
}

/// An array of logarithms of probabilities: −∞ … 0.
pub(super) fn log_probabilities<'a>(archive: &'a Archive, name: &str, shape: &[usize]) -> Result<&'a [f64]> {
    let values = archive.get(name, shape)?;
    match values.iter().all(|x| *x <= 0.0) {
        true => Ok(values),
        false => Err(archive.damaged(&format!("array `{name}` holds a logarithm that is not one of a probability"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_end_at_exactly_nothing() {
        let tenths = [0.1, 0.2, 0.3].iter().sum::<f64>();
        assert_ne!(tenths, 0.6);
        assert_eq!(difference(tenths, 0.6).unwrap(), 0.0);
        assert_eq!(difference(5.0, 2.0).unwrap(), 3.0);
        assert!(difference(1.0, 2.0).is_err());
        assert_eq!(differences(&[3.0, 1.0], &[1.0]).unwrap(), [2.0, 1.0]);
        assert_eq!(differences(&[3.0], &[1.0, 0.0]).unwrap(), [2.0]);
        assert!(differences(&[3.0], &[1.0, 1.0]).is_err());
    }

    #[test]
    fn relevel_moves_and_refuses_levels_without_a_place() {
        assert_eq!(relevel(&[1.0, 2.0, 0.0], &[2, 0]).unwrap(), [2.0, 0.0, 1.0]);
        assert!(relevel(&[1.0, 2.0], &[1]).is_err());
        assert_eq!(relevel(&[1.0, 0.0, 2.0, 0.0], &[]).unwrap(), [1.0, 0.0, 2.0]);
        assert!(relevel(&[1.0], &[MISSING]).is_err());
    }
}
