//! docs/requests.md: the same requests on the command line, in Python and in Rust have equal answers.
//!
//! The commands of the page run in `deciban-cli/tests/docs.rs` and its Python in `deciban-python/tests`. Its Rust
//! is in [`requests`] below, line by line, and runs here.

use std::path::{Path, PathBuf};

use deciban::Result;
use deciban::calibrate::Method;
use deciban::data::{Kind, Value};
use deciban::decision::Costs;
use deciban::evaluate::{Evaluation, Trials};
use deciban::evidence::decibans;
use deciban::explain::Order;
use deciban::family::AnyFamily;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::family::multinomial::Multinomial;
use deciban::folds::Folds;
use deciban::learn::{Block, Classifier, Generative, Learner, Options as FitOptions};
use deciban::model::Model;
use deciban::numerics::Random;
use deciban::select::{CrossValidation, grid};
use deciban_data::{Files, Options, RowReader, Rows, Target};
use deciban_tasks::comparison::{Comparing, FoldCount, Judged, Judgement, compare};
use deciban_tasks::describe::Description;
use deciban_tasks::{Application, CostChoice, Input, Learning, learn};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The header and every other tumour from the first or second on: the class and three columns.
fn tumours(from: usize) -> String {
    let text = std::fs::read_to_string(project().join("examples/cancer.csv")).unwrap();
    let cut = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        [cells[0], cells[1], cells[2], cells[5]].join(",") + "\n"
    };
    let mut lines = text.lines();
    let header = cut(lines.next().unwrap());
    header + &lines.skip(from).step_by(2).map(cut).collect::<String>()
}

