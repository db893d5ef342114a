//! One model against another on the same rows: differences of figures that are means over rows, or over
//! the rows of each class.
//!
//! ```text
//! log loss, Brier, cost   Σwℓ/Σw over the rows that have a posterior
//! Cllr                    1/K Σₖ (Σwℓ/Σw over rows of class k),   ℓ = −log₂ p(true) under a flat prior
//! ```
//!
//! Each resample draws the same rows for both models. Errors are tested by [`McNemar`]'s test.

use std::collections::HashSet;

use super::cllr::{Cllr, flat_loss};
use super::errors::judge_evidence;
use super::paired::{Difference, McNemar, differences, mcnemar, weighted_mean};
use super::resample::Bootstrap;
use super::scored::Scored;
use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::posterior::Prior;

/// By how much a model's figures are larger than those of another, on the same rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Versus {
    /// Of the log loss, in nats.
    pub log_loss: Difference,
    /// Of the Brier score.
    pub brier: Difference,
    /// Of the expected cost.
    pub expected_cost: Difference,
    /// Of Cllr, in bits; `None` where a class has no rows.
    pub cllr: Option<Difference>,
    /// Which of them is right alone; A is the first model.
    pub errors: McNemar,
}

/// What a model loses with each row; NaN where the row has no posterior.
struct Losses {
    log_loss: Vec<f64>,
    brier: Vec<f64>,
    cost: Vec<f64>,
    flat: Vec<f64>,
    right: Vec<bool>,
}

impl Losses {
    fn new(scored: &Scored, classes: &[String], prior: &Prior, costs: &Costs) -> Result<Self> {
        let judged = judge_evidence(scored.evidence(), prior, scored.truth(), costs, scored.unusual())?;
        let actions = costs.actions();
        let defined = |action: u32, loss: f64| if (action as usize) < actions.len() { loss } else { f64::NAN };
        // To decide for no class is no error, to decide nothing is one.
        let known: HashSet<&String> = classes.iter().collect();
        let is_class: Vec<bool> = actions.iter().map(|name| known.contains(name)).collect();
        let right = |action: u32, class: u32| match actions.get(action as usize) {
            Some(name) => !is_class[action as usize] || *name == classes[class as usize],
            None => false,
        };
        let truth = scored.truth();
        Ok(Losses {
            log_loss: judged.iter().map(|j| defined(j.action, j.log_loss)).collect(),
            brier: judged.iter().map(|j| defined(j.action, j.square)).collect(),
            cost: judged.iter().map(|j| defined(j.action, j.cost)).collect(),
            flat: truth.iter().enumerate().map(|(i, &k)| flat_loss(scored.evidence().row(i), k as usize)).collect(),
            right: judged.iter().zip(truth).map(|(j, class)| right(j.action, *class)).collect(),
        })
    }

    fn figures(&self, truth: &[u32], classes: usize, weights: &[f64]) -> [f64; 4] {
        let mut cllr = Cllr::new(classes);
        truth.iter().zip(&self.flat).zip(weights).for_each(|((&k, loss), &w)| cllr.add(k as usize, *loss, w));
        let [log_loss, brier, cost] = [&self.log_loss, &self.brier, &self.cost].map(|x| weighted_mean(x, weights));
        [log_loss, brier, cost, cllr.bits()]
    }
}

