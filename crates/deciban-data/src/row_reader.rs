//! [`RowReader`]: what reading rows for a model needs, prepared once.

use std::io::{Cursor, Read};
use std::ops::Range;
use std::sync::{Arc, RwLock};

use arrow_array::RecordBatch;
use deciban::data::{Column, Kind, Schema};
use deciban::{Error, Result};
use rayon::prelude::*;
use serde::de::{Deserialize, DeserializeSeed};
use serde_json::Value;

use crate::batches::Batches;
use crate::cells::Parsed;
use crate::classes::Levels;
use crate::code::{Coder, Names};
use crate::document::{are_documents, only_text};
use crate::files::Files;
use crate::infer::{Sample, sample_or_header};
use crate::json::{Cell, Objects, Sink};
use crate::layout::{Layout, Others};
use crate::options::{Format, Options, Target};
use crate::pieces::{Input, Pieces};
use crate::plan::Plan;
use crate::rows::Rows;
use crate::source::{Counter, Source, find};
use crate::{ipc, records};

/// Reads rows for one model: its columns are looked up by name, its levels and words in dictionaries that
/// are made once. Any number of threads may read at the same time, and few rows are read on the thread that
/// asks.
///
/// ```
/// use deciban::data::Schema;
/// use deciban_data::{Options, RowReader};
/// let schema = Schema::numbers(&["height", "weight"], "sex", &["f", "m"])?;
/// let reader = RowReader::new(&schema, Options::default())?;
/// let json = reader.json(r#"{"weight": 80.5, "height": null}"#)?;
/// let csv = reader.csv(b"height,weight\nNA,80.5\n")?;
/// assert_eq!((json.len(), csv.len()), (1, 1));
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Debug)]
pub struct RowReader {
    schema: Schema,
    options: Options,
    /// What a row may name.
    columns: Vec<String>,
    /// Of rows that name their columns.
    plan: Plan,
    layout: Arc<Layout>,
    names: Names,
}

/// A file, or a part of it: row groups of a Parquet file, or [bytes](crate::byte_shares) of delimited text.
pub type Share = (String, Option<Range<u64>>);

/// Rows of a record batch or of a stream that are parsed at once; more of them are parsed in parallel.
const ROWS: usize = 1 << 13;
/// Cells of a stream that are parsed at once.
const CELLS: usize = 1 << 16;

/// What errors call bytes in memory.
const JSON: &str = "JSON";
const CSV: &str = "CSV";
const ARROW: &str = "Arrow data";

impl RowReader {
    /// Prepares to read rows with the columns of `schema`. Cells are read as the schema's spelling says, unless
    /// `options` say otherwise; texts are read as the schema says, or else with the tokeniser of `options`. A target
    /// in `options` makes rows with labels; by default they have none, and a column that is named as the schema's
    /// target is left out.
    pub fn new(schema: &Schema, mut options: Options) -> Result<Self> {
        if let Some(reading) = schema.reading() {
            options.tokeniser = reading.tokeniser.clone();
            options.vocabulary.hashed_bits = reading.hashed_bits;
        }
        let spelling = schema.spelling();
        options.missing.get_or_insert_with(|| spelling.missing.clone());
        let decimal = *options.decimal.get_or_insert(spelling.decimal);
        options.thousands = options.thousands.or(spelling.thousands.filter(|thousands| *thousands != decimal));
        let names = known_names(schema, &options, false);
        let mut columns: Vec<String> = schema.names();
        let others = [schema.target()].into_iter().chain(columns_of(&options)).filter(|name| !name.is_empty());
        for name in others {
            if !columns.iter().any(|column| column == name) {
                columns.push(name.to_string());
            }
        }
        let mut plan = Plan::of_schema(&Sample::of_names(JSON, columns.clone()), &options, schema)?;
        plan.by_row = true;
        plan.others = if options.allow_unknown { Others::Ignored } else { Others::Refused };
        let layout = Arc::new(plan.layout_by_name(JSON, true));
        Ok(RowReader { schema: schema.clone(), options, columns, plan, layout, names })
    }