/// What is on the page, in a folder with `train.csv`, `test.csv`, `a.csv`, `b.csv` and `mail.csv`.
fn requests(folder: &Path) -> Result<()> {
    let path = |name: &str| folder.join(name).display().to_string();

    // 1
    let options = Options { target: Target::Column("diagnosis".into()), ..Options::default() };
    let mut train = Files::open(&[path("train.csv")], options.clone())?;
    train.settle()?;
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let learner = Generative::gaussian(train.columns(), tied)?;
    let model = learner.learn(&train)?;
    let (rows, schema) = (model.rows().iter().sum::<f64>(), model.schema().clone());
    let answer = format!("{rows} rows, {} columns, {} classes", schema.columns().len(), schema.classes().len());
    assert_eq!(answer, "285 rows, 3 columns, 2 classes");

    // 2
    let row = Rows::from_csv(&schema, b"mean_radius,mean_texture,mean_smoothness\n12.45,15.7,0.1278\n")?;
    let evidence = model.evidence(&row.batch()?)?;
    let class = evidence.posterior(model.prior()).most_probable(0).unwrap();
    assert_eq!(schema.classes()[class], "benign");

    // 3
    let p = evidence.posterior(model.prior()).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.881808 0.118192");

    // 4
    let screening = Application { prior: "malignant=0.01".parse()?, ..Application::default() };
    let p = evidence.posterior(&screening.to_model(&model)?.prior).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.997577 0.002423");

    // 5
    let costly = Application { costs: CostChoice::Text("malignant>benign=50".into()), ..Application::default() };
    let terms = costly.to_model(&model)?;
    let (action, _) = terms.costs.best(&evidence.posterior(&terms.prior).row(0));
    assert_eq!(terms.costs.actions()[action], "malignant");

    // 6
    let doubtful = Application { reject: Some(0.1), ..Application::default() };
    let terms = doubtful.to_model(&model)?;
    let (action, _) = terms.costs.best(&evidence.posterior(&terms.prior).row(0));
    assert_eq!(terms.costs.actions()[action], "reject");

    // 7
    let malignant = schema.class("malignant").unwrap();
    assert_eq!(format!("{:.6}", decibans(evidence.llr(0, malignant))), "-6.189351");

    // 8
    assert_eq!(format!("{:.6}", evidence.log_density(model.prior())[0]), "-4.263473");

    // 9
    let whole = Model::Generative(model.clone());
    let ledger = whole.explain(&row.batch()?, Order::Average)?.remove(0);
    let part = |name: &str| {
        let entry = ledger.entries.iter().find(|entry| entry.name == name).unwrap();
        format!("{:+.2}", decibans(entry.evidence[0] - entry.evidence[1]))
    };
    let answer = ["mean_radius", "mean_smoothness", "mean_texture"].map(part).join(" ");
    assert_eq!(answer, "+10.85 -8.61 +3.96");

    // 10
    let test = RowReader::new(&schema, options.clone())?.files(&[path("test.csv")])?;
    let (of_test, labels) = (model.evidence(&test.batch()?)?, test.labels().unwrap());
    let costs = Costs::zero_one(schema.classes());
    let mut evaluation = Evaluation::new(schema.classes(), &costs);
    evaluation.observe(&of_test.posterior(model.prior()), labels, None, &costs)?;
    assert_eq!(evaluation.errors().to_string(), "30");

    // 11
    assert_eq!(format!("{:.6}", evaluation.log_loss()), "0.244747");

    // 12
    let llrs: Vec<f64> = (0..of_test.rows()).map(|i| of_test.llr(i, malignant)).collect();
    let targets: Vec<bool> = labels.iter().map(|label| *label as usize == malignant).collect();
    let trials = Trials::new(&llrs, &targets, None)?;
    assert_eq!(format!("{:.6} {:.6}", trials.cllr(), trials.min_cllr()), "0.357260 0.273586");

    // 13
    let folds = Folds::stratified(&train, 20, 0)?;
    let candidates = grid::quick(&train)?;
    let comparison = CrossValidation::new(folds).calibrated(2).run(&train, &candidates)?;
    let best = &comparison.ranked()[0];
    assert_eq!(format!("{} {:.4}", best.name, best.sums.log_loss()), "fused 0.1485");

    // 14
    comparison.refit(best, &candidates, &train)?.save(path("auto.deciban"))?;
    let auto = Model::load(path("auto.deciban"))?;
    let p = auto.evidence(&row.batch()?)?.posterior(auto.prior()).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.888956 0.111044");

    // 15
    let mut random = Random::new(7);
    let class = random.pick(model.prior().probabilities());
    let cells = model.sample(class, &mut random)?.into_iter().map(|cell| match cell {
        Value::Number(x) => format!("{x:.6}"),
        other => format!("{other:?}"),
    });
    let answer = cells.chain([schema.classes()[class].clone()]).collect::<Vec<_>>().join(" ");
    assert_eq!(answer, "9.825022 19.977864 0.088701 benign");

    // 16
    let part = |name: &str| learner.statistics(&Files::open_as(&[path(name)], options.clone(), &schema)?);
    let mut statistics = part("a.csv")?;
    statistics.merge(&part("b.csv")?)?;
    let both = learner.fit(&statistics)?;
    let p = both.evidence(&row.batch()?)?.posterior(both.prior()).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.881808 0.118192");

    // 17
    statistics.remove(&part("b.csv")?)?;
    let again = learner.fit(&statistics)?;
    let p = again.evidence(&row.batch()?)?.posterior(again.prior()).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.676058 0.323942");

    // 18
    let gap = Rows::from_json(&schema, r#"{"mean_radius": null, "mean_texture": 15.7, "mean_smoothness": 0.1278}"#)?;
    let p = model.evidence(&gap.batch()?)?.posterior(model.prior()).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.387874 0.612126");

    // 19
    let kinds = vec![("text".into(), Kind::Text)];
    let options = Options { target: Target::Column("class".into()), kinds, ..Options::default() };
    let mut mail = Files::open(&[path("mail.csv")], options)?;
    mail.settle()?;
    let family = AnyFamily::Multinomial(Multinomial::default());
    let words = Generative::of_blocks(vec![Block::new(vec![0], mail.columns(), family)]).learn(&mail)?;
    let message = Rows::from_json(words.schema(), r#"{"text": "free home"}"#)?;
    let p = words.evidence(&message.batch()?)?.posterior(words.prior()).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.448855 0.551145");

    // 20
    let wrong = Application { prior: "Malignant=0.1".parse()?, ..Application::default() };
    let message = wrong.to_model(&model).err().unwrap().to_string();
    assert!(message.contains("there is no class `Malignant`"), "{message}");

    // 21
    let options = FitOptions { covariance: Some(Structure::Tied), ..FitOptions::default() };
    let calibrate = Some(Method::Logistic);
    let request = Learning { model: "gaussian".into(), options, calibrate, ..Learning::default() };
    let calibrated = learn(&request, &mut train)?.model;
    let p = calibrated.evidence(&row.batch()?)?.posterior(calibrated.prior()).row(0);
    assert_eq!(format!("{:.6} {:.6}", p[0], p[1]), "0.833330 0.166670");

    // 22
    let text = Description::new(&whole).text();
    let line = text.lines().find(|line| line.starts_with("mean_radius")).unwrap();
    let answer = line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(answer, "mean_radius 12.05 ± 2.35 17.75 ± 2.35");

    // 23
    let (models, folds) = (vec!["gaussian".into(), "logistic".into()], FoldCount::Count(5));
    let compared = compare(&Comparing { models, folds, ..Comparing::default() }, &mut train)?;
    let loss = compared.json()?[0]["log_loss"].as_f64().unwrap();
    assert_eq!(format!("{} {loss:.4}", compared.best()), "logistic --weight-decay 0.1 0.1480");

    // 24
    let options = Options { target: Target::Column("diagnosis".into()), ..Options::default() };
    let (first, new) = (("tied", &schema), Application::default());
    let mut judged = Vec::new();
    for (name, model) in [("tied", &whole), ("auto", &auto)] {
        let rows = Files::open_as(&[path("test.csv")], options.clone(), &schema)?;
        judged.push(Judged::new((name, model), first, 2, &new, &rows)?);
    }
    let ranked = Judgement::new(judged, &schema, &new, 0)?.json();
    let figure = |place: usize, name: &str| ranked[place][name].as_f64().unwrap();
    let answer = [0, 1].map(|place| format!("{} {:.4}", figure(place, "errors"), figure(place, "log_loss"))).join(" ");
    assert_eq!(answer, "29 0.2180 30 0.2447");

    Ok(())
}

#[test]
fn the_rust_of_the_page_runs() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let train = tumours(0);
    let lines: Vec<&str> = train.lines().collect();
    write("train.csv", &train);
    write("test.csv", &tumours(1));
    write("a.csv", &(lines[..151].join("\n") + "\n"));
    write("b.csv", &format!("{}\n{}\n", lines[0], lines[151..].join("\n")));
    let mail =
        "class,text\nspam,free prize call now\nspam,free entry win a prize\nham,call me now\nham,see you at home\n";
    write("mail.csv", mail);
    requests(folder.path()).unwrap();
}

/// The page by requests: title, and the blocks of each language.
fn page() -> Vec<(String, [Option<String>; 3])> {
    let text = std::fs::read_to_string(project().join("docs/requests.md")).unwrap();
    let section = |section: &str| {
        let title = section.lines().next().unwrap_or_default().to_string();
        let block = |language: &str| {
            let (_, rest) = section.split_once(&format!("```{language}\n"))?;
            Some(rest.split("```").next().unwrap_or_default().to_string())
        };
        (title, ["console", "python", "rust"].map(block))
    };
    text.split("\n## ").skip(1).map(section).collect()
}

#[test]
fn every_request_has_three_forms_and_its_rust_is_what_runs_here() {
    let source: Vec<&str> = include_str!("requests.rs").lines().map(str::trim).collect();
    let page = page();
    assert_eq!(page.len(), 24);
    for (title, blocks) in page {
        let [Some(_), Some(_), Some(rust)] = blocks else { panic!("{title}: a language is lacking") };
        let number = format!("// {}", title.split('.').next().unwrap());
        let start = source.iter().position(|line| *line == number).unwrap_or_else(|| panic!("{title}"));
        let runs: Vec<&str> = source[start + 1..].iter().copied().take_while(|line| !line.is_empty()).collect();
        let shown: Vec<&str> = rust.lines().map(str::trim).collect();
        assert_eq!(shown, runs, "{title}");
    }
}

/// Words and numbers, without signs and brackets.
fn tokens(text: &str) -> Vec<String> {
    let apart = |c: char| !(c.is_alphanumeric() || ".+-_".contains(c));
    text.split(apart).map(|token| token.trim_end_matches('.').to_string()).filter(|token| !token.is_empty()).collect()
}

/// Whether two tokens are the same word, or the same number to the digits that the shorter one shows.
fn same(a: &str, b: &str) -> bool {
    let digits = |token: &str| token.split_once('.').map_or(0, |(_, digits)| digits.len());
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => (x - y).abs() <= 0.6 * 0.1f64.powi(digits(a).min(digits(b).max(2)) as i32),
        _ => a == b,
    }
}

#[test]
fn the_three_answers_agree() {
    for (title, blocks) in page() {
        let [console, python, rust] = blocks.map(Option::unwrap_or_default);
        let output: String = console.lines().filter(|line| !line.starts_with("$ ")).flat_map(|l| [l, "\n"]).collect();
        let python = python.trim_end().lines().last().unwrap_or_default().to_string();
        // The last text in the block.
        let rust = rust.rsplit('"').nth(1).unwrap_or_default().to_string();
        let rust = if rust.contains("{message}") { "there is no class `Malignant`".to_string() } else { rust };
        for (language, answer) in [("Python", python), ("Rust", rust)] {
            let mut said = tokens(&output).into_iter();
            let wanted = tokens(&answer);
            assert!(!wanted.is_empty(), "{title}: {language} has no answer");
            for token in wanted {
                assert!(said.any(|other| same(&token, &other)), "{title}: {language} answers {answer}\n{output}");
            }
        }
    }
}
