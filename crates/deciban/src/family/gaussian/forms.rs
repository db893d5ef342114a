//! Gaussian classifiers written out: what `inspect` prints and a spreadsheet can evaluate.
//!
//! - quadratic, for any two classes: log p(x|a) − log p(x|b) = xᵀAx + bᵀx + c;
//! - linear, where classes share Σ: log p(x|k) = wₖᵀx + w₀ₖ + (what all classes share), with
//!   wₖ = Σ⁻¹μₖ and w₀ₖ = −½ μₖᵀΣ⁻¹μₖ. Adding ln πₖ to w₀ₖ gives the softmax weights βₖ.
//!
//! Linear maps before the density are multiplied in, so x is always in the units of the file.

use super::density::{GaussianDensity, Tails};
use crate::error::{Error, Result};
use crate::family::Density;
use crate::numerics::{Matrix, dot, product};

/// xᵀAx + bᵀx + c, a log-likelihood ratio in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadraticForm {
    /// The symmetric matrix of the squares.
    pub a: Matrix,
    /// The weights.
    pub b: Vec<f64>,
    /// The constant.
    pub c: f64,
}

impl QuadraticForm {
    /// The value at x.
    pub fn at(&self, x: &[f64]) -> f64 {
        dot(x, &self.a.times(x)) + dot(&self.b, x) + self.c
    }
}

/// wᵀx + w₀, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearForm {
    /// The weights.
    pub w: Vec<f64>,
    /// The constant.
    pub w0: f64,
}

impl LinearForm {
    /// The value at x.
    pub fn at(&self, x: &[f64]) -> f64 {
        dot(&self.w, x) + self.w0
    }
}

impl GaussianDensity {
    /// W and o of the whole chain: z = Wᵀx − o.
    pub(super) fn composed(&self) -> (Matrix, Vec<f64>) {
        let d = self.width();
        let mut w = Matrix::identity(d);
        let mut offset = vec![0.0; d];
        for linear in self.chain() {
            let (v, centre) = linear.parts();
            let shifted: Vec<f64> = offset.iter().zip(centre).map(|(o, c)| o + c).collect();
            offset = v.transpose_times(&shifted);
            w = product(&w, false, &v, false);
        }
        (w, offset)
    }

    fn check_normal(&self) -> Result<()> {
        match self.tails() {
            Tails::Normal => Ok(()),
            _ => Err(Error::parameter("estimator=bayes", "a Student density has no quadratic form")),
        }
    }

    /// log p(x | class) as a quadratic form of its own.
    fn quadratic_of(&self, class: usize) -> QuadraticForm {
        let (w, offset) = self.composed();
        let precision = self.factor(class).precision();
        // (z−μ)ᵀP(z−μ) with z − μ = Wᵀx − m, m = o + μ.
        let m: Vec<f64> = offset.iter().zip(self.mean(class)).map(|(o, mu)| o + mu).collect();
        let pm = precision.times(&m);
        let wp = product(&w, false, &precision, false);
        let mut a = product(&wp, false, &w, true);
        a.data_mut().iter_mut().for_each(|x| *x *= -0.5);
        let mpm: f64 = m.iter().zip(&pm).map(|(x, y)| x * y).sum();
        let columns: Vec<usize> = (0..m.len()).collect();
        let volume: f64 = self.chain().iter().map(|l| l.log_determinant()).sum();
        let c = self.log_peak(class, self.factor(class), &columns) + volume - 0.5 * mpm;
        QuadraticForm { a, b: w.times(&pm), c }
    }

    /// log p(x | numerator) − log p(x | denominator).
    pub fn quadratic(&self, numerator: usize, denominator: usize) -> Result<QuadraticForm> {
        self.check_normal()?;
        let (n, m) = (self.quadratic_of(numerator), self.quadratic_of(denominator));
        let d = n.b.len();
        let a = match self.is_tied() {
            true => Matrix::zeros(d, d),
            false => Matrix::from_fn(d, d, |i, j| n.a[(i, j)] - m.a[(i, j)]),
        };
        Ok(QuadraticForm { a, b: n.b.iter().zip(&m.b).map(|(x, y)| x - y).collect(), c: n.c - m.c })
    }

    /// wₖ and w₀ₖ of each class; only where classes share their covariance.
    pub fn linear(&self) -> Result<Vec<LinearForm>> {
        self.check_normal()?;
        if !self.is_tied() {
            return Err(Error::parameter("covariance", "only a tied covariance gives a linear classifier"));
        }
        let forms = (0..self.classes()).map(|k| self.quadratic_of(k));
        // The log peak and the volume are the same for all classes and are left out.
        let columns: Vec<usize> = (0..self.mean(0).len()).collect();
        let volume: f64 = self.chain().iter().map(|l| l.log_determinant()).sum();
        let common = self.log_peak(0, self.factor(0), &columns) + volume;
        Ok(forms.map(|q| LinearForm { w: q.b, w0: q.c - common }).collect())
    }
}
