//! The algebra of statistics files: parts added, in whatever order their classes come, equal the
//! whole; a part added and removed again leaves nothing behind.

mod common;

use std::path::PathBuf;

use common::Table;
use deciban::engine::Memory;
use deciban::evidence::Evidence;
use deciban::family::AnyFamily;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::{Classifier, Generative, GenerativeModel, Learner, Model, Statistics};
use deciban::transform::Step;

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("deciban-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PARTS: usize = 4;

/// Part `part` of the rows. Each part counts its classes from another one on, and the first knows
/// only the classes it has.
fn part(table: &Table, part: usize) -> Table {
    let mut rows = table.filter(|i| if part == 0 { i < 70 } else { i >= 70 && i % (PARTS - 1) == part - 1 });
    let names = rows.classes.clone();
    let used: Vec<usize> = (0..names.len()).filter(|c| part > 0 || rows.labels.contains(&(*c as u32))).collect();
    let order: Vec<usize> = (0..used.len()).map(|c| used[(c + part) % used.len()]).collect();
    rows.classes = order.iter().map(|&c| names[c].clone()).collect();
    let code = |old: u32| order.iter().position(|&c| c == old as usize).unwrap() as u32;
    rows.labels = rows.labels.iter().map(|&old| code(old)).collect();
    rows
}

/// The posteriors, with the classes in the order of the table's.
fn posteriors(model: &GenerativeModel, table: &Table) -> Vec<f64> {
    let posterior = model.evidence(&table.batch()).unwrap().posterior(model.prior());
    let order: Vec<usize> = table.classes.iter().map(|c| model.schema().class(c).unwrap()).collect();
    (0..posterior.rows()).flat_map(|i| order.iter().map(|&c| posterior.row(i)[c]).collect::<Vec<_>>()).collect()
}

fn furthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

fn families() -> Vec<Gaussian> {
    let plain = Structure::ALL.map(|(_, covariance)| Gaussian { covariance, ..Gaussian::default() });
    let bayes = Gaussian { estimator: Estimator::Bayes, ..Gaussian::default() };
    let unbiased = Gaussian { estimator: Estimator::Unbiased, pooling: Strength::Fixed(0.3), ..Gaussian::default() };
    let steps = |steps: &[Step]| Gaussian { steps: steps.to_vec(), ..Gaussian::default() };
    let mut families = plain.to_vec();
    families.extend([bayes, unbiased, steps(&[Step::Standardise]), steps(&[Step::Standardise, Step::Pca(5)])]);
    families
}

/// Saves, loads and adds the statistics of parts.
fn added(learner: &Generative, parts: &[Table], folder: &Folder) -> Statistics {
    let mut files = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let file = folder.0.join(format!("{i}.stats"));
        learner.statistics(&part.memory()).unwrap().save(&file).unwrap();
        files.push(file);
    }
    let mut sum = Statistics::load(&files[0]).unwrap();
    files[1..].iter().for_each(|file| sum.merge(&Statistics::load(file).unwrap()).unwrap());
    sum
}

#[test]
fn files_of_parts_add_up_to_the_whole() {
    let (Some(wine), Some(wdbc)) = (common::wine(), common::wdbc()) else { return };
    let folder = Folder::new("parts");
    for table in [wine, wdbc] {
        let parts: Vec<Table> = (0..PARTS).map(|p| part(&table, p)).collect();
        assert_eq!(parts.iter().map(Table::rows).sum::<usize>(), table.rows());
        assert!(parts[1].classes != parts[2].classes && parts[0].classes.len() <= parts[1].classes.len());
        for family in families() {
            let learner = table.learner(family.clone());
            let whole = posteriors(&learner.learn(&table.memory()).unwrap(), &table);
            let mut sum = added(&learner, &parts, &folder);
            let found = furthest(&posteriors(&learner.fit(&sum).unwrap(), &table), &whole);
            assert!(found <= 1e-9, "{family:?}: {found:e}");
            sum.sort_classes().unwrap();
            assert_eq!(sum.schema().classes(), table.classes);
            let found = furthest(&posteriors(&learner.fit(&sum).unwrap(), &table), &whole);
            assert!(found <= 1e-9, "{family:?}, classes sorted: {found:e}");
        }
    }
}

