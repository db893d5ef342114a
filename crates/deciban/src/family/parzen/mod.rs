//! Parzen family: a kernel around every row of a class (Rosenblatt 1956, Parzen 1962).
//!
//! Statistic: the rows without missing cells (`statistic.rs`). Merge: both.
//!
//! ```text
//! p(x | c) = Σᵢ wᵢ N(x; xᵢ, h² aᵢ² D R_γ D) / Σᵢ wᵢ,      R_γ = (1 − γ) R + γ I
//! ```
//!
//! over the rows i of class c, where R has the correlations within the classes, pooled, and D_jj = s_j / v_j: s_j is the
//! standard deviation within the classes, or the difference of its values where a column has two, and v_j ∝ I(X_j; C)^ρ
//! with a mean square of 1. The spreads aᵢ are wider where rows are rare, by a power α (`spread.rs`). The width h, γ, ρ and
//! α are those of the least log loss, each row judged by all others (`choose.rs`).
//!
//! Cells that are missing in a row to be scored are integrated out: the kernel of the others is the normal one of their
//! rows and columns of R_γ.
//!
//! With rᵢ the share of row i in p(x | c) and δᵢ = D⁻¹(x − xᵢ), a column j explains −½ Σᵢ rᵢ δᵢⱼ (R_γ⁻¹δᵢ)ⱼ/h²aᵢ²,
//! and one more line holds the rest, Σᵢ rᵢ ln(wᵢ/rᵢ) and what does not depend on x.

mod choose;
mod fill;
mod frame;
mod kernel;
mod spread;
mod statistic;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use self::frame::Frame;
pub use self::statistic::KeptRows;

use self::kernel::{Points, log_sum};
use super::{Density, Family, Filled, Filling, Names, Parameters, too_large};
use crate::data::{Cells, Column, Tile, Value};
use crate::error::{Error, Result};
use crate::evidence::{Entry, NEARBY};
use crate::file::{Archive, Stored};
use crate::numerics::{Matrix, Random};

/// Rows that are scored together.
const TILE: usize = 64;
/// Shares of rows that are too small to matter in an explanation: a million of them are less than rounding.
const LEAST_SHARE: f64 = 1e-22;

/// The Parzen family.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parzen {}

/// The densities of a block of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ParzenDensity {
    bandwidth: f64,
    frame: Frame,
    classes: Vec<KeptRows>,
    /// α, by which the spreads follow the distances of rows.
    alpha: f64,
    /// aᵢ of the rows of each class.
    spreads: Vec<Vec<f64>>,
    /// The rows as points of the frame, of each class.
    points: Vec<Points>,
}

impl ParzenDensity {
    fn new(bandwidth: f64, frame: Frame, classes: Vec<KeptRows>, (alpha, spreads): (f64, Vec<Vec<f64>>)) -> Self {
        let points = classes.iter().zip(&spreads).map(|class| frame.points(class)).collect();
        ParzenDensity { bandwidth, frame, classes, alpha, spreads, points }
    }

    /// The width of the kernel, in standard deviations within the classes.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// How much of the correlations the kernel drops.
    pub fn shrinkage(&self) -> f64 {
        self.frame.shrinkage
    }

    /// What rows that know these columns, and no others, are scored by.
    fn known(&self, columns: &[usize]) -> (Frame, Vec<Points>) {
        let frame = self.frame.of_columns(columns);
        let points = |(class, spreads): (&KeptRows, &Vec<f64>)| {
            let rows: Vec<f64> =
                (0..class.rows()).flat_map(|i| columns.iter().map(move |&j| class.row(i)[j])).collect();
            Points::new(&frame.whitened(rows.chunks_exact(columns.len())), class.weights(), spreads)
        };
        let points = self.classes.iter().zip(&self.spreads).map(points).collect();
        (frame, points)
    }

