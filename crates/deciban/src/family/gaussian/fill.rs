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

use super::density::{GaussianDensity, Tails};
use super::factor::Factor;
use super::gaps::{Gaps, LANES, Pattern, Strips};
use super::incomplete;
use super::missing_block::MissingBlock;

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
        let gaps = Gaps::of(&tile);
        let rows = gaps.split_at(1).1;
        let mut filled = match self.factor(group) {
            Factor::Diagonal(sd) => self.fill_alone(group, sd, &gaps.patterns(rows), &mut by),
            Factor::Lower(_) | Factor::LowRank(_) => self.fill_jointly(group, &tile, &gaps.strips(rows), &mut by)?,
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
    fn fill_jointly(&self, group: usize, tile: &Tile, strips: &Strips, by: &mut Filling<'_>) -> Result<Vec<Filled>> {
        let (mean, sd) = (self.mean(group), self.factor(group).sd());
        let standard = self.standard(group);
        let mut z = [standard.of_rows(strips, tile)];
        incomplete::fill(&mut z, strips, standard.precision, |_, _| {})?;
        let [z] = z;
        let distances = match (self.tails(), self.factor(group)) {
            (Tails::Joint(_), Factor::Lower(_)) => {
                let mut white = z.clone();
                self.solve_tile(self.factor_place(group), &mut white);
                let row = |i: usize| (0..white.width()).map(|j| white.column(j)[i].powi(2)).sum();
                (0..white.rows()).map(row).collect()
            }
            _ => Vec::<f64>::new(),
        };
        let (mut block, mut filled) = (MissingBlock::default(), Vec::new());
        for run in strips.runs() {
            let n = run.most();
            block.set(standard.precision, &run)?;
            let deviations = match by {
                Filling::Spread => block.deviations(),
                _ => vec![[0.0; LANES]; n],
            };
            for (k, &row) in run.rows.iter().enumerate() {
                let (place, lane) = (run.start + k, k % LANES);
                let (freedom, root) = match self.tails() {
                    Tails::Joint(tails) => {
                        let ((nu, s), d) = (tails[group], (tile.width() - run.missing(lane).count()) as f64);
                        (nu + d, ((nu * s + distances[place]) / (nu + d)).sqrt())
                    }
                    _ => (f64::INFINITY, 1.0),
                };
                let mut noise = vec![[0.0; LANES]; n];
                if let Filling::Draw(random) = by {
                    let by = root * stretch(freedom, &mut random[row]);
                    run.missing(lane).zip(&mut noise).for_each(|(_, noise)| noise[lane] = by * random[row].normal());
                    block.colour(&mut noise);
                }
                for (k, column) in run.missing(lane).enumerate() {
                    let centre = mean[column] + sd[column] * z.column(column)[place];
                    let guess = match by {
                        Filling::Mean => Guess::mean(centre),
                        Filling::Spread => {
                            Guess::Number { mean: centre, scale: sd[column] * root * deviations[k][lane], freedom }
                        }
                        Filling::Draw(_) => Guess::Drawn(Value::Number(centre + sd[column] * noise[k][lane])),
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
