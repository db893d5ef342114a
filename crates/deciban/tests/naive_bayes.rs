//! The discrete families against scikit-learn's CategoricalNB, BernoulliNB, MultinomialNB and
//! ComplementNB (`reference/naive_bayes.py` made the values, and says what they are): three data sets,
//! pseudo-counts of 0, ½ and 1, weights, and statistics merged from increments.

use std::collections::HashMap;

use deciban::data::{Batch, Column, Kind, Schema, Sparse};
use deciban::engine::Memory;
use deciban::family::AnyFamily;
use deciban::family::bernoulli::Bernoulli;
use deciban::family::categorical::Categorical;
use deciban::family::multinomial::Multinomial;
use deciban::learn::{Block, Classifier, Generative};
use serde_json::Value;

/// A data set as categories and as counts, each row after row.
struct Data {
    classes: Vec<String>,
    labels: Vec<u32>,
    /// Codes column by column, and how many levels each column has.
    codes: Vec<Vec<u32>>,
    levels: Vec<usize>,
    /// Counts row by row.
    counts: Vec<f64>,
    /// Present is what lies above.
    threshold: f64,
    /// Whether the counts are those of words, to be scored sparsely.
    texts: bool,
}

/// The sorted names, and the place of each cell's name among them.
fn coded(cells: impl Iterator<Item = String> + Clone) -> (Vec<String>, Vec<u32>) {
    let mut names: Vec<String> = cells.clone().collect();
    names.sort();
    names.dedup();
    let codes = cells.map(|cell| names.binary_search(&cell).unwrap() as u32).collect();
    (names, codes)
}

fn mushroom() -> Data {
    let text = std::fs::read_to_string(crate::common::shared("data/mushroom/agaricus-lepiota.data")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().filter(|l| !l.is_empty()).map(|l| l.split(',').collect()).collect();
    let column = |j: usize| coded(rows.iter().map(move |row| row[j].to_string()));
    let (classes, labels) = column(0);
    let (names, codes): (Vec<Vec<String>>, Vec<Vec<u32>>) = (1..23).map(column).unzip();
    let levels: Vec<usize> = names.iter().map(Vec::len).collect();
    // An indicator for each level of each column.
    let mut counts = Vec::new();
    for i in 0..rows.len() {
        for (codes, &levels) in codes.iter().zip(&levels) {
            counts.extend((0..levels).map(|level| f64::from(u8::from(codes[i] as usize == level))));
        }
    }
    Data { classes, labels, codes, levels, counts, threshold: 0.0, texts: false }
}

fn optdigits() -> Data {
    let text = std::fs::read_to_string(crate::common::shared("data/optdigits/optdigits.tra")).unwrap();
    let rows: Vec<Vec<u32>> =
        text.lines().map(|line| line.split(',').map(|cell| cell.trim().parse().unwrap()).collect()).collect();
    let (classes, labels) = coded(rows.iter().map(|row| row[64].to_string()));
    let codes: Vec<Vec<u32>> = (0..64).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    let levels = codes.iter().map(|codes| *codes.iter().max().unwrap() as usize + 1).collect();
    let counts = rows.iter().flat_map(|row| row[..64].iter().map(|x| f64::from(*x))).collect();
    Data { classes, labels, codes, levels, counts, threshold: 8.0, texts: false }
}

fn sms() -> Data {
    let text = std::fs::read_to_string(crate::common::shared("data/sms-spam/SMSSpamCollection")).unwrap();
    let rows: Vec<(&str, String)> =
        text.lines().filter_map(|l| l.split_once('\t')).map(|(c, t)| (c, t.to_ascii_lowercase())).collect();
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_ascii_lowercase()).filter(|w| !w.is_empty()).map(String::from).collect()
    };
    let mut having: HashMap<String, i64> = HashMap::new();
    for (_, text) in &rows {
        let mut different = words(text);
        different.sort();
        different.dedup();
        different.into_iter().for_each(|word| *having.entry(word).or_default() += 1);
    }
    let mut vocabulary: Vec<(i64, String)> = having.into_iter().map(|(word, n)| (-n, word)).collect();
    vocabulary.sort();
    vocabulary.truncate(200);
    // And `zzzz`, which no message has.
    let width = vocabulary.len() + 1;
    let places: HashMap<&str, usize> = vocabulary.iter().enumerate().map(|(j, (_, word))| (word.as_str(), j)).collect();
    let mut counts = vec![0.0; rows.len() * width];
    for ((_, text), row) in rows.iter().zip(counts.chunks_exact_mut(width)) {
        words(text).iter().filter_map(|word| places.get(word.as_str())).for_each(|&j| row[j] += 1.0);
    }
    let (classes, labels) = coded(rows.iter().map(|row| row.0.to_string()));
    let codes = (0..50).map(|j| counts.chunks_exact(width).map(|row| u32::from(row[j] > 0.0)).collect()).collect();
    Data { classes, labels, codes, levels: vec![2; 50], counts, threshold: 0.0, texts: true }
}

