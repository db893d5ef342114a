//! Standard output and files. A reader that leaves (`| head`) ends the program quietly, which
//! `println!` does not; a file is written whole or not at all.

use std::fmt::Arguments;
use std::io::Write;
use std::path::Path;

use deciban::{Error, Result, Wording};
use deciban_tasks::Remark;

/// Prints a line.
pub fn line(text: Arguments<'_>) -> Result<()> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|e| Error::io("standard output", e))
}

/// Prints a line on standard error. Who cannot read it misses a remark, not a result.
pub fn remark(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
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

/// Writes a file, whole or not at all.
pub fn file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut pending = Pending::new(path)?;
    pending.writer().write_all(bytes).map_err(|e| failed(path, e))?;
    pending.finish()
}

/// A file that is being written: a temporary one in the same folder, which takes the name at the end. Until
/// then whatever has the name stays.
pub struct Pending<'a> {
    path: &'a Path,
    file: tempfile::NamedTempFile,
}

impl<'a> Pending<'a> {
    pub fn new(path: &'a Path) -> Result<Self> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        // Temporary files are private; this one is as open as any file that the user makes.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        Ok(Pending { path, file: builder.tempfile_in(folder).map_err(|e| failed(path, e))? })
    }

    pub fn writer(&mut self) -> &mut impl Write {
        &mut self.file
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<()> {
        let Pending { path, file } = self;
        file.persist(path).map(|_| ()).map_err(|e| failed(path, e.error))
    }
}

/// The kind alone: the system's word may name the temporary file.
fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::io(path, error.kind().into())
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
