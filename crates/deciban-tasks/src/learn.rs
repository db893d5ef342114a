//! Learning: the model that is asked for, or the best of a search, with its calibration and what a person
//! should know about the data.

use deciban::calibrate::Method;
use deciban::data::{Column, Profile};
use deciban::engine::Engine;
use deciban::fingerprint::{Fingerprint, Noted};
use deciban::folds::Folds;
use deciban::learn::{Classifier, Count, Generative, Learner, Named, Options, Seen, Statistics, model_of};
use deciban::model::{AUTO, Candidate, FUSED, Model, settles, statistics_of};
use deciban::posterior::Prior;
use deciban::select::{Comparison, CrossValidation};
use deciban::{Error, Result};

use crate::application::PriorChoice;
use crate::companion::accompany;
use crate::comparison::{self, Searched};
use crate::crossed::Crossed;
use crate::describe;
use crate::input::{Counted, Input};
use crate::remarks::{self, Look, Remark};
use crate::source::statistics_behind;
use crate::unlabelled;

/// What is to be learned.
#[derive(Clone, Debug)]
pub struct Learning {
    /// The kind of model; `auto` compares several by cross-validation, unless options of one are given.
    pub model: String,
    /// The hyper-parameters.
    pub options: Options,
    /// The model's default prior.
    pub prior: PriorChoice,
    /// Rows that are added to every class for the empirical prior.
    pub prior_pseudo_count: f64,
    /// How the evidence is calibrated, from scores by models that have not seen the row.
    pub calibrate: Option<Method>,
    /// Bytes that the evidence of rows may take while a calibration is learned. Where it takes more, rows are
    /// scored several times.
    pub memory: usize,
    /// Whether classes are put in the order of their names.
    pub sort_classes: bool,
    /// Whether the statistics of the rows are kept, so that the model can learn more rows and forget others.
    pub keep: Keep,
}

/// Whether the statistics of the rows are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// They may be dropped.
    #[default]
    Nothing,
    /// They are kept where the model is a function of them. Of what a search finds they are those that its members are
    /// functions of: one pass more.
    Possible,
    /// They are kept in the same way, and it is an error if a model that is asked for by name is learned in several passes
    /// over the rows, and not from statistics.
    Required,
}

impl Default for Learning {
    fn default() -> Self {
        Learning {
            model: "auto".into(),
            options: Options::default(),
            prior: PriorChoice::Empirical,
            prior_pseudo_count: 0.0,
            calibrate: None,
            memory: 512 << 20,
            sort_classes: true,
            keep: Keep::Nothing,
        }
    }
}

/// What was learned.
#[derive(Debug)]
pub struct Learned {
    /// The model.
    pub model: Model,
    /// The kind of model, such as `gaussian`.
    pub kind: String,
    /// What it was fitted from, if it was fitted from statistics; of what a search has found, the statistics that were to
    /// be kept, with the number of blocks of each member.
    pub statistics: Option<(Statistics, Vec<usize>)>,
    /// How the candidates of a search did.
    pub comparison: Option<Comparison>,
    /// The calibration that was asked for, and what it did.
    pub crossed: Option<Crossed>,
    /// What a person should know.
    pub remarks: Vec<Remark>,
}

