//! `deciban page`: the page of a model as one file.

use std::path::PathBuf;

use clap::Args;
use deciban::Result;
use deciban::learn::Classifier;
use deciban::model::Model;

use crate::output::{Destination, note};

/// Write a page where people can try a model, as one HTML file that needs no server
#[derive(Args)]
#[command(after_help = "Examples:
  deciban page wine.deciban -o wine.html
  deciban page wine.deciban -o wine.html --name 'Three wines'

The file holds the numbers of the model and scores cases by itself: it can be mailed, and it works
from disk without a network. It takes what a search finds: fused and calibrated models, Gaussians,
naive Bayes, mixtures, trees, a1de, Parzen windows, linear, additive and k-dependence models.
`deciban serve` shows the same page for every model.")]
pub struct Page {
    /// A model file
    model: PathBuf,
    /// The HTML file to write; by default the name of the model with the ending .html
    #[arg(short, long, value_name = "FILE")]
    output: Option<Destination>,
    /// The title of the page; by default the name of the model file
    #[arg(long)]
    name: Option<String>,
}

/// Files of more bytes open slowly.
const LARGE: usize = 20 << 20;

impl Page {
    pub fn run(self) -> Result<()> {
        let html = || self.model.with_extension("html").into_os_string().into();
        let output: Destination = self.output.clone().unwrap_or_else(html);
        output.check([&self.model])?;
        let model = Model::load(&self.model)?;
        let stem = || self.model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = self.name.clone().unwrap_or_else(stem);
        let html = deciban_serve::self_contained(&model, &name)?;
        output.write(html.as_bytes())?;
        let schema = model.schema();
        let (columns, classes) = (schema.columns().len(), schema.classes().len());
        note!("{output}: a page of {columns} columns and {classes} classes");
        if html.len() > LARGE {
            let size = html.len() >> 20;
            note!("The file has {size} MB, which browsers open slowly: `deciban serve` shows the same page.");
        }
        Ok(())
    }
}
