//! `deciban plot` and `evaluate --report`: figures of every kind of model, as SVG, PNG and a page.

use crate::common::{Folder, wine};

/// The text of a file whose tags are closed in order.
fn drawn(folder: &Folder, name: &str) -> String {
    let text = String::from_utf8(folder.read(name)).unwrap();
    let mut open: Vec<&str> = Vec::new();
    for tag in text.split('<').skip(1).map(|t| t.split_once('>').expect("every < has a >").0) {
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.starts_with('!') || tag.starts_with("meta") || tag.ends_with('/') => {}
            None => open.push(tag.split_whitespace().next().unwrap()),
        }
    }
    assert!(open.is_empty() && !text.contains("NaN"), "{open:?}");
    text
}

/// The bytes of the pixels of the first picture in a figure: the PNG inside, without its packing.
fn pixels(svg: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = svg.split("base64,").nth(1).unwrap().split('"').next().unwrap();
    let digit = |c: u8| DIGITS.iter().position(|d| *d == c).unwrap() as u32;
    let mut png = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0, |bits, c| bits << 6 | digit(*c)) << (6 * (4 - four.len()));
        png.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    let (mut at, mut packed) = (8, Vec::new());
    while at < png.len() {
        let length = u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
        if &png[at + 4..at + 8] == b"IDAT" {
            packed.extend_from_slice(&png[at + 8..at + 8 + length]);
        }
        at += length + 12;
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&packed[..]), &mut bytes).unwrap();
    bytes
}

fn plot(folder: &Folder, args: &[&str]) -> String {
    folder.ok(&[&["plot", "wine.deciban", &wine(), "-o", "figure.svg"], args].concat());
    drawn(folder, "figure.svg")
}

#[test]
fn every_kind_says_what_it_shows() {
    let folder = Folder::with_model(&[]);
    let kinds: [(&str, &[&str]); 8] = [
        ("densities", &["Densities", "Alcohol", "Hue", "density", "Barolo"]),
        ("regions", &["Decision regions", "Alcohol", "Hue", "Barolo", "data:image/png;base64,"]),
        ("posterior", &["p(Grignolino | Alcohol, Hue)", "50%"]),
        ("confusion", &["Confusion", "decided", "true", "Grignolino"]),
        ("roc", &["ROC: each class against the rest", "Barolo (AUC 0.9"]),
        ("det", &["DET: each class against the rest", "Barbera (EER "]),
        ("bayes-error", &["Bayes error: each class against the rest", "actual", "minimum", "default", "Grignolino"]),
        ("reliability", &["Reliability of the most probable class", "calibration error "]),
    ];
    for (kind, parts) in kinds {
        let svg = plot(&folder, &["--kind", kind]);
        parts.iter().for_each(|part| assert!(svg.contains(part), "{kind} lacks {part}"));
        assert!(svg.contains("<desc>") && svg.contains("prefers-color-scheme:dark"), "{kind}");
        // The same on any number of threads.
        let mut command = folder.command(&["plot", "wine.deciban", &wine(), "--kind", kind]);
        let output = command.env("RAYON_NUM_THREADS", "1").output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), svg, "{kind}");
    }
    let one = plot(&folder, &["--kind", "roc", "--class", "Barolo", "--title", "A <wine>"]);
    assert!(one.contains("A &lt;wine&gt;</text>") && one.contains("Barolo (AUC") && !one.contains("Barbera"));
}

#[test]
fn the_ledger_of_a_row() {
    let folder = Folder::with_model(&[]);
    let svg = plot(&folder, &["--kind", "ledger", "--row", "84"]);
    let row = folder.json(&["explain", "wine.deciban", &wine(), "--row", "84", "--json"]);
    let title = format!("row 84: {} over {}", row["of"].as_str().unwrap(), row["over"].as_str().unwrap());
    for part in [title.as_str(), "posterior 0.", "prior odds", "Alcohol  13.05", "total", "decibans"] {
        assert!(svg.contains(part), "{part}");
    }
    let total = format!(">{:+.1}", row["total"].as_f64().unwrap());
    assert!(svg.contains(&total), "{total}");
    assert!(plot(&folder, &["--kind", "ledger", "--class", "Barolo"]).contains("row 1: Barolo over the rest"));
    assert!(plot(&folder, &["--kind", "ledger", "--classes", "Barolo,Barbera"]).contains("row 1: Barolo over Barbera"));
    let message = folder.fails(&["plot", "wine.deciban", &wine(), "--kind", "ledger", "--row", "179"]);
    assert_eq!(message, "--row: there is no row 179");
}

