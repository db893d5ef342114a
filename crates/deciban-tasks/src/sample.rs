//! Rows drawn from the model that describes them.

use deciban::Result;
use deciban::data::{Column, Schema, Value, Written};
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban::numerics::Random;
use deciban_data::date_text;
use serde_json::json;

use crate::application::{PriorChoice, find_class};
use crate::numbers;

/// Which rows are drawn.
#[derive(Clone, Debug, Default)]
pub struct Sampling {
    /// How many.
    pub number: u64,
    /// Of this class only.
    pub class: Option<String>,
    /// How common the classes are.
    pub prior: PriorChoice,
    /// The seed.
    pub seed: u64,
}

/// Draws rows and hands over the class and the cells of each.
///
/// ```
/// use deciban::data::{Batch, Schema};
/// use deciban::engine::Memory;
/// use deciban_tasks::{Learning, Sampling, cell, learn, sample};
/// let schema = Schema::numbers(&["height"], "sex", &["F", "M"])?;
/// let rows = Batch::new(4).column(&[155.0, 165.0, 173.0, 183.0][..])?.classes(&[0, 0, 1, 1])?;
/// let request = Learning { model: "gaussian".into(), ..Learning::default() };
/// let model = learn(&request, &mut Memory::new(schema.clone(), rows)?)?.model;
/// let mut drawn = Vec::new();
/// let women = Sampling { number: 3, class: Some("F".into()), ..Sampling::default() };
/// sample(&model, &women, |class, cells| Ok(drawn.push((class, cell(&cells[0], &schema, 0)))))?;
/// assert!(drawn.len() == 3 && drawn.iter().all(|(class, height)| *class == 0 && height.is_number()));
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn sample(model: &Model, request: &Sampling, mut each: impl FnMut(usize, &[Value]) -> Result<()>) -> Result<()> {
    let described = model.described(Asks::Rows)?.model;
    let schema = model.schema();
    let prior = request.prior.resolve(schema, model.prior(), model.empirical())?;
    let class = request.class.as_ref().map(|name| find_class(schema, name, "class")).transpose()?;
    let mut random = Random::new(request.seed);
    for _ in 0..request.number {
        let class = class.unwrap_or_else(|| random.pick(prior.probabilities()));
        each(class, &described.sample(class, &mut random)?)?;
    }
    Ok(())
}

/// A cell as it would be given in JSON: a date as a date, a text as its words, each as often as it was drawn.
pub fn cell(value: &Value, schema: &Schema, place: usize) -> serde_json::Value {
    let column = &schema.columns()[place];
    match value {
        Value::Number(x) if *schema.spelling().written(&column.name) == Written::Date => {
            date_text(*x).map_or_else(|| numbers::number(*x), |date| json!(date))
        }
        Value::Number(x) => numbers::number(*x),
        Value::Level(code) => json!(level(column, *code)),
        Value::Counts(counts) => json!(words(column, counts)),
    }
}

fn level(column: &Column, code: u32) -> &str {
    column.levels.get(code as usize).map_or("", String::as_str)
}

/// The words of a text, each as often as it was drawn.
pub(crate) fn words(column: &Column, counts: &[(u32, f64)]) -> String {
    let words = counts.iter().flat_map(|&(code, count)| std::iter::repeat_n(level(column, code), count as usize));
    words.collect::<Vec<_>>().join(" ")
}
