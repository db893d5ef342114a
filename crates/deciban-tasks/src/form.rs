//! [`Form`]: predictions as lines of CSV or JSON, as `predict` prints them and the service sends them.

use std::borrow::Cow;
use std::sync::Arc;

use deciban::data::Batch;
use deciban::evidence::decibans;
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban::unusual::Usual;
use deciban::{Error, Result};
use serde_json::{Map, Value, json};

use crate::application::{Application, Terms};
use crate::numbers::number;
use crate::predict::usual_rows;
use crate::table::exact;

/// What is written for each row besides the decision and the posterior.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// The log-likelihood ratio of each class against the others, in decibans.
    pub evidence: bool,
    /// log p(x) and its rank among rows of the model.
    pub density: bool,
    /// The names of columns of the input that are carried through, in front of the decision.
    pub front: Vec<String>,
}

/// How predictions are written, settled once for all rows.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban_tasks::{Application, Form, Learning, Shown, learn};
/// let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
/// let heights = [155.0, 160.0, 162.0, 165.0, 168.0, 168.0, 173.0, 175.0, 178.0, 183.0];
/// let rows = Batch::new(10).column(&heights[..])?.classes(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1])?;
/// let request = Learning { model: "gaussian".into(), ..Learning::default() };
/// let model = learn(&request, &mut Memory::new(schema, rows)?)?.model;
///
/// let form = Form::new(&model, &Application::default(), &Shown::default())?;
/// let (text, undefined) = form.csv(&model, &Batch::new(1).column(&[190.0][..])?, |_| Vec::new())?;
/// assert_eq!((form.header(), undefined), ("decision,p(F),p(M)\n".to_string(), 0));
/// let cells: Vec<&str> = text.trim_end().split(',').collect();
/// assert!(cells[0] == "M" && cells[1].parse::<f64>().is_ok_and(|p| p < 0.01), "{text}");
/// # Ok::<(), deciban::Error>(())
/// ```
pub struct Form {
    terms: Terms,
    evidence: bool,
    density: bool,
    /// What rows are compared with, where it is told how usual they are.
    usual: Option<Arc<Usual>>,
    names: Vec<String>,
}

impl Form {
    /// For a model under an application.
    pub fn new(model: &Model, to: &Application, shown: &Shown) -> Result<Self> {
        Form::with_usual(model, to, shown, |terms| usual_rows(model, terms).map(Arc::new))
    }

    /// The same; `usual` gives the rows with which others are compared.
    pub(crate) fn with_usual(
        model: &Model,
        to: &Application,
        shown: &Shown,
        usual: impl FnOnce(&Terms) -> Result<Arc<Usual>>,
    ) -> Result<Self> {
        let asked = to.none_of_these.map(|_| "none_of_these").or(shown.density.then_some("density"));
        if let Some(option) = asked {
            check_densities(model, option)?;
        }
        let classes = model.schema().classes();
        let mut names = shown.front.clone();
        names.push("decision".into());
        names.extend(classes.iter().map(|c| format!("p({c})")));
        if shown.evidence {
            names.extend(classes.iter().map(|c| format!("evidence({c})")));
        }
        if shown.density {
            names.extend(["log p(x)", "rank"].map(String::from));
        }
        if to.has_costs() {
            names.push("risk".into());
        }
        let terms = to.to_model(model)?;
        let usual = asked.map(|_| usual(&terms)).transpose()?;
        Ok(Form { terms, evidence: shown.evidence, density: shown.density, usual, names })
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The first line of CSV.
    pub fn header(&self) -> String {
        self.names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",") + "\n"
    }

    /// Rows as CSV, and how many of them have no posterior; `front` gives the cells that are carried through.
    pub fn csv<'a>(
        &self,
        model: &Model,
        batch: &Batch<'_>,
        front: impl Fn(usize) -> Vec<Cow<'a, str>>,
    ) -> Result<(String, usize)> {
        self.write(model, batch, |text, row, action, numbers| {
            for cell in front(row) {
                *text += &quoted(&cell);
                text.push(',');
            }
            *text += &quoted(action.unwrap_or_default());
            for &x in numbers {
                text.push(',');
                if !x.is_nan() {
                    *text += &exact(x);
                }
            }
        })
    }

    /// Rows as JSON objects, one in each line, and how many of them have no posterior.
    pub fn json<'a>(
        &self,
        model: &Model,
        batch: &Batch<'_>,
        front: impl Fn(usize) -> Vec<Cow<'a, str>>,
    ) -> Result<(String, usize)> {
        self.write(model, batch, |text, row, action, numbers| {
            let cells = front(row).into_iter().map(|cell| json!(cell));
            let values = cells.chain([json!(action)]).chain(numbers.iter().map(|x| number(*x)));
            let object: Map<String, Value> = self.names.iter().cloned().zip(values).collect();
            *text += &Value::Object(object).to_string();
        })
    }

    /// What is decided about each row and the numbers behind it, handed to `line`, which writes them.
    fn write(
        &self,
        model: &Model,
        batch: &Batch<'_>,
        line: impl Fn(&mut String, usize, Option<&str>, &[f64]),
    ) -> Result<(String, usize)> {
        let evidence = model.evidence(batch)?;
        let Terms { prior, costs, has_costs, .. } = &self.terms;
        let posterior = evidence.posterior(prior);
        let ranks = match &self.usual {
            Some(usual) => usual.look(model, batch)?,
            None => Vec::new(),
        };
        let decisions = posterior.decide_unless(costs, &self.terms.unusual(&ranks));
        let mut text = String::with_capacity(decisions.len() * 24 * self.names.len());
        for (row, decision) in decisions.iter().enumerate() {
            let action = decision.action.map(|a| costs.actions()[a].as_str());
            let mut numbers = posterior.row(row);
            if self.evidence {
                numbers.extend((0..evidence.classes()).map(|k| decibans(evidence.llr(row, k))));
            }
            if self.density {
                numbers.extend([ranks[row].log_density, ranks[row].rank]);
            }
            numbers.extend(has_costs.then_some(decision.risk));
            line(&mut text, row, action, &numbers);
            text.push('\n');
        }
        // A row that is none of the classes has its decision.
        Ok((text, decisions.iter().filter(|decision| decision.action.is_none()).count()))
    }
}

/// An error that names the option, unless the model has densities of rows.
pub(crate) fn check_densities(model: &Model, option: &'static str) -> Result<()> {
    model.described(Asks::Rows).map(drop).map_err(|error| Error::parameter(option, error.marked()))
}

/// A CSV field.
pub fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_string(),
    }
}
