//! The one error type. Each variant carries what a person needs to fix the input.
//!
//! Messages name options by a mark, as in `§weight_decay` or `§model=tree`, and each front end writes them its
//! own way ([`Wording`]): the program `--model tree`, Python `model="tree"`.

use crate::wording::{Wording, shown};

/// `Result` with deciban's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, from a damaged file to a singular covariance.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A table does not have the form its reader expects.
    Input {
        /// The file, or `-` for standard input.
        file: String,
        /// The line (or row, in formats without lines), counted from 1.
        line: Option<u64>,
        /// The column's name.
        column: Option<String>,
        /// What is wrong, and what to do.
        message: String,
    },
    /// The operating system refused a file.
    Io {
        /// The file.
        path: String,
        /// The system's word.
        source: std::io::Error,
    },
    /// A model or statistics file is damaged, foreign or too new.
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Two shapes that must agree do not.
    Shape {
        /// What was measured.
        what: String,
        /// The size it should have.
        expected: usize,
        /// The size it has.
        found: usize,
    },
    /// A cell is missing where the model cannot leave it out.
    Missing {
        /// The column's name.
        column: String,
        /// The row, counted from 1 within its input.
        row: u64,
        /// What to do.
        remedy: String,
    },
    /// A number is infinite.
    Infinite {
        /// The column's name.
        column: String,
        /// The row, counted from 1 within its input.
        row: u64,
    },
    /// A cell does not hold what its family describes.
    Cell {
        /// The column's name.
        column: String,
        /// The row, counted from 1 within its input.
        row: u64,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A row, as a whole, is not what it should be.
    Row {
        /// The row, counted from 1 within its input.
        row: u64,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A row weight is negative, infinite or not a number.
    Weight {
        /// The row, counted from 1 within its input.
        row: u64,
        /// The weight.
        weight: f64,
    },
    /// A covariance matrix is singular.
    Singular {
        /// The class, or `None` for a covariance that classes share.
        class: Option<String>,
        /// The columns that depend on each other or do not vary.
        columns: Vec<String>,
        /// The cause.
        why: String,
    },
    /// The data has too few classes, or a class without rows.
    Classes(String),
    /// Names or kinds of columns do not fit.
    Schema(String),
    /// A prior is not a distribution over the classes.
    Prior(String),
    /// Costs do not form a matrix of actions and classes.
    Costs(String),
    /// An option has a value that it cannot have.
    Parameter {
        /// The option's name, such as `weight_decay`.
        option: &'static str,
        /// What it must be.
        message: String,
    },
    /// The options and inputs do not make a request.
    Usage(String),
    /// The caller asked to stop.
    Interrupted,
    /// Rows cannot be removed from a statistic: they were never in, or too few digits would be left.
    Cancellation(String),
    /// The same, where the cause is one column of a block.
    ColumnCancellation {
        /// Its place in the block, counted from 0.
        column: usize,
        /// What is wrong, and what to do.
        message: String,
    },
}

impl Error {
    /// An option that cannot have the value it has.
    pub fn parameter(option: &'static str, message: impl Into<String>) -> Self {
        Error::Parameter { option, message: message.into() }
    }

    /// A [cancellation](Error::Cancellation) for which this column of a block is the cause.
    pub(crate) fn in_column(self, column: usize) -> Self {
        match self {
            Error::Cancellation(message) => Error::ColumnCancellation { column, message },
            other => other,
        }
    }

    /// An option that names a class which is not one of `known`.
    pub fn unknown_class(option: &'static str, name: &str, known: &[String]) -> Self {
        Error::parameter(option, format!("there is no class `{name}`: the classes are {}", list(known)))
    }

    /// Whether the request is at fault, not the data: an option, a prior, costs.
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::Parameter { .. } | Error::Usage(_) | Error::Prior(_) | Error::Costs(_))
    }

    /// The message in the words of a front end.
    ///
    /// ```
    /// use deciban::{Error, Wording};
    /// let error = Error::parameter("weight_decay", "the classes are separable: give more, or §model=gaussian");
    /// assert_eq!(
    ///     error.worded(Wording::Flags),
    ///     "--weight-decay: the classes are separable: give more, or --model gaussian"
    /// );
    /// assert_eq!(
    ///     error.worded(Wording::Keywords),
    ///     "weight_decay: the classes are separable: give more, or model=\"gaussian\""
    /// );
    /// ```
    pub fn worded(&self, wording: Wording) -> String {
        shown(&wording.apply(&self.marked())).into_owned()
    }

    /// The message with its options marked, to put into another.
    pub fn marked(&self) -> String {
        match self {
            Error::Input { file, line, column, message } => at(file, *line, column, message),
            Error::Io { path, source } => format!("{path}: {}", refusal(source)),
            Error::File { path, message } => format!("{path}: {message}"),
            Error::Shape { what, expected, found } => format!("{what}: expected {expected}, found {found}"),
            Error::Missing { column, row, remedy } => {
                format!("column `{column}`, row {row}: the cell is missing; {remedy}")
            }
            Error::Infinite { column, row } => {
                format!("column `{column}`, row {row}: the number is infinite; mark it as missing or remove the row")
            }
            Error::Cell { column, row, message } => format!("column `{column}`, row {row}: {message}"),
            Error::Row { row, message } => format!("row {row}: {message}"),
            Error::Weight { row, weight } => {
                format!("row {row}: the weight {weight} is not a finite number of at least 0")
            }
            Error::Singular { class, columns, why } => singular(class, columns, why),
            Error::Classes(message) | Error::Schema(message) | Error::Cancellation(message) => message.clone(),
            Error::ColumnCancellation { column, message } => format!("column {}: {message}", column + 1),
            Error::Prior(message) => format!("prior: {message}"),
            Error::Costs(message) => format!("costs: {message}"),
            Error::Parameter { option, message } => format!("§{option}: {message}"),
            Error::Usage(message) => message.clone(),
            Error::Interrupted => "stopped before the end, as asked".into(),
        }
    }

    /// A file the system refused.
    pub fn io(path: impl AsRef<std::path::Path>, source: std::io::Error) -> Self {
        Error::Io { path: path.as_ref().display().to_string(), source }
    }

    /// `Err` unless `found == expected`.
    pub fn check_shape(what: &str, expected: usize, found: usize) -> Result<()> {
        if expected == found { Ok(()) } else { Err(Error::Shape { what: what.to_string(), expected, found }) }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.worded(Wording::Plain))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

fn at(file: &str, line: Option<u64>, column: &Option<String>, message: &str) -> String {
    let mut place = if file == "-" { "standard input".to_string() } else { file.to_string() };
    if let Some(line) = line {
        place += &format!(":{line}");
    }
    if let Some(column) = column {
        place += &format!(": column `{column}`");
    }
    format!("{place}: {message}")
}

fn refusal(source: &std::io::Error) -> String {
    match source.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        _ => source.to_string(),
    }
}

fn singular(class: &Option<String>, columns: &[String], why: &str) -> String {
    let owner = match class {
        Some(class) => format!("the covariance of class `{class}` is singular"),
        None => "the covariance shared by the classes is singular".to_string(),
    };
    format!("{owner}: {why}: {}; drop columns with §ignore, or regularise with §shrinkage=auto", list(columns))
}

/// `a`, `b`, `c` and 12 more
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let rest = names.len().saturating_sub(SHOWN);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}
