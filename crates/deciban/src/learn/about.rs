//! [`About`]: what a model of any kind knows beside its parameters.

use std::sync::Arc;

use super::{Classifier, GenerativeModel};
use crate::data::{Profile, Schema};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::fingerprint::Fingerprint;
use crate::posterior::Prior;

/// The columns and classes of a model, the prior it uses and that of its training data, what its columns
/// looked like there, and a fingerprint of its rows.
#[derive(Clone, Debug)]
pub struct About {
    schema: Schema,
    prior: Prior,
    empirical: Prior,
    profiles: Vec<Profile>,
    companion: Option<Arc<GenerativeModel>>,
    fingerprint: Option<Fingerprint>,
}

impl About {
    /// Of a model that uses the prior of its training data.
    pub(crate) fn new(schema: Schema, empirical: Prior) -> Self {
        let profiles = Vec::new();
        About { schema, prior: empirical.clone(), empirical, profiles, companion: None, fingerprint: None }
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

    /// The generative model that is stored beside this one and describes its rows.
    pub fn companion(&self) -> Option<&GenerativeModel> {
        self.companion.as_deref()
    }

    /// How many bytes of a model file the companion takes; 0 without one.
    pub fn companion_bytes(&self) -> Result<usize> {
        let Some(companion) = &self.companion else { return Ok(0) };
        let mut archive = Archive::new("model");
        companion.store_fit(&mut archive, "model.companion")?;
        Ok(archive.to_bytes()?.len())
    }

    /// Keeps a generative model of the same columns and classes beside this one, or none. It may know fewer levels than
    /// this one, if these are the first ones.
    pub fn set_companion(&mut self, companion: Option<GenerativeModel>) -> Result<()> {
        if companion.as_ref().is_some_and(|companion| !self.schema.covers(companion.schema())) {
            return Err(Error::Schema("the companion of a model has other columns or classes than the model".into()));
        }
        let own = About::new(self.schema.clone(), self.empirical.clone());
        self.companion = companion.map(|companion| Arc::new(companion.with_about(own)));
        Ok(())
    }

    /// What tells the rows that it was fitted on; none in models of statistics, of rows on other machines, after rows
    /// were learned or forgotten, and in older files.
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// Keeps a fingerprint of the rows, or none.
    pub fn set_fingerprint(&mut self, fingerprint: Option<Fingerprint>) {
        self.fingerprint = fingerprint;
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
        self.fingerprint.iter().try_for_each(|own| own.store(archive, &format!("{name}.fingerprint")))?;
        if !self.profiles.is_empty() {
            archive.put_json(&format!("{name}.profiles"), &self.profiles)?;
        }
        // The columns and classes of a companion are those of the model.
        self.companion.iter().try_for_each(|companion| companion.store_fit(archive, &format!("{name}.companion")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let schema: Schema = archive.json(&format!("{name}.schema"))?;
        let classes = schema.classes().len();
        let [prior, empirical] = ["prior", "empirical"]
            .map(|which| archive.finite(&format!("{name}.{which}"), &[classes]).and_then(Prior::new));
        let own = format!("{name}.fingerprint");
        let fingerprint = archive.has(&format!("{own}.keys")).then(|| Fingerprint::load(archive, &own)).transpose()?;
        let (profiles, companion) = (Vec::new(), None);
        let mut about = About { schema, prior: prior?, empirical: empirical?, profiles, companion, fingerprint };
        if let Some(profiles) = archive.json_if_any::<Vec<Profile>>(&format!("{name}.profiles"))? {
            let fits = profiles.len() == about.schema.columns().len() && profiles.iter().all(Profile::is_sound);
            match fits {
                true => about.profiles = profiles,
                false => return Err(archive.damaged("the profiles of its columns do not fit them")),
            }
        }
        let companion = format!("{name}.companion");
        if archive.has(&format!("{companion}.rows")) {
            let own = About::new(about.schema.clone(), about.empirical.clone());
            about.companion = Some(Arc::new(GenerativeModel::load_fit(archive, &companion, own)?));
        }
        Ok(about)
    }
}
