//! Which candidates there are for the columns of a table.
//!
//! | columns | candidates |
//! |---|---|
//! | numbers | Gaussians of all structures, shrunken, pooled, pulled towards the covariance within classes, of normal scores, after PCA and LDA |
//! | numbers, classes of many rows | mixtures of Gaussians |
//! | any | naive Bayes: numbers apart, jointly, in histograms, or each by the family that suits it; pseudo-counts |
//! | categories, flags and numbers in bins | table, tree, A1DE |
//! | numbers, not too many rows | Parzen |
//! | counts and texts | Bernoulli and multinomial with several pseudo-counts |
//! | any | logistic with several weight decays; of two classes also probit and cloglog, if they are named |
//! | any but texts | additive: steps and pairs, with decays that cross-validation settles ([`settle`]) |
//! | numbers | least squares |
//! | flags and counts, two classes | noisy-or with several pseudo-counts |
//!
//! Names are the options of `fit`, so that what wins can be had again.

use serde::{Deserialize, Serialize};

use super::{Candidate, Recipe};
use crate::data::{Column, Kind, Profile};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use crate::family::{AnyFamily, Family};
use crate::learn::options::ADDITIVE;
use crate::learn::{Additive, Count, Generative, LeastSquares, Link, Logistic, NaiveBayes, NoisyOr, blocks};
use crate::transform::Step;

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

    /// By how much the limits of what is tried are raised.
    fn factor(self) -> f64 {
        if self == Effort::Thorough { 20.0 } else { 1.0 }
    }
}

/// The kinds of models that can be compared.
pub const MODELS: [&str; 14] = [
    "gaussian",
    "naive-bayes",
    "bernoulli",
    "multinomial",
    "table",
    "tree",
    "a1de",
    "parzen",
    "logistic",
    "probit",
    "cloglog",
    ADDITIVE,
    "least-squares",
    "noisy-or",
];

/// The kinds that are compared only if they are named: they seldom differ from logistic models.
const ON_DEMAND: [&str; 2] = ["probit", "cloglog"];

/// More columns than this get no full covariance of all of them.
const MOST_JOINT: usize = 128;

/// A table with more cells of categories than this is hopeless.
const MOST_CELLS: f64 = 1e4;

/// Above so many products a step (rows × components × columns²), a mixture takes too long.
const MOST_MIXED: f64 = 5e8;

/// With fewer rows a class, mixtures are not tried: their likelihood grows with every component.
const LEAST_CLASS: f64 = 200.0;

/// With fewer rows a component, a mixture is not tried.
const LEAST_COMPONENT: f64 = 30.0;

/// Mixtures of more columns are found after PCA.
const MOST_MIXED_COLUMNS: usize = 32;

/// Above so many table look-ups a pass (rows × columns × classes), an additive model takes too long.
const MOST_ADDITIVE: f64 = 1e7;

/// Above so many counts a pass (rows × columns²), models of pairs of columns take too long.
const MOST_PAIRED: f64 = 2e9;

/// Above so many products (rows² × columns), kernels on all rows take too long.
const MOST_KERNELS: f64 = 2e10;

/// What a table's columns are, in short.
struct Kinds {
    numbers: usize,
    counts: usize,
    categories: usize,
    texts: usize,
}

impl Kinds {
    fn of(columns: &[Column]) -> Self {
        let count = |kinds: &[Kind]| columns.iter().filter(|c| kinds.contains(&c.kind)).count();
        Kinds {
            numbers: count(&[Kind::Number]),
            counts: count(&[Kind::Count]),
            categories: count(&[Kind::Category, Kind::Flag]),
            texts: count(&[Kind::Text]),
        }
    }

    fn only_numbers(&self) -> bool {
        self.counts + self.categories + self.texts == 0
    }
}

