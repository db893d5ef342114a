//! `deciban predict`: decisions, posteriors and evidence, under any prior and costs.

use crate::common::{Folder, Table, close, numbers, records, same_predictions, texts, wine};

const CLASSES: [&str; 3] = ["Barbera", "Barolo", "Grignolino"];

/// The posterior of each class, row by row.
fn posteriors(table: &Table) -> Vec<[f64; 3]> {
    let columns = CLASSES.map(|class| table.numbers(&format!("p({class})")));
    (0..table.rows.len()).map(|i| [columns[0][i], columns[1][i], columns[2][i]]).collect()
}

#[test]
fn posteriors_sum_to_one_and_the_largest_decides() {
    let folder = Folder::with_model(&[]);
    let table = folder.table(&["predict", "wine.deciban", &wine()]);
    assert_eq!(table.header, ["decision", "p(Barbera)", "p(Barolo)", "p(Grignolino)"]);
    assert_eq!(table.rows.len(), 178);
    for (p, decision) in posteriors(&table).iter().zip(table.texts("decision")) {
        close(p.iter().sum(), 1.0, 1e-12);
        let best = (0..3).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        assert_eq!(decision, CLASSES[best]);
    }
}

/// The classes agree on `x`, so a wild cell there is evidence for none of them: the posterior is that of the other
/// column, or where the digits of that are lost beside a large number, the prior.
#[test]
fn wild_cells_leave_posteriors_that_sum_to_one() {
    let folder = Folder::new();
    let rows: Vec<String> = (0..40)
        .flat_map(|i| {
            let (x, y) = (f64::from(i % 7) - 3.0, f64::from(i % 5));
            [format!("{x},{y},a\n"), format!("{x},{},b\n", y + 1.0), format!("{x},{},c\n", y + 2.0)]
        })
        .collect();
    folder.write("rows.csv", format!("x,y,t\n{}", rows.concat()));
    folder.write("new.csv", "x,y\n1e4,1\n1e6,1\n1e8,1\n1e12,1\n1e100,1\n1e150,1\n");
    for model in ["gaussian", "naive-bayes", "parzen"] {
        folder.ok(&["fit", "rows.csv", "-t", "t", "--model", model, "-o", "m.deciban"]);
        let table = folder.table(&["predict", "m.deciban", "new.csv", "--prior", "a=0.7,b=0.2,c=0.1"]);
        for i in 0..6 {
            let p = ["a", "b", "c"].map(|class| table.numbers(&format!("p({class})"))[i]);
            assert!((p.iter().sum::<f64>() - 1.0).abs() <= 4.0 * f64::EPSILON, "{model}, row {i}: {p:?}");
            assert!(i < 4 || model == "gaussian" || (p[0] - 0.7).abs() < 1e-12, "{model}, row {i}: {p:?}");
        }
    }
    // Where even the square of the distance is beyond the largest double, this is said.
    folder.write("beyond.csv", "x,y\n1e200,1\n");
    let (_, _, told) = folder.run(&["predict", "m.deciban", "beyond.csv"]);
    assert!(told.contains("rows impossible under every class") && told.contains("beyond the largest double"), "{told}");
}

#[test]
fn a_prior_moves_log_odds_by_its_own() {
    let folder = Folder::with_model(&[]);
    let predict = |prior: &str| folder.table(&["predict", "wine.deciban", &wine(), "--prior", prior, "--evidence"]);
    let (uniform, skewed) = (predict("uniform"), predict("Barolo=0.1,Barbera=0.75,Grignolino=0.15"));
    for (p, q) in posteriors(&uniform).iter().zip(posteriors(&skewed)) {
        close((q[1] / q[0]).ln() - (p[1] / p[0]).ln(), (0.1f64 / 0.75).ln(), 1e-9);
        close((q[2] / q[0]).ln() - (p[2] / p[0]).ln(), (0.15f64 / 0.75).ln(), 1e-9);
    }
    // The evidence does not move at all.
    for class in CLASSES {
        let name = format!("evidence({class})");
        assert_eq!(uniform.texts(&name), skewed.texts(&name));
    }
    // Classes that are not named share the rest as the training data had them: 48 to 71.
    let share = 0.9 / (48.0 + 71.0);
    let given = format!("Barolo=0.1,Barbera={},Grignolino={}", 48.0 * share, 71.0 * share);
    same_predictions(&predict("Barolo=0.1"), &predict(&given), 1e-12);
}

