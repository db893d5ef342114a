//! Rows on other machines. The driver learns by an engine whose passes go out as bytes and come back as merged
//! statistics: [`Remote`]. Executors read their own rows, with the columns, levels and classes of the driver:
//! [`survey`], [`observe`] and [`merge_states`]. What carries the bytes is a function of Python.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;

use deciban::data::{Batch, Column, Identity, Kind, Profile, Schema};
use deciban::engine::Engine;
use deciban::learn::Summarise;
use deciban::pass::{ErasedPass, ErasedStatistic, pass_to_bytes};
use deciban::registry::{Carried, accumulator};
use deciban::{Error, Result};
use deciban_data::{Dates, Files, Mapped, Oddity, Options, Target, joined};
use deciban_tasks::{Counted, Input};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;

use crate::errors::raise;
use crate::rows::Rows;
use crate::work;

/// What is asked of the machines that have the rows.
pub enum Question {
    /// The names in some columns, and the classes: a schema of these columns.
    Names(Schema),
    /// From now on rows are read with these columns, levels and classes.
    Schema(Schema),
    /// A pass, with the size of its statistic, and whether it wants hashes; the first one finds classes, too. Some look
    /// at labels alone.
    Pass { bytes: Vec<u8>, size: usize, hashes: bool, labels: bool, first: bool },
}

/// How long the end of the work, and a Ctrl-C, wait at most until they are seen.
const PATIENCE: Duration = Duration::from_millis(5);

/// Names of all parts, or a merged statistic.
pub enum Answer {
    Names(Vec<String>),
    State(Vec<u8>),
    /// New classes, or the statistic of the first pass.
    First(Vec<String>, Vec<u8>),
    Noted,
}

/// A question, and where its answer goes.
type Asked = (Question, SyncSender<PyResult<Answer>>);

/// Asks the thread that may call Python.
pub struct Asker {
    /// What tells rows apart: their places, if these are the same in every pass.
    identity: Identity,
    questions: Mutex<SyncSender<Asked>>,
    failure: Mutex<Option<PyErr>>,
}

impl Asker {
    fn ask(&self, question: Question) -> Result<Answer> {
        let (reply, answer) = sync_channel(1);
        let questions = self.questions.lock().unwrap_or_else(|e| e.into_inner());
        questions.send((question, reply)).map_err(|_| Error::Interrupted)?;
        match answer.recv() {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                *self.failure.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                Err(Error::Interrupted)
            }
            Err(_) => Err(Error::Interrupted),
        }
    }
}

/// Runs `work`, whose questions `ask` answers on this thread: `ask("has_places")` says whether rows have the same places
/// in every pass, `ask("names", schema)` gives a list of schemas,
/// `ask("schema", schema)` takes note of the one that all rows are read with, `ask("pass", bytes, size, hashes, labels)`
/// gives the merged state, and `ask("first", ...)` schemas with new classes and, if there are none, the merged state;
/// `labels` says that a pass looks at labels alone. An error of `ask` is the error of the work.
pub fn run<T: Send>(
    py: Python<'_>,
    ask: &Bound<'_, PyAny>,
    work: impl FnOnce(&Asker) -> Result<T> + Send,
) -> PyResult<T> {
    let (sender, questions): (_, Receiver<Asked>) = sync_channel(1);
    let identity = if ask.call1(("has_places",))?.extract()? { Identity::Place } else { Identity::Contents };
    let asker = Asker { identity, questions: Mutex::new(sender), failure: Mutex::default() };
    let ask = ask.clone().unbind();
    let shared = &asker;
    let answering = move |pool: &ThreadPool| {
        let (finished, waiting) = channel();
        let mut signal = None;
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| drop(finished.send(work(shared))));
            loop {
                match questions.recv_timeout(PATIENCE) {
                    Ok((question, reply)) => {
                        let answer = match signal.take() {
                            Some(signal) => Err(signal),
                            None => Python::attach(|py| put(ask.bind(py), question)),
                        };
                        // Whoever asked has gone only if the work has ended.
                        let _ = reply.send(answer);
                        continue;
                    }
                    Err(_) => signal = signal.or_else(|| Python::attach(|py| py.check_signals()).err()),
                }
                match waiting.try_recv() {
                    Ok(answer) => return Some(answer),
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => return None,
                    Err(std::sync::mpsc::TryRecvError::Empty) => {}
                }
            }
        })
    };
    let done = py.detach(move || work::with_pool(answering))?;
    let failure = asker.failure.into_inner().unwrap_or_else(|e| e.into_inner());
    match (failure, done) {
        (Some(error), _) => Err(error),
        (None, Some(answer)) => answer.map_err(raise),
        (None, None) => Err(PyRuntimeError::new_err("the work ended without an answer")),
    }
}

