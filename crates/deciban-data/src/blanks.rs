//! Text whose fields are separated by runs of blanks, as `numpy.loadtxt` reads it: no quotes, and a
//! comment may also stand at the end of a line.

use memchr::memchr;

use crate::cells::{Cells, NOT_UTF8, Parsed};
use crate::delimited::ragged;
use crate::layout::Layout;
use crate::number;
use crate::plan::Plan;

/// Parses a block of whole lines, each of which ends in a newline.
pub(crate) fn parse(text: &[u8], comment: Option<u8>, plan: &Plan, layout: &Layout) -> Parsed {
    let typical = memchr(b'\n', text).unwrap_or(text.len()).max(2 * layout.slots.len());
    let mut parsed = Parsed::new(plan, text.len() / typical + text.len() / typical / 8 + 1);
    for line in lines(text) {
        let mut count = 0;
        let mut rest = next(line, comment);
        while !rest.is_empty() {
            if count == 0 {
                parsed.lines.push(parsed.line_count as u32);
            }
            let length = match layout.slots.get(count) {
                Some(Some(slot)) => match cell(rest, *slot, comment, &mut parsed, plan) {
                    Ok(length) => length,
                    Err(message) => {
                        parsed.blame(parsed.line_count, layout.names.get(count).map(String::as_str), message);
                        return parsed;
                    }
                },
                Some(None) | None => word(rest, comment),
            };
            for (_, slot) in layout.also.iter().filter(|(also, _)| *also == count) {
                let _ = parsed.push_text(*slot, &rest[..length], plan); // Nothing is wrong with a text that is kept.
            }
            rest = next(&rest[length..], comment);
            count += 1;
        }
        if count > 0 {
            if let Err((_, message)) = ragged(count, layout) {
                parsed.blame(parsed.line_count, None, message);
                return parsed;
            }
            parsed.rows += 1;
        }
        parsed.line_count += 1;
    }
    parsed
}

/// Adds the cell at the beginning of `rest`, and tells its length.
#[inline]
fn cell(rest: &[u8], slot: usize, comment: Option<u8>, parsed: &mut Parsed, plan: &Plan) -> Result<usize, String> {
    if let Cells::Numbers(numbers) = &mut parsed.cells[slot]
        && let Some((number, length)) = number::prefix(rest, plan.notation.point)
        && rest.get(length).is_none_or(|b| is_blank(*b) || Some(*b) == comment)
    {
        numbers.push(if plan.missing.has_number(number) { f64::NAN } else { number });
        return Ok(length);
    }
    let length = word(rest, comment);
    parsed.push_text(slot, &rest[..length], plan)?;
    Ok(length)
}

/// The lines of `text`, without their newlines.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.strip_suffix(b"\n").unwrap_or(text).split(|b| *b == b'\n')
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// From the next word on; empty at the end of the line or at a comment.
#[inline]
fn next(line: &[u8], comment: Option<u8>) -> &[u8] {
    match line.iter().position(|b| !is_blank(*b)) {
        Some(start) if Some(line[start]) != comment => &line[start..],
        _ => &[],
    }
}

#[inline]
fn word(rest: &[u8], comment: Option<u8>) -> usize {
    rest.iter().position(|b| is_blank(*b) || Some(*b) == comment).unwrap_or(rest.len())
}

/// The words of the first line of `text` that has some, and how many bytes and lines come before it.
pub(crate) fn first_words(text: &[u8], comment: Option<u8>) -> Result<(Vec<String>, usize, u64), String> {
    let mut before = 0;
    for (line_number, line) in lines(text).enumerate() {
        let mut words = Vec::new();
        let mut rest = next(line, comment);
        while !rest.is_empty() {
            let length = word(rest, comment);
            words.push(String::from_utf8(rest[..length].to_vec()).map_err(|_| NOT_UTF8)?);
            rest = next(&rest[length..], comment);
        }
        if !words.is_empty() {
            return Ok((words, before, line_number as u64));
        }
        before += line.len() + 1;
    }
    Ok((Vec::new(), before.min(text.len()), 0))
}
