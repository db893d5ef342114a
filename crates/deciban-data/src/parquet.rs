//! Parquet files. Only the wanted columns are read; a compressed file or a pipe goes to a temporary
//! file first, since Parquet is read from its end.

use std::fs::File;
use std::sync::atomic::Ordering;

use deciban::Result;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::guard::guarded;
use crate::source::{Counter, Source};
use crate::table::{Chunk, Table};

const WHAT: &str = "a Parquet file";

struct Parquet {
    file: String,
    names: Vec<String>,
    /// Until the first chunk is wanted; then `reader` takes over.
    builder: Option<ParquetRecordBatchReaderBuilder<File>>,
    reader: Option<ParquetRecordBatchReader>,
    width: usize,
    progress: Progress,
}

/// Rows so far stand for bytes so far.
struct Progress {
    counter: Counter,
    before: u64,
    bytes: u64,
    rows: u64,
    read: u64,
}

/// Opens a Parquet file, whose footer is read.
pub(crate) fn open(source: &Source, counter: &Counter) -> Result<Box<dyn Table>> {
    let file = source.seekable()?;
    if file.metadata().is_ok_and(|m| m.len() == 0) {
        return Err(source.refuse("the file is empty"));
    }
    let builder =
        guarded(&source.name, WHAT, || ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| e.to_string()))?;
    let builder = match &source.part {
        Some(wanted) => builder.with_row_groups(wanted.clone().map(|group| group as usize).collect()),
        None => builder,
    };
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let rows = builder.metadata().file_metadata().num_rows().max(1) as u64;
    let (before, bytes) = (counter.load(Ordering::Relaxed), source.len().unwrap_or(0));
    let progress = Progress { counter: counter.clone(), before, bytes, rows, read: 0 };
    let (file, width) = (source.name.clone(), names.len());
    Ok(Box::new(Parquet { file, names, builder: Some(builder), reader: None, width, progress }))
}

/// How many rows each row group of a Parquet file has: what a file is shared out by.
pub fn row_groups(path: &str) -> Result<Vec<u64>> {
    let file = File::open(path).map_err(|e| deciban::Error::io(path, e))?;
    let builder = guarded(path, WHAT, || ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| e.to_string()))?;
    Ok(builder.metadata().row_groups().iter().map(|group| group.num_rows().max(0) as u64).collect())
}

impl Table for Parquet {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn project(&mut self, wanted: &[bool]) -> Result<()> {
        self.width = wanted.iter().filter(|wanted| **wanted).count();
        self.builder = self.builder.take().map(|builder| {
            let roots = wanted.iter().enumerate().filter(|(_, wanted)| **wanted).map(|(i, _)| i);
            let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
            builder.with_projection(mask)
        });
        Ok(())
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        if let Some(builder) = self.builder.take() {
            let rows = (block / (8 * self.width.max(1))).max(1);
            let reader = || builder.with_batch_size(rows).build().map_err(|e| e.to_string());
            self.reader = Some(guarded(&self.file, WHAT, reader)?);
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let batch = guarded(&self.file, WHAT, || reader.next().transpose().map_err(|e| e.to_string()))?;
        if let Some(batch) = &batch {
            let progress = &mut self.progress;
            progress.read += batch.num_rows() as u64;
            let share = (progress.read as f64 / progress.rows as f64).min(1.0);
            progress.counter.store(progress.before + (share * progress.bytes as f64) as u64, Ordering::Relaxed);
        }
        Ok(batch.map(Chunk::Records))
    }
}
