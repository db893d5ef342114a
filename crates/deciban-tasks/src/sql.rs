//! Statistics from a database: the queries that a database answers, and their results as statistics.
//!
//! No row leaves the database. For each class it gives the means m of its columns and, about these, the sums
//! r = Σ(x − m) and s = Σ(x − m)(x − m)ᵀ. The mean is then m + r/n and the scatter s − rrᵀ/n. The difference
//! E[x²] − E[x]² is never formed, so the digits survive numbers far from 0; r takes what the database lost when it
//! averaged.

use std::collections::HashMap;
use std::fmt::Write;
use std::str::FromStr;

use deciban::data::{Batch, Cells, Column, Kind, Rows, Schema};
use deciban::family::gaussian::GaussianStatistic;
use deciban::family::{AnyFamily, AnyStatistic, Family};
use deciban::learn::{Block, Seen, Statistics};
use deciban::numerics::Matrix;
use deciban::statistic::{ColumnMoments, Moments};
use deciban::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::learn::{Learning, summariser};

/// How a database writes SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// DuckDB.
    Duckdb,
    /// PostgreSQL, and databases that speak as it does.
    Postgres,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// All of them, by name.
    pub const ALL: [(&'static str, Dialect); 3] =
        [("duckdb", Dialect::Duckdb), ("postgres", Dialect::Postgres), ("sqlite", Dialect::Sqlite)];

    fn number(self) -> &'static str {
        match self {
            Dialect::Duckdb => "DOUBLE",
            Dialect::Postgres => "DOUBLE PRECISION",
            Dialect::Sqlite => "REAL",
        }
    }

    /// A number with all its digits.
    fn digits(self, expression: &str) -> String {
        match self {
            Dialect::Sqlite => format!("printf('%!.17g', {expression})"),
            _ => expression.into(),
        }
    }

    /// The most columns of a result, where that is known.
    fn most(self) -> usize {
        match self {
            Dialect::Duckdb => 100_000,
            Dialect::Postgres => 1600,
            Dialect::Sqlite => 2000,
        }
    }
}

impl FromStr for Dialect {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let known = Dialect::ALL.map(|(name, _)| name).join(", ");
        let found = Dialect::ALL.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, dialect)| *dialect)
            .ok_or_else(|| Error::parameter("sql", format!("there is no dialect `{name}`, only {known}")))
    }
}

/// What a database is asked for.
#[derive(Clone, Debug)]
pub struct Query {
    /// How it is asked.
    pub dialect: Dialect,
    /// The table, view or subquery: it is written into the query as it is.
    pub table: String,
    /// The column of the classes.
    pub target: String,
    /// Columns of numbers.
    pub numbers: Vec<String>,
    /// Columns of categories.
    pub categories: Vec<String>,
    /// A column of row weights.
    pub weight: Option<String>,
    /// Whether variances are enough, without covariances.
    pub diagonal: bool,
}

/// What a row of a result is about, in its first column.
#[derive(Serialize, Deserialize)]
struct About {
    target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moments: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    levels: Option<String>,
}

impl About {
    fn literal(&self) -> String {
        // Names and a list of names are always JSON.
        format!("'{}'", serde_json::to_string(self).unwrap_or_default().replace('\'', "''"))
    }
}

fn name(column: &str) -> String {
    format!("\"{}\"", column.replace('"', "\"\""))
}

