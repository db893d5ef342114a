//! Expectation–maximisation (Dempster, Laird & Rubin 1977): models that no single pass settles.
//!
//! Each pass ([`Expect`]) scores the rows by the current model, assigns them to groups and fills missing cells;
//! the next model is the ordinary fit of the statistics it leaves. The log-likelihood, with the logarithm of
//! the prior of the parameters where there is one, never falls. Where all blocks are Gaussian, every third step
//! is a leap to where the steps before it lead, taken only if it leads up. Where a fit is no maximum of either
//! (covariances that are shrunk, pooled, sparse or unbiased), a step may lower the log-likelihood: the loop ends when the
//! parameters stand still, and a leap is taken only if the step from there is shorter. It is the one loop behind
//!
//! - several components in a class, which begin at clusters of its rows ([`start`](super::start));
//! - missing cells where columns are modelled jointly, which begin at the cells that are there;
//! - rows without a label, which begin at the model of the labelled rows.

use super::project::{Project, Projected};
use super::start::{Held, clusters};
use super::summary::Group;
use super::{
    About, Block, Classifier, Components, Count, Expect, FittedBlock, Generative, GenerativeModel, Statistics,
};
use crate::data::{Batch, Column, Contents, Identity, Schema};
use crate::engine::{Engine, Memory, Run};
use crate::error::{Error, Result};
use crate::family::gaussian::{Estimator, Gaussian, GaussianStatistic, Rank, Structure};
use crate::family::{AnyDensity, AnyFamily, AnyStatistic, Family, Names};
use crate::pass::{ErasedPass, ErasedStatistic};
use crate::posterior::Prior;

/// How a model was found by expectation–maximisation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Convergence {
    /// The log-likelihood per unit of weight at each model, the first included; where parameters have a prior,
    /// with its logarithm.
    pub path: Vec<f64>,
    /// The log-likelihood per unit of weight at the last model, without any prior.
    pub log_likelihood: f64,
    /// Whether the last step gained less than the tolerance, or the parameters stood still.
    pub converged: bool,
}

/// Components that the rows of a class leave with less weight than this are dropped.
const LEAST_WEIGHT: f64 = 1.0;

/// The model of `learner`, whose first pass left `statistics`.
pub(super) fn learn(learner: &Generative, statistics: Statistics, engine: &dyn Engine) -> Result<GenerativeModel> {
    match learn_projected(learner, &statistics, engine)? {
        Some(model) => Ok(model),
        None => learn_plain(learner, &statistics, engine),
    }
}

/// The same, from the rows of the engine as they are.
fn learn_plain(learner: &Generative, statistics: &Statistics, engine: &dyn Engine) -> Result<GenerativeModel> {
    let climb = Climb { learner, statistics, schema: statistics.schema(), engine };
    let count = match learner.components {
        Count::Fixed(count) => count,
        Count::Auto => climb.best_count()?,
    };
    let end = climb.run(count, None)?;
    climb.finish(end.state, end.convergence)
}

/// As many numbers are kept in memory after a projection; with more, rows are projected at each pass.
const MOST_KEPT: f64 = (512 << 20) as f64 / 8.0;

