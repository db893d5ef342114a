//! `deciban explain`: ledgers that add up to what `predict` says.

use crate::common::{Folder, close, wine};
use serde_json::Value;

fn fit(folder: &Folder, options: &[&str]) {
    folder.ok(&[&["fit", &wine(), "-t", "Type", "-o", "m.deciban"], options].concat());
}

#[test]
fn ledgers_add_up_to_the_posterior() {
    let folder = Folder::new();
    for options in [
        &["--model", "naive-bayes"][..],
        &["--model", "gaussian", "--columns", "Alcohol,Ash,Hue,Proline"],
        &["--covariance", "tied", "--lda", "2"],
        &["--model", "logistic"],
        &["--model", "least-squares"],
    ] {
        fit(&folder, options);
        let lines = folder.ok(&["explain", "m.deciban", &wine(), "--json", "--prior", "uniform"]);
        let predicted = folder.table(&["predict", "m.deciban", &wine(), "--prior", "uniform"]);
        assert_eq!(lines.lines().count(), 178);
        for (i, line) in lines.lines().enumerate() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!((row["row"].as_u64(), row["prior"].as_f64()), (Some(i as u64 + 1), Some(0.0)));
            let of = predicted.numbers(&format!("p({})", row["of"].as_str().unwrap()))[i];
            let over = predicted.numbers(&format!("p({})", row["over"].as_str().unwrap()))[i];
            let sum: f64 = row["features"].as_array().unwrap().iter().map(|f| f["decibans"].as_f64().unwrap()).sum();
            let total = row["total"].as_f64().unwrap();
            close(sum, total, 1e-9 * total.abs().max(1.0));
            assert!(of >= over && total >= 0.0);
            if over > 1e-280 {
                close(total, 10.0 * (of / over).log10(), 1e-8 * total.abs().max(1.0));
            }
        }
    }
}

#[test]
fn rows_classes_and_folding() {
    let folder = Folder::new();
    fit(&folder, &["--model", "naive-bayes"]);
    let text =
        folder.ok(&["explain", "m.deciban", &wine(), "--row", "84", "--classes", "Barolo,Barbera", "--most", "3"]);
    assert!(text.starts_with("row 84: Barolo over Barbera, posterior "), "{text}");
    assert!(text.contains("prior odds") && text.contains("10 other features") && text.contains("│"), "{text}");
    let total: f64 = text
        .lines()
        .find_map(|l| l.trim().strip_prefix("total"))
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let parts: f64 = text
        .lines()
        .skip(1)
        .filter(|l| !l.trim().starts_with("total") && !l.trim().is_empty())
        .map(|l| l.split_whitespace().rfind(|w| w.starts_with(['+', '-'])).unwrap().parse::<f64>().unwrap())
        .sum();
    close(parts, total, 0.05);
    for (args, message) in [
        (
            &["--classes", "Barolo,Merlot"][..],
            "--classes: there is no class `Merlot`: the classes are `Barbera`, `Barolo`, `Grignolino`",
        ),
        (&["--row", "500"], "--row: row 500 does not exist: the input has 178 rows"),
    ] {
        assert_eq!(folder.fails(&[&["explain", "m.deciban", &wine()], args].concat()), message);
    }
}

#[test]
fn missing_cells_are_listed_and_summaries_ranked() {
    let folder = Folder::new();
    fit(&folder, &["--model", "naive-bayes", "--columns", "Alcohol,Hue"]);
    folder.write("new.csv", "Alcohol,Hue\n13.2,\n");
    let text = folder.ok(&["explain", "m.deciban", "new.csv"]);
    assert!(text.contains("missing: Hue"), "{text}");
    let summary = folder.json(&["explain", "m.deciban", &wine(), "--summary", "--json"]);
    let size = |i: usize| summary["features"][i]["mean_abs_decibans"].as_f64().unwrap();
    assert_eq!((summary["rows"].as_f64(), summary["features"][0]["rows"].as_f64()), (Some(178.0), Some(178.0)));
    assert!(size(0) > size(1) && size(1) > 0.0, "{summary}");
    let text = folder.ok(&["explain", "m.deciban", &wine(), "--summary", "--most", "1"]);
    assert!(text.contains("mean |decibans|") && text.contains("... and 1 more"), "{text}");
}