    /// Runs `body` on the rows of `x` in groups that know the same columns: their places, the columns, the frame, the
    /// points, and z of these rows. Rows that know nothing are left out.
    fn with_groups(&self, x: &Tile, mut body: impl FnMut(&[usize], &[usize], &Frame, &[Points], &Matrix)) {
        let known = |i: usize| -> Vec<usize> { (0..x.width()).filter(|&j| !x.column(j)[i].is_nan()).collect() };
        let mut groups: std::collections::BTreeMap<Vec<usize>, Vec<usize>> = std::collections::BTreeMap::new();
        (0..x.rows()).for_each(|i| groups.entry(known(i)).or_default().push(i));
        for (columns, places) in groups.iter().filter(|(columns, _)| !columns.is_empty()) {
            let partial = (columns.len() < x.width()).then(|| self.known(columns));
            let (frame, points) =
                partial.as_ref().map_or((&self.frame, &self.points), |(frame, points)| (frame, points));
            for places in places.chunks(TILE) {
                let rows: Vec<f64> =
                    places.iter().flat_map(|&i| columns.iter().map(move |&j| x.column(j)[i])).collect();
                let z = frame.whitened(rows.chunks_exact(columns.len()));
                body(places, columns, frame, points, &z);
            }
        }
    }

    fn read(&self, x: &Cells<'_>, name: impl Fn(usize) -> String) -> Result<Tile> {
        let mut tile = Tile::default();
        x.read_numbers(&mut tile)?;
        for j in 0..tile.width() {
            if let Some(i) = tile.column(j).iter().position(|x| x.is_infinite()) {
                return Err(Error::Infinite { column: name(j), row: x.row_number(i) + 1 });
            }
        }
        Ok(tile)
    }
}

impl Density for ParzenDensity {
    fn classes(&self) -> usize {
        self.classes.len()
    }

    fn width(&self) -> usize {
        self.frame.width()
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let all = |x: f64| vec![x; self.classes()];
        let kernel = vec![
            ("width".to_string(), all(self.bandwidth)),
            ("power of the distances".to_string(), all(self.alpha)),
            ("share of the correlations".to_string(), all(1.0 - self.frame.shrinkage)),
            ("different rows".to_string(), self.classes.iter().map(|class| class.rows() as f64).collect()),
        ];
        let sd = |(column, sd): (&Column, &f64)| (column.name.clone(), all(self.bandwidth * sd));
        let scales = columns.iter().zip(&self.frame.sd).map(sd).collect();
        vec![
            Parameters { what: "kernel", rows: kernel },
            Parameters { what: "standard deviation of the kernel", rows: scales },
        ]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let (classes, spreads) = (self.classes[groups.clone()].to_vec(), self.spreads[groups.clone()].to_vec());
        ParzenDensity { classes, spreads, points: self.points[groups].to_vec(), ..self.clone() }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        let tile = self.read(x, |j| names[j].clone())?;
        let scale = self.bandwidth.powi(-2);
        self.with_groups(&tile, |places, _, frame, points, z| {
            let factor = frame.log_factor(self.bandwidth);
            for (class, points) in points.iter().enumerate() {
                let squares = points.minus_half_squares(z);
                let constant = factor - points.weight.ln();
                for (column, &i) in places.iter().enumerate() {
                    out.column_mut(class)[i] += points.log_sum(squares.column(column), scale) + constant;
                }
            }
        });
        Ok(())
    }

    fn is_joint(&self) -> bool {
        true
    }

    fn parts(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
        let tile = self.read(x, |j| columns[j].name.clone())?;
        let (scale, classes) = (self.bandwidth.powi(-2), self.classes());
        // Lines of columns, and one more.
        let mut said = vec![vec![vec![0.0; classes]; columns.len() + 1]; x.rows()];
        self.with_groups(&tile, |places, known, frame, points, z| {
            let factor = frame.log_factor(self.bandwidth);
            for (class, points) in points.iter().enumerate() {
                let squares = points.minus_half_squares(z);
                for (q, &i) in places.iter().enumerate() {
                    let total = log_sum(squares.column(q), &points.log_weights, scale);
                    let mut rest = total - points.weight.ln() + factor;
                    let shares = points.shares(squares.column(q), scale);
                    // The shares of an impossible row are 0/0, and NaN.
                    for (p, share) in shares.into_iter().enumerate().filter(|(_, share)| *share >= LEAST_SHARE) {
                        let (zq, zp) = (z.column(q), points.point(p));
                        let delta: Vec<f64> = zq.iter().zip(zp).map(|(q, p)| q - p).collect();
                        for (square, &j) in frame.shares(&delta).into_iter().zip(known) {
                            let line = -0.5 * scale * points.precisions[p] * share * square;
                            said[i][j][class] += line;
                            rest -= line;
                        }
                    }
                    said[i][columns.len()][class] = rest;
                }
            }
        });
        let entries = |(i, said): (usize, Vec<Vec<f64>>)| {
            let mut lines = said.into_iter();
            let mut entries: Vec<Entry> = columns
                .iter()
                .zip(&mut lines)
                .enumerate()
                .map(|(j, (column, evidence))| match tile.column(j)[i] {
                    x if x.is_nan() => Entry::missing(&column.name, classes),
                    x => Entry::new(&column.name, format!("{x}"), evidence),
                })
                .collect();
            entries.extend(lines.next().map(|rest| Entry::new(NEARBY, "", rest)));
            entries
        };
        Ok(Some(said.into_iter().enumerate().map(entries).collect()))
    }

