//! Evaluation: how good the decisions, probabilities and evidence of a model are on rows whose class is known.

use deciban::data::{Batch, Kind, Schema};
use deciban::evaluate::{Application as Threshold, Bootstrap, Evaluation, Interval, ReliabilityBin, Scored};
use deciban::evidence::{Evidence, decibans};
use deciban::expected::{Expected, Sampling, expected};
use deciban::figures::Figure;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::posterior::Prior;
use deciban::{Error, Result, shown};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::application::{Application, Terms, find_class};
use crate::familiar::Familiar;
use crate::form::check_densities;
use crate::input::Input;
use crate::numbers;
use crate::outside::Outside;
use crate::predict::usual_rows;
use crate::remarks::Remark;
use crate::scored::{Collected, Keeping, Unusual, collect};
use crate::table::{Table, count, number, percent};

/// How rows are evaluated.
#[derive(Clone, Debug)]
pub struct Evaluating {
    /// Prior, costs and reject.
    pub application: Application,
    /// Of two classes, the one whose evidence is judged; the second by default.
    pub positive: Option<String>,
    /// Intervals of all figures, if they are wanted.
    pub bootstrap: Option<Bootstrap>,
    /// Bytes that figures which need all rows at once may take, with the evidence of the rows.
    pub memory: usize,
}

/// What the figures of a row take beside its evidence: 60 to 130 bytes were measured, for two to five classes.
const BYTES_OF_FIGURES: usize = 136;

impl Evaluating {
    /// All rows, as long as their evidence leaves memory for their figures.
    fn keeping(&self, classes: usize) -> Keeping {
        let own = Scored::bytes_per_row(classes);
        Keeping::All((self.memory / (own + BYTES_OF_FIGURES)).saturating_mul(own))
    }
}

impl Default for Evaluating {
    fn default() -> Self {
        Evaluating { application: Application::default(), positive: None, bootstrap: None, memory: 2 << 30 }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Counts of decisions and sums over rows.
    pub evaluation: Evaluation,
    /// All figures by name.
    pub figures: Vec<Figure>,
    /// The prior that decisions were made with.
    pub prior: Prior,
    /// Whether costs were given.
    pub has_costs: bool,
    /// Of two classes, the one whose evidence is judged.
    pub target: Option<Target>,
    /// What the model itself expects of its decisions, if it describes how rows come about.
    pub expected: Option<Expected>,
    /// The confidence of the intervals, if there are any.
    pub confidence: f64,
    /// What a person should know.
    pub remarks: Vec<Remark>,
}

/// Of two classes, the one whose evidence is judged.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name.
    pub class: String,
    /// The name of the other.
    pub other: String,
    /// What decides between them, where that is a threshold.
    pub threshold: Option<Threshold>,
}

/// Evaluates a model.
pub fn evaluate(model: &Model, input: &dyn Input, request: &Evaluating) -> Result<Evaluated> {
    let terms = request.application.to_model(model)?;
    let (outside, familiar) = (Outside::new(model), Familiar::new(model));
    let keeping = request.keeping(model.schema().classes().len());
    let collected = collect_by(model, input, &terms, keeping, &outside, &familiar)?;
    let mut evaluated = figures(model.schema(), &terms, request, collected, None)?;
    evaluated.remarks =
        unseen(input).into_iter().chain(evaluated.remarks).chain(outside.remarks()).chain(familiar.remark()).collect();
    Ok(with_expected(evaluated, model, &terms))
}

/// What is known of a part of the rows: the rest is elsewhere. [`evaluate_parts`] evaluates all of them.
pub fn evaluate_part(model: &Model, input: &dyn Input, application: &Application, keeping: Keeping) -> Result<Vec<u8>> {
    let terms = application.to_model(model)?;
    collect_by(model, input, &terms, keeping, &Outside::new(model), &Familiar::default())?.to_bytes()
}

/// Evaluates a model by what is known of all parts of the rows, of which `drawn` is the share whose evidence was kept.
/// Where that is not all, figures that need all rows at once are those of the rows that were drawn, without intervals,
/// and a remark says so.
pub fn evaluate_parts(model: &Model, parts: &[Vec<u8>], request: &Evaluating, drawn: f64) -> Result<Evaluated> {
    let terms = request.application.to_model(model)?;
    let collected = merged(model, parts, &terms)?;
    let evaluated = figures(model.schema(), &terms, request, collected, Some(drawn).filter(|drawn| *drawn < 1.0))?;
    Ok(with_expected(evaluated, model, &terms))
}

