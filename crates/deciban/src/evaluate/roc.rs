//! ROC and DET curves, the area under the ROC, equal error rates.
//!
//! Rows with an LLR of at least a threshold are taken for targets. As it rises, the miss rate
//! P_miss (targets below) grows from 0 to 1 and the false-alarm rate P_fa (others not below) falls
//! from 1 to 0.
//!
//! - AUC = P(LLR of a target > LLR of another row) + ½ P(equal);
//! - EER: where P_miss = P_fa, along the ROC, straight between thresholds;
//! - hull EER: the same along the ROC's convex hull, which is never higher. It is the largest error
//!   rate over all priors that the best threshold for each prior leaves (Brümmer & de Villiers 2013).

use super::trials::Trials;
use crate::numerics::normal_quantile;

/// The error rates of a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RocPoint {
    /// Rows with at least this LLR are taken for targets; ∞ in the last point of a curve, where none is.
    pub threshold: f64,
    /// The share of targets that are missed.
    pub miss: f64,
    /// The share of others that are taken for targets.
    pub false_alarm: f64,
}

/// A point of a DET curve: rates on the scale of normal quantiles, where two Gaussians of equal
/// variance make a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetPoint {
    /// Φ⁻¹(P_miss)
    pub miss: f64,
    /// Φ⁻¹(P_fa)
    pub false_alarm: f64,
}

impl Trials {
    /// The rates of every threshold that makes a difference; NaN for a class without rows.
    pub(super) fn thresholds(&self) -> Vec<RocPoint> {
        let (t, n) = self.totals();
        let (mut missed, mut refused) = (0.0, 0.0);
        let mut points = Vec::with_capacity(self.llr.len() + 1);
        for ((&threshold, t_i), n_i) in self.llr.iter().zip(&self.target).zip(&self.other) {
            points.push(RocPoint { threshold, miss: missed / t, false_alarm: (n - refused) / n });
            missed += t_i;
            refused += n_i;
        }
        // Totals are summed in the same order, so the curve ends in (1, 0) exactly.
        points.push(RocPoint { threshold: f64::INFINITY, miss: missed / t, false_alarm: (n - refused) / n });
        points
    }

    /// The ROC: its corners by rising threshold. Points inside a straight run along an axis are left
    /// out.
    pub fn roc(&self) -> Vec<RocPoint> {
        let all = self.thresholds();
        let straight = |i: usize| {
            let (a, b, c) = (&all[i - 1], &all[i], &all[i + 1]);
            (a.miss == b.miss && b.miss == c.miss) || (a.false_alarm == b.false_alarm && b.false_alarm == c.false_alarm)
        };
        let keep = |i: &usize| *i == 0 || *i + 1 == all.len() || !straight(*i);
        (0..all.len()).filter(keep).map(|i| all[i]).collect()
    }

    /// The corners of the ROC's convex hull by rising threshold: the ends of the
    /// [pools](Trials::pools).
    pub fn roc_hull(&self) -> Vec<RocPoint> {
        let pools = self.pools();
        let pooled = Trials {
            llr: pools.iter().map(|p| p.low).collect(),
            target: pools.iter().map(|p| p.target).collect(),
            other: pools.iter().map(|p| p.other).collect(),
        };
        pooled.thresholds()
    }

    /// The DET curve: the ROC where both rates are neither 0 nor 1.
    pub fn det(&self) -> Vec<DetPoint> {
        let inside = |p: f64| p > 0.0 && p < 1.0;
        let points = self.roc().into_iter().filter(|p| inside(p.miss) && inside(p.false_alarm));
        points
            .map(|p| DetPoint { miss: normal_quantile(p.miss), false_alarm: normal_quantile(p.false_alarm) })
            .collect()
    }

    /// The area under the ROC: the probability that a target has the larger LLR, ties counting half.
    pub fn auc(&self) -> f64 {
        let (t, n) = self.totals();
        let (mut below, mut pairs) = (0.0, 0.0);
        for (t_i, n_i) in self.target.iter().zip(&self.other) {
            pairs += t_i * (below + 0.5 * n_i);
            below += n_i;
        }
        pairs / t / n
    }

    /// The equal error rate along the ROC.
    pub fn eer(&self) -> f64 {
        equal_error_rate(&self.thresholds())
    }

