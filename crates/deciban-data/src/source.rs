//! The files behind the paths, globs and `-` of the command line, and their bytes.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use deciban::{Error, Result};

use crate::batches::{Batches, NAME};
use crate::decompress::{Bytes, decompress, is_compressed, read_error};
use crate::folder::{Listing, has_folders};
use crate::standard_input::{Once, Positioned, pipe_at, spool, standard_input};

/// A file, a folder of texts or standard input.
pub(crate) struct Source {
    /// As errors name it: the path, or `-`.
    pub name: String,
    /// Whether it is a body in memory, of which errors name the rows.
    pub in_memory: bool,
    place: Place,
    /// The bytes behind the compression, for formats that must be read from the end.
    unpacked: Mutex<Option<Arc<File>>>,
    /// What is wanted of it, if not all: row groups of a Parquet file, or the [lines] that begin in some bytes of
    /// delimited text.
    pub part: Option<Range<u64>>,
    /// What lies in the folder, once somebody has looked.
    pub listing: OnceLock<Listing>,
}

enum Place {
    Path(PathBuf),
    Once(Once),
    Batches(Box<Batches>),
}

/// Whether a stream is looked at, or read in earnest: a pipe can be read in earnest only once.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Purpose {
    Look,
    Read,
}

/// Counts the bytes of the (compressed) input, for a progress bar.
pub(crate) type Counter = Arc<AtomicU64>;

/// The sources that `paths` mean, in their order; the files of a glob are sorted. A folder must have
/// folders, one for each class, unless it may be `flat`.
pub(crate) fn find(paths: &[String], flat: bool) -> Result<Vec<Source>> {
    if paths.is_empty() {
        return Err(Error::Usage("give at least one file, or - for standard input".into()));
    }
    let mut sources = Vec::new();
    for path in paths {
        if path == "-" {
            sources.push(Source::new("-".into(), Place::Once(standard_input())));
        } else if is_glob(path) {
            let matches = glob::glob(path).map_err(|e| refuse(path, format!("this is not a pattern of files: {e}")))?;
            let before = sources.len();
            for found in matches {
                let found = found.map_err(|e| Error::io(e.path(), io::Error::from(e.error().kind())))?;
                if !found.is_dir() {
                    sources.push(Source::at(found));
                }
            }
            if sources.len() == before {
                return Err(refuse(path, "no file matches this pattern".into()));
            }
        } else {
            sources.push(Source::at(PathBuf::from(path)));
        }
    }
    let pipes: Vec<&Once> = sources.iter().filter_map(|source| source.pipe()).collect();
    if (1..pipes.len()).any(|i| pipes[..i].iter().any(|pipe| pipe.is(pipes[i]))) {
        return Err(Error::Usage("standard input (-) or another pipe can be given only once".into()));
    }
    sources.iter().try_for_each(|source| source.check(flat))?;
    Ok(sources)
}

/// The files that a path of the command line means: those of a glob, what standard input comes from, or the path itself.
pub fn files_behind(path: &str) -> Vec<PathBuf> {
    match path {
        "-" => vec!["/dev/stdin".into()],
        _ if is_glob(path) => glob::glob(path).into_iter().flatten().flatten().collect(),
        _ => vec![path.into()],
    }
}

/// A file may be called `a[1].csv`: what exists is no pattern.
fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '[']) && !Path::new(path).exists()
}

fn refuse(file: &str, message: String) -> Error {
    Error::Input { file: file.into(), line: None, column: None, message }
}

impl Source {
    fn new(name: String, place: Place) -> Self {
        Source { name, in_memory: false, place, unpacked: Mutex::new(None), listing: OnceLock::new(), part: None }
    }

    /// Record batches, of which errors name the rows.
    pub fn of_batches(batches: Batches) -> Self {
        Source { in_memory: true, ..Source::new(NAME.into(), Place::Batches(Box::new(batches))) }
    }

    /// The record batches, if it has some.
    pub fn batches(&self) -> Option<&Batches> {
        match &self.place {
            Place::Batches(batches) => Some(batches),
            _ => None,
        }
    }

    /// Bytes in memory, which errors call `name`.
    pub fn in_memory(name: &str, bytes: Vec<u8>) -> Self {
        Source::stream(name, Box::new(io::Cursor::new(bytes)))
    }