impl Scored {
    /// By how much these figures are larger than those of `other`, which has the same rows in the same
    /// order. Each model has its own prior.
    ///
    /// ```
    /// use deciban::decision::Costs;
    /// use deciban::evaluate::{Bootstrap, Scored};
    /// use deciban::evidence::Evidence;
    /// use deciban::posterior::Prior;
    /// let classes = ["a".to_string(), "b".to_string()];
    /// let rows = |llr: f64| {
    ///     let mut rows = Scored::new(2)?;
    ///     rows.append(&Evidence::new(2, vec![0.0, -llr, 0.0, llr])?, &[0, 1], None)?;
    ///     Ok::<_, deciban::Error>(rows)
    /// };
    /// let (prior, costs) = (Prior::uniform(2), Costs::zero_one(&classes));
    /// let versus = rows(0.0)?.versus(&rows(3f64.ln())?, &classes, [&prior, &prior], &costs, &Bootstrap::default())?;
    /// // ln 2 − ln 4/3 nats, 1 − log₂ 4/3 bits.
    /// assert!((versus.log_loss.difference - 1.5f64.ln()).abs() < 1e-15);
    /// assert!((versus.cllr.unwrap().difference - 1.5f64.log2()).abs() < 1e-15);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn versus(
        &self,
        other: &Scored,
        classes: &[String],
        priors: [&Prior; 2],
        costs: &Costs,
        bootstrap: &Bootstrap,
    ) -> Result<Versus> {
        if self.truth() != other.truth() || self.weights() != other.weights() {
            return Err(Error::Classes("the models were not scored on the same rows".into()));
        }
        let (a, b) = (Losses::new(self, classes, priors[0], costs)?, Losses::new(other, classes, priors[1], costs)?);
        let figures = |weights: &[f64]| {
            let [a, b] = [&a, &b].map(|losses| losses.figures(self.truth(), classes.len(), weights));
            [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]]
        };
        let [log_loss, brier, expected_cost, cllr] = differences(self.weights(), bootstrap, figures)?;
        let cllr = (!cllr.difference.is_nan()).then_some(cllr);
        // Rows of weight 0 do not count.
        let there = |right: &[bool]| {
            let rows = right.iter().zip(self.weights()).filter(|(_, w)| **w > 0.0);
            rows.map(|(right, _)| *right).collect::<Vec<bool>>()
        };
        Ok(Versus { log_loss, brier, expected_cost, cllr, errors: mcnemar(&there(&a.right), &there(&b.right))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::numerics::Random;

    /// Rows whose evidence is `scale` times what it should be.
    fn sampled(rows: usize, classes: usize, scale: f64) -> Scored {
        let mut random = Random::new(3);
        let mut scored = Scored::new(classes).unwrap();
        for _ in 0..rows {
            let k = random.below(classes as u64) as usize;
            let row = (0..classes).map(|j| scale * (random.normal() + f64::from(u8::from(j == k)))).collect();
            scored.append(&Evidence::new(classes, row).unwrap(), &[k as u32], Some(&[random.below(3) as f64])).unwrap();
        }
        scored
    }

    #[test]
    fn differences_are_those_of_the_figures() {
        let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
        for classes in [2, 4] {
            let names: Vec<String> = (0..classes).map(|k| k.to_string()).collect();
            let costs = Costs::zero_one(&names).with_reject(0.3).unwrap();
            let (prior, flat) =
                (Prior::from_weights(&[3.0, 1.0, 1.0, 2.0][..classes]).unwrap(), Prior::uniform(classes));
            let (sure, right) = (sampled(300, classes, 4.0), sampled(300, classes, 1.0));
            let versus = sure.versus(&right, &names, [&prior, &flat], &costs, &bootstrap).unwrap();
            let figure = |scored: &Scored, prior: &Prior, name: &str| {
                let figures = scored.figures(&names, prior, &costs, 1, None).unwrap();
                figures.iter().find(|f| f.name == name).unwrap().value
            };
            for (name, found) in [
                ("log_loss", versus.log_loss),
                ("brier", versus.brier),
                ("expected_cost", versus.expected_cost),
                ("cllr", versus.cllr.unwrap()),
            ] {
                let difference = figure(&sure, &prior, name) - figure(&right, &flat, name);
                assert!((found.difference - difference).abs() < 1e-13, "{name}: {found:?}, not {difference}");
                assert!(found.interval.low < difference && difference < found.interval.high, "{name}: {found:?}");
            }
            assert!(versus.log_loss.interval.low > 0.0 && versus.log_loss.p_value < 0.01, "{versus:?}");
            // A model against itself, and what must not be compared.
            let same = right.versus(&right, &names, [&flat, &flat], &costs, &bootstrap).unwrap();
            let cllr = same.cllr.unwrap();
            assert_eq!((cllr.difference, cllr.p_value, same.errors.exact), (0.0, 1.0, 1.0));
            // Without rows of a class Cllr is not defined, and all else is.
            let mut one = Scored::new(classes).unwrap();
            one.append(&Evidence::new(classes, vec![0.0; 2 * classes]).unwrap(), &[0, 0], None).unwrap();
            let lacking = one.versus(&one, &names, [&flat, &flat], &costs, &bootstrap).unwrap();
            assert_eq!((lacking.cllr, lacking.log_loss.difference), (None, 0.0));
            let fewer = sampled(299, classes, 1.0);
            assert!(right.versus(&fewer, &names, [&flat, &flat], &costs, &bootstrap).is_err());
        }
    }

    /// A row without a posterior is an error and stands in no mean; a rejected row is no error.
    #[test]
    fn rows_without_a_posterior() {
        let names = ["a".to_string(), "b".to_string()];
        let never = f64::NEG_INFINITY;
        let scored = |rows: Vec<f64>| {
            let mut scored = Scored::new(2).unwrap();
            scored.append(&Evidence::new(2, rows).unwrap(), &[0, 1, 1], None).unwrap();
            scored
        };
        let (a, b) = (scored(vec![never, never, 0.0, 0.0, 0.0, 0.0]), scored(vec![0.0, 0.0, 5.0, 0.0, 0.0, 5.0]));
        let costs = Costs::zero_one(&names).with_reject(0.4).unwrap();
        let flat = Prior::uniform(2);
        let versus = a.versus(&b, &names, [&flat, &flat], &costs, &Bootstrap::default()).unwrap();
        // A decides nothing, then rejects twice; B rejects, then is wrong and right.
        assert_eq!((versus.errors.only_a, versus.errors.only_b), (1, 1));
        let [mean_a, mean_b] = [0.4, (0.4 + 1.0) / 3.0];
        assert!((versus.expected_cost.difference - (mean_a - mean_b)).abs() < 1e-15);
    }
}
