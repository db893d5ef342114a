//! Least-squares models as tables of scores.

use deciban::Result;
use deciban::learn::{Classifier, LeastSquaresModel};
use serde_json::{Value, json};

use super::Describe;
use crate::table::{Table, number};

impl Describe for LeastSquaresModel {
    const PLURAL: &'static str = "least-squares models";

    fn in_short(&self) -> String {
        "least squares on the classes' indicators".into()
    }

    fn text(&self, _: f64) -> String {
        least_squares(self)
    }

    fn json(&self, _: f64) -> Result<Value> {
        Ok(least_squares_json(self))
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        vec![("r2", json!(self.explained()))]
    }
}

/// The scores of all classes, in the units of the data.
fn least_squares(model: &LeastSquaresModel) -> String {
    let (schema, forms) = (model.schema(), model.scores());
    let mut table = Table::new(["score: w·x + w0"].into_iter().chain(schema.classes().iter().map(String::as_str)));
    for (j, column) in schema.columns().iter().enumerate() {
        table.row([format!("w {}", column.name)].into_iter().chain(forms.iter().map(|f| number(f.w[j], 5))));
    }
    table.row(["w0".to_string()].into_iter().chain(forms.iter().map(|f| number(f.w0, 5))));
    table.row(["R²".to_string()].into_iter().chain(model.explained().iter().map(|r| number(*r, 4))));
    table.row(["prior".to_string()].into_iter().chain(model.prior().probabilities().iter().map(|p| number(*p, 4))));
    format!("least squares on the classes' indicators, {} rows\n\n{table}", number(model.learned_from(), 9))
}

/// The scores for programs.
fn least_squares_json(model: &LeastSquaresModel) -> Value {
    let schema = model.schema();
    let forms = model.scores();
    let class = |(k, form): (usize, &deciban::family::gaussian::LinearForm)| {
        json!({ "class": schema.classes()[k], "w": form.w, "w0": form.w0, "r2": model.explained()[k],
                "prior": model.prior().probabilities()[k] })
    };
    json!({
        "model": "least-squares",
        "target": schema.target(),
        "columns": schema.names(),
        "rows": model.learned_from(),
        "scores": forms.iter().enumerate().map(class).collect::<Vec<_>>(),
    })
}