    fn fill(&self, class: usize, x: &Cells<'_>, names: &[String], by: Filling<'_>) -> Result<Vec<Filled>> {
        let tile = self.read(x, |j| names[j].clone())?;
        Ok(self.fill_missing(class, &tile, by))
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let rows = &self.classes[class];
        let row = random.pick(rows.weights());
        let (centre, width) = (rows.row(row), self.bandwidth * self.spreads[class][row]);
        let z: Vec<f64> = (0..self.width()).map(|_| width * random.normal()).collect();
        let noise = self.frame.times(&z);
        let cell = |((x, noise), sd): ((&f64, f64), &f64)| Value::Number(x + sd * noise);
        Ok(centre.iter().zip(noise).zip(&self.frame.sd).map(cell).collect())
    }
}

impl Stored for ParzenDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let Frame { mean, sd, correlation, shrinkage, .. } = &self.frame;
        let shape = (self.bandwidth, *shrinkage, mean.len(), self.classes.len(), self.alpha);
        archive.put_json(&format!("{name}.shape"), &shape)?;
        archive.put(&format!("{name}.mean"), &[mean.len()], mean)?;
        archive.put(&format!("{name}.sd"), &[sd.len()], sd)?;
        let lower = correlation.lower();
        archive.put(&format!("{name}.correlation"), &[lower.len()], &lower)?;
        for (c, (class, spreads)) in self.classes.iter().zip(&self.spreads).enumerate() {
            class.store(archive, &format!("{name}.class{c}"))?;
            archive.put(&format!("{name}.class{c}.spreads"), &[spreads.len()], spreads)?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        // Files of before have equal spreads, and no α.
        let shape = format!("{name}.shape");
        let (bandwidth, shrinkage, width, count, alpha): (f64, f64, usize, usize, f64) =
            archive.json(&shape).or_else(|_| archive.json(&shape).map(|(h, gamma, d, k)| (h, gamma, d, k, 0.0)))?;
        let damaged = |what: &str| archive.damaged(&format!("`{name}` {what}"));
        let mean = archive.finite(&format!("{name}.mean"), &[width])?.to_vec();
        let sd = archive.finite(&format!("{name}.sd"), &[width])?.to_vec();
        let cells = width.checked_add(1).and_then(|w| w.checked_mul(width)).ok_or_else(|| damaged("is too wide"))? / 2;
        let mut correlation = Matrix::from_lower(width, archive.finite(&format!("{name}.correlation"), &[cells])?);
        correlation.mirror_lower();
        let sound = bandwidth > 0.0
            && bandwidth.is_finite()
            && (0.0..=1.0).contains(&shrinkage)
            && sd.iter().all(|s| *s > 0.0)
            && (0..width).all(|j| correlation[(j, j)] == 1.0);
        if !sound || width == 0 || count == 0 {
            return Err(damaged("does not hold a kernel"));
        }
        let plain = Frame { mean, sd, correlation, shrinkage: 1.0, lower: Matrix::identity(width) };
        let frame = plain.shrunken(shrinkage).ok_or_else(|| damaged("has a singular kernel"))?;
        let (mut classes, mut all_spreads) = (Vec::new(), Vec::new());
        for c in 0..count {
            let class = KeptRows::load(archive, &format!("{name}.class{c}"))?;
            if class.width() != width || class.rows() == 0 {
                return Err(damaged("has rows of other columns"));
            }
            let key = format!("{name}.class{c}.spreads");
            let spreads = match archive.has(&key) {
                true => archive.finite(&key, &[class.rows()])?.to_vec(),
                false => vec![1.0; class.rows()],
            };
            if !spreads.iter().all(|a| *a > 0.0) {
                return Err(damaged("has a kernel without width"));
            }
            classes.push(class);
            all_spreads.push(spreads);
        }
        Ok(ParzenDensity::new(bandwidth, frame, classes, (alpha, all_spreads)))
    }
}

