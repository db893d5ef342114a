//! Logistic and softmax regression, and other links for two classes: how likely each class is given
//! a row, linear in its features.
//!
//! The weights minimise −Σ wᵢ ln p(labelᵢ | xᵢ) + ½ E ‖w‖², where the intercept is not penalised. A
//! model's evidence is its log-posterior minus the log-prior of its training data, so another prior
//! at prediction moves the log-odds by exactly the change of the prior log-odds.

pub(super) mod derivatives;
mod errors;
pub(super) mod explain;
pub(crate) mod features;
mod fill;
mod gather;
mod in_place;
mod link;
mod model;
pub(crate) mod rowset;
mod scale;
mod sgd;

pub use derivatives::{Differentiate, HessianProduct};
pub use gather::Gather;
pub use link::Link;
pub use model::{Coefficient, Fit, LogisticModel};
pub use scale::Scale;
pub use sgd::Descent;

use self::derivatives::outputs;
use self::errors::standard_errors;
use self::features::Features;
use self::fill::Fill;
use super::options::{FOLDS, Group, Named, Options, Seen, TEXTS, WEIGHTS};
use super::{About, Learner};
use crate::data::{Column, Schema};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
pub use crate::numerics::minimise::Solver;
use crate::numerics::minimise::{self, Curvature, Limits, Objective, Point, Solution};
use crate::numerics::{Matrix, dot};
use crate::posterior::Prior;
use crate::statistic::ColumnMoments;

/// Learns a linear model of the posterior.
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    /// The link, for two classes; more take the softmax.
    pub link: Link,
    /// The solver.
    pub solver: Solver,
    /// E, in units of rows: what a unit of squared weight costs.
    pub weight_decay: f64,
    /// Whether weights are penalised per standard deviation of a number rather than per unit.
    pub standardise: bool,
    /// Whether there is an intercept; without one the class boundary passes through the origin.
    pub intercept: bool,
    /// The largest component of the gradient, per unit of weight, that counts as zero.
    pub tolerance: f64,
    /// The most iterations.
    pub iterations: usize,
    /// What stochastic gradient descent needs besides.
    pub descent: Descent,
    /// Whether a missing cell is what is expected of it: a number its mean given the other numbers of its row, a
    /// category that had no missing cells at the fit a share of each level. Otherwise a missing number is the mean of
    /// its column, and a missing category has no level.
    pub fills: bool,
}

impl Default for Logistic {
    fn default() -> Self {
        Logistic {
            link: Link::Logit,
            solver: Solver::Auto,
            weight_decay: 1.0,
            standardise: true,
            intercept: true,
            tolerance: 1e-8,
            iterations: 1000,
            descent: Descent::default(),
            fills: true,
        }
    }
}

/// More features than this get no block XᵀX: the triangle and its factor would outgrow the passes.
const MOST_DENSE: usize = 2000;

/// The same where most features are levels or words, whose gradients cost next to nothing.
const MOST_SPARSE: usize = 600;

/// For so many features, a step by gradients alone is tried before XᵀX is made.
const STEPS: usize = 64;

/// Rows times squared weights of a Hessian that takes hardly longer than a gradient.
const CHEAP: f64 = 2e7;

/// The largest component of the gradient, per unit of weight, at which some of the rows have told what they can.
const NEAR: f64 = 1e-3;

/// After so many steps by the bound, the Hessian itself is worth its time.
const MOST_BOUND: usize = 64;

/// Every how many tiles of rows must be enough to start from, for so many weights, that the Hessians of these tiles
/// take no longer than a few gradients of all rows.
const WIDTH_OF_FEW: usize = 40;

/// More weights than this get no Hessian.
const MOST_EXACT: usize = 1200;

/// What the first pass leaves: who is there, and the scale of the numbers.
struct Start {
    schema: Schema,
    weights: Vec<f64>,
    rows: f64,
    numbers: ColumnMoments,
    /// The weight of each level, for each category.
    levels: Vec<Vec<f64>>,
    /// What stands for missing cells.
    fill: Fill,
}