#[test]
fn a_class_of_prior_zero_is_never_decided() {
    let folder = Folder::with_model(&[]);
    let table = folder.table(&["predict", "wine.deciban", &wine(), "--prior", "Barolo=0"]);
    assert!(table.texts("p(Barolo)").iter().all(|p| p == "0"));
    assert!(!table.texts("decision").contains(&"Barolo".to_string()));
}

#[test]
fn evidence_is_the_ratio_to_the_mean_of_the_others() {
    let folder = Folder::with_model(&[]);
    let table = folder.table(&["predict", "wine.deciban", &wine(), "--prior", "uniform", "--evidence"]);
    let columns = CLASSES.map(|class| table.numbers(&format!("evidence({class})")));
    for (i, p) in posteriors(&table).iter().enumerate() {
        for k in 0..3 {
            // Under a uniform prior posteriors are in proportion to likelihoods.
            let others = (p.iter().sum::<f64>() - p[k]) / 2.0;
            let decibans = 10.0 * (p[k] / others).log10();
            // The sum of the others cancels where the class has nearly all.
            if p[k] < 0.999 {
                close(columns[k][i], decibans, 1e-9);
            }
        }
    }
}

#[test]
fn density_is_that_of_the_mixture() {
    let folder = Folder::with_model(&[]);
    let table = folder.table(&["predict", "wine.deciban", &wine(), "--density"]);
    let model = folder.json(&["inspect", "wine.deciban", "--json"]);
    for (row, log_p) in records(&wine()).iter().zip(table.numbers("log p(x)")) {
        let x = [row["Alcohol"].parse::<f64>().unwrap(), row["Hue"].parse().unwrap()];
        let mut density = 0.0;
        for class in model["classes"].as_array().unwrap() {
            let (mean, s) = (numbers(&class["mean"]), &class["covariance"]);
            let s = [numbers(&s[0]), numbers(&s[1])];
            let determinant = s[0][0] * s[1][1] - s[0][1] * s[1][0];
            let (u, v) = (x[0] - mean[0], x[1] - mean[1]);
            let q = (s[1][1] * u * u - 2.0 * s[0][1] * u * v + s[0][0] * v * v) / determinant;
            let normal = (-0.5 * q).exp() / (2.0 * std::f64::consts::PI * determinant.sqrt());
            density += class["prior"].as_f64().unwrap() * normal;
        }
        close(log_p, density.ln(), 1e-9);
    }
}

