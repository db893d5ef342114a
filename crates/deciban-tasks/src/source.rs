//! [`Source`]: what a model was fitted from, kept beside it, so that it can learn more rows and forget others.
//!
//! Statistics add and subtract, and a fit is a function of them alone. So an updated model is the one that all rows
//! together would have given, and a model that has forgotten rows is the one that never had them, to rounding. What
//! shaped the statistics stays as it was recorded: bins, Gaussianising maps and folds are those of the first fit, and
//! new rows are summarised by them. What a fit settles from folds (`auto`) is settled anew.
//!
//! A model that a search has found may be fused, and some of its members learn from rows. The statistics are those of
//! the blocks of all other members together, so that one pass over new rows serves all of them. How they are changed
//! is in [`change`](crate::change).

use std::path::Path;

use deciban::data::Kind;
use deciban::engine::Engine;
use deciban::family::AnyFamily;
use deciban::family::gaussian::Gaussian;
use deciban::file::{Archive, Stored, readable};
use deciban::learn::{Block, Classifier, Generative, GenerativeModel, Named, Options, Seen, Statistics, Summarise};
use deciban::model::{Candidate, Model, Recipe as Learner};
use deciban::posterior::Prior;
use deciban::{Error, Result, output};
use serde::{Deserialize, Serialize};

use crate::application::PriorChoice;
use crate::learn::{Learned, Learning, of_statistics, summariser};

/// How a model was learned, and the statistics of its rows.
#[derive(Clone, Debug)]
pub struct Source {
    recipe: Recipe,
    pub(crate) statistics: Statistics,
}

/// How a model is fitted from statistics.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Recipe {
    kind: String,
    options: Options,
    prior: PriorChoice,
    prior_pseudo_count: f64,
    /// If a search has found the model: how many blocks of the statistics each member has, 0 for one that learns from
    /// rows. Such members are fitted as they themselves tell, and a model that was asked for by its kind and options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<usize>,
    /// How many blocks of the statistics, behind those of the members, are of the companion.
    #[serde(default, skip_serializing_if = "is_zero")]
    companion: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A model with what it was fitted from, if that was kept: what a model file holds.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The model.
    pub model: Model,
    /// What it was fitted from.
    pub source: Option<Source>,
}

/// The members of a model without their calibrations; the model itself, if it is not fused.
pub(crate) fn members(model: &Model) -> Vec<&Model> {
    match model.plain() {
        Model::Fused(fused) => fused.members().iter().map(|member| member.model.plain()).collect(),
        one => vec![one],
    }
}

/// The blocks whose statistics a model is a function of; none if it learns from rows.
fn blocks(model: &Model) -> Result<Vec<Block>> {
    Ok(match model {
        Model::Generative(model) if model.components().is_single() && model.convergence().is_none() => {
            model.blocks().iter().map(|fitted| fitted.block.clone()).collect()
        }
        Model::LeastSquares(model) => {
            Generative::gaussian(model.schema().columns(), Gaussian::default())?.blocks().to_vec()
        }
        _ => Vec::new(),
    })
}

/// The statistics that the members of a model are functions of, in one pass over the rows that it has learned from,
/// and how many of their blocks each member has; those of the companion come last. If all members learn from rows and
/// there is no companion, levels and words are counted, so that rows that cannot have been in are still found. A
/// sparse matrix with numbers below 0 is not counted.
pub(crate) fn statistics_behind(model: &Model, rows: &dyn Engine) -> Result<(Statistics, Vec<usize>)> {
    let own: Vec<Vec<Block>> = members(model).into_iter().map(blocks).collect::<Result<_>>()?;
    let counts: Vec<usize> = own.iter().map(Vec::len).collect();
    let collect = |blocks: Vec<Block>| Statistics::collect(Summarise { blocks, folds: 1, seed: 0 }, rows);
    let mut blocks = own.concat();
    if let Some(companion) = model.about().companion() {
        blocks.extend(companion.blocks().iter().map(|fitted| fitted.block.clone()));
    }
    if !blocks.is_empty() {
        return Ok((collect(blocks)?, counts));
    }
    let columns = model.schema().columns();
    let is_text = |c: &usize| columns[*c].kind == Kind::Text;
    let (texts, others): (Vec<usize>, Vec<usize>) = (0..columns.len()).partition(is_text);
    let categories: Vec<usize> = others.into_iter().filter(|&c| !columns[c].is_numeric()).collect();
    let mut levels = Vec::new();
    if !categories.is_empty() {
        levels.push(Block::new(categories, columns, AnyFamily::named("categorical")?));
    }
    let mut words = Vec::new();
    for text in texts {
        words.push(Block::new(vec![text], columns, AnyFamily::named("multinomial")?));
    }
    let statistics = match collect([&levels[..], &words].concat()) {
        Err(Error::Cell { .. } | Error::Infinite { .. }) if !words.is_empty() => collect(levels)?,
        found => found?,
    };
    Ok((statistics, counts))
}

