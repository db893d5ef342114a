//! Delimited text, RFC 4180 and what people write in practice: quotes, doubled quotes, separators
//! and newlines in quotes, CRLF, blanks around fields, blank lines, comments.
//!
//! The parser is our own because errors must name the line and column, columns that are not wanted
//! must cost next to nothing, and blocks must be parsed independently of each other. A short number
//! is read straight from the text, without first looking for the end of its field.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2};

use crate::cells::{Cells, NOT_UTF8, Parsed};
use crate::cut::{Dialect, closing_quote};
use crate::layout::Layout;
use crate::number;
use crate::plan::Plan;

/// Parses a block of whole records, each of which ends in a newline.
pub(crate) fn parse(text: &[u8], dialect: Dialect, plan: &Plan, layout: &Layout) -> Parsed {
    let mut cursor = Cursor { point: plan.notation.point, ..Cursor::new(text, dialect) };
    if cursor.point == dialect.separator {
        cursor.point = 0; // Only a quoted cell has one.
    }
    // The first record tells about how many there are.
    let typical = memchr(b'\n', text).unwrap_or(text.len()).max(2 * layout.slots.len());
    let mut about = text.len() / typical + text.len() / typical / 8 + 1;
    if plan.allow_absent {
        // A row has cells that its text does not have: no room is made for rows that are not there.
        about = about.min(memchr_iter(b'\n', text).count() + 1);
    }
    let mut parsed = Parsed::new(plan, about);
    parsed.reserve_texts(text.len());
    while cursor.skip_to_record() {
        let (line, start) = (cursor.line, cursor.at);
        parsed.lines.push(line as u32);
        if let Err((column, message)) = cursor.record(&mut parsed, plan, layout) {
            parsed.blame(line, column.and_then(|j| layout.names.get(j)).map(String::as_str), message);
            break;
        }
        if !layout.also.is_empty() {
            Cursor { at: start, ..cursor }.keep(&mut parsed, plan, layout);
        }
        parsed.rows += 1;
    }
    parsed.line_count = cursor.line;
    parsed
}

/// The fields of the first record of `text`, which must be UTF-8 if they are `names`.
pub(crate) fn fields(text: &[u8], dialect: Dialect, names: bool) -> Result<Vec<String>, String> {
    let mut cursor = Cursor::new(text, dialect);
    let mut fields = Vec::new();
    let mut more = cursor.skip_to_record();
    while more {
        let (field, last) = cursor.field()?;
        fields.push(match String::from_utf8(field.into_owned()) {
            Ok(field) => field,
            Err(_) if names => return Err(NOT_UTF8.into()),
            Err(_) => String::new(),
        });
        more = !last;
    }
    Ok(fields)
}

/// The length of what stands before the first record, and its lines.
pub(crate) fn before_first_record(text: &[u8], dialect: Dialect) -> (usize, u64) {
    let mut cursor = Cursor::new(text, dialect);
    cursor.skip_to_record();
    (cursor.at, cursor.line)
}

/// A place in the text, outside of quotes, and its line.
struct Cursor<'a> {
    text: &'a [u8],
    dialect: Dialect,
    at: usize,
    line: u64,
    /// What separates the whole part of a number from its fraction.
    point: u8,
}

/// A column's place, if one column is to blame, and what is wrong.
type Wrong = (Option<usize>, String);