#[test]
fn ranks_are_shares_of_less_usual_rows_and_some_rows_are_none_of_these() {
    let folder = Folder::with_model(&[]);
    let predict = |more: &[&str]| folder.table(&[&["predict", "wine.deciban", &wine(), "--density"], more].concat());
    let table = predict(&[]);
    let (density, ranks) = (table.numbers("log p(x)"), table.numbers("rank"));
    let mut order: Vec<usize> = (0..178).collect();
    order.sort_by(|&a, &b| density[a].total_cmp(&density[b]));
    assert!(order.windows(2).all(|w| ranks[w[0]] <= ranks[w[1]]));
    // The model describes its rows: their ranks are spread evenly.
    let mean = ranks.iter().sum::<f64>() / 178.0;
    assert!((mean - 0.5).abs() < 0.08, "{mean}");
    // Under another prior other rows are usual.
    assert_ne!(ranks, predict(&["--prior", "Barolo=0.98"]).numbers("rank"));
    let decided = predict(&["--none-of-these", "0.1"]).texts("decision");
    for (i, decision) in decided.iter().enumerate() {
        assert_eq!(decision == "none of these", ranks[i] < 0.1, "{i}");
    }
    let none = decided.iter().filter(|d| *d == "none of these").count();
    let evaluated = folder.json(&["evaluate", "wine.deciban", &wine(), "--none-of-these", "0.1", "--json"]);
    assert_eq!(texts(&evaluated["actions"]), ["Barbera", "Barolo", "Grignolino", "none of these"]);
    assert_eq!(evaluated["rejected"].as_f64(), Some(none as f64));
    // Far from everything, and a row that lacks a cell.
    folder.write("odd.csv", "Alcohol,Hue\n99,1\n13.2,\n99,\n");
    let odd = folder.table(&["predict", "wine.deciban", "odd.csv", "--none-of-these", "0.01"]).texts("decision");
    assert_eq!((odd[0].as_str(), odd[2].as_str()), ("none of these", "none of these"));
    assert_ne!(odd[1], "none of these");
    // A calibration does not change how rows come about.
    let tumours = Folder::with_tumours();
    tumours.ok(&["calibrate", "naive.deciban", "held-out.csv", "-o", "calibrated.deciban"]);
    let ranks = |model: &str| tumours.table(&["predict", model, "test.csv", "--density"]).numbers("rank");
    assert_eq!(ranks("calibrated.deciban"), ranks("naive.deciban"));
    let message = folder.fails(&["predict", "wine.deciban", &wine(), "--none-of-these", "1"]);
    assert_eq!(message, "--none-of-these: 1 is not a share above 0 and below 1, such as 0.01");
    folder.ok(&["fit", &wine(), "-t", "Type", "--model", "logistic", "-o", "l.deciban"]);
    let message = folder.fails(&["predict", "l.deciban", &wine(), "--none-of-these", "0.1"]);
    assert!(message.starts_with("--none-of-these: this model knows classes given rows"), "{message}");
}

/// `costs[action][class]`.
fn check_decisions(table: &Table, actions: &[&str], costs: &[[f64; 3]]) {
    let risks = table.numbers("risk");
    for ((p, decision), risk) in posteriors(table).iter().zip(table.texts("decision")).zip(risks) {
        let expected: Vec<f64> = costs.iter().map(|row| row.iter().zip(p).map(|(c, p)| c * p).sum()).collect();
        let best = (0..actions.len()).min_by(|&a, &b| expected[a].total_cmp(&expected[b])).unwrap();
        assert_eq!(decision, actions[best], "{expected:?}");
        close(risk, expected[best], 1e-12);
    }
}

#[test]
fn costs_and_reject_decide_by_expected_cost() {
    let folder = Folder::with_model(&[]);
    let predict = |more: &[&str]| folder.table(&[&["predict", "wine.deciban", &wine()], more].concat());
    // A true Barolo taken for a Barbera costs 10.
    let inline = predict(&["--costs", "Barolo>Barbera=10", "--reject", "0.2"]);
    let costs = [[0.0, 10.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.2; 3]];
    check_decisions(&inline, &["Barbera", "Barolo", "Grignolino", "reject"], &costs);
    let decisions = inline.texts("decision");
    assert!(decisions.contains(&"reject".to_string()) && decisions.contains(&"Barolo".to_string()));
    // A file: actions of its own, classes in an order of its own.
    folder.write("costs.csv", "true,sell,keep\nGrignolino,1,0.3\nBarolo,0,2\nBarbera,1,0.5\n");
    let file = predict(&["--costs", "costs.csv"]);
    check_decisions(&file, &["sell", "keep"], &[[1.0, 0.0, 1.0], [0.5, 2.0, 0.3]]);
    let file = predict(&["--costs", "costs.csv", "--reject", "0.1"]);
    let costs = [[1.0, 0.0, 1.0], [0.5, 2.0, 0.3], [0.1; 3]];
    check_decisions(&file, &["sell", "keep", "reject"], &costs);
    // Without costs there is no such column.
    assert!(!predict(&[]).header.contains(&"risk".to_string()));
}

