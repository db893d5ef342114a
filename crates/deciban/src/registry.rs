//! The list of all passes, for engines that carry only bytes.

use crate::error::{Error, Result};
use crate::file::Archive;
use crate::pass::{Accumulator, ErasedPass, Pass, load_accumulator};
use crate::{folds, learn, select, transform};

type Load = fn(&Archive, &str) -> Result<Box<dyn Accumulator>>;

/// The name of a pass, and how it is loaded.
const fn pass<P: Pass>() -> (&'static str, Load) {
    (P::NAME, load_accumulator::<P>)
}

/// Every pass of the library, one line each. What a view shows is passed over by any of them.
const PASSES: &[(&str, Load)] = &[
    pass::<transform::Sketch>(),
    pass::<learn::Summarise>(),
    pass::<learn::Expect>(),
    pass::<learn::Project>(),
    pass::<learn::Sample>(),
    pass::<learn::Cluster>(),
    pass::<learn::Differentiate>(),
    pass::<learn::HessianProduct>(),
    pass::<learn::Scale>(),
    pass::<learn::Gather>(),
    pass::<learn::Encode>(),
    pass::<learn::Tally>(),
    pass::<learn::Slopes>(),
    pass::<learn::HeldOut>(),
    pass::<learn::Causes>(),
    pass::<folds::Draw>(),
    pass::<folds::Count>(),
    pass::<select::Score>(),
    pass::<select::LeaveOneOut>(),
];

/// An empty accumulator for the pass in `bytes`, as [`pass_to_bytes`](crate::pass::pass_to_bytes) wrote it.
pub fn accumulator(bytes: &[u8]) -> Result<Box<dyn Accumulator>> {
    load(&Archive::from_bytes(bytes, "pass")?, "pass")
}

/// A pass that has come as bytes, for an engine that reads rows for somebody else.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::{Engine, Memory};
/// use deciban::learn::Summarise;
/// use deciban::pass::{ErasedPass, pass_to_bytes};
/// use deciban::registry::Carried;
/// let pass = Summarise { blocks: Vec::new(), folds: 1, seed: 0 };
/// let carried = Carried::new(pass_to_bytes(&pass)?, pass.statistic_size(), pass.needs_hashes())?;
/// let rows = Batch::new(2).column(&[1.0, 2.0][..])?.classes(&[0, 0])?;
/// let engine = Memory::new(Schema::numbers(&["x"], "y", &["a"])?, rows)?;
/// assert!(engine.collect(&carried).is_ok());
/// # Ok::<(), deciban::Error>(())
/// ```
pub struct Carried {
    bytes: Vec<u8>,
    size: usize,
    hashes: bool,
}

impl Carried {
    /// What [`pass_to_bytes`](crate::pass::pass_to_bytes) wrote, with the size of its statistic, and whether it wants
    /// hashes.
    pub fn new(bytes: Vec<u8>, size: usize, hashes: bool) -> Result<Self> {
        accumulator(&bytes)?;
        Ok(Carried { bytes, size, hashes })
    }
}

impl ErasedPass for Carried {
    fn name(&self) -> &'static str {
        "carried"
    }

    fn accumulator(&self) -> Box<dyn Accumulator + '_> {
        accumulator(&self.bytes).expect("the constructor has loaded it")
    }

    fn statistic_size(&self) -> usize {
        self.size
    }

    fn needs_hashes(&self) -> bool {
        self.hashes
    }

    fn store_pass(&self, _: &mut Archive, _: &str) -> Result<()> {
        Err(Error::Schema("a pass that has come as bytes is not stored again: send the bytes on".into()))
    }
}

fn load(archive: &Archive, at: &str) -> Result<Box<dyn Accumulator>> {
    let name: String = archive.json(&format!("{at}.name"))?;
    if name == folds::Viewed::NAME {
        return folds::Viewed::load(archive, at, load);
    }
    match PASSES.iter().find(|(known, _)| *known == name) {
        Some((_, load)) => load(archive, at),
        None => Err(Error::Schema(format!("there is no pass named `{name}`"))),
    }
}
