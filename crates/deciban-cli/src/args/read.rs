//! How tables are read.

use std::path::Path;

use clap::Args;
use deciban::Result;
use deciban::data::Schema;
use deciban_data::{Files, Format, Options, Target};

/// How tables are read.
#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// csv, tsv, text (separated by blanks), jsonl, parquet, arrow or idx; by default found from the extension
    #[arg(long)]
    format: Option<Format>,
    /// The character between fields of CSV; by default found from the first lines
    #[arg(long, value_name = "CHAR")]
    separator: Option<char>,
    /// The first line is data: columns are named c0, c1, ...
    #[arg(long)]
    no_header: bool,
    /// Quotes are plain characters, as in label<TAB>text lines
    #[arg(long)]
    no_quotes: bool,
    /// Skip lines that begin with this character
    #[arg(long, value_name = "CHAR")]
    comment: Option<char>,
    /// Cells that mean a missing value, instead of the usual (empty, ?, NA, N/A, NaN, null, None)
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    missing: Option<Vec<String>>,
    /// The character before the fraction of a number; a point by default
    #[arg(long, value_name = "CHAR")]
    decimal: Option<char>,
    /// The character between groups of digits, as in 1,234,567; none by default
    #[arg(long, value_name = "CHAR")]
    thousands: Option<char>,
    /// Classes stand in the first column of this file, one row per row of the data
    #[arg(long, value_name = "FILE", conflicts_with = "one_hot_target")]
    labels: Option<String>,
    /// Classes stand in these columns, one per class: 1 in the column of the class, 0 in the others
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) one_hot_target: Option<Vec<String>>,
    /// A column of row weights
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
}

impl ReadArgs {
    /// The column of row weights.
    pub fn weight(&self) -> Option<&str> {
        self.weight.as_deref()
    }

    /// Options without features; `target` is the column of the classes, if any.
    pub fn options(&self, target: Option<&str>) -> Options {
        let default = Options::default();
        let column = target.map_or(Target::None, |name| Target::Column(name.into()));
        let target = match (&self.labels, &self.one_hot_target) {
            (Some(file), _) => Target::Labels(file.clone()),
            (None, Some(columns)) => Target::OneHot(columns.clone()),
            (None, None) => column,
        };
        Options {
            format: self.format,
            separator: self.separator,
            header: !self.no_header,
            comment: self.comment,
            quotes: !self.no_quotes,
            missing: self.missing.clone(),
            decimal: self.decimal,
            thousands: self.thousands,
            target,
            weight: self.weight.clone(),
            ..default
        }
    }

    /// The file of the labels.
    pub fn labels(&self) -> Option<&Path> {
        self.labels.as_deref().map(Path::new)
    }

    /// Whether the first line names the columns.
    pub fn has_header(&self) -> bool {
        !self.no_header
    }

    /// Whether labels come from elsewhere than a column.
    pub fn has_labels(&self) -> bool {
        self.labels.is_some() || self.one_hot_target.is_some()
    }
}

/// Opens rows for a model: its columns by name, labels only if `labelled`.
pub fn open_for_model(paths: &[String], read: &ReadArgs, schema: &Schema, labelled: bool) -> Result<Files> {
    Files::open_as(paths, read.options(labelled.then(|| schema.target())), schema)
}

/// Opens labelled rows to judge a model by: those of classes that it does not know are counted and left out.
pub fn open_to_judge(paths: &[String], read: &ReadArgs, schema: &Schema) -> Result<Files> {
    Files::open_as(paths, Options { unknown_classes: true, ..read.options(Some(schema.target())) }, schema)
}
