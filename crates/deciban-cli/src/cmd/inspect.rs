//! `deciban inspect`: the parameters of a model, written out.

use std::path::PathBuf;

use clap::Args;
use deciban::expected::{Sampling, expected};
use deciban::file::Archive;
use deciban::learn::Statistics;
use deciban::model::Model;
use deciban::{Error, Result};
use deciban_tasks::Terms;
use deciban_tasks::describe::{self, Description, equivalent};
use serde_json::{Value, json};

use crate::args::DecisionArgs;
use crate::output::say;

/// Show what a model file holds: means, covariances, and the classifier written out; of a statistics file the rows of
/// each class
#[derive(Args)]
#[command(after_help = "Examples:
  deciban inspect wine.deciban
  deciban inspect wine.deciban --forms
  deciban inspect wine.deciban --versus Barolo,Barbera
  deciban inspect wine.deciban --as logistic
  deciban inspect wine.deciban --risk --prior uniform --costs 'Barolo>Barbera=5'
  deciban inspect wine.deciban --json

--forms writes the classifier out in the units of the data: for a tied covariance the linear
w·x + w0 and the softmax weights of each class, otherwise the quadratic x'Ax + b'x + c of each
pair of classes, log-likelihood ratios in nats.")]
pub struct Inspect {
    /// A model or statistics file
    file: PathBuf,
    /// Write the classifier out as linear or quadratic forms
    #[arg(long)]
    forms: bool,
    /// Write out the log-likelihood ratio of two classes
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    versus: Option<Vec<String>>,
    /// Write a generative model out as the logistic or softmax model that has the same posteriors
    #[arg(long = "as", value_name = "MODEL", value_parser = ["logistic"], conflicts_with_all = ["forms", "versus"])]
    other: Option<String>,
    /// The confidence of the intervals of a linear model's weights
    #[arg(long, value_name = "P", default_value_t = describe::CONFIDENCE)]
    confidence: f64,
    /// What error and cost the model itself expects, under a prior and costs
    #[arg(long, conflicts_with_all = ["forms", "versus", "other"])]
    risk: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    decision: DecisionArgs,
}

impl Inspect {
    pub fn run(self) -> Result<()> {
        if self.decision.is_given() && !self.risk {
            return Err(Error::Usage("§prior, §costs and §reject go with §risk".into()));
        }
        if Archive::kind_of(&self.file).as_deref() == Some("statistics") {
            let statistics = Statistics::load(&self.file)?;
            match self.json {
                true => say!("{:#}", statistics_json(&statistics)),
                false => say!("{}", describe::statistics(&self.file.display().to_string(), &statistics).trim_end()),
            }
            return Ok(());
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::parameter("confidence", "give a probability between 0 and 1, as 0.95"));
        }
        let model = Model::load(&self.file)?;
        if self.risk {
            return self.expected(&model);
        }
        if self.other.is_some() {
            return self.as_logistic(model.plain());
        }
        let description = Description { model: &model, confidence: self.confidence };
        if self.json {
            say!("{:#}", description.json()?);
            return Ok(());
        }
        let text = match (self.versus.as_deref(), self.forms) {
            (Some([a, b]), _) => description.versus(a, b)?,
            (Some(_), _) => return Err(Error::parameter("versus", "give two classes: A,B")),
            (None, true) => description.forms()?,
            (None, false) => description.text(),
        };
        say!("{}", text.trim_end());
        Ok(())
    }

    fn expected(&self, model: &Model) -> Result<()> {
        let Terms { prior, costs, .. } = self.decision.application()?.to_model(model)?;
        let found = expected(model, &prior, &costs, Sampling::default())?;
        match self.json {
            true => say!("{:#}", json!(found)),
            false => say!("{}", describe::expectation(&found).trim_end()),
        }
        Ok(())
    }

    fn as_logistic(&self, model: &Model) -> Result<()> {
        let Model::Generative(model) = model else {
            return Err(Error::parameter("as", "only a generative model has another form; this one is what it is"));
        };
        let equivalent = model.log_linear()?;
        match self.json {
            true => say!("{:#}", equivalent::equivalent_json(model, &equivalent)),
            false => say!("{}", equivalent::equivalent(model, &equivalent).trim_end()),
        }
        Ok(())
    }
}

fn statistics_json(statistics: &Statistics) -> Value {
    json!({
        "target": statistics.schema().target(),
        "columns": statistics.schema().names(),
        "classes": statistics.schema().classes(),
        "rows": statistics.summary().rows(),
        "weights": statistics.summary().weights(),
        "folds": statistics.summary().folds(),
    })
}
