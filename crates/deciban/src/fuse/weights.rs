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
use crate::numerics::{Matrix, lanes, vectorised};

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

/// Numbers of a part of the rows (rows × classes × members): they stay in the first-level cache.
const PART: usize = 4096;

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
        let problem = Problem::new(members, classes, truth, weights, &totals);
        let width = members.len() + problem.offsets;
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

/// The rows that have a weight, in parts whose numbers stay in the cache.
struct Problem {
    members: usize,
    classes: usize,
    parts: Vec<Part>,
    log_prior: Vec<f64>,
    /// The class with the most weight: evidence of the others is held as its difference from that of this one.
    reference: usize,
    /// How many classes have an offset: all or none.
    offsets: usize,
}

/// Some rows, by columns: sums over them are products of long vectors.
struct Part {
    /// `(member·others + other)·rows + row`, where the others are the classes without the reference, in their order:
    /// evidence for the class less that for the reference.
    x: Vec<f64>,
    /// `other·rows + row`: the weight of the row where it is of this class, and 0 elsewhere.
    own: Vec<f64>,
    weights: Vec<f64>,
}

/// Sums over rows: the value, and its derivatives by α and by the offsets of all classes but the reference.
struct LossDerivatives {
    value: f64,
    gradient: Vec<f64>,
    hessian: Matrix,
}

impl Problem {
    fn new(members: &[&[f64]], classes: usize, truth: &[u32], weights: &[f64], totals: &[f64]) -> Self {
        let total: f64 = totals.iter().sum();
        let log_prior = totals.iter().map(|t| (t / total).ln()).collect();
        let reference = (0..classes).fold(0, |most, k| if totals[k] > totals[most] { k } else { most });
        let offsets = if classes <= MOST_OFFSETS { classes } else { 0 };
        let rows: Vec<usize> = (0..truth.len()).filter(|&i| weights[i] != 0.0).collect();
        let length = (PART / (members.len() * classes).max(1)).clamp(16, CHUNK) & !7;
        let part = |rows: &[usize]| {
            let n = rows.len();
            let mut x = vec![0.0; members.len() * (classes - 1) * n];
            let mut own = vec![0.0; (classes - 1) * n];
            let mut says = vec![0.0; classes];
            for (r, &i) in rows.iter().enumerate() {
                for (m, evidence) in members.iter().enumerate() {
                    let row = &evidence[i * classes..][..classes];
                    let top = row.iter().fold(f64::NEG_INFINITY, |m, e| m.max(*e));
                    // A row that is impossible under every class says nothing here.
                    let floored = |e: f64| if top == f64::NEG_INFINITY { 0.0 } else { (e - top).max(-FLOOR) };
                    says.iter_mut().zip(row).for_each(|(x, e)| *x = floored(*e));
                    let others = (0..classes).filter(|k| *k != reference);
                    others.enumerate().for_each(|(o, k)| {
                        x[(m * (classes - 1) + o) * n + r] = says[k] - says[reference];
                    });
                }
                let t = truth[i] as usize;
                if t != reference {
                    own[(t - usize::from(t > reference)) * n + r] = weights[i];
                }
            }
            Part { x, own, weights: rows.iter().map(|&i| weights[i]).collect() }
        };
        let parts = rows.par_chunks(length).map(part).collect();
        Problem { members: members.len(), classes, parts, log_prior, reference, offsets }
    }

    /// ln π + b of each class but the reference, less that of the reference.
    fn constants(&self, theta: &[f64]) -> Vec<f64> {
        let of = |k: usize| self.log_prior[k] + if self.offsets > 0 { theta[self.members + k] } else { 0.0 };
        let others = (0..self.classes).filter(|k| *k != self.reference);
        // A class without rows is next to impossible; an infinite score times the weight 0 would be none.
        others.map(|k| (of(k) - of(self.reference)).max(-1e9)).collect()
    }