/// One block of all columns: fitted, and scored into the joint log-likelihoods of all rows.
fn joint(columns: Vec<Column>, data: &Data, batch: &Batch<'_>, family: AnyFamily, case: &Value) -> Vec<f64> {
    let schema = Schema::new(columns, "class", data.classes.clone()).unwrap();
    let is_density = !matches!(&family, AnyFamily::Multinomial(family) if family.complement);
    let block = Block::new((0..schema.columns().len()).collect(), schema.columns(), family);
    let learner = Generative::of_blocks(vec![block]);
    let statistics = |rows: Batch<'_>| learner.statistics(&Memory::new(schema.clone(), rows).unwrap()).unwrap();
    let n = batch.rows();
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 7) as f64 / 4.0).collect();
    let rows = batch.clone().classes(&data.labels).unwrap();
    let rows = if case["how"] == "plain" { rows } else { rows.weights(&weights).unwrap() };
    let whole = match case["how"] == "increments" {
        false => statistics(rows),
        true => {
            let mut whole = statistics(rows.slice(n / 2..n));
            whole.merge(&statistics(rows.slice(0..n / 3))).unwrap();
            whole.merge(&statistics(rows.slice(n / 3..n / 2))).unwrap();
            whole
        }
    };
    let model = learner.fit(&whole).unwrap();
    let evidence = model.evidence(batch).unwrap();
    let row = |i: usize| if is_density { model.empirical().joint(evidence.row(i)) } else { evidence.row(i).to_vec() };
    (0..n).flat_map(row).collect()
}

/// The joint log-likelihoods of a case, row after row.
fn scores(data: &Data, case: &Value) -> Vec<f64> {
    let pseudo_count = case["alpha"].as_f64().unwrap();
    let rows = data.labels.len();
    let kind = case["kind"].as_str().unwrap();
    let column = |j: usize, kind: Kind, levels: usize| Column {
        name: format!("c{j}"),
        kind,
        levels: (0..levels).map(|level| format!("l{level}")).collect(),
    };
    if kind == "categorical" {
        let columns = data.levels.iter().enumerate().map(|(j, &levels)| column(j, Kind::Category, levels)).collect();
        let batch = data.codes.iter().fold(Batch::new(rows), |batch, codes| batch.codes(codes).unwrap());
        let family = AnyFamily::Categorical(Categorical { pseudo_count, ..Categorical::default() });
        return joint(columns, data, &batch, family, case);
    }
    let family = match kind {
        "bernoulli" => {
            AnyFamily::Bernoulli(Bernoulli { pseudo_count, threshold: data.threshold, ..Bernoulli::default() })
        }
        _ => AnyFamily::Multinomial(Multinomial {
            pseudo_count,
            min_count: 0.0,
            complement: kind != "multinomial",
            norm: kind == "complement, norm",
            ..Multinomial::default()
        }),
    };
    let width = data.counts.len() / rows;
    if !data.texts {
        let columns = (0..width).map(|j| column(j, Kind::Number, 0)).collect();
        let batch = Batch::new(rows).row_major(&data.counts[..], width).unwrap();
        return joint(columns, data, &batch, family, case);
    }
    let (mut offsets, mut indices, mut counts) = (vec![0], Vec::new(), Vec::new());
    for row in data.counts.chunks_exact(width) {
        for (j, n) in row.iter().enumerate().filter(|(_, n)| **n > 0.0) {
            indices.push(j as u32);
            counts.push(*n);
        }
        offsets.push(indices.len());
    }
    let sparse = Sparse::new(&offsets[..], &indices[..], &counts[..]).unwrap();
    let batch = Batch::new(rows).sparse(sparse).unwrap();
    joint(vec![column(0, Kind::Text, width)], data, &batch, family, case)
}

/// Compares with all cases of a data set, to 1e-10 of max(1, |x|).
fn agrees(name: &str, data: Data) {
    let reference: Value = serde_json::from_str(include_str!("reference/naive_bayes.json")).unwrap();
    let cases = reference["cases"].as_array().unwrap().iter().filter(|case| case["data"] == name);
    let (mut count, mut worst, mut impossible) = (0, 0.0f64, 0);
    for case in cases {
        count += 1;
        let (found, classes, rows) = (scores(&data, case), data.classes.len(), data.labels.len());
        let what = format!("{name}, {}, alpha {}, {}", case["kind"], case["alpha"], case["how"]);
        let mut compare = |found: f64, expected: &Value| match expected.as_f64() {
            Some(e) => {
                let difference = (found - e).abs() / e.abs().max(1.0);
                assert!(difference <= 1e-10, "{what}: {found}, not {e}");
                worst = worst.max(difference);
            }
            None => assert_eq!(found, f64::NEG_INFINITY, "{what}"),
        };
        for (row, i) in [0, rows / 5, rows / 2, rows - 1].into_iter().enumerate() {
            (0..classes).for_each(|c| compare(found[i * classes + c], &case["rows"][row][c]));
        }
        for c in 0..classes {
            let of_class = || found.iter().skip(c).step_by(classes);
            compare(of_class().filter(|x| x.is_finite()).sum(), &case["sums"][c]);
            let infinite = of_class().filter(|x| **x == f64::NEG_INFINITY).count();
            assert_eq!(Some(infinite as u64), case["impossible"][c].as_u64(), "{what}");
            impossible += infinite;
        }
    }
    println!("{name}: {count} cases, largest difference {worst:.1e}, {impossible} impossible");
    assert!(count == 39 && impossible > 0);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn mushroom_agrees_with_scikit_learn() {
    agrees("mushroom", mushroom());
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn optdigits_agrees_with_scikit_learn() {
    agrees("optdigits", optdigits());
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn sms_agrees_with_scikit_learn() {
    agrees("sms", sms());
}
