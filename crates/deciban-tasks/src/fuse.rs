//! Fitted models fused into one, by labelled rows that none of them has seen.
//!
//! The weights αₘ ≥ 0 of the members and an offset for each class are learned from the evidence of these rows
//! ([`Fusion`]). As in a search, the evidence of a member is bounded with ε = 0.01/n before it is weighed, members of
//! next to no weight are dropped, and the fused model is judged by cross-validation: the weights for each fold come from
//! the other folds. A model that is fused itself, as `fit` makes them, is opened: its members take part one by one, and
//! its own weights, offsets and calibration are replaced by what the rows say. Each member is also judged with a weight and offsets of its own, learned in the same way, so that
//! what fusing gains is told apart from what recalibration gains.

use deciban::calibrate::{Affine, Calibration, HeldScores, count_cells};
use deciban::data::{Batch, MISSING, Schema};
use deciban::evaluate::{Scored, parts};
use deciban::evidence::Evidence;
use deciban::folds::Folds;
use deciban::fuse::{FOREIGN_ROWS, Fusion};
use deciban::learn::Classifier;
use deciban::model::{CalibratedModel, FusedModel, Member, Model};
use deciban::numerics::log_shares;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde_json::{Value, json};

use crate::describe;
use crate::input::{Counted, Input};
use crate::numbers;
use crate::remarks::Remark;
use crate::table::{Table, number};

/// How models are fused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fusing {
    /// The number of folds by which the fused model is judged.
    pub folds: usize,
    /// The seed by which rows are dealt into folds.
    pub seed: u64,
    /// Bytes that the evidence of all members may take.
    pub memory: usize,
}

impl Default for Fusing {
    fn default() -> Self {
        Fusing { folds: 10, seed: 0, memory: 512 << 20 }
    }
}

/// Models that can be fused: they have the same target, classes and columns.
#[derive(Clone, Debug)]
pub struct Fusible {
    /// All members with the weight 1.
    fused: FusedModel,
    /// The name, and the prior, of each model that was given.
    given: Vec<(String, Prior)>,
}

/// A member of a fused model.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// What the model is called.
    pub name: String,
    /// α; 0 if the member was dropped.
    pub weight: f64,
    /// The log loss of its bounded evidence, in nats.
    pub log_loss: f64,
    /// The cross-validated log loss of its evidence with a weight and offsets of its own.
    pub scaled_log_loss: f64,
}

/// Models that were fused. All log losses are at the class shares of the rows.
#[derive(Clone, Debug)]
pub struct Fused {
    /// The fused model.
    pub model: Model,
    /// The models that were given, in their order; instead of one that is fused itself, its members.
    pub members: Vec<Weighed>,
    /// The offset of each class, in nats.
    pub offsets: Vec<f64>,
    /// The number of labelled rows.
    pub rows: usize,
    /// The number of folds by which the fused model was judged.
    pub folds: usize,
    /// The cross-validated log loss of the fused model.
    pub log_loss: f64,
    /// The log loss of the class shares alone.
    pub prior_log_loss: f64,
    /// What a person should know.
    pub remarks: Vec<Remark>,
}

impl Fusible {
    /// Checks that models, each with its name, can be fused.
    pub fn new(models: Vec<(String, Model)>) -> Result<Self> {
        let [(name, first), _, ..] = &models[..] else {
            return Err(Error::Usage("a fusion needs at least two models".into()));
        };
        for (other, model) in &models {
            if let Some(difference) = difference((name, first.schema()), (other, model.schema())) {
                return Err(Error::Schema(difference));
            }
        }
        let given = models.iter().map(|(name, model)| (name.clone(), model.prior().clone())).collect();
        let fused = FusedModel::new(models.into_iter().flat_map(opened).collect())?;
        Ok(Fusible { fused, given })
    }

    /// The columns and classes by which rows are read.
    pub fn schema(&self) -> &Schema {
        self.fused.schema()
    }

