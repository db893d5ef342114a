//! Columns that lie in memory as Arrow arrays. What they are, their levels and their words are those that
//! files with the same cells give: the steps are the same, on slices of arrays instead of blocks of files.

use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{Array, ArrayRef};
use deciban::data::{Kind, MISSING};
use deciban::{Error, Result};
use rayon::prelude::*;

use crate::cells::{Cells as Block, Missing, Parsed};
use crate::classes::{Levels, Stranger};
use crate::infer::Guess;
use crate::options::Options;
use crate::plan::Plan;
use crate::records;
use crate::words::{Vocabulary, Words};

/// The cells of a column.
#[derive(Debug)]
pub enum Cells {
    /// NaN is missing.
    Numbers(Vec<f64>),
    /// Codes of levels, or [`MISSING`], or [`UNSEEN`](deciban::data::UNSEEN).
    Codes(Vec<u32>),
    /// The words of texts.
    Words(Words),
}

/// The levels or words of a column by which others are coded; made once, it serves any number of reads.
#[derive(Clone, Debug)]
pub struct Known(Levels);

impl Known {
    /// In the order of their codes.
    pub fn new(names: &[String]) -> Self {
        Known(Levels::fixed(names))
    }
}

/// Rows that are looked at to tell what a column is.
const LOOK: usize = 1 << 14;

/// Rows that are parsed at once.
const ROWS: usize = 1 << 13;

/// Slices that are parsed, in parallel, between two looks at their new levels and words.
const GROUP: usize = 16;

/// What a column seems to be, from its type and, where that is text, from its first rows; `missing` are
/// texts that stand for a missing cell.
///
/// ```
/// use arrow_array::{ArrayRef, StringArray};
/// use deciban::data::Kind;
/// let jobs: ArrayRef = std::sync::Arc::new(StringArray::from(vec!["cook", "judge"]));
/// assert_eq!(deciban_data::kind_of("job", &[jobs], &[])?, Kind::Category);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn kind_of(name: &str, pieces: &[ArrayRef], missing: &[String]) -> Result<Kind> {
    let Some(first) = pieces.iter().find(|piece| !piece.is_empty()).or(pieces.first()) else {
        return Ok(Kind::Number);
    };
    match records::guess(first.slice(0, first.len().min(LOOK)).as_ref(), &Missing::new(missing)) {
        Guess::Number | Guess::Date => Ok(Kind::Number),
        Guess::Category | Guess::LocalDate => Ok(Kind::Category),
        Guess::Text => Ok(Kind::Text),
        Guess::Unsupported(what) => {
            Err(Error::Schema(format!("column `{name}`: {what} cannot be read: give §ignore='{name}'")))
        }
    }
}

/// The cells of a column that is of this kind, coded by the levels or words that are `known`, or else by those
/// of the column, which come with the cells, in order of first appearance. Of `options`, those count that say how cells and
/// texts are read. Soon after `stop` turns true it ends, with [`Error::Interrupted`].
///
/// ```
/// use arrow_array::{ArrayRef, StringArray};
/// use deciban::data::Kind;
/// use deciban_data::{Cells, Options, read};
/// let jobs: ArrayRef = std::sync::Arc::new(StringArray::from(vec!["judge", "cook", "judge"]));
/// let (cells, levels) = read("job", &[jobs], Kind::Category, None, &Options::default(), &false.into())?;
/// assert!(matches!(cells, Cells::Codes(codes) if codes == [0, 1, 0]));
/// assert_eq!(levels, ["judge", "cook"]);
/// # Ok::<(), deciban::Error>(())
/// ```
pub fn read(
    name: &str,
    pieces: &[ArrayRef],
    kind: Kind,
    known: Option<&Known>,
    options: &Options,
    stop: &AtomicBool,
) -> Result<(Cells, Vec<String>)> {
    let plan = Plan::of_column(name, kind, options)?;
    let levels = match (known, kind) {
        (None, Kind::Text) => Levels::of_words(plan.vocabulary.most_words),
        (None, _) => Levels::open(),
        (Some(known), _) => known.0.clone(),
    };
    let cells = match kind {
        Kind::Number | Kind::Count => Cells::Numbers(Vec::new()),
        Kind::Category | Kind::Flag => Cells::Codes(Vec::new()),
        Kind::Text => Cells::Words(Words::none()),
    };
    let mut column = Column { plan, levels, cells, rows: 0 };
    let cut = |piece: &ArrayRef| -> Vec<ArrayRef> {
        (0..piece.len()).step_by(ROWS).map(|start| piece.slice(start, ROWS.min(piece.len() - start))).collect()
    };
    let slices: Vec<ArrayRef> = pieces.iter().flat_map(cut).collect();
    for group in slices.chunks(GROUP) {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        column.add(group)?;
    }
    let found = if known.is_none() { column.levels.names() } else { Vec::new() };
    Ok((column.cells, found))
}

