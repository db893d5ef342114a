//! Every `fit --model` on small tables: the whole way of a row, and what comes out by hand.

use std::collections::HashMap;

use crate::common::{Folder, Table, close, numbers, records, same_predictions, shared, texts, wine};

const MODELS: [(&str, &[&str]); 14] = [
    ("gaussian", &["--columns", "weight,age"]),
    ("naive-bayes", &["--text", "note"]),
    ("bernoulli", &["--ignore", "fur,indoor", "--text", "note"]),
    ("multinomial", &["--ignore", "fur,indoor", "--text", "note"]),
    ("table", &["--ignore", "note"]),
    ("tree", &["--ignore", "note"]),
    ("a1de", &["--ignore", "note"]),
    ("parzen", &["--columns", "weight,age"]),
    ("logistic", &["--text", "note"]),
    ("probit", &["--text", "note"]),
    ("cloglog", &["--text", "note"]),
    ("k-dependence", &["--ignore", "note"]),
    ("noisy-or", &["--text", "note"]),
    ("least-squares", &["--columns", "weight,age"]),
];

/// Whether a model knows classes given rows only.
fn is_discriminative(model: &str) -> bool {
    ["logistic", "probit", "cloglog", "k-dependence", "noisy-or", "least-squares"].contains(&model)
}

/// 120 cats and dogs: two numbers, two categories with missing cells, a text.
fn pets() -> String {
    let mut state = 1_u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let mut text = "weight,age,fur,indoor,note,pet\n".to_string();
    for i in 0..120 {
        let dog = i % 3 == 0;
        let weight = if dog { 8 + draw(20) } else { 3 + draw(7) };
        let (age, common) = (1 + draw(12), draw(4) == 0);
        let fur = if draw(10) == 0 { "?" } else { ["short", "long", "curly"][draw(if dog { 3 } else { 2 }) as usize] };
        let indoor = if draw(8) == 0 { "?" } else { ["yes", "no"][usize::from(dog != (draw(4) == 0))] };
        let note = if dog != common { "barks at the door" } else { "sleeps by the door" };
        let pet = if dog { "dog" } else { "cat" };
        text += &format!("{weight},{age},{fur},{indoor},{note},{pet}\n");
    }
    text
}

/// `evidence(class)` of each row, in decibans.
fn evidence(folder: &Folder, data: &str, class: &str) -> Vec<f64> {
    let table = folder.table(&["predict", "m.deciban", data, "--evidence"]);
    table.numbers(&format!("evidence({class})"))
}

/// A ratio of probabilities in decibans.
fn decibans(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

#[track_caller]
fn all_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    found.iter().zip(expected).for_each(|(a, b)| close(*a, *b, 1e-9));
}

#[test]
fn every_model_goes_the_whole_way() {
    let folder = Folder::new();
    folder.write("pets.csv", pets());
    let truth = Table::parse(&pets()).texts("pet");
    for (model, options) in MODELS {
        let fit = ["fit", "pets.csv", "--target", "pet", "--model", model, "-o", "m.deciban", "--json"];
        let report = folder.json(&[&fit, options].concat());
        assert_eq!(report["model"], model);
        assert_eq!(report["rows"], 120.0, "{model}");
        assert_eq!(texts(&report["classes"]), ["cat", "dog"], "{model}");
        close(numbers(&report["prior"])[1], 1.0 / 3.0, 1e-15);

        let predicted = folder.table(&["predict", "m.deciban", "pets.csv"]);
        assert_eq!(predicted.header, ["decision", "p(cat)", "p(dog)"], "{model}");
        let (decisions, dog) = (predicted.texts("decision"), predicted.numbers("p(dog)"));
        for (i, cat) in predicted.numbers("p(cat)").into_iter().enumerate() {
            close(cat + dog[i], 1.0, 1e-12);
            assert_eq!(decisions[i], if dog[i] > cat { "dog" } else { "cat" }, "{model}, row {}", i + 1);
        }

        // What is evaluated is what is predicted, and better than to say `cat` always.
        let report = folder.json(&["evaluate", "m.deciban", "pets.csv", "--json"]);
        let wrong = decisions.iter().zip(&truth).filter(|(a, b)| a != b).count();
        assert_eq!(report["errors"], wrong as f64, "{model}");
        assert!(wrong < 36, "{model}: {wrong} errors");
        let p = |i: usize| if truth[i] == "dog" { dog[i] } else { 1.0 - dog[i] };
        let log_loss = -(0..120).map(|i| p(i).ln()).sum::<f64>() / 120.0;
        close(report["log_loss"].as_f64().unwrap(), log_loss, 1e-6);

        let told = folder.ok(&["inspect", "m.deciban"]);
        assert!(told.lines().count() > 5, "{model}: {told}");
        let told = folder.json(&["inspect", "m.deciban", "--json"]);
        assert_eq!(told["target"], "pet", "{model}");

        if is_discriminative(model) {
            let message = folder.fails(&["sample", "m.deciban"]);
            assert!(message.contains("fit a generative one"), "{message}");
            continue;
        }
        // Rows of the model look like rows to the model.
        let sample = folder.ok(&["sample", "m.deciban", "-n", "300", "--class", "dog", "--seed", "3"]);
        assert_eq!(sample.lines().count(), 301, "{model}");
        assert!(sample.lines().skip(1).all(|line| line.ends_with(",dog")), "{model}");
        assert!(sample.lines().next().unwrap().ends_with(",pet"), "{model}");
        folder.write("sample.csv", sample);
        let report = folder.json(&["evaluate", "m.deciban", "sample.csv", "--prior", "uniform", "--json"]);
        assert!(report["error_rate"].as_f64().unwrap() < 0.4, "{model}: {report}");
    }
}

