//! The library's errors as Python's.

use deciban::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError};

/// The exception for an error of the library.
pub fn raise(error: Error) -> PyErr {
    let message = in_python(&error.to_string());
    match &error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(message)
        }
        Error::Io { .. } => PyOSError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyValueError::new_err(message),
    }
}

/// Options by their names in Python: `--pseudo-count` is `pseudo_count`.
fn in_python(message: &str) -> String {
    let mut parts = message.split("--");
    let mut told = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        match part.starts_with(|c: char| c.is_ascii_lowercase()) {
            true => told += &part[..end].replace('-', "_"),
            false => told = told + "--" + &part[..end],
        }
        told += &part[end..];
    }
    told
}
