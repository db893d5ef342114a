//! A [`Pass`] is one sweep over rows that fills a [`Statistic`]; an [`Accumulator`] is a pass with
//! its type erased, for engines that carry only bytes.

use crate::data::Batch;
use crate::error::Result;
use crate::file::{Archive, Stored, from_bytes, to_bytes};
use crate::statistic::Statistic;

/// One sweep over the data. A pass is a value: it may carry the current weights of a learner.
pub trait Pass: Stored + Clone + Send + Sync + 'static {
    /// The name under which the [registry](crate::registry) finds it.
    const NAME: &'static str;
    /// What the sweep leaves behind.
    type Statistic: Statistic;

    /// The statistic of no rows.
    fn empty(&self) -> Self::Statistic;

    /// Adds the rows of a batch.
    fn observe(&self, statistic: &mut Self::Statistic, batch: &Batch<'_>) -> Result<()>;

    /// About how many bytes one statistic takes: engines keep fewer of the large ones.
    fn size(&self) -> usize;

    /// Whether it tells rows apart by what they hold, and wants [hashes](Batch::hashes) of levels and texts.
    fn wants_hashes(&self) -> bool {
        false
    }
}

/// A pass and its statistic, with their types erased: what a distributed engine drives.
pub trait Accumulator: Send {
    /// Adds the rows of a batch.
    fn observe(&mut self, batch: &Batch<'_>) -> Result<()>;
    /// Adds the [`state`](Accumulator::state) of another accumulator of the same pass.
    fn merge(&mut self, state: &[u8]) -> Result<()>;
    /// The statistic so far, as bytes.
    fn state(&self) -> Result<Vec<u8>>;
}

struct Running<P: Pass> {
    pass: P,
    statistic: P::Statistic,
}

impl<P: Pass> Accumulator for Running<P> {
    fn observe(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.pass.observe(&mut self.statistic, batch)
    }

    fn merge(&mut self, state: &[u8]) -> Result<()> {
        self.statistic.merge(&from_bytes(state)?)
    }

    fn state(&self) -> Result<Vec<u8>> {
        to_bytes(&self.statistic)
    }
}

/// The bytes of a pass, with its name: what travels to an executor.
pub fn pass_to_bytes<P: Pass>(pass: &P) -> Result<Vec<u8>> {
    let mut archive = Archive::new("pass");
    archive.put_json("name", &P::NAME)?;
    pass.store(&mut archive, "pass")?;
    archive.to_bytes()
}

/// An empty accumulator for a pass of this type that an archive holds.
pub(crate) fn load_accumulator<P: Pass>(archive: &Archive) -> Result<Box<dyn Accumulator>> {
    let pass = P::load(archive, "pass")?;
    Ok(Box::new(Running { statistic: pass.empty(), pass }))
}
