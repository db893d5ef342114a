//! Many Gaussian densities that differ in their shrinkage only, scored together.
//!
//! They share eigenvectors (see [`super::likelihood`]): with z = Vᵀ(x − μ) the squared distance is
//! Σⱼ zⱼ²/λⱼ(γ), so a row is turned once, and all γ are one product of the matrix of squares with
//! that of reciprocal eigenvalues. Where classes share Σ, zⱼ²/λⱼ is the same for all of them and
//! left out: what remains is linear in z. Scores are evidence, which is defined up to a constant
//! per row.

use super::density::Tails;
use super::likelihood::MOST_CONDITIONED;
use super::{Gaussian, GaussianDensity, Strength, Structure};
use crate::data::Tile;
use crate::numerics::{Matrix, eigen, tile_product, vectorised};
use crate::transform::Linear;

/// Densities that are scored together.
#[derive(Clone, Debug)]
pub struct Bank {
    chain: Vec<Linear>,
    members: usize,
    classes: usize,
    parts: Vec<Part>,
    tied: bool,
}

/// The turn of one class, or of all.
#[derive(Clone, Debug)]
struct Part {
    centre: Vec<f64>,
    vectors: Matrix,
    /// What a turned row, or its square, is multiplied with: a column for each member (and class).
    weights: Matrix,
    bias: Vec<f64>,
}

/// Whether two families differ in their shrinkage only.
pub fn are_kin(a: &Gaussian, b: &Gaussian) -> bool {
    Gaussian { shrinkage: b.shrinkage, ..a.clone() } == *b
}

impl Bank {
    /// A bank of kindred densities, fitted to the same rows; `None` where they cannot be scored
    /// together without loss.
    pub fn new(members: &[(&Gaussian, &GaussianDensity)]) -> Option<Self> {
        let (first, _) = members.first()?;
        let plain = matches!(first.covariance, Structure::Full | Structure::Tied) && first.sparse_precision == 0.0;
        let normal = members.iter().all(|(_, density)| *density.tails() == Tails::Normal);
        if members.len() < 2 || !plain || !normal || members.iter().any(|(family, _)| !are_kin(first, family)) {
            return None;
        }
        let gamma = |family: &Gaussian| match family.shrinkage {
            Strength::Fixed(gamma) => gamma,
            Strength::Auto => f64::NAN,
        };
        let gammas: Vec<f64> = members.iter().map(|(family, _)| gamma(family)).collect();
        // The least shrunken tells the others' eigenvalues.
        let base = (0..members.len()).min_by(|&a, &b| gammas[a].total_cmp(&gammas[b]))?;
        let density = members[base].1;
        let classes = density.means().len();
        let tied = density.is_tied();
        let mut parts = Vec::new();
        for class in 0..if tied { 1 } else { classes } {
            let (values, vectors) = eigen(&density.covariance(class))?;
            let scale = values.iter().sum::<f64>() / values.len() as f64;
            let value =
                |g: f64, j: usize| (1.0 - g) / (1.0 - gammas[base]) * (values[j] - gammas[base] * scale) + g * scale;
            let spectrum = |g: &f64| (0..values.len()).map(|j| value(*g, j)).collect::<Vec<f64>>();
            let spectra: Vec<Vec<f64>> = gammas.iter().map(spectrum).collect();
            let is_sound = |s: &Vec<f64>| {
                let (top, bottom) = s.iter().fold((0.0f64, f64::INFINITY), |(a, b), &x| (a.max(x), b.min(x)));
                bottom > 0.0 && top < MOST_CONDITIONED * bottom
            };
            if !spectra.iter().all(is_sound) {
                return None;
            }
            parts.push(match tied {
                true => Part::linear(density.means(), vectors, &spectra),
                false => Part::quadratic(&density.means()[class], vectors, &spectra),
            });
        }
        Some(Bank { chain: density.chain().to_vec(), members: members.len(), classes, parts, tied })
    }

    /// Scores a tile of finite numbers, which is used up: `out[m]` becomes the evidence of member m.
    pub fn score(&self, x: &mut Tile, out: &mut [Tile]) {
        let mut spare = Tile::default();
        for linear in &self.chain {
            linear.apply(x, &mut spare);
        }
        let (mut shifted, mut turned, mut scores) = (Tile::default(), Tile::default(), Tile::default());
        out.iter_mut().for_each(|tile| tile.resize(x.rows(), self.classes));
        for (p, part) in self.parts.iter().enumerate() {
            shifted.clone_from(x);
            for (j, c) in part.centre.iter().enumerate() {
                shifted.column_mut(j).iter_mut().for_each(|x| *x -= c);
            }
            tile_product(&shifted, &part.vectors, &mut turned);
            if !self.tied {
                vectorised!(turned.data_mut().iter_mut().for_each(|z| *z *= *z));
            }
            tile_product(&turned, &part.weights, &mut scores);
            for (column, bias) in part.bias.iter().enumerate() {
                let (member, class) = match self.tied {
                    true => (column / self.classes, column % self.classes),
                    false => (column, p),
                };
                let to = out[member].column_mut(class);
                to.iter_mut().zip(scores.column(column)).for_each(|(o, s)| *o = s + bias);
            }
        }
    }

    /// How many densities there are.
    pub fn members(&self) -> usize {
        self.members
    }
}

impl Part {
    /// zᵀ(mₖ/λ) − ½ Σ mₖ²/λ for each member and class, with z and mₖ about the centre of the means.
    fn linear(means: &[Vec<f64>], vectors: Matrix, spectra: &[Vec<f64>]) -> Part {
        let (d, classes) = (means[0].len(), means.len());
        let centre: Vec<f64> = (0..d).map(|j| means.iter().map(|m| m[j] / classes as f64).sum()).collect();
        let turn =
            |m: &Vec<f64>| vectors.transpose_times(&m.iter().zip(&centre).map(|(m, c)| m - c).collect::<Vec<f64>>());
        let turned: Vec<Vec<f64>> = means.iter().map(turn).collect();
        let columns = spectra.len() * classes;
        let weights = Matrix::from_fn(d, columns, |j, i| turned[i % classes][j] / spectra[i / classes][j]);
        let bias = |i: usize| {
            let (m, values) = (&turned[i % classes], &spectra[i / classes]);
            -0.5 * m.iter().zip(values).map(|(m, v)| m * m / v).sum::<f64>()
        };
        Part { centre, bias: (0..columns).map(bias).collect(), vectors, weights }
    }

    /// −½ Σ z²/λ − ½ Σ ln λ for each member.
    fn quadratic(mean: &[f64], vectors: Matrix, spectra: &[Vec<f64>]) -> Part {
        let weights = Matrix::from_fn(mean.len(), spectra.len(), |j, i| -0.5 / spectra[i][j]);
        let bias = spectra.iter().map(|values| -0.5 * values.iter().map(|v| v.ln()).sum::<f64>());
        Part { centre: mean.to_vec(), bias: bias.collect(), vectors, weights }
    }
}
