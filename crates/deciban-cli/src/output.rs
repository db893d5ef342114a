//! Standard output and files. A reader that leaves (`| head`) ends the program quietly, which
//! `println!` does not; a file is written whole or not at all.

use std::fmt::Arguments;
use std::io::Write;
use std::path::Path;

use deciban::{Error, Result};

/// Prints a line.
pub fn line(text: Arguments<'_>) -> Result<()> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|e| Error::io("standard output", e))
}

/// Writes bytes as they are.
pub fn bytes(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| Error::io("standard output", e))
}

/// Writes a file: a temporary one in the same folder takes the name at the end.
pub fn file(path: &Path, bytes: &[u8]) -> Result<()> {
    // The kind alone: the system's word may name the temporary file.
    let failed = |e: std::io::Error| Error::io(path, e.kind().into());
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are private; this one is as open as any file that the user makes.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// `println!` that returns the error from the function it stands in.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*))? };
}

pub(crate) use say;
