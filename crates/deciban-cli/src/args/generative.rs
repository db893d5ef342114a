//! The hyper-parameters of generative models, and the learner they make.

use clap::Args;
use deciban::data::{Column, Profile};
use deciban::family::counts::Unseen;
use deciban::family::histogram::Histogram;
use deciban::family::{AnyFamily, Family};
use deciban::learn::{Block, Generative, NaiveBayes, blocks};
use deciban::transform::Binning;
use deciban::{Error, Result};

use super::gaussian::GaussianArgs;

/// The hyper-parameters of discrete and mixed models.
#[derive(Args)]
#[command(next_help_heading = "Discrete and mixed")]
pub struct GenerativeArgs {
    /// Rows that the prior adds to every level, word or bin; 0 is maximum likelihood
    #[arg(long, value_name = "A", default_value_t = 1.0)]
    pseudo_count: f64,
    /// Refuse rows with a level that was not there at fit, instead of giving it the pseudo-count's share
    #[arg(long)]
    refuse_unseen: bool,
    /// naive-bayes: one Gaussian of all numbers with --covariance, instead of one per column
    #[arg(long)]
    joint_numbers: bool,
    /// naive-bayes: another family for a column, or for all numbers: gamma, log-normal, histogram, auto, ...
    #[arg(long, value_name = "[COLUMN=]FAMILY", value_delimiter = ',')]
    family: Vec<String>,
    /// naive-bayes, table, tree: cut points of a number, as COLUMN=400,800,1200; otherwise they are found
    #[arg(long, value_name = "COLUMN=CUTS")]
    bins: Vec<String>,
    /// Leave out words that occur in fewer rows; 0 keeps also those that no row has
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    min_count: f64,
    /// Keep the N most frequent words only
    #[arg(long, value_name = "N")]
    vocabulary: Option<usize>,
    /// multinomial: weights from the other classes' words (complement naive Bayes; not a density)
    #[arg(long)]
    complement: bool,
    #[command(flatten)]
    gaussian: GaussianArgs,
}

/// The models that are fitted from statistics.
pub const GENERATIVE: [&str; 6] = ["gaussian", "naive-bayes", "bernoulli", "multinomial", "table", "tree"];

