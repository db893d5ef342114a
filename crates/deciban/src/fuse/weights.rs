//! The weights of a fusion, from the evidence of rows that the members have not learned from.
//!
//! ```text
//! zₖ = Σₘ αₘ eₘₖ + bₖ + ln πₖ,   p = softmax(z)
//! minimise −Σᵢ wᵢ ln p(classᵢ | xᵢ) + ½ ρ Σₘ (αₘ − 1/M)² + ½ ρ Σₖ (bₖ − b̄)²    over α ≥ 0
//! ```
//!
//! at the class shares π of the rows. The penalty weighs ρ = 8 rows: members that cannot be told apart share their
//! weight evenly, and classes have offsets where many rows ask for them. The problem is convex, and projected Newton
//! steps solve it. The offsets b are only determined up to a constant, so that b ≥ 0 takes nothing away, and all
//! parameters have the same bound.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numerics::bounded::{Scales, newton};
use crate::numerics::minimise::{Curvature, Limits, Objective, Point};
use crate::numerics::{Matrix, log_sum_exp};

/// ρ: what a squared difference from 1/M, or of an offset from their mean, costs in rows.
pub const RIDGE: f64 = 8.0;

/// So many of the rows may have come from elsewhere, and no member should be surer than that: the bound of its evidence
/// is at least this share of the rows. Without it one member that calls a class impossible outvotes all others.
pub const FOREIGN_ROWS: f64 = 0.01;

/// A member of less weight is not worth its time.
pub const LEAST_WEIGHT: f64 = 0.01;

/// With more classes than these there are no offsets: the Hessian has a row for each.
pub const MOST_OFFSETS: usize = 64;

/// Evidence below the best class by more than this is taken for this: an impossible class stays one.
const FLOOR: f64 = 700.0;

/// Rows whose sums are made together; these are added in order.
const CHUNK: usize = 1024;

/// Weights, and an offset for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct Fusion {
    /// α of each member, at least 0.
    pub weights: Vec<f64>,
    /// b of each class; they add up to 0.
    pub offsets: Vec<f64>,
}

