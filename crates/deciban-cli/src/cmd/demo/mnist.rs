//! Sixteen classifiers of handwritten digits, all fitted from one pass over the training images.

use std::path::{Path, PathBuf};
use std::time::Instant;

use deciban::decision::Costs;
use deciban::evaluate::Evaluation;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::learn::{Classifier, Generative, GenerativeModel, Statistics};
use deciban::posterior::Prior;
use deciban::transform::Step;
use deciban::{Error, Result};
use deciban_data::{Files, Options, Target};

use crate::output::say;
use crate::progress::Progress;
use deciban_tasks::table::Table;

const STRUCTURES: [(&str, Structure); 4] = [
    ("naive, tied", Structure::TiedDiagonal),
    ("tied", Structure::Tied),
    ("naive", Structure::Diagonal),
    ("full", Structure::Full),
];

pub fn run(data: Option<PathBuf>) -> Result<()> {
    let folder = data
        .ok_or_else(|| Error::parameter("data", "give the folder of the four files train-images-idx3-ubyte.gz, ..."))?;
    let subspaces: [(&str, Vec<Step>); 4] = [
        ("PCA 100", vec![Step::Pca(100)]),
        ("PCA 50", vec![Step::Pca(50)]),
        ("PCA 9", vec![Step::Pca(9)]),
        ("PCA 100, LDA 9", vec![Step::Pca(100), Step::Lda(9)]),
    ];
    let started = Instant::now();
    let mut train = open(&folder, "train")?;
    let learner = |covariance, steps: &[Step]| {
        Generative::gaussian(train.columns(), Gaussian { covariance, steps: steps.to_vec(), ..Gaussian::default() })
    };
    // Full moments serve every structure and subspace.
    let collector = learner(Structure::Full, &[])?;
    let learners: Vec<Generative> = STRUCTURES
        .iter()
        .flat_map(|(_, s)| subspaces.iter().map(|(_, steps)| learner(*s, steps)))
        .collect::<Result<_>>()?;
    let progress = Progress::watch(&mut train, "reading");
    let mut statistics: Statistics = collector.statistics(&train)?;
    statistics.sort_classes()?;
    drop(progress);
    crate::output::note!("one pass over the training images: {:.1} s", started.elapsed().as_secs_f64());

    let models: Vec<GenerativeModel> = learners.iter().map(|l| l.fit(&statistics)).collect::<Result<_>>()?;
    let errors = error_rates(&models, &folder)?;
    crate::output::note!("sixteen models fitted and evaluated: {:.1} s", started.elapsed().as_secs_f64());
    let mut table = Table::new(["error rate, %"].into_iter().chain(subspaces.iter().map(|(name, _)| *name)));
    for ((name, _), row) in STRUCTURES.iter().zip(errors.chunks_exact(subspaces.len())) {
        table.row(
            [name.to_string()].into_iter().chain(row.iter().map(|e| format!("{:.1}", (1000.0 * e).round() / 10.0))),
        );
    }
    say!("{table}");
    Ok(())
}

fn open(folder: &Path, part: &str) -> Result<Files> {
    let file = |what: &str| folder.join(format!("{part}-{what}-ubyte.gz")).display().to_string();
    let options = Options { target: Target::Labels(file("labels-idx1")), ..Options::default() };
    Files::open(&[file("images-idx3")], options)
}

/// The error rates on the test images under a uniform prior, all models in one scoring pass.
fn error_rates(models: &[GenerativeModel], folder: &Path) -> Result<Vec<f64>> {
    let schema = models[0].schema();
    let file = |what: &str| folder.join(format!("t10k-{what}-ubyte.gz")).display().to_string();
    let options = Options { target: Target::Labels(file("labels-idx1")), ..Options::default() };
    let mut test = Files::open_as(&[file("images-idx3")], options, schema)?;
    let _progress = Progress::watch(&mut test, "evaluating");
    let (costs, prior) = (Costs::zero_one(schema.classes()), Prior::uniform(schema.classes().len()));
    let mut totals = vec![Evaluation::new(schema.classes(), &costs); models.len()];
    test.map_in_order(
        |batch| {
            let labels = batch.labels().unwrap_or_default();
            models
                .iter()
                .map(|model| {
                    let mut part = Evaluation::new(schema.classes(), &costs);
                    part.observe(&model.evidence(batch)?.posterior(&prior), labels, None, &costs)?;
                    Ok(part)
                })
                .collect::<Result<Vec<_>>>()
        },
        |parts| {
            totals.iter_mut().zip(&parts).for_each(|(total, part)| total.merge(part));
            Ok(())
        },
    )?;
    Ok(totals.iter().map(Evaluation::error_rate).collect())
}
