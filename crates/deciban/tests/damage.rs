//! Damaged files: cut short, with flipped bits, or from the future. Each is refused with an error that
//! names the file. Files whose content was changed and whose checksum fits are refused, or load to
//! something that scores; nothing panics. Files of layout 1 still load.

use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::common::Table;
use deciban::calibrate::{Calibrator, Method};
use deciban::data::Batch;
use deciban::family::gaussian::{Estimator, Gaussian, Structure};
use deciban::file::{readable, seal};
use deciban::learn::{Classifier, Generative, Learner, Statistics};
use deciban::model::{CalibratedModel, Model};
use deciban::numerics::Random;
use deciban::transform::Step;

fn table() -> Table {
    let mut random = Random::new(1);
    let rows: Vec<([f64; 3], u32)> = (0..60)
        .map(|i| {
            let z = [random.normal(), random.normal(), random.normal()];
            ([z[0] + f64::from(i % 2), 3.0 * z[1] - z[0], 100.0 + z[2]], i % 2)
        })
        .collect();
    Table::of(&rows)
}

/// What is done with a model that loads.
fn use_model(path: &Path) -> deciban::Result<()> {
    let model = Model::load(path)?;
    let evidence = model.evidence(&Batch::new(1).row_major(&[0.1, 2.0, 99.0][..], 3).unwrap())?;
    let _ = evidence.posterior(model.prior()).most_probable(0);
    let _ = model.evidence(&Batch::new(1).row_major(&[f64::NAN, 1.0, 101.0][..], 3).unwrap());
    let Model::Generative(model) = model else { return Ok(()) };
    model.sample(0, &mut Random::new(1)).map(|_| ())
}

/// What is done with statistics that load.
fn use_statistics(path: &Path, family: &Gaussian, whole: &Statistics) -> deciban::Result<()> {
    let mut statistics = Statistics::load(path)?;
    let fit = |statistics: &Statistics| -> deciban::Result<()> {
        let learner = Generative::gaussian(statistics.schema().columns(), family.clone())?;
        let model = learner.fit(statistics)?;
        let rows = vec![1.0; model.schema().columns().len()];
        model.evidence(&Batch::new(1).row_major(&rows[..], rows.len()).unwrap()).map(|_| ())
    };
    let _ = fit(&statistics);
    statistics.sort_classes()?;
    let mut sum = whole.clone();
    if sum.merge(&statistics).is_ok() {
        let _ = fit(&sum);
    }
    let _ = sum.remove(&statistics);
    if statistics.merge(whole).is_ok() {
        let _ = fit(&statistics);
    }
    Ok(())
}

type Use = Box<dyn Fn(&Path) -> deciban::Result<()>>;

struct Case {
    name: String,
    bytes: Vec<u8>,
    path: PathBuf,
    run: Use,
}

impl Case {
    /// Runs the case on other bytes; a panic fails the test and tells where it was.
    fn run(&self, bytes: &[u8], what: &str) -> deciban::Result<()> {
        // Written over, not anew: a file system may flush what replaces a file that was emptied.
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(&self.path).unwrap();
        file.write_all(bytes).and_then(|()| file.set_len(bytes.len() as u64)).unwrap();
        let found = catch_unwind(AssertUnwindSafe(|| (self.run)(&self.path)));
        found.unwrap_or_else(|_| {
            let kept = self.path.with_extension("panicked");
            std::fs::write(&kept, bytes).unwrap();
            panic!("{}, {what}: panicked; the file is {}", self.name, kept.display())
        })
    }

