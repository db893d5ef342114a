//! A folder with one folder per class: each file below them is one row, its text in the column `text`,
//! the name of its folder in the column `class`. Classes and files come in the order of their names;
//! the files of a chunk are read where it is parsed, in parallel. Files whose names begin with a dot,
//! and files that lie beside the folders of the classes, are left out.
//!
//! [Documents](crate::document) are rows of the same sort without a class.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use deciban::Result;

use crate::cells::Parsed;
use crate::decompress::decompress;
use crate::document::texts_of;
use crate::layout::Layout;
use crate::plan::Plan;
use crate::source::{Counter, Source};
use crate::table::{Chunk, Table};

/// The name of the column with the classes.
pub(crate) const CLASS: &str = "class";

/// The most files of a chunk.
const MOST: usize = 4096;

struct Folder {
    /// The class, if there is one, and the text.
    names: Vec<String>,
    classes: Arc<Vec<String>>,
    /// The place of the class, the file and its size.
    files: std::vec::IntoIter<(usize, PathBuf, u64)>,
    counter: Counter,
}

/// Some files, not yet read.
pub(crate) struct Texts {
    classes: Arc<Vec<String>>,
    files: Vec<(usize, PathBuf)>,
}

impl Texts {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.files.len()
    }
}

/// Whether there are folders in the folder.
pub(crate) fn has_folders(path: &Path) -> bool {
    entries(path).is_ok_and(|entries| entries.iter().any(|entry| entry.is_dir()))
}

/// Finds the files.
pub(crate) fn open(path: &Path, source: &Source, counter: &Counter) -> Result<Box<dyn Table>> {
    let (mut classes, mut files) = (Vec::new(), Vec::new());
    let mut find = || -> io::Result<()> {
        for folder in entries(path)?.into_iter().filter(|entry| entry.is_dir()) {
            let before = files.len();
            walk(&folder, classes.len(), &mut files)?;
            if files.len() > before {
                classes.push(folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        Ok(())
    };
    find().map_err(|e| source.failed(e))?;
    let names = [CLASS, "text"].map(String::from).to_vec();
    Ok(Box::new(Folder { names, classes: Arc::new(classes), files: files.into_iter(), counter: counter.clone() }))
}

/// Texts without a class, in a column of this name.
pub(crate) fn open_documents(column: &str, source: &Source, counter: &Counter) -> Result<Box<dyn Table>> {
    let files: Vec<_> = texts_of(source)?.into_iter().map(|(path, size)| (0, path, size)).collect();
    let (names, classes) = (vec![column.to_string()], Arc::default());
    Ok(Box::new(Folder { names, classes, files: files.into_iter(), counter: counter.clone() }))
}

/// The files of a folder and their sizes, by name.
pub(crate) fn files_in(path: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in entries(path)? {
        let metadata = fs::metadata(&entry)?;
        if metadata.is_file() {
            files.push((entry, metadata.len()));
        }
    }
    Ok(files)
}

/// What lies in a folder, by name, without what is hidden.
fn entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok(entries)
}

/// The files below a folder. Links to folders are not followed: they may lead back.
fn walk(folder: &Path, class: usize, files: &mut Vec<(usize, PathBuf, u64)>) -> io::Result<()> {
    for entry in entries(folder)? {
        let metadata = fs::metadata(&entry)?;
        if metadata.is_file() {
            files.push((class, entry, metadata.len()));
        } else if metadata.is_dir() && !entry.is_symlink() {
            walk(&entry, class, files)?;
        }
    }
    Ok(())
}

impl Table for Folder {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        let (mut files, mut bytes) = (Vec::new(), 0);
        while files.len() < MOST && bytes < block as u64 {
            let Some((class, path, size)) = self.files.next() else { break };
            files.push((class, path));
            bytes += size.max(1);
        }
        self.counter.fetch_add(bytes, Ordering::Relaxed);
        let classes = self.classes.clone();
        Ok(Some(files).filter(|files| !files.is_empty()).map(|files| Chunk::Texts(Texts { classes, files })))
    }
}

/// Reads the files of a chunk.
pub(crate) fn parse(texts: Texts, plan: &Plan, layout: &Layout) -> Parsed {
    let mut parsed = Parsed::new(plan, texts.files.len());
    let mut text = Vec::new();
    for (class, path) in &texts.files {
        let mut read = || -> Result<(), String> {
            let slots = |place: usize| {
                let also = layout.also.iter().filter(move |(also, _)| *also == place).map(|(_, slot)| *slot);
                layout.slots[place].into_iter().chain(also)
            };
            let last = layout.slots.len() - 1; // The text is always there.
            if let (1, Some(class)) = (last, texts.classes.get(*class)) {
                slots(0).try_for_each(|slot| parsed.push_text(slot, class.as_bytes(), plan))?;
            }
            if layout.slots[last].is_some() {
                text.clear();
                let file = File::open(path).and_then(|file| decompress(Box::new(file)));
                let read = file.and_then(|mut file| file.read_to_end(&mut text));
                read.map_err(|e| format!("{}: {e}", path.display()))?;
                slots(last).try_for_each(|slot| parsed.push_text(slot, &text, plan))?;
            }
            if plan.keep_file {
                parsed.files.push(path.display().to_string());
            }
            Ok(())
        };
        if let Err(message) = read() {
            parsed.blame(parsed.rows as u64, None, message);
            break;
        }
        parsed.rows += 1;
    }
    parsed.line_count = parsed.rows as u64;
    parsed
}