#[test]
fn a_part_added_and_removed_leaves_nothing() {
    let (Some(wine), Some(wdbc)) = (common::wine(), common::wdbc()) else { return };
    let folder = Folder::new("removed");
    for table in [wine, wdbc] {
        let parts: Vec<Table> = (0..PARTS).map(|p| part(&table, p)).collect();
        let without = table.filter(|i| i < 70 || i % (PARTS - 1) != 1);
        for family in families() {
            let learner = table.learner(family.clone());
            let mut sum = added(&learner, &parts, &folder);
            sum.remove(&Statistics::load(folder.0.join("2.stats")).unwrap()).unwrap();
            assert_eq!(sum.summary().rows().iter().sum::<f64>(), without.rows() as f64);
            let expected = posteriors(&learner.learn(&without.memory()).unwrap(), &table);
            let found = furthest(&posteriors(&learner.fit(&sum).unwrap(), &table), &expected);
            assert!(found <= 1e-9, "{family:?}: {found:e}");
        }
    }
}

#[test]
fn what_was_never_added_cannot_be_removed() {
    let Some(wine) = common::wine() else { return };
    let learner = wine.learner(Gaussian::default());
    let few = learner.statistics(&wine.filter(|i| i % 3 == 0).memory()).unwrap();
    let before = learner.fit(&few).unwrap().evidence(&wine.batch()).unwrap();
    let mut left = few.clone();
    let error = left.remove(&learner.statistics(&wine.memory()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("never added"), "{error}");
    // Refused means untouched.
    assert_eq!(learner.fit(&left).unwrap().evidence(&wine.batch()).unwrap(), before);
    let other = wine.select(&[0, 1]);
    let error = left.merge(&other.learner(Gaussian::default()).statistics(&other.memory()).unwrap()).unwrap_err();
    assert!(error.to_string().contains("different columns"), "{error}");
}

/// Folds given with the rows stay theirs whoever reads them, so "auto" chooses alike.
#[test]
fn folds_add_up_too() {
    let Some(wine) = common::wine() else { return };
    let family = Gaussian { shrinkage: Strength::Auto, pooling: Strength::Auto, ..Gaussian::default() };
    let learner = wine.learner(family).folds(5, 0);
    let folds: Vec<u32> = (0..178).map(|i| i * 7 % 5).collect();
    let statistics = |keep: &dyn Fn(usize) -> bool| {
        let rows = wine.filter(keep);
        let own: Vec<u32> = (0..178).filter(|&i| keep(i)).map(|i| folds[i]).collect();
        let memory = Memory::new(rows.schema(), rows.batch().folds(&own).unwrap()).unwrap();
        learner.statistics(&memory).unwrap()
    };
    let whole = learner.fit(&statistics(&|_| true)).unwrap();
    let mut sum = statistics(&|i| i % 2 == 0);
    sum.merge(&statistics(&|i| i % 2 == 1)).unwrap();
    let merged = learner.fit(&sum).unwrap();
    let AnyFamily::Gaussian(a) = &whole.blocks()[0].block.family else { panic!("another family") };
    let AnyFamily::Gaussian(b) = &merged.blocks()[0].block.family else { panic!("another family") };
    assert_eq!((a.shrinkage, a.pooling), (b.shrinkage, b.pooling));
    assert!(furthest(&posteriors(&whole, &wine), &posteriors(&merged, &wine)) <= 1e-9);
}

#[test]
fn a_saved_model_gives_the_same_bits() {
    let Some(wine) = common::wine() else { return };
    let folder = Folder::new("models");
    let file = folder.0.join("wine.deciban");
    let bits = |evidence: Evidence| evidence.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for family in families() {
        for gaussianise in [false, true] {
            let learner = wine.learner(family.clone()).gaussianise(gaussianise);
            let model = learner.learn(&wine.memory()).unwrap();
            Model::Generative(model.clone()).save(&file).unwrap();
            let loaded = Model::load(&file).unwrap();
            let (a, b) = (model.evidence(&wine.batch()).unwrap(), loaded.evidence(&wine.batch()).unwrap());
            assert_eq!(bits(a), bits(b), "{family:?}");
            assert_eq!((loaded.prior(), loaded.schema()), (model.prior(), model.schema()));
            // Statistics too: a fit of the loaded ones has the bits of the direct fit.
            let statistics = learner.statistics(&wine.memory()).unwrap();
            statistics.save(&file).unwrap();
            let refitted = learner.fit(&Statistics::load(&file).unwrap()).unwrap();
            assert_eq!(bits(model.evidence(&wine.batch()).unwrap()), bits(refitted.evidence(&wine.batch()).unwrap()));
        }
    }
}
