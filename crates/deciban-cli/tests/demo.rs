//! `deciban demo`: the worked examples give the figures of the literature.

mod common;

use common::{Folder, shared};

/// The words of each line.
fn lines(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split_whitespace().map(str::to_string).collect()).collect()
}

/// The line that begins so, without that beginning, as numbers.
fn figures(text: &str, start: &str) -> Vec<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(start));
    let line = line.unwrap_or_else(|| panic!("no line `{start}` in\n{text}"));
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn the_list_names_every_example() {
    let folder = Folder::new();
    let list = folder.ok(&["demo"]);
    for name in ["height", "wine", "cancer", "mnist"] {
        assert!(lines(&list).iter().any(|words| words.first().is_some_and(|w| w == name)), "{list}");
    }
    let message = folder.fails(&["demo", "beer"]);
    assert_eq!(message, "demo: there is no example `beer`: there are height, wine, cancer, mnist");
    let message = folder.fails(&["demo", "mnist"]);
    assert!(message.starts_with("--data: give the folder"), "{message}");
    let message = folder.fails(&["demo", "mnist", "--data", "nowhere"]);
    assert!(message.contains("train-images-idx3-ubyte.gz"), "{message}");
}

#[test]
fn height() {
    let text = Folder::new().ok(&["demo", "height"]);
    assert!(text.contains("p(174 | M) = 0.05395\n") && text.contains("p(174 | F) = 0.01198\n"), "{text}");
    assert!(text.contains("likelihood ratio M over F = 4.50, that is 6.54 decibans"), "{text}");
    // By hand: 0.8·0.011978 / (0.8·0.011978 + 0.2·0.053946) = 0.4704.
    assert!(lines(&text).contains(&["0.8", "0.4704", "0.5296", "M"].map(String::from).to_vec()), "{text}");
    assert!(lines(&text).contains(&["0.9", "0.6665", "0.3335", "F"].map(String::from).to_vec()), "{text}");
}

#[test]
fn wine() {
    let text = Folder::new().ok(&["demo", "wine"]);
    // The same split and estimator as on the command line.
    let folder = Folder::new();
    let wines = std::fs::read_to_string(common::wine()).unwrap();
    let (header, rows) = wines.split_once('\n').unwrap();
    let half = |from: usize| {
        let rows: Vec<&str> = rows.lines().skip(from).step_by(2).collect();
        format!("{header}\n{}\n", rows.join("\n"))
    };
    folder.write("train.csv", half(0));
    folder.write("test.csv", half(1));
    for covariance in ["full", "tied", "diagonal", "tied-diagonal", "spherical", "tied-spherical"] {
        let options = ["-t", "Type", "--covariance", covariance, "--estimator", "unbiased", "-o", "m.deciban"];
        folder.ok(&[&["fit", "train.csv"], &options[..]].concat());
        let evaluation = folder.json(&["evaluate", "m.deciban", "test.csv", "--json"]);
        let (errors, log_loss) = (evaluation["errors"].as_f64().unwrap(), evaluation["log_loss"].as_f64().unwrap());
        let line = format!("{covariance} 0 {errors} {:.2} % {log_loss:.4}", errors / 89.0 * 100.0);
        assert!(lines(&text).iter().any(|words| words.join(" ") == line), "no `{line}` in\n{text}");
    }
}

#[test]
fn wine_with_alcohol_and_fixed_acidity() {
    let Some(data) = shared("data/wine/wine27.csv") else { return };
    let text = Folder::new().ok(&["demo", "wine", "--data", &data]);
    let (two, three) = text.split_once("Three wines").unwrap();
    assert!(two.starts_with("Barolo or not, from Alcohol and Fixed Acidity: 25 of 178 wrong"), "{two}");
    assert_eq!(figures(&two[two.find("LLR").unwrap()..], "w Alcohol"), [3.39945]);
    assert_eq!(figures(&two[two.find("LLR").unwrap()..], "w0"), [-38.8078]);
    assert!(two.contains("p(Barolo) = 0.7241"), "{two}");
    assert_eq!(figures(three, "w Alcohol"), [53.2485, 47.6671, 51.1945]);
    // The bias is −½ μᵀΣ⁻¹μ + ln π.
    let (w0, with_prior) = (figures(three, "w0 "), figures(three, "w0 + ln prior (softmax)"));
    for ((a, b), rows) in w0.iter().rev().zip(with_prior.iter().rev()).zip([48.0, 71.0, 59.0]) {
        assert!((b - a - (rows / 178.0f64).ln()).abs() < 2e-3, "{a} and {b}");
    }
    for line in ["p(Barolo) = 0.8233", "p(Grignolino) = 0.0632", "p(Barbera) = 0.1135"] {
        assert!(three.contains(line), "{three}");
    }
}

#[test]
fn cancer() {
    let text = Folder::new().ok(&["demo", "cancer"]);
    // 10·log₁₀(0.63/0.37) = 2.3, less 30 for a cost of 1000; 10·log₁₀(0.995/5) = −7.0.
    for threshold in ["+2.3 dB", "-27.7 dB", "-7.0 dB"] {
        assert!(text.contains(threshold), "{text}");
    }
    assert!(figures(&text, "a study: errors count alike").starts_with(&[2.3, 15.0, 9.0]), "{text}");
    assert!(figures(&text, "clinic: a miss costs 1000").starts_with(&[-27.7, 0.0, 160.0]), "{text}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn mnist() {
    let Some(data) = shared("data/mnist") else { return };
    let text = Folder::new().ok(&["demo", "mnist", "--data", &data]);
    assert_eq!(figures(&text, "naive, tied"), [13.7, 14.4, 25.0, 12.3]);
    assert_eq!(figures(&text, "tied"), [12.3, 12.6, 23.7, 12.3]);
    assert_eq!(figures(&text, "naive "), [12.2, 12.3, 23.4, 11.4]);
    assert_eq!(figures(&text, "full"), [4.3, 3.6, 12.2, 10.2]);
    let header: Vec<&str> = text.lines().next().unwrap().split("  ").map(str::trim).filter(|w| !w.is_empty()).collect();
    assert_eq!(header, ["error rate, %", "PCA 100", "PCA 50", "PCA 9", "PCA 100, LDA 9"]);
}
