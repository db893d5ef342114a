//! Negative binomial family: counts with more spread than a Poisson has, x = 0, 1, 2, …
//!
//! ```text
//! p(x | c) = Γ(x+r)/(Γ(r) x!) · (r/(r+m))ʳ (m/(r+m))ˣ,   mean m, dispersion φ = 1/r,
//! variance m + φm²;   φ = 0 is the Poisson density
//! ```
//!
//! Statistic: how often each count occurs, in a sketch that keeps up to 16,384 different ones exactly. m = (Σx + α)/w,
//! with the α of the Poisson family. φ is the maximum likelihood: 0 where the variance of the counts is not above their
//! mean x̄, otherwise the only root of
//!
//! ```text
//! Σₓ p̂(x) A(x, φ) = φ(x̄φ)/φ²,   A(x, φ) = Σ_{j<x} j/(1+jφ) = (φ(xφ) − h(r) + h(r+x))/φ²
//! ```
//!
//! (Aragón, Eberly & Eberly 1992: there is one), where φ(u) = u − ln(1+u) and h(k) = ln k − ψ(k): the derivative of
//! the log-likelihood without the terms that cancel. With d(a, b) = a/b − 1 − ln(a/b) and R the rest of Stirling's
//! formula (Loader 2000),
//!
//! log p = −r φ(u) − x d(m(x+r)/(r+m), x) − ln(1+xφ) + R(x+r) − R(r) − R(x),   u = (x−m)/(r+m).

use serde::{Deserialize, Serialize};

use super::exponential_family::{ExponentialFamily, Independent, Member, check_domain, name};
use super::poisson::{Poisson, Rate};
use super::{Family, Names};
use crate::data::{Cells, Tile};
use crate::error::{Error, Result};
use crate::numerics::{Random, itakura_saito, less_ln_1p, ln_less_digamma, stirling_rest};
use crate::statistic::{Quantiles, Sketches};

/// The negative binomial family.
///
/// ```
/// use deciban::data::{Batch, Cells, Column, Rows};
/// use deciban::family::negative_binomial::NegativeBinomial;
/// use deciban::family::{Density, Family, Names};
///
/// let family = NegativeBinomial::default().with_pseudo_count(0.0);
/// let x = [0.0, 0.0, 1.0, 7.0];
/// let (columns, classes) = (["visits".to_string()], ["new".to_string()]);
/// let batch = Batch::new(4).column(&x[..])?;
/// let mut statistic = family.empty(1);
/// family.observe(&mut statistic, &Cells::new(&batch, &[0], Rows::Range(0..4)), &columns)?;
/// let density = family.fit(&[&statistic], Names { columns: &columns, levels: &[0], classes: &classes })?;
/// let parameters = density.parameters(&[Column::number("visits")]);
/// assert_eq!((parameters[0].what, parameters[0].rows[0].1[0]), ("mean", 2.0));
/// assert_eq!(parameters[1].what, "dispersion");
/// assert!((parameters[1].rows[0].1[0] - 2.705_580_127_900_21).abs() < 1e-13);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NegativeBinomial {
    /// α: events that the prior adds to each class, as in the Poisson family.
    #[serde(flatten)]
    pub rate: Poisson,
}

/// A negative binomial distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersed {
    mean: f64,
    /// φ
    dispersion: f64,
    /// R(r)
    rest: f64,
}

impl Member for Dispersed {
    const PARAMETERS: &'static [&'static str] = &["mean", "dispersion"];
    const DOMAIN: &'static str = Rate::DOMAIN;

    fn contains(x: f64) -> bool {
        Rate::contains(x)
    }

    fn new(parameters: &[f64]) -> Option<Self> {
        let [mean, dispersion] = *parameters else { return None };
        Rate::new(&[mean])?;
        let r = dispersion.recip();
        let valid = dispersion == 0.0 || (dispersion > 0.0 && r > 0.0 && r.is_finite());
        valid.then(|| Dispersed { mean, dispersion, rest: if dispersion > 0.0 { stirling_rest(r) } else { 0.0 } })
    }

    fn parameters(&self) -> Vec<f64> {
        vec![self.mean, self.dispersion]
    }

    fn log_density(&self, x: f64) -> f64 {
        let Dispersed { mean: m, dispersion, rest } = *self;
        if dispersion == 0.0 {
            return Rate::new(&[m]).map_or(f64::NAN, |rate| rate.log_density(x));
        }
        let r = dispersion.recip();
        if x == 0.0 {
            return -r * (m * dispersion).ln_1p();
        }
        // m(x+r)/(r+m), less x.
        let beyond = r * ((m - x) / (r + m));
        let of_x = -x * itakura_saito(x + beyond, x, beyond) - stirling_rest(x);
        of_x - r * less_ln_1p((x - m) / (r + m)) - (x * dispersion).ln_1p() + (stirling_rest(x + r) - rest)
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    /// A Poisson number whose rate is drawn from a gamma density.
    fn sample(&self, random: &mut Random) -> f64 {
        let scale = self.mean * self.dispersion;
        let rate = if self.dispersion > 0.0 { random.gamma(self.dispersion.recip()) * scale } else { self.mean };
        Rate::new(&[rate]).map_or(rate, |rate| rate.sample(random))
    }
}

