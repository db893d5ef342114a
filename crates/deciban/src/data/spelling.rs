//! How the cells of a table are written as text, so that new tables are read as the first one was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Column, Kind, level_key};

/// How cells are written: what marks a missing cell, how numbers, dates and flags look, and whether
/// the classes are one class against the rest. A model file keeps it.
///
/// ```
/// use deciban::data::{Spelling, Written};
/// let mut spelling = Spelling { decimal: ',', ..Spelling::default() };
/// spelling.columns.insert("born".into(), Written::Date);
/// assert!(spelling.missing.contains(&"NA".to_string()));
/// assert_eq!(spelling.written("born"), &Written::Date);
/// assert_eq!(spelling.written("height"), &Written::Plain);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spelling {
    /// Texts that stand for a missing cell.
    pub missing: Vec<String>,
    /// What separates the whole part of a number from its fraction.
    pub decimal: char,
    /// What groups the digits of large numbers; by default nothing does.
    pub thousands: Option<char>,
    /// How the cells of a column are written, by the column's name. Columns that are not here are
    /// [`Written::Plain`].
    pub columns: BTreeMap<String, Written>,
    /// The X of the two classes `not X` and `X`, if `not X` stands for every other class.
    pub versus_rest: Option<String>,
}

/// How the cells of one column are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Written {
    /// Numbers as digits, levels and texts as they are.
    #[default]
    Plain,
    /// Dates with the year first; the column holds days since 1970-01-01.
    Date,
    /// Dates with the year last, kept as levels because the day or the month may come first.
    LocalDate,
    /// Yes or no, by the names of the two levels. Other spellings of the same two values are known,
    /// too: `true`, `t`, `yes`, `y`, `on` in any case and `1` mean yes.
    Flag {
        /// The level that means yes.
        yes: String,
        /// The level that means no.
        no: String,
    },
}

/// What a column holds, as the user of a table sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownKind {
    /// Real numbers.
    Number,
    /// Numbers of occurrences.
    Count,
    /// Dates, which the model sees as days since 1970-01-01.
    Date,
    /// Levels.
    Category,
    /// Yes or no.
    Flag,
    /// Words.
    Text,
}

impl Spelling {
    /// What a column holds, as the user sees it.
    ///
    /// ```
    /// use deciban::data::{Column, ShownKind, Spelling, Written};
    /// let born = Column::number("born");
    /// let mut spelling = Spelling::default();
    /// assert_eq!(spelling.shown_kind(&born), ShownKind::Number);
    /// spelling.columns.insert("born".into(), Written::Date);
    /// assert_eq!(spelling.shown_kind(&born), ShownKind::Date);
    /// ```
    pub fn shown_kind(&self, column: &Column) -> ShownKind {
        match (column.kind, self.written(&column.name)) {
            (Kind::Number | Kind::Count, Written::Date) => ShownKind::Date,
            (Kind::Number, _) => ShownKind::Number,
            (Kind::Count, _) => ShownKind::Count,
            (Kind::Flag, _) | (Kind::Category, Written::Flag { .. }) => ShownKind::Flag,
            (Kind::Category, _) => ShownKind::Category,
            (Kind::Text, _) => ShownKind::Text,
        }
    }

    /// The texts that mark a missing cell by default: those of UCI, pandas, R and JSON.
    pub const MISSING: [&str; 9] = ["", "?", "NA", "N/A", "nan", "NaN", "null", "NULL", "None"];

    /// How the cells of a column are written.
    pub fn written(&self, column: &str) -> &Written {
        self.columns.get(column).unwrap_or(&Written::Plain)
    }

    /// The spelling of files of layout 1, which do not state it. There, two classes `not X` and `X`
    /// always meant one class against the rest.
    pub(super) fn of_layout_1(classes: &[String]) -> Self {
        const MISSING: [&str; 9] = ["", "?", "NA", "N/A", "nan", "NaN", "null", "NULL", "None"];
        let versus_rest = match classes {
            [rest, class] if rest.strip_prefix("not ") == Some(class) => Some(class.clone()),
            _ => None,
        };
        Spelling { missing: MISSING.map(String::from).to_vec(), versus_rest, ..Spelling::default() }
    }
}

impl Default for Spelling {
    fn default() -> Self {
        Spelling {
            missing: Spelling::MISSING.map(String::from).to_vec(),
            decimal: '.',
            thousands: None,
            columns: BTreeMap::new(),
            versus_rest: None,
        }
    }
}

