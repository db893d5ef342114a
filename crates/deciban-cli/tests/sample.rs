//! `deciban sample`: rows drawn from a model lead back to it.

use crate::common::{Folder, Table, numbers, wine};

#[test]
fn a_sample_leads_back_to_the_model() {
    for options in [&["--covariance", "full"][..], &["--covariance", "tied"], &["--standardise"]] {
        let folder = Folder::with_model(options);
        const N: usize = 40_000;
        let text = folder.ok(&["sample", "wine.deciban", "-n", &N.to_string()]);
        folder.write("sample.csv", &text);
        assert_eq!(text.lines().count(), N + 1);
        folder.ok(&[&["fit", "sample.csv", "-t", "Type", "-o", "again.deciban"], options].concat());
        let inspect = |name: &str| folder.json(&["inspect", name, "--json"]);
        let (truth, again) = (inspect("wine.deciban"), inspect("again.deciban"));
        for (a, b) in truth["classes"].as_array().unwrap().iter().zip(again["classes"].as_array().unwrap()) {
            assert_eq!(a["class"], b["class"]);
            let (p, q) = (a["prior"].as_f64().unwrap(), b["prior"].as_f64().unwrap());
            // Five standard errors everywhere.
            assert!((p - q).abs() < 5.0 * (p / N as f64).sqrt(), "{p} became {q}");
            if options == ["--standardise"] {
                continue; // Another sample is standardised otherwise.
            }
            let (ma, mb) = (numbers(&a["mean"]), numbers(&b["mean"]));
            let rows = b["rows"].as_f64().unwrap();
            for i in 0..2 {
                let (sa, sb) = (numbers(&a["covariance"][i]), numbers(&b["covariance"][i]));
                let sd = |j: usize| numbers(&a["covariance"][j])[j].sqrt();
                assert!((ma[i] - mb[i]).abs() < 5.0 * sd(i) / rows.sqrt(), "mean {} became {}", ma[i], mb[i]);
                for j in 0..2 {
                    let error = 5.0 * sd(i) * sd(j) * (2.0 / rows).sqrt();
                    assert!((sa[j] - sb[j]).abs() < error, "covariance {} became {}", sa[j], sb[j]);
                }
            }
        }
        // As likely as the wines themselves: half of what is drawn lies where half of them lies.
        let errors =
            |data: &str| folder.json(&["evaluate", "wine.deciban", data, "--json"])["log_loss"].as_f64().unwrap();
        assert!((errors("sample.csv") - errors(&wine())).abs() < 0.1);
    }
}

#[test]
fn student_and_gaussianised_models_are_drawn_from_too() {
    for options in [&["--estimator", "bayes"][..], &["--gaussianise"]] {
        let folder = Folder::with_model(options);
        let text = folder.ok(&["sample", "wine.deciban", "-n", "20000", "--class", "Barolo"]);
        let alcohol = Table::parse(&text).numbers("Alcohol");
        let mean = alcohol.iter().sum::<f64>() / alcohol.len() as f64;
        // The Barolos' mean is 13.745, their standard deviation 0.458.
        assert!((mean - 13.745).abs() < 0.05, "{options:?}: {mean}");
    }
}

#[test]
fn seeds_repeat_and_classes_are_chosen() {
    let folder = Folder::with_model(&[]);
    let sample = |more: &[&str]| folder.ok(&[&["sample", "wine.deciban", "-n", "20"], more].concat());
    assert_eq!(sample(&["--seed", "7"]), sample(&["--seed", "7"]));
    assert_ne!(sample(&["--seed", "7"]), sample(&["--seed", "8"]));
    let table = Table::parse(&sample(&["--class", "Barolo"]));
    assert_eq!(table.header, ["Alcohol", "Hue", "Type"]);
    assert!(table.texts("Type").iter().all(|class| class == "Barolo"));
    let table = Table::parse(&sample(&["--prior", "Barolo=0"]));
    assert!(!table.texts("Type").contains(&"Barolo".to_string()));
    let message = folder.fails(&["sample", "wine.deciban", "--class", "Merlot"]);
    assert_eq!(message, "--class: there is no class `Merlot`: the classes are `Barbera`, `Barolo`, `Grignolino`");
    folder.misused(&["sample", "wine.deciban", "-n", "many"]);
}
