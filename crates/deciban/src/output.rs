//! Output files that are written whole or not at all.
//!
//! A [`Pending`] file is a temporary one in the same folder. [`Pending::commit`] flushes it to the disk
//! and gives it its name; until then, whatever has that name stays as it is. A symbolic link stays a link
//! and its target is replaced, with the mode and, where permitted, the owner of the file that was there.
//! Devices, pipes and `/dev/stdout` are written into, never replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use crate::error::{Error, Result};

/// Where the bytes of an output path go.
enum Place {
    /// A file, new or to be replaced, behind all links.
    File(PathBuf),
    /// A device or a pipe, which is opened and written into.
    Stream(PathBuf),
    /// An open file of this process, by its number.
    Open(PathBuf, u32),
}

/// A file that is being written.
///
/// ```
/// use std::io::Write;
/// use deciban::output::Pending;
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("scores.csv");
/// let mut pending = Pending::new(&path)?;
/// pending.write_all(b"a,b\n").unwrap();
/// assert!(!path.exists());
/// pending.commit()?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n");
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Debug)]
pub struct Pending {
    /// The path as the caller knows it, for errors.
    path: PathBuf,
    /// `None` after [`commit`](Pending::commit).
    writer: Option<BufWriter<File>>,
    /// `None` for what is written into.
    temporary: Option<Temporary>,
}

/// A temporary file and the name it will take; dropped, it is removed.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    target: PathBuf,
}

impl Pending {
    /// Opens a temporary file for `path`, or the device that `path` is.
    pub fn new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let refuse = |e: io::Error| failed(path, e);
        let (file, temporary) = match place(path)? {
            Place::File(target) => {
                let (file, temporary) = Temporary::new(path, target)?;
                (file, Some(temporary))
            }
            Place::Stream(target) => (OpenOptions::new().write(true).open(target).map_err(refuse)?, None),
            Place::Open(target, number) => (open_number(&target, number).map_err(refuse)?, None),
        };
        Ok(Pending { path: path.into(), writer: Some(BufWriter::with_capacity(1 << 16, file)), temporary })
    }

    /// Flushes the file to the disk and gives it its name.
    pub fn commit(mut self) -> Result<()> {
        let refuse = |e: io::Error| failed(&self.path, e);
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let file = writer.into_inner().map_err(|e| refuse(e.into_error()))?;
        if let Some(temporary) = self.temporary.take() {
            file.sync_all().map_err(refuse)?;
            drop(file);
            temporary.rename().map_err(refuse)?;
        }
        Ok(())
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.as_mut().map_or(Ok(0), |writer| writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // What a buffer still holds would only be written into a file that is about to go.
        if self.temporary.is_some()
            && let Some(writer) = self.writer.take()
        {
            drop(writer.into_parts());
        }
    }
}

/// Writes a file, whole or not at all.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let mut pending = Pending::new(path)?;
    let written = pending.write_all(bytes);
    written.map_err(|e| failed(&pending.path, e))?;
    pending.commit()
}

/// Whether `path` can be written, so that a long work does not end in an error: its folder exists and takes
/// new files, and a file that is there may be changed.
///
/// ```
/// let error = deciban::output::check("no/such/folder/model.deciban").unwrap_err().to_string();
/// assert_eq!(error, "no/such/folder/model.deciban: the folder `no/such/folder` does not exist");
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    match place(path)? {
        Place::File(target) => Temporary::new(path, target).map(drop),
        // Opening a pipe would wait for its reader.
        Place::Stream(_) | Place::Open(..) => Ok(()),
    }
}

/// Whether two paths are one file, by whatever names and links. Devices and pipes are never the same: what
/// is read from a terminal is not what is written to it.
pub fn is_same_file(a: impl AsRef<Path>, b: impl AsRef<Path>) -> bool {
    let (a, b) = (a.as_ref(), b.as_ref());
    let (Ok(first), Ok(second)) = (fs::metadata(a), fs::metadata(b)) else { return false };
    first.is_file() && second.is_file() && system::is_same(a, &first, b, &second)
}

/// Removes the temporary files of this process, just before it ends: after Ctrl-C, or for want of memory. It
/// must not be called inside a signal handler, since it takes a lock. It does not wait for long: the thread that
/// calls it may be the one that holds the lock.
pub fn remove_pending() {
    let own = std::process::id();
    for _ in 0..100 {
        let mut pending = match PENDING.try_lock() {
            Ok(pending) => pending,
            Err(TryLockError::Poisoned(pending)) => pending.into_inner(),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        for (_, path) in pending.drain(..).filter(|(process, _)| *process == own) {
            let _ = fs::remove_file(path);
        }
        return;
    }
}

/// Temporary files, each with the process that made it: one that was forked knows its parent's.
static PENDING: Mutex<Vec<(u32, PathBuf)>> = Mutex::new(Vec::new());

fn pending() -> MutexGuard<'static, Vec<(u32, PathBuf)>> {
    PENDING.lock().unwrap_or_else(|e| e.into_inner())
}

