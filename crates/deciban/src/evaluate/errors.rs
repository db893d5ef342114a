//! Decisions and probabilities against the truth: errors, confusion and what follows from it, log
//! loss, Brier score, calibration error and expected cost.
//!
//! ```text
//! log loss  mean −ln p(true)              Brier  mean Σₖ (pₖ − [k = true])²
//! cost      mean C[decided][true]         precision, recall, F1 of k  t/d, t/n, 2t/(d + n)
//! ```
//!
//! with n the weight of rows of class k, d of rows decided for it and t of those that are both.
//! Everything is additive, so streams are evaluated as they pass.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::reliability::Reliability;
use super::trials::check_weights;
use crate::decision::{Action, Costs};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::posterior::{Posterior, Prior};

/// Above so many cells the confusion of all pairs of classes is not kept: 8 MiB.
const MOST_CELLS: usize = 1 << 20;

/// Sums over evaluated rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    classes: Vec<String>,
    actions: Vec<String>,
    /// The class that each action decides for.
    class_of: Vec<Option<u32>>,
    /// The action that decides for each class.
    action_of: Vec<Option<u32>>,
    rows: usize,
    weight: f64,
    log_loss: f64,
    brier: f64,
    cost: f64,
    undefined: usize,
    /// The weight of rows that have a posterior.
    defined: f64,
    /// For each class the weight of its rows, of those decided for it, for another class, and not decided.
    of_class: Vec<[f64; 4]>,
    /// The weight of rows with each action.
    of_action: Vec<f64>,
    /// `confusion[true·actions + decided]`; empty where there are too many cells.
    confusion: Vec<f64>,
    /// Of the most probable class.
    reliability: Reliability,
}

/// What there is to add for a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judged {
    class: u32,
    /// The number of actions where there is no decision.
    pub(super) action: u32,
    pub(super) cost: f64,
    pub(super) log_loss: f64,
    pub(super) square: f64,
    /// The probability of the most probable class, and whether it is the true one.
    confidence: f64,
    right: bool,
}

impl Judged {
    fn new(log_p: &[f64], decision: &Action, class: usize, costs: &Costs) -> Self {
        // Without a posterior there is nothing to judge but the lack of one.
        let Some(action) = decision.action.filter(|_| !log_p[0].is_nan()) else {
            let (class, action) = (class as u32, costs.actions().len() as u32);
            return Judged { class, action, cost: 0.0, log_loss: 0.0, square: 0.0, confidence: f64::NAN, right: false };
        };
        let best = (0..log_p.len()).reduce(|best, k| if log_p[k] > log_p[best] { k } else { best }).unwrap_or(0);
        let square = |(k, l): (usize, &f64)| (l.exp() - f64::from(u8::from(k == class))).powi(2);
        Judged {
            class: class as u32,
            action: action as u32,
            cost: costs.cost(class, action),
            log_loss: -log_p[class],
            square: log_p.iter().enumerate().map(square).sum(),
            confidence: log_p[best].exp(),
            right: best == class,
        }
    }
}

/// Each row against its true class.
fn judge(posterior: &Posterior, truth: &[u32], costs: &Costs, unusual: &[bool]) -> Result<Vec<Judged>> {
    Error::check_shape("labels", posterior.rows(), truth.len())?;
    if let Some(row) = truth.iter().position(|&class| class as usize >= posterior.classes()) {
        return Err(Error::Classes(format!("row {}: the class is not one the model knows", row + 1)));
    }
    let decisions = posterior.decide_unless(costs, unusual);
    let rows = decisions.iter().zip(truth).enumerate();
    Ok(rows.map(|(row, (d, &class))| Judged::new(posterior.log_row(row), d, class as usize, costs)).collect())
}