/// All candidates of the named kinds of models for a table of so many rows; of every kind that fits the columns if
/// none is named.
pub fn candidates(engine: &dyn Engine, models: &[String], effort: Effort, rows: f64) -> Result<Vec<Candidate>> {
    if models.is_empty() && effort == Effort::Quick {
        return quick(engine);
    }
    let (schema, profiles) = (engine.schema()?, engine.profiles()?);
    let (columns, classes) = (schema.columns(), schema.classes().len());
    if let Some(unknown) = models.iter().find(|name| !MODELS.contains(&name.as_str())) {
        let message = format!("there is no model `{unknown}`: there are {}", MODELS.join(", "));
        return Err(Error::parameter("models", message));
    }
    let mut all = Vec::new();
    for model in MODELS {
        if models.is_empty() || models.iter().any(|name| name == model) {
            // Numbers that nobody called counts are none.
            let counts = ["bernoulli", "multinomial"].contains(&model);
            if models.is_empty() && counts && columns.iter().any(|c| c.kind == Kind::Number) {
                continue;
            }
            if models.is_empty() && ON_DEMAND.contains(&model) {
                continue;
            }
            let mut made = of_model(model, columns, &profiles, classes);
            if model == "gaussian" && made.is_ok() {
                made = made.and_then(|mut made| {
                    made.extend(mixtures(columns, rows, classes, effort)?);
                    Ok(made)
                });
            }
            match made {
                Err(error) if !models.is_empty() => return Err(error),
                made => all.extend(made.unwrap_or_default()),
            }
        }
    }
    match all.is_empty() {
        true => Err(Error::parameter("models", "none of these models fits the columns")),
        false => Ok(all),
    }
}

/// Settles what candidates leave open that folds can settle once for all of them: the decays of additive models, by as
/// many folds of the same seed. Returns the candidates that failed, and why.
pub fn settle(
    candidates: &mut Vec<Candidate>,
    engine: &dyn Engine,
    (folds, seed): (usize, u64),
) -> Result<Vec<(String, Error)>> {
    let mut failed = Vec::new();
    let mut settled = Vec::new();
    for candidate in candidates.drain(..) {
        let Recipe::Additive(learner) = &candidate.recipe else {
            settled.push(candidate);
            continue;
        };
        match (Additive { folds: Some(folds), seed, ..learner.clone() }).settled(engine) {
            Ok(learner) => settled.push(additive(learner)),
            Err(error @ (Error::Interrupted | Error::Io { .. })) => return Err(error),
            Err(error) => failed.push((candidate.name, error)),
        }
    }
    *candidates = settled;
    Ok(failed)
}

/// A few candidates that are quick to compare.
pub fn quick(engine: &dyn Engine) -> Result<Vec<Candidate>> {
    let (schema, profiles) = (engine.schema()?, engine.profiles()?);
    let columns = schema.columns();
    let kinds = Kinds::of(columns);
    let mut all = Vec::new();
    if kinds.only_numbers() {
        let auto = |covariance: Structure| {
            let pooling = if covariance.is_tied() { Strength::Fixed(0.0) } else { Strength::Auto };
            let steps = vec![Step::Standardise];
            Gaussian { covariance, shrinkage: Strength::Auto, pooling, steps, ..Gaussian::default() }
        };
        let plain = |covariance: Structure| Gaussian { covariance, ..Gaussian::default() };
        let mut families = vec![plain(Structure::Diagonal)];
        match kinds.numbers <= MOST_JOINT {
            true => families.extend([plain(Structure::Full), plain(Structure::Tied)]),
            false => {
                families.extend([50, 100].map(|n| Gaussian { steps: vec![Step::Pca(n)], ..plain(Structure::Full) }))
            }
        }
        if kinds.numbers <= 32 {
            families.extend([auto(Structure::Full), auto(Structure::Tied)]);
        }
        all.extend(families.into_iter().map(|family| gaussian(columns, family)).collect::<Result<Vec<_>>>()?);
    }
    if !kinds.only_numbers() && kinds.texts == 0 {
        all.push(naive_bayes(columns, &profiles, NaiveBayes { pseudo_count: 1.0, ..NaiveBayes::default() })?);
        for family in ["histogram", "auto"] {
            all.extend(all_numbers(columns, family, 1.0)?);
        }
    }
    if kinds.texts > 0 && kinds.categories == 0 {
        all.extend(counted("bernoulli", columns, &[0.01, 0.1])?);
        all.extend(counted("multinomial", columns, &[0.1, 0.5, 1.0])?);
    } else if kinds.texts > 0 {
        all.extend(of_model("naive-bayes", columns, &profiles, 0)?);
    }
    if left_out(engine)?.is_empty() {
        all.push(linear(Link::Logit, 1.0));
    }
    Ok(all)
}

