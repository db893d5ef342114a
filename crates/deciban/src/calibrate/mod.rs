//! Calibration: maps evidence to evidence that means what it says, learned on rows that the model has
//! not been fitted on.
//!
//! | method | map | classes | learned |
//! |---|---|---|---|
//! | [`Affine`] `logistic` | aeₖ + bₖ | any | a and b |
//! | [`Affine`] `temperature` | aeₖ | any | a |
//! | [`Steps`] `pav` | any rising one | two | as many steps as the rows tell apart |
//! | [`Beta`] `beta` | bent apart at the ends | two | three numbers |
//! | [`OneVersusRest`] | `pav` or `beta` of each class against the rest | more | one of these for each class |
//!
//! All give evidence: whatever prior the fit favours is taken out again, and another one may be plugged
//! in afterwards. Of two classes they do not change which of two rows has more evidence for a class (but
//! for ties), so AUC and min Cllr stay.

mod softmax;
mod rows;
mod bound;
mod affine;
mod beta;
mod steps;
mod rest;
mod partial;
mod scores;
mod conformal;

pub use affine::Affine;
pub(crate) use affine::least_loss;
pub use beta::Beta;
pub use bound::{BOUNDS, bound};
pub use conformal::{Conformity, conformal};
pub use partial::{Share, count_cells};
pub use rest::{LlrMap, OneVersusRest};
pub(crate) use rows::Without;
pub use rows::{Held, Piece, Rescored, ScoredRows, Slice, cllr, count, min_cllr};
pub use scores::HeldScores;
pub use steps::Steps;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::evaluate::check_weights;
use crate::evidence::Evidence;
use crate::file::{Archive, Stored};
use crate::posterior::Prior;

/// The kinds of maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// A line for the LLR; of many classes one scale and a bias each.
    #[default]
    Logistic,
    /// Pool adjacent violators.
    Pav,
    /// One scale.
    Temperature,
    /// Beta calibration.
    Beta,
}

impl Method {
    /// All methods, by the names of the command line.
    pub const ALL: [(&'static str, Method); 4] = [
        ("logistic", Method::Logistic),
        ("pav", Method::Pav),
        ("temperature", Method::Temperature),
        ("beta", Method::Beta),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        // Every method is in the list.
        Method::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// How a calibration is learned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibrator {
    /// The kind of map.
    pub method: Method,
    /// The prior at which it should be best; flat by default. PAV is best at every prior.
    pub prior: Option<Prior>,
    /// Rows of every class that are added at random places; by default 1 for PAV and 0 for the others.
    pub pseudo_count: Option<f64>,
    /// Whether the evidence is bounded before an affine map, by one of [`BOUNDS`].
    pub bounded: bool,
}

/// A learned map from evidence to evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Calibration {
    /// Logistic and temperature.
    Affine(Affine),
    /// Pool adjacent violators.
    Steps(Steps),
    /// Beta calibration.
    Beta(Beta),
    /// One of the two before for each of more than two classes.
    OneVersusRest(OneVersusRest),
}

impl Calibrator {
    /// Learns the map from evidence, true classes and weights (1 by default) of rows. `classes` are names.
    ///
    /// ```
    /// use deciban::calibrate::{Calibration, Calibrator};
    /// use deciban::evidence::Evidence;
    /// // LLRs of ±2, right in three of four rows: they should be ±ln 3.
    /// let evidence = Evidence::new(2, [2.0, 2.0, 2.0, -2.0, -2.0, -2.0, -2.0, 2.0].iter().flat_map(|x| [0.0, *x]).collect())?;
    /// let classes = ["no".to_string(), "yes".to_string()];
    /// let map = Calibrator::default().fit(&evidence, &[1, 1, 1, 1, 0, 0, 0, 0], None, &classes)?;
    /// let Calibration::Affine(line) = &map else { panic!() };
    /// assert!((line.scale - 3f64.ln() / 2.0).abs() < 1e-9 && line.bias[1].abs() < 1e-9);
    /// assert!((map.apply(&evidence)?.llr(0, 1) - 3f64.ln()).abs() < 1e-9);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn fit(
        &self,
        evidence: &Evidence,
        truth: &[u32],
        weights: Option<&[f64]>,
        classes: &[String],
    ) -> Result<Calibration> {
        self.fit_from(evidence, truth, weights, classes, None)
    }