impl<'a> Cursor<'a> {
    fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Cursor { text, dialect, at: 0, line: 0, point: b'.' }
    }

    /// Skips blank lines and comments; `false` at the end of the text.
    fn skip_to_record(&mut self) -> bool {
        while let Some(&byte) = self.text.get(self.at) {
            let blank = byte <= b' ' && byte != self.dialect.separator && {
                let rest = &self.text[self.at..];
                let ink = rest.iter().find(|b| !self.dialect.is_blank(**b) && **b != b'\r');
                ink.is_none_or(|b| *b == b'\n')
            };
            if !blank && Some(byte) != self.dialect.comment {
                return true;
            }
            self.at += memchr(b'\n', &self.text[self.at..]).map_or(self.text.len() - self.at, |n| n + 1);
            self.line += 1;
        }
        false
    }

    /// Adds the cells of one record.
    fn record(&mut self, parsed: &mut Parsed, plan: &Plan, layout: &Layout) -> Result<(), Wrong> {
        let mut count = 0;
        loop {
            let last = match layout.slots.get(count) {
                Some(Some(slot)) => self.cell(*slot, parsed, plan).map_err(|message| (Some(count), message))?,
                // Not wanted, or one too many: the total is told below.
                Some(None) | None => self.skip_field().map_err(|message| (None, message))?,
            };
            count += 1;
            if last {
                break;
            }
        }
        ragged(count, layout)
    }

    /// Adds the cells of a record that go to a second slot; the record has been read before.
    fn keep(&mut self, parsed: &mut Parsed, plan: &Plan, layout: &Layout) {
        for place in 0..layout.slots.len() {
            let Ok((field, _)) = self.field() else { return };
            for (_, slot) in layout.also.iter().filter(|(also, _)| *also == place) {
                let _ = parsed.push_text(*slot, &field, plan); // Nothing is wrong with a text that is kept.
            }
        }
    }

    /// Adds one cell; `true` if it was the record's last.
    #[inline]
    fn cell(&mut self, slot: usize, parsed: &mut Parsed, plan: &Plan) -> Result<bool, String> {
        if let Cells::Numbers(numbers) = &mut parsed.cells[slot]
            && let Some((number, length)) = number::prefix(&self.text[self.at..], self.point)
            && let Some(last) = self.pass_end(self.at + length)
        {
            numbers.push(if plan.missing.has_number(number) { f64::NAN } else { number });
            return Ok(last);
        }
        let (field, last) = self.field()?;
        parsed.push_text(slot, &field, plan)?;
        Ok(last)
    }

    /// Goes behind the end of a field, if there is one at `at`: `true` if it also ends the record.
    #[inline]
    fn pass_end(&mut self, at: usize) -> Option<bool> {
        match self.text.get(at) {
            Some(&byte) if byte == self.dialect.separator => {
                self.at = at + 1;
                Some(false)
            }
            Some(b'\n') => {
                self.at = at + 1;
                self.line += 1;
                Some(true)
            }
            Some(b'\r') if self.text.get(at + 1) == Some(&b'\n') => {
                self.at = at + 2;
                self.line += 1;
                Some(true)
            }
            Some(_) => None,
            None => {
                self.at = at;
                Some(true)
            }
        }
    }

    /// The next field, without quotes or blanks around it; `true` if it is the record's last.
    fn field(&mut self) -> Result<(Cow<'a, [u8]>, bool), String> {
        let text = self.text;
        let mut start = self.at;
        while text.get(start).is_some_and(|b| self.dialect.is_blank(*b)) {
            start += 1;
        }
        if self.dialect.quotes && text.get(start) == Some(&b'"') {
            return self.quoted_field(start + 1);
        }
        let end = memchr2(self.dialect.separator, b'\n', &text[start..]).map_or(text.len(), |n| start + n);
        let last = self.pass_end(end).unwrap_or(true);
        let mut field = &text[start..end];
        if last {
            field = field.strip_suffix(b"\r").unwrap_or(field);
        }
        while let [before @ .., byte] = field {
            if !self.dialect.is_blank(*byte) {
                break;
            }
            field = before;
        }
        Ok((Cow::Borrowed(field), last))
    }

    fn quoted_field(&mut self, start: usize) -> Result<(Cow<'a, [u8]>, bool), String> {
        let text = self.text;
        let Some(close) = closing_quote(text, start) else {
            return Err(
                "a quote opens here that nothing closes: close it, double the quotes inside quotes, or give §no_quotes"
                    .into(),
            );
        };
        let inside = &text[start..close];
        self.line += memchr_iter(b'\n', inside).count() as u64;
        let mut end = close + 1;
        while text.get(end).is_some_and(|b| self.dialect.is_blank(*b)) {
            end += 1;
        }
        let Some(last) = self.pass_end(end) else {
            return Err(
                "there is text behind the closing quote: double the quotes inside quotes, or give §no_quotes".into()
            );
        };
        let field = match memchr(b'"', inside) {
            None => Cow::Borrowed(inside),
            Some(_) => {
                let mut field = Vec::with_capacity(inside.len());
                let mut quotes = 0;
                // Quotes inside come in pairs: keep the first of each.
                field.extend(inside.iter().copied().filter(|b| {
                    quotes += usize::from(*b == b'"');
                    *b != b'"' || quotes % 2 == 1
                }));
                Cow::Owned(field)
            }
        };
        Ok((field, last))
    }

    fn skip_field(&mut self) -> Result<bool, String> {
        let rest = &self.text[self.at..];
        if self.dialect.quotes && rest.iter().find(|b| !self.dialect.is_blank(**b)) == Some(&b'"') {
            return self.field().map(|(_, last)| last);
        }
        let end = memchr2(self.dialect.separator, b'\n', rest).map_or(self.text.len(), |n| self.at + n);
        Ok(self.pass_end(end).unwrap_or(true))
    }
}

/// Refuses a record with too few or too many fields.
pub(crate) fn ragged(count: usize, layout: &Layout) -> Result<(), Wrong> {
    let expected = layout.slots.len();
    if count == expected {
        return Ok(());
    }
    let fields = if count == 1 { "field" } else { "fields" };
    let what = layout.counted;
    Err((None, format!("the row has {count} {fields}, the {what} has {expected}: fix the row, or give §separator")))
}
