//! Standard output and files. A reader that leaves (`| head`) ends the program quietly, which
//! `println!` does not; a file is written whole or not at all.

use std::ffi::OsString;
use std::fmt::Arguments;
use std::io::Write;
use std::path::{Path, PathBuf};

use deciban::{Error, Result, Wording, output, shown_lines};
use deciban_data::files_behind;
use deciban_tasks::Remark;

/// Prints a line, or several. No name in it can command the terminal.
pub fn line(text: Arguments<'_>) -> Result<()> {
    writeln!(std::io::stdout().lock(), "{}", shown_lines(&text.to_string()))
        .map_err(|e| Error::io("standard output", e))
}

/// Prints a line on standard error. Who cannot read it misses a remark, not a result.
pub fn remark(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", shown_lines(&text.to_string()));
}

/// Prints remarks on standard error.
pub fn tell(remarks: &[Remark]) {
    remarks.iter().for_each(|said| remark(format_args!("{}", said.line(Wording::Flags))));
}

/// A text with its options as flags.
pub fn flags(text: &str) -> String {
    Wording::Flags.apply(text)
}

/// Writes bytes as they are.
pub fn bytes(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| Error::io("standard output", e))
}

/// Where a command writes: a file, whole or not at all, or standard output, which is `-`.
#[derive(Clone, Debug)]
pub struct Destination(PathBuf);

impl From<OsString> for Destination {
    fn from(path: OsString) -> Self {
        Destination(path.into())
    }
}

impl Destination {
    /// An error before the work, if the file cannot be written or is one of the inputs.
    pub fn check<P: AsRef<Path>>(&self, inputs: impl IntoIterator<Item = P>) -> Result<()> {
        if self.is_standard_output() {
            return Ok(());
        }
        let is_output = |input: P| {
            let files = files_behind(&input.as_ref().to_string_lossy());
            files.iter().any(|file| output::is_same_file(&self.0, file))
        };
        if inputs.into_iter().any(is_output) {
            let message = format!("{self} is an input, too, and would be replaced: write to another file");
            return Err(Error::parameter("output", message));
        }
        output::check(&self.0)
    }

    /// The path, for its extension; standard output has none.
    pub fn path(&self) -> Option<&Path> {
        (!self.is_standard_output()).then_some(&self.0)
    }

    /// Writes all bytes.
    pub fn write(&self, all: &[u8]) -> Result<()> {
        match self.is_standard_output() {
            true => bytes(all),
            false => output::write(&self.0, all),
        }
    }

    fn is_standard_output(&self) -> bool {
        self.0.as_os_str() == "-"
    }
}

/// What a command writes row after row.
pub struct Lines<'a> {
    out: &'a mut dyn Write,
    target: String,
}

impl Lines<'_> {
    /// Writes a text.
    pub fn put(&mut self, text: &str) -> Result<()> {
        // The kind alone: the system's word may name the temporary file.
        self.out.write_all(text.as_bytes()).map_err(|e| Error::io(&self.target, e.kind().into()))
    }
}

/// Writes row after row to a destination, or else to standard output; a file is there whole or not at all.
pub fn stream(to: Option<&Destination>, write: impl FnOnce(&mut Lines<'_>) -> Result<()>) -> Result<()> {
    let target = to.map_or("standard output".into(), Destination::to_string);
    let lines = |out: &mut dyn Write| -> Result<()> {
        write(&mut Lines { out, target: target.clone() })?;
        out.flush().map_err(|e| Error::io(&target, e.kind().into()))
    };
    match to.and_then(Destination::path) {
        None => lines(&mut std::io::BufWriter::new(std::io::stdout().lock())),
        Some(path) => {
            let mut file = output::Pending::new(path)?;
            lines(&mut file)?;
            file.commit()
        }
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.is_standard_output() {
            true => f.write_str("standard output"),
            false => write!(f, "{}", self.0.display()),
        }
    }
}

/// `println!` that returns the error from the function it stands in.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*))? };
}

/// `eprintln!` that does not care whether somebody reads it.
macro_rules! note {
    ($($text:tt)*) => { $crate::output::remark(format_args!($($text)*)) };
}

pub(crate) use {note, say};