/// Above so many weights (words × classes), a search does not try a linear model of texts.
const MOST_WEIGHTS: usize = 200_000;

/// The kinds of models that [`quick`] leaves out though they fit the columns, and why.
pub fn left_out(engine: &dyn Engine) -> Result<Vec<(&'static str, String)>> {
    let schema = engine.schema()?;
    let texts = || schema.columns().iter().filter(|column| column.kind == Kind::Text);
    let words: usize = texts().map(|column| column.levels.len()).sum();
    let classes = schema.classes().len();
    let names: Vec<String> = texts().map(|column| format!("`{}`", column.name)).collect();
    let message = || {
        format!(
            "a linear model of the {words} words of {} and {classes} classes takes long to learn: give §model=logistic \
             to try it",
            names.join(", ")
        )
    };
    // Words that are numbered by hashes are not counted: there may be any number of them.
    let hashed = !names.is_empty() && words == 0;
    Ok(if hashed || words * classes > MOST_WEIGHTS { vec![("logistic", message())] } else { Vec::new() })
}

/// Above so many scores (rows × classes), linear models take too long: they visit them hundreds of times.
const MOST_LINEAR: f64 = 2e7;

/// Takes out the candidates that take too long for so many rows, columns and classes: linear and additive models, whose
/// passes are many, and those that look at pairs of columns or of rows. Returns the kinds that are taken out, and why.
pub fn keep_quick(
    candidates: &mut Vec<Candidate>,
    (rows, columns, classes): (f64, usize, usize),
    effort: Effort,
) -> Vec<(String, String)> {
    let scores = rows * classes as f64;
    let too_long = |candidate: &Candidate| match candidate.recipe {
        Recipe::Logistic(_) => scores > MOST_LINEAR * effort.factor(),
        Recipe::Additive(_) => scores * columns as f64 > MOST_ADDITIVE * effort.factor(),
        Recipe::Generative(_) if ["tree", "a1de"].contains(&candidate.kind.as_str()) => {
            rows * (columns * columns) as f64 > MOST_PAIRED * effort.factor()
        }
        Recipe::Generative(_) if candidate.kind == "parzen" => {
            rows * rows * columns as f64 > MOST_KERNELS * effort.factor()
        }
        _ => false,
    };
    let mut kinds: Vec<String> = candidates.iter().filter(|c| too_long(c)).map(|c| c.kind.clone()).collect();
    kinds.dedup();
    candidates.retain(|candidate| !too_long(candidate));
    let why = |kind: String| {
        let why = format!(
            "{rows} rows, {columns} columns and {classes} classes take long to learn: name the model to try it"
        );
        (kind, why)
    };
    kinds.into_iter().map(why).collect()
}

