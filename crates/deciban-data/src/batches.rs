//! Record batches that come from elsewhere, such as a database or another library. What the look at the first rows
//! takes from a stream is kept for the run that follows. For more than one run, a source that can be asked again is
//! asked again; a stream that comes only once goes to a temporary file, in Arrow's format for streams.
//!
//! Blocks hold a fixed number of rows, whatever batches they come in. So results do not depend on the size of batches.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema};
use arrow_select::concat::concat_batches;
use deciban::{Error, Result};

use crate::source::Purpose;
use crate::standard_input::Positioned;
use crate::table::{Chunk, Table};

/// A stream of record batches, all of one schema.
pub type Reader = Box<dyn RecordBatchReader + Send>;

/// Where record batches come from.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Float64Array, RecordBatch, RecordBatchIterator, StringArray};
/// use deciban_data::{Batches, Files, Options, Target};
/// let batch = RecordBatch::try_from_iter([
///     ("length", Arc::new(Float64Array::from(vec![1.4, 4.7, 1.3])) as _),
///     ("species", Arc::new(StringArray::from(vec!["setosa", "versicolor", "setosa"])) as _),
/// ]).unwrap();
/// let batches = Batches::again(move || {
///     let schema = batch.schema();
///     Ok(Box::new(RecordBatchIterator::new([Ok(batch.clone())], schema)))
/// });
/// let files = Files::of_batches(batches, Options { target: Target::Column("species".into()), ..Options::default() })?;
/// let mut rows = 0;
/// files.map_in_order(|batch| Ok(batch.rows()), |count| Ok(rows += count))?;
/// assert_eq!((rows, files.classes()[0].as_str()), (3, "setosa"));
/// # Ok::<(), deciban::Error>(())
/// ```
pub struct Batches {
    fresh: Fresh,
    state: Mutex<State>,
}

enum Fresh {
    /// Makes a stream whenever it is called.
    Again(Box<dyn Fn() -> Result<Reader> + Send + Sync>),
    Once,
}

enum State {
    /// Nobody has looked at a stream that could be read.
    Idle,
    /// A stream from its beginning: the batches that were looked at, and the rest.
    Open { looked: Vec<RecordBatch>, rest: Reader },
    /// The only stream has been read.
    Taken,
    /// All of it, in a file without a name: it vanishes with the process, however that ends.
    Spilled(Arc<File>),
}

/// What errors call it.
pub(crate) const NAME: &str = "the stream";

impl Batches {
    /// A source that gives a new stream of the same rows whenever `open` is called.
    pub fn again(open: impl Fn() -> Result<Reader> + Send + Sync + 'static) -> Self {
        Batches { fresh: Fresh::Again(Box::new(open)), state: Mutex::new(State::Idle) }
    }

    /// A stream that comes only once.
    pub fn once(reader: Reader) -> Self {
        Batches { fresh: Fresh::Once, state: Mutex::new(State::Open { looked: Vec::new(), rest: reader }) }
    }

    // A reader that panicked leaves no half-made state behind.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A stream from its beginning; without one that was looked at, a new one.
    fn take(&self, state: &mut State) -> Result<(Vec<RecordBatch>, Reader)> {
        match (std::mem::replace(state, State::Taken), &self.fresh) {
            (State::Open { looked, rest }, _) => Ok((looked, rest)),
            (State::Spilled(file), _) => {
                let reader = StreamReader::try_new(BufReader::new(Positioned::new(file.clone())), None);
                *state = State::Spilled(file);
                Ok((Vec::new(), Box::new(reader.map_err(failed)?)))
            }
            (State::Idle | State::Taken, Fresh::Again(open)) => Ok((Vec::new(), open()?)),
            (State::Idle | State::Taken, Fresh::Once) => {
                Err(refuse("it has been read already, and comes only once: give a function that returns a new stream"))
            }
        }
    }

