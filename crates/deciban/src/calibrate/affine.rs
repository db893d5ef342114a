//! Calibration by an affine map: evidence aeₖ + bₖ, for any number of classes.
//!
//! For two classes it is the line LLR′ = a·LLR + b: prior-weighted logistic regression on the LLR
//! (Brümmer & du Preez 2006). Temperature scaling has b = 0 and a = 1/T. a is the same for all classes,
//! so a constant added to a row's evidence still changes nothing; Σ bₖ = 0.
//!
//! With zₖ = aeₖ + bₖ + ln πₖ and pₖ = exp(zₖ)/Σ exp(zⱼ), a row of weight w whose target is q gives
//!
//! ```text
//! loss         −w Σ qₖ ln pₖ
//! gradient     ∂a: w Σ (pₖ − qₖ)eₖ        ∂bₖ: w (pₖ − qₖ)
//! Hessian·v    u = eₖvₐ + vₖ less its mean under p;   a: w Σ pₖeₖuₖ   bₖ: w pₖuₖ
//! ```
//!
//! so that each takes one pass over rows × classes, and Newton's method by conjugate gradients needs no
//! matrix of pairs of classes. Of a few classes the Hessian itself costs less than the products that stand in for it.
//!
//! The evidence may be bounded first (`bound.rs`): a few rows with wild evidence would flatten the whole map.

use serde::{Deserialize, Serialize};

use super::bound::bound;
use super::partial::Share;
use super::rows::{ScoredRows, Slice};
use super::softmax::{check_totals, own_shares, separable};
use crate::error::{Error, Result};
use crate::numerics::minimise::{Curvature, Limits, Objective, Point, Solution, newton, newton_cg};
use crate::numerics::{Matrix, lanes, vectorised};
use crate::posterior::Prior;

/// Up to so many classes the Hessian is computed.
const MOST_DENSE: usize = 24;

/// e ↦ a·e + b, where e is bounded first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Affine {
    /// ε: the part of the posterior at a flat prior that is spread over all classes before the map; 0 is no bound.
    #[serde(default)]
    pub bound: f64,
    /// a, above 0: below 1 the evidence was too sure.
    pub scale: f64,
    /// b, of each class.
    pub bias: Vec<f64>,
}

impl Affine {
    /// The best map at a prior; without `biased` b is 0. A map of nearly the same rows makes a good `start`.
    pub fn fit(
        rows: &impl ScoredRows,
        classes: &[String],
        (prior, pseudo_count): (&Prior, f64),
        biased: bool,
        start: Option<&Affine>,
    ) -> Result<Self> {
        Affine::fit_with_loss(rows, classes, (prior, pseudo_count), biased, start).map(|(map, _)| map)
    }

    /// The same with the mean loss of the rows, weighted so that the classes have the shares of the prior.
    pub(super) fn fit_with_loss(
        rows: &impl ScoredRows,
        classes: &[String],
        (prior, pseudo_count): (&Prior, f64),
        biased: bool,
        start: Option<&Affine>,
    ) -> Result<(Self, f64)> {
        let survey = Survey::of(rows)?;
        if let Some(k) = survey.totals.iter().position(|total| *total == 0.0) {
            return Err(Error::Classes(format!("class `{}` has no rows to calibrate with", classes[k])));
        }
        let infinite = survey.own_infinite.or(survey.any_infinite.filter(|_| pseudo_count > 0.0));
        if let Some(row) = infinite {
            let message = format!("row {}: infinite evidence cannot be calibrated so: use §method=pav", row + 1);
            return Err(Error::Classes(message));
        }
        let problem = Problem::new(rows, survey, prior, pseudo_count, biased)?;
        let start = start.map_or_else(|| problem.zero(), |map| problem.theta(map));
        let solution = problem.minimum(start, 1e-12)?;
        if pseudo_count == 0.0 && problem.sums(&solution.theta, Ask::Value)?.separated {
            return Err(separable());
        }
        let map = problem.map(&solution.theta);
        match map.scale > 0.0 {
            true => Ok((map, solution.value)),
            false => Err(Error::Classes(
                "the evidence does not point towards the classes of these rows: no calibration can correct that".into(),
            )),
        }
    }