#[test]
fn wrong_priors_and_costs_name_the_classes() {
    let folder = Folder::with_model(&[]);
    let fails = |more: &[&str]| folder.fails(&[&["predict", "wine.deciban", &wine(), "-o", "out.csv"], more].concat());
    let known = "the classes are `Barbera`, `Barolo`, `Grignolino`";
    assert_eq!(fails(&["--prior", "Merlot=0.1"]), format!("--prior: there is no class `Merlot`: {known}"));
    assert_eq!(fails(&["--prior", "Barolo=0.1,Barolo=0.2"]), "--prior: class `Barolo` is given twice");
    assert_eq!(fails(&["--prior", "Barolo=1.5"]), "prior: the probabilities sum to 1.5, not to 1");
    assert_eq!(fails(&["--prior", "Barolo=-1"]), "prior: -1 is not a number of at least 0");
    assert_eq!(fails(&["--costs", "Barolo>Merlot=3"]), format!("--costs: there is no class `Merlot`: {known}"));
    let message = fails(&["--costs", "none.csv"]);
    assert_eq!(
        message,
        "--costs: `none.csv` is neither a file nor a cost: write TRUE>DECIDED=COST,..., with names in double quotes where they \
         hold , or >"
    );
    folder.write("costs.csv", "true,sell,keep,drink\nBarolo,1,0\n");
    assert_eq!(fails(&["--costs", "costs.csv"]), "costs.csv:2: 3 fields, not 4");
    folder.write("costs.csv", "true,sell\nBarolo,1\nBarbera,0\n");
    let message = fails(&["--costs", "costs.csv"]);
    assert_eq!(
        message,
        "costs.csv: there must be a row for each of Barbera, Barolo, Grignolino, and there are Barolo, Barbera"
    );
    folder.write("costs.csv", "true,sell,keep\nBarolo,1,much\n");
    let message = fails(&["--costs", "costs.csv"]);
    assert_eq!(message, "costs.csv:2: `much` is not a cost: costs are finite numbers of 0 or more");
    // The rows are the actions, by what the header says or by their names.
    for table in [
        "action,Barbera,Barolo,Grignolino\nBarbera,0,9,1\nBarolo,1,0,1\nGrignolino,1,1,0\n",
        ",Barbera,Barolo,Grignolino\nsell,0,9,1\nkeep,1,0,1\n",
    ] {
        folder.write("costs.csv", table);
        let message = fails(&["--costs", "costs.csv"]);
        assert!(message.starts_with("costs.csv: the rows of this table are the actions and its columns"), "{message}");
    }
    folder.write("costs.csv", ",Barbera,Barolo,Grignolino\nBarbera,0,9,1\nBarolo,1,0,1\nGrignolino,1,1,0\n");
    let message = fails(&["--costs", "costs.csv"]);
    assert!(message.starts_with("costs.csv: the table can be read in two ways: the 1 in row `Barolo`"), "{message}");
    assert_eq!(fails(&["--costs", "Barolo>Barbera=-1"]), "costs: -1 is not a finite number of 0 or more");
    assert_eq!(
        fails(&["--costs", "Barolo>Barbera=1,Barolo>Barbera=2"]),
        "--costs: the cost of `Barolo>Barbera` is given twice"
    );
    folder.misused(&["predict", "wine.deciban", &wine(), "--prior", "Barolo"]);
    folder.misused(&["predict", "wine.deciban", &wine(), "--prior", "Barolo=much"]);
    folder.misused(&["predict", "wine.deciban"]);
}

#[test]
fn standard_input_files_and_output_files_agree() {
    let folder = Folder::with_model(&[]);
    let direct = folder.ok(&["predict", "wine.deciban", &wine(), "--evidence"]);
    let text = std::fs::read_to_string(wine()).unwrap();
    let (code, piped, stderr) = folder.run_with(&["predict", "wine.deciban", "-", "--evidence"], &text);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(piped == direct);
    assert_eq!(folder.ok(&["predict", "wine.deciban", &wine(), "--evidence", "-o", "out.csv"]), "");
    // As open as any file that the user makes.
    folder.write("plain.csv", "");
    let permissions = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions();
    assert_eq!(permissions("out.csv"), permissions("plain.csv"));
    assert!(folder.read("out.csv") == direct.as_bytes());
    assert_eq!(folder.files(), ["out.csv", "plain.csv", "wine.deciban"]);
    // Two files: the rows of the one, then those of the other.
    let twice = folder.ok(&["predict", "wine.deciban", &wine(), &wine(), "--evidence"]);
    let (_, rows) = direct.split_once('\n').unwrap();
    assert!(twice == format!("{direct}{rows}"));
}

