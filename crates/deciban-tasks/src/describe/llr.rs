//! LLRs from elsewhere in words.

use deciban::Result;
use deciban::learn::{Classifier, LlrModel};
use serde_json::{Value, json};

use super::Describe;
use crate::table::number;

impl Describe for LlrModel {
    const PLURAL: &'static str = "columns of log-likelihood ratios";

    fn in_short(&self) -> String {
        let [other, class] = self.schema().classes() else { return String::new() };
        let unit = match self.unit() {
            1.0 => "nats".to_string(),
            unit => format!("units of {} nats", number(unit, 7)),
        };
        format!("log-likelihood ratios of {class} over {other}: column `{}`, in {unit}", self.column())
    }

    fn text(&self, _: f64) -> String {
        format!("{}\n", self.in_short())
    }

    fn json(&self, _: f64) -> Result<Value> {
        let schema = self.schema();
        Ok(json!({
            "model": "llr",
            "target": schema.target(),
            "classes": schema.classes(),
            "columns": schema.names(),
            "column": self.column(),
            "nats_per_unit": self.unit(),
            "prior": self.prior().probabilities(),
        }))
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        vec![("column", json!(self.column()))]
    }
}
