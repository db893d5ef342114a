//! A search: every kind of model that fits the columns, with several options each, judged by rows that the models
//! have not learned from.

use deciban::data::{Identity, Schema};
use deciban::engine::{Engine, Run};
use deciban::fingerprint::Fingerprint;
use deciban::folds::Folds;
use deciban::learn::{Effort, Summarise};
use deciban::model::{Candidate, Model};
use deciban::posterior::Prior;
use deciban::select::grid;
use deciban::select::{Comparison, CrossValidation, Likelihoods};
use deciban::{Error, Result};
use serde_json::{Value, json};

use super::searched::{Searched, sample};
use super::table::{left_out, members, more, not_tried, remarks, runner_up, to_json, to_text};
use crate::application::{Application, PriorChoice};
use crate::input::{Counted, Input};
use crate::remarks::{Look, Remark, keep_copies_together, of_schema};
use crate::table::Table;

/// How many of the best candidates of each kind are also tried with a calibration.
pub(crate) const CALIBRATED: usize = 2;

/// More rows than this are too many for a search to try models that need many passes.
const MOST_ITERATED: f64 = 2e5;

/// Above so many numbers (rows × columns × classes), a search has three folds.
const MANY_NUMBERS: f64 = 4e6;

/// How many folds a search of so many rows has by default. Where rows are few, a model of four fifths of them is worse
/// than that of all, and the draw of the folds decides what is chosen: many folds cost little there, and choose better.
pub(crate) fn default_folds(rows: f64, schema: &Schema) -> usize {
    let numbers = rows * (schema.columns().len() * schema.classes().len()) as f64;
    match rows {
        ..=300.0 => 20,
        ..=2000.0 => 10,
        ..=10_000.0 if numbers <= MANY_NUMBERS => 5,
        _ => 3,
    }
}

/// The options with which `fit` searches as this search did; nothing where its defaults are these.
pub(crate) fn fit_options(
    models: &[String],
    effort: Effort,
    (folds, seed): (usize, u64),
    default_folds: usize,
    identity: Identity,
    group: Option<&str>,
) -> String {
    let mut options = String::new();
    if !models.is_empty() {
        options += &format!(" --models {}", models.join(","));
    }
    if let Some((name, _)) = Effort::ALL.iter().find(|(_, known)| *known == effort && effort != Effort::default()) {
        options += &format!(" --effort {name}");
    }
    if folds != default_folds {
        options += &format!(" --folds {folds}");
    }
    if seed != 0 {
        options += &format!(" --seed {seed}");
    }
    if identity == Identity::Contents {
        options += " --equal-together";
    }
    if let Some(group) = group {
        options += &format!(" --group {}", deciban::shown(group));
    }
    options
}

/// The candidates of a search, with what they leave open settled; what was not tried and what failed is told.
pub(crate) fn candidates(
    searched: &Searched<'_>,
    models: &[String],
    effort: Effort,
    drawn: (usize, u64),
    told: &mut Vec<Remark>,
) -> Result<Vec<Candidate>> {
    let (input, rows, fitted) = (searched.engine(), searched.timed(), searched.all_rows);
    let schema = input.schema()?;
    let mut all = grid::candidates(input, models, effort, rows)?;
    // Models that are named are tried, however long they take.
    if models.is_empty() {
        let mut skipped: Vec<(String, String)> = Vec::new();
        if effort != Effort::Thorough {
            let kinds = grid::left_out(input)?;
            all.retain(|candidate| kinds.iter().all(|(kind, _)| *kind != candidate.kind));
            skipped.extend(kinds.into_iter().map(|(kind, why)| (kind.to_string(), why)));
        }
        let (columns, classes) = (schema.columns(), schema.classes().len());
        let table = grid::Table { columns, profiles: &[], classes, rows, fitted, effort, named: !models.is_empty() };
        skipped.extend(grid::keep_quick(&mut all, &table));
        told.extend(not_tried(&skipped));
        if rows > MOST_ITERATED && effort != Effort::Thorough {
            all.retain(|candidate| candidate.closed_form(schema.columns()).is_some());
            told.push(Remark::note("the rows are many: models that need more than two passes were not tried"));
        }
    }
    told.extend(left_out(&grid::settle(&mut all, input, drawn)?));
    Ok(all)
}

