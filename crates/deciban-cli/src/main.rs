//! The program `deciban`: one file per subcommand in `cmd/`, what they share beside this file.

mod args;
mod cmd;
mod output;
mod progress;

use clap::{CommandFactory, FromArgMatches, Parser};

/// Probabilistic classification: evidence in decibans, priors and costs at prediction time.
#[derive(Parser)]
#[command(name = "deciban", version, arg_required_else_help = true, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: cmd::Command,
}

fn main() {
    let mut command = Program::command();
    let matches = command.get_matches_mut();
    let checked = args::check_models(&mut command, &matches)
        .and_then(|()| cmd::check_compare(&mut command, &matches))
        .and_then(|()| Program::from_arg_matches(&matches));
    let program = checked.unwrap_or_else(|error| error.exit());
    if let Err(error) = program.command.run() {
        // A reader that has seen enough (`| head`) is no failure.
        if matches!(&error, deciban::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe) {
            return;
        }
        eprintln!("deciban: {}", error.worded(deciban::Wording::Flags));
        std::process::exit(if error.is_usage() { 2 } else { 1 });
    }
}