/// The same for components of a single block of numbers that is projected first, where the projected rows are
/// few enough to keep: they are learned from as if they were the input.
fn learn_projected(
    learner: &Generative,
    statistics: &Statistics,
    engine: &dyn Engine,
) -> Result<Option<GenerativeModel>> {
    let ([own], [given]) = (learner.blocks(), statistics.blocks()) else { return Ok(None) };
    let AnyFamily::Gaussian(family) = &own.family else { return Ok(None) };
    if learner.components == Count::Fixed(1) || !family.projects() || given.gaussianise.is_some() {
        return Ok(None);
    }
    let schema = statistics.schema();
    let begun = |(class, statistic): (usize, AnyStatistic)| {
        // Where cells are missing, the projection itself names the first.
        Ok(own.family.begin(&statistic, &schema.classes()[class], &given.names)?.unwrap_or(statistic))
    };
    let classes = statistics.summary().block(0)?.into_iter().enumerate().map(begun).collect::<Result<Vec<_>>>()?;
    let classes: Vec<_> = gaussians(&classes).collect();
    let names = Names { columns: &given.names, levels: &[], classes: schema.classes() };
    let (maps, names, reference) = family.maps(&classes, names)?;
    let project = Project { block: given.clone(), maps, contents: Contents::of(&engine.schema()?) };
    if statistics.summary().rows().iter().sum::<f64>() * project.width() as f64 > MOST_KEPT {
        return Ok(None);
    }
    let Projected { numbers, classes, weights, keys, folds } = engine.run(&project)?;
    let columns: Vec<Column> = names.into_iter().map(Column::number).collect();
    let inner_schema = Schema::new(columns.clone(), schema.target(), schema.classes().to_vec())?;
    let mut rows = Batch::new(classes.len()).row_major(&numbers[..], columns.len())?.classes(&classes)?.keys(&keys)?;
    if !weights.is_empty() {
        rows = rows.weights(&weights)?;
    }
    if !folds.is_empty() {
        rows = rows.folds(&folds)?;
    }
    let plain = Gaussian { steps: Vec::new(), ..family.clone() };
    let block = Block::new((0..columns.len()).collect(), &columns, AnyFamily::Gaussian(plain));
    let inner = learner.clone().with_blocks(vec![block]);
    let kept = Inside { rows: Memory::new(inner_schema, rows)?, engine };
    let found = learn_plain(&inner, &inner.statistics(&kept)?, &kept)?;
    let [FittedBlock { density: AnyDensity::Gaussian(density), .. }] = found.blocks() else { return Ok(None) };
    let density = AnyDensity::Gaussian(density.clone().after(project.maps).with_reference(reference));
    let block = FittedBlock { block: Block { family: own.family.clone(), ..given.clone() }, density };
    let about = About::new(schema.clone(), found.empirical().clone());
    let rows = found.rows().to_vec();
    let model = GenerativeModel::new(about, rows, vec![block], found.components().clone());
    Ok(Some(match found.convergence() {
        Some(convergence) => model.with_convergence(convergence.clone()),
        None => model,
    }))
}

/// Rows in memory that stand for those of an engine, and end with it.
struct Inside<'a> {
    rows: Memory<'a>,
    engine: &'a dyn Engine,
}

impl Engine for Inside<'_> {
    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
        self.check_stop()?;
        self.rows.collect(pass)
    }

    fn identity(&self) -> Identity {
        self.engine.identity()
    }

    fn check_stop(&self) -> Result<()> {
        self.engine.check_stop()
    }

    fn schema(&self) -> Result<Schema> {
        self.rows.schema()
    }
}

/// The statistics of Gaussians.
fn gaussians(classes: &[AnyStatistic]) -> impl Iterator<Item = &GaussianStatistic> {
    classes.iter().filter_map(gaussian)
}

fn gaussian(statistic: &AnyStatistic) -> Option<&GaussianStatistic> {
    if let AnyStatistic::Gaussian(statistic) = statistic { Some(statistic) } else { None }
}

/// The way from a first model to the best.
struct Climb<'a> {
    learner: &'a Generative,
    statistics: &'a Statistics,
    schema: &'a Schema,
    engine: &'a dyn Engine,
}

/// Where a climb ended.
struct End {
    state: State,
    convergence: Convergence,
    /// log p(x | class) of held-out rows, on average.
    held_out: f64,
}

/// A climb ends when a step gains less in log-likelihood per row. Mixtures climb slowly, and what they gain at
/// the end says little about other rows.
const TOLERANCE: f64 = 1e-7;
const MIXTURE_TOLERANCE: f64 = 1e-4;
/// Parameters stand still when the square of a step is less than so much of the tolerance. Near a maximum, the
/// log-likelihood per row changes by about half the square of the distance.
const STILL: f64 = 0.1;
/// The numbers of components that are tried.
const COUNTS: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/// The number is settled when so many larger ones were no better.
const WORSE: usize = 2;
/// A choice between numbers of components needs no more steps than this, and no smaller gains.
const ROUGH: (usize, f64) = (60, 1e-4);

