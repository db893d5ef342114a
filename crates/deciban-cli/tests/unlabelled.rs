//! Rows without a label: read from a file of their own, and whether they help.

mod common;

use common::{Folder, close, same_predictions, shared};
use deciban::numerics::Random;

/// Two classes of two numbers; `label` is the class of row i, or nothing.
fn rows(
    count: usize,
    seed: u64,
    draw: impl Fn(usize, &mut Random) -> [f64; 2],
    with: impl Fn(usize) -> bool,
) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from("x,y,class\n");
    for i in 0..count {
        let [x, y] = draw(i % 2, &mut random);
        text += &format!("{x},{y},{}\n", if with(i) { ["a", "b"][i % 2] } else { "" });
    }
    text
}

/// Gaussian classes, as the model assumes.
fn gaussian(class: usize, random: &mut Random) -> [f64; 2] {
    let shift = if class == 0 { -1.2 } else { 1.2 };
    [shift + random.normal(), shift + random.normal()]
}

/// The rows lie in two lumps along x, and the classes differ along y: the lumps are not the classes.
fn across(class: usize, random: &mut Random) -> [f64; 2] {
    let lump = if random.uniform() < 0.5 { -6.0 } else { 6.0 };
    [lump + random.normal(), if class == 0 { -1.0 } else { 1.0 } + random.normal()]
}

fn drop_target(csv: &str) -> String {
    csv.lines().map(|line| line.rsplit_once(',').unwrap().0.to_string() + "\n").collect()
}

#[test]
fn a_file_of_its_own_is_the_same_as_rows_with_an_empty_target() {
    let folder = Folder::new();
    let (few, many) = (rows(16, 1, gaussian, |_| true), rows(2000, 2, gaussian, |_| false));
    folder.write("few.csv", &few);
    folder.write("many.csv", drop_target(&many));
    folder.write("both.csv", few.clone() + many.split_once('\n').unwrap().1);
    // Labels of a file that is given as unlabelled are not read.
    folder.write("labelled.csv", rows(2000, 2, gaussian, |_| true));
    folder.write("test.csv", rows(500, 3, gaussian, |_| true));
    let fit = |data: &str, more: &[&str]| {
        let fit = ["fit", data, "-t", "class", "--model", "gaussian", "--covariance", "tied", "-o", "m.deciban"];
        folder.ok(&[&fit, more].concat());
        folder.table(&["predict", "m.deciban", "test.csv"])
    };
    let one = fit("both.csv", &["--unlabelled-weight", "1"]);
    same_predictions(&one, &fit("few.csv", &["--unlabelled", "many.csv"]), 1e-12);
    same_predictions(&one, &fit("few.csv", &["--unlabelled", "labelled.csv"]), 1e-12);
    let light = fit("few.csv", &["--unlabelled", "many.csv", "--unlabelled-weight", "0.1"]);
    assert_ne!(one.numbers("p(a)"), light.numbers("p(a)"));
    assert_eq!(folder.run(&["fit", "few.csv", "--unlabelled", "none.csv", "-t", "class", "--model", "gaussian"]).0, 1);
    folder.write("other.csv", "x,z\n1,2\n");
    let error = folder.run(&["fit", "few.csv", "--unlabelled", "other.csv", "-t", "class", "--model", "gaussian"]).2;
    assert!(error.contains("other.csv") && error.contains('y'), "{error}");
}

#[test]
fn they_help_where_the_model_is_right() {
    let folder = Folder::new();
    folder.write("few.csv", rows(16, 1, gaussian, |_| true));
    folder.write("many.csv", drop_target(&rows(4000, 2, gaussian, |_| false)));
    folder.write("test.csv", rows(4000, 3, gaussian, |_| true));
    let fit = ["fit", "few.csv", "-t", "class", "--model", "gaussian", "-o", "m.deciban"];
    let loss = |more: &[&str]| {
        let (code, _, said) = folder.run(&[&fit[..], more].concat());
        assert_eq!(code, 0, "{said}");
        let told = folder.json(&["evaluate", "m.deciban", "test.csv", "--json"]);
        (told["log_loss"].as_f64().unwrap(), told["error_rate"].as_f64().unwrap(), said)
    };
    let (few, both) = (loss(&[]), loss(&["--unlabelled", "many.csv"]));
    assert!(both.0 < few.0 && both.1 < few.1, "{few:?} {both:?}");
    // Nobody does better than Φ(−1.2 √2) on these rows.
    close(both.1, deciban::numerics::normal_cdf(-1.2 * 2f64.sqrt()), 0.015);
    assert!(both.2.contains("note: the rows without a label help"), "{}", both.2);
}

#[test]
fn they_are_warned_of_where_the_model_is_wrong() {
    let folder = Folder::new();
    folder.write("few.csv", rows(40, 1, across, |_| true));
    folder.write("many.csv", drop_target(&rows(3000, 2, across, |_| false)));
    folder.write("test.csv", rows(3000, 3, across, |_| true));
    let fit = ["fit", "few.csv", "-t", "class", "--model", "gaussian", "-o", "m.deciban"];
    let run = |more: &[&str]| {
        let said = folder.run(&[&fit[..], more].concat()).2;
        (folder.json(&["evaluate", "m.deciban", "test.csv", "--json"])["log_loss"].as_f64().unwrap(), said)
    };
    let (few, both) = (run(&[]), run(&["--unlabelled", "many.csv"]));
    assert!(both.0 > few.0, "the case is the wrong one: {} {}", both.0, few.0);
    assert!(both.1.contains("warning: the rows without a label make the model worse"), "{}", both.1);
    assert!(both.1.contains("--unlabelled-weight"), "{}", both.1);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn texts_learn_words_that_no_labelled_row_has() {
    let folder = Folder::new();
    let all = std::fs::read_to_string(shared("data/sms-spam/SMSSpamCollection")).unwrap();
    let lines: Vec<&str> = all.lines().collect();
    let of = |class: &str| lines.iter().filter(|l| l.starts_with(class)).take(8).copied().collect::<Vec<_>>();
    let few = [of("ham"), of("spam")].concat();
    folder.write("few.tsv", few.join("\n") + "\n");
    let rest: Vec<&str> = lines.iter().filter(|line| !few.contains(line)).copied().collect();
    folder.write("many.tsv", rest.join("\n") + "\n");
    let read = ["--no-header", "--no-quotes", "-t", "c0", "--text", "c1", "--model", "multinomial"];
    let fit = [&["fit", "few.tsv", "-o", "m.deciban"][..], &read].concat();
    folder.ok(&fit);
    let words = |folder: &Folder| folder.json(&["inspect", "m.deciban", "--json"]).to_string().len();
    let few = words(&folder);
    let told = folder.run(&[&fit[..], &["--unlabelled", "many.tsv"]].concat());
    assert_eq!(told.0, 0, "{}", told.2);
    // It has taken steps: the words of the other rows are known.
    assert!(!told.2.contains(": 0 steps") && words(&folder) > 2 * few, "{}", told.2);
}
