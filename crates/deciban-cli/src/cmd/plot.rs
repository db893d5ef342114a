//! `deciban plot`: one figure of a model on rows whose class is known, as SVG or PNG.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use deciban::data::{Kind, Schema};
use deciban::explain::Order;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::{Error, Result};
use deciban_data::Files;
use deciban_plot::{Figure, Scene, Theme, chart};

use crate::args::{DecisionArgs, LlrArgs, LlrClassArgs, ReadArgs, open_for_model};
use crate::cmd::compare::split;
use crate::output::{self, Destination};
use crate::progress::Progress;
use deciban_tasks::figures::{self, Gathered, Plane, Use};
use deciban_tasks::ledger::{Between, Explaining};
use deciban_tasks::{Terms, find_class};

/// Draw a model on rows whose class is known, as SVG or PNG
#[derive(Args)]
#[command(after_help = "Examples:
  deciban plot wine.deciban wine.csv --kind densities -o densities.svg
  deciban plot wine.deciban wine.csv --kind regions --columns Alcohol,Hue -o regions.png
  deciban plot wine.deciban wine.csv --kind regions --columns Alcohol,Hue --prior Barolo=0.9 \\
      --costs 'Barbera>Barolo=10' --reject 0.2 -o regions.svg
  deciban plot spam.deciban test.csv --kind bayes-error --class spam > errors.svg
  deciban plot wine.deciban wine.csv --kind ledger --row 84 -o ledger.svg
  deciban plot tied.deciban logistic.deciban train.csv --kind learning-curve -o curves.svg
  deciban plot --llr score --target same_speaker scores.csv --kind det -o det.svg

Columns that a plane of two does not show are integrated out of a generative model; a logistic
model has them at their mean. ROC, DET, Bayes error and reliability are of --class; without it of
the second of two classes, or of each of more classes against the others. In regions, the prior and
costs given here decide. A learning curve learns models like those given, from parts of the rows.
With --llr no model is needed: a column holds log-likelihood ratios, from wherever they are.")]
pub struct Plot {
    /// A model file; with --llr the first table
    model: PathBuf,
    /// Tables: files, globs, or - for standard input; before them, for a learning curve, more models
    #[arg(required_unless_present = "llr", value_name = "DATA")]
    data: Vec<String>,
    /// What to draw
    #[arg(long, value_enum)]
    kind: PlotKind,
    /// The columns of densities (by default all, up to 12), or the two of regions and posteriors
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// The class of posteriors, curves and reliability
    #[arg(long)]
    class: Option<String>,
    /// ledger: the row, counted from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    row: u64,
    /// ledger: for the first class over the second, or for one over all others; by default the
    /// two most probable
    #[arg(long, value_name = "A[,B]", value_delimiter = ',', num_args = 1)]
    classes: Option<Vec<String>>,
    /// learning-curve: the folds whose rows judge
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..=1000))]
    folds: u64,
    /// The file, *.svg or *.png; by default SVG on standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<Destination>,
    /// Another title
    #[arg(long)]
    title: Option<String>,
    /// Pixels of a PNG for each unit of the drawing
    #[arg(long, default_value_t = 2.0, value_parser = scale)]
    scale: f64,
    /// Draw a PNG on dark paper; SVG follows the reader's scheme
    #[arg(long)]
    dark: bool,
    #[command(flatten)]
    llr: LlrArgs,
    #[command(flatten)]
    of_llr: LlrClassArgs,
    #[command(flatten)]
    decision: DecisionArgs,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum PlotKind {
    /// Histograms of columns with the fitted density of each class
    Densities,
    /// Scatter of two columns with ellipses and the regions of decisions
    Regions,
    /// The probability of a class over two columns
    Posterior,
    /// Heat map of true and decided classes
    Confusion,
    /// Hits against false alarms
    Roc,
    /// Misses against false alarms, on probit axes
    Det,
    /// Error rates over prior log-odds: actual, minimum, default
    BayesError,
    /// How often something is so against the probability said
    Reliability,
    /// What each feature of a row says, in decibans
    Ledger,
    /// Log loss and error rate over the rows to learn from
    LearningCurve,
}

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "give a number".to_string())?;
    if (0.1..=10.0).contains(&scale) { Ok(scale) } else { Err("give a number from 0.1 to 10".into()) }
}

