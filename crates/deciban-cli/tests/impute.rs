//! `deciban impute` and `deciban explain --next`: tables as they come, with their gaps.

use crate::common::{Folder, Table, shared, wine};
use serde_json::Value;

/// Wines of which every third cell of two columns is gone, with a column that no model knows.
fn with_gaps() -> Folder {
    let folder = Folder::with_model(&[]);
    let table = Table::parse(&std::fs::read_to_string(wine()).unwrap());
    let (kind, alcohol, hue) = (table.texts("Type"), table.texts("Alcohol"), table.texts("Hue"));
    let mut text = String::from("note,Hue,Type,Alcohol\n");
    for i in 0..60 {
        let gap = |cell: &String, k: usize| if i % 3 == k { "NA".to_string() } else { cell.clone() };
        let class = if i % 2 == 0 { kind[i].as_str() } else { "" };
        text += &format!("\"no, {i}\",{},{class},{}\n", gap(&hue[i], 0), gap(&alcohol[i], 1));
    }
    folder.write("gaps.csv", text);
    folder
}

#[test]
fn the_table_stays_as_it_is_but_for_the_gaps() {
    let folder = with_gaps();
    let (code, filled, said) = folder.run(&["impute", "wine.deciban", "gaps.csv"]);
    assert_eq!((code, said.as_str()), (0, "filled cells: 20 of Alcohol, 20 of Hue\n"));
    let given = String::from_utf8(folder.read("gaps.csv")).unwrap();
    assert_eq!(given.lines().count(), filled.lines().count());
    for (given, filled) in given.lines().zip(filled.lines()) {
        let cells = |line: &str| line.replace("no, ", "no ").split(',').map(String::from).collect::<Vec<_>>();
        for (a, b) in cells(given).iter().zip(cells(filled)) {
            match a.as_str() {
                "NA" => assert!(b.parse::<f64>().unwrap() > 0.0, "{filled}"),
                _ => assert_eq!(*a, b),
            }
        }
    }
    // A table without gaps comes back as it is.
    folder.write("whole.csv", &filled);
    let (_, again, said) = folder.run(&["impute", "wine.deciban", "whole.csv"]);
    assert_eq!((again, said.as_str()), (filled.clone(), "no cell was missing\n"));
    // From standard input, and into a file.
    let (_, piped, _) = folder.run_with(&["impute", "wine.deciban", "-"], &given);
    folder.ok(&["impute", "wine.deciban", "gaps.csv", "-o", "out.csv"]);
    assert_eq!((&piped, String::from_utf8(folder.read("out.csv")).unwrap()), (&filled, filled.clone()));
}

#[test]
fn the_class_counts_where_it_is_known() {
    let folder = with_gaps();
    folder.write("row.csv", "Type,Alcohol,Hue\nBarbera,,\nBarolo,,\n,,\n");
    let filled = folder.table(&["impute", "wine.deciban", "row.csv"]);
    let table = Table::parse(&std::fs::read_to_string(wine()).unwrap());
    let mean = |column: &str, class: Option<&str>| {
        let rows: Vec<f64> = table
            .texts("Type")
            .iter()
            .zip(table.numbers(column))
            .filter(|(kind, _)| class.is_none_or(|class| *kind == class))
            .map(|(_, x)| x)
            .collect();
        rows.iter().sum::<f64>() / rows.len() as f64
    };
    for column in ["Alcohol", "Hue"] {
        let found = filled.numbers(column);
        for (found, class) in found.iter().zip([Some("Barbera"), Some("Barolo"), None]) {
            crate::common::close(*found, mean(column, class), 1e-12);
        }
    }
    // Under another prior, the means of the classes have other weights.
    let uniform = folder.table(&["impute", "wine.deciban", "row.csv", "--prior", "Barolo=1"]);
    crate::common::close(uniform.numbers("Hue")[2], mean("Hue", Some("Barolo")), 1e-12);
}

#[test]
fn draws_repeat_and_differ_by_their_seed() {
    let folder = with_gaps();
    let drawn = |seed: &str| folder.ok(&["impute", "wine.deciban", "gaps.csv", "--draw", "--seed", seed]);
    assert_eq!(drawn("1"), drawn("1"));
    assert_ne!(drawn("1"), drawn("2"));
    assert!(folder.misused(&["impute", "wine.deciban", "gaps.csv", "--seed", "1"]).contains("--draw"));
}

#[test]
fn json_has_numbers_and_texts() {
    let folder = with_gaps();
    let lines = folder.ok(&["impute", "wine.deciban", "gaps.csv", "--json"]);
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first["Hue"].is_f64() && first["Alcohol"] == 14.23 && first["note"] == "no, 0", "{first}");
    assert_eq!(lines.lines().count(), 60);
}

