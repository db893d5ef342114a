//! Delimited text as a table: its byte order mark, its header and what comes before it.

use deciban::{Error, Result};

use crate::cut::{Cutter, Dialect};
use crate::lines::lines;
use crate::options::Options;
use crate::sniff::{Guess, dialect};
use crate::source::Source;
use crate::table::{Chunk, Table};
use crate::{blanks, delimited};

struct Text {
    cutter: Cutter,
    dialect: Dialect,
    names: Vec<String>,
    first_line: u64,
    header: bool,
}

/// Opens text that is delimited in a way still to be found.
pub(crate) fn open(mut cutter: Cutter, guess: Guess, source: &Source, options: &Options) -> Result<Box<dyn Table>> {
    let start = cutter.look(1 << 16)?;
    if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        return Err(source.refuse("the text is UTF-16: convert the file, as with `iconv -f utf-16 -t utf-8`"));
    }
    if start.starts_with(b"\xef\xbb\xbf") {
        cutter.skip(3);
    }
    cutter.read_carriage_returns()?;
    let dialect = dialect(guess, cutter.look(1 << 16)?, options)?;
    let mut line = 1;
    let (fields, length, height) = loop {
        let Some(record) = cutter.first_record(&dialect)? else {
            return Err(source.refuse("the file is empty"));
        };
        let at = |message| Error::Input { file: source.name.clone(), line: Some(line), column: None, message };
        // Blank lines and comments look like records to the cutter.
        let (before, lines) = before_record(&record, dialect).map_err(at)?;
        if before == 0 {
            let height = memchr::memchr_iter(b'\n', &record).count() as u64;
            break (fields(&record, dialect, options.header).map_err(at)?, record.len(), height);
        }
        let before = before.min(cutter.look(0)?.len());
        cutter.skip(before);
        line += lines;
    };
    if options.header {
        let length = length.min(cutter.look(0)?.len());
        cutter.skip(length);
        line += height;
    }
    let name = |(i, field): (usize, String)| match field.trim() {
        name if options.header && !name.is_empty() => name.to_string(),
        _ => format!("c{i}"),
    };
    let names = fields.into_iter().enumerate().map(name).collect();
    let mut text = Text { cutter, dialect, names, first_line: line, header: options.header };
    if let Some(part) = source.part.clone().filter(|part| part.start > 0) {
        // The header tells what the columns are, and the rows come from elsewhere.
        let lines = lines(source.seekable()?, part).map_err(|e| source.failed(e))?;
        text = Text { cutter: text.cutter.go_on_with(lines), first_line: 1, ..text };
    }
    Ok(Box::new(text))
}

/// What stands before the first record: bytes and lines.
fn before_record(text: &[u8], dialect: Dialect) -> Result<(usize, u64), String> {
    if !dialect.is_blanks() {
        return Ok(delimited::before_first_record(text, dialect));
    }
    let (words, before, lines) = blanks::first_words(text, dialect.comment)?;
    Ok(if words.is_empty() { (text.len(), 1) } else { (before, lines) })
}

fn fields(record: &[u8], dialect: Dialect, names: bool) -> Result<Vec<String>, String> {
    match dialect.is_blanks() {
        true => blanks::first_words(record, dialect.comment).map(|(words, _, _)| words),
        false => delimited::fields(record, dialect, names),
    }
}

impl Table for Text {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn first_line(&self) -> u64 {
        self.first_line
    }

    fn counted(&self) -> &'static str {
        if self.header { "header" } else { "first row" }
    }

    fn at_most(&mut self, rows: usize) {
        self.cutter.at_most(rows);
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        Ok(self.cutter.next(block, Some(&self.dialect))?.map(|text| Chunk::Delimited(text, self.dialect)))
    }
}
