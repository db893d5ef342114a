//! What decisions by LLR cost in an application: actual, minimum and default.
//!
//! ```text
//! actual(t) = π C_miss P_miss(t) + (1 − π) C_fa P_fa(t),   a target if LLR > t
//! t  = −logit π̃,   π̃ = π C_miss / (π C_miss + (1 − π) C_fa)   (the effective prior)
//! minimum = the least over all thresholds,   default = min(π C_miss, (1 − π) C_fa)
//! ```
//!
//! The default is the cost of deciding without looking. The actual cost above the minimum is what bad
//! calibration costs. The Bayes error curve is all this for costs of 1, over prior log-odds
//! (Brümmer & de Villiers 2013).

use super::roc::RocPoint;
use super::trials::Trials;
use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::posterior::Prior;

/// A prior for targets, and what errors cost.
///
/// ```
/// use deciban::evaluate::Application;
/// // One in a hundred is ill, a miss costs 99 times a false alarm: as with even odds and equal costs.
/// let screening = Application::new(0.01, 99.0, 1.0)?;
/// assert!((screening.effective_prior() - 0.5).abs() < 1e-15 && screening.threshold().abs() < 1e-14);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Application {
    prior: f64,
    cost_miss: f64,
    cost_false_alarm: f64,
}

/// Mean costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetectionCost {
    /// Of decisions by the LLRs as they are.
    pub actual: f64,
    /// Of decisions by the best threshold.
    pub minimum: f64,
    /// Of the same decision for every row.
    pub default: f64,
}

impl DetectionCost {
    /// Actual and minimum cost in units of the default: above 1 is worse than not looking.
    pub fn normalised(&self) -> (f64, f64) {
        (self.actual / self.default, self.minimum / self.default)
    }
}

/// Error rates at a prior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BayesError {
    /// logit π, of the target class.
    pub log_odds: f64,
    /// Of decisions by the LLRs as they are.
    pub actual: f64,
    /// Of decisions by the best threshold.
    pub minimum: f64,
    /// Of deciding for the class that is more probable beforehand.
    pub default: f64,
}

impl Application {
    /// A prior above 0 and below 1, and finite costs above 0.
    pub fn new(prior: f64, cost_miss: f64, cost_false_alarm: f64) -> Result<Self> {
        if !(prior > 0.0 && prior < 1.0) {
            return Err(Error::Prior(format!("{prior} is not above 0 and below 1")));
        }
        if ![cost_miss, cost_false_alarm].iter().all(|c| *c > 0.0 && c.is_finite()) {
            return Err(Error::Costs(format!("{cost_miss} and {cost_false_alarm} are not both finite and above 0")));
        }
        Ok(Application { prior, cost_miss, cost_false_alarm })
    }

    /// The application of a prior and costs for two classes with an action each, the class with number
    /// `target` being the target.
    pub fn of(prior: &Prior, costs: &Costs, target: usize) -> Result<Self> {
        if costs.actions().len() != 2 || costs.classes() != 2 || prior.classes() != 2 || target > 1 {
            return Err(Error::Costs("an application has two classes and two actions".into()));
        }
        let other = 1 - target;
        let extra = |class: usize| costs.cost(class, 1 - class) - costs.cost(class, class);
        Application::new(prior.probabilities()[target], extra(target), extra(other))
    }

    /// The prior with which costs of 1 lead to the same decisions.
    pub fn effective_prior(&self) -> f64 {
        let miss = self.prior * self.cost_miss;
        miss / (miss + (1.0 - self.prior) * self.cost_false_alarm)
    }

    /// The LLR above which a row is taken for a target.
    pub fn threshold(&self) -> f64 {
        ((1.0 - self.prior) * self.cost_false_alarm).ln() - (self.prior * self.cost_miss).ln()
    }

    /// The mean cost at error rates.
    pub fn cost(&self, miss: f64, false_alarm: f64) -> f64 {
        self.prior * self.cost_miss * miss + (1.0 - self.prior) * self.cost_false_alarm * false_alarm
    }

    /// The mean cost of the better of the two decisions that look at nothing.
    pub fn default_cost(&self) -> f64 {
        self.cost(1.0, 0.0).min(self.cost(0.0, 1.0))
    }
}

