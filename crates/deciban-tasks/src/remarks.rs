//! What a person should know about the columns before trusting a fit.
//!
//! A note reports a choice that was made, a warning a column that is likely to mislead; both name the option that
//! changes it. Those about columns come from the first rows, before anything is learned; those about classes and levels
//! from what was learned.

use deciban::data::{Column, Identity, Kind, Profile, Schema};
use deciban::posterior::Prior;
use deciban::select::Copies;
use deciban::{Error, Result, Wording, shown};
use deciban_data::{Dates, OddSort, Oddity};
use serde::Serialize;

use crate::input::Input;

/// More columns than these share one line.
const MOST: usize = 3;

/// Fewer cells than these say nothing about what a column is.
const FEWEST: usize = 50;

/// A category of more levels than these has few rows of each.
const MOST_LEVELS: usize = 1000;

/// A target of more numbers than these, each of few rows, is a quantity.
const MOST_NUMBERS: usize = 30;
const FEW_ROWS: f64 = 20.0;

/// One of two classes that has a smaller share is seldom decided for where all mistakes cost the same.
const RARE: f64 = 0.01;

/// This is what a column shows that is an identifier.
const IDENTIFIER: &str = "nearly all values differ, as in an identifier, which says nothing of new rows";

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
    /// The columns that decide the class alone.
    deciding: Vec<usize>,
    /// One for each column, or none.
    pub profiles: Vec<Profile>,
    /// The columns that were left out before the look, by the places that they had.
    pub left_out: Vec<usize>,
}

impl Look {
    /// A look at the first rows.
    pub fn new(input: &dyn Input) -> Result<Self> {
        let columns = input.columns()?;
        let mut dates = input.dates();
        dates.resize(columns.len(), None);
        let (oddities, deciding, profiles) = (input.oddities(), input.deciding()?, input.profiles()?);
        let (place, left_out) = (input.place(), Vec::new());
        Ok(Look { place, columns, dates, oddities, deciding, profiles, left_out })
    }

