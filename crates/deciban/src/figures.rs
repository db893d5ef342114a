//! All figures of evaluated rows by their names, with intervals.
//!
//! [`Scored`] keeps evidence, classes and weights of rows; [`Scored::figures`] computes everything that
//! there is a number for, as often as the bootstrap asks.

use crate::calibrate::{Affine, Held, least_loss};
use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::evaluate::{
    Application, Bootstrap, Cllr, Evaluation, Interval, Judged, Ranked, Scored, flat_loss, judge_evidence,
};
use crate::posterior::Prior;

/// A number with its name, and where it may lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name, as in JSON: `error_rate`, `cllr`, `recall(Barolo)`, ...
    pub name: String,
    /// The number. It is not NaN: what the rows leave undefined is left out.
    pub value: f64,
    /// Its bootstrap interval, if asked for.
    pub interval: Option<Interval>,
}

impl Scored {
    /// Every figure under a prior and costs. Of two classes, `target` is the one whose LLRs are
    /// taken. What is undefined is left out: where a [class has no rows](Evaluation::absent), that is all that
    /// needs rows of every class, such as Cllr.
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
        let (values, best) = table.figures(self.weights())?;
        table.best = best;
        let defined: Vec<usize> = (0..values.len()).filter(|&j| !values[j].is_nan()).collect();
        let mut intervals = match bootstrap {
            None => Vec::new(),
            Some(bootstrap) => bootstrap.intervals(self.weights(), |weights| {
                // What fails for the rows as they are has failed above; NaN is left out of the interval.
                let drawn = table.figures(weights).map_or_else(|_| vec![f64::NAN; values.len()], |drawn| drawn.0);
                defined.iter().map(|&j| drawn[j]).collect()
            })?,
        }
        .into_iter();
        let mut names = table.names();
        let mut figure =
            |&j: &usize| Figure { name: std::mem::take(&mut names[j]), value: values[j], interval: intervals.next() };
        Ok(defined.iter().map(&mut figure).collect())
    }
}

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
        Error::check_shape("classes", scored.evidence().classes(), classes.len())?;
        let truth = scored.truth().iter().enumerate();
        let two = match classes.len() {
            2 => {
                let (llr, y) = scored.llr(target.min(1));
                Some((Ranked::new(&llr, &y)?, Application::of(prior, costs, target.min(1)).ok()))
            }
            _ => None,
        };
        Ok(Table {
            scored,
            empty: Evaluation::without_confusion(classes, costs),
            judged: judge_evidence(scored.evidence(), prior, scored.truth(), costs, scored.unusual())?,
            flat: truth.map(|(row, &k)| flat_loss(scored.evidence().row(row), k as usize)).collect(),
            two,
            best: None,
        })
    }

    /// The names of the figures, in their order.
    fn names(&self) -> Vec<String> {
        let mut names = self.empty.figure_names();
        names.extend(["cllr", "min_cllr"].map(String::from));
        if let Some((_, application)) = &self.two {
            names.extend(["auc", "eer", "hull_eer"].map(String::from));
            if application.is_some() {
                names.extend(["dcf", "min_dcf", "default_dcf"].map(String::from));
            }
        }
        names
    }

    /// All figures under these weights, and the best affine map where there are more than two classes.
    fn figures(&self, weights: &[f64]) -> Result<(Vec<f64>, Option<Affine>)> {
        let classes = self.scored.evidence().classes();
        let (mut evaluation, mut cllr) = (self.empty.clone(), Cllr::new(classes));
        for (((judged, loss), &class), &weight) in
            self.judged.iter().zip(&self.flat).zip(self.scored.truth()).zip(weights)
        {
            evaluation.add(judged, weight);
            cllr.add(class as usize, *loss, weight);
        }
        let mut figures = evaluation.figure_values();
        figures.push(cllr.bits());
        let Some((ranked, application)) = &self.two else {
            let (least, map) = match cllr.bits().is_nan() {
                true => (f64::NAN, None),
                false => {
                    least_loss(&Held::new(self.scored.evidence(), self.scored.truth(), weights), self.best.as_ref())?
                }
            };
            // What is best up to rounding is not above what there is.
            figures.push((least / std::f64::consts::LN_2).min(cllr.bits()));
            return Ok((figures, map));
        };
        let trials = ranked.trials(weights);
        figures.extend([trials.min_cllr(), trials.auc(), trials.eer(), trials.hull_eer()]);
        if let Some(application) = application {
            let cost = trials.dcf(application);
            figures.extend([cost.actual, cost.minimum, cost.default]);
        }
        Ok((figures, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
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
        assert_eq!(value([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), 0.0);
        assert!((value([[0.0; 3]; 3]) - 3f64.log2()).abs() < 1e-12);
        assert!((value([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]) - 3f64.log2()).abs() < 1e-12);
        let never = f64::NEG_INFINITY;
        assert_eq!(value([[never, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), f64::INFINITY);
        assert!(value([[0.0, never, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 1.0]]).is_finite());
        // A class without rows: what needs it is left out, and what does not is there.
        let mut scored = Scored::new(3).unwrap();
        scored.append(&Evidence::new(3, vec![0.0; 6]).unwrap(), &[0, 1], None).unwrap();
        let figures = scored.figures(&names, &prior, &costs, 1, Some(&Bootstrap::default())).unwrap();
        for name in ["cllr", "min_cllr", "recall(2)"] {
            assert!(figures.iter().all(|figure| figure.name != name), "{name}");
        }
        assert!(figures.iter().all(|figure| !figure.value.is_nan()), "{figures:?}");
        assert_eq!((find(&figures, "error_rate").value, find(&figures, "balanced_accuracy").value), (0.5, 0.5));
        let evaluation = scored.evaluation(&names, &prior, &costs).unwrap();
        assert_eq!(evaluation.absent(), ["2"]);
        assert!(evaluation.figures().iter().all(|(_, value)| !value.is_nan()));
        // Of two classes too.
        let mut scored = Scored::new(2).unwrap();
        scored.append(&Evidence::new(2, vec![0.0, -1.0, 0.0, 1.0]).unwrap(), &[0, 0], None).unwrap();
        let (prior, costs) = (Prior::uniform(2), Costs::zero_one(&names[..2]));
        let figures = scored.figures(&names[..2], &prior, &costs, 1, None).unwrap();
        assert!(figures.iter().all(|f| !f.value.is_nan() && f.name != "auc" && f.name != "eer"), "{figures:?}");
        assert_eq!(find(&figures, "balanced_accuracy").value, 0.5);
    }

    /// Minimum Cllr is never above Cllr: of random rows, of classes that are apart, of evidence that is right, in
    /// resamples too.
    #[test]
    fn minimum_cllr_is_at_most_cllr() {
        let mut random = Random::new(9);
        for classes in [2, 3, 5, 20] {
            let names = names(classes);
            let (prior, costs) = (Prior::uniform(classes), Costs::zero_one(&names));
            for scale in [0.0, 1e-3, 0.5, 1.0, 5.0, 60.0] {
                for apart in [0.0, 0.3, 1.0, 10.0, 30.0] {
                    let mut scored = Scored::new(classes).unwrap();
                    for i in 0..6 * classes {
                        let k = i % classes;
                        let mut says = |j: usize| scale * random.normal() + if j == k { apart * scale } else { 0.0 };
                        let row = (0..classes).map(&mut says).collect();
                        scored.append(&Evidence::new(classes, row).unwrap(), &[k as u32], None).unwrap();
                    }
                    let bootstrap = Bootstrap { resamples: 3, ..Bootstrap::default() };
                    let figures = scored.figures(&names, &prior, &costs, 1, Some(&bootstrap)).unwrap();
                    let (actual, least) = (find(&figures, "cllr"), find(&figures, "min_cllr"));
                    let of = format!("{classes} classes, {scale}, {apart}: {actual:?} {least:?}");
                    assert!(least.value <= actual.value && least.value >= 0.0, "{of}");
                    assert!(least.interval.unwrap().high <= actual.interval.unwrap().high, "{of}");
                    // Far apart, there is nothing left to lose.
                    assert!(apart < 30.0 || scale < 0.5 || least.value == 0.0, "{of}");
                }
            }
        }
    }
}