    /// The map of a row's evidence. −∞ stays, unless there is a bound.
    pub(super) fn apply(&self, row: &mut [f64], share: Share) {
        bound(row, self.bound);
        let slope = share.of_slope(self.scale);
        row.iter_mut().zip(&self.bias).for_each(|(e, b)| *e = slope * *e + share.offset * b);
    }
}

/// The least mean loss at a flat prior, in nats, that an affine map with a ≥ 0 can have on these rows,
/// and the map: what [`Cllr`](crate::evaluate::Cllr) becomes with the best affine calibration. ∞ where a
/// row's own class is impossible. A map for nearly the same rows makes a good `start`.
pub(crate) fn least_loss(rows: &impl ScoredRows, start: Option<&Affine>) -> Result<(f64, Option<Affine>)> {
    let (classes, survey) = (rows.classes(), Survey::of(rows)?);
    if survey.own_infinite.is_some() {
        return Ok((f64::INFINITY, None));
    }
    let problem = Problem::new(rows, survey, &Prior::uniform(classes), 0.0, true)?;
    let identity = Affine { bound: 0.0, scale: 1.0, bias: vec![0.0; classes] };
    let start = problem.theta(start.unwrap_or(&identity));
    // Near the minimum an error in θ leaves its square in the value: the gradient need not be as small as
    // for θ.
    let solution = problem.minimum(start, 1e-8)?;
    let value = match (solution.theta[0] > 0.0, problem.sums(&solution.theta, Ask::Value)?.separated) {
        // Twice such a map is better still, and so on: the loss approaches 0.
        (true, true) => 0.0,
        (true, false) => solution.value,
        // Below 0 the best allowed scale is 0, where the best biases are 0 too.
        (false, _) => (classes as f64).ln(),
    };
    Ok((value, Some(problem.map(&solution.theta))))
}

/// What a first look at the rows finds.
struct Survey {
    rows: usize,
    /// The weight of each class.
    totals: Vec<f64>,
    /// For each class the weighted sum of squared evidence against the true class.
    squares: Vec<f64>,
    /// The first row whose own class is impossible, and the first for which any class is.
    own_infinite: Option<usize>,
    any_infinite: Option<usize>,
}

impl Survey {
    fn of(rows: &impl ScoredRows) -> Result<Self> {
        let classes = rows.classes();
        let empty = || {
            let [totals, squares] = [(); 2].map(|()| vec![0.0; classes]);
            Survey { rows: 0, totals, squares, own_infinite: None, any_infinite: None }
        };
        let mut all = empty();
        rows.sum(empty, |survey, slice| survey.add(classes, slice), |part| all.merge(part))?;
        Ok(all)
    }

    fn add(&mut self, classes: usize, slice: Slice<'_>) {
        for (i, row) in slice.evidence.chunks_exact(classes).enumerate() {
            let (w, t) = (slice.weights[i], slice.truth[i] as usize);
            if w == 0.0 {
                continue;
            }
            let own = row[t];
            let (mut square, mut finite) = (0.0, true);
            for e in row {
                finite &= e.is_finite();
                square += if e.is_finite() { (e - own) * (e - own) } else { 0.0 };
            }
            self.totals[t] += w;
            self.squares[t] += w * square;
            if own == f64::NEG_INFINITY {
                self.own_infinite.get_or_insert(self.rows + i);
            }
            if !finite {
                self.any_infinite.get_or_insert(self.rows + i);
            }
        }
        self.rows += slice.truth.len();
    }

    fn merge(&mut self, other: Survey) {
        let after = |row: Option<usize>| row.map(|row| self.rows + row);
        self.own_infinite = self.own_infinite.or(after(other.own_infinite));
        self.any_infinite = self.any_infinite.or(after(other.any_infinite));
        self.rows += other.rows;
        self.totals.iter_mut().zip(&other.totals).for_each(|(a, b)| *a += b);
        self.squares.iter_mut().zip(&other.squares).for_each(|(a, b)| *a += b);
    }
}

