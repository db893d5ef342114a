//! One rule for what describes rows: `predict --density`, `--none-of-these` and `sample` answer for the same models, or
//! refuse in the same words, in the program and in the service. `test_program.py` adds the package, and
//! `deciban-tasks/tests/page.rs` the page.

use crate::common::{Folder, Table, wine};
use crate::serve::Serving;
use serde_json::{Value, json};

/// A kind of model, what makes it, and who describes its rows.
const MODELS: [(&str, &str, bool); 9] = [
    ("plain", "fit wine.csv -t Type --columns Alcohol,Hue,Ash --model gaussian", true),
    ("mixture", "fit wine.csv -t Type --columns Alcohol,Hue,Ash --model gaussian --components 2", true),
    ("calibrated", "fit wine.csv -t Type --columns Alcohol,Hue,Ash --model naive-bayes --calibrate logistic", true),
    (
        "fused",
        "fit wine.csv -t Type --columns Alcohol,Hue,Ash --model fused --models naive-bayes,gaussian,parzen",
        true,
    ),
    ("mixed", "fit wine.csv -t Type --columns Alcohol,Hue,Ash --model fused --models gaussian,logistic", true),
    ("linear", "fit wine.csv -t Type --columns Alcohol,Hue,Ash --model logistic", false),
    ("straight", "fit wine.csv -t Type --columns Alcohol,Hue,Ash --model logistic --calibrate logistic", false),
    ("text", "fit pets.csv -t pet --text note --model multinomial", true),
    ("complement", "fit pets.csv -t pet --text note --model multinomial --complement", false),
];

const PETS: &str = "note,pet\nbarks at the door,dog\nsleeps by the door,cat\nbarks and sleeps,dog\npurrs at the \
                    door,cat\nbarks at cats,dog\npurrs and sleeps,cat\n";

/// A folder with the tables and all models.
fn models() -> Folder {
    let folder = Folder::new();
    folder.write("wine.csv", std::fs::read(wine()).unwrap());
    folder.write("pets.csv", PETS);
    for (name, command, _) in MODELS {
        let file = format!("{name}.deciban");
        folder.ok(&command.split(' ').chain(["-o", &file]).collect::<Vec<_>>());
    }
    folder
}

fn asked(name: &str) -> (&'static str, Value) {
    match name {
        "text" | "complement" => ("pets.csv", json!([{ "note": "barks at the door" }, { "note": "meows" }])),
        _ => (
            "wine.csv",
            json!([{ "Alcohol": 14.23, "Hue": 1.04, "Ash": 2.43 }, { "Alcohol": 99, "Hue": 1 }, { "Ash": 2.1 }]),
        ),
    }
}

#[test]
fn the_program_and_the_service_agree_on_what_describes_rows() {
    let folder = models();
    let files: Vec<String> = MODELS.iter().map(|(name, ..)| format!("{name}.deciban")).collect();
    let args: Vec<&str> = files.iter().map(String::as_str).chain(["--port", "0"]).collect();
    let server = Serving::begin(folder.path(), &args, &[]);
    for (name, _, describes) in MODELS {
        let model = format!("{name}.deciban");
        let (_, rows) = asked(name);
        let lines: Vec<String> = rows.as_array().unwrap().iter().map(Value::to_string).collect();
        folder.write("new.jsonl", lines.join("\n"));
        let predict = ["predict", &model, "new.jsonl", "--density", "--none-of-these", "0.2"];
        let path = |what: &str| format!("/v1/models/{name}/{what}");
        let ranked = server.post(&path("rank"), &rows);
        let decided = server.post(&path("predict?none_of_these=0.2"), &rows);
        let dense = server.post(&path("predict?density=true&none_of_these=0.2"), &rows);
        let drawn = server.get_json(&path("sample?number=3&seed=7"));
        let sample = ["sample", &model, "-n", "3", "--seed", "7"];
        if !describes {
            let (of_predict, of_sample) = (folder.fails(&predict[..4]), folder.fails(&sample));
            let why = of_predict.strip_prefix("--density: ").unwrap();
            assert_eq!(of_sample, why, "{name}");
            let of_none = folder.fails(&["predict", &model, "new.jsonl", "--none-of-these", "0.2"]);
            assert_eq!(of_none, format!("--none-of-these: {why}"), "{name}");
            for (answer, option) in [(&ranked, "density: "), (&decided, "none_of_these: "), (&drawn, "")] {
                let detail = answer["detail"].as_str().unwrap_or_else(|| panic!("{name}: {answer}"));
                let plain = |text: &str| text.replace("--model ", "model=").replace(['"', '-'], "");
                assert_eq!(plain(detail), plain(&format!("{option}{why}")), "{name}");
            }
            let truth = if name == "text" || name == "complement" { "pets.csv" } else { "wine.csv" };
            let of_evaluate = folder.fails(&["evaluate", &model, truth, "--none-of-these", "0.2"]);
            assert_eq!(of_evaluate, of_none, "{name}");
            continue;
        }
        let table = folder.table(&predict);
        let (densities, ranks) = (table.numbers("log p(x)"), table.numbers("rank"));
        for (i, decision) in table.texts("decision").iter().enumerate() {
            for answer in [&ranked, &decided, &dense] {
                let row = &answer["predictions"][i];
                assert_eq!(row["log_density"].as_f64(), Some(densities[i]), "{name}: {answer}");
                assert_eq!(row["rank"].as_f64(), Some(ranks[i]), "{name}: {answer}");
            }
            assert_eq!(decided["predictions"][i]["decision"], *decision, "{name}");
            assert_eq!(decision == "none of these", ranks[i] < 0.2, "{name}");
            // The density of a row is that of its classes, each by its prior.
            let classes = ranked["predictions"][i]["log_densities"].as_object().unwrap();
            let prior = server.get_json(&format!("/v1/models/{name}"))["prior"].clone();
            let p: f64 = (classes.values().zip(prior.as_array().unwrap()))
                .map(|(e, p)| e.as_f64().unwrap().exp() * p.as_f64().unwrap())
                .sum();
            assert!((p.ln() - densities[i]).abs() < 1e-9 || p == 0.0, "{name}: {classes:?}");
        }
        let found = Table::parse(&folder.ok(&sample));
        let target = if name == "text" { "pet" } else { "Type" };
        for i in 0..3 {
            assert_eq!(drawn["classes"][i], found.texts(target)[i], "{name}");
            for (column, cell) in drawn["rows"][i].as_object().unwrap() {
                match cell.as_f64() {
                    Some(x) => assert_eq!(x, found.numbers(column)[i], "{name}"),
                    None => assert_eq!(*cell, found.texts(column)[i], "{name}"),
                }
            }
        }
    }
}

#[test]
fn the_rows_of_a_fused_model_are_those_of_its_heaviest_generative_member() {
    let folder = models();
    let fused = folder.json(&["inspect", "fused.deciban", "--json"]);
    assert!(fused["members"].as_array().unwrap().len() > 1, "{fused}");
    let mut ranked: Vec<(f64, String)> = fused["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| (member["weight"].as_f64().unwrap(), member["name"].as_str().unwrap().to_string()))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let fit = format!("fit wine.csv -t Type --columns Alcohol,Hue,Ash --model {} -o heaviest.deciban", ranked[0].1);
    folder.ok(&fit.split(' ').collect::<Vec<_>>());
    let densities = |model: &str| folder.table(&["predict", model, "wine.csv", "--density"]).numbers("log p(x)");
    let (found, expected) = (densities("fused.deciban"), densities("heaviest.deciban"));
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} {b}: {ranked:?}");
    }
}
