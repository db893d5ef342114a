//! JSON text: one object per line, or a list of objects, or objects that go over several lines. Types decide the
//! kinds of columns: strings and booleans are categories or texts, numbers are numbers.

use std::collections::HashMap;

use deciban::text::Word;
use deciban::{Error, Result};
use serde_json::{Map, Value};

use crate::cells::{Fault, Missing, NOT_UTF8, Parsed, is_usual};
use crate::cut::Cutter;
use crate::dictionary::Dictionary;
use crate::infer::{Guess, Seen, by_levels};
use crate::json::Sink;
use crate::layout::Layout;
use crate::oddity::Tally;
use crate::plan::Plan;
use crate::table::{Chunk, Table};

/// How objects follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// One per line.
    Lines,
    /// Between brackets, with commas between them.
    List,
    /// One after the other, with blanks between them.
    Values,
}

struct Json {
    cutter: Cutter,
    file: String,
    shape: Shape,
}

/// How much is looked at to tell the shape.
const LOOK: usize = 1 << 16;

/// Opens JSON of any shape.
pub(crate) fn open(mut cutter: Cutter, file: &str) -> Result<Box<dyn Table>> {
    if cutter.look(3)?.starts_with(b"\xef\xbb\xbf") {
        cutter.skip(3);
    }
    let start = cutter.look(LOOK)?.trim_ascii_start();
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let shape = match start.first() {
        Some(b'[') => Shape::List,
        // Lines are quicker to cut. A broken line is still one if it ends as an object does.
        _ if first.len() == start.len() || first.trim_ascii_end().ends_with(b"}") => Shape::Lines,
        Some(b'{') => Shape::Values,
        _ => Shape::Lines,
    };
    Ok(Box::new(Json { cutter, file: file.into(), shape }))
}

impl Table for Json {
    fn names(&self) -> &[String] {
        &[]
    }

    fn at_most(&mut self, rows: usize) {
        self.cutter.at_most(rows);
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        let text = match self.shape {
            Shape::Lines => self.cutter.next(block, None)?,
            Shape::List | Shape::Values => self.cutter.next_by(block, b'{', last_object_end)?,
        };
        if let (Some(text), Shape::List) = (&text, self.shape)
            && self.cutter.is_at_end()?
            && !text.trim_ascii_end().ends_with(b"]")
        {
            let message = "the list is not closed: the file is truncated, get it again".into();
            return Err(Error::Input { file: self.file.clone(), line: None, column: None, message });
        }
        Ok(text.map(|text| Chunk::Json(text, self.shape)))
    }
}

/// Where the object that `text` begins with ends, if it does.
fn object_end(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        match text.get(at)? {
            b'"' => at = string_end(text, at + 1)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1, // The text begins with one.
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The quote that closes a string.
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text[at] {
            b'"' => return Some(at),
            _ => at += 2,
        }
    }
}

/// Behind the last whole object of a text that begins between two.
fn last_object_end(text: &[u8]) -> Option<usize> {
    let (mut at, mut end) = (0, None);
    while let Some(open) = memchr::memchr(b'{', &text[at..]) {
        match object_end(&text[at + open..]) {
            Some(length) => at += open + length,
            None => break,
        }
        end = Some(at);
    }
    end
}

/// Each row with its line, from 0.
fn rows(text: &[u8], shape: Shape) -> Box<dyn Iterator<Item = (u64, &[u8])> + '_> {
    match shape {
        Shape::Lines => {
            let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|b| *b == b'\n').enumerate();
            let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
            Box::new(lines.map(|(line, text)| (line as u64, text)))
        }
        Shape::List | Shape::Values => {
            let (mut at, mut line) = (0, 0);
            Box::new(std::iter::from_fn(move || {
                let between = |byte: &u8| byte.is_ascii_whitespace() || b",[]".contains(byte) && shape == Shape::List;
                let start = at + text[at..].iter().position(|byte| !between(byte))?;
                line += memchr::memchr_iter(b'\n', &text[at..start]).count() as u64;
                let rest = &text[start..];
                let length = match rest[0] {
                    b'{' => object_end(rest).unwrap_or(rest.len()),
                    _ => rest.iter().position(between).unwrap_or(rest.len()),
                };
                let first = line;
                line += memchr::memchr_iter(b'\n', &rest[..length]).count() as u64;
                at = start + length;
                Some((first, &rest[..length]))
            }))
        }
    }
}

/// What is wrong with a row that is not an object.
fn wrong(text: &[u8], shape: Shape, e: &serde_json::Error) -> String {
    let reason = e.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    match shape {
        _ if std::str::from_utf8(text).is_err() => NOT_UTF8.to_string(),
        Shape::Lines => format!("this is not a JSON object in one line: {reason} at character {}", e.column()),
        Shape::List | Shape::Values => format!("this is not a JSON object: {reason}"),
    }
}

/// Parses a block of whole objects.
pub(crate) fn parse(text: &[u8], shape: Shape, plan: &Plan, layout: &Layout) -> Parsed {
    let mut sink = Sink::new(plan, layout);
    for (line, text) in rows(text, shape) {
        if let Err(e) = sink.add(text, line) {
            sink.parsed.blame(line, None, wrong(text, shape, &e));
        }
        if sink.has_fault() {
            break;
        }
    }
    let mut parsed = sink.parsed;
    parsed.line_count = memchr::memchr_iter(b'\n', text).count() as u64;
    parsed
}

/// What the first rows say of a key.
#[derive(Default)]
struct Key {
    tally: Tally,
    /// The different strings, and how many cells have one.
    strings: Dictionary,
    cells: usize,
    has_flags: bool,
    unsupported: Option<&'static str>,
}

/// The keys of the first rows in order of appearance, their kinds, and the number of rows.
pub(crate) fn sample(text: &[u8], shape: Shape, missing: &Missing) -> Result<Seen, Fault> {
    let (mut names, mut keys, mut count) = (Vec::<String>::new(), Vec::<Key>::new(), 0);
    let mut places = HashMap::new();
    for (line, text) in rows(text, shape) {
        let object: Map<String, Value> = serde_json::from_slice(text).map_err(|e| Fault {
            line,
            row: count as u64,
            column: None,
            message: wrong(text, shape, &e),
        })?;
        count += 1;
        for (name, value) in object {
            let place = *places.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                keys.push(Key::default());
                keys.len() - 1
            });
            let key = &mut keys[place];
            match value {
                Value::Null => {}
                Value::Number(_) => key.tally.numbers += 1,
                Value::Bool(_) => key.has_flags = true,
                Value::String(text) if missing.has(text.trim().as_bytes()) => {}
                Value::String(text) => {
                    key.strings.code(Word::of(text.as_bytes()));
                    key.cells += 1;
                    match is_usual(text.trim().as_bytes()) {
                        true => key.tally.usual.add(text.as_bytes(), 1),
                        false => key.tally.others.add(text.as_bytes(), 1),
                    }
                }
                Value::Array(_) => key.unsupported = Some("a list"),
                Value::Object(_) => key.unsupported = Some("an object"),
            }
        }
    }
    let (mut guesses, mut oddities) = (Vec::new(), Vec::new());
    for (key, name) in keys.iter().zip(&names) {
        let guess = match key.unsupported {
            Some(what) => Guess::Unsupported(what.into()),
            None if !key.has_flags && key.tally.are_numbers() => Guess::Number,
            None => by_levels(&key.strings, key.cells, missing),
        };
        oddities.extend(key.tally.oddity(name, matches!(guess, Guess::Number | Guess::Date)));
        guesses.push(guess);
    }
    Ok(Seen { names, guesses, oddities, rows: count })
}
