//! Fused models in words and tables: the members with their weights, and each member as it is described alone.

use deciban::Result;
use deciban::fuse::{FusedModel, Member};
use deciban::learn::{Classifier, Model};
use serde_json::{Value, json};

use super::{Description, calibration};
use crate::table::{Table, number};

/// A line for each member.
pub fn fused_options(model: &FusedModel) -> String {
    let lines = model.members().iter().map(|m| format!("  {:.3} × {}", m.weight, m.name));
    format!("fused from {} models:\n{}", model.members().len(), lines.collect::<Vec<_>>().join("\n"))
}

/// The weights, and all members.
pub fn fused(model: &FusedModel, confidence: f64) -> String {
    let mut table = Table::new(["member", "weight"]);
    for Member { name, weight, .. } in model.members() {
        table.row([name.clone(), number(*weight, 4)]);
    }
    let mut text = format!("fused from {} models\n\n{table}", model.members().len());
    for Member { name, model, .. } in model.members() {
        let described = Description { model, confidence }.text();
        text += &format!("\n# {name}\n\n{}\n", described.trim_end());
    }
    text
}

/// The same for programs.
pub fn fused_json(model: &FusedModel, confidence: f64) -> Result<Value> {
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

/// The calibration of a model; of a fused one it is nothing but offsets.
pub fn map_in_words(model: &deciban::calibrate::CalibratedModel) -> String {
    let (map, classes) = (model.calibration(), model.schema().classes());
    match (model.model(), map) {
        (Model::Fused(_), deciban::calibrate::Calibration::Affine(line)) if line.scale == 1.0 && line.bound == 0.0 => {
            let offset = |(class, b): (&String, &f64)| {
                format!("{class} {}{}", if *b < 0.0 { "−" } else { "+" }, number(b.abs(), 3))
            };
            let shown: Vec<String> = classes.iter().zip(&line.bias).take(MOST_OFFSETS).map(offset).collect();
            let more = if classes.len() > MOST_OFFSETS { ", ..." } else { "" };
            format!("offsets in nats: {}{more}", shown.join(", "))
        }
        _ => calibration(map, classes),
    }
}

/// Offsets of more classes are not shown.
const MOST_OFFSETS: usize = 20;
