//! A fused model: members with their weights, one more [`Model`].

use crate::data::{Batch, Schema};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::file::{Archive, Stored};
use crate::learn::{About, Classifier, GenerativeModel, Model};

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
    /// Fuses members, which have the same columns and classes. Members are not fused models themselves.
    pub fn new(members: Vec<Member>) -> Result<Self> {
        let Some(first) = members.first() else { return Err(Error::Schema("a fusion needs members".into())) };
        let schema = first.model.schema().clone();
        let same = |other: &Schema| other.names() == schema.names() && other.classes() == schema.classes();
        for Member { name, weight, model } in &members {
            if !same(model.schema()) {
                return Err(Error::Schema(format!("{name} has other columns or classes than {}", first.name)));
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

    /// The members, in their order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Of the members that know how rows come about and are `able`, the one with the largest weight.
    pub fn describes(&self, able: impl Fn(&GenerativeModel) -> bool) -> Option<&GenerativeModel> {
        let own = self.members.iter().filter_map(|member| match member.model.plain() {
            Model::Generative(model) if able(model) => Some((member.weight, model)),
            _ => None,
        });
        own.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, model)| model)
    }
}

impl Classifier for FusedModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn evidence(&self, x: &Batch<'_>) -> Result<Evidence> {
        let classes = self.schema().classes().len();
        let mut sum = vec![0.0; x.rows() * classes];
        for Member { weight, model, .. } in &self.members {
            add(&mut sum, *weight, model.evidence(x)?.values());
        }
        Evidence::new(classes, sum)
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
