//! Weight, mean and scatter of numbers: w = Σwᵢ, m = Σwᵢxᵢ/w, S = Σwᵢ(xᵢ−m)(xᵢ−m)ᵀ.
//!
//! A tile of rows is centred on its own mean before it is multiplied out, and joins what was seen
//! before by the merge of Chan, Golub & LeVeque (1983), with δ = m_b − m_a:
//!
//! m = m_a + (w_b/w) δ,  S = S_a + S_b + (w_a w_b / w) δδᵀ.
//!
//! The difference E[x²] − m² is never formed: it cancels. Means are kept in two doubles, m + l with
//! |l| at most half a unit in the last place of m: where numbers lie far from 0, δ would otherwise
//! lose the digits that S needs. [`ColumnMoments`](super::ColumnMoments) keep
//! only the diagonal of the scatter.

use super::{Retract, RowBuffer, Statistic};
use crate::data::Tile;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::{Matrix, add_gram, add_row_gram, all_finite, vectorised};

/// Sums about c are taken as they are where s²/w, which moves them to the mean, is at most this share of what it is
/// subtracted from: at most a tenth of a bit is lost then.
pub(super) const MOST_LOST: f64 = 1.0 / 16.0;

/// A tile holds a cell that a statistic cannot take: a missing or infinite number, or one so
/// large that sums overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotFinite;

/// Weight, mean and full scatter matrix of `width` numbers.
///
/// ```
/// use deciban::statistic::{Moments, Statistic};
/// let mut a = Moments::of_rows(&[[1.0], [3.0]]);
/// a.merge(&Moments::of_rows(&[[8.0]]))?;
/// assert_eq!((a.weight(), a.mean()[0], a.scatter()[(0, 0)]), (3.0, 4.0, 26.0));
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    pub(super) rows: f64,
    pub(super) weight: f64,
    pub(super) mean: Vec<f64>,
    pub(super) low: Vec<f64>,
    /// Only the lower triangle counts.
    pub(super) scatter: Matrix,
}

impl Moments {
    /// The moments of no rows.
    pub fn empty(width: usize) -> Self {
        let zeros = vec![0.0; width];
        Moments { rows: 0.0, weight: 0.0, mean: zeros.clone(), low: zeros, scatter: Matrix::zeros(width, width) }
    }

    /// Moments from their parts; the scatter's lower triangle counts.
    pub fn from_parts(rows: f64, weight: f64, mean: Vec<f64>, scatter: Matrix) -> Result<Self> {
        Error::check_shape("scatter matrix", mean.len(), scatter.rows())?;
        Error::check_shape("scatter matrix", mean.len(), scatter.columns())?;
        Ok(Moments { rows, weight, low: vec![0.0; mean.len()], mean, scatter })
    }

    /// The moments of a few finite rows, as examples and tests write them.
    ///
    /// # Panics
    /// If a number is not finite.
    pub fn of_rows<const D: usize>(rows: &[[f64; D]]) -> Self {
        let mut tile = Tile::default();
        tile.resize(rows.len(), D);
        for (i, row) in rows.iter().enumerate() {
            row.iter().enumerate().for_each(|(j, &x)| tile.column_mut(j)[i] = x);
        }
        let mut moments = Moments::empty(D);
        moments.observe(&mut tile, None).expect("finite numbers");
        moments
    }