/// The same from evidence and a prior, without the posteriors of all rows at once. `unusual` rows get the action
/// [none of these](Costs::none_of_these); an empty list is none of them.
pub(crate) fn judge_evidence(
    evidence: &Evidence,
    prior: &Prior,
    truth: &[u32],
    costs: &Costs,
    unusual: &[bool],
) -> Result<Vec<Judged>> {
    const CELLS: usize = 1 << 17;
    Error::check_shape("labels", evidence.rows(), truth.len())?;
    let classes = evidence.classes();
    let rows = (CELLS / classes).max(1);
    let part = |(i, (values, truth)): (usize, (&[f64], &[u32]))| {
        let unusual = unusual.get(i * rows..).unwrap_or(&[]);
        judge(&Posterior::new(values, prior), truth, costs, unusual)
    };
    let chunks = evidence.values().par_chunks(rows * classes).zip(truth.par_chunks(rows));
    let parts: Vec<Vec<Judged>> = chunks.enumerate().map(part).collect::<Result<_>>()?;
    Ok(parts.concat())
}

/// Ranges of so many rows, in order, whose evidence for so many classes takes at most 16 MiB each: a batch of many
/// classes is scored part by part.
///
/// ```
/// use deciban::evaluate::parts;
/// assert_eq!(parts(1000, 2).collect::<Vec<_>>(), [0..1000]);
/// assert_eq!(parts(500, 10_000).map(|rows| rows.len()).collect::<Vec<_>>(), [209, 209, 82]);
/// ```
pub fn parts(rows: usize, classes: usize) -> impl Iterator<Item = Range<usize>> {
    let size = ((1 << 21) / classes.max(1)).max(1);
    (0..rows).step_by(size).map(move |start| start..rows.min(start + size))
}

/// The bins of the calibration error.
const BINS: usize = 10;

/// How well decisions for a class go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassFigures {
    /// The weight of its rows.
    pub weight: f64,
    /// The weight of rows decided for it.
    pub decided: f64,
    /// The share of decisions for it that are right: 0 where there are none, as in scikit-learn, and NaN
    /// where it has no rows either.
    pub precision: f64,
    /// The share of its rows that are decided for it.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    sum / count
}

impl Evaluation {
    /// No rows yet.
    pub fn new(classes: &[String], costs: &Costs) -> Self {
        let cells = classes.len() * costs.actions().len();
        let confusion = if cells <= MOST_CELLS { vec![0.0; cells] } else { Vec::new() };
        Evaluation { confusion, ..Evaluation::without_confusion(classes, costs) }
    }

    /// No rows yet, and no room for pairs of classes.
    pub(crate) fn without_confusion(classes: &[String], costs: &Costs) -> Self {
        let place = |names: &[String]| -> HashMap<String, u32> {
            names.iter().enumerate().map(|(i, name)| (name.clone(), i as u32)).collect()
        };
        let (by_class, by_action) = (place(classes), place(costs.actions()));
        Evaluation {
            class_of: costs.actions().iter().map(|name| by_class.get(name).copied()).collect(),
            action_of: classes.iter().map(|name| by_action.get(name).copied()).collect(),
            classes: classes.to_vec(),
            actions: costs.actions().to_vec(),
            rows: 0,
            weight: 0.0,
            log_loss: 0.0,
            brier: 0.0,
            cost: 0.0,
            undefined: 0,
            defined: 0.0,
            of_class: vec![[0.0; 4]; classes.len()],
            of_action: vec![0.0; costs.actions().len()],
            confusion: Vec::new(),
            reliability: Reliability::new(BINS),
        }
    }

    /// Adds rows with their true classes.
    pub fn observe(
        &mut self,
        posterior: &Posterior,
        truth: &[u32],
        weights: Option<&[f64]>,
        costs: &Costs,
    ) -> Result<()> {
        Error::check_shape("classes", self.classes.len(), posterior.classes())?;
        if let Some(weights) = weights {
            check_weights(weights, truth.len())?;
        }
        let judged = judge(posterior, truth, costs, &[])?;
        judged.iter().enumerate().for_each(|(row, j)| self.add(j, weights.map_or(1.0, |w| w[row])));
        Ok(())
    }

