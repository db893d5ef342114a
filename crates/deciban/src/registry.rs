//! The list of all passes, for engines that carry only bytes.

use crate::error::{Error, Result};
use crate::file::Archive;
use crate::pass::{Accumulator, Pass, load_accumulator};
use crate::{learn, select, transform};

type Load = fn(&Archive) -> Result<Box<dyn Accumulator>>;

/// The name of a pass, and how it is loaded.
const fn pass<P: Pass>() -> (&'static str, Load) {
    (P::NAME, load_accumulator::<P>)
}

/// Every pass of the library, one line each.
const PASSES: &[(&str, Load)] = &[
    pass::<transform::Sketch>(),
    pass::<learn::Summarise>(),
    pass::<learn::Expect>(),
    pass::<learn::Project>(),
    pass::<learn::Sample>(),
    pass::<learn::Cluster>(),
    pass::<learn::Differentiate>(),
    pass::<learn::Bend>(),
    pass::<learn::Scale>(),
    pass::<learn::Encode>(),
    pass::<learn::Tally>(),
    pass::<learn::Slopes>(),
    pass::<learn::Causes>(),
    pass::<select::Draw>(),
    pass::<select::Count>(),
    pass::<select::Score>(),
    pass::<select::LeaveOneOut>(),
];

/// An empty accumulator for the pass in `bytes`, as [`pass_to_bytes`](crate::pass::pass_to_bytes) wrote it.
pub fn accumulator(bytes: &[u8]) -> Result<Box<dyn Accumulator>> {
    let archive = Archive::from_bytes(bytes, "pass")?;
    let name: String = archive.json("name")?;
    let (_, load) = PASSES
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| Error::Schema(format!("there is no pass named `{name}`")))?;
    load(&archive)
}