    /// Fuses the models by labelled rows, which can be read several times.
    pub fn fuse(&self, input: &dyn Input, request: &Fusing) -> Result<Fused> {
        let classes = self.schema().classes();
        let count = Counted::of(input)?.rows;
        if count == 0.0 {
            return Err(Error::Classes("there are no labelled rows".into()));
        }
        let bytes = count * (8 * classes.len() * self.fused.members().len()) as f64;
        if bytes > request.memory as f64 {
            let message = format!(
                "the evidence of {count} rows takes {} MiB: give more, or fewer rows",
                (bytes / f64::from(1 << 20)).ceil()
            );
            return Err(Error::parameter("memory", message));
        }
        let members = self.bounded(FOREIGN_ROWS / count)?;
        let folds = Folds::stratified(input, request.folds, request.seed)?;
        let rows = Rows::score(&members, input, classes, &folds)?;
        let shares = rows.shares(classes)?;
        let all: Vec<&[f64]> = rows.evidence.iter().map(Vec::as_slice).collect();
        let fusion = Fusion::fit_strong(&all, classes.len(), &rows.truth, &rows.weights)?;
        if fusion.weights.iter().all(|weight| *weight == 0.0) {
            return Err(Error::Schema(
                "no model has any weight: none of them helps to predict the classes of these rows".into(),
            ));
        }
        let mut weighed = Vec::new();
        for ((member, weight), evidence) in members.iter().zip(&fusion.weights).zip(&all) {
            weighed.push(Weighed {
                name: member.name.clone(),
                weight: *weight,
                log_loss: rows.log_loss(evidence, &shares),
                scaled_log_loss: rows.log_loss(&rows.crossed(&[evidence], folds.count())?, &shares),
            });
        }
        let log_loss = rows.log_loss(&rows.crossed(&all, folds.count())?, &shares);
        let prior_log_loss = rows.log_loss(&vec![0.0; all[0].len()], &shares);
        let mut remarks: Vec<Remark> = crate::evaluation::unseen(input);
        let dropped = weighed.iter().filter(|member| member.weight == 0.0);
        remarks.extend(dropped.map(|Weighed { name, .. }| {
            Remark::note(format!("{name} has next to no weight beside the others: it is left out of the fused model"))
        }));
        let offsets = fusion.offsets.clone();
        let model = self.join(members, fusion, &rows, &mut remarks)?;
        let (rows, folds) = (rows.truth.len(), folds.count());
        Ok(Fused { model, members: weighed, offsets, rows, folds, log_loss, prior_log_loss, remarks })
    }

    /// The members, whose evidence has a bound of at least `epsilon`.
    fn bounded(&self, epsilon: f64) -> Result<Vec<Member>> {
        let bounded = |member: &Member| {
            let model = match member.model.clone() {
                Model::Calibrated(model) => {
                    let (map, cells) = (model.calibration().clone(), model.typical_cells());
                    // The scores that taught the map are of no use to a member.
                    CalibratedModel::new(model.into_model(), map.with_bound(epsilon))?.with_typical_cells(cells)?
                }
                model => {
                    let map = Calibration::of_bound(epsilon, model.schema().classes().len());
                    CalibratedModel::new(model, map)?
                }
            };
            Ok(Member { model: Model::Calibrated(model), ..member.clone() })
        };
        self.fused.members().iter().map(bounded).collect()
    }

    /// The members with their weights, and the offsets as a calibration.
    fn join(&self, members: Vec<Member>, fusion: Fusion, rows: &Rows, remarks: &mut Vec<Remark>) -> Result<Model> {
        let classes = self.schema().classes().len();
        let mut evidence = vec![0.0; rows.truth.len() * classes];
        for (r, out) in evidence.chunks_exact_mut(classes).enumerate() {
            fusion.add_up(rows.evidence.iter().map(|e| &e[r * classes..][..classes]), out);
        }
        let mut scored = Scored::new(classes)?;
        scored.append(&Evidence::new(classes, evidence)?, &rows.truth, Some(&rows.weights))?;
        let scores = HeldScores::new(&scored, &rows.cells, 0)?;
        let weighed = members.into_iter().zip(fusion.weights).filter(|(_, weight)| *weight > 0.0);
        let fused = FusedModel::new(weighed.map(|(member, weight)| Member { weight, ..member }).collect())?;
        let known = fused.members()[0].model.about().clone();
        // There are at least two.
        let (name, own) = &self.given[0];
        let map = Calibration::Affine(Affine { bound: 0.0, scale: 1.0, bias: fusion.offsets });
        let mut model = CalibratedModel::new(Model::Fused(fused), map)?
            .with_typical_cells(rows.typical_cells())?
            .with_scores(scores)?;
        model.about_mut().set_profiles(known.profiles().to_vec())?;
        // The class shares of the same rows differ by rounding from one mixture to another.
        let is_other = |prior: &Prior| {
            let mut pairs = prior.probabilities().iter().zip(own.probabilities());
            pairs.any(|(a, b)| (a - b).abs() > 1e-9)
        };
        if self.given.iter().any(|(_, prior)| is_other(prior)) {
            remarks.push(Remark::note(format!(
                "the models have different priors: the fused model uses that of {name}. §prior of other commands \
                 replaces it"
            )));
        }
        Ok(Model::Calibrated(model.with_prior(own.clone())?))
    }
}

