//! Predictions as JSON. Numbers are the shortest that give the same double; infinite evidence is `"inf"` or `"-inf"`,
//! and 0/0 is `null`.

use deciban_tasks::Prediction;
use deciban_tasks::ledger::Ledger;

/// What of a prediction is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// The evidence for each class.
    pub evidence: bool,
    /// log p(x) and its rank.
    pub density: bool,
    /// The expected cost of the decision.
    pub risk: bool,
}

/// The keys of a model's classes, ready to be written: `"Barolo":`.
#[derive(Debug)]
pub struct Keys(Vec<Vec<u8>>);

impl Keys {
    /// Of these classes.
    pub fn new(classes: &[String]) -> Self {
        Keys(classes.iter().map(|class| [&string(class)[..], b":"].concat()).collect())
    }
}

/// A JSON string.
pub fn string(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_default()
}

/// A JSON number.
pub fn number(out: &mut Vec<u8>, x: f64) {
    match x {
        f64::INFINITY => out.extend_from_slice(b"\"inf\""),
        f64::NEG_INFINITY => out.extend_from_slice(b"\"-inf\""),
        x if x.is_nan() => out.extend_from_slice(b"null"),
        // Writing to a vector does not fail.
        x => drop(serde_json::to_writer(out, &x)),
    }
}

fn numbers(out: &mut Vec<u8>, keys: &Keys, values: &[f64]) {
    out.push(b'{');
    for (place, (key, value)) in keys.0.iter().zip(values).enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key);
        number(out, *value);
    }
    out.push(b'}');
}

/// One prediction as an object.
pub fn prediction(
    out: &mut Vec<u8>,
    keys: &Keys,
    prediction: &Prediction,
    told: Told,
    densities: Option<&[f64]>,
    ledger: Option<&Ledger>,
) {
    out.extend_from_slice(b"{\"decision\":");
    match &prediction.decision {
        Some(decision) => drop(serde_json::to_writer(&mut *out, decision)),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"posterior\":");
    numbers(out, keys, &prediction.posterior);
    if told.evidence {
        out.extend_from_slice(b",\"evidence\":");
        numbers(out, keys, &prediction.evidence);
    }
    if told.density {
        let pairs = [(&b",\"log_density\":"[..], prediction.log_density), (b",\"rank\":", prediction.rank)];
        for (key, value) in pairs {
            if let Some(value) = value {
                out.extend_from_slice(key);
                number(out, value);
            }
        }
    }
    if let Some(densities) = densities {
        out.extend_from_slice(b",\"log_densities\":");
        numbers(out, keys, densities);
    }
    if told.risk {
        out.extend_from_slice(b",\"risk\":");
        number(out, prediction.risk);
    }
    if let Some(ledger) = ledger {
        out.extend_from_slice(b",\"ledger\":");
        drop(serde_json::to_writer(&mut *out, ledger));
    }
    out.push(b'}');
}