/// Learns from rows.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban_tasks::{Learning, learn};
/// let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
/// let heights = [155.0, 160.0, 162.0, 165.0, 168.0, 168.0, 173.0, 175.0, 178.0, 183.0];
/// let rows = Batch::new(10).column(&heights[..])?.classes(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1])?;
/// let request = Learning { model: "gaussian".into(), ..Learning::default() };
/// let learned = learn(&request, &mut Memory::new(schema, rows)?)?;
/// assert_eq!(learned.kind, "gaussian");
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn learn(request: &Learning, input: &mut dyn Input) -> Result<Learned> {
    if let Some(identity) = request.options.identity() {
        input.tell_apart(identity);
    }
    let kind = match request.model.as_str() {
        AUTO => request.options.names_model()?,
        name => Some(name),
    };
    let Some(kind) = kind else { return request.search(input) };
    request.options.check(kind)?;
    if kind == FUSED {
        return request.search(input);
    }
    check_keeps(request, kind)?;
    if request.options.folds.is_some() && request.calibrate.is_none() && !settles(kind) {
        return Err(Error::Usage(format!("§folds is for §calibrate: {kind} needs none without it")));
    }
    if request.calibrate.is_some() {
        input.make_rereadable()?;
    }
    let is_closed = statistics_of(kind).is_some();
    let (look, left_out) = Look::without_useless(input)?;
    let (model, statistics, fingerprint, weight, remarks) = match is_closed {
        true => {
            let (learner, statistics, fingerprint, remarks) = request.collect(kind, input, &look)?;
            let weight = statistics.summary().weights().iter().sum();
            match is_generative(kind) && learner.needs_rows(&statistics)? {
                true => {
                    if request.keep == Keep::Required {
                        return Err(filled(&input.columns()?, &learner, &input.profiles()?));
                    }
                    input.settle()?;
                    let model = learner.learn(input).map(Model::Generative)?;
                    let helps = unlabelled::check(request, kind, &statistics.summary().rows(), input)?;
                    (model, None, fingerprint, weight, remarks.into_iter().chain(helps).collect())
                }
                false => {
                    let model = of_statistics(&request.options, kind, &learner, &statistics)?;
                    (model, Some(statistics), fingerprint, weight, remarks)
                }
            }
        }
        false => {
            let mut remarks = look.remarks(&[]);
            let Counted { rows, weight } = input.settle()?;
            remarks.extend(Remark::warnings(input.warnings()));
            if settles(kind) || request.calibrate.is_some() {
                remarks.extend(remarks::keep_copies_together(input, rows)?);
            }
            let noted = Noted::new(input);
            let model = request.candidate(kind, input)?.learn(&noted)?;
            (model, None, noted.fingerprint(&input.schema()?), weight, remarks)
        }
    };
    let remarks = left_out.into_iter().chain(remarks).collect();
    let statistics = statistics.map(|statistics| (statistics, Vec::new()));
    let mut learned = Learned { model, kind: kind.into(), statistics, comparison: None, crossed: None, remarks };
    let model = learned.model.with_profiles(input)?.with_fingerprint(fingerprint);
    learned.model = request.with_prior(model, weight)?;
    if let Some(method) = request.calibrate {
        if is_closed {
            input.sort_classes()?;
            let rows = learned.model.learned_from();
            learned.remarks.extend(remarks::keep_copies_together(input, rows)?);
        }
        let candidate = request.candidate(kind, input)?;
        request.calibrate(&mut learned, candidate, method, input)?;
    }
    learned.warn();
    Ok(learned)
}

/// An error, before the work, if a model of this kind will not have statistics to keep. What a search finds keeps what it
/// can.
fn check_keeps(request: &Learning, kind: &str) -> Result<()> {
    let options = &request.options;
    let why = match statistics_of(kind) {
        _ if request.keep != Keep::Required => return Ok(()),
        None => format!("{kind} is learned from rows, not from statistics: a generative model has them"),
        Some(_) if options.components != Count::default() => from_rows("§components"),
        Some(_) if options.unlabelled_weight > 0.0 => from_rows("§unlabelled_weight"),
        Some(_) => return Ok(()),
    };
    Err(Error::parameter("keep_statistics", why))
}

/// Why a model with this option has no statistics.
fn from_rows(option: &str) -> String {
    format!(
        "a model with {option} is learned from rows, pass after pass, and is no function of their statistics: drop one of \
         the two options"
    )
}

/// Why there is nothing to keep of rows with missing cells.
fn filled(columns: &[Column], learner: &Generative, profiles: &[Profile]) -> Error {
    let is_gapped = |c: &&usize| profiles.get(**c).is_some_and(|profile| profile.cells < profile.rows);
    let joint = learner.blocks().iter().filter(|block| block.columns.len() > 1);
    let gapped = joint.flat_map(|block| &block.columns).find(|c| columns[**c].is_numeric() && is_gapped(c));
    let whose = gapped.map_or("of the columns".into(), |&c| format!("of column `{}`", columns[c].name));
    Error::parameter(
        "keep_statistics",
        format!(
            "cells {whose} are missing, and this model fills them from the rows, pass after pass: it is no function of \
             statistics. Drop the option, and fit anew with all rows when more come; or give §covariance=diagonal, whose \
             statistics are those of the cells that are there"
        ),
    )
}

/// Learns from statistics, which were made before.
pub fn learn_from_statistics(request: &Learning, statistics: Statistics) -> Result<Learned> {
    let kind = match request.model.as_str() {
        AUTO => model_of(statistics.blocks().iter()),
        name => name,
    };
    let (columns, seen) = (statistics.schema().columns(), Seen::Blocks(statistics.blocks()));
    let learner = summariser(&request.options, kind, columns, seen)?;
    if request.calibrate.is_some() {
        return Err(Error::parameter("calibrate", "scores come from rows, not from statistics"));
    }
    if request.options.group.is_some() {
        return Err(Error::parameter("group", "rows have groups, statistics have none: drop the option"));
    }
    request.options.check(kind)?;
    let model = of_statistics(&request.options, kind, &learner, &statistics)?;
    let weight = statistics.summary().weights().iter().sum();
    let model = request.with_prior(model, weight)?;
    let remarks = match request.model == AUTO && matches!(request.options.names_model(), Ok(None)) {
        true => vec![Remark::note(format!(
            "the model is {kind}, which the statistics were made for: no models were compared, since that takes rows; \
             §model and its options choose another"
        ))],
        false => Vec::new(),
    };
    let (statistics, kind) = (Some((statistics, Vec::new())), kind.to_string());
    let mut learned = Learned { model, kind, statistics, comparison: None, crossed: None, remarks };
    learned.warn();
    Ok(learned)
}