/// Puts a question to Python.
fn put(ask: &Bound<'_, PyAny>, question: Question) -> PyResult<Answer> {
    match question {
        Question::Names(schema) => ask.call1(("names", written(&schema)?))?.extract().map(Answer::Names),
        Question::Schema(schema) => {
            ask.call1(("schema", written(&schema)?))?;
            Ok(Answer::Noted)
        }
        Question::Pass { bytes, size, hashes, labels, first } => {
            let bytes = PyBytes::new(ask.py(), &bytes);
            let answer = ask.call1((if first { "first" } else { "pass" }, bytes, size, hashes, labels))?;
            match first {
                true => answer.extract().map(|(names, state)| Answer::First(names, state)),
                false => answer.extract().map(Answer::State),
            }
        }
    }
}

fn written(schema: &Schema) -> PyResult<String> {
    serde_json::to_string(schema).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Rows on other machines, of which the driver has seen the first.
pub struct Remote<'a> {
    asker: &'a Asker,
    schema: Schema,
    profiles: Vec<Profile>,
    dates: Vec<Option<Dates>>,
    oddities: Vec<Oddity>,
    /// Whether the classes are known to be all, and those that the first pass has found beside them.
    classes: Mutex<Classes>,
    identity: Identity,
}

/// What is known of the classes.
enum Classes {
    /// All of them.
    Known,
    /// Those of the first rows: the first pass will tell.
    Guessed,
    /// The first pass has found more.
    More(Vec<Schema>),
}

/// Does work with rows on other machines. Where nothing but the target has names, its classes are taken to be those of
/// the first rows, and the first pass of the work finds out: one sweep for both. If there are more, the work begins again.
pub fn with_rows<T>(first: &Files, asker: &Asker, mut work: impl FnMut(&mut Remote<'_>) -> Result<T>) -> Result<T> {
    let mut rows = Remote::new(first, asker, Vec::new())?;
    let done = work(&mut rows);
    match rows.classes.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Classes::More(more) => work(&mut Remote::new(first, asker, more)?),
        _ => done,
    }
}

impl<'a> Remote<'a> {
    /// Looks at the first rows. Where `found` says nothing of all rows, asks all machines for the names of classes, levels
    /// and words, or guesses the classes.
    fn new(first: &Files, asker: &'a Asker, mut found: Vec<Schema>) -> Result<Self> {
        let profiles = first.profiles()?;
        let own = first.schema()?;
        let has_names = |column: &&Column| match column.kind {
            Kind::Category => true,
            Kind::Text => own.reading().is_none_or(|reading| reading.hashed_bits.is_none()),
            _ => false,
        };
        let bare = |column: &Column| Column { levels: Vec::new(), ..column.clone() };
        let columns: Vec<Column> = own.columns().iter().filter(has_names).map(bare).collect();
        let is_guess = columns.is_empty() && found.is_empty();
        let asked = Schema::new(columns, own.target(), Vec::new())?.with_reading(own.reading().cloned());
        let asked = asked.with_spelling(own.spelling().clone())?;
        if is_guess {
            first.collect(&labels())?;
            found = vec![asked.with_classes(first.schema()?.classes().to_vec())?];
        } else if found.is_empty() {
            let Answer::Names(parts) = asker.ask(Question::Names(asked))? else { return Err(Error::Interrupted) };
            found = parts.iter().map(|part| parsed(part)).collect::<Result<Vec<Schema>>>()?;
        }
        let names = joined(&found, first.vocabulary())?;
        if names.classes().is_empty() {
            return Err(Error::Classes(format!("no row has a class in the column `{}`", own.target())));
        }
        let schema = first.schema_with(&names)?;
        asker.ask(Question::Schema(schema.clone()))?;
        let classes = Mutex::new(if is_guess { Classes::Guessed } else { Classes::Known });
        let (dates, oddities, identity) = (first.dates(), first.oddities().to_vec(), asker.identity);
        Ok(Remote { asker, schema, profiles, dates, oddities, classes, identity })
    }
}