    /// The number of rows.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// The sum of the weights.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The weighted mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The weighted scatter about the mean; its lower triangle counts.
    pub fn scatter(&self) -> &Matrix {
        &self.scatter
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// Adds the rows of a tile, which is used up. Rows of weight 0 count as rows, but not more.
    pub fn observe(&mut self, tile: &mut Tile, weights: Option<&[f64]>) -> Result<(), NotFinite> {
        let rows = tile.rows();
        let weight = weights.map_or(rows as f64, |w| w.iter().sum());
        if rows == 0 {
            return Ok(());
        }
        let (mut mean, mut low) = (vec![0.0; self.width()], vec![0.0; self.width()]);
        let roots = weights.map(roots);
        let weighted = weights.zip(roots.as_deref());
        for (j, (m, l)) in mean.iter_mut().zip(&mut low).enumerate() {
            let shift = (self.weight > 0.0).then_some(self.mean[j]);
            (*m, *l) = vectorised!(centre(tile.column_mut(j), weighted, weight, shift));
        }
        if mean.iter().any(|m| !m.is_finite()) {
            return Err(NotFinite);
        }
        if weight > 0.0 {
            add_gram(&mut self.scatter, tile);
            self.join(weight, &mean, &low);
        }
        self.rows += rows as f64;
        Ok(())
    }

    /// Adds rows, which are used up; nothing is added where their sums are not finite.
    ///
    /// With s = Σw(x − c), their scatter about their own mean is Σzzᵀ − ssᵀ/w. Where ssᵀ/w would cost digits of what is
    /// already there, the rows are moved to their mean first.
    pub(crate) fn observe_rows(&mut self, rows: &mut RowBuffer) -> Result<(), NotFinite> {
        let weight: f64 = rows.weights().iter().sum();
        if !all_finite(rows.sums()) {
            return Err(NotFinite);
        }
        if weight > 0.0 {
            let mean = rows.centre().iter().zip(rows.sums()).map(|(c, s)| two_sum(*c, s / weight));
            let (mean, low): (Vec<f64>, Vec<f64>) = mean.unzip();
            let is_near = |(j, s): (usize, &f64)| s * s / weight <= MOST_LOST * self.scatter[(j, j)];
            if rows.sums().iter().enumerate().all(is_near) {
                add_row_gram(&mut self.scatter, rows.cells());
                rank_one(&mut self.scatter, -weight.recip(), rows.sums());
            } else {
                let delta: Vec<f64> = rows.sums().iter().map(|s| s / weight).collect();
                rows.move_by(&delta);
                add_row_gram(&mut self.scatter, rows.cells());
            }
            self.join(weight, &mean, &low);
        }
        self.rows += rows.rows() as f64;
        Ok(())
    }

    /// S ← S + C, given by their lower triangles: what rows scatter beyond the numbers they were filled with.
    pub(crate) fn add_scatter(&mut self, c: &Matrix) {
        self.scatter.data_mut().iter_mut().zip(c.data()).for_each(|(s, c)| *s += c);
    }

    /// Moves weight and mean as in a merge, and adds (w_a w_b / w) δδᵀ to the scatter.
    fn join(&mut self, weight: f64, mean: &[f64], low: &[f64]) {
        let total = self.weight + weight;
        if self.weight == 0.0 {
            self.mean.copy_from_slice(mean);
            self.low.copy_from_slice(low);
        } else {
            let delta: Vec<f64> = (0..mean.len()).map(|j| (mean[j] - self.mean[j]) + (low[j] - self.low[j])).collect();
            rank_one(&mut self.scatter, self.weight * weight / total, &delta);
            for (j, d) in delta.iter().enumerate() {
                (self.mean[j], self.low[j]) = two_sum(self.mean[j], self.low[j] + d * (weight / total));
            }
        }
        self.weight = total;
    }

    /// The moments of Wᵀ(x − c): linear maps act on moments without another pass.
    pub fn map(&self, centre: &[f64], w: &Matrix) -> Moments {
        let shifted: Vec<f64> = (0..centre.len()).map(|j| (self.mean[j] - centre[j]) + self.low[j]).collect();
        let mut full = self.scatter.clone();
        full.mirror_lower();
        let sw = crate::numerics::product(&full, false, w, false);
        let scatter = crate::numerics::product(w, true, &sw, false);
        let mean = w.transpose_times(&shifted);
        Moments { rows: self.rows, weight: self.weight, low: vec![0.0; mean.len()], mean, scatter }
    }

    /// The moments of the chosen columns.
    pub fn select(&self, columns: &[usize]) -> Moments {
        let cell = |i: usize, j: usize| self.scatter[(i.max(j), i.min(j))];
        Moments {
            rows: self.rows,
            weight: self.weight,
            mean: columns.iter().map(|&j| self.mean[j]).collect(),
            low: columns.iter().map(|&j| self.low[j]).collect(),
            scatter: Matrix::from_fn(columns.len(), columns.len(), |i, j| cell(columns[i], columns[j])),
        }
    }
}

/// S ← S + factor·δδᵀ, lower triangle.
fn rank_one(scatter: &mut Matrix, factor: f64, delta: &[f64]) {
    let d = delta.len();
    vectorised!({
        for (j, column) in scatter.data_mut().chunks_exact_mut(d.max(1)).enumerate() {
            let f = factor * delta[j];
            column[j..].iter_mut().zip(&delta[j..]).for_each(|(s, x)| *s += f * x);
        }
    });
}

/// a + b exactly, as a double and the rest (Knuth).
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// √w of each weight.
pub(super) fn roots(weights: &[f64]) -> Vec<f64> {
    vectorised!(weights.iter().map(|w| w.sqrt()).collect())
}

/// Centres a column on its weighted mean, scales rows by √weight, and returns the mean. Weights come with their roots,
/// which are the same for all columns.
///
/// The mean is taken of the residuals about `shift`, the mean of the rows before: their sum does
/// not cancel as that of the numbers would. The first rows are summed twice instead.
#[inline(always)]
pub(super) fn centre(
    column: &mut [f64],
    weights: Option<(&[f64], &[f64])>,
    total: f64,
    shift: Option<f64>,
) -> (f64, f64) {
    match weights {
        None => {
            let shift = shift.unwrap_or_else(|| sum(column, |x| x) / total);
            let (mean, low) = two_sum(shift, sum(column, |x| x - shift) / total);
            column.iter_mut().for_each(|x| *x = (*x - mean) - low);
            (mean, low)
        }
        Some((weights, roots)) => {
            let divisor = if total > 0.0 { total } else { 1.0 };
            let weighted = |shift: f64| weighted_sum(column, weights, shift);
            let shift = shift.unwrap_or_else(|| weighted(0.0) / divisor);
            let (mean, low) = two_sum(shift, weighted(shift) / divisor);
            column.iter_mut().zip(roots).for_each(|(x, root)| *x = ((*x - mean) - low) * root);
            (mean, low)
        }
    }
}

/// Σ w(x − shift), in sixteen lanes.
#[inline(always)]
fn weighted_sum(values: &[f64], weights: &[f64], shift: f64) -> f64 {
    let ((x, last_x), (w, last_w)) = (values.as_chunks::<16>(), weights.as_chunks::<16>());
    let mut lanes = [0.0; 16];
    for (x, w) in x.iter().zip(w) {
        for k in 0..16 {
            lanes[k] += w[k] * (x[k] - shift);
        }
    }
    let last = last_x.iter().zip(last_w).map(|(x, w)| w * (x - shift)).sum::<f64>();
    lanes.iter().sum::<f64>() + last
}

/// Σ f(x), in eight lanes.
#[inline(always)]
pub(super) fn sum(values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    let [a, b, c, d, e, g, h, i] = lanes;
    ((a + e) + (b + g)) + ((c + h) + (d + i)) + rest.iter().map(|&x| f(x)).sum::<f64>()
}

impl Statistic for Moments {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged moments", self.width(), other.width())?;
        self.rows += other.rows;
        if other.weight == 0.0 {
            return Ok(());
        }
        for (s, o) in self.scatter.data_mut().iter_mut().zip(other.scatter.data()) {
            *s += o;
        }
        self.join(other.weight, &other.mean, &other.low);
        Ok(())
    }
}

