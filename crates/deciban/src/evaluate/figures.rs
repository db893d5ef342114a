//! All figures of evaluated rows by their names, with intervals.
//!
//! [`Scored`] keeps evidence, classes and weights of rows; [`Scored::figures`] computes everything that
//! there is a number for, as often as the bootstrap asks.

use super::cllr::{Cllr, flat_loss};
use super::errors::{Evaluation, Judged, judge};
use super::resample::{Bootstrap, Interval};
use super::risk::Application;
use super::trials::{Ranked, Trials, check_weights};
use crate::calibrate::{Affine, least_loss};
use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::posterior::Prior;

/// A number with its name, and where it may lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name, as in JSON: `error_rate`, `cllr`, `recall(Barolo)`, ...
    pub name: String,
    /// The number; NaN where it is undefined.
    pub value: f64,
    /// Its bootstrap interval, if asked for.
    pub interval: Option<Interval>,
}

/// Rows with their evidence, true class and weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    evidence: Evidence,
    truth: Vec<u32>,
    weights: Vec<f64>,
}

impl Scored {
    /// No rows yet.
    pub fn new(classes: usize) -> Result<Self> {
        Ok(Scored { evidence: Evidence::new(classes, Vec::new())?, truth: Vec::new(), weights: Vec::new() })
    }

    /// Adds rows; weights are 1 unless given.
    pub fn append(&mut self, evidence: &Evidence, truth: &[u32], weights: Option<&[f64]>) -> Result<()> {
        Error::check_shape("labels", evidence.rows(), truth.len())?;
        if let Some(row) = truth.iter().position(|&class| class as usize >= evidence.classes()) {
            return Err(Error::Classes(format!("row {}: the class is not one the model knows", row + 1)));
        }
        if let Some(weights) = weights {
            check_weights(weights, truth.len())?;
        }
        self.evidence.append(evidence)?;
        self.truth.extend_from_slice(truth);
        match weights {
            Some(weights) => self.weights.extend_from_slice(weights),
            None => self.weights.resize(self.truth.len(), 1.0),
        }
        Ok(())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.truth.len()
    }

    /// The bytes that a row of evidence for so many classes takes here.
    pub fn bytes_per_row(classes: usize) -> usize {
        8 * classes + 4 + 8
    }

    /// The evidence.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The true classes.
    pub fn truth(&self) -> &[u32] {
        &self.truth
    }

    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The LLR of each row for a class against the others, and whether the row is of that class.
    pub fn llr(&self, target: usize) -> (Vec<f64>, Vec<bool>) {
        let llr = (0..self.rows()).map(|row| self.evidence.llr(row, target)).collect();
        (llr, self.truth.iter().map(|class| *class as usize == target).collect())
    }

    /// The rows as trials for a class against the others.
    pub fn trials(&self, target: usize) -> Result<Trials> {
        let (llr, y) = self.llr(target);
        Trials::new(&llr, &y, Some(&self.weights))
    }

    /// Decisions and probabilities under a prior and costs.
    pub fn evaluation(&self, classes: &[String], prior: &Prior, costs: &Costs) -> Result<Evaluation> {
        let mut evaluation = Evaluation::new(classes, costs);
        evaluation.observe(&self.evidence.posterior(prior), &self.truth, Some(&self.weights), costs)?;
        Ok(evaluation)
    }

    /// Every figure under a prior and costs. Of two classes, `target` is the one whose LLRs are
    /// taken.
    ///
    /// ```
    /// use deciban::decision::Costs;
    /// use deciban::evaluate::{Bootstrap, Scored};
    /// use deciban::evidence::Evidence;
    /// use deciban::posterior::Prior;
    /// let mut rows = Scored::new(2)?;
    /// let ln3 = 3f64.ln();
    /// rows.append(&Evidence::new(2, vec![0.0, ln3, 0.0, ln3, 0.0, -ln3, 0.0, -ln3])?, &[1, 1, 0, 0], None)?;
    /// let classes = ["a".to_string(), "b".to_string()];
    /// let (prior, costs) = (Prior::uniform(2), Costs::zero_one(&classes));
    /// let figures = rows.figures(&classes, &prior, &costs, 1, Some(&Bootstrap::default()))?;
    /// let cllr = figures.iter().find(|figure| figure.name == "cllr").unwrap();
    /// assert!((cllr.value - 0.4150374992788437).abs() < 1e-15 && cllr.interval.is_some());
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn figures(
        &self,
        classes: &[String],
        prior: &Prior,
        costs: &Costs,
        target: usize,
        bootstrap: Option<&Bootstrap>,
    ) -> Result<Vec<Figure>> {
        let mut table = Table::new(self, classes, prior, costs, target)?;
        let (values, best) = table.figures(&self.weights)?;
        table.best = best;
        let mut intervals = match bootstrap {
            None => Vec::new(),
            Some(bootstrap) => bootstrap.intervals(&self.weights, |weights| {
                // What fails for the rows as they are has failed above; NaN is left out of the interval.
                let drawn = table.figures(weights).unwrap_or_default().0;
                (0..values.len()).map(|j| drawn.get(j).map_or(f64::NAN, |f| f.1)).collect()
            })?,
        }
        .into_iter();
        Ok(values.into_iter().map(|(name, value)| Figure { name, value, interval: intervals.next() }).collect())
    }
}

