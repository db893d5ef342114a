//! The format of a file, from its name and, where the name leaves it open, from its first bytes.

use deciban::{Error, Result};

use crate::cut::Dialect;
use crate::options::{Format, Options};

/// What a name says about the format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Guess {
    Known(Format),
    /// Delimited text whose separator is a comma, a semicolon or a tab.
    Separated,
    /// Some text, or something else: the content decides.
    Open,
}

/// The format of the file `name`, unless the option gives one.
pub(crate) fn by_name(name: &str, given: Option<Format>) -> Guess {
    match given {
        Some(Format::Csv) => return Guess::Separated,
        Some(format) => return Guess::Known(format),
        None => {}
    }
    if name == "-" {
        return Guess::Separated;
    }
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    if ["-idx", ".idx"].iter().any(|mark| name.contains(mark)) && (name.ends_with("byte") || name.ends_with(".idx")) {
        return Guess::Known(Format::Idx);
    }
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv") => Guess::Separated,
        Some("tsv" | "tab") => Guess::Known(Format::Tsv),
        Some("json" | "jsonl" | "ndjson") => Guess::Known(Format::Json),
        Some("parquet") => Guess::Known(Format::Parquet),
        Some("arrow" | "feather" | "ipc") => Guess::Known(Format::Arrow),
        _ => Guess::Open,
    }
}

/// The format of a file whose name leaves it open, from its first bytes.
pub(crate) fn by_magic(start: &[u8]) -> Option<Format> {
    match start {
        [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::Arrow),
        [0, 0, 8 | 9 | 11..=14, 1..=8, ..] => Some(Format::Idx),
        _ => None,
    }
}

/// Whether text that begins so is JSON: an object, or a list of objects.
pub(crate) fn is_json(start: &[u8]) -> bool {
    let ink =
        |text: &[u8]| text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(2).collect::<Vec<u8>>();
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    matches!(ink(start)[..], [b'{', b'"' | b'}'] | [b'[', b'{' | b']'])
}

