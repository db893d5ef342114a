//! Arrow IPC files and streams; Feather 2 is the file format. Batches may be of any size, so they
//! are handed out in slices, which copy nothing.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use deciban::Result;

use crate::guard::guarded;
use crate::ipc_lengths::{check_file, check_stream};
use crate::source::{Counter, Source};
use crate::table::{Chunk, Table};

const WHAT: &str = "an Arrow file or stream";

/// Batches from a file or a stream.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

struct Ipc {
    file: String,
    opened: File,
    names: Vec<String>,
    projection: Option<Vec<usize>>,
    batches: Option<Batches>,
    /// What is left of the current batch.
    current: Option<RecordBatch>,
    bytes: u64,
    counter: Counter,
}

/// Opens an Arrow file or stream, whose schema is read.
pub(crate) fn open(source: &Source, counter: &Counter) -> Result<Box<dyn Table>> {
    let mut opened = source.seekable()?;
    if opened.metadata().is_ok_and(|m| m.len() == 0) {
        return Err(source.refuse("the file is empty"));
    }
    let (_, schema) = guarded(&source.name, WHAT, || {
        check(&mut opened)?;
        batches(&mut opened, None)
    })?;
    let names = schema.fields().iter().map(|field| field.name().clone()).collect();
    let (file, bytes, counter) = (source.name.clone(), source.len().unwrap_or(0), counter.clone());
    Ok(Box::new(Ipc { file, opened, names, projection: None, batches: None, current: None, bytes, counter }))
}

/// All batches of a stream or file in memory.
pub(crate) fn read_all(name: &str, mut bytes: Cursor<&[u8]>) -> Result<Vec<RecordBatch>> {
    guarded(name, WHAT, || {
        check(&mut bytes)?;
        let batches: Result<Vec<RecordBatch>, ArrowError> = match is_file(&mut bytes)? {
            true => FileReader::try_new(bytes, None).and_then(|reader| reader.collect()),
            false => StreamReader::try_new(bytes, None).and_then(|reader| reader.collect()),
        };
        batches.map_err(|e| e.to_string())
    })
}

/// Checks the lengths in a stream or file; afterwards the place is the beginning.
fn check(opened: &mut (impl Read + Seek)) -> Result<(), String> {
    match is_file(opened)? {
        true => check_file(opened)?,
        false => check_stream(opened)?,
    }
    opened.rewind().map_err(|e| e.to_string())
}

/// The magic number tells a file from a stream; afterwards the place is the beginning.
fn is_file(opened: &mut (impl Read + Seek)) -> Result<bool, String> {
    let mut magic = Vec::new();
    opened.rewind().map_err(|e| e.to_string())?;
    opened.take(6).read_to_end(&mut magic).map_err(|e| e.to_string())?;
    opened.rewind().map_err(|e| e.to_string())?;
    Ok(magic == b"ARROW1")
}

/// The batches from the file's beginning.
fn batches(opened: &mut File, projection: Option<Vec<usize>>) -> Result<(Batches, SchemaRef), String> {
    let is_file = is_file(opened)?;
    let reader = BufReader::new(opened.try_clone().map_err(|e| e.to_string())?);
    if is_file {
        let reader = FileReader::try_new(reader, projection).map_err(|e| e.to_string())?;
        let schema = reader.schema();
        Ok((Box::new(reader), schema))
    } else {
        let reader = StreamReader::try_new(reader, projection).map_err(|e| e.to_string())?;
        let schema = reader.schema();
        Ok((Box::new(reader), schema))
    }
}

impl Table for Ipc {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn project(&mut self, wanted: &[bool]) -> Result<()> {
        self.projection = Some(wanted.iter().enumerate().filter(|(_, wanted)| **wanted).map(|(i, _)| i).collect());
        Ok(())
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        if self.batches.is_none() {
            let (opened, projection) = (&mut self.opened, self.projection.clone());
            self.batches = Some(guarded(&self.file, WHAT, || batches(opened, projection))?.0);
        }
        // Just filled.
        let batches = self.batches.as_mut().expect("open batches");
        while self.current.as_ref().is_none_or(|batch| batch.num_rows() == 0) {
            let next = || batches.next().transpose().map_err(|e| e.to_string());
            let Some(batch) = guarded(&self.file, WHAT, next)? else {
                self.counter.fetch_add(self.bytes, Ordering::Relaxed);
                self.bytes = 0;
                return Ok(None);
            };
            self.current = Some(batch);
        }
        let rest = self.current.take().expect("rows of a batch");
        let rows = (block / (8 * rest.num_columns().max(1))).clamp(1, rest.num_rows());
        self.current = Some(rest.slice(rows, rest.num_rows() - rows));
        Ok(Some(Chunk::Records(rest.slice(0, rows))))
    }
}