    /// The same from a map of nearly the same rows, which makes it quicker.
    pub(crate) fn fit_from(
        &self,
        evidence: &Evidence,
        truth: &[u32],
        weights: Option<&[f64]>,
        classes: &[String],
        start: Option<&Calibration>,
    ) -> Result<Calibration> {
        self.check(evidence, truth, weights, classes)?;
        let ones: Vec<f64>;
        let all = match weights {
            Some(weights) => weights,
            None => {
                ones = vec![1.0; truth.len()];
                &ones
            }
        };
        if self.bounded && matches!(self.method, Method::Logistic | Method::Temperature) {
            return self.bounded_affine(evidence, (truth, all), classes, start).map(Calibration::Affine);
        }
        if let Some(affine) = self.affine(&Held::new(evidence, truth, all), classes, start) {
            return affine;
        }
        let (prior, pseudo_count) = self.terms(classes);
        let llr = || (0..evidence.rows()).map(|i| evidence.llr(i, 1)).collect::<Vec<f64>>();
        Ok(match self.method {
            Method::Pav if classes.len() > 2 => {
                let fit = |_, llr: &[f64], target: &[bool], weights: &[f64]| {
                    Steps::fit(llr, target, Some(weights), pseudo_count).map(LlrMap::Steps)
                };
                Calibration::OneVersusRest(OneVersusRest::fit(evidence, truth, weights, fit)?)
            }
            Method::Beta if classes.len() > 2 => {
                let fit = |k: usize, llr: &[f64], target: &[bool], weights: &[f64]| {
                    let truth: Vec<u32> = target.iter().map(|target| u32::from(*target)).collect();
                    let own = prior.probabilities()[k];
                    Beta::fit(llr, &truth, Some(weights), &[1.0 - own, own], pseudo_count).map(LlrMap::Beta)
                };
                Calibration::OneVersusRest(OneVersusRest::fit(evidence, truth, weights, fit)?)
            }
            Method::Pav => {
                let target: Vec<bool> = truth.iter().map(|k| *k == 1).collect();
                Calibration::Steps(Steps::fit(&llr(), &target, weights, pseudo_count)?)
            }
            _ => Calibration::Beta(Beta::fit(&llr(), truth, weights, prior.probabilities(), pseudo_count)?),
        })
    }

    /// Learns the map from rows that are visited several times, a few at a time, so that their evidence need not
    /// be in memory: logistic and temperature only. A map of nearly the same rows makes a good `start`.
    pub fn fit_rows(
        &self,
        rows: &impl ScoredRows,
        classes: &[String],
        start: Option<&Calibration>,
    ) -> Result<Calibration> {
        Error::check_shape("classes", rows.classes(), classes.len())?;
        self.check_terms(classes)?;
        self.affine(rows, classes, start).unwrap_or_else(|| {
            let message = format!(
                "{} needs the evidence of all rows in memory, which is too large: give §memory for more, or calibrate \
                 by logistic or temperature",
                self.method.name()
            );
            Err(Error::parameter("memory", message))
        })
    }

    /// The affine map behind the bound that leaves the least loss, or nearly: of those that cost no more than 10⁻⁴
    /// nats a row the largest, for rows that are still to come may be wilder than these. The bounds are tried from
    /// the smallest up, until two in a row gain nothing.
    fn bounded_affine(
        &self,
        evidence: &Evidence,
        (truth, weights): (&[u32], &[f64]),
        classes: &[String],
        start: Option<&Calibration>,
    ) -> Result<Affine> {
        const GAIN: f64 = 1e-6;
        const COST: f64 = 1e-4;
        let (prior, pseudo_count) = self.terms(classes);
        let mut start = match start {
            Some(Calibration::Affine(map)) => Some(map.clone()),
            _ => None,
        };
        let (mut tried, mut least): (Vec<(Affine, f64)>, f64) = (Vec::new(), f64::INFINITY);
        let (mut first_error, mut idle) = (None, 0);
        for epsilon in BOUNDS {
            let evidence = bound::bounded(evidence, epsilon)?;
            let rows = Held::new(&evidence, truth, weights);
            let biased = self.method == Method::Logistic;
            match Affine::fit_with_loss(&rows, classes, (&prior, pseudo_count), biased, start.as_ref()) {
                Ok((map, loss)) => {
                    let map = Affine { bound: epsilon, ..map };
                    start = Some(map.clone());
                    idle = if loss > least - GAIN { idle + 1 } else { 0 };
                    least = least.min(loss);
                    tried.push((map, loss));
                }
                Err(error) => {
                    // Rows that are apart stay so behind any bound.
                    if matches!(error, Error::Parameter { .. }) {
                        return Err(error);
                    }
                    first_error.get_or_insert(error);
                }
            }
            if idle == 2 {
                break;
            }
        }
        match (tried.into_iter().rev().find(|(_, loss)| *loss <= least + COST), first_error) {
            (Some((map, _)), _) => Ok(map),
            (None, error) => Err(error.unwrap_or_else(|| Error::Classes("there is nothing to calibrate".into()))),
        }
    }

