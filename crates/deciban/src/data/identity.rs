//! [`Identity`]: what tells rows apart where some of them are drawn, into folds or into a share.

use serde::{Deserialize, Serialize};

use super::{Batch, Contents};
use crate::numerics::hash;

/// What tells rows apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// Their places in the input. Equal rows are drawn one by one; in another order, other rows are drawn.
    #[default]
    Place,
    /// What they hold. The same rows are drawn in any order and on any number of machines; equal rows are drawn together.
    Contents,
    /// The [groups](Batch::given_folds) that batches carry: all rows of a group are drawn together.
    Group,
}

impl Identity {
    /// 64 random bits for each row of a batch, which depend on the seed and on what tells the row apart. Levels and
    /// words are told apart by the [hashes](Batch::hashes) that the batch carries.
    pub(crate) fn draw(self, seed: u64, batch: &Batch<'_>) -> Vec<u64> {
        match self {
            Identity::Place => (0..batch.rows()).map(|row| hash(seed, batch.row_number(row))).collect(),
            Identity::Contents => Contents::default().keys(seed, batch),
            Identity::Group => match batch.given_folds() {
                Some(groups) => groups.iter().map(|group| hash(seed, u64::from(*group))).collect(),
                None => Identity::Place.draw(seed, batch),
            },
        }
    }

    /// Whether batches must carry hashes of levels and words.
    pub(crate) fn wants_hashes(self) -> bool {
        self == Identity::Contents
    }
}
