//! Log-likelihood ratios from elsewhere: columns of a table instead of models.

use clap::Args;
use deciban::data::{Batch, Kind};
use deciban::evidence::DECIBANS_PER_NAT;
use deciban::learn::Llr;
use deciban::model::Model;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use deciban_data::{Files, Options};
use deciban_tasks::find_class;

use super::{ReadArgs, one_of};

/// Log-likelihood ratios from elsewhere.
#[derive(Args)]
#[command(next_help_heading = "Without a model")]
pub struct LlrArgs {
    /// A column of log-likelihood ratios, for the positive class over the other one; where several systems are
    /// asked for, repeat the option
    #[arg(long, value_name = "COLUMN", requires = "target")]
    llr: Vec<String>,
    /// Their unit
    #[arg(long, value_parser = one_of(&UNITS), default_value = "nats")]
    unit: f64,
}

/// The classes of log-likelihood ratios.
#[derive(Args)]
#[command(next_help_heading = "Without a model")]
pub struct LlrClassArgs {
    /// The column of the classes, two of them
    #[arg(long, short, value_name = "COLUMN", requires = "llr")]
    pub target: Option<String>,
    /// The class that the log-likelihood ratios are for; by default the second
    #[arg(long, value_name = "CLASS", requires = "llr")]
    pub positive: Option<String>,
}

/// Units of LLRs, in nats.
const UNITS: [(&str, f64); 4] = [
    ("nats", 1.0),
    ("decibans", 1.0 / DECIBANS_PER_NAT),
    ("log10", std::f64::consts::LN_10),
    ("bits", std::f64::consts::LN_2),
];

impl LlrArgs {
    /// Whether LLRs are given.
    pub fn is_given(&self) -> bool {
        !self.llr.is_empty()
    }

    /// The single column as a model, its labelled rows, and what it is called.
    pub fn open_one(
        &self,
        paths: &[String],
        read: &ReadArgs,
        target: Option<&str>,
        positive: Option<&str>,
    ) -> Result<(String, Model, Files)> {
        let (mut models, files) = self.open(paths, read, target, positive)?;
        match (models.pop(), models.is_empty()) {
            (Some((name, model)), true) => Ok((name, model, files)),
            _ => Err(Error::parameter("llr", "give one column: several are for `compare` and `fuse`")),
        }
    }

    /// Each column as a model, with its name, and their labelled rows. The second class of the models is the positive
    /// one, and their prior is that of the rows.
    pub fn open(
        &self,
        paths: &[String],
        read: &ReadArgs,
        target: Option<&str>,
        positive: Option<&str>,
    ) -> Result<(Vec<(String, Model)>, Files)> {
        let options = || Options {
            columns: Some(self.llr.clone()),
            kinds: self.llr.iter().map(|column| (column.clone(), Kind::Number)).collect(),
            ..read.options(target)
        };
        // Which classes there are, and how often, is known after a first run.
        let mut files = Files::open(paths, options())?;
        files.make_rereadable()?;
        let mut weights: Vec<f64> = Vec::new();
        files.map_in_order(
            |batch| Ok(class_weights(batch)),
            |part| {
                weights.resize(weights.len().max(part.len()), 0.0);
                weights.iter_mut().zip(&part).for_each(|(a, b)| *a += b);
                Ok(())
            },
        )?;
        let schema = files.schema()?;
        let [a, b] = schema.classes() else {
            let (target, classes) = (schema.target(), schema.classes().len());
            return Err(Error::parameter("target", format!("LLRs are of two classes, and `{target}` has {classes}")));
        };
        // The second by name, unless one is named.
        let positive = match positive {
            Some(name) => find_class(&schema, name, "positive")?,
            None => usize::from(b > a),
        };
        let shares = Prior::from_weights(&[weights[1 - positive], weights[positive]])?;
        let classes = vec![schema.classes()[1 - positive].clone(), schema.classes()[positive].clone()];
        let schema = schema.with_classes(classes)?;
        let model = |name: &String| {
            // The columns are those that were asked for.
            let column = schema.names().iter().position(|known| known == name).unwrap_or(0);
            let model = Llr { column, unit: self.unit }.of_table(schema.clone(), shares.clone())?;
            Ok((name.clone(), Model::Llr(model)))
        };
        let models = self.llr.iter().map(model).collect::<Result<_>>()?;
        let mut files = Files::open_as(paths, options(), &schema)?;
        files.make_rereadable()?;
        Ok((models, files))
    }
}

/// The weight of each class in a batch.
fn class_weights(batch: &Batch<'_>) -> Vec<f64> {
    let labels = batch.labels().unwrap_or(&[]);
    let mut weights = vec![0.0; labels.iter().max().map_or(0, |most| *most as usize + 1)];
    for (i, &class) in labels.iter().enumerate() {
        weights[class as usize] += batch.row_weights().map_or(1.0, |w| w[i]);
    }
    weights
}
