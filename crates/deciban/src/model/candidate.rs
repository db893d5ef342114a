//! Candidates: learners with a name.

use super::{CalibratedModel, Member, Model, Recipe};
use crate::calibrate::Calibration;
use crate::data::{Column, Identity};
use crate::engine::Engine;
use crate::error::Result;
use crate::family::{AnyFamily, Family};
use crate::folds::Drawn;
use crate::learn::{Generative, Learner, Logistic};

/// A model to be tried.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What tables call it.
    pub name: String,
    /// The kind of model, as `--model` names it.
    pub kind: String,
    /// How it is learned.
    pub recipe: Recipe,
}

/// A member of a fusion that is to be learned.
#[derive(Clone, Debug)]
pub struct Part {
    /// How it is learned.
    pub candidate: Candidate,
    /// Its weight, above 0.
    pub weight: f64,
    /// Its calibration, if it has one, and how many cells the rows had on average that taught it.
    pub calibration: Option<(Calibration, f64)>,
}

impl Part {
    /// How a member was learned, as far as it tells.
    pub(super) fn of_member(member: &Member) -> Self {
        Part {
            candidate: Candidate::of_model(&member.name, &member.model),
            weight: member.weight,
            calibration: match &member.model {
                Model::Calibrated(model) => Some((model.calibration().clone(), model.typical_cells())),
                _ => None,
            },
        }
    }

    /// The member that `model`, learned as the candidate says, becomes.
    pub(crate) fn member(&self, model: Model) -> Result<Member> {
        let model = match &self.calibration {
            None => model,
            Some((map, cells)) => {
                Model::Calibrated(CalibratedModel::new(model, map.clone())?.with_typical_cells(*cells)?)
            }
        };
        Ok(Member { name: self.candidate.name.clone(), weight: self.weight, model })
    }
}

impl Candidate {
    /// A candidate whose kind is found from its recipe.
    pub fn new(name: impl Into<String>, recipe: Recipe) -> Self {
        Candidate { name: name.into(), kind: recipe.kind().into(), recipe }
    }

    /// The same as another kind of model: blocks of one family may also be a naive Bayes model.
    pub fn of_kind(self, kind: impl Into<String>) -> Self {
        Candidate { kind: kind.into(), ..self }
    }

    /// A generative candidate.
    pub fn generative(name: impl Into<String>, learner: Generative) -> Self {
        Candidate::new(name, Recipe::Generative(learner))
    }

    /// A linear candidate.
    pub fn logistic(name: impl Into<String>, learner: Logistic) -> Self {
        Candidate::new(name, Recipe::Logistic(learner))
    }

    /// How a model was learned, as far as the model tells: without the calibration, and with cuts and
    /// maps of numbers found anew.
    pub fn of_model(name: impl Into<String>, model: &Model) -> Self {
        Candidate::new(name, Recipe::of_model(model))
    }

    /// The learner, if one pass of statistics is all it needs.
    pub fn closed_form(&self, columns: &[Column]) -> Option<&Generative> {
        match &self.recipe {
            Recipe::Generative(learner) if learner.is_one_pass(columns) => Some(learner),
            _ => None,
        }
    }

    /// The sort of model, of which a fusion takes one: its kind, but mixtures apart from their plain models.
    pub(crate) fn sort(&self) -> &str {
        match &self.recipe {
            Recipe::Generative(learner) if !learner.is_single() => "mixture",
            _ => &self.kind,
        }
    }

    /// What `fit` needs to be told so that its folds are `drawn` as those of the comparison: folds settle what is left
    /// open, and calibrations. Nothing where its defaults are these.
    pub(crate) fn fold_options(&self, drawn: Drawn, calibrated: bool) -> String {
        let blocks = || match &self.recipe {
            Recipe::Generative(learner) => learner.blocks(),
            _ => &[],
        };
        let chooses_family = blocks().iter().any(|block| matches!(block.family, AnyFamily::Auto(_)));
        if !calibrated && !self.is_open() {
            return String::new();
        }
        // `fit` has 5 folds by default, and fewer where nothing but a family is chosen.
        let mut options = String::new();
        if drawn.count != 5 || chooses_family {
            options += &format!(" --folds {}", drawn.count);
        }
        if drawn.seed != 0 {
            options += &format!(" --seed {}", drawn.seed);
        }
        if drawn.by == Identity::Contents && calibrated {
            options += " --equal-together";
        }
        options
    }

    /// Whether folds settle something that is left open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&self.recipe, Recipe::Generative(learner) if learner.blocks().iter().any(|b| b.family.is_open()))
    }

    /// Learns the model from rows; what is left open is settled by folds of this number and seed.
    pub(crate) fn learn_by(&self, drawn: Drawn, engine: &dyn Engine) -> Result<Model> {
        match &self.recipe {
            Recipe::Generative(learner) if self.is_open() => {
                learner.clone().folds(drawn.count, drawn.seed).learn(engine).map(Model::Generative)
            }
            _ => self.learn(engine),
        }
    }

    /// Learns the model from rows.
    pub fn learn(&self, engine: &dyn Engine) -> Result<Model> {
        self.recipe.learn(engine)
    }
}
