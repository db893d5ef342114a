//! A map of a case: the evidence where two of its columns have other values and all others stay as they are.

use deciban::data::{Column, Kind, Written};
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::{Error, Result};
use deciban_data::Rows;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::application::Application;
use crate::figures::ellipses;
use crate::numbers;
use crate::predict::Predictor;

/// Which part of the plane is mapped.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mapping {
    /// The two columns: to the right, and upwards.
    pub columns: Vec<String>,
    /// The ends of both axes; by default those of the training data, and somewhat more.
    pub x: Option<Span>,
    /// The ends of the axis upwards.
    pub y: Option<Span>,
    /// How many values each axis has; categories have all their levels.
    pub steps: Option<[usize; 2]>,
}

/// The ends of an axis.
pub type Span = [f64; 2];

/// What is evident where.
#[derive(Clone, Debug, Serialize)]
pub struct CaseMap {
    /// To the right.
    pub x: MapAxis,
    /// Upwards.
    pub y: MapAxis,
    /// The classes.
    pub classes: Vec<String>,
    /// The actions, by which decisions are numbered.
    pub actions: Vec<String>,
    /// What is decided under the application at each point, all of the first value of `y` first; −1 where no class is
    /// possible.
    pub decisions: Vec<i64>,
    /// For each point ln p(x | class) less the greatest of them, so that a reader can put in any prior.
    pub evidence: Vec<Vec<Value>>,
    /// For each class its mean and covariance (variance, covariance, variance), where the model has them.
    pub ellipses: Vec<Value>,
}

/// The values of an axis.
#[derive(Clone, Debug, Serialize)]
pub struct MapAxis {
    /// The column.
    pub column: String,
    /// Its values: numbers, days of a date since 1970-01-01, or codes of levels.
    pub values: Vec<f64>,
    /// The names of these codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// Whether values are days since 1970-01-01.
    pub is_date: bool,
}

/// The values of an axis of numbers, by default.
const STEPS: usize = 48;
/// More than these are refused.
const MOST_STEPS: usize = 256;

impl Predictor {
    /// The map of the first of `case`.
    pub fn map(&self, case: &Rows, request: &Mapping, to: &Application) -> Result<CaseMap> {
        let schema = self.model().schema();
        let [a, b] = &request.columns[..] else {
            return Err(Error::parameter("columns", "give the names of two columns"));
        };
        let place = |name: &String| {
            let found = schema.columns().iter().position(|column| column.name == *name);
            found.ok_or_else(|| Error::parameter("columns", format!("the model has no column `{name}`")))
        };
        let places = [place(a)?, place(b)?];
        if places[0] == places[1] {
            return Err(Error::parameter("columns", "give two different columns"));
        }
        let steps = request.steps.unwrap_or([STEPS; 2]);
        let x = axis(self.model(), places[0], request.x, steps[0], "x")?;
        let y = axis(self.model(), places[1], request.y, steps[1], "y")?;
        let xs: Vec<f64> = y.values.iter().flat_map(|_| x.values.iter().copied()).collect();
        let ys: Vec<f64> = y.values.iter().flat_map(|y| x.values.iter().map(|_| *y)).collect();
        let rows = case.varied(&[(places[0], &xs), (places[1], &ys)])?;
        let terms = to.to_model(self.model())?;
        let evidence = self.model().evidence(&rows.batch()?)?;
        let decided = evidence.posterior(&terms.prior).decide(&terms.costs);
        let relative = |row: usize| {
            let row = evidence.row(row);
            let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let from = if greatest.is_finite() { greatest } else { 0.0 };
            row.iter().map(|x| numbers::number(x - from)).collect()
        };
        let ellipse =
            |e: deciban_plot::chart::Ellipse| json!({ "class": e.class, "mean": e.mean, "covariance": e.covariance });
        Ok(CaseMap {
            x,
            y,
            classes: schema.classes().to_vec(),
            actions: terms.costs.actions().to_vec(),
            decisions: decided.iter().map(|action| action.action.map_or(-1, |a| a as i64)).collect(),
            evidence: (0..evidence.rows()).map(relative).collect(),
            ellipses: ellipses(self.model(), places).into_iter().map(ellipse).collect(),
        })
    }
}

fn axis(model: &Model, place: usize, span: Option<Span>, steps: usize, option: &'static str) -> Result<MapAxis> {
    let schema = model.schema();
    let column: &Column = &schema.columns()[place];
    let made = |values, levels| {
        let is_date = *schema.spelling().written(&column.name) == Written::Date;
        Ok(MapAxis { column: column.name.clone(), values, levels, is_date })
    };
    if column.kind == Kind::Text {
        return Err(Error::parameter("columns", format!("`{}` is a text, which has no axis", column.name)));
    }
    if !column.is_numeric() {
        let levels: Vec<String> = column.levels.iter().take(MOST_STEPS).cloned().collect();
        return made((0..levels.len()).map(|code| code as f64).collect(), levels);
    }
    if !(2..=MOST_STEPS).contains(&steps) {
        return Err(Error::parameter("steps", format!("give from 2 to {MOST_STEPS} values for an axis")));
    }
    let profile = model.about().profiles().get(place).filter(|profile| profile.cells > 0);
    let seen = profile.map(|profile| {
        let margin = 0.1 * (profile.greatest - profile.least);
        [profile.least - margin, profile.greatest + margin]
    });
    let [low, high] = match (span, seen) {
        (Some(span), _) => span,
        (None, Some(seen)) if seen[0] < seen[1] => seen,
        (None, Some([at, _])) => [at - 1.0, at + 1.0],
        (None, None) => {
            let message = format!("give the ends of the axis: the model does not know the range of `{}`", column.name);
            return Err(Error::parameter(option, message));
        }
    };
    if !(low < high && (high - low).is_finite()) {
        return Err(Error::parameter(option, "give two numbers, the lower one first"));
    }
    let value = |i: usize| low + (high - low) * i as f64 / (steps - 1) as f64;
    made((0..steps).map(value).collect(), Vec::new())
}
