//! An [`Engine`] runs passes over the rows it has. [`Memory`] has them in borrowed arrays.
//!
//! Results are the same bits for any number of threads: rows are cut into stripes whose number
//! depends on the data alone, each stripe is observed in order, and stripes are merged in order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use crate::data::{Batch, Identity, MISSING, Profile, Schema, row_hashes};
use crate::error::{Error, Result};
use crate::pass::{Accumulator, ErasedPass, ErasedStatistic, Pass, of_pass};

/// Runs passes over rows, wherever they are.
pub trait Engine {
    /// One sweep over all rows, by a pass whose type is erased.
    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic>;

    /// All rows in their order, batch after batch, for a learner that moves with every row. An engine
    /// whose rows are spread over machines has no such order, and refuses.
    fn sweep(&self, visit: &mut dyn FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
        let _ = visit;
        Err(Error::Schema("rows on several machines cannot be visited one after the other: take another solver, or a sample of the rows to calibrate by".into()))
    }

    /// An error if work is to end: asked between chunks of rows by learners that take long over a sweep.
    fn check_stop(&self) -> Result<()> {
        Ok(())
    }

    /// What counts how far the work has come, if somebody watches.
    fn watch(&self) -> Option<&Watch> {
        None
    }

    /// What tells rows apart where some of them are drawn. Rows that are spread over machines have no lasting places.
    fn identity(&self) -> Identity {
        Identity::Place
    }

    /// What the rows are. Where classes turn up as the rows come, they are complete after a run.
    fn schema(&self) -> Result<Schema>;

    /// What the first rows say of each column, if the engine can look at them before a run; otherwise
    /// there are none.
    fn profiles(&self) -> Result<Vec<Profile>> {
        Ok(Vec::new())
    }
}

/// Runs passes whose type is known.
pub trait Run: Engine {
    /// One sweep over all rows.
    fn run<P: Pass>(&self, pass: &P) -> Result<P::Statistic> {
        of_pass::<P>(self.collect(pass)?)
    }
}

impl<E: Engine + ?Sized> Run for E {}

/// How far work has come, and whether it is to end: engines count and obey, another thread reads and asks.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    passes: AtomicU64,
    rows: AtomicU64,
    steps: AtomicU64,
    expected: AtomicU64,
}

/// What a [`Watch`] has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Passes that have begun.
    pub passes: u64,
    /// Rows that all passes together have seen.
    pub rows: u64,
    /// Models that a search has fitted, each without one fold.
    pub steps: u64,
    /// How many of them there will be, as far as is known.
    pub expected: u64,
}

impl Watch {
    /// The flag that ends the work soon after it turns true.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// What has been counted so far.
    pub fn counted(&self) -> Counted {
        let [passes, rows, steps, expected] =
            [&self.passes, &self.rows, &self.steps, &self.expected].map(|count| count.load(Ordering::Relaxed));
        Counted { passes, rows, steps, expected }
    }

    /// A pass begins.
    pub fn pass(&self) {
        self.passes.fetch_add(1, Ordering::Relaxed);
    }

    /// A pass has seen more rows.
    pub fn rows(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// So many more steps will come.
    pub fn expect(&self, steps: usize) {
        self.expected.fetch_add(steps as u64, Ordering::Relaxed);
    }

    /// So many steps are done.
    pub fn step(&self, steps: usize) {
        self.steps.fetch_add(steps as u64, Ordering::Relaxed);
    }
}

/// Rows in memory.
///
/// Threads are those of the rayon pool in which [`Run::run`] is called.
#[derive(Clone, Debug)]
pub struct Memory<'a> {
    schema: Schema,
    batch: Batch<'a>,
    stop: Option<&'a AtomicBool>,
    watch: Option<&'a Watch>,
    identity: Identity,
    came_along: Vec<String>,
}

/// Rows observed at once: enough to sort by class, few enough to stay in the cache.
const CHUNK: usize = 8192;

/// The columns that a row may have before it counts as more than one: few rows of many columns need threads, too.
const CHUNK_WIDTH: usize = 64;

impl<'a> Memory<'a> {
    /// An engine over the rows of `batch`.
    pub fn new(schema: Schema, batch: Batch<'a>) -> Result<Self> {
        Error::check_shape("columns of the batch", schema.columns().len(), batch.width())?;
        let codes = batch.labels().unwrap_or(&[]).iter();
        match codes.filter(|&&c| c != MISSING).max().map_or(0, |&c| c as usize + 1) {
            most if most > schema.classes().len() => {
                Err(Error::Shape { what: "class codes".into(), expected: schema.classes().len(), found: most })
            }
            _ => {
                Ok(Memory { schema, batch, stop: None, watch: None, identity: Identity::Place, came_along: Vec::new() })
            }
        }
    }

    /// Ends a run soon after `stop` turns true, with [`Error::Interrupted`].
    pub fn stopped_by(self, stop: &'a AtomicBool) -> Self {
        Memory { stop: Some(stop), ..self }
    }

    /// Says which columns came along with a table: nobody has asked for them.
    pub fn with_along(self, names: Vec<String>) -> Self {
        Memory { came_along: names, ..self }
    }

