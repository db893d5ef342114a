//! `deciban demo`: the worked examples give the figures of the literature.

use crate::common::{Folder, shared};

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
    const NAMES: &str =
        "height, cats, areas, punctuation, languages, spam, wine, cancer, learning-curve, masking, mnist";
    for name in NAMES.split(", ") {
        assert!(lines(&list).iter().any(|words| words.first().is_some_and(|w| w == name)), "{list}");
    }
    let message = folder.fails(&["demo", "beer"]);
    assert_eq!(message, format!("there is no example `beer`: there are {NAMES}"));
    let message = folder.fails(&["demo", "cats", "--data", "dogs.csv"]);
    assert_eq!(message, "--data: `cats` has its data inside: only languages, spam, wine, mnist take others");
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

/// The line of a table that begins with these words, without them.
#[track_caller]
fn row(text: &str, start: &str) -> Vec<String> {
    let starts: Vec<&str> = start.split(' ').collect();
    let found = lines(text)
        .into_iter()
        .find(|words| words.iter().zip(&starts).filter(|(a, b)| a == *b).count() == starts.len());
    found.unwrap_or_else(|| panic!("no row `{start}` in\n{text}")).split_off(starts.len())
}

/// Issue 13, item 27: the ten cats of the lecture, and its π.
#[test]
fn cats_are_those_of_the_lecture() {
    let text = Folder::new().ok(&["demo", "cats"]);
    let (ml, laplace) = text.split_once("With a pseudo-count of 1").unwrap();
    // Each gender has five cats; with pseudo-counts π = (n + 1)/9.
    assert_eq!(row(ml, "black"), ["2", "1", "0.4000", "0.2000", "-3.0", "0.6667", "0.3333"]);
    assert_eq!(row(ml, "orange"), ["0", "2", "0.0000", "0.4000", "+∞", "0.0000", "1.0000"]);
    assert_eq!(row(ml, "white"), ["2", "2", "0.4000", "0.4000", "+0.0", "0.5000", "0.5000"]);
    assert_eq!(row(ml, "calico"), ["1", "0", "0.2000", "0.0000", "-∞", "1.0000", "0.0000"]);
    assert_eq!(row(laplace, "black"), ["2", "1", "0.3333", "0.2222", "-1.8", "0.6000", "0.4000"]);
    assert_eq!(row(laplace, "calico"), ["1", "0", "0.2222", "0.1111", "-3.0", "0.6667", "0.3333"]);
    assert_eq!(row(ml, "(never seen)"), ["0", "0", "0.0000", "0.0000", "0/0", "0/0", "0/0"]);
    assert_eq!(row(laplace, "(never seen)"), ["0", "0", "0.1111", "0.1111", "+0.0", "0.5000", "0.5000"]);
    // 0.1·2 / (0.1·2 + 0.9·1)
    assert!(laplace.contains("one cat in ten is female: 0.1818 with"), "{laplace}");
}

#[test]
fn areas() {
    let text = Folder::new().ok(&["demo", "areas"]);
    assert_eq!(row(&text, "400..800"), ["3", "1", "0.4", "0.2", "-3.0", "0.333"]);
    assert_eq!(row(&text, ">=1200"), ["0", "3", "0.1", "0.4", "+6.0", "0.800"]);
    // 0.2·0.3 / (0.2·0.3 + 0.8·0.2) = 3/11
    assert_eq!(row(&text, "0.2 +1.8"), ["0.273", "flat"]);
    assert_eq!(row(&text, "0.5 +1.8"), ["0.600", "house"]);
}

