//! The shares of the classes among rows without labels: the prior that a model needs where the classes are not as
//! common as in its training data.
//!
//! The shares of greatest likelihood are right if the evidence is. Where labelled rows say how the evidence really
//! behaves, it is calibrated by them (a scale and a bias for each class, as in bias-corrected temperature scaling),
//! the shares are corrected, and the intervals allow for how few the labelled rows are. These rows are, in this order,
//! those that are given, or the scores that a calibrated model has kept.

use deciban::calibrate::{Calibrator, Method};
use deciban::data::Batch;
use deciban::evaluate::{Interval, Scored};
use deciban::evidence::Evidence;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::numerics::hash;
use deciban::posterior::Prior;
use deciban::proportions::{self, Estimate};
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::input::Input;
use crate::numbers;
use crate::remarks::Remark;
use crate::scored::{Keeping, collect};
use crate::table::{Table, number, percent};

/// How shares are estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapting {
    /// The probability that an interval should hold.
    pub confidence: f64,
    /// Bytes that the evidence of rows may take; of more rows a part is drawn.
    pub memory: usize,
}

impl Default for Adapting {
    fn default() -> Self {
        Adapting { confidence: 0.95, memory: 256 << 20 }
    }
}

/// The shares of the classes among rows.
#[derive(Clone, Debug)]
pub struct Adapted {
    /// The classes.
    pub classes: Vec<String>,
    /// Shares and intervals.
    pub estimate: Estimate,
    /// The prior of the training data.
    pub training: Prior,
    /// How many rows there are.
    pub rows: u64,
    /// How many of them the shares were estimated from.
    pub used: usize,
    /// How many labelled rows corrected the shares; 0 if there were none.
    pub labelled: usize,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// What a person should know.
    pub remarks: Vec<Remark>,
}

/// Estimates the shares of a model's classes among rows; `labelled` are rows with labels that the model was not
/// fitted on.
pub fn adapt_prior(
    model: &Model,
    input: &dyn Input,
    labelled: Option<&dyn Input>,
    request: &Adapting,
) -> Result<Adapted> {
    let classes = model.schema().classes();
    let mut remarks = Vec::new();
    let (map, scores) = match (labelled, model) {
        (Some(rows), _) => by_labelled(model, rows, request, &mut remarks)?,
        (None, Model::Calibrated(calibrated)) => {
            let scores = calibrated.calibrated_scores()?;
            remarks.push(match calibrated.scores() {
                None => Remark::note(
                    "the model has not kept the scores of its calibration: the intervals take the calibration for \
                     exact. Give §labelled, or calibrate the model again",
                ),
                Some(held) if (1..20).contains(&held.folds()) => Remark::note(format!(
                    "the shares are corrected by scores from {} folds, by models of fewer rows than this one: where \
                     more rows make it much better they are a little off. Fit with §folds=20, or give §labelled",
                    held.folds()
                )),
                Some(_) => Remark::note("the shares are corrected by the scores of the calibration"),
            });
            (None, scores)
        }
        (None, _) => {
            remarks.push(Remark::warning(
                "the model is not calibrated: shares and intervals are right only if its evidence is. \
                 Give §labelled, or fit the model with §calibrate=logistic",
            ));
            (None, None)
        }
    };
    let mut sample = Sample::new(classes.len(), request.memory);
    input.map_in_order(
        |batch| Ok((model.evidence(batch)?, weights_of(batch))),
        |(evidence, weights)| sample.add(&evidence, weights.as_deref()),
    )?;
    remarks.extend(crate::evaluation::unseen(input));
    let (rows, used) = (sample.rows, sample.hashes.len());
    if (used as u64) < rows {
        remarks.push(Remark::note(format!("the shares are those of {used} rows, drawn from all {rows}")));
    }
    let mut evidence = Evidence::new(classes.len(), sample.values)?;
    if let Some(map) = map {
        evidence = map.apply(&evidence)?;
    }
    let estimate = proportions::estimate(&evidence, Some(&sample.weights), scores.as_ref(), request.confidence)?;
    if estimate.impossible > 0 {
        remarks.push(Remark::warning(format!(
            "rows impossible under every class: {}; they are left out",
            estimate.impossible
        )));
    }
    Ok(Adapted {
        classes: classes.to_vec(),
        estimate,
        training: model.empirical().clone(),
        rows,
        used,
        labelled: scores.as_ref().map_or(0, Scored::rows),
        confidence: request.confidence,
        remarks,
    })
}