    /// Whether a column came along with a table, and nobody has asked for it.
    pub fn came_along(&self, column: usize) -> bool {
        self.schema.columns().get(column).is_some_and(|column| self.came_along.contains(&column.name))
    }

    /// Leaves columns out.
    pub fn leave_out(&mut self, columns: &[usize]) -> Result<()> {
        self.schema = self.schema.without(columns)?;
        self.batch = self.batch.without(columns);
        Ok(())
    }

    /// Says what tells rows apart.
    pub fn tell_apart(&mut self, by: Identity) {
        self.identity = by;
    }

    /// Counts what is done, and ends when the watch asks for it.
    pub fn watched_by(self, watch: &'a Watch) -> Self {
        Memory { stop: Some(watch.stop()), watch: Some(watch), ..self }
    }
}

impl Engine for Memory<'_> {
    fn identity(&self) -> Identity {
        self.identity
    }

    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
        let rows = self.batch.rows();
        self.watch.inspect(|watch| watch.pass());
        let hashes = if pass.needs_hashes() { row_hashes(self.schema.columns(), &self.batch) } else { Vec::new() };
        let mut batch = self.batch.clone();
        for (column, hashes) in &hashes {
            batch = batch.hashes(*column, hashes)?;
        }
        // A power of two: the cores end together.
        let cells = rows * self.batch.width().div_ceil(CHUNK_WIDTH);
        let stripes = 1 << stripes(pass.statistic_size()).min(cells.div_ceil(CHUNK)).max(1).ilog2();
        let length = rows.div_ceil(stripes).max(1);
        let observe = |stripe: usize| -> Result<Box<dyn Accumulator + '_>> {
            let mut part = pass.accumulator();
            let end = rows.min((stripe + 1) * length);
            for start in (rows.min(stripe * length)..end).step_by(CHUNK) {
                self.check_stop()?;
                part.observe(&batch.slice(start..end.min(start + CHUNK)))?;
                self.watch.inspect(|watch| watch.rows(CHUNK.min(end - start)));
            }
            Ok(part)
        };
        merge_in_order(match stripes {
            // Few rows need no other thread.
            1 => vec![observe(0)],
            _ => (0..stripes).into_par_iter().map(observe).collect(),
        })
    }

    fn sweep(&self, visit: &mut dyn FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
        // One batch, as long as its rows can be numbered in 32 bits.
        const MOST: usize = 1 << 31;
        self.watch.inspect(|watch| watch.pass());
        (0..self.batch.rows()).step_by(MOST).try_for_each(|start| {
            self.check_stop()?;
            let part = self.batch.slice(start..start.saturating_add(MOST));
            visit(&part)?;
            self.watch.inspect(|watch| watch.rows(part.rows()));
            Ok(())
        })
    }

    fn watch(&self) -> Option<&Watch> {
        self.watch
    }

    fn check_stop(&self) -> Result<()> {
        match self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    fn schema(&self) -> Result<Schema> {
        Ok(self.schema.clone())
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        Profile::of_batch(self.schema.columns(), &self.batch)
    }
}

/// How many stripes to keep for statistics of `size` bytes: at least 2, and no more than fit
/// in 256 MiB, up to 64.
pub fn stripes(size: usize) -> usize {
    const BUDGET: usize = 256 << 20;
    (BUDGET / size.max(1)).clamp(2, 64)
}

/// The statistic of parts, which are merged in their order; the first error wins.
pub fn merge_in_order<'a>(
    parts: impl IntoIterator<Item = Result<Box<dyn Accumulator + 'a>>>,
) -> Result<ErasedStatistic> {
    Ok(merged_in_order(parts)?.finish())
}

/// Merges parts in their order; the first error wins.
pub fn merged_in_order<'a>(
    parts: impl IntoIterator<Item = Result<Box<dyn Accumulator + 'a>>>,
) -> Result<Box<dyn Accumulator + 'a>> {
    let mut parts = parts.into_iter();
    // Engines make at least one part.
    let mut whole = parts.next().expect("at least one stripe")?;
    for part in parts {
        whole.absorb(part?.finish())?;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::gaussian::Gaussian;
    use crate::learn::{Generative, Learner};

    #[test]
    fn a_run_ends_when_it_is_told_to() {
        let schema = Schema::numbers(&["x"], "y", &["a", "b"]).unwrap();
        let rows = Batch::new(4).column(&[1.0, 2.0, 5.0, 7.0][..]).unwrap().classes(&[0, 0, 1, 1]).unwrap();
        let stop = AtomicBool::new(false);
        let engine = Memory::new(schema.clone(), rows).unwrap().stopped_by(&stop);
        let learner = Generative::gaussian(schema.columns(), Gaussian::default()).unwrap();
        assert!(learner.learn(&engine).is_ok());
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(learner.learn(&engine), Err(Error::Interrupted)));
        let watch = Watch::default();
        let engine = engine.watched_by(&watch);
        learner.learn(&engine).unwrap();
        assert_eq!(watch.counted(), Counted { passes: 1, rows: 4, ..Counted::default() });
        watch.stop().store(true, Ordering::Relaxed);
        assert!(matches!(learner.learn(&engine), Err(Error::Interrupted)));
    }
}