#[test]
fn json_lines_carry_the_same_numbers() {
    let folder = Folder::with_model(&[]);
    let options = ["predict", "wine.deciban", &wine(), "--evidence", "--density", "--reject", "0.1"];
    let table = folder.table(&options);
    let json = folder.ok(&[&options[..], &["--json"]].concat());
    assert_eq!(json.lines().count(), 178);
    for (line, row) in json.lines().zip(&table.rows) {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["decision"], row[0].as_str());
        for (name, cell) in table.header.iter().zip(row).skip(1) {
            assert_eq!(object[name].as_f64(), Some(cell.parse().unwrap()), "{name}");
        }
    }
}

#[test]
fn columns_are_found_by_name() {
    let folder = Folder::with_model(&[]);
    folder.write("a.csv", "Alcohol,Hue\n13.2,1.05\n12.1,0.8\n");
    folder.write("b.csv", "note,Hue,colour,Alcohol\nx,1.05,red,13.2\ny,0.8,red,12.1\n");
    let predict = |file: &str| folder.ok(&["predict", "wine.deciban", file]);
    assert_eq!(predict("a.csv"), predict("b.csv"));
    folder.write("c.csv", "Alcohol,Colour\n13.2,1.05\n");
    let message = folder.fails(&["predict", "wine.deciban", "c.csv", "-o", "out.csv"]);
    assert_eq!(message, "c.csv: the model needs a column `Hue` that the input does not have");
    folder.write("d.csv", "Alcohol,Hue\n13.2,1.05\n12,dark\n");
    let message = folder.fails(&["predict", "wine.deciban", "d.csv", "-o", "out.csv"]);
    assert_eq!(message, "d.csv:3: column `Hue`: `dark` is not a number: the model knows this column as numbers");
}

#[test]
fn a_missing_cell_is_integrated_out() {
    // The marginal of a Gaussian is the Gaussian of the other columns.
    let both = Folder::with_model(&[]);
    both.ok(&["fit", "--model", "gaussian", &wine(), "-t", "Type", "--columns", "Alcohol", "-o", "alcohol.deciban"]);
    both.write("hole.csv", "Alcohol,Hue\n13.2,\n12.1,?\n13.9,NA\n");
    let more = ["hole.csv", "--evidence", "--density"];
    let marginal = both.table(&[&["predict", "wine.deciban"], &more[..]].concat());
    let single = both.table(&[&["predict", "alcohol.deciban"], &more[..]].concat());
    same_predictions(&marginal, &single, 1e-9);
    // A row without cells says nothing: posterior is prior.
    both.write("empty.csv", "Alcohol,Hue\n?,?\n");
    let nothing = both.table(&["predict", "wine.deciban", "empty.csv", "--evidence"]);
    close(nothing.numbers("p(Barbera)")[0], 48.0 / 178.0, 1e-12);
    assert_eq!(nothing.numbers("evidence(Barolo)"), [0.0]);
}