/// A column on the way.
struct Column {
    /// Of this column alone.
    plan: Plan,
    levels: Levels,
    cells: Cells,
    rows: u64,
}

impl Column {
    /// Adds rows: parsed in parallel, and numbered in their order.
    fn add(&mut self, slices: &[ArrayRef]) -> Result<()> {
        let parsed: Vec<Parsed> = slices.par_iter().map(|slice| records::parse_column(slice, &self.plan)).collect();
        let mut blocks = Vec::with_capacity(parsed.len());
        for parsed in parsed {
            if let Some(fault) = parsed.fault {
                let (column, row) = (self.plan.slots[0].name.clone(), self.rows + fault.line + 1);
                return Err(Error::Cell { column, row, message: fault.message });
            }
            self.rows += parsed.rows as u64;
            blocks.extend(parsed.cells);
        }
        match &self.plan.slots[0].tokens {
            Some(tokens) => {
                let hashed = self.plan.vocabulary.hashed_bits;
                let vocabulary = hashed.map_or(Vocabulary::Words(&self.levels), Vocabulary::Hashed);
                let words = blocks.into_par_iter().map(|block| match block {
                    Block::Texts(texts) => Words::of(&texts, tokens, vocabulary),
                    _ => Words::none(), // A plan with tokens makes texts.
                });
                self.add_words(words.collect())
            }
            None => blocks.into_iter().try_for_each(|block| self.add_block(block)),
        }
    }

    fn add_words(&mut self, words: Vec<Words>) -> Result<()> {
        let mut numbered = Vec::with_capacity(words.len());
        for mut words in words {
            let Some(map) = self.levels.add(std::mem::take(&mut words.new)) else {
                let most = self.plan.vocabulary.most_words;
                return Err(self.refuse(format!(
                    "the texts have more than {most} different words: give §hashed_bits=20, §ngrams of fewer words, \
                     or a higher §most_words"
                )));
            };
            numbered.push((words, map));
        }
        numbered.par_iter_mut().for_each(|(words, map)| words.settle(map));
        if let Cells::Words(all) = &mut self.cells {
            numbered.iter().for_each(|(words, _)| all.append(words));
        }
        Ok(())
    }

    fn add_block(&mut self, block: Block) -> Result<()> {
        match (&mut self.cells, block) {
            (Cells::Numbers(all), Block::Numbers(numbers)) => all.extend(numbers),
            (Cells::Codes(all), Block::Codes { codes, levels }) => {
                let (map, stranger) = self.levels.map(&levels, &self.plan.missing);
                if let Some((_, Stranger::TooMany)) = stranger {
                    let name = &self.plan.slots[0].name;
                    let remedy = format!("give §ignore='{name}' or §number='{name}'");
                    return Err(self.refuse(format!("a category cannot have so many levels: {remedy}")));
                }
                let code = |local: u32| if local == MISSING { MISSING } else { map[local as usize] };
                all.extend(codes.into_iter().map(code));
            }
            _ => {} // A plan makes cells of its kind.
        }
        Ok(())
    }