/// A model as a member; of a fused model, each of its members.
fn opened((name, model): (String, Model)) -> Vec<Member> {
    match model.plain() {
        Model::Fused(fused) => {
            let member = |own: &Member| Member { name: format!("{name}: {}", own.name), weight: 1.0, ..own.clone() };
            fused.members().iter().map(member).collect()
        }
        _ => vec![Member { name, weight: 1.0, model }],
    }
}

/// What keeps two models from being fused, if something does.
fn difference((a, first): (&str, &Schema), (b, other): (&str, &Schema)) -> Option<String> {
    let listed = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if first.target() != other.target() {
        let (x, y) = (first.target(), other.target());
        return Some(format!("{a} predicts `{x}` and {b} `{y}`: only models of the same target can be fused"));
    }
    if let Some((at, missing)) = only_one(first.classes(), other.classes(), (a, b)) {
        return Some(format!("only {at} knows the class `{missing}`: only models of the same classes can be fused"));
    }
    if first.classes() != other.classes() {
        let (x, y) = (listed(first.classes()), listed(other.classes()));
        return Some(format!("{a} has the classes in another order than {b}: {x} and {y}"));
    }
    if let Some((at, missing)) = only_one(&first.names(), &other.names(), (a, b)) {
        return Some(format!("only {at} has the column `{missing}`: only models of the same columns can be fused"));
    }
    if first.names() != other.names() {
        return Some(format!("{a} has the columns in another order than {b}: fit both with the same §columns"));
    }
    for (x, y) in first.columns().iter().zip(other.columns()) {
        if x.kind != y.kind {
            let (name, one, two) = (&x.name, x.kind.name(), y.kind.name());
            return Some(format!(
                "column `{name}` is a {one} to {a} and a {two} to {b}: fit both with the same option, such as \
                 §{one}='{name}'"
            ));
        }
        // A model has codes of its own for levels and words: the other models must have the same codes.
        if let Some(((i, one), two)) = x.levels.iter().enumerate().zip(&y.levels).find(|((_, one), two)| one != two) {
            return Some(format!(
                "column `{}`: level {} is `{one}` to {a} and `{two}` to {b}: only models that have met the levels in the \
                 same order can be fused, such as models of the same rows",
                x.name,
                i + 1
            ));
        }
    }
    None
}

/// A name that only one of two models has, and which.
fn only_one<'a>(x: &'a [String], y: &'a [String], (a, b): (&'a str, &'a str)) -> Option<(&'a str, String)> {
    let alone = |own: &[String], others: &[String]| own.iter().find(|name| !others.contains(name)).cloned();
    alone(x, y).map(|name| (a, name)).or_else(|| alone(y, x).map(|name| (b, name)))
}

/// Labelled rows with the evidence of every member.
#[derive(Default)]
struct Rows {
    /// Of each member, row after row.
    evidence: Vec<Vec<f64>>,
    truth: Vec<u32>,
    weights: Vec<f64>,
    folds: Vec<u32>,
    /// How many cells each row has.
    cells: Vec<u32>,
}