#[test]
fn damaged_and_foreign_models_are_refused() {
    let folder = Folder::with_model(&[]);
    let model = folder.read("wine.deciban");
    let fails = |name: &str| folder.fails(&["predict", name, &wine(), "-o", "out.csv"]);
    for length in [0, 4, 100, model.len() - 8] {
        folder.write("cut.deciban", &model[..length]);
        let message = fails("cut.deciban");
        assert!(message.starts_with("cut.deciban: ") && message.contains("damaged"), "{message}");
    }
    let mut newer = model.clone();
    let at = newer.windows(11).position(|w| w == br#"version\":2"#).map(|at| at + 10).unwrap();
    newer[at] = b'9';
    folder.write("newer.deciban", &newer);
    // A changed digit is damage, not a version.
    assert!(fails("newer.deciban").starts_with("newer.deciban: the file is damaged"));
    let message = fails(&wine());
    assert!(message.contains("this is not a deciban file"), "{message}");
    folder.ok(&["stats", &wine(), "-t", "Type", "-o", "wine.stats"]);
    assert_eq!(fails("wine.stats"), "wine.stats: this is a statistics file, not a model file");
    let message = fails("none.deciban");
    assert!(message.starts_with("none.deciban: "), "{message}");
    let message = folder.fails(&["predict", "wine.deciban", "none.csv", "-o", "out.csv"]);
    assert_eq!(message, "none.csv: there is no such file");
}

#[test]
fn an_output_that_fails_halfway_leaves_no_file() {
    let folder = Folder::with_model(&[]);
    // Enough rows for several blocks before the wrong one.
    let mut text = "Alcohol,Hue\n".to_string() + &"13.2,1.05\n".repeat(200_000);
    text += "13.2,dark\n";
    folder.write("long.csv", text);
    let message = folder.fails(&["predict", "wine.deciban", "long.csv", "-o", "out.csv"]);
    assert!(message.starts_with("long.csv:200002: column `Hue`: `dark` is not a number"), "{message}");
}

/// Files that are no tables are texts to a model of one text.
#[test]
fn letters_and_folders_of_letters() {
    let folder = Folder::new();
    folder.write("mail.tsv", "spam\tWin win cash\nham\thome cash\n");
    let fit = ["fit", "mail.tsv", "--no-header", "--no-quotes", "-t", "c0", "--text", "c1", "--model", "multinomial"];
    folder.ok(&[&fit[..], &["-o", "m.deciban"]].concat());
    let at = folder.command(&[]).get_current_dir().unwrap().to_path_buf();
    std::fs::create_dir(at.join("inbox")).unwrap();
    let letters =
        [("letter.txt", "Win c1, win\nand \"cash\" it"), ("inbox/a.txt", "come home\n"), ("inbox/b, c.eml", "win")];
    for (name, text) in letters {
        folder.write(name, text);
    }
    let found = folder.ok(&["predict", "m.deciban", "letter.txt", "inbox"]);
    // The same texts as rows of a table.
    folder.write("rows.csv", "c1\n\"Win c1, win\nand \"\"cash\"\" it\"\ncome home\nwin\n");
    let rows = folder.ok(&["predict", "m.deciban", "rows.csv"]);
    let names = ["file", "letter.txt", "inbox/a.txt", "\"inbox/b, c.eml\""];
    let expected: String = names.iter().zip(rows.lines()).map(|(name, row)| format!("{name},{row}\n")).collect();
    assert_eq!(found, expected);
    let json = folder.ok(&["predict", "m.deciban", "inbox", "--json"]);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["file"], &first["decision"]), (&"inbox/a.txt".into(), &"ham".into()));
    // A file with the column in its first line is a table, whatever its name.
    folder.write("table.txt", "c1\nwin\nhome\n");
    assert_eq!(folder.table(&["predict", "m.deciban", "table.txt"]).header, ["decision", "p(ham)", "p(spam)"]);
    // The files of folders with a folder for each class, which give no class here.
    std::fs::create_dir_all(at.join("sorted/ham")).unwrap();
    folder.write("sorted/ham/1.txt", "come home\n");
    let model = ["fit", "m.tsv", "-t", "class", "--text", "text", "--model", "multinomial", "-o", "two.deciban"];
    folder.write("m.tsv", "class\ttext\nspam\tWin win cash\nham\thome cash\n");
    folder.ok(&model);
    let kept = folder.table(&["predict", "two.deciban", "sorted", "--keep", "class,file"]);
    assert_eq!(kept.header, ["class", "file", "decision", "p(ham)", "p(spam)"]);
    assert_eq!(
        (kept.texts("class"), kept.texts("file")),
        (vec!["ham".to_string()], vec!["sorted/ham/1.txt".to_string()])
    );
    let plain = folder.ok(&["predict", "m.deciban", "inbox"]);
    assert_eq!(folder.ok(&["predict", "m.deciban", "inbox", "--keep", "file"]), plain);
    // Other models take tables only.
    folder.write("t.csv", "x,t\n1,a\n2,a\n4,b\n5,b\n");
    folder.ok(&["fit", "--model", "gaussian", "t.csv", "-t", "t", "-o", "numbers.deciban"]);
    assert!(folder.fails(&["predict", "numbers.deciban", "inbox"]).contains("this is a folder"));
}