    /// Adds rows to the sums.
    fn add(&self, theta: &[f64], constants: &[f64], part: &Part, sums: &mut LossDerivatives, room: &mut Room) {
        let (n, others, members) = (part.weights.len(), constants.len(), self.members);
        let length = others * n;
        if length == 0 {
            return;
        }
        let Room { p, residual, top, mean, y } = room;
        [&mut *p, &mut *residual, &mut *y].into_iter().for_each(|column| column.resize(length, 0.0));
        [&mut *top, &mut *mean].into_iter().for_each(|column| column.resize(n, 0.0));
        vectorised!({
            for (z, constant) in p.chunks_exact_mut(n).zip(constants) {
                z.fill(*constant);
            }
            for (x, alpha) in part.x.chunks_exact(length).zip(theta) {
                p.iter_mut().zip(x).for_each(|(z, x)| *z += alpha * x);
            }
            // The reference has the score 0.
            top.fill(0.0);
            for z in p.chunks_exact(n) {
                top.iter_mut().zip(z).for_each(|(top, z)| *top = if *z > *top { *z } else { *top });
            }
            sums.value -= lanes::dot(p, &part.own);
            mean.iter_mut().zip(&*top).for_each(|(total, top)| *total = lanes::exp(-top));
            for z in p.chunks_exact_mut(n) {
                for ((z, top), total) in z.iter_mut().zip(&*top).zip(&mut *mean) {
                    *z = lanes::exp(*z - top);
                    *total += *z;
                }
            }
            for (total, top) in mean.iter_mut().zip(&mut *top) {
                *top += lanes::ln(*total);
                *total = total.recip();
            }
            sums.value += lanes::dot(top, &part.weights);
            for ((p, residual), own) in
                p.chunks_exact_mut(n).zip(residual.chunks_exact_mut(n)).zip(part.own.chunks_exact(n))
            {
                for i in 0..n {
                    p[i] *= mean[i];
                    residual[i] = part.weights[i] * p[i] - own[i];
                }
            }
        });
        vectorised!(for (m, x) in part.x.chunks_exact(length).enumerate() {
            sums.gradient[m] += lanes::dot(residual, x);
            mean.fill(0.0);
            for (p, x) in p.chunks_exact(n).zip(x.chunks_exact(n)) {
                mean.iter_mut().zip(p.iter().zip(x)).for_each(|(mean, (p, x))| *mean += p * x);
            }
            // w pₖ (xₖ − x̄), whose products with other x are those of the centred ones.
            for ((y, p), x) in y.chunks_exact_mut(n).zip(p.chunks_exact(n)).zip(x.chunks_exact(n)) {
                for i in 0..n {
                    y[i] = part.weights[i] * p[i] * (x[i] - mean[i]);
                }
            }
            for (l, x) in part.x.chunks_exact(length).enumerate().take(m + 1) {
                sums.hessian[(m, l)] += lanes::dot(y, x);
            }
            if self.offsets > 0 {
                for (o, y) in y.chunks_exact(n).enumerate() {
                    sums.hessian[(members + o, m)] += lanes::sum(y);
                }
            }
        });
        if self.offsets > 0 {
            vectorised!({
                for (o, residual) in residual.chunks_exact(n).enumerate() {
                    sums.gradient[members + o] += lanes::sum(residual);
                }
                for (y, p) in y.chunks_exact_mut(n).zip(p.chunks_exact(n)) {
                    y.iter_mut().zip(p).zip(&part.weights).for_each(|((y, p), w)| *y = w * p);
                }
                for (k, y) in y.chunks_exact(n).enumerate() {
                    for (l, p) in p.chunks_exact(n).enumerate().take(k + 1) {
                        sums.hessian[(members + k, members + l)] -= lanes::dot(y, p);
                    }
                    sums.hessian[(members + k, members + k)] += lanes::sum(y);
                }
            });
        }
    }

    /// The sums over all rows.
    fn sums(&self, theta: &[f64]) -> LossDerivatives {
        let constants = self.constants(theta);
        let width = self.members + if self.offsets > 0 { constants.len() } else { 0 };
        let empty = || LossDerivatives { value: 0.0, gradient: vec![0.0; width], hessian: Matrix::zeros(width, width) };
        let length = self.parts.first().map_or(1, |part| part.weights.len());
        let chunk = |parts: &[Part]| {
            let (mut sums, mut room) = (empty(), Room::default());
            parts.iter().for_each(|part| self.add(theta, &constants, part, &mut sums, &mut room));
            sums
        };
        let chunks: Vec<LossDerivatives> = self.parts.par_chunks((CHUNK / length).max(1)).map(chunk).collect();
        let mut all = empty();
        for sums in &chunks {
            all.value += sums.value;
            all.gradient.iter_mut().zip(&sums.gradient).for_each(|(a, b)| *a += b);
            all.hessian.data_mut().iter_mut().zip(sums.hessian.data()).for_each(|(a, b)| *a += b);
        }
        all
    }

    /// The same with the reference, whose derivatives are those of the other classes taken negative: an offset that all
    /// classes share changes nothing.
    fn with_reference(&self, sums: &LossDerivatives) -> (Vec<f64>, Matrix) {
        let (count, reference) = (self.members, self.reference);
        let width = count + self.offsets;
        let place = |i: usize| match i.checked_sub(count) {
            None => Some(i),
            Some(k) if k == reference => None,
            Some(k) => Some(count + k - usize::from(k > reference)),
        };
        let own = |i: usize, j: usize| sums.hessian[(i.max(j), i.min(j))];
        let others = || count..sums.gradient.len();
        let gradient = |i: usize| match place(i) {
            Some(i) => sums.gradient[i],
            None => -others().map(|k| sums.gradient[k]).sum::<f64>(),
        };
        let cell = |i: usize, j: usize| match (place(i), place(j)) {
            (Some(i), Some(j)) => own(i, j),
            (None, Some(i)) | (Some(i), None) => -others().map(|k| own(k, i)).sum::<f64>(),
            (None, None) => others().map(|k| others().map(|l| own(k, l)).sum::<f64>()).sum(),
        };
        (
            (0..width).map(gradient).collect(),
            Matrix::from_fn(width, width, |i, j| if j <= i { cell(i, j) } else { 0.0 }),
        )
    }
}

/// Columns for the rows of a part.
#[derive(Default)]
struct Room {
    p: Vec<f64>,
    residual: Vec<f64>,
    top: Vec<f64>,
    mean: Vec<f64>,
    y: Vec<f64>,
}

impl Objective for Problem {
    fn at(&self, theta: &[f64], _: Curvature) -> Result<Point> {
        let count = self.members;
        let sums = self.sums(theta);
        let (mut gradient, mut curvature) = self.with_reference(&sums);
        let mut value = sums.value;
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
        let problem = Problem::new(&members, 3, &truth, &weights, &[0.2, 0.5, 0.3]);
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
