//! What missing cells of a Gaussian block hold, given the cells of their row that are there.
//!
//! A Gaussian's missing cells are normal, with the mean and covariance of `incomplete.rs`. Those of a Student
//! density with ν degrees of freedom and scale matrix sΣ, given d cells at the squared distance q, are Student with
//! ν + d degrees of freedom, the same mean, and the scale matrix Σ_m|o (νs + q)/(ν + d).

use crate::data::{Cells, Tile, Value};
use crate::error::{Error, Result};
use crate::family::{Filled, Filling, Guess};
use crate::numerics::Random;
use crate::transform::Linear;

use super::density::{Factor, GaussianDensity, Tails};
use super::incomplete::{MissingFactor, Pattern, patterns};

impl GaussianDensity {
    /// Fills the missing cells of rows for one group.
    pub(super) fn fill_missing(
        &self,
        group: usize,
        x: &Cells<'_>,
        names: &[String],
        mut by: Filling<'_>,
    ) -> Result<Vec<Filled>> {
        let mut tile = Tile::default();
        x.read_numbers(&mut tile)?;
        let Some((i, j)) = tile.first_not_finite() else { return Ok(Vec::new()) };
        if self.chain().iter().any(|linear| !linear.is_columnwise()) {
            return Err(Error::Missing {
                column: names[j].clone(),
                row: x.row_number(i) + 1,
                remedy: "a model with §pca or §lda cannot fill it: fit without them".into(),
            });
        }
        let mut spare = Tile::default();
        self.chain().iter().for_each(|linear| linear.apply(&mut tile, &mut spare));
        let patterns: Vec<Pattern> = patterns(&tile).into_iter().filter(|p| !p.missing.is_empty()).collect();
        let mut filled = match self.factor(group) {
            Factor::Diagonal(sd) => self.fill_alone(group, sd, &patterns, &mut by),
            Factor::Lower(_) | Factor::LowRank(_) => self.fill_jointly(group, &tile, &patterns, &mut by)?,
        };
        for cell in &mut filled {
            for linear in self.chain().iter().rev() {
                undo(linear, cell);
            }
        }
        Ok(filled)
    }

    /// Columns that are independent: each cell has its own mean and deviation.
    fn fill_alone(&self, group: usize, sd: &[f64], patterns: &[Pattern], by: &mut Filling<'_>) -> Vec<Filled> {
        let mut filled = Vec::new();
        for pattern in patterns {
            for &row in &pattern.rows {
                // A Student density of all columns together draws one stretch for the row.
                let mut together = None;
                for &column in &pattern.missing {
                    let (freedom, root) = match self.tails() {
                        Tails::Normal => (f64::INFINITY, 1.0),
                        Tails::Joint(tails) => (tails[group].0, tails[group].1.sqrt()),
                        Tails::Columns(tails) => (tails[group][column].0, tails[group][column].1.sqrt()),
                    };
                    let (mean, scale) = (self.mean(group)[column], sd[column] * root);
                    let guess = match by {
                        Filling::Mean => Guess::mean(mean),
                        Filling::Spread => Guess::Number { mean, scale, freedom },
                        Filling::Draw(random) => {
                            let random = &mut random[row];
                            let stretch = match self.tails() {
                                Tails::Joint(_) => *together.get_or_insert_with(|| stretch(freedom, random)),
                                _ => stretch(freedom, random),
                            };
                            Guess::Drawn(Value::Number(mean + scale * stretch * random.normal()))
                        }
                    };
                    filled.push(Filled { row, column, guess });
                }
            }
        }
        filled
    }

    /// Correlated columns.
    fn fill_jointly(
        &self,
        group: usize,
        tile: &Tile,
        patterns: &[Pattern],
        by: &mut Filling<'_>,
    ) -> Result<Vec<Filled>> {
        let (mean, sd) = (self.mean(group), self.factor(group).sd());
        let (z, _) = self.filled(group, tile, patterns)?;
        let distances = match (self.tails(), self.factor(group)) {
            (Tails::Joint(_), Factor::Lower(_)) => {
                let mut white = z.clone();
                self.solve_tile(self.factor_place(group), &mut white);
                let row = |i: usize| (0..white.width()).map(|j| white.column(j)[i].powi(2)).sum();
                (0..white.rows()).map(row).collect()
            }
            _ => Vec::<f64>::new(),
        };
        let precision = self.precision(self.factor_place(group));
        let mut filled = Vec::new();
        for pattern in patterns {
            let factor = MissingFactor::new(precision, &pattern.missing)?;
            let deviations = match by {
                Filling::Spread => factor.deviations(),
                _ => vec![0.0; pattern.missing.len()],
            };
            for &row in &pattern.rows {
                let (freedom, root) = match self.tails() {
                    Tails::Joint(tails) => {
                        let ((nu, s), d) = (tails[group], pattern.present.len() as f64);
                        (nu + d, ((nu * s + distances[row]) / (nu + d)).sqrt())
                    }
                    _ => (f64::INFINITY, 1.0),
                };
                let noise = match by {
                    Filling::Draw(random) => {
                        let by = root * stretch(freedom, &mut random[row]);
                        let mut noise: Vec<f64> = pattern.missing.iter().map(|_| by * random[row].normal()).collect();
                        factor.colour(&mut noise);
                        noise
                    }
                    _ => Vec::new(),
                };
                for (k, &column) in pattern.missing.iter().enumerate() {
                    let centre = mean[column] + sd[column] * z.column(column)[row];
                    let guess = match by {
                        Filling::Mean => Guess::mean(centre),
                        Filling::Spread => {
                            Guess::Number { mean: centre, scale: sd[column] * root * deviations[k], freedom }
                        }
                        Filling::Draw(_) => Guess::Drawn(Value::Number(centre + sd[column] * noise[k])),
                    };
                    filled.push(Filled { row, column, guess });
                }
            }
        }
        Ok(filled)
    }
}

/// √(ν/χ²_ν), which makes a Student variable of a normal one; 1 for infinitely many degrees of freedom.
fn stretch(freedom: f64, random: &mut Random) -> f64 {
    if freedom.is_finite() { (freedom / (2.0 * random.gamma(freedom / 2.0))).sqrt() } else { 1.0 }
}

/// Takes a filled cell back through a map of columns to columns.
fn undo(linear: &Linear, cell: &mut Filled) {
    let (centre, scale) = linear.column(cell.column);
    match &mut cell.guess {
        Guess::Number { mean, scale: own, .. } => (*mean, *own) = (*mean / scale + centre, *own / scale),
        Guess::Drawn(Value::Number(x)) => *x = *x / scale + centre,
        _ => {}
    }
}
