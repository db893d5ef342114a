//! A fused model: members with their weights, one more [`Model`].
//!
//! A row's ledger is the sum of the members' ledgers, each times its weight. Lines of the same name are one line: what a
//! column or a word says in all members, the offsets of all calibrations.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use super::Model;
use crate::data::{Batch, Column, Kind};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::explain::{Explanation, Order, cell, word_line};
use crate::family::Domain;
use crate::file::{Archive, Stored};
use crate::learn::{About, Classifier};
use crate::posterior::Prior;

/// A model that takes part in a fusion.
#[derive(Clone, Debug)]
pub struct Member {
    /// What it is called: the kind of model, and the options with which `fit` makes it.
    pub name: String,
    /// α, above 0.
    pub weight: f64,
    /// The model, with its calibration if it has one.
    pub model: Model,
}

/// Several models of the same columns and classes, fused.
#[derive(Clone, Debug)]
pub struct FusedModel {
    about: About,
    members: Vec<Member>,
}

impl FusedModel {
    /// Fuses members, which have the same columns and classes. One may know fewer levels than another, if these are the
    /// first ones: to it the others are unseen. Members are not fused models themselves.
    pub fn new(members: Vec<Member>) -> Result<Self> {
        let levels = |member: &&Member| member.model.schema().columns().iter().map(|c| c.levels.len()).sum::<usize>();
        // The first of those that know most.
        let Some(first) = members.iter().rev().max_by_key(levels) else {
            return Err(Error::Schema("a fusion needs members".into()));
        };
        let schema = first.model.schema().clone();
        for Member { name, weight, model } in &members {
            if !schema.covers(model.schema()) {
                let message = format!("{name} has other columns or classes than {}, or other first levels", first.name);
                return Err(Error::Schema(message));
            }
            if !(*weight > 0.0 && weight.is_finite()) {
                return Err(Error::Schema(format!("the weight {weight} of {name} is not a number above 0")));
            }
            if matches!(model.plain(), Model::Fused(_)) {
                return Err(Error::Schema(format!("{name} is a fused model: fuse its members")));
            }
        }
        let about = About::new(schema, first.model.empirical().clone());
        Ok(FusedModel { about, members })
    }

    /// The same members, with other shares of the classes as the prior of the training data.
    pub fn with_empirical(self, empirical: Prior) -> Result<Self> {
        Error::check_shape("classes of the prior", self.schema().classes().len(), empirical.classes())?;
        Ok(FusedModel { about: About::new(self.schema().clone(), empirical), ..self })
    }

    /// The members, in their order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

impl Classifier for FusedModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn learned_from(&self) -> f64 {
        self.members.iter().map(|member| member.model.learned_from()).fold(0.0, f64::max)
    }

    fn domains(&self) -> Vec<(usize, Domain)> {
        self.members.iter().flat_map(|member| member.model.domains()).collect()
    }

    fn ledgers(&self, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
        let mut all: Vec<(Explanation, HashMap<String, usize>)> =
            (0..x.rows()).map(|_| (Explanation { entries: Vec::new() }, HashMap::new())).collect();
        let names = Names::new(self.schema().columns());
        for Member { weight, model, .. } in &self.members {
            for (row, ((fused, places), own)) in all.iter_mut().zip(model.ledgers(x, order, stop)?).enumerate() {
                for mut entry in own.entries {
                    if let Some(name) = names.shared(&entry.name, x, row)? {
                        entry.name = name;
                    }
                    entry.evidence.iter_mut().for_each(|e| *e *= weight);
                    match places.get(&entry.name) {
                        Some(&place) => {
                            let known = &mut fused.entries[place];
                            known.evidence.iter_mut().zip(&entry.evidence).for_each(|(a, b)| *a += b);
                            // A cell that is missing says something where a member has learned what that means.
                            if known.missing && !entry.missing {
                                (known.missing, known.value) = (false, entry.value);
                            }
                        }
                        None => {
                            places.insert(entry.name.clone(), fused.entries.len());
                            fused.entries.push(entry);
                        }
                    }
                }
            }
        }
        // Members may show bins: the ledger of all of them shows what the cell holds.
        for (c, column) in self.schema().columns().iter().enumerate().filter(|(_, column)| column.kind != Kind::Text) {
            for (row, (explanation, places)) in all.iter_mut().enumerate() {
                if let Some(entry) = places.get(&column.name).map(|&place| &mut explanation.entries[place]) {
                    entry.value = cell(x, row, c, column)?;
                }
            }
        }
        // What belongs to no column stands last, in the order in which the members named it.
        let last = |mut explanation: Explanation| {
            explanation.entries.sort_by_key(|entry| entry.name.starts_with('('));
            explanation
        };
        Ok(all.into_iter().map(|(explanation, _)| last(explanation)).collect())
    }

    fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
        let mut own = vec![0.0; out.len()];
        out.fill(0.0);
        for Member { weight, model, .. } in &self.members {
            model.evidence_into(x, &mut own)?;
            add(out, *weight, &own);
        }
        Evidence::check(self.schema().classes().len(), out)
    }
}

/// How the lines of members are called in the ledger of all of them. Linear members have a line `column=level` for the
/// level of a category and `column=word` for a word, which others have under the names of the column and of the word.
struct Names<'a> {
    columns: &'a [Column],
    /// Categories and texts.
    worded: Vec<usize>,
}

impl<'a> Names<'a> {
    fn new(columns: &'a [Column]) -> Self {
        Names { columns, worded: (0..columns.len()).filter(|&c| !columns[c].is_numeric()).collect() }
    }

    /// The name that a line shares with those of other members, if it has another.
    fn shared(&self, name: &str, x: &Batch<'_>, row: usize) -> Result<Option<String>> {
        if !name.contains('=') || self.columns.iter().any(|column| column.name == name) {
            return Ok(None);
        }
        for &c in &self.worded {
            let column = &self.columns[c];
            let Some(level) = name.strip_prefix(column.name.as_str()).and_then(|rest| rest.strip_prefix('=')) else {
                continue;
            };
            if column.kind == Kind::Text {
                return Ok(Some(word_line(self.columns, c, level)));
            }
            if cell(x, row, c, column)? == level {
                return Ok(Some(column.name.clone()));
            }
        }
        Ok(None)
    }
}

fn add(sum: &mut [f64], weight: f64, evidence: &[f64]) {
    sum.iter_mut().zip(evidence).for_each(|(sum, e)| *sum += weight * e);
}

impl Stored for FusedModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        let about: Vec<(&str, f64)> = self.members.iter().map(|m| (m.name.as_str(), m.weight)).collect();
        archive.put_json(&format!("{name}.members"), &about)?;
        for (i, member) in self.members.iter().enumerate() {
            let name = format!("{name}.member{i}");
            member.model.put(archive, &format!("{name}.kind"), &name)?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let about: Vec<(String, f64)> = archive.json(&format!("{name}.members"))?;
        let mut members = Vec::new();
        for (i, (called, weight)) in about.into_iter().enumerate() {
            let name = format!("{name}.member{i}");
            let kind = format!("{name}.kind");
            // Before it is loaded: a chain of fusions must not be followed.
            let inner = archive.json_if_any::<String>(&format!("{name}.model.kind"))?;
            if archive.json::<String>(&kind)? == "fused" || inner.as_deref() == Some("fused") {
                return Err(archive.damaged("a member of a fused model is another fused model"));
            }
            members.push(Member { name: called, weight, model: Model::get(archive, &kind, &name)? });
        }
        let model = FusedModel::new(members).map_err(|e| archive.damaged(&e.to_string()))?;
        let about = About::load(archive, name)?;
        match about.schema() == model.schema() {
            true => Ok(FusedModel { about, ..model }),
            false => Err(archive.damaged("a fused model has other columns or classes than its members")),
        }
    }
}
