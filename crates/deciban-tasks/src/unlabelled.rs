//! Whether rows without a label help: the cross-validated log loss of the labelled rows, with and without them.
//!
//! They help where the classes look as the model assumes. Where they do not, likelihood is won by describing the many
//! rows without a label, at the expense of telling the classes apart.

use deciban::Result;
use deciban::folds::Folds;
use deciban::learn::Options;
use deciban::select::CrossValidation;

use crate::input::Input;
use crate::learn::Learning;
use crate::remarks::Remark;
use crate::table::number;

/// At most so many folds: each is another run of expectation–maximisation over all rows.
const FOLDS: usize = 5;

/// At most so many steps in each: a model that is led astray is worse long before it comes to its end.
const STEPS: usize = 60;

/// What a person should know about the rows without a label, if the model has learned from some; `rows` are the
/// labelled rows of each class. The rows can be read again, and their classes are known.
pub fn check(request: &Learning, kind: &str, rows: &[f64], input: &dyn Input) -> Result<Vec<Remark>> {
    if request.options.unlabelled_weight == 0.0 {
        return Ok(Vec::new());
    }
    let fewest = rows.iter().copied().fold(f64::INFINITY, f64::min);
    if fewest < 2.0 {
        let why = "whether the rows without a label help is not known: a class has a single labelled row";
        return Ok(vec![Remark::note(why)]);
    }
    let folds = Folds::stratified(input, FOLDS.min(fewest as usize), request.options.seed)?;
    let iterations = Some(request.options.iterations.map_or(STEPS, |most| most.min(STEPS)));
    let with = Options { iterations, ..request.options.clone() };
    let without = Options { unlabelled_weight: 0.0, ..with.clone() };
    let candidate = |options: Options| Learning { options, ..request.clone() }.candidate(kind, input);
    let candidates = [candidate(with)?, candidate(without)?];
    let Ok(compared) = CrossValidation::new(folds).run(input, &candidates) else {
        return Ok(vec![Remark::note("whether the rows without a label help is not known: no fold could be fitted")]);
    };
    let loss = |candidate: usize| {
        let outcome = compared.ranked().iter().find(|outcome| outcome.candidate == candidate)?;
        Some(outcome.sums.log_loss()).filter(|loss| !loss.is_nan())
    };
    let say = |with: f64, without: f64| {
        let (with, without) = (number(with, 4), number(without, 4));
        format!("the cross-validated log loss of the labelled rows is {with} with them and {without} without")
    };
    Ok(vec![match (loss(0), loss(1)) {
        (Some(with), Some(without)) if with > without => Remark::warning(format!(
            "the rows without a label make the model worse: {}. The classes do not look as the model assumes: leave \
             these rows out, give a smaller §unlabelled_weight, or try another model",
            say(with, without)
        )),
        (Some(with), Some(without)) => Remark::note(format!("the rows without a label help: {}", say(with, without))),
        (None, _) => Remark::note("whether the rows without a label help is not known: no fold could be fitted"),
        (_, None) => Remark::note("without the rows that have no label, the labelled rows are too few to fit folds"),
    }])
}
