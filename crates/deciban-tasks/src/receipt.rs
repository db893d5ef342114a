//! [`Receipt`]: what has changed when rows were learned or forgotten.

use std::collections::HashSet;

use deciban::data::Kind;
use deciban::learn::{Block, Statistics};
use deciban::shown;
use serde::Serialize;

use crate::change::{Change, stay};
use crate::table::{Table, count};

/// More names than these are counted.
const SHOWN: usize = 5;

/// What has changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// The rows of each class.
    pub classes: Vec<ClassRows>,
    /// Columns with other levels or words than before.
    pub columns: Vec<Levels>,
    /// What became of each member of a fused model; of the model itself, if it is not fused.
    pub members: Vec<MemberChange>,
    /// What a person should know.
    pub remarks: Vec<String>,
    /// The name of the target.
    target: String,
}

/// What became of a member.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberChange {
    /// What it is called.
    pub name: String,
    /// What it was learned from now.
    pub learned: Learnt,
}

/// What a member was learned from, when rows came or went.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Learnt {
    /// From its statistics, exactly.
    Statistics,
    /// From so many rows.
    Rows(f64),
    /// It is as it was.
    Nothing,
}

/// The rows of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassRows {
    /// Its name.
    pub class: String,
    /// How many there were; `None` if the class was not there.
    pub before: Option<f64>,
    /// How many there are; `None` if the class is gone.
    pub after: Option<f64>,
}

/// Levels or words that came or went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Levels {
    /// The name of the column.
    pub column: String,
    /// Whether they are the words of a text.
    pub words: bool,
    /// Those that are new.
    pub new: Vec<String>,
    /// Those that are gone.
    pub gone: Vec<String>,
}

impl Receipt {
    /// What changed between statistics of the same columns.
    pub fn between(before: &Statistics, after: &Statistics, change: Change) -> Self {
        let rows = |statistics: &Statistics, class: &str| {
            statistics.schema().class(class).map(|k| statistics.summary().rows()[k])
        };
        let mut names = before.schema().classes().to_vec();
        names.extend(after.schema().classes().iter().filter(|c| before.schema().class(c).is_none()).cloned());
        let classes = names.into_iter().map(|class| {
            let [before, after] = [before, after].map(|statistics| rows(statistics, &class));
            ClassRows { before, after, class }
        });
        let pairs = before.schema().columns().iter().zip(after.schema().columns());
        let columns = pairs.map(|(a, b)| {
            let [had, has]: [HashSet<&String>; 2] = [a, b].map(|column| column.levels.iter().collect());
            Levels {
                column: a.name.clone(),
                words: a.kind == Kind::Text,
                new: b.levels.iter().filter(|level| !had.contains(level)).cloned().collect(),
                gone: a.levels.iter().filter(|level| !has.contains(level)).cloned().collect(),
            }
        });
        Receipt {
            classes: classes.collect(),
            columns: columns.filter(|levels| !levels.new.is_empty() || !levels.gone.is_empty()).collect(),
            members: Vec::new(),
            remarks: shape(after.blocks(), change),
            target: before.schema().target().into(),
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut table = Table::new([self.target.as_str(), "rows before", "after"]);
        let rows = |rows: Option<f64>| rows.map_or("none".to_string(), count);
        let total = |of: fn(&ClassRows) -> Option<f64>| count(self.classes.iter().filter_map(of).sum());
        for ClassRows { class, before, after } in &self.classes {
            table.row([class.clone(), rows(*before), rows(*after)]);
        }
        table.row(["all".to_string(), total(|c| c.before), total(|c| c.after)]);
        let mut text = table.to_string();
        for Levels { column, words, new, gone } in &self.columns {
            let what = if *words { "words" } else { "levels" };
            for (names, how) in [(new, "new"), (gone, "gone")] {
                if !names.is_empty() {
                    let mut listed: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
                    if names.len() > SHOWN {
                        listed.push(format!("{} more", names.len() - SHOWN));
                    }
                    text += &format!("{how} {what} of `{}`: {}\n", shown(column), shown(&listed.join(", ")));
                }
            }
        }
        // A model that follows its statistics as a whole needs no list.
        if self.members.len() > 1 || self.members.iter().any(|member| member.learned != Learnt::Statistics) {
            for MemberChange { name, learned } in &self.members {
                let name = shown(name);
                text += &match learned {
                    Learnt::Statistics => format!("{name}: learned from its statistics, exactly\n"),
                    Learnt::Rows(rows) => format!("{name}: refitted from {} rows\n", count(*rows)),
                    Learnt::Nothing => format!("{name}: left as it was, since it learns from rows\n"),
                };
            }
        }
        self.remarks.iter().for_each(|remark| text += &format!("{}\n", shown(remark)));
        text
    }
}

/// What shaped the statistics, and so stays.
fn shape(blocks: &[Block], change: Change) -> Vec<String> {
    let named = |is: fn(&Block, usize) -> bool| -> Vec<String> {
        let places = blocks.iter().flat_map(|block| (0..block.names.len()).map(move |j| (block, j)));
        places.filter(|(block, j)| is(block, *j)).map(|(block, j)| format!("`{}`", block.names[j])).collect()
    };
    let mut bins = named(|block, j| block.discretise.as_ref().is_some_and(|bins| bins.bins(j).is_some()));
    let mut maps = named(|block, _| block.gaussianise.is_some());
    // Several members may cut the same column.
    for names in [&mut bins, &mut maps] {
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
    }
    let stays = |what: &str, columns: Vec<String>| {
        (!columns.is_empty()).then(|| stay(&format!("{what} of {}", columns.join(", ")), change))
    };
    [stays("the bins", bins), stays("the Gaussianising maps", maps)].into_iter().flatten().collect()
}