#[test]
fn learning_curves_of_models() {
    let folder = Folder::with_model(&[]);
    folder.ok(&["fit", &wine(), "-t", "Type", "--columns", "Alcohol,Hue", "--model", "logistic", "-o", "line.deciban"]);
    let draw = ["plot", "wine.deciban", "line.deciban", &wine(), "--kind", "learning-curve", "-o", "curve.svg"];
    folder.ok(&draw);
    let svg = drawn(&folder, "curve.svg");
    for part in
        ["Learning curves", "rows to learn from", "log loss on new rows", "error rate on new rows", ">line<", ">wine<"]
    {
        assert!(svg.contains(part), "{part}");
    }
    folder.ok(&["fit", "--model", "gaussian", &wine(), "-t", "Type", "--columns", "Alcohol", "-o", "one.deciban"]);
    let message = folder.fails(&["plot", "wine.deciban", "one.deciban", &wine(), "--kind", "learning-curve"]);
    assert!(message.starts_with("one.deciban has other classes or columns than wine.deciban"), "{message}");
    let message = folder.fails(&["plot", "wine.deciban", "one.deciban", "--kind", "learning-curve"]);
    assert_eq!(message, "give a table after the model files: rows to learn from");
}

#[test]
fn png_by_extension_scale_and_paper() {
    let folder = Folder::with_model(&[]);
    let draw = |args: &[&str]| {
        folder.ok(&[&["plot", "wine.deciban", &wine(), "--kind", "regions", "-o", "figure.png"], args].concat());
        let png = folder.read("figure.png");
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert!(png.starts_with(b"\x89PNG"));
        ((side(16), side(20)), png)
    };
    let (size, light) = draw(&[]);
    assert_eq!((size, draw(&["--scale", "1"]).0), ((1280, 840), (640, 420)));
    assert_ne!(light, draw(&["--dark"]).1);
    assert_eq!(light, draw(&[]).1);
}

#[test]
fn prior_and_costs_move_regions() {
    let folder = Folder::with_model(&[]);
    let plain = plot(&folder, &["--kind", "regions"]);
    let prior = plot(&folder, &["--kind", "regions", "--prior", "Barolo=0.9"]);
    let costs = plot(&folder, &["--kind", "regions", "--costs", "Barbera>Barolo=100"]);
    let reject = plot(&folder, &["--kind", "regions", "--reject", "0.2"]);
    assert!(plain != prior && plain != costs && prior != costs);
    assert!(reject.contains(">reject</text>") && !plain.contains(">reject</text>"));
    // A reject that is never worth it has no region.
    assert!(!plot(&folder, &["--kind", "regions", "--reject", "1"]).contains(">reject</text>"));
}

#[test]
fn columns_that_are_not_shown() {
    let folder = Folder::new();
    let wine = wine();
    let two = ["--kind", "regions", "--columns", "Alcohol,Hue"];
    folder.ok(&["fit", "--model", "gaussian", &wine, "--target", "Type", "-o", "wine.deciban"]);
    assert!(plot(&folder, &two).contains("ellipses: one and two standard deviations; other columns integrated out"));
    // The marginal of a full Gaussian is the Gaussian of the marginal: the same decisions on the grid, but
    // for points on a boundary, where the last digit decides.
    let alone = plot(&Folder::with_model(&[]), &["--kind", "regions"]);
    let (both, alone) = (pixels(&plot(&folder, &two)), pixels(&alone));
    assert!(both.len() == alone.len() && both.len() > 10_000);
    let differ = both.iter().zip(&alone).filter(|(a, b)| a != b).count();
    assert!(differ * 1000 < both.len(), "{differ} of {}", both.len());
    // Other columns have other decisions: the comparison can fail.
    let other = pixels(&plot(&folder, &["--kind", "regions", "--columns", "Alcohol,Proline"]));
    assert!(other.iter().zip(&alone).filter(|(a, b)| a != b).count() * 10 > alone.len());
    folder.ok(&["fit", &wine, "--target", "Type", "--model", "logistic", "--weight-decay", "1", "-o", "wine.deciban"]);
    assert!(plot(&folder, &two).contains("other columns at their mean"));
    assert!(plot(&folder, &["--kind", "densities", "--columns", "Hue"]).contains("Barolo"));
}

