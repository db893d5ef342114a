//! What a block becomes: its cells by column, with dictionaries of its own for categories, and the
//! line of each row. A slot is a column that is wanted: a feature, the target, the weight.

use std::sync::RwLock;

use deciban::Result;
use deciban::data::MISSING;
use deciban::text::Word;

use crate::code::Names;
use crate::dictionary::Dictionary;
use crate::plan::{Dates, Plan};
use crate::words::{Texts, Vocabulary, Words};
use crate::{date, number};

/// The cells of one slot.
#[derive(Debug)]
pub(crate) enum Cells {
    /// NaN is missing.
    Numbers(Vec<f64>),
    /// Codes in the block's own dictionary, or [`MISSING`].
    Codes {
        codes: Vec<u32>,
        levels: Dictionary,
    },
    /// Cells that are handed through as they are written.
    Kept(Texts),
    /// Texts, first as they are, then as words.
    Texts(Texts),
    Words(Words),
    /// Every `stride`th byte of [`Parsed::matrix`] from `start`: idx files are never widened.
    Bytes {
        start: usize,
        stride: usize,
    },
}

/// What is wrong with a row of a block.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The row's line, counted from 0 at the block's beginning.
    pub line: u64,
    /// The row, counted from 0 at the block's beginning.
    pub row: u64,
    pub column: Option<String>,
    pub message: String,
}

/// A block, parsed. After a fault the rest of the block is left out, and nothing of it is used.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub rows: usize,
    /// By slot of the plan.
    pub cells: Vec<Cells>,
    pub matrix: Vec<u8>,
    /// The line of each row within the block; empty where every row is a line.
    pub lines: Vec<u32>,
    /// How many lines the block has.
    pub line_count: u64,
    /// The file of each row, where rows are files and somebody wants to know.
    pub files: Vec<String>,
    pub fault: Option<Fault>,
}

impl Parsed {
    /// No rows yet, room for `capacity`.
    pub fn new(plan: &Plan, capacity: usize) -> Self {
        let cells = plan.slots.iter().map(|slot| match (&slot.tokens, slot.is_code) {
            _ if slot.is_kept => Cells::Kept(Texts::default()),
            (Some(_), _) => Cells::Texts(Texts::default()),
            (None, true) => Cells::Codes { codes: Vec::with_capacity(capacity), levels: Dictionary::default() },
            (None, false) => Cells::Numbers(Vec::with_capacity(capacity)),
        });
        let lines = Vec::with_capacity(capacity);
        let (matrix, files) = (Vec::new(), Vec::new());
        Parsed { rows: 0, cells: cells.collect(), matrix, lines, line_count: 0, files, fault: None }
    }

    /// Makes room for texts of so many bytes in all.
    pub fn reserve_texts(&mut self, bytes: usize) {
        let is_text = |cells: &&mut Cells| matches!(cells, Cells::Texts(_) | Cells::Kept(_));
        let columns = self.cells.iter_mut().filter(is_text).count();
        for cells in self.cells.iter_mut().filter(is_text) {
            if let Cells::Texts(texts) | Cells::Kept(texts) = cells {
                texts.reserve(bytes / columns);
            }
        }
    }

    /// How much memory the cells take, their dictionaries apart.
    pub fn bytes(&self) -> usize {
        let cells = self.cells.iter().map(|cells| match cells {
            Cells::Numbers(numbers) => 8 * numbers.capacity(),
            Cells::Codes { codes, .. } => 4 * codes.capacity(),
            Cells::Words(words) => words.bytes(),
            Cells::Kept(texts) => texts.bytes(),
            Cells::Texts(_) | Cells::Bytes { .. } => 0, // Words by now; part of the matrix.
        });
        size_of::<Cells>() * self.cells.capacity()
            + cells.sum::<usize>()
            + self.matrix.capacity()
            + 4 * self.lines.capacity()
    }

    /// The line of a row, counted from 0 at the block's beginning.
    pub fn line(&self, row: usize) -> u64 {
        self.lines.get(row).map_or(row as u64, |line| u64::from(*line))
    }

    /// Adds a cell given as text.
    #[inline]
    pub fn push_text(&mut self, slot: usize, text: &[u8], plan: &Plan) -> Result<(), String> {
        match &mut self.cells[slot] {
            Cells::Codes { codes, levels } => codes.push(levels.code(Word::of(text))),
            Cells::Numbers(numbers) => numbers.push(read_number(text, slot, plan)?),
            Cells::Texts(texts) | Cells::Kept(texts) => texts.push(text),
            Cells::Words(_) | Cells::Bytes { .. } => {} // Only idx has them, and it has no text.
        }
        Ok(())
    }