    /// The columns, the target and the classes of the rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The columns of one object, or of a list of objects.
    pub fn json(&self, text: &str) -> Result<Rows> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let mut sink = Sink::new(&self.plan, &self.layout);
        let read = Objects(&mut sink).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        self.of_sink(sink, read)
    }

    /// The same for JSON that has been parsed.
    pub fn json_value(&self, value: &Value) -> Result<Rows> {
        let mut sink = Sink::new(&self.plan, &self.layout);
        let read = Objects(&mut sink).deserialize(value);
        self.of_sink(sink, read)
    }

    /// Rows whose cells come one by one: for each row `next` is called with the place of each of `columns`, in order.
    /// Nothing else is kept of them, so the rows take no more than their cells.
    pub fn cells(&self, columns: &[String], rows: usize, mut next: impl FnMut(usize) -> Value) -> Result<Rows> {
        let mut sink = Sink::new(&self.plan, &self.layout);
        for _ in 0..rows {
            for (place, name) in columns.iter().enumerate() {
                let read = Cell::deserialize(next(place)).map(|cell| sink.cell(name, &cell));
                if read.is_err() || sink.has_fault() {
                    return self.of_sink(sink, read);
                }
            }
            sink.end_of_row();
        }
        self.of_sink(sink, Ok(()))
    }

    fn of_sink(&self, sink: Sink<'_>, read: serde_json::Result<()>) -> Result<Rows> {
        let parsed = sink.parsed;
        match read {
            Err(e) if parsed.fault.is_none() => {
                let reason = e.to_string();
                let reason = reason.split(" at line ").next().unwrap_or_default();
                match e.is_data() {
                    true => Err(Error::Row { row: parsed.rows as u64 + 1, message: reason.to_string() }),
                    false => {
                        let message = format!("this is not JSON: {reason} at character {}", e.column());
                        Err(Error::Input { file: JSON.into(), line: Some(e.line() as u64), column: None, message })
                    }
                }
            }
            // A fault comes first.
            _ => self.gather(&self.plan, std::iter::once(Ok((self.layout.clone(), parsed.finish(&self.plan))))),
        }
    }

    /// Delimited text; it has a header unless the options say otherwise.
    pub fn csv(&self, bytes: &[u8]) -> Result<Rows> {
        self.csv_as(bytes, self.options.clone())
    }

    /// Delimited text without a header, whose columns are those of the schema in their order.
    pub fn csv_without_header(&self, bytes: &[u8]) -> Result<Rows> {
        self.csv_as(bytes, Options { header: false, ..self.options.clone() })
    }

    fn csv_as(&self, bytes: &[u8], mut options: Options) -> Result<Rows> {
        options.format.get_or_insert(Format::Csv);
        let sources = vec![Source::in_memory(CSV, bytes.to_vec())];
        let plan = Plan::of_schema(&sample_or_header(&sources, &options)?, &options, &self.schema)?;
        let plan = Plan { by_row: true, ..plan };
        let input = Arc::new(Input { sources, options, plan });
        let pieces = Pieces::new(input.clone(), 1 << 20, Counter::default());
        let parsed = pieces.map(|piece| {
            let (layout, _, parsed) = piece?.parse(&input.plan);
            Ok((layout, parsed))
        });
        self.gather(&input.plan, parsed)
    }

    /// An Arrow IPC stream or file.
    pub fn arrow(&self, bytes: &[u8]) -> Result<Rows> {
        self.arrow_batches(&ipc::read_all(ARROW, Cursor::new(bytes))?)
    }

    /// Arrow record batches.
    pub fn arrow_batches(&self, batches: &[RecordBatch]) -> Result<Rows> {
        let Some(first) = batches.first() else { return self.gather(&self.plan, std::iter::empty()) };
        let names = |batch: &RecordBatch| -> Vec<String> {
            batch.schema().fields().iter().map(|field| field.name().clone()).collect()
        };
        let mut sample = Sample::of_names(ARROW, names(first));
        sample.guesses = first.columns().iter().map(|column| records::by_type(column.data_type())).collect();
        sample.typed = true;
        let plan = Plan { by_row: true, ..Plan::of_schema(&sample, &self.options, &self.schema)? };
        let mut slices = Vec::new();
        for batch in batches {
            let layout = Arc::new(plan.layout(ARROW, &names(batch), "schema", true)?);
            let wanted: Vec<usize> = (0..batch.num_columns()).filter(|i| layout.slots[*i].is_some()).collect();
            let batch = batch.project(&wanted).map_err(|e| Error::Schema(e.to_string()))?;
            let starts = (0..batch.num_rows()).step_by(ROWS);
            slices.extend(starts.map(|start| (layout.clone(), batch.slice(start, ROWS.min(batch.num_rows() - start)))));
        }
        let parse = |(layout, batch): (Arc<Layout>, RecordBatch)| {
            (layout.clone(), records::parse(&batch, &plan, &layout).finish(&plan))
        };
        match slices.len() {
            // A few rows are parsed before other threads would have begun.
            0..=1 => self.gather(&plan, slices.into_iter().map(parse).map(Ok)),
            _ => {
                let parsed: Vec<_> = slices.into_par_iter().map(parse).collect();
                self.gather(&plan, parsed.into_iter().map(Ok))
            }
        }
    }

    /// Rows that come as a stream of CSV or JSON, which is read once, in bounded memory. Errors name rows, not lines.
    ///
    /// ```
    /// use deciban::data::Schema;
    /// use deciban_data::{Format, Options, RowReader};
    /// let schema = Schema::numbers(&["height", "weight"], "sex", &["f", "m"])?;
    /// let reader = RowReader::new(&schema, Options { allow_absent: true, ..Options::default() })?;
    /// let (csv, json) = ("weight\n80.5\n71\n", "{\"weight\": 80.5}\n{\"weight\": 71}\n");
    /// for (format, text) in [(Format::Csv, csv), (Format::Json, json)] {
    ///     let rows = reader.stream(format, Box::new(text.as_bytes()))?;
    ///     let mut count = 0;
    ///     rows.map_in_order(|batch| Ok(batch.rows()), |rows| Ok(count += rows))?;
    ///     assert_eq!(count, 2);
    /// }
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn stream(&self, format: Format, bytes: Box<dyn Read + Send>) -> Result<Files> {
        let mut options = self.options.clone();
        options.format = Some(format);
        let name = if format == Format::Json { JSON } else { CSV };
        let sources = vec![Source::stream(name, bytes)];
        let plan = match format {
            Format::Json => self.plan.clone(),
            _ => Plan::of_schema(&sample_or_header(&sources, &options)?, &options, &self.schema)?,
        };
        // A row may be shorter than its cells, and a short one may have a long answer.
        let rows = (CELLS / plan.slots.len().max(1)).clamp(16, ROWS);
        let input = Input { sources, options, plan: Plan { by_row: true, rows_at_once: Some(rows), ..plan } };
        Files::new(input, self.names.clone(), Some(self.schema.spelling().clone()))
    }

    /// Files of any format, all of whose rows are kept in memory.
    pub fn files(&self, paths: &[String]) -> Result<Rows> {
        let files = self.open(paths)?;
        let plan = &files.input.plan;
        let mut rows = Rows::none(plan, plan.class.is_some() || files.labels.is_some());
        files.stream_owned(|mut block| {
            rows.add(&mut block, plan);
            Ok(())
        })?;
        let names = files.lock();
        Ok(rows.finish(&names, &plan.features))
    }

    /// Opens files to be read as a stream, however large they are.
    pub fn open(&self, paths: &[String]) -> Result<Files> {
        self.open_with(paths, self.names.clone(), false)
    }

    /// Opens a stream of record batches, to be read in bounded memory. Errors name rows.
    pub fn open_batches(&self, batches: Batches) -> Result<Files> {
        self.of_sources(vec![Source::of_batches(batches)], self.names.clone(), false)
    }

    /// The same for rows whose classes, levels and words may be new.
    pub fn open_more_batches(&self, batches: Batches) -> Result<Files> {
        self.of_sources(vec![Source::of_batches(batches)], known_names(&self.schema, &self.options, true), true)
    }

    /// Opens parts of files, or whole files of any format; `grows` says whether classes, levels and words may be new.
    pub fn open_shares(&self, shares: &[Share], grows: bool) -> Result<Files> {
        let mut sources = Vec::new();
        for (path, part) in shares {
            for mut source in find(std::slice::from_ref(path), false)? {
                source.part = part.clone();
                // Lines are counted from the part on, which is no line of the file.
                source.in_memory = part.is_some();
                sources.push(source);
            }
        }
        let names = if grows { known_names(&self.schema, &self.options, true) } else { self.names.clone() };
        self.of_sources(sources, names, grows)
    }

    /// Opens files of rows to learn from, or to forget: their classes, levels and words may be new.
    pub(crate) fn open_more(&self, paths: &[String]) -> Result<Files> {
        self.open_with(paths, known_names(&self.schema, &self.options, true), true)
    }

    fn open_with(&self, paths: &[String], names: Names, grows: bool) -> Result<Files> {
        let sources = find(paths, only_text(&self.schema).is_some())?;
        self.of_sources(sources, names, grows)
    }

    fn of_sources(&self, sources: Vec<Source>, names: Names, grows: bool) -> Result<Files> {
        let mut options = self.options.clone();
        if let Some(column) = only_text(&self.schema)
            && sources.iter().all(|source| source.batches().is_none())
            && are_documents(&sources, &options, column)?
        {
            options.documents = Some(column.into());
        }
        let mut sample = sample_or_header(&sources, &options)?;
        if sample.names.is_empty() {
            // Where rows name the columns and there are none, nothing is lacking.
            sample = Sample::of_names(&sample.file, self.columns.clone());
        }
        let features = self.schema.columns().to_vec();
        let by_row = sources.iter().all(|source| source.in_memory);
        let plan = Plan { features, by_row, ..Plan::of_schema(&sample, &options, &self.schema)? };
        let files = Files::new(Input { sources, options, plan }, names, Some(self.schema.spelling().clone()))?;
        Ok(if grows { files.growing() } else { files })
    }

    /// Gives levels, words and classes their codes.
    fn gather(&self, plan: &Plan, parts: impl Iterator<Item = Result<(Arc<Layout>, Parsed)>>) -> Result<Rows> {
        let names = RwLock::new(self.names.clone());
        let mut coder = Coder::new(plan, &names, self.options.unlabelled, None);
        let mut rows = Rows::none(plan, plan.class.is_some());
        for part in parts {
            let (layout, mut parsed) = part?;
            parsed.count_words(plan, &names);
            if let Some(mut block) = coder.place(layout, Some(1), parsed)? {
                block.recode();
                rows.add(&mut block, plan);
            }
        }
        drop(coder);
        let names = names.into_inner().unwrap_or_else(|e| e.into_inner());
        Ok(rows.finish(&names, &plan.features))
    }
}

