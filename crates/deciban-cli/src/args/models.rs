//! What the chosen model does not take is a mistake of usage, never ignored; so is, beside statistics files,
//! what was settled when they were made. Which model takes which options is in the library
//! ([`deciban::model::models`]).

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use deciban::model::takers;

use crate::cmd::is_statistics;

/// What statistics files have settled, besides all options under these headings.
const SETTLED: [&str; 4] = ["deskew", "gaussianise", "folds", "seed"];
const SETTLED_HEADINGS: [&str; 3] = ["Columns", "Texts", "Reading"];

/// Refuses options that the chosen model, or the data, make meaningless.
pub fn check(program: &mut clap::Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, given)) = matches.subcommand() else { return Ok(()) };
    // `predict` has a model, too: a file.
    let Ok(Some(model)) = given.try_get_one::<String>("model") else { return Ok(()) };
    let Some(command) = program.find_subcommand_mut(name) else { return Ok(()) };
    let told = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let from_statistics = match given.try_get_many::<String>("data") {
        Ok(Some(mut data)) => name == "fit" && data.any(|path| is_statistics(path)),
        _ => false,
    };
    let mut fault = None;
    for arg in command.get_arguments().filter(|arg| told(arg.get_id().as_str())) {
        let id = arg.get_id().as_str();
        let option = arg.get_long().unwrap_or(id);
        let is_settled = SETTLED.contains(&id) || arg.get_help_heading().is_some_and(|h| SETTLED_HEADINGS.contains(&h));
        if from_statistics && is_settled {
            fault = Some(format!("--{option} was settled when the statistics files were made: drop the option"));
            break;
        }
        let takers: Vec<&str> = takers(id);
        if model != "auto" && !takers.is_empty() && !takers.contains(&model.as_str()) {
            fault = Some(format!("--{option} is not an option of --model {model}, but of {}", takers.join(", ")));
            break;
        }
    }
    match fault {
        None => Ok(()),
        Some(message) => Err(command.error(ErrorKind::ArgumentConflict, message)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use deciban::model::models;

    use super::*;

    #[test]
    fn every_model_has_a_line_and_every_option_exists() {
        let program = crate::Program::command();
        let fit = program.find_subcommand("fit").unwrap();
        let argument = |id: &str| fit.get_arguments().find(|arg| arg.get_id() == id);
        for model in argument("model").unwrap().get_possible_values() {
            assert!(models().iter().any(|(name, _)| *name == model.get_name()), "{}", model.get_name());
        }
        for id in models().iter().flat_map(|(_, groups)| groups.iter()).copied().flatten().chain(&SETTLED) {
            assert!(argument(id).is_some(), "there is no option {id}");
        }
        // Every option of a model's own belongs to a group.
        let own = ["Gaussian", "Discrete and mixed", "Logistic", "Noisy-or", "Texts"];
        for arg in fit.get_arguments().filter(|arg| arg.get_help_heading().is_some_and(|h| own.contains(&h))) {
            assert!(!takers(arg.get_id().as_str()).is_empty(), "{} is in no group", arg.get_id());
        }
    }
}