#[test]
fn as_logistic() {
    let folder = Folder::new();
    fit(&folder, &["--covariance", "tied", "--columns", "Alcohol,Hue", "--versus-rest", "Barolo"]);
    let told = folder.json(&["inspect", "m.deciban", "--as", "logistic", "--json"]);
    let weight = |i: usize| told["coefficients"][i]["weight"].as_f64().unwrap();
    assert_eq!(told["coefficients"][2]["name"], "(intercept)");
    folder.write("new.csv", "Alcohol,Hue\n13.2,1.05\n14.1,0.8\n");
    let p = folder.table(&["predict", "m.deciban", "new.csv"]).numbers("p(Barolo)");
    for (p, [alcohol, hue]) in p.iter().zip([[13.2, 1.05], [14.1, 0.8]]) {
        let z: f64 = weight(0) * alcohol + weight(1) * hue + weight(2);
        close(1.0 / (1.0 + (-z).exp()), *p, 1e-12);
    }
    let text = folder.ok(&["inspect", "m.deciban", "--as", "logistic"]);
    assert!(text.contains("decibans per unit") && text.contains("(intercept)"), "{text}");
    fit(&folder, &["--columns", "Alcohol,Hue", "--model", "gaussian"]);
    let message = folder.fails(&["inspect", "m.deciban", "--as", "logistic"]);
    assert!(message.contains("give --covariance tied"), "{message}");
    fit(&folder, &["--model", "logistic"]);
    let message = folder.fails(&["inspect", "m.deciban", "--as", "logistic"]);
    assert_eq!(message, "--as: only a generative model has another form; this one is what it is");
}

/// One class alone is taken against all others together.
#[test]
fn one_class_against_the_rest() {
    let folder = Folder::new();
    fit(&folder, &["--columns", "Alcohol,Hue"]);
    let lines = folder.ok(&["explain", "m.deciban", &wine(), "--json", "--classes", "Barolo", "--prior", "Barolo=0.2"]);
    let p = folder.table(&["predict", "m.deciban", &wine(), "--prior", "Barolo=0.2"]).numbers("p(Barolo)");
    for (i, line) in lines.lines().enumerate() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((row["of"].as_str(), row["over"].is_null()), (Some("Barolo"), true));
        close(row["prior"].as_f64().unwrap(), 10.0 * 0.25f64.log10(), 1e-12);
        let sum: f64 = row["features"].as_array().unwrap().iter().map(|f| f["decibans"].as_f64().unwrap()).sum();
        let total = row["total"].as_f64().unwrap();
        close(row["prior"].as_f64().unwrap() + sum, total, 1e-10);
        // What is left of 1 in p(Barolo) has few digits.
        if p[i] < 0.999 {
            close(total, 10.0 * (p[i] / (1.0 - p[i])).log10(), 1e-9);
        }
        close(row["posterior"][1].as_f64().unwrap(), 1.0 - p[i], 1e-9);
    }
    let text = folder.ok(&["explain", "m.deciban", &wine(), "--row", "3", "--classes", "Barolo"]);
    assert!(text.starts_with("row 3: Barolo over the rest, posterior "), "{text}");
    let message = folder.fails(&["explain", "m.deciban", &wine(), "--classes", "Barolo,Barbera,Grignolino"]);
    assert_eq!(message, "--classes: give two classes, A,B, or one, which is taken against the rest");
}

/// Members of a fused model name a level `fur=long` or `fur`, and a word `note=barks` or `barks`: the ledger of all of them
/// has one line for each, and adds up.
#[test]
fn a_fused_ledger_names_levels_and_words_once() {
    let folder = Folder::new();
    let mut state = 7_u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let mut text = "fur,door,note,pet\n".to_string();
    for i in 0..600 {
        let dog = i % 2 == 0;
        let fur = ["long", "short", "curly"][draw(if dog { 3 } else { 2 }) as usize];
        let word = ["barks", "sleeps", "eats"][if dog != (draw(4) == 0) { draw(2) as usize } else { 2 }];
        // The table has a column `door`, and the notes have this word.
        text += &format!("{fur},{},{word} by the door,{}\n", draw(9) + u64::from(dog), if dog { "dog" } else { "cat" });
    }
    folder.write("pets.csv", text);
    let fit = "fit pets.csv -t pet --text note --model fused --models naive-bayes,logistic -o fused.deciban";
    folder.ok(&fit.split(' ').collect::<Vec<_>>());
    let inspected = folder.json(&["inspect", "fused.deciban", "--json"]);
    assert_eq!(inspected["members"].as_array().unwrap().len(), 2, "{inspected}");
    folder.write("new.csv", "fur,door,note\ncurly,3,barks by the door\nlong,,eats\n");
    for line in folder.ok(&["explain", "fused.deciban", "new.csv", "--json", "--classes", "dog,cat"]).lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let features = row["features"].as_array().unwrap();
        let mut names: Vec<&str> = features.iter().map(|f| f["name"].as_str().unwrap()).collect();
        let fur = features.iter().find(|f| f["name"] == "fur").unwrap();
        assert_eq!(fur["value"], if row["row"] == 1 { "curly" } else { "long" });
        if row["row"] == 1 {
            assert!(["barks", "by", "door", "note=door"].iter().all(|name| names.contains(name)), "{names:?}");
        }
        assert!(names.iter().all(|name| !name.contains('=') || *name == "note=door"), "{names:?}");
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]) && !names.contains(&"(bound)"), "{names:?}");
        let sum: f64 = features.iter().map(|f| f["decibans"].as_f64().unwrap()).sum();
        let total = row["total"].as_f64().unwrap() - row["prior"].as_f64().unwrap();
        assert!((sum - total).abs() < 1e-9 * total.abs().max(1.0), "{row}");
    }
}
