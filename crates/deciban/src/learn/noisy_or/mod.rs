//! Noisy-OR (Pearl 1988): causes that each may bring about an effect on their own.
//!
//! Cause i, present xᵢ ≥ 0 times, fails to produce the effect with probability αᵢ each time, and a
//! leak stands for all causes that are not in the table:
//!
//! p(no effect | x) = α₀ Π αᵢ^xᵢ = exp(−θ₀ − Σ θᵢxᵢ),  θᵢ = −ln αᵢ ≥ 0.
//!
//! A category has a cause for each of its levels but one, which is the absence of all of them: a level named as such
//! (`no`, `false`, `absent`, ...), else the most frequent one.
//!
//! θ minimises −Σ w ln p(label | x) + A Σ θᵢ, the leak free. The penalty is A rows of each cause
//! alone without effect. The objective is convex.

mod explain;
mod model;
mod pass;

pub use model::{Cause, NoisyOrFit, NoisyOrModel};
pub use pass::Causes;

use super::Learner;
use super::logistic::Scale;
use super::logistic::derivatives::Derivatives;
use super::logistic::features::Features;
use super::options::{EFFECT, FOLDS, Group, Named, Options, PSEUDO_COUNT, Seen, TEXTS};
use crate::data::{Column, Schema};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::numerics::bounded;
use crate::numerics::minimise::{Curvature, Limits, Objective, Point};
use crate::posterior::Prior;

/// How the optimum of a noisy-OR is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Newton's up to 600 causes, EM beyond.
    #[default]
    Auto,
    /// Projected Newton steps.
    Newton,
    /// Expectation–maximisation.
    Em,
}

/// Learns a noisy-OR model of two classes.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyOr {
    /// The class that causes produce; the second by default.
    pub effect: Option<String>,
    /// A: rows of each cause alone, without effect, that the prior adds.
    pub pseudo_count: f64,
    /// How the optimum is found.
    pub method: Method,
    /// What counts as zero of the gradient, per unit of a cause.
    pub tolerance: f64,
    /// The most iterations.
    pub iterations: usize,
}

impl Default for NoisyOr {
    fn default() -> Self {
        NoisyOr { effect: None, pseudo_count: 1.0, method: Method::Auto, tolerance: 1e-8, iterations: 1000 }
    }
}

/// More causes than this get no Hessian.
const MOST_DENSE: usize = 600;

impl NoisyOr {
    fn effect(&self, schema: &Schema) -> Result<u32> {
        let classes = schema.classes();
        if classes.len() != 2 {
            let message = format!(
                "noisy-or needs two classes, and there are {}: give §versus_rest=CLASS, or §model=logistic",
                classes.len()
            );
            return Err(Error::parameter("model", message));
        }
        match &self.effect {
            None => Ok(1),
            Some(name) => schema
                .class(name)
                .map(|class| class as u32)
                .ok_or_else(|| Error::unknown_class("effect", name, classes)),
        }
    }
}

impl Named for NoisyOr {
    const MODELS: &'static [(&'static str, &'static [Group])] = &[("noisy-or", &[EFFECT, FOLDS, PSEUDO_COUNT, TEXTS])];

    const OF_TWO_CLASSES: &'static [&'static str] = &["noisy-or"];

    /// Pseudo-counts are rows of each cause alone, without effect, that hold its strength back.
    fn of_options(_: &str, options: &Options, _: &[Column], _: Seen<'_>) -> Result<Self> {
        Ok(NoisyOr { effect: options.effect.clone(), pseudo_count: options.pseudo_count, ..NoisyOr::default() })
    }

    fn model(&self) -> &'static str {
        "noisy-or"
    }

    fn of_model(model: &NoisyOrModel) -> Self {
        let (effect, pseudo_count) = (Some(model.effect().to_string()), model.fit().pseudo_count);
        NoisyOr { effect, pseudo_count, ..NoisyOr::default() }
    }
}

impl Learner for NoisyOr {
    type Model = NoisyOrModel;