#[test]
fn pseudo_counts_by_hand() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\nu,a\nu,a\nv,a\nv,b\nw,b\n?,b\n");
    folder.write("new.csv", "x\nu\nv\nw\n?\n");
    for alpha in [1.0, 0.5, 3.0] {
        let count = alpha.to_string();
        let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--pseudo-count", &count, "-o", "m.deciban"];
        folder.ok(&fit);
        // Three rows of a; of b only two have the cell. There are three levels.
        let p = |n: f64, rows: f64| (n + alpha) / (rows + 3.0 * alpha);
        let ratios = [p(2.0, 3.0) / p(0.0, 2.0), p(1.0, 3.0) / p(1.0, 2.0), p(0.0, 3.0) / p(1.0, 2.0), 1.0];
        all_close(&evidence(&folder, "new.csv", "a"), &ratios.map(decibans));
    }
    // Maximum likelihood: what a class never had is impossible.
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--pseudo-count", "0", "-o", "m.deciban"]);
    let table = folder.table(&["predict", "m.deciban", "new.csv", "--prior", "uniform"]);
    all_close(&table.numbers("p(a)"), &[1.0, (1.0 / 3.0) / (1.0 / 3.0 + 0.5), 0.0, 0.5]);
    let message = folder.fails(&["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--pseudo-count=-1"]);
    assert!(message.contains("--pseudo-count"), "{message}");
}

#[test]
fn pseudo_counts_of_the_classes_by_hand() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\n1,a\n2,a\n4,a\n3,b\n5,b\n2,b\n1,b\n7,b\n");
    for model in ["gaussian", "logistic"] {
        let fit = ["fit", "t.csv", "-t", "t", "--model", model, "--json"];
        let prior = |options: &[&str]| numbers(&folder.json(&[&fit[..], options].concat())["prior"]);
        all_close(&prior(&[]), &[3.0 / 8.0, 5.0 / 8.0]);
        all_close(&prior(&["--prior-pseudo-count", "2"]), &[5.0 / 12.0, 7.0 / 12.0]);
        all_close(&prior(&["--prior-pseudo-count", "2", "--prior", "b=0.9"]), &[0.1, 0.9]);
        for wrong in [&["--prior-pseudo-count=-1"][..], &["--prior-pseudo-count", "1", "--prior", "uniform"]] {
            let message = folder.fails(&[&fit[..], wrong].concat());
            assert!(message.starts_with("--prior-pseudo-count: "), "{message}");
        }
    }
}

/// A level that no class has, by maximum likelihood: 0/0 in every command that would need the posterior.
#[test]
fn what_is_impossible_in_every_class_is_told() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\nu,a\nu,a\nv,a\nv,b\nw,b\n");
    folder.write("new.csv", "x,t\nu,a\nzebra,b\n");
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--pseudo-count", "0", "-o", "m.deciban"]);
    let (code, stdout, stderr) = folder.run(&["predict", "m.deciban", "new.csv"]);
    assert!(code == 0 && stderr.contains("every class with a prior above 0: 1; their posterior is 0/0"), "{stderr}");
    assert_eq!(stdout.lines().nth(2), Some(",,"));
    let report = folder.json(&["evaluate", "m.deciban", "new.csv", "--json"]);
    assert_eq!((report["undefined"].as_f64(), report["errors"].as_f64()), (Some(1.0), Some(1.0)));
    assert!(folder.ok(&["evaluate", "m.deciban", "new.csv"]).contains("0/0"));
}

#[test]
fn an_unseen_level_has_the_share_of_one_without_rows_or_is_refused() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\nu,a\nu,a\nv,a\nv,b\nw,b\n");
    folder.write("new.csv", "x\nzebra\n");
    for model in ["naive-bayes", "table", "tree"] {
        let fit = ["fit", "t.csv", "-t", "t", "--model", model, "-o", "m.deciban"];
        folder.ok(&fit);
        all_close(&evidence(&folder, "new.csv", "a"), &[decibans((1.0 / 6.0) / (1.0 / 5.0))]);
        folder.ok(&[&fit[..], &["--refuse-unseen"]].concat());
        let message = folder.fails(&["predict", "m.deciban", "new.csv"]);
        let expected = "new.csv:2: column `x`: the level was not in the training data; \
                        fit with it, or without --refuse-unseen";
        assert_eq!(message, expected, "{model}");
        // A missing cell is no unseen level.
        folder.write("missing.csv", "x\n?\n");
        all_close(&evidence(&folder, "missing.csv", "a"), &[0.0]);
    }
    // To A1DE an unseen level is a missing cell.
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "a1de", "-o", "m.deciban"]);
    all_close(&evidence(&folder, "new.csv", "a"), &[0.0]);
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "a1de", "--refuse-unseen", "-o", "m.deciban"]);
    assert!(folder.fails(&["predict", "m.deciban", "new.csv"]).starts_with("new.csv:2: column `x`"));
}

#[test]
fn a_table_counts_combinations() {
    let folder = Folder::new();
    folder.write("t.csv", "x,y,t\nu,0,a\nu,0,a\nv,1,a\nu,1,b\nv,0,b\n?,0,b\n");
    folder.write("new.csv", "x,y\nu,0\nu,1\n?,0\n");
    folder.ok(&["fit", "t.csv", "-t", "t", "--category", "y", "--model", "table", "-o", "m.deciban"]);
    // Four combinations; the row with a missing cell belongs to none; a missing cell may be u or v.
    let (a, b) = (|n: f64, cells: f64| (n + cells) / 7.0, |n: f64, cells: f64| (n + cells) / 6.0);
    let ratios = [a(2.0, 1.0) / b(0.0, 1.0), a(0.0, 1.0) / b(1.0, 1.0), a(2.0, 2.0) / b(1.0, 2.0)];
    all_close(&evidence(&folder, "new.csv", "a"), &ratios.map(decibans));
}