impl Query {
    /// The statements: one for all numbers, one for each category.
    ///
    /// ```
    /// use deciban_tasks::sql::{Dialect, Query};
    /// let query = Query {
    ///     dialect: Dialect::Duckdb,
    ///     table: "flowers".into(),
    ///     target: "species".into(),
    ///     numbers: vec!["length".into()],
    ///     categories: vec!["colour".into()],
    ///     weight: None,
    ///     diagonal: false,
    /// };
    /// assert_eq!(query.statements()?.len(), 2);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn statements(&self) -> Result<Vec<String>> {
        if self.numbers.is_empty() && self.categories.is_empty() {
            return Err(Error::Usage(
                "name the columns with §number and §category: a database does not tell them".into(),
            ));
        }
        let moments = (!self.numbers.is_empty()).then(|| self.moments()).transpose()?;
        Ok(moments.into_iter().chain(self.categories.iter().map(|category| self.levels(category))).collect())
    }

    fn moments(&self) -> Result<String> {
        let Query { dialect, table, target, numbers, weight, diagonal, .. } = self;
        let d = numbers.len();
        let columns = 4 + 3 * d + if *diagonal { d } else { d * (d + 1) / 2 };
        if columns > dialect.most() {
            return Err(Error::parameter(
                "number",
                format!(
                    "a result of {columns} columns is more than this database can give: take fewer numbers, or §covariance=diagonal"
                ),
            ));
        }
        let (class, number) = (name(target), dialect.number());
        let cell = |column: &String| format!("CAST(t.{} AS {number})", name(column));
        let w = weight.as_ref().map(&cell);
        let sum = |expression: &str| match &w {
            Some(w) => format!("SUM({w} * {expression})"),
            None => format!("SUM({expression})"),
        };
        let mut text = String::from("WITH means AS (\n  SELECT ");
        let _ = write!(text, "t.{class} AS class");
        for (j, column) in numbers.iter().enumerate() {
            let mean = match &w {
                Some(w) => format!("{} / NULLIF(SUM({w}), 0)", sum(&cell(column))),
                None => format!("AVG({})", cell(column)),
            };
            let _ = write!(text, ",\n    {mean} AS m{j}");
        }
        let _ = write!(text, "\n  FROM {table} AS t WHERE t.{class} IS NOT NULL GROUP BY t.{class}\n)\n");
        let about = About { target: target.clone(), moments: Some(numbers.clone()), levels: None };
        let _ = write!(
            text,
            "SELECT {} AS about, CAST(t.{class} AS {}) AS class, COUNT(*) AS n",
            about.literal(),
            self.text()
        );
        let weighed = w.as_ref().map_or_else(|| "COUNT(*)".into(), |w| dialect.digits(&format!("SUM({w})")));
        let _ = write!(text, ", {weighed} AS w");
        for (j, column) in numbers.iter().enumerate() {
            let mean = dialect.digits(&format!("MIN(means.m{j})"));
            let rest = dialect.digits(&sum(&format!("({} - means.m{j})", cell(column))));
            let _ = write!(text, ",\n  COUNT(t.{}) AS c{j}, {mean} AS m{j}, {rest} AS r{j}", name(column));
        }
        for i in 0..d {
            for j in if *diagonal { i..=i } else { 0..=i } {
                let product = format!("({} - means.m{i}) * ({} - means.m{j})", cell(&numbers[i]), cell(&numbers[j]));
                let _ = write!(text, ",\n  {} AS s{i}_{j}", dialect.digits(&sum(&product)));
            }
        }
        let _ = write!(text, "\nFROM {table} AS t JOIN means ON t.{class} = means.class GROUP BY t.{class};");
        Ok(text)
    }

    fn levels(&self, category: &str) -> String {
        let Query { dialect, table, target, weight, .. } = self;
        let (class, level, kind) = (name(target), name(category), self.text());
        let about = About { target: target.clone(), moments: None, levels: Some(category.into()) };
        let weighed = match weight {
            Some(weight) => dialect.digits(&format!("SUM(CAST(t.{} AS {}))", name(weight), dialect.number())),
            None => "COUNT(*)".into(),
        };
        format!(
            "SELECT {} AS about, CAST(t.{class} AS {kind}) AS class, CAST(t.{level} AS {kind}) AS level, COUNT(*) AS n, \
             {weighed} AS w\nFROM {table} AS t WHERE t.{class} IS NOT NULL GROUP BY t.{class}, t.{level};",
            about.literal()
        )
    }

    fn text(&self) -> &'static str {
        if self.dialect == Dialect::Duckdb { "VARCHAR" } else { "TEXT" }
    }
}

