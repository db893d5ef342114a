//! What is kept of a class: how much was present and absent. Words turn up as the rows come, so the
//! statistic of texts grows; merging adds what both have.

use super::mixed;
use crate::data::{Cells, Tile};
use crate::error::{Error, Result};
use crate::family::counts::{MOST_LEVELS, add, difference, differences, weights};
use crate::family::words::{Counting, Wrong, wrong_count};
use crate::file::{Archive, Stored};
use crate::numerics::vectorised;
use crate::scoring::Texts;
use crate::statistic::{Retract, Statistic};

/// How much was present and absent.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// No rows yet, of so many columns.
    Nothing(usize),
    /// The weights of present and of absent cells per column.
    Numbers {
        /// Per column.
        present: Vec<f64>,
        /// Per column.
        absent: Vec<f64>,
    },
    /// The weight of the texts, and of those that have each word.
    Words {
        /// Of all texts.
        weight: f64,
        /// Per word, as far as words have been seen.
        present: Vec<f64>,
    },
}

impl Presence {
    pub(super) fn width(&self) -> usize {
        match self {
            Presence::Nothing(width) => *width,
            Presence::Numbers { present, .. } => present.len(),
            Presence::Words { .. } => 1,
        }
    }

    /// The weights of presence and absence of column or word `j`.
    pub(super) fn weights(&self, j: usize) -> (f64, f64) {
        let at = |v: &[f64]| v.get(j).copied().unwrap_or(0.0);
        match self {
            Presence::Nothing(_) => (0.0, 0.0),
            Presence::Numbers { present, absent } => (at(present), at(absent)),
            // Words are among the texts; a loaded file may say otherwise, which is no absence.
            Presence::Words { weight, present } => (at(present), difference(*weight, at(present)).unwrap_or(0.0)),
        }
    }

    pub(super) fn observe_numbers(&mut self, tile: &Tile, weights: Option<&[f64]>, threshold: f64) -> Result<()> {
        if let Presence::Nothing(width) = *self {
            *self = Presence::Numbers { present: vec![0.0; width], absent: vec![0.0; width] };
        }
        let Presence::Numbers { present, absent } = self else { return Err(mixed()) };
        for (j, (n, m)) in present.iter_mut().zip(absent).enumerate() {
            let (above, below) = vectorised!(presence(tile.column(j), weights, threshold));
            *n += above;
            *m += below;
        }
        Ok(())
    }

    /// How many words of texts have been seen; `None` of numbers.
    pub(super) fn words(&self) -> Option<usize> {
        match self {
            Presence::Nothing(1) => Some(0),
            Presence::Words { present, .. } => Some(present.len()),
            _ => None,
        }
    }

    /// The weight of the texts, and of those that have each word.
    fn texts(&mut self) -> Result<(&mut f64, &mut Vec<f64>)> {
        if let Presence::Nothing(1) = *self {
            *self = Presence::Words { weight: 0.0, present: Vec::new() };
        }
        match self {
            Presence::Words { weight, present } => Ok((weight, present)),
            _ => Err(mixed()),
        }
    }

    /// Adds texts, each to the presences of its class; without classes all to the only ones.
    pub(super) fn observe_texts(
        all: &mut [&mut Presence],
        x: &Cells<'_>,
        texts: Texts<'_>,
        classes: &[u32],
        threshold: f64,
        name: &str,
    ) -> Result<()> {
        let counting = Counting::new(x, texts, classes, MOST_LEVELS);
        let parts = all.iter_mut().map(|presence| presence.texts()).collect::<Result<Vec<_>>>()?;
        let (mut weights, mut present): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        counting.for_each_weight(|class, weight| *weights[class] += weight);
        // What is neither above the threshold nor a count stays, and is refused.
        let above = |count: f64| match (count > threshold, count >= 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => count,
        };
        match counting.run(above, &mut present) {
            Err(Wrong::Word(word)) => Err(Error::Schema(format!(
                "there is a word with the number {word}, and {MOST_LEVELS} are too many to learn from"
            ))),
            Err(Wrong::Count) => Err(wrong_count(x, texts, name)),
            Ok(()) => Ok(()),
        }
    }
}

