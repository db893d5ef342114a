//! `deciban completions` and `deciban man`: what a shell and `man` want to know about the program.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use deciban::{Error, Result};

use crate::Program;
use crate::output::{self, note};

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "Example:
  deciban completions bash > ~/.local/share/bash-completion/completions/deciban")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Program::command(), "deciban", &mut text);
        output::bytes(&text)
    }
}

/// Write the manual pages into a folder
#[derive(Args)]
#[command(after_help = "Example:
  deciban man ~/.local/share/man/man1 && man deciban-fit")]
pub struct Man {
    /// The folder, which is made if it does not exist
    folder: PathBuf,
}

impl Man {
    pub fn run(self) -> Result<()> {
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Program::command(), &self.folder));
        written.map_err(|e| Error::io(&self.folder, e))?;
        note!("{}: the manual pages of deciban and its commands", self.folder.display());
        Ok(())
    }
}