/// What is compared, and how.
#[derive(Clone, Debug)]
pub struct Comparing {
    /// The kinds of models; all that fit the columns if none is named.
    pub models: Vec<String>,
    /// What they are ranked by.
    pub by: Measure,
    /// How much work it may take.
    pub effort: Effort,
    /// How many folds there are.
    pub folds: FoldCount,
    /// Which rows are held out together.
    pub rule: FoldRule,
    /// The seed by which rows are dealt into folds.
    pub seed: u64,
    /// Prior, costs and reject of the decisions. Without a prior, each fold has that of the other folds.
    pub application: Application,
}

impl Default for Comparing {
    fn default() -> Self {
        Comparing {
            models: Vec::new(),
            by: Measure::LogLoss,
            folds: FoldCount::Auto,
            effort: Effort::Normal,
            rule: FoldRule::Stratified,
            seed: 0,
            application: Application::default(),
        }
    }
}

/// What models are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The log loss of held-out rows.
    LogLoss,
    /// The likelihood of held-out rows, from statistics alone: no row is scored.
    Likelihood,
}

/// The measures by their names.
pub const MEASURES: [(&str, Measure); 2] = [("log-loss", Measure::LogLoss), ("likelihood", Measure::Likelihood)];

/// How many folds there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldCount {
    /// 20 up to 300 rows, 10 up to 2,000, 5 up to 10,000 where columns and classes are few, and 3 otherwise.
    Auto,
    /// This many.
    Count(usize),
    /// As many as rows.
    LeaveOneOut,
}

impl std::str::FromStr for FoldCount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(FoldCount::Auto),
            ("leave-one-out", _) => Ok(FoldCount::LeaveOneOut),
            (_, Ok(count @ 2..=1000)) => Ok(FoldCount::Count(count)),
            _ => Err("give a number from 2 to 1000, auto, or leave-one-out".into()),
        }
    }
}

/// Which rows are held out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldRule {
    /// Every fold has its share of every class.
    Stratified,
    /// The same, and equal rows stay in one fold: rows are dealt by what they hold, and not by their places.
    EqualTogether,
    /// Rows of one group stay in one fold; the rows carry their groups.
    Grouped,
    /// The rows carry their folds.
    Given,
}

/// What was found. It serves to learn the models from all rows, too.
#[derive(Debug)]
pub struct Compared {
    /// The figures, the best model first.
    pub found: Found,
    /// What a person should know.
    pub remarks: Vec<Remark>,
    /// The columns that were left out, by their places.
    pub left_out: Vec<usize>,
    candidates: Vec<Candidate>,
    has_costs: bool,
}

/// The figures of a search.
#[derive(Debug)]
pub enum Found {
    /// What became of held-out rows.
    Scores(Box<Comparison>),
    /// Their likelihoods.
    Likelihoods(Likelihoods),
}