/// Rows, and what weighs and scales them.
struct Problem<'a, R> {
    rows: &'a R,
    terms: Terms,
}

/// Weights under which the classes have the shares of a prior, and units in which the evidence is about 1.
struct Terms {
    prior: Vec<f64>,
    log_prior: Vec<f64>,
    /// The weight of each class.
    totals: Vec<f64>,
    /// The share of a row of each class that counts for its own class; 1 without pseudo-counts.
    share: Vec<f64>,
    unit: f64,
    biased: bool,
}

/// What is summed over rows.
#[derive(Clone, Copy)]
enum Ask<'v> {
    /// The value, and whether the rows are separated.
    Value,
    /// The gradient too.
    Gradient,
    /// And the diagonal of the Hessian.
    Diagonal,
    /// And the lower triangle of the Hessian, in place of its diagonal.
    Hessian,
    /// The product of the Hessian with this direction, in place of the gradient.
    Product(&'v [f64]),
}

/// Sums over rows; parameters stand in the order a, b₀, b₁, ...
struct LossDerivatives {
    value: f64,
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
    /// The lower triangle, row after row; empty if it is not asked for.
    hessian: Vec<f64>,
    /// Whether every row is on the right side.
    separated: bool,
}

impl LossDerivatives {
    fn new(length: usize, ask: Ask<'_>) -> Self {
        let cells = if matches!(ask, Ask::Hessian) { length * (length + 1) / 2 } else { 0 };
        let [gradient, diagonal, hessian] = [length, length, cells].map(|length| vec![0.0; length]);
        LossDerivatives { value: 0.0, gradient, diagonal, hessian, separated: true }
    }

    fn add(&mut self, other: &LossDerivatives) {
        self.value += other.value;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.diagonal.iter_mut().zip(&other.diagonal).for_each(|(a, b)| *a += b);
        self.hessian.iter_mut().zip(&other.hessian).for_each(|(a, b)| *a += b);
        self.separated &= other.separated;
    }
}

impl<'a, R: ScoredRows> Problem<'a, R> {
    fn new(rows: &'a R, survey: Survey, prior: &Prior, pseudo_count: f64, biased: bool) -> Result<Self> {
        let (prior, totals) = (prior.probabilities().to_vec(), survey.totals);
        check_totals(&totals, &prior)?;
        let share = own_shares(&totals, pseudo_count);
        // The root mean square of the evidence against the true class.
        let there = (0..totals.len()).filter(|&k| totals[k] > 0.0);
        let unit = there.map(|k| survey.squares[k] * prior[k] / totals[k]).sum::<f64>().sqrt();
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let log_prior = prior.iter().map(|p| p.ln()).collect();
        Ok(Problem { rows, terms: Terms { prior, log_prior, totals, share, unit, biased } })
    }

    fn zero(&self) -> Vec<f64> {
        vec![0.0; if self.terms.biased { self.rows.classes() + 1 } else { 1 }]
    }

    /// The parameters of a map.
    fn theta(&self, map: &Affine) -> Vec<f64> {
        let biases = if self.terms.biased { &map.bias[..] } else { &[] };
        std::iter::once(map.scale * self.terms.unit).chain(biases.iter().copied()).collect()
    }

    fn map(&self, theta: &[f64]) -> Affine {
        let classes = self.rows.classes();
        let bias = if self.terms.biased { theta[1..].to_vec() } else { vec![0.0; classes] };
        // The same for all classes is nothing.
        let mean = bias.iter().sum::<f64>() / classes as f64;
        Affine { bound: 0.0, scale: theta[0] / self.terms.unit, bias: bias.iter().map(|b| b - mean).collect() }
    }

