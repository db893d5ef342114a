//! What a pass leaves behind. Statistics are additive: parts of a file, threads, machines and
//! hospitals merge, and a part can be removed again.

mod column_moments;
mod moments;
mod row_buffer;
mod shifted_sums;
mod sketch;

pub use column_moments::ColumnMoments;
pub use moments::{Moments, NotFinite};
pub(crate) use row_buffer::RowBuffer;
pub(crate) use shifted_sums::{Joined, ShiftedSums};
pub use sketch::{Quantiles, Sketches};

use crate::error::Result;
use crate::file::Stored;

/// An additive summary of rows.
///
/// `merge` is associative and commutative up to rounding, and merging with an empty statistic
/// gives the other side back exactly.
pub trait Statistic: Stored + Clone + Send + Sync + 'static {
    /// Adds the rows that `other` has seen.
    fn merge(&mut self, other: &Self) -> Result<()>;
}

/// A statistic from which rows can be taken away again: `remove` undoes `merge`.
pub trait Retract: Statistic {
    /// Takes away the rows that `other` has seen; all of them must be in `self`.
    /// After an error `self` is as it was.
    fn remove(&mut self, other: &Self) -> Result<()>;
}
