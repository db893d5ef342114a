//! How numbers are scaled and turned before distances are measured.

use super::KeptRows;
use super::kernel::Points;
use crate::numerics::{Matrix, cholesky, solve_lower};

/// The map z = L⁻¹ D⁻¹ (x − m), R_γ = LLᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub(super) mean: Vec<f64>,
    /// The diagonal of D.
    pub(super) sd: Vec<f64>,
    /// R, with 1 on its diagonal.
    pub(super) correlation: Matrix,
    /// γ
    pub(super) shrinkage: f64,
    pub(super) lower: Matrix,
}

/// The first column in which the square of a distance between rows is beyond the largest double.
pub(super) fn first_too_large(classes: &[&KeptRows]) -> Option<usize> {
    let width = classes.first().map_or(0, |class| class.width());
    let range = |j: usize| {
        let cells = classes.iter().flat_map(|class| (0..class.rows()).map(|i| class.row(i)[j]));
        let [least, most] = cells.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], x| [a.min(x), b.max(x)]);
        most - least
    };
    (0..width).find(|&j| !(range(j) * range(j)).is_finite())
}

impl Frame {
    /// Of the rows of all classes; nothing is shrunken yet.
    pub(super) fn new(classes: &[&KeptRows]) -> Self {
        let width = classes.first().map_or(0, |class| class.width());
        let total: f64 = classes.iter().map(|class| class.weight()).sum();
        let mean_of = |classes: &[&KeptRows]| -> Vec<f64> {
            let total: f64 = classes.iter().map(|class| class.weight()).sum();
            let sum = |j: usize| -> f64 {
                let of = |class: &&KeptRows| {
                    (0..class.rows()).map(|i| class.weights()[i] / total * class.row(i)[j]).sum::<f64>()
                };
                classes.iter().map(of).sum()
            };
            (0..width).map(sum).collect()
        };
        let mean = mean_of(classes);
        let mut within = Matrix::zeros(width, width);
        let mut overall = vec![0.0; width];
        let mut centred = vec![0.0; width];
        for class in classes.iter().filter(|class| class.rows() > 0) {
            let own = mean_of(&[class]);
            for i in 0..class.rows() {
                let (row, share) = (class.row(i), class.weights()[i] / total);
                (0..width).for_each(|j| overall[j] += share * (row[j] - mean[j]).powi(2));
                centred.iter_mut().zip(row.iter().zip(&own)).for_each(|(z, (x, m))| *z = x - m);
                for j in 0..width {
                    let by = share * centred[j];
                    (0..width).for_each(|k| within[(k, j)] += by * centred[k]);
                }
            }
        }
        // A column that is constant in every class is scaled by what it is over all, and one that is constant by 1.
        let positive = |variances: [f64; 2]| variances.into_iter().find(|v| *v > 0.0 && v.is_finite()).unwrap_or(1.0);
        let mut sd: Vec<f64> = (0..width).map(|j| positive([within[(j, j)], overall[j]]).sqrt()).collect();
        let mut correlation = Matrix::from_fn(width, width, |i, j| match i == j {
            true => 1.0,
            false => within[(i, j)] / (sd[i] * sd[j]),
        });
        // A rare flag would have a tiny deviation, and outweigh all else where it differs.
        for (j, sd) in sd.iter_mut().enumerate() {
            *sd = two_values(classes, j).unwrap_or(*sd);
        }
        // Files hold one half: both are the same to the last bit.
        correlation.mirror_lower();
        Frame { mean, sd, correlation, shrinkage: 1.0, lower: Matrix::identity(width) }
    }

    /// The same with this γ, if its kernel has a density.
    pub(super) fn shrunken(&self, shrinkage: f64) -> Option<Self> {
        let lower = cholesky(&self.shrunken_correlation(shrinkage))?;
        // A diagonal of next to nothing would make distances of rounding errors.
        let sound = (0..lower.columns()).all(|j| lower[(j, j)] > 1e-6);
        sound.then(|| Frame { shrinkage, lower, ..self.clone() })
    }

