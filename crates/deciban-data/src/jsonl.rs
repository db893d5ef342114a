//! JSON lines: one object per line, whose keys are the columns. A key that is absent is a missing
//! cell. Types decide the kinds: strings and booleans are categories or texts, numbers are numbers.

use std::collections::HashMap;

use deciban::Result;
use deciban::text::Word;
use serde_json::{Map, Value};

use crate::cells::{Fault, Missing, NOT_UTF8, Parsed};
use crate::cut::Cutter;
use crate::dictionary::Dictionary;
use crate::infer::{Guess, by_levels};
use crate::layout::Layout;
use crate::number;
use crate::plan::Plan;
use crate::table::{Chunk, Table};

struct JsonLines(Cutter);

/// Opens JSON lines.
pub(crate) fn open(cutter: Cutter) -> Box<dyn Table> {
    Box::new(JsonLines(cutter))
}

impl Table for JsonLines {
    fn names(&self) -> &[String] {
        &[]
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        Ok(self.0.next(block, None)?.map(Chunk::JsonLines))
    }
}

/// Each object with its line, until one is damaged.
fn objects(text: &[u8]) -> impl Iterator<Item = Result<(u64, Map<String, Value>), Fault>> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|b| *b == b'\n').enumerate();
    lines.filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(line, text)| {
        let object = serde_json::from_slice(text).map_err(|e| {
            let reason = e.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            let message = match std::str::from_utf8(text).is_err() {
                true => NOT_UTF8.to_string(),
                false => format!("this is not a JSON object in one line: {reason} at character {}", e.column()),
            };
            Fault { line: line as u64, column: None, message }
        });
        Ok((line as u64, object?))
    })
}

fn line_count(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Parses a block of whole lines.
pub(crate) fn parse(text: &[u8], plan: &Plan, layout: &Layout) -> Parsed {
    let mut parsed = Parsed::new(plan, 0);
    parsed.line_count = line_count(text);
    // The row, counted from 1, in which a slot was last filled.
    let mut filled = vec![0; plan.slots.len()];
    for object in objects(text) {
        let (line, object) = match object {
            Ok(object) => object,
            Err(fault) => {
                parsed.blame(fault.line, None, fault.message);
                return parsed;
            }
        };
        parsed.lines.push(line as u32);
        parsed.rows += 1;
        for (name, value) in &object {
            let result = match layout.by_name.get(name) {
                Some(Some(slot)) => {
                    filled[*slot] = parsed.rows;
                    push(&mut parsed, *slot, value, plan)
                }
                None if !layout.lenient => {
                    Err(format!("the first rows do not have this key: give §ignore='{name}', or put it first as null"))
                }
                Some(None) | None => Ok(()),
            };
            if let Err(message) = result {
                parsed.blame(line, Some(name), message);
                return parsed;
            }
        }
        for (slot, filled) in filled.iter().enumerate() {
            if *filled < parsed.rows {
                parsed.push_missing(slot);
            }
        }
    }
    parsed
}

fn push(parsed: &mut Parsed, slot: usize, value: &Value, plan: &Plan) -> Result<(), String> {
    match value {
        Value::Null => parsed.push_missing(slot),
        Value::Bool(flag) => parsed.push_text(slot, if *flag { b"true" } else { b"false" }, plan)?,
        Value::String(text) => parsed.push_text(slot, text.trim().as_bytes(), plan)?,
        Value::Number(number) if plan.slots[slot].is_code => {
            // A whole number that a double cannot hold keeps its digits as a name.
            let text = if number.is_f64() { number.as_f64().map(number::shortest) } else { None };
            parsed.push_text(slot, text.unwrap_or_else(|| number.to_string()).as_bytes(), plan)?;
        }
        Value::Number(number) => parsed.push_number(slot, number.as_f64().unwrap_or(f64::NAN), plan)?,
        Value::Array(_) => return Err("a list cannot be read: give §ignore for this column".into()),
        Value::Object(_) => return Err("an object cannot be read: give §ignore for this column".into()),
    }
    Ok(())
}

/// The keys of the first rows in order of appearance, their kinds, and the number of rows.
pub(crate) fn sample(text: &[u8], missing: &Missing) -> Result<(Vec<String>, Vec<Guess>, usize), Fault> {
    let (mut names, mut guesses, mut rows) = (Vec::<String>::new(), Vec::new(), 0);
    let mut places = HashMap::new();
    // The different strings of each key, and how many there are.
    let mut strings: Vec<(Dictionary, usize)> = Vec::new();
    for object in objects(text) {
        let (_, object) = object?;
        rows += 1;
        for (name, value) in &object {
            let place = *places.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                guesses.push(Guess::Number);
                strings.push((Dictionary::default(), 0));
                names.len() - 1
            });
            if let Value::String(text) = value
                && !missing.has(text.trim().as_bytes())
            {
                strings[place].0.code(Word::of(text.as_bytes()));
                strings[place].1 += 1;
            }
            match value {
                Value::Null | Value::Number(_) => {}
                Value::String(text) if missing.has(text.trim().as_bytes()) => {}
                Value::String(_) | Value::Bool(_) if guesses[place] == Guess::Number => {
                    guesses[place] = Guess::Category
                }
                Value::String(_) | Value::Bool(_) => {}
                Value::Array(_) => guesses[place] = Guess::Unsupported("a list".into()),
                Value::Object(_) => guesses[place] = Guess::Unsupported("an object".into()),
            }
        }
    }
    for (guess, (levels, cells)) in guesses.iter_mut().zip(&strings).filter(|(guess, _)| **guess == Guess::Category) {
        *guess = by_levels(levels, *cells, missing);
    }
    Ok((names, guesses, rows))
}
