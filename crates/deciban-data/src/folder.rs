//! A folder with one folder per class: each file below them is one row, its text in the column `text`,
//! the name of its folder in the column `class`. Classes and files come in the order of their names;
//! the files of a chunk are read where it is parsed, by several threads at once. Files whose names begin with a dot,
//! and files that lie beside the folders of the classes, are left out.
//!
//! [Documents](crate::document) are rows of the same sort without a class.

use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;

use deciban::Result;

use crate::cells::Parsed;
use crate::decompress::{decompress, is_compressed};
use crate::document::texts_of;
use crate::layout::Layout;
use crate::plan::Plan;
use crate::source::{Counter, Source};
use crate::table::{Chunk, Table};
use crate::words;

/// The name of the column with the classes.
pub(crate) const CLASS: &str = "class";

/// The most files of a chunk.
const MOST: usize = 4096;

struct Folder {
    /// The class, if there is one, and the text.
    names: Vec<String>,
    classes: Arc<Vec<String>>,
    files: Arc<Vec<Found>>,
    /// The place of the file that comes next.
    next: usize,
    counter: Counter,
}

/// A file, the place of its class, and its size.
#[derive(Clone)]
pub(crate) struct Found {
    class: usize,
    path: PathBuf,
    size: u64,
}

/// What lies in a folder: the classes, and their files.
#[derive(Clone)]
pub(crate) struct Listing {
    classes: Arc<Vec<String>>,
    files: Arc<Vec<Found>>,
}

/// Some files, not yet read.
pub(crate) struct Texts {
    classes: Arc<Vec<String>>,
    all: Arc<Vec<Found>>,
    range: Range<usize>,
}

impl Texts {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.range.len()
    }
}

/// Whether there are folders in the folder.
pub(crate) fn has_folders(path: &Path) -> bool {
    entries(path).is_ok_and(|entries| entries.iter().any(is_folder))
}

/// Finds the files, once for each source.
pub(crate) fn open(path: &Path, source: &Source, counter: &Counter) -> Result<Box<dyn Table>> {
    let Listing { classes, files } = match source.listing.get() {
        Some(listing) => listing.clone(),
        None => {
            let listing = list(path).map_err(|e| source.failed(e))?;
            source.listing.get_or_init(|| listing).clone()
        }
    };
    let names = [CLASS, "text"].map(String::from).to_vec();
    Ok(Box::new(Folder { names, classes, files, next: 0, counter: counter.clone() }))
}

/// Texts without a class, in a column of this name.
pub(crate) fn open_documents(column: &str, source: &Source, counter: &Counter) -> Result<Box<dyn Table>> {
    let files = texts_of(source)?.into_iter().map(|(path, size)| Found { class: 0, path, size }).collect();
    let (names, classes) = (vec![column.to_string()], Arc::default());
    Ok(Box::new(Folder { names, classes, files: Arc::new(files), next: 0, counter: counter.clone() }))
}

/// The files of a folder and their sizes, by name.
pub(crate) fn files_in(path: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in entries(path)? {
        let metadata = fs::metadata(entry.path())?;
        if metadata.is_file() {
            files.push((entry.path(), metadata.len()));
        }
    }
    Ok(files)
}

fn list(path: &Path) -> io::Result<Listing> {
    let (mut classes, mut files) = (Vec::new(), Vec::new());
    for folder in entries(path)?.into_iter().filter(is_folder) {
        let before = files.len();
        walk(&folder.path(), classes.len(), &mut files)?;
        if files.len() > before {
            classes.push(folder.file_name().to_string_lossy().into_owned());
        }
    }
    add_sizes(&mut files)?;
    Ok(Listing { classes: Arc::new(classes), files: Arc::new(files) })
}

/// What lies in a folder, by name, without what is hidden.
fn entries(path: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            entries.push((name, entry));
        }
    }
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Whether it is a folder, or a link to one.
fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir() || (kind.is_symlink() && entry.path().is_dir()))
}

/// The files below a folder, without their sizes. Links to folders are not followed: they may lead back.
fn walk(folder: &Path, class: usize, files: &mut Vec<Found>) -> io::Result<()> {
    for entry in entries(folder)? {
        // The system knows what most entries are without a look at each.
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() {
            walk(&path, class, files)?;
        } else if kind.is_file() || (kind.is_symlink() && fs::metadata(&path)?.is_file()) {
            files.push(Found { class, path, size: 0 });
        }
    }
    Ok(())
}

/// Asks for the sizes of files.
fn add_sizes(files: &mut [Found]) -> io::Result<()> {
    let ask = |files: &mut [Found]| -> io::Result<()> {
        for file in files {
            file.size = fs::metadata(&file.path)?.len();
        }
        Ok(())
    };
    let part = part_of(files.len());
    at_once(files.chunks_mut(part), ask).into_iter().collect()
}