/// Whether models of this kind need no covariances of these numbers.
pub fn is_diagonal(request: &Learning, numbers: &[String]) -> Result<bool> {
    let columns: Vec<Column> = numbers.iter().map(Column::number).collect();
    if columns.is_empty() {
        return Ok(true);
    }
    let learner = summariser(&request.options, &request.model, &columns, Seen::Rows(&[]))?;
    let is_full = |block: &Block| {
        matches!(block.family.empty(block.columns.len()), AnyStatistic::Gaussian(GaussianStatistic::Full(_)))
    };
    Ok(!learner.blocks().iter().any(is_full))
}

/// What the database has told of a class.
#[derive(Default)]
struct Told {
    rows: f64,
    weight: f64,
    moments: Option<Moments>,
    /// For each category, the weight of each level.
    levels: HashMap<String, Vec<(String, f64)>>,
}

/// The statistics behind the results of a query's statements, as CSV with a header, for models of this kind.
pub fn statistics(request: &Learning, results: &[(String, String)]) -> Result<Statistics> {
    let mut told = Results::default();
    for (file, text) in results {
        told.read(file, text)?;
    }
    told.statistics(request)
}

#[derive(Default)]
struct Results {
    target: String,
    numbers: Vec<String>,
    categories: Vec<String>,
    diagonal: bool,
    /// In the order in which they come first.
    classes: Vec<(String, Told)>,
}

