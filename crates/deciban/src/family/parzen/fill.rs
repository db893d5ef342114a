//! What missing cells hold: with o the cells that are there and u the others, p(x_u | x_o, c) is a mixture over the rows
//! i of the class. Row i has the weight wᵢ N(x_o; xᵢ_o, h² aᵢ² D_o R_oo D_o), and its kernel the mean
//! xᵢ_u + D_u R_uo R_oo⁻¹ D_o⁻¹ (x_o − xᵢ_o) and the covariance h² aᵢ² D_u (R_uu − R_uo R_oo⁻¹ R_ou) D_u.

use super::ParzenDensity;
use crate::data::{Tile, Value};
use crate::family::{Filled, Filling, Guess};
use crate::numerics::{Matrix, cholesky, solve_lower};

impl ParzenDensity {
    /// Fills the missing cells of the rows of a tile, in one class.
    pub(super) fn fill_missing(&self, class: usize, x: &Tile, mut by: Filling<'_>) -> Vec<Filled> {
        let mut filled = Vec::new();
        for i in 0..x.rows() {
            let is_missing = |j: &usize| x.column(*j)[i].is_nan();
            let (unknown, known): (Vec<usize>, Vec<usize>) = (0..x.width()).partition(is_missing);
            if unknown.is_empty() {
                continue;
            }
            let row: Vec<f64> = known.iter().map(|&j| x.column(j)[i]).collect();
            let conditional = Conditional::new(self, class, &known, &unknown, &row);
            let guesses: Vec<Guess> = match &mut by {
                Filling::Mean => conditional.moments().into_iter().map(|(mean, _)| Guess::mean(mean)).collect(),
                Filling::Spread => {
                    let number = |(mean, variance): (f64, f64)| Guess::Number {
                        mean,
                        scale: variance.sqrt(),
                        freedom: f64::INFINITY,
                    };
                    conditional.moments().into_iter().map(number).collect()
                }
                Filling::Draw(random) => {
                    let random = &mut random[i];
                    let row = random.pick(&conditional.shares);
                    let noise: Vec<f64> = unknown.iter().map(|_| random.normal()).collect();
                    let cell = |k: usize| {
                        let noise: f64 = (0..=k).map(|l| conditional.lower[(k, l)] * noise[l]).sum();
                        Guess::Drawn(Value::Number(
                            conditional.centres.column(row)[k] + conditional.spreads[row] * noise,
                        ))
                    };
                    (0..unknown.len()).map(cell).collect()
                }
            };
            filled.extend(unknown.iter().zip(guesses).map(|(&column, guess)| Filled { row: i, column, guess }));
        }
        filled
    }
}

/// p(x_u | x_o, c): the shares of the rows, the means of their kernels, a row in each column, and the factor of the
/// kernels' covariance, but for the spreads aᵢ.
struct Conditional<'a> {
    shares: Vec<f64>,
    centres: Matrix,
    lower: Matrix,
    spreads: &'a [f64],
}

impl<'a> Conditional<'a> {
    fn new(density: &'a ParzenDensity, class: usize, known: &[usize], unknown: &[usize], row: &[f64]) -> Self {
        let (frame, rows, h) = (&density.frame, &density.classes[class], density.bandwidth);
        let size = unknown.len();
        let correlation = |i: usize, j: usize| match i == j {
            true => 1.0,
            false => (1.0 - frame.shrinkage) * frame.correlation[(i, j)],
        };
        let of = |rows: &[usize], columns: &[usize]| {
            Matrix::from_fn(rows.len(), columns.len(), |i, j| correlation(rows[i], columns[j]))
        };
        let mut centres = Matrix::from_fn(size, rows.rows(), |k, i| rows.row(i)[unknown[k]]);
        let mut left = of(unknown, unknown);
        let mut shares = rows.weights().to_vec();
        if !known.is_empty() {
            // The frame of the known columns whitens by L⁻¹D_o⁻¹, LLᵀ = R_oo: with V = L⁻¹R_ou the mean moves by Vᵀz.
            let (part, points) = density.known(known);
            let mut v = of(known, unknown);
            solve_lower(&part.lower, false, &mut v);
            let z = part.whitened(std::iter::once(row));
            let squares = points[class].minus_half_squares(&z);
            shares = points[class].shares(squares.column(0), h.powi(-2));
            for (i, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                debug_assert!(share.is_finite());
                let away: Vec<f64> = z.column(0).iter().zip(points[class].point(i)).map(|(q, p)| q - p).collect();
                for (k, &column) in unknown.iter().enumerate() {
                    let moved: f64 = v.column(k).iter().zip(&away).map(|(v, a)| v * a).sum();
                    centres[(k, i)] += frame.sd[column] * moved;
                }
            }
            for k in 0..size {
                for l in 0..size {
                    left[(k, l)] -= v.column(k).iter().zip(v.column(l)).map(|(a, b)| a * b).sum::<f64>();
                }
            }
        }
        let sd = |k: usize| h * frame.sd[unknown[k]];
        let covariance = Matrix::from_fn(size, size, |k, l| sd(k) * sd(l) * left[(k, l)]);
        // What is left of a positive definite matrix is one; where rounding says otherwise, columns are drawn apart.
        let apart =
            || Matrix::from_fn(size, size, |k, l| if k == l { covariance[(k, k)].max(0.0).sqrt() } else { 0.0 });
        let lower = cholesky(&covariance).unwrap_or_else(apart);
        Conditional { shares, centres, lower, spreads: &density.spreads[class] }
    }

