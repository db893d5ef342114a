//! The figures of an evaluation, for people and for programs.

use deciban::evaluate::{Application, Evaluation, Figure, Interval};
use deciban::evidence::decibans;
use deciban::posterior::Prior;
use serde_json::{Value, json};

use crate::table::{Table, count, number, percent};

/// What is shown.
pub struct Shown<'a> {
    pub evaluation: &'a Evaluation,
    pub figures: &'a [Figure],
    pub prior: &'a Prior,
    /// Whether costs were given.
    pub costs: bool,
    /// Of two classes: target, other, and what decides between them.
    pub two: Option<(String, String, Option<Application>)>,
    /// Of the intervals, if there are any.
    pub confidence: f64,
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

impl Shown<'_> {
    fn find(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// For people: the essentials, the confusion, each class, the evidence.
    pub fn text(&self) -> String {
        let e = self.evaluation;
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
        if self.costs {
            rows.push(("expected_cost", "expected cost", plain));
        }
        self.add_rows(&mut essentials, &rows);
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
        let e = self.evaluation;
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
        let title = match &self.two {
            None => {
                let nothing = (self.evaluation.classes().len() as f64).log2();
                format!("evidence (Cllr without any: {} bits)", number(nothing, 4))
            }
            Some((target, other, application)) => {
                let above = application.map(|a| format!(", taken for it above {:+.1} dB", decibans(a.threshold())));
                format!("evidence for {target} over {other}{}", above.unwrap_or_default())
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
        let e = self.evaluation;
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
            all[&figure.name] = json!(figure.value);
        }
        let per_class = e.classes().iter().zip(e.per_class()).map(|(class, of)| {
            json!({ "class": class, "rows": of.weight, "decided": of.decided, "precision": of.precision,
                    "recall": of.recall, "f1": of.f1 })
        });
        all["per_class"] = per_class.collect();
        let bin = |b: deciban::evaluate::ReliabilityBin| json!({ "low": b.low, "high": b.high, "rows": b.weight, "mean": b.mean, "share": b.share });
        all["reliability"] = e.reliability().curve().into_iter().map(bin).collect();
        if let Some((target, _, application)) = &self.two {
            all["target_class"] = json!(target);
            if let Some(application) = application {
                all["effective_prior"] = json!(application.effective_prior());
                all["llr_threshold"] = json!(application.threshold());
            }
        }
        if self.figures.iter().any(|figure| figure.interval.is_some()) {
            let ends = |figure: &Figure| figure.interval.map(|i| (figure.name.clone(), json!([i.low, i.high])));
            all["confidence"] = json!(self.confidence);
            all["intervals"] = Value::Object(self.figures.iter().filter_map(ends).collect());
        }
        all
    }
}
