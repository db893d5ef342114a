//! Optimisers of smooth convex objectives. They see values and derivatives, nothing of the data.
//!
//! - Newton: θ ← θ − (H + λ diag)⁻¹∇, by Cholesky, with λ = 0 unless the value does not fall;
//! - L-BFGS (Nocedal 1980) with the fifty latest steps, started from a bound on the Hessian, from its
//!   estimate or from its diagonal, so that correlated columns and rare words cost no iterations;
//! - Newton by conjugate gradients (Hestenes & Stiefel 1952), with the diagonal of H as the metric:
//!   H d = −∇ solved as far as it pays, with products Hv and no H, until
//!   ‖Hd + ∇‖ ≤ min(½, √‖∇‖/‖∇₀‖) ‖∇‖ (Dembo, Eisenstat & Steihaug 1982);
//! - gradient: θ ← θ − t∇, t from the last step (Barzilai & Borwein 1988), halved until it falls.

use serde::{Deserialize, Serialize};

use super::{Matrix, cholesky, dot, solve_lower, vectorised};
use crate::error::Result;

/// How the optimum is found; all lead to the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// By the shape of the problem.
    #[default]
    Auto,
    /// Newton's method (iteratively reweighted least squares).
    Newton,
    /// L-BFGS.
    Lbfgs,
    /// Steepest descent.
    Gradient,
    /// Stochastic gradient descent, one row after the other.
    Sgd,
}

impl Solver {
    /// All solvers, by the names of the command line.
    pub const ALL: [(&'static str, Solver); 5] = [
        ("auto", Solver::Auto),
        ("newton", Solver::Newton),
        ("lbfgs", Solver::Lbfgs),
        ("gradient", Solver::Gradient),
        ("sgd", Solver::Sgd),
    ];
}

/// What an optimiser asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Curvature {
    /// Value and gradient only.
    None,
    /// The diagonal of the Hessian, as a matrix of one column.
    Diagonal,
    /// A block that bounds the Hessian, the same for every output.
    Bound,
    /// The Hessian.
    Exact,
}

/// An objective at a point.
#[derive(Clone, Debug)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// The gradient.
    pub gradient: Vec<f64>,
    /// What was asked for; lower triangle.
    pub curvature: Matrix,
}

/// A function to minimise.
pub trait Objective {
    /// Value and derivatives at θ.
    fn at(&self, theta: &[f64], curvature: Curvature) -> Result<Point>;

    /// The product of the Hessian at θ with a direction.
    fn hessian_product(&self, theta: &[f64], direction: &[f64]) -> Result<Vec<f64>> {
        let mut h = self.at(theta, Curvature::Exact)?.curvature;
        h.mirror_lower();
        Ok(h.times(direction))
    }
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest component of the gradient that counts as zero.
    pub gradient: f64,
    /// The most iterations.
    pub iterations: usize,
}

/// Where an optimiser stopped, and its way there.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The method that took it there.
    pub solver: Solver,
    /// The minimiser.
    pub theta: Vec<f64>,
    /// The objective there.
    pub value: f64,
    /// The largest component of its gradient.
    pub gradient_norm: f64,
    /// Iterations taken.
    pub iterations: usize,
    /// Whether the gradient is as small as asked, or as rounding allows.
    pub converged: bool,
    /// The value at the start and after each iteration.
    pub path: Vec<f64>,
}

impl Solution {
    /// This one, found from where another ended.
    pub fn after(self, first: Solution) -> Self {
        let path = [&first.path[..], &self.path[1..]].concat();
        Solution { iterations: first.iterations + self.iterations, path, ..self }
    }
}

/// The largest component.
pub fn norm(gradient: &[f64]) -> f64 {
    gradient.iter().fold(0.0, |m, g| g.abs().max(m))
}

fn along(theta: &[f64], step: f64, direction: &[f64]) -> Vec<f64> {
    theta.iter().zip(direction).map(|(x, d)| x + step * d).collect()
}

/// The same in place.
fn add_along(theta: &mut [f64], step: f64, direction: &[f64]) {
    vectorised!(theta.iter_mut().zip(direction).for_each(|(x, d)| *x += step * d));
}