#[test]
fn bins_by_hand() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\n1,a\n2,a\n5,a\n6,b\n7,b\n9,b\n3,b\n");
    folder.write("new.csv", "x\n-50\n2.9\n3\n5.9\n6\n100\n");
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--bins", "x=3,6", "-o", "m.deciban"]);
    // Bins x < 3, 3 <= x < 6, x >= 6 hold 2, 1, 0 rows of a and 0, 1, 3 of b.
    let [low, middle, high] = [[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]].map(|[a, b]| ((a + 1.0) / 6.0) / ((b + 1.0) / 7.0));
    all_close(&evidence(&folder, "new.csv", "a"), &[low, low, middle, middle, high, high].map(decibans));
    for (bad, told) in [("x", "`x`"), ("x=3,two", "`x=3,two`"), ("x=6,3", "ascend"), ("y=3", "no column `y`")] {
        for model in ["naive-bayes", "table", "tree", "a1de"] {
            let message = folder.fails(&["fit", "t.csv", "-t", "t", "--model", model, "--bins", bad]);
            assert!(message.starts_with("--bins: ") && message.contains(told), "{bad}: {message}");
        }
    }
    // One column is a table, and a tree, of its bins.
    for model in ["table", "tree", "a1de"] {
        folder.ok(&["fit", "t.csv", "-t", "t", "--model", model, "--bins", "x=3,6", "-o", "m.deciban"]);
        all_close(&evidence(&folder, "new.csv", "a"), &[low, low, middle, middle, high, high].map(decibans));
        folder.ok(&["stats", "t.csv", "-t", "t", "--model", model, "--bins", "x=3,6", "-o", "t.stats"]);
        folder.ok(&["fit", "t.stats", "--model", model, "-o", "m.deciban"]);
        all_close(&evidence(&folder, "new.csv", "a"), &[low, low, middle, middle, high, high].map(decibans));
        let message = folder.fails(&["fit", "t.stats", "--model", model, "--bins", "x=4"]);
        assert!(message.starts_with("--bins: ") && message.contains("settled"), "{message}");
    }
}

#[test]
fn found_bins_cut_between_the_classes() {
    let folder = Folder::new();
    let row = |i: usize| format!("{i},{}\n", if i < 20 { "a" } else { "b" });
    folder.write("t.csv", format!("x,t\n{}", (0..40).map(row).collect::<String>()));
    folder.write("new.csv", "x\n19.4\n19.6\n");
    let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--family", "x=histogram", "-o", "m.deciban"];
    folder.ok(&fit);
    // One cut, halfway between 19 and 20: 20 rows of 20 against none.
    all_close(&evidence(&folder, "new.csv", "a"), &[decibans(21.0), decibans(1.0 / 21.0)]);
}

/// Of 200 rows 180 are 0, and the others are large where the class is b.
fn gains() -> String {
    let gain = |i: i32| if i % 10 == 0 { 1000 + i } else { 0 };
    let row = |i: i32| format!("{},{},{}\n", gain(i), i % 7, if i % 10 == 0 || i % 3 == 0 { "b" } else { "a" });
    format!("gain,x,t\n{}", (0..200).map(row).collect::<String>())
}

#[test]
fn a_number_that_is_mostly_one_value_is_no_gaussian() {
    let folder = Folder::new();
    folder.write("t.csv", gains());
    let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban"];
    let (code, _, stderr) = folder.run(&fit);
    assert_eq!(code, 0, "{stderr}");
    let note = "note: t.csv: column `gain`: 90 % of the cells are 0, which no Gaussian describes: \
                scored by a histogram, unless --family gain=gaussian";
    assert_eq!(stderr.lines().next(), Some(note), "{stderr}");
    let predict = || folder.table(&["predict", "m.deciban", "t.csv", "--evidence"]);
    let settled = predict();
    // Naming the family gives the same, without a note.
    let (_, _, stderr) = folder.run(&[&fit[..], &["--family", "gain=histogram"]].concat());
    assert!(!stderr.contains("note"), "{stderr}");
    assert_eq!(predict(), settled);
    // So do statistics, which know how they were made.
    folder.ok(&["stats", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "t.stats"]);
    folder.ok(&["fit", "t.stats", "--model", "naive-bayes", "-o", "m.deciban"]);
    assert_eq!(predict(), settled);
    // No row of a has a gain, so a Gaussian has only the least variance there.
    let (code, _, stderr) = folder.run(&[&fit[..], &["--family", "gain=gaussian"]].concat());
    assert!(code == 0 && stderr.contains("always the same in a class: `gain` in `a`"), "{stderr}");
}

