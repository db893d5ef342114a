//! Minimises f(θ) over θ ≥ 0, f convex, by projected Newton steps or by EM.
//!
//! - Projected Newton (Bertsekas 1982): where θᵢ is near 0 and ∂f/∂θᵢ > 0 the bound holds and the step
//!   is −gᵢ/Hᵢᵢ; the other components take −H⁻¹g among themselves. θ ← max(0, θ + td), t halved
//!   until f falls by a share of what the slope promises.
//! - EM: θᵢ ← θᵢ (1 − gᵢ/Xᵢ), Xᵢ = Σ w xᵢ. Cause i strikes a row Poisson(θᵢxᵢ) times, and the effect
//!   is there if anything struck; the step is the expected number of strikes over Xᵢ, and never
//!   makes f larger. It needs no Hessian, and many steps.
//!
//! Both stop where no component could gain: |min(gᵢ/Xᵢ, θᵢXᵢ/W)| ≤ tolerance, which is 0 at a
//! minimum (either the slope is 0, or θᵢ is 0 and the slope not negative) and has no units.

use crate::error::Result;
use crate::numerics::Matrix;
use crate::numerics::minimise::{Curvature, Limits, Objective, Point, cholesky_step};

/// Where an optimiser stopped, and its way there.
pub struct Solution {
    pub theta: Vec<f64>,
    pub value: f64,
    pub violation: f64,
    pub iterations: usize,
    pub converged: bool,
    /// The value at the start and after each iteration.
    pub path: Vec<f64>,
}

/// The scale of each component: Xᵢ, the leak's (all rows) last.
pub struct Scales<'a>(pub &'a [f64]);

impl Scales<'_> {
    fn violation(&self, theta: &[f64], gradient: &[f64]) -> f64 {
        let rows = self.0[self.0.len() - 1];
        let of = |i: usize| match self.0[i] {
            x if x > 0.0 => f64::min(gradient[i] / x, theta[i] * x / rows).abs(),
            _ => 0.0,
        };
        (0..theta.len()).map(of).fold(0.0, f64::max)
    }
}

struct Walk {
    theta: Vec<f64>,
    point: Point,
    violation: f64,
    path: Vec<f64>,
}

impl Walk {
    fn start(objective: &impl Objective, theta: Vec<f64>, curvature: Curvature, scales: &Scales<'_>) -> Result<Self> {
        let point = objective.at(&theta, curvature)?;
        let violation = scales.violation(&theta, &point.gradient);
        Ok(Walk { theta, path: vec![point.value], point, violation })
    }

    fn done(&self, limits: Limits) -> bool {
        self.violation <= limits.gradient || self.path.len() > limits.iterations
    }

    fn move_to(&mut self, theta: Vec<f64>, point: Point, violation: f64) {
        self.path.push(point.value);
        (self.theta, self.point, self.violation) = (theta, point, violation);
    }

    fn finish(self, limits: Limits) -> Solution {
        Solution {
            theta: self.theta,
            value: self.point.value,
            violation: self.violation,
            iterations: self.path.len() - 1,
            converged: self.violation <= limits.gradient,
            path: self.path,
        }
    }
}

/// EM steps, each no worse than the last.
pub fn em(objective: &impl Objective, theta: Vec<f64>, scales: &Scales<'_>, limits: Limits) -> Result<Solution> {
    let mut walk = Walk::start(objective, theta, Curvature::None, scales)?;
    while !walk.done(limits) {
        let step = |(i, t): (usize, &f64)| match scales.0[i] {
            x if x > 0.0 => t * (1.0 - walk.point.gradient[i] / x).max(0.0),
            _ => 0.0,
        };
        let theta: Vec<f64> = walk.theta.iter().enumerate().map(step).collect();
        let point = objective.at(&theta, Curvature::None)?;
        let violation = scales.violation(&theta, &point.gradient);
        walk.move_to(theta, point, violation);
    }
    Ok(walk.finish(limits))
}

/// Projected Newton steps.
pub fn newton(objective: &impl Objective, theta: Vec<f64>, scales: &Scales<'_>, limits: Limits) -> Result<Solution> {
    let mut walk = Walk::start(objective, theta, Curvature::Exact, scales)?;
    loop {
        // Newton's steps double the digits: the one after the goal leaves what rounding leaves.
        let is_last = walk.violation <= limits.gradient;
        if walk.done(limits) && !is_last {
            break;
        }
        let Some((direction, bound)) = direction(&walk, scales) else { break };
        if !search(objective, &mut walk, &direction, &bound, scales)? || is_last {
            break;
        }
    }
    Ok(walk.finish(limits))
}

/// The step, and which components are held at their bound.
fn direction(walk: &Walk, scales: &Scales<'_>) -> Option<(Vec<f64>, Vec<bool>)> {
    let (g, h) = (&walk.point.gradient, &walk.point.curvature);
    let rows = scales.0[scales.0.len() - 1];
    let near = walk.violation.min(1e-3);
    let bound: Vec<bool> = (0..g.len())
        .map(|i| scales.0[i] <= 0.0 || (g[i] > 0.0 && walk.theta[i] * scales.0[i] / rows <= near))
        .collect();
    let free: Vec<usize> = (0..g.len()).filter(|&i| !bound[i]).collect();
    let inner = Matrix::from_fn(free.len(), free.len(), |a, b| h[(free[a].max(free[b]), free[a].min(free[b]))]);
    let step = cholesky_step(&inner, &free.iter().map(|&i| g[i]).collect::<Vec<_>>())?;
    let mut direction: Vec<f64> = (0..g.len()).map(|i| -g[i] / h[(i, i)].max(f64::MIN_POSITIVE)).collect();
    free.iter().zip(step).for_each(|(&i, s)| direction[i] = s);
    Some((direction, bound))
}

/// Halves the step along the projected path until the value falls; `false` where none does.
fn search(
    objective: &impl Objective,
    walk: &mut Walk,
    direction: &[f64],
    bound: &[bool],
    scales: &Scales<'_>,
) -> Result<bool> {
    let mut t = 1.0;
    for _ in 0..60 {
        let moved = |(x, d): (&f64, &f64)| (x + t * d).max(0.0);
        let theta: Vec<f64> = walk.theta.iter().zip(direction).map(moved).collect();
        if theta == walk.theta {
            return Ok(false);
        }
        let g = &walk.point.gradient;
        let promised: f64 = (0..theta.len())
            .map(|i| if bound[i] { g[i] * (walk.theta[i] - theta[i]) } else { -t * g[i] * direction[i] })
            .sum();
        let point = objective.at(&theta, Curvature::Exact)?;
        let violation = scales.violation(&theta, &point.gradient);
        // Near the optimum values differ only by rounding: there the violation decides.
        let noise = 1e-14 * walk.point.value.abs();
        let falls = point.value <= walk.point.value - 1e-4 * promised;
        let flat = (point.value - walk.point.value).abs() <= noise && violation < walk.violation;
        if falls || flat {
            walk.move_to(theta, point, violation);
            return Ok(true);
        }
        t *= 0.5;
    }
    Ok(false)
}