    /// The equal error rate along the ROC's convex hull.
    pub fn hull_eer(&self) -> f64 {
        equal_error_rate(&self.roc_hull())
    }
}

/// Where the polygon through the points crosses P_miss = P_fa.
fn equal_error_rate(points: &[RocPoint]) -> f64 {
    let Some(i) = points.iter().position(|p| p.miss >= p.false_alarm) else { return f64::NAN };
    if i == 0 {
        return f64::NAN;
    }
    let (a, b) = (points[i - 1], points[i]);
    let (before, after) = (a.false_alarm - a.miss, b.miss - b.false_alarm);
    a.miss + before / (before + after) * (b.miss - a.miss)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::{Random, normal_cdf};

    fn trials(targets: &[f64], others: &[f64]) -> Trials {
        let y: Vec<bool> = targets.iter().map(|_| true).chain(others.iter().map(|_| false)).collect();
        Trials::new(&[targets, others].concat(), &y, None).unwrap()
    }

    #[test]
    fn by_hand() {
        let t = trials(&[0.0, 2.0, 3.0], &[-1.0, 0.0, 1.0]);
        let points: Vec<(f64, f64, f64)> = t.roc().iter().map(|p| (p.threshold, p.miss, p.false_alarm)).collect();
        let third = 1.0 / 3.0;
        let expected = [
            (-1.0, 0.0, 1.0),
            (0.0, 0.0, 2.0 / 3.0),
            (1.0, third, third),
            (2.0, third, 0.0),
            (f64::INFINITY, 1.0, 0.0),
        ];
        assert_eq!(points, expected);
        // Pairs: 0 beats −1 and ties 0 (1½), 2 and 3 beat all (6).
        assert_eq!((t.auc(), t.eer()), (7.5 / 9.0, third));
        // The hull goes from (0, ⅔) to (⅓, 0): P_miss = ⅔ − 2 P_miss at 2/9.
        assert!((t.hull_eer() - 2.0 / 9.0).abs() < 1e-15);
        assert_eq!(t.det().len(), 1);
    }

    #[test]
    fn infinite_and_equal_llrs() {
        let apart = trials(&[f64::INFINITY, 1.0], &[f64::NEG_INFINITY, 0.0]);
        assert_eq!((apart.auc(), apart.eer(), apart.hull_eer()), (1.0, 0.0, 0.0));
        let same = trials(&[0.0, 0.0], &[0.0; 3]);
        assert_eq!((same.auc(), same.eer(), same.hull_eer()), (0.5, 0.5, 0.5));
        let wrong = trials(&[-1.0], &[1.0]);
        assert_eq!((wrong.auc(), wrong.eer(), wrong.hull_eer()), (0.0, 1.0, 0.5));
        for one in [trials(&[1.0, 2.0], &[]), trials(&[], &[1.0]), trials(&[], &[])] {
            assert!(one.auc().is_nan() && one.eer().is_nan() && one.hull_eer().is_nan());
            assert!(one.det().is_empty());
        }
    }

    #[test]
    fn two_gaussians() {
        // N(±δ/2, 1): AUC = Φ(δ/√2), EER = Φ(−δ/2), and the DET is the line miss + false alarm = −δ.
        let (delta, n) = (1.5, 200_000);
        let mut random = Random::new(11);
        let mut draw = |sign: f64| (0..n).map(|_| sign * delta * (random.normal() + sign * delta / 2.0)).collect();
        let (targets, others): (Vec<f64>, Vec<f64>) = (draw(1.0), draw(-1.0));
        let t = trials(&targets, &others.iter().map(|x| -x).collect::<Vec<_>>());
        let sd = (0.25 / n as f64).sqrt();
        assert!((t.auc() - normal_cdf(delta / 2f64.sqrt())).abs() < 4.0 * sd, "{}", t.auc());
        assert!((t.eer() - normal_cdf(-delta / 2.0)).abs() < 4.0 * sd, "{}", t.eer());
        assert!(t.hull_eer() <= t.eer() && t.hull_eer() > t.eer() - 4.0 * sd);
        let far = t.det().into_iter().filter(|p| p.miss.abs() < 2.0 && p.false_alarm.abs() < 2.0);
        let worst = far.map(|p| (p.miss + p.false_alarm + delta).abs()).fold(0.0, f64::max);
        assert!(worst > 0.0 && worst < 0.03, "{worst}");
    }
}