impl Logistic {
    fn check(&self) -> Result<()> {
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return Err(Error::parameter("weight_decay", "give a number of 0 or more"));
        }
        if !self.intercept && self.solver == Solver::Sgd {
            return Err(Error::parameter("solver", "stochastic gradient descent needs an intercept"));
        }
        Ok(())
    }

    fn start(&self, engine: &dyn Engine) -> Result<Start> {
        let schema = engine.schema()?;
        if schema.reading().is_some_and(|reading| reading.hashed_bits.is_some()) {
            return Err(Error::parameter("hashed_bits", "a linear model names its words: drop the option"));
        }
        let scales = engine.run(&Scale::new(schema.columns()))?;
        let schema = engine.schema()?;
        let mut weights = scales.weights.clone();
        weights.resize(schema.classes().len(), 0.0);
        super::generative::check_classes(&schema, &weights, &weights)?;
        let fill = if self.fills { Fill::learn(engine, schema.columns(), &scales)? } else { Fill::default() };
        let (rows, numbers) = (scales.rows, scales.numbers().clone());
        Ok(Start { schema, weights, rows, numbers, levels: scales.levels, fill })
    }

    fn features(&self, start: &Start) -> Result<Features> {
        let moments = &start.numbers;
        // Centring moves only the intercept.
        let variance = |j: usize| match self.standardise {
            true => moments.scatter()[j] / moments.weight()[j].max(f64::MIN_POSITIVE),
            false => 1.0,
        };
        let variances: Vec<f64> = (0..moments.width()).map(variance).collect();
        let features = match self.intercept {
            true => Features::new(start.schema.columns(), moments.mean(), &variances),
            // Centred numbers would bring the intercept back.
            false => Features::new(start.schema.columns(), &vec![0.0; moments.width()], &variances),
        };
        Ok(features?.filled_by(start.fill.clone()))
    }

    fn solve(&self, objective: &mut Penalised<'_>, start: &Start, theta: Vec<f64>) -> Result<Solution> {
        let outputs = outputs(objective.classes);
        let n = objective.features.len() + 1;
        let weight = objective.weight;
        let limits = Limits { gradient: self.tolerance * weight, iterations: self.iterations };
        let exact = theta.len() <= MOST_EXACT;
        let (every, few) = (sampling(start.rows, 20 * theta.len()), sampling_few(start.rows, 20 * theta.len()));
        let is_cheap = start.rows * (theta.len() * theta.len()) as f64 <= CHEAP;
        let is_bounded = outputs > 1 || self.link == Link::Logit;
        let most = if 2 * objective.features.numbers() >= n { MOST_DENSE } else { MOST_SPARSE };
        match self.solver {
            Solver::Newton if exact => minimise::newton(objective, theta, limits),
            Solver::Newton => minimise::newton_cg(objective, theta, limits),
            // Some of the rows tell well enough where the optimum is: few steps of all rows correct that.
            Solver::Auto if exact && few > 1 && theta.len() <= WIDTH_OF_FEW * few => {
                (objective.every, objective.is_sample) = (few, true);
                let near = minimise::newton(
                    objective,
                    theta,
                    Limits { gradient: NEAR.max(self.tolerance) * weight, ..limits },
                )?;
                (objective.every, objective.is_sample) = (every, false);
                minimise::lbfgs_near(objective, near.theta, limits)
            }
            Solver::Auto if exact && (is_cheap || !is_bounded) => minimise::newton(objective, theta, limits),
            Solver::Auto | Solver::Lbfgs if is_bounded && n <= most => {
                // The products of all pairs of columns take as long as many gradients: where few steps do without
                // them, they are not needed.
                let first = Limits { iterations: limits.iterations.min(n / STEPS), ..limits };
                let near = minimise::lbfgs(objective, theta, Curvature::Diagonal, first)?;
                if near.converged || near.iterations == limits.iterations {
                    return Ok(near);
                }
                objective.every = sampling(start.rows, 8 * n);
                let rest = |taken: usize| Limits { iterations: limits.iterations - taken, ..limits };
                // Rare levels leave rows that are all but certain, where the bound is far above the Hessian.
                let is_tried = self.solver == Solver::Auto && exact;
                let mut second = rest(near.iterations);
                if is_tried {
                    second.iterations = second.iterations.min(MOST_BOUND);
                }
                let near = minimise::lbfgs(objective, near.theta.clone(), Curvature::Bound, second)?.after(near);
                if near.converged || !is_tried || near.iterations == limits.iterations {
                    return Ok(near);
                }
                objective.every = 1;
                Ok(minimise::newton(objective, near.theta.clone(), rest(near.iterations))?.after(near))
            }
            Solver::Auto | Solver::Lbfgs => minimise::lbfgs(objective, theta, Curvature::Diagonal, limits),
            Solver::Gradient => minimise::gradient(objective, theta, limits),
            Solver::Sgd => {
                let Penalised { engine, features, classes, link, decay, .. } = *objective;
                let problem = sgd::Problem { features, classes, link, decay, weight };
                sgd::sgd(engine, &problem, objective, theta, &self.descent)
            }
        }
    }

    /// Weights of 0 and, for the logit, the intercepts of the class weights.
    fn first(&self, n: usize, outputs: usize, weights: &[f64]) -> Vec<f64> {
        let mut theta = vec![0.0; n * outputs];
        let intercepts = &mut theta[(n - 1) * outputs..];
        match (outputs, self.link) {
            _ if !self.intercept => {}
            (1, Link::Logit) => intercepts[0] = (weights[1] / weights[0]).ln(),
            (1, _) => {}
            _ => {
                let total: f64 = weights.iter().sum();
                intercepts.iter_mut().zip(weights).for_each(|(b, w)| *b = (w / total).ln());
            }
        }
        // A class without weight has no intercept to start from.
        intercepts.iter_mut().filter(|b| !b.is_finite()).for_each(|b| *b = 0.0);
        theta
    }
}

