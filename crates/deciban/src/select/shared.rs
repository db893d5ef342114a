//! The statistics that closed-form candidates have in common.

use crate::data::Column;
use crate::family::{AnyFamily, Family};
use crate::learn::Block;
use crate::model::Candidate;

/// The blocks whose statistics serve all closed-form candidates.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The blocks, each only once.
    pub blocks: Vec<Block>,
    /// For each candidate where its blocks stand; `None` for candidates with passes of their own.
    pub places: Vec<Option<Vec<usize>>>,
}

impl Shared {
    /// What the candidates need together.
    pub fn new(candidates: &[Candidate], columns: &[Column]) -> Self {
        let mut shared = Shared::default();
        for candidate in candidates {
            let places = candidate.closed_form(columns).map(|learner| {
                let blocks = learner.blocks().iter();
                blocks.map(|block| shared.place(block)).collect()
            });
            shared.places.push(places);
        }
        shared
    }

    /// Where the statistic of a block stands, which is added if it is not there yet.
    fn place(&mut self, block: &Block) -> usize {
        let same = |known: &Block| known.columns == block.columns && same_statistic(&known.family, &block.family);
        match self.blocks.iter().position(same) {
            None => {
                self.blocks.push(block.clone());
                self.blocks.len() - 1
            }
            Some(place) => {
                // Of Gaussians the one that keeps covariances serves both.
                if matches!(&block.family, AnyFamily::Gaussian(family) if family.needs_full()) {
                    self.blocks[place] = block.clone();
                }
                place
            }
        }
    }
}

/// Whether the statistics of one family serve the other: they do not depend on pseudo-counts, nor on
/// what a Gaussian is fitted to.
fn same_statistic(a: &AnyFamily, b: &AnyFamily) -> bool {
    match (a, b) {
        (AnyFamily::Gaussian(_), AnyFamily::Gaussian(_)) => true,
        _ => a.clone().with_pseudo_count(1.0) == b.clone().with_pseudo_count(1.0),
    }
}
