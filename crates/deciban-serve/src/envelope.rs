//! JSON requests with rows in them: `{"rows": [...], "prior": ...}`. Rows and tensors are found in the text without
//! parsing it: parsed JSON takes many times the memory of its text. They are parsed once, straight into columns. The
//! rest of a request is small.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::problem::{Problem, Rows};

/// The values of some keys of an object, as places in its text; `None` where the text is no object or has no such key.
/// Text that is not JSON gives some place or none: whoever parses it says what is wrong.
pub fn values_of<const N: usize>(text: &str, keys: [&str; N]) -> Result<[Option<Range<usize>>; N], Problem> {
    let mut found = [const { None }; N];
    for (name, value) in members(text) {
        let Some(place) = keys.iter().position(|key| *key == name) else { continue };
        if found[place].replace(value).is_some() {
            return Err(twice(name));
        }
    }
    Ok(found)
}

fn twice(name: &str) -> Problem {
    Problem::malformed(format!("the key `{name}` is there twice: which one counts is not known"))
}

/// The keys of an object, as they are written, and the places of their values.
pub fn members(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut at = inside(bytes, b'{');
    std::iter::from_fn(move || {
        let key = skip_blanks(bytes, at?);
        let behind = end_of_string(bytes, key).filter(|_| bytes[key] == b'"')?;
        let colon = skip_blanks(bytes, behind);
        let start = skip_blanks(bytes, colon + 1);
        let end = end_of_value(bytes, start).filter(|_| bytes[colon] == b':')?;
        at = next(bytes, end);
        Some((&text[key + 1..behind - 1], start..end))
    })
}

/// The values of a list.
pub fn elements(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = inside(bytes, b'[');
    std::iter::from_fn(move || {
        let start = skip_blanks(bytes, at?);
        let end = end_of_value(bytes, start)?;
        at = next(bytes, end);
        Some(&text[start..end])
    })
}

/// The elements of a list, and of the lists in it, one after the other.
pub fn flat(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        at += bytes[at..].iter().take_while(|c| c.is_ascii_whitespace() || b"[],".contains(c)).count();
        let start = at;
        at = end_of_value(bytes, start).unwrap_or(bytes.len());
        Some(&text[start..at]).filter(|value| !value.is_empty())
    })
}

/// Parses a cell. A list or an object cannot be a cell, so what it holds is not read.
pub fn cell(text: &str) -> Value {
    match text.as_bytes().first() {
        Some(b'[') => Value::Array(Vec::new()),
        Some(b'{') => Value::Object(Map::new()),
        _ => serde_json::from_str(text).unwrap_or(Value::Null), // The text is JSON: `check` has said so.
    }
}

/// An error if a text is not JSON.
pub fn check(text: &str) -> Result<(), Problem> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|e| not_json(text, &e))
}

/// The problem of text that is not JSON.
pub fn not_json(text: &str, error: &serde_json::Error) -> Problem {
    // The place in the whole body, where that is at fault and not a part of it.
    let whole = serde_json::from_str::<IgnoredAny>(text).err();
    let error = whole.as_ref().unwrap_or(error);
    Problem::malformed(format!("this is not JSON: {error}"))
}

/// The limit of the bytes beside the rows.
const BESIDE: usize = 1 << 20;

/// A text of JSON, parsed, with `null` in place of some of its parts. It must not be long without them, and its objects
/// must have each key once.
pub fn beside(text: &str, mut parts: Vec<Range<usize>>) -> Result<Value, Problem> {
    parts.sort_by_key(|part| part.start);
    if text.len() - parts.iter().map(Range::len).sum::<usize>() > BESIDE {
        return Err(Problem::too_large(format!("there are more than {BESIDE} bytes beside the rows")));
    }
    let (mut short, mut at) = (String::new(), 0);
    for part in parts {
        short += &text[at..part.start];
        short += "null";
        at = part.end;
    }
    short += &text[at..];
    match serde_json::from_str::<Once>(&short) {
        Ok(Once(value)) => Ok(value),
        Err(e) if e.is_data() => {
            let reason = e.to_string();
            Err(Problem::malformed(reason.split(" at line ").next().unwrap_or_default()))
        }
        Err(e) => Err(not_json(text, &e)),
    }
}

/// How rows stand in a text that is nothing but rows.
pub fn shape(text: &str) -> Rows {
    if text.trim_start().starts_with('[') { Rows::List } else { Rows::One }
}

/// Behind the bracket that opens a text.
fn inside(bytes: &[u8], bracket: u8) -> Option<usize> {
    let at = skip_blanks(bytes, 0);
    (bytes.get(at) == Some(&bracket)).then_some(at + 1)
}

