//! JSON objects to cells: each object is a row, its keys are the columns. A key that is absent and a
//! `null` are missing cells. Objects are read straight into columns, so that one row costs little.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::cells::Parsed;
use crate::layout::{Layout, Others};
use crate::names::{list, near};
use crate::number;
use crate::plan::Plan;

/// The value of a key. A list or an object cannot be a cell, so what it holds is not kept.
pub(crate) enum Cell<'a> {
    Null,
    Flag(bool),
    Text(Cow<'a, str>),
    Number(Number),
    List,
    Object,
}

impl<'de> Deserialize<'de> for Cell<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cell")
    }
    fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::Null)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Cell<'de>, E> {
        Ok(Cell::Flag(flag))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Cell<'de>, E> {
        Ok(Cell::Number(number.into()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Cell<'de>, E> {
        Ok(Cell::Number(number.into()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Cell<'de>, E> {
        Ok(Number::from_f64(number).map_or(Cell::Null, Cell::Number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(text.into()))
    }
    fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(text.to_string().into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cell::List)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cell::Object)
    }
}

/// Where objects go: the cells of a block that is being filled.
pub(crate) struct Sink<'a> {
    pub parsed: Parsed,
    plan: &'a Plan,
    layout: &'a Layout,
    /// The row, counted from 1, in which a slot was last filled.
    filled: Vec<usize>,
}

impl<'a> Sink<'a> {
    pub fn new(plan: &'a Plan, layout: &'a Layout) -> Self {
        Sink { parsed: Parsed::new(plan, 1), plan, layout, filled: vec![0; plan.slots.len()] }
    }

    /// Adds the row that a text holds, which stands in this line of the block.
    pub fn add(&mut self, text: &[u8], line: u64) -> serde_json::Result<()> {
        self.parsed.lines.push(line as u32);
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        Object(self).deserialize(&mut deserializer)?;
        deserializer.end()
    }

    /// Whether a cell was wrong: what follows is not used.
    pub fn has_fault(&self) -> bool {
        self.parsed.fault.is_some()
    }

    /// Adds a cell of the row that is being filled.
    pub fn cell(&mut self, name: &str, value: &Cell<'_>) {
        let row = self.parsed.rows + 1;
        let result = match self.layout.by_name.get(name) {
            Some(Some(slot)) if self.filled[*slot] == row => Err("the row has this key twice".to_string()),
            Some(Some(slot)) => {
                self.filled[*slot] = row;
                let also = self.layout.also_by_name.get(name);
                also.map_or(Ok(()), |also| {
                    self.filled[*also] = row;
                    push(&mut self.parsed, *also, value, self.plan)
                })
                .and_then(|()| push(&mut self.parsed, *slot, value, self.plan))
            }
            Some(None) => Ok(()),
            None => match self.layout.others {
                Others::Ignored => Ok(()),
                Others::Alike => {
                    Err(format!("the first rows do not have this key: give §ignore='{name}', or put it first as null"))
                }
                Others::Refused => Err(no_such(name, self.plan)),
            },
        };
        if let Err(message) = result {
            let line = self.parsed.lines.last().map_or(self.parsed.rows as u64, |line| u64::from(*line));
            self.parsed.blame(line, Some(name), message);
        }
    }

    /// Ends the row that is being filled: what was not named is missing.
    pub fn end_of_row(&mut self) {
        self.parsed.rows += 1;
        for (slot, filled) in self.filled.iter().enumerate() {
            if *filled < self.parsed.rows {
                self.parsed.push_missing(slot);
            }
        }
    }
}

fn no_such(name: &str, plan: &Plan) -> String {
    let names: Vec<String> = plan.slots.iter().map(|slot| slot.name.clone()).collect();
    match &near(name, &names)[..] {
        [] => format!("the model has no such column: its columns are {}", list(&names)),
        near => format!("the model has no such column: did you mean {}?", list(near)),
    }
}

fn push(parsed: &mut Parsed, slot: usize, value: &Cell<'_>, plan: &Plan) -> Result<(), String> {
    match value {
        Cell::Null => parsed.push_missing(slot),
        Cell::Flag(flag) => parsed.push_flag(slot, *flag, plan)?,
        Cell::Text(text) => parsed.push_text(slot, text.trim().as_bytes(), plan)?,
        Cell::Number(number) if plan.slots[slot].is_code => {
            // A whole number that a double cannot hold keeps its digits as a name.
            let text = if number.is_f64() { number.as_f64().map(number::shortest) } else { None };
            parsed.push_text(slot, text.unwrap_or_else(|| number.to_string()).as_bytes(), plan)?;
        }
        Cell::Number(number) => parsed.push_number(slot, number.as_f64().unwrap_or(f64::NAN), plan)?,
        Cell::List => return Err("a list cannot be read: give §ignore for this column".into()),
        Cell::Object => return Err("an object cannot be read: give §ignore for this column".into()),
    }
    Ok(())
}

/// Reads one object.
struct Object<'s, 'a>(&'s mut Sink<'a>);

impl<'de> DeserializeSeed<'de> for Object<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose keys are the columns")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry::<String, Cell>()? {
            if !self.0.has_fault() {
                self.0.cell(&name, &value);
            }
        }
        self.0.end_of_row();
        Ok(())
    }
}

/// Reads one object or a list of objects.
pub(crate) struct Objects<'s, 'a>(pub &'s mut Sink<'a>);

impl<'de> DeserializeSeed<'de> for Objects<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Objects<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose keys are the columns, or a list of such objects")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        Object(self.0).visit_map(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while rows.next_element_seed(Object(self.0))?.is_some() {
            if self.0.parsed.rows > u32::MAX as usize {
                return Err(A::Error::custom("there are too many rows"));
            }
        }
        Ok(())
    }
}