impl Rows {
    fn score(members: &[Member], input: &dyn Input, classes: &[String], folds: &Folds) -> Result<Self> {
        let score = |batch: &Batch<'_>| {
            let mut all = Rows { evidence: vec![Vec::new(); members.len()], ..Rows::default() };
            // The evidence of many classes takes much memory: some rows at a time.
            for range in parts(batch.rows(), classes.len()) {
                all.add(members, &batch.slice(range), folds)?;
            }
            Ok(all)
        };
        let mut all = Rows { evidence: vec![Vec::new(); members.len()], ..Rows::default() };
        input.map_in_order(score, |part| {
            all.evidence.iter_mut().zip(part.evidence).for_each(|(all, part)| all.extend(part));
            all.truth.extend(part.truth);
            all.weights.extend(part.weights);
            all.folds.extend(part.folds);
            all.cells.extend(part.cells);
            Ok(())
        })?;
        Ok(all)
    }

    /// Adds the rows of a batch that have a label.
    fn add(&mut self, members: &[Member], batch: &Batch<'_>, folds: &Folds) -> Result<()> {
        let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
        let known: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] != MISSING).collect();
        for (all, member) in self.evidence.iter_mut().zip(members) {
            let evidence = member.model.evidence(batch)?;
            known.iter().for_each(|&row| all.extend_from_slice(evidence.row(row)));
        }
        let (of, cells, weights) = (folds.of(batch)?, count_cells(batch)?, batch.row_weights());
        self.truth.extend(known.iter().map(|&row| labels[row]));
        self.weights.extend(known.iter().map(|&row| weights.map_or(1.0, |w| w[row])));
        self.folds.extend(known.iter().map(|&row| of[row]));
        let width = batch.width() as u32;
        self.cells.extend(known.iter().map(|&row| cells.as_ref().map_or(width, |cells| cells[row])));
        Ok(())
    }

    /// The shares of the classes, each of which must have rows.
    fn shares(&self, classes: &[String]) -> Result<Prior> {
        let mut totals = vec![0.0; classes.len()];
        self.truth.iter().zip(&self.weights).for_each(|(&k, w)| totals[k as usize] += w);
        match totals.iter().position(|total| *total == 0.0) {
            Some(k) => Err(Error::Classes(format!("class `{}` has no rows to fuse with", classes[k]))),
            None => Prior::from_weights(&totals),
        }
    }

    /// How many cells a row has on average.
    fn typical_cells(&self) -> f64 {
        let sum: f64 = self.cells.iter().zip(&self.weights).map(|(c, w)| f64::from(*c) * w).sum();
        sum / self.weights.iter().sum::<f64>()
    }

    /// The evidence of these members fused, where the weights and offsets for each fold come from the other folds.
    fn crossed(&self, members: &[&[f64]], folds: usize) -> Result<Vec<f64>> {
        let classes = members[0].len() / self.truth.len();
        let mut fused = vec![0.0; members[0].len()];
        for fold in 0..folds as u32 {
            let is_other = |(w, f): (&f64, &u32)| if *f == fold { 0.0 } else { *w };
            let others: Vec<f64> = self.weights.iter().zip(&self.folds).map(is_other).collect();
            let fusion = Fusion::fit(members, classes, &self.truth, &others)?;
            for (r, out) in fused.chunks_exact_mut(classes).enumerate().filter(|(r, _)| self.folds[*r] == fold) {
                fusion.add_up(members.iter().map(|e| &e[r * classes..][..classes]), out);
                out.iter_mut().zip(&fusion.offsets).for_each(|(e, b)| *e += b);
            }
        }
        Ok(fused)
    }

    /// The mean of −ln p(class | x), in nats.
    fn log_loss(&self, evidence: &[f64], prior: &Prior) -> f64 {
        let classes = prior.classes();
        let loss = |(row, &k): (&[f64], &u32)| {
            let mut joint = prior.joint(row);
            log_shares(&mut joint);
            -joint[k as usize]
        };
        let losses = evidence.chunks_exact(classes).zip(&self.truth).map(loss);
        let sum: f64 = losses.zip(&self.weights).map(|(loss, w)| loss * w).sum();
        sum / self.weights.iter().sum::<f64>()
    }
}

impl Fused {
    /// For people.
    pub fn text(&self) -> String {
        let mut table = Table::new(["log loss", "alone", "scaled"]);
        for Weighed { name, log_loss, scaled_log_loss, .. } in &self.members {
            table.row([name.clone(), number(*log_loss, 4), number(*scaled_log_loss, 4)]);
        }
        table.row(["fused".to_string(), String::new(), number(self.log_loss, 4)]);
        table.row(["class shares".to_string(), number(self.prior_log_loss, 4)]);
        let how = format!("scaled and fused: weights and offsets for each of {} folds from the others", self.folds);
        format!("{}\n{table}{how}", describe::in_short(&self.model))
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let member = |member: &Weighed| {
            json!({
                "name": member.name,
                "weight": member.weight,
                "log_loss": numbers::number(member.log_loss),
                "scaled_log_loss": numbers::number(member.scaled_log_loss),
            })
        };
        json!({
            "members": self.members.iter().map(member).collect::<Vec<_>>(),
            "classes": self.model.schema().classes(),
            "offsets": self.offsets,
            "rows": self.rows,
            "folds": self.folds,
            "log_loss": numbers::number(self.log_loss),
            "prior_log_loss": numbers::number(self.prior_log_loss),
        })
    }
}
