//! The hyper-parameters of all models as plain data, and the learners that they make of a model's name. The
//! program's flags and Python's keywords fill them, so both mean the same.

use serde::{Deserialize, Serialize};

use super::{Block, Count, Learner, Solver, Statistics};
use crate::data::{Column, Identity, Profile};
use crate::error::{Error, Result};
use crate::family::gaussian::{Estimator, Gaussian, Rank, Strength, Structure};
use crate::transform::Step;

/// Names of options that go together.
pub type Group = &'static [&'static str];

/// A learner that people ask for by the name of a model.
pub trait Named: Learner + Clone {
    /// The models that it makes, each with the options that it takes; options in no group are for all models.
    const MODELS: &'static [(&'static str, &'static [Group])];

    /// Those of them that are for two classes alone.
    const OF_TWO_CLASSES: &'static [&'static str] = &[];

    /// Whether folds settle something that is left open, also where there is no calibration.
    const SETTLES: bool = false;

    /// Whether it makes a model of this name.
    fn makes(model: &str) -> bool {
        Self::MODELS.iter().any(|(name, _)| *name == model)
    }

    /// The learner for one of these names.
    fn of_options(model: &str, options: &Options, columns: &[Column], seen: Seen<'_>) -> Result<Self>;

    /// The name of the model that it makes.
    fn model(&self) -> &'static str;

    /// How a model was learned, as far as the model tells.
    fn of_model(model: &Self::Model) -> Self;

    /// The generative model whose statistics are all that a model needs, if there is one.
    fn statistics_of(model: &str) -> Option<&str> {
        let _ = model;
        None
    }

    /// The model that statistics give, where they are all that it needs.
    fn of_statistics(&self, _: &Statistics) -> Result<Self::Model> {
        Err(Error::parameter("model", format!("{} learns from rows, not from statistics", self.model())))
    }
}

pub(super) const GAUSSIAN: Group = &[
    "covariance",
    "estimator",
    "shrinkage",
    "pooling",
    "sparse_precision",
    "standardise",
    "gaussianise",
    "pca",
    "lda",
    "prior_rows",
    "rank",
];
/// Rows that are images.
pub(super) const IMAGES: Group = &["deskew"];
/// Classes of several components, and rows without a label: generative models.
pub(super) const EM: Group = &["components", "unlabelled_weight", "iterations"];
/// How much work a search may take, the kinds of models that it tries, and what it keeps beside the one it finds.
pub(crate) const SEARCH: Group = &["effort", "models", "no_companion"];
/// Folds settle what is left open, and calibrations of any model.
pub(crate) const FOLDS: Group = &["folds", "seed", "equal_together", "group"];
pub(crate) const PSEUDO_COUNT: Group = &["pseudo_count"];
pub(crate) const LEVELS: Group = &["refuse_unseen"];
pub(super) const MIXED: Group = &["joint_numbers", "family"];
pub(super) const BINS: Group = &["bins"];
pub(crate) const WORDS: Group = &["min_count", "vocabulary"];
pub(super) const COMPLEMENT: Group = &["complement"];
pub(super) const WEIGHTS: Group = &["weight_decay", "solver", "rate", "seed", "no_standardise"];
pub(super) const DECAY: Group = &["weight_decay"];
pub(super) const PAIRS: Group = &["pairs", "pair_decay"];
pub(super) const PARENTS: Group = &["parents"];
pub(super) const EFFECT: Group = &["effect"];
/// How texts become words: of the reader, not of the learner.
pub const TEXTS: Group =
    &["ngrams", "characters", "case", "no_symbols", "stop_words", "min_length", "hashed_bits", "most_words"];

/// Options that statistics depend on.
const SHAPING: Group = &["covariance", "deskew", "gaussianise", "folds", "seed", "joint_numbers", "family", "bins"];

/// How much work a search may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A few candidates that are quick to compare.
    Quick,
    /// All that take seconds for some ten thousand rows.
    #[default]
    Normal,
    /// More and larger mixtures, and models of many rows, however long they take.
    Thorough,
}