/// The factor of H, with as much of its trace on the diagonal as it takes: dependent columns leave
/// directions in which H is flat, and there the step is 0 rather than undefined.
fn factor(h: &Matrix) -> Option<Matrix> {
    let n = h.rows();
    let mean = (0..n).map(|j| h[(j, j)]).sum::<f64>() / n.max(1) as f64;
    [0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6].into_iter().find_map(|share| {
        let mut ridged = h.clone();
        (0..n).for_each(|j| ridged[(j, j)] += share * mean);
        let l = cholesky(&ridged)?;
        (0..n).all(|j| l[(j, j)] * l[(j, j)] > 1e-15 * ridged[(j, j)]).then_some(l)
    })
}

/// −H⁻¹g, with H's lower triangle given.
pub fn cholesky_step(h: &Matrix, g: &[f64]) -> Option<Vec<f64>> {
    Some(solve(&factor(h)?, g).iter().map(|x| -x).collect())
}

fn solve(l: &Matrix, b: &[f64]) -> Vec<f64> {
    let mut x = Matrix::from_columns(b.len(), 1, b.to_vec());
    solve_lower(l, false, &mut x);
    solve_lower(l, true, &mut x);
    x.data().to_vec()
}

/// Shared by the optimisers: the current point, its path, and the line search.
struct Walk<'a, O: Objective> {
    objective: &'a O,
    limits: Limits,
    theta: Vec<f64>,
    point: Point,
    path: Vec<f64>,
}

impl<'a, O: Objective> Walk<'a, O> {
    fn start(objective: &'a O, theta: Vec<f64>, curvature: Curvature, limits: Limits) -> Result<Self> {
        let point = objective.at(&theta, curvature)?;
        Ok(Walk { objective, limits, theta, path: vec![point.value], point })
    }

    fn done(&self) -> bool {
        norm(&self.point.gradient) <= self.limits.gradient || self.path.len() > self.limits.iterations
    }

    /// Moves along `direction`, halving the step until the value falls by a share of what the slope
    /// promises; `false` where no step does, which is where rounding ends the descent.
    fn step(&mut self, direction: &[f64], first: f64, curvature: Curvature) -> Result<bool> {
        let mut step = first;
        for _ in 0..50 {
            if self.try_step(direction, step, curvature)? {
                return Ok(true);
            }
            step *= 0.5;
        }
        Ok(false)
    }

    /// Moves along `direction` by this step, if the value falls.
    fn try_step(&mut self, direction: &[f64], step: f64, curvature: Curvature) -> Result<bool> {
        let slope = dot(direction, &self.point.gradient);
        let theta = along(&self.theta, step, direction);
        if slope >= 0.0 || theta == self.theta {
            return Ok(false);
        }
        let point = self.objective.at(&theta, curvature)?;
        // Near the optimum values differ only by rounding: there the gradient decides.
        let noise = 1e-14 * self.point.value.abs();
        let falls = point.value <= self.point.value + 1e-4 * step * slope;
        let flat =
            (point.value - self.point.value).abs() <= noise && norm(&point.gradient) < norm(&self.point.gradient);
        if falls || flat {
            (self.theta, self.point) = (theta, point);
            self.path.push(self.point.value);
        }
        Ok(falls || flat)
    }

    fn finish(self, solver: Solver) -> Solution {
        let gradient_norm = norm(&self.point.gradient);
        Solution {
            solver,
            converged: gradient_norm <= self.limits.gradient,
            theta: self.theta,
            value: self.point.value,
            gradient_norm,
            iterations: self.path.len() - 1,
            path: self.path,
        }
    }
}

