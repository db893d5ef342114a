//! The generative models by their names.

use super::options::{BINS, COMPLEMENT, EM, FOLDS, GAUSSIAN, IMAGES, LEVELS, MIXED, Named, PSEUDO_COUNT, TEXTS, WORDS};
use super::{Block, Count, Generative, GenerativeModel, Group, NaiveBayes, Options, Seen, Statistics, blocks};
use crate::data::{Column, Profile};
use crate::error::{Error, Result};
use crate::family::counts::Unseen;
use crate::family::histogram::Histogram;
use crate::family::{AnyFamily, Family};
use crate::transform::Binning;

/// The model of blocks of these families: the family, if all have it and it is a model, or naive Bayes.
pub fn model_of<'a>(blocks: impl Iterator<Item = &'a Block> + Clone) -> &'static str {
    let mut models = Generative::MODELS.iter().map(|(name, _)| *name);
    models.find(|name| blocks.clone().all(|block| block.family.name() == *name)).unwrap_or("naive-bayes")
}

impl Named for Generative {
    const MODELS: &'static [(&'static str, &'static [Group])] = &[
        ("gaussian", &[GAUSSIAN, IMAGES, FOLDS, EM]),
        ("naive-bayes", &[GAUSSIAN, FOLDS, PSEUDO_COUNT, LEVELS, MIXED, BINS, WORDS, COMPLEMENT, TEXTS, EM]),
        ("bernoulli", &[FOLDS, PSEUDO_COUNT, WORDS, TEXTS, EM]),
        ("multinomial", &[FOLDS, PSEUDO_COUNT, WORDS, COMPLEMENT, TEXTS, EM]),
        ("table", &[FOLDS, PSEUDO_COUNT, LEVELS, BINS, EM]),
        ("tree", &[FOLDS, PSEUDO_COUNT, LEVELS, BINS, EM]),
        ("a1de", &[FOLDS, PSEUDO_COUNT, LEVELS, BINS, EM]),
        ("parzen", &[FOLDS]),
    ];
    const SETTLES: bool = true;

    fn of_options(model: &str, options: &Options, columns: &[Column], seen: Seen<'_>) -> Result<Self> {
        options.gaussian().check()?;
        if !(options.pseudo_count >= 0.0 && options.pseudo_count.is_finite()) {
            return Err(Error::parameter("pseudo_count", "give a number of 0 or more"));
        }
        let learner = match model {
            "gaussian" => {
                let learner = Generative::gaussian(columns, options.gaussian())?.gaussianise(options.gaussianise);
                if options.deskew { learner.deskew()? } else { learner }
            }
            "naive-bayes" => {
                let mut bayes = options.naive_bayes(columns)?;
                match seen {
                    Seen::Rows(profiles) => drop(bayes.settle(columns, profiles)),
                    Seen::Blocks(blocks) => bayes.follow(blocks, columns),
                }
                let mut blocks = bayes.blocks(columns)?;
                blocks.iter_mut().for_each(|block| options.finish(&mut block.family));
                Generative::of_blocks(blocks).gaussianise(options.gaussianise)
            }
            "bernoulli" | "multinomial" => Generative::of_blocks(blocks::counted(columns, &options.named(model)?)?),
            "parzen" => Generative::of_blocks(blocks::numbers(columns, &options.named(model)?)?),
            "table" | "tree" | "a1de" => {
                let cuts = options.cuts(columns)?;
                if matches!(seen, Seen::Blocks(_)) && !cuts.is_empty() {
                    let message = format!("the statistics files of {model} have their bins settled: drop the option");
                    return Err(Error::parameter("bins", message));
                }
                let family = options.named(model)?;
                let learner = Generative::of_blocks(blocks::together(columns, &family)?);
                learner.discretise(blocks::binning(&family)).cuts(cuts)?
            }
            _ => return Err(Error::parameter("model", format!("`{model}` is not a generative model"))),
        };
        let mut learner = learner.components(options.components)?.unlabelled(options.unlabelled_weight)?;
        if let Some(iterations) = options.iterations {
            learner = learner.iterations(iterations);
        }
        Ok(learner.folds(options.open_folds()?, options.seed))
    }

    fn model(&self) -> &'static str {
        model_of(self.blocks().iter())
    }

    /// Cuts and maps of numbers are found anew.
    fn of_model(model: &GenerativeModel) -> Self {
        let fitted = model.blocks().iter().map(|one| &one.block);
        let plain = |block: &Block| Block { gaussianise: None, discretise: None, ..block.clone() };
        let mut learner = Generative::of_blocks(fitted.clone().map(plain).collect());
        learner = learner.gaussianise(fitted.clone().any(|block| block.gaussianise.is_some()));
        if let Some(block) = fitted.clone().find(|block| block.discretise.is_some()) {
            learner = learner.discretise(blocks::binning(&block.family));
        }
        // Classes with too few rows have fewer components than were asked for.
        let components = model.components();
        let most = (0..components.classes()).map(|class| components.of_class(class).len()).max();
        learner.components = Count::Fixed(most.unwrap_or(1));
        learner
    }

    fn statistics_of(model: &str) -> Option<&str> {
        Some(model)
    }

    fn of_statistics(&self, statistics: &Statistics) -> Result<GenerativeModel> {
        self.fit(statistics)
    }
}