impl Fusion {
    /// Learns the weights from the evidence of rows by each member, row after row; rows of weight 0 are not there.
    ///
    /// ```
    /// use deciban::fuse::Fusion;
    /// // One member is right in three of four rows at an LLR of ±2, the other knows nothing.
    /// let llrs = [2.0, 2.0, 2.0, -2.0, -2.0, -2.0, -2.0, 2.0].repeat(1000);
    /// let knows: Vec<f64> = llrs.iter().flat_map(|x| [0.0, *x]).collect();
    /// let idle = vec![0.0; knows.len()];
    /// let truth = [1, 1, 1, 1, 0, 0, 0, 0].repeat(1000);
    /// let fusion = Fusion::fit(&[&knows, &idle], 2, &truth, &vec![1.0; truth.len()])?;
    /// assert!((fusion.weights[0] - 3f64.ln() / 2.0).abs() < 2e-3);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn fit(members: &[&[f64]], classes: usize, truth: &[u32], weights: &[f64]) -> Result<Self> {
        Error::check_shape("weights of the rows", truth.len(), weights.len())?;
        for evidence in members {
            Error::check_shape("evidence of the members", truth.len() * classes, evidence.len())?;
        }
        let mut totals = vec![0.0; classes];
        truth.iter().zip(weights).for_each(|(&k, w)| totals[k as usize] += w);
        let total: f64 = totals.iter().sum();
        let offsets = if classes <= MOST_OFFSETS { classes } else { 0 };
        let log_prior: Vec<f64> = totals.iter().map(|t| (t / total).ln()).collect();
        let problem = Problem { members, classes, truth, weights, log_prior, offsets };
        let width = members.len() + offsets;
        let start: Vec<f64> =
            (0..width).map(|i| if i < members.len() { 1.0 / members.len() as f64 } else { 0.0 }).collect();
        let scales = vec![total; width];
        let solution = newton(&problem, start, &Scales(&scales), Limits { gradient: 1e-9, iterations: 100 })?;
        let (alpha, b) = solution.theta.split_at(members.len());
        let mut offsets = vec![0.0; classes];
        offsets.iter_mut().zip(b).for_each(|(o, b)| *o = *b);
        let mean = offsets.iter().sum::<f64>() / classes as f64;
        offsets.iter_mut().for_each(|b| *b -= mean);
        Ok(Fusion { weights: alpha.to_vec(), offsets })
    }

    /// The same, where members of less than [`LEAST_WEIGHT`] are dropped: they have the weight 0, and those of the others
    /// are learned again without them.
    pub fn fit_strong(members: &[&[f64]], classes: usize, truth: &[u32], weights: &[f64]) -> Result<Self> {
        let fusion = Fusion::fit(members, classes, truth, weights)?;
        let is_strong = |m: &usize| fusion.weights[*m] >= LEAST_WEIGHT;
        let strong: Vec<usize> = (0..members.len()).filter(is_strong).collect();
        if strong.len() == members.len() {
            return Ok(fusion);
        }
        let mut all = vec![0.0; members.len()];
        if strong.is_empty() {
            return Ok(Fusion { weights: all, ..fusion });
        }
        let own: Vec<&[f64]> = strong.iter().map(|m| members[*m]).collect();
        let again = Fusion::fit(&own, classes, truth, weights)?;
        strong.iter().zip(again.weights).for_each(|(m, alpha)| all[*m] = alpha);
        Ok(Fusion { weights: all, offsets: again.offsets })
    }

    /// Σ αₘ eₘ of a row, added to `out`; the offsets are not in.
    pub fn add_up<'a>(&self, members: impl Iterator<Item = &'a [f64]>, out: &mut [f64]) {
        for (alpha, row) in self.weights.iter().zip(members).filter(|(alpha, _)| **alpha > 0.0) {
            out.iter_mut().zip(row).for_each(|(e, x)| *e += alpha * x);
        }
    }
}

struct Problem<'a> {
    members: &'a [&'a [f64]],
    classes: usize,
    truth: &'a [u32],
    weights: &'a [f64],
    log_prior: Vec<f64>,
    /// How many classes have an offset: all or none.
    offsets: usize,
}

struct Sums {
    value: f64,
    gradient: Vec<f64>,
    hessian: Matrix,
}

impl Problem<'_> {
    fn rows(&self, theta: &[f64], rows: std::ops::Range<usize>) -> Sums {
        let (classes, count, width) = (self.classes, self.members.len(), theta.len());
        let mut sums = Sums { value: 0.0, gradient: vec![0.0; width], hessian: Matrix::zeros(width, width) };
        let [mut z, mut mean] = [vec![0.0; classes], vec![0.0; count]];
        let mut x = vec![0.0; count * classes];
        for i in rows {
            let (w, t) = (self.weights[i], self.truth[i] as usize);
            if w == 0.0 {
                continue;
            }
            for (evidence, x) in self.members.iter().zip(x.chunks_exact_mut(classes)) {
                let row = &evidence[i * classes..][..classes];
                let top = row.iter().fold(f64::NEG_INFINITY, |m, e| m.max(*e));
                // A row that is impossible under every class says nothing here.
                let says = |e: f64| if top == f64::NEG_INFINITY { 0.0 } else { (e - top).max(-FLOOR) };
                x.iter_mut().zip(row).for_each(|(x, e)| *x = says(*e));
            }
            for (k, z) in z.iter_mut().enumerate() {
                let fused: f64 = (0..count).map(|m| theta[m] * x[m * classes + k]).sum();
                *z = fused + self.log_prior[k] + if self.offsets > 0 { theta[count + k] } else { 0.0 };
            }
            let total = log_sum_exp(&z);
            sums.value += w * (total - z[t]);
            z.iter_mut().for_each(|z| *z = (*z - total).exp());
            let p = &z;
            for m in 0..count {
                let x = &x[m * classes..][..classes];
                mean[m] = p.iter().zip(x).map(|(p, x)| p * x).sum();
                sums.gradient[m] += w * (mean[m] - x[t]);
            }
            for m in 0..count {
                let a = &x[m * classes..][..classes];
                for l in 0..=m {
                    let b = &x[l * classes..][..classes];
                    let square: f64 = (0..classes).map(|k| p[k] * a[k] * b[k]).sum();
                    sums.hessian[(m, l)] += w * (square - mean[m] * mean[l]);
                }
            }
            for k in 0..self.offsets {
                let wp = w * p[k];
                sums.gradient[count + k] += wp - if k == t { w } else { 0.0 };
                for m in 0..count {
                    sums.hessian[(count + k, m)] += wp * (x[m * classes + k] - mean[m]);
                }
                for l in 0..k {
                    sums.hessian[(count + k, count + l)] -= wp * p[l];
                }
                sums.hessian[(count + k, count + k)] += wp * (1.0 - p[k]);
            }
        }
        sums
    }
}

