//! Which columns of the input are wanted, and as what. The plan is made once, from the options and
//! the first file; each file then has a layout of its own, since its columns may stand in another
//! order.

use std::collections::HashSet;
use std::ops::Range;

use deciban::data::{Column, Kind, Schema, Written};
use deciban::text::Tokens;
use deciban::{Error, Result};

use crate::cells::Missing;
use crate::infer::{Guess, Sample};
use crate::layout::Others;
use crate::names::{list, no_column, unknown};
use crate::number::Notation;
use crate::oddity::{OddSort, Oddity};
use crate::options::{Options, Target, Vocabulary};

/// A wanted column.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub name: String,
    /// Its place in the first file.
    pub position: usize,
    /// Whether cells become codes or words, not numbers.
    pub is_code: bool,
    /// Whether cells are handed through as they are written.
    pub is_kept: bool,
    /// What makes words of its cells, if they are texts.
    pub tokens: Option<Tokens>,
    /// What dates its cells seem to be.
    pub dates: Option<Dates>,
    /// Whether a model knows the column, so that flags may stand for numbers.
    pub is_known: bool,
    /// Why its cells must be numbers: ends the error of a cell that is none.
    pub why_number: String,
}

/// What dates a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dates {
    /// Year first: numbers, days since 1970-01-01; plain numbers may stand among them.
    Days,
    /// Year last: categories, since the day or the month may come first.
    Local,
}

impl Dates {
    fn of(guess: &Guess, kind: Kind) -> Option<Dates> {
        match (guess, kind) {
            (Guess::Date, Kind::Number | Kind::Count) => Some(Dates::Days),
            (Guess::LocalDate, Kind::Category) => Some(Dates::Local),
            _ => None,
        }
    }
}

/// The wanted columns: first the features, then the target's, then the weight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub features: Vec<Column>,
    pub slots: Vec<Slot>,
    /// The slot with the class.
    pub class: Option<usize>,
    /// The slots of one-hot columns; [`Parsed::finish`](crate::cells::Parsed::finish) puts the class behind the last slot.
    pub one_hot: Range<usize>,
    pub weight: Option<usize>,
    /// The slot with folds or groups.
    pub fold: Option<usize>,
    /// The slots of columns that are handed through; these may also stand in another slot.
    pub kept: Vec<usize>,
    /// Whether the file of each row is wanted.
    pub keep_file: bool,
    /// Whether classes may be unknown.
    pub unknown_classes: bool,
    pub missing: Missing,
    /// How numbers are written.
    pub notation: Notation,
    /// What is odd about the features.
    pub oddities: Vec<Oddity>,
    /// How the words of texts are numbered.
    pub vocabulary: Vocabulary,
    /// Whether text that is not UTF-8 may pass, since it is only looked at.
    pub lossy: bool,
    /// The columns of the first file.
    pub raw: Vec<String>,
    /// Whether columns have no names, only places.
    pub positional: bool,
    /// What becomes of columns that are not wanted.
    pub others: Others,
    /// Whether errors name rows, not lines: the rows do not come from a file.
    pub by_row: bool,
    /// Whether the input may lack features, whose cells are then missing.
    pub allow_absent: bool,
    /// How many rows of text are parsed at once at most, however short they are; any number by default.
    pub rows_at_once: Option<usize>,
}

