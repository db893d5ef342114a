//! The wheel, built as `pip install` builds it, and the tests in Python with it.
//!
//! The interpreter is `DECIBAN_PYTHON`, or `python3`. What the tests need (`requirements.txt`) is installed
//! into `target/python/venv`, once for each version of that list; the oldest scikit-learn that the package promises
//! (`requirements-oldest.txt`), with which the tests of the drop-ins are run again, into `target/python/oldest`. maturin builds in cargo's own target folder,
//! with the same features and the same configuration of PyO3, so that nothing but this crate is compiled for it.
//! Java, for Spark, and PostgreSQL are Debian's packages, installed where they are not there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// What the tests share: made once, by whichever comes first.
static BUILT: LazyLock<Built> = LazyLock::new(Built::new);

struct Built {
    /// Where environments are.
    folder: PathBuf,
    /// The interpreter that has what `requirements.txt` lists.
    python: PathBuf,
    wheel: PathBuf,
}

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn base() -> OsString {
    std::env::var_os("DECIBAN_PYTHON").unwrap_or_else(|| "python3".into())
}

fn run(what: &str, command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{what}: {command:?}: {e}"));
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{what} failed:\n{}\n{}", told(&output.stdout), told(&output.stderr));
    println!("{}", told(&output.stdout));
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]);
    pip
}

/// The interpreter of an environment that has what a list of requirements names.
fn environment(folder: PathBuf, requirements: &str) -> PathBuf {
    let python = folder.join("bin/python");
    let (wanted, done) = (crate_folder().join("tests").join(requirements), folder.join("requirements.txt"));
    let list = fs::read_to_string(&wanted).expect("the list of requirements");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == list) {
        return python;
    }
    run("making an environment", Command::new(base()).args(["-m", "venv", "--clear"]).arg(&folder));
    // Spark comes only as a source package, of Python files and jars.
    let install = ["install", "--no-compile", "--only-binary", ":all:", "--no-binary", "pyspark", "-r"];
    run("installing what the tests need", pip(&python).args(install).arg(&wanted));
    fs::write(done, list).expect("a note of what is installed");
    python
}

/// Debian's packages of what the tests ask and is not there.
fn install_servers() {
    let has_java = || Command::new("java").arg("-version").output().is_ok_and(|output| output.status.success());
    // The client alone has a folder there, too.
    let has_server = |version: fs::DirEntry| version.path().join("bin/initdb").exists();
    let has_postgres = || fs::read_dir("/usr/lib/postgresql").is_ok_and(|mut all| all.any(|v| v.is_ok_and(has_server)));
    let missing: Vec<&str> = [(has_java(), "openjdk-17-jre-headless"), (has_postgres(), "postgresql")]
        .into_iter()
        .filter_map(|(has, package)| (!has).then_some(package))
        .collect();
    if !missing.is_empty() {
        let apt = |arguments: &[&str]| Command::new("apt-get").args(arguments).output();
        let _ = apt(&["update"]);
        let _ = apt(&[&["install", "-y", "--no-install-recommends"], &missing[..]].concat());
    }
    assert!(has_java(), "Spark is tested with Java 17: apt-get install openjdk-17-jre-headless");
    assert!(has_postgres(), "queries are tested in PostgreSQL: apt-get install postgresql");
}

impl Built {
    fn new() -> Self {
        let test = std::env::current_exe().expect("a test has a path");
        // target/release/deps/python-0123456789abcdef
        let target = test.ancestors().nth(3).expect("target");
        let folder = target.join("python");
        let python = environment(folder.join("venv"), "requirements.txt");

        let wheels = folder.join("wheels");
        let _ = fs::remove_dir_all(&wheels);
        // maturin is a program beside the interpreter.
        let beside = python.parent().expect("bin").to_path_buf();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(beside).chain(std::env::split_paths(&path)));
        let mut build = pip(&python);
        build.args(["wheel", "--no-cache-dir", "--no-build-isolation", "--no-deps", "-w"]).arg(&wheels);
        build.arg(crate_folder()).env("PATH", path.expect("a path")).env("CARGO_TARGET_DIR", target);
        run("building the wheel", &mut build);
        let mut found = fs::read_dir(&wheels).expect("a folder with the wheel");
        let wheel = found.next().expect("a wheel").expect("an entry").path();
        Built { folder, python, wheel }
    }
}

/// In an environment that has nothing but NumPy besides.
#[test]
fn the_wheel_works_when_installed() {
    let built = &*BUILT;
    let clean = built.folder.join("clean");
    run("making an environment", Command::new(base()).args(["-m", "venv", "--clear", "--without-pip"]).arg(&clean));
    let python = clean.join("bin/python");
    let list = fs::read_to_string(crate_folder().join("tests/requirements.txt")).expect("the list of requirements");
    let numpy = list.lines().find(|line| line.starts_with("numpy==")).expect("a version of NumPy");
    let install = ["install", "--only-binary", ":all:", numpy];
    run("installing the wheel", pip(&built.python).arg("--python").arg(&python).args(install).arg(&built.wheel));
    let mut check = Command::new(python);
    // Not from the checkout: what is imported must be what is installed.
    check.arg("-I").arg(crate_folder().join("tests/installed.py")).arg(&built.wheel).current_dir(&clean);
    run("the installed package", &mut check);
}

/// Installs the wheel into an environment, and runs tests with it.
fn pytest(python: &Path, tests: &[&str]) {
    let built = &*BUILT;
    let install = ["install", "--force-reinstall", "--no-deps", "--no-compile"];
    run("installing the wheel", pip(python).args(install).arg(&built.wheel));
    let folder = crate_folder().join("tests");
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5"]);
    pytest.args(tests.iter().map(|test| folder.join(test)));
    // Compiled once for all interpreters that the tests start, and not beside the sources.
    pytest.env("PYTHONPYCACHEPREFIX", built.folder.join("compiled")).current_dir(&folder);
    // Cargo builds the program for its own tests, in whatever order they run.
    let program = built.folder.with_file_name("release").join("deciban");
    if program.exists() {
        pytest.env("DECIBAN_PROGRAM", program);
    }
    run("pytest", &mut pytest);
}

#[test]
fn the_tests_in_python_pass() {
    install_servers();
    pytest(&BUILT.python, &["."]);
}

#[test]
fn the_drop_ins_work_with_the_oldest_scikit_learn() {
    pytest(&environment(BUILT.folder.join("oldest"), "requirements-oldest.txt"), &["test_sklearn.py"]);
}
