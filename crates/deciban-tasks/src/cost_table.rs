//! A [`CostTable`]: costs as a table, with a row for each true class and a column for each action, as confusions are
//! printed:
//!
//! ```text
//! true,send home,biopsy,operate
//! benign,0,1,30
//! malignant,1000,5,0
//! ```
//!
//! A table that is read the wrong way round decides wrongly and shows no sign of it. So the names on its two margins must
//! say which way it is: the classes stand on one of them, and where they stand on both, the header begins with `true`.

use deciban::data::Schema;
use deciban::decision::Costs;
use deciban::{Error, Result};
use serde::Deserialize;

use crate::application::{parts, unquoted};

/// Costs by the names on two margins.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    /// The file it is from, for messages.
    file: Option<String>,
    /// The corner between the margins says what the rows are.
    corner: Corner,
    rows: Vec<String>,
    columns: Vec<String>,
    costs: Vec<Vec<f64>>,
}

/// The first word of a table, which says what its rows are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Corner {
    TrueClasses,
    Actions,
    /// The word does not say.
    Open,
}

impl Corner {
    fn of(text: &str) -> Self {
        let text = text.to_lowercase();
        match text.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty()) {
            Some("true" | "truth" | "actual") => Corner::TrueClasses,
            Some("action" | "actions" | "decided" | "decision" | "decisions" | "predicted" | "prediction") => {
                Corner::Actions
            }
            _ => Corner::Open,
        }
    }
}

impl CostTable {
    /// From a file: a header `true,ACTION,...` and a line for each true class.
    pub(crate) fn read(path: &str) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        let wrong = |line: usize, message: String| Error::Input {
            file: path.into(),
            line: Some(line as u64 + 1),
            column: None,
            message,
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let mut fields = || {
            lines.next().map(|(n, line)| (n, parts(line).iter().map(|field| unquoted(field)).collect::<Vec<String>>()))
        };
        let (_, header) = fields().ok_or_else(|| wrong(0, "the file is empty".into()))?;
        let (mut rows, mut costs) = (Vec::new(), Vec::new());
        while let Some((n, fields)) = fields() {
            if fields.len() != header.len() {
                return Err(wrong(n, format!("{} fields, not {}", fields.len(), header.len())));
            }
            let cost = |field: &String| match field.parse::<f64>() {
                Ok(cost) if cost >= 0.0 && cost.is_finite() => Ok(cost),
                _ => Err(wrong(n, format!("`{field}` is not a cost: costs are finite numbers of 0 or more"))),
            };
            costs.push(fields[1..].iter().map(cost).collect::<Result<Vec<f64>>>()?);
            rows.push(fields[0].clone());
        }
        let (corner, columns) = (Corner::of(&header[0]), header[1..].to_vec());
        Ok(CostTable { file: Some(path.into()), corner, rows, columns, costs })
    }

    /// From JSON: `{"true": [CLASS, ...], "decided": [ACTION, ...], "costs": [[...], ...]}`.
    pub(crate) fn of_json(value: serde_json::Value) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            r#true: Vec<String>,
            decided: Vec<String>,
            costs: Vec<Vec<f64>>,
        }
        let wrong = |e: serde_json::Error| Error::Costs(format!("{e}: {FORM}"));
        let Table { r#true: rows, decided: columns, costs } = serde_json::from_value(value).map_err(wrong)?;
        Ok(CostTable { file: None, corner: Corner::TrueClasses, rows, columns, costs })
    }

    /// The costs for the classes of a schema.
    pub(crate) fn resolve(&self, schema: &Schema) -> Result<Costs> {
        let classes = schema.classes();
        let names_classes =
            |margin: &[String]| margin.len() == classes.len() && classes.iter().all(|class| margin.contains(class));
        let (by_row, by_column) = (names_classes(&self.rows), names_classes(&self.columns));
        let are_classes = self.rows.iter().all(|row| classes.contains(row));
        match self.corner {
            // Rows that are classes, though not all of them, are rows of true classes where the table says so.
            corner if !by_row && by_column && !(corner == Corner::TrueClasses && are_classes) => {
                return Err(self.transposed());
            }
            _ if !by_row => {
                let (known, rows) = (classes.join(", "), self.rows.join(", "));
                return Err(self.wrong(format!("there must be a row for each of {known}, and there are {rows}")));
            }
            Corner::Actions if by_column => return Err(self.transposed()),
            Corner::Open if by_column => self.check_symmetric()?,
            _ => {}
        }
        let is_like = |action: &&String| {
            !classes.contains(action) && classes.iter().any(|class| class.to_lowercase() == action.to_lowercase())
        };
        if let Some(action) = self.columns.iter().find(is_like) {
            let message = format!("the action `{action}` and a class differ only in upper and lower case");
            return Err(self.wrong(message));
        }
        let row = |class: &String| {
            let place = self.rows.iter().position(|row| row == class);
            self.costs.get(place.unwrap_or(usize::MAX)).cloned().unwrap_or_default()
        };
        Costs::new(self.columns.clone(), classes.iter().map(row).collect())
    }

    /// Refuses a table that both readings fit, and that are not the same.
    fn check_symmetric(&self) -> Result<()> {
        let cost = |truth: &String, decided: &String| {
            let (row, column) =
                (self.rows.iter().position(|r| r == truth), self.columns.iter().position(|c| c == decided));
            self.costs.get(row?)?.get(column?).copied()
        };
        for (i, a) in self.rows.iter().enumerate() {
            for b in &self.rows[..i] {
                let (one, other) = (cost(a, b), cost(b, a));
                let (Some(one), true) = (one, one != other) else { continue };
                return Err(self.wrong(format!(
                    "the table can be read in two ways: the {one} in row `{a}` and column `{b}` is the cost of taking a true \
                     `{a}` for `{b}`, or of taking a true `{b}` for `{a}`. For the first begin the header with `true`; for \
                     the second exchange rows and columns, and begin the header with `true`"
                )));
            }
        }
        Ok(())
    }

    /// The error about a table whose rows are the actions.
    fn transposed(&self) -> Error {
        let (header, rows) = (self.rows.join(","), self.columns.join(", "));
        self.wrong(format!(
            "the rows of this table are the actions and its columns the true classes: exchange them, so that the header is \
             `true,{header}` and there is a row for each of {rows}"
        ))
    }

    fn wrong(&self, message: String) -> Error {
        match &self.file {
            Some(file) => Error::Input { file: file.clone(), line: None, column: None, message },
            None => Error::Costs(message),
        }
    }
}

