//! Linear maps z = Wᵀ(x − c), each found from moments alone:
//!
//! - standardise: W = diag(1/sⱼ), sⱼ the standard deviation over all classes;
//! - PCA: W = the leading eigenvectors of the covariance of all rows;
//! - LDA: W = D⁻¹L⁻ᵀV, where D²-scaled within-class covariance is LLᵀ and V are the leading
//!   eigenvectors of L⁻¹D⁻¹ B D⁻¹L⁻ᵀ, B the covariance of the class means. After it the
//!   within-class covariance is the identity. There are at most K − 1 directions.

use serde::{Deserialize, Serialize};

use crate::data::Tile;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::covariance::{Scaled, singular};
use crate::numerics::{Matrix, eigen, product, solve_lower, tile_product};
use crate::statistic::{Moments, Statistic};

/// A linear map that is still to be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Mean 0 and variance 1 in each column.
    Standardise,
    /// The leading principal components.
    Pca(usize),
    /// The leading discriminant directions, within-class covariance whitened.
    Lda(usize),
}

impl Step {
    /// The map, from the moments of each class; `names` are those of the columns.
    pub fn fit(&self, classes: &[Moments], names: &[String]) -> Result<Linear> {
        let mut total = Moments::empty(names.len());
        for class in classes {
            total.merge(class)?;
        }
        match *self {
            Step::Standardise => {
                let variance = |j: usize| total.scatter()[(j, j)] / total.weight();
                Ok(Linear::standardise(total.mean(), &(0..names.len()).map(variance).collect::<Vec<_>>()))
            }
            Step::Pca(n) => Linear::pca(&total, n),
            Step::Lda(n) => Linear::lda(classes, &total, n, names),
        }
    }

    /// The names of the new columns.
    pub fn names(&self, names: &[String]) -> Vec<String> {
        match *self {
            Step::Standardise => names.to_vec(),
            Step::Pca(n) => (1..=n).map(|i| format!("pca{i}")).collect(),
            Step::Lda(n) => (1..=n).map(|i| format!("lda{i}")).collect(),
        }
    }
}

/// A fitted linear map z = Wᵀ(x − c).
///
/// ```
/// use deciban::statistic::Moments;
/// use deciban::transform::Linear;
/// // Points on a line of slope 2: one principal component holds them all.
/// let moments = Moments::of_rows(&[[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]);
/// let pca = Linear::pca(&moments, 1)?;
/// let z = pca.row(&[3.0, 6.0]);
/// assert!((z[0] - 2.0 * 5f64.sqrt()).abs() < 1e-12); // two steps of length √5 from the mean
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    centre: Vec<f64>,
    map: Map,
}

#[derive(Clone, Debug, PartialEq)]
enum Map {
    Scale(Vec<f64>),
    Project(Matrix),
}

impl Linear {
    /// Mean 0 and variance 1; a constant column is only centred.
    pub fn standardise(mean: &[f64], variances: &[f64]) -> Self {
        let scale = variances.iter().map(|&v| if v > 0.0 { v.sqrt().recip() } else { 1.0 });
        Linear { centre: mean.to_vec(), map: Map::Scale(scale.collect()) }
    }

    /// The `n` leading principal components.
    pub fn pca(total: &Moments, n: usize) -> Result<Self> {
        let d = total.width();
        if n == 0 || n > d {
            return Err(Error::parameter("pca", format!("{n} components of {d} columns: give 1 to {d}")));
        }
        let (values, vectors) = eigen(total.scatter())
            .ok_or_else(|| Error::parameter("pca", "the covariance holds numbers too large: §standardise first"))?;
        let floor = values[0].max(0.0) * f64::EPSILON * d as f64;
        let rank = values.iter().filter(|&&v| v > floor).count();
        if n > rank {
            let message = format!("the rows vary in {rank} directions only: give at most §pca={rank}");
            return Err(Error::parameter("pca", message));
        }
        let w = Matrix::from_columns(d, n, vectors.data()[..d * n].to_vec());
        Ok(Linear { centre: total.mean().to_vec(), map: Map::Project(w) })
    }

