//! The program `deciban` as a library: [`run`] is all of it, so that Python's `deciban` is the same program. One
//! file per subcommand in `cmd/`, what they share beside this file.

mod args;
mod cmd;
mod output;
mod progress;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser};
use deciban::{Error, Wording};

use crate::output::note;

/// Probabilistic classification: evidence in decibans, priors and costs at prediction time.
#[derive(Parser)]
#[command(name = "deciban", version, arg_required_else_help = true, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: cmd::Command,
}

/// Runs the program with its arguments, the first of which is its name, and returns its exit code: 0, 1 for data
/// or files at fault, 2 for mistakes of usage.
pub fn run(args: impl IntoIterator<Item = OsString>) -> i32 {
    let program = match parsed(args) {
        Ok(program) => program,
        Err(error) => {
            // A reader that has gone misses the help.
            let _ = error.print();
            return error.exit_code();
        }
    };
    match program.command.run() {
        Ok(()) => 0,
        // A reader that has seen enough (`| head`) is no failure.
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            note!("deciban: {}", error.worded(Wording::Flags));
            if error.is_usage() { 2 } else { 1 }
        }
    }
}

fn parsed(args: impl IntoIterator<Item = OsString>) -> Result<Program, clap::Error> {
    let mut command = Program::command();
    let matches = command.try_get_matches_from_mut(args)?;
    args::check_models(&mut command, &matches)?;
    cmd::check_compare(&mut command, &matches)?;
    Program::from_arg_matches(&matches)
}
