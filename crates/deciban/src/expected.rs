//! The error and the cost that a generative model itself expects, under a prior and costs.
//!
//! ```text
//! cost  = ∫ Σₖ πₖ p(x | k) C[a(x)][k] dx        a(x): the best action for x     (the Bayes risk)
//! error = ∫ Σₖ πₖ p(x | k) [a(x) is a class, but not k] dx
//! ```
//!
//! Both are averages over rows of what their posterior says, so no row needs a label: they hold if the model does.
//!
//! - Categories alone: the sum over all combinations, if these are at most [`MOST_COMBINATIONS`].
//! - One number: quadrature (Gauss–Kronrod with 15 points, halving intervals until the error is below 10⁻¹²), over
//!   y = c + s sinh u with x = y, or x = exp y for families of positive numbers. Tails of any weight are reached, and
//!   the first intervals end at quantiles of each class.
//! - Anything else: rows drawn from the model with a seed, the same number for each class, and a standard error.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{Batch, Kind, Value};
use crate::decision::Costs;
use crate::drawn::Drawn;
use crate::error::{Error, Result};
use crate::family::AnyFamily;
use crate::learn::{Classifier, FittedBlock, GenerativeModel};
use crate::model::Model;
use crate::numerics::{Random, hash};
use crate::posterior::{Posterior, Prior};

/// Up to so many combinations of levels are summed.
pub const MOST_COMBINATIONS: usize = 1 << 18;

/// What a model expects of its own decisions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The probability of deciding for a class that is not the true one.
    pub error_rate: f64,
    /// The mean cost of the decisions: the Bayes risk.
    pub expected_cost: f64,
    /// The probability of an action that is not a class, such as *reject*.
    pub rejected: f64,
    /// How they were computed.
    pub by: By,
}

/// How expectations were computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum By {
    /// The sum over all combinations of levels.
    Sum,
    /// Quadrature over one number.
    Quadrature,
    /// Rows drawn from the model.
    Sampling {
        /// How many.
        rows: usize,
        /// The standard error of the error rate.
        error_rate_error: f64,
        /// The standard error of the expected cost.
        expected_cost_error: f64,
    },
}

/// How rows are drawn where they must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// How many rows, over all classes.
    pub rows: usize,
    /// The seed.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { rows: 20_000, seed: 0 }
    }
}

/// What a model expects of decisions under a prior and costs. A calibrated model expects what the model inside does:
/// a map of evidence does not say how rows come about.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::decision::Costs;
/// use deciban::engine::Memory;
/// use deciban::expected::{Sampling, expected};
/// use deciban::family::gaussian::{Gaussian, Structure};
/// use deciban::learn::{Generative, Learner};
/// use deciban::model::Model;
/// use deciban::posterior::Prior;
///
/// // Two Gaussians of standard deviation 1, two apart: errors of Φ(−1) = 15.87 %.
/// let schema = Schema::numbers(&["x"], "class", &["a", "b"])?;
/// let rows = Batch::new(4).column(&[-1.0, 1.0, 1.0, 3.0][..])?.classes(&[0, 0, 1, 1])?;
/// let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
/// let learner = Generative::gaussian(schema.columns(), tied)?;
/// let model = Model::Generative(learner.learn(&Memory::new(schema.clone(), rows)?)?);
/// let costs = Costs::zero_one(schema.classes());
/// let found = expected(&model, &Prior::uniform(2), &costs, Sampling::default())?;
/// assert!((found.error_rate - 0.158_655_253_931_457).abs() < 1e-10);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn expected(model: &Model, prior: &Prior, costs: &Costs, sampling: Sampling) -> Result<Expected> {
    let Model::Generative(model) = model.plain() else {
        let message = "a model that does not describe how rows come about expects no error of its own: evaluate it";
        return Err(Error::Schema(message.into()));
    };
    let classes = model.schema().classes();
    Error::check_shape("classes of the prior", classes.len(), prior.classes())?;
    Error::check_shape("classes of the costs", classes.len(), costs.classes())?;
    let names: HashMap<&String, usize> = classes.iter().enumerate().map(|(k, name)| (name, k)).collect();
    let class_of = costs.actions().iter().map(|action| names.get(action).copied()).collect();
    let task = Task { model, prior, costs, class_of };
    let exact = match shape(model) {
        Shape::Categories => Some((task.sum()?, By::Sum)),
        Shape::Number { positive } => Some((task.quadrature(positive, sampling.seed)?, By::Quadrature)),
        Shape::Other => None,
    };
    match exact {
        // Levels that were never seen, or what else escapes the sum, must not go unnoticed.
        Some(([mass, error, cost, rejected], by)) if (mass - 1.0).abs() < 1e-7 => {
            Ok(Expected { error_rate: error, expected_cost: cost, rejected, by })
        }
        _ => task.sample(sampling),
    }
}