    /// Adds rows with their evidence and true classes, without the posteriors of all of them at once. `unusual` rows
    /// get the action [none of these](Costs::none_of_these); an empty list is none of them.
    #[allow(clippy::too_many_arguments)]
    pub fn observe_evidence(
        &mut self,
        evidence: &Evidence,
        prior: &Prior,
        truth: &[u32],
        weights: Option<&[f64]>,
        costs: &Costs,
        unusual: &[bool],
    ) -> Result<()> {
        Error::check_shape("classes", self.classes.len(), evidence.classes())?;
        if let Some(weights) = weights {
            check_weights(weights, truth.len())?;
        }
        let judged = judge_evidence(evidence, prior, truth, costs, unusual)?;
        judged.iter().enumerate().for_each(|(row, j)| self.add(j, weights.map_or(1.0, |w| w[row])));
        Ok(())
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: &Judged, weight: f64) {
        self.rows += 1;
        self.weight += weight;
        let (class, action) = (row.class as usize, row.action as usize);
        let of_class = &mut self.of_class[class];
        of_class[0] += weight;
        if action == self.actions.len() {
            of_class[3] += weight;
            self.undefined += 1;
            return;
        }
        if let Some(decided) = self.class_of[action] {
            of_class[if decided == row.class { 1 } else { 2 }] += weight;
        }
        self.of_action[action] += weight;
        if let Some(cell) = self.confusion.get_mut(class * self.of_action.len() + action) {
            *cell += weight;
        }
        // 0 · ∞ is 0 here.
        if weight > 0.0 {
            self.defined += weight;
            self.cost += weight * row.cost;
            self.log_loss += weight * row.log_loss;
            self.brier += weight * row.square;
            self.reliability.add(row.confidence, row.right, weight);
        }
    }

    /// Adds the rows of another evaluation with the same classes and actions.
    pub fn merge(&mut self, other: &Evaluation) {
        self.add_sums(&other.sums());
    }

    /// All sums, one after the other.
    pub(super) fn sums(&self) -> Vec<f64> {
        let Evaluation { weight, log_loss, brier, cost, defined, .. } = *self;
        let single = [self.rows as f64, weight, log_loss, brier, cost, self.undefined as f64, defined];
        [&single[..], self.of_class.as_flattened(), &self.of_action, &self.confusion, self.reliability.sums()].concat()
    }