impl Temporary {
    /// A new file beside `target`, with the mode and owner of the file that is there. `path` is the
    /// target's name in errors.
    fn new(path: &Path, target: PathBuf) -> Result<(File, Temporary)> {
        let old = match fs::metadata(&target) {
            Ok(old) => {
                // Renaming needs no permission on the file itself; replacing what is protected would surprise.
                OpenOptions::new().write(true).open(&target).map_err(|e| failed(path, e))?;
                Some(old)
            }
            Err(_) => None,
        };
        let folder = folder_of(&target);
        if !folder.is_dir() {
            return Err(refused(path, format!("the folder `{}` does not exist", folder.display())));
        }
        let (file, temporary) = Temporary::create(folder, &target).map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => {
                refused(path, format!("the folder `{}` does not allow new files", folder.display()))
            }
            _ => failed(path, e),
        })?;
        if let Some(old) = old {
            system::keep_owner_and_mode(&file, &old).map_err(|e| failed(path, e))?;
        }
        Ok((file, temporary))
    }

    /// A file of a name that nobody has, however many processes and threads write here.
    fn create(folder: &Path, target: &Path) -> io::Result<(File, Temporary)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".deciban-{}-{number}.tmp", std::process::id()));
            let mut all = pending();
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    all.push((std::process::id(), path.clone()));
                    return Ok((file, Temporary { path, target: target.into() }));
                }
                // Left by a process that was killed, or made on another machine.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn rename(self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        // The name is safe once the folder is. Not every system can say so.
        let _ = File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let mut all = pending();
        if let Some(place) = all.iter().position(|(_, path)| *path == self.path) {
            all.swap_remove(place);
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// The kind alone: the system's word may name the temporary file.
fn failed(path: &Path, error: io::Error) -> Error {
    Error::io(path, error.kind().into())
}

fn refused(path: &Path, message: String) -> Error {
    Error::File { path: path.display().to_string(), message }
}

/// The folder of a file, which may be the present one.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Follows links as far as they go; the last one may lead to a file that is not there yet.
fn place(path: &Path) -> Result<Place> {
    /// Links that lead in a circle are given up.
    const MOST_LINKS: usize = 40;
    if path.file_name().is_none() {
        return Err(refused(path, "this is not the name of a file".into()));
    }
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        // `/dev/stdout`, `/dev/fd/3`: links that lead to an open file, whatever its name.
        if let Some(number) = open_file(&target) {
            return Ok(Place::Open(target, number));
        }
        match fs::read_link(&target) {
            Ok(link) => target = folder_of(&target).join(link),
            Err(_) => {
                return match fs::metadata(&target) {
                    Ok(found) if found.is_dir() => {
                        Err(refused(path, "this is a folder: give the name of a file".into()))
                    }
                    Ok(found) if !found.is_file() => Ok(Place::Stream(target)),
                    _ => Ok(Place::File(target)),
                };
            }
        }
    }
    Err(refused(path, "its links lead in a circle".into()))
}

/// The number of the open file that a path in `/proc/PROCESS/fd` is.
fn open_file(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = folder_of(path).canonicalize().ok()?;
    (folder.starts_with("/proc") && folder.ends_with("fd")).then_some(number)
}

/// An open file, to be written behind what it holds.
fn open_number(path: &Path, number: u32) -> io::Result<File> {
    match system::standard(number) {
        Some(file) => file,
        None => OpenOptions::new().append(true).open(path),
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, fchown};
    use std::path::Path;

    pub fn is_same(_: &Path, a: &Metadata, _: &Path, b: &Metadata) -> bool {
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }

    /// The owner first: to change it takes bits off the mode.
    pub fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) && fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
            // Only the superuser may give files away; one's own groups are free to choose.
            let _ = fchown(file, None, Some(old.gid()));
        }
        file.set_permissions(old.permissions())
    }

    /// Standard output or standard error, which go on where they are.
    pub fn standard(number: u32) -> Option<io::Result<File>> {
        let copy = match number {
            1 => io::stdout().as_fd().try_clone_to_owned(),
            2 => io::stderr().as_fd().try_clone_to_owned(),
            _ => return None,
        };
        Some(copy.map(File::from))
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::Path;

    pub fn is_same(a: &Path, _: &Metadata, b: &Path, _: &Metadata) -> bool {
        matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
    }

    pub fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
        file.set_permissions(old.permissions())
    }

    pub fn standard(_: u32) -> Option<io::Result<File>> {
        None
    }
}
