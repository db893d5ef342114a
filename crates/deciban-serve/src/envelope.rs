//! A JSON request with rows in it: `{"rows": [...], "prior": ...}`. The rows are found without parsing them, so that
//! they are parsed once, straight into columns.

use std::ops::Range;

use crate::problem::Rows;

/// The value of a key of the outermost object, as a place in the text; `None` where the text is no object or has no
/// such key. Text that is not JSON gives some place or none: whoever parses it says what is wrong.
pub fn value_of(text: &str, key: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = skip_blanks(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        at = skip_blanks(bytes, at);
        if bytes.get(at) != Some(&b'"') {
            return None; // The end of the object, or no JSON.
        }
        let name = at + 1..end_of_string(bytes, at)?.checked_sub(1)?;
        at = skip_blanks(bytes, name.end + 1);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        let start = skip_blanks(bytes, at + 1);
        let end = end_of_value(bytes, start)?;
        if &text[name] == key {
            return Some(start..end);
        }
        at = skip_blanks(bytes, end);
        if bytes.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
}

/// How rows stand in a text that is nothing but rows.
pub fn shape(text: &str) -> Rows {
    if text.trim_start().starts_with('[') { Rows::List } else { Rows::One }
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
        match bytes.get(at)? {
            b'"' => at = end_of_string(bytes, at)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' if depth > 0 => (at, depth) = (at + 1, depth - 1),
            b'}' | b']' | b',' if depth == 0 => return (at > start).then_some(at),
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 && matches!(bytes[at - 1], b'"' | b'}' | b']') {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_among_other_keys() {
        let find = |text: &'static str| value_of(text, "rows").map(|range| &text[range]);
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
    }
}
