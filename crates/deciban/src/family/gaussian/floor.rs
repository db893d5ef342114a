//! The least variance. A column that is the same in all rows of a class has no density there; with diagonal covariances
//! its variance is then [`FLOOR`] times that of the column over all rows, as `var_smoothing` has it in scikit-learn. Unlike
//! there, nothing is added where the column varies, and the density knows which variances these are, so that they can be
//! reported.

use super::covariances::Covariances;
use super::prepared::{Prepared, divide};
use super::{Gaussian, Structure};
use crate::error::Result;
use crate::numerics::covariance::is_constant;
use crate::statistic::{ColumnMoments, Statistic};

/// The least variance of a column within a class, as a part of its variance over all rows.
pub const FLOOR: f64 = 1e-9;

/// A class and a column whose variance is the least that it may be.
pub type Floored = (usize, usize);

impl Gaussian {
    /// Raises variances of 0 to the least that they may be; says which they are. A class of one row has no variances to
    /// raise, and in expectation–maximisation a component that narrows to a point must not be kept from the error that
    /// says so.
    pub(super) fn raise(&self, covariances: &mut Covariances, moments: &Prepared) -> Result<Vec<Floored>> {
        let Covariances::Diagonal(variances) = covariances else { return Ok(Vec::new()) };
        if self.covariance != Structure::Diagonal || self.settled.is_some() || self.projects() {
            return Ok(Vec::new());
        }
        let classes = moments.columns();
        let mut all = ColumnMoments::empty(moments.width());
        classes.iter().try_for_each(|class| all.merge(class))?;
        let mut floored = Vec::new();
        for (c, (variances, class)) in
            variances.iter_mut().zip(&classes).enumerate().filter(|(_, (_, c))| c.rows() > 1.0)
        {
            for (j, variance) in variances.iter_mut().enumerate() {
                let floor = FLOOR * divide(all.scatter()[j], all.weight()[j]);
                if is_constant(*variance, class.mean()[j]) && !is_constant(floor, class.mean()[j]) {
                    *variance = floor;
                    floored.push((c, j));
                }
            }
        }
        Ok(floored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Batch;
    use crate::family::gaussian::GaussianDensity;
    use crate::family::testing::{names, observe_batch};
    use crate::family::{Density, Family};
    use crate::file::{from_bytes, to_bytes};

    fn family() -> Gaussian {
        Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() }
    }

    fn fit(rows: [&[f64]; 2]) -> Result<GaussianDensity> {
        let class = |x: &[f64]| observe_batch(&family(), &Batch::new(x.len() / 2).row_major(x, 2).unwrap()).unwrap();
        family().fit(&[&class(rows[0]), &class(rows[1])], names(&["x", "y"], &[0, 0]))
    }

    #[test]
    fn a_constant_has_the_least_variance_in_its_class_alone() {
        let density = fit([&[3.0, 1.0, 3.0, 2.0], &[1.0, 5.0, 5.0, 9.0]]).unwrap();
        // x is 3, 3, 1 and 5: over all rows its variance is 2.
        assert!((density.covariance(0)[(0, 0)] - 2e-9).abs() < 1e-20);
        assert_eq!(density.floored(), [(0, 0)]);
        let others = [density.covariance(0)[(1, 1)], density.covariance(1)[(0, 0)], density.covariance(1)[(1, 1)]];
        assert_eq!(others, [0.25, 4.0, 4.0]);
        let again: GaussianDensity = from_bytes(&to_bytes(&density).unwrap()).unwrap();
        assert_eq!(again, density);
        assert_eq!((density.of_groups(0..1).floored(), density.of_groups(1..2).floored()), (&[(0, 0)][..], &[][..]));
    }

    #[test]
    fn what_never_varies_and_single_rows_stay_errors() {
        let never = fit([&[3.0, 1.0, 3.0, 2.0], &[3.0, 5.0, 3.0, 9.0]]).unwrap_err().to_string();
        assert!(never.contains("these columns do not vary: `x`"), "{never}");
        let single = fit([&[3.0, 1.0], &[1.0, 5.0, 5.0, 9.0]]).unwrap_err().to_string();
        assert!(single.contains("it has only one row"), "{single}");
    }
}
