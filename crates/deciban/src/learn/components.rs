//! The components of classes: p(x | class) = Σ_k π_k p_k(x), with weights π that sum to 1.
//!
//! A group is one component of one class. Groups are numbered class after class, and the densities of a
//! block are those of the groups. A class of one component is a plain class.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::Tile;
use crate::error::Result;
use crate::file::{Archive, Stored};
use crate::numerics::{lanes, log_sum_exp, vectorised};

/// How many components to give each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many, as far as a class has rows for them.
    Fixed(usize),
    /// As many as held-out rows like best.
    Auto,
}

impl Default for Count {
    fn default() -> Self {
        Count::Fixed(1)
    }
}

impl std::str::FromStr for Count {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Count::Auto),
            (_, Ok(count @ 1..=1000)) => Ok(Count::Fixed(count)),
            _ => Err("give a number from 1 to 1000, or auto".into()),
        }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Count::Fixed(count) => write!(f, "{count}"),
            Count::Auto => write!(f, "auto"),
        }
    }
}

impl Serialize for Count {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How many components each class has, and their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    /// ln π of each component, class by class.
    log_weights: Vec<Vec<f64>>,
}

impl Components {
    /// One component for each class.
    pub(super) fn single(classes: usize) -> Self {
        Components { log_weights: vec![vec![0.0]; classes] }
    }

    /// The components of each class by their weights, which need not sum to 1.
    pub(super) fn from_weights(weights: &[Vec<f64>]) -> Self {
        let of_class = |weights: &Vec<f64>| {
            let total = weights.iter().sum::<f64>().ln();
            weights.iter().map(|w| w.ln() - total).collect()
        };
        Components { log_weights: weights.iter().map(of_class).collect() }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.log_weights.len()
    }

    /// The number of groups: components of all classes.
    pub fn groups(&self) -> usize {
        self.log_weights.iter().map(Vec::len).sum()
    }

    /// The groups of a class.
    pub fn of_class(&self, class: usize) -> Range<usize> {
        let start = self.log_weights[..class].iter().map(Vec::len).sum();
        start..start + self.log_weights[class].len()
    }

    /// ln π of the components of a class.
    pub fn log_weights(&self, class: usize) -> &[f64] {
        &self.log_weights[class]
    }

    /// Whether every class has one component.
    pub fn is_single(&self) -> bool {
        self.log_weights.iter().all(|class| class.len() == 1)
    }

    /// What errors and tables call the groups.
    pub fn names(&self, classes: &[String]) -> Vec<String> {
        let of_class = |(name, weights): (&String, &Vec<f64>)| match weights.len() {
            1 => vec![name.clone()],
            count => (1..=count).map(|k| format!("{name}, component {k}")).collect::<Vec<_>>(),
        };
        classes.iter().zip(&self.log_weights).flat_map(of_class).collect()
    }

    /// Turns log p(x | group) into p(group | x, class), for the groups of one class; log p(x | class) of each
    /// row is the result. Rows that are impossible for all groups are shared evenly.
    pub(crate) fn share(&self, class: usize, scores: &mut Tile) -> Vec<f64> {
        for (k, w) in self.log_weights[class].iter().enumerate() {
            scores.column_mut(k).iter_mut().for_each(|s| *s += w);
        }
        shares(scores)
    }
}

/// Turns the logarithms of weights, row by row, into shares of 1; the logarithm of each row's sum is the result.
pub(crate) fn shares(scores: &mut Tile) -> Vec<f64> {
    let (rows, groups) = (scores.rows(), scores.width());
    let mut most = vec![f64::NEG_INFINITY; rows];
    let mut sums = vec![0.0; rows];
    vectorised!({
        for k in 0..groups {
            for (most, s) in most.iter_mut().zip(scores.column(k)) {
                *most = if *s > *most { *s } else { *most };
            }
        }
        for k in 0..groups {
            for ((s, sum), most) in scores.column_mut(k).iter_mut().zip(&mut sums).zip(&most) {
                *s = if *most > f64::NEG_INFINITY { lanes::exp(*s - most) } else { 1.0 };
                *sum += *s;
            }
        }
        for k in 0..groups {
            scores.column_mut(k).iter_mut().zip(&sums).for_each(|(s, sum)| *s /= sum);
        }
        for (most, sum) in most.iter_mut().zip(&sums) {
            *most = if *most > f64::NEG_INFINITY { *most + lanes::ln(*sum) } else { *most };
        }
    });
    most
}

impl Stored for Components {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let counts: Vec<usize> = self.log_weights.iter().map(Vec::len).collect();
        archive.put_json(name, &counts)?;
        archive.put(&format!("{name}.log_weights"), &[self.groups()], &self.log_weights.concat())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let counts: Vec<usize> = archive.json(name)?;
        let mut groups = 0usize;
        for &count in &counts {
            groups = groups.saturating_add(count);
        }
        let mut rest = archive.finite(&format!("{name}.log_weights"), &[groups])?;
        let mut log_weights = Vec::new();
        for count in counts {
            let (own, others) = rest.split_at(count);
            if count == 0 || (log_sum_exp(own)).abs() > 1e-9 {
                return Err(archive.damaged(&format!("`{name}` has weights that do not sum to 1")));
            }
            log_weights.push(own.to_vec());
            rest = others;
        }
        Ok(Components { log_weights })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_class_after_class() {
        let components = Components::from_weights(&[vec![1.0, 3.0], vec![2.0]]);
        assert_eq!((components.groups(), components.of_class(0), components.of_class(1)), (3, 0..2, 2..3));
        assert_eq!(components.names(&["a".into(), "b".into()]), ["a, component 1", "a, component 2", "b"]);
    }

    #[test]
    fn shares_are_the_probabilities_of_groups() {
        let components = Components::from_weights(&[vec![1.0, 3.0]]);
        let mut scores = Tile::default();
        scores.resize(3, 2);
        scores.column_mut(0).copy_from_slice(&[0.0, -800.0, f64::NEG_INFINITY]);
        scores.column_mut(1).copy_from_slice(&[0.0, -800.0 - 3f64.ln(), f64::NEG_INFINITY]);
        let log_p = components.share(0, &mut scores);
        assert!((scores.column(0)[0] - 0.25).abs() < 1e-15 && log_p[0].abs() < 1e-15);
        assert!((scores.column(1)[1] - 0.5).abs() < 1e-14 && (log_p[1] + 800.0 - 0.5f64.ln()).abs() < 1e-12);
        assert_eq!((scores.column(0)[2], log_p[2]), (0.5, f64::NEG_INFINITY));
    }
}
