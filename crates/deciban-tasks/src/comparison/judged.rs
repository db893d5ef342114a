//! Fitted models, judged by the same rows, and each tested against the best.

use deciban::data::Schema;
use deciban::decision::Costs;
use deciban::evaluate::{Application as Threshold, Bootstrap, Difference, Evaluation, Scored, Versus};
use deciban::evidence::Evidence;
use deciban::figures::Figure;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::application::Application;
use crate::evaluation::{Evaluated, Target};
use crate::input::Input;
use crate::scored::{Keeping, collect};
use crate::table::{Table, count, number, percent};

/// What the evidence of all models together may take, in bytes.
const BUDGET: usize = 1 << 30;

/// A model and its rows, in the order of the first model's classes.
#[derive(Debug)]
pub struct Judged {
    name: String,
    prior: Prior,
    rows: Scored,
    evaluation: Evaluation,
    figures: Vec<Figure>,
}

impl Judged {
    /// Scores the rows by one of `count` models. `first` is the name and the schema of the first of them.
    pub fn new(
        (name, model): (&str, &Model),
        (first_name, first): (&str, &Schema),
        count: usize,
        application: &Application,
        input: &dyn Input,
    ) -> Result<Self> {
        let order = Judged::order((name, model.schema()), (first_name, first))?;
        let (schema, classes) = (model.schema(), first.classes());
        let own = application.to_model(model)?.prior;
        let prior = Prior::new(&order.iter().map(|&k| own.probabilities()[k]).collect::<Vec<_>>())?;
        let zero_one = Costs::zero_one(schema.classes());
        let collected = collect(
            input,
            schema.classes(),
            &own,
            &zero_one,
            Keeping::All(BUDGET / count),
            |x| model.evidence(x),
            None,
        )?;
        let Some(scored) = collected.rows else {
            return Err(Error::Schema("the evidence of all models and rows takes more than 1 GiB: give fewer".into()));
        };
        let (rows, costs) = (reordered(&scored, &order)?, application.costs(first)?);
        let evaluation = rows.evaluation(classes, &prior, &costs)?;
        let figures = rows.figures(classes, &prior, &costs, 1, None)?;
        Ok(Judged { name: name.to_string(), prior, rows, evaluation, figures })
    }

    /// Where each class of the first model stands in another; an error unless both have the same classes.
    pub fn order((name, other): (&str, &Schema), (first_name, first): (&str, &Schema)) -> Result<Vec<usize>> {
        let [theirs, classes] = [other.classes(), first.classes()];
        let place = |name: &String| theirs.iter().position(|known| known == name);
        let order = classes.iter().map(place).collect::<Option<Vec<usize>>>();
        order.filter(|_| classes.len() == theirs.len()).ok_or_else(|| {
            let [a, b] = [theirs, classes].map(|names| names.join(", "));
            let message =
                format!("{name} has the classes {a}, but {first_name} has {b}: only the same can be compared");
            Error::Schema(message)
        })
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn figure(&self, name: &str) -> f64 {
        self.figures.iter().find(|figure| figure.name == name).map_or(f64::NAN, |figure| figure.value)
    }
}

/// Models by the log loss of the same rows.
#[derive(Debug)]
pub struct Judgement {
    judged: Vec<Judged>,
    versus: Vec<Versus>,
    costs: Costs,
    has_costs: bool,
}

impl Judgement {
    /// Ranks models that were judged by the same rows, and tests each against the best.
    pub fn new(mut judged: Vec<Judged>, first: &Schema, application: &Application, seed: u64) -> Result<Self> {
        let Some(rows) = judged.first().map(|model| model.rows.rows()) else {
            return Err(Error::parameter("models", "give at least two models"));
        };
        if let Some(other) = judged.iter().find(|model| model.rows.rows() != rows) {
            let (name, found) = (&other.name, other.rows.rows());
            return Err(Error::Schema(format!("{name} was judged by {found} rows, others by {rows}")));
        }
        judged.sort_by(|a, b| a.figure("log_loss").total_cmp(&b.figure("log_loss")));
        let (costs, has_costs) = (application.costs(first)?, application.has_costs());
        let bootstrap = Bootstrap { seed, ..Bootstrap::default() };
        let best = &judged[0];
        let against = |model: &Judged| {
            let priors = [&model.prior, &best.prior];
            model.rows.versus(&best.rows, first.classes(), priors, &costs, &bootstrap)
        };
        let versus = judged.iter().map(against).collect::<Result<_>>()?;
        Ok(Judgement { judged, versus, costs, has_costs })
    }

    /// The models, the best first.
    pub fn ranked(&self) -> &[Judged] {
        &self.judged
    }

    /// For people.
    pub fn text(&self) -> String {
        let is_two = self.judged[0].prior.classes() == 2;
        let (cost, two) = (self.has_costs.then_some("cost"), is_two.then_some("AUC"));
        let head = ["model", "errors", "error rate", "log loss", "Brier"].into_iter().chain(cost);
        let head = head.chain(["Cllr", "min Cllr"]).chain(two);
        let mut table = Table::new(head.chain(["worse by", "95 % from", "to", "p", "McNemar p"]));
        for (place, (model, versus)) in self.judged.iter().zip(&self.versus).enumerate() {
            let four = |name: &str| match model.figure(name) {
                x if x.is_nan() => "·".to_string(),
                x => number(x, 4),
            };
            let figures = [model.name.clone(), count(model.evaluation.errors()), percent(model.figure("error_rate"))];
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
        let rows = self.judged[0].rows.rows();
        let absent = self.judged[0].evaluation.absent();
        let note = match &absent.iter().map(|class| format!("`{class}`")).collect::<Vec<_>>()[..] {
            [] => String::new(),
            classes => format!("Cllr is not defined: the rows have no class {}.\n", classes.join(", ")),
        };
        format!("{table}\n{rows} rows. Worse by: log loss in nats, paired bootstrap; McNemar: of the errors.\n{note}")
    }

    /// For programs: an object for each model, the best first, with what an evaluation has and the differences.
    pub fn json(&self) -> Value {
        let one = |(model, versus): (&Judged, &Versus)| {
            let target = match model.evaluation.classes() {
                [other, class] => {
                    let threshold = Threshold::of(&model.prior, &self.costs, 1).ok();
                    Some(Target { class: class.clone(), other: other.clone(), threshold })
                }
                _ => None,
            };
            let evaluated = Evaluated {
                evaluation: model.evaluation.clone(),
                figures: model.figures.clone(),
                prior: model.prior.clone(),
                has_costs: self.has_costs,
                target,
                expected: None,
                confidence: Bootstrap::default().confidence,
                remarks: Vec::new(),
            };
            let mut told = evaluated.json();
            told["model"] = json!(model.name);
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
        self.judged.iter().zip(&self.versus).map(one).collect()
    }
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