    /// The length of the description, with its own eight bytes.
    fn header(&self) -> usize {
        8 + u64::from_le_bytes(self.bytes[..8].try_into().unwrap()) as usize
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn cases(test: &str) -> Vec<Case> {
    let table = table();
    let plain = Gaussian::default();
    let families = [
        ("full", plain.clone()),
        ("diagonal", Gaussian { covariance: Structure::Diagonal, ..plain.clone() }),
        ("bayes", Gaussian { estimator: Estimator::Bayes, covariance: Structure::TiedDiagonal, ..plain.clone() }),
        ("steps", Gaussian { steps: vec![Step::Standardise, Step::Pca(2)], covariance: Structure::Tied, ..plain }),
        ("gaussianised", Gaussian { covariance: Structure::TiedSpherical, ..Gaussian::default() }),
    ];
    let mut cases = Vec::new();
    for (name, family) in families {
        let path = |kind: &str| {
            std::env::temp_dir().join(format!("deciban-damage-{test}-{name}-{kind}-{}", std::process::id()))
        };
        let learner = table.learner(family.clone()).gaussianise(name == "gaussianised");
        let whole = learner.statistics(&table.memory()).unwrap();
        let (model_path, statistics_path) = (path("model"), path("stats"));
        Model::Generative(learner.learn(&table.memory()).unwrap()).save(&model_path).unwrap();
        whole.save(&statistics_path).unwrap();
        cases.push(Case {
            name: format!("{name} model"),
            bytes: std::fs::read(&model_path).unwrap(),
            path: model_path,
            run: Box::new(use_model),
        });
        cases.push(Case {
            name: format!("{name} statistics"),
            bytes: std::fs::read(&statistics_path).unwrap(),
            path: statistics_path,
            run: Box::new(move |path| use_statistics(path, &family, &whole)),
        });
    }
    for (name, method) in [("logistic", Method::Logistic), ("pav", Method::Pav), ("beta", Method::Beta)] {
        let path = std::env::temp_dir().join(format!("deciban-damage-{test}-calibrated-{name}-{}", std::process::id()));
        let model = table.fit(Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() });
        let (evidence, calibrator) =
            (model.evidence(&table.batch()).unwrap(), Calibrator { method, ..Default::default() });
        let map = calibrator.fit(&evidence, &table.labels, None, &table.classes).unwrap();
        Model::Calibrated(CalibratedModel::new(Model::Generative(model), map).unwrap()).save(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        cases.push(Case { name: format!("{name} calibration"), bytes, path, run: Box::new(use_model) });
    }
    cases
}

#[test]
fn undamaged_files_work() {
    for case in cases("whole") {
        case.run(&case.bytes, "whole").unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}

#[test]
fn files_cut_short_are_refused() {
    for case in cases("cut") {
        for length in (0..case.bytes.len()).step_by(97).chain([case.bytes.len() - 1]) {
            let error = case.run(&case.bytes[..length], &format!("cut to {length}")).unwrap_err().to_string();
            assert!(error.contains("deciban-damage-cut") && error.contains("damaged"), "{length}: {error}");
        }
        let longer = [&case.bytes[..], &[0; 8]].concat();
        assert!(case.run(&longer, "longer").is_err());
    }
}

/// Of a model, of statistics and of a calibrated model, every bit.
#[test]
fn every_flipped_bit_is_found() {
    let cases = cases("bits");
    for case in cases.iter().filter(|case| case.name.starts_with("diagonal") || case.name.starts_with("beta")) {
        let mut bytes = case.bytes.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let loaded = catch_unwind(AssertUnwindSafe(|| match case.name.ends_with("statistics") {
                true => Statistics::from_bytes(&bytes).map(|_| ()),
                false => Model::from_bytes(&bytes).map(|_| ()),
            }));
            let what = format!("{}, bit {} of byte {}", case.name, bit % 8, bit / 8);
            let error = loaded.unwrap_or_else(|_| panic!("{what}: panicked")).err();
            let error = error.unwrap_or_else(|| panic!("{what}: not found")).to_string();
            assert!(error.contains("damaged"), "{what}: {error}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(bytes, case.bytes);
    }
}

#[test]
fn files_of_layout_1_still_load() {
    // Made by the last version that wrote them, from cats.csv:
    //   deciban fit cats.csv -t cat --model naive-bayes -o cats.deciban
    //   deciban stats cats.csv -t cat --model naive-bayes -o cats.stats
    //   deciban predict cats.deciban new.csv --evidence
    let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layout1").join(name);
    let model = Model::load(file("cats.deciban")).unwrap();
    assert_eq!(model.schema().classes(), ["persian", "siamese"]);
    assert_eq!(model.schema().spelling().versus_rest, None);
    assert!(model.about().profiles().is_empty());
    let rows = Batch::new(2).codes(&[1, 0]).unwrap().column(&[5.0, 4.0][..]).unwrap();
    let evidence = model.evidence(&rows).unwrap();
    let decibans = [0, 1].map(|row| deciban::evidence::decibans(evidence.llr(row, 0)));
    for (found, expected) in decibans.iter().zip([18.67155288137471, -10.236033185793293]) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
    // The model of statistics of layout 1, before and after other rows come and go.
    let statistics = Statistics::load(file("cats.stats")).unwrap();
    let again = Statistics::from_bytes(&statistics.to_bytes().unwrap()).unwrap();
    assert_eq!(again.summary().rows(), [3.0, 3.0]);
    assert_eq!(again.schema(), statistics.schema());
    let (mut twice, one) = (statistics.clone(), statistics);
    twice.merge(&one).unwrap();
    twice.remove(&one).unwrap();
    assert_eq!((twice.schema(), twice.summary().rows()), (one.schema(), one.summary().rows()));
    // There, the names of the classes said what they are.
    let spam = Model::load(file("spam.deciban")).unwrap();
    assert_eq!(spam.schema().spelling().versus_rest.as_deref(), Some("spam"));
    let again = Model::from_bytes(&spam.to_bytes().unwrap()).unwrap();
    assert_eq!(again.schema(), spam.schema());
}

#[test]
fn flipped_bits_never_panic() {
    for case in cases("flip") {
        let header = case.header();
        let mut refused = 0;
        let mut tried = 0;
        // Two bits of each byte of the description (the lowest makes one digit another), one of the rest.
        let positions = (0..header).flat_map(|at| [(at, 0), (at, 1 + at % 7)]);
        let numbers = (header..case.bytes.len()).map(|at| (at, at * 5 % 8));
        for (at, bit) in positions.chain(numbers) {
            let mut bytes = case.bytes.clone();
            bytes[at] ^= 1 << bit;
            seal(&mut bytes);
            tried += 1;
            refused += u32::from(case.run(&bytes, &format!("bit {bit} of byte {at}")).is_err());
        }
        println!("{}: {refused} of {tried} refused", case.name);
        assert!(tried > 2000 && refused > tried / 2, "{}: {refused} of {tried}", case.name);
    }
}

#[test]
fn exchanged_digits_never_panic() {
    for case in cases("digits") {
        for at in (8..case.header()).filter(|&at| case.bytes[at].is_ascii_digit()) {
            for digit in b'0'..=b'9' {
                let mut bytes = case.bytes.clone();
                bytes[at] = digit;
                seal(&mut bytes);
                let _ = case.run(&bytes, &format!("{} at byte {at}", char::from(digit)));
            }
        }
    }
}

#[test]
fn what_could_not_be_read_again_is_refused() {
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layout1/cats.deciban")).unwrap();
    assert_eq!(readable(bytes.clone(), Model::from_bytes).unwrap(), bytes);
    let error = readable(bytes[..99].to_vec(), Model::from_bytes).unwrap_err().to_string();
    assert!(error.starts_with("nothing was written, since it could not be read again: "), "{error}");
}

#[test]
fn newer_versions_and_other_kinds_are_refused() {
    let cases = cases("version");
    for case in &cases {
        let text = String::from_utf8_lossy(&case.bytes[..case.header()]).into_owned();
        let at = text.find(r#"\"version\":2"#).unwrap() + r#"\"version\":"#.len();
        let mut bytes = case.bytes.clone();
        // Bytes and characters agree: the description is ASCII here, but for its length.
        let at = at - (text.len() - case.header());
        assert_eq!(bytes[at], b'2');
        bytes[at] = b'3';
        assert!(seal(&mut bytes));
        let error = case.run(&bytes, "version 3").unwrap_err().to_string();
        assert!(error.contains("format 3") && error.contains("update deciban"), "{error}");
    }
    let error = cases[0].run(&cases[1].bytes, "statistics as model").unwrap_err().to_string();
    assert!(error.contains("statistics file, not a model file"), "{error}");
}
