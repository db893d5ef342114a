//! Long work without the interpreter's lock: on as many threads as asked for, and stopped by Ctrl-C.
//!
//! Rayon's global pool is not used. Its threads do not exist in a process made by `fork`, where whatever is
//! handed to it would wait for ever. All parallel work of the package therefore goes through [`run`] and [`share`], on a
//! pool that belongs to the process that asks. Little work is done by the thread that asks ([`run_little`]).

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deciban::Result;
use deciban::engine::{Counted, Watch};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::raise;

/// How long a Ctrl-C waits at most until it is seen.
const PATIENCE: Duration = Duration::from_millis(100);

/// At most this many pools wait for work. A pool serves one call at a time, so there is one for each thread of
/// Python that calls at the same time.
const MOST_IDLE: usize = 8;

/// Up to so many rows are little work: the library's loops take them as one chunk, of which no other thread takes a part.
pub const FEW_ROWS: usize = 64;

/// Pools that wait for work.
static IDLE: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

/// Runs `work` with the lock released. `work` gets a flag that turns true when Python has a signal
/// to handle; it should return soon then, with whatever error.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: Option<isize>,
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send,
) -> PyResult<T> {
    run_watched(py, n_jobs, None, |watch| work(watch.stop()))
}

/// As [`run`]. From time to time, `report` is called with the passes, rows and steps that are done, and with the
/// number of steps that are expected.
pub fn run_watched<T: Send>(
    py: Python<'_>,
    n_jobs: Option<isize>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Watch>) -> Result<T> + Send,
) -> PyResult<T> {
    let (watch, pool) = (Arc::new(Watch::default()), Pool::take(threads(n_jobs)?)?);
    let report = report.map(|report| report.clone().unbind());
    let mut signal = None;
    let answer = py.detach(|| {
        pool.threads.in_place_scope(|scope| {
            let (done, waiting) = channel();
            let watch = &watch;
            scope.spawn(move |_| drop(done.send(work(watch))));
            loop {
                match waiting.recv_timeout(PATIENCE) {
                    Ok(answer) => return Some(answer),
                    // The work is gone without an answer: it has panicked, and the scope says so.
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) => {
                        if signal.is_none() {
                            signal = Python::attach(|py| look(py, report.as_ref(), watch.counted())).err();
                            watch.stop().store(signal.is_some(), Ordering::Relaxed);
                        }
                    }
                }
            }
        })
    });
    pool.give_back();
    match (signal, answer) {
        (Some(signal), _) => Err(signal),
        (None, Some(answer)) => answer.map_err(raise),
        (None, None) => Err(PyRuntimeError::new_err("the work ended without an answer")),
    }
}

/// Does `body` with each of many small parts of some work, with the lock released. The calling thread takes parts as
/// well as those of a pool, so that it does not wait until they have woken; so `body` starts no parallel work of its own.
/// `state` is made once for each thread.
pub fn share<P: Send, S>(
    py: Python<'_>,
    parts: impl Iterator<Item = P> + Send,
    state: impl Fn() -> S + Sync,
    body: impl Fn(&mut S, P) -> Result<()> + Sync,
) -> PyResult<()> {
    let pool = Pool::take(threads(None)?)?;
    let (parts, failed, ended) = (Mutex::new(parts), Mutex::new(None), AtomicBool::new(false));
    let next = || if ended.load(Ordering::Relaxed) { None } else { parts.lock().ok()?.next() };
    // Parts are taken until there are none, one has failed, or `between` says so.
    let work = |between: &mut dyn FnMut() -> bool| {
        let mut state = state();
        while let Some(part) = next() {
            if let Err(error) = body(&mut state, part) {
                if let Ok(mut failed) = failed.lock() {
                    failed.get_or_insert(error);
                }
                ended.store(true, Ordering::Relaxed);
            }
            if between() {
                ended.store(true, Ordering::Relaxed);
            }
        }
    };
    let mut signal = None;
    let mut looked = Instant::now();
    let mut look = || {
        if looked.elapsed() >= PATIENCE {
            looked = Instant::now();
            signal = Python::attach(|py| py.check_signals()).err();
        }
        signal.is_some()
    };
    py.detach(|| {
        pool.threads.in_place_scope(|scope| {
            let work = &work;
            (1..pool.threads.current_num_threads()).for_each(|_| scope.spawn(move |_| work(&mut || false)));
            work(&mut look);
        })
    });
    pool.give_back();
    match (signal, failed.into_inner()) {
        (Some(signal), _) => Err(signal),
        (None, Ok(Some(error))) => Err(raise(error)),
        (None, _) => Ok(()),
    }
}

/// Runs `body` with a pool of threads of this process.
pub fn with_pool<T>(body: impl FnOnce(&ThreadPool) -> T) -> PyResult<T> {
    let pool = Pool::take(threads(None)?)?;
    let answer = body(&pool.threads);
    pool.give_back();
    Ok(answer)
}

/// What is done from time to time while work runs.
fn look(py: Python<'_>, report: Option<&Py<PyAny>>, counted: Counted) -> PyResult<()> {
    py.check_signals()?;
    if let Some(report) = report {
        report.call1(py, (counted.passes, counted.rows, counted.steps, counted.expected))?;
    }
    Ok(())
}

/// As [`run`], but little work is done by the calling thread, because to hand it over takes longer than to do it. Little
/// work starts no parallel work of its own.
pub fn run_little<T: Send>(
    py: Python<'_>,
    is_little: bool,
    n_jobs: Option<isize>,
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send,
) -> PyResult<T> {
    match is_little {
        true => threads(n_jobs).and_then(|_| work(&AtomicBool::new(false)).map_err(raise)),
        false => run(py, n_jobs, work),
    }
}

/// The number of threads, counted as scikit-learn does: −1 is all, −2 all but one. 0 is as many as there are cores,
/// or as `RAYON_NUM_THREADS` says.
fn threads(n_jobs: Option<isize>) -> PyResult<usize> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    match n_jobs {
        None | Some(-1) => Ok(0),
        Some(0) => Err(PyValueError::new_err("n_jobs == 0 has no meaning")),
        Some(n) if n < 0 => Ok((all() as isize + 1 + n).max(1) as usize),
        Some(n) => Ok(n as usize),
    }
}

/// Threads that wait for work.
struct Pool {
    /// The process whose threads they are.
    process: u32,
    /// How many were asked for.
    asked: usize,
    threads: ThreadPool,
}

impl Pool {
    /// A pool of this process that is idle, or a new one.
    fn take(asked: usize) -> PyResult<Pool> {
        let process = process::id();
        // The lock is never waited for: another thread may have held it when this process was forked.
        if let Ok(mut idle) = IDLE.try_lock() {
            // The threads of pools that a fork has copied do not exist, so they cannot be told to end.
            idle.extract_if(.., |pool| pool.process != process).for_each(std::mem::forget);
            if let Some(place) = idle.iter().position(|pool| pool.asked == asked) {
                return Ok(idle.swap_remove(place));
            }
        }
        match ThreadPoolBuilder::new().num_threads(asked).build() {
            Ok(threads) => Ok(Pool { process, asked, threads }),
            Err(error) => Err(PyRuntimeError::new_err(format!("no threads could be started: {error}"))),
        }
    }

    fn give_back(self) {
        if let Ok(mut idle) = IDLE.try_lock()
            && idle.len() < MOST_IDLE
        {
            idle.push(self);
        }
    }
}