/// What is known of several parts together, as bytes.
pub fn merge_parts(model: &Model, parts: &[Vec<u8>], application: &Application) -> Result<Vec<u8>> {
    merged(model, parts, &application.to_model(model)?)?.to_bytes()
}

fn merged(model: &Model, parts: &[Vec<u8>], terms: &Terms) -> Result<Collected> {
    let mut all = Collected::new(model.schema().classes(), &terms.costs)?;
    parts.iter().try_for_each(|part| all.merge_bytes(part))?;
    Ok(all)
}

/// Scores rows by a model.
fn collect_by(
    model: &Model,
    input: &dyn Input,
    terms: &Terms,
    keeping: Keeping,
    outside: &Outside,
    familiar: &Familiar<'_>,
) -> Result<Collected> {
    let score = |batch: &Batch<'_>| {
        outside.look(batch);
        familiar.look(batch);
        model.evidence(batch)
    };
    if terms.none_of_these.is_some() {
        check_densities(model, "none_of_these")?;
    }
    let usual = terms.none_of_these.map(|_| usual_rows(model, terms)).transpose()?;
    let unusual = |batch: &Batch<'_>| match &usual {
        Some(usual) => Ok(terms.unusual(&usual.look(model, batch)?)),
        None => Ok(Vec::new()),
    };
    let unusual: Option<Unusual<'_>> = usual.is_some().then_some(&unusual);
    collect(input, model.schema().classes(), &terms.prior, &terms.costs, keeping, score, unusual)
}

/// With what the model itself expects, which is that of decisions by cost alone.
fn with_expected(mut evaluated: Evaluated, model: &Model, terms: &Terms) -> Evaluated {
    if is_quickly_drawn(model) && terms.none_of_these.is_none() {
        evaluated.expected = expected(model, &terms.prior, &terms.costs, Sampling::default()).ok();
    }
    evaluated
}

/// Whether rows of the model can be drawn in no time: texts and hundreds of columns cannot.
fn is_quickly_drawn(model: &Model) -> bool {
    let columns = model.schema().columns();
    matches!(model, Model::Generative(_)) && columns.len() <= 100 && columns.iter().all(|c| c.kind != Kind::Text)
}