    /// Lets it be read more than once.
    pub(crate) fn make_rereadable(&self) -> Result<()> {
        let mut state = self.state();
        if matches!(self.fresh, Fresh::Again(_)) || matches!(*state, State::Spilled(_)) {
            return Ok(());
        }
        let (looked, mut rest) = self.take(&mut state)?;
        let mut spill = || -> Result<File, ArrowError> {
            let mut writer = StreamWriter::try_new(BufWriter::new(tempfile::tempfile()?), &rest.schema())?;
            looked.iter().try_for_each(|batch| writer.write(batch))?;
            rest.by_ref().try_for_each(|batch| writer.write(&batch?))?;
            let mut buffer = writer.into_inner()?;
            buffer.flush()?;
            let mut file = buffer.into_inner().map_err(|e| e.into_error())?;
            file.rewind()?;
            Ok(file)
        };
        *state = State::Spilled(Arc::new(spill().map_err(failed)?));
        Ok(())
    }

    /// Opens the stream; to look at it, only its first rows: more than `rows` of them, if there are so many.
    pub(crate) fn open(&self, purpose: Purpose, look: impl Fn(usize) -> usize) -> Result<Box<dyn Table>> {
        let mut state = self.state();
        let (mut looked, mut rest) = self.take(&mut state)?;
        let schema = rest.schema();
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        let table = |waiting: Vec<RecordBatch>, rest| {
            Box::new(Stream { schema, names, wanted: None, waiting: waiting.into(), rest, ready: 0 }.counted())
        };
        if purpose == Purpose::Read {
            return Ok(table(looked, Some(rest)));
        }
        let most = look(rest.schema().fields().len());
        while looked.iter().map(RecordBatch::num_rows).sum::<usize>() <= most {
            match rest.next().transpose().map_err(failed)? {
                Some(batch) => looked.push(batch),
                None => break,
            }
        }
        let table = table(looked.clone(), None);
        if !matches!(*state, State::Spilled(_)) {
            *state = State::Open { looked, rest };
        }
        Ok(table)
    }
}

fn failed(e: ArrowError) -> Error {
    match e {
        ArrowError::ExternalError(e) => refuse(&e.to_string()),
        e => refuse(&e.to_string()),
    }
}

fn refuse(message: &str) -> Error {
    Error::Input { file: NAME.into(), line: None, column: None, message: message.into() }
}

/// Batches on their way to blocks.
struct Stream {
    schema: Arc<Schema>,
    names: Vec<String>,
    /// The places of the wanted columns.
    wanted: Option<Vec<usize>>,
    /// Rows that were read and not yet handed out.
    waiting: VecDeque<RecordBatch>,
    /// How many they are.
    ready: usize,
    rest: Option<Reader>,
}

impl Stream {
    fn counted(mut self) -> Self {
        self.ready = self.waiting.iter().map(RecordBatch::num_rows).sum();
        self
    }

    /// The next `rows` rows, or all that are left, in one batch.
    fn gather(&mut self, rows: usize) -> Result<Option<RecordBatch>, ArrowError> {
        while self.ready < rows
            && let Some(rest) = &mut self.rest
        {
            match rest.next().transpose()? {
                Some(batch) if batch.schema_ref().fields().len() != self.names.len() => {
                    let (found, first) = (batch.num_columns(), self.names.len());
                    let message = format!("a batch has {found} columns, and the first one has {first}");
                    return Err(ArrowError::SchemaError(message));
                }
                Some(batch) => {
                    self.ready += batch.num_rows();
                    self.waiting.push_back(batch);
                }
                None => self.rest = None,
            }
        }
        let mut parts = Vec::new();
        let mut lacking = rows.min(self.ready);
        self.ready -= lacking;
        while lacking > 0
            && let Some(batch) = self.waiting.pop_front()
        {
            let taken = lacking.min(batch.num_rows());
            if taken < batch.num_rows() {
                self.waiting.push_front(batch.slice(taken, batch.num_rows() - taken));
            }
            lacking -= taken;
            let part = batch.slice(0, taken);
            parts.push(match &self.wanted {
                Some(wanted) => part.project(wanted)?,
                None => part,
            });
        }
        match &parts[..] {
            [] => Ok(None),
            [_] => Ok(parts.pop()),
            [first, ..] => concat_batches(first.schema_ref(), &parts).map(Some),
        }
    }
}