#[test]
fn a_constant_number_says_nothing_to_naive_bayes() {
    let folder = Folder::new();
    folder.write("t.csv", "k,x,t\n7,1,a\n7,2,a\n7,4,b\n7,5,b\n");
    let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban"];
    let (code, _, stderr) = folder.run(&fit);
    let note = "warning: t.csv: column `k`: always 7, which says nothing: give --ignore k";
    assert!(code == 0 && stderr.starts_with(note), "{stderr}");
    let with = evidence(&folder, "t.csv", "a");
    folder.ok(&[&fit[..], &["--ignore", "k"]].concat());
    all_close(&with, &evidence(&folder, "t.csv", "a"));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn adult_as_it_comes() {
    let (train, test) = (shared("data/adult/adult.data.gz"), shared("data/adult/adult.test.gz"));
    let folder = Folder::new();
    folder.ok(&["fit", &train, "--no-header", "-t", "c14", "--model", "naive-bayes", "-o", "m.deciban"]);
    // The labels of the test file end in a full stop, and its first line is a remark.
    let unpacked = std::process::Command::new("gzip").args(["-dc", &test]).output().unwrap();
    let text = String::from_utf8(unpacked.stdout).unwrap();
    let rows = text.lines().skip(1).map(|line| line.trim_end_matches('.').to_string() + "\n");
    folder.write("test.csv", rows.collect::<String>());
    let report = folder.json(&["evaluate", "m.deciban", "test.csv", "--no-header", "--json"]);
    assert_eq!(report["rows"], 16281.0);
    close(report["error_rate"].as_f64().unwrap(), 0.155642, 1e-6);
    close(report["log_loss"].as_f64().unwrap(), 0.390067, 1e-6);
}

/// λ = (Σx + α/2)/w: 3 events in 2 rows, 1 in 2.
#[test]
fn pseudo_counts_of_counts_by_hand() {
    let folder = Folder::new();
    folder.write("t.csv", "n,t\n1,a\n2,a\n0,b\n1,b\n");
    folder.write("new.csv", "n\n4\n");
    for alpha in [1.0, 0.0, 3.0] {
        let count = f64::to_string(&alpha);
        let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--count", "n", "-o", "m.deciban"];
        folder.ok(&[&fit[..], &["--pseudo-count", &count]].concat());
        let rate = |events: f64| (events + alpha / 2.0) / 2.0;
        let llr = 4.0 * (rate(3.0) / rate(1.0)).ln() - rate(3.0) + rate(1.0);
        all_close(&evidence(&folder, "new.csv", "a"), &[decibans(llr.exp())]);
    }
}

#[test]
fn cells_that_a_family_does_not_describe_are_named_with_their_line() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\n1,a\n2,a\n\"-3\",b\n4,b\n");
    let fit = ["fit", "t.csv", "-t", "t", "--model"];
    for (options, told) in [
        (&["naive-bayes", "--family", "x=gamma"][..], "-3 is not one of the"),
        (&["naive-bayes", "--family", "x=log-normal"], "-3 is not one of the"),
        (&["naive-bayes", "--count", "x"], "-3 is not one of the"),
        (&["multinomial"], "-3 is not a count"),
    ] {
        let message = folder.fails(&[&fit[..], options].concat());
        assert!(message.starts_with("t.csv:4: column `x`: ") && message.contains(told), "{message}");
    }
    // No class has learned from such a cell, so that it says nothing to a model of those that are described.
    folder.write("good.csv", "x,t\n1,a\n2,a\n3,b\n5,b\n");
    folder.ok(&["fit", "good.csv", "-t", "t", "--model", "naive-bayes", "--family", "x=gamma", "-o", "m.deciban"]);
    assert_eq!(folder.table(&["predict", "m.deciban", "t.csv"]).numbers("p(a)")[2], 0.5);
    for command in ["predict", "evaluate"] {
        let (_, _, stderr) = folder.run(&[command, "m.deciban", "t.csv"]);
        assert_eq!(
            stderr.trim_end(),
            "warning: column `x`: 1 cell, as -3, says nothing to a density of numbers above 0",
            "{command}"
        );
    }
    // What was printed before a fault stays; of a fault in the first rows there is nothing.
    folder.ok(&["fit", "good.csv", "-t", "t", "--model", "multinomial", "-o", "m.deciban"]);
    let message = folder.fails(&["predict", "m.deciban", "t.csv"]);
    assert!(message.starts_with("t.csv:4: column `x`: -3"), "{message}");
    assert!(folder.fails(&["predict", "m.deciban", "t.csv", "-o", "p.csv"]).starts_with("t.csv:4:"));
    let many = (0..300_000).map(|i| if i == 299_998 { "-1\n" } else { "2\n" });
    folder.write("many.csv", format!("x\n{}", many.collect::<String>()));
    let (code, stdout, stderr) = folder.run(&["predict", "m.deciban", "many.csv"]);
    assert!(code == 1 && stderr.starts_with("deciban: many.csv:300000: column `x`: -1 is not"), "{stderr}");
    assert!(stdout.is_empty() || stdout.starts_with("decision,") && stdout.lines().count() < 300_000);
    folder.write("none.csv", "x\n");
    assert_eq!(folder.ok(&["predict", "m.deciban", "none.csv"]).lines().count(), 1, "the header alone");
}

#[test]
fn options_of_another_model_are_refused() {
    let folder = Folder::new();
    folder.write("t.csv", "x,c,t\n1,u,a\n2,v,a\n5,u,b\n7,v,b\n4,u,a\n6,v,b\n");
    folder.ok(&["stats", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "t.stats"]);
    let cases: [(&str, &[&str], &str); 9] = [
        ("gaussian", &["--family", "x=gamma"], "naive-bayes"),
        ("gaussian", &["--bins", "x=3"], "naive-bayes, table, tree, a1de"),
        ("gaussian", &["--weight-decay", "1"], "logistic, probit, cloglog, additive, k-dependence"),
        ("tree", &["--covariance", "tied"], "gaussian, naive-bayes"),
        ("tree", &["--ngrams", "1..2"], "naive-bayes, bernoulli, multinomial, logistic, probit, cloglog, noisy-or"),
        ("bernoulli", &["--complement"], "naive-bayes, multinomial"),
        ("logistic", &["--pseudo-count", "1"], "naive-bayes, bernoulli, multinomial, table, tree, a1de, noisy-or"),
        ("logistic", &["--standardise"], "gaussian, naive-bayes"),
        ("naive-bayes", &["--solver", "newton"], "logistic, probit, cloglog"),
    ];
    for (model, options, takers) in cases {
        let told = folder.misused(&[&["fit", "t.csv", "-t", "t", "--model", model], options].concat());
        let expected = format!("error: {} is not an option of --model {model}, but of {takers}\n", options[0]);
        assert!(told.starts_with(&expected), "{told}");
    }
    for option in
        [&["--target", "t"][..], &["--ngrams", "2"], &["--missing", "?"], &["--gaussianise"], &["--folds", "3"]]
    {
        let told = folder.misused(&[&["fit", "t.stats", "--model", "naive-bayes"], option].concat());
        let expected = format!("error: {} was settled when the statistics files were made", option[0]);
        assert!(told.starts_with(&expected), "{told}");
    }
    // What has its default is no option that was given.
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "tree", "-o", "m.deciban"]);
    let message = folder.fails(&["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "--family", "c=gamma"]);
    assert_eq!(message, "--family: column `c` holds categories, which gamma does not describe");
}

#[test]
fn families_of_numbers_by_hand() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\n1,a\n2,a\n3,a\n6,b\n8,b\n");
    folder.write("new.csv", "x\n4\n");
    let fit = ["fit", "t.csv", "-t", "t", "--model", "naive-bayes", "-o", "m.deciban", "--family"];
    let x: f64 = 4.0;
    folder.ok(&[&fit[..], &["x=exponential"]].concat());
    let exponential = |mean: f64| -x / mean - mean.ln();
    all_close(&evidence(&folder, "new.csv", "a"), &[decibans((exponential(2.0) - exponential(7.0)).exp())]);
    folder.ok(&[&fit[..], &["x=log-normal"]].concat());
    let log_normal = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| v.ln()).sum::<f64>() / n;
        let sd = (values.iter().map(|v| (v.ln() - mean).powi(2)).sum::<f64>() / n).sqrt();
        -0.5 * ((x.ln() - mean) / sd).powi(2) - sd.ln()
    };
    let llr = log_normal(&[1.0, 2.0, 3.0]) - log_normal(&[6.0, 8.0]);
    all_close(&evidence(&folder, "new.csv", "a"), &[decibans(llr.exp())]);
    // Numbers on their own are a Gaussian without covariances.
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "naive-bayes", "-o", "bayes.deciban"]);
    folder.ok(&["fit", &wine(), "-t", "Type", "--covariance", "diagonal", "-o", "gauss.deciban"]);
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "naive-bayes", "--joint-numbers", "-o", "joint.deciban"]);
    folder.ok(&["fit", "--model", "gaussian", &wine(), "-t", "Type", "-o", "full.deciban"]);
    let predict = |model: &str| folder.table(&["predict", model, &wine()]);
    same_predictions(&predict("bayes.deciban"), &predict("gauss.deciban"), 1e-12);
    same_predictions(&predict("joint.deciban"), &predict("full.deciban"), 1e-12);
    assert_ne!(predict("bayes.deciban"), predict("full.deciban"));
    let message = folder.fails(&[&fit[..], &["x=zipf"]].concat());
    assert!(message.contains("zipf"), "{message}");
    let message = folder.fails(&[&fit[..], &["y=gamma"]].concat());
    assert!(message.contains("`y`"), "{message}");
}