    /// Adds [`sums`](Evaluation::sums) of rows of the same classes and actions.
    pub(super) fn add_sums(&mut self, sums: &[f64]) {
        let mut next = sums.iter();
        let mut take = || next.next().copied().unwrap_or(0.0);
        self.rows += take() as usize;
        for sum in [&mut self.weight, &mut self.log_loss, &mut self.brier, &mut self.cost] {
            *sum += take();
        }
        self.undefined += take() as usize;
        self.defined += take();
        let of_class = self.of_class.as_flattened_mut().iter_mut().chain(&mut self.of_action);
        of_class.chain(&mut self.confusion).chain(self.reliability.sums_mut()).for_each(|sum| *sum += take());
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The classes' names.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The classes without rows. Figures that need rows of every class are undefined where there is one.
    pub fn absent(&self) -> Vec<&str> {
        let classes = self.classes.iter().zip(&self.of_class).filter(|(_, of)| of[0] == 0.0);
        classes.map(|(name, _)| name.as_str()).collect()
    }

    /// The actions' names.
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The weight of rows decided for a class that is not theirs; rows without a decision count too.
    pub fn errors(&self) -> f64 {
        self.of_class.iter().fold(0.0, |sum, c| sum + c[2] + c[3])
    }

    /// The weight of rows whose action is not a class, such as *reject*.
    pub fn rejected(&self) -> f64 {
        let other = self.class_of.iter().zip(&self.of_action).filter(|(class, _)| class.is_none());
        // An empty sum of doubles is −0.
        other.map(|(_, w)| *w).fold(0.0, |sum, w| sum + w)
    }

    /// The share of errors.
    pub fn error_rate(&self) -> f64 {
        self.errors() / self.weight
    }

    /// The share of rows that are decided for their own class. With *reject* it is less than
    /// 1 − the error rate.
    pub fn accuracy(&self) -> f64 {
        self.of_class.iter().fold(0.0, |sum, c| sum + c[1]) / self.weight
    }

    /// The mean recall of the classes that have rows.
    pub fn balanced_accuracy(&self) -> f64 {
        let per_class = self.per_class();
        mean(per_class.iter().filter(|c| c.weight > 0.0).map(|c| c.recall))
    }

    /// Precision, recall and F1 of each class.
    pub fn per_class(&self) -> Vec<ClassFigures> {
        let figures = |k: usize| {
            let [weight, both, ..] = self.of_class[k];
            let decided = self.action_of[k].map_or(0.0, |a| self.of_action[a as usize]);
            // With rows or decisions, but not both: nothing of it is right.
            let share = |of: f64| if of > 0.0 || weight + decided == 0.0 { both / of } else { 0.0 };
            ClassFigures {
                weight,
                decided,
                precision: share(decided),
                recall: share(weight),
                f1: 2.0 * both / (weight + decided),
            }
        };
        (0..self.classes.len()).map(figures).collect()
    }

    /// The means of precision, recall and F1 over the classes that have rows or decisions.
    pub fn macro_average(&self) -> (f64, f64, f64) {
        let seen: Vec<ClassFigures> = self.per_class().into_iter().filter(|c| c.weight + c.decided > 0.0).collect();
        let average = |figure: fn(&ClassFigures) -> f64| mean(seen.iter().map(figure));
        (average(|c| c.precision), average(|c| c.recall), average(|c| c.f1))
    }

    /// How often the most probable class is the true one, by its probability, in ten bins.
    pub fn reliability(&self) -> &Reliability {
        &self.reliability
    }

    /// The expected calibration error of the most probable class.
    pub fn calibration_error(&self) -> f64 {
        self.reliability.error()
    }

    /// Mean −ln p(true class), in nats.
    pub fn log_loss(&self) -> f64 {
        self.log_loss / self.defined
    }

    /// Mean squared distance of the posterior from the truth, over all classes.
    pub fn brier(&self) -> f64 {
        self.brier / self.defined
    }

    /// Mean cost of the decisions.
    pub fn expected_cost(&self) -> f64 {
        self.cost / self.defined
    }

    /// Rows whose posterior is 0/0: they count as errors and in no average but the error rate.
    pub fn undefined(&self) -> usize {
        self.undefined
    }

    /// The weight of rows of each class without a decision.
    pub fn undecided(&self) -> Vec<f64> {
        self.of_class.iter().map(|c| c[3]).collect()
    }

    /// `confusion()[true][decided]`; empty where classes times actions are more than 2²⁰.
    pub fn confusion(&self) -> Vec<&[f64]> {
        self.confusion.chunks_exact(self.actions.len().max(1)).collect()
    }
}

impl Evaluation {
    /// The figures of decisions and probabilities, by name. What the rows leave undefined is left out.
    pub fn figures(&self) -> Vec<(String, f64)> {
        let all = self.figure_names().into_iter().zip(self.figure_values());
        all.filter(|(_, value)| !value.is_nan()).collect()
    }

    pub(crate) fn figure_names(&self) -> Vec<String> {
        let of_all = [
            "error_rate",
            "accuracy",
            "balanced_accuracy",
            "log_loss",
            "brier",
            "calibration_error",
            "expected_cost",
            "macro_precision",
            "macro_recall",
            "macro_f1",
        ];
        let of_class = |class: &String| ["precision", "recall", "f1"].map(|name| format!("{name}({class})"));
        of_all.map(String::from).into_iter().chain(self.classes().iter().flat_map(of_class)).collect()
    }