    /// The affine map, if that is the method.
    fn affine(
        &self,
        rows: &impl ScoredRows,
        classes: &[String],
        start: Option<&Calibration>,
    ) -> Option<Result<Calibration>> {
        let biased = match self.method {
            Method::Logistic => true,
            Method::Temperature => false,
            Method::Pav | Method::Beta => return None,
        };
        let start = match start {
            Some(Calibration::Affine(map)) => Some(map),
            _ => None,
        };
        let (prior, pseudo_count) = self.terms(classes);
        Some(Affine::fit(rows, classes, (&prior, pseudo_count), biased, start).map(Calibration::Affine))
    }

    /// The prior and the pseudo-count, which have defaults.
    fn terms(&self, classes: &[String]) -> (Prior, f64) {
        let prior = self.prior.clone().unwrap_or_else(|| Prior::uniform(classes.len()));
        let default = if self.method == Method::Pav { 1.0 } else { 0.0 };
        (prior, self.pseudo_count.unwrap_or(default))
    }

    fn check(&self, evidence: &Evidence, truth: &[u32], weights: Option<&[f64]>, classes: &[String]) -> Result<()> {
        Error::check_shape("labels", evidence.rows(), truth.len())?;
        Error::check_shape("classes", evidence.classes(), classes.len())?;
        if let Some(weights) = weights {
            check_weights(weights, truth.len())?;
        }
        self.check_terms(classes)?;
        if let Some(row) = truth.iter().position(|k| *k as usize >= classes.len()) {
            return Err(Error::Classes(format!("row {}: the class is not one the model knows", row + 1)));
        }
        let mut has_rows = vec![false; classes.len()];
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        truth.iter().enumerate().for_each(|(i, k)| has_rows[*k as usize] |= weight(i) > 0.0);
        match has_rows.iter().position(|has| !has) {
            Some(k) => Err(Error::Classes(format!("class `{}` has no rows to calibrate with", classes[k]))),
            None => Ok(()),
        }
    }

    fn check_terms(&self, classes: &[String]) -> Result<()> {
        if let Some(a) = self.pseudo_count.filter(|a| !(a.is_finite() && *a >= 0.0)) {
            return Err(Error::parameter("pseudo_count", format!("{a} is not a finite number of at least 0")));
        }
        if let Some(prior) = &self.prior {
            Error::check_shape("classes of the prior", classes.len(), prior.classes())?;
            if let Some(k) = prior.probabilities().iter().position(|p| *p == 0.0) {
                return Err(Error::Prior(format!("class `{}` has 0: calibration needs them all", classes[k])));
            }
        }
        Ok(())
    }
}

impl Calibration {
    /// A map that bounds the evidence for so many classes, and changes nothing else.
    pub fn of_bound(bound: f64, classes: usize) -> Self {
        Calibration::Affine(Affine { bound, scale: 1.0, bias: vec![0.0; classes] })
    }

    /// The same map behind a bound that is no smaller than this one. Steps and beta maps have no bound.
    pub fn with_bound(mut self, bound: f64) -> Self {
        if let Calibration::Affine(map) = &mut self {
            map.bound = map.bound.max(bound);
        }
        self
    }

    /// Calibrated evidence of whole rows. Rows that are impossible under every class stay so.
    pub fn apply(&self, evidence: &Evidence) -> Result<Evidence> {
        self.apply_shares(evidence, |_| Share::WHOLE)
    }