fn of_model(model: &str, columns: &[Column], profiles: &[Profile], classes: usize) -> Result<Vec<Candidate>> {
    let kinds = Kinds::of(columns);
    match model {
        "gaussian" => {
            let gaps = profiles.iter().any(|profile| profile.cells < profile.rows);
            let all = gaussians(columns, classes, gaps).into_iter().map(|family| gaussian(columns, family));
            let mut all: Vec<Candidate> = all.collect::<Result<_>>()?;
            if columns.len() <= MOST_JOINT && !gaps {
                all.extend(normal_scores(columns)?);
            }
            Ok(all)
        }
        "naive-bayes" if kinds.only_numbers() => {
            let each = ["histogram", "auto"].map(|family| all_numbers(columns, family, 1.0));
            each.into_iter().filter_map(Result::transpose).collect()
        }
        "naive-bayes" => {
            let mut all = Vec::new();
            for pseudo_count in [0.1, 1.0] {
                all.push(naive_bayes(columns, profiles, NaiveBayes { pseudo_count, ..NaiveBayes::default() })?);
                for family in ["histogram", "auto"] {
                    all.extend(all_numbers(columns, family, pseudo_count)?);
                }
            }
            if (2..=MOST_JOINT).contains(&kinds.numbers) {
                for covariance in [Structure::Full, Structure::Tied] {
                    let gaussian = Gaussian { covariance, ..Gaussian::default() };
                    let joint = NaiveBayes { gaussian, joint_numbers: true, pseudo_count: 1.0, families: Vec::new() };
                    all.push(naive_bayes(columns, profiles, joint)?);
                }
            }
            Ok(all)
        }
        "bernoulli" | "multinomial" => counted(model, columns, &[0.01, 0.1, 0.5, 1.0]),
        "table" => {
            let cells: f64 = columns.iter().map(|c| c.levels.len().max(1) as f64).product();
            match cells * 4f64.powi((kinds.numbers + kinds.counts) as i32) > MOST_CELLS {
                true => Err(Error::parameter("models", "a table of all columns has too many cells: give tree")),
                false => binned(model, columns),
            }
        }
        "tree" | "a1de" => binned(model, columns),
        "parzen" => {
            let blocks = blocks::numbers(columns, &AnyFamily::named(model)?)?;
            Ok(vec![Candidate::generative(model, Generative::of_blocks(blocks))])
        }
        "logistic" => Ok([0.01, 0.1, 1.0, 10.0, 100.0].map(|decay| linear(Link::Logit, decay)).into()),
        ADDITIVE if kinds.texts > 0 => {
            Err(Error::parameter("models", "additive takes numbers and categories, no texts"))
        }
        ADDITIVE => Ok(vec![additive(Additive::default())]),
        "least-squares" => match kinds.only_numbers() {
            true => Ok(vec![Candidate::new(model, Recipe::LeastSquares(LeastSquares))]),
            false => Err(Error::parameter("models", "least-squares takes numbers alone")),
        },
        _ if classes != 2 => Err(Error::parameter("models", format!("{model} is for two classes"))),
        "noisy-or" => match columns.iter().all(is_cause) {
            true => Ok([0.1, 1.0, 10.0].map(noisy_or).into()),
            false => Err(Error::parameter("models", "noisy-or takes flags and counts alone: give §flag or §count")),
        },
        _ => {
            let link = if model == "probit" { Link::Probit } else { Link::Cloglog };
            Ok([0.01, 0.1, 1.0, 10.0, 100.0].map(|decay| linear(link, decay)).into())
        }
    }
}

/// Gaussians of all structures; shrinkage is told in standard deviations.
fn gaussians(columns: &[Column], classes: usize, gaps: bool) -> Vec<Gaussian> {
    let d = columns.len();
    let plain = |covariance: Structure| Gaussian { covariance, ..Gaussian::default() };
    let mut all = Vec::new();
    if d <= MOST_JOINT {
        for share in [0.3, 1.0, 3.0] {
            let prior_rows = Some((share * d as f64).round().max(1.0));
            all.push(Gaussian { prior_rows, ..plain(Structure::Full) });
        }
    }
    if gaps {
        // Each takes passes of its own, where cells are missing.
        let few = [Structure::Full, Structure::Tied].into_iter().filter(|_| d <= MOST_JOINT);
        all.extend(few.chain([Structure::Diagonal, Structure::TiedDiagonal]).map(plain));
        return all;
    }
    if d <= MOST_JOINT {
        for covariance in [Structure::Full, Structure::Tied] {
            let poolings: &[f64] = if covariance.is_tied() { &[0.0] } else { &[0.0, 0.25, 0.5, 0.75] };
            for &lambda in poolings {
                for gamma in [0.0, 1e-3, 0.01, 0.1, 0.3] {
                    let (shrinkage, pooling) = (Strength::Fixed(gamma), Strength::Fixed(lambda));
                    let steps = if gamma > 0.0 { vec![Step::Standardise] } else { Vec::new() };
                    all.push(Gaussian { shrinkage, pooling, steps, ..plain(covariance) });
                }
            }
            all.push(Gaussian { estimator: Estimator::Bayes, ..plain(covariance) });
        }
    }
    let narrow = [Structure::Diagonal, Structure::TiedDiagonal, Structure::Spherical, Structure::TiedSpherical];
    all.extend(narrow.map(plain));
    let mut dimensions: Vec<usize> = match d {
        ..=MOST_JOINT => vec![d / 8, d / 4, d / 2],
        _ => vec![10, 20, 50, 100],
    };
    dimensions.dedup();
    for n in dimensions.into_iter().filter(|&n| n >= 2) {
        for covariance in [Structure::Full, Structure::Tied] {
            all.push(Gaussian { steps: vec![Step::Standardise, Step::Pca(n)], ..plain(covariance) });
        }
    }
    if classes > 2 && d > classes && d <= MOST_JOINT {
        for n in [2, classes - 1] {
            all.push(Gaussian { steps: vec![Step::Lda(n)], ..plain(Structure::Full) });
        }
    }
    all.dedup();
    all
}

