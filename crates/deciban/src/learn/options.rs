//! The hyper-parameters of all models as plain data, and the learner that they make of a model's name. The
//! program's flags and Python's keywords fill them, so both mean the same.

use serde::{Deserialize, Serialize};

use super::{
    Additive, Block, Count, Descent, Generative, LeastSquares, Link, Logistic, NaiveBayes, NoisyOr, Solver, blocks,
};
use crate::data::{Column, Profile};
use crate::error::{Error, Result};
use crate::family::counts::Unseen;
use crate::family::gaussian::{Estimator, Gaussian, Rank, Strength, Structure};
use crate::family::histogram::Histogram;
use crate::family::{AnyFamily, Family};
use crate::select::Recipe;
use crate::select::grid::Effort;
use crate::transform::{Binning, Step};

/// The models that are fitted from statistics.
pub const GENERATIVE: [&str; 8] =
    ["gaussian", "naive-bayes", "bernoulli", "multinomial", "table", "tree", "a1de", "parzen"];

/// The models that are linear in their features, and their links.
pub const LINEAR: [(&str, Link); 3] = [("logistic", Link::Logit), ("probit", Link::Probit), ("cloglog", Link::Cloglog)];

/// The model of tables of columns and pairs.
pub const ADDITIVE: &str = "additive";

/// Several models together: what a search makes of the best of each kind.
pub const FUSED: &str = "fused";

/// The model of causes and an effect.
pub const NOISY_OR: &str = "noisy-or";

/// The model of indicators of the classes.
pub const LEAST_SQUARES: &str = "least-squares";

/// Names of options that go together.
pub type Group = &'static [&'static str];

const GAUSSIAN: Group = &[
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
const IMAGES: Group = &["deskew"];
/// Classes of several components, and rows without a label: generative models.
const EM: Group = &["components", "unlabelled_weight", "iterations"];
/// How much work a search may take, and the kinds of models that it tries.
const SEARCH: Group = &["effort", "models"];
/// Folds settle what is left open, and calibrations of any model.
const FOLDS: Group = &["folds", "seed"];
const PSEUDO_COUNT: Group = &["pseudo_count"];
const LEVELS: Group = &["refuse_unseen"];
const MIXED: Group = &["joint_numbers", "family"];
const BINS: Group = &["bins"];
const WORDS: Group = &["min_count", "vocabulary"];
const COMPLEMENT: Group = &["complement"];
const WEIGHTS: Group = &["weight_decay", "solver", "rate", "seed", "no_standardise"];
const DECAY: Group = &["weight_decay"];
const PAIRS: Group = &["pairs", "pair_decay"];
const EFFECT: Group = &["effect"];
/// How texts become words: of the reader, not of the learner.
pub const TEXTS: Group = &["ngrams", "characters", "case", "no_symbols", "stop_words", "hashed_bits", "most_words"];

/// Which model takes which options: a new model is one line, a new option a name in one of the groups above.
/// Options in no group are for all models.
pub const MODELS: &[(&str, &[Group])] = &[
    // Options of one model choose it.
    ("auto", &[SEARCH]),
    ("gaussian", &[GAUSSIAN, IMAGES, FOLDS, EM]),
    ("naive-bayes", &[GAUSSIAN, FOLDS, PSEUDO_COUNT, LEVELS, MIXED, BINS, WORDS, COMPLEMENT, TEXTS, EM]),
    ("bernoulli", &[FOLDS, PSEUDO_COUNT, WORDS, TEXTS, EM]),
    ("multinomial", &[FOLDS, PSEUDO_COUNT, WORDS, COMPLEMENT, TEXTS, EM]),
    ("table", &[FOLDS, PSEUDO_COUNT, LEVELS, BINS, EM]),
    ("tree", &[FOLDS, PSEUDO_COUNT, LEVELS, BINS, EM]),
    ("a1de", &[FOLDS, PSEUDO_COUNT, LEVELS, BINS, EM]),
    ("parzen", &[FOLDS]),
    ("logistic", &[WEIGHTS, FOLDS, TEXTS]),
    ("probit", &[WEIGHTS, FOLDS, TEXTS]),
    ("cloglog", &[WEIGHTS, FOLDS, TEXTS]),
    (ADDITIVE, &[DECAY, PAIRS, FOLDS]),
    (NOISY_OR, &[EFFECT, FOLDS, PSEUDO_COUNT, TEXTS]),
    (LEAST_SQUARES, &[FOLDS]),
    (FUSED, &[SEARCH, FOLDS]),
];

/// Options that statistics depend on.
const SHAPING: Group = &["covariance", "deskew", "gaussianise", "folds", "seed", "joint_numbers", "family", "bins"];

/// Of several models that take the given options, the first of these.
const CHOSEN: [&str; 6] = ["gaussian", "multinomial", "naive-bayes", "logistic", ADDITIVE, NOISY_OR];

/// The models that take an option which not all take.
pub fn takers(option: &str) -> Vec<&'static str> {
    let takes = |groups: &[Group]| groups.iter().any(|group| group.contains(&option));
    MODELS.iter().filter(|(_, groups)| takes(groups)).map(|(model, _)| *model).collect()
}