    /// The minimum, as well as a gradient of this length tells.
    fn minimum(&self, start: Vec<f64>, gradient: f64) -> Result<Solution> {
        let limits = Limits { gradient, iterations: 200 };
        match self.rows.classes() <= MOST_DENSE {
            true => newton(self, start, limits),
            false => newton_cg(self, start, limits),
        }
    }

    fn sums(&self, theta: &[f64], ask: Ask<'_>) -> Result<LossDerivatives> {
        let (terms, length) = (&self.terms, self.rows.classes() + 1);
        let mut all = LossDerivatives::new(length, ask);
        self.rows.sum(
            || LossDerivatives::new(length, ask),
            |sums, slice| terms.add(theta, ask, slice, sums),
            |part| all.add(&part),
        )?;
        // Without biases only the scale is moved.
        all.gradient.truncate(theta.len());
        all.diagonal.truncate(theta.len());
        Ok(all)
    }
}

impl Terms {
    fn add(&self, theta: &[f64], ask: Ask<'_>, slice: Slice<'_>, sums: &mut LossDerivatives) {
        let classes = self.prior.len();
        let biases = |theta: &[f64]| if self.biased { theta[1..].to_vec() } else { vec![0.0; classes] };
        let (a, b) = (theta[0], biases(theta));
        let (va, vb) = match ask {
            Ask::Product(v) => (v[0], biases(v)),
            _ => (0.0, Vec::new()),
        };
        let offset: Vec<f64> = b.iter().zip(&self.log_prior).map(|(b, p)| b + p).collect();
        let [mut x, mut z, mut p, mut u] = [(); 4].map(|()| vec![0.0; classes]);
        let (x, z, p, u) = (&mut x[..], &mut z[..], &mut p[..], &mut u[..]);
        let (offset, vb) = (&offset[..], &vb[..]);
        let LossDerivatives { value, gradient, diagonal, hessian, separated } = sums;
        // The sums keep room for biases that are not moved.
        let (ga, gb) = gradient.split_first_mut().expect("a scale");
        let (da, db) = diagonal.split_first_mut().expect("a scale");
        vectorised!(for i in 0..slice.truth.len() {
            let (w, t) = (slice.weights[i], slice.truth[i] as usize);
            if w == 0.0 {
                continue;
            }
            let w = w * self.prior[t] / self.totals[t];
            let row = &slice.evidence[i * classes..(i + 1) * classes];
            let (own, unit) = (row[t], 1.0 / self.unit);
            for (((x, z), e), b) in x.iter_mut().zip(z.iter_mut()).zip(row).zip(offset) {
                // A class that is impossible has no part in anything.
                let possible = *e > f64::NEG_INFINITY;
                *x = if possible { (e - own) * unit } else { 0.0 };
                *z = if possible { a * *x + b } else { f64::NEG_INFINITY };
            }
            if matches!(ask, Ask::Value) {
                // Without the prior, which a larger scale would not enlarge.
                let margin = |k: usize| z[t] - self.log_prior[t] > z[k] - self.log_prior[k];
                *separated &= (0..row.len()).all(|k| k == t || margin(k));
            }
            let top = z.iter().fold(f64::NEG_INFINITY, |m, z| if *z > m { *z } else { m });
            p.iter_mut().zip(z.iter()).for_each(|(p, z)| *p = lanes::exp(z - top));
            // The others apart: of a row that is nearly sure, what is left would be lost beside 1.
            let right = std::mem::replace(&mut p[t], 0.0);
            let rest = sum(p, p, |p, _| p);
            let total = right + rest;
            let loss = if z[t] == top { rest.ln_1p() } else { total.ln() + (top - z[t]) };
            let share = self.share[t];
            let other = (1.0 - share) / (row.len() - 1).max(1) as f64;
            *value += w * share * loss;
            if share < 1.0 {
                let log_total = top + total.ln();
                let losses = z.iter().enumerate().filter(|(k, _)| *k != t).map(|(_, z)| log_total - z);
                *value += w * other * losses.sum::<f64>();
            }
            let scale = 1.0 / total;
            p.iter_mut().for_each(|p| *p *= scale);
            let (right, rest) = (right * scale, rest * scale);
            match ask {
                Ask::Value => {}
                Ask::Gradient | Ask::Diagonal | Ask::Hessian => {
                    // x is 0 for the true class.
                    *ga += w * sum(p, x, |p, x| (p - other) * x);
                    gb.iter_mut().zip(p.iter()).for_each(|(g, p)| *g += w * (p - other));
                    gb[t] += w * (other + (1.0 - share) - rest);
                    if matches!(ask, Ask::Diagonal) {
                        let mean = sum(p, x, |p, x| p * x);
                        *da += w * (sum(p, x, |p, x| p * (x - mean) * (x - mean)) + right * mean * mean);
                        db.iter_mut().zip(p.iter()).for_each(|(d, p)| *d += w * p * (1.0 - p));
                        db[t] += w * right * rest;
                    }
                    if matches!(ask, Ask::Hessian) {
                        let mean = sum(p, x, |p, x| p * x);
                        hessian[0] += w * (sum(p, x, |p, x| p * (x - mean) * (x - mean)) + right * mean * mean);
                        p[t] = right;
                        let mut rest = &mut hessian[1..];
                        for k in 0..p.len() {
                            let (own, others) = rest.split_at_mut(k + 2);
                            let wp = w * p[k];
                            own[0] += wp * (x[k] - mean);
                            own[1..].iter_mut().zip(p.iter()).for_each(|(h, p)| *h -= wp * p);
                            own[k + 1] += wp;
                            rest = others;
                        }
                    }
                }
                Ask::Product(_) => {
                    p[t] = right;
                    u.iter_mut().zip(x.iter()).zip(vb).for_each(|((u, x), v)| *u = x * va + v);
                    let mean = sum(p, u, |p, u| p * u);
                    p.iter_mut().zip(u.iter()).for_each(|(p, u)| *p *= u - mean);
                    *ga += w * sum(p, x, |p, x| p * x);
                    gb.iter_mut().zip(p.iter()).for_each(|(g, p)| *g += w * p);
                }
            }
        });
    }
}