/// What a file that begins so is, if it is not a table of text, and what to do about it.
pub(crate) fn foreign(start: &[u8]) -> Option<&'static str> {
    let has = |part: &[u8]| memchr::memmem::find(start, part).is_some();
    let page: Vec<u8> = start.trim_ascii_start().iter().take(14).map(u8::to_ascii_lowercase).collect();
    match start {
        [b'P', b'K', 3, 4, ..] if has(b"xl/") || has(b"[Content_Types].xml") => {
            Some("this is an Excel workbook: save the sheet as CSV")
        }
        [b'P', b'K', 3, 4, ..] if has(b"opendocument") => Some("this is an OpenDocument file: save the sheet as CSV"),
        [b'P', b'K', 3, 4, ..] => Some("this is a zip archive: unpack it first"),
        [0xd0, 0xcf, 0x11, 0xe0, ..] => Some("this is an old Excel workbook: save the sheet as CSV"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => Some("this is compressed with bzip2: unpack it first"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("this is compressed with xz: unpack it first"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Some("this is a 7-Zip archive: unpack it first"),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some("this is a NumPy array: save it with numpy.savetxt"),
        [0x89, b'H', b'D', b'F', ..] => Some("this is an HDF5 file: save the table as CSV or Parquet"),
        [b'P', b'A', b'R', b'1', ..] => Some("this is a Parquet file: give §format=parquet"),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some("this is an Arrow file: give §format=arrow"),
        _ if start.starts_with(b"SQLite format 3\0") => Some("this is an SQLite database: export the table as CSV"),
        _ if start.starts_with(b"%PDF-") => Some("this is a PDF document: save the table as CSV"),
        _ if page.starts_with(b"<!doctype html") || page.starts_with(b"<html") => {
            Some("this is a web page: download the file itself, not the page that shows it")
        }
        _ if page.starts_with(b"<?xml") => Some("this is XML: save the table as CSV"),
        // The container of models and statistics: eight bytes of length, then a header.
        [_, _, _, _, _, 0, 0, 0, b'{', ..] if has(b"__metadata__") && has(b"deciban") => {
            match has(b"\\\"statistics\\\"") {
                true => {
                    Some("this is a statistics file, not data: `deciban fit` takes it alone, other commands do not")
                }
                false => Some("this is a model, not data: give the rows that it should be used on"),
            }
        }
        _ => None,
    }
}

/// How the text that begins with `start` is delimited.
pub(crate) fn dialect(guess: Guess, start: &[u8], options: &Options) -> Result<Dialect> {
    let comment = byte("comment", options.comment)?;
    let made = |separator: u8| Dialect {
        separator,
        comment: comment.or((separator == b' ').then_some(b'#')),
        quotes: options.quotes,
    };
    if let Some(separator) = byte("separator", options.separator)? {
        if separator.is_ascii_alphanumeric() || b".+-\"\r\n".contains(&separator) {
            let message = format!("`{}` cannot separate fields: give , ; | or a tab", separator.escape_ascii());
            return Err(Error::parameter("separator", message));
        }
        return Ok(made(separator));
    }
    let quotes = options.quotes;
    let separator = match guess {
        Guess::Known(Format::Tsv) => b'\t',
        Guess::Known(Format::Text) => b' ',
        Guess::Known(_) | Guess::Separated => separator(start, comment, b"\t;,", quotes).unwrap_or(b','),
        Guess::Open => separator(start, comment.or(Some(b'#')), b"\t;, ", quotes).unwrap_or(b','),
    };
    Ok(made(separator))
}

fn byte(option: &'static str, given: Option<char>) -> Result<Option<u8>> {
    match given {
        Some(c) if !c.is_ascii() => Err(Error::parameter(option, format!("`{c}` is not an ASCII character"))),
        Some(c) => Ok(Some(c as u8)),
        None => Ok(None),
    }
}

/// The separator that stands equally often in (nearly) every one of the first lines. Of several the
/// first candidate wins: a semicolon in every line is no accident, while commas in a file that
/// semicolons separate are decimal commas.
fn separator(start: &[u8], comment: Option<u8>, candidates: &[u8], quotes: bool) -> Option<u8> {
    let whole = memchr::memrchr(b'\n', start).map_or(start, |end| &start[..end]);
    let is_data =
        |line: &&[u8]| !line.trim_ascii().is_empty() && (comment.is_none() || line.first().copied() != comment);
    let lines: Vec<&[u8]> = whole.split(|b| *b == b'\n').filter(is_data).take(100).collect();
    let counts = |candidate| lines.iter().map(|line| count(line, candidate, quotes)).collect::<Vec<usize>>();
    let steady = |candidate: &&u8| {
        let mut counts = counts(**candidate);
        counts.sort_unstable();
        let Some(&middle) = counts.get(counts.len() / 2) else { return false };
        middle > 0 && 10 * counts.iter().filter(|count| **count == middle).count() >= 9 * counts.len()
    };
    let common = || candidates.iter().rev().max_by_key(|c| counts(**c).iter().filter(|n| **n > 0).count());
    candidates.iter().find(steady).or_else(|| common().filter(|c| counts(**c).iter().any(|n| *n > 0))).copied()
}

/// How many separators a line has outside of quotes.
fn count(line: &[u8], separator: u8, quotes: bool) -> usize {
    if separator == b' ' {
        let words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        return words.count().saturating_sub(1);
    }
    let mut quoted = false;
    let outside = line.iter().filter(|byte| {
        quoted ^= quotes && **byte == b'"';
        !quoted && **byte == separator
    });
    outside.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, guess) in [
            ("a.csv", Guess::Separated),
            ("dir.x/A.CSV.GZ", Guess::Separated),
            ("a.tab.zst", Guess::Known(Format::Tsv)),
            ("a.ndjson", Guess::Known(Format::Json)),
            ("a.json.gz", Guess::Known(Format::Json)),
            ("a.feather", Guess::Known(Format::Arrow)),
            ("train-images-idx3-ubyte.gz", Guess::Known(Format::Idx)),
            ("train-images.idx3-ubyte", Guess::Known(Format::Idx)),
            ("labels.idx", Guess::Known(Format::Idx)),
            ("adult.data", Guess::Open),
            ("zip.train.gz", Guess::Open),
            ("noext", Guess::Open),
            ("-", Guess::Separated),
        ] {
            assert_eq!(by_name(name, None), guess, "{name}");
        }
        assert_eq!(by_name("a.csv", Some(Format::Text)), Guess::Known(Format::Text));
    }

    #[test]
    fn json_by_content() {
        for text in ["{\"a\": 1}", " \n[ {", "[]", "{}", "\u{feff}[{"] {
            assert!(is_json(text.as_bytes()), "{text}");
        }
        for text in ["", "[1, 2]", "{a}", "a,b", "[x],y"] {
            assert!(!is_json(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn separators() {
        let options = Options::default();
        let found = |guess, text: &str| dialect(guess, text.as_bytes(), &options).unwrap().separator;
        assert_eq!(found(Guess::Separated, "a,b\n1,2\n"), b',');
        assert_eq!(found(Guess::Separated, "a;b;c\n1,5;2;3\n2,5;2;3\n"), b';');
        assert_eq!(found(Guess::Separated, "a\tb\n1\t2\n"), b'\t');
        assert_eq!(found(Guess::Separated, "a\n\"x;y\"\n3\n"), b',');
        assert_eq!(found(Guess::Open, "39, State-gov, 77516\n50, Self-emp, 83311\n"), b',');
        assert_eq!(found(Guess::Open, "# made by hand\n 1.0  2.0\n 3.5 -1.0\n"), b' ');
        assert_eq!(found(Guess::Open, "a,b\n1,2\n1,2,3\n4,5\n1\n"), b',');
        assert_eq!(found(Guess::Open, "one\ntwo\n"), b',');
    }

    #[test]
    fn a_separator_that_cannot_be() {
        let options = Options { separator: Some('e'), ..Options::default() };
        assert_eq!(
            dialect(Guess::Separated, b"", &options).unwrap_err().to_string(),
            "separator: `e` cannot separate fields: give , ; | or a tab"
        );
        let options = Options { comment: Some('→'), ..Options::default() };
        let message = dialect(Guess::Separated, b"", &options).unwrap_err().to_string();
        assert_eq!(message, "comment: `→` is not an ASCII character");
    }
}
