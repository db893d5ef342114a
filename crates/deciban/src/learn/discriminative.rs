//! Models of p(class | row), which do not learn how a class generates its rows.
//!
//! Their evidence is the log-posterior less the log-prior of the training data: ln p(class | x) − ln p(class) is
//! ln p(x | class) up to a term that all classes share.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{About, Classifier, score_in_tiles};
use crate::data::Batch;
use crate::error::{Error, Result};
use crate::explain::{Explanation, Order};

/// What a model of p(class | row) knows; all else of a [`Classifier`] follows.
pub(crate) trait Discriminative: Sync {
    /// So many rows are scored at a time.
    const TILE: usize = 512;

    fn about(&self) -> &About;
    fn about_mut(&mut self) -> &mut About;
    /// See [`Classifier::learned_from`].
    fn learned_from(&self) -> f64;
    /// Writes ln p(class | row) under the prior of the training data, row after row.
    fn log_posteriors(&self, x: &Batch<'_>, rows: Range<usize>, out: &mut [f64]) -> Result<()>;
    /// What each feature says in a row.
    fn explain_row(&self, x: &Batch<'_>, row: usize) -> Result<Explanation>;
}

impl<M: Discriminative> Classifier for M {
    fn about(&self) -> &About {
        Discriminative::about(self)
    }

    fn about_mut(&mut self) -> &mut About {
        Discriminative::about_mut(self)
    }

    fn learned_from(&self) -> f64 {
        Discriminative::learned_from(self)
    }

    fn ledgers(&self, x: &Batch<'_>, _: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
        let explain = |row| match stop.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => self.explain_row(x, row),
        };
        (0..x.rows()).map(explain).collect()
    }

    fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
        score_in_tiles(x, self.schema(), M::TILE, out, |rows, out| {
            self.log_posteriors(x, rows, out)?;
            Discriminative::about(self).take_prior_away(out);
            Ok(())
        })
    }
}