impl Results {
    fn class(&mut self, name: &str) -> &mut Told {
        let place = self.classes.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.classes.push((name.into(), Told::default()));
            self.classes.len() - 1
        });
        &mut self.classes[place].1
    }

    fn read(&mut self, file: &str, text: &str) -> Result<()> {
        let refuse = |line: usize, message: String| Error::Input {
            file: file.into(),
            line: Some(line as u64),
            column: None,
            message,
        };
        let mut records = records(text).into_iter();
        let Some((_, header)) = records.next() else { return Err(refuse(1, "the result is empty".into())) };
        let places: HashMap<&str, usize> = header.iter().enumerate().map(|(i, name)| (name.trim(), i)).collect();
        if !places.contains_key("about") || !places.contains_key("class") {
            let message =
                "this is not the result of a query of `deciban stats --sql`: its first line must name the columns";
            return Err(refuse(1, message.into()));
        }
        for (line, record) in records {
            let text = |column: &str| places.get(column).and_then(|place| record.get(*place)).map(|cell| cell.as_str());
            let number = |column: &str| {
                let cell = text(column).ok_or_else(|| refuse(line, format!("there is no column `{column}`")))?;
                cell.trim()
                    .parse::<f64>()
                    .ok()
                    .filter(|x| x.is_finite())
                    .ok_or_else(|| refuse(line, format!("column `{column}`: `{cell}` is not a finite number")))
            };
            let about: About = serde_json::from_str(text("about").unwrap_or_default())
                .map_err(|e| refuse(line, format!("column `about`: {e}")))?;
            let class = text("class").unwrap_or_default().to_string();
            let (n, w) = (number("n")?, number("w")?);
            self.target = about.target;
            if let Some(level) = about.levels {
                if !self.categories.contains(&level) {
                    self.categories.push(level.clone());
                }
                let cell = text("level").unwrap_or_default().to_string();
                let told = self.class(&class);
                // A missing cell is a row, and not a level.
                let known = told.levels.entry(level).or_default();
                if !cell.is_empty() {
                    known.push((cell, w));
                }
                if told.moments.is_none() && told.levels.len() == 1 {
                    (told.rows, told.weight) = (told.rows + n, told.weight + w);
                }
            } else if let Some(numbers) = about.moments {
                let d = numbers.len();
                self.diagonal = d > 1 && !places.contains_key("s1_0");
                let (mut mean, mut rest, mut scatter) = (Vec::new(), Vec::new(), Matrix::zeros(d, d));
                for (j, column) in numbers.iter().enumerate() {
                    let cells = number(&format!("c{j}"))?;
                    if cells != n {
                        let lacking = n - cells;
                        return Err(refuse(
                            line,
                            format!(
                                "class `{class}`: column `{column}` is NULL in {lacking} rows: leave these rows out, as in --table '(SELECT * FROM t WHERE {} IS NOT NULL)'",
                                name(column)
                            ),
                        ));
                    }
                    let (m, r) = (number(&format!("m{j}"))?, number(&format!("r{j}"))?);
                    mean.push(m + r / w);
                    rest.push(r);
                }
                for i in 0..d {
                    for j in if self.diagonal { i..=i } else { 0..=i } {
                        scatter[(i, j)] = number(&format!("s{i}_{j}"))? - rest[i] * rest[j] / w;
                    }
                }
                let told = self.class(&class);
                (told.rows, told.weight) = (n, w);
                told.moments = Some(Moments::from_parts(n, w, mean, scatter)?);
                self.numbers = numbers;
            }
        }
        Ok(())
    }

    fn statistics(self, request: &Learning) -> Result<Statistics> {
        let mut columns: Vec<Column> = self.numbers.iter().map(Column::number).collect();
        for category in &self.categories {
            let mut levels: Vec<String> = Vec::new();
            for (_, told) in &self.classes {
                let found = told.levels.get(category).into_iter().flatten().map(|(level, _)| level);
                found.for_each(|level| {
                    if !levels.contains(level) {
                        levels.push(level.clone());
                    }
                });
            }
            columns.push(Column { name: category.clone(), kind: Kind::Category, levels });
        }
        request.options.check(&request.model)?;
        let learner = summariser(&request.options, &request.model, &columns, Seen::Rows(&[]))?;
        if !learner.is_one_pass(&columns) {
            return Err(Error::parameter(
                "model",
                "a database gives counts, means and scatters: bins and maps need rows",
            ));
        }
        let classes = self.classes.iter().map(|(class, _)| class.clone()).collect();
        let schema = Schema::new(columns, self.target.clone(), classes)?;
        let mut groups = Vec::new();
        for (class, told) in &self.classes {
            let block = |block: &Block| self.block(block, &schema, class, told);
            groups.push((told.rows, told.weight, learner.blocks().iter().map(block).collect::<Result<_>>()?));
        }
        let mut statistics = Statistics::of_groups(schema, learner.blocks().to_vec(), groups)?;
        statistics.sort_classes()?;
        Ok(statistics)
    }

    /// What a block's family keeps of a class.
    fn block(&self, block: &Block, schema: &Schema, class: &str, told: &Told) -> Result<AnyStatistic> {
        match &block.family {
            AnyFamily::Gaussian(_) => {
                let lacking = || Error::Schema(format!("there is no result for the numbers of the class `{class}`"));
                let moments = told.moments.as_ref().ok_or_else(lacking)?;
                let chosen = chosen(moments, &block.columns)?;
                match block.family.empty(block.columns.len()) {
                    AnyStatistic::Gaussian(GaussianStatistic::Columns(_)) => {
                        Ok(AnyStatistic::Gaussian(GaussianStatistic::Columns(ColumnMoments::from(&chosen))))
                    }
                    _ if self.diagonal => Err(Error::parameter(
                        "covariance",
                        "the queries asked for variances only: give §covariance=diagonal here, too, or ask again without it",
                    )),
                    _ => Ok(AnyStatistic::Gaussian(GaussianStatistic::Full(chosen))),
                }
            }
            AnyFamily::Categorical(_) => {
                let mut statistic = block.family.empty(block.columns.len());
                for (place, &c) in block.columns.iter().enumerate() {
                    let column = &schema.columns()[c];
                    let found = told.levels.get(&column.name).map(Vec::as_slice).unwrap_or_default();
                    let code = |level: &String| column.levels.iter().position(|known| known == level);
                    let codes: Vec<u32> = found.iter().filter_map(|(level, _)| Some(code(level)? as u32)).collect();
                    let weights: Vec<f64> = found.iter().map(|(_, weight)| *weight).collect();
                    // Other columns are missing in these rows, and add nothing.
                    let missing = vec![deciban::data::MISSING; codes.len()];
                    let mut batch = Batch::new(codes.len());
                    for other in 0..block.columns.len() {
                        batch = batch.codes(if other == place { &codes } else { &missing })?;
                    }
                    let batch = batch.weights(&weights)?;
                    let all: Vec<usize> = (0..block.columns.len()).collect();
                    let cells = Cells::new(&batch, &all, Rows::Range(0..codes.len()));
                    block.family.observe(&mut statistic, &cells, &block.names)?;
                }
                Ok(statistic)
            }
            other => Err(Error::parameter(
                "model",
                format!("a database gives what Gaussian and categorical columns need, not what {} does", other.name()),
            )),
        }
    }
}