impl Climb<'_> {
    /// Whether classes may have several components.
    fn mixes(&self) -> bool {
        self.learner.components != Count::Fixed(1)
    }

    /// The number of components that held-out rows like best.
    fn best_count(&self) -> Result<usize> {
        let mut best: Option<(f64, usize)> = None;
        let (mut worse, mut failure) = (0, None);
        let held = Held::new(self.statistics.blocks(), self.learner.seed, self.engine)?;
        for count in COUNTS {
            let held_out = match self.run(count, Some(&held)) {
                Ok(end) => end.held_out,
                Err(error @ Error::Interrupted) => return Err(error),
                // Too many for the rows.
                Err(error) => {
                    failure.get_or_insert(error);
                    f64::NEG_INFINITY
                }
            };
            match held_out > best.map_or(f64::NEG_INFINITY, |(most, _)| most) {
                true => (best, worse) = (Some((held_out, count)), 0),
                false => worse += 1,
            }
            if worse == WORSE {
                break;
            }
        }
        match (best, failure) {
            (Some((_, count)), _) => Ok(count),
            (None, Some(error)) => Err(error),
            // No row was held out: there are only a few.
            (None, None) => Ok(1),
        }
    }

    /// The climb for a number of components. With rows that are held out it ends early.
    fn run(&self, count: usize, held: Option<&Held>) -> Result<End> {
        let Climb { learner, schema, engine, .. } = *self;
        let usual = if self.mixes() { MIXTURE_TOLERANCE } else { TOLERANCE };
        let (iterations, tolerance) = match held {
            Some(_) => ROUGH,
            None => (learner.iterations, learner.tolerance.unwrap_or(usual)),
        };
        let mut state = self.begin(count, held)?;
        if learner.unlabelled > 0.0 {
            // Labelled rows may lack words and levels that the others have. A model that does not know a word scores
            // it by nothing, so likelihoods compare from the first model of all rows on.
            let expected = engine.run(&state.pass(learner.unlabelled, held))?;
            state = state.next(schema, &expected.groups)?;
        }
        let mut before: Option<State> = None;
        // The states since the last leap, and the state to go on from if a leap leads down.
        let (mut steps, mut fallback): (Vec<State>, Option<State>) = (Vec::new(), None);
        let mut convergence = Convergence::default();
        // Families whose steps have no length end by what they gain all the same.
        let climbs = state.climbs() || state.squared_step(&state).is_none();
        let mut shortest = f64::INFINITY;
        loop {
            engine.check_stop()?;
            let expected = engine.run(&state.pass(learner.unlabelled, held))?;
            let penalty: f64 = state.blocks.iter().map(|b| b.block.family.log_prior(&b.density)).sum();
            let objective = (expected.log_likelihood + penalty) / expected.weight.max(f64::MIN_POSITIVE);
            let last = convergence.path.last().copied();
            let settled = match climbs {
                true => None,
                false => Some(state.next(schema, &expected.groups)?),
            };
            let step = settled.as_ref().and_then(|next| state.squared_step(next)).unwrap_or(f64::INFINITY);
            let is_worse = |last: f64| objective.is_nan() || if climbs { objective < last } else { step > shortest };
            if let Some(plain) = fallback.take()
                && last.is_some_and(is_worse)
            {
                state = plain;
                steps.clear();
                continue;
            }
            if !objective.is_finite() {
                return Err(Error::Schema(
                    "some rows are impossible under the current model, and nothing can be learned from them: \
                     give §pseudo_count above 0"
                        .into(),
                ));
            }
            let gain = last.map_or(f64::INFINITY, |last| objective - last);
            convergence.converged = if climbs { gain < tolerance } else { step < STILL * tolerance };
            shortest = step;
            // Families whose fit is not a maximum may lose a little at the end.
            if let (true, true, Some(before)) = (climbs, gain < 0.0, &before) {
                state = before.clone();
            } else {
                convergence.path.push(objective);
                convergence.log_likelihood = expected.log_likelihood / expected.weight.max(f64::MIN_POSITIVE);
            }
            if convergence.converged || convergence.path.len() > iterations {
                let held_out = expected.held_out / expected.held_weight;
                return Ok(End { state, convergence, held_out });
            }
            let next = settled.map_or_else(|| state.next(schema, &expected.groups), Ok)?;
            before = Some(std::mem::replace(&mut state, next));
            steps.extend(before.clone());
            if let [first, second] = &steps[..] {
                let leap = State::leap([first, second, &state], schema);
                steps.clear();
                fallback = leap.map(|leap| std::mem::replace(&mut state, leap));
            }
        }
    }

    /// The model to begin with.
    fn begin(&self, count: usize, held: Option<&Held>) -> Result<State> {
        let Climb { learner, statistics, schema, engine } = *self;
        let (summary, classes) = (statistics.summary(), schema.classes());
        super::generative::check_classes(schema, &summary.rows(), &summary.weights())?;
        let mut blocks = Vec::new();
        let of_class = |(&rows, weight): (&f64, f64)| Group { rows, weight, blocks: Vec::new() };
        let mut groups: Vec<Group> = summary.rows().iter().zip(summary.weights()).map(of_class).collect();
        for (b, (own, given)) in learner.blocks().iter().zip(statistics.blocks()).enumerate() {
            let levels = given.seen_levels(schema.columns());
            let names = Names { columns: &given.names, levels: &levels, classes };
            let mut begun = Vec::new();
            for (class, statistic) in summary.block(b)?.into_iter().enumerate() {
                begun.push(own.family.begin(&statistic, &classes[class], &given.names)?.unwrap_or(statistic));
            }
            let family = settle(&own.family, &begun, self.mixes().then_some(count), names, &summary.block_by_fold(b))?;
            for (group, statistic) in groups.iter_mut().zip(begun) {
                group.blocks.push(match (&family, statistic) {
                    (AnyFamily::Gaussian(family), AnyStatistic::Gaussian(statistic)) => {
                        AnyStatistic::Gaussian(family.after_settled(statistic)?)
                    }
                    (_, statistic) => statistic,
                });
            }
            blocks.push(Block { family, ..given.clone() });
        }
        if count == 1 {
            return State::fit(blocks, Components::single(classes.len()), summary.weights(), groups, schema);
        }
        let clusters = clusters(&blocks, count, learner.seed, held, engine)?;
        let counts = clusters.counts();
        let mut parts = engine.run(&clusters)?.groups;
        let of_group = counts.iter().enumerate().flat_map(|(class, &count)| std::iter::repeat_n(class, count));
        for (group, class) in parts.iter_mut().zip(of_group) {
            for (b, block) in blocks.iter().enumerate() {
                // Of a cluster that lacks a column, the class tells.
                let begun = block.family.begin(&group.blocks[b], &classes[class], &block.names);
                if let Some(begun) = begun.unwrap_or_else(|_| Some(groups[class].blocks[b].clone())) {
                    group.blocks[b] = begun;
                }
            }
        }
        State::with_components(blocks, &counts, parts, summary.weights(), schema)
    }

    /// The model for use: with the families as they were asked for.
    fn finish(&self, state: State, convergence: Convergence) -> Result<GenerativeModel> {
        let Climb { learner, statistics, schema, .. } = *self;
        let single = !self.mixes();
        let mut blocks = Vec::new();
        for (b, (own, fitted)) in learner.blocks().iter().zip(state.blocks).enumerate() {
            let (family, density) = match (&own.family, &fitted.block.family) {
                (AnyFamily::Gaussian(own), AnyFamily::Gaussian(found)) if single => {
                    let levels = fitted.block.seen_levels(schema.columns());
                    let names = Names { columns: &fitted.block.names, levels: &levels, classes: schema.classes() };
                    let whole: Vec<&GaussianStatistic> =
                        state.groups.iter().filter_map(|group| gaussian(&group.blocks[b])).collect();
                    let (family, density) = own.finish(found, &whole, names)?;
                    (AnyFamily::Gaussian(family), AnyDensity::Gaussian(density))
                }
                (own, _) if own.is_open() => (fitted.block.family.clone(), fitted.density),
                (own, _) => (own.clone(), fitted.density),
            };
            blocks.push(FittedBlock { block: Block { family, ..fitted.block }, density });
        }
        let about = About::new(schema.clone(), Prior::from_weights(&state.weights)?);
        let rows = statistics.summary().rows();
        Ok(GenerativeModel::new(about, rows, blocks, state.components).with_convergence(convergence))
    }
}