#[test]
fn dates_and_levels_are_written_as_such() {
    let folder = Folder::new();
    let mut text = String::from("day,colour,size,class\n");
    for i in 0..40 {
        let (day, class) = (1 + i % 9, ["a", "b"][i % 2]);
        let (colour, size) = (["red", "blue"][i % 2], ["S", "M", "S", "L"][i % 4]);
        text += &format!("2024-05-0{day},{colour},{size},{class}\n");
    }
    folder.write("train.csv", &text);
    for model in [&["--model", "naive-bayes"][..], &["--model", "tree"]] {
        folder.ok(&[&["fit", "train.csv", "-t", "class", "-o", "m.deciban"], model].concat());
        folder.write("new.csv", "day,colour,size\n,red,\n2024-05-02,,M\n");
        let filled = folder.table(&["impute", "m.deciban", "new.csv"]);
        assert!(filled.texts("day")[0].starts_with("2024-05-0"), "{filled:?}");
        // M occurs with blue alone, and red with S alone.
        assert_eq!((filled.texts("colour")[1].as_str(), filled.texts("size")[0].as_str()), ("blue", "S"), "{filled:?}");
    }
}

#[test]
fn what_cannot_be_filled_is_said() {
    let folder = Folder::with_model(&[]);
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "logistic", "-o", "linear.deciban"]);
    assert!(folder.fails(&["impute", "linear.deciban", &wine()]).contains("--model naive-bayes"));
    assert!(folder.fails(&["explain", "linear.deciban", &wine(), "--next"]).contains("--model naive-bayes"));
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "gaussian", "--pca", "2", "-o", "pca.deciban"]);
    folder.write(
        "row.csv",
        std::fs::read_to_string(wine()).unwrap().lines().take(1).collect::<String>() + "\n,1,,,,,,,,,,,,\n",
    );
    let (code, _, said) = folder.run(&["impute", "pca.deciban", "row.csv"]);
    assert!(code == 0 || said.contains("--pca"), "{said}");
    folder.write("texts.tsv", "ham\thello you there\nspam\tbuy this now\nham\tsee you there\nspam\tbuy now\n");
    let fit = ["fit", "texts.tsv", "--no-header", "-t", "c0", "--text", "c1", "--model", "multinomial"];
    folder.ok(&[&fit[..], &["-o", "text.deciban"]].concat());
    assert!(folder.fails(&["impute", "text.deciban", "texts.tsv", "--no-header"]).contains("texts alone"));
    let ledger = ["explain", "wine.deciban", &wine(), "--row", "1"];
    assert!(folder.fails(&[&ledger[..], &["--reject", "0.2"]].concat()).contains("--next"));
    assert!(folder.misused(&[&ledger[..], &["--measure-costs", "x.csv"]].concat()).contains("--next"));
}