/// The moments of some columns.
fn chosen(moments: &Moments, columns: &[usize]) -> Result<Moments> {
    let mean = columns.iter().map(|&c| moments.mean()[c]).collect();
    let mut scatter = Matrix::zeros(columns.len(), columns.len());
    for (i, &a) in columns.iter().enumerate() {
        for (j, &b) in columns.iter().enumerate().take(i + 1) {
            scatter[(i, j)] = moments.scatter()[(a.max(b), a.min(b))];
        }
    }
    Moments::from_parts(moments.rows(), moments.weight(), mean, scatter)
}

/// The records of CSV, with their lines.
fn records(text: &str) -> Vec<(usize, Vec<String>)> {
    let text = text.trim_start_matches('\u{feff}');
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut line, mut first) = (false, 1, 1);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push((first, std::mem::take(&mut record)));
                line += 1;
                first = line;
            }
            letter => {
                line += usize::from(letter == '\n');
                field.push(letter);
            }
        }
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push((first, record));
    }
    records.retain(|(_, record)| record.len() > 1 || record.iter().any(|field| !field.is_empty()));
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_csv() {
        let found = records("a,\"b \"\"x\"\"\"\r\n1,\"two\nlines\"\n\n3,4");
        assert_eq!(found[0], (1, vec!["a".into(), "b \"x\"".into()]));
        assert_eq!(found[1], (2, vec!["1".into(), "two\nlines".into()]));
        assert_eq!(found[2], (5, vec!["3".into(), "4".into()]));
    }

    #[test]
    fn numbers_by_hand() {
        let result = "about,class,n,w,c0,m0,r0,s0_0\n\
                      \"{\"\"target\"\":\"\"y\"\",\"\"moments\"\":[\"\"x\"\"]}\",b,2,2,2,3.5,1,5\n\
                      \"{\"\"target\"\":\"\"y\"\",\"\"moments\"\":[\"\"x\"\"]}\",a,3,3,3,2,0,2\n";
        let request = Learning { model: "gaussian".into(), ..Learning::default() };
        let found = statistics(&request, &[("r.csv".into(), result.into())]).unwrap();
        assert_eq!(
            (found.schema().classes(), found.summary().rows()),
            (&["a".to_string(), "b".into()][..], vec![3.0, 2.0])
        );
        let blocks = found.summary().block(0).unwrap();
        let AnyStatistic::Gaussian(GaussianStatistic::Full(b)) = &blocks[1] else { panic!("no moments") };
        // Rows 2.5 and 5.5, whose mean the database had as 3.5.
        assert_eq!((b.mean(), b.scatter()[(0, 0)]), (&[4.0][..], 4.5));
        let gap = result.replace(",2,2,2,", ",2,2,1,");
        let error = statistics(&request, &[("r.csv".into(), gap)]).unwrap_err().to_string();
        assert!(error.contains("`x` is NULL in 1 rows"), "{error}");
    }
}
