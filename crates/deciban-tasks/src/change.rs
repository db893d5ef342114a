//! Rows that are learned or forgotten by a model with its [`Source`], in two steps.
//!
//! First the statistics change, and the members that are functions of them ([`Kept::changed`]). Then members that learn
//! from rows are learned again, if all rows are given ([`Changed::with_rows`]). Without these rows an update leaves such
//! members as they were, and nothing is forgotten: they would still know the forgotten rows.
//!
//! Calibrations, and the weights and offsets of a fusion, stay as they were. They are those of the classes that were
//! there, so such a model takes no new class and loses none.

use deciban::data::Schema;
use deciban::engine::Engine;
use deciban::learn::{Classifier, Statistics, Summarise};
use deciban::model::{CalibratedModel, FusedModel, Member, Model};
use deciban::{Error, Result};

use crate::receipt::{Learnt, MemberChange, Receipt};
use crate::source::{Kept, Source, learner, members};

/// What happens to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// They are learned.
    Update,
    /// They are forgotten.
    Forget,
}

impl Change {
    /// Adds rows to statistics, or takes them away.
    pub fn apply(self, statistics: &mut Statistics, rows: &Statistics) -> Result<()> {
        match self {
            Change::Update => statistics.merge(rows),
            Change::Forget => statistics.remove(rows),
        }
    }
}

/// A model whose statistics have changed.
#[derive(Debug)]
pub struct Changed<'a> {
    kept: &'a Kept,
    change: Change,
    source: Source,
    /// The members as they are now; `None` for those that need rows.
    fitted: Vec<Option<Model>>,
    how: Vec<Learnt>,
}

impl Kept {
    /// Learns or forgets the rows behind statistics, as far as these tell.
    pub fn changed(&self, change: Change, rows: &[Statistics]) -> Result<Changed<'_>> {
        let mut source = self.source()?.clone();
        rows.iter().try_for_each(|rows| change.apply(&mut source.statistics, rows))?;
        self.check_classes(source.statistics.schema())?;
        let fitted = source.fit(&self.model)?;
        let how = fitted.iter().map(|model| if model.is_some() { Learnt::Statistics } else { Learnt::Nothing });
        let how = how.collect();
        Ok(Changed { kept: self, change, source, fitted, how })
    }

    /// Refuses other classes where there are offsets for those that there were.
    fn check_classes(&self, now: &Schema) -> Result<()> {
        let what = match &self.model {
            Model::Calibrated(model) if matches!(model.model(), Model::Fused(_)) => {
                "the weights and offsets of the fusion were"
            }
            Model::Fused(_) => "the weights of the fusion were",
            Model::Calibrated(_) => "its calibration was",
            _ => return Ok(()),
        };
        let known = self.model.schema();
        let new = now.classes().iter().find(|class| known.class(class).is_none()).map(|class| (class, "is new"));
        let gone =
            known.classes().iter().find(|class| now.class(class).is_none()).map(|class| (class, "would be gone"));
        match new.or(gone) {
            Some((class, how)) => Err(Error::Classes(format!(
                "class `{class}` {how}, and {what} learned for the classes that were there: fit the model anew"
            ))),
            None => Ok(()),
        }
    }
}

