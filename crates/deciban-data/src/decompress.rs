//! gzip and zstd, recognised by their first bytes: a name may lie, a magic number hardly does.
//! Files of several members (`cat a.gz b.gz`) are read to the end.

use std::fmt;
use std::io::{self, Read};

use deciban::Error;

/// A stream of bytes that a reader thread can own.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// The first bytes of gzip and of zstd.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Whether the stream that begins with `start` is compressed.
pub(crate) fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(&GZIP) || start.starts_with(&ZSTD)
}

/// The bytes behind the compression of `raw`, or `raw` itself if it has none.
pub(crate) fn decompress(mut raw: Bytes) -> io::Result<Bytes> {
    let mut start = Vec::new();
    raw.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    let (gzip, zstd) = (start.starts_with(&GZIP), start.starts_with(&ZSTD));
    let whole: Bytes = Box::new(io::Cursor::new(start).chain(raw));
    if gzip {
        let buffered = io::BufReader::with_capacity(1 << 16, whole);
        Ok(Box::new(Decoded { inner: flate2::bufread::MultiGzDecoder::new(buffered), method: "gzip" }))
    } else if zstd {
        Ok(Box::new(Decoded { inner: zstd::stream::read::Decoder::new(whole)?, method: "zstd" }))
    } else {
        Ok(whole)
    }
}

/// A decoder whose errors say what is wrong with the file.
struct Decoded<R> {
    inner: R,
    method: &'static str,
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|e| {
            if e.kind() == io::ErrorKind::Interrupted || e.raw_os_error().is_some() {
                return e; // The system's error, not the file's.
            }
            let truncated = e.kind() == io::ErrorKind::UnexpectedEof;
            io::Error::other(Damaged { method: self.method, truncated })
        })
    }
}

/// Compressed data that does not decompress.
#[derive(Debug)]
struct Damaged {
    method: &'static str,
    truncated: bool,
}

impl std::error::Error for Damaged {}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damaged { method, truncated } = self;
        match truncated {
            true => write!(f, "the {method} data ends too early: the file is truncated, get it again"),
            false => write!(f, "the {method} data is damaged: get the file again"),
        }
    }
}

/// What a failed read means to the user.
pub(crate) fn read_error(file: &str, e: io::Error) -> Error {
    match e.get_ref() {
        Some(inner) if inner.is::<Damaged>() => {
            Error::Input { file: file.into(), line: None, column: None, message: inner.to_string() }
        }
        _ => Error::io(if file == "-" { "standard input" } else { file }, e),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let mut stream = decompress(Box::new(io::Cursor::new(bytes))).unwrap();
        stream.read_to_end(&mut out).map_err(|e| read_error("f", e).to_string())?;
        Ok(out)
    }

    #[test]
    fn plain_gzip_zstd_and_several_members() {
        assert_eq!(read(b"abc".to_vec()).unwrap(), b"abc");
        assert_eq!(read(Vec::new()).unwrap(), b"");
        assert_eq!(read(gzip(b"abc")).unwrap(), b"abc");
        assert_eq!(read([gzip(b"abc"), gzip(b"def")].concat()).unwrap(), b"abcdef");
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
        assert_eq!(read(zstd(b"abc")).unwrap(), b"abc");
        assert_eq!(read([zstd(b"abc"), zstd(b"def")].concat()).unwrap(), b"abcdef");
    }

    #[test]
    fn truncated_and_damaged_data() {
        let text: Vec<u8> = (0..50_000u32).flat_map(|i| i.wrapping_mul(2654435761).to_le_bytes()).collect();
        for (packed, method) in [(gzip(&text), "gzip"), (zstd::encode_all(&text[..], 3).unwrap(), "zstd")] {
            let message = read(packed[..packed.len() / 2].to_vec()).unwrap_err();
            assert_eq!(message, format!("f: the {method} data ends too early: the file is truncated, get it again"));
        }
        let mut packed = gzip(&text);
        let end = packed.len() - 6;
        packed[end] ^= 1; // The checksum.
        assert_eq!(read(packed).unwrap_err(), "f: the gzip data is damaged: get the file again");
    }
}