impl Plan {
    /// The plan for input whose columns and kinds come from a sample.
    pub fn infer(sample: &Sample, options: &Options) -> Result<Plan> {
        let mut plan = Plan::start(sample, options)?;
        plan.others = if options.columns.is_some() { Others::Ignored } else { Others::Alike };
        // A target that is not there is the first thing to tell: often the header is none.
        let taken = taken(options);
        if let Some(name) = taken.iter().find(|name| sample.position(name).is_none()) {
            return Err(match Some(*name) {
                weight if weight == options.weight.as_deref() => unknown("weight", name, sample),
                fold if fold == options.fold.as_deref() => no_column("groups or folds", name, sample),
                _ => no_column("target", name, sample),
            });
        }
        for (name, kind) in &options.kinds {
            if sample.position(name).is_none() {
                return Err(unknown(kind.name(), name, sample));
            }
        }
        if let Some(name) = options.columns.iter().flatten().find(|name| taken.contains(&name.as_str())) {
            return Err(Error::parameter(
                "columns",
                format!("`{name}` is the target or the weight, and cannot be a feature too"),
            ));
        }
        let kept: Vec<String> = match &options.columns {
            Some(columns) => columns.clone(),
            None => sample.names.iter().filter(|name| !taken.contains(&name.as_str())).cloned().collect(),
        };
        let kept: Vec<String> = kept.into_iter().filter(|name| !options.ignore.contains(name)).collect();
        if kept.is_empty() {
            return Err(sample.refuse("no column is left to learn from: give fewer names to §ignore"));
        }
        if let Some(name) = kept.iter().map(String::as_str).chain(taken).find(|name| sample.repeated.contains(*name)) {
            return Err(sample.refuse(two_columns(name)));
        }
        for name in &kept {
            let position = sample.position(name).ok_or_else(|| unknown("columns", name, sample))?;
            let given = options.kinds.iter().rev().find(|(column, _)| column == name).map(|(_, kind)| *kind);
            let guess = &sample.guesses[position];
            let kind = match (given, guess) {
                (Some(Kind::Flag), _) => Kind::Category,
                (Some(kind), _) => kind,
                (None, Guess::Number | Guess::Date) => Kind::Number,
                (None, Guess::Category | Guess::LocalDate) => Kind::Category,
                (None, Guess::Text) => Kind::Text,
                (_, Guess::Unsupported(what)) => return Err(sample.unsupported(name, what)),
            };
            let why = match given {
                Some(kind) => format!(": §{} made this column a number column", kind.name()),
                None if sample.typed => String::new(),
                None => format!(
                    ": the first {} rows made this column a number column; give §category='{name}' if it is one",
                    sample.rows
                ),
            };
            plan.features.push(Column { name: name.clone(), kind, levels: Vec::new() });
            let slot = plan.add(name, position, matches!(kind, Kind::Category | Kind::Text), why);
            plan.slots[slot].dates = Dates::of(guess, kind).filter(|dates| given.is_none() || *dates == Dates::Days);
            if kind == Kind::Text {
                plan.slots[slot].tokens = Some(Tokens::new(&options.tokeniser)?);
            }
        }
        let is_feature = |name: &String| kept.contains(name) && !options.kinds.iter().any(|(column, _)| column == name);
        plan.oddities = sample.oddities.iter().filter(|oddity| is_feature(&oddity.column)).cloned().collect();
        plan.add_target_and_weight(sample, options)?;
        Ok(plan)
    }

    /// The plan for input that must have the columns of `schema`. Its features have no levels: there may be a
    /// million words, and few ask for them.
    pub fn of_schema(sample: &Sample, options: &Options, schema: &Schema) -> Result<Plan> {
        let mut plan = Plan::start(sample, options)?;
        plan.others = Others::Ignored;
        let positions = positions(sample, options, schema)?;
        for (column, position) in schema.columns().iter().zip(positions) {
            let guess = sample.guesses.get(position).unwrap_or(&Guess::Number);
            if let Guess::Unsupported(what) = guess {
                return Err(sample.unsupported(&column.name, what));
            }
            let is_code = !matches!(column.kind, Kind::Number | Kind::Count);
            let why = ": the model knows this column as numbers".into();
            let name = sample.names.get(position).unwrap_or(&column.name);
            let slot = plan.add(name, position, is_code, why);
            plan.slots[slot].is_known = true;
            // Where the first rows are not all numbers, dates may be, whatever else is among them.
            let may_be_days = column.is_numeric() && *guess != Guess::Number;
            let is_date = *schema.spelling().written(&column.name) == Written::Date;
            plan.slots[slot].dates = (is_date || may_be_days).then_some(Dates::Days);
            if column.kind == Kind::Text {
                plan.slots[slot].tokens = Some(Tokens::new(&options.tokeniser)?);
            }
        }
        let bare = |column: &Column| Column { name: column.name.clone(), kind: column.kind, levels: Vec::new() };
        plan.features = schema.columns().iter().map(bare).collect();
        let is_number = |name: &String| schema.columns().iter().any(|c| c.name == *name && c.is_numeric());
        let odd = |oddity: &&Oddity| oddity.sort == OddSort::TakenAsMissing && is_number(&oddity.column);
        plan.oddities = sample.oddities.iter().filter(odd).cloned().collect();
        plan.add_target_and_weight(sample, options)?;
        Ok(plan)
    }

