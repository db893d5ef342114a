//! Candidates: learners with a name, and the statistics they have in common.

use crate::calibrate::{CalibratedModel, Calibration};
use crate::data::Column;
use crate::engine::Engine;
use crate::error::Result;
use crate::family::{AnyFamily, Family};
use crate::fuse::{FusedModel, Member};
use crate::learn::options::{ADDITIVE, FUSED, GENERATIVE, LEAST_SQUARES, LINEAR, NOISY_OR};
use crate::learn::{Additive, Block, Generative, Learner, LeastSquares, Logistic, Model, NoisyOr, blocks};

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

/// How a candidate is learned.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// From statistics.
    Generative(Generative),
    /// By passes of its own.
    Logistic(Logistic),
    /// Steps and pairs, by passes of its own.
    Additive(Additive),
    /// By passes of its own, with weights that are at least 0.
    NoisyOr(NoisyOr),
    /// From the moments of all rows, in a pass of its own.
    LeastSquares(LeastSquares),
    /// Several models, whose weights and calibrations are known.
    Fused(Vec<Part>),
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
    /// The member that `model`, learned as the candidate says, becomes.
    pub(super) fn member(&self, model: Model) -> Result<Member> {
        let model = match &self.calibration {
            None => model,
            Some((map, cells)) => {
                Model::Calibrated(CalibratedModel::new(model, map.clone())?.with_typical_cells(*cells)?)
            }
        };
        Ok(Member { name: self.candidate.name.clone(), weight: self.weight, model })
    }
}

impl Recipe {
    /// The kind of model that it makes: of a product of blocks, their family if that is a model, or naive Bayes.
    fn kind(&self) -> &'static str {
        match self {
            Recipe::Generative(learner) => {
                let families = || learner.blocks().iter().map(|block| block.family.name());
                let only = GENERATIVE.into_iter().find(|name| families().all(|family| family == *name));
                only.unwrap_or("naive-bayes")
            }
            Recipe::Logistic(learner) => {
                // Every link is in the list.
                LINEAR.iter().find(|(_, link)| *link == learner.link).map_or("logistic", |(name, _)| name)
            }
            Recipe::Additive(_) => ADDITIVE,
            Recipe::NoisyOr(_) => NOISY_OR,
            Recipe::LeastSquares(_) => LEAST_SQUARES,
            Recipe::Fused(_) => FUSED,
        }
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
        let recipe = match model.plain() {
            Model::Logistic(model) => {
                let (link, weight_decay) = (model.link(), model.fit().weight_decay);
                Recipe::Logistic(Logistic { link, weight_decay, solver: model.fit().solver, ..Logistic::default() })
            }
            Model::Additive(model) => {
                let (fit, pairs) = (model.fit(), Some(model.pairs()));
                let (weight_decay, pair_decay) = (Some(fit.weight_decay), fit.pair_decay);
                Recipe::Additive(Additive { weight_decay, pairs, pair_decay, ..Additive::default() })
            }
            Model::NoisyOr(model) => {
                let (effect, pseudo_count) = (Some(model.effect().to_string()), model.fit().pseudo_count);
                Recipe::NoisyOr(NoisyOr { effect, pseudo_count, ..NoisyOr::default() })
            }
            Model::LeastSquares(_) => Recipe::LeastSquares(LeastSquares),
            // What is plain has no calibration.
            Model::Calibrated(model) => return Candidate::of_model(name, model.model()),
            Model::Fused(model) => {
                let part = |member: &Member| Part {
                    candidate: Candidate::of_model(&member.name, &member.model),
                    weight: member.weight,
                    calibration: match &member.model {
                        Model::Calibrated(model) => Some((model.calibration().clone(), model.typical_cells())),
                        _ => None,
                    },
                };
                Recipe::Fused(model.members().iter().map(part).collect())
            }
            Model::Generative(model) => {
                let fitted = model.blocks().iter().map(|one| &one.block);
                let plain = |block: &Block| Block { gaussianise: None, discretise: None, ..block.clone() };
                let mut learner = Generative::of_blocks(fitted.clone().map(plain).collect());
                learner = learner.gaussianise(fitted.clone().any(|block| block.gaussianise.is_some()));
                if let Some(block) = fitted.clone().find(|block| block.discretise.is_some()) {
                    learner = learner.discretise(blocks::binning(&block.family));
                }
                Recipe::Generative(learner)
            }
        };
        Candidate::new(name, recipe)
    }

    /// The learner, if one pass of statistics is all it needs.
    pub fn closed_form(&self, columns: &[Column]) -> Option<&Generative> {
        match &self.recipe {
            Recipe::Generative(learner) if learner.is_one_pass(columns) => Some(learner),
            _ => None,
        }
    }

    /// The sort of model, of which a fusion takes one: its kind, but mixtures apart from their plain models.
    pub(super) fn sort(&self) -> &str {
        match &self.recipe {
            Recipe::Generative(learner) if !learner.is_single() => "mixture",
            _ => &self.kind,
        }
    }

    /// What `fit` needs to be told so that its folds, `drawn` by number and seed, are those of the comparison:
    /// folds settle what is left open, and calibrations. Nothing where its defaults are these.
    pub(super) fn fold_options(&self, drawn: (usize, u64), calibrated: bool) -> String {
        let blocks = || match &self.recipe {
            Recipe::Generative(learner) => learner.blocks(),
            _ => &[],
        };
        let chooses_family = blocks().iter().any(|block| matches!(block.family, AnyFamily::Auto(_)));
        if !calibrated && !self.is_open() {
            return String::new();
        }
        // `fit` has 5 folds by default, and fewer where nothing but a family is chosen.
        let folds = if drawn.0 != 5 || chooses_family { format!(" --folds {}", drawn.0) } else { String::new() };
        let seed = if drawn.1 != 0 { format!(" --seed {}", drawn.1) } else { String::new() };
        folds + &seed
    }

    /// Whether folds settle something that is left open.
    pub(super) fn is_open(&self) -> bool {
        matches!(&self.recipe, Recipe::Generative(learner) if learner.blocks().iter().any(|b| b.family.is_open()))
    }

    /// Learns the model from rows; what is left open is settled by folds that are `drawn` by number and seed.
    pub(super) fn learn_by(&self, drawn: (usize, u64), engine: &dyn Engine) -> Result<Model> {
        match &self.recipe {
            Recipe::Generative(learner) if self.is_open() => {
                learner.clone().folds(drawn.0, drawn.1).learn(engine).map(Model::Generative)
            }
            _ => self.learn(engine),
        }
    }

    /// Learns the model from rows.
    pub fn learn(&self, engine: &dyn Engine) -> Result<Model> {
        match &self.recipe {
            Recipe::Generative(learner) => learner.learn(engine).map(Model::Generative),
            Recipe::Logistic(learner) => learner.learn(engine).map(Model::Logistic),
            Recipe::Additive(learner) => learner.learn(engine).map(Model::Additive),
            Recipe::NoisyOr(learner) => learner.learn(engine).map(Model::NoisyOr),
            Recipe::LeastSquares(learner) => learner.learn(engine).map(Model::LeastSquares),
            Recipe::Fused(parts) => {
                let member = |part: &Part| part.member(part.candidate.learn(engine)?);
                Ok(Model::Fused(FusedModel::new(parts.iter().map(member).collect::<Result<_>>()?)?))
            }
        }
    }
}

