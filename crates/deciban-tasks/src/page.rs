//! A model as data for the page: what its columns look like, rows that it would make itself, and, where the page
//! scores on its own, its numbers.
//!
//! The numbers are the arrays of the model file, bit for bit, in base64. The page's modules in
//! `deciban-serve/page/score` read them with the formulas of the families.

use deciban::calibrate::Calibration;
use deciban::data::{Column, Kind, Profile, Schema, ShownKind, Written};
use deciban::family::gaussian::{GaussianDensity, Structure};
use deciban::family::{AnyDensity, AnyFamily};
use deciban::file::{Archive, Stored};
use deciban::learn::{Classifier, FittedBlock, GenerativeModel};
use deciban::model::{Asks, By, CalibratedModel, Described, Model};
use deciban::numerics::Random;
use deciban::{Error, Result};
use serde_json::{Map, Value, json};

use crate::describe;

/// The most cells of drawn rows, so that a page can be mailed.
const DRAWN_CELLS: usize = 16_000;
/// The most rows drawn of a class.
const MOST_DRAWN: usize = 400;

/// The families that the page can score; others are left to the service.
const FAMILIES: [&str; 16] = [
    "gaussian",
    "categorical",
    "bernoulli",
    "multinomial",
    "poisson",
    "negative-binomial",
    "exponential",
    "log-normal",
    "gamma",
    "beta",
    "histogram",
    "auto",
    "a1de",
    "table",
    "tree",
    "parzen",
];

/// Who scores the cases of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoredBy {
    /// The page itself, by the numbers of the model.
    Page,
    /// The service.
    Service,
}

/// All that the page knows of a model. With [`ScoredBy::Page`], models that the page cannot score are refused.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban_tasks::{Learning, ScoredBy, learn, page_data};
///
/// let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
/// let heights = [155.0, 160.0, 168.0, 168.0, 175.0, 183.0];
/// let rows = Batch::new(6).column(&heights[..])?.classes(&[0, 0, 0, 1, 1, 1])?;
/// let request = Learning { model: "gaussian".into(), ..Learning::default() };
/// let model = learn(&request, &mut Memory::new(schema, rows)?)?.model;
/// let data = page_data(&model, "heights", ScoredBy::Page)?;
/// assert_eq!(data["columns"][0]["name"], "height");
/// assert_eq!(data["scorer"]["blocks"][0]["family"], "gaussian");
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn page_data(model: &Model, name: &str, by: ScoredBy) -> Result<Value> {
    let schema = model.schema();
    let profiles = model.about().profiles();
    let column = |(j, column): (usize, &Column)| describe_column(schema, column, profiles.get(j), by);
    let mut data = json!({
        "name": name,
        "about": describe::in_short(model),
        "rows": model.learned_from(),
        "target": schema.target(),
        "classes": schema.classes(),
        "prior": model.prior().probabilities(),
        "empirical": model.empirical().probabilities(),
        "columns": schema.columns().iter().enumerate().map(column).collect::<Vec<_>>(),
        "missing": schema.spelling().missing,
        "decimal": schema.spelling().decimal,
        "thousands": schema.spelling().thousands,
    });
    let described = model.described(Asks::Rows).ok();
    if let Some(Described { model: rows, by: whose }) = described {
        data["drawn"] = drawn(rows, model.about().profiles());
        data["moments"] = moments(rows).unwrap_or(Value::Null);
        // The page has the numbers of the model and of its members, and reads those of a companion here.
        data["density"] = match whose {
            By::Itself => json!({ "by": "itself" }),
            By::Member(place, name) => json!({ "by": "member", "place": place, "name": name }),
            By::Companion if by == ScoredBy::Service => json!({ "by": "companion" }),
            By::Companion => json!({ "by": "companion", "scorer": generative(rows)? }),
        };
    }
    if by == ScoredBy::Page {
        data["reading"] = json!(schema.reading());
        data["scorer"] = scorer(model)?;
    }
    Ok(data)
}