/// The levels, words and classes of a schema; new ones may come, or are strangers.
fn known_names(schema: &Schema, options: &Options, grows: bool) -> Names {
    // What was fitted as one class against the rest is evaluated so.
    let classes = match &schema.spelling().versus_rest {
        Some(name) => Levels::versus_rest_in(name, schema.classes()),
        None if grows && !matches!(options.target, Target::OneHot(_)) => Levels::growing(schema.classes(), None),
        None => Levels::fixed(schema.classes()),
    };
    let hashed = options.vocabulary.hashed_bits.is_some();
    let is_known =
        |column: &Column| !(matches!(column.kind, Kind::Number | Kind::Count) || column.kind == Kind::Text && hashed);
    let levels = |column: &Column| match column.kind {
        Kind::Category if grows => Levels::growing(&column.levels, None),
        Kind::Text if grows => Levels::growing(&column.levels, Some(options.vocabulary.most_words)),
        _ => Levels::fixed(&column.levels),
    };
    let levels = schema.columns().iter().map(|column| is_known(column).then(|| levels(column)));
    Names::new(levels.collect(), classes)
}

/// The columns that the options name.
fn columns_of(options: &Options) -> impl Iterator<Item = &str> {
    let target: &[String] = match &options.target {
        Target::Column(name) => std::slice::from_ref(name),
        Target::OneHot(names) => names,
        Target::None | Target::Labels(_) => &[],
    };
    target
        .iter()
        .chain(&options.weight)
        .chain(&options.fold)
        .chain(&options.keep)
        .chain(&options.ignore)
        .map(String::as_str)
}
