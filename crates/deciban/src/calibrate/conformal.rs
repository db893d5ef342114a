//! Conformal p-values of each class: how usual a row would be among rows of that class (Vovk, Gammerman & Shafer
//! 2005; class by class, or Mondrian).
//!
//! ```text
//! pₖ(x) = (1 + Σ weight of rows of class k whose score is at most x's) / (1 + Σ weight of rows of class k)
//! ```
//!
//! The scores of known rows come from models that have not seen them. If x is of class k and comes about as they
//! did, pₖ(x) ≤ α with a probability of about α, whatever the model. A row that is unusual for every class is of none
//! of them, or a rare thing.

use serde::{Deserialize, Serialize};

use super::scores::HeldScores;
use crate::error::{Error, Result};
use crate::evidence::Evidence;

/// What makes a row usual for a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conformity {
    /// The evidence for the class against the others: sets of classes that cannot be ruled out are small.
    #[default]
    Evidence,
    /// log p(x | class), for generative models: rows unlike all that was seen are unusual for every class.
    Density,
}

impl Conformity {
    /// All of them, by name.
    pub const ALL: [(&'static str, Conformity); 2] =
        [("evidence", Conformity::Evidence), ("density", Conformity::Density)];

    fn score(self, evidence: &Evidence, row: usize, class: usize) -> f64 {
        match self {
            Conformity::Evidence => evidence.llr(row, class),
            Conformity::Density => evidence.row(row)[class],
        }
    }
}

/// The p-value of each row for each class, row after row. `evidence` is that of the model before calibration.
pub fn conformal(scores: &HeldScores, evidence: &Evidence, by: Conformity) -> Result<Vec<f64>> {
    let (known, classes) = (scores.rows(), evidence.classes());
    Error::check_shape("classes of the scores", known.evidence().classes(), classes)?;
    let mut values = vec![0.0; evidence.values().len()];
    for class in 0..classes {
        let own = (0..known.rows()).filter(|&i| known.truth()[i] as usize == class);
        let mut own: Vec<(f64, f64)> =
            own.map(|i| (by.score(known.evidence(), i, class), known.weights()[i])).collect();
        own.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let below: Vec<f64> = std::iter::once(0.0)
            .chain(own.iter().scan(0.0, |sum, (_, weight)| {
                *sum += weight;
                Some(*sum)
            }))
            .collect();
        let total = below[own.len()];
        for row in 0..evidence.rows() {
            let score = by.score(evidence, row, class);
            let at_most = own.partition_point(|(s, _)| *s <= score);
            values[row * classes + class] = (1.0 + below[at_most]) / (1.0 + total);
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Scored;

    #[test]
    fn p_values_are_ranks_among_the_class() {
        let llrs = [1.0, 3.0, 2.0, -1.0, -2.0];
        let values = llrs.iter().flat_map(|x| [0.0, *x]).collect();
        let mut rows = Scored::new(2).unwrap();
        rows.append(&Evidence::new(2, values).unwrap(), &[1, 1, 1, 0, 0], None).unwrap();
        let scores = HeldScores::new(&rows, &[1; 5], 5).unwrap().unwrap();
        let new = Evidence::new(2, vec![0.0, 2.0, 0.0, -9.0, 0.0, 9.0]).unwrap();
        let p = conformal(&scores, &new, Conformity::Evidence).unwrap();
        // Of the second class 1 and 2 are at most 2; of the first all have more evidence for it than −2.
        assert_eq!(p, [1.0 / 3.0, 3.0 / 4.0, 1.0, 1.0 / 4.0, 1.0 / 3.0, 1.0]);
        let p = conformal(&scores, &new, Conformity::Density).unwrap();
        assert_eq!(p[0], 1.0);
    }
}
