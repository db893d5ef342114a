//! The bridge between the schools: generative models whose log-likelihood ratios are linear in their
//! features are softmax models in disguise, ln p(k | x) = wₖ·φ(x) + w₀ₖ + ln πₖ + (what all classes share).
//!
//! | family | features φ | wₖ | w₀ₖ |
//! |---|---|---|---|
//! | Gaussian, tied | x | Σ⁻¹μₖ | −½ μₖᵀΣ⁻¹μₖ |
//! | categorical | [x = level] | ln p(level \| k) | 0 |
//! | Bernoulli | [present] | ln p/(1 − p) | Σ ln(1 − p) |
//! | multinomial | counts | ln θ | 0 |
//! | Poisson | x | ln λ | −λ |
//! | exponential, mean μ | x | −1/μ | −ln μ |
//!
//! The reverse does not hold: the softmax makes no assumption about p(x), and its weights, fitted to
//! the labels alone, are others unless the family is true.

use super::{Classifier, FittedBlock, GenerativeModel};
use crate::error::{Error, Result};
use crate::family::{AnyDensity, AnyFamily, Density, Parameters};

/// A generative model's equivalent weights, in the units of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLinear {
    /// Each feature's name and its weight for each class, in nats.
    pub weights: Vec<(String, Vec<f64>)>,
    /// w₀ₖ, without the prior.
    pub constants: Vec<f64>,
}

impl GenerativeModel {
    /// The equivalent weights of a softmax (for two classes, differences: of a logistic regression);
    /// an error where evidence is not linear in features.
    pub fn log_linear(&self) -> Result<LogLinear> {
        let classes = self.schema().classes().len();
        if !self.components().is_single() {
            return Err(Error::parameter(
                "as=logistic",
                "a class of several components is not linear: give §components=1",
            ));
        }
        let mut all = LogLinear { weights: Vec::new(), constants: vec![0.0; classes] };
        for block in self.blocks() {
            all.add(block, &block.block.seen_columns(self.schema().columns()))?;
        }
        Ok(all)
    }
}

impl LogLinear {
    fn add(&mut self, fitted: &FittedBlock, columns: &[crate::data::Column]) -> Result<()> {
        let FittedBlock { block, density } = fitted;
        let refuse = |why: &str| {
            let names = crate::error::list(&block.names);
            Err(Error::parameter("as=logistic", format!("{names}: {why}")))
        };
        if block.deskew.is_some() {
            return refuse("deskewed images are not linear in their pixels");
        }
        if block.gaussianise.is_some() {
            return refuse("gaussianised columns are not linear in the units of the file");
        }
        match (density, &block.family) {
            (AnyDensity::Gaussian(density), _) => {
                if !density.is_tied() {
                    return refuse("a covariance of each class's own is quadratic: give §covariance=tied");
                }
                let forms = density.linear()?;
                for (j, column) in columns.iter().enumerate() {
                    self.weights.push((column.name.clone(), forms.iter().map(|f| f.w[j]).collect()));
                }
                self.constants.iter_mut().zip(&forms).for_each(|(c, form)| *c += form.w0);
            }
            (AnyDensity::Categorical(density), _) => self.take(density.parameters(columns), |p| (p.ln(), 0.0)),
            (AnyDensity::Bernoulli(density), _) => {
                for (name, logs) in density.log_parameters(columns) {
                    self.constants.iter_mut().zip(&logs).for_each(|(constant, [_, absent])| *constant += absent);
                    self.weights.push((name, logs.iter().map(|[present, absent]| present - absent).collect()));
                }
            }
            (AnyDensity::Multinomial(_), AnyFamily::Multinomial(family)) if family.normalise => {
                return refuse("normalised counts are not linear in the counts");
            }
            (AnyDensity::Multinomial(density), AnyFamily::Multinomial(family)) => {
                let complement = family.complement;
                self.take(density.parameters(columns), |p| (if complement { p } else { p.ln() }, 0.0));
            }
            (AnyDensity::Poisson(density), _) => self.take(density.parameters(columns), |rate| (rate.ln(), -rate)),
            (AnyDensity::Exponential(density), _) => {
                self.take(density.parameters(columns), |mean| (-mean.recip(), -mean.ln()))
            }
            _ => return refuse(&format!("a {} is not linear in its columns", block.family.name())),
        }
        Ok(())
    }

    /// Adds the weights and constants that each parameter stands for.
    fn take(&mut self, tables: Vec<Parameters>, of: impl Fn(f64) -> (f64, f64)) {
        for (name, values) in tables.into_iter().flat_map(|table| table.rows) {
            let both: Vec<(f64, f64)> = values.into_iter().map(&of).collect();
            self.constants.iter_mut().zip(&both).for_each(|(c, (_, constant))| *c += constant);
            self.weights.push((name, both.iter().map(|(w, _)| *w).collect()));
        }
    }
}