impl Trials {
    /// The miss and false-alarm rate where rows with an LLR above a threshold are taken for targets.
    pub fn rates(&self, threshold: f64) -> (f64, f64) {
        let (t, n) = self.totals();
        let above = self.llr.partition_point(|x| *x <= threshold);
        (self.target[..above].iter().sum::<f64>() / t, self.other[above..].iter().sum::<f64>() / n)
    }

    /// The detection cost function (DCF) of an application.
    ///
    /// ```
    /// use deciban::evaluate::{Application, Trials};
    /// // LLRs that are one too high: a threshold of 0 lets two of four others through, 1.2 none.
    /// let trials = Trials::new(&[1.5, 2.0, -3.0, -1.0, 0.5, 1.0], &[true, true, false, false, false, false], None)?;
    /// let cost = trials.dcf(&Application::new(0.5, 1.0, 1.0)?);
    /// assert_eq!((cost.actual, cost.minimum, cost.default), (0.25, 0.0, 0.5));
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn dcf(&self, application: &Application) -> DetectionCost {
        let (miss, false_alarm) = self.rates(application.threshold());
        let cost = |p: RocPoint| application.cost(p.miss, p.false_alarm);
        let least = self.thresholds().into_iter().map(cost).fold(f64::NAN, f64::min);
        DetectionCost {
            actual: application.cost(miss, false_alarm),
            minimum: least,
            default: application.default_cost(),
        }
    }

