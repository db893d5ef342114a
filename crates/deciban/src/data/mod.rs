//! Tables as the library sees them: a [`Schema`] says what the columns are, a [`Batch`] borrows
//! some rows of them. Numbers may lie row by row or column by column, in any width of float or
//! integer; they are widened to `f64` tile by tile, never as a whole.

mod batch;
mod cells;
mod contents;
mod decides;
mod gathered;
mod hashes;
mod identity;
mod labelled;
mod level;
mod profile;
mod schema;
mod sparse;
mod spelling;

pub use crate::numerics::Tile;
pub use batch::{Batch, Strided, Value, Values, View};
pub use cells::{Cells, Oddities, Rows};
pub(crate) use cells::{ColumnSlices, RowSlices};
pub(crate) use contents::{Contents, Held};
pub use decides::Deciding;
pub use gathered::Gathered;
pub(crate) use hashes::row_hashes;
pub use hashes::{MISSING_HASH, level_hash};
pub use identity::Identity;
pub use labelled::Labelled;
pub use level::{level_key, spelled_key};
pub use profile::Profile;
pub use schema::{Column, Kind, Schema};
pub use sparse::{Integers, Sparse};
pub use spelling::{ShownKind, Spelling, Written};

/// The code of a missing category, and of a row without a label.
pub const MISSING: u32 = u32::MAX;

/// The code of a category level that the schema does not know.
pub const UNSEEN: u32 = u32::MAX - 1;
