//! `deciban compare MODEL MODEL... DATA`: models as they are, judged by the same rows.

use std::path::Path;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use deciban::data::Schema;
use deciban::decision::Costs;
use deciban::evaluate::{Application, Bootstrap, Difference, Evaluation, Figure, Scored, Versus};
use deciban::evidence::Evidence;
use deciban::file::Archive;
use deciban::learn::{Classifier, Model};
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde_json::{Value, json};

use super::Compare;
use crate::args::open_for_model;
use crate::output::say;
use crate::progress::Progress;
use deciban_tasks::scored::collect;
use deciban_tasks::table::{Table, count, number, percent};
use deciban_tasks::{Evaluated, Target};

/// What the evidence of all models together may take.
const BUDGET: usize = 1 << 30;

/// Options that make sense beside model files; others are about learning.
const TAKEN: [&str; 6] = ["data", "json", "seed", "prior", "costs", "reject"];

/// Whether a path is a model file. What is called one is opened as one, so that its own fault is told.
fn is_model(path: &str) -> bool {
    let named = Path::new(path).extension().is_some_and(|e| e == "deciban");
    named || Archive::kind_of(path).as_deref() == Some("model")
}

/// The model files that stand first, and the rest.
pub fn split(data: &[String]) -> (&[String], &[String]) {
    data.split_at(data.iter().take_while(|path| is_model(path)).count())
}

/// Refuses options of learning beside model files.
pub fn check(program: &mut clap::Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(("compare", given)) = matches.subcommand() else { return Ok(()) };
    let data: Vec<&String> = given.get_many("data").into_iter().flatten().collect();
    let Some(command) = program.find_subcommand_mut("compare").filter(|_| data.first().is_some_and(|p| is_model(p)))
    else {
        return Ok(());
    };
    let told = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let is_foreign = |arg: &&clap::Arg| {
        let id = arg.get_id().as_str();
        told(id) && !TAKEN.contains(&id) && arg.get_help_heading() != Some("Reading")
    };
    let foreign = command.get_arguments().find(is_foreign).map(|arg| arg.get_id().as_str().replace('_', "-"));
    match foreign {
        Some(id) => {
            let message = format!("--{id} is for learning, and model files are compared as they are: drop the option");
            Err(command.error(ErrorKind::ArgumentConflict, message))
        }
        None => Ok(()),
    }
}

/// A model and its rows, in the order of the first model's classes.
struct Judged {
    file: String,
    prior: Prior,
    rows: Scored,
    evaluation: Evaluation,
    figures: Vec<Figure>,
}

impl Judged {
    fn figure(&self, name: &str) -> f64 {
        self.figures.iter().find(|figure| figure.name == name).map_or(f64::NAN, |figure| figure.value)
    }
}

impl Compare {
    /// Judges model files and tells the best and how much worse the others are.
    pub(super) fn models(&self, models: &[String], data: &[String]) -> Result<()> {
        if let Some(late) = data.iter().find(|path| is_model(path)) {
            return Err(Error::Usage(format!("{late}: model files stand before the tables")));
        }
        if let ([one], _) = (models, data) {
            return Err(Error::Usage(format!("{one} is one model only: give another, or `deciban evaluate` it")));
        }
        if data.is_empty() {
            return Err(Error::Usage("give a table after the model files: rows that none of them has seen".into()));
        }
        if data.iter().any(|path| path == "-") {
            return Err(Error::Usage("-: every model reads the rows, standard input is read once: give a file".into()));
        }
        let first = Model::load(&models[0])?.schema().clone();
        let costs = self.decision.application()?.costs(&first)?;
        let mut judged = Vec::new();
        for file in models {
            let one = self.judge(file, models, data, &first, &costs);
            judged.push(one.map_err(|error| match error {
                // What names the model already, and what is not the fault of this one.
                Error::File { .. } | Error::Io { .. } => error,
                error if error.is_usage() || error.to_string().starts_with(file.as_str()) => error,
                error => Error::Schema(format!("{file}: {}", error.marked())),
            })?);
        }
        judged.sort_by(|a, b| a.figure("log_loss").total_cmp(&b.figure("log_loss")));
        let bootstrap = Bootstrap { seed: self.folds.seed(), ..Bootstrap::default() };
        let best = &judged[0];
        let against = |model: &Judged| {
            let priors = [&model.prior, &best.prior];
            model.rows.versus(&best.rows, first.classes(), priors, &costs, &bootstrap)
        };
        let versus: Vec<Versus> = judged.iter().map(against).collect::<Result<_>>()?;
        match self.json {
            true => say!("{:#}", self.models_json(&judged, &versus, first.classes(), &costs)),
            false => say!("{}", self.models_text(&judged, &versus, first.classes().len()).trim_end()),
        }
        Ok(())
    }