    /// A look at the first rows, after empty columns and columns that look like identifiers were left out, with remarks
    /// about these. A column stays if somebody has asked for it, and all stay if no other column would be left.
    pub fn without_useless(input: &mut dyn Input) -> Result<(Self, Vec<Remark>)> {
        let look = Look::new(input)?;
        let (mut identifiers, mut empty) = (look.identifiers(), look.empty());
        identifiers.retain(|&column| input.came_along(column));
        empty.retain(|&column| input.came_along(column));
        let gone: Vec<usize> = empty.iter().chain(&identifiers).copied().collect();
        if gone.is_empty() || gone.len() == look.columns.len() {
            return Ok((look, Vec::new()));
        }
        let mut told = look.grouped(Weight::Warning, &empty, &|_, _| "all cells are missing, so it is left out".into());
        told.extend(look.grouped(Weight::Warning, &identifiers, &|names, c| {
            let kind = c.map_or(Kind::Category, |c| look.columns[c].kind).name();
            format!("{IDENTIFIER}: it is left out; §{kind}='{names}' keeps it")
        }));
        input.leave_out(&gone)?;
        Ok((Look { left_out: gone, ..Look::new(input)? }, told))
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
        tell(Weight::Warning, self.empty(), &|names, _| {
            format!("all cells are missing, which says nothing: give §ignore='{names}'")
        });
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
        tell(Weight::Warning, self.identifiers(), &|names, _| format!("{IDENTIFIER}: give §ignore='{names}'"));
        // The only column is what the model is to learn from.
        let deciding = if self.columns.len() > 1 { self.deciding.clone() } else { Vec::new() };
        tell(Weight::Warning, deciding, &|names, _| {
            let what = "decides the class alone, so it may be something that is known only after the class";
            format!("{what}: if new rows will lack it, give §ignore='{names}'")
        });
        tell(Weight::Warning, self.units(), &|names, c| {
            let example = c.and_then(|c| profile(c).frequent.first()).map_or(String::new(), |(level, _)| {
                let shown: String = level.chars().filter(|c| *c != '\'').take(40).collect();
                format!(", as `{shown}`")
            });
            let what = "numbers with a unit or a sign";
            format!("{what}{example}, are read as levels: write the number alone, or give §category='{names}'")
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

    /// Columns whose cells are all missing.
    fn empty(&self) -> Vec<usize> {
        self.which(|p| p.cells == 0 && p.rows > 1 && !p.is_partial)
    }

    /// Categories in which nearly every cell is a level of its own, and whole numbers that count the rows. Prices such as
    /// `$1,148` may all differ, too, and are not among them.
    fn identifiers(&self) -> Vec<usize> {
        let of_levels = |p: &Profile| p.cells >= FEWEST && 20 * p.distinct >= 19 * p.cells;
        let counts = |p: &Profile| {
            let consecutive = p.greatest - p.least + 1.0 == p.cells as f64;
            p.cells >= FEWEST && p.is_whole && p.distinct == p.cells && (consecutive || p.ascends)
        };
        let mut found = self.which(of_levels);
        found.retain(|&c| self.columns[c].kind == Kind::Category || counts(&self.profiles[c]));
        let units = self.units();
        found.retain(|c| self.dates[*c].is_none() && !units.contains(c));
        found
    }

    /// Categories whose levels are numbers, all with the same signs before and behind.
    fn units(&self) -> Vec<usize> {
        let mut found = self.which(|p| {
            let mut units = p.frequent.iter().map(|(level, _)| unit(level));
            let first = units.next().flatten();
            p.distinct >= 10 && first.is_some() && units.all(|unit| unit == first)
        });
        found.retain(|&c| self.columns[c].kind == Kind::Category && self.dates[c].is_none());
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

/// What stands before and behind the number in a text such as `$1,148` or `148 mg/dl`, if it is one: a sign of a currency
/// before, or a word behind a blank, or a percent sign.
fn unit(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let number = text.trim_start_matches(['$', '€', '£', '¥']);
    let before = &text[..text.len() - number.len()];
    let number = number.trim_start();
    let end = number.find(|c: char| !c.is_ascii_digit() && !"+-.,".contains(c)).unwrap_or(number.len());
    let (digits, behind) = number.split_at(end);
    let is_unit = match behind {
        "" => !before.is_empty(),
        "%" | "€" | "£" | "¥" => true,
        _ => behind.starts_with(char::is_whitespace) && !behind.contains(|c: char| c.is_ascii_digit()),
    };
    let is_number = digits.replace(',', "").parse::<f64>().is_ok();
    (is_unit && is_number).then_some((before, behind.trim()))
}

/// Remarks about the classes and levels that were found.
pub fn of_schema(schema: &Schema, rows: f64) -> Vec<Remark> {
    let mut told = Vec::new();
    let classes = schema.classes();
    let mut folded: Vec<(String, &String)> = classes.iter().map(|class| (class.trim().to_lowercase(), class)).collect();
    folded.sort();
    if let Some(alike) = folded.chunk_by(|a, b| a.0 == b.0).find(|run| run.len() > 1) {
        let names: Vec<String> = alike.iter().map(|(_, class)| format!("`{class}`")).collect();
        told.push(Remark::warning(format!(
            "the classes {} differ only in upper and lower case: if they are one class, write them alike",
            names.join(" and ")
        )));
    }
    let numbers: Vec<f64> = classes.iter().filter_map(|class| class.parse().ok()).collect();
    if numbers.len() == classes.len() && classes.len() > MOST_NUMBERS && rows < FEW_ROWS * classes.len() as f64 {
        told.push(Remark::warning(format!(
            "the target `{}` has {} different numbers, and each is a class of its own: if it is a quantity, make a column of \
             a few classes of it, such as low and high",
            schema.target(),
            classes.len()
        )));
    }
    let is_wide = |column: &&Column| column.kind == Kind::Category && column.levels.len() > MOST_LEVELS;
    told.extend(schema.columns().iter().filter(is_wide).map(|column| {
        let (name, levels) = (&column.name, column.levels.len());
        Remark::warning(format!(
            "column `{name}`: {levels} levels, most of few rows each, which say little of new rows: join them to fewer, or \
             give §ignore='{name}'"
        ))
    }));
    told
}

/// A remark about a rare class, if there is one.
pub fn of_shares(schema: &Schema, shares: &Prior) -> Option<Remark> {
    let ([_, _], [a, b]) = (schema.classes(), shares.probabilities()) else { return None };
    let (rare, share) = if a < b { (0, *a) } else { (1, *b) };
    (share > 0.0 && share < RARE).then(|| {
        Remark::note(format!(
            "class `{}` has {:.2} % of the rows: where every mistake costs the same, hardly a row is decided for it. With \
             §costs, `predict` and `evaluate` decide by what a mistake costs",
            schema.classes()[rare],
            100.0 * share
        ))
    })
}

/// Keeps equal rows in one fold from now on, if many of the `rows` are copies of others, and returns a remark about it.
pub fn keep_copies_together(input: &mut dyn Input, rows: f64) -> Result<Option<Remark>> {
    if input.identity() != Identity::Place || !input.has_order() {
        return Ok(None);
    }
    let found = Copies::among(input, rows)?;
    if !found.are_many() {
        return Ok(None);
    }
    input.tell_apart(Identity::Contents);
    Ok(Some(Remark::warning(format!(
        "at least {:.0} % of the rows are copies of others: equal rows are kept in one fold, as with §equal_together, since a model \
         that has learned from a row knows its copies",
        100.0 * found.share()
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_sign_of_a_currency_or_a_word_behind_a_blank() {
        for (text, expected) in [
            ("148 mg/dl", Some(("", "mg/dl"))),
            ("$1,148", Some(("$", ""))),
            ("€ -3.5", Some(("€", ""))),
            ("61%", Some(("", "%"))),
            ("7.5 %", Some(("", "%"))),
            ("148", None),
            ("A11", None),
            ("11th", None),
            ("3 of 4", None),
            ("$", None),
            (", mg", None),
            ("é", None),
        ] {
            assert_eq!(unit(text), expected, "{text}");
        }
    }

    #[test]
    fn shares_and_names_of_classes_are_looked_at() {
        let classes = |names: &[&str]| {
            Schema::new(vec![Column::number("x")], "y", names.iter().map(ToString::to_string).collect()).unwrap()
        };
        let told = of_schema(&classes(&["Yes", "no", "yes"]), 1e3);
        assert_eq!(told.len(), 1);
        assert!(told[0].message.contains("the classes `Yes` and `yes` differ only in upper and lower case"));
        let numbers: Vec<String> = (0..197).map(|i| i.to_string()).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        assert!(of_schema(&classes(&numbers), 400.0)[0].message.contains("197 different numbers"));
        assert!(of_schema(&classes(&numbers), 1e5).is_empty());
        let two = classes(&["no", "yes"]);
        let note = of_shares(&two, &Prior::new(&[0.995, 0.005]).unwrap()).unwrap();
        assert!(note.message.starts_with("class `yes` has 0.50 % of the rows"), "{}", note.message);
        assert_eq!(of_shares(&two, &Prior::new(&[0.98, 0.02]).unwrap()), None);
    }
}