fn gaussian(columns: &[Column], family: Gaussian) -> Result<Candidate> {
    let name = format!("gaussian{}", options(&family));
    let open = family.shrinkage == Strength::Auto || family.pooling == Strength::Auto;
    let learner = Generative::gaussian(columns, family)?;
    Ok(Candidate::generative(name, if open { learner.folds(5, 0) } else { learner }))
}

/// Gaussians of normal scores: each number is mapped so that it is normal within the classes taken together.
fn normal_scores(columns: &[Column]) -> Result<Vec<Candidate>> {
    let prior_rows = Some(columns.len() as f64);
    let full = Gaussian { prior_rows, ..Gaussian::default() };
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let candidate = |family: Gaussian| {
        let name = format!("gaussian{} --gaussianise", options(&family));
        Ok(Candidate::generative(name, Generative::gaussian(columns, family)?.gaussianise(true)))
    };
    [full, tied].into_iter().map(candidate).collect()
}

/// Mixtures of Gaussians, where classes have rows enough for several components.
fn mixtures(columns: &[Column], rows: f64, classes: usize, effort: Effort) -> Result<Vec<Candidate>> {
    let d = columns.len();
    if d == 0 || rows < LEAST_CLASS * classes as f64 {
        return Ok(Vec::new());
    }
    let kept = d.min(MOST_MIXED_COLUMNS);
    let few = |count: &usize| {
        let products = rows * *count as f64 * (kept * kept) as f64;
        rows / classes as f64 >= LEAST_COMPONENT * *count as f64 && products <= MOST_MIXED * effort.factor()
    };
    let mut counts: Vec<usize> = [2, 4, 8, 16, 24].into_iter().filter(few).collect();
    if effort == Effort::Normal {
        counts = counts.split_off(counts.len().saturating_sub(3));
    }
    let candidate = |count: usize| {
        let steps = if kept < d { vec![Step::Pca(kept)] } else { Vec::new() };
        let family = Gaussian { steps, ..Gaussian::default() };
        let name = format!("gaussian{} --components {count}", options(&family));
        let learner = Generative::gaussian(columns, family)?.components(Count::Fixed(count))?;
        Ok(Candidate::generative(name, learner))
    };
    counts.into_iter().map(candidate).collect()
}