/// The current model.
#[derive(Clone, Debug)]
struct State {
    blocks: Vec<FittedBlock>,
    components: Components,
    /// Of each class.
    weights: Vec<f64>,
    /// The statistics it was fitted to.
    groups: Vec<Group>,
}

impl State {
    /// The model of groups whose numbers per class are given; those without rows are dropped.
    fn with_components(
        blocks: Vec<Block>,
        counts: &[usize],
        groups: Vec<Group>,
        weights: Vec<f64>,
        schema: &Schema,
    ) -> Result<Self> {
        let (mut kept, mut kept_weights) = (Vec::new(), Vec::new());
        let mut groups = groups.into_iter();
        for &count in counts {
            let own: Vec<Group> = groups.by_ref().take(count).collect();
            let most = own.iter().map(|group| group.weight).fold(0.0, f64::max);
            // A class with hardly any weight keeps its largest component.
            let own: Vec<Group> = own.into_iter().filter(|g| g.weight >= LEAST_WEIGHT.min(most)).collect();
            kept_weights.push(own.iter().map(|group| group.weight).collect::<Vec<f64>>());
            kept.extend(own);
        }
        State::fit(blocks, Components::from_weights(&kept_weights), weights, kept, schema)
    }

    fn fit(
        blocks: Vec<Block>,
        components: Components,
        weights: Vec<f64>,
        groups: Vec<Group>,
        schema: &Schema,
    ) -> Result<Self> {
        let classes = components.names(schema.classes());
        let mut fitted = Vec::new();
        for (b, block) in blocks.into_iter().enumerate() {
            let levels = block.seen_levels(schema.columns());
            let names = Names { columns: &block.names, levels: &levels, classes: &classes };
            let statistics: Vec<&AnyStatistic> = groups.iter().map(|group| &group.blocks[b]).collect();
            let density = block.family.fit(&statistics, names)?;
            fitted.push(FittedBlock { block, density });
        }
        Ok(State { blocks: fitted, components, weights, groups })
    }