impl Effort {
    /// All, by the names of the command line.
    pub const ALL: [(&'static str, Effort); 3] =
        [("quick", Effort::Quick), ("normal", Effort::Normal), ("thorough", Effort::Thorough)];
}

/// The hyper-parameters of all models, each by the name of its option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How much work a search among models may take.
    pub effort: Effort,
    /// The kinds of models that a search tries; all that fit the columns if none is named.
    pub models: Vec<String>,
    /// Whether a model that a search has found has no companion that describes rows.
    pub no_companion: bool,
    /// What the covariances of the classes have in common; full by default.
    pub covariance: Option<Structure>,
    /// How covariances are estimated.
    pub estimator: Estimator,
    /// Towards a multiple of the identity.
    pub shrinkage: Strength,
    /// Towards the covariance that all classes share.
    pub pooling: Strength,
    /// The penalty on the precision matrix.
    pub sparse_precision: f64,
    /// Columns are scaled first.
    pub standardise: bool,
    /// Each row is a square image whose slant is taken out first.
    pub deskew: bool,
    /// Columns are mapped to normal ones first.
    pub gaussianise: bool,
    /// Leading principal components to keep.
    pub pca: Option<usize>,
    /// Leading discriminant directions to keep.
    pub lda: Option<usize>,
    /// How many rows the prior of covariances weighs.
    pub prior_rows: Option<f64>,
    /// The number of axes of low-rank covariances.
    pub rank: Rank,
    /// The number of components of each class.
    pub components: Count,
    /// How much a row without a label counts.
    pub unlabelled_weight: f64,
    /// The most steps of expectation–maximisation.
    pub iterations: Option<usize>,
    /// Folds by which what is left open is settled.
    pub folds: Option<usize>,
    /// The seed of everything random.
    pub seed: u64,
    /// Equal rows are dealt into the same fold, by what they hold and not by their places.
    pub equal_together: bool,
    /// The column of groups, whose rows are dealt into the same fold. Rows carry their groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Rows that the prior adds to every level, word or bin.
    pub pseudo_count: f64,
    /// Levels that were not there at fit are errors.
    pub refuse_unseen: bool,
    /// One Gaussian of all numbers in naive Bayes.
    pub joint_numbers: bool,
    /// Columns with families of their own, both by name; without a column it is for all numbers.
    pub family: Vec<(Option<String>, String)>,
    /// Cut points of numbers.
    pub bins: Vec<(String, Vec<f64>)>,
    /// Words that occur in fewer rows are left out.
    pub min_count: f64,
    /// At most so many words are known.
    pub vocabulary: Option<usize>,
    /// Weights from the other classes' words.
    pub complement: bool,
    /// L2 penalty: adds ½·E·‖w‖² to the loss; 1 by default, 10 for k-dependence, and chosen by cross-validation for
    /// additive models.
    pub weight_decay: Option<f64>,
    /// How weights are found.
    pub solver: Solver,
    /// The first step of stochastic gradient descent.
    pub rate: Option<f64>,
    /// Weights are penalised per unit of a column.
    pub no_standardise: bool,
    /// The most pairs of columns with a table of their own.
    pub pairs: Option<usize>,
    /// What a squared cell of such a table costs, in rows; chosen by folds unless given.
    pub pair_decay: Option<f64>,
    /// The most parents of a column; 7 by default.
    pub parents: Option<usize>,
    /// The class that columns may cause.
    pub effect: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            effort: Effort::default(),
            models: Vec::new(),
            no_companion: false,
            covariance: None,
            estimator: Estimator::default(),
            shrinkage: Strength::default(),
            pooling: Strength::default(),
            sparse_precision: 0.0,
            standardise: false,
            deskew: false,
            gaussianise: false,
            pca: None,
            lda: None,
            prior_rows: None,
            rank: Rank::Auto,
            components: Count::default(),
            unlabelled_weight: 0.0,
            iterations: None,
            folds: None,
            seed: 0,
            equal_together: false,
            group: None,
            pseudo_count: 1.0,
            refuse_unseen: false,
            joint_numbers: false,
            family: Vec::new(),
            bins: Vec::new(),
            min_count: 1.0,
            vocabulary: None,
            complement: false,
            weight_decay: None,
            solver: Solver::default(),
            rate: None,
            no_standardise: false,
            pairs: None,
            pair_decay: None,
            parents: None,
            effect: None,
        }
    }
}

