//! Standard input and other pipes (`<(command)`, `/dev/stdin`, a FIFO), which can be read once, though
//! inference wants to look at them first. What was peeked at is kept and comes again; for more than one pass
//! everything goes to a temporary file.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::decompress::Bytes;

/// A stream that can be peeked at, read once, or spooled and read many times.
#[derive(Clone)]
pub(crate) struct Once(Arc<Mutex<State>>);

enum State {
    /// The stream, after the bytes that were peeked at.
    Fresh { peeked: Vec<u8>, rest: Bytes },
    /// A pass has taken it.
    Taken,
    /// All of it, in a file without a name: it vanishes with the process, however that ends.
    Spooled(Arc<File>),
}

/// The standard input of this process; there is only one.
pub(crate) fn standard_input() -> Once {
    static STDIN: Mutex<Option<Once>> = Mutex::new(None);
    let mut stdin = STDIN.lock().unwrap_or_else(|e| e.into_inner());
    stdin.get_or_insert_with(|| Once::new(Box::new(io::stdin()))).clone()
}

/// The pipe or device at a path, if one is there. Everybody who asks for it before it is read gets the same
/// stream: one who only wanted the names of the columns takes nothing away from the next.
#[cfg(unix)]
pub(crate) fn pipe_at(path: &Path) -> Option<Once> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    static PIPES: Mutex<Vec<((u64, u64), Once)>> = Mutex::new(Vec::new());
    let metadata = std::fs::metadata(path).ok()?;
    let kind = metadata.file_type();
    if !(kind.is_fifo() || kind.is_char_device() || kind.is_socket()) {
        return None;
    }
    if ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name)) {
        return Some(standard_input());
    }
    let key = (metadata.dev(), metadata.ino());
    let mut pipes = PIPES.lock().unwrap_or_else(|e| e.into_inner());
    pipes.retain(|(_, once)| once.is_fresh());
    if let Some((_, once)) = pipes.iter().find(|(known, _)| *known == key) {
        return Some(once.clone());
    }
    let once = Once::new(Box::new(Opened { path: path.to_path_buf(), file: None }));
    pipes.push((key, once.clone()));
    Some(once)
}

#[cfg(not(unix))]
pub(crate) fn pipe_at(_: &Path) -> Option<Once> {
    None
}

/// A pipe that is opened when it is first read, since that waits for somebody who writes.
struct Opened {
    path: PathBuf,
    file: Option<File>,
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = Some(File::open(&self.path)?);
        }
        self.file.as_mut().map_or(Ok(0), |file| file.read(buffer))
    }
}

impl Once {
    pub fn new(rest: Bytes) -> Self {
        Once(Arc::new(Mutex::new(State::Fresh { peeked: Vec::new(), rest })))
    }

    // A reader that panicked leaves no half-made state behind.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether nobody has read it in earnest.
    fn is_fresh(&self) -> bool {
        matches!(&*self.state(), State::Fresh { .. })
    }

    /// Whether both are the same stream.
    pub fn is(&self, other: &Once) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The stream from its beginning; whatever is read of it will come again.
    pub fn peek(&self) -> io::Result<Bytes> {
        match &*self.state() {
            State::Fresh { .. } => Ok(Box::new(Peek { once: self.clone(), at: 0 })),
            State::Taken => Err(taken()),
            State::Spooled(file) => Ok(Box::new(Positioned::new(file.clone()))),
        }
    }

    /// The stream from its beginning, for the last time unless it is spooled.
    pub fn take(&self) -> io::Result<Bytes> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Fresh { peeked, rest } => Ok(Box::new(io::Cursor::new(peeked).chain(rest))),
            State::Taken => Err(taken()),
            State::Spooled(file) => {
                *state = State::Spooled(file.clone());
                Ok(Box::new(Positioned::new(file)))
            }
        }
    }

    /// Reads everything into a temporary file, from which all later readers are served.
    pub fn spool(&self) -> io::Result<Arc<File>> {
        let mut state = self.state();
        match &mut *state {
            State::Spooled(file) => Ok(file.clone()),
            State::Taken => Err(taken()),
            State::Fresh { peeked, rest } => {
                let file = Arc::new(spool(peeked.chain(rest))?);
                *state = State::Spooled(file.clone());
                Ok(file)
            }
        }
    }

    /// The size, once it is known.
    pub fn len(&self) -> Option<u64> {
        match &*self.state() {
            State::Spooled(file) => file.metadata().ok().map(|m| m.len()),
            _ => None,
        }
    }
}

fn taken() -> io::Error {
    io::Error::other("it can be read only once, and has been: write it to a file first")
}

/// Copies a stream to a temporary file without a name.
pub(crate) fn spool(mut bytes: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut bytes, &mut file)?;
    file.flush()?;
    file.rewind()?;
    Ok(file)
}

struct Peek {
    once: Once,
    at: usize,
}

impl Read for Peek {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.once.state();
        let State::Fresh { peeked, rest } = &mut *state else { return Err(taken()) };
        if self.at == peeked.len() {
            let length = rest.read(buffer)?;
            peeked.extend_from_slice(&buffer[..length]);
        }
        let length = buffer.len().min(peeked.len() - self.at);
        buffer[..length].copy_from_slice(&peeked[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// A shared file with a place of its own: clones of a [`File`] share theirs.
pub(crate) struct Positioned {
    pub file: Arc<File>,
    pub at: u64,
}

impl Positioned {
    pub fn new(file: Arc<File>) -> Self {
        Positioned { file, at: 0 }
    }
}

impl Read for Positioned {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let length = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let length = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for Positioned {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let (base, offset) = match to {
            io::SeekFrom::Start(at) => (at, 0),
            io::SeekFrom::Current(offset) => (self.at, offset),
            io::SeekFrom::End(offset) => (self.file.metadata()?.len(), offset),
        };
        self.at = base
            .checked_add_signed(offset)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a place before the file's beginning"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut bytes: Bytes) -> Vec<u8> {
        let mut out = Vec::new();
        bytes.read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn peeked_bytes_come_again() {
        let once = Once::new(Box::new(io::Cursor::new(b"abcdef".to_vec())));
        let mut two = [0; 2];
        once.peek().unwrap().read_exact(&mut two).unwrap();
        assert_eq!(&two, b"ab");
        assert_eq!(all(Box::new(once.peek().unwrap().take(4))), b"abcd");
        assert_eq!(all(once.take().unwrap()), b"abcdef");
        let message = once.take().err().unwrap().to_string();
        assert_eq!(message, "it can be read only once, and has been: write it to a file first");
    }

    #[test]
    fn spooled_bytes_come_often() {
        let once = Once::new(Box::new(io::Cursor::new(b"abcdef".to_vec())));
        all(Box::new(once.peek().unwrap().take(3)));
        once.spool().unwrap();
        assert_eq!(once.len(), Some(6));
        for _ in 0..2 {
            assert_eq!(all(once.take().unwrap()), b"abcdef");
            assert_eq!(all(once.peek().unwrap()), b"abcdef");
        }
    }
}
