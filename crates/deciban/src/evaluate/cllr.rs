//! Cllr, the cost of log-likelihood ratios in bits, and what of it better calibration would save.
//!
//! ```text
//! Cllr = ½ [ mean over targets of log₂(1 + e^−LLR) + mean over others of log₂(1 + e^LLR) ]
//! Cllr = 1/K Σₖ mean over rows of class k of −log₂ p(k | x),   p under a flat prior
//! ```
//!
//! The second form is for K classes and equals the first for two (Brümmer & du Preez 2006). 0 is
//! perfect, log₂ K what no evidence at all would cost. Classes count alike however many rows they
//! have, so Cllr does not depend on their shares in the data.
//!
//! min Cllr is that of the best calibration on the same rows: for two classes the best rising map of
//! the LLR ([pools](Trials::pools)). Cllr − min Cllr is what calibration costs, min Cllr what the
//! lack of discrimination costs.

use std::f64::consts::LN_2;
use std::ops::Range;

use rayon::prelude::*;

use super::trials::{Trials, check_llrs, check_weights};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::numerics::{lanes, vectorised};

/// Cllr in bits of LLRs as they come: as [`Trials::cllr`], in one pass and without sorting.
///
/// ```
/// use deciban::evaluate::cllr;
/// // No information: log₂(1 + e⁰) for either class.
/// assert_eq!(cllr(&[0.0, 0.0], &[true, false], None)?, 1.0);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn cllr(llr: &[f64], y: &[bool], weights: Option<&[f64]>) -> Result<f64> {
    Error::check_shape("labels", llr.len(), y.len())?;
    let found = match weights {
        None => mean_cost(llr.len(), |i| Point::of(llr[i], y[i], 1.0)),
        Some(weights) => {
            check_weights(weights, y.len())?;
            mean_cost(llr.len(), |i| Point::of(llr[i], y[i], weights[i]))
        }
    };
    if found.is_nan() {
        // Either a class has no rows, or an LLR is NaN.
        check_llrs(llr)?;
    }
    Ok(found)
}

impl Trials {
    /// Cllr in bits.
    ///
    /// ```
    /// use deciban::evaluate::Trials;
    /// // Likelihood ratios of 3 for two targets and 1/3 for two others: log₂(4/3).
    /// let ln3 = 3f64.ln();
    /// let trials = Trials::new(&[ln3, ln3, -ln3, -ln3], &[true, true, false, false], None)?;
    /// assert!((trials.cllr() - 0.4150374992788437).abs() < 1e-15);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn cllr(&self) -> f64 {
        mean_cost(self.llr.len(), |i| Point { llr: self.llr[i], target: self.target[i], other: self.other[i] })
    }

    /// The least Cllr that a rising map of the LLRs can have, in bits.
    pub fn min_cllr(&self) -> f64 {
        // What is best up to rounding is not above what there is.
        let pools = self.pools();
        let point = |i: usize| Point { llr: pools[i].llr, target: pools[i].target, other: pools[i].other };
        mean_cost(pools.len(), point).min(self.cllr())
    }
}

/// The weights of targets and of others at an LLR.
struct Point {
    llr: f64,
    target: f64,
    other: f64,
}

impl Point {
    #[inline(always)]
    fn of(llr: f64, is_target: bool, weight: f64) -> Self {
        // A branch would be foreseen for half of the rows only.
        let target = f64::from(u8::from(is_target));
        Point { llr, target: weight * target, other: weight * (1.0 - target) }
    }
}

/// The losses of others and of targets, then their weights.
type Sums = [f64; 4];

/// Cllr of so many points. Parts of them are summed side by side and added in their order, so that the bits do not
/// depend on the number of threads.
fn mean_cost(points: usize, point: impl Fn(usize) -> Point + Sync) -> f64 {
    const PART: usize = 1 << 14;
    let part = |p: usize| vectorised!(sums(p * PART..points.min((p + 1) * PART), &point));
    let parts: Vec<Sums> = match points <= PART {
        true => vec![part(0)],
        false => (0..points.div_ceil(PART)).into_par_iter().map(part).collect(),
    };
    let [other, target, others, targets] = parts.iter().fold([0.0; 4], |a, b| std::array::from_fn(|k| a[k] + b[k]));
    0.5 * (other / others + target / targets) / LN_2
}

