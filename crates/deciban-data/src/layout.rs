//! Where the columns of the plan stand in one file: by name, since files may have them in another
//! order, or by place where they have no names.

use std::collections::{HashMap, HashSet};

use deciban::{Error, Result};

use crate::names::list;
use crate::plan::{Plan, two_columns};

/// Where the slots' columns stand in one file.
#[derive(Debug)]
pub(crate) struct Layout {
    pub file: String,
    pub names: Vec<String>,
    /// The slot of each column of the file.
    pub slots: Vec<Option<usize>>,
    /// Columns that go to a second slot, since they are handed through besides: their places and slots.
    pub also: Vec<(usize, usize)>,
    /// The same by name, for formats whose rows name their columns.
    pub by_name: HashMap<String, Option<usize>>,
    /// Second slots by name.
    pub also_by_name: HashMap<String, usize>,
    /// What becomes of a name that is not in `by_name`.
    pub others: Others,
    /// Whether errors name rows, not lines: the rows do not come from a file.
    pub by_row: bool,
    /// What the number of fields is compared with: `header` or `first row`.
    pub counted: &'static str,
}

/// What becomes of columns that nothing asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Others {
    /// All files must have the columns of the first.
    #[default]
    Alike,
    /// They are left out.
    Ignored,
    /// They are errors: where an absent key is a missing cell, a misspelled one would be lost silently.
    Refused,
}

impl Layout {
    /// The error of a row, counted from 0, which stands in this line; or of the whole input.
    pub fn refuse(&self, place: Option<(u64, u64)>, column: Option<&str>, message: String) -> Error {
        if !self.by_row {
            let (line, column) = (place.map(|(_, line)| line), column.map(String::from));
            return Error::Input { file: self.file.clone(), line, column, message };
        }
        match (place, column) {
            (Some((row, _)), Some(column)) => Error::Cell { column: column.into(), row: row + 1, message },
            (Some((row, _)), None) => Error::Row { row: row + 1, message },
            (None, Some(column)) => Error::Schema(format!("column `{column}`: {message}")),
            (None, None) => Error::Schema(message),
        }
    }
}

impl Plan {
    /// Where the wanted columns stand in a file with these columns; the class is wanted if its rows are labelled.
    pub fn layout(&self, file: &str, names: &[String], counted: &'static str, labelled: bool) -> Result<Layout> {
        let refuse = |message| Error::Input { file: file.into(), line: None, column: None, message };
        let mut slots = vec![None; names.len()];
        if self.positional && names.len() != self.raw.len() {
            let message = format!("the file has {} columns, the first file has {}", names.len(), self.raw.len());
            return Err(refuse(message));
        }
        let places: HashMap<&String, usize> = names.iter().enumerate().rev().map(|(i, name)| (name, i)).collect();
        let by_name = self.layout_by_name(file, labelled);
        let is_class = |i: usize| !labelled && self.class == Some(i);
        let mut also = Vec::new();
        for (i, slot) in self.slots.iter().enumerate().filter(|(i, _)| !is_class(*i)) {
            let position = match self.positional {
                true => Some(slot.position),
                false => places.get(&slot.name).copied(),
            };
            if position.is_none() && self.allow_absent && i < self.features.len() {
                continue;
            }
            let position = position.ok_or_else(|| {
                refuse(format!(
                    "there is no column `{}`, which the first file has; the columns are {}",
                    slot.name,
                    list(names)
                ))
            })?;
            match slots[position] {
                Some(_) => also.push((position, i)),
                None => slots[position] = Some(i),
            }
        }
        let mut seen = HashSet::new();
        let wanted = names.iter().zip(&slots).filter(|(_, slot)| slot.is_some()).map(|(name, _)| name);
        let wanted: HashSet<&String> = wanted.collect();
        if !self.positional
            && let Some(name) = names.iter().find(|name| wanted.contains(name) && !seen.insert(*name))
        {
            return Err(refuse(two_columns(name)));
        }
        if !self.positional && self.others == Others::Alike {
            if let Some(name) = names.iter().find(|name| !by_name.by_name.contains_key(*name)) {
                return Err(refuse(format!(
                    "the first file has no column `{name}`: all files must have the same columns"
                )));
            }
            let class = self.class.filter(|_| !labelled).and_then(|slot| self.slots.get(slot)).map(|slot| &slot.name);
            if let Some(name) = self.raw.iter().find(|name| !places.contains_key(name) && Some(*name) != class) {
                return Err(refuse(format!(
                    "there is no column `{name}`, which the first file has: all files must have the same columns"
                )));
            }
        }
        Ok(Layout { slots, also, names: names.to_vec(), counted, ..by_name })
    }

    /// The layout of a format whose rows name their columns.
    pub fn layout_by_name(&self, file: &str, labelled: bool) -> Layout {
        let mut by_name: HashMap<String, Option<usize>> = self.raw.iter().map(|name| (name.clone(), None)).collect();
        let mut also_by_name = HashMap::new();
        let is_class = |i: usize| !labelled && self.class == Some(i);
        for (i, slot) in self.slots.iter().enumerate().filter(|(i, _)| !is_class(*i)) {
            match by_name.get(&slot.name) {
                Some(Some(_)) => also_by_name.insert(slot.name.clone(), i).map(Some),
                _ => by_name.insert(slot.name.clone(), Some(i)),
            };
        }
        let (names, slots, also) = (Vec::new(), Vec::new(), Vec::new());
        let (others, by_row) = (self.others, self.by_row);
        Layout { file: file.into(), names, slots, also, by_name, also_by_name, others, by_row, counted: "header" }
    }
}