/// What a file name asks for.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Png,
}

fn format(path: Option<&Path>) -> Result<Format> {
    let extension = path.map(|p| p.extension().unwrap_or_default().to_string_lossy().to_lowercase());
    match extension.as_deref() {
        None | Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        Some(_) => Err(Error::parameter("output", "give a file that ends in .svg or .png")),
    }
}

impl Plot {
    pub fn run(self) -> Result<()> {
        let format = format(self.output.as_ref().and_then(Destination::path))?;
        let inputs = || self.data.iter().map(Path::new).chain([self.model.as_path()]).chain(self.read.labels());
        self.output.iter().try_for_each(|output| output.check(inputs()))?;
        let scene = match self.kind {
            PlotKind::Ledger => self.ledger()?,
            PlotKind::LearningCurve => self.learning_curve()?,
            _ => self.of_rows()?,
        };
        let bytes = match format {
            Format::Svg => scene.svg().into_bytes(),
            Format::Png => scene.png(self.scale, if self.dark { Theme::Dark } else { Theme::Light }),
        };
        match &self.output {
            Some(path) => path.write(&bytes),
            None => output::bytes(&bytes),
        }
    }

    /// The model and its rows, with their classes if these are needed.
    fn open(&self, labelled: bool) -> Result<(Model, Files)> {
        if self.llr.is_given() {
            let tables = [&[self.model.display().to_string()], &self.data[..]].concat();
            let (target, positive) = (self.of_llr.target.as_deref(), self.of_llr.positive.as_deref());
            let (_, model, files) = self.llr.open_one(&tables, &self.read, target, positive)?;
            return Ok((model, files));
        }
        let model = Model::load(&self.model)?;
        let files = open_for_model(&self.data, &self.read, model.schema(), labelled)?;
        Ok((model, files))
    }

    /// What the features of one row say.
    fn ledger(&self) -> Result<Scene> {
        /// Features that are shown; the others are folded into one.
        const MOST: usize = 14;
        let (model, files) = self.open(false)?;
        let prior = self.decision.application()?.to_model(&model)?.prior;
        let names = self.classes.clone().or(self.class.clone().map(|class| vec![class]));
        let between = Between::named(names.as_deref(), model.schema(), "classes")?;
        let task = Explaining { model: &model, prior, between, order: Order::Average, rows: vec![self.row] };
        let mut found = None;
        files.map_in_order(
            |batch| task.explain(batch),
            |rows| {
                found = rows.into_iter().next().or(found.take());
                Ok(())
            },
        )?;
        let Some(row) = found else {
            return Err(Error::parameter("row", format!("there is no row {}", self.row)));
        };
        let lines: Vec<(String, f64)> =
            row.lines(MOST).into_iter().map(|l| (format!("{}  {}", l.name, l.value), l.decibans)).collect();
        let entries: Vec<(&str, f64)> = lines.iter().map(|(name, said)| (name.trim_end(), *said)).collect();
        let title = self.title.clone().unwrap_or_else(|| row.title());
        Ok(chart::ledger(&title, &entries).subtitle(&row.odds()).scene())
    }

    /// Models like those given, learned from parts of the rows.
    fn learning_curve(&self) -> Result<Scene> {
        if self.llr.is_given() {
            return Err(Error::parameter("llr", "log-likelihood ratios are not learned: give model files"));
        }
        let (more, data) = split(&self.data);
        if data.is_empty() {
            return Err(Error::Schema("give a table after the model files: rows to learn from".into()));
        }
        let paths = std::iter::once(self.model.display().to_string()).chain(more.iter().cloned());
        let models: Vec<(String, Model)> =
            paths.map(|path| Ok((path.clone(), Model::load(&path)?))).collect::<Result<_>>()?;
        let mut files = open_for_model(data, &self.read, models[0].1.schema(), true)?;
        files.make_rereadable()?;
        let _progress = Progress::watch(&mut files, "learning");
        figures::learning_curve(&models, &files, self.folds as usize, self.title.as_deref())
    }