    fn learn(&self, engine: &dyn Engine) -> Result<NoisyOrModel> {
        if !(self.pseudo_count >= 0.0 && self.pseudo_count.is_finite()) {
            return Err(Error::parameter("pseudo_count", "give a number of 0 or more"));
        }
        let scales = engine.run(&Scale::new(engine.schema()?.columns()))?;
        let schema = engine.schema()?;
        let mut weights = scales.weights.clone();
        weights.resize(schema.classes().len(), 0.0);
        super::generative::check_classes(&schema, &weights, &weights)?;
        if schema.reading().is_some_and(|reading| reading.hashed_bits.is_some()) {
            return Err(Error::parameter("hashed_bits", "noisy-or names its words: drop the option"));
        }
        let effect = self.effect(&schema)?;
        // Causes are taken as they are: 0 is their absence, and so is a missing cell.
        let numbers = schema.columns().iter().filter(|c| c.is_numeric()).count();
        let features = Features::new(schema.columns(), &vec![0.0; numbers], &vec![1.0; numbers])?;
        let absences = absences(&features, &scales.levels);
        let features = features.leave_out(absences);
        let objective = Penalised { engine, features: &features, effect, pseudo_count: self.pseudo_count };
        // Σ w xᵢ over the rows without and with the effect.
        let (without, with) = (objective.presence(effect)?, objective.presence(1 - effect)?);
        let mut scales: Vec<f64> = without.iter().zip(&with).map(|(a, b)| a + b).collect();
        let causes = features.len();
        scales[..causes].iter_mut().filter(|x| **x > 0.0).for_each(|x| *x += self.pseudo_count);
        let weight: f64 = weights.iter().sum();
        let start = start(&scales, weights[effect as usize] / weight);
        let limits = Limits { gradient: self.tolerance, iterations: self.iterations };
        let scales = bounded::Scales(&scales);
        let solution = match self.method {
            Method::Newton if causes > 4 * MOST_DENSE => {
                return Err(Error::parameter("model", format!("{causes} causes are too many for Newton's method")));
            }
            Method::Newton => bounded::newton(&objective, start, &scales, limits)?,
            Method::Auto if causes <= MOST_DENSE => bounded::newton(&objective, start, &scales, limits)?,
            Method::Auto | Method::Em => bounded::em(&objective, start, &scales, limits)?,
        };
        let penalty = self.pseudo_count * solution.theta[..causes].iter().sum::<f64>();
        let never_fail = |i: &usize| self.pseudo_count == 0.0 && without[*i] == 0.0 && with[*i] > 0.0;
        let fit = NoisyOrFit {
            weight,
            log_likelihood: penalty - solution.value,
            null_log_likelihood: weights.iter().map(|w| w * (w / weight).ln()).sum(),
            objective: solution.value,
            violation: solution.violation,
            iterations: solution.iterations,
            converged: solution.converged,
            pseudo_count: self.pseudo_count,
            never_fail: (0..causes).filter(never_fail).map(|i| features.names()[i].clone()).collect(),
            path: solution.path,
        };
        Ok(NoisyOrModel::new(schema, features, effect, solution.theta, Prior::from_weights(&weights)?, fit))
    }
}

/// The feature of the level of each category that is no cause: the level that says that something is absent, if one
/// does, else the most frequent one.
fn absences(features: &Features, levels: &[Vec<f64>]) -> Vec<usize> {
    const ABSENT: [&str; 12] =
        ["false", "no", "n", "f", "0", "absent", "none", "negative", "off", "never", "without", "-"];
    let says_absent = |j: &usize| {
        let level = features.names()[*j].split_once('=').map_or("", |(_, level)| level);
        ABSENT.iter().any(|absent| level.eq_ignore_ascii_case(absent))
    };
    let most_frequent = super::logistic::most_frequent(features, levels);
    features.categories().zip(most_frequent).map(|(mut range, most)| range.find(says_absent).unwrap_or(most)).collect()
}

/// Weights that give the average row the effect's share: half from the leak, half from all causes alike.
fn start(scales: &[f64], share: f64) -> Vec<f64> {
    let rows = scales[scales.len() - 1];
    let half = -0.5 * (-share).ln_1p();
    let causes = scales[..scales.len() - 1].iter().filter(|x| **x > 0.0).count() as f64;
    let of = |&x: &f64| if x > 0.0 { half * rows / (causes * x) } else { 0.0 };
    scales[..scales.len() - 1].iter().map(of).chain([half]).collect()
}

/// The penalised −log-likelihood on an engine.
struct Penalised<'a> {
    engine: &'a dyn Engine,
    features: &'a Features,
    effect: u32,
    pseudo_count: f64,
}

impl Penalised<'_> {
    fn run(&self, theta: &[f64], effect: u32, hessian: bool) -> Result<Derivatives> {
        self.engine.run(&Causes { features: self.features.clone(), effect, theta: theta.to_vec(), hessian })
    }

    /// Σ w xᵢ over the rows without `effect`: the gradient where the leak explains every effect.
    fn presence(&self, effect: u32) -> Result<Vec<f64>> {
        let mut theta = vec![0.0; self.features.len() + 1];
        theta[self.features.len()] = 1e4;
        Ok(self.run(&theta, effect, false)?.gradient)
    }
}

impl Objective for Penalised<'_> {
    fn at(&self, theta: &[f64], curvature: Curvature) -> Result<Point> {
        let mut sums = self.run(theta, self.effect, curvature == Curvature::Exact)?;
        for (g, t) in sums.gradient[..self.features.len()].iter_mut().zip(theta) {
            *g += self.pseudo_count;
            sums.loss += self.pseudo_count * t;
        }
        Ok(Point { value: sums.loss, gradient: sums.gradient, curvature: sums.hessian })
    }
}
