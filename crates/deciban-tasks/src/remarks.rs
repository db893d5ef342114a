//! What a person should know about the columns before trusting a fit.
//!
//! A note reports a choice that was made, a warning a column that is likely to mislead; both name the option that
//! changes it. All come from the first rows, before anything is learned.

use deciban::data::{Column, Kind, Profile};
use deciban::{Error, Result, Wording, shown};
use deciban_data::{Dates, OddSort, Oddity};
use serde::Serialize;

use crate::input::Input;

/// More columns than these share one line.
const MOST: usize = 3;

/// Fewer cells than these say nothing about what a column is.
const FEWEST: usize = 50;

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// A choice was made.
    Note,
    /// Something is likely to mislead.
    Warning,
}

/// A sentence about the data or the fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// How much it matters.
    pub weight: Weight,
    /// The sentence, with options marked ([`Wording`]).
    message: String,
}

impl Remark {
    /// A choice that was made.
    pub fn note(message: impl Into<String>) -> Self {
        Remark { weight: Weight::Note, message: message.into() }
    }

    /// Something that is likely to mislead.
    pub fn warning(message: impl Into<String>) -> Self {
        Remark { weight: Weight::Warning, message: message.into() }
    }

    /// Each of them a warning.
    pub fn warnings(messages: Vec<String>) -> impl Iterator<Item = Self> {
        messages.into_iter().map(Remark::warning)
    }

    /// The sentence in the words of a front end.
    pub fn message(&self, wording: Wording) -> String {
        shown(&wording.apply(&self.message)).into_owned()
    }

    /// The sentence after its weight: `warning: ...`.
    pub fn line(&self, wording: Wording) -> String {
        let weight = if self.weight == Weight::Note { "note" } else { "warning" };
        format!("{weight}: {}", self.message(wording))
    }
}

/// The columns, and what the first rows say of them.
pub struct Look {
    place: Option<String>,
    columns: Vec<Column>,
    dates: Vec<Option<Dates>>,
    oddities: Vec<Oddity>,
    /// One for each column, or none.
    pub profiles: Vec<Profile>,
}

impl Look {
    /// A look at the first rows.
    pub fn new(input: &dyn Input) -> Result<Self> {
        let columns = input.columns()?;
        let mut dates = input.dates();
        dates.resize(columns.len(), None);
        Ok(Look { place: input.place(), columns, dates, oddities: input.oddities(), profiles: input.profiles()? })
    }

    /// All remarks; `spiked` are the numbers that the model scores by histograms since no Gaussian
    /// describes them.
    pub fn remarks(&self, spiked: &[usize]) -> Vec<Remark> {
        let mut lines = Vec::new();
        let mut told: Vec<usize> = Vec::new();
        // Of a column only the first remark is made.
        let mut tell = |weight: Weight, places: Vec<usize>, say: &dyn Fn(&str, Option<usize>) -> String| {
            let new: Vec<usize> = places.into_iter().filter(|c| !told.contains(c)).collect();
            lines.extend(self.grouped(weight, &new, say));
            told.extend(new);
        };
        let profile = |c: usize| &self.profiles[c];
        for oddity in &self.oddities {
            let place = self.columns.iter().position(|column| column.name == oddity.column);
            let weight = if oddity.sort == OddSort::TakenAsMissing { Weight::Note } else { Weight::Warning };
            tell(weight, place.into_iter().collect(), &|_, _| oddity.message());
        }
        // In the first rows of many, a rare level is constant, too.
        tell(Weight::Warning, self.which(|p| p.is_constant() && !p.is_partial), &|names, c| {
            let what = match c.filter(|c| self.columns[*c].kind == Kind::Number) {
                Some(c) => format!("always {}", profile(c).mode),
                None => "always the same".into(),
            };
            format!("{what}, which says nothing: give §ignore='{names}'")
        });
        tell(Weight::Warning, self.of_dates(Dates::Local), &|names, _| {
            let what = "dates with the year last, of which each is a level of its own";
            format!("{what}: write the year first, as in 2024-05-01, or give §ignore='{names}'")
        });
        tell(Weight::Warning, self.identifiers(), &|names, _| {
            let what = "nearly all values differ, as in an identifier, which says nothing of new rows";
            format!("{what}: give §ignore='{names}'")
        });
        tell(Weight::Note, self.of_dates(Dates::Days), &|names, _| {
            format!("dates, taken as days since 1970-01-01; §category='{names}' for levels, §ignore='{names}' for none")
        });
        tell(Weight::Note, spiked.iter().copied().filter(|&c| !profile(c).is_constant()).collect(), &|names, c| {
            let what = match c.map(profile) {
                Some(p) => format!("{:.0} % of the cells are {}", 100.0 * p.share(), p.mode),
                None => "one value in at least half of the cells".into(),
            };
            format!("{what}, which no Gaussian describes: scored by a histogram, unless §family='{names}=gaussian'")
        });
        tell(Weight::Note, self.codes(), &|names, c| {
            let what = match c.map(profile) {
                Some(p) => format!("only {} different whole numbers", p.distinct),
                None => "only few different whole numbers".into(),
            };
            format!("{what}: if they are codes without an order, give §category='{names}'")
        });
        lines
    }