/// How a member is learned, as far as it tells.
pub(crate) fn learner(member: &Model) -> Learner {
    Candidate::of_model("", member).recipe
}

impl Source {
    /// Of a model that was learned; `None` if it was asked for by name and learns from rows, or if nothing was to be kept
    /// of what a search has found.
    pub fn new(request: &Learning, learned: &Learned) -> Option<Self> {
        let (statistics, blocks) = learned.statistics.clone()?;
        let mut options = request.options.clone();
        if matches!(learned.kind.as_str(), "table" | "tree" | "a1de") {
            // They are in the statistics.
            options.bins.clear();
        }
        let (prior, prior_pseudo_count) = (request.prior.clone(), request.prior_pseudo_count);
        // Only what a search has found has a companion.
        let companion = learned.model.about().companion().map_or(0, |companion| companion.blocks().len());
        let recipe = Recipe { kind: learned.kind.clone(), options, prior, prior_pseudo_count, blocks, companion };
        Some(Source { recipe, statistics })
    }

    /// The kind of model.
    pub fn kind(&self) -> &str {
        &self.recipe.kind
    }

    /// The statistics of its rows: of a fused model those of all members that have some.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The statistics, if they are those of one model, so that they can be merged with those of another.
    pub fn single(&self) -> Result<&Statistics> {
        match self.recipe.blocks.len() {
            0 | 1 => Ok(&self.statistics),
            _ => Err(Error::Schema(
                "a fused model has statistics of several members, cut into bins of its own: give tables of rows".into(),
            )),
        }
    }

    /// The statistics of other rows, to be learned or forgotten.
    pub fn summarise(&self, rows: &dyn Engine) -> Result<Statistics> {
        if self.recipe.options.group.is_some() && self.statistics.summary().folds() > 1 {
            return Err(Error::Schema(
                "the statistics keep folds of groups, and which group of them a row belongs to is not known: fit the \
                 model anew with all rows"
                    .into(),
            ));
        }
        self.statistics.of_more(rows)
    }

    /// Whether the fit settles something by folds of the statistics.
    pub(crate) fn leaves_open(&self) -> bool {
        self.recipe.blocks.is_empty() && self.recipe.options.leaves_open()
    }

    /// The members of `model` that the statistics give; `None` for one that needs rows.
    pub(crate) fn fit(&self, model: &Model) -> Result<Vec<Option<Model>>> {
        let Recipe { kind, options, blocks, .. } = &self.recipe;
        let statistics = &self.statistics;
        if blocks.is_empty() {
            let seen = Seen::Blocks(statistics.blocks());
            let learner = summariser(options, kind, statistics.schema().columns(), seen)?;
            return Ok(vec![Some(of_statistics(options, kind, &learner, statistics)?)]);
        }
        let mut start = 0;
        let member = |(member, count): (&Model, &usize)| {
            let own: Vec<usize> = (start..start + count).collect();
            start += count;
            if own.is_empty() {
                return Ok(None);
            }
            let (learner, statistics) = (learner(member), statistics.select(&own));
            let needs_rows = match &learner {
                Learner::Generative(learner) => learner.needs_rows(&statistics)?,
                _ => false,
            };
            if needs_rows { Ok(None) } else { learner.of_statistics(&statistics).map(Some) }
        };
        members(model).into_iter().zip(blocks).map(member).collect()
    }

