//! The one error type. Each variant carries what a person needs to mend the input.

/// `Result` with deciban's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, from a damaged file to a singular covariance.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table does not have the form its reader expects.
    #[error("{}", at(.file, *.line, .column, .message))]
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
    #[error("{path}: {}", refusal(.source))]
    Io {
        /// The file.
        path: String,
        /// The system's word.
        source: std::io::Error,
    },
    /// A model or statistics file is damaged, foreign or too new.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Two shapes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was measured.
        what: String,
        /// The size it should have.
        expected: usize,
        /// The size it has.
        found: usize,
    },
    /// A cell is missing where the model cannot leave it out.
    #[error("column `{column}`, row {row}: the cell is missing; {remedy}")]
    Missing {
        /// The column's name.
        column: String,
        /// The row, counted from 1 within its input.
        row: u64,
        /// What to do.
        remedy: String,
    },
    /// A number is infinite.
    #[error("column `{column}`, row {row}: the number is infinite; mark it as missing or remove the row")]
    Infinite {
        /// The column's name.
        column: String,
        /// The row, counted from 1 within its input.
        row: u64,
    },
    /// A cell does not hold what its family describes.
    #[error("column `{column}`, row {row}: {message}")]
    Cell {
        /// The column's name.
        column: String,
        /// The row, counted from 1 within its input.
        row: u64,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A row weight is negative, infinite or not a number.
    #[error("row {row}: the weight {weight} is not a finite number of at least 0")]
    Weight {
        /// The row, counted from 1 within its input.
        row: u64,
        /// The weight.
        weight: f64,
    },
    /// A covariance matrix is singular.
    #[error("{}", singular(.class, .columns, .why))]
    Singular {
        /// The class, or `None` for a covariance that classes share.
        class: Option<String>,
        /// The columns that depend on each other or do not vary.
        columns: Vec<String>,
        /// The cause.
        why: String,
    },
    /// The data has too few classes, or a class without rows.
    #[error("{0}")]
    Classes(String),
    /// Names or kinds of columns do not fit.
    #[error("{0}")]
    Schema(String),
    /// A prior is not a distribution over the classes.
    #[error("prior: {0}")]
    Prior(String),
    /// Costs do not form a matrix of actions and classes.
    #[error("costs: {0}")]
    Costs(String),
    /// A hyper-parameter is out of range.
    #[error("{name}: {message}")]
    Parameter {
        /// The option's name, as on the command line.
        name: &'static str,
        /// What it must be.
        message: String,
    },
    /// The caller asked to stop.
    #[error("stopped before the end, as asked")]
    Interrupted,
    /// Removing a statistic from another loses more digits than it may.
    #[error("{0}")]
    Cancellation(String),
}

impl Error {
    /// A hyper-parameter out of range.
    pub fn parameter(name: &'static str, message: impl Into<String>) -> Self {
        Error::Parameter { name, message: message.into() }
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
    format!("{owner}: {why}: {}; drop columns with --ignore, or regularise with --shrinkage auto", list(columns))
}

/// `a`, `b`, `c` and 12 more
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let rest = names.len().saturating_sub(SHOWN);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}
