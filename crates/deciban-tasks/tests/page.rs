//! The page's own scorer against the library: thousands of random rows, cells missing here and there, by models of every
//! family that a page takes. The rows are read by both from the same CSV.

use std::path::{Path, PathBuf};
use std::process::Command;

use deciban::calibrate::Method;
use deciban::data::{Kind, ShownKind};
use deciban::explain::Order;
use deciban::learn::Classifier;
use deciban::model::{Asks, Model};
use deciban::numerics::Random;
use deciban_data::{Files, Options, RowReader, Target};
use deciban_tasks::numbers::number;
use deciban_tasks::{Learning, ScoredBy, learn, page_data};
use serde_json::{Value, json};

pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Node, which is installed where it is not there.
fn node() -> Command {
    let is_there = || Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there() {
        let _ = Command::new("apt-get").args(["install", "-y", "nodejs"]).output();
    }
    assert!(is_there(), "the page's scorer is tested in Node, and it cannot be installed: apt-get install nodejs");
    Command::new("node")
}

/// 400 people of two or three classes, with columns of every kind.
pub fn people(folder: &Path, classes: usize) -> String {
    let mut random = Random::new(classes as u64);
    let mut text = String::from("age,weight,spend,wait,gain,size,visits,calls,share,colour,smoker,born,note,group\n");
    let words = ["free", "Entry", "win", "£", "hello", "Élan", "see", "you", "it's", "ΣΟΦΟΣ", "ok!!!", "now"];
    for i in 0..400 {
        let k = i % classes;
        let shift = k as f64;
        let age = 40.0 + 8.0 * shift + 10.0 * random.normal();
        let weight = 60.0 + 0.5 * age + 5.0 * random.normal();
        let (spend, wait) = ((1.0 + 0.4 * shift + random.normal()).exp(), -(1.0 + shift) * random.uniform().ln());
        let (gain, size) = (random.gamma(2.0 + shift) * 3.0, random.normal() * (1.0 + shift));
        let visits = random.gamma(1.0 + shift).round();
        let calls = random.gamma(3.0 - 0.5 * shift).round();
        let colour = ["red", "green", "blue", "04", "4"][random.below(3 + k as u64) as usize];
        let smoker = if random.uniform() < 0.3 + 0.2 * shift { "yes" } else { "no" };
        let born = 1950 + (random.uniform() * 40.0) as i32 + 5 * k as i32;
        let mut note = Vec::new();
        for _ in 0..random.below(9) {
            note.push(words[(random.below(8) as usize + 2 * k) % words.len()]);
        }
        let size = if random.uniform() < 0.05 { String::new() } else { format!("{size:.3}") };
        text += &[age, weight, spend, wait, gain].map(|x| format!("{x:.3},")).concat();
        text += &format!("{size},{visits},{calls},{:.4}", 1.0 / (1.0 + 0.3 * spend));
        text += &format!(
            ",{colour},{smoker},{born}-03-{:02},{},{}\n",
            1 + random.below(28),
            note.join(" "),
            ["a", "b", "c"][k]
        );
    }
    let path = folder.join(format!("people{classes}.csv"));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

pub struct Case<'a> {
    pub file: &'a str,
    pub target: &'a str,
    pub ignore: &'a [&'a str],
    pub model: &'a str,
    pub options: Value,
    pub calibrate: Option<Method>,
}

pub fn fitted(case: &Case<'_>) -> Model {
    let counts = ["visits", "calls"].map(|name| (name.to_string(), Kind::Count)).to_vec();
    let mut options = Options { target: Target::Column(case.target.into()), ..Options::default() };
    options.ignore = case.ignore.iter().map(|name| name.to_string()).collect();
    if case.target == "group" {
        let used = |(name, _): &(String, Kind)| !options.ignore.contains(name);
        options.kinds = counts.into_iter().filter(used).collect();
        if !case.ignore.contains(&"note") {
            options.kinds.push(("note".into(), Kind::Text));
        }
    }
    let mut files = Files::open(&[case.file.to_string()], options).unwrap();
    let request = Learning {
        model: case.model.into(),
        options: serde_json::from_value(case.options.clone()).unwrap(),
        calibrate: case.calibrate,
        ..Learning::default()
    };
    learn(&request, &mut files).unwrap_or_else(|e| panic!("{} {}: {e}", case.model, case.options)).model
}