    /// The Bayes error curve at these prior log-odds.
    pub fn bayes_error_curve(&self, log_odds: &[f64]) -> Vec<BayesError> {
        let (all, pools, hull) = (self.thresholds(), self.pools(), self.roc_hull());
        let at = |&log_odds: &f64| {
            let (p, q) = (1.0 / (1.0 + (-log_odds).exp()), 1.0 / (1.0 + log_odds.exp()));
            let error = |point: &RocPoint| p * point.miss + q * point.false_alarm;
            BayesError {
                log_odds,
                actual: error(&all[self.llr.partition_point(|x| *x <= -log_odds)]),
                // The calibrated LLRs have their best threshold where theory has it.
                minimum: error(&hull[pools.partition_point(|pool| pool.llr <= -log_odds)]),
                default: p.min(q),
            }
        };
        log_odds.iter().map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::numerics::Random;

    /// LLRs that are too high by one and half as large as they should be, rounded so that many are equal.
    fn sampled(rows: usize) -> (Vec<f64>, Vec<bool>, Vec<f64>) {
        let mut random = Random::new(5);
        let y: Vec<bool> = (0..rows).map(|_| random.uniform() < 0.4).collect();
        let llr = y.iter().map(|&y| (10.0 * (random.normal() + f64::from(u8::from(y)))).round() / 10.0 + 1.0).collect();
        let weights = (0..rows).map(|_| (3.0 * random.uniform()).floor()).collect();
        (llr, y, weights)
    }

    #[test]
    fn the_minimum_is_that_of_every_threshold() {
        let (llr, y, weights) = sampled(200);
        let trials = Trials::new(&llr, &y, Some(&weights)).unwrap();
        let weight = |class: bool, accepted: &dyn Fn(f64) -> bool| -> f64 {
            let rows = (0..llr.len()).filter(|&i| y[i] == class && accepted(llr[i]));
            rows.map(|i| weights[i]).sum()
        };
        let (t, n) = (weight(true, &|_| true), weight(false, &|_| true));
        for prior in [0.001, 0.1, 0.5, 0.7, 0.99] {
            for (miss, fa) in [(1.0, 1.0), (10.0, 1.0), (1.0, 300.0)] {
                let application = Application::new(prior, miss, fa).unwrap();
                let cost = |threshold: f64| {
                    let missed = weight(true, &|x| x <= threshold) / t;
                    prior * miss * missed + (1.0 - prior) * fa * weight(false, &|x| x > threshold) / n
                };
                let all = llr.iter().copied().chain([f64::NEG_INFINITY]);
                let least = all.map(cost).fold(f64::INFINITY, f64::min);
                let found = trials.dcf(&application);
                assert!((found.minimum - least).abs() < 1e-14 * least.max(1.0), "{found:?} {least}");
                assert!((found.actual - cost(application.threshold())).abs() < 1e-13 * found.actual);
                assert!(found.minimum <= found.actual && found.minimum <= found.default);
            }
        }
    }

    #[test]
    fn thresholds_decide_like_expected_costs() {
        let (llr, y, _) = sampled(300);
        let trials = Trials::new(&llr, &y, None).unwrap();
        let evidence = Evidence::new(2, llr.iter().flat_map(|x| [0.0, *x]).collect()).unwrap();
        let names = ["other".to_string(), "target".to_string()];
        for p in [0.001, 0.01, 0.1, 0.25, 0.5, 0.6, 0.9, 0.999] {
            for (miss, fa) in [(1.0, 1.0), (1000.0, 1.0), (1.0, 7.0), (0.5, 0.25)] {
                let prior = Prior::new(&[1.0 - p, p]).unwrap();
                let costs = Costs::new(names.to_vec(), vec![vec![0.0, fa], vec![miss, 0.0]]).unwrap();
                let application = Application::of(&prior, &costs, 1).unwrap();
                let effective = application.effective_prior();
                assert!((application.threshold() + (effective / (1.0 - effective)).ln()).abs() < 1e-9);
                assert!((effective - costs.effective_prior(&prior).unwrap()).abs() < 1e-15);
                let threshold = application.threshold();
                let decisions = evidence.posterior(&prior).decide(&costs);
                let mut errors = [0.0, 0.0];
                for ((decision, &x), &y) in decisions.iter().zip(&llr).zip(&y) {
                    assert_eq!(decision.action, Some(usize::from(x > threshold)), "{p} {miss} {fa} {x}");
                    errors[usize::from(y)] += f64::from(u8::from(decision.action != Some(usize::from(y))));
                }
                let (t, n) = trials.totals();
                let cost = trials.dcf(&application).actual;
                assert!((cost - application.cost(errors[1] / t, errors[0] / n)).abs() < 1e-13 * cost);
            }
        }
    }

    #[test]
    fn the_curve_is_the_cost_at_each_prior() {
        let (llr, y, weights) = sampled(400);
        let trials = Trials::new(&llr, &y, Some(&weights)).unwrap();
        let log_odds: Vec<f64> = (-60..=60).map(|i| f64::from(i) / 8.0 + 0.013).collect();
        let mut hull: f64 = 0.0;
        for point in trials.bayes_error_curve(&log_odds) {
            let prior = 1.0 / (1.0 + (-point.log_odds).exp());
            let cost = trials.dcf(&Application::new(prior, 1.0, 1.0).unwrap());
            assert!((point.minimum - cost.minimum).abs() < 1e-14, "{point:?} {cost:?}");
            assert!((point.actual - cost.actual).abs() < 1e-14 && (point.default - cost.default).abs() < 1e-15);
            hull = hull.max(point.minimum);
        }
        // The hull's equal error rate is the largest minimum over all priors.
        assert!(hull <= trials.hull_eer() + 1e-14 && hull > 0.99 * trials.hull_eer());
    }

    #[test]
    fn infinite_llrs_and_absent_classes() {
        let infinite = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY];
        let trials = Trials::new(&infinite, &[true, true, false], None).unwrap();
        let cost = trials.dcf(&Application::new(0.5, 1.0, 1.0).unwrap());
        assert_eq!((cost.actual, cost.minimum), (0.75, 0.5));
        assert_eq!(trials.bayes_error_curve(&[0.0])[0].actual, 0.75);
        let none = Trials::new(&[1.0], &[true], None).unwrap();
        assert!(none.dcf(&Application::new(0.5, 1.0, 1.0).unwrap()).actual.is_nan());
        assert!(none.bayes_error_curve(&[0.0])[0].minimum.is_nan());
        for (p, miss) in [(0.0, 1.0), (1.0, 1.0), (f64::NAN, 1.0), (0.5, 0.0), (0.5, f64::INFINITY)] {
            assert!(Application::new(p, miss, 1.0).is_err());
        }
    }
}