/// The sums of some points. A strip of them is gathered first, so that the formulas run in lanes.
#[inline(always)]
fn sums(points: Range<usize>, point: impl Fn(usize) -> Point) -> Sums {
    const STRIP: usize = 256;
    let (mut strip, mut sums) = ([[0.0; STRIP]; 3], [[0.0; STRIP]; 4]);
    for start in points.clone().step_by(STRIP) {
        let length = STRIP.min(points.end - start);
        for i in 0..length {
            let Point { llr, target, other } = point(start + i);
            (strip[0][i], strip[1][i], strip[2][i]) = (llr, target, other);
        }
        let [llrs, targets, others] = &strip;
        let [other_losses, target_losses, other_weights, target_weights] = &mut sums;
        let losses = other_losses.iter_mut().zip(target_losses);
        let weights = other_weights.iter_mut().zip(target_weights);
        let rows = llrs[..length].iter().zip(targets).zip(others);
        for ((((x, target), other), losses), weights) in rows.zip(losses).zip(weights) {
            // ln(1 + eᶻ) = max(z, 0) + ln(1 + e^−|z|), for both signs of the LLR.
            let tail = lanes::ln_1p(lanes::exp(-x.abs()));
            let (above, below) = (if *x > 0.0 { *x } else { 0.0 }, if *x < 0.0 { -x } else { 0.0 });
            // 0 · ∞ is 0 here, and NaN stays NaN.
            *losses.0 += if *other > 0.0 || x.is_nan() { other * (above + tail) } else { 0.0 };
            *losses.1 += if *target > 0.0 { target * (below + tail) } else { 0.0 };
            *weights.0 += other;
            *weights.1 += target;
        }
    }
    sums.map(|strip| strip.iter().sum())
}

/// Cllr of any number of classes, additive over rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Cllr {
    pub(super) loss: Vec<f64>,
    pub(super) weight: Vec<f64>,
}

impl Cllr {
    /// No rows yet.
    pub fn new(classes: usize) -> Self {
        Cllr { loss: vec![0.0; classes], weight: vec![0.0; classes] }
    }

    /// Adds rows with their true classes. Where every class is impossible the row says nothing, and its
    /// loss is ln K.
    pub fn observe(&mut self, evidence: &Evidence, truth: &[u32], weights: Option<&[f64]>) -> Result<()> {
        Error::check_shape("labels", evidence.rows(), truth.len())?;
        Error::check_shape("classes", self.loss.len(), evidence.classes())?;
        for (row, &class) in truth.iter().enumerate() {
            if class as usize >= self.loss.len() {
                return Err(Error::Classes(format!("row {}: the class is not one the model knows", row + 1)));
            }
            self.add(class as usize, flat_loss(evidence.row(row), class as usize), weights.map_or(1.0, |w| w[row]));
        }
        Ok(())
    }

    /// Adds a row with a [`flat_loss`].
    pub(crate) fn add(&mut self, class: usize, loss: f64, weight: f64) {
        if weight > 0.0 {
            self.loss[class] += weight * loss;
            self.weight[class] += weight;
        }
    }

    /// Adds the rows of another with the same classes.
    pub fn merge(&mut self, other: &Cllr) {
        self.loss.iter_mut().zip(&other.loss).for_each(|(a, b)| *a += b);
        self.weight.iter_mut().zip(&other.weight).for_each(|(a, b)| *a += b);
    }

    /// Cllr in bits; NaN unless every class has rows.
    pub fn bits(&self) -> f64 {
        let mean: f64 = self.loss.iter().zip(&self.weight).map(|(l, w)| l / w).sum();
        mean / self.loss.len() as f64 / LN_2
    }
}