#[test]
fn errors_name_the_flag() {
    let folder = Folder::new();
    let wine = wine();
    folder.ok(&["fit", "--model", "gaussian", &wine, "--target", "Type", "-o", "wine.deciban"]);
    let fails = |args: &[&str], parts: &[&str]| {
        let (code, stdout, stderr) = folder.run(args);
        assert!(code != 0 && stdout.is_empty(), "{args:?}");
        parts.iter().for_each(|part| assert!(stderr.contains(part), "{stderr} lacks {part}"));
    };
    let plot = ["plot", "wine.deciban", wine.as_str()];
    let with = |args: &[&'static str]| [&plot[..], args].concat();
    fails(&with(&["--kind", "regions"]), &["--columns", "give two columns"]);
    fails(&with(&["--kind", "regions", "--columns", "Hue,Huge"]), &["no column `Huge`", "Alcohol"]);
    fails(&with(&["--kind", "roc", "--columns", "Hue"]), &["--columns"]);
    fails(&with(&["--kind", "roc", "--class", "Chianti"]), &["--class", "`Chianti`", "Barolo"]);
    fails(&with(&["--kind", "roc", "-o", "roc.jpg"]), &["--output", ".svg or .png"]);
    fails(&with(&["--kind", "roc", "--scale", "0"]), &["--scale"]);
    assert_eq!(folder.files(), ["wine.deciban"]);
}

#[test]
fn a_report_is_one_page_without_the_network() {
    let folder = Folder::new();
    let wine = wine();
    folder.ok(&["fit", "--model", "gaussian", &wine, "--target", "Type", "-o", "wine.deciban"]);
    let (code, stdout, _) = folder.run(&["evaluate", "wine.deciban", &wine, "--report", "wine.html"]);
    let plain = folder.run(&["evaluate", "wine.deciban", &wine]).1;
    assert_eq!((code, stdout), (0, plain));
    let page = drawn(&folder, "wine.html");
    let parts = [
        "wine.deciban on ",
        "gaussian, covariance full",
        "error rate",
        "precision",
        "Confusion",
        "ROC",
        "DET",
        "Bayes error",
        "Reliability",
        "Information of single columns",
        "Flavanoids",
        "prefers-color-scheme:dark",
        "<desc>",
    ];
    parts.iter().for_each(|part| assert!(page.contains(part), "the page lacks {part}"));
    assert!(!page.contains("at a cost"));
    let costs = ["--costs", "Barolo>Barbera=1000", "--report", "costs.html"];
    folder.ok(&[&["evaluate", "wine.deciban", &wine], &costs[..]].concat());
    let priced = drawn(&folder, "costs.html");
    assert!(priced.contains("at a cost") && priced.contains("<td>Barolo</td><td>1000</td><td>0</td>"));
    let without_names = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http:", "https:", "<script", "<link", "@import", "url("] {
        assert!(!without_names.contains(outside), "{outside}");
    }
}

#[test]
fn reports_of_other_models() {
    let folder = Folder::new();
    let wine = wine();
    for options in [&["--pca", "3"][..], &["--model", "logistic", "--weight-decay", "1"], &["--model", "tree"]] {
        folder.ok(&[&["fit", &wine, "--target", "Type", "-o", "wine.deciban"], options].concat());
        folder.ok(&["evaluate", "wine.deciban", &wine, "--report", "report.html"]);
        let page = drawn(&folder, "report.html");
        assert!(page.contains("Bayes error"), "{options:?}");
        assert_eq!(page.contains("Information of single columns"), options[1] != "logistic", "{options:?}");
    }
    let text = "ham\tsee you at home\nspam\tfree prize now\nham\tcome home\nspam\twin a free prize\n";
    folder.write("mail.tsv", text);
    let read = ["--no-header", "--no-quotes"];
    let fit = ["fit", "mail.tsv", "--target", "c0", "--text", "c1", "--model", "multinomial", "-o", "mail.deciban"];
    folder.ok(&[&fit[..], &read].concat());
    folder.ok(&[&["evaluate", "mail.deciban", "mail.tsv", "--report", "mail.html"][..], &read].concat());
    let page = drawn(&folder, "mail.html");
    for part in ["Most telling for each class", "prize", "Cllr", "AUC"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn standard_input_is_read_twice() {
    let folder = Folder::with_model(&[]);
    let rows = std::fs::read_to_string(wine()).unwrap();
    let page = |data: &str, input: &str| {
        let (code, _, stderr) = folder.run_with(&["evaluate", "wine.deciban", data, "--report", "page.html"], input);
        assert!(code == 0 && stderr.lines().all(|line| line.contains("was fitted on these rows")), "{stderr}");
        drawn(&folder, "page.html").replace(data, "DATA")
    };
    let file = page(&wine(), "");
    // All but the title, which names the input.
    let body = |page: String| page.split_once("</h1>").unwrap().1.to_string();
    assert_eq!(body(page("-", &rows)).replace("DATA", "-"), body(file).replace("DATA", "-"));
}

#[test]
fn a_column_that_parts_two_classes_tells_one_bit() {
    let folder = Folder::new();
    let mut table = String::from("class,apart,same\n");
    for i in 0..40 {
        table += &format!("{},{},{}\n", if i % 2 == 0 { "a" } else { "b" }, 100 * (i % 2) + i % 5, (i / 2) % 7);
    }
    folder.write("two.csv", table);
    folder.ok(&["fit", "--model", "gaussian", "two.csv", "--target", "class", "-o", "two.deciban"]);
    folder.ok(&["evaluate", "two.deciban", "two.csv", "--report", "two.html"]);
    let page = drawn(&folder, "two.html");
    assert!(page.contains("bits about the class: apart first with 1"), "{}", page.matches("first with").count());
}

/// Issue: with 26 classes, 12 were shown without a word, several in the same colour.
#[test]
fn reports_of_many_classes_say_how_many_they_show() {
    let folder = Folder::new();
    let mut rows = String::from("x,y,n,letter\n");
    for i in 0..26 * 12 {
        let (class, row) = (i % 26, i / 26);
        // Clouds of twelve rows around the places of a grid, the later letters wider.
        let (dx, dy) = ((row * 5 % 12) as f64 - 5.5, (row * 7 % 12) as f64 - 5.5);
        let wide = 0.04 + 0.006 * class as f64;
        let (x, y) = ((class % 6) as f64 + wide * dx, (class / 6) as f64 + wide * dy);
        rows += &format!("{x:.2},{y:.2},{},{}\n", (row * row + class) % 7, char::from(b'A' + class as u8));
    }
    folder.write("letters.csv", rows);
    folder.ok(&["fit", "letters.csv", "-t", "letter", "--covariance", "diagonal", "-o", "letters.deciban"]);
    folder.ok(&["evaluate", "letters.deciban", "letters.csv", "--report", "letters.html"]);
    let page = drawn(&folder, "letters.html");
    for part in [
        "ROC: each class against the rest",
        "in colour: the 6 classes with the lowest AUC",
        "20 others",
        "Bayes error: 12 of 26 classes against the rest, those with the lowest AUC",
        "Densities of the most telling columns: 6 of 26 classes, those with the lowest AUC",
    ] {
        assert!(page.contains(part), "the page lacks {part}");
    }
    let draw = |args: &[&str]| {
        folder.ok(&[&["plot", "letters.deciban", "letters.csv", "-o", "letters.svg", "--kind"], args].concat());
        drawn(&folder, "letters.svg")
    };
    // Each region has its name, and one column says that it shows some classes.
    let regions = draw(&["regions", "--columns", "x,y"]);
    assert!(('A'..='Z').all(|c| regions.matches(&format!(">{c}</text>")).count() == 1));
    assert!(draw(&["densities", "--columns", "x"]).contains("6 of 26 classes, those with the lowest AUC"));
    assert!(draw(&["posterior", "--columns", "x,y", "--class", "C"]).contains(">other classes</text>"));
}

/// Issue: the ledger of a row that makes a class impossible was an empty picture.
#[test]
fn the_ledger_of_an_impossible_class_has_arrows() {
    let folder = Folder::new();
    let rows =
        "fur,kg,cat\nshort,4.1,siamese\nshort,3.6,siamese\nlong,4.4,siamese\nlong,4.0,persian\nlong,5.2,persian\n";
    folder.write("cats.csv", rows);
    let fit = ["fit", "cats.csv", "-t", "cat", "--model", "naive-bayes", "--pseudo-count", "0", "-o", "cats.deciban"];
    folder.ok(&fit);
    folder.ok(&["plot", "cats.deciban", "cats.csv", "--kind", "ledger", "--row", "1", "-o", "cats.svg"]);
    let svg = drawn(&folder, "cats.svg");
    // The fur and the total.
    assert_eq!(svg.matches(">+∞</text>").count(), 2);
    assert!(svg.contains("kg  4.1"));
}

/// Issue: densities of a table with a text column were those of rows with an empty text.
#[test]
fn densities_beside_a_text_are_those_without_it() {
    let folder = Folder::new();
    let mut rows = String::from("fur,kg,words,cat\n");
    for (fur, kg, words, cat) in [
        ("short", 4.1, "purr purr", "siamese"),
        ("short", 3.6, "meow", "siamese"),
        ("long", 4.4, "meow meow", "siamese"),
        ("long", 4.0, "sleep", "persian"),
        ("long", 5.2, "sleep purr", "persian"),
        ("short", 5.9, "sleep sleep", "persian"),
    ] {
        rows += &format!("{fur},{kg},{words},{cat}\n");
    }
    folder.write("cats.csv", rows);
    let draw = |options: &[&str]| {
        let fit = ["fit", "cats.csv", "-t", "cat", "--model", "naive-bayes", "-o", "cats.deciban"];
        folder.ok(&[&fit, options].concat());
        let columns = ["--kind", "densities", "--columns", "fur,kg", "-o", "cats.svg"];
        folder.ok(&[&["plot", "cats.deciban", "cats.csv"][..], &columns].concat());
        drawn(&folder, "cats.svg")
    };
    let alone = draw(&["--ignore", "words"]);
    assert_eq!(draw(&["--text", "words"]), alone);
    assert_eq!(draw(&["--text", "words", "--family", "words=bernoulli"]), alone);
}

/// Issue: two calibration errors of one model and the same rows had one name.
#[test]
fn the_calibration_error_of_one_class_has_its_name() {
    let folder = Folder::with_tumours();
    folder.ok(&["fit", "train.csv", "-t", "diagnosis", "--covariance", "diagonal", "-o", "m.deciban"]);
    let draw = |more: &[&str]| {
        let plot = ["plot", "m.deciban", "test.csv", "--kind", "reliability", "-o", "figure.svg"];
        folder.ok(&[&plot[..], more].concat());
        drawn(&folder, "figure.svg")
    };
    let evaluated = folder.json(&["evaluate", "m.deciban", "test.csv", "--json"]);
    let most_probable = 100.0 * evaluated["calibration_error"].as_f64().unwrap();
    for class in ["benign", "malignant"] {
        let svg = draw(&["--class", class]);
        assert!(svg.contains(&format!("calibration error of p({class}): ")), "{svg}");
        let said = svg.split("calibration error of the most probable class: ").nth(1).unwrap();
        let said: f64 = said.split('%').next().unwrap().parse().unwrap();
        assert!((said - most_probable).abs() < 0.005, "{said} {most_probable}");
    }
}

/// Issue: the page speaks of decibans, and the axis of Bayes errors was in nats.
#[test]
fn prior_log_odds_are_in_decibans() {
    let folder = Folder::with_tumours();
    folder.ok(&["fit", "train.csv", "-t", "diagnosis", "--covariance", "diagonal", "-o", "m.deciban"]);
    folder.ok(&["plot", "m.deciban", "test.csv", "--kind", "bayes-error", "--prior", "uniform", "-o", "figure.svg"]);
    let svg = drawn(&folder, "figure.svg");
    assert!(svg.contains("prior log-odds (decibans)") && svg.contains(">−30</text>") && svg.contains(">30</text>"));
    assert!(svg.contains("this application"));
}

/// Issue: curves of a class without rows were an empty frame and "AUC NaN".
#[test]
fn a_figure_without_curves_says_why() {
    let folder = Folder::with_tumours();
    folder.ok(&["fit", "train.csv", "-t", "diagnosis", "--covariance", "diagonal", "-o", "m.deciban"]);
    let rows = String::from_utf8(folder.read("test.csv")).unwrap();
    let kept = |line: &&str| line.contains("diagnosis") || line.contains("benign");
    folder.write("benign.csv", rows.lines().filter(kept).collect::<Vec<_>>().join("\n"));
    for (class, why) in [("malignant", "no rows of malignant"), ("benign", "all rows are of benign")] {
        for kind in ["roc", "det", "bayes-error"] {
            let plot = ["plot", "m.deciban", "benign.csv", "--kind", kind, "--class", class, "-o", "figure.svg"];
            folder.ok(&plot);
            let svg = drawn(&folder, "figure.svg");
            assert!(svg.contains(">no curve: ") && svg.contains(&format!("{why}</text>")), "{kind}: {svg}");
        }
    }
    // With rows of some classes, the curves of the others are drawn.
    folder.ok(&["fit", &wine(), "-t", "Type", "--covariance", "diagonal", "-o", "wine.deciban"]);
    let rows = std::fs::read_to_string(wine()).unwrap();
    folder.write("two.csv", rows.lines().filter(|line| !line.starts_with("Barolo")).collect::<Vec<_>>().join("\n"));
    folder.ok(&["plot", "wine.deciban", "two.csv", "--kind", "roc", "-o", "figure.svg"]);
    let svg = drawn(&folder, "figure.svg");
    assert!(svg.contains(">no rows of Barolo</text>") && svg.contains(">Barbera (AUC "), "{svg}");
    assert!(!svg.contains("no curve"));
}