    /// Scores the rows by a model.
    fn judge(&self, file: &str, all: &[String], data: &[String], first: &Schema, costs: &Costs) -> Result<Judged> {
        let model = Model::load(file)?;
        let (schema, classes) = (model.schema(), first.classes());
        let order = order(classes, schema.classes()).ok_or_else(|| {
            let [a, b] = [schema.classes(), classes].map(|names| names.join(", "));
            Error::Schema(format!("{file} has the classes {a}, but {} has {b}: only the same can be compared", all[0]))
        })?;
        let mut files = open_for_model(data, &self.read, schema, true)?;
        let own = self.decision.application()?.to_model(&model)?.prior;
        let prior = Prior::new(&order.iter().map(|&k| own.probabilities()[k]).collect::<Vec<_>>())?;
        let progress = Progress::watch(&mut files, "comparing");
        let zero_one = Costs::zero_one(schema.classes());
        let collected =
            collect(&files, schema.classes(), &own, &zero_one, BUDGET / all.len(), |batch| model.evidence(batch))?;
        drop(progress);
        let Some(scored) = collected.rows else {
            return Err(Error::Schema("the evidence of all models and rows takes more than 1 GiB: give fewer".into()));
        };
        let rows = reordered(&scored, &order)?;
        let evaluation = rows.evaluation(classes, &prior, costs)?;
        let figures = rows.figures(classes, &prior, costs, 1, None)?;
        Ok(Judged { file: file.to_string(), prior, rows, evaluation, figures })
    }

    fn models_text(&self, judged: &[Judged], versus: &[Versus], classes: usize) -> String {
        let costs = self.decision.has_costs();
        let (cost, two) = (costs.then_some("cost"), (classes == 2).then_some("AUC"));
        let head = ["model", "errors", "error rate", "log loss", "Brier"].into_iter().chain(cost);
        let head = head.chain(["Cllr", "min Cllr"]).chain(two);
        let mut table = Table::new(head.chain(["worse by", "95 % from", "to", "p", "McNemar p"]));
        for (place, (model, versus)) in judged.iter().zip(versus).enumerate() {
            let four = |name: &str| match model.figure(name) {
                x if x.is_nan() => "·".to_string(),
                x => number(x, 4),
            };
            let figures = [model.file.clone(), count(model.evaluation.errors()), percent(model.figure("error_rate"))];
            let figures = figures.into_iter().chain([format!("{:.4}", model.figure("log_loss")), four("brier")]);
            let figures = figures.chain(cost.map(|_| four("expected_cost"))).chain([four("cllr"), four("min_cllr")]);
            let figures = figures.chain(two.map(|_| four("auc")));
            let Difference { difference, interval, p_value } = versus.log_loss;
            let against = match place {
                0 => vec!["·".to_string(); 5],
                _ => {
                    let ends = [difference, interval.low, interval.high].map(|x| format!("{x:+.4}"));
                    let chances = [p_value, versus.errors.exact].map(|p| number(p, 2));
                    ends.into_iter().chain(chances).collect()
                }
            };
            table.row(figures.chain(against));
        }
        let rows = judged[0].rows.rows();
        let lacking: Vec<String> = judged[0].evaluation.absent().iter().map(|class| format!("`{class}`")).collect();
        let note = match &lacking[..] {
            [] => String::new(),
            classes => format!("Cllr is not defined: the rows have no class {}.\n", classes.join(", ")),
        };
        format!("{table}\n{rows} rows. Worse by: log loss in nats, paired bootstrap; McNemar: of the errors.\n{note}")
    }

    /// An object per model, the best first: what `evaluate --json` has, and the differences.
    fn models_json(&self, judged: &[Judged], versus: &[Versus], classes: &[String], costs: &Costs) -> Value {
        let one = |(model, versus): (&Judged, &Versus)| {
            let target = match classes {
                [other, class] => {
                    let threshold = Application::of(&model.prior, costs, 1).ok();
                    Some(Target { class: class.clone(), other: other.clone(), threshold })
                }
                _ => None,
            };
            let evaluated = Evaluated {
                evaluation: model.evaluation.clone(),
                figures: model.figures.clone(),
                prior: model.prior.clone(),
                has_costs: self.decision.has_costs(),
                target,
                expected: None,
                confidence: Bootstrap::default().confidence,
                remarks: Vec::new(),
            };
            let mut told = evaluated.json();
            told["model"] = json!(model.file);
            let difference = |d: Difference| json!({ "difference": d.difference, "interval": [d.interval.low, d.interval.high], "p_value": d.p_value });
            told["worse_than_best"] = json!({
                "log_loss": difference(versus.log_loss),
                "brier": difference(versus.brier),
                "expected_cost": difference(versus.expected_cost),
                "cllr": versus.cllr.map(difference),
                "mcnemar": { "only_this": versus.errors.only_a, "only_best": versus.errors.only_b,
                             "p_value": versus.errors.exact, "mid_p": versus.errors.mid_p },
            });
            told
        };
        judged.iter().zip(versus).map(one).collect()
    }
}

/// Where each class of the first model stands in another; `None` unless they have the same.
fn order(first: &[String], other: &[String]) -> Option<Vec<usize>> {
    let place = |name: &String| other.iter().position(|known| known == name);
    first.iter().map(place).collect::<Option<Vec<usize>>>().filter(|_| first.len() == other.len())
}

/// Rows with their classes in another order.
fn reordered(scored: &Scored, order: &[usize]) -> Result<Scored> {
    let mut code = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| code[old] = new as u32);
    let rows = (0..scored.rows()).map(|i| scored.evidence().row(i));
    let values = rows.flat_map(|row| order.iter().map(|&old| row[old])).collect();
    let truth: Vec<u32> = scored.truth().iter().map(|&k| code[k as usize]).collect();
    let mut moved = Scored::new(order.len())?;
    moved.append(&Evidence::new(order.len(), values)?, &truth, Some(scored.weights()))?;
    Ok(moved)
}