/// Issue 13, item 27: the scripts of the lecture, its π, and the right b and LLRs.
#[test]
fn punctuation_is_that_of_the_lecture() {
    let text = Folder::new().ok(&["demo", "punctuation"]);
    assert_eq!(figures(&text, "C total"), [30.0, 46.0, 72.0, 3.0, 48.0, 5.0, 31.0, 235.0]);
    assert_eq!(figures(&text, "Python total"), [12.0, 36.0, 70.0, 16.0, 5.0, 40.0, 38.0, 217.0]);
    assert_eq!(figures(&text, "π(C)"), [0.128, 0.196, 0.306, 0.013, 0.204, 0.021, 0.132, 1.0]);
    assert_eq!(figures(&text, "π(Python)"), [0.055, 0.166, 0.323, 0.074, 0.023, 0.184, 0.175, 1.0]);
    assert_eq!(figures(&text, "b = ln π(C)/π(Python)"), [0.837, 0.165, -0.052, -1.754, 2.182, -2.159, -0.283]);
    let llr: Vec<f64> =
        text.lines().filter(|line| line.starts_with("x·b")).map(|line| figures(line, "x·b, nats")[7]).collect();
    assert_eq!(llr, [2.73, -3.88]);
    assert!(text.contains("+4.8 and -0.6 nats"), "{text}");
    assert!(text.contains("+11.9 decibans: C.") && text.contains("-16.8 decibans: Python."), "{text}");
}

/// Files that are right in `demo languages`, and how many there are.
fn right(text: &str) -> (usize, usize) {
    let line = text.lines().find(|line| line.contains("files are right")).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    (words[0].parse().unwrap(), words[2].parse().unwrap())
}

#[test]
fn languages() {
    let folder = Folder::new();
    let text = folder.ok(&["demo", "languages"]);
    assert_eq!(right(&text), (28, 28), "{text}");
    // The parts of the snippet's evidence add up, and so they say rust.
    let ledger: Vec<Vec<String>> =
        lines(text.split_once("decibans each").unwrap().1).into_iter().filter(|words| words.len() == 4).collect();
    let sum: f64 = ledger.iter().map(|words| words[3].parse::<f64>().unwrap()).sum();
    let all: f64 = row(&text, "all")[1].parse().unwrap();
    assert!(text.contains("Most likely rust") && ledger.len() == 8 && (sum - all).abs() < 0.5, "{text}");
    // The same files from a folder are the same.
    let project = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = project.join("examples/languages").display().to_string();
    assert_eq!(folder.ok(&["demo", "languages", "--data", &examples]), text);
    // Real files: those of this project.
    let real = Folder::new();
    let gather = |language: &str, extension: &str, at: &str| {
        let mut files = Vec::new();
        find(&project.join(at), extension, &mut files);
        std::fs::create_dir_all(real.path().join(language)).unwrap();
        for (i, file) in files.iter().enumerate() {
            real.write(&format!("{language}/{i}"), std::fs::read(file).unwrap());
        }
    };
    gather("rust", "rs", "crates/deciban/src");
    gather("markdown", "md", "docs");
    gather("toml", "toml", "crates");
    gather("python", "py", "crates");
    let text = real.ok(&["demo", "languages", "--data", "."]);
    let (right, files) = right(&text);
    assert!(files > 60 && right * 100 >= files * 95, "{text}");
    let message = folder.fails(&["demo", "languages", "--data", "."]);
    assert_eq!(message, "--data: give a folder with a folder of files for each of several languages");
}

/// The files below a folder with this extension.
fn find(folder: &std::path::Path, extension: &str, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, extension, files);
        } else if path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
}