/// Compares models.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban_tasks::comparison::{Comparing, FoldCount, compare};
/// let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
/// let heights = [155.0, 160.0, 162.0, 165.0, 168.0, 168.0, 173.0, 175.0, 178.0, 183.0];
/// let rows = Batch::new(10).column(&heights[..])?.classes(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1])?;
/// let mut rows = Memory::new(schema, rows)?;
/// let request = Comparing { models: vec!["gaussian".into()], folds: FoldCount::Count(5), ..Comparing::default() };
/// let mut compared = compare(&request, &mut rows)?;
/// assert_eq!(compared.best(), "gaussian --covariance tied --estimator bayes");
/// let model = compared.learn(Some("gaussian --covariance tied"), &rows)?;
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn compare(request: &Comparing, input: &mut dyn Input) -> Result<Compared> {
    match request.rule {
        FoldRule::EqualTogether => input.tell_apart(Identity::Contents),
        // What models settle by folds of their own keeps groups together, too.
        FoldRule::Grouped => input.tell_apart(Identity::Group),
        FoldRule::Stratified | FoldRule::Given => {}
    }
    let (look, mut told) = Look::without_useless(input)?;
    told.extend(look.remarks(&[]));
    let gone = look.left_out;
    let Counted { rows, .. } = input.settle()?;
    told.extend(Remark::warnings(input.warnings()));
    told.extend(of_schema(&input.schema()?, rows));
    if request.rule == FoldRule::Stratified && request.folds != FoldCount::LeaveOneOut {
        told.extend(keep_copies_together(input, rows)?);
    }
    let sample = match (request.by, request.folds) {
        (Measure::LogLoss, FoldCount::Auto | FoldCount::Count(_)) => {
            sample(input, &request.models, request.effort, rows, &mut told)?
        }
        _ => None,
    };
    let searched = Searched::new(input, sample.as_ref(), rows)?;
    let default_folds = default_folds(searched.rows, &input.schema()?);
    let folds = match request.folds {
        FoldCount::Count(folds) => folds,
        FoldCount::Auto | FoldCount::LeaveOneOut => default_folds,
    };
    let drawn = (folds, request.seed);
    let candidates = candidates(&searched, &request.models, request.effort, drawn, &mut told)?;
    let found = match request.by {
        Measure::LogLoss => {
            let comparison = request.validation(searched.engine(), folds)?.run(searched.engine(), &candidates)?;
            let mut comparison = searched.found(comparison);
            let options = fit_options(&request.models, request.effort, drawn, default_folds, input.identity(), None);
            comparison.name_fused(&options);
            told.extend(remarks(&comparison));
            Found::Scores(Box::new(comparison))
        }
        Measure::Likelihood => {
            if request.application != Application::default() {
                return Err(Error::Usage(
                    "§by=likelihood makes no decisions: drop §prior, §costs and §reject, or rank by log-loss".into(),
                ));
            }
            let likelihoods = request.folded(input, folds)?.by_likelihood(input, &candidates)?;
            if likelihoods.ranked.is_empty() {
                let first = likelihoods.failed.into_iter().next();
                return Err(first.map_or_else(|| Error::parameter("models", "none has a likelihood"), |(_, e)| e));
            }
            told.extend(left_out(&likelihoods.failed));
            Found::Likelihoods(likelihoods)
        }
    };
    Ok(Compared { found, remarks: told, candidates, left_out: gone, has_costs: request.application.has_costs() })
}

impl Comparing {
    /// The folds, without an application.
    fn folded(&self, input: &dyn Engine, count: usize) -> Result<CrossValidation> {
        let folds = match (self.folds, self.rule) {
            (FoldCount::LeaveOneOut, FoldRule::Stratified) => return Ok(CrossValidation::leave_one_out()),
            (FoldCount::LeaveOneOut, _) => {
                let message = "rows are left out one by one: drop §group, §fold and §equal_together";
                return Err(Error::parameter("folds=leave-one-out", message));
            }
            (_, FoldRule::Stratified | FoldRule::EqualTogether) => Folds::stratified(input, count, self.seed)?,
            (FoldCount::Count(_), FoldRule::Grouped) => Folds::grouped(input, count, self.seed)?,
            (_, FoldRule::Grouped) => Folds::stratified(input, count, self.seed)?,
            (_, FoldRule::Given) => Folds::given(input)?,
        };
        Ok(CrossValidation::new(folds).calibrated(CALIBRATED))
    }