/// A figure's name and value.
type Named = (String, f64);

/// What of each row does not depend on its weight.
struct Table<'a> {
    scored: &'a Scored,
    /// No rows yet.
    empty: Evaluation,
    judged: Vec<Judged>,
    flat: Vec<f64>,
    two: Option<(Ranked, Option<Application>)>,
    /// The best affine map for all rows, near those of resamples.
    best: Option<Affine>,
}

impl<'a> Table<'a> {
    fn new(scored: &'a Scored, classes: &[String], prior: &Prior, costs: &Costs, target: usize) -> Result<Self> {
        Error::check_shape("classes", scored.evidence.classes(), classes.len())?;
        let truth = scored.truth.iter().enumerate();
        let two = match classes.len() {
            2 => {
                let (llr, y) = scored.llr(target.min(1));
                Some((Ranked::new(&llr, &y)?, Application::of(prior, costs, target.min(1)).ok()))
            }
            _ => None,
        };
        Ok(Table {
            scored,
            empty: Evaluation::new(classes, costs),
            judged: judge(&scored.evidence.posterior(prior), &scored.truth, costs)?,
            flat: truth.map(|(row, &k)| flat_loss(scored.evidence.row(row), k as usize)).collect(),
            two,
            best: None,
        })
    }

    /// All figures under these weights, always the same in the same order, and the best affine map where
    /// there are more than two classes.
    fn figures(&self, weights: &[f64]) -> Result<(Vec<Named>, Option<Affine>)> {
        let classes = self.scored.evidence.classes();
        let (mut evaluation, mut cllr) = (self.empty.clone(), Cllr::new(classes));
        for (((judged, loss), &class), &weight) in
            self.judged.iter().zip(&self.flat).zip(&self.scored.truth).zip(weights)
        {
            evaluation.add(judged, weight);
            cllr.add(class as usize, *loss, weight);
        }
        let mut figures = evaluation.figures();
        figures.push(("cllr".into(), cllr.bits()));
        let mut push = |name: &str, value: f64| figures.push((name.into(), value));
        let Some((ranked, application)) = &self.two else {
            let (least, map) = match cllr.bits().is_nan() {
                true => (f64::NAN, None),
                false => least_loss(&self.scored.evidence, &self.scored.truth, weights, self.best.as_ref())?,
            };
            push("min_cllr", least / std::f64::consts::LN_2);
            return Ok((figures, map));
        };
        let trials = ranked.trials(weights);
        push("min_cllr", trials.min_cllr());
        push("auc", trials.auc());
        push("eer", trials.eer());
        push("hull_eer", trials.hull_eer());
        if let Some(application) = application {
            let cost = trials.dcf(application);
            push("dcf", cost.actual);
            push("min_dcf", cost.minimum);
            push("default_dcf", cost.default);
        }
        Ok((figures, None))
    }
}