/// What is known of the columns besides their kinds.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// What the first rows say.
    Rows(&'a [Profile]),
    /// The blocks that statistics were made of.
    Blocks(&'a [Block]),
}

impl Options {
    /// The options that are not as they are by default, by name.
    ///
    /// ```
    /// use deciban::learn::Options;
    /// assert_eq!(Options { pca: Some(2), seed: 7, ..Options::default() }.given(), ["pca", "seed"]);
    /// ```
    pub fn given(&self) -> Vec<String> {
        let fields = |options: &Options| match serde_json::to_value(options) {
            Ok(serde_json::Value::Object(fields)) => fields,
            // Options are a struct of plain values.
            _ => serde_json::Map::new(),
        };
        let plain = fields(&Options::default());
        fields(self).into_iter().filter(|(name, value)| plain.get(name) != Some(value)).map(|(name, _)| name).collect()
    }

    /// An error if an option is given that statistics do not depend on: it belongs to the fit.
    pub fn check_shaping(&self) -> Result<()> {
        let given = self.given();
        let later = |option: &&String| !SHAPING.contains(&option.as_str()) && !TEXTS.contains(&option.as_str());
        if let Some(option) = given.iter().find(later) {
            return Err(Error::Usage(format!(
                "§{option} does not shape statistics: give it when a model is fitted from them"
            )));
        }
        match self.covariance {
            Some(structure) if !matches!(structure, Structure::Full | Structure::Diagonal) => Err(Error::parameter(
                "covariance",
                "statistics hold covariances (full) or variances alone (diagonal): give others when a model is fitted",
            )),
            _ => Ok(()),
        }
    }

    /// The Gaussian family.
    pub fn gaussian(&self) -> Gaussian {
        let mut steps = Vec::new();
        if self.standardise {
            steps.push(Step::Standardise);
        }
        steps.extend(self.pca.map(Step::Pca));
        steps.extend(self.lda.map(Step::Lda));
        Gaussian {
            covariance: self.covariance.unwrap_or_default(),
            estimator: self.estimator,
            shrinkage: self.shrinkage,
            pooling: self.pooling,
            sparse_precision: self.sparse_precision,
            rank: self.rank,
            steps,
            prior_rows: self.prior_rows,
            settled: None,
        }
    }

    /// How an engine tells rows apart for these options; `None` for their places.
    pub fn identity(&self) -> Option<Identity> {
        match (&self.group, self.equal_together) {
            (Some(_), _) => Some(Identity::Group),
            (None, true) => Some(Identity::Contents),
            (None, false) => None,
        }
    }

    /// The folds by which `auto` compares models.
    pub fn auto_folds(&self) -> Result<usize> {
        self.search_folds(5)
    }

    /// The folds of a search, where `default` are as many as its rows deserve.
    pub fn search_folds(&self, default: usize) -> Result<usize> {
        match self.folds {
            Some(1) => Err(Error::parameter("folds", "auto needs at least 2 folds")),
            folds => Ok(folds.unwrap_or(default)),
        }
    }

    /// Whether something is left open, for the folds of the statistics to settle.
    pub fn leaves_open(&self) -> bool {
        self.shrinkage == Strength::Auto || self.pooling == Strength::Auto || self.gaussian().open_rank()
    }

    /// The folds of the statistics.
    pub(super) fn open_folds(&self) -> Result<usize> {
        match self.leaves_open() {
            true => self.auto_folds(),
            false => Ok(self.folds.unwrap_or(1)),
        }
    }
}