    fn lda(classes: &[Moments], total: &Moments, n: usize, names: &[String]) -> Result<Self> {
        let d = total.width();
        let filled = classes.iter().filter(|c| c.weight() > 0.0).count();
        let most = filled.saturating_sub(1).min(d);
        if n == 0 || n > most {
            let message = format!("{n} directions for {filled} classes and {d} columns: give 1 to {most}");
            return Err(Error::parameter("lda", message));
        }
        let mut within = Matrix::zeros(d, d);
        let mut between = Matrix::zeros(d, d);
        for class in classes.iter().filter(|c| c.weight() > 0.0) {
            for (w, s) in within.data_mut().iter_mut().zip(class.scatter().data()) {
                *w += s / total.weight();
            }
            let delta: Vec<f64> = class.mean().iter().zip(total.mean()).map(|(m, t)| m - t).collect();
            for j in 0..d {
                for i in 0..d {
                    between[(i, j)] += class.weight() / total.weight() * delta[i] * delta[j];
                }
            }
        }
        let scaled = Scaled::factor(&within, total.mean()).ok_or_else(|| {
            let mut error = singular(&within, total.mean(), total.rows() - filled as f64, None, names);
            if let Error::Singular { why, .. } = &mut error {
                *why = format!("§lda cannot whiten it ({why}); §pca first may help");
            }
            error
        })?;
        let b = Matrix::from_fn(d, d, |i, j| between[(i, j)] / scaled.sd()[i] / scaled.sd()[j]);
        // M = L⁻¹ B L⁻ᵀ, solved from both sides.
        let mut half = b;
        solve_lower(scaled.l(), false, &mut half);
        let mut m = Matrix::from_fn(d, d, |i, j| half[(j, i)]);
        solve_lower(scaled.l(), false, &mut m);
        let (_, vectors) = eigen(&m).ok_or_else(|| {
            Error::parameter("lda", "the class means are too far apart for doubles: §standardise first")
        })?;
        let mut w = Matrix::from_columns(d, n, vectors.data()[..d * n].to_vec());
        solve_lower(scaled.l(), true, &mut w);
        let w = Matrix::from_fn(d, n, |i, j| w[(i, j)] / scaled.sd()[i]);
        Ok(Linear { centre: total.mean().to_vec(), map: Map::Project(w) })
    }

    /// The number of columns it takes.
    pub fn inputs(&self) -> usize {
        self.centre.len()
    }

    /// The number of columns it gives.
    pub fn outputs(&self) -> usize {
        match &self.map {
            Map::Scale(scale) => scale.len(),
            Map::Project(w) => w.columns(),
        }
    }

    /// Whether each column maps to one column, so that a missing cell stays one missing cell.
    pub fn is_columnwise(&self) -> bool {
        matches!(self.map, Map::Scale(_))
    }

    /// The map of some columns alone, where each column maps to one column.
    ///
    /// # Panics
    /// If this is a projection.
    pub fn select(&self, columns: &[usize]) -> Linear {
        let Map::Scale(scale) = &self.map else { panic!("a projection mixes its columns") };
        let select = |from: &[f64]| columns.iter().map(|&j| from[j]).collect();
        Linear { centre: select(&self.centre), map: Map::Scale(select(scale)) }
    }

    /// ln |det W| where columns map to columns; 0 for a projection, whose density is that of z.
    pub fn log_determinant(&self) -> f64 {
        match &self.map {
            Map::Scale(scale) => scale.iter().map(|s| s.ln()).sum(),
            Map::Project(_) => 0.0,
        }
    }

    /// ln of the scale of each column where columns map to columns; none for a projection.
    pub fn log_scales(&self) -> Vec<f64> {
        match &self.map {
            Map::Scale(scale) => scale.iter().map(|s| s.ln()).collect(),
            Map::Project(_) => Vec::new(),
        }
    }

    /// The centre and the scale of a column that maps to one column; a projection scales by 1.
    pub fn column(&self, j: usize) -> (f64, f64) {
        match &self.map {
            Map::Scale(scale) => (self.centre[j], scale[j]),
            Map::Project(_) => (self.centre[j], 1.0),
        }
    }

    /// W, as a matrix, and the centre c.
    pub fn parts(&self) -> (Matrix, &[f64]) {
        match &self.map {
            Map::Scale(scale) => (Matrix::diagonal(scale), &self.centre),
            Map::Project(w) => (w.clone(), &self.centre),
        }
    }

    /// Maps the rows of `tile`, using `spare` as room.
    pub fn apply(&self, tile: &mut Tile, spare: &mut Tile) {
        for (j, c) in self.centre.iter().enumerate() {
            let scale = if let Map::Scale(scale) = &self.map { scale[j] } else { 1.0 };
            tile.column_mut(j).iter_mut().for_each(|x| *x = (*x - c) * scale);
        }
        if let Map::Project(w) = &self.map {
            tile_product(tile, w, spare);
            std::mem::swap(tile, spare);
        }
    }

    /// Maps one row.
    pub fn row(&self, x: &[f64]) -> Vec<f64> {
        let shifted: Vec<f64> = x.iter().zip(&self.centre).map(|(x, c)| x - c).collect();
        match &self.map {
            Map::Scale(scale) => shifted.iter().zip(scale).map(|(x, s)| x * s).collect(),
            Map::Project(w) => w.transpose_times(&shifted),
        }
    }

    /// Maps moments: the statistic of the mapped rows, without seeing them.
    pub fn moments(&self, moments: &Moments) -> Moments {
        moments.map(&self.centre, &self.parts().0)
    }

    /// The point x = c + W(WᵀW)⁻¹z, the nearest to c of those that map to z.
    pub fn inverse_row(&self, z: &[f64]) -> Result<Vec<f64>> {
        let w = match &self.map {
            Map::Scale(scale) => {
                return Ok(z.iter().zip(scale).zip(&self.centre).map(|((z, s), c)| z / s + c).collect());
            }
            Map::Project(w) => w,
        };
        let l = crate::numerics::cholesky(&product(w, true, w, false))
            .ok_or_else(|| Error::Schema("a projection has dependent directions".into()))?;
        let mut y = Matrix::from_columns(z.len(), 1, z.to_vec());
        solve_lower(&l, false, &mut y);
        solve_lower(&l, true, &mut y);
        Ok(w.times(y.data()).iter().zip(&self.centre).map(|(x, c)| x + c).collect())
    }
}

