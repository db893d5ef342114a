//! Where the columns of the plan stand in one file: by name, since files may have them in another
//! order, or by place where they have no names.

use std::collections::HashMap;

use deciban::{Error, Result};

use crate::names::list;
use crate::plan::Plan;

/// Where the slots' columns stand in one file.
#[derive(Debug)]
pub(crate) struct Layout {
    pub file: String,
    pub names: Vec<String>,
    /// The slot of each column of the file.
    pub slots: Vec<Option<usize>>,
    /// The same by name, for formats whose rows name their columns.
    pub by_name: HashMap<String, Option<usize>>,
    /// Whether a name that is not in `by_name` may be left out.
    pub lenient: bool,
    /// What the number of fields is compared with: `header` or `first row`.
    pub counted: &'static str,
}

impl Plan {
    /// Where the wanted columns stand in a file with these columns.
    pub fn layout(&self, file: &str, names: &[String], counted: &'static str) -> Result<Layout> {
        let refuse = |message| Error::Input { file: file.into(), line: None, column: None, message };
        let mut slots = vec![None; names.len()];
        if self.positional && names.len() != self.raw.len() {
            let message = format!("the file has {} columns, the first file has {}", names.len(), self.raw.len());
            return Err(refuse(message));
        }
        let places: HashMap<&String, usize> = names.iter().enumerate().rev().map(|(i, name)| (name, i)).collect();
        let by_name = self.layout_by_name(file);
        for (i, slot) in self.slots.iter().enumerate() {
            let position = match self.positional {
                true => Some(slot.position),
                false => places.get(&slot.name).copied(),
            };
            let position = position.ok_or_else(|| {
                refuse(format!(
                    "there is no column `{}`, which the first file has; the columns are {}",
                    slot.name,
                    list(names)
                ))
            })?;
            slots[position] = Some(i);
        }
        if !self.positional && !self.lenient {
            if let Some(name) = names.iter().find(|name| !by_name.by_name.contains_key(*name)) {
                return Err(refuse(format!(
                    "the first file has no column `{name}`: all files must have the same columns"
                )));
            }
            if let Some(name) = self.raw.iter().find(|name| !places.contains_key(name)) {
                return Err(refuse(format!(
                    "there is no column `{name}`, which the first file has: all files must have the same columns"
                )));
            }
        }
        Ok(Layout { slots, names: names.to_vec(), counted, ..by_name })
    }

    /// The layout of a format whose rows name their columns.
    pub fn layout_by_name(&self, file: &str) -> Layout {
        let mut by_name: HashMap<String, Option<usize>> = self.raw.iter().map(|name| (name.clone(), None)).collect();
        by_name.extend(self.slots.iter().enumerate().map(|(i, slot)| (slot.name.clone(), Some(i))));
        let (names, slots) = (Vec::new(), Vec::new());
        Layout { file: file.into(), names, slots, by_name, lenient: self.lenient, counted: "header" }
    }
}