/// The weights of cells above the threshold, and of those not above it.
#[inline(always)]
fn presence(column: &[f64], weights: Option<&[f64]>, threshold: f64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    let mut add = |x: f64, w: f64| {
        sums.0 += if x > threshold { w } else { 0.0 };
        sums.1 += if x <= threshold { w } else { 0.0 };
    };
    match weights {
        None => {
            // Integers sum in any order, so the loop may run in lanes.
            let above: u64 = column.iter().map(|&x| (x > threshold) as u64).sum();
            let below: u64 = column.iter().map(|&x| (x <= threshold) as u64).sum();
            sums = (above as f64, below as f64);
        }
        Some(weights) => column.iter().zip(weights).for_each(|(&x, &w)| add(x, w)),
    }
    sums
}

impl Statistic for Presence {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged presences", self.width(), other.width())?;
        match (&mut *self, other) {
            (_, Presence::Nothing(_)) => {}
            (Presence::Nothing(_), other) => *self = other.clone(),
            (Presence::Numbers { present: a, absent: m }, Presence::Numbers { present: b, absent: n }) => {
                add(a, b);
                add(m, n);
            }
            (Presence::Words { weight, present }, Presence::Words { weight: w, present: other }) => {
                *weight += w;
                add(present, other);
            }
            _ => return Err(mixed()),
        }
        Ok(())
    }
}

impl Retract for Presence {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed presences", self.width(), other.width())?;
        let zeros;
        let before = match (&*self, other) {
            (_, Presence::Nothing(_)) => return Ok(()),
            (Presence::Nothing(_), Presence::Words { .. }) => {
                zeros = Presence::Words { weight: 0.0, present: Vec::new() };
                &zeros
            }
            (Presence::Nothing(width), _) => {
                zeros = Presence::Numbers { present: vec![0.0; *width], absent: vec![0.0; *width] };
                &zeros
            }
            (before, _) => before,
        };
        let after = match (before, other) {
            (Presence::Numbers { present: a, absent: m }, Presence::Numbers { present: b, absent: n }) => {
                Presence::Numbers { present: differences(a, b)?, absent: differences(m, n)? }
            }
            (Presence::Words { weight, present }, Presence::Words { weight: w, present: other }) => {
                Presence::Words { weight: difference(*weight, *w)?, present: differences(present, other)? }
            }
            _ => return Err(mixed()),
        };
        *self = after;
        Ok(())
    }
}

impl Stored for Presence {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let put_shape =
            |archive: &mut Archive, kind: &str, length| archive.put_json(&format!("{name}.shape"), &(kind, length));
        match self {
            Presence::Nothing(width) => put_shape(archive, "nothing", *width),
            Presence::Numbers { present, absent } => {
                put_shape(archive, "numbers", present.len())?;
                archive.put(&format!("{name}.present"), &[present.len()], present)?;
                archive.put(&format!("{name}.absent"), &[absent.len()], absent)
            }
            Presence::Words { weight, present } => {
                put_shape(archive, "words", present.len())?;
                archive.put(&format!("{name}.present"), &[present.len()], present)?;
                archive.put(&format!("{name}.weight"), &[1], &[*weight])
            }
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (kind, length): (String, usize) = archive.json(&format!("{name}.shape"))?;
        let array = |which: &str, length| weights(archive, &format!("{name}.{which}"), length).map(<[f64]>::to_vec);
        match kind.as_str() {
            "nothing" => Ok(Presence::Nothing(length)),
            "numbers" => Ok(Presence::Numbers { present: array("present", length)?, absent: array("absent", length)? }),
            "words" => Ok(Presence::Words { weight: array("weight", 1)?[0], present: array("present", length)? }),
            other => Err(archive.damaged(&format!("there are no presences of `{other}`"))),
        }
    }
}