impl Objective for Problem<'_> {
    fn at(&self, theta: &[f64], _: Curvature) -> Result<Point> {
        let (count, width) = (self.members.len(), theta.len());
        let starts: Vec<usize> = (0..self.truth.len()).step_by(CHUNK).collect();
        let part = |&start: &usize| self.rows(theta, start..self.truth.len().min(start + CHUNK));
        let parts: Vec<Sums> = starts.par_iter().map(part).collect();
        let (mut value, mut gradient, mut curvature) = (0.0, vec![0.0; width], Matrix::zeros(width, width));
        for part in &parts {
            value += part.value;
            gradient.iter_mut().zip(&part.gradient).for_each(|(a, b)| *a += b);
            curvature.data_mut().iter_mut().zip(part.hessian.data()).for_each(|(a, b)| *a += b);
        }
        for m in 0..count {
            let off = theta[m] - 1.0 / count as f64;
            value += 0.5 * RIDGE * off * off;
            gradient[m] += RIDGE * off;
            curvature[(m, m)] += RIDGE;
        }
        let b = &theta[count..];
        let mean = b.iter().sum::<f64>() / b.len().max(1) as f64;
        for (k, b) in b.iter().enumerate() {
            value += 0.5 * RIDGE * (b - mean) * (b - mean);
            gradient[count + k] += RIDGE * (b - mean);
            for l in 0..=k {
                let own = if k == l { 1.0 } else { 0.0 };
                curvature[(count + k, count + l)] += RIDGE * (own - 1.0 / self.offsets as f64);
            }
        }
        Ok(Point { value, gradient, curvature })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    /// Rows of three classes with the evidence of three members, one of which errs always.
    fn rows(n: usize) -> (Vec<Vec<f64>>, Vec<u32>, Vec<f64>) {
        let mut random = Random::new(5);
        let mut members = vec![Vec::new(); 3];
        let (mut truth, mut weights) = (Vec::new(), Vec::new());
        for i in 0..n {
            let t = (i % 3) as u32;
            for (m, strength) in [1.0, 2.0, -1.0].into_iter().enumerate() {
                for k in 0..3 {
                    members[m].push(strength * f64::from(u8::from(k == t)) + random.normal() - 40.0);
                }
            }
            truth.push(t);
            weights.push(0.5 + random.uniform());
        }
        (members, truth, weights)
    }

    #[test]
    fn derivatives_are_those_of_the_value() {
        let (members, truth, weights) = rows(60);
        let members: Vec<&[f64]> = members.iter().map(Vec::as_slice).collect();
        let log_prior = vec![0.2f64.ln(), 0.5f64.ln(), 0.3f64.ln()];
        let problem =
            Problem { members: &members, classes: 3, truth: &truth, weights: &weights, log_prior, offsets: 3 };
        let theta = [0.3, 0.9, 0.1, 0.2, 0.0, 0.4];
        let at = |theta: &[f64]| problem.at(theta, Curvature::Exact).unwrap();
        let point = at(&theta);
        for i in 0..6 {
            let moved = |by: f64| {
                let mut theta = theta;
                theta[i] += by;
                at(&theta)
            };
            let (up, down) = (moved(1e-5), moved(-1e-5));
            assert!(((up.value - down.value) / 2e-5 - point.gradient[i]).abs() < 1e-6);
            for j in i..6 {
                let slope = (up.gradient[j] - down.gradient[j]) / 2e-5;
                assert!((slope - point.curvature[(j, i)]).abs() < 1e-5, "{i} {j}");
            }
        }
    }

    /// At the minimum no weight can gain: slopes are 0, or positive where a weight is 0.
    #[test]
    fn weights_are_at_their_optimum_and_not_negative() {
        let (members, truth, weights) = rows(3000);
        let slices: Vec<&[f64]> = members.iter().map(Vec::as_slice).collect();
        let fusion = Fusion::fit(&slices, 3, &truth, &weights).unwrap();
        assert_eq!(fusion.weights[2], 0.0);
        // Evidence of ±1 with noise of variance 1 in each class: α = strength.
        assert!((fusion.weights[0] - 1.0).abs() < 0.1 && (fusion.weights[1] - 2.0).abs() < 0.15, "{fusion:?}");
        assert!(fusion.offsets.iter().all(|b| b.abs() < 0.15) && fusion.offsets.iter().sum::<f64>().abs() < 1e-12);
        // A member that is dropped is as if it had never been there.
        let strong = Fusion::fit_strong(&slices, 3, &truth, &weights).unwrap();
        let without = Fusion::fit(&slices[..2], 3, &truth, &weights).unwrap();
        assert_eq!(strong, Fusion { weights: [&without.weights[..], &[0.0]].concat(), offsets: without.offsets });
        // What all classes share says nothing, and a row of weight 2 is the row twice.
        let shifted: Vec<f64> = members[0].iter().enumerate().map(|(i, e)| e + (i / 3) as f64).collect();
        let again = Fusion::fit(&[&shifted, slices[1], slices[2]], 3, &truth, &weights).unwrap();
        assert!(fusion.weights.iter().zip(&again.weights).all(|(a, b)| (a - b).abs() < 1e-6));
        let twice: Vec<f64> = weights.iter().map(|_| 2.0).collect();
        let double = |x: &[f64]| [x, x].concat();
        let a = Fusion::fit(&slices, 3, &truth, &twice).unwrap();
        let doubled: Vec<Vec<f64>> = members.iter().map(|m| double(m)).collect();
        let slices: Vec<&[f64]> = doubled.iter().map(Vec::as_slice).collect();
        let b = Fusion::fit(&slices, 3, &[&truth[..], &truth[..]].concat(), &vec![1.0; 6000]).unwrap();
        assert!(a.weights.iter().zip(&b.weights).all(|(a, b)| (a - b).abs() < 1e-7), "{a:?} {b:?}");
    }

    #[test]
    fn rows_apart_without_error_and_impossible_classes_have_finite_weights() {
        let sure: Vec<f64> =
            (0..40).flat_map(|i| if i % 2 == 0 { [0.0, f64::NEG_INFINITY] } else { [-900.0, 0.0] }).collect();
        let truth: Vec<u32> = (0..40).map(|i| i % 2).collect();
        let fusion = Fusion::fit(&[&sure, &sure], 2, &truth, &[1.0; 40]).unwrap();
        assert!(fusion.weights.iter().all(|a| (a - 0.5).abs() < 1e-6), "{fusion:?}");
    }
}
