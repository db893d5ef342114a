//! The hyper-parameters of generative models.

use clap::Args;
use deciban::learn::{Count, Options};
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
    /// naive-bayes: another family for a column, or for all numbers: gamma, log-normal, beta, negative-binomial,
    /// histogram, auto, ...
    #[arg(long, value_name = "[COLUMN=]FAMILY", value_delimiter = ',')]
    family: Vec<String>,
    /// naive-bayes, table, tree, a1de: cut points of a number, as COLUMN=400,800,1200; otherwise they are found
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
    /// Several components in each class, each with a shape of its own (a mixture): a number, or auto for the
    /// number that held-out rows like best
    #[arg(long, value_name = "N", default_value_t)]
    components: Count,
    /// Learn from rows without a label too, each as much as W labelled ones
    #[arg(long, value_name = "W", default_value_t = 0.0)]
    unlabelled_weight: f64,
    /// The most steps of expectation–maximisation; 300 by default
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    #[command(flatten)]
    gaussian: GaussianArgs,
}

impl GenerativeArgs {
    /// The options.
    pub fn options(&self) -> Result<Options> {
        Ok(Options {
            pseudo_count: self.pseudo_count,
            refuse_unseen: self.refuse_unseen,
            joint_numbers: self.joint_numbers,
            family: self.families(),
            bins: self.cuts()?,
            min_count: self.min_count,
            vocabulary: self.vocabulary,
            complement: self.complement,
            components: self.components,
            unlabelled_weight: self.unlabelled_weight,
            iterations: self.iterations,
            ..self.gaussian.options()
        })
    }

    fn families(&self) -> Vec<(Option<String>, String)> {
        let pair = |pair: &String| match pair.rsplit_once('=') {
            Some((column, family)) => (Some(column.to_string()), family.to_string()),
            None => (None, pair.clone()),
        };
        self.family.iter().map(pair).collect()
    }

    fn cuts(&self) -> Result<Vec<(String, Vec<f64>)>> {
        let pair = |pair: &String| {
            let usage = || Error::parameter("bins", format!("`{pair}` is not of the form COLUMN=400,800,1200"));
            let (name, cuts) = pair.rsplit_once('=').ok_or_else(usage)?;
            let cuts = cuts.split(',').map(|x| x.trim().parse().map_err(|_| usage())).collect::<Result<_>>()?;
            Ok((name.to_string(), cuts))
        };
        self.bins.iter().map(pair).collect()
    }
}