/// A column as a form shows it.
fn describe_column(schema: &Schema, column: &Column, profile: Option<&Profile>, by: ScoredBy) -> Value {
    let spelling = schema.spelling();
    let kind = spelling.shown_kind(column);
    let mut told = json!({ "name": column.name, "kind": kind });
    // The service knows the words of a text.
    if kind != ShownKind::Text || by == ScoredBy::Page {
        told["levels"] = json!(column.levels);
    }
    if let Written::Flag { yes, no } = spelling.written(&column.name) {
        told["flag"] = json!({ "yes": yes, "no": no });
    }
    let Some(profile) = profile.filter(|profile| profile.cells > 0) else { return told };
    told["missing"] = json!(profile.missing());
    match column.kind {
        Kind::Text => told["mean_words"] = json!(profile.mean_words),
        _ if !column.levels.is_empty() => told["frequent"] = json!(profile.frequent),
        _ => {
            told["quantiles"] = json!(profile.quantiles);
            told["whole"] = json!(profile.is_whole);
        }
    }
    told
}

/// Rows of every class that the model would make, as cells in the order of the columns; null where it makes none
/// that can be written down.
fn drawn(model: &GenerativeModel, profiles: &[Profile]) -> Value {
    let schema = model.schema();
    let single_words = schema.reading().is_none_or(|reading| {
        reading.hashed_bits.is_none() && !reading.tokeniser.characters && reading.tokeniser.ngrams == (1, 1)
    });
    if !single_words {
        return Value::Null;
    }
    let classes = schema.classes().len();
    let words = |profile: &Profile| if profile.mean_words > 0.0 { profile.mean_words as usize } else { 1 };
    let cells = match profiles {
        [] => schema.columns().len(),
        profiles => profiles.iter().map(words).sum(),
    };
    let each = (DRAWN_CELLS / (classes * cells).max(1)).clamp(20, MOST_DRAWN);
    let mut rows = Vec::new();
    for class in 0..classes {
        let mut random = Random::new(class as u64);
        for _ in 0..each {
            let Ok(row) = model.sample(class, &mut random) else { return Value::Null };
            let cells = row.iter().zip(schema.columns()).map(|(value, column)| cell(value, column, schema));
            rows.push(Value::Array(cells.collect()));
        }
    }
    json!({ "each": each, "rows": rows })
}

/// A drawn cell, with as many digits as people write.
fn cell(value: &deciban::data::Value, column: &Column, schema: &Schema) -> Value {
    use deciban::data::Value as Cell;
    let level = |code: u32| column.levels.get(code as usize);
    match value {
        Cell::Number(x) if !x.is_finite() => Value::Null,
        // A date is a day: what it holds of a day is not drawn.
        Cell::Number(x) if schema.spelling().shown_kind(column) == ShownKind::Date => json!(x.floor()),
        Cell::Number(x) => json!(format!("{x:.5e}").parse::<f64>().unwrap_or(*x)),
        Cell::Level(code) => json!(level(*code)),
        Cell::Counts(counts) => {
            let words =
                counts.iter().flat_map(|&(code, count)| std::iter::repeat_n(code, count as usize)).filter_map(level);
            json!(words.map(String::as_str).collect::<Vec<_>>().join(" "))
        }
    }
}

/// The means and covariances of numbers that a Gaussian describes, in the units of the table: what ellipses on a
/// map are drawn from.
fn moments(model: &GenerativeModel) -> Option<Value> {
    let gaussian = |block: &FittedBlock| match &block.density {
        AnyDensity::Gaussian(density) if block.block.gaussianise.is_none() => {
            in_units(density).map(|moments| (block.block.columns.clone(), moments))
        }
        _ => None,
    };
    if !model.components().is_single() {
        return None;
    }
    let (columns, [mean, covariance]) = model.blocks().iter().find_map(gaussian)?;
    Some(json!({ "columns": columns, "mean": mean, "covariance": covariance }))
}