/// Evaluates scores, wherever they come from; `unusual` says which rows are none of the classes, if that is an answer.
pub fn evaluate_scores(
    input: &dyn Input,
    schema: &Schema,
    terms: &Terms,
    request: &Evaluating,
    score: impl Fn(&Batch<'_>) -> Result<Evidence> + Sync,
    unusual: Option<Unusual<'_>>,
) -> Result<Evaluated> {
    let (classes, keeping) = (schema.classes(), request.keeping(schema.classes().len()));
    let collected = collect(input, classes, &terms.prior, &terms.costs, keeping, score, unusual)?;
    let mut evaluated = figures(schema, terms, request, collected, None)?;
    evaluated.remarks = unseen(input).into_iter().chain(evaluated.remarks).collect();
    Ok(evaluated)
}

/// The figures of rows, of which `drawn` says the share that was kept, if not all were.
fn figures(
    schema: &Schema,
    terms: &Terms,
    request: &Evaluating,
    collected: Collected,
    drawn: Option<f64>,
) -> Result<Evaluated> {
    let Terms { prior, costs, has_costs, .. } = terms;
    let classes = schema.classes();
    let positive = match (&request.positive, classes.len()) {
        (Some(_), 3..) => {
            return Err(Error::parameter(
                "positive",
                format!("it is for two classes, and there are {}", classes.len()),
            ));
        }
        (Some(name), _) => find_class(schema, name, "positive")?,
        (None, _) => 1,
    };
    let mut remarks: Vec<Remark> = Vec::new();
    let sums = || {
        let cllr = ("cllr".to_string(), collected.cllr.bits());
        collected.evaluation.figures().into_iter().chain([cllr])
    };
    let figures = match &collected.rows {
        Some(rows) if drawn.is_some() => {
            let mut figures = rows.figures(classes, prior, costs, positive, None)?;
            // Sums are those of all rows.
            for (name, value) in sums() {
                figures.iter_mut().filter(|figure| figure.name == name).for_each(|figure| figure.value = value);
            }
            remarks.push(Remark::warning(format!(
                "minimum Cllr, AUC, equal error rates and minimum costs are those of {} rows, drawn from {}, and \
                 intervals are left out",
                rows.rows(),
                collected.evaluation.rows()
            )));
            figures
        }
        Some(rows) => rows.figures(classes, prior, costs, positive, request.bootstrap.as_ref())?,
        None => {
            let rows = collected.evaluation.rows();
            remarks.push(Remark::note(format!(
                "the evidence of {rows} rows and its figures take more than {} MiB: intervals, minimum Cllr, AUC, equal \
                 error rates and minimum costs are left out; give §memory for more",
                request.memory >> 20
            )));
            sums().map(|(name, value)| Figure { name, value, interval: None }).collect()
        }
    };
    let target = (classes.len() == 2).then(|| Target {
        class: classes[positive].clone(),
        other: classes[1 - positive].clone(),
        threshold: Threshold::of(prior, costs, positive).ok(),
    });
    Ok(Evaluated {
        evaluation: collected.evaluation,
        figures,
        prior: prior.clone(),
        has_costs: *has_costs,
        target,
        expected: None,
        confidence: request.bootstrap.as_ref().map_or(Bootstrap::default().confidence, |b| b.confidence),
        remarks,
    })
}

/// What was not seen at fit, column by column, and rows whose class the model does not know.
pub fn unseen(input: &dyn Input) -> Vec<Remark> {
    let levels = input.unseen().into_iter().map(|unseen| {
        let (cells, have) = if unseen.cells == 1 { ("cell", "has") } else { ("cells", "have") };
        Remark::warning(format!(
            "column `{}`: {} {cells} {have} a level that the model has not seen, as `{}`",
            unseen.column, unseen.cells, unseen.example
        ))
    });
    let classes = input.unknown_classes().into_iter().map(|(class, rows)| {
        let rows = if rows == 1 { "1 row is".to_string() } else { format!("{rows} rows are") };
        Remark::warning(format!("{rows} of the class `{class}`, which the model does not know: left out"))
    });
    levels.chain(classes).collect()
}

/// How a figure is written.
type Style = fn(f64) -> String;

fn plain(x: f64) -> String {
    number(x, 4)
}

fn nats(x: f64) -> String {
    format!("{} nats", number(x, 4))
}

fn bits(x: f64) -> String {
    format!("{} bits", number(x, 4))
}

impl Evaluated {
    fn find(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// For people: the essentials, the confusion, each class, the evidence.
    pub fn text(&self) -> String {
        let e = &self.evaluation;
        let intervals = self.figures.iter().any(|figure| figure.interval.is_some());
        let mut essentials = Table::new(["rows".to_string(), e.rows().to_string()]);
        if intervals {
            let share = number(100.0 * self.confidence, 4);
            essentials = Table::new(["rows".to_string(), e.rows().to_string(), format!("{share} % from"), "to".into()]);
        }
        essentials.row(["errors", &count(e.errors())]);
        let mut rows: Vec<(&str, &str, Style)> = vec![("error_rate", "error rate", percent)];
        if e.rejected() > 0.0 {
            essentials.row(["rejected", &count(e.rejected())]);
        }
        if e.undefined() > 0 {
            essentials.row(["undefined (0/0)", &e.undefined().to_string()]);
        }
        rows.extend::<[(&str, &str, Style); 4]>([
            ("balanced_accuracy", "balanced accuracy", percent),
            ("log_loss", "log loss", nats),
            ("brier", "Brier score", plain),
            ("calibration_error", "calibration error", plain),
        ]);
        if self.has_costs {
            rows.push(("expected_cost", "expected cost", plain));
        }
        self.add_rows(&mut essentials, &rows);
        if let Some(expected) = &self.expected {
            essentials.row(["expected error", &percent(expected.error_rate)]);
            if self.has_costs {
                essentials.row(["Bayes risk", &plain(expected.expected_cost)]);
            }
        }
        format!("{essentials}\n{}\n{}\n{}", self.confusion(), self.per_class(), self.evidence())
    }

    fn add_rows(&self, table: &mut Table, rows: &[(&str, &str, Style)]) {
        for (name, label, style) in rows {
            let Some(figure) = self.find(name) else { continue };
            let ends = figure.interval.map(|Interval { low, high }| [style(low), style(high)]);
            table.row([label.to_string(), style(figure.value)].into_iter().chain(ends.into_iter().flatten()));
        }
    }

    fn confusion(&self) -> Table {
        let e = &self.evaluation;
        let undecided = e.undefined() > 0;
        let header = ["true \\ decided"].into_iter().chain(e.actions().iter().map(String::as_str));
        let mut confusion = Table::new(header.chain(undecided.then_some("none")).chain(["prior"]));
        let left = e.undecided();
        for (c, row) in e.confusion().into_iter().enumerate() {
            let row = row.iter().chain(undecided.then_some(&left[c]));
            let cells = row.map(|&w| if w == 0.0 { "·".to_string() } else { count(w) });
            let prior = number(self.prior.probabilities()[c], 3);
            confusion.row([e.classes()[c].clone()].into_iter().chain(cells).chain([prior]));
        }
        confusion
    }

    fn per_class(&self) -> Table {
        let share = |x: f64| if x.is_nan() { "·".to_string() } else { format!("{x:.4}") };
        let mut table = Table::new(["class", "precision", "recall", "F1"]);
        for (class, of) in self.evaluation.classes().iter().zip(self.evaluation.per_class()) {
            table.row([class.clone(), share(of.precision), share(of.recall), share(of.f1)]);
        }
        let (precision, recall, f1) = self.evaluation.macro_average();
        table.row(["mean".to_string(), share(precision), share(recall), share(f1)]);
        table
    }

    fn evidence(&self) -> String {
        let title = match &self.target {
            None => {
                let nothing = (self.evaluation.classes().len() as f64).log2();
                format!("evidence (Cllr without any: {} bits)", number(nothing, 4))
            }
            Some(Target { class: target, other, threshold: application }) => {
                let above = application.map(|a| format!(", taken for it above {:+.1} dB", decibans(a.threshold())));
                format!("evidence for {} over {}{}", shown(target), shown(other), above.unwrap_or_default())
            }
        };
        let rows: [(&str, &str, Style); 8] = [
            ("cllr", "Cllr", bits),
            ("min_cllr", "minimum Cllr", bits),
            ("auc", "AUC", plain),
            ("eer", "equal error rate", percent),
            ("hull_eer", "equal error rate, hull", percent),
            ("dcf", "cost at this prior", plain),
            ("min_dcf", "minimum cost", plain),
            ("default_dcf", "cost without looking", plain),
        ];
        let mut table = Table::default();
        self.add_rows(&mut table, &rows);
        format!("{title}\n{table}")
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let e = &self.evaluation;
        let mut all = json!({
            "rows": e.rows(),
            "errors": e.errors(),
            "rejected": e.rejected(),
            "undefined": e.undefined(),
            "classes": e.classes(),
            "actions": e.actions(),
            "confusion": e.confusion(),
            "prior": self.prior.probabilities(),
        });
        // Those of single classes stand with the class.
        for figure in self.figures.iter().filter(|figure| !figure.name.ends_with(')')) {
            all[&figure.name] = numbers::number(figure.value);
        }
        let per_class = e.classes().iter().zip(e.per_class()).map(|(class, of)| {
            json!({ "class": class, "rows": of.weight, "decided": of.decided, "precision": of.precision,
                    "recall": of.recall, "f1": of.f1 })
        });
        all["per_class"] = per_class.collect();
        let bin = |b: ReliabilityBin| json!({ "low": b.low, "high": b.high, "rows": b.weight, "mean": b.mean, "share": b.share });
        all["reliability"] = e.reliability().curve().into_iter().map(bin).collect();
        if let Some(expected) = &self.expected {
            all["expected"] = json!(expected);
        }
        if let Some(Target { class: target, threshold: application, .. }) = &self.target {
            all["target_class"] = json!(target);
            if let Some(application) = application {
                all["effective_prior"] = json!(application.effective_prior());
                all["llr_threshold"] = json!(application.threshold());
            }
        }
        if self.figures.iter().any(|figure| figure.interval.is_some()) {
            let ends = |figure: &Figure| {
                figure.interval.map(|i| (figure.name.clone(), json!([numbers::number(i.low), numbers::number(i.high)])))
            };
            all["confidence"] = json!(self.confidence);
            all["intervals"] = Value::Object(self.figures.iter().filter_map(ends).collect());
        }
        all
    }
}

impl Serialize for Evaluated {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_for_the_evidence_and_its_figures() {
        let rows_kept = |memory| match (Evaluating { memory, ..Evaluating::default() }).keeping(2) {
            Keeping::All(bytes) => bytes / Scored::bytes_per_row(2),
            Keeping::Drawn { .. } => 0,
        };
        // Two numbers, a class and a weight take 28 bytes, the figures 136.
        assert_eq!([rows_kept(164_000), rows_kept(163_999), rows_kept(0)], [1000, 999, 0]);
        // Without a limit, nothing overflows.
        assert!(rows_kept(usize::MAX) > 1 << 20);
    }
}
