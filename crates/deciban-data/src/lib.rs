//! Files to batches for [deciban](deciban): CSV, TSV, whitespace-separated text, JSON, Parquet,
//! Arrow and idx, each also gzip or zstd compressed, from paths, globs, standard input or other pipes, and
//! folders of texts; streams of record batches ([`Batches`]); and rows in memory for a model ([`Rows`]).
//!
//! [`Files`] is an engine: it runs any pass over input of any size, in bounded memory, with results
//! that are the same bits for any number of threads.
//!
//! ```
//! use deciban_data::{Files, Options, Target};
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("iris.csv").display().to_string();
//! std::fs::write(&path, "length,species\n1.4,setosa\n4.7,versicolor\n1.3,setosa\n").unwrap();
//!
//! let files = Files::open(&[path], Options { target: Target::Column("species".into()), ..Options::default() })?;
//! let mut setosas = 0;
//! files.map_in_order(
//!     |batch| Ok(batch.labels().map_or(0, |labels| labels.iter().filter(|label| **label == 0).count())),
//!     |count| Ok(setosas += count),
//! )?;
//! assert_eq!((files.classes()[0].as_str(), setosas), ("setosa", 2));
//! # Ok::<(), deciban::Error>(())
//! ```
//!
//! # The way of a block
//! ```text
//! source ─▶ decompress ─▶ cut ─▶ piece ══▶ parse ─▶ code ══▶ recode, observe ─▶ merge
//! └──────── reader thread ────────┘        parallel  in order    parallel, by stripes
//! ```
//! 1. `source` finds the files; `decompress` looks at their first bytes; `sniff` and `infer` look at
//!    the first block to tell the format and the kinds of columns; `plan` says which are wanted,
//!    `layout` where they stand in each file.
//! 2. A reader thread cuts text at ends of records into blocks of about 1 MiB (`cut`, `text`,
//!    `json_text`), or reads rows of the other formats (`idx`, `parquet`, `ipc`), and sends them over a
//!    channel that holds a few (`pieces`, `stream`).
//! 3. Groups of blocks are parsed in parallel into `cells`: numbers, and codes of dictionaries that
//!    each block fills for itself (`delimited`, `blanks`, `json`, `records`, `idx`, `folder`). The words of
//!    texts are looked up among those so far, and a block's new ones go into its own dictionary (`words`).
//! 4. In order, each block gets its row numbers and lines, and its few levels, words and classes the codes
//!    of the whole input (`code`, `classes`). So classes are found on the way, in one pass.
//! 5. In parallel again, codes are replaced and rows observed (`block`, `engine`): block `i` goes to
//!    stripe `i mod S`, and stripes are merged in order.
//! 6. Where more runs are to come, blocks stay in memory if all of them fit a budget (`kept`).
//!
//! Tables that lie in memory as Arrow arrays have the same kinds, levels and words: [`kind_of`], [`read`].
//!
//! # To add a format
//! Write a file with an `open` that returns a `Table`, and a `parse` that turns its chunks into cells;
//! add a line each to `Chunk` and `open` in `table.rs`, and to [`Format`] and `sniff.rs`.

mod batches;
mod blanks;
mod block;
mod cells;
mod classes;
mod code;
mod cut;
mod date;
mod decompress;
mod delimited;
mod dictionary;
mod document;
mod engine;
mod files;
mod folder;
mod guard;
mod idx;
mod infer;
mod ipc;
mod ipc_lengths;
mod joined;
mod json;
mod json_text;
mod kept;
mod labels;
mod layout;
mod lines;
mod memory;
mod names;
mod number;
mod oddity;
mod options;
mod parquet;
mod pieces;
mod plan;
mod profiles;
mod records;
mod row_reader;
mod rows;
mod sniff;
mod source;
mod standard_input;
mod stream;
mod table;
mod text;
mod words;

pub use batches::{Batches, Reader};
pub use date::date_text;
pub use files::{Files, Mapped, Part, peek_columns};
pub use ipc_lengths::ArrowSize;
pub use joined::joined;
pub use lines::byte_shares;
pub use memory::{Cells, Known, kind_of, read};
pub use oddity::{OddSort, Oddity};
pub use options::{Format, Options, Target, Vocabulary};
pub use parquet::row_groups;
pub use plan::Dates;
pub use row_reader::{RowReader, Share};
pub use rows::{Rows, Unseen};
pub use source::files_behind;
pub use words::Words;

#[cfg(test)]
mod tests;