/// Σ f(a, b), in lanes.
#[inline(always)]
fn sum(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            sums[k] += f(a[k], b[k]);
        }
    }
    let last = last_a.iter().zip(last_b).map(|(a, b)| f(*a, *b));
    sums.into_iter().chain(last).fold(0.0, |sum, x| sum + x)
}

/// The Hessian of which a lower triangle is given. A bias that all classes share changes nothing: in this direction the
/// Hessian is 0, and is given a slope of its own, so that there is no step along it.
fn dense(lower: &[f64], length: usize) -> Matrix {
    let cell = |i: usize, j: usize| lower[i * (i + 1) / 2 + j];
    let classes = length.saturating_sub(1).max(1) as f64;
    let flat = (1..length).map(|k| cell(k, k)).sum::<f64>() / (classes * classes);
    Matrix::from_fn(length, length, |i, j| match (i, j) {
        _ if j > i => 0.0,
        (_, 0) => cell(i, j),
        _ => cell(i, j) + flat,
    })
}

impl<R: ScoredRows> Objective for Problem<'_, R> {
    fn at(&self, theta: &[f64], curvature: Curvature) -> Result<Point> {
        let ask = match curvature {
            Curvature::None => Ask::Gradient,
            Curvature::Exact => Ask::Hessian,
            _ => Ask::Diagonal,
        };
        let sums = self.sums(theta, ask)?;
        let curvature = match ask {
            Ask::Diagonal => Matrix::from_columns(theta.len(), 1, sums.diagonal),
            Ask::Hessian => dense(&sums.hessian, theta.len()),
            _ => Matrix::zeros(0, 0),
        };
        Ok(Point { value: sums.value, gradient: sums.gradient, curvature })
    }

    fn hessian_product(&self, theta: &[f64], direction: &[f64]) -> Result<Vec<f64>> {
        Ok(self.sums(theta, Ask::Product(direction))?.gradient)
    }
}
