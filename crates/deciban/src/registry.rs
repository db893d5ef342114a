//! The list of all passes, for engines that carry only bytes.

use crate::error::{Error, Result};
use crate::file::Archive;
use crate::pass::{Accumulator, Pass, load_accumulator};
use crate::{learn, select, transform};

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
    load(&Archive::from_bytes(bytes, "pass")?, "pass")
}

fn load(archive: &Archive, at: &str) -> Result<Box<dyn Accumulator>> {
    let name: String = archive.json(&format!("{at}.name"))?;
    if name == select::Viewed::NAME {
        return select::Viewed::load(archive, at, load);
    }
    match PASSES.iter().find(|(known, _)| *known == name) {
        Some((_, load)) => load(archive, at),
        None => Err(Error::Schema(format!("there is no pass named `{name}`"))),
    }
}
