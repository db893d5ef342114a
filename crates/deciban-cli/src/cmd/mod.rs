//! The subcommands, one file each.

mod adapt_prior;
mod calibrate;
mod change;
mod compare;
mod completions;
mod demo;
mod evaluate;
mod explain;
mod fit;
mod forget;
mod fuse;
mod impute;
mod inspect;
mod merge;
mod page;
mod plot;
mod predict;
mod sample;
mod serve;
mod stats;
mod update;

pub use compare::check_options as check_compare;
pub use fit::is_statistics;

use deciban::Result;

/// Every subcommand, in the order of the help.
#[derive(clap::Subcommand)]
pub enum Command {
    Fit(fit::Fit),
    Predict(predict::Predict),
    AdaptPrior(adapt_prior::AdaptPrior),
    Impute(impute::Impute),
    Evaluate(evaluate::Evaluate),
    Calibrate(calibrate::Calibrate),
    Fuse(fuse::Fuse),
    Compare(compare::Compare),
    Plot(plot::Plot),
    Explain(explain::Explain),
    Inspect(inspect::Inspect),
    Sample(sample::Sample),
    Serve(serve::Serve),
    Page(page::Page),
    Stats(stats::Stats),
    Merge(merge::Merge),
    Update(update::Update),
    Forget(forget::Forget),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Man(completions::Man),
}

impl Command {
    pub fn run(self) -> Result<()> {
        match self {
            Command::Fit(command) => command.run(),
            Command::Predict(command) => command.run(),
            Command::AdaptPrior(command) => command.run(),
            Command::Impute(command) => command.run(),
            Command::Evaluate(command) => command.run(),
            Command::Calibrate(command) => command.run(),
            Command::Fuse(command) => command.run(),
            Command::Compare(command) => command.run(),
            Command::Plot(command) => command.run(),
            Command::Explain(command) => command.run(),
            Command::Inspect(command) => command.run(),
            Command::Sample(command) => command.run(),
            Command::Serve(command) => command.run(),
            Command::Page(command) => command.run(),
            Command::Stats(command) => command.run(),
            Command::Merge(command) => command.run(),
            Command::Update(command) => command.run(),
            Command::Forget(command) => command.run(),
            Command::Demo(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    }
}