    /// Calibrated evidence, where each row has its [`Share`] of the map.
    pub fn apply_shares(&self, evidence: &Evidence, share: impl Fn(usize) -> Share + Sync) -> Result<Evidence> {
        let classes = evidence.classes();
        Error::check_shape("classes of the evidence", self.classes().unwrap_or(classes), classes)?;
        let mut values = evidence.values().to_vec();
        self.apply_in_place(&mut values, classes, share);
        Evidence::new(classes, values)
    }

    /// Calibrates evidence of as many classes as the map has, row after row; few rows on the caller's thread, before
    /// another would have woken.
    pub(crate) fn apply_in_place(&self, values: &mut [f64], classes: usize, share: impl Fn(usize) -> Share + Sync) {
        const CHUNK: usize = 1024;
        let apply = |(chunk, values): (usize, &mut [f64])| {
            for (i, row) in values.chunks_exact_mut(classes).enumerate() {
                self.apply_row(row, share(chunk * CHUNK + i));
            }
        };
        match values.len() <= CHUNK * classes {
            true => apply((0, values)),
            false => values.par_chunks_mut(CHUNK * classes).enumerate().for_each(apply),
        }
    }

    /// Calibrates the evidence of one row.
    pub(crate) fn apply_row(&self, row: &mut [f64], share: Share) {
        if share.offset == 0.0 {
            // Without a cell there is no evidence, whatever an average row would say.
            row.fill(0.0);
            return;
        }
        let is_bounded = matches!(self, Calibration::Affine(affine) if affine.bound > 0.0);
        if !is_bounded && row.iter().all(|e| *e == f64::NEG_INFINITY) {
            return;
        }
        let llr = row[row.len() - 1] - row[0];
        let llr = match self {
            Calibration::Affine(affine) => return affine.apply(row, share),
            Calibration::OneVersusRest(rest) => return rest.apply(row, share),
            Calibration::Steps(steps) => share.of_llr(llr, steps.apply(llr), steps.apply(0.0)),
            Calibration::Beta(beta) => share.of_llr(llr, beta.apply(llr), beta.apply(0.0)),
        };
        // Never above 0, so that an infinite LLR is an impossible class.
        row.copy_from_slice(&[f64::min(0.0, -llr), f64::min(0.0, llr)]);
    }

    /// The evidence of a row as the bound leaves it, if there is one.
    pub(crate) fn bounded(&self, row: &[f64]) -> Option<Vec<f64>> {
        let Calibration::Affine(Affine { bound: epsilon @ f64::MIN_POSITIVE.., .. }) = self else { return None };
        let mut row = row.to_vec();
        bound(&mut row, *epsilon);
        Some(row)
    }

    /// By how much what a feature says is multiplied, so that calibrated evidence is the sum of what features
    /// say times this, plus a small rest: the slope of a line, of two classes that from LLR 0 to the row's, of more
    /// the one that fits best.
    pub(crate) fn slope(&self, before: &[f64], after: &[f64], share: Share) -> f64 {
        let slope = match self {
            Calibration::Affine(affine) => share.of_slope(affine.scale),
            Calibration::Steps(_) | Calibration::Beta(_) => {
                let g0 = match self {
                    Calibration::Steps(steps) => steps.apply(0.0),
                    Calibration::Beta(beta) => beta.apply(0.0),
                    _ => 0.0,
                };
                let g0 = if g0.is_finite() { g0 } else { 0.0 };
                (after[1] - after[0] - share.offset * g0) / (before[1] - before[0])
            }
            Calibration::OneVersusRest(_) => {
                let mean = |row: &[f64]| row.iter().sum::<f64>() / row.len() as f64;
                let (x, y) = (mean(before), mean(after));
                let product: f64 = before.iter().zip(after).map(|(a, b)| (a - x) * (b - y)).sum();
                product / before.iter().map(|a| (a - x) * (a - x)).sum::<f64>()
            }
        };
        if slope.is_finite() && slope >= 0.0 { slope } else { 1.0 }
    }

    /// How many classes it is for.
    pub(crate) fn classes(&self) -> Option<usize> {
        match self {
            Calibration::Affine(affine) => Some(affine.bias.len()),
            Calibration::Steps(_) | Calibration::Beta(_) => Some(2),
            Calibration::OneVersusRest(rest) => Some(rest.maps.len()),
        }
    }

