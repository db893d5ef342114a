//! Calibrations in words.

use deciban::calibrate::{Calibration, LlrMap};
use deciban::evidence::decibans;
use deciban::learn::Classifier;
use deciban::model::{CalibratedModel, Model};
use deciban::shown;
use serde_json::{Value, json};

use crate::table::number;

/// A calibration, in a line or a table. LLRs are in nats.
pub fn calibration(map: &Calibration, classes: &[String]) -> String {
    match map {
        Calibration::Affine(line) if classes.len() == 2 => {
            let offset = match line.bias[1] - line.bias[0] {
                0.0 => String::new(),
                offset => format!(" {}", signed(&number(offset, 4))),
            };
            let bound = bound_in_words(line.bound);
            format!("calibrated: LLR({}) = {} × model's{offset}{bound}", shown(&classes[1]), number(line.scale, 4))
        }
        Calibration::Affine(line) => {
            let biases: Vec<String> = classes
                .iter()
                .zip(&line.bias)
                .map(|(c, b)| format!("{} {}", shown(c), signed(&number(*b, 3))))
                .collect();
            let biases =
                if line.bias.iter().all(|b| *b == 0.0) { String::new() } else { format!("; {}", biases.join(", ")) };
            format!("calibrated: evidence = {} × model's{biases}{}", number(line.scale, 4), bound_in_words(line.bound))
        }
        Calibration::Beta(beta) => {
            let [a, b, c] = [beta.a, beta.b, beta.c].map(|x| number(x, 4));
            format!("calibrated: logit p = {a} ln q − {b} ln(1 − q) {} of the model's q", signed(&c))
        }
        Calibration::Steps(steps) => {
            let ends = |f: fn(f64, f64) -> f64| steps.pieces.iter().map(|p| p[2]).reduce(f).unwrap_or(f64::NAN);
            let [low, high] = [ends(f64::min), ends(f64::max)].map(|x| format!("{:+.1}", decibans(x)));
            format!("calibrated: {} steps from {low} to {high} decibans", steps.pieces.len())
        }
        Calibration::OneVersusRest(rest) => {
            let map = |(class, map): (&String, &LlrMap)| {
                let text = calibration(&of_two(map), &[String::new(), class.clone()]);
                format!("{} against the rest {text}", shown(class))
            };
            classes.iter().zip(&rest.maps).map(map).collect::<Vec<_>>().join("\n")
        }
    }
}

/// The bound before a map, if there is one.
fn bound_in_words(bound: f64) -> String {
    if bound > 0.0 { format!(" (bound {bound})") } else { String::new() }
}

/// The map of a class as a calibration of two.
fn of_two(map: &LlrMap) -> Calibration {
    match map {
        LlrMap::Steps(steps) => Calibration::Steps(steps.clone()),
        LlrMap::Beta(beta) => Calibration::Beta(*beta),
    }
}

fn signed(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(rest) => format!("− {rest}"),
        None => format!("+ {number}"),
    }
}

/// A calibration for programs.
pub fn calibration_json(map: &Calibration) -> Value {
    let name = map.method().name();
    match map {
        Calibration::Affine(line) => {
            json!({ "method": name, "bound": line.bound, "scale": line.scale, "bias": line.bias })
        }
        Calibration::Beta(beta) => {
            json!({ "method": name, "a": beta.a, "b": beta.b, "c": beta.c, "log_odds": beta.log_odds })
        }
        Calibration::Steps(steps) => {
            let piece = |p: &[f64; 3]| json!({ "from": p[0], "to": p[1], "llr": p[2] });
            json!({ "method": name, "steps": steps.pieces.iter().map(piece).collect::<Vec<_>>() })
        }
        Calibration::OneVersusRest(rest) => {
            json!({ "method": name, "classes": rest.maps.iter().map(|map| calibration_json(&of_two(map))).collect::<Vec<_>>() })
        }
    }
}

/// The calibration of a model; of a fused one it is nothing but offsets.
pub(super) fn map_in_words(model: &CalibratedModel) -> String {
    let (map, classes) = (model.calibration(), model.schema().classes());
    match (model.model(), map) {
        (Model::Fused(_), Calibration::Affine(line)) if line.scale == 1.0 && line.bound == 0.0 => {
            let offset = |(class, b): (&String, &f64)| {
                format!("{} {}{}", shown(class), if *b < 0.0 { "−" } else { "+" }, number(b.abs(), 3))
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
