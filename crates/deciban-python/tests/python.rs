//! Runs the tests of the Python package, which are written in Python, with the extension module that cargo
//! has just built: no compiler runs a second time, and the second run of this test takes seconds.
//!
//! The interpreter is `DECIBAN_PYTHON`, or `python3`. What the tests need (`requirements.txt`) is installed
//! into `target/python/venv`, once for each version of that list.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `target/`, and in it the folder where cargo puts the libraries that tests link with.
fn target() -> (PathBuf, PathBuf) {
    let test = std::env::current_exe().expect("a test has a path");
    // target/release/deps/python-0123456789abcdef
    let deps = test.parent().expect("a folder").to_path_buf();
    (deps.ancestors().nth(2).expect("target").to_path_buf(), deps)
}

fn run(what: &str, command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{what}: {command:?}: {e}"));
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{what} failed:\n{}\n{}", told(&output.stdout), told(&output.stderr));
    println!("{}", told(&output.stdout));
}

/// The interpreter of an environment that has what `requirements.txt` lists.
fn environment(target: &Path, tests: &Path) -> PathBuf {
    let folder = target.join("python/venv");
    let python = folder.join("bin/python");
    let (wanted, done) = (tests.join("requirements.txt"), folder.join("requirements.txt"));
    let list = fs::read_to_string(&wanted).expect("the list of requirements");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == list) {
        return python;
    }
    let base = std::env::var_os("DECIBAN_PYTHON").unwrap_or_else(|| "python3".into());
    run("making an environment", Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder));
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        "-r",
    ];
    run("installing what the tests need", Command::new(&python).args(pip).arg(&wanted));
    fs::write(done, list).expect("a note of what is installed");
    python
}

fn copy_sources(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for the package");
    for entry in fs::read_dir(from).expect("the Python sources") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("a name"));
        match path.extension().and_then(|e| e.to_str()) {
            None if path.is_dir() && !path.ends_with("__pycache__") => copy_sources(&path, &copy),
            Some("py" | "pyi" | "typed") => drop(fs::copy(&path, &copy).expect("a copy")),
            _ => {}
        }
    }
}

/// A folder to import `deciban` from: the sources, and the library that cargo has built.
fn package(target: &Path, deps: &Path, crate_: &Path) -> PathBuf {
    let folder = target.join("python/lib");
    let _ = fs::remove_dir_all(&folder);
    copy_sources(&crate_.join("python/deciban"), &folder.join("deciban"));
    let built = deps.join(format!("{}_core{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX));
    fs::copy(&built, folder.join("deciban/_core.abi3.so")).unwrap_or_else(|e| panic!("{}: {e}", built.display()));
    folder
}

#[test]
fn the_tests_in_python_pass() {
    let crate_ = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = crate_.join("tests");
    let (target, deps) = target();
    let python = environment(&target, &tests);
    let package = package(&target, &deps, crate_);
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5"]).arg(&tests);
    pytest.env("PYTHONPATH", package).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(&tests);
    run("pytest", &mut pytest);
}
