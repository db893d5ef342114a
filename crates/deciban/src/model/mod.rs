//! Models of any kind: what learners leave, several of them fused, and any of them with its calibration.
//!
//! The list of learners stands here ([`with_learners`](crate::with_learners)). Files, requests by name, comparisons and
//! descriptions take from it what they need.

mod calibrated;
mod candidate;
mod described;
mod fused;
mod options;

pub use calibrated::CalibratedModel;
pub use candidate::{Candidate, Part};
pub use described::{Asks, By, Described};
pub use fused::{FusedModel, Member};
pub use options::{AUTO, FUSED, models, takers};

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::data::{Batch, Column};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::explain::{Explanation, Order};
use crate::family::Domain;
use crate::file::{Archive, Stored, readable};
use crate::fingerprint::Fingerprint;
use crate::learn::{About, Classifier, Group, Learner, Named, Options, Seen, Statistics};
use crate::output;

/// The list of learners, given to the macro `$then`: what a model is, its kind in files, and the types of learner and
/// model, which are in [`learn`](crate::learn). The name of the learner is also that of the variants of [`Model`] and
/// [`Recipe`].
///
/// To add a learner, add a line. Beside [`Learner`], [`Named`] and [`Classifier`] it needs
/// [`Search`](crate::select::Search), which says what a comparison tries, and in `deciban-tasks` a description.
#[macro_export]
macro_rules! with_learners {
    ($then:ident) => {
        $then! {
            /// Class-conditional densities.
            "generative" Generative: GenerativeModel,
            /// Posteriors linear in the features.
            "logistic" Logistic: LogisticModel,
            /// Tables of columns and pairs.
            "additive" Additive: AdditiveModel,
            /// Chains of tables that back off.
            "k-dependence" KDependence: KDependenceModel,
            /// Causes of an effect.
            "noisy-or" NoisyOr: NoisyOrModel,
            /// Scores by least squares.
            "least-squares" LeastSquares: LeastSquaresModel,
            /// A column of log-likelihood ratios.
            "llr" Llr: LlrModel,
        }
    };
}