/// Summarises rows for models of this kind, by options that shape statistics alone; with remarks about the columns.
pub fn collect(request: &Learning, input: &mut dyn Input) -> Result<(Statistics, Vec<Remark>)> {
    request.options.check(&request.model)?;
    request.options.check_shaping()?;
    request.statistics(input)
}

/// Whether a kind of model is fitted from statistics of its own.
fn is_generative(kind: &str) -> bool {
    statistics_of(kind) == Some(kind)
}

/// The learner whose statistics a kind of model is fitted from.
pub(crate) fn summariser(options: &Options, kind: &str, columns: &[Column], seen: Seen<'_>) -> Result<Generative> {
    match statistics_of(kind) {
        Some(model) => Generative::of_options(model, options, columns, seen),
        None => {
            // A name that there is not says so itself.
            if kind != FUSED {
                options.recipe(kind, columns, seen)?;
            }
            Err(Error::parameter("model", format!("{kind} learns from rows, not from statistics")))
        }
    }
}

/// The model of a kind that statistics give; `learner` is their [`summariser`].
pub(crate) fn of_statistics(
    options: &Options,
    kind: &str,
    learner: &Generative,
    statistics: &Statistics,
) -> Result<Model> {
    if is_generative(kind) {
        return learner.fit(statistics).map(Model::Generative);
    }
    let seen = Seen::Blocks(statistics.blocks());
    options.recipe(kind, statistics.schema().columns(), seen)?.of_statistics(statistics)
}

/// A learner, its statistics, the fingerprint of the rows, and remarks about the columns.
type Gathered = (Generative, Statistics, Option<Fingerprint>, Vec<Remark>);

impl Learning {
    /// The statistics that this model is fitted from; with remarks about the columns.
    pub fn statistics(&self, input: &mut dyn Input) -> Result<(Statistics, Vec<Remark>)> {
        self.options.check(&self.model)?;
        let look = Look::new(input)?;
        let (_, statistics, _, mut remarks) = self.collect(&self.model, input, &look)?;
        let rows = statistics.summary().rows().iter().sum();
        remarks.extend(remarks::of_schema(statistics.schema(), rows));
        Ok((statistics, remarks))
    }

    fn collect(&self, kind: &str, input: &mut dyn Input, look: &Look) -> Result<Gathered> {
        let columns = input.columns()?;
        let learner = summariser(&self.options, kind, &columns, Seen::Rows(&look.profiles));
        let learner = learner.map_err(|error| look.cause(error))?;
        let mut remarks = look.remarks(&self.options.spiked(kind, &columns, &look.profiles)?);
        if learner.needs_two_passes(&look.profiles) {
            input.make_rereadable()?;
        }
        let noted = Noted::new(input);
        let mut statistics = learner.statistics(&noted)?;
        let fingerprint = noted.fingerprint(&input.schema()?);
        remarks.extend(Remark::warnings(input.warnings()));
        if self.sort_classes {
            statistics.sort_classes()?;
        }
        Ok((learner, statistics, fingerprint, remarks))
    }

    /// How the model is learned from rows whose classes are known.
    pub(crate) fn candidate(&self, kind: &str, input: &dyn Input) -> Result<Candidate> {
        let (columns, profiles) = (input.columns()?, input.profiles()?);
        let recipe = self.options.recipe(kind, &columns, Seen::Rows(&profiles))?;
        Ok(Candidate { name: kind.into(), kind: kind.into(), recipe })
    }

