//! Standard output. A reader that leaves (`| head`) ends the program quietly, which `println!` does not.

use std::fmt::Arguments;
use std::io::Write;

use deciban::{Error, Result};

/// Prints a line.
pub fn line(text: Arguments<'_>) -> Result<()> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|e| Error::io("standard output", e))
}

/// `println!` that returns the error from the function it stands in.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*))? };
}

pub(crate) use say;
