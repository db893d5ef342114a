//! `deciban adapt-prior` and `predict --adapt-prior`: how common the classes are among rows without labels.

use crate::common::{Folder, close, same_predictions, shared};

/// Two unit Gaussians, 2 apart, at quantiles: `a` rows of the first and `b` of the second.
fn rows(a: usize, b: usize, labelled: bool) -> String {
    let quantile = |i: usize, n: usize| deciban::numerics::normal_quantile((i as f64 + 0.5) / n as f64);
    let label = |class: &str| if labelled { format!(",{class}") } else { String::new() };
    let first = (0..a).map(|i| format!("{}{}\n", quantile(i, a), label("ham")));
    let second = (0..b).map(|i| format!("{}{}\n", 2.0 + quantile(i, b), label("spam")));
    let header = if labelled { "x,t\n" } else { "x\n" };
    std::iter::once(header.to_string()).chain(first).chain(second).collect()
}

fn folder(fit: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.write("train.csv", rows(400, 400, true));
    folder.write("stream.csv", rows(900, 100, false));
    let model = ["fit", "train.csv", "-t", "t", "--covariance", "tied", "-o", "m.deciban"];
    folder.ok(&[&model[..], fit].concat());
    folder
}

#[test]
fn the_shares_are_where_the_derivative_is_nought() {
    let folder = folder(&[]);
    let (code, stdout, stderr) = folder.run(&["adapt-prior", "m.deciban", "stream.csv", "--json"]);
    assert!(code == 0 && stderr.starts_with("warning: the model is not calibrated: "), "{stderr}");
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let spam = &found["classes"][1];
    let (share, low, high) =
        (spam["share"].as_f64().unwrap(), spam["low"].as_f64().unwrap(), spam["high"].as_f64().unwrap());
    assert!(low < 0.1 && 0.1 < high && (share - 0.1).abs() < 0.01, "{found:#}");
    assert_eq!((spam["training"].as_f64(), found["rows"].as_f64()), (Some(0.5), Some(1000.0)));
    // Σ (r − 1)/(1 − π + πr) = 0, with r the likelihood ratio of each row.
    let evidence = folder.table(&["predict", "m.deciban", "stream.csv", "--evidence"]).numbers("evidence(spam)");
    let slope = evidence.iter().map(|db| {
        let r = 10f64.powf(db / 10.0);
        (r - 1.0) / (1.0 - share + share * r)
    });
    assert!(slope.sum::<f64>().abs() < 1e-8);
}

#[test]
fn predict_takes_the_shares_for_the_prior() {
    let folder = folder(&["--calibrate", "logistic", "--folds", "20"]);
    let found = folder.json(&["adapt-prior", "m.deciban", "stream.csv", "--json"]);
    let prior = format!("spam={}", found["classes"][1]["prior"]);
    assert!(found["labelled"] == 800, "{found:#}");
    let given = folder.table(&["predict", "m.deciban", "stream.csv", "--prior", &prior]);
    same_predictions(&given, &folder.table(&["predict", "m.deciban", "stream.csv", "--adapt-prior"]), 1e-12);
    // From standard input, which is read twice.
    let stream = String::from_utf8(folder.read("stream.csv")).unwrap();
    let (code, stdout, stderr) = folder.run_with(&["predict", "m.deciban", "-", "--adapt-prior"], &stream);
    assert!(code == 0 && stdout.lines().count() == 1001 && stderr.contains("share  95 % from"), "{stderr}");
    let message = folder.fails(&["predict", "m.deciban", "stream.csv", "--adapt-prior", "--prior", "uniform"]);
    assert_eq!(message, "--prior: give it, or --adapt-prior");
    folder.write("labelled.csv", rows(50, 50, true));
    let message = folder.fails(&["predict", "m.deciban", "stream.csv", "--labelled", "labelled.csv"]);
    assert_eq!(message, "--labelled: it is for --adapt-prior");
}

