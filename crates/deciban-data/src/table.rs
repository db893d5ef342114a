//! One file as a sequence of chunks: pieces of about the same size that are parsed independently,
//! in parallel. Each format has a file of its own; this one lists them.

use std::io::Read;

use deciban::Result;

use crate::batches::rows_of;
use crate::cells::Parsed;
use crate::cut::{Cutter, Dialect};
use crate::infer::SAMPLE;
use crate::layout::Layout;
use crate::lines::lines;
use crate::options::{Format, Options};
use crate::plan::Plan;
use crate::sniff::{Guess, by_magic, by_name, foreign, is_json};
use crate::source::{Counter, Purpose, Source};
use crate::{blanks, delimited, folder, idx, ipc, json_text, parquet, records, text};

/// Some rows of a file, not yet parsed.
pub(crate) enum Chunk {
    Delimited(Vec<u8>, Dialect),
    Json(Vec<u8>, json_text::Shape),
    Records(arrow_array::RecordBatch),
    Idx(idx::Rows),
    Texts(folder::Texts),
}

impl Chunk {
    /// The cells of the wanted columns.
    pub fn parse(self, plan: &Plan, layout: &Layout) -> Parsed {
        let parsed = match self {
            Chunk::Delimited(text, dialect) if dialect.is_blanks() => {
                blanks::parse(&text, dialect.comment, plan, layout)
            }
            Chunk::Delimited(text, dialect) => delimited::parse(&text, dialect, plan, layout),
            Chunk::Json(text, shape) => json_text::parse(&text, shape, plan, layout),
            Chunk::Records(batch) => records::parse(&batch, plan, layout),
            Chunk::Idx(rows) => idx::parse(rows, plan, layout),
            Chunk::Texts(texts) => folder::parse(texts, plan, layout),
        };
        parsed.finish(plan)
    }
}

/// A file that is being read.
pub(crate) trait Table: Send {
    /// The columns; empty where rows name them.
    fn names(&self) -> &[String];
    /// The line of the first row, counted from 1; a row is a line in formats without lines.
    fn first_line(&self) -> u64 {
        1
    }
    /// What the number of fields of a row is compared with.
    fn counted(&self) -> &'static str {
        "header"
    }
    /// Leaves the other columns out of the chunks that follow.
    fn project(&mut self, _wanted: &[bool]) -> Result<()> {
        Ok(())
    }
    /// Limits the number of rows of a chunk of text, about.
    fn at_most(&mut self, _rows: usize) {}
    /// The next rows, about `block` bytes of them.
    fn next(&mut self, block: usize) -> Result<Option<Chunk>>;
}

/// How many bytes are looked at to tell what a file is.
const LOOK: usize = 1 << 16;

/// Opens a file of any format, or a folder.
pub(crate) fn open(source: &Source, options: &Options, purpose: Purpose, counter: &Counter) -> Result<Box<dyn Table>> {
    if let Some(batches) = source.batches() {
        return batches.open(purpose, |width| rows_of(SAMPLE, width));
    }
    if let Some(column) = &options.documents {
        return folder::open_documents(column, source, counter);
    }
    if let Some(path) = source.folder() {
        return folder::open(path, source, counter);
    }
    let guess = match by_name(&source.name, options.format) {
        Guess::Open if source.is_pipe() => Guess::Separated,
        guess => guess,
    };
    // These two want the file itself, not a stream; a pipe is spooled before anything takes it, if it is one of them: what
    // is something else may have no end.
    let mut start = Vec::new();
    if source.is_pipe() && matches!(guess, Guess::Known(Format::Parquet | Format::Arrow)) {
        let bytes = source.bytes(Purpose::Look, &Counter::default())?;
        bytes.take(6).read_to_end(&mut start).map_err(|e| source.failed(e))?;
        let is_stream = guess == Guess::Known(Format::Arrow) && start.starts_with(&[0xff; 4]);
        let is_so = is_stream || by_magic(&start).is_some_and(|found| guess == Guess::Known(found));
        if !is_so && !start.is_empty() {
            return Err(source.refuse("this is not of the given §format"));
        }
    }
    match guess {
        Guess::Known(Format::Parquet) => return parquet::open(source, counter),
        Guess::Known(Format::Arrow) => return ipc::open(source, counter),
        _ => {}
    }
    let bytes = match source.part.clone().filter(|part| part.start == 0) {
        Some(part) => lines(source.seekable()?, part).map_err(|e| source.failed(e))?,
        None => source.bytes(purpose, counter)?,
    };
    let mut cutter = Cutter::new(bytes, &source.name);
    let start = cutter.look(LOOK)?;
    if start.is_empty() {
        return Err(source.refuse("the file is empty"));
    }
    // Where the name says nothing, the content does.
    let found = match guess {
        Guess::Open => by_magic(start),
        Guess::Separated if source.is_pipe() && options.format.is_none() => by_magic(start),
        _ => None,
    };
    match found {
        _ if guess == Guess::Known(Format::Idx) => return idx::open(cutter, source),
        _ if guess == Guess::Known(Format::Json) => {}
        Some(Format::Idx) => return idx::open(cutter, source),
        Some(Format::Parquet) => return parquet::open(source, counter),
        Some(Format::Arrow) => return ipc::open(source, counter),
        _ => {}
    }
    if let Some(what) = foreign(start) {
        return Err(source.refuse(what));
    }
    let is_open = guess == Guess::Open || (source.is_pipe() && options.format.is_none());
    let by_content = is_open && !source.in_memory && is_json(start);
    if guess == Guess::Known(Format::Json) || by_content {
        return json_text::open(cutter, &source.name);
    }
    text::open(cutter, guess, source, options)
}
