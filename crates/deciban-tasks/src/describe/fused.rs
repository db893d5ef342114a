//! Fused models in words and tables: the members with their weights, and each member as it is described alone.

use deciban::learn::Classifier;
use deciban::model::{FusedModel, Member};
use deciban::{Result, shown};
use serde_json::{Value, json};

use super::{Describe, Description};
use crate::page;
use crate::table::{Table, number};

impl Describe for FusedModel {
    const PLURAL: &'static str = "several models fused";

    fn in_short(&self) -> String {
        fused_options(self)
    }

    fn text(&self, confidence: f64) -> String {
        fused(self, confidence)
    }

    fn json(&self, confidence: f64) -> Result<Value> {
        fused_json(self, confidence)
    }

    fn report(&self) -> Vec<(&'static str, Value)> {
        let member = |m: &Member| json!({ "name": m.name, "weight": m.weight });
        vec![("members", self.members().iter().map(member).collect())]
    }

    fn scorer(&self) -> Result<Value> {
        let member = |m: &Member| Ok(json!({ "weight": m.weight, "scorer": page::scorer(&m.model)? }));
        Ok(json!({ "kind": "fused", "members": self.members().iter().map(member).collect::<Result<Vec<_>>>()? }))
    }
}

/// A line for each member.
fn fused_options(model: &FusedModel) -> String {
    let lines = model.members().iter().map(|m| format!("  {:.3} × {}", m.weight, shown(&m.name)));
    format!("fused from {} models:\n{}", model.members().len(), lines.collect::<Vec<_>>().join("\n"))
}

/// The weights, and all members.
fn fused(model: &FusedModel, confidence: f64) -> String {
    let mut table = Table::new(["member", "weight"]);
    for Member { name, weight, .. } in model.members() {
        table.row([name.clone(), number(*weight, 4)]);
    }
    let mut text = format!("fused from {} models\n\n{table}", model.members().len());
    for Member { name, model, .. } in model.members() {
        let described = Description { model, confidence }.text();
        text += &format!("\n# {}\n\n{}\n", shown(name), described.trim_end());
    }
    text
}

/// The same for programs.
fn fused_json(model: &FusedModel, confidence: f64) -> Result<Value> {
    let schema = model.schema();
    let member = |Member { name, weight, model }: &Member| {
        Ok(json!({ "name": name, "weight": weight, "model": Description { model, confidence }.json()? }))
    };
    Ok(json!({
        "model": "fused",
        "target": schema.target(),
        "columns": schema.names(),
        "classes": schema.classes(),
        "prior": model.prior().probabilities(),
        "members": model.members().iter().map(member).collect::<Result<Vec<_>>>()?,
    }))
}
