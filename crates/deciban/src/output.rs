//! Output files that are written whole or not at all.
//!
//! A [`Pending`] file is a temporary one in the same folder. [`Pending::commit`] flushes it to the disk
//! and gives it its name; until then, whatever has that name stays as it is. A symbolic link stays a link
//! and its target is replaced, with the mode and, where permitted, the owner of the file that was there.
//! Devices, pipes and `/dev/stdout` are written into, never replaced.
//!
//! Where the system has files without a name (`O_TMPFILE` of Linux), a temporary file is one: it vanishes with its
//! process, however that ends. It gets a name just before it replaces the target, which a link cannot do. Elsewhere it
//! has a name from the beginning. The writer of a file with such a name holds a lock on it. One without a lock was left
//! by a process that was killed, and the next process that writes into the folder removes it.
//!
//! A [`Held`] file is read, changed and replaced by one process at a time.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
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
    /// Its own name, once it has one.
    path: Option<PathBuf>,
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
    pub fn commit(self) -> Result<()> {
        self.commit_if(|_| Ok(()))
    }

    /// Commits unless a last look at the target, just before it is replaced, finds a fault.
    fn commit_if(mut self, look: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let refuse = |e: io::Error| failed(&self.path, e);
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let file = writer.into_inner().map_err(|e| refuse(e.into_error()))?;
        if let Some(temporary) = self.temporary.take() {
            file.sync_all().map_err(refuse)?;
            look(&temporary.target)?;
            let folder = folder_of(&temporary.target).to_path_buf();
            temporary.rename(&file).map_err(refuse)?;
            // The name is safe once the folder is.
            flushed(File::open(folder).and_then(|folder| folder.sync_all())).map_err(|e| {
                let message = "the file is written, but its folder could not be flushed to the disk: after a power \
                               failure the file may be gone";
                refused(&self.path, format!("{message} ({e})"))
            })?;
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
    filled(path.as_ref(), bytes)?.commit()
}

/// A pending file with all its bytes.
fn filled(path: &Path, bytes: &[u8]) -> Result<Pending> {
    let mut pending = Pending::new(path)?;
    pending.write_all(bytes).map_err(|e| failed(path, e))?;
    Ok(pending)
}

/// What a flush of a folder says. Some systems cannot flush folders, and some folders may be written but not read.
fn flushed(result: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match result {
        Err(e) if matches!(e.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        result => result,
    }
}

/// A file that is to be read, changed and replaced. While one process holds it, others that ask for it wait, so that no
/// change is lost. What another program does to the file meanwhile is noticed.
///
/// ```
/// use deciban::output::Held;
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("count");
/// std::fs::write(&path, "1").unwrap();
/// let held = Held::new(&path, || eprintln!("waiting"))?;
/// let count: u32 = std::fs::read_to_string(&path).unwrap().parse().unwrap();
/// held.replace((count + 1).to_string().as_bytes())?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"2");
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    /// The file with its lock, and what it was like; `None` for a device or a pipe.
    file: Option<(File, Metadata)>,
}

impl Held {
    /// Waits until no other process holds the file; `waits` is called if it has to.
    pub fn new(path: impl AsRef<Path>, waits: impl FnOnce()) -> Result<Self> {
        let path = path.as_ref();
        let Place::File(target) = place(path)? else { return Ok(Held { path: path.into(), file: None }) };
        let mut waits = Some(waits);
        loop {
            // To be written, too: some systems lock only such files.
            let file = OpenOptions::new().read(true).write(true).open(&target).map_err(|e| failed(path, e))?;
            // Where files cannot be locked, a change is still noticed.
            if let Ok(false) = system::try_lock(&file) {
                waits.take().into_iter().for_each(|waits| waits());
                let _ = system::lock(&file);
            }
            let found = file.metadata().map_err(|e| failed(path, e))?;
            // Who had it has put another file in its place.
            if fs::metadata(&target).is_ok_and(|now| system::is_same(&target, &found, &target, &now)) {
                return Ok(Held { path: path.into(), file: Some((file, found)) });
            }
        }
    }

    /// Replaces the file, whole or not at all, unless it has changed since it was asked for.
    pub fn replace(self, bytes: &[u8]) -> Result<()> {
        let Some((_file, found)) = &self.file else { return write(&self.path, bytes) };
        filled(&self.path, bytes)?.commit_if(|target| {
            let is_found = |now: Metadata| {
                system::is_same(target, found, target, &now)
                    && (found.len(), found.modified().ok()) == (now.len(), now.modified().ok())
            };
            match fs::metadata(target).is_ok_and(is_found) {
                true => Ok(()),
                false => Err(refused(
                    &self.path,
                    "the file has changed since it was read, and is left as it is: run the command again".into(),
                )),
            }
        })
    }
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

/// Removes the temporary files of this process, just before it ends: after Ctrl-C, or for want of memory. From then on
/// no file of this process gets a name: a thread that is about to give one waits for the end. It must not be called
/// inside a signal handler, since it takes a lock. It does not wait for long: the thread that calls it may be the one
/// that holds the lock.
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
        std::mem::forget(pending);
        return;
    }
}