impl Stored for Linear {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.shape"), &[self.inputs(), self.outputs()])?;
        archive.put(&format!("{name}.centre"), &[self.inputs()], &self.centre)?;
        match &self.map {
            Map::Scale(scale) => archive.put(&format!("{name}.scale"), &[scale.len()], scale),
            // Column after column is row after row of the transpose, which is what is stored.
            Map::Project(w) => archive.put(&format!("{name}.transposed"), &[w.columns(), w.rows()], w.data()),
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let [inputs, outputs]: [usize; 2] = archive.json(&format!("{name}.shape"))?;
        let centre = archive.finite(&format!("{name}.centre"), &[inputs])?.to_vec();
        let scale = format!("{name}.scale");
        let map = if archive.has(&scale) {
            let scales = archive.finite(&scale, &[outputs])?;
            if scales.iter().any(|s| *s <= 0.0) {
                return Err(archive.damaged(&format!("`{name}` has a scale that is not above 0")));
            }
            Map::Scale(scales.to_vec())
        } else {
            let w = archive.finite(&format!("{name}.transposed"), &[outputs, inputs])?;
            Map::Project(Matrix::from_columns(inputs, outputs, w.to_vec()))
        };
        match map {
            Map::Scale(_) if inputs != outputs => Err(archive.damaged(&format!("`{name}` does not fit its shape"))),
            map => Ok(Linear { centre, map }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes() -> Vec<Moments> {
        let a = Moments::of_rows(&[[1.0, 2.0, 0.5], [2.0, 1.0, 0.1], [3.0, 5.0, 0.9], [0.0, 1.5, -0.3]]);
        let b = Moments::of_rows(&[[6.0, 2.0, 1.5], [7.0, 4.0, 0.2], [5.5, 3.0, 1.9], [8.0, 1.5, 1.3]]);
        vec![a, b]
    }

    fn names() -> Vec<String> {
        ["a", "b", "c"].map(String::from).to_vec()
    }

    #[test]
    fn lda_whitens_the_within_class_covariance() {
        let classes = classes();
        let lda = Step::Lda(1).fit(&classes, &names()).unwrap();
        let within: f64 = classes.iter().map(|c| lda.moments(c).scatter()[(0, 0)]).sum();
        assert!((within / 8.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn lda_of_two_classes_points_along_the_fisher_direction() {
        let classes = classes();
        let w = Step::Lda(1).fit(&classes, &names()).unwrap().parts().0;
        // S_w w ∝ m₁ − m₀.
        let mut within = Matrix::zeros(3, 3);
        for c in &classes {
            within.data_mut().iter_mut().zip(c.scatter().data()).for_each(|(w, s)| *w += s);
        }
        within.mirror_lower();
        let swept = within.times(w.column(0));
        let delta: Vec<f64> = (0..3).map(|j| classes[1].mean()[j] - classes[0].mean()[j]).collect();
        let ratio = swept[0] / delta[0];
        assert!((1..3).all(|j| (swept[j] / delta[j] - ratio).abs() < 1e-10 * ratio.abs()));
    }

    #[test]
    fn maps_of_moments_are_moments_of_maps() {
        let rows = [[1.0, 2.0, 0.5], [2.0, 1.0, 0.1], [3.0, 5.0, 0.9], [0.0, 1.5, -0.3]];
        let moments = Moments::of_rows(&rows);
        let pca = Linear::pca(&moments, 2).unwrap();
        let mapped = rows.map(|row| <[f64; 2]>::try_from(pca.row(&row)).unwrap());
        let (a, b) = (pca.moments(&moments), Moments::of_rows(&mapped));
        assert!(a.mean().iter().zip(b.mean()).all(|(x, y)| (x - y).abs() < 1e-14));
        assert!((a.scatter()[(1, 1)] - b.scatter()[(1, 1)]).abs() < 1e-13);
        assert!(a.scatter()[(1, 0)].abs() < 1e-13);
        // Three of three components: the inverse brings every row back.
        let all = Linear::pca(&moments, 3).unwrap();
        let back = all.inverse_row(&all.row(&rows[2])).unwrap();
        assert!(back.iter().zip(&rows[2]).all(|(x, y)| (x - y).abs() < 1e-13));
    }

    #[test]
    fn too_many_directions_are_refused_with_the_number_that_works() {
        let line = Moments::of_rows(&[[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]);
        let error = Linear::pca(&line, 2).unwrap_err().to_string();
        assert_eq!(error, "pca: the rows vary in 1 directions only: give at most pca=1");
        let error = Step::Lda(2).fit(&classes(), &names()).unwrap_err().to_string();
        assert_eq!(error, "lda: 2 directions for 2 classes and 3 columns: give 1 to 1");
    }
}