/// What the columns of a model are, together.
enum Shape {
    Categories,
    Number { positive: bool },
    Other,
}

fn shape(model: &GenerativeModel) -> Shape {
    let columns = model.schema().columns();
    let combinations = columns.iter().try_fold(1usize, |product, column| product.checked_mul(column.levels.len()));
    let categories = columns.iter().all(|c| matches!(c.kind, Kind::Category | Kind::Flag) && !c.levels.is_empty());
    if categories && combinations.is_some_and(|n| n <= MOST_COMBINATIONS) {
        return Shape::Categories;
    }
    match model.blocks() {
        [FittedBlock { block, .. }]
            if model.components().is_single()
                && columns.len() == 1
                && block.discretise.is_none()
                && block.deskew.is_none()
                && block.gaussianise.is_none() =>
        {
            match &block.family {
                AnyFamily::Gaussian(_) => Shape::Number { positive: false },
                AnyFamily::Exponential(_) | AnyFamily::Gamma(_) | AnyFamily::LogNormal(_) => {
                    Shape::Number { positive: true }
                }
                _ => Shape::Other,
            }
        }
        _ => Shape::Other,
    }
}

/// A model and what is done with it.
struct Task<'a> {
    model: &'a GenerativeModel,
    prior: &'a Prior,
    costs: &'a Costs,
    /// The class that each action stands for.
    class_of: Vec<Option<usize>>,
}

/// Of a row: ln p(x), the probability of an error, the expected cost, and whether it is rejected.
type Judged = [f64; 4];