/// How a table of costs is written in JSON.
const FORM: &str =
    r#"give {"true": [CLASS, ...], "decided": [ACTION, ...], "costs": [[...], ...]}, with a row for each true class"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<Costs, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.csv");
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let schema = Schema::numbers(&["x"], "y", &["cancer", "normal"]).unwrap();
        let costs = CostTable::read(path).and_then(|table| table.resolve(&schema));
        costs.map_err(|e| e.to_string().replace(path, "costs.csv"))
    }

    #[test]
    fn rows_are_true_classes() {
        // The textbook's matrix, in any order of the classes.
        for text in [
            "true,cancer,normal\ncancer,0,1000\nnormal,1,0\n",
            "\u{feff}true,normal,cancer\nnormal,0,1\ncancer,1000,0\n",
            "True \\ decided,cancer,normal\ncancer,0,1000\nnormal,1,0\n",
        ] {
            let costs = resolved(text).unwrap();
            let action = |name: &str| costs.actions().iter().position(|a| a == name).unwrap();
            assert_eq!((costs.cost(0, action("normal")), costs.cost(1, action("cancer"))), (1000.0, 1.0), "{text}");
            assert_eq!(costs.actions()[costs.best(&[0.98, 0.02]).0], "cancer");
        }
        // Actions that are not classes say themselves which margin is which, whatever the corner holds.
        for corner in ["", "true", "action", "cost"] {
            let costs = resolved(&format!("{corner},home,treat\nnormal,0,1\ncancer,50,2\n")).unwrap();
            assert_eq!((costs.cost(0, 0), costs.cost(0, 1), costs.cost(1, 1)), (50.0, 2.0, 1.0), "{corner}");
        }
        // Both readings are the same.
        assert!(resolved(",cancer,normal\ncancer,0,3\nnormal,3,0\n").is_ok());
    }

    #[test]
    fn tables_that_may_be_the_other_way_round_are_refused() {
        let ambiguous = "costs.csv: the table can be read in two ways: the 1 in row `normal` and column `cancer` is the \
                         cost of taking a true `normal` for `cancer`, or of taking a true `cancer` for `normal`. For the \
                         first begin the header with `true`; for the second exchange rows and columns, and begin the \
                         header with `true`";
        for corner in ["", "x", "class"] {
            let text = format!("{corner},cancer,normal\ncancer,0,1000\nnormal,1,0\n");
            assert_eq!(resolved(&text).unwrap_err(), ambiguous);
        }
        let transposed = "costs.csv: the rows of this table are the actions and its columns the true classes: exchange \
                          them, so that the header is `true,home,treat` and there is a row for each of normal, cancer";
        for corner in ["", "action", "true"] {
            assert_eq!(resolved(&format!("{corner},normal,cancer\nhome,0,50\ntreat,1,2\n")).unwrap_err(), transposed);
        }
        let message = resolved("action,cancer,normal\ncancer,0,1\nnormal,1000,0\n").unwrap_err();
        assert!(message.contains("the rows of this table are the actions"), "{message}");
        for (text, message) in [
            (
                "true,cancer,normal\ncancer,0,1\n",
                "there must be a row for each of cancer, normal, and there are cancer",
            ),
            (
                "true,a\ncancer,0\nCancer,1\n",
                "there must be a row for each of cancer, normal, and there are cancer, Cancer",
            ),
            (
                "true,Cancer,normal\ncancer,0,1\nnormal,1,0\n",
                "the action `Cancer` and a class differ only in upper and lower case",
            ),
        ] {
            assert_eq!(resolved(text).unwrap_err(), format!("costs.csv: {message}"));
        }
        let message = resolved("true,a,b\ncancer,0,-1\nnormal,1,0\n").unwrap_err();
        assert_eq!(message, "costs.csv:2: `-1` is not a cost: costs are finite numbers of 0 or more");
        assert!(resolved("true,a,a\ncancer,0,1\nnormal,1,0\n").unwrap_err().contains("two actions named `a`"));
        assert_eq!(resolved("\n").unwrap_err(), "costs.csv:1: the file is empty");
        assert!(resolved("true\ncancer\nnormal\n").is_err());
    }
}
