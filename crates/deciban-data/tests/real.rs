//! The real data sets next to the project, with the counts that their README gives.

use crate::common::{Tallied, Tally, bare, data, target};
use deciban::Wording;
use deciban::data::Kind;
use deciban::engine::Run;
use deciban_data::{Files, Options, Target};

/// Runs a pass on one thread and on two, which must give the same bits.
fn tally(files: &Files, classes: usize) -> Tallied {
    let pass = Tally { classes, columns: files.columns().len() };
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| files.run(&pass)).unwrap()
    };
    let (one, two) = (run(1), run(2));
    assert_eq!(format!("{one:?}"), format!("{two:?}"), "one thread and two");
    let rows: f64 = one.rows.iter().sum();
    assert_eq!(one.row_numbers, rows * (rows - 1.0) / 2.0, "each row number once");
    one
}

/// Rows by name of the class.
fn counts(files: &Files, tallied: &Tallied) -> Vec<(String, u64)> {
    let mut counts: Vec<_> = files.classes().into_iter().zip(tallied.rows.iter().map(|n| *n as u64)).collect();
    counts.sort();
    counts
}

fn named(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
    counts.iter().map(|(name, count)| (name.to_string(), *count)).collect()
}

fn digits(counts: [u64; 10]) -> Vec<(String, u64)> {
    counts.iter().enumerate().map(|(digit, count)| (digit.to_string(), *count)).collect()
}