#[test]
fn two_documents_by_hand() {
    let folder = Folder::new();
    folder.write("mail.tsv", "spam\tWin win cash\nham\thome cash\n");
    folder.write("new.csv", "c1\nwin home\nwin\nwin zebra\nzebra\n");
    let fit = ["fit", "mail.tsv", "--no-header", "--no-quotes", "-t", "c0", "--text", "c1", "-o", "m.deciban"];
    // Three words; of spam's three tokens win is two, ham has two tokens.
    folder.ok(&[&fit[..], &["--model", "multinomial"]].concat());
    let [win, home]: [f64; 2] = [(3.0 / 6.0) / (1.0 / 5.0), (1.0 / 6.0) / (2.0 / 5.0)];
    let by_hand = [win * home, win, win, 1.0].map(decibans);
    all_close(&evidence(&folder, "new.csv", "spam"), &by_hand);
    // One text each: a word that is there has 2/3, one that is not 1/3; cash says nothing.
    folder.ok(&[&fit[..], &["--model", "bernoulli"]].concat());
    all_close(&evidence(&folder, "new.csv", "spam"), &[1.0, 4.0, 4.0, 1.0].map(decibans));
    // Pairs of words: `win win`, `win cash` and `home cash`; nobody has written `win home`.
    folder.ok(&[&fit[..], &["--model", "multinomial", "--ngrams", "2..2"]].concat());
    folder.write("pairs.csv", "c1\nwin home\nwin cash\n");
    all_close(&evidence(&folder, "pairs.csv", "spam"), &[1.0, (2.0 / 5.0) / (1.0 / 4.0)].map(decibans));
    // With upper case kept, `Win` is another word.
    folder.ok(&[&fit[..], &["--model", "multinomial", "--case"]].concat());
    all_close(&evidence(&folder, "new.csv", "spam")[1..2], &[decibans((2.0 / 7.0) / (1.0 / 6.0))]);
}

#[test]
fn every_choice_of_words_by_hand() {
    let folder = Folder::new();
    folder.write("mail.tsv", "spam\tWin win cash\nham\thome cash\n");
    folder.write("stop.txt", "Cash\n");
    folder.write("new.csv", "c1\nwin\n");
    let fit = ["fit", "mail.tsv", "--no-header", "--no-quotes", "-t", "c0", "--text", "c1", "-o", "m.deciban"];
    for (options, ratio) in [
        // Two words: of spam's two tokens win is both, ham has one token.
        ("multinomial --stop-words stop.txt", (3.0 / 4.0) / (1.0 / 3.0)),
        // Only cash is in two texts.
        ("multinomial --min-count 2", 1.0),
        ("bernoulli --min-count 2", 1.0),
        // Win and cash come twice, home once.
        ("multinomial --vocabulary 2", (3.0 / 5.0) / (1.0 / 3.0)),
        // Cash is in the most texts; of the others win came first, and has 2/3 and 1/3.
        ("bernoulli --vocabulary 2", 2.0),
        // Seven tokens of up to three words: spam has six of them, ham three.
        ("multinomial --ngrams 1..3", (3.0 / 13.0) / (1.0 / 10.0)),
        // ` wi`, `win` and `in `: twice each of spam's 12 trigrams, none of ham's 9; there are 14.
        ("multinomial --characters --ngrams 3..3", ((3.0 / 26.0) / (1.0 / 23.0f64)).powi(3)),
    ] {
        let options: Vec<&str> = ["--model"].into_iter().chain(options.split(' ')).collect();
        folder.ok(&[&fit[..], &options].concat());
        all_close(&evidence(&folder, "new.csv", "spam"), &[decibans(ratio)]);
    }
    let message = folder.fails(&[&fit[..], &["--model", "multinomial", "--most-words", "2"]].concat());
    assert!(message.contains("--hashed-bits"), "{message}");
    let message = folder.fails(&[&fit[..], &["--model", "multinomial", "--vocabulary", "0"]].concat());
    assert!(message.contains("--vocabulary"), "{message}");
}

#[test]
fn a_folder_per_class_is_a_table_of_texts() {
    let folder = Folder::new();
    let at = folder.command(&[]).get_current_dir().unwrap().to_path_buf();
    for class in ["spam", "ham"] {
        std::fs::create_dir_all(at.join("mail").join(class)).unwrap();
    }
    folder.write("mail/spam/1.txt", "win win\ncash\n");
    folder.write("mail/ham/1.txt", "home cash\n");
    folder.ok(&["fit", "mail", "--model", "multinomial", "-o", "m.deciban"]);
    let report = folder.json(&["evaluate", "m.deciban", "mail", "--json"]);
    assert_eq!((report["rows"].as_f64(), report["errors"].as_f64()), (Some(2.0), Some(0.0)));
    folder.write("new.csv", "text\nwin home\n");
    let ratio = (3.0 / 6.0) * (1.0 / 6.0) / ((1.0 / 5.0) * (2.0 / 5.0));
    all_close(&evidence(&folder, "new.csv", "spam"), &[decibans(ratio)]);
}