#[test]
fn labelled_rows_correct_evidence_that_is_too_sure() {
    let folder = folder(&[]);
    // Each number thrice: naive Bayes takes it for three witnesses.
    let thrice = |text: String, header: &str| {
        let row = |line: &str| {
            let (x, rest) = line.split_once(',').map_or((line, String::new()), |(x, t)| (x, format!(",{t}")));
            format!("{x},{x},{x}{rest}\n")
        };
        std::iter::once(header.to_string()).chain(text.lines().skip(1).map(row)).collect::<String>()
    };
    folder.write("train3.csv", thrice(rows(400, 400, true), "x,y,z,t\n"));
    folder.write("labelled3.csv", thrice(rows(150, 150, true), "x,y,z,t\n"));
    folder.write("stream3.csv", thrice(rows(900, 100, false), "x,y,z\n"));
    folder.ok(&["fit", "train3.csv", "-t", "t", "--covariance", "tied-diagonal", "-o", "sure.deciban"]);
    let share = |more: &[&str]| {
        let found = folder.json(&[&["adapt-prior", "sure.deciban", "stream3.csv", "--json"], more].concat());
        found["classes"][1]["share"].as_f64().unwrap()
    };
    assert!((share(&[]) - 0.1).abs() > 0.04);
    close(share(&["--labelled", "labelled3.csv"]), 0.1, 0.01);
    folder.write("ham.csv", thrice(rows(150, 0, true), "x,y,z,t\n"));
    let message = folder.fails(&["adapt-prior", "sure.deciban", "stream3.csv", "--labelled", "ham.csv"]);
    assert_eq!(message, "--labelled: class `spam` has fewer than 2 rows there");
}

/// A spam filter on streams with other spam rates: the interval holds the rate, and the log loss falls.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn a_spam_filter_adapts_to_its_stream() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(shared("data/sms-spam/SMSSpamCollection")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let part =
        |from: usize, to: usize| lines.iter().skip(from).step_by(6).take(to).fold(String::new(), |a, b| a + b + "\n");
    folder.write("train.tsv", part(0, 9999) + &part(1, 9999));
    folder.write("labelled.tsv", part(2, 9999));
    let rest: Vec<&str> = (3..6).flat_map(|k| lines.iter().skip(k).step_by(6)).copied().collect();
    let (spam, ham): (Vec<&str>, Vec<&str>) = rest.iter().partition(|line| line.starts_with("spam"));
    let read = ["--no-header", "--no-quotes", "--format", "tsv"];
    let fit = ["fit", "train.tsv", "-t", "c0", "--model", "multinomial", "-o", "spam.deciban"];
    folder.ok(&[&fit[..], &read].concat());
    let calibrate = ["calibrate", "spam.deciban", "labelled.tsv", "-o", "calibrated.deciban"];
    folder.ok(&[&calibrate[..], &read].concat());
    let mut losses = [0.0, 0.0];
    let mut random = deciban::numerics::Random::new(1);
    let (rows, mut held) = (600, 0);
    for rate in [0.03, 0.3, 0.6] {
        for draw in 0..5 {
            let pick = |from: &[&str], random: &mut deciban::numerics::Random| {
                from[random.below(from.len() as u64) as usize].to_string() + "\n"
            };
            let stream: String = (0..rows)
                .map(|_| if random.uniform() < rate { pick(&spam, &mut random) } else { pick(&ham, &mut random) })
                .collect();
            folder.write("stream.tsv", stream);
            let adapt = ["adapt-prior", "calibrated.deciban", "stream.tsv", "--json"];
            let found = folder.json(&[&adapt[..], &read].concat());
            let of = &found["classes"][1];
            held += usize::from(of["low"].as_f64().unwrap() <= rate && rate <= of["high"].as_f64().unwrap());
            if draw == 0 {
                let loss = |prior: &str| {
                    let evaluate = ["evaluate", "calibrated.deciban", "stream.tsv", "--prior", prior, "--json"];
                    folder.json(&[&evaluate[..], &read].concat())["log_loss"].as_f64().unwrap()
                };
                losses[0] += loss(&format!("spam={}", of["prior"]));
                losses[1] += loss("empirical");
            }
        }
    }
    assert!(held >= 12, "{held} of 15");
    assert!(losses[0] < 0.9 * losses[1], "{losses:?}");
}
