//! A fitted linear model: scores, coefficients in the units of the data, and what a regression table
//! says about them.

use serde::{Deserialize, Serialize};

use super::derivatives::outputs;
use super::features::Features;
use super::link::Link;
use super::rowset::{Design, Rowset};
use super::solve::Solution;
use super::{Logistic, Solver};
use crate::data::{Batch, Rows, Schema, Tile};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::file::{Archive, Stored};
use crate::learn::{About, Classifier, score_in_tiles};
use crate::numerics::{Matrix, chi_squared_tail, cholesky, log_sum_exp, normal_cdf, normal_quantile, solve_lower};
use crate::posterior::Prior;

/// How the fit went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// How the optimum was found.
    pub solver: Solver,
    /// Σ of the row weights.
    pub weight: f64,
    /// Σ w ln p(label | row), without the penalty.
    pub log_likelihood: f64,
    /// The same for a model with nothing but an intercept.
    pub null_log_likelihood: f64,
    /// The penalised objective.
    pub objective: f64,
    /// The largest component of its gradient.
    pub gradient_norm: f64,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Per row, what the end was: the largest component of the gradient, or the change of the objective
    /// over a pass of stochastic gradient descent.
    pub tolerance: f64,
    /// Whether it came to that end.
    pub converged: bool,
    /// Whether every row is on the right side and nothing held the weights back.
    pub separated: bool,
    /// E.
    pub weight_decay: f64,
    /// The weights that the null model lacks, where all are determined and nothing penalises them.
    pub degrees: Option<usize>,
    /// The objective at the start and after each iteration.
    pub path: Vec<f64>,
}

impl Fit {
    pub(super) fn new(learner: &Logistic, solution: &Solution, weights: &[f64]) -> Self {
        let (weight, weight_decay): (f64, f64) = (weights.iter().sum(), learner.weight_decay);
        Fit {
            solver: solution.solver,
            tolerance: if solution.solver == Solver::Sgd { learner.descent.tolerance } else { learner.tolerance },
            weight,
            log_likelihood: f64::NAN,
            null_log_likelihood: weights.iter().filter(|w| **w > 0.0).map(|w| w * (w / weight).ln()).sum(),
            objective: solution.value,
            gradient_norm: solution.gradient_norm,
            iterations: solution.iterations,
            converged: solution.converged,
            separated: false,
            degrees: None,
            weight_decay,
            path: solution.path.clone(),
        }
    }

    /// 2(ln L − ln L₀) against the model with nothing but an intercept, and the probability of one as
    /// large were that model true: the upper tail of χ² with [`Fit::degrees`] degrees of freedom.
    pub fn likelihood_ratio(&self) -> Option<(f64, f64)> {
        let statistic = 2.0 * (self.log_likelihood - self.null_log_likelihood);
        self.degrees.filter(|_| !self.separated).map(|k| (statistic, chi_squared_tail(statistic, k as f64)))
    }

    /// McFadden's 1 − ln L / ln L₀.
    pub fn pseudo_r2(&self) -> f64 {
        1.0 - self.log_likelihood / self.null_log_likelihood
    }
}

/// A weight in the units of the data, with its standard error where one can be had.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// The feature, or `(intercept)`.
    pub name: String,
    /// The class whose score it weighs.
    pub class: String,
    /// The weight.
    pub weight: f64,
    /// Its standard error, from the Hessian.
    pub standard_error: Option<f64>,
}

impl Coefficient {
    /// Weight over standard error.
    pub fn z(&self) -> Option<f64> {
        self.standard_error.map(|se| self.weight / se)
    }

    /// The weights that a test of level 1 − `confidence` would not reject (Wald's interval).
    pub fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        let half = |se: f64| normal_quantile(0.5 + 0.5 * confidence) * se;
        self.standard_error.map(half).map(|h| [self.weight - h, self.weight + h])
    }

    /// The probability of a z as large, were the weight 0.
    pub fn p_value(&self) -> Option<f64> {
        self.z().map(|z| 2.0 * normal_cdf(-z.abs()))
    }
}

/// A fitted logistic, softmax, probit or complementary log-log model.
#[derive(Clone, Debug)]
pub struct LogisticModel {
    about: About,
    features: Features,
    link: Link,
    theta: Vec<f64>,
    fit: Fit,
    /// Standard errors of the weights in the units of the data; NaN where there are none.
    errors: Vec<f64>,
}

impl LogisticModel {
    pub(super) fn new(
        schema: Schema,
        features: Features,
        link: Link,
        theta: Vec<f64>,
        empirical: Prior,
        fit: Fit,
        hessian: Matrix,
    ) -> Result<Self> {
        let outputs = outputs(schema.classes().len());
        let errors = standard_errors(&features, hessian, outputs, fit.weight_decay);
        let mut fit = fit;
        fit.degrees = errors.is_some().then(|| features.len() * (schema.classes().len() - 1));
        let errors = errors.unwrap_or_else(|| vec![f64::NAN; theta.len()]);
        Ok(LogisticModel { about: About::new(schema, empirical), features, link, theta, fit, errors })
    }

    pub(crate) fn features(&self) -> &Features {
        &self.features
    }