/// Newton's method with the exact Hessian. A step that does not lower the value has gone to where the Hessian is
/// another one, and is tried again with some of its diagonal added (Levenberg 1944, Marquardt 1963), the largest that
/// was seen: as much as the values ask for, and none where the Hessian foretells them.
pub fn newton(objective: &impl Objective, theta: Vec<f64>, limits: Limits) -> Result<Solution> {
    let mut walk = Walk::start(objective, theta, Curvature::Exact, limits)?;
    let mut largest = vec![0.0; walk.theta.len()];
    // The share of the diagonal that is added.
    let mut damping = 0.0;
    'steps: while !walk.done() {
        let h = walk.point.curvature.clone();
        largest.iter_mut().enumerate().for_each(|(j, most)| *most = h[(j, j)].max(*most));
        let mut growth = 4.0;
        loop {
            let mut damped = h.clone();
            largest.iter().enumerate().for_each(|(j, most)| damped[(j, j)] += damping * most);
            let Some(direction) = cholesky_step(&damped, &walk.point.gradient) else { break 'steps };
            let added: f64 = direction.iter().zip(&largest).map(|(d, most)| damping * most * d * d).sum();
            let foretold = 0.5 * (added - dot(&direction, &walk.point.gradient));
            let value = walk.point.value;
            // Where a step may fail, the Hessian waits until it has not.
            let asked = if damping == 0.0 { Curvature::Exact } else { Curvature::None };
            if walk.try_step(&direction, 1.0, asked)? {
                let kept = 2.0 * (value - walk.point.value) / foretold - 1.0;
                damping *= (1.0 - kept.powi(3)).clamp(0.1, 2.0);
                if damping < 1e-7 {
                    damping = 0.0;
                }
                if asked == Curvature::None && !walk.done() {
                    walk.point = objective.at(&walk.theta, Curvature::Exact)?;
                }
                continue 'steps;
            }
            damping = f64::max(damping * growth, 0.1);
            growth *= 2.0;
            if damping > 1e12 {
                break 'steps;
            }
        }
    }
    Ok(walk.finish(Solver::Newton))
}

/// Newton's method by conjugate gradients, for weights too many for their Hessian.
pub fn newton_cg(objective: &impl Objective, theta: Vec<f64>, limits: Limits) -> Result<Solution> {
    let mut walk = Walk::start(objective, theta, Curvature::Diagonal, limits)?;
    let first = length(&walk.point.gradient);
    while !walk.done() {
        let size = length(&walk.point.gradient);
        let enough = size * (size / first).sqrt().min(0.5);
        let direction = conjugate_gradients(objective, &walk.theta, &walk.point, enough)?;
        if !walk.step(&direction, 1.0, Curvature::Diagonal)? {
            break;
        }
    }
    Ok(walk.finish(Solver::Newton))
}

/// d with H d ≈ −g: ‖H d + g‖ is `enough`, or H is flat along the next direction.
fn conjugate_gradients(objective: &impl Objective, theta: &[f64], at: &Point, enough: f64) -> Result<Vec<f64>> {
    const MOST: usize = 250;
    let metric = Metric::of(at);
    let mut d = vec![0.0; theta.len()];
    let mut r: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
    let mut p = metric.apply(&r);
    let mut rr = dot(&r, &p);
    for _ in 0..MOST {
        let hp = objective.hessian_product(theta, &p)?;
        let php = dot(&p, &hp);
        if php <= 1e-14 * dot(&p, &p) {
            break;
        }
        let alpha = rr / php;
        d = along(&d, alpha, &p);
        r = along(&r, -alpha, &hp);
        if length(&r) <= enough {
            break;
        }
        let s = metric.apply(&r);
        let next = dot(&r, &s);
        p = along(&s, next / rr, &p);
        rr = next;
    }
    // Where the first direction is flat already, the gradient is all there is.
    Ok(if d.iter().all(|d| *d == 0.0) { p } else { d })
}