    /// The companion of `model` that the statistics give, if it has one.
    pub(crate) fn companion(&self, model: &Model) -> Result<Option<GenerativeModel>> {
        let Some(companion) = model.about().companion().filter(|_| self.recipe.companion > 0) else { return Ok(None) };
        let start: usize = self.recipe.blocks.iter().sum();
        let own: Vec<usize> = (start..start + self.recipe.companion).collect();
        let learner = Generative::of_model(companion);
        learner.fit(&self.statistics.select(&own)).map(Some)
    }

    /// The shares of the classes, and the prior that the model uses by default.
    pub(crate) fn priors(&self) -> Result<(Prior, Prior)> {
        let (schema, weights) = (self.statistics.schema(), self.statistics.summary().weights());
        let empirical = Prior::from_weights(&weights)?;
        let smoothed = empirical.with_pseudo_count(weights.iter().sum(), self.recipe.prior_pseudo_count)?;
        let prior = self.recipe.prior.resolve(schema, &smoothed, &smoothed)?;
        Ok((empirical, prior))
    }
}

impl Kept {
    /// What a model file holds.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Kept::of_archive(&Archive::read(path, "model")?)
    }

    /// The same from its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Kept::of_archive(&Archive::from_bytes(bytes, "model")?)
    }

    fn of_archive(archive: &Archive) -> Result<Self> {
        let model = Model::of_archive(archive)?;
        let source = match archive.json_if_any("source.recipe")? {
            Some(recipe) => Some(Source { recipe, statistics: <Statistics as Stored>::load(archive, "source")? }),
            None => None,
        };
        let same = |Source { recipe, statistics }: &Source| {
            let (blocks, counted) = (&recipe.blocks, statistics.blocks().len());
            let fits = blocks.is_empty()
                || blocks.len() == members(&model).len() && blocks.iter().sum::<usize>() + recipe.companion <= counted;
            fits && statistics.schema().names() == model.schema().names()
        };
        match source.as_ref().is_none_or(same) {
            true => Ok(Kept { model, source }),
            false => Err(archive.damaged("its statistics are of other columns or members")),
        }
    }

    /// The bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut archive = self.model.archive()?;
        if let Some(source) = &self.source {
            archive.put_json("source.recipe", &source.recipe)?;
            source.statistics.store(&mut archive, "source")?;
        }
        readable(archive.to_bytes()?, Kept::from_bytes)
    }

    /// Writes a model file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        output::write(path, &self.to_bytes()?)
    }

    /// What the model was fitted from, or an error that says how to keep it.
    pub fn source(&self) -> Result<&Source> {
        let has_some = members(&self.model).into_iter().map(blocks).any(|own| own.is_ok_and(|own| !own.is_empty()));
        let why = match self.model.plain() {
            _ if has_some => "fit it with §keep_statistics",
            Model::Generative(_) => {
                "components, unlabelled rows and the missing cells of columns that are modelled jointly are learned from \
                 the rows, pass after pass: fit it anew with all rows"
            }
            _ => {
                "it is learned from rows, not from statistics: fit it anew with all rows, or fit a generative model \
                 with §keep_statistics"
            }
        };
        let missing = || Error::Schema(format!("the model has not kept statistics to change: {why}"));
        self.source.as_ref().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Keep, learn};
    use deciban::data::{Batch, Schema};
    use deciban::engine::Memory;

    #[test]
    fn models_without_statistics_say_how_to_keep_them() {
        let schema = Schema::numbers(&["x"], "t", &["a", "b"]).unwrap();
        let (x, classes) = ([1.0, 2.0, 3.0, 4.0, 2.5, 3.5], [0, 0, 1, 1, 1, 0]);
        let rows = Batch::new(6).column(&x[..]).unwrap().classes(&classes).unwrap();
        for (name, message) in [
            ("gaussian", "the model has not kept statistics to change: fit it with keep_statistics"),
            ("logistic", "the model has not kept statistics to change: it is learned from rows, not from statistics"),
        ] {
            let mut request = Learning { model: name.into(), ..Learning::default() };
            let model = learn(&request, &mut Memory::new(schema.clone(), rows.clone()).unwrap()).unwrap().model;
            let error = Kept { model, source: None }.source().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
            request.keep = Keep::Required;
            let kept = learn(&request, &mut Memory::new(schema.clone(), rows.clone()).unwrap());
            assert_eq!(kept.is_ok(), name == "gaussian");
        }
    }
}
