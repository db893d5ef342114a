//! Settles whether the data sets for the tests are here: in `../shared` beside the project, or in the folder
//! that the variable DECIBAN_SHARED names. Without them, tests on real data are ignored with that reason.
//! After adding the folder, touch this file.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(shared_data)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DECIBAN_SHARED");
    let beside = || Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../../shared");
    let folder = std::env::var_os("DECIBAN_SHARED").map_or_else(beside, PathBuf::from);
    let list = folder.join("data/README.md");
    if list.is_file() {
        println!("cargo::rerun-if-changed={}", list.display());
        println!("cargo::rustc-cfg=shared_data");
        println!("cargo::rustc-env=DECIBAN_SHARED={}", folder.display());
    }
}
