//! A [`Pass`] is one sweep over rows that fills a [`Statistic`]; an [`Accumulator`] is a pass with
//! its type erased, for engines that carry only bytes.

use std::collections::BTreeMap;

use crate::data::Batch;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::statistic::Statistic;

/// One sweep over the data. A pass is a value: it may carry the current weights of a learner.
pub trait Pass: Stored + Clone + Send + Sync + 'static {
    /// The name under which [`accumulator`] finds it.
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

/// An empty accumulator for the pass in `bytes`.
pub fn accumulator(bytes: &[u8]) -> Result<Box<dyn Accumulator>> {
    type Make = fn(&Archive) -> Result<Box<dyn Accumulator>>;
    fn make<P: Pass>(archive: &Archive) -> Result<Box<dyn Accumulator>> {
        let pass = P::load(archive, "pass")?;
        Ok(Box::new(Running { statistic: pass.empty(), pass }))
    }
    // Every pass of the library, one line each.
    let passes: BTreeMap<&str, Make> = BTreeMap::from([
        (crate::learn::Summarise::NAME, make::<crate::learn::Summarise> as Make),
        (crate::learn::Expect::NAME, make::<crate::learn::Expect> as Make),
        (crate::learn::Project::NAME, make::<crate::learn::Project> as Make),
        (crate::learn::Sample::NAME, make::<crate::learn::Sample> as Make),
        (crate::learn::Cluster::NAME, make::<crate::learn::Cluster> as Make),
        (crate::learn::Differentiate::NAME, make::<crate::learn::Differentiate> as Make),
        (crate::learn::Bend::NAME, make::<crate::learn::Bend> as Make),
        (crate::learn::Scale::NAME, make::<crate::learn::Scale> as Make),
        (crate::learn::Encode::NAME, make::<crate::learn::Encode> as Make),
        (crate::learn::Tally::NAME, make::<crate::learn::Tally> as Make),
        (crate::learn::Slopes::NAME, make::<crate::learn::Slopes> as Make),
        (crate::learn::Causes::NAME, make::<crate::learn::Causes> as Make),
        (crate::statistic::Sketch::NAME, make::<crate::statistic::Sketch> as Make),
        (crate::select::Draw::NAME, make::<crate::select::Draw> as Make),
        (crate::select::Count::NAME, make::<crate::select::Count> as Make),
        (crate::select::Score::NAME, make::<crate::select::Score> as Make),
        (crate::select::LeaveOneOut::NAME, make::<crate::select::LeaveOneOut> as Make),
    ]);
    let archive = Archive::from_bytes(bytes, "pass")?;
    let name: String = archive.json("name")?;
    let make = passes.get(name.as_str()).ok_or_else(|| Error::Schema(format!("there is no pass named `{name}`")))?;
    make(&archive)
}

/// A stored value as bytes.
pub fn to_bytes<T: Stored>(value: &T) -> Result<Vec<u8>> {
    let mut archive = Archive::new("state");
    value.store(&mut archive, "state")?;
    archive.to_bytes()
}

/// The value that [`to_bytes`] wrote.
pub fn from_bytes<T: Stored>(bytes: &[u8]) -> Result<T> {
    T::load(&Archive::from_bytes(bytes, "state")?, "state")
}
