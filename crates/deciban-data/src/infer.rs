//! What the columns are, from the first block of the input: a column whose cells are all numbers, or
//! all missing, is a number column; one of dates with the year first is a number of days; one with many
//! different values of several words is a text; any other is a category. Typed formats say themselves
//! what is a number.

use std::collections::{HashMap, HashSet};

use deciban::data::MISSING;
use deciban::{Error, Result};

use crate::cells::{Cells, Fault, Missing};
use crate::dictionary::Dictionary;
use crate::options::Options;
use crate::plan::Plan;
use crate::source::{Counter, Purpose, Source};
use crate::table::{self, Chunk};
use crate::{date, jsonl, number, records};

/// What a column seems to hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Guess {
    Number,
    Category,
    Text,
    /// Dates that can be read in one way, as numbers.
    Date,
    /// Dates of which nobody knows whether the day or the month comes first, as categories.
    LocalDate,
    /// Cells that are neither; the text says what.
    Unsupported(String),
}

/// The columns of the first file that has rows.
#[derive(Debug)]
pub(crate) struct Sample {
    pub file: String,
    pub names: Vec<String>,
    pub guesses: Vec<Guess>,
    pub rows: usize,
    /// Whether the columns have places but no names.
    pub positional: bool,
    /// Whether the format knows the types.
    pub typed: bool,
    /// Names that two columns share.
    pub repeated: HashSet<String>,
    places: HashMap<String, usize>,
}

/// How much is looked at.
const SAMPLE: usize = 1 << 20;

/// Looks at the beginning of the first source that has rows.
pub(crate) fn sample(sources: &[Source], options: &Options) -> Result<Sample> {
    for source in sources {
        let mut table = table::open(source, options, Purpose::Look, &Counter::default())?;
        while let Some(chunk) = table.next(SAMPLE)? {
            let positional =
                matches!(chunk, Chunk::Idx(_)) || (matches!(chunk, Chunk::Delimited(..)) && !options.header);
            let typed = matches!(chunk, Chunk::Idx(_) | Chunk::Records(_) | Chunk::Texts(_));
            let missing = options.missing();
            let seen = look(chunk, table.names(), table.counted(), &missing);
            let (names, guesses, rows) = seen.map_err(|fault| fault.error(&source.name, table.first_line()))?;
            if rows == 0 {
                continue;
            }
            let mut places = HashMap::new();
            let mut repeated = HashSet::new();
            for (place, name) in names.iter().enumerate() {
                if places.contains_key(name) {
                    repeated.insert(name.clone());
                } else {
                    places.insert(name.clone(), place);
                }
            }
            return Ok(Sample { file: source.name.clone(), names, guesses, rows, positional, typed, repeated, places });
        }
    }
    // There is at least one source.
    Err(sources[0].refuse("there are no rows: the file has nothing behind its header"))
}

/// Names, guesses and the number of rows.
type Seen = (Vec<String>, Vec<Guess>, usize);

fn look(chunk: Chunk, names: &[String], counted: &'static str, missing: &Missing) -> Result<Seen, Fault> {
    match chunk {
        Chunk::Idx(rows) => Ok((names.to_vec(), vec![Guess::Number; names.len()], rows.rows)),
        Chunk::Records(batch) => {
            let guesses = batch.columns().iter().map(|column| records::guess(column.as_ref(), missing)).collect();
            Ok((names.to_vec(), guesses, batch.num_rows()))
        }
        Chunk::Texts(texts) => {
            // A text, behind its class if it has one.
            let guess = |i: usize| if i + 1 < names.len() { Guess::Category } else { Guess::Text };
            Ok((names.to_vec(), (0..names.len()).map(guess).collect(), texts.rows()))
        }
        Chunk::JsonLines(text) => jsonl::sample(&text, missing),
        chunk @ Chunk::Delimited(..) => {
            let plan = Plan::texts(names);
            let blame = |e: Error| Fault { line: 0, column: None, message: e.to_string() };
            let parsed = chunk.parse(&plan, &plan.layout("", names, counted).map_err(blame)?);
            match parsed.fault {
                Some(fault) => Err(fault),
                None => Ok((names.to_vec(), parsed.cells.iter().map(|c| guess(c, missing)).collect(), parsed.rows)),
            }
        }
    }
}

fn guess(cells: &Cells, missing: &Missing) -> Guess {
    let Cells::Codes { levels, codes } = cells else { return Guess::Number };
    let is_number = |text: &[u8]| missing.has(text) || number::parse(text.trim_ascii()).is_some();
    if levels.iter().all(is_number) {
        return Guess::Number;
    }
    let known = |code: &&u32| **code != MISSING && !missing.has(levels.text(**code));
    by_levels(levels, codes.iter().filter(known).count(), missing)
}

/// Dates, if all levels are. A text if at least twenty different values stand in more than half of the
/// cells, and have three words on average. Otherwise a category.
pub(crate) fn by_levels(levels: &Dictionary, cells: usize, missing: &Missing) -> Guess {
    let all = |is: fn(&[u8]) -> bool| levels.iter().all(|text| missing.has(text) || is(text.trim_ascii()));
    if cells > 0 && all(|text| date::days(text).is_some()) {
        return Guess::Date;
    }
    if cells > 0 && all(date::is_local) {
        return Guess::LocalDate;
    }
    let words: usize =
        levels.iter().map(|text| text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).count()).sum();
    match levels.len() >= 20 && 2 * levels.len() > cells && words >= 3 * levels.len() {
        true => Guess::Text,
        false => Guess::Category,
    }
}

impl Sample {
    /// The place of a column.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Whether the names are more like cells: a quarter of them are numbers.
    pub fn header_looks_like_data(&self) -> bool {
        let numbers = self.names.iter().filter(|name| number::parse(name.as_bytes()).is_some()).count();
        4 * numbers >= self.names.len()
    }

    /// The error of a file that is not as it should be.
    pub fn refuse(&self, message: impl Into<String>) -> Error {
        Error::Input { file: self.file.clone(), line: None, column: None, message: message.into() }
    }

    /// The error of a column whose type cannot be read.
    pub fn unsupported(&self, name: &str, what: &str) -> Error {
        Error::Input {
            file: self.file.clone(),
            line: None,
            column: Some(name.into()),
            message: format!("{what} cannot be read: give §ignore='{name}'"),
        }
    }
}