    /// Weights per standardised feature, the intercept last.
    pub(crate) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// How the fit went.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// The link.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The weights in the units of the data, the intercept last. Of more than two classes only differences
    /// between them are determined: without a penalty the weights of the first class are 0, with one all
    /// sum to 0 over the classes.
    pub fn coefficients(&self) -> Vec<Coefficient> {
        let outputs = outputs(self.schema().classes().len());
        let mut plain = self.features.in_units(&self.theta, outputs);
        if outputs > 1 && self.fit.weight_decay == 0.0 {
            for row in plain.chunks_exact_mut(outputs) {
                let first = row[0];
                row.iter_mut().for_each(|w| *w -= first);
            }
        } else if outputs > 1 {
            // The penalty sees to the other weights.
            let intercepts = &mut plain[self.theta.len() - outputs..];
            let mean = intercepts.iter().sum::<f64>() / outputs as f64;
            intercepts.iter_mut().for_each(|b| *b -= mean);
        }
        let classes = &self.schema().classes()[self.schema().classes().len() - outputs..];
        let names = self.features.names().iter().map(String::as_str).chain(["(intercept)"]);
        names
            .enumerate()
            .flat_map(|(j, name)| (0..outputs).map(move |k| (j, name, k)))
            .map(|(j, name, k)| Coefficient {
                name: name.to_string(),
                class: classes[k].clone(),
                weight: plain[j * outputs + k],
                standard_error: Some(self.errors[j * outputs + k]).filter(|e| e.is_finite()),
            })
            .collect()
    }

    /// ln p(class | row) under the prior of the training data, row after row.
    fn log_posteriors(&self, x: &Batch<'_>, rows: std::ops::Range<usize>, out: &mut [f64]) -> Result<()> {
        let classes = self.schema().classes().len();
        let (mut rowset, mut z) = (Rowset::default(), Tile::default());
        self.features.read(x, Rows::Range(rows), &mut rowset)?;
        rowset.scores(&self.theta, outputs(classes), &mut z);
        for (i, row) in out.chunks_exact_mut(classes).enumerate() {
            if classes == 2 {
                row.copy_from_slice(&self.link.log_probabilities(z.column(0)[i]));
                continue;
            }
            row.iter_mut().enumerate().for_each(|(k, o)| *o = z.column(k)[i]);
            let total = log_sum_exp(row);
            row.iter_mut().for_each(|o| *o -= total);
        }
        Ok(())
    }
}

/// Roots of the diagonal of the inverse Hessian, in the units of the data. The Hessian is that of
/// the likelihood; of more than two classes the first is the reference.
fn standard_errors(features: &Features, hessian: Matrix, outputs: usize, decay: f64) -> Option<Vec<f64>> {
    let n = features.len() + 1;
    // With a penalty weights are biased on purpose, and a softmax has no reference class.
    if hessian.rows() != n * outputs || decay > 0.0 {
        return None;
    }
    let kept: Vec<usize> = (0..n * outputs).filter(|i| outputs == 1 || i % outputs != 0).collect();
    let h = Matrix::from_fn(kept.len(), kept.len(), |i, j| hessian[(kept[i].max(kept[j]), kept[i].min(kept[j]))]);
    let l = cholesky(&h)?;
    // cov = A H⁻¹ Aᵀ, A the map from θ to the units of the data: solve L x = Aᵀe for each weight.
    let mut errors = vec![f64::NAN; n * outputs];
    for &target in &kept {
        let mut row = Matrix::zeros(kept.len(), 1);
        for (from, factor) in features.unit(target / outputs) {
            // Weights of one class come from weights of that class, which are kept together.
            let place = kept.binary_search(&(from * outputs + target % outputs)).ok()?;
            row[(place, 0)] = factor;
        }
        solve_lower(&l, false, &mut row);
        errors[target] = row.data().iter().map(|x| x * x).sum::<f64>().sqrt();
    }
    Some(errors)
}

impl Classifier for LogisticModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn evidence(&self, x: &Batch<'_>) -> Result<Evidence> {
        const TILE: usize = 512;
        score_in_tiles(x, self.schema(), TILE, |rows, out| {
            self.log_posteriors(x, rows, out)?;
            self.about.take_prior_away(out);
            Ok(())
        })
    }
}

impl Stored for LogisticModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        archive.put_json(&format!("{name}.link"), &self.link)?;
        archive.put_json(&format!("{name}.fit"), &self.fit)?;
        self.features.store(archive, &format!("{name}.features"))?;
        let n = self.theta.len();
        archive.put(&format!("{name}.theta"), &[n], &self.theta)?;
        archive.put(&format!("{name}.errors"), &[n], &self.errors)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let about = About::load(archive, name)?;
        let (schema, classes) = (about.schema(), about.schema().classes().len());
        let features = Features::load(archive, &format!("{name}.features"))?;
        if classes < 2 || !features.fits(schema.columns().len()) {
            return Err(archive.damaged("the features do not fit the schema"));
        }
        let n = (features.len() + 1) * outputs(classes);
        Ok(LogisticModel {
            link: archive.json(&format!("{name}.link"))?,
            fit: archive.json(&format!("{name}.fit"))?,
            theta: archive.finite(&format!("{name}.theta"), &[n])?.to_vec(),
            errors: archive.get(&format!("{name}.errors"), &[n])?.to_vec(),
            about,
            features,
        })
    }
}
