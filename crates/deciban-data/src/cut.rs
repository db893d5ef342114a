//! Cuts a stream of text into blocks at the ends of records.
//!
//! Where the cuts fall depends on the bytes alone, never on how the system hands them over, so that
//! a run over a file, its gzip and a pipe gives the same bits. A newline ends a record unless a
//! quoted field holds it; a quote opens a field only at the field's beginning (`5" pipe` is plain
//! text), so counting quotes is not enough.

use std::io::Read;

use deciban::{Error, Result};
use memchr::{memchr, memchr_iter, memrchr};

use crate::decompress::{Bytes, read_error};

/// How delimited text is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dialect {
    /// The byte between fields; a blank stands for runs of blanks, without quoting.
    pub separator: u8,
    /// Lines that begin with it are skipped.
    pub comment: Option<u8>,
    /// Whether a quote at a field's beginning opens a quoted field.
    pub quotes: bool,
}

impl Dialect {
    /// Whether fields are separated by runs of blanks.
    pub fn is_blanks(&self) -> bool {
        self.separator == b' '
    }

    /// Whether `byte` is a blank that may stand around a field.
    #[inline]
    pub fn is_blank(&self, byte: u8) -> bool {
        byte == b' ' || (byte == b'\t' && self.separator != b'\t')
    }
}

/// A record may be this long; a longer one is an unclosed quote or no text at all.
const LONGEST: usize = 64 << 20;

/// A stream of text, handed out in blocks of whole records, each of which ends in a newline.
pub(crate) struct Cutter {
    bytes: Bytes,
    file: String,
    buffer: Vec<u8>,
    ended: bool,
    /// Whether lines end in carriage returns alone, as old Macs and some instruments write them.
    carriage_returns: bool,
    /// The most rows of a block.
    rows: usize,
    /// A block of more rows than that, and how much of it has been handed out.
    ready: Vec<u8>,
    handed: usize,
}

impl Cutter {
    pub fn new(bytes: Bytes, file: &str) -> Self {
        let (buffer, ready) = (Vec::new(), Vec::new());
        let file = file.into();
        Cutter { bytes, file, buffer, ended: false, carriage_returns: false, rows: usize::MAX, ready, handed: 0 }
    }

    /// Makes newlines of carriage returns from here on, if the next bytes have no other ends of lines.
    pub fn read_carriage_returns(&mut self) -> Result<()> {
        let start = self.look(1 << 16)?;
        if memchr(b'\n', start).is_none() && memchr(b'\r', start).is_some() {
            self.carriage_returns = true;
            as_newlines(&mut self.buffer);
        }
        Ok(())
    }

    /// Limits the number of rows of a block, about.
    pub fn at_most(&mut self, rows: usize) {
        self.rows = rows.max(1);
    }

    /// Whether all blocks have been handed out.
    pub fn is_at_end(&mut self) -> Result<bool> {
        Ok(self.ready.is_empty() && self.look(1)?.is_empty())
    }

    /// Goes on with other bytes, of the same sort.
    pub fn go_on_with(self, bytes: Bytes) -> Self {
        Cutter { bytes, buffer: Vec::new(), ended: false, ..self }
    }

    /// The next bytes, at least `length` unless the stream ends before; they will come again.
    pub fn look(&mut self, length: usize) -> Result<&[u8]> {
        if !self.ended && self.buffer.len() < length {
            let wanted = length - self.buffer.len();
            self.buffer.reserve_exact(wanted + 1);
            let before = self.buffer.len();
            let read = self.bytes.by_ref().take(wanted as u64).read_to_end(&mut self.buffer);
            if self.carriage_returns {
                as_newlines(&mut self.buffer[before..]);
            }
            self.ended = read.map_err(|e| read_error(&self.file, e))? < wanted;
        }
        Ok(&self.buffer)
    }

    /// Leaves out the next `length` bytes, which [`look`](Cutter::look) has shown.
    pub fn skip(&mut self, length: usize) {
        self.buffer.drain(..length);
    }

