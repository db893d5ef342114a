//! The modules of the library form layers: each uses only those that stand before it in `lib.rs`. And every file
//! of tests is part of its crate's test program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules in the order in which `lib.rs` names them.
fn modules() -> Vec<String> {
    let text = fs::read_to_string(source().join("lib.rs")).expect("lib.rs");
    let name = |line: &str| {
        let rest = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
        rest.strip_suffix(';').map(str::to_string)
    };
    text.lines().filter_map(name).collect()
}

/// The files of a module, without those that hold tests alone.
fn files(module: &str) -> Vec<PathBuf> {
    let (file, mut folders) = (source().join(format!("{module}.rs")), vec![source().join(module)]);
    let mut files: Vec<PathBuf> = file.exists().then_some(file).into_iter().collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.expect("an entry of a folder").path()) {
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "testing");
            match path.is_dir() {
                true => folders.push(path),
                false if !is_test => files.push(path),
                false => {}
            }
        }
    }
    files
}

/// The modules of the library that a file uses, in code and not in comments or tests.
fn used(file: &Path, modules: &[String]) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("a source file");
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = lines.flat_map(|line| {
        let grouped = line.trim_start().strip_prefix("use crate::{").unwrap_or_default();
        let grouped = grouped.split([',', '}', ';']).map(|name| name.trim().to_string());
        let single = line.split("crate::").skip(1);
        let single = single.map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect());
        grouped.chain(single).collect::<Vec<String>>()
    });
    names.filter(|name| modules.contains(name)).collect()
}

#[test]
fn modules_use_only_those_before_them() {
    let modules = modules();
    assert!(modules.len() > 20, "{modules:?}");
    let mut back = Vec::new();
    for (place, module) in modules.iter().enumerate() {
        let files = files(module);
        assert!(!files.is_empty(), "the files of `{module}` were not found");
        for file in files {
            let later = |name: &String| modules.iter().position(|m| m == name) > Some(place);
            back.extend(used(&file, &modules).into_iter().filter(later).map(|name| (file.clone(), name)));
        }
    }
    assert!(back.is_empty(), "modules use some that stand behind them in lib.rs: {back:#?}");
}

/// A file that the list in `tests/all.rs` does not name would never run.
#[test]
fn every_file_of_tests_is_in_the_list_of_its_program() {
    let crates = source().join("../..");
    let folders = fs::read_dir(crates).expect("the crates").map(|entry| entry.expect("a crate").path().join("tests"));
    let mut lists = 0;
    for folder in folders.filter(|folder| folder.join("all.rs").exists()) {
        let list = fs::read_to_string(folder.join("all.rs")).expect("a list");
        for entry in fs::read_dir(&folder).expect("a folder of tests") {
            let name = entry.expect("an entry of a folder").file_name().into_string().expect("a name in UTF-8");
            if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "all") {
                let line = format!("\nmod {module};\n");
                assert!(list.contains(&line), "{} is not in the list in all.rs", folder.join(&name).display());
            }
        }
        lists += 1;
    }
    assert_eq!(lists, 5);
}