/// −ln p(class | row) under a flat prior, in nats.
pub(crate) fn flat_loss(evidence: &[f64], class: usize) -> f64 {
    let most = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match most == f64::NEG_INFINITY {
        true => (evidence.len() as f64).ln(),
        false => evidence.iter().map(|e| (e - most).exp()).sum::<f64>().ln() + (most - evidence[class]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::{Random, softplus};

    fn of(targets: &[f64], others: &[f64]) -> Trials {
        let y: Vec<bool> = targets.iter().map(|_| true).chain(others.iter().map(|_| false)).collect();
        let llr: Vec<f64> = targets.iter().chain(others).map(|lr: &f64| lr.ln()).collect();
        Trials::new(&llr, &y, None).unwrap()
    }

    #[test]
    fn figures_of_the_literature() {
        // Likelihood ratios of targets and of others; the values are those of the package `lir`.
        let cases: [(&[f64], &[f64], f64); 8] = [
            (&[1.0, 1.0], &[1.0, 1.0], 1.0),
            (&[1.0 / 3.0, 1.0 / 3.0], &[3.0, 3.0], 2.0),
            (&[3.0, 3.0], &[1.0 / 3.0, 1.0 / 3.0], 0.4150374992788437),
            (&[1.0, 1.0], &[1.0 / 3.0, 1.0 / 3.0], 0.7075187496394219),
            (&[1.0], &[0.01], 0.507177646488535),
            // ½ [½ (log₂(4/3) + log₂ 4) + log₂(3/2)]
            (&[3.0, 1.0 / 3.0], &[0.5], 0.5 * (0.5 * ((4f64 / 3.0).log2() + 2.0) + 1.5f64.log2())),
            (&[f64::INFINITY], &[0.0], 0.0),
            (&[0.0, 1.0], &[0.5], f64::INFINITY),
        ];
        for (targets, others, expected) in cases {
            let found = of(targets, others).cllr();
            assert!(found == expected || (found - expected).abs() < 1e-15, "{targets:?}: {found}, not {expected}");
        }
    }

    #[test]
    fn the_minimum_of_pools_by_hand() {
        // Pools −∞: one other; 0 (t = 1, n = 1); ∞: one target.
        let trials = of(&[1.0, 4.0], &[0.5, 2.0]);
        assert!((trials.min_cllr() - 0.5).abs() < 1e-15);
        assert!(trials.cllr() > trials.min_cllr());
        assert_eq!(of(&[3.0, 3.0], &[1.0 / 3.0, 1.0 / 3.0]).min_cllr(), 0.0);
        assert_eq!((of(&[1.0], &[1.0]).min_cllr(), of(&[0.1], &[10.0]).min_cllr()), (1.0, 1.0));
        assert!(of(&[1.0], &[]).cllr().is_nan() && of(&[1.0], &[]).min_cllr().is_nan());
        // A rising map changes the actual cost and not the minimum.
        let mut random = Random::new(1);
        let mut draw = |at: f64| (0..300).map(|_| (random.normal() + at).exp()).collect::<Vec<f64>>();
        let (a, b) = (draw(0.7), draw(-0.7));
        let cube = |x: &[f64]| x.iter().map(|lr| lr.powi(3) * 5.0).collect::<Vec<f64>>();
        let (plain, mapped) = (of(&a, &b), of(&cube(&a), &cube(&b)));
        assert!((plain.min_cllr() - mapped.min_cllr()).abs() < 1e-14 && mapped.cllr() > plain.cllr() + 0.1);
    }

    #[test]
    fn rows_as_they_come_cost_what_sorted_ones_do() {
        let mut random = Random::new(3);
        let rows = 50_003;
        let y: Vec<bool> = (0..rows).map(|_| random.uniform() < 0.3).collect();
        let mut llr: Vec<f64> = y.iter().map(|&t| 3.0 * random.normal() + if t { 1.0 } else { -1.0 }).collect();
        // Far out, the loss is the LLR itself.
        (llr[7], llr[8]) = (900.0, -900.0);
        let weights: Vec<f64> = (0..rows).map(|_| random.below(3) as f64).collect();
        for weights in [None, Some(&weights[..])] {
            let (found, sorted) = (cllr(&llr, &y, weights).unwrap(), Trials::new(&llr, &y, weights).unwrap().cllr());
            let exact = [false, true].map(|class| {
                let w = |i: usize| if y[i] == class { weights.map_or(1.0, |w| w[i]) } else { 0.0 };
                let z = |i: usize| if class { -llr[i] } else { llr[i] };
                let loss: f64 = (0..rows).map(|i| w(i) * softplus(z(i))).sum();
                loss / (0..rows).map(w).sum::<f64>() / LN_2
            });
            let exact = 0.5 * (exact[0] + exact[1]);
            assert!((found - exact).abs() < 1e-12 * exact && (sorted - exact).abs() < 1e-12 * exact, "{found} {exact}");
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(alone.install(|| cllr(&llr, &y, weights).unwrap()).to_bits(), found.to_bits());
        }
    }

    #[test]
    fn rows_without_a_cost_are_refused_or_have_none() {
        let infinite = [f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!(cllr(&infinite, &[true, false], None).unwrap(), 0.0);
        assert_eq!(cllr(&infinite, &[false, true], None).unwrap(), f64::INFINITY);
        // A row of weight 0 is not there, whatever it would cost.
        let three = [f64::NEG_INFINITY, 0.0, 0.0];
        assert_eq!(cllr(&three, &[true, true, false], Some(&[0.0, 1.0, 1.0])).unwrap(), 1.0);
        assert!(cllr(&[1.0], &[true], None).unwrap().is_nan() && cllr(&[], &[], None).unwrap().is_nan());
        let said = |e: Result<f64>| e.unwrap_err().to_string();
        for weights in [None, Some(&[1.0, 0.0][..])] {
            assert_eq!(said(cllr(&[0.0, f64::NAN], &[true, false], weights)), "row 2: the LLR is NaN");
        }
        assert_eq!(said(cllr(&[0.0], &[true, false], None)), "labels: expected 1, found 2");
        assert_eq!(said(cllr(&[0.0], &[true], Some(&[]))), "weights: expected 1, found 0");
    }

    #[test]
    fn two_classes_of_many() {
        let mut random = Random::new(2);
        let truth: Vec<u32> = (0..200).map(|_| u32::from(random.uniform() < 0.2)).collect();
        let llr: Vec<f64> = truth.iter().map(|&k| random.normal() + f64::from(k)).collect();
        let weights: Vec<f64> = (0..200).map(|_| random.below(3) as f64).collect();
        let y: Vec<bool> = truth.iter().map(|&k| k == 1).collect();
        let values = llr.iter().flat_map(|x| [7.0, 7.0 + x]).collect();
        let mut all = Cllr::new(2);
        all.observe(&Evidence::new(2, values).unwrap(), &truth, Some(&weights)).unwrap();
        let trials = Trials::new(&llr, &y, Some(&weights)).unwrap();
        assert!((all.bits() - trials.cllr()).abs() < 1e-14);
        // Nothing known about three classes.
        let mut flat = Cllr::new(3);
        let nothing = [[0.0; 3], [f64::NEG_INFINITY; 3], [-5.0; 3]].concat();
        flat.observe(&Evidence::new(3, nothing).unwrap(), &[0, 1, 2], None).unwrap();
        assert!((flat.bits() - 3f64.log2()).abs() < 1e-15);
        let mut absent = Cllr::new(3);
        absent.observe(&Evidence::new(3, vec![0.0; 3]).unwrap(), &[0], None).unwrap();
        assert!(absent.bits().is_nan());
        assert!(absent.observe(&Evidence::new(3, vec![0.0; 3]).unwrap(), &[3], None).is_err());
    }
}