impl Task<'_> {
    fn judge(&self, x: &Batch<'_>) -> Result<Vec<Judged>> {
        let evidence = self.model.evidence(x)?;
        let density = evidence.log_density(self.prior);
        let posterior = Posterior::new(evidence.values(), self.prior);
        let decisions = posterior.decide(self.costs);
        let row = |(i, decision): (usize, &crate::decision::Action)| match decision.action {
            // No class can explain it: it does not occur.
            None => [f64::NEG_INFINITY, 0.0, 0.0, 0.0],
            Some(action) => match self.class_of[action] {
                None => [density[i], 0.0, decision.risk, 1.0],
                Some(class) => {
                    let others = posterior.log_row(i).iter().enumerate().filter(|(k, _)| *k != class);
                    [density[i], others.map(|(_, x)| x.exp()).sum(), decision.risk, 0.0]
                }
            },
        };
        Ok(decisions.iter().enumerate().map(row).collect())
    }

    /// Mass, error, cost and rejections over all combinations of levels.
    fn sum(&self) -> Result<[f64; 4]> {
        const CHUNK: usize = 4096;
        let levels: Vec<usize> = self.model.schema().columns().iter().map(|column| column.levels.len()).collect();
        let all: usize = levels.iter().product();
        let chunk = |start: usize| {
            let rows = start..all.min(start + CHUNK);
            let mut columns: Vec<Vec<u32>> = vec![Vec::with_capacity(rows.len()); levels.len()];
            for mut number in rows.clone() {
                for (column, count) in columns.iter_mut().zip(&levels) {
                    column.push((number % count) as u32);
                    number /= count;
                }
            }
            let batch = columns.iter().try_fold(Batch::new(rows.len()), |batch, codes| batch.codes(codes))?;
            let add = |sum: [f64; 4], [log_p, error, cost, rejected]: Judged| {
                let p = log_p.exp();
                [sum[0] + p, sum[1] + p * error, sum[2] + p * cost, sum[3] + p * rejected]
            };
            Ok(self.judge(&batch)?.into_iter().fold([0.0; 4], add))
        };
        let starts: Vec<usize> = (0..all).step_by(CHUNK).collect();
        let parts: Vec<[f64; 4]> = starts.into_par_iter().map(chunk).collect::<Result<_>>()?;
        Ok(parts.iter().fold([0.0; 4], |sum, part| [0, 1, 2, 3].map(|j| sum[j] + part[j])))
    }

    /// Mass, error, cost and rejections over one number.
    fn quadrature(&self, positive: bool, seed: u64) -> Result<[f64; 4]> {
        const DRAWN: usize = 201;
        let mut ends = Vec::new();
        let mut all = Vec::new();
        for k in 0..self.prior.classes() {
            let mut random = Random::new(hash(seed, k as u64));
            let mut drawn = Vec::new();
            for _ in 0..DRAWN {
                if let [Value::Number(x)] = self.model.sample(k, &mut random)?[..] {
                    drawn.push(if positive { x.ln() } else { x });
                }
            }
            drawn.retain(|y| y.is_finite());
            drawn.sort_unstable_by(f64::total_cmp);
            ends.extend(drawn.iter().step_by(DRAWN / 20));
            all.extend(drawn);
        }
        all.sort_unstable_by(f64::total_cmp);
        let Some(last) = all.len().checked_sub(1) else { return Ok([0.0; 4]) };
        let (centre, spread) = (all[last / 2], 0.5 * (all[last * 9 / 10] - all[last / 10]));
        let scale = if spread > 0.0 { spread } else { centre.abs().max(1.0) };
        let line = Line { centre, scale, positive };
        // sinh 30 is 5·10¹²; beyond e^±700 there are no numbers.
        let [low, high] = match positive {
            false => [-30.0, 30.0],
            true => [-700.0, 700.0].map(|y: f64| line.u(y).clamp(-30.0, 30.0)),
        };
        let mut cuts: Vec<f64> = (0..=32).map(|i| low + (high - low) * f64::from(i) / 32.0).collect();
        cuts.extend(ends.iter().map(|y| line.u(*y)).filter(|u| *u > low && *u < high));
        cuts.sort_unstable_by(f64::total_cmp);
        cuts.dedup();
        let mut open: Vec<[f64; 2]> = cuts.windows(2).map(|w| [w[0], w[1]]).collect();
        let mut total = [0.0; 4];
        // Each round halves what is not exact enough; a jump is as narrow as numbers allow after 60.
        for round in 0..60 {
            let judged = self.at(&line, &open)?;
            let mut next = Vec::new();
            for (interval, values) in open.iter().zip(judged.chunks_exact(NODES.len() * 2 - 1)) {
                let (integral, off) = kronrod(interval, values);
                match off > 1e-12 && round < 59 {
                    true => {
                        let middle = 0.5 * (interval[0] + interval[1]);
                        next.extend([[interval[0], middle], [middle, interval[1]]]);
                    }
                    false => total = [0, 1, 2, 3].map(|j| total[j] + integral[j]),
                }
            }
            open = next;
            if open.is_empty() {
                break;
            }
        }
        Ok(total)
    }

    /// The integrands at the nodes of intervals, times the volume of each.
    fn at(&self, line: &Line, intervals: &[[f64; 2]]) -> Result<Vec<[f64; 4]>> {
        let u: Vec<f64> = intervals.iter().flat_map(nodes).collect();
        let points: Vec<(f64, f64)> = u.iter().map(|u| line.point(*u)).collect();
        let x: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
        let judged = self.judge(&Batch::new(x.len()).column(&x[..])?)?;
        let integrand = |([log_p, error, cost, rejected], (_, log_volume)): (Judged, (f64, f64))| {
            let p = (log_p + log_volume).exp();
            [p, p * error, p * cost, p * rejected]
        };
        Ok(judged.into_iter().zip(points).map(integrand).collect())
    }

    /// Averages over rows of each class, as many of each.
    fn sample(&self, sampling: Sampling) -> Result<Expected> {
        if sampling.rows == 0 {
            return Err(Error::parameter("rows", "give at least 1 row to draw"));
        }
        const CHUNK: usize = 512;
        let p = self.prior.probabilities();
        let drawn: Vec<usize> = (0..p.len()).filter(|&k| p[k] > 0.0).collect();
        let rows = sampling.rows.div_ceil(drawn.len()).max(2);
        let (mut mean, mut variance) = ([0.0; 4], [0.0; 4]);
        for &k in &drawn {
            // Each chunk has its own stream, so that threads change nothing.
            let chunk = |start: usize| {
                let mut random = Random::new(hash(hash(sampling.seed, k as u64), start as u64));
                let count = CHUNK.min(rows - start);
                let drawn = (0..count).map(|_| self.model.sample(k, &mut random)).collect::<Result<Vec<_>>>()?;
                Drawn::new(drawn, self.model.schema().columns().len()).with_batch(&[], |x| self.judge(x))
            };
            let starts: Vec<usize> = (0..rows).step_by(CHUNK).collect();
            let judged: Vec<Judged> = starts.into_par_iter().map(chunk).collect::<Result<Vec<_>>>()?.concat();
            for j in 1..4 {
                let n = judged.len() as f64;
                let m = judged.iter().map(|row| row[j]).sum::<f64>() / n;
                let square = judged.iter().map(|row| (row[j] - m) * (row[j] - m)).sum::<f64>() / (n - 1.0);
                mean[j] += p[k] * m;
                variance[j] += p[k] * p[k] * square / n;
            }
        }
        let by = By::Sampling {
            rows: rows * drawn.len(),
            error_rate_error: variance[1].sqrt(),
            expected_cost_error: variance[2].sqrt(),
        };
        Ok(Expected { error_rate: mean[1], expected_cost: mean[2], rejected: mean[3], by })
    }
}