/// The feature of the most frequent level of each category; of equally frequent ones the first.
pub(super) fn most_frequent(features: &Features, levels: &[Vec<f64>]) -> Vec<usize> {
    let most = |(range, weights): (std::ops::Range<usize>, &Vec<f64>)| {
        let weight = |j: &usize| weights.get(j - range.start).copied().unwrap_or(0.0);
        range.clone().rev().max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap_or(range.start)
    };
    features.categories().zip(levels).map(most).collect()
}

/// Every how many tiles of rows make `enough` of them, which are no fewer than 16384.
fn sampling(rows: f64, enough: usize) -> usize {
    (rows / enough.max(16384) as f64).max(1.0) as usize
}

/// The same of rows that only start the search: no fewer than 4096, and a twelfth of many.
fn sampling_few(rows: f64, enough: usize) -> usize {
    (rows / enough.max(4096) as f64).clamp(1.0, 12.0) as usize
}

impl Logistic {
    fn check_link(&self, classes: usize) -> Result<()> {
        if classes > 2 && self.link != Link::Logit {
            let message = format!("it needs two classes, and there are {classes}: give §model=logistic");
            return Err(Error::parameter("model", message));
        }
        Ok(())
    }

    /// The models for several weight decays, each found from the one before: give them in descending
    /// order.
    pub fn path(&self, engine: &dyn Engine, decays: &[f64]) -> Result<Vec<LogisticModel>> {
        let start = self.start(engine)?;
        let classes = start.schema.classes().len();
        self.check_link(classes)?;
        let features = self.features(&start)?;
        let mut theta = self.first(features.len() + 1, outputs(classes), &start.weights);
        let mut models = Vec::new();
        for &weight_decay in decays {
            let learner = Logistic { weight_decay, ..self.clone() };
            learner.check()?;
            let model = learner.fit(engine, &start, &features, theta)?;
            theta = model.theta().to_vec();
            models.push(model);
        }
        Ok(models)
    }

    /// The model, found from the weights of another as [`LogisticModel::weights`] has them.
    pub fn learn_from(&self, engine: &dyn Engine, weights: &[f64]) -> Result<LogisticModel> {
        self.check()?;
        let start = self.start(engine)?;
        let classes = start.schema.classes().len();
        self.check_link(classes)?;
        let features = self.features(&start)?;
        Error::check_shape("weights to start from", (features.len() + 1) * outputs(classes), weights.len())?;
        if let Some(weight) = weights.iter().find(|w| !w.is_finite()) {
            return Err(Error::Schema(format!("the weight {weight} is nothing to start from")));
        }
        let theta = features.standardised(weights, outputs(classes));
        self.fit(engine, &start, &features, theta)
    }

    /// The model, found from these weights.
    fn fit(&self, engine: &dyn Engine, start: &Start, features: &Features, theta: Vec<f64>) -> Result<LogisticModel> {
        let classes = start.schema.classes().len();
        let (link, decay) = (self.link, self.weight_decay);
        let intercept = self.intercept;
        let weight = start.weights.iter().sum();
        let mut objective =
            Penalised { engine, features, classes, link, decay, weight, intercept, every: 1, is_sample: false };
        let solution = self.solve(&mut objective, start, theta)?;
        objective.every = 1;
        let mut fit = Fit::new(self, &solution, &start.weights);
        let mut hessian = Matrix::zeros(0, 0);
        if decay > 0.0 {
            let penalised = &solution.theta[..features.len() * outputs(classes)];
            fit.log_likelihood = 0.5 * decay * dot(penalised, penalised) - solution.value;
        } else {
            // Errors of the weights come from the exact Hessian at the optimum, in which the intercept is free.
            let exact = solution.theta.len() <= MOST_EXACT && self.intercept;
            let end = objective.derivatives(&solution.theta, if exact { Curvature::Exact } else { Curvature::None })?;
            (fit.log_likelihood, fit.separated) = (-end.loss, end.margin > 0.0);
            hessian = end.hessian;
        }
        let prior = Prior::from_weights(&start.weights)?;
        let references = most_frequent(features, &start.levels);
        let errors = standard_errors(features, &references, hessian, outputs(classes), decay);
        let (schema, features) = (start.schema.clone(), features.clone());
        LogisticModel::new(About::new(schema, prior), features, link, solution.theta, fit, references, errors)
    }
}

/// The links by the names of their models.
const LINKS: [(&str, Link); 3] = [("logistic", Link::Logit), ("probit", Link::Probit), ("cloglog", Link::Cloglog)];

