//! The program as a whole: help, usage, and readers that leave early.

use crate::common::{Folder, wine};

const COMMANDS: [&str; 10] =
    ["fit", "predict", "evaluate", "compare", "inspect", "sample", "stats", "merge", "forget", "demo"];

#[test]
fn every_command_has_help_with_examples() {
    let folder = Folder::new();
    let all = folder.ok(&["--help"]);
    for command in COMMANDS {
        assert!(all.lines().any(|line| line.trim_start().starts_with(&format!("{command} "))), "{all}");
        let help = folder.ok(&[command, "--help"]);
        let (_, examples) = help.split_once("Example").unwrap_or_else(|| panic!("no examples in\n{help}"));
        assert!(examples.contains(&format!("deciban {command}")), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 120), "{help}");
    }
}

/// Every example in the help must at least be understood by the parser.
#[test]
fn the_examples_are_good_usage() {
    let folder = Folder::new();
    for command in COMMANDS {
        let help = folder.ok(&[command, "--help"]).replace("\\\n", "");
        let (_, examples) = help.split_once("\nExample").unwrap();
        for line in examples.lines().filter_map(|line| line.split_once(&format!("deciban {command}"))) {
            let line = line.1.split(" > ").next().unwrap();
            let words: Vec<String> = line.split_whitespace().map(|word| word.trim_matches('\'').to_string()).collect();
            let args: Vec<&str> = std::iter::once(command).chain(words.iter().map(String::as_str)).collect();
            let (code, _, stderr) = folder.run(&args);
            // The files are not here, so most fail, but none by its usage.
            assert!(code == 0 || code == 1, "deciban {}\n{stderr}", args.join(" "));
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(Folder::new().ok(&["--version"]), format!("deciban {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_has_code_two() {
    let folder = Folder::new();
    assert!(folder.misused(&[]).contains("Usage: deciban <COMMAND>"));
    assert!(folder.misused(&["guess"]).contains("unrecognized subcommand 'guess'"));
    for command in COMMANDS.iter().filter(|command| **command != "demo") {
        assert!(folder.misused(&[command]).contains("Usage: deciban"), "{command}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = Folder::with_model(&[]);
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "wine.stats"]);
    let wine = wine();
    for args in [
        &["predict", "wine.deciban", &wine][..],
        &["predict", "wine.deciban", &wine, "--json"],
        &["sample", "wine.deciban", "-n", "1000"],
        &["evaluate", "wine.deciban", &wine],
        &["evaluate", "wine.deciban", &wine, "--json"],
        &["inspect", "wine.deciban", "--forms"],
        &["inspect", "wine.deciban", "--json"],
        &["inspect", "wine.stats"],
        &["fit", "--model", "gaussian", &wine, "-t", "Type"],
        &["fit", "--model", "gaussian", &wine, "-t", "Type", "--json"],
        &["demo"],
        &["demo", "height"],
        &["demo", "wine"],
        &["demo", "cancer"],
    ] {
        // The pipe's other end is closed before the program writes.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.command(args).stdout(writer).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            !stderr.contains("panicked") && !stderr.contains("Broken pipe"),
            "deciban {}\n{stderr}",
            args.join(" ")
        );
        assert_eq!(output.status.code(), Some(0), "deciban {}\n{stderr}", args.join(" "));
    }
}

#[test]
fn manual_pages_make_their_folder() {
    let folder = Folder::new();
    folder.ok(&["man", "share/man/man1"]);
    assert!(folder.path().join("share/man/man1/deciban-fit.1").exists());
}