/// Words for yes and no, in any case.
const WORDS: [(&str, &str); 6] = [("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("on", "off"), ("1", "0")];

impl Written {
    /// The flag whose levels these are: each of them is `true` or `false` in lower case, upper case or with a
    /// capital, or they are two words for yes and no, such as `yes` and `no`, `T` and `F`, `1` and `0`.
    ///
    /// ```
    /// use deciban::data::Written;
    /// let flag = Written::Flag { yes: "True".into(), no: "False".into() };
    /// assert_eq!(Written::flag(&["False".into(), "True".into()]), Some(flag.clone()));
    /// assert_eq!(Written::flag(&["True".into()]), Some(flag));
    /// let flag = Written::Flag { yes: "Y".into(), no: "N".into() };
    /// assert_eq!(Written::flag(&["N".into(), "Y".into()]), Some(flag));
    /// assert_eq!(Written::flag(&["True".into(), "maybe".into()]), None);
    /// ```
    pub fn flag(levels: &[String]) -> Option<Self> {
        if let [a, b] = levels {
            let is = |a: &str, b: &str| {
                WORDS.iter().any(|(yes, no)| a.eq_ignore_ascii_case(yes) && b.eq_ignore_ascii_case(no))
            };
            match (is(a, b), is(b, a)) {
                (true, _) => return Some(Written::Flag { yes: a.clone(), no: b.clone() }),
                (_, true) => return Some(Written::Flag { yes: b.clone(), no: a.clone() }),
                _ => {}
            }
        }
        const PAIRS: [(&str, &str); 3] = [("true", "false"), ("True", "False"), ("TRUE", "FALSE")];
        let pair = |level: &String| PAIRS.iter().find(|(yes, no)| level == yes || level == no);
        let pairs: Vec<_> = levels.iter().map(pair).collect::<Option<_>>()?;
        // Of levels that are spelled in several ways, the first counts.
        let first = |of: fn(&(&'static str, &'static str)) -> &'static str| {
            let own = levels.iter().zip(&pairs).find(|(level, pair)| *level == of(pair));
            own.map(|(_, pair)| of(pair)).or(pairs.first().map(|pair| of(pair))).map(String::from)
        };
        Some(Written::Flag { yes: first(|pair| pair.0)?, no: first(|pair| pair.1)? })
    }

    /// The level of a flag that a text means, however it is spelled; `None` if the column is not a flag
    /// or the text means neither.
    ///
    /// ```
    /// use deciban::data::Written;
    /// let flag = Written::Flag { yes: "True".into(), no: "False".into() };
    /// assert_eq!(flag.level_of("1.0"), Some("True"));
    /// assert_eq!(flag.level_of("yes"), Some("True"));
    /// assert_eq!(flag.level_of("FALSE"), Some("False"));
    /// assert_eq!(flag.level_of("2"), None);
    /// ```
    pub fn level_of(&self, text: &str) -> Option<&str> {
        let Written::Flag { yes, no } = self else { return None };
        let key = level_key(text.as_bytes());
        let is = |word: &str| key.eq_ignore_ascii_case(word.as_bytes());
        let means = |(y, n): &(&str, &str)| if is(y) { Some(yes.as_str()) } else { is(n).then_some(no.as_str()) };
        WORDS.iter().find_map(means)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;

    #[test]
    fn files_without_a_spelling_have_that_of_layout_1() {
        let old = |classes: &str| {
            let json = format!(r#"{{"columns":[],"target":"t","classes":{classes}}}"#);
            serde_json::from_str::<Schema>(&json).unwrap()
        };
        let spam = old(r#"["not spam","spam"]"#);
        assert_eq!(spam.spelling().versus_rest.as_deref(), Some("spam"));
        assert_eq!(old(r#"["ham","spam"]"#).spelling().versus_rest, None);
        assert_eq!(spam.spelling().missing.len(), 9);
        // Written again, the file states it.
        let again: Schema = serde_json::from_str(&serde_json::to_string(&spam).unwrap()).unwrap();
        assert_eq!(again, spam);
        let real = Schema::numbers(&["x"], "t", &["not spam", "spam"]).unwrap();
        let again: Schema = serde_json::from_str(&serde_json::to_string(&real).unwrap()).unwrap();
        assert_eq!(again.spelling().versus_rest, None);
    }

    #[test]
    fn flags_are_found_by_their_levels() {
        let flag = |levels: &[&str]| Written::flag(&levels.iter().map(|l| l.to_string()).collect::<Vec<_>>());
        let of = |yes: &str, no: &str| Some(Written::Flag { yes: yes.into(), no: no.into() });
        assert_eq!(flag(&["FALSE"]), of("TRUE", "FALSE"));
        assert_eq!(flag(&["true", "True", "FALSE"]), of("true", "FALSE"));
        assert_eq!((flag(&[]), flag(&["true", "1"]), flag(&["yes"])), (None, None, None));
    }

    #[test]
    fn a_spelling_is_stored_with_all_it_holds() {
        let mut spelling = Spelling { decimal: ',', thousands: Some('.'), ..Spelling::default() };
        spelling.columns.insert("a".into(), Written::Date);
        spelling.columns.insert("b".into(), Written::flag(&["TRUE".into()]).unwrap());
        spelling.versus_rest = Some("x".into());
        spelling.missing = vec!["-".into()];
        let text = serde_json::to_string(&spelling).unwrap();
        assert_eq!(serde_json::from_str::<Spelling>(&text).unwrap(), spelling, "{text}");
        assert_eq!(serde_json::from_str::<Spelling>("{}").unwrap(), Spelling::default());
    }
}