    fn shrunken_correlation(&self, shrinkage: f64) -> Matrix {
        let width = self.width();
        Matrix::from_fn(width, width, |i, j| if i == j { 1.0 } else { (1.0 - shrinkage) * self.correlation[(i, j)] })
    }

    /// The same with kernels that are narrower in columns of more relevance.
    pub(super) fn focused(&self, relevance: &[f64], focus: f64) -> Self {
        let powers: Vec<f64> = relevance.iter().map(|i| i.powf(focus)).collect();
        let root = (powers.iter().map(|v| v * v).sum::<f64>() / powers.len().max(1) as f64).sqrt();
        let sd = self.sd.iter().zip(powers).map(|(sd, v)| sd * root / v).collect();
        Frame { sd, ..self.clone() }
    }

    /// The frame of some of the columns.
    pub(super) fn of_columns(&self, columns: &[usize]) -> Self {
        let of = |x: &[f64]| columns.iter().map(|&j| x[j]).collect();
        let size = columns.len();
        let correlation = Matrix::from_fn(size, size, |i, j| self.correlation[(columns[i], columns[j])]);
        let (mean, sd) = (of(&self.mean), of(&self.sd));
        let frame = Frame { mean, sd, correlation, shrinkage: self.shrinkage, lower: Matrix::identity(size) };
        // A part of a positive definite matrix is one.
        frame.shrunken(self.shrinkage).unwrap_or(frame)
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// z of rows, each a column.
    pub(super) fn whitened<'a>(&self, rows: impl Iterator<Item = &'a [f64]>) -> Matrix {
        let scaled = |row: &'a [f64]| row.iter().zip(&self.mean).zip(&self.sd).map(|((x, m), s)| (x - m) / s);
        let data: Vec<f64> = rows.flat_map(scaled).collect();
        let mut z = Matrix::from_columns(self.width(), data.len() / self.width().max(1), data);
        if self.shrinkage < 1.0 && z.columns() > 0 {
            solve_lower(&self.lower, false, &mut z);
        }
        z
    }

    /// The points of a class, with their spreads.
    pub fn points(&self, (class, spreads): (&KeptRows, &Vec<f64>)) -> Points {
        Points::new(&self.whitened((0..class.rows()).map(|i| class.row(i))), class.weights(), spreads)
    }

    /// The squared length of a difference z, split over columns: δₐ (R_γ⁻¹δ)ₐ with δ = Lz and R_γ⁻¹δ = L⁻ᵀz.
    pub(super) fn shares(&self, z: &[f64]) -> Vec<f64> {
        let mut solved = z.to_vec();
        for j in (0..z.len()).rev() {
            let column = self.lower.column(j);
            let sum: f64 = column[j + 1..].iter().zip(&solved[j + 1..]).map(|(l, u)| l * u).sum();
            solved[j] = (solved[j] - sum) / column[j];
        }
        self.times(z).iter().zip(solved).map(|(delta, solved)| delta * solved).collect()
    }

    /// Lz; above the diagonal of L there may be anything.
    pub(super) fn times(&self, z: &[f64]) -> Vec<f64> {
        let row = |i: usize| (0..=i).map(|j| self.lower[(i, j)] * z[j]).sum();
        (0..z.len()).map(row).collect()
    }

    /// The logarithm of the factor of a kernel of width h.
    pub(super) fn log_factor(&self, h: f64) -> f64 {
        let log_scales: f64 = self.sd.iter().enumerate().map(|(j, s)| s.ln() + self.lower[(j, j)].ln()).sum();
        -log_scales - self.width() as f64 * (h.ln() + 0.5 * std::f64::consts::TAU.ln())
    }
}

/// The difference of the values of a column that has two.
fn two_values(classes: &[&KeptRows], j: usize) -> Option<f64> {
    let mut cells = classes.iter().flat_map(|class| (0..class.rows()).map(|i| class.row(i)[j]));
    let first = cells.next()?;
    let second = cells.clone().find(|x| *x != first)?;
    cells.all(|x| x == first || x == second).then_some((second - first).abs())
}