/// What is kept of the counts of one class: their mean and dispersion by maximum likelihood.
struct Spread {
    weight: f64,
    sum: f64,
    /// Counts above 1, each with its share of the weight.
    above_one: Vec<(f64, f64)>,
}

impl Spread {
    fn of(counts: &Quantiles) -> Self {
        let weight = counts.weight();
        let sum = counts.values().map(|(x, w)| x * w).sum();
        let above_one = counts.values().filter(|(x, _)| *x > 1.0).map(|(x, w)| (x, w / weight)).collect();
        Spread { weight, sum, above_one }
    }

    fn mean(&self) -> f64 {
        self.sum / self.weight
    }

    /// The derivative of the log-likelihood by −1/φ, over φ, for φ > 0.
    fn slope(&self, dispersion: f64) -> f64 {
        let of_counts: f64 = self.above_one.iter().map(|(x, share)| share * sum_of_ratios(*x, dispersion)).sum();
        of_counts - less_ln_1p(self.mean() * dispersion) / (dispersion * dispersion)
    }

    fn dispersion(&self) -> f64 {
        let mean = self.mean();
        // By moments: (variance − mean)/mean², which has the sign of the slope at 0.
        let of_moments =
            self.above_one.iter().map(|(x, share)| share * (x / mean) * ((x - 1.0) / mean)).sum::<f64>() - 1.0;
        if self.above_one.is_empty() || of_moments <= 1e-14 {
            return 0.0;
        }
        // From there to both sides of the root, where the slope changes its sign.
        let (mut low, mut high) = (of_moments, of_moments);
        while self.slope(low) < 0.0 && low > 1e-300 {
            low *= 0.25;
        }
        while self.slope(high) > 0.0 && high < 1e300 {
            high *= 4.0;
        }
        while high - low > 2.0 * f64::EPSILON * high {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.slope(middle) > 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// A(x, φ)
fn sum_of_ratios(x: f64, dispersion: f64) -> f64 {
    /// Sums of up to this many terms are added up: the closed form loses digits where x and φ are small.
    const FEW: f64 = 64.0;
    if x <= FEW && x.fract() == 0.0 {
        return (1..x as u32).map(f64::from).map(|j| j / (1.0 + j * dispersion)).sum();
    }
    let r = dispersion.recip();
    (less_ln_1p(x * dispersion) - (ln_less_digamma(r) - ln_less_digamma(r + x))) * r * r
}

impl Family for NegativeBinomial {
    type Statistic = Sketches;
    type Density = Independent<Dispersed>;

    fn empty(&self, width: usize) -> Sketches {
        Sketches(vec![Quantiles::new(); width])
    }

    fn size(&self, width: usize) -> usize {
        width * Quantiles::MOST_BYTES
    }

    fn observe(&self, statistic: &mut Sketches, x: &Cells<'_>, names: &[String]) -> Result<()> {
        Error::check_shape("columns of a block", statistic.0.len(), x.width())?;
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        x.read_numbers(&mut tile)?;
        x.read_weights(&mut weights);
        for (j, counts) in statistic.0.iter_mut().enumerate() {
            check_domain::<Dispersed>(tile.column(j), x, name(names, j))?;
            counts.observe(tile.column(j), &weights);
        }
        Ok(())
    }

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        NegativeBinomial { rate: self.rate.with_pseudo_count(pseudo_count) }
    }

    fn fit(&self, classes: &[&Sketches], names: Names<'_>) -> Result<Independent<Dispersed>> {
        self.rate.check()?;
        let member = |class: usize, j: usize| {
            let counts = Spread::of(&classes[class].0[j]);
            if counts.weight == 0.0 {
                return Err("has no values");
            }
            let mean = (counts.sum + self.rate.pseudo_count) / counts.weight;
            Dispersed::new(&[mean, counts.dispersion()]).ok_or("has no mean")
        };
        Independent::of_members(classes.len(), classes.first().map_or(0, |class| class.0.len()), names, member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one() {
        for (mean, dispersion) in [(0.0, 2.0), (1e-3, 0.5), (0.7, 0.0), (3.0, 1e-12), (12.0, 0.3), (40.0, 0.02)] {
            let density = Dispersed::new(&[mean, dispersion]).unwrap();
            let sums = (0..6000).map(|x| (x as f64, density.log_density(x as f64).exp()));
            let (sum, first) = sums.fold((0.0, 0.0), |(sum, first), (x, p)| (sum + p, first + x * p));
            assert!((sum - 1.0).abs() < 1e-12, "{mean}, {dispersion}: {sum}");
            assert!((first - mean).abs() < 1e-10, "{mean}, {dispersion}: {first}");
        }
    }

    /// With r = 1 it is the geometric density; with φ → 0 the Poisson density.
    #[test]
    fn special_cases() {
        let geometric = Dispersed::new(&[4.0, 1.0]).unwrap();
        let rate = Rate::new(&[4.0]).unwrap();
        let nearly = Dispersed::new(&[4.0, 1e-13]).unwrap();
        for x in [0.0, 1.0, 2.0, 9.0, 100.0] {
            assert!((geometric.log_density(x) - (x * 0.8f64.ln() + 0.2f64.ln())).abs() < 1e-13, "{x}");
            let error = nearly.log_density(x) - rate.log_density(x);
            assert!(error.abs() < 1e-9, "{x}: {error}");
        }
        assert_eq!(Dispersed::new(&[0.0, 1.0]).unwrap().log_density(3.0), f64::NEG_INFINITY);
        assert_eq!(Dispersed::new(&[0.0, 1.0]).unwrap().log_density(0.0), 0.0);
        assert!(Dispersed::new(&[1.0, -0.1]).is_none() && Dispersed::new(&[1.0, 1e-310]).is_none());
    }

    #[test]
    fn the_closed_form_is_the_sum() {
        for dispersion in [1e-6, 1e-3, 0.4, 30.0] {
            for x in [65.0, 500.0, 5000.0] {
                let sum: f64 = (1..x as u32).map(f64::from).map(|j| j / (1.0 + j * dispersion)).sum();
                let error = sum_of_ratios(x, dispersion) / sum - 1.0;
                assert!(error.abs() < 1e-11, "{x}, {dispersion}: {error:e}");
            }
        }
    }

    #[test]
    fn counts_that_vary_little_are_poisson() {
        let of = |x: &[f64]| Spread::of(&Quantiles::of(x)).dispersion();
        assert_eq!(of(&[2.0, 3.0, 2.0, 3.0]), 0.0);
        assert_eq!(of(&[0.0; 5]), 0.0);
        assert_eq!(of(&[1.0, 1.0, 0.0]), 0.0);
        // Variance and mean are 2.
        assert_eq!(of(&[0.0, 2.0, 4.0, 2.0]), 0.0);
        assert!(of(&[0.0, 1.0, 4.0, 3.1e6]) > 1.0);
    }

    #[test]
    fn draws_have_mean_and_variance() {
        // 4.5 standard errors; that of the variance by the fourth moment of the draws.
        for (mean, dispersion) in [(3.0, 0.5), (30.0, 0.02), (0.5, 4.0)] {
            let density = Dispersed::new(&[mean, dispersion]).unwrap();
            let (n, mut random) = (200_000, Random::new(3));
            let x: Vec<f64> = (0..n).map(|_| density.sample(&mut random)).collect();
            let power = |k: i32| x.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n as f64;
            let (variance, expected) = (power(2), mean + dispersion * mean * mean);
            assert!(power(1).abs() < 4.5 * (expected / n as f64).sqrt(), "{mean}: {}", power(1));
            let error = 4.5 * ((power(4) - variance * variance) / n as f64).sqrt();
            assert!((variance - expected).abs() < error, "{mean}, {dispersion}: {variance}, not {expected}");
        }
    }
}