/// The blocks whose statistics serve all closed-form candidates.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The blocks, each only once.
    pub blocks: Vec<Block>,
    /// For each candidate where its blocks stand; `None` for candidates with passes of their own.
    pub places: Vec<Option<Vec<usize>>>,
}

impl Shared {
    /// What the candidates need together.
    pub fn new(candidates: &[Candidate], columns: &[Column]) -> Self {
        let mut shared = Shared::default();
        for candidate in candidates {
            let places = candidate.closed_form(columns).map(|learner| {
                let blocks = learner.blocks().iter();
                blocks.map(|block| shared.place(block)).collect()
            });
            shared.places.push(places);
        }
        shared
    }

    /// Where the statistic of a block stands, which is added if it is not there yet.
    fn place(&mut self, block: &Block) -> usize {
        let same = |known: &Block| known.columns == block.columns && same_statistic(&known.family, &block.family);
        match self.blocks.iter().position(same) {
            None => {
                self.blocks.push(block.clone());
                self.blocks.len() - 1
            }
            Some(place) => {
                // Of Gaussians the one that keeps covariances serves both.
                if matches!(&block.family, AnyFamily::Gaussian(family) if family.needs_full()) {
                    self.blocks[place] = block.clone();
                }
                place
            }
        }
    }
}

/// Whether the statistics of one family serve the other: they do not depend on pseudo-counts, nor on
/// what a Gaussian is fitted to.
fn same_statistic(a: &AnyFamily, b: &AnyFamily) -> bool {
    match (a, b) {
        (AnyFamily::Gaussian(_), AnyFamily::Gaussian(_)) => true,
        _ => a.clone().with_pseudo_count(1.0) == b.clone().with_pseudo_count(1.0),
    }
}