/// The hyper-parameters of all models, each by the name of its option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How much work a search among models may take.
    pub effort: Effort,
    /// The kinds of models that a search tries; all that fit the columns if none is named.
    pub models: Vec<String>,
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
    /// L2 penalty: adds ½·E·‖w‖² to the loss; 1 by default, and chosen by cross-validation for additive models.
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
    /// The class that columns may cause.
    pub effect: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            effort: Effort::default(),
            models: Vec::new(),
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

    /// The model whose options are given, if any are that not all models take.
    pub fn names_model(&self) -> Result<Option<&'static str>> {
        // Any search has folds and a seed, too.
        let search = |option: &str| FOLDS.contains(&option) || SEARCH.contains(&option);
        let given: Vec<String> = self.given().into_iter().filter(|o| !takers(o).is_empty() && !search(o)).collect();
        if given.is_empty() {
            return Ok(None);
        }
        let marked = || given.iter().map(|option| format!("§{option}")).collect::<Vec<_>>().join(", ");
        let able: Vec<&str> = MODELS.iter().map(|(model, _)| *model).filter(|m| self.refusal(m).is_none()).collect();
        let able: Vec<&str> = able.into_iter().filter(|model| ![FUSED, "auto"].contains(model)).collect();
        let shared = [PSEUDO_COUNT, LEVELS, WORDS].concat();
        match CHOSEN.into_iter().find(|model| able.contains(model)) {
            _ if able.is_empty() => {
                Err(Error::Usage(format!("no model takes all of {}: drop one, or give §model", marked())))
            }
            _ if given.iter().all(|option| shared.contains(&option.as_str())) => {
                Err(Error::Usage(format!("{}: say for which §model: {}", marked(), able.join(", "))))
            }
            model => Ok(model),
        }
    }

    /// An error if an option is given that the model does not take: none is ignored.
    pub fn check(&self, model: &str) -> Result<()> {
        match self.refusal(model) {
            Some(message) => Err(Error::Usage(message)),
            None => Ok(()),
        }
    }

    /// Why the model does not take these options.
    fn refusal(&self, model: &str) -> Option<String> {
        let given = self.given();
        let foreign = given.iter().find(|option| {
            let takers = takers(option);
            !takers.is_empty() && !takers.contains(&model)
        });
        if let Some(option) = foreign {
            let takers = takers(option).join(", ");
            return Some(format!("§{option} is not an option of §model={model}, but of {takers}"));
        }
        // Naive Bayes takes numbers one by one, unless it has joint numbers.
        match self.covariance {
            Some(structure) if structure.is_full() && model == "naive-bayes" && !self.joint_numbers => {
                Some("§covariance is of all numbers together: give §joint_numbers with it, or §model=gaussian".into())
            }
            _ => None,
        }
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

    /// How a model of this name is learned from rows.
    pub fn recipe(&self, model: &str, columns: &[Column], seen: Seen<'_>) -> Result<Recipe> {
        let linear = LINEAR.iter().find(|(name, _)| *name == model);
        match (linear, model) {
            (Some((_, link)), _) => Ok(Recipe::Logistic(self.logistic(*link))),
            (_, ADDITIVE) => Ok(Recipe::Additive(self.additive())),
            (_, NOISY_OR) => Ok(Recipe::NoisyOr(self.noisy_or())),
            (_, LEAST_SQUARES) => Ok(Recipe::LeastSquares(LeastSquares)),
            _ => self.generative(model, columns, seen).map(Recipe::Generative),
        }
    }

    /// The generative learner for a model's name.
    pub fn generative(&self, model: &str, columns: &[Column], seen: Seen<'_>) -> Result<Generative> {
        self.gaussian().check()?;
        if !(self.pseudo_count >= 0.0 && self.pseudo_count.is_finite()) {
            return Err(Error::parameter("pseudo_count", "give a number of 0 or more"));
        }
        let learner = match model {
            "gaussian" => {
                let learner = Generative::gaussian(columns, self.gaussian())?.gaussianise(self.gaussianise);
                if self.deskew { learner.deskew()? } else { learner }
            }
            "naive-bayes" => {
                let mut bayes = self.naive_bayes(columns)?;
                match seen {
                    Seen::Rows(profiles) => drop(bayes.settle(columns, profiles)),
                    Seen::Blocks(blocks) => bayes.follow(blocks, columns),
                }
                let mut blocks = bayes.blocks(columns)?;
                blocks.iter_mut().for_each(|block| self.finish(&mut block.family));
                Generative::of_blocks(blocks).gaussianise(self.gaussianise)
            }
            "bernoulli" | "multinomial" => Generative::of_blocks(blocks::counted(columns, &self.named(model)?)?),
            "parzen" => Generative::of_blocks(blocks::numbers(columns, &self.named(model)?)?),
            "table" | "tree" | "a1de" => {
                let cuts = self.cuts(columns)?;
                if matches!(seen, Seen::Blocks(_)) && !cuts.is_empty() {
                    let message = format!("the statistics files of {model} have their bins settled: drop the option");
                    return Err(Error::parameter("bins", message));
                }
                let family = self.named(model)?;
                let learner = Generative::of_blocks(blocks::together(columns, &family)?);
                learner.discretise(blocks::binning(&family)).cuts(cuts)?
            }
            _ => {
                let names: Vec<&str> = MODELS.iter().map(|(name, _)| *name).collect();
                return Err(Error::parameter("model", format!("there is no `{model}`, only {}", names.join(", "))));
            }
        };
        let mut learner = learner.components(self.components)?.unlabelled(self.unlabelled_weight)?;
        if let Some(iterations) = self.iterations {
            learner = learner.iterations(iterations);
        }
        Ok(learner.folds(self.open_folds()?, self.seed))
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

    /// The linear learner for a link.
    pub fn logistic(&self, link: Link) -> Logistic {
        let descent = Descent { rate: self.rate, seed: self.seed, ..Descent::default() };
        let (weight_decay, standardise) = (self.weight_decay.unwrap_or(1.0), !self.no_standardise);
        Logistic { link, weight_decay, solver: self.solver, standardise, descent, ..Logistic::default() }
    }

    /// The learner of tables of columns and pairs.
    pub fn additive(&self) -> Additive {
        let Options { weight_decay, pairs, pair_decay, folds, seed, .. } = *self;
        Additive { weight_decay, pairs, pair_decay, folds, seed, ..Additive::default() }
    }

    /// The learner of causes; pseudo-counts are rows of each cause alone, without effect, that hold its
    /// strength back.
    pub fn noisy_or(&self) -> NoisyOr {
        NoisyOr { effect: self.effect.clone(), pseudo_count: self.pseudo_count, ..NoisyOr::default() }
    }

    /// The numbers that a model takes for histograms since no Gaussian describes them.
    pub fn spiked(&self, model: &str, columns: &[Column], profiles: &[Profile]) -> Result<Vec<usize>> {
        match model {
            "naive-bayes" => Ok(self.naive_bayes(columns)?.settle(columns, profiles)),
            _ => Ok(Vec::new()),
        }
    }

    /// The folds by which `auto` compares models.
    pub fn auto_folds(&self) -> Result<usize> {
        match self.folds {
            Some(1) => Err(Error::parameter("folds", "auto needs at least 2 folds")),
            folds => Ok(folds.unwrap_or(5)),
        }
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
    fn open_folds(&self) -> Result<usize> {
        match self.leaves_open() {
            true => self.auto_folds(),
            false => Ok(self.folds.unwrap_or(1)),
        }
    }

    fn named(&self, name: &str) -> Result<AnyFamily> {
        let mut family = AnyFamily::named(name)?.with_pseudo_count(self.pseudo_count);
        self.finish(&mut family);
        Ok(family)
    }

    /// Puts the options that only some families have.
    fn finish(&self, family: &mut AnyFamily) {
        let unseen = if self.refuse_unseen { Unseen::Error } else { Unseen::Share };
        match family {
            AnyFamily::Categorical(family) => family.unseen = unseen,
            AnyFamily::Table(family) => family.unseen = unseen,
            AnyFamily::Tree(family) => family.unseen = unseen,
            AnyFamily::A1de(family) => family.unseen = unseen,
            AnyFamily::Bernoulli(family) => (family.min_count, family.vocabulary) = (self.min_count, self.vocabulary),
            AnyFamily::Multinomial(family) => {
                (family.min_count, family.vocabulary) = (self.min_count, self.vocabulary);
                family.complement = self.complement;
            }
            _ => {}
        }
    }

    /// The given cuts of numbers, which must be columns.
    fn cuts(&self, columns: &[Column]) -> Result<Vec<(String, Vec<f64>)>> {
        for (name, _) in &self.bins {
            let message = match columns.iter().find(|column| column.name == *name) {
                None => format!("there is no column `{name}`"),
                Some(column) if !column.is_numeric() => format!("column `{name}` does not hold numbers"),
                Some(_) => continue,
            };
            return Err(Error::parameter("bins", message));
        }
        Ok(self.bins.clone())
    }

    fn naive_bayes(&self, columns: &[Column]) -> Result<NaiveBayes> {
        let (mut families, mut every) = (Vec::new(), None);
        for (column, family) in &self.family {
            match column {
                Some(column) => families.push((column.clone(), AnyFamily::named(family)?)),
                None => every = Some(AnyFamily::named(family)?),
            }
        }
        for (column, cuts) in self.cuts(columns)? {
            families.retain(|(name, _)| *name != column);
            let bins = Binning::Cuts(vec![cuts]);
            families.push((column, AnyFamily::Histogram(Histogram { bins, ..Histogram::default() })));
        }
        let (pseudo_count, joint_numbers) = (self.pseudo_count, self.joint_numbers);
        let mut bayes = NaiveBayes { gaussian: self.gaussian(), joint_numbers, pseudo_count, families };
        every.iter().for_each(|family| bayes.every_number(columns, family));
        Ok(bayes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_choose_their_model() {
        let named = |options: Options| options.names_model().unwrap();
        assert_eq!(named(Options::default()), None);
        assert_eq!(named(Options { pca: Some(2), ..Options::default() }), Some("gaussian"));
        assert_eq!(named(Options { covariance: Some(Structure::Full), ..Options::default() }), Some("gaussian"));
        assert_eq!(named(Options { joint_numbers: true, pca: Some(2), ..Options::default() }), Some("naive-bayes"));
        assert_eq!(named(Options { weight_decay: Some(1.0), ..Options::default() }), Some("logistic"));
        assert_eq!(named(Options { effect: Some("yes".into()), ..Options::default() }), Some("noisy-or"));
        assert_eq!(named(Options { complement: true, ..Options::default() }), Some("multinomial"));
        assert!(Options { pseudo_count: 0.5, ..Options::default() }.names_model().is_err());
    }

    #[test]
    fn no_option_is_ignored() {
        let refused = |options: &Options, model: &str| options.check(model).unwrap_err().to_string();
        let tied = Options { covariance: Some(Structure::Tied), ..Options::default() };
        let both = Options { weight_decay: Some(2.0), ..tied.clone() };
        assert_eq!(
            both.names_model().unwrap_err().to_string(),
            "no model takes all of covariance, weight_decay: drop one, or give model"
        );
        assert!(Options { pseudo_count: 2.0, ..tied.clone() }.names_model().is_err());
        assert!(refused(&tied, "naive-bayes").starts_with("covariance is of all numbers together"));
        assert!(Options { joint_numbers: true, ..tied.clone() }.check("naive-bayes").is_ok());
        assert_eq!(
            refused(&tied, "logistic"),
            "covariance is not an option of model=logistic, but of gaussian, naive-bayes"
        );
        for options in [
            Options { pseudo_count: 2.0, ..Options::default() },
            Options { estimator: Estimator::Unbiased, ..Options::default() },
            Options { pca: Some(2), ..Options::default() },
            tied,
        ] {
            assert!(options.check_shaping().is_err());
        }
        let shaped = Options { covariance: Some(Structure::Diagonal), folds: Some(5), ..Options::default() };
        assert!(shaped.check_shaping().is_ok());
    }

    #[test]
    fn every_model_makes_a_recipe_and_others_are_refused() {
        let columns = [Column::number("a"), Column::number("b")];
        for (model, _) in MODELS.iter().filter(|(model, _)| ![FUSED, "auto"].contains(model)) {
            assert!(Options::default().recipe(model, &columns, Seen::Rows(&[])).is_ok(), "{model}");
        }
        let error = Options::default().recipe("gausian", &columns, Seen::Rows(&[])).unwrap_err().to_string();
        assert!(error.starts_with("model: there is no `gausian`, only auto, gaussian, naive-bayes"), "{error}");
        assert_eq!(takers("effect"), [NOISY_OR]);
    }
}
