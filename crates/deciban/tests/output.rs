//! Output files: whole or not at all, through links, never in place of a device or of an input.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use deciban::output::{self, Held, Pending};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_file_is_there_at_the_end_or_not_at_all() {
    let folder = folder();
    let path = folder.path().join("a");
    let mut pending = Pending::new(&path).unwrap();
    pending.write_all(b"new").unwrap();
    pending.flush().unwrap();
    assert!(!path.exists());
    pending.commit().unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["a".to_string()]));
    let mut dropped = Pending::new(&path).unwrap();
    dropped.write_all(b"half").unwrap();
    if cfg!(target_os = "linux") {
        assert_eq!(names(folder.path()), ["a"], "a file without a name vanishes with the process");
    }
    drop(dropped);
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["a".to_string()]));
}

#[test]
fn writers_of_one_file_do_not_meet() {
    let folder = folder();
    let path = folder.path().join("a");
    std::thread::scope(|scope| {
        for letter in b'a'..=b'h' {
            let path = &path;
            scope.spawn(move || (0..50).for_each(|_| output::write(path, &[letter; 5000]).unwrap()));
        }
    });
    let found = fs::read(&path).unwrap();
    assert!(found.len() == 5000 && found.iter().all(|byte| *byte == found[0]));
    assert_eq!(names(folder.path()), ["a"]);
}

#[test]
fn links_stay_and_their_targets_are_replaced() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("inner")).unwrap();
    fs::write(at("inner/file"), "old").unwrap();
    symlink("inner/file", at("link")).unwrap();
    symlink("link", at("link-to-link")).unwrap();
    output::write(at("link-to-link"), b"new").unwrap();
    assert_eq!(fs::read(at("inner/file")).unwrap(), b"new");
    assert!(at("link").is_symlink() && at("link-to-link").is_symlink());
    // A link to a file that is not there yet.
    symlink("inner/later", at("early")).unwrap();
    output::check(at("early")).unwrap();
    output::write(at("early"), b"now").unwrap();
    assert!(at("early").is_symlink());
    assert_eq!(fs::read(at("inner/later")).unwrap(), b"now");
    symlink("circle", at("circle")).unwrap();
    let error = output::write(at("circle"), b"").unwrap_err().to_string();
    assert!(error.ends_with("circle: its links lead in a circle"), "{error}");
}

#[test]
fn mode_and_owner_are_kept_and_new_files_follow_the_umask() {
    let folder = folder();
    let path = folder.path().join("a");
    fs::write(&path, "old").unwrap();
    for bits in [0o600, 0o640, 0o755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        output::write(&path, b"new").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (bits, b"new".to_vec()));
    }
    // What the system gives any new file.
    let (plain, new) = (folder.path().join("plain"), folder.path().join("new"));
    fs::File::create(&plain).unwrap();
    output::write(&new, b"").unwrap();
    assert_eq!(mode(&new), mode(&plain));
    // Only the superuser may give a file away.
    if std::os::unix::fs::chown(&path, Some(12345), Some(54321)).is_ok() {
        output::write(&path, b"again").unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid(), mode(&path)), (12345, 54321, 0o755));
    }
}

#[test]
fn devices_and_pipes_are_written_into() {
    let null = fs::metadata("/dev/null").unwrap();
    output::check("/dev/null").unwrap();
    output::write("/dev/null", b"gone").unwrap();
    assert_eq!(fs::metadata("/dev/null").unwrap().ino(), null.ino());
    if Path::new("/dev/full").exists() {
        let error = output::write("/dev/full", b"much").unwrap_err().to_string();
        assert!(error.starts_with("/dev/full: no storage space"), "{error}");
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    output::check(&pipe).unwrap();
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || {
            let mut text = String::new();
            fs::File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
            text
        })
    };
    output::write(&pipe, b"through").unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert!(!fs::metadata(&pipe).unwrap().is_file());
    assert_eq!(names(folder.path()), ["pipe"]);
}

/// Does nothing but for the test below, which runs it in a process of its own.
#[test]
fn standard_output_of_a_child() {
    if std::env::var_os("DECIBAN_TEST_STDOUT").is_some() {
        output::check("/dev/stdout").unwrap();
        output::write("/dev/stdout", b"one\n").unwrap();
        output::write("/dev/fd/1", b"two\n").unwrap();
        output::write("/dev/stderr", b"three\n").unwrap();
    }
}