/// The parts meet classes, levels and words in other orders, and each has some that the other has not.
#[test]
fn parts_with_other_orders_of_levels_make_the_whole() {
    let folder = Folder::new();
    let a = "1,u,now free,a\n2,v,free,b\n3,u,now,a\n5,v,home now,b\n";
    let b = "4,w,home late,b\n2,v,late free,a\n6,u,free free,b\n9,w,home,a\n3,u,late,b\n";
    for (name, rows) in [("a.csv", a), ("b.csv", b), ("all.csv", &format!("{a}{b}"))] {
        folder.write(name, format!("x,c,note,t\n{rows}"));
    }
    folder.write("new.csv", "x,c,note\n3,u,free late\n3,v,home\n3,w,now\n3,zebra,zebra\n?,?,free\n");
    let cases: [(&str, &[&str]); 4] = [
        ("naive-bayes", &["--text", "note", "--bins", "x=3"]),
        ("multinomial", &["--text", "note", "--ignore", "x,c"]),
        ("tree", &["--category", "x", "--ignore", "note"]),
        ("table", &["--category", "x", "--ignore", "note"]),
    ];
    for (model, options) in cases {
        let common = ["-t", "t", "--model", model];
        for part in ["a", "b"] {
            let (data, stats) = (format!("{part}.csv"), format!("{part}.stats"));
            folder.ok(&[&["stats", &data, "-o", &stats], &common[..], options].concat());
        }
        // Options that choose columns are settled in the statistics.
        let fit: Vec<&str> = if model == "naive-bayes" { vec!["--bins", "x=3"] } else { Vec::new() };
        let from = |statistics: &[&str], output: &str| {
            let ends = ["--model", model, "-o", output];
            folder.ok(&[&["fit"], statistics, &ends[..], &fit].concat());
            folder.table(&["predict", output, "new.csv", "--evidence"])
        };
        folder.ok(&[&["fit", "all.csv", "-o", "whole.deciban"], &common[..], options].concat());
        let whole = folder.table(&["predict", "whole.deciban", "new.csv", "--evidence"]);
        folder.ok(&["merge", "b.stats", "a.stats", "-o", "ba.stats"]);
        same_predictions(&from(&["a.stats", "b.stats"], "ab.deciban"), &whole, 1e-12);
        same_predictions(&from(&["ba.stats"], "ba.deciban"), &whole, 1e-12);
        let part = from(&["a.stats"], "a.deciban");
        assert_ne!(part, whole, "{model}: b must say something");
    }
}

/// The coefficients of a linear model: feature and class to weight.
fn coefficients(folder: &Folder) -> HashMap<(String, String), f64> {
    let told = folder.json(&["inspect", "m.deciban", "--json"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    let list = told["coefficients"].as_array().unwrap().iter();
    list.map(|c| ((text(&c["name"]), text(&c["class"])), c["weight"].as_f64().unwrap())).collect()
}

/// Φ(z) by Simpson's rule.
fn normal(z: f64) -> f64 {
    let (n, from) = (20_000, -12.0);
    let h = (z - from) / f64::from(n);
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let weight = |i: i32| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    (0..=n).map(|i| weight(i) * density(from + f64::from(i) * h)).sum::<f64>() * h / 3.0
}

#[test]
fn coefficients_predict_what_the_model_predicts() {
    let folder = Folder::new();
    let wine = wine();
    let fit = ["fit", &wine, "-t", "Type", "--columns", "Alcohol,Hue", "-o", "m.deciban"];
    let rows = records(&wine);
    let score = |row: &HashMap<String, String>, class: &str, weights: &HashMap<(String, String), f64>| {
        let weight = |name: &str| weights[&(name.to_string(), class.to_string())];
        let x = |name: &str| row[name].parse::<f64>().unwrap();
        weight("(intercept)") + weight("Alcohol") * x("Alcohol") + weight("Hue") * x("Hue")
    };
    type Link = fn(f64) -> f64;
    let links: [(&str, Link); 3] =
        [("logistic", |z| 1.0 / (1.0 + (-z).exp())), ("probit", normal), ("cloglog", |z| 1.0 - (-z.exp()).exp())];
    for (model, link) in links {
        folder.ok(&[&fit[..], &["--model", model, "--versus-rest", "Barolo", "--weight-decay", "0.5"]].concat());
        let (weights, p) = (coefficients(&folder), folder.table(&["predict", "m.deciban", &wine]).numbers("p(Barolo)"));
        assert_eq!(weights.len(), 3);
        for (row, p) in rows.iter().zip(p) {
            close(p, link(score(row, "Barolo", &weights)), 1e-9);
        }
    }
    folder.ok(&[&fit[..], &["--model", "logistic", "--weight-decay", "0.5"]].concat());
    let (weights, table) = (coefficients(&folder), folder.table(&["predict", "m.deciban", &wine]));
    let classes = ["Barbera", "Barolo", "Grignolino"];
    for (i, row) in rows.iter().enumerate() {
        let scores = classes.map(|class| score(row, class, &weights).exp());
        for (class, score) in classes.iter().zip(scores) {
            close(table.numbers(&format!("p({class})"))[i], score / scores.iter().sum::<f64>(), 1e-9);
        }
    }
}

#[test]
fn a_missing_or_unseen_level_adds_nothing_to_a_linear_score() {
    let folder = Folder::new();
    folder.write("t.csv", "x,c,t\n1,u,b\n2,u,a\n3,v,b\n4,?,b\n2,v,a\n1,v,a\n");
    folder.write("new.csv", "x,c\n3,u\n3,v\n3,?\n3,zebra\n");
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "logistic", "-o", "m.deciban"]);
    let weights = coefficients(&folder);
    let weight = |name: &str| weights[&(name.to_string(), "b".to_string())];
    let z = weight("(intercept)") + 3.0 * weight("x");
    // Evidence is the log-odds without the prior's, which are 0 here: three rows each.
    // The table has u against v, which is in the intercept.
    let found = evidence(&folder, "new.csv", "b");
    all_close(&found[..2], &[z + weight("c=u"), z].map(|z| decibans(z.exp())));
    // Neither is there: the score lies between.
    assert!(found[2] == found[3] && found[1] < found[2] && found[2] < found[0], "{found:?}");
}