impl Table for Stream {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn project(&mut self, wanted: &[bool]) -> Result<()> {
        self.wanted = Some((0..self.schema.fields().len()).filter(|place| wanted[*place]).collect());
        Ok(())
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        let width = self.wanted.as_ref().map_or(self.names.len(), Vec::len);
        let rows = rows_of(block, width);
        Ok(self.gather(rows).map_err(failed)?.map(Chunk::Records))
    }
}

/// How many rows of so many columns a block holds.
pub(crate) fn rows_of(block: usize, width: usize) -> usize {
    (block / (8 * width.max(1))).max(1)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, RecordBatchIterator, StringArray};
    use deciban::engine::Run;
    use deciban::family::gaussian::Gaussian;
    use deciban::learn::{Classifier as _, Generative, Learner};

    use super::*;
    use crate::files::Files;
    use crate::options::{Options, Target};

    const ROWS: usize = 50_000;

    fn reader(batch_rows: usize) -> Reader {
        let x = |i: usize| ((i * 7919) % 1000) as f64 / 100.0 + (i % 3) as f64;
        let batch = move |start: usize| {
            let rows = start..(start + batch_rows).min(ROWS);
            let numbers = Float64Array::from_iter_values(rows.clone().map(x));
            let classes = StringArray::from_iter_values(rows.map(|i| ["c", "a", "b"][i % 3]));
            RecordBatch::try_from_iter([("x", Arc::new(numbers) as _), ("y", Arc::new(classes) as _)]).unwrap()
        };
        let schema = batch(0).schema();
        Box::new(RecordBatchIterator::new((0..ROWS).step_by(batch_rows).map(move |start| Ok(batch(start))), schema))
    }

    fn options() -> Options {
        Options { target: Target::Column("y".into()), ..Options::default() }
    }

    fn fitted(files: &Files) -> Vec<u8> {
        let learner = Generative::gaussian(files.columns(), Gaussian::default()).unwrap();
        let model = learner.learn(files).unwrap();
        assert_eq!(model.schema().classes(), ["c", "a", "b"]);
        deciban::model::Model::Generative(model).to_bytes().unwrap()
    }

    #[test]
    fn the_same_bits_from_batches_of_any_size_and_from_a_file() {
        let expected = fitted(&Files::of_batches(Batches::again(|| Ok(reader(ROWS))), options()).unwrap());
        for rows in [1000, 3333, 49_999] {
            let again = Files::of_batches(Batches::again(move || Ok(reader(rows))), options()).unwrap();
            assert_eq!(fitted(&again), expected);
            assert_eq!(fitted(&again), expected, "a second run");
            let once = Files::of_batches(Batches::once(reader(rows)), options()).unwrap();
            assert_eq!(fitted(&once), expected);
            // What a look at the first rows has taken is a part of the first block.
            let looked_at = Files::of_batches(Batches::once(reader(rows)), options()).unwrap();
            looked_at.look().unwrap();
            assert_eq!(fitted(&looked_at), expected);
            let learner = Generative::gaussian(once.columns(), Gaussian::default()).unwrap();
            let error = learner.learn(&once).unwrap_err().to_string();
            assert!(error.contains("comes only once"), "{error}");
            let mut spilled = Files::of_batches(Batches::once(reader(rows)), options()).unwrap();
            spilled.make_rereadable().unwrap();
            assert_eq!(fitted(&spilled), expected);
            assert_eq!(fitted(&spilled), expected, "from memory, or from the file");
        }
    }

    #[test]
    fn a_source_that_gives_other_rows_the_second_time_is_reported() {
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let open = move || {
            let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let reader = reader(ROWS);
            let schema = reader.schema();
            Ok(Box::new(RecordBatchIterator::new(reader.take(1 - call.min(1)), schema)) as Reader)
        };
        let files = Files::of_batches(Batches::again(open), options()).unwrap();
        let count = deciban::learn::Summarise { blocks: Vec::new(), folds: 1, seed: 0 };
        files.run(&count).unwrap();
        let error = files.run(&count).unwrap_err().to_string();
        assert!(error.contains("50000 rows the first time, and 0 now"), "{error}");
    }
}
