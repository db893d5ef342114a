//! A large text in shares of bytes, each read by somebody else: a share has the lines that begin in it.
//!
//! A line that begins at byte b belongs to the share with start ≤ b < end, so that every line is in one share. Cuts are
//! at newlines. Where a quoted field holds the newline at a cut, the share before it ends within quotes, which is an
//! error: no row is read wrongly, since a share that begins at a record either ends at one or is refused.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use deciban::{Error, Result};
use memchr::memchr;

use crate::decompress::{Bytes, is_compressed};
use crate::options::Format;
use crate::sniff::{Guess, by_name};

/// The lines that begin in a part of a file.
pub(crate) fn lines(mut file: File, part: Range<u64>) -> io::Result<Bytes> {
    let mut at = part.start.saturating_sub(1);
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = BufReader::with_capacity(1 << 16, file);
    if part.start > 0 {
        at += bytes.skip_until(b'\n')? as u64;
    }
    Ok(Box::new(Lines { bytes, at, end: part.end, done: at >= part.end }))
}

struct Lines {
    bytes: BufReader<File>,
    /// The place of the next byte.
    at: u64,
    end: u64,
    done: bool,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.done {
            return Ok(0);
        }
        let mut length = self.bytes.read(buffer)?;
        // The last line ends with the first newline from the last byte of the part on.
        let first = (self.end - 1).saturating_sub(self.at).min(length as u64) as usize;
        if let Some(newline) = memchr(b'\n', &buffer[first..length]) {
            length = first + newline + 1;
            self.done = true;
        }
        self.at += length as u64;
        Ok(length)
    }
}

/// Cuts a file of delimited text into shares of about `size` bytes; `None` if it is something else, or cannot be cut:
/// it is compressed, or its lines end in carriage returns alone.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("a.csv");
/// std::fs::write(&path, "x,y\n1,2\n3,4\n").unwrap();
/// let shares = deciban_data::byte_shares(path.to_str().unwrap(), 5)?;
/// assert_eq!(shares, Some(vec![0..5, 5..10, 10..12]));
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn byte_shares(path: &str, size: u64) -> Result<Option<Vec<Range<u64>>>> {
    let failed = |e| Error::io(path, e);
    if !matches!(by_name(path, None), Guess::Separated | Guess::Known(Format::Tsv)) {
        return Ok(None);
    }
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut start = Vec::new();
    file.by_ref().take(1 << 16).read_to_end(&mut start).map_err(failed)?;
    if is_compressed(&start) || memchr(b'\n', &start).is_none() {
        return Ok(None);
    }
    let size = size.max(1);
    Ok(Some((0..length.div_ceil(size)).map(|i| i * size..length.min((i + 1) * size)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_line_is_in_one_share() {
        let texts = ["a\n", "a", "\n\n\n", "ab\ncde\n\nf\n", "a long line\nb", "abc\r\nde\r\n"];
        for text in texts {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            for size in 1..=text.len() as u64 + 1 {
                let mut all = String::new();
                for start in (0..text.len() as u64).step_by(size as usize) {
                    let part = start..(start + size).min(text.len() as u64);
                    let opened = File::open(file.path()).unwrap();
                    let mut own = String::new();
                    lines(opened, part.clone()).unwrap().read_to_string(&mut own).unwrap();
                    let begins: Vec<u64> = (0..text.len() as u64)
                        .filter(|&b| part.contains(&b) && (b == 0 || text.as_bytes()[b as usize - 1] == b'\n'))
                        .collect();
                    assert_eq!(own.lines().count(), begins.len(), "{text:?} in {size}: {own:?}");
                    all += &own;
                }
                assert_eq!(all, text, "in {size}");
            }
        }
    }
}
