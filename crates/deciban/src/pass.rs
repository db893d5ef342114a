//! A [`Pass`] is one sweep over rows that fills a [`Statistic`]. Engines see it as an [`ErasedPass`], whose
//! [`Accumulator`]s they feed and merge: so learners and engines are compiled once, not once for each other.

use std::any::Any;
use std::borrow::Cow;

use crate::data::Batch;
use crate::error::{Error, Result};
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

/// A statistic whose type only its pass knows.
pub type ErasedStatistic = Box<dyn Any + Send>;

/// A pass with its type erased: what engines see. Every [`Pass`] is one.
pub trait ErasedPass: Sync {
    /// The name under which the [registry](crate::registry) finds it.
    fn name(&self) -> &'static str;
    /// An empty statistic, ready to observe rows.
    fn accumulator(&self) -> Box<dyn Accumulator + '_>;
    /// About how many bytes one statistic takes.
    fn statistic_size(&self) -> usize;
    /// Whether it wants [hashes](Batch::hashes) of levels and texts.
    fn needs_hashes(&self) -> bool;
    /// Stores the pass without its name.
    fn store_pass(&self, archive: &mut Archive, name: &str) -> Result<()>;
}

impl<P: Pass> ErasedPass for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn accumulator(&self) -> Box<dyn Accumulator + '_> {
        Box::new(Running { statistic: self.empty(), pass: Cow::Borrowed(self) })
    }

    fn statistic_size(&self) -> usize {
        self.size()
    }

    fn needs_hashes(&self) -> bool {
        self.wants_hashes()
    }

    fn store_pass(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.store(archive, name)
    }
}

/// A pass and its statistic so far, with their types erased: what an engine drives.
pub trait Accumulator: Send {
    /// Adds the rows of a batch.
    fn observe(&mut self, batch: &Batch<'_>) -> Result<()>;
    /// Adds a statistic of the same pass.
    fn absorb(&mut self, statistic: ErasedStatistic) -> Result<()>;
    /// Adds the [`state`](Accumulator::state) of another accumulator of the same pass.
    fn merge(&mut self, state: &[u8]) -> Result<()>;
    /// The statistic so far, as bytes.
    fn state(&self) -> Result<Vec<u8>>;
    /// The statistic.
    fn finish(self: Box<Self>) -> ErasedStatistic;
}

struct Running<'a, P: Pass> {
    pass: Cow<'a, P>,
    statistic: P::Statistic,
}

impl<P: Pass> Accumulator for Running<'_, P> {
    fn observe(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.pass.observe(&mut self.statistic, batch)
    }

    fn absorb(&mut self, statistic: ErasedStatistic) -> Result<()> {
        self.statistic.merge(&of_pass::<P>(statistic)?)
    }

    fn merge(&mut self, state: &[u8]) -> Result<()> {
        self.statistic.merge(&from_bytes(state)?)
    }

    fn state(&self) -> Result<Vec<u8>> {
        to_bytes(&self.statistic)
    }

    fn finish(self: Box<Self>) -> ErasedStatistic {
        Box::new(self.statistic)
    }
}

/// The statistic of a pass whose type is known.
pub(crate) fn of_pass<P: Pass>(statistic: ErasedStatistic) -> Result<P::Statistic> {
    match statistic.downcast() {
        Ok(statistic) => Ok(*statistic),
        Err(_) => Err(Error::Schema(format!("this is not a statistic of the pass `{}`", P::NAME))),
    }
}

/// The bytes of a pass, with its name: what travels to an executor.
pub fn pass_to_bytes(pass: &dyn ErasedPass) -> Result<Vec<u8>> {
    let mut archive = Archive::new("pass");
    store_named(pass, &mut archive, "pass")?;
    archive.to_bytes()
}

/// Stores a pass with its name.
pub(crate) fn store_named(pass: &dyn ErasedPass, archive: &mut Archive, name: &str) -> Result<()> {
    archive.put_json(&format!("{name}.name"), &pass.name())?;
    pass.store_pass(archive, name)
}

/// An empty accumulator for a pass of this type that an archive holds.
pub(crate) fn load_accumulator<P: Pass>(archive: &Archive, name: &str) -> Result<Box<dyn Accumulator>> {
    let pass = P::load(archive, name)?;
    Ok(Box::new(Running::<P> { statistic: pass.empty(), pass: Cow::Owned(pass) }))
}
