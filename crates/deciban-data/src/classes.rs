//! Names of classes and levels to codes, for the whole input. Done in order of the rows, once per
//! level of each block, so that codes follow the first appearance in the input.

use std::collections::HashMap;
use std::sync::Arc;

use deciban::data::{MISSING, UNSEEN, Written, level_key, spelled_key};
use deciban::text::Word;
use deciban::{Error, Result};

use crate::cells::Missing;
use crate::dictionary::Dictionary;
use crate::names::list;

/// A category may have this many levels; more of them are identifiers, or numbers in disguise.
const MOST: usize = 1 << 18;

/// How many other classes an error lists.
const SHOWN: usize = 8;

/// The levels of a column, or the classes.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// Shared by copies, until one of them finds a new name.
    names: Arc<Dictionary>,
    /// The codes of levels that may be written in several ways, by the form in which they are compared. Words
    /// are looked up in `names` alone.
    spelled: Arc<HashMap<Vec<u8>, u32>>,
    /// There may be this many.
    most: usize,
    /// Whether new names are strangers.
    fixed: bool,
    /// Makes `not X` and `X` of all names.
    versus: Option<Versus>,
    /// If the names are those of a flag, it is known by other spellings, too.
    flag: Option<Written>,
}

#[derive(Clone, Debug)]
struct Versus {
    name: String,
    code: u32,
    seen: bool,
    /// Some of the other classes, for the error if the one is never seen.
    others: Vec<String>,
}

/// Why a block's level has no code.
#[derive(Debug, PartialEq)]
pub(crate) enum Stranger {
    /// The names are fixed, and this is not among them.
    Unknown(String),
    /// There are too many.
    TooMany,
}

impl Levels {
    /// Levels that are found on the way.
    pub fn open() -> Self {
        Levels { names: Arc::default(), spelled: Arc::default(), most: MOST, fixed: false, versus: None, flag: None }
    }

    /// Words that are found on the way, `most` of them.
    pub fn of_words(most: usize) -> Self {
        Levels { most, ..Levels::open() }
    }

    /// Levels that are known beforehand.
    pub fn fixed(names: &[String]) -> Self {
        let (spelled, flag) = (spelled(names).into(), Written::flag(names));
        Levels { names: Dictionary::of(names).into(), spelled, most: usize::MAX, fixed: true, versus: None, flag }
    }

    /// Levels of which some are known beforehand, and others are found on the way.
    pub fn growing(names: &[String], words: Option<usize>) -> Self {
        Levels { most: words.unwrap_or(MOST), fixed: false, ..Levels::fixed(names) }
    }

    /// The two classes `not X` and `X`.
    pub fn versus_rest(name: &str) -> Self {
        Levels::versus_rest_in(name, &[format!("not {name}"), name.to_string()])
    }