fn length(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// What is known of the Hessian before the first step.
enum Metric {
    None,
    Diagonal(Vec<f64>),
    /// A factor of it, or of a block that bounds it for every output.
    Factor(Matrix),
}

impl Metric {
    fn of(point: &Point) -> Self {
        let h = &point.curvature;
        match (h.rows(), h.columns()) {
            (0, _) => Metric::None,
            (_, 1) => {
                // Where it is flat, any step will do that is not infinite.
                let least = 1e-12 * h.data().iter().fold(0.0, |most, h| f64::max(most, *h));
                Metric::Diagonal(h.data().iter().map(|h| h.max(least).max(f64::MIN_POSITIVE)).collect())
            }
            _ => factor(h).map_or(Metric::None, Metric::Factor),
        }
    }

    /// The metric's inverse times v.
    fn apply(&self, v: &[f64]) -> Vec<f64> {
        match self {
            Metric::None => v.to_vec(),
            Metric::Diagonal(h) => v.iter().zip(h).map(|(v, h)| v / h).collect(),
            Metric::Factor(l) => {
                let outputs = v.len() / l.rows();
                let mut x = Matrix::from_fn(l.rows(), outputs, |j, k| v[j * outputs + k]);
                solve_lower(l, false, &mut x);
                solve_lower(l, true, &mut x);
                (0..v.len()).map(|i| x[(i / outputs, i % outputs)]).collect()
            }
        }
    }
}

/// L-BFGS from a metric: the Hessian or its diagonal is renewed in the first steps, which change it most,
/// and now and then.
pub fn lbfgs(objective: &impl Objective, theta: Vec<f64>, start: Curvature, limits: Limits) -> Result<Solution> {
    // Weights without a Hessian need a long memory, which costs little beside a pass over the rows.
    lbfgs_remembering(50, objective, theta, start, limits)
}

/// The same with the latest `memory` steps.
pub fn lbfgs_remembering(
    memory: usize,
    objective: &impl Objective,
    theta: Vec<f64>,
    start: Curvature,
    limits: Limits,
) -> Result<Solution> {
    let renews = |taken: usize| match start {
        Curvature::Exact => taken < 3 || taken % 16 == 15,
        // What the steps have told is lost with a new metric, and is worth more than a diagonal.
        Curvature::Diagonal => taken < 2,
        Curvature::None | Curvature::Bound => false,
    };
    descend(memory, objective, theta, (start, &renews), limits)
}

/// L-BFGS from a point near the minimum, where the Hessian hardly changes any more: it is taken once, and again
/// where that was not near enough.
pub fn lbfgs_near(objective: &impl Objective, theta: Vec<f64>, limits: Limits) -> Result<Solution> {
    descend(50, objective, theta, (Curvature::Exact, &|taken| taken % 16 == 15), limits)
}

/// L-BFGS from a metric, which is renewed by the step after as many as `renews` says.
fn descend(
    memory: usize,
    objective: &impl Objective,
    theta: Vec<f64>,
    (start, renews): (Curvature, &dyn Fn(usize) -> bool),
    limits: Limits,
) -> Result<Solution> {
    let mut walk = Walk::start(objective, theta, start, limits)?;
    let mut metric = Metric::of(&walk.point);
    let mut pairs: std::collections::VecDeque<(Vec<f64>, Vec<f64>, f64)> = Default::default();
    while !walk.done() {
        let mut q = walk.point.gradient.clone();
        let mut alphas = Vec::new();
        for (s, y, rho) in pairs.iter().rev() {
            let alpha = rho * dot(s, &q);
            add_along(&mut q, -alpha, y);
            alphas.push(alpha);
        }
        let mut r = metric.apply(&q);
        if let Some((s, y, _)) = pairs.back() {
            let scale = dot(s, y) / dot(y, &metric.apply(y));
            r.iter_mut().for_each(|x| *x *= scale);
        }
        for ((s, y, rho), alpha) in pairs.iter().zip(alphas.iter().rev()) {
            let beta = rho * dot(y, &r);
            add_along(&mut r, alpha - beta, s);
        }
        let direction: Vec<f64> = r.iter().map(|x| -x).collect();
        // Without a metric nothing is known of the scale before the first step.
        let step =
            if pairs.is_empty() && matches!(metric, Metric::None) { 1.0 / norm(&direction).max(1.0) } else { 1.0 };
        let (theta, gradient) = (walk.theta.clone(), walk.point.gradient.clone());
        let renew = renews(walk.path.len() - 1);
        if !walk.step(&direction, step, if renew { start } else { Curvature::None })? {
            if pairs.is_empty() {
                break;
            }
            pairs.clear();
            continue;
        }
        if renew {
            metric = Metric::of(&walk.point);
            pairs.clear();
            continue;
        }
        let s = along(&walk.theta, -1.0, &theta);
        let y = along(&walk.point.gradient, -1.0, &gradient);
        let sy = dot(&s, &y);
        if sy > 1e-14 * length(&y) * length(&s) {
            pairs.push_back((s, y, 1.0 / sy));
            if pairs.len() > memory {
                pairs.pop_front();
            }
        }
    }
    Ok(walk.finish(Solver::Lbfgs))
}

/// Steepest descent with a line search.
pub fn gradient(objective: &impl Objective, theta: Vec<f64>, limits: Limits) -> Result<Solution> {
    let mut walk = Walk::start(objective, theta, Curvature::None, limits)?;
    let mut length = 1.0 / norm(&walk.point.gradient).max(1.0);
    while !walk.done() {
        let (theta, gradient) = (walk.theta.clone(), walk.point.gradient.clone());
        let direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        if !walk.step(&direction, length, Curvature::None)? {
            break;
        }
        let s = along(&walk.theta, -1.0, &theta);
        let y = along(&walk.point.gradient, -1.0, &gradient);
        let sy = dot(&s, &y);
        length = if sy > 0.0 { dot(&s, &s) / sy } else { 2.0 * length };
    }
    Ok(walk.finish(Solver::Gradient))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ½(θ−a)ᵀA(θ−a) + Σ exp(θⱼ), convex and not quadratic.
    struct Bowl;

    impl Objective for Bowl {
        fn at(&self, theta: &[f64], curvature: Curvature) -> Result<Point> {
            let a = [[5.0, 2.0, 0.3], [2.0, 4.0, 1.0], [0.3, 1.0, 0.9]];
            let shifted: Vec<f64> = theta.iter().zip([1.0, -2.0, 0.5]).map(|(t, s)| t - s).collect();
            let product: Vec<f64> = a.iter().map(|row| dot(row, &shifted)).collect();
            let value = 0.5 * dot(&shifted, &product) + theta.iter().map(|t| t.exp()).sum::<f64>();
            let gradient = product.iter().zip(theta).map(|(p, t)| p + t.exp()).collect();
            let h = |i: usize, j: usize| a[i][j] + if i == j { theta[i].exp() } else { 0.0 };
            let curvature = match curvature {
                Curvature::None => Matrix::zeros(0, 0),
                Curvature::Diagonal => Matrix::from_fn(3, 1, |i, _| h(i, i)),
                _ => Matrix::from_fn(3, 3, h),
            };
            Ok(Point { value, gradient, curvature })
        }
    }

    #[test]
    fn all_reach_the_same_minimum() {
        let limits = Limits { gradient: 1e-11, iterations: 10_000 };
        let start = vec![3.0, 3.0, -3.0];
        let a = newton(&Bowl, start.clone(), limits).unwrap();
        assert!(a.converged && a.iterations < 12, "{a:?}");
        assert!(a.path.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-13)));
        let others = [
            newton_cg(&Bowl, start.clone(), limits).unwrap(),
            lbfgs(&Bowl, start.clone(), Curvature::None, limits).unwrap(),
            lbfgs(&Bowl, start.clone(), Curvature::Diagonal, limits).unwrap(),
            lbfgs(&Bowl, start.clone(), Curvature::Bound, limits).unwrap(),
            lbfgs(&Bowl, start.clone(), Curvature::Exact, limits).unwrap(),
            lbfgs_near(&Bowl, start.clone(), limits).unwrap(),
            gradient(&Bowl, start, limits).unwrap(),
        ];
        for b in others {
            assert!(b.converged, "{b:?}");
            assert!(a.theta.iter().zip(&b.theta).all(|(x, y)| (x - y).abs() < 1e-10));
        }
    }

    /// ln cosh θ, from whose tails a plain step of Newton goes further away, and its evaluations.
    struct Trough(std::cell::Cell<usize>);

    impl Objective for Trough {
        fn at(&self, theta: &[f64], curvature: Curvature) -> Result<Point> {
            self.0.set(self.0.get() + 1);
            let (x, t) = (theta[0], theta[0].tanh());
            let size = usize::from(curvature != Curvature::None);
            Ok(Point {
                value: x.abs() + (-2.0 * x.abs()).exp().ln_1p() - 2f64.ln(),
                gradient: vec![t],
                curvature: Matrix::from_fn(size, size, |_, _| 1.0 - t * t),
            })
        }
    }

    #[test]
    fn newton_is_damped_where_the_hessian_misleads() {
        for start in [1.2, 3.0, 10.0] {
            let trough = Trough(Default::default());
            let found = newton(&trough, vec![start], Limits { gradient: 1e-10, iterations: 100 }).unwrap();
            assert!(found.converged && found.theta[0].abs() < 1e-9, "{found:?}");
            assert!(found.path.windows(2).all(|w| w[1] <= w[0]), "{found:?}");
            assert!(trough.0.get() < 40, "{start}: {} evaluations", trough.0.get());
        }
    }
}