/// A Gaussian's hyper-parameters as options of the command line.
fn options(family: &Gaussian) -> String {
    let name = |list: &[(&'static str, Structure)]| list.iter().find(|(_, s)| *s == family.covariance).map(|(n, _)| *n);
    let mut text = format!(" --covariance {}", name(&Structure::ALL).unwrap_or_default());
    if family.estimator == Estimator::Bayes {
        text += " --estimator bayes";
    }
    for (option, strength) in [("shrinkage", family.shrinkage), ("pooling", family.pooling)] {
        if strength != Strength::Fixed(0.0) {
            text += &format!(" --{option} {strength}");
        }
    }
    if let Some(rows) = family.prior_rows {
        text += &format!(" --prior-rows {rows}");
    }
    for step in &family.steps {
        text += &match step {
            Step::Standardise => " --standardise".to_string(),
            Step::Pca(n) => format!(" --pca {n}"),
            Step::Lda(n) => format!(" --lda {n}"),
        };
    }
    text
}

fn naive_bayes(columns: &[Column], profiles: &[Profile], mut bayes: NaiveBayes) -> Result<Candidate> {
    bayes.settle(columns, profiles);
    let joint = match (bayes.joint_numbers, bayes.gaussian.covariance.is_tied()) {
        (false, _) => "",
        (true, false) => " --joint-numbers",
        (true, true) => " --joint-numbers --covariance tied",
    };
    let name = format!("naive-bayes --pseudo-count {}{joint}", bayes.pseudo_count);
    Ok(Candidate::generative(name, Generative::of_blocks(bayes.blocks(columns)?)).of_kind("naive-bayes"))
}

/// Naive Bayes with every number by a family, if there are numbers.
fn all_numbers(columns: &[Column], family: &str, pseudo_count: f64) -> Result<Option<Candidate>> {
    if !columns.iter().any(|c| c.kind == Kind::Number) {
        return Ok(None);
    }
    let mut bayes = NaiveBayes { pseudo_count, ..NaiveBayes::default() };
    bayes.every_number(columns, &AnyFamily::named(family)?);
    let name = format!("naive-bayes --pseudo-count {pseudo_count} --family {family}");
    Ok(Some(Candidate::generative(name, Generative::of_blocks(bayes.blocks(columns)?)).of_kind("naive-bayes")))
}

fn counted(model: &str, columns: &[Column], pseudo_counts: &[f64]) -> Result<Vec<Candidate>> {
    let candidate = |&pseudo_count: &f64| {
        let blocks = blocks::counted(columns, &AnyFamily::named(model)?.with_pseudo_count(pseudo_count))?;
        Ok(Candidate::generative(format!("{model} --pseudo-count {pseudo_count}"), Generative::of_blocks(blocks)))
    };
    pseudo_counts.iter().map(candidate).collect()
}

fn binned(model: &str, columns: &[Column]) -> Result<Vec<Candidate>> {
    let family = AnyFamily::named(model)?.with_pseudo_count(1.0);
    let learner = Generative::of_blocks(blocks::together(columns, &family)?).discretise(blocks::binning(&family));
    Ok(vec![Candidate::generative(model, learner)])
}

fn additive(learner: Additive) -> Candidate {
    let mut name = ADDITIVE.to_string();
    let options = [("weight-decay", learner.weight_decay), ("pair-decay", learner.pair_decay)];
    options.iter().for_each(|(option, value)| {
        if let Some(value) = value {
            name += &format!(" --{option} {value}");
        }
    });
    if let Some(pairs) = learner.pairs {
        name += &format!(" --pairs {pairs}");
    }
    Candidate::new(name, Recipe::Additive(learner))
}

fn linear(link: Link, weight_decay: f64) -> Candidate {
    let model = match link {
        Link::Logit => "logistic",
        Link::Probit => "probit",
        Link::Cloglog => "cloglog",
    };
    let name = format!("{model} --weight-decay {weight_decay}");
    Candidate::logistic(name, Logistic { link, weight_decay, ..Logistic::default() })
}

/// Whether a column is there or not, or so many times.
fn is_cause(column: &Column) -> bool {
    match column.kind {
        Kind::Flag | Kind::Count => true,
        Kind::Category => column.levels.len() <= 2,
        Kind::Number | Kind::Text => false,
    }
}

fn noisy_or(pseudo_count: f64) -> Candidate {
    let recipe = Recipe::NoisyOr(NoisyOr { pseudo_count, ..NoisyOr::default() });
    Candidate::new(format!("noisy-or --pseudo-count {pseudo_count}"), recipe)
}