#[test]
fn standard_output_goes_on_where_it_is() {
    let folder = folder();
    let path = folder.path().join("out");
    fs::write(&path, "before\n").unwrap();
    let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "--nocapture", "output::standard_output_of_a_child"]).env("DECIBAN_TEST_STDOUT", "1");
    let output = child.stdout(file).output().unwrap();
    assert!(output.status.success());
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("before\n") && text.contains("one\ntwo\n"), "{text}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("three\n"));
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn what_cannot_be_written_is_found_before_the_work() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let error = |path: PathBuf| {
        let checked = output::check(&path).unwrap_err().to_string();
        assert_eq!(Pending::new(&path).unwrap_err().to_string(), checked);
        checked.replace(&format!("{}/", folder.path().display()), "")
    };
    fs::create_dir(at("sub")).unwrap();
    assert_eq!(error(at("sub")), "sub: this is a folder: give the name of a file");
    assert_eq!(error(at("gone/a")), "gone/a: the folder `gone` does not exist");
    fs::write(at("file"), "").unwrap();
    assert_eq!(error(at("file/a")), "file/a: the folder `file` does not exist");
    output::check(at("a")).unwrap();
    assert_eq!(names(folder.path()), ["file", "sub"], "a check leaves nothing");
    // The superuser may do what modes forbid.
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(at("file")).is_err() {
        assert_eq!(error(at("file")), "file: permission denied");
        fs::set_permissions(at("sub"), fs::Permissions::from_mode(0o555)).unwrap();
        assert_eq!(error(at("sub/a")), "sub/a: the folder `sub` does not allow new files");
    }
}

#[test]
fn one_file_is_known_by_all_its_names() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a"), "").unwrap();
    fs::write(at("b"), "").unwrap();
    fs::create_dir(at("sub")).unwrap();
    symlink("a", at("link")).unwrap();
    fs::hard_link(at("a"), at("hard")).unwrap();
    for same in ["a", "link", "hard", "sub/../a"] {
        assert!(output::is_same_file(at("a"), at(same)), "{same}");
    }
    assert!(!output::is_same_file(at("a"), at("b")));
    assert!(!output::is_same_file(at("a"), at("none")) && !output::is_same_file(at("none"), at("none")));
    assert!(!output::is_same_file("/dev/null", "/dev/null"));
}

/// Does nothing but for the test below: other tests of this process have files pending, too.
#[test]
fn pending_files_of_a_child() {
    if let Some(path) = std::env::var_os("DECIBAN_TEST_PENDING") {
        let pending = Pending::new(path).unwrap();
        output::remove_pending();
        // No file gets a name any more: this waits for the end of the process.
        std::thread::spawn(|| pending.commit());
        std::thread::sleep(std::time::Duration::from_millis(200));
        std::process::exit(0);
    }
}

#[test]
fn pending_files_can_be_removed_from_outside() {
    let folder = folder();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "output::pending_files_of_a_child"]).env("DECIBAN_TEST_PENDING", folder.path().join("a"));
    assert!(child.output().unwrap().status.success());
    assert!(names(folder.path()).is_empty());
}

#[test]
fn temporary_files_of_processes_that_were_killed_are_removed() {
    let folder = folder();
    fs::write(folder.path().join(".deciban-4000000-0.tmp"), "half").unwrap();
    fs::write(folder.path().join(".deciban-mine"), "mine").unwrap();
    output::write(folder.path().join("a"), b"new").unwrap();
    assert_eq!(names(folder.path()), [".deciban-mine", "a"]);
}

#[test]
fn a_file_that_is_changed_by_many_at_once_loses_no_change() {
    let folder = folder();
    let path = folder.path().join("count");
    fs::write(&path, "0").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..25 {
                    let held = Held::new(path, || ()).unwrap();
                    let count: u32 = fs::read_to_string(path).unwrap().parse().unwrap();
                    held.replace((count + 1).to_string().as_bytes()).unwrap();
                }
            });
        }
    });
    assert_eq!((fs::read_to_string(&path).unwrap(), names(folder.path())), ("200".into(), vec!["count".to_string()]));
}

#[test]
fn a_file_that_another_program_has_changed_is_left_as_it_is() {
    let folder = folder();
    let path = folder.path().join("a");
    let copy = folder.path().join("b");
    let changes: [&dyn Fn(); 3] =
        [&|| fs::write(&path, "changed").unwrap(), &|| fs::rename(&copy, &path).unwrap(), &|| {
            fs::remove_file(&path).unwrap()
        }];
    for change in changes {
        fs::write(&path, "old").unwrap();
        fs::write(&copy, "old").unwrap();
        let held = Held::new(&path, || ()).unwrap();
        change();
        let after = fs::read(&path).ok();
        let error = held.replace(b"new").unwrap_err().to_string();
        assert!(
            error.ends_with("a: the file has changed since it was read, and is left as it is: run the command again")
        );
        assert_eq!(fs::read(&path).ok(), after);
    }
    assert!(Held::new(&path, || ()).unwrap_err().to_string().contains("there is no such file"));
}