    /// Adds a cell given as a number.
    #[inline]
    pub fn push_number(&mut self, slot: usize, number: f64, plan: &Plan) -> Result<(), String> {
        match &mut self.cells[slot] {
            Cells::Numbers(numbers) => numbers.push(check_number(number, plan)?),
            Cells::Codes { codes, .. } if number.is_nan() => codes.push(MISSING),
            Cells::Codes { codes, levels } => codes.push(levels.code(Word::of(number::shortest(number).as_bytes()))),
            Cells::Texts(texts) | Cells::Kept(texts) if number.is_nan() => texts.push(b""),
            Cells::Texts(texts) | Cells::Kept(texts) => texts.push(number::shortest(number).as_bytes()),
            Cells::Words(_) | Cells::Bytes { .. } => {}
        }
        Ok(())
    }

    /// Adds a cell given as a flag: a level, or 1 and 0 in a number column.
    pub fn push_flag(&mut self, slot: usize, flag: bool, plan: &Plan) -> Result<(), String> {
        match plan.slots[slot].is_code {
            true => self.push_text(slot, if flag { b"true" } else { b"false" }, plan),
            false => self.push_number(slot, f64::from(u8::from(flag)), plan),
        }
    }

    /// Adds a cell that is missing.
    pub fn push_missing(&mut self, slot: usize) {
        match &mut self.cells[slot] {
            Cells::Numbers(numbers) => numbers.push(f64::NAN),
            Cells::Codes { codes, .. } => codes.push(MISSING),
            Cells::Texts(texts) | Cells::Kept(texts) => texts.push(b""),
            Cells::Words(_) | Cells::Bytes { .. } => {}
        }
    }

    /// Remembers a fault, unless an earlier row has one.
    pub fn blame(&mut self, line: u64, column: Option<&str>, message: String) {
        if self.fault.as_ref().is_none_or(|fault| line < fault.line) {
            // Where rows are not lines, the row to blame is the one that begins there.
            let row = self.lines.iter().position(|l| u64::from(*l) == line).map_or(line, |row| row as u64);
            self.fault = Some(Fault { line, row, column: column.map(String::from), message });
        }
    }

    /// What remains to be done once all cells are there: text is checked once per level, and
    /// one-hot columns become class codes.
    pub fn finish(mut self, plan: &Plan) -> Self {
        if plan.allow_absent {
            self.fill_absent(plan);
        }
        // Rows of a file without classes have no cell of them.
        if let Some(Cells::Codes { codes, .. }) = plan.class.and_then(|slot| self.cells.get_mut(slot)) {
            codes.resize(codes.len().max(self.rows), MISSING);
        }
        let mut broken = Vec::new();
        for (cells, slot) in self.cells.iter().zip(&plan.slots) {
            let Cells::Codes { codes, levels } = cells else { continue };
            if plan.lossy {
                continue;
            }
            let foreign = levels.iter().position(|text| std::str::from_utf8(text).is_err());
            let Some(row) = foreign.and_then(|code| codes.iter().position(|c| *c == code as u32)) else { continue };
            broken.push((self.line(row), slot.name.clone()));
        }
        for (line, name) in broken {
            self.blame(line, Some(&name), NOT_UTF8.into());
        }
        if self.fault.is_none() && !plan.one_hot.is_empty() {
            self.join_one_hot(plan);
        }
        self
    }

    /// The features that the input lacks are missing in every row.
    fn fill_absent(&mut self, plan: &Plan) {
        for slot in 0..plan.features.len() {
            let is_absent = match &self.cells[slot] {
                Cells::Numbers(numbers) => numbers.is_empty(),
                Cells::Codes { codes, .. } => codes.is_empty(),
                Cells::Texts(texts) => texts.is_empty(),
                Cells::Kept(_) | Cells::Words(_) | Cells::Bytes { .. } => false,
            };
            if is_absent {
                (0..self.rows).for_each(|_| self.push_missing(slot));
            }
        }
    }

    /// Makes words of texts, by the vocabulary so far.
    pub fn count_words(&mut self, plan: &Plan, names: &RwLock<Names>) {
        for (place, (cells, slot)) in self.cells.iter_mut().zip(&plan.slots).enumerate() {
            if let (Cells::Texts(texts), Some(tokens)) = (&*cells, &slot.tokens) {
                let vocabulary = match plan.vocabulary.hashed_bits {
                    None => Vocabulary::Shared(names, place),
                    Some(bits) => Vocabulary::Hashed(bits),
                };
                *cells = Cells::Words(Words::of(texts, tokens, vocabulary));
            }
        }
    }

    /// The number in a cell, whatever holds it.
    pub fn number(&self, slot: usize, row: usize) -> f64 {
        match &self.cells[slot] {
            Cells::Numbers(numbers) => numbers[row],
            Cells::Bytes { start, stride } => f64::from(self.matrix[start + row * stride]),
            Cells::Codes { .. } | Cells::Texts(_) | Cells::Kept(_) | Cells::Words(_) => f64::NAN, // One-hot columns are numbers.
        }
    }

