//! Links of two-class models: p(second class | z).
//!
//! - logit: p = 1/(1+e⁻ᶻ);
//! - probit: p = Φ(z);
//! - complementary log-log: p = 1 − exp(−eᶻ).

use serde::{Deserialize, Serialize};

use crate::numerics::{dot, lanes, least, ln_normal_cdf, log_shares, softplus, vectorised};

/// How a score becomes a probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// Logistic regression.
    #[default]
    Logit,
    /// Probit regression.
    Probit,
    /// The complementary log-log.
    Cloglog,
}

impl Link {
    /// ln p of the first and the second class at z.
    pub fn log_probabilities(self, z: f64) -> [f64; 2] {
        match self {
            Link::Logit => [-softplus(z), -softplus(-z)],
            Link::Probit => [ln_normal_cdf(-z), ln_normal_cdf(z)],
            Link::Cloglog => {
                let rate = z.exp();
                // ln(1 − e⁻ʳ), by the form that keeps its digits.
                let second = if rate < 0.5 { (-(-rate).exp_m1()).ln() } else { (-(-rate).exp()).ln_1p() };
                [-rate, if z < -30.0 { z } else { second }]
            }
        }
    }

    /// Scores become w ∂ℓ/∂z and `curvature` w ∂²ℓ/∂z²; returns the loss and the least margin. A row
    /// without a label has the weight 0.
    pub fn residuals(self, z: &mut [f64], labels: &[u32], weights: &[f64], curvature: &mut [f64]) -> (f64, f64) {
        let mut losses = vec![0.0; z.len()];
        vectorised!(for (((m, z), &label), w) in losses.iter_mut().zip(z.iter()).zip(labels).zip(weights) {
            let margin = if label == 1 { *z } else { -z };
            *m = if *w > 0.0 { margin } else { f64::INFINITY };
        });
        let margin = least(&losses);
        let cells = losses.iter_mut().zip(z.iter_mut()).zip(curvature).zip(labels).zip(weights);
        match self {
            Link::Logit => vectorised!({
                for ((((l, z), c), &label), w) in cells {
                    let (is_second, score) = (label == 1, *z);
                    let e = lanes::exp(-score.abs());
                    let share = 1.0 / (1.0 + e);
                    let p = if score >= 0.0 { share } else { e * share };
                    let miss = if is_second { -score } else { score };
                    *l = if miss > 0.0 { miss } else { 0.0 } + lanes::ln_1p(e);
                    *z = w * (p - if is_second { 1.0 } else { 0.0 });
                    *c = w * e * share * share;
                }
            }),
            link => {
                for ((((l, z), c), &label), w) in cells {
                    (*l, *z, *c) = if *w > 0.0 { link.loss(*z, label == 1) } else { (0.0, 0.0, 0.0) };
                    (*z, *c) = (w * *z, w * *c);
                }
            }
        }
        (dot(&losses, weights), margin)
    }

    /// The scores of one row become ∂ℓ/∂z; of more than one score the link is the softmax.
    pub fn slopes(self, z: &mut [f64], label: u32) {
        if let [z] = z {
            *z = self.loss(*z, label == 1).1;
            return;
        }
        log_shares(z);
        z.iter_mut().for_each(|z| *z = z.exp());
        z[label as usize] -= 1.0;
    }

    /// −ln p(label) at z with its first and second derivative.
    #[inline(always)]
    fn loss(self, z: f64, second: bool) -> (f64, f64, f64) {
        match self {
            Link::Logit => {
                let e = (-z.abs()).exp();
                let p = if z >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
                let t = if second { 1.0 } else { 0.0 };
                let miss = if second { -z } else { z };
                (miss.max(0.0) + e.ln_1p(), p - t, e / ((1.0 + e) * (1.0 + e)))
            }
            Link::Probit => {
                let s = if second { z } else { -z };
                let ln_p = ln_normal_cdf(s);
                // φ(s)/Φ(s), in logs so that the far tail keeps its digits.
                let ratio = (-0.5 * s * s - 0.5 * std::f64::consts::TAU.ln() - ln_p).exp();
                let d = if second { -ratio } else { ratio };
                (-ln_p, d, ratio * (s + ratio))
            }
            Link::Cloglog => {
                let [first, log_second] = self.log_probabilities(z);
                let rate = z.exp();
                if !second {
                    return (-first, rate, rate);
                }
                // d/dz −ln(1−e⁻ʳ) = −r/(eʳ−1) =: −q, and its derivative q(r eʳ/(eʳ−1) − 1).
                let q = if rate > 700.0 { 0.0 } else { rate / rate.exp_m1() };
                let q = if rate == 0.0 { 1.0 } else { q };
                (-log_second, -q, (q * (rate + q - 1.0)).max(0.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_agree_with_differences() {
        for link in [Link::Logit, Link::Probit, Link::Cloglog] {
            for z in [-6.0, -2.5, -0.3, 0.0, 0.4, 1.7] {
                for second in [false, true] {
                    let h = 1e-5;
                    let (l, d, dd) = link.loss(z, second);
                    let (up, down) = (link.loss(z + h, second), link.loss(z - h, second));
                    assert!((l + link.log_probabilities(z)[usize::from(second)]).abs() < 1e-13);
                    assert!((d - (up.0 - down.0) / (2.0 * h)).abs() < 1e-8 * (1.0 + d.abs()), "{link:?} {z} {second}");
                    assert!(
                        (dd - (up.1 - down.1) / (2.0 * h)).abs() < 1e-8 * (1.0 + dd.abs()),
                        "{link:?} {z} {second}"
                    );
                }
            }
        }
    }

    #[test]
    fn probabilities_sum_to_one() {
        for link in [Link::Logit, Link::Probit, Link::Cloglog] {
            for z in [-40.0, -3.0, 0.0, 2.0] {
                let sum: f64 = link.log_probabilities(z).iter().map(|l| l.exp()).sum();
                assert!((sum - 1.0).abs() < 1e-15, "{link:?} {z} {sum}");
            }
        }
    }
}
