//! Which model takes which options, and what they make of a model's name.

use super::learners;
use crate::error::{Error, Result};
use crate::learn::options::{FOLDS, LEVELS, PSEUDO_COUNT, SEARCH, WORDS};
use crate::learn::{Group, Options};

/// A search for the best model.
pub const AUTO: &str = "auto";

/// Several models together: what a search makes of the best of each kind.
pub const FUSED: &str = "fused";

/// Of several models that take the given options, the first of these.
const CHOSEN: [&str; 6] = ["gaussian", "multinomial", "naive-bayes", "logistic", "additive", "noisy-or"];

/// The models by name, each with the options that it takes; options in no group are for all models.
pub fn models() -> Vec<(&'static str, &'static [Group])> {
    let mut all: Vec<(&'static str, &'static [Group])> = vec![(AUTO, &[SEARCH])];
    all.extend(learners().flatten());
    all.push((FUSED, &[SEARCH, FOLDS]));
    all
}

/// The models that take an option which not all take.
pub fn takers(option: &str) -> Vec<&'static str> {
    let takes = |groups: &[Group]| groups.iter().any(|group| group.contains(&option));
    models().into_iter().filter(|(_, groups)| takes(groups)).map(|(model, _)| model).collect()
}

impl Options {
    /// The model whose options are given, if any are that not all models take.
    pub fn names_model(&self) -> Result<Option<&'static str>> {
        // Any search has folds and a seed, too.
        let search = |option: &str| FOLDS.contains(&option) || SEARCH.contains(&option);
        let given: Vec<String> = self.given().into_iter().filter(|o| !takers(o).is_empty() && !search(o)).collect();
        if given.is_empty() {
            return Ok(None);
        }
        let marked = || given.iter().map(|option| format!("§{option}")).collect::<Vec<_>>().join(", ");
        let able: Vec<&str> =
            models().into_iter().map(|(model, _)| model).filter(|m| self.refusal(m).is_none()).collect();
        let able: Vec<&str> = able.into_iter().filter(|model| ![FUSED, AUTO].contains(model)).collect();
        let shared = [PSEUDO_COUNT, LEVELS, WORDS].concat();
        match CHOSEN.into_iter().find(|model| able.contains(model)) {
            _ if able.is_empty() => {
                Err(Error::Usage(format!("no model takes all of {}: drop one, or give §model", marked())))
            }
            _ if given.iter().all(|option| shared.contains(&option.as_str())) => {
                Err(Error::Usage(format!("{}: say for which §model: {}", marked(), able.join(", "))))
            }
            model => Ok(model),
        }
    }

    /// An error if an option is given that the model does not take: none is ignored.
    pub fn check(&self, model: &str) -> Result<()> {
        match self.refusal(model) {
            Some(message) => Err(Error::Usage(message)),
            None => Ok(()),
        }
    }

    /// Why the model does not take these options.
    fn refusal(&self, model: &str) -> Option<String> {
        let given = self.given();
        let foreign = given.iter().find(|option| {
            let takers = takers(option);
            !takers.is_empty() && !takers.contains(&model)
        });
        if let Some(option) = foreign {
            let takers = takers(option).join(", ");
            return Some(format!("§{option} is not an option of §model={model}, but of {takers}"));
        }
        // Naive Bayes takes numbers one by one, unless it has joint numbers.
        match self.covariance {
            Some(structure) if structure.is_full() && model == "naive-bayes" && !self.joint_numbers => {
                Some("§covariance is of all numbers together: give §joint_numbers with it, or §model=gaussian".into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use crate::family::gaussian::{Estimator, Structure};
    use crate::learn::Seen;

    #[test]
    fn options_choose_their_model() {
        let named = |options: Options| options.names_model().unwrap();
        assert_eq!(named(Options::default()), None);
        assert_eq!(named(Options { pca: Some(2), ..Options::default() }), Some("gaussian"));
        assert_eq!(named(Options { covariance: Some(Structure::Full), ..Options::default() }), Some("gaussian"));
        assert_eq!(named(Options { joint_numbers: true, pca: Some(2), ..Options::default() }), Some("naive-bayes"));
        assert_eq!(named(Options { weight_decay: Some(1.0), ..Options::default() }), Some("logistic"));
        assert_eq!(named(Options { effect: Some("yes".into()), ..Options::default() }), Some("noisy-or"));
        assert_eq!(named(Options { complement: true, ..Options::default() }), Some("multinomial"));
        assert!(Options { pseudo_count: 0.5, ..Options::default() }.names_model().is_err());
    }

    #[test]
    fn no_option_is_ignored() {
        let refused = |options: &Options, model: &str| options.check(model).unwrap_err().to_string();
        let tied = Options { covariance: Some(Structure::Tied), ..Options::default() };
        let both = Options { weight_decay: Some(2.0), ..tied.clone() };
        assert_eq!(
            both.names_model().unwrap_err().to_string(),
            "no model takes all of covariance, weight_decay: drop one, or give model"
        );
        assert!(Options { pseudo_count: 2.0, ..tied.clone() }.names_model().is_err());
        assert!(refused(&tied, "naive-bayes").starts_with("covariance is of all numbers together"));
        assert!(Options { joint_numbers: true, ..tied.clone() }.check("naive-bayes").is_ok());
        assert_eq!(
            refused(&tied, "logistic"),
            "covariance is not an option of model=logistic, but of gaussian, naive-bayes"
        );
        for options in [
            Options { pseudo_count: 2.0, ..Options::default() },
            Options { estimator: Estimator::Unbiased, ..Options::default() },
            Options { pca: Some(2), ..Options::default() },
            tied,
        ] {
            assert!(options.check_shaping().is_err());
        }
        let shaped = Options { covariance: Some(Structure::Diagonal), folds: Some(5), ..Options::default() };
        assert!(shaped.check_shaping().is_ok());
    }

    #[test]
    fn every_model_makes_a_recipe_and_others_are_refused() {
        let columns = [Column::number("a"), Column::number("b")];
        for (model, _) in models().into_iter().filter(|(model, _)| ![FUSED, AUTO].contains(model)) {
            assert!(Options::default().recipe(model, &columns, Seen::Rows(&[])).is_ok(), "{model}");
        }
        let error = Options::default().recipe("gausian", &columns, Seen::Rows(&[])).unwrap_err().to_string();
        assert!(error.starts_with("model: there is no `gausian`, only auto, gaussian, naive-bayes"), "{error}");
        assert_eq!(takers("effect"), ["noisy-or"]);
    }
}
