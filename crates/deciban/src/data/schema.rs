//! What the columns of a table are, and the classes of its target.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::{Spelling, level_key, spelled_key};
use crate::error::{Error, Result};
use crate::text::Reading;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A real number; NaN is a missing cell.
    Number,
    /// One of several levels.
    Category,
    /// Yes or no.
    Flag,
    /// How often something occurs.
    Count,
    /// Words.
    Text,
}

impl Kind {
    /// The name of the kind, which is also the option that makes a column one.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Category => "category",
            Kind::Flag => "flag",
            Kind::Count => "count",
            Kind::Text => "text",
        }
    }
}

/// A column's name, kind and, for categories, its levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The name.
    pub name: String,
    /// What its cells are.
    pub kind: Kind,
    /// The levels of a category, or the words of a text; code `i` stands for `levels[i]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

impl Column {
    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Column { name: name.into(), kind: Kind::Number, levels: Vec::new() }
    }

    /// Whether its cells are numbers that a linear model can weigh.
    pub fn is_numeric(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Count | Kind::Flag) && self.levels.is_empty()
    }
}

/// The columns of a table and the classes of its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawSchema")]
pub struct Schema {
    /// Shared by all who know the schema: a text may have a million words.
    #[serde(serialize_with = "shared")]
    columns: Arc<Vec<Column>>,
    target: String,
    classes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<Reading>,
    spelling: Spelling,
}

#[derive(Deserialize)]
struct RawSchema {
    columns: Vec<Column>,
    target: String,
    classes: Vec<String>,
    #[serde(default)]
    reading: Option<Reading>,
    /// Absent in files of layout 1.
    spelling: Option<Spelling>,
}

fn shared<S: Serializer>(columns: &Arc<Vec<Column>>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    columns.as_ref().serialize(serializer)
}

impl TryFrom<RawSchema> for Schema {
    type Error = Error;
    fn try_from(raw: RawSchema) -> Result<Self> {
        let spelling = raw.spelling.unwrap_or_else(|| Spelling::of_layout_1(&raw.classes));
        let schema = Schema::new(raw.columns, raw.target, raw.classes)?;
        schema.with_reading(raw.reading).with_spelling(spelling)
    }
}

impl Schema {
    /// Columns and classes, each with names of their own.
    pub fn new(columns: Vec<Column>, target: impl Into<String>, classes: Vec<String>) -> Result<Self> {
        Schema::of_shared(Arc::new(columns), target, classes)
    }

    /// The same for columns that somebody else keeps, too: they are not copied.
    pub fn of_shared(columns: Arc<Vec<Column>>, target: impl Into<String>, classes: Vec<String>) -> Result<Self> {
        distinct(columns.iter().map(|c| c.name.as_str()), "column")?;
        distinct(classes.iter().map(String::as_str), "class")?;
        let spelling = Spelling::default();
        Ok(Schema { columns, target: target.into(), classes, reading: None, spelling })
    }

    /// Whether a model of the schema `own` scores rows that are coded by this one: it has the same columns and classes,
    /// and its levels stand first.
    pub(crate) fn covers(&self, own: &Schema) -> bool {
        let same = |(a, b): (&Column, &Column)| a.name == b.name && a.kind == b.kind && a.levels.starts_with(&b.levels);
        let columns = (self.columns(), own.columns());
        self.classes == own.classes && columns.0.len() == columns.1.len() && columns.0.iter().zip(columns.1).all(same)
    }

    /// Returns the schema without these columns.
    pub fn without(&self, columns: &[usize]) -> Result<Self> {
        let stays = |(column, _): &(usize, &Column)| !columns.contains(column);
        let left: Vec<Column> =
            self.columns.iter().enumerate().filter(stays).map(|(_, column)| column.clone()).collect();
        let reading = self.reading.clone().filter(|_| left.iter().any(|column| column.kind == Kind::Text));
        let mut spelling = self.spelling.clone();
        spelling.columns.retain(|name, _| left.iter().any(|column| column.name == *name));
        let schema = Schema::new(left, self.target.clone(), self.classes.clone())?;
        schema.with_reading(reading).with_spelling(spelling)
    }

    /// The same schema with another way of reading texts.
    pub fn with_reading(self, reading: Option<Reading>) -> Self {
        Schema { reading, ..self }
    }

    /// How its texts become words, if it has texts.
    pub fn reading(&self) -> Option<&Reading> {
        self.reading.as_ref()
    }

    /// The same schema with another spelling of its cells. One class against the rest must be its two
    /// classes.
    pub fn with_spelling(self, spelling: Spelling) -> Result<Self> {
        match &spelling.versus_rest {
            Some(class) if !are_versus_rest(class, &self.classes) => {
                Err(Error::Schema(format!("the classes are not `not {class}` and `{class}`")))
            }
            _ => Ok(Schema { spelling, ..self }),
        }
    }

    /// How its cells are written as text.
    pub fn spelling(&self) -> &Spelling {
        &self.spelling
    }

    /// Number columns only, as the examples use them.
    pub fn numbers<S: AsRef<str>>(columns: &[S], target: &str, classes: &[S]) -> Result<Self> {
        let columns = columns.iter().map(|name| Column::number(name.as_ref())).collect();
        Schema::new(columns, target, classes.iter().map(|c| c.as_ref().to_string()).collect())
    }

    /// The columns, without target and weight.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The target's name.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The classes' names; code `i` stands for `classes()[i]`.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The code of a class, however a number or a flag is [written](super::level_key).
    pub fn class(&self, name: &str) -> Option<usize> {
        let exact = self.classes.iter().position(|class| class == name);
        exact.or_else(|| {
            let key = spelled_key(name.as_bytes())?;
            self.classes.iter().position(|class| level_key(class.as_bytes()) == key)
        })
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// The codes of the classes in ascending order: as numbers if all of them are, else as text.
    pub fn class_order(&self) -> Vec<usize> {
        let number = |class: &String| class.parse().ok().filter(|x: &f64| !x.is_nan());
        let numbers: Option<Vec<f64>> = self.classes.iter().map(number).collect();
        let mut order: Vec<usize> = (0..self.classes.len()).collect();
        match numbers {
            Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
            None => order.sort_by(|&a, &b| self.classes[a].cmp(&self.classes[b])),
        }
        order
    }

    /// The same columns with the classes in ascending order.
    pub fn sorted_classes(&self) -> Result<Self> {
        self.with_classes(self.class_order().iter().map(|&c| self.classes[c].clone()).collect())
    }

    /// The same columns with other classes.
    pub fn with_classes(&self, classes: Vec<String>) -> Result<Self> {
        distinct(classes.iter().map(String::as_str), "class")?;
        let mut schema = Schema { classes, ..self.clone() };
        schema.spelling.versus_rest.take_if(|class| !are_versus_rest(class, &schema.classes));
        Ok(schema)
    }

    /// The same columns with other levels.
    pub(crate) fn with_levels(&self, columns: Vec<Column>) -> Self {
        Schema { columns: Arc::new(columns), ..self.clone() }
    }
}

/// Whether the classes are `not X` and `X`, in either order.
fn are_versus_rest(class: &str, classes: &[String]) -> bool {
    let is_rest = |name: &str| name.strip_prefix("not ") == Some(class);
    matches!(classes, [a, b] if is_rest(a) && b == class || is_rest(b) && a == class)
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::Schema(format!("there are two {what}s named `{name}`: give each its own name")));
        }
    }
    Ok(())
}