impl Named for Logistic {
    const MODELS: &'static [(&'static str, &'static [Group])] = &[
        ("logistic", &[WEIGHTS, FOLDS, TEXTS]),
        ("probit", &[WEIGHTS, FOLDS, TEXTS]),
        ("cloglog", &[WEIGHTS, FOLDS, TEXTS]),
    ];
    const OF_TWO_CLASSES: &'static [&'static str] = &["probit", "cloglog"];

    fn of_options(model: &str, options: &Options, _: &[Column], _: Seen<'_>) -> Result<Self> {
        let link = LINKS.iter().find(|(name, _)| *name == model).map_or(Link::Logit, |(_, link)| *link);
        let descent = Descent { rate: options.rate, seed: options.seed, ..Descent::default() };
        let (weight_decay, standardise) = (options.weight_decay.unwrap_or(1.0), !options.no_standardise);
        Ok(Logistic { link, weight_decay, solver: options.solver, standardise, descent, ..Logistic::default() })
    }

    fn model(&self) -> &'static str {
        // Every link is in the list.
        LINKS.iter().find(|(_, link)| *link == self.link).map_or("logistic", |(name, _)| name)
    }

    fn of_model(model: &LogisticModel) -> Self {
        let (link, weight_decay) = (model.link(), model.fit().weight_decay);
        Logistic { link, weight_decay, solver: model.fit().solver, ..Logistic::default() }
    }
}

impl Learner for Logistic {
    type Model = LogisticModel;

    fn learn(&self, engine: &dyn Engine) -> Result<LogisticModel> {
        self.check()?;
        let start = self.start(engine)?;
        let classes = start.schema.classes().len();
        self.check_link(classes)?;
        let features = self.features(&start)?;
        let theta = self.first(features.len() + 1, outputs(classes), &start.weights);
        self.fit(engine, &start, &features, theta)
    }
}

/// The penalised −log-likelihood on an engine.
struct Penalised<'a> {
    engine: &'a dyn Engine,
    features: &'a Features,
    classes: usize,
    link: Link,
    decay: f64,
    /// The weight of all rows.
    weight: f64,
    /// Whether the intercepts, the last weights, are free; else they stay where they are, at 0.
    intercept: bool,
    /// Every how many tiles of rows make the Hessian.
    every: usize,
    /// Whether the same tiles make the value and the gradient.
    is_sample: bool,
}

impl Penalised<'_> {
    fn pass(&self, theta: &[f64], curvature: Curvature) -> Differentiate {
        let (features, theta) = (self.features.clone(), theta.to_vec());
        let &Penalised { classes, link, every, is_sample, .. } = self;
        Differentiate { features, classes, link, theta, curvature, every, is_sample }
    }

    fn derivatives(&self, theta: &[f64], curvature: Curvature) -> Result<derivatives::Derivatives> {
        self.engine.run(&self.pass(theta, curvature))
    }
}

impl Objective for Penalised<'_> {
    fn at(&self, theta: &[f64], curvature: Curvature) -> Result<Point> {
        let mut sums = self.derivatives(theta, curvature)?;
        if self.every > 1 {
            sums.scale_to(self.weight);
        }
        let penalised = self.features.len() * outputs(self.classes);
        for (g, w) in sums.gradient[..penalised].iter_mut().zip(theta) {
            *g += self.decay * w;
            sums.loss += 0.5 * self.decay * w * w;
        }
        let inner = match curvature {
            Curvature::None => 0,
            Curvature::Bound => self.features.len(),
            Curvature::Diagonal | Curvature::Exact => penalised,
        };
        let h = &mut sums.hessian;
        let is_diagonal = curvature == Curvature::Diagonal;
        (0..inner).for_each(|j| h[if is_diagonal { (j, 0) } else { (j, j) }] += self.decay);
        if !self.intercept {
            sums.gradient[penalised..].fill(0.0);
            for j in inner..h.rows() {
                match is_diagonal {
                    true => h[(j, 0)] = 1.0,
                    false => (0..h.rows()).for_each(|i| h[(i.max(j), i.min(j))] = f64::from(u8::from(i == j))),
                }
            }
        }
        Ok(Point { value: sums.loss, gradient: sums.gradient, curvature: sums.hessian })
    }

    fn hessian_product(&self, theta: &[f64], direction: &[f64]) -> Result<Vec<f64>> {
        let at = self.pass(theta, Curvature::None);
        let mut product = self.engine.run(&HessianProduct { at, direction: direction.to_vec() })?.gradient;
        let penalised = self.features.len() * outputs(self.classes);
        product[..penalised].iter_mut().zip(direction).for_each(|(p, d)| *p += self.decay * d);
        if !self.intercept {
            product[penalised..].copy_from_slice(&direction[penalised..]);
        }
        Ok(product)
    }
}
