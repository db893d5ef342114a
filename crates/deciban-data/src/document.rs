//! Files that are texts, not tables: a model of one text takes a letter, or a folder of letters, each file
//! being a row.
//!
//! A file is a table if its name or its first line says so: an extension of a table, or a header with the
//! column of the model.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use deciban::Result;
use deciban::data::{Column, Kind, Schema};

use crate::decompress::decompress;
use crate::folder::{files_in, has_folders};
use crate::options::{Options, Target};
use crate::sniff::{Guess, by_name};
use crate::source::Source;

/// The column of a model that takes one text and nothing else.
pub(crate) fn only_text(schema: &Schema) -> Option<&str> {
    match schema.columns() {
        [Column { name, kind: Kind::Text, .. }] => Some(name),
        _ => None,
    }
}

/// Whether all sources are texts, for a model of the text `column`.
pub(crate) fn are_documents(sources: &[Source], options: &Options, column: &str) -> Result<bool> {
    if options.format.is_some() || !options.header || options.separator.is_some() || options.target != Target::None {
        return Ok(false);
    }
    for source in sources {
        let is_document = match source.path() {
            None => false,
            Some(path) if path.is_dir() => !has_folders(path),
            Some(path) if by_name(&source.name, None) == Guess::Open => {
                !is_header(&first_line(path).map_err(|e| source.failed(e))?, column)
            }
            Some(_) => false,
        };
        if !is_document {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a field of the line is the column's name. Blanks separate the words of a letter, not fields.
fn is_header(line: &str, column: &str) -> bool {
    line.split([',', ';', '\t']).any(|field| field.trim().trim_matches('"') == column)
}

fn first_line(path: &Path) -> io::Result<String> {
    let mut start = Vec::new();
    decompress(Box::new(File::open(path)?))?.take(1 << 16).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(start.split(|c| matches!(c, b'\n' | b'\r')).next().unwrap_or_default()).into_owned())
}

/// The texts behind a source, in the order of their names.
pub(crate) fn texts_of(source: &Source) -> Result<Vec<(PathBuf, u64)>> {
    match source.path() {
        None => Ok(Vec::new()), // Standard input is no document.
        Some(path) if path.is_dir() => files_in(path).map_err(|e| source.failed(e)),
        Some(path) => Ok(vec![(path.to_path_buf(), source.len().unwrap_or(0))]),
    }
}