    /// The mean and the variance of each cell.
    fn moments(&self) -> Vec<(f64, f64)> {
        let total: f64 = self.shares.iter().sum();
        let cell = |k: usize| {
            let over = |f: &dyn Fn(f64) -> f64| {
                let sum = |(i, share): (usize, &f64)| share * f(self.centres[(k, i)]);
                self.shares.iter().enumerate().map(sum).sum::<f64>() / total
            };
            let mean = over(&|x| x);
            let within: f64 = (0..=k).map(|l| self.lower[(k, l)].powi(2)).sum();
            let wider = self.shares.iter().zip(self.spreads).map(|(share, a)| share * a * a).sum::<f64>() / total;
            (mean, over(&|x| (x - mean).powi(2)) + wider * within)
        };
        (0..self.centres.rows()).map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Batch;
    use crate::family::parzen::{Frame, KeptRows, Parzen};
    use crate::family::testing::{observe_batch, score_batch};
    use crate::family::{Density, Family, Names};
    use crate::numerics::Random;

    fn density() -> ParzenDensity {
        let mut random = Random::new(3);
        let rows = |shift: f64, random: &mut Random| -> KeptRows {
            let row = |random: &mut Random| {
                let a = random.normal();
                [a + shift, 10.0 * (a + 0.5 * random.normal()), random.normal()]
            };
            let cells: Vec<f64> = (0..40).flat_map(|_| row(random)).collect();
            observe_batch(&Parzen::default(), &Batch::new(40).row_major(&cells[..], 3).unwrap()).unwrap()
        };
        let classes = [rows(0.0, &mut random), rows(1.0, &mut random)];
        let names = ["x", "y", "z"].map(String::from);
        let names = Names { columns: &names, levels: &[0; 3], classes: &["a".to_string(), "b".to_string()] };
        let fitted = Parzen::default().fit(&[&classes[0], &classes[1]], names).unwrap();
        // Correlations that matter here.
        let frame = Frame::new(&[&classes[0], &classes[1]]).shrunken(0.1).unwrap();
        let spreads = classes.iter().map(|class| (0..class.rows()).map(|i| 1.0 + (i % 2) as f64).collect()).collect();
        ParzenDensity::new(0.5, frame, fitted.classes, (1.0, spreads))
    }

    /// The mean and the variance of y given the others, by sums over a fine grid of p(x, y, z).
    #[test]
    fn moments_are_those_of_the_density() {
        let density = density();
        for (x, z) in [(0.3, -0.2), (-1.5, f64::NAN)] {
            let grid: Vec<f64> = (0..4001).map(|i| -100.0 + 0.05 * f64::from(i)).collect();
            let cells: Vec<f64> = grid.iter().flat_map(|y| [x, *y, z]).collect();
            let logs = score_batch(&density, &Batch::new(grid.len()).row_major(&cells[..], 3).unwrap()).unwrap();
            for class in 0..2 {
                let p: Vec<f64> = logs[class].iter().map(|l| l.exp()).collect();
                let total: f64 = p.iter().sum();
                let mean = p.iter().zip(&grid).map(|(p, y)| p * y).sum::<f64>() / total;
                let variance = p.iter().zip(&grid).map(|(p, y)| p * (y - mean).powi(2)).sum::<f64>() / total;
                let mut tile = Tile::default();
                tile.resize(1, 3);
                [x, f64::NAN, z].into_iter().enumerate().for_each(|(j, cell)| tile.column_mut(j)[0] = cell);
                let filled = density.fill_missing(class, &tile, Filling::Spread);
                let Guess::Number { mean: found, scale, .. } = filled[0].guess else { panic!("a number") };
                assert!((found - mean).abs() < 1e-6 * variance.sqrt(), "{found} {mean}");
                assert!((scale * scale / variance - 1.0).abs() < 1e-6, "{} {variance}", scale * scale);
                // Draws have the same moments.
                let mut random = vec![Random::new(4)];
                let draws: Vec<f64> = (0..20_000)
                    .map(|_| match density.fill_missing(class, &tile, Filling::Draw(&mut random))[0].guess {
                        Guess::Drawn(Value::Number(y)) => y,
                        _ => f64::NAN,
                    })
                    .collect();
                let average = draws.iter().sum::<f64>() / draws.len() as f64;
                let spread = draws.iter().map(|y| (y - average).powi(2)).sum::<f64>() / draws.len() as f64;
                assert!((average - mean).abs() < 5.0 * (variance / 2e4).sqrt(), "{average} {mean}");
                assert!((spread / variance - 1.0).abs() < 0.08, "{spread} {variance}");
            }
        }
        assert_eq!(density.classes(), 2);
    }
}
