//! A fitted noisy-OR: the strength of each cause, and scores.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::explain::explain;
use super::pass::{ln_effect, read};
use crate::data::{Batch, Schema, Tile};
use crate::error::Result;
use crate::explain::Explanation;
use crate::file::{Archive, Stored};
use crate::learn::discriminative::Discriminative;
use crate::learn::logistic::features::Features;
use crate::learn::logistic::rowset::{Design, Rowset};
use crate::learn::{About, Classifier};
use crate::posterior::Prior;

/// How the fit went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisyOrFit {
    /// Σ of the row weights.
    pub weight: f64,
    /// Σ w ln p(label | row), without the penalty.
    pub log_likelihood: f64,
    /// The same for a model with nothing but a leak.
    pub null_log_likelihood: f64,
    /// The penalised objective: −log-likelihood + A Σ θᵢ.
    pub objective: f64,
    /// How far the worst weight is from its optimum, as a slope without units.
    pub violation: f64,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Whether the violation is as small as asked for.
    pub converged: bool,
    /// A.
    pub pseudo_count: f64,
    /// Causes that were never there without the effect, where nothing holds their weights back.
    pub never_fail: Vec<String>,
    /// The objective at the start and after each iteration: it never rises.
    pub path: Vec<f64>,
}

/// A cause and what it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// The feature, or `(leak)`.
    pub name: String,
    /// θ = −ln α.
    pub theta: f64,
    /// α: the probability that the cause, once and alone, fails to produce the effect.
    pub alpha: f64,
    /// 1 − α: the probability that it does.
    pub strength: f64,
}

/// A fitted noisy-OR model.
#[derive(Clone, Debug)]
pub struct NoisyOrModel {
    about: About,
    features: Features,
    effect: u32,
    theta: Vec<f64>,
    fit: NoisyOrFit,
}

impl NoisyOrModel {
    pub(super) fn new(
        schema: Schema,
        features: Features,
        effect: u32,
        theta: Vec<f64>,
        empirical: Prior,
        fit: NoisyOrFit,
    ) -> Self {
        NoisyOrModel { about: About::new(schema, empirical), features, effect, theta, fit }
    }

    pub(crate) fn features(&self) -> &Features {
        &self.features
    }

    /// A weight per cause, the leak last.
    pub(crate) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Refuses a row with a cause below 0.
    pub(crate) fn check_row(&self, x: &Batch<'_>, row: usize) -> Result<()> {
        read(&self.features, x, row..row + 1, &mut Rowset::default())
    }

    /// How the fit went.
    pub fn fit(&self) -> &NoisyOrFit {
        &self.fit
    }

    /// The name of the class that causes produce.
    pub fn effect(&self) -> &str {
        &self.schema().classes()[self.effect as usize]
    }

    /// The levels that are no causes, one of each category: the leak stands for them.
    pub fn absences(&self) -> Vec<&str> {
        let left_out = (0..self.features.len()).filter(|&j| self.features.is_left_out(j));
        left_out.map(|j| self.features.names()[j].as_str()).collect()
    }

    /// The causes, the leak last.
    pub fn causes(&self) -> Vec<Cause> {
        let names = self.features.names().iter().map(String::as_str).chain(["(leak)"]);
        let cause = |(name, &theta): (&str, &f64)| Cause {
            name: name.to_string(),
            theta,
            alpha: (-theta).exp(),
            strength: -(-theta).exp_m1(),
        };
        let causes = names.zip(&self.theta).enumerate();
        causes.filter(|(j, _)| !self.features.is_left_out(*j)).map(|(_, named)| cause(named)).collect()
    }

    /// ln p(class | row) at the rate r, for each class.
    pub(crate) fn log_posterior(&self, r: f64) -> [f64; 2] {
        match self.effect {
            0 => [ln_effect(r), -r],
            _ => [-r, ln_effect(r)],
        }
    }
}

impl Discriminative for NoisyOrModel {
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
        let (mut rowset, mut rate) = (Rowset::default(), Tile::default());
        read(&self.features, x, rows, &mut rowset)?;
        rowset.scores(&self.theta, 1, &mut rate);
        for (row, &r) in out.chunks_exact_mut(2).zip(rate.column(0)) {
            row.copy_from_slice(&self.log_posterior(r));
        }
        Ok(())
    }

    fn explain_row(&self, x: &Batch<'_>, row: usize) -> Result<Explanation> {
        explain(self, x, row)
    }
}

impl Stored for NoisyOrModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        archive.put_json(&format!("{name}.effect"), &self.effect)?;
        archive.put_json(&format!("{name}.fit"), &self.fit)?;
        self.features.store(archive, &format!("{name}.features"))?;
        archive.put(&format!("{name}.theta"), &[self.theta.len()], &self.theta)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let about = About::load(archive, name)?;
        let schema = about.schema();
        let effect: u32 = archive.json(&format!("{name}.effect"))?;
        let features = Features::load(archive, &format!("{name}.features"))?;
        if schema.classes().len() != 2 || effect > 1 || !features.fits(schema.columns().len()) {
            return Err(archive.damaged("the causes do not fit the schema"));
        }
        let theta = archive.finite(&format!("{name}.theta"), &[features.len() + 1])?.to_vec();
        if theta.iter().any(|t| *t < 0.0) {
            return Err(archive.damaged("a cause has a weight below 0"));
        }
        let fit = archive.json(&format!("{name}.fit"))?;
        Ok(NoisyOrModel { about, features, effect, theta, fit })
    }
}