/// So many threads wait for files at once, more than there are processors: a disk has many answers in the time of one.
/// They are threads of their own, since nobody knows which thread asks, and those of the pool have other work.
const WAITING: usize = 8;

/// Fewer files than these are not worth a thread.
const FEW: usize = 64;

/// How many of some files each of the threads takes.
fn part_of(files: usize) -> usize {
    files.div_ceil(WAITING).max(FEW)
}

/// Does some work with each part, several of them at once, and gives what they give in order.
fn at_once<P: Send, T: Send>(parts: impl ExactSizeIterator<Item = P> + Send, work: impl Fn(P) -> T + Sync) -> Vec<T> {
    let others = 1..parts.len().min(WAITING);
    let parts = Mutex::new(parts.enumerate());
    let next = || parts.lock().ok()?.next();
    let take = || {
        let mut done = Vec::new();
        while let Some((place, part)) = next() {
            done.push((place, work(part)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        // A thread that cannot be started leaves its parts to the others.
        let others: Vec<_> = others.filter_map(|_| thread::Builder::new().spawn_scoped(scope, take).ok()).collect();
        let mut done = take();
        others.into_iter().for_each(|other| done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, of_part)| of_part).collect()
}

impl Table for Folder {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        let (start, mut bytes) = (self.next, 0);
        while self.next < self.files.len().min(start + MOST) && bytes < block as u64 {
            bytes += self.files[self.next].size.max(1);
            self.next += 1;
        }
        self.counter.fetch_add(bytes, Ordering::Relaxed);
        let (classes, all, range) = (self.classes.clone(), self.files.clone(), start..self.next);
        Ok((!range.is_empty()).then(|| Chunk::Texts(Texts { classes, all, range })))
    }
}

/// Reads the files of a chunk.
pub(crate) fn parse(texts: Texts, plan: &Plan, layout: &Layout) -> Parsed {
    let mut parsed = Parsed::new(plan, texts.rows());
    let slots = |place: usize| {
        let also = layout.also.iter().filter(move |(also, _)| *also == place).map(|(_, slot)| *slot);
        layout.slots[place].into_iter().chain(also)
    };
    let last = layout.slots.len() - 1; // The text is always there.
    let push = |parsed: &mut Parsed, Found { class, path, .. }: &Found, text: &[u8]| -> Result<(), String> {
        if let (1, Some(class)) = (last, texts.classes.get(*class)) {
            slots(0).try_for_each(|slot| parsed.push_text(slot, class.as_bytes(), plan))?;
        }
        slots(last).try_for_each(|slot| parsed.push_text(slot, text, plan))?;
        if plan.keep_file {
            parsed.files.push(path.display().to_string());
        }
        Ok(())
    };
    let files = &texts.all[texts.range.clone()];
    let is_wanted = layout.slots[last].is_some();
    let read = at_once(files.chunks(part_of(files.len())), |part| read_part(part, is_wanted));
    'all: for (part, (found, fault)) in files.chunks(part_of(files.len())).zip(read) {
        for (file, text) in part.iter().zip(found.iter()) {
            if let Err(message) = push(&mut parsed, file, text) {
                parsed.blame(parsed.rows as u64, None, message);
                break 'all;
            }
            parsed.rows += 1;
        }
        if let Some(message) = fault {
            parsed.blame(parsed.rows as u64, None, message);
            break;
        }
    }
    parsed.line_count = parsed.rows as u64;
    parsed
}

/// The texts of some files, up to the first that cannot be read, and why it cannot. Where they are not wanted, they are
/// empty.
fn read_part(files: &[Found], is_wanted: bool) -> (words::Texts, Option<String>) {
    let (mut found, mut text) = (words::Texts::default(), Vec::new());
    for Found { path, size, .. } in files {
        if is_wanted && let Err(e) = read_text(path, *size, &mut text) {
            return (found, Some(format!("{}: {e}", path.display())));
        }
        found.push(&text);
    }
    (found, None)
}

/// Reads a file of about this size, behind its compression. Small files cost the calls of the system: this takes
/// three.
fn read_text(path: &Path, size: u64, text: &mut Vec<u8>) -> io::Result<()> {
    let mut file = File::open(path)?;
    // One byte more: a read that does not fill its buffer has come to the end.
    text.resize(size as usize + 1, 0);
    let mut length = 0;
    loop {
        match file.read(&mut text[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        if length as u64 == size {
            break;
        }
        if length == text.len() {
            text.resize(2 * length, 0); // It has grown.
        }
    }
    text.truncate(length);
    if is_compressed(text) {
        let packed = std::mem::take(text);
        decompress(Box::new(io::Cursor::new(packed)))?.read_to_end(text)?;
    }
    Ok(())
}
