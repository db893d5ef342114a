//! The library's errors as Python's.

use deciban::{Error, Wording};
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError};

/// The exception for an error of the library.
pub fn raise(error: Error) -> PyErr {
    let message = error.worded(Wording::Keywords);
    match &error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(message)
        }
        Error::Io { .. } => PyOSError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyValueError::new_err(message),
    }
}