    /// Exactly one of the columns is 1 and the others are 0: its place is the code of the class.
    fn join_one_hot(&mut self, plan: &Plan) {
        let names: Vec<&str> = plan.one_hot.clone().map(|slot| plan.slots[slot].name.as_str()).collect();
        let mut codes = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            let cells: Vec<f64> = plan.one_hot.clone().map(|slot| self.number(slot, row)).collect();
            if cells.iter().all(|x| x.is_nan()) {
                codes.push(MISSING);
                continue;
            }
            let ones: Vec<usize> = (0..cells.len()).filter(|i| cells[*i] == 1.0).collect();
            if ones.len() == 1 && cells.iter().filter(|x| **x == 0.0).count() == cells.len() - 1 {
                codes.push(ones[0] as u32);
                continue;
            }
            let odd = cells.iter().position(|x| *x != 0.0 && *x != 1.0);
            let message = match (odd, ones.len()) {
                (Some(odd), _) if cells[odd].is_nan() => format!("the cell of `{}` is missing", names[odd]),
                (Some(odd), _) => format!("the cell of `{}` is {}, not 0 or 1", names[odd], cells[odd]),
                (None, 0) => "all are 0".into(),
                (None, _) => format!("`{}` and `{}` are both 1", names[ones[0]], names[ones[1]]),
            };
            let columns = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let message = format!("exactly one of {columns} must be 1, the others 0: {message}");
            self.blame(self.line(row), None, message);
            return;
        }
        self.cells.push(Cells::Codes { codes, levels: Dictionary::of(&names) });
    }
}

/// The error of text in another encoding.
pub(crate) const NOT_UTF8: &str = "the text is not UTF-8: convert the file, as with `iconv -f latin1 -t utf-8`";

/// A cell of a number column.
fn read_number(text: &[u8], slot: usize, plan: &Plan) -> Result<f64, String> {
    let text = text.trim_ascii();
    if plan.missing.has(text) {
        return Ok(f64::NAN);
    }
    let days = || date::days(text).filter(|_| plan.slots[slot].dates == Some(Dates::Days));
    match plan.notation.parse(text).or_else(days) {
        Some(number) if number.is_infinite() => Err(infinite(&String::from_utf8_lossy(text))),
        Some(number) => check_number(number, plan),
        None if std::str::from_utf8(text).is_err() => Err(NOT_UTF8.into()),
        None if plan.slots[slot].is_known && FLAGS[1].contains(&text) => Ok(1.0),
        None if plan.slots[slot].is_known && FLAGS[0].contains(&text) => Ok(0.0),
        None if is_usual(text) => Ok(f64::NAN),
        None => {
            let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
            Err(format!("`{shown}` is not a number{}", plan.slots[slot].why_number))
        }
    }
}

/// Flags that stand for 0 and 1 where a model has numbers.
const FLAGS: [[&[u8]; 3]; 2] = [[b"false", b"False", b"FALSE"], [b"true", b"True", b"TRUE"]];

/// Refuses infinity; a number that marks a missing cell becomes NaN.
#[inline]
pub(crate) fn check_number(number: f64, plan: &Plan) -> Result<f64, String> {
    if number.is_infinite() {
        return Err(infinite(&number.to_string()));
    }
    Ok(if plan.missing.has_number(number) { f64::NAN } else { number })
}

fn infinite(text: &str) -> String {
    format!("`{text}` is an infinite number: mark it as missing or remove the row")
}

/// Whether a text marks a missing cell among numbers and dates, in any case of letters, whatever else does. Among
/// levels these texts are levels: `none` and `unknown` say something there.
pub(crate) fn is_usual(text: &[u8]) -> bool {
    const USUAL: [&str; 32] = [
        "",
        "?",
        "-",
        "--",
        "---",
        ".",
        "..",
        "...",
        "*",
        "na",
        "n/a",
        "n.a.",
        "n.a",
        "n/d",
        "#n/a",
        "#na",
        "#n/a n/a",
        "<na>",
        "nan",
        "-nan",
        "nat",
        "null",
        "<null>",
        "(null)",
        "\\n",
        "none",
        "nil",
        "unknown",
        "missing",
        "not available",
        "–",
        "—",
    ];
    text.len() <= 16 && USUAL.iter().any(|marker| text.eq_ignore_ascii_case(marker.as_bytes()))
}

/// The cells that stand for a missing value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    texts: Vec<Vec<u8>>,
    /// `-999` marks `-999.0` as well.
    numbers: Vec<f64>,
}

impl Missing {
    pub fn new(markers: &[String]) -> Self {
        let texts: Vec<Vec<u8>> = markers.iter().map(|marker| marker.trim().as_bytes().to_vec()).collect();
        let numbers = texts.iter().filter_map(|text| number::parse(text)).filter(|x| x.is_finite()).collect();
        Missing { texts, numbers }
    }

    pub fn has(&self, text: &[u8]) -> bool {
        let is_number = || number::parse(text).is_some_and(|number| self.numbers.contains(&number));
        self.texts.iter().any(|marker| marker == text) || !self.numbers.is_empty() && is_number()
    }

    /// Whether some numbers stand for a missing value.
    pub fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Whether a byte may stand for a missing value.
    pub fn has_bytes(&self) -> bool {
        self.numbers.iter().any(|number| *number == f64::from(*number as u8))
    }

    #[inline]
    pub fn has_number(&self, number: f64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&number)
    }
}