    /// The plan that reads one column, which is of this kind.
    pub fn of_column(name: &str, kind: Kind, options: &Options) -> Result<Plan> {
        let vocabulary = options.vocabulary.clone();
        vocabulary.check()?;
        let (missing, notation) = (options.missing(), options.notation()?);
        let mut plan = Plan { missing, notation, vocabulary, ..Plan::default() };
        plan.add(name, 0, !matches!(kind, Kind::Number | Kind::Count), String::new());
        plan.slots[0].dates = Some(Dates::Days);
        plan.slots[0].is_known = true;
        if kind == Kind::Text {
            plan.slots[0].tokens = Some(Tokens::new(&options.tokeniser)?);
        }
        Ok(plan)
    }

    /// The plan that reads every column as levels.
    pub fn texts(names: &[String]) -> Plan {
        let mut plan = Plan { raw: names.to_vec(), positional: true, lossy: true, ..Plan::default() };
        for (position, name) in names.iter().enumerate() {
            plan.add(name, position, true, String::new());
        }
        plan
    }

    /// The plan that hands every column through as it is written.
    pub fn kept_texts(names: &[String]) -> Plan {
        let mut plan = Plan::texts(names);
        plan.slots.iter_mut().for_each(|slot| slot.is_kept = true);
        plan
    }

    /// The plan that reads the first column as classes.
    pub fn labels(sample: &Sample, options: &Options) -> Result<Plan> {
        let mut plan = Plan::start(sample, options)?;
        if let Guess::Unsupported(what) = &sample.guesses[0] {
            return Err(sample.unsupported(&sample.names[0], what));
        }
        plan.others = Others::Ignored;
        plan.unknown_classes = options.unknown_classes;
        plan.class = Some(plan.add(&sample.names[0], 0, true, String::new()));
        Ok(plan)
    }

    /// The plan without some of its features.
    pub fn leave_out(&mut self, features: &[usize]) {
        let moved = |slot: usize| slot - features.iter().filter(|gone| **gone < slot).count();
        (self.class, self.weight, self.fold) = (self.class.map(moved), self.weight.map(moved), self.fold.map(moved));
        self.one_hot = moved(self.one_hot.start)..moved(self.one_hot.end);
        self.kept.iter_mut().for_each(|slot| *slot = moved(*slot));
        let gone: Vec<String> = features.iter().map(|feature| self.features[*feature].name.clone()).collect();
        self.oddities.retain(|oddity| !gone.contains(&oddity.column));
        let mut slot = 0..;
        self.slots.retain(|_| slot.next().is_none_or(|slot| !features.contains(&slot)));
        let mut feature = 0..;
        self.features.retain(|_| feature.next().is_none_or(|feature| !features.contains(&feature)));
    }

    fn start(sample: &Sample, options: &Options) -> Result<Plan> {
        let (missing, notation) = (options.missing(), options.notation()?);
        let vocabulary = options.vocabulary.clone();
        vocabulary.check()?;
        let (raw, positional, allow_absent) = (sample.names.clone(), sample.positional, options.allow_absent);
        Ok(Plan { missing, notation, vocabulary, raw, positional, allow_absent, ..Plan::default() })
    }

    fn add(&mut self, name: &str, position: usize, is_code: bool, why_number: String) -> usize {
        let name = name.into();
        let (is_kept, is_known) = (false, false);
        self.slots.push(Slot { name, position, is_code, is_kept, tokens: None, dates: None, is_known, why_number });
        self.slots.len() - 1
    }

