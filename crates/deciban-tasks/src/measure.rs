//! What to measure next in rows with missing cells: by how much each is expected to lower the Bayes risk, for what
//! measuring it costs.

use std::path::Path;

use deciban::data::{Batch, Schema};
use deciban::learn::Classifier;
use deciban::measure::next;
use deciban::model::{Asks, By, Model};
use deciban::{Error, Result, shown};
use serde::Serialize;

use crate::application::Terms;
use crate::numbers;
use crate::table::{Table, number, percent};

/// What measuring columns costs, by name; 1 for a column that is not named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasureCosts(pub Vec<(String, f64)>);

impl MeasureCosts {
    /// Reads a file with a line `column,cost` for each column; the first may be a header.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path.display().to_string(), e))?;
        MeasureCosts::parse(&text)
    }

    /// Parses lines `column,cost`, of which the first may be a header.
    ///
    /// ```
    /// use deciban_tasks::MeasureCosts;
    /// let costs = MeasureCosts::parse("column,cost\nage,1\n\"blood, type\",12.5\n")?;
    /// assert_eq!(costs.0, [("age".to_string(), 1.0), ("blood, type".to_string(), 12.5)]);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let mut costs = Vec::new();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let cost = line.rsplit_once(',').and_then(|(name, cost)| Some((name.trim(), cost.trim().parse().ok()?)));
            match cost {
                Some((name, cost)) => {
                    let bare = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
                    costs.push((bare.map_or(name.to_string(), |bare| bare.replace("\"\"", "\"")), cost));
                }
                None if i == 0 => {}
                None => {
                    let message = format!("line {} is not a column and a cost, as in `age,2.5`: {line}", i + 1);
                    return Err(Error::parameter("measure_costs", message));
                }
            }
        }
        Ok(MeasureCosts(costs))
    }

    /// The cost of each column of a schema.
    fn resolve(&self, schema: &Schema) -> Result<Vec<f64>> {
        let mut costs = vec![1.0; schema.columns().len()];
        for (name, cost) in &self.0 {
            let wrong = |message: String| Err(Error::parameter("measure_costs", message));
            let Some(place) = schema.columns().iter().position(|column| column.name == *name) else {
                let names: Vec<String> = schema.names().iter().take(20).map(|name| format!("`{name}`")).collect();
                return wrong(format!("the model has no column `{name}`: its columns are {}", names.join(", ")));
            };
            if !(*cost > 0.0 && cost.is_finite()) {
                return wrong(format!("column `{name}` costs {cost}: give a number above 0"));
            }
            costs[place] = *cost;
        }
        Ok(costs)
    }
}

/// Which rows are asked about, and under which terms.
pub struct Measuring<'a> {
    model: &'a Model,
    companion: bool,
    terms: Terms,
    /// By column.
    costs: Vec<f64>,
    /// Only these rows, counted from 1; all where there are none.
    rows: Vec<u64>,
    seed: u64,
}

/// The missing cells of a row, those most worth measuring first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The row, counted from 1.
    pub row: u64,
    /// What is decided now.
    pub decision: String,
    /// What that is expected to cost: the Bayes risk.
    #[serde(serialize_with = "numbers::one")]
    pub risk: f64,
    /// The missing cells.
    pub measurements: Vec<Worth>,
    /// Whether it is the companion of the model that says what cells hold.
    pub companion: bool,
}

/// What measuring a cell is worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worth {
    /// The column.
    pub column: String,
    /// By how much the Bayes risk is expected to fall.
    pub reduction: f64,
    /// The standard error of the reduction, of a mean over draws; 0 for a sum over all that the cell may hold.
    pub standard_error: f64,
    /// What measuring costs.
    pub cost: f64,
    /// The reduction per unit of cost, by which columns are ranked.
    pub per_cost: f64,
    /// The probability that another decision becomes the best one.
    pub changes: f64,
    /// Whether the expectation is a sum over levels or bins, and not a mean over draws.
    pub exact: bool,
}

impl<'a> Measuring<'a> {
    /// Under a prior and costs of decisions, with costs of measurements.
    pub fn new(model: &'a Model, terms: Terms, costs: &MeasureCosts, rows: Vec<u64>, seed: u64) -> Result<Self> {
        let companion = model.described(Asks::Cells)?.by == By::Companion;
        Ok(Measuring { model, companion, terms, costs: costs.resolve(model.schema())?, rows, seed })
    }

    /// What to measure in the rows of a batch that are asked for.
    pub fn measure(&self, batch: &Batch<'_>) -> Result<Vec<Measured>> {
        let number = |row: usize| batch.row_number(row) + 1;
        let wanted = (0..batch.rows()).filter(|&row| self.rows.is_empty() || self.rows.contains(&number(row)));
        wanted.map(|row| self.row(batch, row)).collect()
    }

    fn row(&self, batch: &Batch<'_>, row: usize) -> Result<Measured> {
        let Terms { prior, costs, .. } = &self.terms;
        let found = next(self.model, batch, row, prior, costs, self.seed)?;
        let worth = |m: &deciban::measure::Measurement| Worth {
            column: self.model.schema().columns()[m.column].name.clone(),
            reduction: m.reduction,
            standard_error: m.standard_error,
            cost: self.costs[m.column],
            per_cost: m.reduction / self.costs[m.column],
            changes: m.changes,
            exact: m.exact,
        };
        let mut measurements: Vec<Worth> = found.measurements.iter().map(worth).collect();
        // Stable: columns that are worth the same stay in their order.
        measurements.sort_by(|a, b| b.per_cost.total_cmp(&a.per_cost));
        Ok(Measured {
            row: batch.row_number(row) + 1,
            decision: costs.actions()[found.action].clone(),
            risk: found.risk,
            measurements,
            companion: self.companion,
        })
    }
}

impl Measured {
    /// For people.
    pub fn text(&self) -> String {
        let now = format!("row {}: {}, risk {}", self.row, shown(&self.decision), number(self.risk, 4));
        if self.measurements.is_empty() {
            return format!("{now}; no cell is missing\n");
        }
        let mut table =
            Table::new(["  measure", "lowers the risk by", "±", "cost", "per unit of cost", "changes the decision"]);
        for worth in &self.measurements {
            let error = if worth.exact { "exact".into() } else { number(worth.standard_error, 2) };
            let cells = [number(worth.reduction, 4), error, number(worth.cost, 4), number(worth.per_cost, 4)];
            table.row([format!("  {}", worth.column)].into_iter().chain(cells).chain([percent(worth.changes)]));
        }
        let by =
            if self.companion { "  what cells may hold: by the companion of the model, naive Bayes\n" } else { "" };
        format!("{now}\n{table}{by}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_name_columns_of_the_model() {
        let schema = Schema::numbers(&["a", "b"], "class", &["x", "y"]).unwrap();
        let costs = |text: &str| MeasureCosts::parse(text).and_then(|costs| costs.resolve(&schema));
        assert_eq!(costs("b,3\n").unwrap(), [1.0, 3.0]);
        assert_eq!(costs("column,cost\n\na,0.5\n").unwrap(), [0.5, 1.0]);
        for (text, said) in [("c,1", "no column `c`"), ("a,0", "above 0"), ("a,1\nb;2", "line 2")] {
            let error = costs(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