/// What is known of the columns besides their kinds.
pub enum Seen<'a> {
    /// What the first rows say.
    Rows(&'a [Profile]),
    /// The blocks that statistics were made of.
    Blocks(&'a [Block]),
}

impl GenerativeArgs {
    /// The seed of everything random.
    pub fn seed(&self) -> u64 {
        self.gaussian.seed()
    }

    /// The generative learner for a model's name.
    pub fn learner(&self, model: &str, columns: &[Column], seen: Seen<'_>) -> Result<Generative> {
        let gaussian = &self.gaussian;
        gaussian.family().check()?;
        if !(self.pseudo_count >= 0.0 && self.pseudo_count.is_finite()) {
            return Err(Error::parameter("--pseudo-count", "give a number of 0 or more"));
        }
        let learner = match model {
            "gaussian" => Generative::gaussian(columns, gaussian.family())?.gaussianise(gaussian.gaussianise()),
            "naive-bayes" => {
                let mut bayes = self.naive_bayes(columns)?;
                match seen {
                    Seen::Rows(profiles) => drop(bayes.settle(columns, profiles)),
                    Seen::Blocks(blocks) => bayes.follow(blocks, columns),
                }
                let mut blocks = bayes.blocks(columns)?;
                blocks.iter_mut().for_each(|block| self.finish(&mut block.family));
                Generative::of_blocks(blocks).gaussianise(gaussian.gaussianise())
            }
            "bernoulli" | "multinomial" => Generative::of_blocks(blocks::counted(columns, &self.named(model)?)?),
            _ => {
                let cuts = self.cuts(columns)?;
                if matches!(seen, Seen::Blocks(_)) && !cuts.is_empty() {
                    let message = format!("the statistics files of a {model} have their bins settled: drop the option");
                    return Err(Error::parameter("--bins", message));
                }
                let learner = Generative::of_blocks(blocks::together(columns, &self.named(model)?)?);
                learner.discretise(Binning::Mdl).cuts(cuts)?
            }
        };
        Ok(learner.folds(gaussian.folds()?, gaussian.seed()))
    }

    /// The numbers that a model takes for histograms since no Gaussian describes them.
    pub fn spiked(&self, model: &str, columns: &[Column], profiles: &[Profile]) -> Result<Vec<usize>> {
        match model {
            "naive-bayes" => Ok(self.naive_bayes(columns)?.settle(columns, profiles)),
            _ => Ok(Vec::new()),
        }
    }

    /// A of models that have pseudo-counts and are not generative.
    pub fn pseudo_count(&self) -> f64 {
        self.pseudo_count
    }

    /// The model whose options are given, if any are.
    pub fn names_model(&self) -> Result<Option<&'static str>> {
        let naive = self.joint_numbers || !self.family.is_empty() || !self.bins.is_empty();
        let shared =
            self.pseudo_count != 1.0 || self.refuse_unseen || self.min_count != 1.0 || self.vocabulary.is_some();
        match (naive, self.complement, self.gaussian.is_given(), shared) {
            (true, ..) => Ok(Some("naive-bayes")),
            (_, true, ..) => Ok(Some("multinomial")),
            (_, _, true, _) => Ok(Some("gaussian")),
            (_, _, _, true) => {
                let message = "say what it is for: --model naive-bayes, bernoulli, multinomial, table or tree";
                Err(Error::parameter("--pseudo-count, --refuse-unseen, --min-count, --vocabulary", message))
            }
            _ => Ok(None),
        }
    }

    /// The folds by which `--model auto` compares.
    pub fn auto_folds(&self) -> Result<usize> {
        match self.gaussian.given_folds() {
            Some(1) => Err(Error::parameter("--folds", "auto needs at least 2 folds")),
            folds => Ok(folds.unwrap_or(5)),
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
            AnyFamily::Bernoulli(family) => (family.min_count, family.vocabulary) = (self.min_count, self.vocabulary),
            AnyFamily::Multinomial(family) => {
                (family.min_count, family.vocabulary) = (self.min_count, self.vocabulary);
                family.complement = self.complement;
            }
            _ => {}
        }
    }

    /// The given cuts of numbers, by name.
    fn cuts(&self, columns: &[Column]) -> Result<Vec<(String, Vec<f64>)>> {
        let refuse = |message: String| Err(Error::parameter("--bins", message));
        let mut all = Vec::new();
        for pair in &self.bins {
            let usage = || Error::parameter("--bins", format!("`{pair}` is not of the form COLUMN=400,800,1200"));
            let (name, cuts) = pair.rsplit_once('=').ok_or_else(usage)?;
            let cuts = cuts.split(',').map(|x| x.trim().parse().map_err(|_| usage())).collect::<Result<_>>()?;
            match columns.iter().find(|column| column.name == name) {
                None => return refuse(format!("there is no column `{name}`")),
                Some(column) if !column.is_numeric() => {
                    return refuse(format!("column `{name}` does not hold numbers"));
                }
                Some(_) => all.push((name.to_string(), cuts)),
            }
        }
        Ok(all)
    }

    fn naive_bayes(&self, columns: &[Column]) -> Result<NaiveBayes> {
        let (mut families, mut every) = (Vec::new(), None);
        for pair in &self.family {
            match pair.rsplit_once('=') {
                Some((column, family)) => families.push((column.to_string(), AnyFamily::named(family)?)),
                None => every = Some(AnyFamily::named(pair)?),
            }
        }
        for (column, cuts) in self.cuts(columns)? {
            families.retain(|(name, _)| *name != column);
            let bins = Binning::Cuts(vec![cuts]);
            families.push((column, AnyFamily::Histogram(Histogram { bins, ..Histogram::default() })));
        }
        let (pseudo_count, joint_numbers) = (self.pseudo_count, self.joint_numbers);
        let mut bayes = NaiveBayes { gaussian: self.gaussian.family(), joint_numbers, pseudo_count, families };
        every.iter().for_each(|family| bayes.every_number(columns, family));
        Ok(bayes)
    }
}