#[test]
fn linear_evidence_is_the_posterior_without_the_prior_of_the_training_data() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\n1,a\n2,a\n4,a\n3,a\n3,b\n5,b\n");
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "logistic", "-o", "m.deciban"]);
    let predict = |prior: &str| folder.table(&["predict", "m.deciban", "t.csv", "--evidence", "--prior", prior]);
    for (prior, odds) in [("empirical", 2.0 / 4.0), ("uniform", 1.0), ("b=0.9", 9.0)] {
        let table = predict(prior);
        for (p, evidence) in table.numbers("p(b)").into_iter().zip(table.numbers("evidence(b)")) {
            close(decibans(p / (1.0 - p)), evidence + decibans(odds), 1e-9);
        }
    }
    assert_eq!(predict("uniform").texts("evidence(b)"), predict("b=0.9").texts("evidence(b)"));
}

/// The gradient of the penalised likelihood is 0 at the weights: per unit with `--no-standardise`.
#[test]
fn weight_decay_is_what_the_manual_says() {
    let folder = Folder::new();
    let rows = [(1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (3.0, 1.0), (5.0, 1.0), (9.0, 1.0)];
    let line = |(x, t): &(f64, f64)| format!("{x},{}\n", if *t > 0.5 { "b" } else { "a" });
    folder.write("t.csv", format!("x,t\n{}", rows.iter().map(line).collect::<String>()));
    let variance = {
        let mean = rows.iter().map(|r| r.0).sum::<f64>() / 6.0;
        rows.iter().map(|r| (r.0 - mean).powi(2)).sum::<f64>() / 6.0
    };
    for (options, scale) in [(&["--no-standardise"][..], 1.0), (&[][..], variance)] {
        for solver in ["newton", "lbfgs", "gradient"] {
            let fit = ["fit", "t.csv", "-t", "t", "--model", "logistic", "--weight-decay", "0.7", "--solver", solver];
            folder.ok(&[&fit, options, &["-o", "m.deciban"]].concat());
            let weights = coefficients(&folder);
            let weight = |name: &str| weights[&(name.to_string(), "b".to_string())];
            let residual = |x: f64, t: f64| 1.0 / (1.0 + (-weight("(intercept)") - weight("x") * x).exp()) - t;
            let slope: f64 = rows.iter().map(|(x, t)| residual(*x, *t) * x).sum();
            close(slope + 0.7 * scale * weight("x"), 0.0, 1e-5);
            close(rows.iter().map(|(x, t)| residual(*x, *t)).sum(), 0.0, 1e-5);
        }
    }
}

#[test]
fn separable_classes_are_told() {
    let folder = Folder::new();
    folder.write("t.csv", "x,t\n1,a\n2,a\n8,b\n9,b\n");
    let fit = ["fit", "t.csv", "-t", "t", "-o", "m.deciban", "--model"];
    let (code, _, stderr) = folder.run(&[&fit[..], &["logistic", "--weight-decay", "0"]].concat());
    assert_eq!(code, 0);
    assert!(stderr.starts_with("warning:") && stderr.contains("separable"), "{stderr}");
    let (_, _, stderr) = folder.run(&[&fit[..], &["logistic"]].concat());
    assert!(!stderr.contains("warning"), "{stderr}");
    folder.write("t.csv", "x,t\n1,a\n2,a\n8,b\n9,b\n3,b\n4,a\n");
    let (_, _, stderr) = folder.run(&[&fit[..], &["logistic", "--weight-decay", "0"]].concat());
    assert!(!stderr.contains("warning"), "{stderr}");
}

#[test]
fn classes_stand_in_ascending_order() {
    let folder = Folder::new();
    folder.write("t.csv", "x,c,t\n1,u,10\n2,v,9\n3,u,2\n5,v,10\n4,u,9\n7,v,2\n");
    for model in ["naive-bayes", "table", "tree", "a1de", "logistic", "gaussian", "bernoulli", "multinomial"] {
        let options: &[&str] =
            if ["gaussian", "bernoulli", "multinomial"].contains(&model) { &["--ignore", "c"] } else { &[] };
        folder.ok(&[&["fit", "t.csv", "-t", "t", "--model", model, "-o", "m.deciban"], options].concat());
        let header = folder.table(&["predict", "m.deciban", "t.csv"]).header;
        assert_eq!(header, ["decision", "p(2)", "p(9)", "p(10)"], "{model}");
    }
    for model in ["probit", "cloglog"] {
        let message = folder.fails(&["fit", "t.csv", "-t", "t", "--model", model]);
        assert!(message.contains("two classes") && message.contains("3"), "{message}");
    }
}

#[test]
fn columns_that_a_model_cannot_take_are_named() {
    let folder = Folder::new();
    folder.write("pets.csv", pets());
    let cases: [(&str, &[&str], &str); 4] = [
        ("gaussian", &[], "`fur`"),
        ("bernoulli", &[], "`fur`"),
        ("table", &["--text", "note"], "`note`"),
        ("tree", &["--text", "note"], "`note`"),
    ];
    for (model, options, column) in cases {
        let message = folder.fails(&[&["fit", "pets.csv", "-t", "pet", "--model", model], options].concat());
        assert!(message.contains(column) && message.contains("--ignore"), "{model}: {message}");
    }
    let message = folder.fails(&["fit", "x.stats", "--model", "logistic"]);
    assert!(message.contains("x.stats"), "{message}");
    folder.ok(&["stats", "pets.csv", "-t", "pet", "--columns", "age", "-o", "x.stats"]);
    let message = folder.fails(&["fit", "x.stats", "--model", "logistic"]);
    assert!(message.contains("from rows, not from statistics"), "{message}");
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let folder = Folder::new();
    let pets = pets();
    let mut lines = pets.lines();
    let header = lines.next().unwrap();
    let (mut weighted, mut twice) = (format!("{header},w\n"), format!("{header}\n"));
    for (i, line) in lines.enumerate() {
        let n = 1 + usize::from(i % 4 == 0);
        weighted += &format!("{line},{n}\n");
        twice += &format!("{line}\n").repeat(n);
    }
    folder.write("pets.csv", &pets);
    folder.write("weighted.csv", weighted);
    folder.write("twice.csv", twice);
    for (model, options) in MODELS {
        let fit = |data: &str, output: &str, more: &[&str]| {
            folder.ok(&[&["fit", data, "-t", "pet", "--model", model, "-o", output], options, more].concat());
            folder.table(&["predict", output, "pets.csv", "--evidence"])
        };
        let weighted = fit("weighted.csv", "w.deciban", &["--weight", "w"]);
        same_predictions(&weighted, &fit("twice.csv", "t.deciban", &[]), 1e-6);
        assert_ne!(weighted, fit("pets.csv", "p.deciban", &[]), "{model}");
    }
}

#[test]
fn what_was_merged_can_be_forgotten() {
    let folder = Folder::new();
    let pets = pets();
    let lines: Vec<&str> = pets.lines().collect();
    let table = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    let backwards: Vec<&str> = lines[61..].iter().rev().copied().collect();
    folder.write("a.csv", table(&lines[1..61]));
    folder.write("b.csv", table(&backwards));
    folder.write("pets.csv", &pets);
    for (model, options) in MODELS.into_iter().filter(|(model, _)| !is_discriminative(model)) {
        // Bins of numbers belong to a statistics file: those of two files need not be the same.
        let options =
            if ["table", "tree", "a1de"].contains(&model) { &["--columns", "fur,indoor"][..] } else { options };
        for part in ["a", "b"] {
            let (data, stats) = (format!("{part}.csv"), format!("{part}.stats"));
            folder.ok(&[&["stats", &data, "-t", "pet", "--model", model, "-o", &stats], options].concat());
        }
        folder.ok(&["merge", "a.stats", "b.stats", "-o", "ab.stats"]);
        folder.ok(&["forget", "ab.stats", "b.stats", "-o", "rest.stats"]);
        let predict = |stats: &str| {
            folder.ok(&["fit", stats, "--model", model, "-o", "m.deciban"]);
            folder.table(&["predict", "m.deciban", "pets.csv", "--evidence"])
        };
        same_predictions(&predict("rest.stats"), &predict("a.stats"), 1e-9);
        assert_ne!(predict("ab.stats"), predict("a.stats"), "{model}");
        let message = folder.fails(&["forget", "a.stats", "ab.stats", "-o", "less.stats"]);
        assert!(message.contains("never added"), "{model}: {message}");
    }
}

#[test]
fn noisy_or_by_hand() {
    let folder = Folder::new();
    // Without the cause 30 of 100 have the effect; with it 52 of 80.
    let rows = |x: u8, t: &str, n: usize| format!("{x},{t}\n").repeat(n);
    let data = [rows(0, "no", 70), rows(0, "yes", 30), rows(1, "no", 28), rows(1, "yes", 52)].concat();
    folder.write("t.csv", format!("x,t\n{data}"));
    folder.ok(&["fit", "t.csv", "-t", "t", "--model", "noisy-or", "--pseudo-count", "0", "-o", "m.deciban"]);
    let told = folder.json(&["inspect", "m.deciban", "--json"]);
    assert_eq!(told["effect"], "yes");
    close(told["causes"][0]["alpha"].as_f64().unwrap(), 0.5, 1e-9);
    close(told["causes"][1]["alpha"].as_f64().unwrap(), 0.7, 1e-9);
    let text = folder.ok(&["inspect", "m.deciban"]);
    assert!(text.contains("(leak)") && text.contains("strength 1 − α"), "{text}");
    folder.write("new.csv", "x\n0\n1\n2\n");
    let p = folder.table(&["predict", "m.deciban", "new.csv"]).numbers("p(yes)");
    all_close(&p, &[0.3, 0.65, 1.0 - 0.7 * 0.25]);
    folder.write("bad.csv", "x\n0\n-1\n");
    let (code, _, message) = folder.run(&["predict", "m.deciban", "bad.csv"]);
    assert!(code == 1 && message.contains("column `x`, row 2: -1 is below 0"), "{message}");
    let message = folder.fails(&["fit", "t.csv", "-t", "t", "--model", "noisy-or", "--effect", "maybe"]);
    assert_eq!(message, "--effect: there is no class `maybe`: the classes are `no`, `yes`");
    folder.write("always.csv", "x,t\n0,no\n0,yes\n1,yes\n");
    let fit = ["fit", "always.csv", "-t", "t", "--model", "noisy-or", "--pseudo-count", "0", "-o", "m.deciban"];
    let (_, _, told) = folder.run(&fit);
    assert!(told.contains("`x` was never there without the effect"), "{told}");
}

#[test]
fn least_squares_from_statistics() {
    let folder = Folder::new();
    folder.write("pets.csv", pets());
    let columns = ["--columns", "weight,age"];
    folder.ok(&[&["stats", "pets.csv", "-t", "pet", "-o", "pets.stats"], &columns[..]].concat());
    folder.ok(&["fit", "pets.stats", "--model", "least-squares", "-o", "a.deciban"]);
    folder
        .ok(&[&["fit", "pets.csv", "-t", "pet", "--model", "least-squares", "-o", "b.deciban"], &columns[..]].concat());
    let predict = |model: &str| folder.table(&["predict", model, "pets.csv"]);
    same_predictions(&predict("a.deciban"), &predict("b.deciban"), 1e-12);
    // Scores are printed in the units of the file and sum to 1.
    let told = folder.json(&["inspect", "a.deciban", "--json"]);
    let w0 = |k: usize| told["scores"][k]["w0"].as_f64().unwrap();
    close(w0(0) + w0(1), 1.0, 1e-12);
    folder
        .ok(&[&["stats", "pets.csv", "-t", "pet", "--covariance", "diagonal", "-o", "d.stats"], &columns[..]].concat());
    let message = folder.fails(&["fit", "d.stats", "--model", "least-squares"]);
    assert!(message.contains("needs the means and covariances"), "{message}");
}