    /// The next `length` bytes, fewer only at the stream's end.
    pub fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        self.look(length)?;
        let rest = self.buffer.split_off(length.min(self.buffer.len()));
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// The next record, without taking it.
    pub fn first_record(&mut self, dialect: &Dialect) -> Result<Option<Vec<u8>>> {
        let mut window = 1 << 16;
        loop {
            let text = self.look(window)?;
            if let Some(end) = first_record_end(text, dialect) {
                return Ok(Some(text[..end].to_vec()));
            }
            if self.ended {
                return Ok(Some(with_newline(self.buffer.clone())).filter(|text| text != b"\n"));
            }
            if window >= LONGEST {
                return self.unended(dialect.quotes).map(Some);
            }
            window *= 2;
        }
    }

    /// What becomes of a record without an end: a quote that is not closed, or no text at all.
    fn unended(&mut self, quotes: bool) -> Result<Vec<u8>> {
        if quotes && memchr(b'"', &self.buffer).is_some() {
            // The parser finds it again and knows its line.
            return Ok(with_newline(std::mem::take(&mut self.buffer)));
        }
        let message = format!("a line is longer than {} MiB: is this a text file?", LONGEST >> 20);
        Err(Error::Input { file: self.file.clone(), line: None, column: None, message })
    }

    /// The next whole records, about `block` bytes of them.
    pub fn next(&mut self, block: usize, dialect: Option<&Dialect>) -> Result<Option<Vec<u8>>> {
        let quotes = dialect.is_some_and(|dialect| dialect.quotes);
        self.cut_rows(block, quotes, b'\n', |text| match dialect {
            Some(dialect) => last_record_end(text, dialect),
            None => memrchr(b'\n', text).map(|newline| newline + 1),
        })
    }

    /// The next whole records of a format whose records are not lines. Each of them has a `mark`, and `end` says where the last whole one of a
    /// text ends.
    pub fn next_by(&mut self, block: usize, mark: u8, end: impl Fn(&[u8]) -> Option<usize>) -> Result<Option<Vec<u8>>> {
        self.cut_rows(block, false, mark, end)
    }

    /// Cuts blocks of many short rows once more: cells take memory by the row, whatever the row's text takes.
    fn cut_rows(
        &mut self,
        block: usize,
        quotes: bool,
        mark: u8,
        end: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Option<Vec<u8>>> {
        if self.ready.is_empty() {
            match self.cut(block, quotes, &end)? {
                Some(text) if behind(&text, mark, self.rows).is_some() => (self.ready, self.handed) = (text, 0),
                text => return Ok(text),
            }
        }
        let (rest, mut marks) = (&self.ready[self.handed..], self.rows);
        while let Some(most) = behind(rest, mark, marks) {
            if let Some(end) = end(&rest[..most]) {
                self.handed += end;
                return Ok(Some(rest[..end].to_vec()));
            }
            marks = marks.saturating_mul(2); // A row that has many marks itself.
        }
        let rest = rest.to_vec();
        self.ready = Vec::new();
        Ok(Some(rest))
    }

    fn cut(&mut self, block: usize, quotes: bool, end: &impl Fn(&[u8]) -> Option<usize>) -> Result<Option<Vec<u8>>> {
        let mut window = block.max(1);
        loop {
            self.look(window)?;
            if self.ended && self.buffer.len() <= window {
                let rest = std::mem::take(&mut self.buffer);
                return Ok(Some(rest).filter(|rest| !rest.is_empty()).map(with_newline));
            }
            let text = &self.buffer[..window];
            if let Some(end) = end(text) {
                let mut rest = Vec::with_capacity(block + 1);
                rest.extend_from_slice(&self.buffer[end..]);
                self.buffer.truncate(end);
                return Ok(Some(std::mem::replace(&mut self.buffer, rest)));
            }
            if window >= LONGEST {
                return self.unended(quotes).map(Some);
            }
            window *= 2;
        }
    }
}

/// The place of the mark that is one more than `marks`, if there is one.
fn behind(text: &[u8], mark: u8, marks: usize) -> Option<usize> {
    // A text cannot have more marks than bytes.
    if marks < text.len() { memchr_iter(mark, text).nth(marks) } else { None }
}

fn as_newlines(text: &mut [u8]) {
    text.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
}

fn with_newline(mut text: Vec<u8>) -> Vec<u8> {
    if text.last() != Some(&b'\n') {
        text.push(b'\n');
    }
    text
}

fn first_record_end(text: &[u8], dialect: &Dialect) -> Option<usize> {
    record_end(text, dialect, |part| memchr(b'\n', part), true)
}

fn last_record_end(text: &[u8], dialect: &Dialect) -> Option<usize> {
    record_end(text, dialect, |part| memrchr(b'\n', part), false)
}

/// Walks from quoted field to quoted field; `newline` looks at the text between them.
fn record_end(text: &[u8], dialect: &Dialect, newline: impl Fn(&[u8]) -> Option<usize>, first: bool) -> Option<usize> {
    if dialect.is_blanks() || !dialect.quotes {
        return newline(text).map(|at| at + 1);
    }
    let (mut outside, mut record, mut end) = (0, 0, None);
    loop {
        let open = opening_quote(text, dialect, outside, &mut record);
        if let Some(at) = newline(&text[outside..open.unwrap_or(text.len())]) {
            end = Some(outside + at + 1);
        }
        match open.and_then(|open| closing_quote(text, open + 1)) {
            Some(close) if !(first && end.is_some()) => outside = close + 1,
            _ => return end,
        }
    }
}

/// The next quote that opens a field, from `from` on, which is outside of quotes. `record` is where
/// the last known record begins: in a comment nothing is quoted.
fn opening_quote(text: &[u8], dialect: &Dialect, from: usize, record: &mut usize) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + memchr(b'"', &text[at..])?;
        if let Some(newline) = memrchr(b'\n', &text[at..quote]) {
            *record = at + newline + 1;
        }
        let before = text[*record..quote].iter().rev().find(|byte| !dialect.is_blank(**byte));
        let opens = before.is_none_or(|byte| *byte == dialect.separator);
        if opens && (dialect.comment.is_none() || text.get(*record) != dialect.comment.as_ref()) {
            return Some(quote);
        }
        at = quote + 1;
    }
}