impl Evaluation {
    /// The figures of decisions and probabilities, by name.
    pub fn figures(&self) -> Vec<(String, f64)> {
        let (precision, recall, f1) = self.macro_average();
        let mut figures: Vec<(String, f64)> = [
            ("error_rate", self.error_rate()),
            ("accuracy", self.accuracy()),
            ("balanced_accuracy", self.balanced_accuracy()),
            ("log_loss", self.log_loss()),
            ("brier", self.brier()),
            ("calibration_error", self.calibration_error()),
            ("expected_cost", self.expected_cost()),
            ("macro_precision", precision),
            ("macro_recall", recall),
            ("macro_f1", f1),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .to_vec();
        for (class, of) in self.classes().iter().zip(self.per_class()) {
            let of_class = [("precision", of.precision), ("recall", of.recall), ("f1", of.f1)];
            figures.extend(of_class.map(|(name, value)| (format!("{name}({class})"), value)));
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    fn sampled(rows: usize, classes: usize, seed: u64) -> Scored {
        let mut random = Random::new(seed);
        let mut scored = Scored::new(classes).unwrap();
        for _ in 0..rows {
            let k = random.below(classes as u64) as usize;
            // Twice as sure as they should be.
            let row = (0..classes).map(|j| 2.0 * (random.normal() + f64::from(u8::from(j == k)))).collect();
            scored.append(&Evidence::new(classes, row).unwrap(), &[k as u32], Some(&[random.below(3) as f64])).unwrap();
        }
        scored
    }

    fn names(classes: usize) -> Vec<String> {
        (0..classes).map(|k| k.to_string()).collect()
    }

    fn find(figures: &[Figure], name: &str) -> Figure {
        figures.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
    }

    #[test]
    fn two_classes_have_all_of_them() {
        let (scored, names) = (sampled(300, 2, 1), names(2));
        let (prior, costs) = (Prior::new(&[0.7, 0.3]).unwrap(), Costs::zero_one(&names));
        let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
        let figures = scored.figures(&names, &prior, &costs, 1, Some(&bootstrap)).unwrap();
        let trials = scored.trials(1).unwrap();
        let value = |name: &str| find(&figures, name).value;
        assert!((value("cllr") - trials.cllr()).abs() < 1e-13);
        assert_eq!((value("min_cllr"), value("auc"), value("eer")), (trials.min_cllr(), trials.auc(), trials.eer()));
        let cost = trials.dcf(&Application::new(0.3, 1.0, 1.0).unwrap());
        assert!((value("dcf") - cost.actual).abs() < 1e-15 && (value("min_dcf") - cost.minimum).abs() < 1e-15);
        let evaluation = scored.evaluation(&names, &prior, &costs).unwrap();
        assert_eq!((value("log_loss"), value("brier")), (evaluation.log_loss(), evaluation.brier()));
        assert_eq!(value("recall(1)"), evaluation.per_class()[1].recall);
        for figure in &figures {
            let interval = figure.interval.unwrap();
            assert!(interval.low <= interval.high, "{figure:?}");
            // The least of all thresholds is less in a resample than on average: min Cllr is biased.
            let held = interval.low <= figure.value && figure.value <= interval.high;
            assert!(held || figure.name.contains("min") || figure.name == "calibration_error", "{figure:?}");
        }
        // The other class as target: what is symmetric stays.
        let other = scored.figures(&names, &prior, &costs, 0, None).unwrap();
        for name in ["cllr", "min_cllr", "auc", "eer", "dcf", "min_dcf"] {
            assert!((find(&other, name).value - value(name)).abs() < 1e-13, "{name}");
        }
    }

    #[test]
    fn of_many_classes_the_minimum_is_that_of_the_best_line() {
        let (scored, names) = (sampled(600, 4, 2), names(4));
        let (prior, costs) = (Prior::uniform(4), Costs::zero_one(&names));
        let bootstrap = Bootstrap { resamples: 20, ..Bootstrap::default() };
        let figures = scored.figures(&names, &prior, &costs, 1, Some(&bootstrap)).unwrap();
        let (actual, least) = (find(&figures, "cllr"), find(&figures, "min_cllr"));
        assert!(least.value < actual.value - 0.05 && actual.value < 2.0, "{actual:?} {least:?}");
        assert!(least.interval.unwrap().high < actual.interval.unwrap().high);
        // No other scale and biases do better.
        let loss = |scale: f64, bias: [f64; 4]| {
            let row = |row: &[f64]| (0..4).map(|k| scale * row[k] + bias[k]).collect::<Vec<f64>>();
            let values = scored.evidence().values().chunks(4).flat_map(row).collect();
            let mut cllr = Cllr::new(4);
            cllr.observe(&Evidence::new(4, values).unwrap(), scored.truth(), Some(scored.weights())).unwrap();
            cllr.bits()
        };
        let mut best = f64::INFINITY;
        for i in 0..40 {
            best = best.min(loss(0.2 + 0.02 * f64::from(i), [0.0; 4]));
        }
        assert!(least.value <= best && best < least.value + 0.01, "{} {best}", least.value);
        assert!(figures.iter().all(|f| f.name != "auc"));
    }

    #[test]
    fn separable_and_impossible_rows() {
        let names = names(3);
        let (prior, costs) = (Prior::uniform(3), Costs::zero_one(&names));
        let value = |rows: [[f64; 3]; 3]| {
            let mut scored = Scored::new(3).unwrap();
            scored.append(&Evidence::new(3, rows.concat()).unwrap(), &[0, 1, 2], None).unwrap();
            find(&scored.figures(&names, &prior, &costs, 1, None).unwrap(), "min_cllr").value
        };
        assert!(value([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) < 1e-6);
        assert!((value([[0.0; 3]; 3]) - 3f64.log2()).abs() < 1e-12);
        assert!((value([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]) - 3f64.log2()).abs() < 1e-12);
        let never = f64::NEG_INFINITY;
        assert_eq!(value([[never, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), f64::INFINITY);
        assert!(value([[0.0, never, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 1.0]]).is_finite());
        // A class without rows leaves everything that needs it undefined.
        let mut scored = Scored::new(3).unwrap();
        scored.append(&Evidence::new(3, vec![0.0; 6]).unwrap(), &[0, 1], None).unwrap();
        let figures = scored.figures(&names, &prior, &costs, 1, Some(&Bootstrap::default())).unwrap();
        assert!(find(&figures, "cllr").value.is_nan() && find(&figures, "cllr").interval.unwrap().low.is_nan());
        assert_eq!(find(&figures, "error_rate").value, 0.5);
    }
}
