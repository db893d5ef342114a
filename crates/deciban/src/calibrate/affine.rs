//! Calibration by an affine map: evidence aeₖ + bₖ, for any number of classes.
//!
//! For two classes it is the line LLR′ = a·LLR + b: prior-weighted logistic regression on the LLR
//! (Brümmer & du Preez 2006). Temperature scaling has b = 0 and a = 1/T. a is the same for all classes,
//! so a constant added to a row's evidence still changes nothing; Σ bₖ = 0.

use serde::{Deserialize, Serialize};

use super::softmax::{Softmax, balance};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::posterior::Prior;

/// e ↦ a·e + b.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Affine {
    /// a, above 0: below 1 the evidence was too sure.
    pub scale: f64,
    /// b, of each class.
    pub bias: Vec<f64>,
}

impl Affine {
    /// The best map at a prior; without `biased` b is 0.
    pub fn fit(
        evidence: &Evidence,
        truth: &[u32],
        weights: Option<&[f64]>,
        prior: &Prior,
        pseudo_count: f64,
        biased: bool,
    ) -> Result<Self> {
        let problem = Problem::new(evidence, truth, weights, prior, pseudo_count)?;
        let map = problem.map(&problem.softmax(biased).fit()?.theta);
        match map.scale > 0.0 {
            true => Ok(map),
            false => Err(Error::Classes(
                "the evidence does not point towards the classes of these rows: no calibration can mend that".into(),
            )),
        }
    }

    /// The map of a row's evidence. −∞ stays.
    pub(super) fn apply(&self, row: &mut [f64]) {
        row.iter_mut().zip(&self.bias).for_each(|(e, b)| *e = self.scale * *e + b);
    }
}

/// The least mean loss at a flat prior, in nats, that an affine map with a ≥ 0 can have on these rows,
/// and the map: what [`Cllr`](crate::evaluate::Cllr) becomes with the best affine calibration. ∞ where a
/// row's own class is impossible. A map for nearly the same rows makes a good `start`.
pub(crate) fn least_loss(
    evidence: &Evidence,
    truth: &[u32],
    weights: &[f64],
    start: Option<&Affine>,
) -> Result<(f64, Option<Affine>)> {
    let classes = evidence.classes();
    let hopeless = |(i, &k): (usize, &u32)| weights[i] > 0.0 && evidence.row(i)[k as usize] == f64::NEG_INFINITY;
    if truth.iter().enumerate().any(hopeless) {
        return Ok((f64::INFINITY, None));
    }
    let problem = Problem::new(evidence, truth, Some(weights), &Prior::uniform(classes), 0.0)?;
    let theta = start.map_or_else(|| vec![0.0; classes], |map| problem.theta(map));
    let solution = problem.softmax(true).least(theta)?;
    // Below 0 the best allowed scale is 0, where the best biases are 0 too.
    let value = if solution.theta[0] > 0.0 { solution.value } else { (classes as f64).ln() };
    Ok((value, Some(problem.map(&solution.theta))))
}

/// Rows with their balanced weights, and evidence in units in which it is about 1.
struct Problem<'a> {
    evidence: &'a Evidence,
    truth: &'a [u32],
    weights: Vec<f64>,
    share: Vec<f64>,
    log_prior: Vec<f64>,
    unit: f64,
}

impl<'a> Problem<'a> {
    fn new(
        evidence: &'a Evidence,
        truth: &'a [u32],
        weights: Option<&[f64]>,
        prior: &Prior,
        pseudo_count: f64,
    ) -> Result<Self> {
        let (weights, share) = balance(truth, weights, prior.probabilities(), pseudo_count)?;
        for (i, &k) in truth.iter().enumerate().filter(|(i, _)| weights[*i] > 0.0) {
            let row = evidence.row(i);
            if row[k as usize] == f64::NEG_INFINITY || (pseudo_count > 0.0 && row.iter().any(|e| e.is_infinite())) {
                let message = format!("row {}: infinite evidence cannot be calibrated so: use §method=pav", i + 1);
                return Err(Error::Classes(message));
            }
        }
        // The root mean square of the evidence against the true class.
        let square = |(i, &k): (usize, &u32)| {
            let row = evidence.row(i);
            let finite = row.iter().filter(|e| e.is_finite());
            weights[i] * finite.map(|e| (e - row[k as usize]).powi(2)).sum::<f64>()
        };
        let unit = truth.iter().enumerate().filter(|(i, _)| weights[*i] > 0.0).map(square).sum::<f64>().sqrt();
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let log_prior = prior.probabilities().iter().map(|p| p.ln()).collect();
        Ok(Problem { evidence, truth, weights, share, log_prior, unit })
    }

    /// Features: the evidence against the true class, and an indicator of each class but the first.
    fn softmax(&self, biased: bool) -> Softmax<'_, impl Fn(usize, &mut [f64]) + Sync> {
        let width = if biased { self.evidence.classes() } else { 1 };
        let features = move |i: usize, phi: &mut [f64]| {
            let row = self.evidence.row(i);
            let own = row[self.truth[i] as usize];
            phi.fill(0.0);
            for (k, e) in row.iter().enumerate() {
                phi[k * width] = (e - own) / self.unit;
                if biased && k > 0 {
                    phi[k * width + k] = 1.0;
                }
            }
        };
        let (truth, weights, log_prior, share) = (self.truth, &self.weights, &self.log_prior, &self.share);
        Softmax { truth, weights, log_prior, share, width, features }
    }

    /// The parameters of a map.
    fn theta(&self, map: &Affine) -> Vec<f64> {
        let biases = map.bias[1..].iter().map(|b| b - map.bias[0]);
        std::iter::once(map.scale * self.unit).chain(biases).collect()
    }

    fn map(&self, theta: &[f64]) -> Affine {
        let classes = self.evidence.classes();
        let bias: Vec<f64> = (0..classes).map(|k| if k > 0 && theta.len() > 1 { theta[k] } else { 0.0 }).collect();
        let mean = bias.iter().sum::<f64>() / classes as f64;
        Affine { scale: theta[0] / self.unit, bias: bias.iter().map(|b| b - mean).collect() }
    }
}