    /// What is behind an error about a column that nearly holds numbers: the cells that are none.
    pub fn cause(&self, error: Error) -> Error {
        let text = error.marked();
        let is_of = |oddity: &&Oddity| text.starts_with(&format!("column `{}` does not hold numbers", oddity.column));
        match self.oddities.iter().find(is_of) {
            Some(oddity) => {
                let place = self.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
                Error::Schema(format!("{place}column `{}`: {}", oddity.column, oddity.message()))
            }
            None => error,
        }
    }

    /// The numbers and categories whose profile is of this sort.
    fn which(&self, is: impl Fn(&Profile) -> bool) -> Vec<usize> {
        let has_profile = |c: &usize| self.columns[*c].kind != Kind::Text;
        (0..self.profiles.len()).filter(|&c| is(&self.profiles[c])).filter(has_profile).collect()
    }

    fn of_dates(&self, dates: Dates) -> Vec<usize> {
        (0..self.dates.len()).filter(|&c| self.dates[c] == Some(dates)).collect()
    }

    /// Categories in which nearly every cell is a level of its own, and whole numbers that count the rows.
    fn identifiers(&self) -> Vec<usize> {
        let of_levels = |p: &Profile| p.cells >= FEWEST && 20 * p.distinct >= 19 * p.cells;
        let counts = |p: &Profile| {
            let consecutive = p.greatest - p.least + 1.0 == p.cells as f64;
            p.cells >= FEWEST && p.is_whole && p.distinct == p.cells && (consecutive || p.ascends)
        };
        let mut found = self.which(of_levels);
        found.retain(|&c| self.columns[c].kind == Kind::Category || counts(&self.profiles[c]));
        found.retain(|&c| self.dates[c].is_none());
        found
    }

    /// Whole numbers of few values, as codes are: classes of tickets, months of a season.
    fn codes(&self) -> Vec<usize> {
        let few = |p: &Profile| p.cells >= 2 * FEWEST && p.is_whole && (3..=6).contains(&p.distinct);
        let mut found = self.which(|p| few(p) && !p.is_spiked());
        found.retain(|&c| self.columns[c].kind == Kind::Number);
        found
    }

    /// A remark for each column, or one for all of them.
    fn grouped(&self, weight: Weight, places: &[usize], say: &dyn Fn(&str, Option<usize>) -> String) -> Vec<Remark> {
        let name = |c: usize| &self.columns[c].name;
        let place = self.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        if places.len() <= MOST {
            let one = |&c: &usize| format!("{place}column `{}`: {}", name(c), say(name(c), Some(c)));
            return places.iter().map(|c| Remark { weight, message: one(c) }).collect();
        }
        let shown: Vec<String> = places.iter().take(MOST).map(|&c| format!("`{}`", name(c))).collect();
        let rest = places.len() - MOST;
        let message = format!("{place}columns {} and {rest} more: {}", shown.join(", "), say("COLUMN", None));
        vec![Remark { weight, message }]
    }
}
