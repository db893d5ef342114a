//! Long work without the interpreter's lock: on as many threads as asked for, and stopped by Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use deciban::Result;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::raise;

/// How long a Ctrl-C waits at most until it is seen.
const PATIENCE: Duration = Duration::from_millis(100);

/// Runs `work` with the lock released. `work` gets a flag that turns true when Python has a signal
/// to handle; it should return soon then, with whatever error.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: Option<isize>,
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let pool = pool(n_jobs)?;
    let work = || match &pool {
        Some(pool) => pool.install(|| work(&stop)),
        None => work(&stop),
    };
    let mut signal = None;
    let answer = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, waiting) = channel();
            scope.spawn(move || done.send(work()));
            loop {
                match waiting.recv_timeout(PATIENCE) {
                    Ok(answer) => return Some(answer),
                    // The thread is gone without an answer: it has panicked, and the scope says so.
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) => {
                        if signal.is_none() {
                            signal = Python::attach(|py| py.check_signals()).err();
                            stop.store(signal.is_some(), Ordering::Relaxed);
                        }
                    }
                }
            }
        })
    });
    match (signal, answer) {
        (Some(signal), _) => Err(signal),
        (None, Some(answer)) => answer.map_err(raise),
        (None, None) => Err(PyRuntimeError::new_err("the work ended without an answer")),
    }
}

/// A pool for `n_jobs` threads, counted as scikit-learn does: −1 is all, −2 all but one; `None` is the
/// pool that is there.
fn pool(n_jobs: Option<isize>) -> PyResult<Option<rayon::ThreadPool>> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match n_jobs {
        None | Some(-1) => return Ok(None),
        Some(0) => return Err(PyValueError::new_err("n_jobs == 0 has no meaning")),
        Some(n) if n < 0 => (all as isize + 1 + n).max(1) as usize,
        Some(n) => n as usize,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Some).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}
