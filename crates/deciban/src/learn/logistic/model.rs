//! A fitted linear model: scores, coefficients in the units of the data, and what a regression table
//! says about them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::derivatives::outputs;
use super::errors::Errors;
use super::explain::explain;
use super::features::Features;
use super::link::Link;
use super::rowset::{Design, Rowset};
use super::{Logistic, Solver};
use crate::data::{Batch, Rows, Tile};
use crate::error::Result;
use crate::explain::Explanation;
use crate::file::{Archive, Stored};
use crate::learn::discriminative::Discriminative;
use crate::learn::{About, Classifier};
use crate::numerics::minimise::Solution;
use crate::numerics::{chi_squared_tail, log_shares, normal_cdf, normal_quantile};

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

/// A weight in the units of the data, with its standard error where one can be had. The weight of a level of a
/// category is the difference to that of the column's reference level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// The feature, or `(intercept)`.
    pub name: String,
    /// The feature that it is compared with: the reference level of a category.
    pub against: Option<String>,
    /// The class whose score it weighs.
    pub class: String,
    /// The weight.
    pub weight: f64,
    /// Its standard error, from the Hessian.
    pub standard_error: Option<f64>,
}

impl Coefficient {
    /// The feature and what it is compared with: `famhist=Present against Absent`.
    pub fn label(&self) -> String {
        let Some(reference) = &self.against else { return self.name.clone() };
        // Both start with the name of the column.
        let level = match (self.name.split_once('='), reference.split_once('=')) {
            (Some((column, _)), Some((own, level))) if column == own => level,
            _ => reference,
        };
        format!("{} against {level}", self.name)
    }

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
    /// The feature of the reference level of each category, in the regression table.
    references: Vec<usize>,
    /// Standard errors of the lines of the regression table, a value per feature and output; NaN where there are none.
    errors: Vec<f64>,
}

impl LogisticModel {
    pub(super) fn new(
        about: About,
        features: Features,
        link: Link,
        theta: Vec<f64>,
        mut fit: Fit,
        references: Vec<usize>,
        errors: Option<Errors>,
    ) -> Result<Self> {
        fit.degrees = errors.as_ref().map(|errors| errors.degrees);
        let errors = errors.map_or_else(|| vec![f64::NAN; theta.len()], |errors| errors.values);
        Ok(LogisticModel { about, features, link, theta, fit, references, errors })
    }

    pub(crate) fn features(&self) -> &Features {
        &self.features
    }

    /// Weights per standardised feature, the intercept last.
    pub(crate) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Whether a missing number is its mean given the other numbers of its row; else it is its column's mean.
    pub fn fills_numbers(&self) -> bool {
        self.features.fill().has_numbers()
    }

    /// How many categories are shares of their levels where they are missing; the others have no level there.
    pub fn fills_categories(&self) -> usize {
        self.features.fill().categories()
    }

    /// How the fit went.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// The link.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The weight of each feature in the units of the data, the intercept last, a value per output: one for two
    /// classes. Of more than two classes only differences between them are determined: without a penalty the weights
    /// of the first class are 0, with one all sum to 0 over the classes.
    pub fn weights(&self) -> Vec<f64> {
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
        plain
    }

    /// The names of the features, and of the intercept.
    pub fn feature_names(&self) -> Vec<String> {
        self.features.names().iter().map(String::as_str).chain(["(intercept)"]).map(String::from).collect()
    }

    /// The regression table, the intercept last. An intercept and the weights of all levels of a category are not
    /// determined on their own, only differences between levels are. So each level is compared with the most
    /// frequent one, the reference level, which has no line of its own; the intercept is that of the reference levels.
    /// A level's weight is the logarithm of its odds ratio against the reference level.
    pub fn coefficients(&self) -> Vec<Coefficient> {
        let outputs = outputs(self.schema().classes().len());
        let (weights, names) = (self.weights(), self.feature_names());
        let classes = &self.schema().classes()[self.schema().classes().len() - outputs..];
        let reference = references_of(&self.features, &self.references);
        let line = |(j, k): (usize, usize)| {
            let of = |feature: usize| weights[feature * outputs + k];
            let moved: f64 = match reference[j] {
                Some(reference) => -of(reference),
                None if j == self.features.len() => self.references.iter().map(|&r| of(r)).sum(),
                None => 0.0,
            };
            Coefficient {
                name: names[j].clone(),
                against: reference[j].map(|reference| names[reference].clone()),
                class: classes[k].clone(),
                weight: of(j) + moved,
                standard_error: Some(self.errors[j * outputs + k]).filter(|e| e.is_finite()),
            }
        };
        let lines = (0..names.len()).filter(|j| !self.references.contains(j));
        lines.flat_map(|j| (0..outputs).map(move |k| (j, k))).map(line).collect()
    }
}

/// For each feature, and the intercept, the feature that it is compared with.
pub(super) fn references_of(features: &Features, references: &[usize]) -> Vec<Option<usize>> {
    let mut of = vec![None; features.len() + 1];
    for (range, &reference) in features.categories().zip(references) {
        range.for_each(|j| of[j] = Some(reference));
    }
    of
}

impl Discriminative for LogisticModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn learned_from(&self) -> f64 {
        self.fit.weight
    }

    fn log_posteriors(&self, x: &Batch<'_>, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
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
            log_shares(row);
        }
        Ok(())
    }

    fn explain_row(&self, x: &Batch<'_>, row: usize) -> Result<Explanation> {
        explain(self, x, row)
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
        archive.put_json(&format!("{name}.references"), &self.references)?;
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
        // Older files name none, and their errors are those of the weights on their own.
        let stored: Option<Vec<usize>> = archive.json(&format!("{name}.references")).ok();
        let is_old = stored.is_none() && features.categories().next().is_some();
        let references = stored.unwrap_or_else(|| features.categories().map(|range| range.start).collect());
        let places: Vec<_> = features.categories().collect();
        let fit_places =
            |(range, reference): (&std::ops::Range<usize>, &usize)| range.is_empty() || range.contains(reference);
        if references.len() != places.len() || !places.iter().zip(&references).all(fit_places) {
            return Err(archive.damaged("the reference levels do not fit the features"));
        }
        let errors = archive.get(&format!("{name}.errors"), &[n])?;
        Ok(LogisticModel {
            link: archive.json(&format!("{name}.link"))?,
            fit: archive.json(&format!("{name}.fit"))?,
            theta: archive.finite(&format!("{name}.theta"), &[n])?.to_vec(),
            errors: if is_old { vec![f64::NAN; n] } else { errors.to_vec() },
            references,
            about,
            features,
        })
    }
}
