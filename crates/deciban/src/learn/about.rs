//! [`About`]: what a model of any kind knows beside its parameters.

use crate::data::Schema;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::posterior::Prior;

/// The columns and classes of a model, the prior it uses, and that of its training data.
#[derive(Clone, Debug)]
pub struct About {
    schema: Schema,
    prior: Prior,
    empirical: Prior,
}

impl About {
    /// Of a model that uses the prior of its training data.
    pub(crate) fn new(schema: Schema, empirical: Prior) -> Self {
        About { schema, prior: empirical.clone(), empirical }
    }

    /// The columns and classes.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The prior that is used unless told otherwise.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The prior of the training data.
    pub fn empirical(&self) -> &Prior {
        &self.empirical
    }

    /// Another prior, over the same classes, to be used.
    pub(super) fn set_prior(&mut self, prior: Prior) -> Result<()> {
        Error::check_shape("classes of the prior", self.schema.classes().len(), prior.classes())?;
        self.prior = prior;
        Ok(())
    }

    /// Log-posteriors, row after row, become evidence: the log-prior of the training data is taken away.
    pub(super) fn take_prior_away(&self, log_posteriors: &mut [f64]) {
        let log_prior: Vec<f64> = self.empirical.probabilities().iter().map(|p| p.ln()).collect();
        for row in log_posteriors.chunks_exact_mut(log_prior.len()) {
            row.iter_mut().zip(&log_prior).for_each(|(o, p)| *o -= p);
        }
    }
}

impl Stored for About {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.schema"), &self.schema)?;
        for (which, prior) in [("prior", &self.prior), ("empirical", &self.empirical)] {
            archive.put(&format!("{name}.{which}"), &[prior.classes()], prior.probabilities())?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let schema: Schema = archive.json(&format!("{name}.schema"))?;
        let classes = schema.classes().len();
        let [prior, empirical] = ["prior", "empirical"]
            .map(|which| archive.finite(&format!("{name}.{which}"), &[classes]).and_then(Prior::new));
        Ok(About { schema, prior: prior?, empirical: empirical? })
    }
}
