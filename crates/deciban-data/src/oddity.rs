//! What a look at the first rows finds odd about the cells of a column, where a person should know how they were
//! read.

use serde::Serialize;

/// Cells of one column that are not what they seem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// The column's name.
    pub column: String,
    /// What is odd.
    pub sort: OddSort,
    /// How many cells were looked at that are not missing, or not surely.
    pub cells: u64,
    /// How many of them are odd.
    pub odd: u64,
    /// The first odd cell.
    pub example: String,
}

/// What is odd about some cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OddSort {
    /// The column holds numbers, and cells such as `-` or `unknown`, which were taken as missing.
    TakenAsMissing,
    /// Nearly all cells are numbers, but the others made the column a category.
    NotNumbers,
    /// Nearly all cells are numbers, many with a percent sign, which made the column a category.
    Percentages,
    /// Nearly all cells are numbers, many with a decimal comma, which made the column a category.
    DecimalCommas,
}

/// Fewer cells than these say little of a column.
const FEWEST: u64 = 10;

impl Oddity {
    /// What a person should know, and which options change it, marked for a [`Wording`](deciban::Wording).
    ///
    /// ```
    /// use deciban_data::{OddSort, Oddity};
    /// let (column, example) = ("age".to_string(), "x".to_string());
    /// let oddity = Oddity { column, sort: OddSort::NotNumbers, cells: 119, odd: 1, example };
    /// assert_eq!(oddity.message(), "118 of 119 cells are numbers, `x` is not: give §missing='x' or §category='age'");
    /// ```
    pub fn message(&self) -> String {
        let Oddity { column, cells, odd, example, .. } = self;
        // An option's value stands between quotes.
        let shown: String = example.chars().filter(|c| *c != '\'').take(40).collect();
        match self.sort {
            OddSort::TakenAsMissing if *odd == 1 => {
                format!("one cell, `{shown}`, is taken as missing; §category='{column}' keeps it as a level")
            }
            OddSort::TakenAsMissing => {
                format!(
                    "{odd} cells, such as `{shown}`, are taken as missing; §category='{column}' keeps them as levels"
                )
            }
            OddSort::NotNumbers => format!(
                "{} of {cells} cells are numbers, `{shown}` is not: give §missing='{shown}' or §category='{column}'",
                cells - odd
            ),
            OddSort::Percentages => format!(
                "{odd} of {cells} cells are percentages, as `{shown}`: write them without the sign, or give §category='{column}'"
            ),
            OddSort::DecimalCommas => format!(
                "{odd} of {cells} cells are numbers with a comma, as `{shown}`: give §decimal=',' or §category='{column}'"
            ),
        }
    }
}

/// What the cells of a column are, counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub numbers: u64,
    /// Markers of missing cells that count as such among numbers and dates only.
    pub usual: Count,
    pub percentages: Count,
    pub commas: Count,
    /// Anything else.
    pub others: Count,
}

/// How many cells there are of a sort, and the first of them.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub cells: u64,
    example: String,
}

impl Count {
    pub fn add(&mut self, text: &[u8], cells: u64) {
        if self.cells == 0 {
            self.example = String::from_utf8_lossy(text).into_owned();
        }
        self.cells += cells;
    }
}

impl Tally {
    /// Whether the cells are numbers, or missing.
    pub fn are_numbers(&self) -> bool {
        let no_words = self.percentages.cells + self.commas.cells + self.others.cells == 0;
        no_words && (self.numbers > 0 || self.usual.cells == 0)
    }

    /// What is odd about a column that is read as numbers or dates, or else as levels.
    pub fn oddity(&self, column: &str, as_numbers: bool) -> Option<Oddity> {
        let Tally { numbers, usual, percentages, commas, others } = self;
        let cells = numbers + usual.cells + percentages.cells + commas.cells + others.cells;
        let made = |sort, odd: u64, of: &Count| {
            Some(Oddity { column: column.into(), sort, cells, odd, example: of.example.clone() })
        };
        let nearly = |some: u64| cells >= FEWEST && 10 * some >= 9 * cells;
        if as_numbers {
            return if usual.cells > 0 { made(OddSort::TakenAsMissing, usual.cells, usual) } else { None };
        }
        if *numbers > 0 && nearly(*numbers) {
            let first = [others, percentages, commas, usual].into_iter().find(|count| count.cells > 0)?;
            return made(OddSort::NotNumbers, cells - numbers, first);
        }
        if percentages.cells > 0 && nearly(numbers + percentages.cells) {
            return made(OddSort::Percentages, percentages.cells, percentages);
        }
        if commas.cells > 0 && nearly(numbers + commas.cells) {
            return made(OddSort::DecimalCommas, commas.cells, commas);
        }
        None
    }
}