    pub(crate) fn figure_values(&self) -> Vec<f64> {
        let (precision, recall, f1) = self.macro_average();
        let of_all = [
            self.error_rate(),
            self.accuracy(),
            self.balanced_accuracy(),
            self.log_loss(),
            self.brier(),
            self.calibration_error(),
            self.expected_cost(),
            precision,
            recall,
            f1,
        ];
        let of_class = self.per_class().into_iter().flat_map(|of| [of.precision, of.recall, of.f1]);
        of_all.into_iter().chain(of_class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let classes = vec!["a".to_string(), "b".to_string()];
        let costs = Costs::zero_one(&classes);
        let logs = [[0.8f64, 0.2], [0.4, 0.6], [0.5, 0.5], [0.1, 0.9]].concat().iter().map(|p| p.ln()).collect();
        let posterior = Evidence::new(2, logs).unwrap().posterior(&Prior::uniform(2));
        let mut e = Evaluation::new(&classes, &costs);
        e.observe(&posterior, &[0, 0, 1, 1], None, &costs).unwrap();
        assert_eq!((e.rows(), e.errors(), e.error_rate(), e.expected_cost()), (4, 2.0, 0.5, 0.5));
        let log_loss = -(0.8f64.ln() + 0.4f64.ln() + 0.5f64.ln() + 0.9f64.ln()) / 4.0;
        assert!((e.log_loss() - log_loss).abs() < 1e-15);
        assert!((e.brier() - 2.0 * (0.04 + 0.36 + 0.25 + 0.01) / 4.0).abs() < 1e-15);
        assert_eq!(e.confusion(), [[1.0, 1.0], [1.0, 1.0]]);
        let mut twice = e.clone();
        twice.merge(&e);
        assert_eq!((twice.rows(), twice.brier()), (8, e.brier()));
        assert!((e.calibration_error() - (0.2 + 0.6 + 0.5 + 0.1) / 4.0).abs() < 1e-15);
    }

    /// One-hot evidence for decisions.
    fn decided(classes: usize, decisions: &[usize]) -> Posterior {
        let row = |&k: &usize| (0..classes).map(move |j| if j == k { 0.9f64.ln() } else { 0.01f64.ln() });
        Evidence::new(classes, decisions.iter().flat_map(row).collect()).unwrap().posterior(&Prior::uniform(classes))
    }

    #[test]
    fn precision_and_recall_by_hand() {
        let classes: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        let costs = Costs::zero_one(&classes);
        let mut e = Evaluation::new(&classes, &costs);
        // c is never decided for, d never there.
        e.observe(&decided(4, &[0, 0, 1, 1, 0, 1]), &[0, 0, 0, 1, 2, 1], None, &costs).unwrap();
        let per_class = e.per_class();
        let (a, b, c, d) = (per_class[0], per_class[1], per_class[2], per_class[3]);
        assert_eq!((a.precision, a.recall, a.f1), (2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0));
        assert_eq!((b.precision, b.recall, b.f1), (2.0 / 3.0, 1.0, 0.8));
        assert_eq!((c.precision, c.recall, c.f1), (0.0, 0.0, 0.0));
        assert!(d.precision.is_nan() && d.recall.is_nan() && d.f1.is_nan());
        assert!((e.accuracy() - 4.0 / 6.0).abs() < 1e-15 && (e.balanced_accuracy() - 5.0 / 9.0).abs() < 1e-15);
        let (precision, recall, f1) = e.macro_average();
        assert!((precision - 4.0 / 9.0).abs() < 1e-15 && (recall - 5.0 / 9.0).abs() < 1e-15);
        assert!((f1 - (2.0 / 3.0 + 0.8) / 3.0).abs() < 1e-15);
    }

    #[test]
    fn rows_of_weight_0_change_nothing() {
        let classes: Vec<String> = ["a", "b"].map(String::from).to_vec();
        let costs = Costs::zero_one(&classes);
        let logs = vec![0.8f64.ln(), 0.2f64.ln(), f64::NEG_INFINITY, 0.0];
        let posterior = Evidence::new(2, logs).unwrap().posterior(&Prior::uniform(2));
        let mut e = Evaluation::new(&classes, &costs);
        e.observe(&posterior, &[0, 0], Some(&[2.0, 0.0]), &costs).unwrap();
        assert_eq!((e.errors(), e.accuracy()), (0.0, 1.0));
        assert!((e.log_loss() + 0.8f64.ln()).abs() < 1e-15);
        let error = e.observe(&posterior, &[0, 0], Some(&[1.0, f64::NAN]), &costs).unwrap_err();
        assert_eq!(error.to_string(), "row 2: the weight NaN is not a finite number of at least 0");
        assert!(e.observe(&posterior, &[0, 2], None, &costs).is_err());
        // No rows: nothing but 0/0.
        let empty = Evaluation::new(&classes, &costs);
        assert!(empty.accuracy().is_nan() && empty.balanced_accuracy().is_nan() && empty.calibration_error().is_nan());
    }
}