/// The temporary files that have a name, each with the process that made it: one that was forked knows its parent's.
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
        remove_stale(folder);
        let made = match system::unnamed(folder) {
            Some(file) => Ok((file, None)),
            None => named(&mut pending(), folder, create).map(|(file, path)| (file, Some(path))),
        };
        let (file, own) = made.map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => {
                refused(path, format!("the folder `{}` does not allow new files", folder.display()))
            }
            _ => failed(path, e),
        })?;
        let temporary = Temporary { path: own, target };
        if let Some(old) = old {
            system::keep_owner_and_mode(&file, &old).map_err(|e| failed(path, e))?;
        }
        Ok((file, temporary))
    }

    /// Puts the file in the place of its target.
    fn rename(mut self, file: &File) -> io::Result<()> {
        // Until the end, so that an interrupt comes before the name or after it.
        let mut all = pending();
        let path = match self.path.take() {
            Some(path) => path,
            None => {
                let _ = system::try_lock(file);
                named(&mut all, folder_of(&self.target), |path| system::link(file, path))?.1
            }
        };
        let renamed = fs::rename(&path, &self.target);
        if renamed.is_err() {
            let _ = fs::remove_file(&path);
        }
        all.retain(|(_, other)| *other != path);
        renamed
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut all = pending();
            all.retain(|(_, other)| *other != path);
            let _ = fs::remove_file(path);
        }
    }
}

/// How the names of temporary files begin and end.
const NAME: (&str, &str) = (".deciban-", ".tmp");

/// Makes a file of a name that nobody has, however many processes and threads write into the folder.
fn named<T>(
    all: &mut Vec<(u32, PathBuf)>,
    folder: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{}{}-{number}{}", NAME.0, std::process::id(), NAME.1));
        match make(&path) {
            Ok(made) => {
                all.push((std::process::id(), path.clone()));
                return Ok((made, path));
            }
            // Left by a process that was killed, or made on another machine.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// A new file with its lock.
fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    // Another process may have come first, and have removed the file as one without a lock.
    let is_lost = matches!(system::try_lock(&file), Ok(false)) || !path.exists();
    if is_lost { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(file) }
}

/// Removes the temporary files in a folder whose processes were killed. One look at a folder is enough for a process.
fn remove_stale(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !SEEN.lock().unwrap_or_else(|e| e.into_inner()).insert(folder.into()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = |name: &str| name.starts_with(NAME.0) && name.ends_with(NAME.1);
        if name.to_str().is_some_and(is_ours)
            && let Ok(file) = File::open(entry.path())
            && let Ok(true) = system::try_lock(&file)
        {
            let _ = fs::remove_file(entry.path());
        }
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
    #[cfg(target_os = "linux")]
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, fchown};
    use std::path::Path;
    #[cfg(target_os = "linux")]
    use std::path::PathBuf;

    #[cfg(target_os = "linux")]
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    #[cfg(not(target_os = "linux"))]
    pub use super::no_unnamed_files::{link, unnamed};

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

    /// Takes the lock of a file, if nobody has it.
    pub fn try_lock(file: &File) -> io::Result<bool> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits for the lock of a file.
    pub fn lock(file: &File) -> io::Result<()> {
        loop {
            match flock(file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    /// A file without a name in a folder; `None` if the system does not have such files, or could not name them later.
    #[cfg(target_os = "linux")]
    pub fn unnamed(folder: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok()?);
        own_path(&file).exists().then_some(file)
    }

    /// Gives a file without a name its name.
    #[cfg(target_os = "linux")]
    pub fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, own_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    #[cfg(target_os = "linux")]
    fn own_path(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
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

    pub use super::no_unnamed_files::{link, unnamed};

    /// Locks of other systems keep readers away, too.
    pub fn try_lock(_: &File) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn lock(_: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(target_os = "linux"))]
mod no_unnamed_files {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub fn unnamed(_: &Path) -> Option<File> {
        None
    }

    pub fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_names_are_removed_when_nobody_holds_them() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let (file, path) = named(&mut pending(), folder.path(), create).unwrap();
        remove_stale(folder.path());
        assert!(path.exists(), "its writer holds it");
        let temporary = Temporary { path: Some(path), target: folder.path().join("a") };
        temporary.rename(&file).unwrap();
        assert_eq!((names(), folder.path().join("a").exists()), (1, true));
        let (file, path) = named(&mut pending(), folder.path(), create).unwrap();
        drop(Temporary { path: Some(path), target: folder.path().join("a") });
        drop(file);
        assert_eq!(names(), 1);
        assert!(pending().is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_flushed_is_no_fault_and_an_error_of_the_disk_is_one() {
        for kind in [io::ErrorKind::InvalidInput, io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported] {
            flushed(Err(kind.into())).unwrap();
        }
        assert!(flushed(Err(io::Error::other("of the disk"))).is_err());
    }
}
