//! What the columns are, from the first block of the input: a column whose cells are all numbers, or
//! missing, is a number column; one of dates with the year first is a number of days; one with many
//! different values of several words is a text; any other is a category. Typed formats say themselves
//! what is a number.

use std::collections::{HashMap, HashSet};

use deciban::text::Word;
use deciban::{Error, Result};

use crate::cells::{Cells, Fault, Missing, is_usual};
use crate::dictionary::Dictionary;
use crate::number::Notation;
use crate::oddity::{Oddity, Tally};
use crate::options::Options;
use crate::plan::Plan;
use crate::source::{Counter, Purpose, Source};
use crate::table::{self, Chunk};
use crate::{date, json_text, number, records};

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
    /// What is odd about columns.
    pub oddities: Vec<Oddity>,
    places: HashMap<String, usize>,
}

/// How much is looked at.
pub(crate) const SAMPLE: usize = 1 << 20;

/// Looks at the beginning of the first source that has rows; there must be one.
pub(crate) fn sample(sources: &[Source], options: &Options) -> Result<Sample> {
    let sample = sample_or_header(sources, options)?;
    match sample.rows {
        0 => Err(sources[0].refuse("there are no rows: the file has nothing behind its header")),
        _ => Ok(sample),
    }
}

/// The same where rows may lack: then the columns are those of the first header, and of no known kind.
pub(crate) fn sample_or_header(sources: &[Source], options: &Options) -> Result<Sample> {
    let mut header = None;
    for source in sources {
        let mut table = table::open(source, options, Purpose::Look, &Counter::default())?;
        while let Some(chunk) = table.next(SAMPLE)? {
            let positional =
                matches!(chunk, Chunk::Idx(_)) || (matches!(chunk, Chunk::Delimited(..)) && !options.header);
            let typed = matches!(chunk, Chunk::Idx(_) | Chunk::Records(_) | Chunk::Texts(_));
            let (missing, notation) = (options.missing(), options.notation()?);
            let seen = look(chunk, table.names(), table.counted(), (&missing, notation), &|name| options.is_text(name));
            let Seen { names, guesses, oddities, rows } = seen.map_err(|fault| {
                let plan = Plan { by_row: source.in_memory, ..Plan::default() };
                let place = (fault.row, table.first_line() + fault.line);
                plan.layout_by_name(&source.name, true).refuse(Some(place), fault.column.as_deref(), fault.message)
            })?;
            if rows > 0 {
                let sample = Sample::of_names(&source.name, names);
                return Ok(Sample { guesses, oddities, rows, positional, typed, ..sample });
            }
        }
        header.get_or_insert_with(|| Sample::of_names(&source.name, table.names().to_vec()));
    }
    // There is at least one source.
    header.ok_or_else(|| sources[0].refuse("there are no rows"))
}

/// What a chunk shows.
pub(crate) struct Seen {
    pub names: Vec<String>,
    pub guesses: Vec<Guess>,
    pub oddities: Vec<Oddity>,
    pub rows: usize,
}

/// What the columns of a chunk seem to be; nothing is guessed of those that are texts in any case.
fn look(
    chunk: Chunk,
    names: &[String],
    counted: &'static str,
    (missing, notation): (&Missing, Notation),
    is_text: &dyn Fn(&str) -> bool,
) -> Result<Seen, Fault> {
    let seen = |guesses, rows| Seen { names: names.to_vec(), guesses, oddities: Vec::new(), rows };
    match chunk {
        Chunk::Idx(rows) => Ok(seen(vec![Guess::Number; names.len()], rows.rows)),
        Chunk::Records(batch) => {
            let guesses = batch.columns().iter().map(|column| records::guess(column.as_ref(), missing)).collect();
            Ok(seen(guesses, batch.num_rows()))
        }
        Chunk::Texts(texts) => {
            // A text, behind its class if it has one.
            let guess = |i: usize| if i + 1 < names.len() { Guess::Category } else { Guess::Text };
            Ok(seen((0..names.len()).map(guess).collect(), texts.rows()))
        }
        Chunk::Json(text, shape) => json_text::sample(&text, shape, missing),
        chunk @ Chunk::Delimited(..) => {
            let plan = Plan::kept_texts(names);
            let blame = |e: Error| Fault { line: 0, row: 0, column: None, message: e.to_string() };
            let parsed = chunk.parse(&plan, &plan.layout("", names, counted, true).map_err(blame)?);
            if let Some(fault) = parsed.fault {
                return Err(fault);
            }
            let (mut guesses, mut oddities) = (Vec::new(), Vec::new());
            for (cells, name) in parsed.cells.iter().zip(names) {
                let (guess, tally) = match is_text(name) {
                    true => (Guess::Text, Tally::default()),
                    false => guess(cells, missing, notation),
                };
                oddities.extend(tally.oddity(name, matches!(guess, Guess::Number | Guess::Date)));
                guesses.push(guess);
            }
            Ok(Seen { names: names.to_vec(), guesses, oddities, rows: parsed.rows })
        }
    }
}