    /// The two classes `not X` and `X`, in the order of `classes`.
    pub fn versus_rest_in(name: &str, classes: &[String]) -> Self {
        let code = classes.iter().position(|class| class == name).unwrap_or(1) as u32;
        let versus = Versus { name: name.into(), code, seen: false, others: Vec::new() };
        Levels { versus: Some(versus), flag: None, ..Levels::fixed(classes) }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether new names are strangers.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The names as words, to look up many at once.
    pub fn words(&self) -> &Dictionary {
        &self.names
    }

    /// The codes of a block's new words, whose dictionary is used up; `None` if there are too many.
    pub fn add(&mut self, words: Dictionary) -> Option<Vec<u32>> {
        let codes = match self.names.len() {
            // The first block has the first words, in their order.
            0 if words.len() > 0 => {
                let codes = (0..words.len() as u32).collect();
                self.names = Arc::new(words);
                codes
            }
            _ => words.iter().map(|text| Arc::make_mut(&mut self.names).code(Word::of(text))).collect(),
        };
        (self.names.len() <= self.most).then_some(codes)
    }

    pub fn names(&self) -> Vec<String> {
        self.names.names()
    }

    /// The same names, with codes in this order.
    pub fn reorder(&mut self, names: &[String]) {
        self.names = Dictionary::of(names).into();
        self.spelled = spelled(names).into();
    }

    /// Refuses a comparison with a class that no row had.
    pub fn check_seen(&self) -> Result<()> {
        match &self.versus {
            Some(Versus { name, seen: false, others, .. }) => {
                Err(Error::Classes(format!("no row has the class `{name}`: the rows' classes are {}", list(others))))
            }
            _ => Ok(()),
        }
    }

    /// The codes of a block's own levels; [`MISSING`] for markers of missing cells, [`UNSEEN`] for
    /// strangers. The first of them comes with the block's own code.
    pub fn map(&mut self, levels: &Dictionary, missing: &Missing) -> (Vec<u32>, Option<(u32, Stranger)>) {
        let mut stranger = None;
        let codes = levels.iter().zip(0u32..).map(|(text, local)| {
            if missing.has(text) {
                return MISSING;
            }
            self.code(text).unwrap_or_else(|e| {
                stranger.get_or_insert((local, e));
                UNSEEN
            })
        });
        (codes.collect(), stranger)
    }

    fn code(&mut self, text: &[u8]) -> Result<u32, Stranger> {
        if let Some(versus) = &mut self.versus {
            let is = level_key(text) == level_key(versus.name.as_bytes());
            versus.seen |= is;
            if !is && versus.others.len() < SHOWN && !versus.others.iter().any(|other| other.as_bytes() == text) {
                versus.others.push(String::from_utf8_lossy(text).into_owned());
            }
            return Ok(if is { versus.code } else { 1 - versus.code });
        }
        // A level of exactly this spelling comes first: old models may have two of one number.
        if let Some(code) = self.names.find(Word::of(text)) {
            return Ok(code);
        }
        let key = spelled_key(text);
        if let Some(code) = key.as_ref().and_then(|key| self.spelled.get(&**key)) {
            return Ok(*code);
        }
        let flag = || self.flag.as_ref()?.level_of(std::str::from_utf8(text).ok()?);
        if let Some(code) = flag().and_then(|level| self.names.find(Word::of(level.as_bytes()))) {
            return Ok(code);
        }
        if self.fixed {
            return Err(Stranger::Unknown(String::from_utf8_lossy(text).into_owned()));
        }
        let code = Arc::make_mut(&mut self.names).code(Word::of(text));
        if let Some(key) = key {
            Arc::make_mut(&mut self.spelled).insert(key.into_owned(), code);
        }
        if self.names.len() > self.most { Err(Stranger::TooMany) } else { Ok(code) }
    }
}

/// The codes of those levels that may be written in several ways.
fn spelled(names: &[String]) -> HashMap<Vec<u8>, u32> {
    let mut codes = HashMap::new();
    for (name, code) in names.iter().zip(0..) {
        if let Some(key) = spelled_key(name.as_bytes()) {
            codes.entry(key.into_owned()).or_insert(code);
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_one_level_named_by_its_first_spelling() {
        let missing = Missing::new(&[]);
        let mut open = Levels::open();
        let block = Dictionary::of(&["4.0", "04", "4", "true", "4e0", "5", "TRUE"]);
        assert_eq!(open.map(&block, &missing), (vec![0, 1, 0, 2, 0, 3, 2], None));
        assert_eq!(open.names(), ["4.0", "04", "true", "5"]);
        let (codes, _) = Levels::fixed(&["5".into(), "4".into(), "4.0".into()]).map(&block, &missing);
        assert_eq!(codes, [2, UNSEEN, 1, UNSEEN, 1, 0, UNSEEN]);
        let mut versus = Levels::versus_rest("4");
        assert_eq!(versus.map(&block, &missing).0, [1, 0, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn levels_grow_stay_or_fall_in_two() {
        let block = Dictionary::of(&["b", "?", "a"]);
        let missing = Missing::new(&["?".into()]);
        assert_eq!(Levels::open().map(&block, &missing), (vec![0, MISSING, 1], None));
        let (codes, stranger) = Levels::fixed(&["a".into()]).map(&block, &missing);
        assert_eq!((codes, stranger), (vec![UNSEEN, MISSING, 0], Some((0, Stranger::Unknown("b".into())))));
        let mut versus = Levels::versus_rest("a");
        assert_eq!(versus.map(&block, &missing), (vec![0, MISSING, 1], None));
        assert_eq!(versus.names(), ["not a", "a"]);
        assert!(versus.check_seen().is_ok());
        let mut turned = Levels::versus_rest_in("a", &["a".into(), "not a".into()]);
        assert_eq!(turned.map(&block, &missing), (vec![1, MISSING, 0], None));
        let mut versus = Levels::versus_rest("c");
        versus.map(&block, &missing);
        let message = versus.check_seen().unwrap_err().to_string();
        let flags = Dictionary::of(&["TRUE", "0", "true", "1", "2", "false"]);
        let (codes, _) = Levels::fixed(&["True".into(), "False".into()]).map(&flags, &missing);
        assert_eq!(codes, [0, 1, 0, 0, UNSEEN, 1]);
        assert_eq!(message, "no row has the class `c`: the rows' classes are `b`, `a`");
    }
}