macro_rules! models {
    ($($(#[$doc:meta])* $name:literal $learner:ident: $model:ident),* $(,)?) => {
        /// A model of any kind, as files hold it.
        #[derive(Clone, Debug)]
        pub enum Model {
            $($(#[$doc])* $learner(crate::learn::$model),)*
            /// Several of them, by a weight for each.
            Fused(FusedModel),
            /// Any of them with its calibration.
            Calibrated(CalibratedModel),
        }

        /// How a model is learned.
        #[derive(Clone, Debug)]
        pub enum Recipe {
            $($(#[$doc])* $learner(crate::learn::$learner),)*
            /// Several models, whose weights and calibrations are known.
            Fused(Vec<Part>),
        }

        /// The same for a model of any kind.
        macro_rules! of_any {
            ($any:expr, $one:ident => $does:expr) => {
                match $any {
                    $(Model::$learner($one) => $does,)*
                    Model::Fused($one) => $does,
                    Model::Calibrated($one) => $does,
                }
            };
        }

        impl Model {
            /// Puts the model under `name`, and what it is under `kind`.
            pub(crate) fn put(&self, archive: &mut Archive, kind: &str, name: &str) -> Result<()> {
                let is = match self {
                    $(Model::$learner(_) => $name,)*
                    Model::Fused(_) => "fused",
                    Model::Calibrated(_) => "calibrated",
                };
                archive.put_json(kind, &is)?;
                of_any!(self, model => model.store(archive, name))
            }

            pub(crate) fn get(archive: &Archive, kind: &str, name: &str) -> Result<Self> {
                match archive.json::<String>(kind)?.as_str() {
                    $($name => Ok(Model::$learner(Stored::load(archive, name)?)),)*
                    "fused" => Ok(Model::Fused(Stored::load(archive, name)?)),
                    "calibrated" => Ok(Model::Calibrated(Stored::load(archive, name)?)),
                    other => Err(archive.damaged(&format!("there is no kind of model named `{other}`"))),
                }
            }
        }

        $(impl From<crate::learn::$model> for Model {
            fn from(model: crate::learn::$model) -> Self {
                Model::$learner(model)
            }
        })*

        impl Classifier for Model {
            fn about(&self) -> &About {
                of_any!(self, model => model.about())
            }

            fn about_mut(&mut self) -> &mut About {
                of_any!(self, model => model.about_mut())
            }

            fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
                of_any!(self, model => model.evidence_into(x, out))
            }

            fn learned_from(&self) -> f64 {
                of_any!(self, model => model.learned_from())
            }

            fn domains(&self) -> Vec<(usize, Domain)> {
                of_any!(self, model => model.domains())
            }

            fn ledgers(&self, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
                of_any!(self, model => model.ledgers(x, order, stop))
            }
        }

        /// The names of the models of each learner, each with the options that it takes.
        fn learners() -> impl Iterator<Item = &'static [(&'static str, &'static [Group])]> {
            [$(<crate::learn::$learner as Named>::MODELS),*].into_iter()
        }

        /// The generative model whose statistics are all that a model of this name needs, if there is one.
        pub fn statistics_of(model: &str) -> Option<&str> {
            $(if crate::learn::$learner::makes(model) {
                return crate::learn::$learner::statistics_of(model);
            })*
            None
        }

        /// The models that are for two classes alone.
        pub fn of_two_classes() -> Vec<&'static str> {
            [$(<crate::learn::$learner as Named>::OF_TWO_CLASSES),*].concat()
        }

        /// Whether folds settle something that a model of this name leaves open, also without a calibration.
        pub fn settles(model: &str) -> bool {
            $(if crate::learn::$learner::makes(model) {
                return <crate::learn::$learner as Named>::SETTLES;
            })*
            false
        }

        impl Options {
            /// How a model of this name is learned from rows.
            pub fn recipe(&self, model: &str, columns: &[Column], seen: Seen<'_>) -> Result<Recipe> {
                $(if crate::learn::$learner::makes(model) {
                    return Named::of_options(model, self, columns, seen).map(Recipe::$learner);
                })*
                let names: Vec<&str> = models().into_iter().map(|(name, _)| name).collect();
                Err(Error::parameter("model", format!("there is no `{model}`, only {}", names.join(", "))))
            }
        }

        impl Recipe {
            /// The kind of model that it makes, as requests name it.
            fn kind(&self) -> &'static str {
                match self {
                    $(Recipe::$learner(learner) => learner.model(),)*
                    Recipe::Fused(_) => FUSED,
                }
            }

            /// How a model was learned, as far as the model tells: without the calibration, and with cuts and maps of
            /// numbers found anew.
            fn of_model(model: &Model) -> Self {
                match model {
                    $(Model::$learner(model) => Recipe::$learner(Named::of_model(model)),)*
                    Model::Fused(model) => Recipe::Fused(model.members().iter().map(Part::of_member).collect()),
                    Model::Calibrated(model) => Recipe::of_model(model.model()),
                }
            }

            /// Learns the model from rows.
            pub fn learn(&self, engine: &dyn Engine) -> Result<Model> {
                match self {
                    $(Recipe::$learner(learner) => learner.learn(engine).map(Model::$learner),)*
                    Recipe::Fused(parts) => {
                        let member = |part: &Part| part.member(part.candidate.learn(engine)?);
                        Ok(Model::Fused(FusedModel::new(parts.iter().map(member).collect::<Result<_>>()?)?))
                    }
                }
            }

            /// The model that statistics give, where they are all that it needs.
            pub fn of_statistics(&self, statistics: &Statistics) -> Result<Model> {
                match self {
                    $(Recipe::$learner(learner) => learner.of_statistics(statistics).map(Model::$learner),)*
                    Recipe::Fused(_) => Err(Error::parameter("model", "fused models learn from rows")),
                }
            }
        }
    };
}

with_learners!(models);

impl Model {
    /// Writes a model file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        output::write(path, &self.to_bytes()?)
    }

    /// What a model file holds. It is read back first, so that every file can be read.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        readable(self.archive()?.to_bytes()?, Model::from_bytes)
    }

    /// The archive of a model file, which may hold more.
    pub fn archive(&self) -> Result<Archive> {
        let mut archive = Archive::new("model");
        self.put(&mut archive, "kind", "model")?;
        Ok(archive)
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Model::of_archive(&Archive::read(path, "model")?)
    }

    /// Reads what a model file holds.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Model::of_archive(&Archive::from_bytes(bytes, "model")?)
    }

    /// The model in the archive of a model file.
    pub fn of_archive(archive: &Archive) -> Result<Self> {
        Model::get(archive, "kind", "model")
    }

    /// The model with the profiles of its columns, as `engine` sees them: what it learned from.
    pub fn with_profiles(mut self, engine: &dyn Engine) -> Result<Self> {
        self.about_mut().set_profiles(engine.profiles()?)?;
        Ok(self)
    }

    /// The model with a fingerprint of the rows that it was fitted on, or without one.
    pub fn with_fingerprint(mut self, fingerprint: Option<Fingerprint>) -> Self {
        self.about_mut().set_fingerprint(fingerprint);
        self
    }

    /// The model without its calibration, if it has one.
    pub fn plain(&self) -> &Model {
        match self {
            Model::Calibrated(calibrated) => calibrated.model(),
            model => model,
        }
    }
}