#[test]
fn what_to_measure_is_ranked_by_its_cost() {
    let folder = Folder::with_model(&[]);
    folder.write("row.csv", "Alcohol,Hue\n,\n13,\n13,1\n");
    let rows = |more: &[&str]| -> Vec<Value> {
        let text = folder.ok(&[&["explain", "wine.deciban", "row.csv", "--next", "--json"], more].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let plain = rows(&[]);
    let first = |row: &Value| row["measurements"][0]["column"].as_str().unwrap_or_default().to_string();
    assert_eq!(
        (first(&plain[0]).as_str(), first(&plain[1]).as_str(), first(&plain[2]).as_str()),
        ("Alcohol", "Hue", "")
    );
    for row in &plain {
        for worth in row["measurements"].as_array().unwrap() {
            let reduction = worth["reduction"].as_f64().unwrap();
            assert!(reduction >= 0.0 && reduction <= row["risk"].as_f64().unwrap(), "{row}");
        }
    }
    folder.write("prices.csv", "column,cost\nAlcohol,1000\n");
    let dear = rows(&["--measure-costs", "prices.csv"]);
    assert_eq!(first(&dear[0]), "Hue");
    let alcohol = &dear[0]["measurements"][1];
    let per_cost = alcohol["reduction"].as_f64().unwrap() / 1000.0;
    crate::common::close(alcohol["per_cost"].as_f64().unwrap(), per_cost, 1e-12);
    // Where a wrong decision costs ten times as much, a measurement is worth ten times as much.
    let costs: String = ["Barbera", "Barolo", "Grignolino"]
        .iter()
        .flat_map(|a| ["Barbera", "Barolo", "Grignolino"].map(|b| format!("{a}>{b}=10")))
        .filter(|cost| cost.split(['>', '=']).next() != cost.split(['>', '=']).nth(1))
        .collect::<Vec<_>>()
        .join(",");
    let ten = rows(&["--costs", &costs]);
    let of = |rows: &[Value]| rows[0]["measurements"][0]["reduction"].as_f64().unwrap();
    crate::common::close(of(&ten), 10.0 * of(&plain), 1e-9);
    let text = folder.ok(&["explain", "wine.deciban", "row.csv", "--next", "--row", "2,3"]);
    assert!(text.starts_with("row 2: ") && text.contains("no cell is missing"), "{text}");
    folder.write("wrong.csv", "Proline,3\n");
    let error = folder.fails(&["explain", "wine.deciban", "row.csv", "--next", "--measure-costs", "wrong.csv"]);
    assert!(error.contains("`Proline`") && error.contains("--measure-costs"), "{error}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn titanic_as_it_comes() {
    let (folder, data) = (Folder::new(), shared("data/titanic/titanic3.csv"));
    let ignored = "name,ticket,cabin,boat,body,home.dest";
    for model in ["naive-bayes", "tree", "logistic"] {
        folder.ok(&["fit", &data, "-t", "survived", "--ignore", ignored, "--model", model, "-o", "t.deciban"]);
        let told = folder.json(&["evaluate", "t.deciban", &data, "--json"]);
        // Deciding without looking errs as often as people survived: in 500 of 1309 cases.
        assert!(told["error_rate"].as_f64().unwrap() < 0.8 * 500.0 / 1309.0, "{model}: {told}");
        assert_eq!(folder.ok(&["predict", "t.deciban", &data]).lines().count(), 1310);
        if model == "logistic" {
            continue;
        }
        let (code, filled, said) = folder.run(&["impute", "t.deciban", &data]);
        assert_eq!((code, said.as_str()), (0, "filled cells: 263 of age, 1 of fare, 2 of embarked\n"));
        let given = std::fs::read_to_string(&data).unwrap();
        // Names hold commas and quotes; all lines without a gap stay as they are, byte for byte.
        let same = given.lines().zip(filled.lines()).filter(|(a, b)| a == b).count();
        assert!(same >= 1310 - 266, "{same} lines are the same");
        let next = folder.ok(&["explain", "t.deciban", &data, "--next", "--row", "16,169", "--json"]);
        let rows: Vec<Value> = next.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows[0]["measurements"][0]["column"], "age");
        assert_eq!(rows[1]["measurements"][0]["column"], "embarked");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn adult_as_it_comes() {
    let (folder, data) = (Folder::new(), shared("data/adult/adult.data.gz"));
    folder.ok(&["fit", &data, "--no-header", "-t", "c14", "--model", "naive-bayes", "-o", "a.deciban"]);
    assert_eq!(folder.ok(&["predict", "a.deciban", &data, "--no-header"]).lines().count(), 32562);
    let (code, filled, said) = folder.run(&["impute", "a.deciban", &data, "--no-header"]);
    assert_eq!((code, said.trim_end()), (0, "filled cells: 1836 of c1, 1843 of c6, 583 of c13"));
    assert!(filled.lines().count() == 32561 && !filled.contains('?'));
    // Nothing is known, and both classes are as likely: a column of levels is worth
    // ½ − ½ Σ_v min(p(v | ≤50K), p(v | >50K)), p = (n + 1)/(N + levels). Counted from the file in Python.
    let counted = [
        ("c1", 0.060397620148),
        ("c3", 0.167960031871),
        ("c5", 0.259302675945),
        ("c6", 0.170161700212),
        ("c7", 0.260889397497),
        ("c8", 0.037204639771),
        ("c9", 0.118791157854),
        ("c13", 0.021126950083),
    ];
    folder.write("none.csv", "?,?,?,?,?,?,?,?,?,?,?,?,?,?,\n");
    let next = ["explain", "a.deciban", "none.csv", "--no-header", "--next", "--prior", "uniform", "--json"];
    let row: Value = serde_json::from_str(&folder.ok(&next)).unwrap();
    let worth = row["measurements"].as_array().unwrap();
    assert_eq!((worth.len(), &worth[0]["column"]), (14, &Value::from("c7")));
    for (column, expected) in counted {
        let found = worth.iter().find(|w| w["column"] == column).unwrap();
        assert!(found["exact"] == true, "levels are summed over: {found}");
        crate::common::close(found["reduction"].as_f64().unwrap(), expected, 1e-11);
    }
}