    /// Whether more evidence stays more evidence; comparisons with NaN are false.
    fn rises(&self) -> bool {
        match self {
            Calibration::Affine(line) => {
                let sound = line.scale.is_finite() && line.bias.iter().all(|b| b.is_finite());
                sound && line.scale > 0.0 && (0.0..1.0).contains(&line.bound)
            }
            Calibration::Beta(beta) => beta.rises(),
            Calibration::Steps(steps) => steps.rises(),
            Calibration::OneVersusRest(OneVersusRest { maps }) => maps.len() > 2 && maps.iter().all(LlrMap::rises),
        }
    }

    /// The method that made it; temperature is a logistic one without bias.
    pub fn method(&self) -> Method {
        match self {
            Calibration::Affine(affine) if affine.bias.iter().all(|b| *b == 0.0) => Method::Temperature,
            Calibration::Affine(_) => Method::Logistic,
            Calibration::Steps(_) => Method::Pav,
            Calibration::Beta(_) => Method::Beta,
            Calibration::OneVersusRest(rest) => match rest.maps.first() {
                Some(LlrMap::Beta(_)) => Method::Beta,
                _ => Method::Pav,
            },
        }
    }
}

impl Stored for Calibration {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let kind = format!("{name}.kind");
        match self {
            Calibration::Affine(affine) => {
                archive.put_json(&kind, &"affine")?;
                archive.put_json(&format!("{name}.map"), affine)
            }
            Calibration::Beta(beta) => {
                archive.put_json(&kind, &"beta")?;
                archive.put_json(&format!("{name}.map"), beta)
            }
            Calibration::Steps(steps) => {
                archive.put_json(&kind, &"steps")?;
                archive.put_json(&format!("{name}.count"), &steps.pieces.len())?;
                archive.put(&format!("{name}.pieces"), &[steps.pieces.len(), 3], steps.pieces.as_flattened())
            }
            Calibration::OneVersusRest(OneVersusRest { maps }) => {
                archive.put_json(&kind, &"one-versus-rest")?;
                archive.put_json(&format!("{name}.count"), &maps.len())?;
                let plain = |map: &LlrMap| match map {
                    LlrMap::Steps(steps) => Calibration::Steps(steps.clone()),
                    LlrMap::Beta(beta) => Calibration::Beta(*beta),
                };
                let stored = |(k, map): (usize, &LlrMap)| plain(map).store(archive, &format!("{name}.class{k}"));
                maps.iter().enumerate().try_for_each(stored)
            }
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let kind: String = archive.json(&format!("{name}.kind"))?;
        let calibration = match kind.as_str() {
            "affine" => Calibration::Affine(archive.json(&format!("{name}.map"))?),
            "beta" => Calibration::Beta(archive.json(&format!("{name}.map"))?),
            "steps" => {
                let count: usize = archive.json(&format!("{name}.count"))?;
                let flat = archive.get(&format!("{name}.pieces"), &[count, 3])?;
                Calibration::Steps(Steps { pieces: flat.as_chunks::<3>().0.to_vec() })
            }
            "one-versus-rest" => {
                let count: usize = archive.json(&format!("{name}.count"))?;
                let map = |k: usize| {
                    let name = format!("{name}.class{k}");
                    // Before it is loaded: a chain of them must not be followed.
                    if !["beta", "steps"].contains(&archive.json::<String>(&format!("{name}.kind"))?.as_str()) {
                        return Err(archive.damaged("the map of a class is for two classes"));
                    }
                    match Calibration::load(archive, &name)? {
                        Calibration::Steps(steps) => Ok(LlrMap::Steps(steps)),
                        Calibration::Beta(beta) => Ok(LlrMap::Beta(beta)),
                        _ => Err(archive.damaged("the map of a class is for two classes")),
                    }
                };
                Calibration::OneVersusRest(OneVersusRest { maps: (0..count).map(map).collect::<Result<_>>()? })
            }
            other => return Err(archive.damaged(&format!("there is no calibration named `{other}`"))),
        };
        match calibration.rises() {
            true => Ok(calibration),
            false => Err(archive.damaged("the calibration is not a rising map")),
        }
    }
}