impl Engine for Remote<'_> {
    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
        let (bytes, size, hashes) = (pass_to_bytes(pass)?, pass.statistic_size(), pass.needs_hashes());
        let labels = bytes == pass_to_bytes(&labels())?;
        let mut classes = self.classes.lock().unwrap_or_else(|e| e.into_inner());
        let first = matches!(*classes, Classes::Guessed);
        let state = match self.asker.ask(Question::Pass { bytes, size, hashes, labels, first })? {
            Answer::State(state) => state,
            Answer::First(more, state) if more.is_empty() => {
                *classes = Classes::Known;
                state
            }
            Answer::First(more, _) => {
                let more = more.iter().map(|part| parsed(part)).collect::<Result<Vec<Schema>>>()?;
                *classes = Classes::More(more);
                return Err(Error::Interrupted);
            }
            _ => return Err(Error::Interrupted),
        };
        let mut whole = pass.accumulator();
        whole.merge(&state)?;
        Ok(whole.finish())
    }

    fn identity(&self) -> Identity {
        self.identity
    }

    fn schema(&self) -> Result<Schema> {
        Ok(self.schema.clone())
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        Ok(self.profiles.clone())
    }
}

impl Input for Remote<'_> {
    fn tell_apart(&mut self, by: Identity) {
        self.identity = by;
    }

    fn map_erased_in_order(
        &self,
        _: &(dyn Fn(&Batch<'_>) -> Result<Mapped> + Sync),
        _: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()> {
        Err(Error::Schema("this needs the rows themselves, which are on other machines".into()))
    }

    fn settle(&mut self) -> Result<Counted> {
        Counted::of(self)
    }

    fn has_order(&self) -> bool {
        false
    }

    fn dates(&self) -> Vec<Option<Dates>> {
        self.dates.clone()
    }

    fn oddities(&self) -> Vec<Oddity> {
        self.oddities.clone()
    }
}

/// The pass that looks at labels alone.
fn labels() -> Summarise {
    Summarise { blocks: Vec::new(), folds: 1, seed: 0 }
}

fn parsed(schema: &str) -> Result<Schema> {
    serde_json::from_str(schema).map_err(|e| Error::Schema(e.to_string()))
}

/// How executors read rows.
fn options(schema: &Schema, weight: Option<String>) -> Options {
    let target = match schema.target() {
        "" => Target::None,
        name => Target::Column(name.into()),
    };
    Options { target, weight, unlabelled: true, ..Options::default() }
}

/// On an executor: the names in the columns of a schema and the classes, as a schema, and the number of rows.
#[pyfunction]
pub fn survey(py: Python<'_>, rows: &Rows, schema: &str) -> PyResult<(String, u64)> {
    let schema = parsed(schema).map_err(raise)?;
    work::run(py, Some(1), |_| {
        let files = rows.open_as(&schema, options(&schema, None), true)?;
        files.collect(&labels())?;
        let found = serde_json::to_string(&files.schema()?).map_err(|e| Error::Schema(e.to_string()))?;
        Ok((found, files.rows().unwrap_or(0)))
    })
}

/// On an executor: what a pass leaves of its rows, the first of which has this number; how many they are; and nothing more.
/// Where classes may be new (`may_grow`), and some are, they come back as a schema without columns instead of the state.
#[pyfunction]
#[pyo3(signature = (rows, schema, weight, task, size, hashes, first_row=0, may_grow=false))]
#[allow(clippy::too_many_arguments)]
pub fn observe<'py>(
    py: Python<'py>,
    rows: &Rows,
    schema: &str,
    weight: Option<String>,
    task: Vec<u8>,
    size: usize,
    hashes: bool,
    first_row: u64,
    may_grow: bool,
) -> PyResult<(Bound<'py, PyBytes>, u64, String)> {
    let schema = parsed(schema).map_err(raise)?;
    let (state, count, names) = work::run(py, Some(1), |_| {
        let files = rows.open_as(&schema, options(&schema, weight), may_grow)?.starting_at(first_row);
        let state = files.state(&Carried::new(task, size, hashes)?);
        let (found, count) = (files.schema()?.classes().to_vec(), files.rows().unwrap_or(0));
        // What a pass makes of a class that it does not expect does not matter.
        if found.len() > schema.classes().len() {
            let names = Schema::new(Vec::new(), schema.target(), found)?;
            let names = serde_json::to_string(&names).map_err(|e| Error::Schema(e.to_string()))?;
            return Ok((Vec::new(), count, names));
        }
        Ok((state?, count, String::new()))
    })?;
    Ok((PyBytes::new(py, &state), count, names))
}

/// Merges what a pass left of several parts, in their order.
#[pyfunction]
pub fn merge_states<'py>(py: Python<'py>, task: Vec<u8>, states: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let merged = work::run(py, Some(1), |stop: &AtomicBool| {
        let mut whole = accumulator(&task)?;
        for state in &states {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            whole.merge(state)?;
        }
        whole.state()
    })?;
    Ok(PyBytes::new(py, &merged))
}