/// Behind the comma that follows a value.
fn next(bytes: &[u8], end: usize) -> Option<usize> {
    let at = skip_blanks(bytes, end);
    (bytes.get(at) == Some(&b',')).then_some(at + 1)
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    from + bytes[from.min(bytes.len())..].iter().take_while(|c| c.is_ascii_whitespace()).count()
}

/// Behind the closing quote of the string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Behind the value that begins at `start`.
fn end_of_value(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0usize);
    loop {
        match bytes.get(at) {
            Some(b'"') => at = end_of_string(bytes, at)?,
            Some(b'{' | b'[') => (at, depth) = (at + 1, depth + 1),
            Some(b'}' | b']') if depth > 0 => (at, depth) = (at + 1, depth - 1),
            Some(c) if depth == 0 && (b"}],".contains(c) || c.is_ascii_whitespace()) => {
                return (at > start).then_some(at);
            }
            None if depth == 0 => return (at > start).then_some(at),
            None => return None,
            Some(_) => {
                at += 1;
                continue;
            }
        }
        if depth == 0 && matches!(bytes[at - 1], b'"' | b'}' | b']') {
            return Some(at);
        }
    }
}

/// A JSON value whose objects have each key once.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OnceVisitor)
    }
}

struct OnceVisitor;

impl<'de> Visitor<'de> for OnceVisitor {
    type Value = Once;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once(Value::Null))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Once, E> {
        Ok(Once(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Once, E> {
        Ok(Once(value.into()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Once, E> {
        Ok(Once(value.into()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Once, E> {
        Ok(Once(value.into()))
    }
    fn visit_str<E>(self, value: &str) -> Result<Once, E> {
        Ok(Once(value.into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Once, A::Error> {
        let mut values = Vec::new();
        while let Some(Once(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Once(Value::Array(values)))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Once, A::Error> {
        let mut object = Map::new();
        while let Some((key, Once(value))) = members.next_entry::<String, Once>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(twice(&key).detail));
            }
            object.insert(key, value);
        }
        Ok(Once(Value::Object(object)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_found_among_other_keys() {
        let find = |text: &'static str| {
            let [found] = values_of(text, ["rows"]).unwrap();
            found.map(|range| &text[range])
        };
        assert_eq!(find(r#"{"rows": [{"a": "]}"}], "prior": "uniform"}"#), Some(r#"[{"a": "]}"}]"#));
        assert_eq!(
            find(r#" {"prior": {"x": [1, 2]}, "n": 1.5, "rows" : {"a": {"rows": 1}} } "#),
            Some(r#"{"a": {"rows": 1}}"#)
        );
        assert_eq!(find(r#"{"a\"rows": 1, "b": "\\", "rows": 7}"#), Some("7"));
        for text in [
            "",
            "[]",
            "{",
            "{}",
            r#"{"a": 1}"#,
            r#"{"a": {"rows": 1}}"#,
            r#"{"rows"#,
            r#"{"rows":"#,
            r#"{"rows": [1"#,
            "{\"a\\",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        assert!(values_of(r#"{"rows": 1, "b": 2, "rows": 3}"#, ["rows"]).is_err());
    }

    #[test]
    fn lists_are_walked_without_parsing_them() {
        let list = r#" [1, "a,]", [2, [null]] ,{"b": [3]},true]"#;
        assert_eq!(elements(list).collect::<Vec<_>>(), ["1", r#""a,]""#, "[2, [null]]", r#"{"b": [3]}"#, "true"]);
        assert_eq!(flat(list).collect::<Vec<_>>(), ["1", r#""a,]""#, "2", "null", r#"{"b": [3]}"#, "true"]);
        assert_eq!((elements("[]").count(), flat("[[],[]]").count(), elements("7").count()), (0, 0, 0));
        assert_eq!(flat("7").map(cell).collect::<Vec<_>>(), [json!(7)]);
    }

    #[test]
    fn what_stands_beside_rows_has_each_key_once_and_is_short() {
        let text = r#"{"rows": [1, 2], "prior": {"a": 0.5}}"#;
        let rows = values_of(text, ["rows"]).unwrap()[0].clone().unwrap();
        assert_eq!(beside(text, vec![rows]).unwrap(), json!({ "rows": null, "prior": { "a": 0.5 } }));
        let problem = beside(r#"{"prior": {"a": 0.5, "\u0061": 0.4}}"#, Vec::new()).unwrap_err();
        assert!(problem.status.as_u16() == 400 && problem.detail.contains("`a` is there twice"), "{problem:?}");
        assert_eq!(beside(&" ".repeat(BESIDE + 1), Vec::new()).unwrap_err().status.as_u16(), 413);
    }
}