    /// Compares several models and learns the best, or their fusion if that is asked for.
    fn search(&self, input: &mut dyn Input) -> Result<Learned> {
        let is_fusion = self.model == FUSED;
        if is_fusion && self.calibrate.is_some() {
            return Err(Error::parameter("calibrate", "a fused model has calibrated members: drop the option"));
        }
        let (look, mut remarks) = Look::without_useless(input)?;
        remarks.extend(look.remarks(&[]));
        let Counted { rows, weight } = input.settle()?;
        remarks.extend(Remark::warnings(input.warnings()));
        remarks.extend(remarks::keep_copies_together(input, rows)?);
        let Options { models, effort, .. } = &self.options;
        let sample = comparison::sample(input, models, *effort, rows, &mut remarks)?;
        let searched = Searched::new(input, sample.as_ref(), rows)?;
        let default_folds = comparison::default_folds(searched.rows, &input.schema()?);
        let drawn = (self.options.search_folds(default_folds)?, self.options.seed);
        let candidates = comparison::candidates(&searched, models, *effort, drawn, &mut remarks)?;
        let noted = Noted::new(searched.engine());
        let folds = self.folds(&noted, drawn.0)?;
        let fingerprint = match sample {
            None => noted.fingerprint(&input.schema()?),
            Some(_) => Fingerprint::of(input)?,
        };
        // A calibration that is asked for is put on what wins without one.
        let calibrated = if self.calibrate.is_some() { 0 } else { comparison::CALIBRATED };
        let compared = CrossValidation::new(folds).calibrated(calibrated).run(searched.engine(), &candidates)?;
        let mut compared = searched.found(compared);
        let finished = |mut model: Model, remarks: &mut Vec<Remark>| {
            if !self.options.no_companion {
                remarks.extend(accompany(&mut model, input)?);
            }
            self.with_prior(model.with_profiles(input)?.with_fingerprint(fingerprint.clone()), weight)
        };
        if is_fusion {
            let none = "there are no two models to fuse that tell more than the class shares, or they are no better \
                        together: give another §model";
            let fused = compared.fused().ok_or_else(|| Error::parameter("model", none))?;
            let model = finished(compared.refit(fused, &candidates, input)?, &mut remarks)?;
            let (kind, statistics) = (FUSED.to_string(), self.kept(&model, input)?);
            let mut learned = Learned { model, kind, statistics, comparison: None, crossed: None, remarks };
            learned.warn();
            return Ok(learned);
        }
        let group = self.options.group.as_deref();
        let options = comparison::fit_options(models, *effort, drawn, default_folds, input.identity(), group);
        compared.name_fused(&options);
        let model = finished(compared.refit_best(&candidates, input)?, &mut remarks)?;
        let best = &compared.ranked()[0];
        let candidate = candidates[best.candidate].clone();
        let kind = if best.members().is_empty() { candidate.kind.clone() } else { FUSED.to_string() };
        let statistics = self.kept(&model, input)?;
        let mut learned = Learned { model, kind, statistics, comparison: Some(compared), crossed: None, remarks };
        if let Some(method) = self.calibrate {
            self.calibrate(&mut learned, candidate, method, input)?;
        }
        learned.warn();
        Ok(learned)
    }

    /// Folds of the rows. As many are made of groups as are asked for, and otherwise as many as there are groups for.
    fn folds(&self, rows: &dyn Engine, count: usize) -> Result<Folds> {
        match (&self.options.group, self.options.folds) {
            (Some(_), Some(_)) => Folds::grouped(rows, count, self.options.seed),
            _ => Folds::stratified(rows, count, self.options.seed),
        }
    }

    /// The statistics that are to be kept of a model that was found.
    fn kept(&self, model: &Model, input: &dyn Input) -> Result<Option<(Statistics, Vec<usize>)>> {
        (self.keep != Keep::Nothing).then(|| statistics_behind(model, input)).transpose()
    }

    /// Puts a calibration on a model, by cross-validation of its recipe.
    fn calibrate(&self, to: &mut Learned, candidate: Candidate, method: Method, input: &dyn Input) -> Result<()> {
        let folds = self.folds(input, self.options.auto_folds()?)?;
        let crossed = Crossed::new(input, &candidate, method, folds, self.memory)?;
        to.model = crossed.calibrate(to.model.clone())?;
        to.crossed = Some(crossed);
        Ok(())
    }

    /// The model with its default prior, if `weight` rows are behind it.
    fn with_prior(&self, model: Model, weight: f64) -> Result<Model> {
        if self.prior_pseudo_count != 0.0 && self.prior == PriorChoice::Uniform {
            return Err(Error::parameter("prior_pseudo_count", "a uniform prior has no rows to add to"));
        }
        let empirical: Prior = model.empirical().with_pseudo_count(weight, self.prior_pseudo_count)?;
        let prior = self.prior.resolve(model.schema(), &empirical, &empirical)?;
        model.with_prior(prior)
    }
}

impl Learned {
    /// Adds what a person should know about what was found, and about a fit that did not end well.
    fn warn(&mut self) {
        let schema = self.model.schema();
        self.remarks.extend(remarks::of_schema(schema, self.model.learned_from()));
        self.remarks.extend(remarks::of_shares(schema, self.model.empirical()));
        let warning = describe::warning(&self.model);
        self.remarks.extend(warning.map(Remark::warning));
    }
}
