//! What the work on a request may take: memory by the size of its body, and time until nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use deciban::Error;
use deciban::data::Batch;
use deciban::engine::Watch;
use deciban_data::Rows as Read;

use crate::envelope;
use crate::problem::{Problem, Rows};

/// What cells, or an answer, may take in memory besides a multiple of the body.
const ROOM: usize = 20 << 20;
/// How many times as much as the body they may take.
const TIMES: usize = 7;
/// About how much is worked out at once.
const AT_ONCE: usize = 2 << 20;

/// Work on a request.
#[derive(Clone)]
pub struct Work {
    watch: Arc<Watch>,
    room: usize,
    rows: u64,
}

/// Ends work when nobody waits for it any more.
pub struct Waiting(Arc<Watch>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.stop().store(true, Ordering::Relaxed);
    }
}

impl Work {
    /// Work on a body of `bytes` bytes and at most `rows` rows.
    pub fn new(bytes: usize, rows: u64) -> Self {
        Work { watch: Arc::default(), room: ROOM.saturating_add(bytes.saturating_mul(TIMES)), rows }
    }

    /// Ends the work when it is dropped.
    pub fn waiting(&self) -> Waiting {
        Waiting(self.watch.clone())
    }

    /// The flag that ends the work soon after it turns true.
    pub fn stop(&self) -> &AtomicBool {
        self.watch.stop()
    }

    /// The watch that ends runs over files.
    pub fn watch(&self) -> Arc<Watch> {
        self.watch.clone()
    }

    /// An error if nobody waits for the answer any more.
    pub fn goes_on(&self) -> deciban::Result<()> {
        if self.stop().load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// An error if there are too many rows.
    pub fn check_rows(&self, rows: u64) -> Result<(), Problem> {
        match rows > self.rows {
            true => Err(Problem::too_large(format!(
                "there are more than {} rows: send fewer at once, or send them as a stream of CSV or JSON lines",
                self.rows
            ))),
            false => Ok(()),
        }
    }

    /// An error if rows of this many columns would take too much memory. It comes before they take it.
    pub fn check_cells(&self, rows: u64, columns: usize) -> Result<(), Problem> {
        match (rows as usize).saturating_mul(8 * columns) > self.room {
            true => Err(Problem::too_large(format!(
                "{rows} rows of {columns} columns take more memory than a body of this size may: send fewer rows at once"
            ))),
            false => Ok(()),
        }
    }

    /// Checks the rows of JSON, which are counted where there may be too many.
    pub fn check_json(&self, text: &str, columns: usize) -> Result<(), Problem> {
        // No row of a list is shorter than `{},`.
        let most = text.len() as u64 / 3 + 1;
        if self.check_rows(most).and_then(|()| self.check_cells(most, columns)).is_ok() {
            return Ok(());
        }
        let rows = envelope::elements(text).count() as u64;
        self.check_rows(rows)?;
        self.check_cells(rows, columns)
    }

    /// An error if an answer of `bytes` bytes is too long.
    pub fn check_answer(&self, bytes: usize) -> Result<(), Problem> {
        match bytes > self.room {
            true => Err(Problem::too_large(format!(
                "the answer has more than {} MiB, too much for a body of this size: send fewer rows at once",
                self.room >> 20
            ))),
            false => Ok(()),
        }
    }

    /// Hands rows on, some at a time: as many as take not much more than a few MiB where each takes `bytes`.
    pub fn in_parts(
        &self,
        rows: &Read,
        bytes: usize,
        place: Rows,
        mut part: impl FnMut(&Batch<'_>) -> deciban::Result<usize>,
    ) -> Result<(), Problem> {
        let problem = |e: Error| Problem::of(&e, place);
        let batch = rows.batch().map_err(problem)?;
        let step = (AT_ONCE / bytes.max(1)).clamp(16, 8192);
        for start in (0..rows.len()).step_by(step) {
            self.goes_on().map_err(problem)?;
            let length = match rows.len() <= step {
                true => part(&batch),
                false => part(&batch.slice(start..start + step)),
            };
            self.check_answer(length.map_err(problem)?)?;
        }
        Ok(())
    }
}

/// For how many seconds memory is still given back.
static GIVING: AtomicU8 = AtomicU8::new(0);

/// Lets memory be given back for some seconds: a large request holds it now, or has held it.
pub fn will_give_back() {
    GIVING.store(5, Ordering::Relaxed);
}

/// Gives memory back that was used by large requests. To be called every second.
pub fn give_back() {
    let left = GIVING.load(Ordering::Relaxed);
    if left > 0 {
        // A request that comes meanwhile sets it again; at worst memory is looked at once more, or once less.
        let _ = GIVING.compare_exchange(left, left - 1, Ordering::Relaxed, Ordering::Relaxed);
        tokio::task::spawn_blocking(trim);
    }
}

/// Lets large pieces of memory go back to the system when they are freed. By itself the allocator of glibc keeps pieces
/// of up to 32 MiB once such a piece was freed, for each thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep_little() {
    // SAFETY: it takes no pointer, and any thread may call it at any time.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 512 << 10) };
}

/// Lets large pieces of memory go back, where that is not left to the allocator.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_little() {}

/// Gives memory back: the allocator of glibc keeps what is freed between blocks that are in use.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn trim() {
    // SAFETY: it takes no pointer, and any thread may call it at any time.
    unsafe { libc::malloc_trim(0) };
}

/// Gives memory back, where that is not left to the allocator.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn trim() {}