impl Retract for Moments {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed moments", self.width(), other.width())?;
        let Some(rest) = remaining(self.rows, self.weight, other.rows, other.weight)? else {
            *self = Moments::empty(self.width());
            return Ok(());
        };
        if other.weight == 0.0 {
            self.rows -= other.rows;
            return Ok(());
        }
        let mut left = self.clone();
        (left.rows, left.weight) = (self.rows - other.rows, rest);
        let mut delta = vec![0.0; self.width()];
        for j in 0..self.width() {
            let back = (self.mean[j] - other.mean[j]) + (self.low[j] - other.low[j]);
            (left.mean[j], left.low[j]) = two_sum(self.mean[j], self.low[j] + back * (other.weight / rest));
            delta[j] = -back * (self.weight / rest);
        }
        for (s, o) in left.scatter.data_mut().iter_mut().zip(other.scatter.data()) {
            *s -= o;
        }
        rank_one(&mut left.scatter, -(rest * other.weight / self.weight), &delta);
        if left.rows == 1.0 {
            left.scatter.data_mut().fill(0.0);
            *self = left;
            return Ok(());
        }
        for j in 0..self.width() {
            let loss = lost(self.scatter[(j, j)], left.scatter[(j, j)]);
            refuse_cancellation(loss, j)?;
        }
        *self = left;
        Ok(())
    }
}

/// The weight that is left, or `None` if nothing is.
pub(super) fn remaining(rows: f64, weight: f64, other_rows: f64, other_weight: f64) -> Result<Option<f64>> {
    if other_rows > rows || other_weight > weight * (1.0 + 1e-12) {
        let message = format!("cannot remove {other_rows} rows from {rows}: they were never added");
        return Err(Error::Cancellation(message));
    }
    let rest = weight - other_weight;
    Ok((rows > other_rows && rest > weight * 1e-14).then_some(rest))
}

/// The share of the remaining scatter that rounding may have changed.
pub(super) fn lost(before: f64, after: f64) -> f64 {
    match before > 0.0 {
        true if after <= 0.0 => f64::INFINITY,
        true => 8.0 * f64::EPSILON * before / after,
        false => 0.0,
    }
}

pub(super) fn refuse_cancellation(loss: f64, column: usize) -> Result<()> {
    if loss <= 1e-9 {
        return Ok(());
    }
    let digits = (-loss.log10()).max(0.0);
    let message = format!(
        "removing these rows leaves {digits:.0} good digits of its scatter, fewer than 9: \
         compute the statistics of the remaining rows anew"
    );
    Err(Error::ColumnCancellation { column, message })
}

impl Stored for Moments {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let d = self.width();
        let lower = self.scatter.lower();
        archive.put(&format!("{name}.weight"), &[2], &[self.rows, self.weight])?;
        archive.put(&format!("{name}.mean"), &[2, d], &[self.mean.as_slice(), &self.low].concat())?;
        archive.put(&format!("{name}.scatter"), &[lower.len()], &lower)?;
        archive.put_json(&format!("{name}.width"), &d)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let d: usize = archive.json(&format!("{name}.width"))?;
        let (mean, low) = archive.finite(&format!("{name}.mean"), &[2, d])?.split_at(d);
        let &[rows, weight] = archive.finite(&format!("{name}.weight"), &[2])? else { unreachable!("two values") };
        let lower = archive.finite(&format!("{name}.scatter"), &[d * (d + 1) / 2])?;
        let scatter = Matrix::from_lower(d, lower);
        if rows < 0.0 || weight < 0.0 || (0..d).any(|j| scatter[(j, j)] < 0.0) {
            return Err(archive.damaged(&format!("`{name}` holds a negative weight or variance")));
        }
        Ok(Moments { rows, weight, mean: mean.to_vec(), low: low.to_vec(), scatter })
    }
}