    /// The folds, with the prior and the costs of the decisions.
    fn validation(&self, input: &dyn Engine, folds: usize) -> Result<CrossValidation> {
        let schema = input.schema()?;
        let validation = self.folded(input, folds)?.costs(self.application.costs(&schema)?);
        // Each fold has the prior of the others, if no prior is asked for.
        if matches!(self.application.prior, PriorChoice::Own | PriorChoice::Empirical) {
            return Ok(validation);
        }
        let labels = input.run(&Summarise { blocks: Vec::new(), folds: 1, seed: 0 })?;
        let empirical = Prior::from_weights(&labels.weights())?;
        Ok(validation.prior(self.application.prior.resolve(&schema, &empirical, &empirical)?))
    }
}

impl Compared {
    /// The name of the best model: the kind of model, and the options with which `fit` makes it.
    pub fn best(&self) -> &str {
        match &self.found {
            Found::Scores(comparison) => &comparison.ranked()[0].name,
            // `compare` refuses an empty ranking.
            Found::Likelihoods(likelihoods) => likelihoods.ranked.first().map_or("", |(_, name, _)| name),
        }
    }

    /// The model of this name, or the best, learned from all rows. Where the best cannot be learned from them, the
    /// next is, and stands first from then on.
    pub fn learn(&mut self, name: Option<&str>, input: &dyn Engine) -> Result<Model> {
        let unknown = |lines: &mut dyn Iterator<Item = &String>| {
            let (name, best) = (name.unwrap_or_default(), lines.next().map_or("", |line| line));
            let message = format!("there is no `{name}` among them: give the name of a line, such as `{best}`");
            Error::parameter("model", message)
        };
        let model = match (&mut self.found, name) {
            (Found::Scores(comparison), None) => comparison.refit_best(&self.candidates, input)?,
            (Found::Scores(comparison), Some(name)) => {
                let ranked = comparison.ranked();
                let outcome = ranked.iter().find(|outcome| outcome.name == name);
                let outcome = outcome.ok_or_else(|| unknown(&mut ranked.iter().map(|outcome| &outcome.name)))?;
                comparison.refit(outcome, &self.candidates, input)?
            }
            (Found::Likelihoods(likelihoods), name) => {
                let ranked = &likelihoods.ranked;
                let line = ranked.iter().find(|line| name.is_none_or(|name| name == line.1));
                let line = line.ok_or_else(|| unknown(&mut ranked.iter().map(|line| &line.1)))?;
                self.candidates[line.0].learn(input)?
            }
        };
        Ok(model.with_profiles(input)?.with_fingerprint(Fingerprint::of(input)?))
    }

    /// For people: the best `top` models, and whether the second is worse than the best.
    pub fn text(&self, top: usize) -> Result<String> {
        let all = |lines: usize| format!("§top={lines}");
        match &self.found {
            Found::Scores(comparison) => {
                let told = [members(comparison), runner_up(comparison)?].into_iter().flatten();
                let table = to_text(comparison, top, &all(comparison.lines().len()), self.has_costs);
                Ok(told.fold(table, |text, line| format!("{text}\n{line}\n")))
            }
            Found::Likelihoods(likelihoods) => {
                let mut table = Table::new(["model", "log p(row, class)"]);
                for (_, name, mean) in likelihoods.ranked.iter().take(top) {
                    table.row([name.clone(), format!("{mean:.4}")]);
                }
                Ok(format!("{table}{}", more(likelihoods.ranked.len(), top, &all(likelihoods.ranked.len()))))
            }
        }
    }

    /// For programs: an object for each model, the best first.
    pub fn json(&self) -> Result<Value> {
        match &self.found {
            Found::Scores(comparison) => to_json(comparison),
            Found::Likelihoods(likelihoods) => {
                let row = |(_, name, mean): &(usize, String, f64)| json!({ "model": name, "log_likelihood": mean });
                Ok(likelihoods.ranked.iter().map(row).collect())
            }
        }
    }
}
