//! The algebra of statistics files: parts added, in whatever order their classes come, equal the
//! whole; a part added and removed again leaves nothing behind.

use std::path::PathBuf;

use crate::common::Table;
use deciban::data::{Batch, Column, Kind, MISSING, Schema, Sparse};
use deciban::engine::Memory;
use deciban::evidence::Evidence;
use deciban::family::AnyFamily;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::learn::{Block, Classifier, Generative, GenerativeModel, Learner, Statistics};
use deciban::model::Model;
use deciban::numerics::Random;
use deciban::transform::{Binning, Step};

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
    let plain = Structure::FREE.map(|(_, covariance)| Gaussian { covariance, ..Gaussian::default() });
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
    let (wine, wdbc) = (crate::common::wine(), crate::common::wdbc());
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
    let (wine, wdbc) = (crate::common::wine(), crate::common::wdbc());
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
    let wine = crate::common::wine();
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
    let wine = crate::common::wine();
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
    let wine = crate::common::wine();
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

/// Rows as an organisation has them: levels, words and classes by name, numbered as they come.
#[derive(Default)]
struct Rows {
    colours: Vec<&'static str>,
    sizes: Vec<&'static str>,
    lengths: Vec<f64>,
    visits: Vec<f64>,
    words: Vec<Vec<(&'static str, f64)>>,
    classes: Vec<&'static str>,
    weights: Vec<f64>,
}

/// Some of `all`, by chance; a part of the organisations does not have all of them.
fn rows(random: &mut Random, count: usize, names: usize, classes: usize) -> Rows {
    const COLOURS: [&str; 6] = ["red", "blue", "grey", "secret pink", "secret gold", "secret teal"];
    const SIZES: [&str; 5] = ["small", "large", "tiny", "secret huge", "secret flat"];
    const WORDS: [&str; 7] = ["and", "free", "win", "lunch", "secret", "covert", "private"];
    const CLASSES: [&str; 4] = ["ham", "spam", "news", "secret class"];
    let mut rows = Rows::default();
    let mut below = |most: usize| (random.uniform() * most as f64) as usize;
    for i in 0..count {
        let colour = COLOURS[below(names.min(6))];
        // Some names come only in rows that miss another cell, or that weigh nothing.
        let size = if below(5) == 0 { "" } else { SIZES[below(names.min(5))] };
        rows.colours.push(if below(6) == 0 { "" } else { colour });
        rows.sizes.push(size);
        // All have the same least and greatest length: bins end there.
        rows.lengths.push(if i < 2 { 16.0 * i as f64 } else { below(1000) as f64 / 64.0 });
        rows.visits.push(below(9) as f64);
        let text = (0..below(4)).map(|_| (WORDS[below(names + 1)], 1.0 + below(3) as f64));
        let mut words: Vec<(&str, f64)> = text.collect();
        words.sort_by_key(|word| word.0);
        words.dedup_by_key(|word| word.0);
        rows.words.push(words);
        rows.classes.push(if i < 8 { CLASSES[i % 2] } else { CLASSES[below(classes)] });
        rows.weights.push([1.0, 0.3, 0.0, 2.0, 0.7][if i < 8 { 0 } else { below(5) }]);
    }
    rows
}

/// The names in order of first appearance, and the code of each cell; an empty one is missing.
fn numbered(cells: &[&'static str]) -> (Vec<String>, Vec<u32>) {
    let mut names: Vec<String> = Vec::new();
    let code = |cell: &&'static str| match names.iter().position(|name| name == cell) {
        _ if cell.is_empty() => MISSING,
        Some(code) => code as u32,
        None => {
            names.push(cell.to_string());
            names.len() as u32 - 1
        }
    };
    let codes = cells.iter().map(code).collect();
    (names, codes)
}

/// The numbers of all words of a hashed vocabulary: they have no names.
fn bucket(word: &str) -> u32 {
    word.bytes().fold(7u32, |sum, byte| (sum * 31 + u32::from(byte)) % 64)
}

impl Rows {
    /// Runs `body` on what the rows are, and the rows.
    fn with_batch<R>(&self, hashed: bool, body: impl FnOnce(Schema, Batch<'_>) -> R) -> R {
        let (colours, colour) = numbered(&self.colours);
        let (sizes, size) = numbered(&self.sizes);
        let (classes, class) = numbered(&self.classes);
        let all: Vec<&'static str> = self.words.iter().flatten().map(|word| word.0).collect();
        let (names, codes) = numbered(&all);
        let (names, codes) = match hashed {
            true => (Vec::new(), all.iter().map(|word| bucket(word)).collect()),
            false => (names, codes),
        };
        let counts: Vec<f64> = self.words.iter().flatten().map(|word| word.1).collect();
        let ends = self.words.iter().scan(0, |end, words| {
            *end += words.len() as u32;
            Some(*end)
        });
        let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let column = |name: &str, kind: Kind, levels: Vec<String>| Column { name: name.into(), kind, levels };
        let columns = vec![
            column("colour", Kind::Category, colours),
            column("size", Kind::Category, sizes),
            column("length", Kind::Number, Vec::new()),
            column("visits", Kind::Count, Vec::new()),
            column("text", Kind::Text, names),
        ];
        let schema = Schema::new(columns, "class", classes).unwrap();
        let words = Sparse::new(&offsets[..], &codes[..], &counts[..]).unwrap();
        let batch = Batch::new(self.classes.len()).codes(&colour).unwrap().codes(&size).unwrap();
        let batch = batch.column(&self.lengths[..]).unwrap().column(&self.visits[..]).unwrap();
        let batch = batch.sparse(words).unwrap().classes(&class).unwrap().weights(&self.weights).unwrap();
        body(schema, batch)
    }

    fn statistics(&self, hashed: bool, learner: &Generative) -> Statistics {
        self.with_batch(hashed, |schema, batch| learner.statistics(&Memory::new(schema, batch).unwrap()).unwrap())
    }

    /// The posteriors by a model that knows the rows' levels and words.
    fn posteriors(&self, hashed: bool, model: &GenerativeModel) -> Vec<f64> {
        let posterior = self.with_batch(hashed, |_, batch| model.evidence(&batch).unwrap().posterior(model.prior()));
        (0..posterior.rows()).flat_map(|i| posterior.row(i).to_vec()).collect()
    }
}

/// A learner of every family, with and without folds, and whether its texts are hashed.
fn learners() -> Vec<(String, Generative, bool)> {
    let named = |name: &str| AnyFamily::named(name).unwrap();
    let block = |places: &[usize], family: AnyFamily| {
        let columns: Vec<Column> = ["colour", "size", "length", "visits", "text"].map(Column::number).into();
        Block::new(places.to_vec(), &columns, family)
    };
    let threshold = match named("bernoulli") {
        AnyFamily::Bernoulli(family) => {
            AnyFamily::Bernoulli(deciban::family::bernoulli::Bernoulli { threshold: 1.0, ..family })
        }
        family => family,
    };
    let single = |name: &str, family: AnyFamily, places: &[usize]| {
        (name.to_string(), Generative::of_blocks(vec![block(places, family)]), false)
    };
    let mut learners = vec![
        single("categorical", named("categorical"), &[0, 1]),
        single("table", named("table"), &[0, 1]),
        single("tree", named("tree"), &[0, 1]),
        single("a1de", named("a1de"), &[0, 1]),
        single("bernoulli", named("bernoulli"), &[4]),
        single("bernoulli above 1", threshold, &[4]),
        single("multinomial", named("multinomial"), &[4]),
        single("gaussian", named("gaussian"), &[2]),
        single("poisson", named("poisson"), &[3]),
        single("histogram", named("histogram"), &[2]),
    ];
    for family in ["bernoulli", "multinomial"] {
        let (name, learner, _) = single(&format!("hashed {family}"), named(family), &[4]);
        learners.push((name, learner, true));
    }
    let cuts = vec![("length".to_string(), vec![5.0, 10.0])];
    let binned = Generative::of_blocks(vec![block(&[0, 1, 2], named("table"))]);
    learners.push(("table of bins".into(), binned.discretise(Binning::Quantiles(2)).cuts(cuts).unwrap(), false));
    let families = [(0, "categorical"), (1, "categorical"), (2, "gaussian"), (3, "poisson"), (4, "multinomial")];
    let mixed = families.map(|(column, family)| block(&[column], named(family))).to_vec();
    learners.push(("naive Bayes".into(), Generative::of_blocks(mixed.clone()), false));
    learners.push(("naive Bayes in folds".into(), Generative::of_blocks(mixed).folds(3, 1), false));
    learners
}

#[test]
fn forget_undoes_merge_for_every_family() {
    let mut random = Random::new(20);
    let mut compared = 0;
    for round in 0..20 {
        // The first knows few names; the others bring names, and classes, of their own.
        let parts = [rows(&mut random, 30, 2, 2 + round % 2), rows(&mut random, 25, 6, 4), rows(&mut random, 9, 4, 3)];
        for (name, learner, hashed) in learners() {
            let [a, b, c] = [0, 1, 2].map(|p| parts[p].statistics(hashed, &learner));
            let mut left = a.clone();
            left.merge(&b).unwrap();
            left.merge(&c).unwrap();
            if let Err(error) = left.remove(&b).and_then(|()| left.remove(&c)) {
                // A class of one row has no scatter, and rounding leaves some.
                assert!(error.to_string().contains("good digits"), "{name}: {error}");
                continue;
            }
            assert_eq!(left.schema().classes(), a.schema().classes(), "{name}");
            // Of columns in no block nobody knows which levels are left.
            for &column in a.blocks().iter().flat_map(|block| &block.columns) {
                assert_eq!(left.schema().columns()[column], a.schema().columns()[column], "{name}");
            }
            assert_eq!(left.summary().rows(), a.summary().rows(), "{name}");
            let bytes = left.to_bytes().unwrap();
            for secret in ["secret", "covert", "private"].iter().filter(|s| !format!("{:?}", a.schema()).contains(**s))
            {
                let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "{name}: `{secret}` is still in the file");
            }
            let left = Statistics::from_bytes(&bytes).unwrap();
            let (expected, found) = (learner.fit(&a), learner.fit(&left));
            let (expected, found) = match (expected, found) {
                (Ok(expected), Ok(found)) => (expected, found),
                (expected, found) => {
                    assert_eq!(expected.err().map(|e| e.to_string()), found.err().map(|e| e.to_string()), "{name}");
                    continue;
                }
            };
            let [expected, found] = [expected, found].map(|model| parts[0].posteriors(hashed, &model));
            let difference = furthest(&expected, &found);
            assert!(difference <= 1e-9, "{name}: {difference:e}");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}