    /// Bytes that come from somewhere else, once; errors call them `name`, and name their rows.
    pub fn stream(name: &str, bytes: Bytes) -> Self {
        Source { in_memory: true, ..Source::new(name.into(), Place::Once(Once::new(bytes))) }
    }

    fn at(path: PathBuf) -> Self {
        let name = path.display().to_string();
        match pipe_at(&path) {
            Some(pipe) => Source::new(name, Place::Once(pipe)),
            None => Source::new(name, Place::Path(path)),
        }
    }

    /// The stream, if it is one that can be read only once.
    fn pipe(&self) -> Option<&Once> {
        match &self.place {
            Place::Once(once) => Some(once),
            _ => None,
        }
    }

    /// Whether it is standard input or another pipe, whose name says nothing of its format.
    pub fn is_pipe(&self) -> bool {
        self.pipe().is_some() && !self.in_memory
    }

    fn check(&self, flat: bool) -> Result<()> {
        let Place::Path(path) = &self.place else { return Ok(()) };
        let metadata = std::fs::metadata(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => refuse(&self.name, "there is no such file".into()),
            _ => Error::io(path, e),
        })?;
        match metadata.is_dir() && !flat && !has_folders(path) {
            true => Err(refuse(
                &self.name,
                format!(
                    "this is a folder: give its files, as in '{}/*.csv', or put texts into a folder for each class",
                    self.name.trim_end_matches('/')
                ),
            )),
            false => Ok(()),
        }
    }

    /// Where it is, unless it is a pipe.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The folder, if it is one.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Path(path) if path.is_dir() => Some(path),
            _ => None,
        }
    }

    /// The size of the raw bytes, if it is known.
    pub fn len(&self) -> Option<u64> {
        match &self.place {
            // A pipe or device has no length.
            Place::Path(path) => std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len()),
            Place::Once(once) => once.len(),
            Place::Batches(_) => None,
        }
    }

    /// Lets the source be read more than once.
    pub fn make_rereadable(&self) -> Result<()> {
        match &self.place {
            Place::Path(_) => Ok(()),
            Place::Once(once) => once.spool().map(|_| ()).map_err(|e| self.failed(e)),
            Place::Batches(batches) => batches.make_rereadable(),
        }
    }

    /// The decompressed bytes, from the beginning.
    pub fn bytes(&self, purpose: Purpose, counter: &Counter) -> Result<Bytes> {
        decompress(Box::new(Counted { inner: self.raw(purpose)?, counter: counter.clone() }))
            .map_err(|e| self.failed(e))
    }

    fn raw(&self, purpose: Purpose) -> Result<Bytes> {
        let bytes = match (&self.place, purpose) {
            (Place::Path(path), _) => File::open(path).map(|file| Box::new(file) as Bytes),
            (Place::Once(once), Purpose::Look) => once.peek(),
            (Place::Once(once), Purpose::Read) => once.take(),
            (Place::Batches(_), _) => Err(io::Error::other("these are record batches, not bytes")),
        };
        bytes.map_err(|e| self.failed(e))
    }

    /// The decompressed bytes as a file that can be read from any place. Streams and compressed
    /// files go to a temporary file first, once.
    pub fn seekable(&self) -> Result<File> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(|e| e.into_inner());
        let file = match &*unpacked {
            Some(file) => file.try_clone(),
            None => self.unpack(&mut unpacked),
        };
        file.map_err(|e| self.failed(e))
    }

    fn unpack(&self, unpacked: &mut Option<Arc<File>>) -> io::Result<File> {
        let raw = match &self.place {
            Place::Path(path) => Arc::new(File::open(path)?),
            Place::Once(once) => once.spool()?,
            Place::Batches(_) => return Err(io::Error::other("these are record batches, not bytes")),
        };
        let mut start = Vec::new();
        Positioned::new(raw.clone()).take(4).read_to_end(&mut start)?;
        if !is_compressed(&start) {
            return raw.try_clone();
        }
        let file = Arc::new(spool(decompress(Box::new(Positioned::new(raw)))?)?);
        unpacked.insert(file).try_clone()
    }

    /// The error of a failed read.
    pub fn failed(&self, e: io::Error) -> Error {
        read_error(&self.name, e)
    }

    /// The error of a file that is not as it should be.
    pub fn refuse(&self, message: impl Into<String>) -> Error {
        refuse(&self.name, message.into())
    }
}

struct Counted {
    inner: Bytes,
    counter: Counter,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.counter.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