    fn refuse(&self, message: String) -> Error {
        Error::Schema(format!("column `{}`: {message}", self.plan.slots[0].name))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, StringArray};
    use deciban::data::{Rows, UNSEEN};

    use super::*;

    static GO: AtomicBool = AtomicBool::new(false);

    fn words(cells: &Cells) -> Vec<Vec<(u32, f64)>> {
        let Cells::Words(words) = cells else { panic!("no words") };
        let sparse = words.sparse().unwrap();
        let mut rows = vec![Vec::new(); sparse.rows()];
        sparse.for_each(&Rows::Range(0..sparse.rows()), |i, word, count| rows[i].push((word, count)));
        rows
    }

    #[test]
    fn many_slices_are_as_one_column() {
        let text = |i: usize| format!("w{} w{} w{}", i % 7, i % 5, i % 7);
        let texts: Vec<String> = (0..20_000).map(text).collect();
        let whole: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        let pieces = [whole.slice(0, 3), whole.slice(3, 0), whole.slice(3, 19_997)];
        let (cells, names) = read("t", &pieces, Kind::Text, None, &Options::default(), &GO).unwrap();
        assert_eq!(names, ["w0", "w1", "w2", "w3", "w4", "w5", "w6"]);
        let rows = words(&cells);
        assert_eq!((rows.len(), &rows[19_999]), (20_000, &vec![(0, 2.0), (4, 1.0)])); // 19999 % 7 = 0, % 5 = 4
        assert_eq!(rows[7], [(0, 2.0), (2, 1.0)]);
        let known = Known::new(&["w3".to_string()]);
        let (cells, _) = read("t", &pieces, Kind::Text, Some(&known), &Options::default(), &GO).unwrap();
        assert_eq!(words(&cells)[3], [(0, 3.0)]);
        assert_eq!(words(&cells)[0], [(UNSEEN, 3.0)]);
        let stopped = read("t", &pieces, Kind::Text, None, &Options::default(), &AtomicBool::new(true));
        assert!(matches!(stopped, Err(Error::Interrupted)));
        let (cells, levels) = read("t", &pieces, Kind::Category, None, &Options::default(), &GO).unwrap();
        let Cells::Codes(codes) = cells else { panic!("no codes") };
        assert_eq!((codes.len(), levels.len(), codes[35], codes[19_999]), (20_000, 35, 0, 19_999 % 35));
    }

    #[test]
    fn flags_by_any_name() {
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]));
        assert_eq!(kind_of("b", std::slice::from_ref(&flags), &[]).unwrap(), Kind::Category);
        for known in [["False", "True"], ["FALSE", "TRUE"], ["false", "true"]] {
            let known = Known::new(&known.map(String::from));
            let (cells, _) =
                read("b", std::slice::from_ref(&flags), Kind::Category, Some(&known), &Options::default(), &GO)
                    .unwrap();
            assert!(matches!(cells, Cells::Codes(codes) if codes == [1, MISSING, 0]), "{known:?}");
        }
    }

    #[test]
    fn a_cell_that_is_no_number() {
        let cells: ArrayRef = Arc::new(StringArray::from(vec!["2024-05-01", "1.5", "x"]));
        assert_eq!(kind_of("b", &[cells.slice(0, 1)], &[]).unwrap(), Kind::Number);
        let error =
            read("b", std::slice::from_ref(&cells), Kind::Number, None, &Options::default(), &GO).err().unwrap();
        assert_eq!(error.to_string(), "column `b`, row 3: `x` is not a number");
        let (cells, _) = read("b", &[cells.slice(0, 2)], Kind::Number, None, &Options::default(), &GO).unwrap();
        assert!(matches!(cells, Cells::Numbers(numbers) if numbers == [19844.0, 1.5]));
    }
}