/// Rows about what was seen in training and beyond, with missing cells, levels and words that are new.
pub fn random_rows(model: &Model, rows: usize, has_gaps: bool) -> String {
    let schema = model.schema();
    let mut random = Random::new(7);
    let mut text = schema.names().iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(",") + "\n";
    for i in 0..rows {
        let cell = |(j, column): (usize, &deciban::data::Column)| {
            let profile = &model.about().profiles()[j];
            let u = random.uniform();
            let spread = profile.greatest - profile.least;
            if has_gaps && column.kind != Kind::Text && random.uniform() < 0.04 * (i % 12) as f64 {
                return String::new();
            }
            match schema.spelling().shown_kind(column) {
                ShownKind::Date => format!("{}-{:02}-11", 1940 + random.below(90), 1 + random.below(12)),
                ShownKind::Number if profile.least >= 0.0 => format!("{}", profile.greatest * u * 1.5),
                ShownKind::Number => format!("{}", profile.least + spread * (1.6 * u - 0.3)),
                ShownKind::Count => format!("{}", (1.5 * u * profile.greatest).round()),
                ShownKind::Text => {
                    let word = |random: &mut Random| match random.below(10) {
                        0 => "brand-new".to_string(),
                        1 => "ÉLAN!?".to_string(),
                        _ => column.levels[random.below(column.levels.len() as u64) as usize].to_uppercase(),
                    };
                    (0..1 + random.below(11)).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ")
                }
                _ if u < 0.1 => "zzz".into(),
                _ => column.levels[random.below(column.levels.len() as u64) as usize].clone(),
            }
        };
        let cells: Vec<String> = schema.columns().iter().enumerate().map(cell).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

/// What the library makes of rows: the evidence, and of the first ones what each feature says.
fn expected(model: &Model, csv: &str) -> (Value, Value) {
    const EXPLAINED: usize = 60;
    let rows = RowReader::new(model.schema(), Options::default()).unwrap().csv(csv.as_bytes()).unwrap();
    let batch = rows.batch().unwrap();
    let evidence = model.evidence(&batch).unwrap();
    let list = |x: &[f64]| x.iter().map(|x| number(*x)).collect::<Vec<_>>();
    let all: Vec<_> = (0..rows.len()).map(|i| list(evidence.row(i))).collect();
    let explained = model.explain(&batch.slice(0..EXPLAINED.min(rows.len())), Order::Average).unwrap();
    let entry =
        |e: &deciban::explain::Entry| json!({ "name": e.name, "evidence": list(&e.evidence), "missing": e.missing });
    let told: Vec<Vec<Value>> = explained.iter().map(|e| e.entries.iter().map(entry).collect()).collect();
    (json!(all), json!(told))
}

/// log p(x | class) of rows by the model that describes them; null where none does.
fn described(model: &Model, csv: &str) -> Value {
    let Ok(described) = model.described(Asks::Rows) else { return Value::Null };
    let rows = RowReader::new(model.schema(), Options::default()).unwrap().csv(csv.as_bytes()).unwrap();
    let densities = described.model.evidence(&rows.batch().unwrap()).unwrap();
    (0..rows.len()).map(|i| densities.row(i).iter().map(|x| number(*x)).collect::<Value>()).collect()
}

#[test]
fn the_pages_scorer_agrees_with_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let [wine, cancer] =
        ["wine", "cancer"].map(|name| project().join(format!("examples/{name}.csv")).display().to_string());
    let (two, three) = (people(folder.path(), 2), people(folder.path(), 3));
    // Besides flags and counts; size is below 0 here and there.
    let others = ["size", "colour", "smoker", "born", "note"];
    let all_but_note =
        ["age", "weight", "spend", "wait", "gain", "size", "visits", "calls", "share", "colour", "smoker", "born"];
    let of = |file, target, ignore, model, options| Case { file, target, ignore, model, options, calibrate: None };
    let wines = |model, options| of(&wine, "Type", &[], model, options);
    let mut cases = vec![
        wines("gaussian", json!({})),
        wines("gaussian", json!({ "covariance": "tied" })),
        wines("gaussian", json!({ "covariance": "diagonal" })),
        wines("gaussian", json!({ "covariance": "tied-diagonal", "standardise": true })),
        wines("gaussian", json!({ "covariance": "spherical" })),
        wines("gaussian", json!({ "covariance": "tied-spherical" })),
        wines("gaussian", json!({ "standardise": true, "shrinkage": "0.2" })),
        wines("gaussian", json!({ "estimator": "bayes" })),
        wines("gaussian", json!({ "estimator": "bayes", "covariance": "diagonal" })),
        wines("gaussian", json!({ "gaussianise": true })),
        wines("gaussian", json!({ "pca": 4, "standardise": true })),
        wines("gaussian", json!({ "lda": 2 })),
        wines("gaussian", json!({ "pca": 4, "estimator": "bayes" })),
        wines("gaussian", json!({ "components": "2", "covariance": "diagonal" })),
        wines("logistic", json!({})),
        wines("naive-bayes", json!({ "family": [["Proline", "auto"], ["Ash", "auto"], ["Hue", "histogram"]] })),
        of(&cancer, "diagnosis", &[], "gaussian", json!({ "shrinkage": "0.1" })),
        of(&cancer, "diagnosis", &[], "logistic", json!({})),
        of(&cancer, "diagnosis", &[], "probit", json!({})),
        of(&cancer, "diagnosis", &[], "cloglog", json!({})),
    ];
    let families = json!({ "family": [["spend", "log-normal"], ["wait", "exponential"], ["gain", "gamma"], ["size", "histogram"],
        ["visits", "negative-binomial"], ["share", "beta"]] });
    let mut joint = families.clone();
    joint["joint_numbers"] = json!(true);
    for people in [&two, &three] {
        cases.push(of(people, "group", &[], "naive-bayes", families.clone()));
        cases.push(of(people, "group", &[], "naive-bayes", joint.clone()));
        cases.push(of(people, "group", &[], "naive-bayes", json!({ "family": [["note", "bernoulli"]] })));
        cases.push(of(people, "group", &[], "logistic", json!({})));
        cases.push(of(people, "group", &all_but_note, "multinomial", json!({ "complement": true })));
        cases.push(of(people, "group", &all_but_note, "bernoulli", json!({ "pseudo_count": 0.0 })));
        cases.push(of(people, "group", &["size", "colour", "smoker", "born", "note"], "multinomial", json!({})));
    }
    cases.push(of(&three, "group", &others, "bernoulli", json!({})));
    for (file, target) in [(&wine, "Type"), (&cancer, "diagnosis"), (&three, "group")] {
        let plain = of(file, target, &[], "naive-bayes", json!({}));
        cases.push(Case { calibrate: Some(Method::Logistic), ..plain });
    }
    // What a search picks.
    let plain = ["note"];
    for model in ["additive", "k-dependence", "a1de", "tree"] {
        cases.push(wines(model, json!({})));
        cases.push(of(&cancer, "diagnosis", &[], model, json!({})));
        cases.push(of(&two, "group", &plain, model, json!({})));
        cases.push(of(&three, "group", &plain, model, json!({})));
    }
    cases.push(of(&three, "group", &plain, "a1de", json!({ "pseudo_count": 0.5 })));
    let few = ["age", "weight", "spend", "wait", "born", "note", "calls", "share"];
    cases.push(of(&two, "group", &few, "table", json!({})));
    cases.push(of(&three, "group", &few, "table", json!({ "pseudo_count": 0.5 })));
    for file in [(&wine, "Type"), (&cancer, "diagnosis")] {
        cases.push(of(file.0, file.1, &[], "parzen", json!({})));
        cases.push(of(file.0, file.1, &[], "fused", json!({})));
        cases.push(of(file.0, file.1, &[], "gaussian", json!({ "components": "2", "prior_rows": 13.0 })));
        cases.push(Case { calibrate: Some(Method::Logistic), ..of(file.0, file.1, &[], "a1de", json!({})) });
    }
    cases.push(of(
        &three,
        "group",
        &plain,
        "fused",
        json!({ "models": ["naive-bayes", "additive", "a1de", "tree", "k-dependence", "logistic"] }),
    ));
    let mut all = Vec::new();
    for case in &cases {
        let model = fitted(case);
        let projected = case.options.get("pca").or(case.options.get("lda")).is_some();
        let csv = random_rows(&model, 250, !projected);
        let (evidence, explanations) = expected(&model, &csv);
        let name = format!("{} {} {}", case.file.rsplit('/').next().unwrap(), case.model, case.options);
        let data = page_data(&model, &name, ScoredBy::Page).unwrap();
        all.push(json!({ "data": data, "csv": csv, "evidence": evidence, "explanations": explanations, "densities": described(&model, &csv) }));
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-cases.json");
    std::fs::write(&file, serde_json::to_string(&all).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page.mjs");
    let output = node().arg(script).arg(&file).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{told}");
    assert!(output.status.success(), "{told}");
    assert!(told.contains(&format!("{} models, {} rows", cases.len(), cases.len() * 250)), "{told}");
}

#[test]
fn what_a_page_cannot_score_is_refused() {
    let wine = project().join("examples/wine.csv").display().to_string();
    let of = |model, options, calibrate| {
        let case = Case { file: &wine, target: "Type", ignore: &[], model, options, calibrate };
        let model = fitted(&case);
        // The service scores it.
        assert!(page_data(&model, "wine", ScoredBy::Service).unwrap().get("scorer").is_none());
        page_data(&model, "wine", ScoredBy::Page).unwrap_err().to_string()
    };
    assert!(of("least-squares", json!({}), None).contains("cannot score least-squares"));
    assert!(of("gaussian", json!({ "covariance": "low-rank", "rank": "2" }), None).contains("low-rank covariances"));
    assert!(of("gaussian", json!({}), Some(Method::Pav)).contains("calibrations that are not lines"));
}