impl Family for Parzen {
    type Statistic = KeptRows;
    type Density = ParzenDensity;

    fn empty(&self, width: usize) -> KeptRows {
        KeptRows::empty(width)
    }

    fn size(&self, width: usize) -> usize {
        // Of a thousand rows: how many there are nobody knows.
        width * 8 * 1000
    }

    fn observe(&self, statistic: &mut KeptRows, x: &Cells<'_>, names: &[String]) -> Result<()> {
        statistic.observe(x, names)
    }

    fn fit(&self, classes: &[&KeptRows], names: Names<'_>) -> Result<ParzenDensity> {
        if let Some(c) = classes.iter().position(|class| class.rows() == 0) {
            return Err(Error::Classes(format!(
                "class `{}` has no row without missing cells to put a kernel on: leave columns out with §ignore, or give \
                 §model=naive-bayes",
                names.classes[c]
            )));
        }
        if let Some(j) = frame::first_too_large(classes) {
            return Err(too_large(&names.columns[j]));
        }
        let (frame, bandwidth, spreads) = choose::choose(classes, &Frame::new(classes));
        Ok(ParzenDensity::new(bandwidth, frame, classes.iter().copied().cloned().collect(), spreads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Rows};
    use crate::family::testing::{close, observe_batch, score_batch};
    use crate::file::{from_bytes, to_bytes};
    use crate::numerics::{cholesky, solve_lower};
    use crate::statistic::{Retract, Statistic};

    fn names() -> Names<'static> {
        let strings =
            |names: &[&str]| -> &'static [String] { names.iter().map(|n| n.to_string()).collect::<Vec<_>>().leak() };
        Names { columns: strings(&["x", "y", "z"]), levels: &[0; 3], classes: strings(&["a", "b"]) }
    }

    fn rows(cells: &[f64], width: usize, weights: Option<&[f64]>) -> KeptRows {
        let mut batch = Batch::new(cells.len() / width).row_major(cells, width).unwrap();
        if let Some(weights) = weights {
            batch = batch.weights(weights).unwrap();
        }
        observe_batch(&Parzen::default(), &batch).unwrap()
    }

    fn scores(density: &ParzenDensity, cells: &[f64]) -> Vec<Vec<f64>> {
        let width = density.width();
        score_batch(density, &Batch::new(cells.len() / width).row_major(cells, width).unwrap()).unwrap()
    }

    /// Two classes of correlated columns, 60 rows each.
    fn drawn(seed: u64) -> [KeptRows; 2] {
        let mut random = Random::new(seed);
        [0.0, 1.0].map(|shift| {
            let cells: Vec<f64> = (0..60)
                .flat_map(|_| {
                    let (a, b, c) = (random.normal(), random.normal(), random.normal());
                    [100.0 * (a + shift), 0.01 * (a + 0.3 * b), c + shift * b]
                })
                .collect();
            rows(&cells, 3, None)
        })
    }

    /// Kernels of every second row are twice as wide.
    fn spread(row: usize) -> f64 {
        1.0 + (row % 2) as f64
    }

    fn density(shrinkage: f64, bandwidth: f64, classes: &[KeptRows; 2]) -> ParzenDensity {
        let frame = Frame::new(&[&classes[0], &classes[1]]).shrunken(shrinkage).unwrap();
        let spreads = classes.iter().map(|class| (0..class.rows()).map(spread).collect()).collect();
        ParzenDensity::new(bandwidth, frame, classes.to_vec(), (1.0, spreads))
    }

    #[test]
    fn one_column_by_hand() {
        // Rows 0, 2 and 10, 14: the variance within the classes is (1 + 1 + 4 + 4)/4 = 2.5.
        let classes = [rows(&[0.0, 2.0], 1, None), rows(&[10.0, 14.0], 1, Some(&[3.0, 1.0]))];
        let density = density(1.0, 0.5, &[classes[0].clone(), classes[1].clone()]);
        // With weights 3 and 1 the mean of the second class is 11, its scatter 3 + 9, of 6 rows in all.
        let variance = (2.0 + 12.0) / 6.0;
        let normal = |m: f64, row: usize| {
            let variance = 0.25 * spread(row).powi(2) * variance;
            (-(1.5f64 - m).powi(2) / (2.0 * variance)).exp() / (std::f64::consts::TAU * variance).sqrt()
        };
        let expected = [(normal(0.0, 0) + normal(2.0, 1)) / 2.0, (3.0 * normal(10.0, 0) + normal(14.0, 1)) / 4.0];
        close(&scores(&density, &[1.5]).concat(), &expected.map(f64::ln), 1e-13);
        assert_eq!(scores(&density, &[f64::NAN]).concat(), [0.0, 0.0]);
    }

    #[test]
    fn correlated_kernels_and_their_margins() {
        let classes = drawn(1);
        let density = density(0.1, 0.7, &classes);
        let (frame, x) = (&density.frame, [120.0, 0.004, -0.3]);
        // Σ of the kernel: h² s_i s_j R_ij, and a² times as much.
        let covariance = |i: usize, j: usize| {
            0.49 * frame.sd[i] * frame.sd[j] * if i == j { 1.0 } else { 0.9 * frame.correlation[(i, j)] }
        };
        let by_hand = |known: &[usize], class: usize| {
            let s = Matrix::from_fn(known.len(), known.len(), |i, j| covariance(known[i], known[j]));
            let lower = cholesky(&s).unwrap();
            let kernel = |i: usize| {
                let mut z = Matrix::from_fn(known.len(), 1, |a, _| x[known[a]] - classes[class].row(i)[known[a]]);
                solve_lower(&lower, false, &mut z);
                let log_det: f64 = (0..known.len()).map(|a| (spread(i) * lower[(a, a)]).ln()).sum();
                let q = z.data().iter().map(|z| z * z).sum::<f64>() / spread(i).powi(2);
                (-0.5 * q - log_det - 0.5 * known.len() as f64 * std::f64::consts::TAU.ln()).exp()
            };
            ((0..60).map(kernel).sum::<f64>() / 60.0).ln()
        };
        for known in [&[0, 1, 2][..], &[0, 2], &[1]] {
            let row: Vec<f64> = (0..3).map(|j| if known.contains(&j) { x[j] } else { f64::NAN }).collect();
            let found = scores(&density, &row);
            close(&found.concat(), &[by_hand(known, 0), by_hand(known, 1)], 1e-11);
        }
    }

    #[test]
    fn lines_add_up() {
        for shrinkage in [0.0, 0.5, 1.0] {
            let density = density(shrinkage, 0.4, &drawn(2));
            let cells = [50.0, 0.01, 0.2, f64::NAN, 0.02, 3.0, 1e4, 1.0, -50.0, f64::NAN, f64::NAN, f64::NAN];
            let batch = Batch::new(4).row_major(&cells[..], 3).unwrap();
            let columns = ["x", "y", "z"].map(Column::number);
            let parts = density.parts(&Cells::new(&batch, &[0, 1, 2], Rows::Range(0..4)), &columns).unwrap().unwrap();
            let scores = scores(&density, &cells);
            for (i, entries) in parts.iter().enumerate() {
                for c in 0..2 {
                    let sum: f64 = entries.iter().map(|entry| entry.evidence[c]).sum();
                    close(&[sum], &[scores[c][i]], 1e-12);
                }
            }
            assert!(parts[1][0].missing && parts[3][3].evidence == [0.0, 0.0]);
        }
    }

    #[test]
    fn rows_merge_in_any_order_and_leave_again() {
        let (a, b) =
            (rows(&[1.0, 2.0, 0.0, 5.0, 1.0, 2.0], 2, None), rows(&[-0.0, 5.0, 9.0, f64::NAN, 3.0, 4.0], 2, None));
        assert_eq!((a.rows(), a.weights()), (2, &[1.0, 2.0][..]));
        assert_eq!(b.rows(), 2);
        let merged = |a: &KeptRows, b: &KeptRows| {
            let mut sum = a.clone();
            sum.merge(b).unwrap();
            sum
        };
        let both = merged(&a, &b);
        assert_eq!(both, merged(&b, &a));
        assert_eq!(both, rows(&[3.0, 4.0, 1.0, 2.0, 0.0, 5.0], 2, Some(&[1.0, 2.0, 2.0])));
        let mut back = both.clone();
        back.remove(&b).unwrap();
        assert_eq!(back, a);
        assert!(back.remove(&b).is_err());
        assert_eq!(back, a);
        assert_eq!(merged(&KeptRows::empty(2), &a), a);
        let wide = Batch::new(3).row_major(&[0.0, 1.0, f64::INFINITY][..], 1).unwrap();
        assert!(observe_batch(&Parzen::default(), &wide).unwrap_err().to_string().contains("row 3"));
    }

    #[test]
    fn width_and_correlations_are_chosen_by_what_is_left_out() {
        let classes = drawn(3);
        let density = Parzen::default().fit(&[&classes[0], &classes[1]], names()).unwrap();
        // The columns x and y are correlated, and tell the classes apart by what x has beyond y.
        assert!(density.shrinkage() < 1.0, "{}", density.shrinkage());
        assert!((0.1..=1.5).contains(&density.bandwidth()), "{}", density.bandwidth());
        // A row twice is a row of weight 2.
        let twice = classes.clone().map(|mut class| {
            class.merge(&class.clone()).unwrap();
            class
        });
        let other = Parzen::default().fit(&[&twice[0], &twice[1]], names()).unwrap();
        assert!(other.bandwidth() <= density.bandwidth());
        let empty = KeptRows::empty(3);
        let error = Parzen::default().fit(&[&classes[0], &empty], names()).unwrap_err().to_string();
        assert!(error.starts_with("class `b` has no row without missing cells"), "{error}");
        // One row each, and a constant column.
        let (one, two) = (rows(&[1.0, 5.0, 0.0], 3, None), rows(&[2.0, 5.0, 0.0], 3, None));
        let density = Parzen::default().fit(&[&one, &two], names()).unwrap();
        let found = scores(&density, &[1.0, 5.0, 0.0]).concat();
        assert!(found[0] > found[1] && found.iter().all(|s| s.is_finite()));
    }

    #[test]
    fn samples_have_the_covariance_of_rows_and_kernel() {
        let classes = drawn(4);
        let density = density(0.0, 0.5, &classes);
        let mut random = Random::new(5);
        let draws: Vec<Vec<Value>> = (0..20_000).map(|_| density.sample(0, &mut random).unwrap()).collect();
        let cell = |row: &[Value], j: usize| match row[j] {
            Value::Number(x) => x,
            _ => f64::NAN,
        };
        for j in 0..3 {
            let mean = draws.iter().map(|row| cell(row, j)).sum::<f64>() / 2e4;
            let variance = draws.iter().map(|row| (cell(row, j) - mean).powi(2)).sum::<f64>() / 2e4;
            let own: Vec<f64> = (0..60).map(|i| classes[0].row(i)[j]).collect();
            let centre = own.iter().sum::<f64>() / 60.0;
            let kernel = 0.25 * density.frame.sd[j].powi(2) * (1.0 + 4.0) / 2.0;
            let expected = own.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / 60.0 + kernel;
            assert!((mean - centre).abs() < 5.0 * (expected / 2e4).sqrt());
            assert!((variance / expected - 1.0).abs() < 0.06, "{variance} {expected}");
        }
    }

    #[test]
    fn files_hold_it_and_damage_is_refused() {
        let classes = drawn(6);
        for shrinkage in [0.1, 1.0] {
            let density = density(shrinkage, 0.5, &classes);
            assert!(from_bytes::<ParzenDensity>(&to_bytes(&density).unwrap()).unwrap() == density);
            let mut archive = Archive::new("state");
            density.store(&mut archive, "d").unwrap();
            archive.put("d.class0.spreads", &[60], &[0.0; 60]).unwrap();
            assert!(ParzenDensity::load(&archive, "d").is_err());
            for shape in [(0.5, shrinkage, 2, 2), (0.0, shrinkage, 3, 2), (0.5, 2.0, 3, 2), (0.5, shrinkage, 3, 3)] {
                let mut archive = Archive::new("state");
                density.store(&mut archive, "d").unwrap();
                archive.put_json("d.shape", &shape).unwrap();
                assert!(ParzenDensity::load(&archive, "d").is_err(), "{shape:?}");
            }
        }
        assert_eq!(from_bytes::<KeptRows>(&to_bytes(&classes[0]).unwrap()).unwrap(), classes[0]);
    }
}