    /// What the model makes of all rows.
    fn of_rows(&self) -> Result<Scene> {
        let (model, mut files) = self.open(true)?;
        let schema = model.schema();
        let columns = self.chosen(schema)?;
        let class = self.class.as_deref().map(|name| find_class(schema, name, "class")).transpose()?;
        let Terms { prior, costs, .. } = self.decision.application()?.to_model(&model)?;
        let used = Use { model: &model, prior: &prior, costs: &costs };
        let progress = Progress::watch(&mut files, "drawing");
        // A model without densities needs the mean of columns that are not shown.
        let kept = match (model.plain(), columns.is_empty()) {
            (Model::Generative(_), _) | (_, true) => columns.clone(),
            _ => (0..schema.columns().len()).collect(),
        };
        let gathered = figures::gather(&files, &used, &kept)?;
        drop(progress);
        self.draw(&gathered, &used, &columns, class)
    }

    fn draw(&self, gathered: &Gathered, used: &Use<'_>, columns: &[usize], class: Option<usize>) -> Result<Scene> {
        let titled = |figure: Figure| match &self.title {
            Some(title) => figure.title(title).scene(),
            None => figure.scene(),
        };
        let plane = || match columns {
            [x, y] => Plane::new(gathered, used, [*x, *y]),
            _ => Err(Error::parameter("columns", "give two columns: A,B")),
        };
        Ok(match self.kind {
            PlotKind::Densities => match columns {
                [one] => titled(figures::densities(gathered, used, *one)?),
                _ => figures::densities_of(gathered, used, columns, self.title.as_deref().unwrap_or("Densities"))?,
            },
            PlotKind::Regions => titled(figures::regions(gathered, used, &plane()?)?),
            PlotKind::Posterior => {
                let class = class.unwrap_or(used.prior.classes() - 1);
                titled(figures::posterior(gathered, used, &plane()?, class)?)
            }
            PlotKind::Confusion => titled(figures::confusion(gathered)),
            PlotKind::Roc => titled(figures::roc(gathered, used, class)?),
            PlotKind::Det => titled(figures::det(gathered, used, class)?),
            PlotKind::BayesError => figures::bayes_error(gathered, used, class, self.title.as_deref())?,
            PlotKind::Reliability => titled(figures::reliability(gathered, used, class)),
            // These are drawn without gathering rows.
            PlotKind::Ledger | PlotKind::LearningCurve => Figure::new("").scene(),
        })
    }

    /// The columns that the kind shows, by their numbers in the schema.
    fn chosen(&self, schema: &Schema) -> Result<Vec<usize>> {
        let find = |name: &String| {
            let known = || format!("the model has no column `{name}`: it has {}", schema.names().join(", "));
            let place = schema.columns().iter().position(|c| c.name == *name);
            place.ok_or_else(|| Error::parameter("columns", known()))
        };
        let given =
            self.columns.as_ref().map(|names| names.iter().map(find).collect::<Result<Vec<_>>>()).transpose()?;
        let drawable = |(c, column): (usize, &deciban::data::Column)| (column.kind != Kind::Text).then_some(c);
        let all = || schema.columns().iter().enumerate().filter_map(drawable);
        match (self.kind, given) {
            (PlotKind::Densities, Some(columns)) => Ok(columns),
            (PlotKind::Densities, None) => match all().take(12).collect::<Vec<_>>() {
                none if none.is_empty() => {
                    Err(Error::parameter("kind", "the model has texts alone, which have no densities"))
                }
                columns => Ok(columns),
            },
            (PlotKind::Regions | PlotKind::Posterior, given) => {
                let columns = given.unwrap_or_else(|| all().collect());
                match columns[..] {
                    [x, y] if x != y => Ok(columns),
                    _ => Err(Error::parameter("columns", "give two columns: A,B")),
                }
            }
            (_, Some(_)) => Err(Error::parameter("columns", "only densities, regions and posterior are of columns")),
            (_, None) => Ok(Vec::new()),
        }
    }
}