impl Changed<'_> {
    /// The columns, levels and classes as they are now.
    pub fn schema(&self) -> &Schema {
        self.source.statistics.schema()
    }

    /// Whether members are still as they were, since they learn from rows.
    pub fn needs_rows(&self) -> bool {
        self.how.contains(&Learnt::Nothing)
    }

    /// Learns the other members again, from all rows that the model is to know now; `rows` has the levels and classes of
    /// [`schema`](Changed::schema).
    pub fn with_rows(mut self, rows: &dyn Engine) -> Result<Self> {
        if !self.needs_rows() {
            return Err(Error::parameter("rows", "the model learns from statistics alone: drop the option"));
        }
        let counted = Statistics::collect(Summarise { blocks: Vec::new(), folds: 1, seed: 0 }, rows)?;
        let now = self.source.statistics.summary().rows();
        for (class, wanted) in self.schema().classes().iter().zip(now) {
            let given = counted.schema().class(class).map_or(0.0, |k| counted.summary().rows()[k]);
            if given != wanted {
                let which = match self.change {
                    Change::Update => "all rows that it has learned from before",
                    Change::Forget => "all rows that stay",
                };
                return Err(Error::parameter(
                    "rows",
                    format!(
                        "there are {given} rows of class `{class}`, and the model is to have {wanted}: give {which}"
                    ),
                ));
            }
        }
        let total = counted.summary().rows().iter().sum();
        for (place, member) in members(&self.kept.model).into_iter().enumerate() {
            if self.fitted[place].is_none() {
                self.fitted[place] = Some(learner(member).learn(rows)?);
                self.how[place] = Learnt::Rows(total);
            }
        }
        Ok(self)
    }

    /// The model, and what has changed.
    pub fn finish(self) -> Result<(Kept, Receipt)> {
        let Changed { kept, change, source, fitted, how } = self;
        let names = names(&kept.model, source.kind());
        let waiting = names.iter().zip(&how).filter(|(_, how)| **how == Learnt::Nothing);
        let waiting: Vec<&str> = waiting.map(|(name, _)| name.as_str()).collect();
        if !waiting.is_empty() && (change == Change::Forget || waiting.len() == names.len()) {
            let (learns, whole) = match change {
                Change::Forget => ("would still know the forgotten rows", "all rows that stay"),
                Change::Update => ("cannot learn from statistics", "all rows that it has learned from before"),
            };
            let list = waiting.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let verb = if waiting.len() == 1 { "learns" } else { "learn" };
            return Err(Error::Usage(format!("{list} {verb} from rows and {learns}: give §rows, {whole}")));
        }
        let mut receipt = Receipt::between(kept.source()?.statistics(), source.statistics(), change);
        receipt.members = names.into_iter().zip(how).map(|(name, learned)| MemberChange { name, learned }).collect();
        if source.leaves_open() {
            receipt.remarks.push("shrinkage and pooling were settled anew, from the folds of the statistics".into());
        }
        let (empirical, prior) = source.priors()?;
        let mut model = match kept.model.plain() {
            Model::Fused(fused) => {
                receipt.remarks.push(stay("the weights of the members", change));
                if fused.members().iter().any(|member| matches!(member.model, Model::Calibrated(_))) {
                    receipt.remarks.push(stay("the calibrations of the members", change));
                }
                let member = |(member, fitted): (&Member, Option<Model>)| {
                    let plain = fitted.unwrap_or_else(|| member.model.plain().clone());
                    let model = calibrated_as(&member.model, plain, change)?;
                    Ok(Member { name: member.name.clone(), weight: member.weight, model })
                };
                let members = fused.members().iter().zip(fitted).map(member).collect::<Result<_>>()?;
                Model::Fused(FusedModel::new(members)?.with_empirical(empirical)?)
            }
            plain => fitted.into_iter().next().flatten().unwrap_or_else(|| plain.clone()),
        };
        if let Model::Calibrated(calibrated) = &kept.model {
            let is_fused = matches!(calibrated.model(), Model::Fused(_));
            let what = if is_fused { "the offsets of the fusion" } else { "the numbers of the calibration" };
            receipt.remarks.push(stay(what, change));
            if change == Change::Forget && calibrated.scores().is_some() {
                receipt.remarks.push("the scores behind conformal p-values were dropped".into());
            }
            model = calibrated_as(&kept.model, model, change)?;
        }
        let mut model = model.with_prior(prior)?;
        if kept.model.about().companion().is_some() {
            let companion = source.companion(&kept.model)?;
            let dropped = match companion {
                None => Some("its statistics were not kept"),
                // It may know levels that members which were not refitted do not know.
                found => model.about_mut().set_companion(found).err().map(|_| "the model does not know its levels"),
            };
            if let Some(why) = dropped {
                model.about_mut().set_companion(None)?;
                let how = "fit the model anew to have one";
                receipt.remarks.push(format!("the companion that describes rows was dropped, since {why}: {how}"));
            }
        }
        // Rows that are forgotten may be in it, and those that are learned are not.
        model.about_mut().set_fingerprint(None);
        let profiles = kept.model.about().profiles();
        match change {
            Change::Update => model.about_mut().set_profiles(profiles.to_vec())?,
            Change::Forget if profiles.is_empty() => {}
            // Quantiles and frequent levels may be those of rows that are to be forgotten.
            Change::Forget => receipt.remarks.push("what the columns looked like at fit was dropped".into()),
        }
        Ok((Kept { model, source: Some(source) }, receipt))
    }
}

/// What the members of a model are called.
fn names(model: &Model, kind: &str) -> Vec<String> {
    match model.plain() {
        Model::Fused(fused) => fused.members().iter().map(|member| member.name.clone()).collect(),
        _ => vec![kind.to_string()],
    }
}

/// A model with the calibration of another, if that has one. The scores that taught it go with forgotten rows, which may
/// be among them.
fn calibrated_as(like: &Model, model: Model, change: Change) -> Result<Model> {
    let Model::Calibrated(like) = like else { return Ok(model) };
    let scores = if change == Change::Update { like.scores().cloned() } else { None };
    let model = CalibratedModel::new(model, like.calibration().clone())?.with_typical_cells(like.typical_cells())?;
    Ok(Model::Calibrated(model.with_scores(scores)?))
}

/// That some things were not learned anew.
pub(crate) fn stay(what: &str, change: Change) -> String {
    let because = match change {
        Change::Update => "",
        Change::Forget => ", though rows that are forgotten had a part in them",
    };
    format!("{what} stay as they were{because}")
}
