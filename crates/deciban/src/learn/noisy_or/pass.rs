//! The pass of noisy-OR: −log-likelihood, gradient and, if asked for, Hessian at the weights θ.
//!
//! With the rate r = θ₀ + Σ θᵢxᵢ ≥ 0 of a row:
//!
//! | row | ℓ | ∂ℓ/∂r | ∂²ℓ/∂r² |
//! |---|---|---|---|
//! | without the effect | r | 1 | 0 |
//! | with it | −ln(1 − e⁻ʳ) | −1/(eʳ − 1) | eʳ/(eʳ − 1)² |

use crate::data::{Batch, Column, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::learn::logistic::derivatives::Derivatives;
use crate::learn::logistic::features::Features;
use crate::learn::logistic::rowset::{Design, Rowset};
use crate::numerics::{Matrix, add_gram};
use crate::pass::Pass;

/// A sweep at the weights θ.
#[derive(Clone, Debug)]
pub struct Causes {
    /// How columns become causes.
    pub features: Features,
    /// The class that causes produce.
    pub effect: u32,
    /// A weight per cause, the leak last; at least 0.
    pub theta: Vec<f64>,
    /// Whether to compute the Hessian.
    pub hessian: bool,
}

impl Causes {
    /// The sweep over these columns at θ, a weight per cause and the leak's last, without the Hessian.
    /// Causes are taken as they are: 0 is their absence, and so is a missing cell.
    pub fn at(columns: &[Column], effect: u32, theta: Vec<f64>) -> Result<Self> {
        let numbers = columns.iter().filter(|c| c.is_numeric()).count();
        let features = Features::new(columns, &vec![0.0; numbers], &vec![1.0; numbers])?;
        Error::check_shape("weights of the causes", features.len() + 1, theta.len())?;
        Ok(Causes { features, effect, theta, hessian: false })
    }
}

impl Stored for Causes {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.effect, self.hessian))?;
        self.features.store(archive, &format!("{name}.features"))?;
        archive.put(&format!("{name}.theta"), &[self.theta.len()], &self.theta)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (effect, hessian) = archive.json(name)?;
        let features = Features::load(archive, &format!("{name}.features"))?;
        let theta = archive.finite(&format!("{name}.theta"), &[features.len() + 1])?.to_vec();
        Ok(Causes { features, effect, theta, hessian })
    }
}

/// ln(1 − e⁻ʳ), by the form that keeps its digits; −∞ at r = 0.
pub fn ln_effect(r: f64) -> f64 {
    if r < std::f64::consts::LN_2 { (-(-r).exp_m1()).ln() } else { (-(-r).exp()).ln_1p() }
}

/// Reads some rows of causes, none of them below 0.
pub fn read(features: &Features, batch: &Batch<'_>, rows: std::ops::Range<usize>, out: &mut Rowset) -> Result<()> {
    let start = rows.start;
    features.read(batch, Rows::Range(rows), out)?;
    match out.first_negative() {
        None => Ok(()),
        Some((i, j, x)) => Err(Error::Schema(format!(
            "column `{}`, row {}: {x} is below 0; noisy-or takes flags and counts: \
             leave the column out with §ignore, or fit §model=logistic",
            features.names()[j],
            batch.row_number(start + i) + 1
        ))),
    }
}

impl Pass for Causes {
    const NAME: &'static str = "causes";
    type Statistic = Derivatives;

    fn empty(&self) -> Derivatives {
        let n = if self.hessian { self.theta.len() } else { 0 };
        let gradient = vec![0.0; self.theta.len()];
        let hessian = Matrix::zeros(n, n);
        Derivatives { weight: 0.0, loss: 0.0, margin: f64::INFINITY, gradient, curved: 0.0, hessian }
    }

    fn size(&self) -> usize {
        8 * (self.theta.len() + if self.hessian { self.theta.len().pow(2) } else { 0 })
    }

    fn observe(&self, sums: &mut Derivatives, batch: &Batch<'_>) -> Result<()> {
        const TILE: usize = 512;
        let labels = batch.labels_to_learn()?;
        let (mut rows, mut rate, mut dense) = (Rowset::default(), Tile::default(), Tile::default());
        let mut curvature = Vec::new();
        for start in (0..batch.rows()).step_by(TILE) {
            let range = start..batch.rows().min(start + TILE);
            read(&self.features, batch, range.clone(), &mut rows)?;
            rows.scores(&self.theta, 1, &mut rate);
            curvature.clear();
            for (i, cell) in range.zip(rate.column_mut(0)) {
                let w = match labels[i] {
                    MISSING => 0.0,
                    _ => batch.row_weights().map_or(1.0, |given| given[i]),
                };
                let r = *cell;
                let (loss, slope, second_derivative) = match labels[i] == self.effect {
                    false => (r, 1.0, 0.0),
                    // Impossible under these weights: the value says so, and no step is taken from here.
                    true if r == 0.0 => (f64::INFINITY, 0.0, 0.0),
                    true => {
                        let odds = r.exp_m1().recip();
                        (-ln_effect(r), -odds, odds * (1.0 + odds))
                    }
                };
                sums.weight += w;
                sums.loss += if w > 0.0 { w * loss } else { 0.0 };
                *cell = w * slope;
                curvature.push((w * second_derivative).sqrt());
            }
            rows.add_gradient(&rate, &mut sums.gradient);
            if self.hessian {
                rows.dense(self.features.len(), &curvature, &mut dense);
                add_gram(&mut sums.hessian, &dense);
            }
        }
        Ok(())
    }
}
