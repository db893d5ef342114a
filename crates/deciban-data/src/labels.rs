//! Labels in a file of their own: its first column, one row per row of the data.

use deciban::Result;

use crate::infer::sample;
use crate::number;
use crate::options::{Options, Target};
use crate::pieces::Input;
use crate::plan::Plan;
use crate::source::{Counter, Purpose, Source, find};
use crate::table::{self, Chunk};

/// Opens the labels for data that is read with `options`.
pub(crate) fn open(path: &str, options: &Options) -> Result<Input> {
    let sources = find(&[path.to_string()], false)?;
    let mut options = Options {
        // Those of the data; the labels' format comes from their own name.
        format: None,
        separator: None,
        target: Target::None,
        keep: Vec::new(),
        ..options.clone()
    };
    options.header = options.header && has_header(&sources[0], &options)?;
    let sample = sample(&sources, &options)?;
    let plan = Plan::labels(&sample, &options)?;
    Ok(Input { sources, options, plan })
}

/// Whether the first line names the column. A label is seen again, a name is not; and a number is
/// no name.
fn has_header(source: &Source, options: &Options) -> Result<bool> {
    let options = Options { header: false, ..options.clone() };
    let mut table = table::open(source, &options, Purpose::Look, &Counter::default())?;
    let names = table.names().to_vec();
    let Some(chunk @ Chunk::Delimited(..)) = table.next(1 << 20)? else { return Ok(false) };
    let plan = Plan::texts(&names);
    let parsed = chunk.parse(&plan, &plan.layout(&source.name, &names, table.counted(), true)?);
    let crate::cells::Cells::Codes { codes, levels } = &parsed.cells[0] else { return Ok(false) };
    let Some((first, others)) = codes.split_first() else { return Ok(false) };
    Ok(!others.is_empty() && !others.contains(first) && number::parse(levels.text(*first)).is_none())
}