fn guess(cells: &Cells, missing: &Missing, notation: Notation) -> (Guess, Tally) {
    let mut tally = Tally::default();
    let Cells::Kept(texts) = cells else { return (Guess::Number, tally) };
    // Equal cells are looked for only among those that are not numbers: most columns have no others.
    let (mut others, mut counts) = (Dictionary::default(), Vec::new());
    for text in texts.iter() {
        if !missing.has(text) && notation.parse(text.trim_ascii()).is_some() {
            tally.numbers += 1;
            continue;
        }
        let code = others.code(Word::of(text)) as usize;
        counts.resize(others.len(), 0);
        counts[code] += 1;
    }
    let comma = Notation { point: b',', thousands: None };
    for (text, count) in others.iter().zip(counts) {
        let trimmed = text.trim_ascii();
        let is_percentage =
            || trimmed.strip_suffix(b"%").is_some_and(|text| notation.parse(text.trim_ascii_end()).is_some());
        match () {
            () if missing.has(text) => {}
            () if is_usual(trimmed) => tally.usual.add(text, count),
            () if is_percentage() => tally.percentages.add(text, count),
            () if comma.parse(trimmed).is_some() => tally.commas.add(text, count),
            () => tally.others.add(text, count),
        }
    }
    if tally.are_numbers() {
        return (Guess::Number, tally);
    }
    // Without any numbers, the others are all levels.
    let mut levels = if tally.numbers == 0 { others } else { Dictionary::default() };
    if tally.numbers > 0 {
        for text in texts.iter() {
            levels.code(Word::of(text));
        }
    }
    (by_levels(&levels, texts.iter().filter(|text| !missing.has(text)).count(), missing), tally)
}

/// Dates, if all levels are. A text if at least twenty different values stand in more than half of the
/// cells, and have three words on average. Otherwise a category.
pub(crate) fn by_levels(levels: &Dictionary, cells: usize, missing: &Missing) -> Guess {
    let known: Vec<&[u8]> = levels.iter().filter(|text| !missing.has(text)).map(<[u8]>::trim_ascii).collect();
    let is_date = |text: &[u8]| date::days(text).is_some();
    if known.iter().any(|text| is_date(text)) && known.iter().all(|text| is_usual(text) || is_date(text)) {
        return Guess::Date;
    }
    if !known.is_empty() && known.iter().all(|text| date::is_local(text)) {
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
    /// Columns of which nothing is known but their names.
    pub fn of_names(file: &str, names: Vec<String>) -> Self {
        let mut places = HashMap::new();
        let mut repeated = HashSet::new();
        for (place, name) in names.iter().enumerate() {
            if places.contains_key(name) {
                repeated.insert(name.clone());
            } else {
                places.insert(name.clone(), place);
            }
        }
        let guesses = vec![Guess::Category; names.len()];
        Sample {
            file: file.into(),
            names,
            guesses,
            rows: 0,
            positional: false,
            typed: false,
            repeated,
            oddities: Vec::new(),
            places,
        }
    }

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
