//! Every command in README.md and docs/ runs, and prints what stands below it.
//!
//! A block that begins with three backticks and `console` holds commands behind `$ ` and their output,
//! standard error included. The blocks of a file run one after the other in one folder, where `examples`
//! is the project's. After a change of output, `DECIBAN_BLESS=1 cargo test --release --test cli docs` writes
//! the new one into the files; read the difference before you keep it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README.md and all that lies in docs/.
fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(project().join("docs")).unwrap();
    let mut pages: Vec<PathBuf> = docs.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages.extend(["README.md", "examples/README.md"].map(|name| project().join(name)));
    pages
}

/// Standard output and standard error of a line of shell.
fn shell(line: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_deciban")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let script = format!("exec 2>&1\n{line}");
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder).env("PATH", path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Times differ from run to run: a line that ends in one, such as `0.01 s`, without it.
fn without_time(line: &str) -> &str {
    let time = line.strip_suffix(" s").and_then(|rest| rest.rsplit_once(' '));
    time.filter(|(_, number)| number.parse::<f64>().is_ok()).map_or(line, |(before, _)| before.trim_end())
}

/// Whether two lines are equal up to times and the last digits of numbers, which depend on the processor.
fn same(said: &str, is: &str) -> bool {
    let (said, is) = (without_time(said), without_time(is));
    let parts = |line: &str| line.split([' ', ',', '{', '}', ':']).map(str::to_string).collect::<Vec<_>>();
    let close = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) if x.is_finite() => (x - y).abs() <= 1e-9 * x.abs(),
        _ => a == b,
    };
    let (a, b) = (parts(said), parts(is));
    a.len() == b.len() && a.iter().zip(&b).all(close)
}

/// The page with the output that its commands have.
fn run(page: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(project().join("examples"), folder.path().join("examples")).unwrap();
    let mut out = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        for line in lines.by_ref() {
            if line == "```" {
                out += "```\n";
                break;
            }
            // What is not a command is old output.
            if let Some(command) = line.strip_prefix("$ ") {
                out += &format!("{line}\n");
                shell(command, folder.path()).lines().for_each(|line| out += &format!("{line}\n"));
            }
        }
    }
    out
}

#[test]
fn every_command_prints_what_the_page_says() {
    let bless = std::env::var_os("DECIBAN_BLESS").is_some();
    for path in pages() {
        let page = std::fs::read_to_string(&path).unwrap();
        let true_page = run(&page);
        if bless {
            // Where nothing else has changed, the page keeps its times and digits.
            let same_lines = page.lines().count() == true_page.lines().count();
            let kept = |(said, is): (&'_ str, &'_ str)| if same(said, is) { said } else { is }.to_string() + "\n";
            let blessed: String = page.lines().zip(true_page.lines()).map(kept).collect();
            std::fs::write(&path, if same_lines { blessed } else { true_page }).unwrap();
            continue;
        }
        for (n, (said, is)) in page.lines().zip(true_page.lines()).enumerate() {
            assert!(same(said, is), "{}:{}\n  says {said}\n    is {is}", path.display(), n + 1);
        }
        assert_eq!(page.lines().count(), true_page.lines().count(), "{}", path.display());
    }
}

/// A relative link must lead to a file.
#[test]
fn links_lead_somewhere() {
    for path in pages() {
        let page = std::fs::read_to_string(&path).unwrap();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.contains("://") && !link.starts_with('#') {
                let target = path.parent().unwrap().join(link.split('#').next().unwrap());
                assert!(target.exists(), "{}: {link}", path.display());
            }
        }
    }
}

/// Tests that the page on reliability names, as `CRATE/FILE::NAME`, are there.
#[test]
fn tests_named_on_the_page_of_reliability_exist() {
    let page = std::fs::read_to_string(project().join("docs/reliability.md")).unwrap();
    let names: Vec<&str> = page.split('`').filter(|code| code.contains("::")).collect();
    assert!(!names.is_empty());
    for name in names {
        let (file, test) = name.split_once("::").unwrap();
        let text = std::fs::read_to_string(project().join("crates").join(file)).unwrap_or_default();
        let found = [format!("fn {test}("), format!("def {test}(")].iter().any(|start| text.contains(start));
        assert!(found, "docs/reliability.md names {name}, which does not exist");
    }
}