/// The quote that closes the field that begins at `from`: doubled quotes stand for themselves.
pub(crate) fn closing_quote(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + memchr(b'"', text.get(at..)?)?;
        if text.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: Dialect = Dialect { separator: b',', comment: Some(b'#'), quotes: true };

    #[test]
    fn newlines_in_quotes_end_no_record() {
        let text = b"a,\"b\nc\"\nd,\"e\n";
        assert_eq!(first_record_end(text, &CSV), Some(8));
        assert_eq!(last_record_end(text, &CSV), Some(8));
        assert_eq!(last_record_end(b"a,\"x\"\"\n\"\nb", &CSV), Some(9));
    }

    #[test]
    fn quotes_inside_a_field_or_a_comment_open_nothing() {
        assert_eq!(last_record_end(b"5\" pipe,1\n6,2\n", &CSV), Some(14));
        assert_eq!(last_record_end(b"# a, \"b\n1,2\n", &CSV), Some(12));
        assert_eq!(first_record_end(b"x, \"a\nb\",2\nc\n", &CSV), Some(11));
    }

    #[test]
    fn blocks_of_short_rows_are_cut_again() {
        let text = b"a\n\"b\nc\"\nd\n\n\n\ne\nf";
        for rows in 1..9 {
            let mut cutter = Cutter::new(Box::new(&text[..]), "f");
            cutter.at_most(rows);
            let mut blocks = Vec::new();
            while let Some(block) = cutter.next(1 << 10, Some(&CSV)).unwrap() {
                assert!(!block.is_empty());
                blocks.push(block);
            }
            assert!(cutter.is_at_end().unwrap());
            assert_eq!(blocks.concat(), b"a\n\"b\nc\"\nd\n\n\n\ne\nf\n");
            assert!(blocks.iter().all(|b| !b.starts_with(b"c")), "{blocks:?}");
            assert!(rows == 1 || blocks.iter().all(|b| memchr_iter(b'\n', b).count() <= rows), "{blocks:?}");
        }
    }

    #[test]
    fn blocks_are_whole_records() {
        let text = b"a,b\n1,\"x\ny\"\n2,z";
        for block in 1..30 {
            let mut cutter = Cutter::new(Box::new(&text[..]), "f");
            let mut blocks = Vec::new();
            while let Some(block) = cutter.next(block, Some(&CSV)).unwrap() {
                blocks.push(block);
            }
            assert_eq!(blocks.concat(), b"a,b\n1,\"x\ny\"\n2,z\n");
            assert!(blocks.iter().all(|b| !b.starts_with(b"y")), "{blocks:?}");
        }
    }
}