    fn add_target_and_weight(&mut self, sample: &Sample, options: &Options) -> Result<()> {
        let readable = |position: usize| match &sample.guesses[position] {
            Guess::Unsupported(what) => Err(sample.unsupported(&sample.names[position], what)),
            _ => Ok(position),
        };
        match &options.target {
            Target::None | Target::Labels(_) => {}
            Target::Column(name) => {
                let position = sample.position(name).ok_or_else(|| no_column("target", name, sample))?;
                self.class = Some(self.add(name, readable(position)?, true, String::new()));
            }
            Target::OneHot(names) => {
                if names.len() < 2 {
                    return Err(Error::parameter("one_hot_target", "give the columns of at least two classes"));
                }
                let first = self.slots.len();
                for name in names {
                    let position = sample.position(name).ok_or_else(|| no_column("target", name, sample))?;
                    self.add(name, readable(position)?, false, ": a one-hot column holds 0 and 1".into());
                }
                self.one_hot = first..self.slots.len();
            }
        }
        if let Some(name) = &options.weight {
            let position = sample.position(name).ok_or_else(|| unknown("weight", name, sample))?;
            self.weight = Some(self.add(name, readable(position)?, false, ": weights are numbers".into()));
        }
        if let Some(name) = &options.fold {
            let position = sample.position(name).ok_or_else(|| no_column("groups or folds", name, sample))?;
            self.fold = Some(self.add(name, readable(position)?, true, String::new()));
        }
        let mut seen = HashSet::new();
        if let Some(slot) = self.slots.iter().find(|slot| !seen.insert(slot.position)) {
            return Err(Error::Schema(format!("column `{}` cannot be read as two things at once", slot.name)));
        }
        for name in &options.keep {
            let position = sample.position(name).ok_or_else(|| unknown("keep", name, sample))?;
            let slot = self.add(name, readable(position)?, true, String::new());
            self.slots[slot].is_kept = true;
            self.kept.push(slot);
        }
        // Of equal names nobody knows which is meant.
        if let Some(slot) = self.slots.iter().find(|slot| !self.positional && sample.repeated.contains(&slot.name)) {
            return Err(sample.refuse(two_columns(&slot.name)));
        }
        (self.keep_file, self.unknown_classes) = (options.keep_file, options.unknown_classes);
        if !self.one_hot.is_empty() {
            self.class = Some(self.slots.len());
        }
        for name in &options.ignore {
            if sample.position(name).is_none() && self.others == Others::Alike {
                return Err(unknown("ignore", name, sample));
            }
        }
        Ok(())
    }
}

/// The error of a name that two columns have.
pub(crate) fn two_columns(name: &str) -> String {
    format!("two columns are named `{name}`: give each its own name, or §no_header")
}

/// The columns that are no features.
fn taken(options: &Options) -> Vec<&str> {
    let target: &[String] = match &options.target {
        Target::Column(name) => std::slice::from_ref(name),
        Target::OneHot(names) => names,
        Target::None | Target::Labels(_) => &[],
    };
    target.iter().chain(&options.weight).chain(&options.fold).map(String::as_str).collect()
}

/// The schema's columns in the sample: by name, or by place where columns have no names and the
/// generated ones do not fit. Those that may be absent have places behind all others.
fn positions(sample: &Sample, options: &Options, schema: &Schema) -> Result<Vec<usize>> {
    let found: Vec<Option<usize>> = schema.columns().iter().map(|column| sample.position(&column.name)).collect();
    if let Some(all) = found.iter().copied().collect::<Option<Vec<usize>>>() {
        return Ok(all);
    }
    if !sample.positional && options.allow_absent && found.iter().any(Option::is_some) {
        let is_known = |name: &&String| {
            let name = name.as_str();
            sample.position(name).is_none()
                || name == schema.target()
                || schema.columns().iter().any(|column| column.name == name)
                || taken(options).contains(&name)
        };
        if let Some(stranger) = sample.names.iter().find(|name| !is_known(name)) {
            let columns = schema.columns().iter();
            let absent: Vec<String> =
                columns.map(|c| c.name.clone()).filter(|name| sample.position(name).is_none()).collect();
            return Err(sample.refuse(format!(
                "the input has a column `{stranger}` that the model does not have, and lacks {}: correct the name, or \
                 leave the column out",
                list(&absent)
            )));
        }
        let mut free = sample.names.len()..;
        return Ok(found.into_iter().map(|place| place.or_else(|| free.next()).unwrap_or(usize::MAX)).collect());
    }
    if !sample.positional {
        let absent: Vec<String> =
            schema.columns().iter().map(|c| c.name.clone()).filter(|name| sample.position(name).is_none()).collect();
        let what = if absent.len() == 1 { "a column" } else { "columns" };
        let hint =
            if sample.header_looks_like_data() { "; the first line looks like data: give §no_header" } else { "" };
        return Err(
            sample.refuse(format!("the model needs {what} {} that the input does not have{hint}", list(&absent)))
        );
    }
    let taken = taken(options);
    let free: Vec<usize> = (0..sample.names.len())
        .filter(|i| !taken.contains(&sample.names[*i].as_str()) && !options.ignore.contains(&sample.names[*i]))
        .collect();
    if free.len() != schema.columns().len() {
        return Err(sample.refuse(format!(
            "the model has {} columns, the input {} besides the target: give §ignore for those that are too many",
            schema.columns().len(),
            free.len()
        )));
    }
    Ok(free)
}