/// x by u.
struct Line {
    centre: f64,
    scale: f64,
    positive: bool,
}

impl Line {
    /// x, and ln dx/du.
    fn point(&self, u: f64) -> (f64, f64) {
        let y = self.centre + self.scale * u.sinh();
        let log_volume = self.scale.ln() + u.cosh().ln();
        match self.positive {
            true => (y.exp(), log_volume + y),
            false => (y, log_volume),
        }
    }

    fn u(&self, y: f64) -> f64 {
        ((y - self.centre) / self.scale).asinh()
    }
}

/// The nodes of Gauss–Kronrod from the middle out, with their weights; of every second one also that of Gauss.
const NODES: [(f64, f64, f64); 8] = [
    (0.0, 0.209_482_141_084_727_82, 0.417_959_183_673_469_4),
    (0.207_784_955_007_898_47, 0.204_432_940_075_298_89, 0.0),
    (0.405_845_151_377_397_2, 0.190_350_578_064_785_4, 0.381_830_050_505_118_9),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9, 0.0),
    (0.741_531_185_599_394_4, 0.140_653_259_715_525_92, 0.279_705_391_489_276_64),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_18, 0.0),
    (0.949_107_912_342_758_5, 0.063_092_092_629_978_55, 0.129_484_966_168_869_7),
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224, 0.0),
];

/// All 15 nodes of an interval.
fn nodes(interval: &[f64; 2]) -> impl Iterator<Item = f64> + use<> {
    let (middle, half) = (0.5 * (interval[0] + interval[1]), 0.5 * (interval[1] - interval[0]));
    let both = NODES[1..].iter().flat_map(move |(node, ..)| [middle - half * node, middle + half * node]);
    std::iter::once(middle).chain(both)
}

/// The integrals over an interval from the values at its nodes, and how far they may be off.
fn kronrod(interval: &[f64; 2], values: &[[f64; 4]]) -> ([f64; 4], f64) {
    let half = 0.5 * (interval[1] - interval[0]);
    let (mut fine, mut coarse) = ([0.0; 4], [0.0; 4]);
    for (i, value) in values.iter().enumerate() {
        let (_, kronrod, gauss) = NODES[i.div_ceil(2)];
        for j in 0..4 {
            fine[j] += half * kronrod * value[j];
            coarse[j] += half * gauss * value[j];
        }
    }
    let off = (0..4).map(|j| (fine[j] - coarse[j]).abs()).fold(0.0, f64::max);
    (fine, off)
}