    /// Where three steps in a row lead, if they are extrapolated: from θ₀ to θ₀ + 2αr + α²v with α = ‖r‖/‖v‖, r the
    /// first step and v how the second differs from it. `None` where nothing is gained, or nothing is there.
    fn leap(steps: [&State; 3], schema: &Schema) -> Option<State> {
        let [first, second, third] = steps;
        let last = &third.groups;
        if !third.components.is_single() {
            return None;
        }
        let families: Vec<&AnyFamily> = third.blocks.iter().map(|fitted| &fitted.block.family).collect();
        let of = |g: usize, b: usize| steps.map(|state| &state.groups[g].blocks[b]);
        let mut lengths = [0.0, 0.0];
        for g in 0..last.len() {
            for (b, family) in families.iter().enumerate() {
                let [r, v] = family.step_lengths(of(g, b))?;
                lengths = [lengths[0] + r, lengths[1] + v];
            }
        }
        let alpha = (lengths[0] / lengths[1]).sqrt();
        // At 1 the leap is the second step itself.
        if !(alpha.is_finite() && alpha > 1.1 && first.groups.len() == last.len() && second.groups.len() == last.len())
        {
            return None;
        }
        let mut groups = last.clone();
        for (g, group) in groups.iter_mut().enumerate() {
            for (b, family) in families.iter().enumerate() {
                group.blocks[b] = family.extrapolate(of(g, b), alpha)?;
            }
        }
        let blocks = third.blocks.iter().map(|fitted| fitted.block.clone()).collect();
        State::fit(blocks, third.components.clone(), third.weights.clone(), groups, schema).ok()
    }