#[test]
fn spam() {
    let text = Folder::new().ok(&["demo", "spam"]);
    assert!(text.contains("a dictionary of 50000 words"), "{text}");
    for model in ["multinomial", "Bernoulli"] {
        // Errors, rate, log loss, undefined; then decibans and posterior without and with the word.
        let (learnt, new) = text.split_once("claim free prize").unwrap();
        for (pseudo_count, most) in [("1", 10.0), ("0.01", 5.0)] {
            let found = row(learnt, &format!("{model} {pseudo_count}"));
            assert!(found[1].parse::<f64>().unwrap() < most && found[4] == "0", "{text}");
            let found = row(new, &format!("{model} {pseudo_count}"));
            let p: Vec<f64> = found.iter().map(|word| word.parse().unwrap()).collect();
            assert!(p[1] > 0.5 && p[3] > 0.5 && p[2] != p[0], "{text}");
        }
        let found = row(learnt, &format!("{model} 0"));
        assert!(found[4].parse::<f64>().unwrap() > 1000.0 && found[3] == "∞", "{text}");
        assert_eq!(row(new, &format!("{model} 0"))[2..], ["0/0", "0/0"]);
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn spam_of_real_messages() {
    let data = shared("data/sms-spam");
    let folder = Folder::new();
    let text = folder.ok(&["demo", "spam", "--data", &data]);
    assert!(text.starts_with("4460 real messages to learn from, 1114 for the test"), "{text}");
    assert_eq!(row(&text, "multinomial 1")[..3], ["17", "1.53", "%"]);
    assert_eq!(row(&text, "multinomial 0")[4..], ["539"]);
    folder.write("bad.txt", "ham\thello\nspim\tbuy\n");
    let message = folder.fails(&["demo", "spam", "--data", "bad.txt"]);
    assert_eq!(message, "--data: bad.txt, line 2: give lines of `ham` or `spam`, a tab and the text");
}

#[test]
fn wine() {
    let text = Folder::new().ok(&["demo", "wine"]);
    // The same split and estimator as on the command line.
    let folder = Folder::new();
    let wines = std::fs::read_to_string(crate::common::wine()).unwrap();
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
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn wine_with_alcohol_and_fixed_acidity() {
    let data = shared("data/wine/wine27.csv");
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
    // One tumour, p the probability that it is malignant: benign is expected to cost C p, malignant 1 − p.
    let p: f64 = text.split("p(malignant) = ").nth(1).unwrap()[..6].parse().unwrap();
    for (miss, decision) in [(1.0, "benign"), (10.0, "benign"), (1000.0, "malignant")] {
        let line = lines(&text).into_iter().find(|w| w.len() == 5 && w[0] == format!("{miss}") && w[1] == "1").unwrap();
        let [a, b] = [2, 3].map(|j| line[j].parse::<f64>().unwrap());
        assert!((a - miss * p).abs() < 1e-4 * miss && (b - (1.0 - p)).abs() < 1e-4 && line[4] == decision, "{text}");
    }
}

#[test]
fn learning_curve() {
    let text = Folder::new().ok(&["demo", "learning-curve"]);
    let rates = |rows: &str| figures(&text, rows);
    // LDA learns faster where its assumption holds, and stays behind where it does not.
    let (few, many) = (rates("40 "), rates("2560 "));
    assert!(few[0] + 0.5 < few[1] && many[3] + 3.0 < many[2], "{text}");
    // √(3.24·5/(0.75 + 1.25))/2 = 1.42302, Φ(−1.42302) = 7.74 %.
    assert!(text.contains("than 7.74 %") && (many[0] - 7.74).abs() < 1.0 && (many[1] - 7.74).abs() < 1.0, "{text}");
}

#[test]
fn masking() {
    let text = Folder::new().ok(&["demo", "masking"]);
    let of = |start: &str| figures(&text, start);
    // Least squares never decides for the middle class, LDA for a third of the rows.
    let (squares, lda) = (of("least squares"), of("LDA"));
    assert!(squares[1] == 0.0 && squares[3] == 33.33, "{text}");
    assert!((lda[1] - 100.0).abs() <= 3.0 && lda[3] < 2.0, "{text}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn mnist() {
    let data = shared("data/mnist");
    let text = Folder::new().ok(&["demo", "mnist", "--data", &data]);
    assert_eq!(figures(&text, "naive, tied"), [13.7, 14.4, 25.0, 12.3]);
    assert_eq!(figures(&text, "tied"), [12.3, 12.6, 23.7, 12.3]);
    assert_eq!(figures(&text, "naive "), [12.2, 12.3, 23.4, 11.4]);
    assert_eq!(figures(&text, "full"), [4.3, 3.6, 12.2, 10.2]);
    let header: Vec<&str> = text.lines().next().unwrap().split("  ").map(str::trim).filter(|w| !w.is_empty()).collect();
    assert_eq!(header, ["error rate, %", "PCA 100", "PCA 50", "PCA 9", "PCA 100, LDA 9"]);
}