/// The means and the covariances, row after row, each with a list for every class; `None` after a projection.
fn in_units(density: &GaussianDensity) -> Option<[Vec<Vec<f64>>; 2]> {
    if density.chain().iter().any(|linear| !linear.is_columnwise()) {
        return None;
    }
    let d = density.mean(0).len();
    // x = z·unit + origin
    let (mut unit, mut origin) = (vec![1.0; d], vec![0.0; d]);
    for linear in density.chain() {
        let (scale, centre) = linear.parts();
        for j in 0..d {
            origin[j] += unit[j] * centre[j];
            unit[j] /= scale[(j, j)];
        }
    }
    let mean = |class: &Vec<f64>| (0..d).map(|j| class[j] * unit[j] + origin[j]).collect();
    let covariance = |class: usize| {
        let sigma = density.covariance(class);
        (0..d * d).map(|c| sigma[(c / d, c % d)] * unit[c / d] * unit[c % d]).collect()
    };
    Some([density.means().iter().map(mean).collect(), (0..density.means().len()).map(covariance).collect()])
}

/// The numbers of a model, for the page's own scorer.
pub(crate) fn scorer(model: &Model) -> Result<Value> {
    if model.schema().reading().is_some_and(|reading| reading.hashed_bits.is_some()) {
        return Err(refused("hashed words"));
    }
    match model {
        Model::Calibrated(model) => calibrated(model),
        model => describe::scorer(model),
    }
}

pub(crate) fn refused(what: &str) -> Error {
    Error::Schema(format!("a page that works without a server cannot score {what} yet: use `deciban serve`"))
}

pub(crate) fn generative(model: &GenerativeModel) -> Result<Value> {
    let block = |FittedBlock { block, density }: &FittedBlock| {
        let family = block.family.name();
        if !FAMILIES.contains(&family) {
            return Err(refused(&format!("the family `{family}`")));
        }
        if block.deskew.is_some() {
            return Err(refused("deskewed images"));
        }
        if let AnyFamily::Gaussian(family) = &block.family
            && matches!(family.covariance, Structure::LowRank | Structure::TiedLowRank)
        {
            return Err(refused("low-rank covariances"));
        }
        let mut told = json!({ "family": family, "columns": block.columns, "density": stored(density)? });
        if let Some(map) = &block.gaussianise {
            told["gaussianise"] = stored(map)?;
        }
        if let Some(bins) = &block.discretise {
            told["discretise"] = stored(bins)?;
        }
        Ok(told)
    };
    let components = (0..model.components().classes()).map(|class| model.components().log_weights(class));
    let blocks: Vec<Value> = model.blocks().iter().map(block).collect::<Result<_>>()?;
    Ok(json!({ "kind": "generative", "components": components.collect::<Vec<_>>(), "blocks": blocks }))
}

fn calibrated(model: &CalibratedModel) -> Result<Value> {
    let Calibration::Affine(map) = model.calibration() else {
        return Err(refused("calibrations that are not lines (they are with §method=logistic)"));
    };
    let mut told = scorer(model.model())?;
    told["calibration"] =
        json!({ "bound": map.bound, "scale": map.scale, "bias": map.bias, "typical_cells": model.typical_cells() });
    Ok(told)
}

/// What a value puts into a model file: JSON by name, and arrays as their shape and the base64 of little-endian
/// doubles.
pub(crate) fn stored(value: &impl Stored) -> Result<Value> {
    let mut archive = Archive::new("page");
    value.store(&mut archive, "it")?;
    let short = |name: &str| name.strip_prefix("it.").unwrap_or(name).to_string();
    // The page has these elsewhere.
    let known = |name: &str| ["it.schema", "it.profiles"].contains(&name) || name.starts_with("it.companion.");
    let json: Map<String, Value> =
        archive.json_values().filter(|(name, _)| !known(name)).map(|(n, v)| (short(n), v.clone())).collect();
    let array = |(name, shape, values): (&str, &[usize], &[f64])| {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        (short(name), json!({ "shape": shape, "base64": base64(&bytes) }))
    };
    let arrays = archive.arrays().filter(|(name, ..)| !known(name)).map(array).collect::<Map<String, Value>>();
    Ok(json!({ "json": json, "arrays": arrays }))
}

/// Bytes as text, by RFC 4648.
///
/// ```
/// assert_eq!(deciban_tasks::base64(b"fooba"), "Zm9vYmE=");
/// ```
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize] as char;
            text.push(if i <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        // RFC 4648, section 10.
        let known =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        known.iter().for_each(|(plain, coded)| assert_eq!(base64(plain.as_bytes()), *coded));
    }
}