    /// Whether each step raises the log-likelihood, with the prior of the parameters.
    fn climbs(&self) -> bool {
        let is_maximum = |fitted: &FittedBlock| match &fitted.block.family {
            AnyFamily::Gaussian(family) => family.is_maximum(),
            _ => true,
        };
        self.blocks.iter().all(is_maximum)
    }

    /// The squared length of the step to another model, in standard deviations, on average over the groups; `None`
    /// where they have other groups, or families have no lengths.
    fn squared_step(&self, to: &State) -> Option<f64> {
        if self.groups.len() != to.groups.len() {
            return None;
        }
        let mut sum = 0.0;
        for (from, to) in self.groups.iter().zip(&to.groups) {
            for (fitted, (from, to)) in self.blocks.iter().zip(from.blocks.iter().zip(&to.blocks)) {
                sum += fitted.block.family.step_lengths([from, to, to])?[0];
            }
        }
        Some(sum / self.groups.len() as f64)
    }

    fn log_prior(&self) -> Vec<f64> {
        let total = self.weights.iter().sum::<f64>().ln();
        self.weights.iter().map(|w| w.ln() - total).collect()
    }

    fn pass(&self, unlabelled: f64, held: Option<&Held>) -> Expect {
        let held = held.cloned();
        Expect::new(self.blocks.clone(), self.components.clone(), self.log_prior(), unlabelled, held)
    }

    /// The model of the statistics that a pass left.
    fn next(&self, schema: &Schema, groups: &[Group]) -> Result<State> {
        let blocks = self.blocks.iter().map(|fitted| fitted.block.clone()).collect();
        let of_class = |class| self.components.of_class(class);
        let counts: Vec<usize> = (0..self.components.classes()).map(|class| of_class(class).len()).collect();
        let weights = (0..counts.len()).map(|c| groups[of_class(c)].iter().map(|g| g.weight).sum()).collect();
        State::with_components(blocks, &counts, groups.to_vec(), weights, schema)
    }
}

/// The family by which groups are fitted, pass after pass: what `own` leaves open, and the maps of classes that
/// may have several components, are settled.
fn settle(
    own: &AnyFamily,
    classes: &[AnyStatistic],
    components: Option<usize>,
    names: Names<'_>,
    folds: &[Vec<AnyStatistic>],
) -> Result<AnyFamily> {
    let chosen = match own.is_open() && components.is_none() {
        true => {
            let begun = |(class, statistic): (usize, &AnyStatistic)| {
                let begun = own.begin(statistic, &names.classes[class], names.columns)?;
                Ok(begun.unwrap_or_else(|| statistic.clone()))
            };
            let fold = |classes: &Vec<AnyStatistic>| classes.iter().enumerate().map(begun).collect::<Result<Vec<_>>>();
            own.choose(&folds.iter().map(fold).collect::<Result<Vec<_>>>()?, names)?
        }
        false => own.clone(),
    };
    let AnyFamily::Gaussian(gaussian) = &chosen else { return Ok(chosen) };
    if let Some(components) = components {
        let classes: Vec<_> = gaussians(classes).collect();
        return gaussian.settle(&classes, components, names).map(AnyFamily::Gaussian);
    }
    if gaussian.projects() && own_rank_is_open(own) {
        let message = "give a number: rows with missing cells are projected after expectation–maximisation";
        return Err(Error::parameter("rank", message));
    }
    // Cells are filled in the space of the columns, or of columns that are scaled; a projection, and what integrates
    // parameters out, come last.
    let scaled = match gaussian.projects() {
        true => None,
        false => gaussian.scaled(&gaussians(classes).collect::<Vec<_>>(), names)?,
    };
    Ok(AnyFamily::Gaussian(Gaussian {
        covariance: if gaussian.projects() { Structure::Full } else { gaussian.covariance },
        rank: if gaussian.projects() { Rank::Auto } else { gaussian.rank },
        estimator: if gaussian.estimator == Estimator::Bayes { Estimator::Ml } else { gaussian.estimator },
        steps: Vec::new(),
        settled: scaled,
        ..gaussian.clone()
    }))
}

fn own_rank_is_open(own: &AnyFamily) -> bool {
    matches!(own, AnyFamily::Gaussian(own) if own.open_rank())
}