/// The calibration that labelled rows teach, and their scores by it.
fn by_labelled(
    model: &Model,
    rows: &dyn Input,
    request: &Adapting,
    remarks: &mut Vec<Remark>,
) -> Result<(Option<deciban::calibrate::Calibration>, Option<Scored>)> {
    let classes = model.schema().classes();
    let costs = deciban::decision::Costs::zero_one(classes);
    let collected =
        collect(rows, classes, model.prior(), &costs, Keeping::All(request.memory), |x| model.evidence(x), None)?;
    remarks.extend(crate::evaluation::unseen(rows));
    let Some(scored) = collected.rows else {
        return Err(Error::parameter("labelled", "the scores of so many rows do not fit in memory: give fewer"));
    };
    let counts = |class: u32| scored.truth().iter().filter(|k| **k == class).count();
    if let Some((_, name)) = (0..).zip(classes).find(|(class, _)| counts(*class) < 2) {
        return Err(Error::parameter("labelled", format!("class `{name}` has fewer than 2 rows there")));
    }
    let calibrator = Calibrator { method: Method::Logistic, ..Calibrator::default() };
    let map = match calibrator.fit(scored.evidence(), scored.truth(), Some(scored.weights()), classes) {
        Ok(map) => map,
        // Without errors there is no scale to learn, and none is needed.
        Err(_) => return Ok((None, Some(scored))),
    };
    let mut mapped = Scored::new(classes.len())?;
    mapped.append(&map.apply(scored.evidence())?, scored.truth(), Some(scored.weights()))?;
    Ok((Some(map), Some(mapped)))
}

fn weights_of(batch: &Batch<'_>) -> Option<Vec<f64>> {
    batch.row_weights().map(<[f64]>::to_vec)
}

/// Evidence of rows; where they are too many, of a part of them that depends on the rows' places alone.
struct Sample {
    classes: usize,
    most: usize,
    /// Rows whose hash is above it are not in.
    limit: u64,
    hashes: Vec<u64>,
    values: Vec<f64>,
    weights: Vec<f64>,
    rows: u64,
}

impl Sample {
    fn new(classes: usize, memory: usize) -> Self {
        let most = (memory / (8 * classes + 16)).max(1000);
        let (hashes, values, weights) = (Vec::new(), Vec::new(), Vec::new());
        Sample { classes, most, limit: u64::MAX, hashes, values, weights, rows: 0 }
    }

    fn add(&mut self, evidence: &Evidence, weights: Option<&[f64]>) -> Result<()> {
        for row in 0..evidence.rows() {
            let hash = hash(0, self.rows);
            self.rows += 1;
            if hash <= self.limit {
                self.hashes.push(hash);
                self.values.extend_from_slice(evidence.row(row));
                self.weights.push(weights.map_or(1.0, |w| w[row]));
            }
            if self.hashes.len() > self.most {
                self.halve();
            }
        }
        Ok(())
    }

    fn halve(&mut self) {
        self.limit /= 2;
        let kept: Vec<usize> = (0..self.hashes.len()).filter(|&i| self.hashes[i] <= self.limit).collect();
        self.values =
            kept.iter().flat_map(|&i| self.values[i * self.classes..(i + 1) * self.classes].to_vec()).collect();
        self.weights = kept.iter().map(|&i| self.weights[i]).collect();
        self.hashes = kept.iter().map(|&i| self.hashes[i]).collect();
    }
}

impl Adapted {
    /// The shares as a prior. One row more, spread over all classes, keeps each of them possible.
    pub fn prior(&self) -> Result<Prior> {
        let (n, classes) = (self.used as f64, self.classes.len() as f64);
        Prior::from_weights(&self.estimate.shares.iter().map(|share| n * share + 1.0 / classes).collect::<Vec<_>>())
    }

    /// For people.
    pub fn text(&self) -> String {
        let confidence = format!("{} % from", number(100.0 * self.confidence, 4));
        let mut table = Table::new(["class", "share", &confidence, "to", "training data"]);
        for (k, class) in self.classes.iter().enumerate() {
            let Interval { low, high } = self.estimate.intervals[k];
            let shares = [self.estimate.shares[k], low, high, self.training.probabilities()[k]].map(percent);
            table.row([class.clone()].into_iter().chain(shares));
        }
        table.to_string()
    }

    /// For programs.
    pub fn json(&self) -> Result<Value> {
        let prior = self.prior()?;
        let class = |(k, class): (usize, &String)| {
            let Interval { low, high } = self.estimate.intervals[k];
            json!({ "class": class, "share": numbers::number(self.estimate.shares[k]), "low": low, "high": high,
                    "maximum_likelihood": self.estimate.maximum_likelihood[k],
                    "training": self.training.probabilities()[k], "prior": prior.probabilities()[k] })
        };
        let classes: Vec<Value> = self.classes.iter().enumerate().map(class).collect();
        Ok(json!({ "rows": self.rows, "used": self.used, "impossible": self.estimate.impossible,
                   "labelled": self.labelled, "confidence": self.confidence, "classes": classes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_too_many_rows_is_even() {
        let mut sample = Sample::new(2, 0);
        for start in (0..100_000).step_by(1000) {
            let values = (start..start + 1000).flat_map(|i| [0.0, f64::from(i)]).collect();
            sample.add(&Evidence::new(2, values).unwrap(), None).unwrap();
        }
        assert!(sample.rows == 100_000 && (400..=1000).contains(&sample.hashes.len()), "{}", sample.hashes.len());
        let mean = sample.values.iter().sum::<f64>() / sample.hashes.len() as f64;
        assert!((mean / 50_000.0 - 1.0).abs() < 0.1, "{mean}");
    }
}