fn kinds(files: &Files, kind: Kind) -> usize {
    files.columns().iter().filter(|column| column.kind == kind).count()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn adult() {
    let (train, test) = (data("adult/adult.data.gz"), data("adult/adult.test.gz"));
    let files = Files::open(&[train], bare("c14")).unwrap();
    assert_eq!((kinds(&files, Kind::Number), kinds(&files, Kind::Category)), (6, 8));
    let tallied = tally(&files, 2);
    assert_eq!(counts(&files, &tallied), named(&[("<=50K", 24720), (">50K", 7841)]));
    // workclass, occupation and native-country have 1836, 1843 and 583 question marks.
    assert_eq!(tallied.missing.iter().sum::<f64>(), 4262.0);
    assert_eq!(files.columns()[9].levels, ["Male", "Female"]);
    assert_eq!(files.classes(), ["<=50K", ">50K"]);

    let options = Options { comment: Some('|'), ..bare("c14") };
    let files = Files::open(std::slice::from_ref(&test), options).unwrap();
    assert_eq!(counts(&files, &tally(&files, 2)), named(&[("<=50K.", 12435), (">50K.", 3846)]));
    // Without the comment prefix the first line is a row of one field.
    let message = Files::open(std::slice::from_ref(&test), bare("c0")).err().unwrap().worded(Wording::Flags);
    assert_eq!(
        message,
        format!("{test}:2: the row has 15 fields, the first row has 1: fix the row, or give --separator")
    );
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn titanic() {
    let path = data("titanic/titanic3.csv");
    let files = Files::open(&[path], target("survived")).unwrap();
    let tallied = tally(&files, 2);
    assert_eq!(counts(&files, &tallied), named(&[("0", 809), ("1", 500)]));
    let missing = |name: &str| {
        let column = files.columns().iter().position(|column| column.name == name).unwrap();
        (0..2).map(|class| tallied.missing[class * files.columns().len() + column]).sum::<f64>()
    };
    let expected = [
        ("age", 263.0),
        ("fare", 1.0),
        ("embarked", 2.0),
        ("cabin", 1014.0),
        ("boat", 823.0),
        ("body", 1188.0),
        ("home.dest", 564.0),
    ];
    for (name, count) in expected {
        assert_eq!(missing(name), count, "{name}");
    }
    let name = files.columns().iter().find(|column| column.name == "name").unwrap();
    // Many different values of several words: a text.
    assert_eq!((name.kind, name.levels[0].as_str(), name.levels[2].as_str()), (Kind::Text, "allen", "miss"));

    let path = data("titanic/titanic-kaggle-train.csv");
    let files = Files::open(&[path], target("Survived")).unwrap();
    assert_eq!(counts(&files, &tally(&files, 2)), named(&[("0", 549), ("1", 342)]));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn mushroom() {
    let path = data("mushroom/agaricus-lepiota.data");
    let files = Files::open(&[path], bare("c0")).unwrap();
    assert_eq!((kinds(&files, Kind::Number), kinds(&files, Kind::Category)), (0, 22));
    let tallied = tally(&files, 2);
    assert_eq!(counts(&files, &tallied), named(&[("e", 4208), ("p", 3916)]));
    assert_eq!(tallied.missing.iter().sum::<f64>(), 2480.0);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn usps() {
    let path = data("usps/zip.train.gz");
    let files = Files::open(&[path], bare("c0")).unwrap();
    assert_eq!(kinds(&files, Kind::Number), 256);
    let expected = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"].map(|digit| format!("{digit}.0000"));
    let rows = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644];
    let counts = counts(&files, &tally(&files, 10));
    // The file writes its classes as `6.0000`, or as `6`.
    let whole = |(name, count): &(String, u64)| (name.trim_end_matches('0').trim_end_matches('.').to_string(), *count);
    let found: Vec<(String, u64)> =
        counts.iter().map(whole).map(|(n, c)| (if n.is_empty() { "0".into() } else { n }, c)).collect();
    assert_eq!(found, digits(rows), "{expected:?}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn mnist() {
    let (images, labels) = (data("mnist/train-images-idx3-ubyte.gz"), data("mnist/train-labels-idx1-ubyte.gz"));
    let files =
        Files::open(std::slice::from_ref(&images), Options { target: Target::Labels(labels), ..Options::default() })
            .unwrap();
    assert_eq!(files.columns().len(), 784);
    let tallied = tally(&files, 10);
    assert_eq!(counts(&files, &tallied), digits([5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]));
    // The sum of all pixels of the training images: their mean is 33.3184.
    let sum: f64 = tallied.sums.iter().sum();
    assert!((sum / 60000.0 / 784.0 - 33.318421).abs() < 1e-6, "{sum}");
    assert_eq!(files.classes()[..3], ["5", "0", "4"]);

    let others = data("mnist/t10k-labels-idx1-ubyte.gz");
    let files = Files::open(
        std::slice::from_ref(&images),
        Options { target: Target::Labels(others.clone()), ..Options::default() },
    )
    .unwrap();
    let message = files.run(&Tally { classes: 10, columns: 784 }).unwrap_err().worded(Wording::Flags);
    assert_eq!(
        message,
        format!("{others}: there are 10000 labels for the 60000 rows of {images}: each row needs its own")
    );
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn covertype() {
    let path = data("covertype/covtype-50k.csv.gz");
    let columns = deciban_data::peek_columns(std::slice::from_ref(&path), &Options::default()).unwrap();
    let files = Files::open(&[path], target(columns.last().unwrap())).unwrap();
    assert_eq!(kinds(&files, Kind::Number), 54);
    let expected = [("1", 18230), ("2", 24380), ("3", 3077), ("4", 236), ("5", 817), ("6", 1495), ("7", 1765)];
    assert_eq!(counts(&files, &tally(&files, 7)), named(&expected));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn pendigits() {
    let path = data("pendigits/pendigits.tra");
    let files = Files::open(std::slice::from_ref(&path), bare("c16")).unwrap();
    assert_eq!(kinds(&files, Kind::Number), 16);
    assert_eq!(counts(&files, &tally(&files, 10)), digits([780, 779, 780, 719, 780, 720, 720, 778, 719, 719]));
    let message = Files::open(std::slice::from_ref(&path), target("digit")).err().unwrap().worded(Wording::Flags);
    assert!(
        message.ends_with("the first line looks like data: give --no-header, then columns are named c0, c1, ..."),
        "{message}"
    );
    let files = Files::open(&[path], Options { versus_rest: Some("3".into()), ..bare("c16") }).unwrap();
    assert_eq!(counts(&files, &tally(&files, 2)), named(&[("3", 719), ("not 3", 7494 - 719)]));
}
