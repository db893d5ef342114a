//! [`About`]: what a model of any kind knows beside its parameters.

use crate::data::{Profile, Schema};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::posterior::Prior;

/// The columns and classes of a model, the prior it uses and that of its training data, and what its columns
/// looked like there.
#[derive(Clone, Debug)]
pub struct About {
    schema: Schema,
    prior: Prior,
    empirical: Prior,
    profiles: Vec<Profile>,
}

impl About {
    /// Of a model that uses the prior of its training data.
    pub(crate) fn new(schema: Schema, empirical: Prior) -> Self {
        About { schema, prior: empirical.clone(), empirical, profiles: Vec::new() }
    }

    /// The columns and classes.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The prior that is used by default.
    pub fn prior(&self) -> &Prior {
        &self.prior
    }

    /// The prior of the training data.
    pub fn empirical(&self) -> &Prior {
        &self.empirical
    }

    /// What the columns looked like in the training data; empty where nobody looked, as in models of
    /// statistics and of files of layout 1.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Keeps what the columns looked like in the training data: a profile of each.
    pub fn set_profiles(&mut self, profiles: Vec<Profile>) -> Result<()> {
        if !profiles.is_empty() {
            Error::check_shape("profiles of the columns", self.schema.columns().len(), profiles.len())?;
        }
        // Of a column with infinite cells, which no model takes, there is nothing to keep.
        let sound = |profile: Profile| if profile.is_sound() { profile } else { Profile::default() };
        self.profiles = profiles.into_iter().map(sound).collect();
        Ok(())
    }

    /// Another prior, over the same classes, to be used.
    pub(super) fn set_prior(&mut self, prior: Prior) -> Result<()> {
        Error::check_shape("classes of the prior", self.schema.classes().len(), prior.classes())?;
        self.prior = prior;
        Ok(())
    }

    /// Log-posteriors, row after row, become evidence: the log-prior of the training data is taken away.
    pub(super) fn take_prior_away(&self, log_posteriors: &mut [f64]) {
        let classes = self.empirical.classes();
        for (class, p) in self.empirical.probabilities().iter().enumerate() {
            let log_prior = p.ln();
            log_posteriors.iter_mut().skip(class).step_by(classes).for_each(|o| *o -= log_prior);
        }
    }
}

impl Stored for About {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.schema"), &self.schema)?;
        for (which, prior) in [("prior", &self.prior), ("empirical", &self.empirical)] {
            archive.put(&format!("{name}.{which}"), &[prior.classes()], prior.probabilities())?;
        }
        match self.profiles.is_empty() {
            true => Ok(()),
            false => archive.put_json(&format!("{name}.profiles"), &self.profiles),
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let schema: Schema = archive.json(&format!("{name}.schema"))?;
        let classes = schema.classes().len();
        let [prior, empirical] = ["prior", "empirical"]
            .map(|which| archive.finite(&format!("{name}.{which}"), &[classes]).and_then(Prior::new));
        let mut about = About { schema, prior: prior?, empirical: empirical?, profiles: Vec::new() };
        if let Some(profiles) = archive.json_if_any::<Vec<Profile>>(&format!("{name}.profiles"))? {
            let fits = profiles.len() == about.schema.columns().len() && profiles.iter().all(Profile::is_sound);
            match fits {
                true => about.profiles = profiles,
                false => return Err(archive.damaged("the profiles of its columns do not fit them")),
            }
        }
        Ok(about)
    }
}