impl Options {
    /// The numbers that a model takes for histograms since no Gaussian describes them.
    pub fn spiked(&self, model: &str, columns: &[Column], profiles: &[Profile]) -> Result<Vec<usize>> {
        match model {
            "naive-bayes" => Ok(self.naive_bayes(columns)?.settle(columns, profiles)),
            _ => Ok(Vec::new()),
        }
    }

    fn named(&self, name: &str) -> Result<AnyFamily> {
        let mut family = AnyFamily::named(name)?.with_pseudo_count(self.pseudo_count);
        self.finish(&mut family);
        Ok(family)
    }

    /// Puts the options that only some families have.
    fn finish(&self, family: &mut AnyFamily) {
        let unseen = if self.refuse_unseen { Unseen::Error } else { Unseen::Share };
        match family {
            AnyFamily::Categorical(family) => family.unseen = unseen,
            AnyFamily::Table(family) => family.unseen = unseen,
            AnyFamily::Tree(family) => family.unseen = unseen,
            AnyFamily::A1de(family) => family.unseen = unseen,
            AnyFamily::Bernoulli(family) => (family.min_count, family.vocabulary) = (self.min_count, self.vocabulary),
            AnyFamily::Multinomial(family) => {
                (family.min_count, family.vocabulary) = (self.min_count, self.vocabulary);
                family.complement = self.complement;
            }
            _ => {}
        }
    }

    /// The given cuts of numbers, which must be columns.
    fn cuts(&self, columns: &[Column]) -> Result<Vec<(String, Vec<f64>)>> {
        for (name, _) in &self.bins {
            let message = match columns.iter().find(|column| column.name == *name) {
                None => format!("there is no column `{name}`"),
                Some(column) if !column.is_numeric() => format!("column `{name}` does not hold numbers"),
                Some(_) => continue,
            };
            return Err(Error::parameter("bins", message));
        }
        Ok(self.bins.clone())
    }

    fn naive_bayes(&self, columns: &[Column]) -> Result<NaiveBayes> {
        let (mut families, mut every) = (Vec::new(), None);
        for (column, family) in &self.family {
            match column {
                Some(column) => families.push((column.clone(), AnyFamily::named(family)?)),
                None => every = Some(AnyFamily::named(family)?),
            }
        }
        for (column, cuts) in self.cuts(columns)? {
            families.retain(|(name, _)| *name != column);
            let bins = Binning::Cuts(vec![cuts]);
            families.push((column, AnyFamily::Histogram(Histogram { bins, ..Histogram::default() })));
        }
        let (pseudo_count, joint_numbers) = (self.pseudo_count, self.joint_numbers);
        let mut bayes = NaiveBayes { gaussian: self.gaussian(), joint_numbers, pseudo_count, families };
        every.iter().for_each(|family| bayes.every_number(columns, family));
        Ok(bayes)
    }
}
