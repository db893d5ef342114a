//! What users ran into, one test each: outputs, signals, options, classes with odd names.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, PROGRAM, wine};

fn fit<'a>(data: &'a str, output: &'a str) -> [&'a str; 8] {
    ["fit", data, "-t", "Type", "--model", "gaussian", "-o", output]
}

#[test]
fn an_output_is_never_an_input() {
    let folder = Folder::with_model(&[]);
    let rows = std::fs::read_to_string(wine()).unwrap();
    folder.write("t.csv", &rows);
    symlink("t.csv", folder.path().join("link.csv")).unwrap();
    for output in ["t.csv", "./t.csv", "link.csv"] {
        let message = folder.fails(&fit("t.csv", output));
        assert!(message.contains("is an input, too, and would be replaced"), "{message}");
    }
    folder.fails(&["predict", "wine.deciban", "t.csv", "-o", "wine.deciban"]);
    folder.ok(&["stats", "t.csv", "-t", "Type", "-o", "t.stats"]);
    let model = folder.read("wine.deciban");
    std::fs::copy(folder.path().join("wine.deciban"), folder.path().join("wine.html")).unwrap();
    std::fs::copy(wine(), folder.path().join("rows.html")).unwrap();
    for command in [
        "fit t*.csv -t Type -o t.csv",
        "fit link.csv -t Type --unlabelled t.csv -o t.csv",
        "fit link.csv --labels t.csv -o t.csv",
        "fit t.stats -o t.stats",
        "merge t.stats t.stats -o t.stats",
        "update wine.deciban t.csv -o wine.deciban",
        "page wine.deciban -o wine.deciban",
        "page wine.html",
        "evaluate wine.deciban rows.html --report rows.html --format csv",
    ] {
        let message = folder.fails(&command.split(' ').collect::<Vec<_>>());
        assert!(message.contains("is an input, too, and would be replaced"), "{command}: {message}");
    }
    for command in [
        "predict wine.deciban - -o t.csv",
        "impute wine.deciban - -o t.csv",
        "fit - -t Type -o t.csv",
        "predict wine.deciban /dev/stdin -o t.csv",
    ] {
        let line = format!("{PROGRAM} {command} < t.csv");
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("t.csv is an input, too, and would be replaced"), "{command}: {message}");
        assert_eq!(output.status.code(), Some(2), "{command}");
    }
    assert_eq!((folder.read("t.csv"), folder.read("wine.deciban")), (rows.into_bytes(), model));
}

#[test]
fn an_output_goes_through_links_and_keeps_the_mode() {
    let folder = Folder::new();
    folder.write("real.deciban", "old");
    std::fs::set_permissions(folder.path().join("real.deciban"), PermissionsExt::from_mode(0o640)).unwrap();
    symlink("real.deciban", folder.path().join("link.deciban")).unwrap();
    folder.ok(&fit(&wine(), "link.deciban"));
    assert!(folder.path().join("link.deciban").is_symlink());
    let mode = std::fs::metadata(folder.path().join("real.deciban")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    folder.ok(&["inspect", "real.deciban"]);
}

#[test]
fn devices_are_written_into_and_folders_are_found_before_the_work() {
    let folder = Folder::with_model(&[]);
    folder.ok(&fit(&wine(), "/dev/null"));
    let (code, _, stderr) = folder.run(&["predict", "wine.deciban", &wine(), "-o", "/dev/full"]);
    assert!(code == 1 && stderr.contains("/dev/full"), "{stderr}");
    assert!(!std::fs::metadata("/dev/full").unwrap().is_file());
    let message = folder.fails(&fit("there-is-no-such.csv", "no/such/folder/m.deciban"));
    assert!(message.contains("the folder `no/such/folder` does not exist"), "{message}");
}

#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::with_model(&[]);
    let printed = folder.ok(&["predict", "wine.deciban", &wine()]);
    assert_eq!(folder.ok(&["predict", "wine.deciban", &wine(), "-o", "-"]), printed);
    let model = folder.command(&fit(&wine(), "-")).stderr(Stdio::null()).output().unwrap().stdout;
    folder.write("piped.deciban", model);
    folder.ok(&["inspect", "piped.deciban"]);
}

/// Nothing looks into a pipe before it is read.
#[test]
fn every_command_reads_a_pipe_by_its_path() {
    let folder = Folder::with_model(&[]);
    let wine = wine();
    let told = |command: &str, data: &str| {
        let command = command.replace("DATA", data);
        let script = format!("cat {wine} | {PROGRAM} {command}");
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        // Times differ, and so does what the rows are called.
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split(" s").next().unwrap().to_string()).collect::<Vec<_>>()
    };
    for command in [
        "fit DATA -t Type --model gaussian",
        "fit DATA -t Type --model naive-bayes --calibrate logistic",
        "compare DATA -t Type --models least-squares --by log-loss --json | grep -v seconds",
        "predict wine.deciban DATA",
        "evaluate wine.deciban DATA",
        "explain wine.deciban DATA --row 3",
        "impute wine.deciban DATA",
        "stats DATA -t Type --model gaussian -o - | wc -c",
    ] {
        let direct = told(command, &wine);
        assert!(!direct.is_empty(), "{command}");
        for pipe in ["/dev/stdin".to_string(), format!("<(cat {wine})")] {
            assert_eq!(told(command, &pipe), direct, "{command} {pipe}");
        }
    }
}

#[test]
fn a_closed_standard_error_ends_nothing() {
    let folder = Folder::new();
    let command = format!("{PROGRAM} {} 2>&-", fit(&wine(), "m.deciban").join(" "));
    let status = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    folder.ok(&["inspect", "m.deciban"]);
    let command = format!("{PROGRAM} {} 2>&1 | head -1", fit(&wine(), "n.deciban").join(" "));
    let output = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("panicked"));
    folder.ok(&["inspect", "n.deciban"]);
}

#[test]
fn an_interrupt_leaves_no_temporary_file() {
    let folder = Folder::with_model(&[]);
    let before = folder.files();
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut command = folder.command(&["predict", "wine.deciban", "-", "-o", "out.csv"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Alcohol,Hue\n13.2,1.05\n").unwrap();
    stdin.flush().unwrap();
    // The pipe stays open, so that the program waits with its output begun.
    let started = Instant::now();
    let files = format!("/proc/{}/fd", child.id());
    let has_begun = || {
        let mut files = std::fs::read_dir(&files).unwrap().flatten();
        files.any(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.starts_with(folder.path())))
    };
    while !has_begun() && started.elapsed() < Duration::from_secs(5) {
        stdin.write_all("13.2,1.05\n".repeat(50_000).as_bytes()).unwrap();
    }
    assert!(has_begun(), "there is a temporary file while it works");
    assert_eq!(folder.files(), before, "it has no name, so it goes with the process");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.files(), before);
}

#[test]
fn a_limit_of_the_size_of_files_is_an_error() {
    let folder = Folder::with_model(&[]);
    let before = folder.files();
    let wine = wine();
    for (command, output) in [("predict wine.deciban WINE", "out.csv"), ("fit WINE -t Type", "wine.deciban")] {
        let command = command.replace("WINE", &wine);
        let line = format!("ulimit -f 1; exec {PROGRAM} {command} -o {output}");
        let run = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert!(stderr.contains(&format!("deciban: {output}: file too large")), "{stderr}");
        assert_eq!((run.status.code(), folder.files()), (Some(1), before.clone()));
    }
}

/// A device that never ends a line, as data of every format and as a model. Memory is limited, so that a fault here
/// does not take that of the machine.
#[cfg(target_os = "linux")]
#[test]
fn an_input_without_an_end_is_refused() {
    let folder = Folder::with_model(&[]);
    let fails = |command: &str| {
        let line = format!("ulimit -v 2000000; exec timeout 60 {PROGRAM} {command}");
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{command}: {message}");
        assert!(!message.contains("out of memory") && message.len() < 300, "{command}: {message}");
        message
    };
    for format in ["csv", "tsv", "text", "jsonl"] {
        let message = fails(&format!("predict wine.deciban /dev/zero --format {format}"));
        assert!(message.contains("a line is longer than 64 MiB: is this a text file?"), "{format}: {message}");
    }
    for command in [
        "predict wine.deciban /dev/zero",
        "predict wine.deciban - < /dev/zero",
        "predict wine.deciban /dev/zero --format parquet",
        "predict wine.deciban /dev/zero --format arrow",
        "predict wine.deciban /dev/zero --format idx",
        "fit /dev/zero -t x",
        "fit /dev/zero --no-header -t c0",
        "predict /dev/zero /dev/null",
        "inspect /dev/zero",
    ] {
        fails(command);
    }
}

/// Names in a file cannot command the terminal of whoever looks at it, nor look like another line.
#[test]
fn names_are_shown_without_what_a_terminal_obeys() {
    let folder = Folder::new();
    let odd = |name: &str| format!("{name}\u{1b}[31m\u{202e}\nfake");
    let (column, class, level) = (odd("x"), odd("a"), odd("red"));
    let mut table = format!("\"{column}\",z,\"c{column}\",\"t{column}\"\n");
    for i in 0..60 {
        let (level, class) = if i % 3 == 0 { (level.as_str(), class.as_str()) } else { ("blue", "b") };
        table += &format!("{},{},\"{level}\",\"{class}\"\n", i * 7 % 31, i * i % 17);
    }
    folder.write("t.csv", table);
    let target = format!("t{column}");
    folder.ok(&["fit", "t.csv", "-t", &target, "--model", "naive-bayes", "--keep-statistics", "-o", "m.deciban"]);
    folder.ok(&["fit", "t.csv", "-t", &target, "--model", "logistic", "-o", "l.deciban"]);
    folder.ok(&["stats", "t.csv", "-t", &target, "--model", "naive-bayes", "-o", "t.stats"]);
    folder.write("new.csv", format!("\"{column}\",z,\"c{column}\",\"t{column}\"\n1,2,new\nfake,b\n"));
    let versus = format!("{class},b");
    for command in [
        &["inspect", "m.deciban"][..],
        &["inspect", "l.deciban"],
        &["inspect", "t.stats"],
        &["inspect", "m.deciban", "--risk"],
        &["inspect", "m.deciban", "--as", "logistic"],
        &["inspect", "m.deciban", "--json"],
        &["inspect", "m.deciban", "--versus", &versus],
        &["explain", "m.deciban", "t.csv", "--row", "1"],
        &["evaluate", "m.deciban", "t.csv"],
        &["calibrate", "m.deciban", "t.csv", "-o", "c.deciban"],
        &["calibrate", "m.deciban", "t.csv", "--method", "temperature", "-o", "c.deciban"],
        &["fuse", "m.deciban", "l.deciban", "--rows", "t.csv", "-o", "f.deciban"],
        &["adapt-prior", "m.deciban", "t.csv"],
        &["compare", "t.csv", "-t", &target, "--models", "naive-bayes,logistic"],
        &["update", "m.deciban", "t.csv", "-o", "u.deciban"],
        &["fit", "t.csv", "-t", "none"],
        &["fit", "t.csv", "-t", &target, "--number", &format!("c{column}")],
        &["predict", "m.deciban", "t.csv", "--costs", "none>b=1", "-o", "p.csv"],
    ] {
        let (_, stdout, stderr) = folder.run(command);
        for line in stdout.lines().chain(stderr.lines()) {
            let is_odd = line.contains(['\u{1b}', '\u{202e}']) || line.trim_start().starts_with("fake");
            assert!(!is_odd, "{command:?}\n{line:?}");
        }
    }
    let text = folder.ok(&["inspect", "m.deciban"]);
    assert!(text.contains("a\\u001b[31m\\u202e\\nfake"), "{text}");
    // JSON has the names themselves.
    let json = folder.json(&["inspect", "m.deciban", "--json"]);
    assert!(json["classes"].to_string().contains("fake") && json["columns"][0] == column.as_str(), "{json}");
}

#[test]
fn real_classes_named_not_spam_and_spam_are_not_one_against_the_rest() {
    let folder = Folder::new();
    let rows = |spam: &str| format!("x,y\n1,not spam\n2,not spam\n3,not spam\n7,{spam}\n8,{spam}\n9.5,{spam}\n");
    folder.write("train.csv", rows("spam"));
    folder.write("test.csv", rows("Spam"));
    folder.ok(&["fit", "train.csv", "-t", "y", "--model", "gaussian", "-o", "m.deciban"]);
    let (code, stdout, stderr) = folder.run(&["evaluate", "m.deciban", "test.csv", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("3 rows are of the class `Spam`, which the model does not know"), "{stderr}");
    assert!(stdout.contains("\"rows\": 3"), "{stdout}");
}

#[test]
fn costs_of_classes_named_by_signs_can_be_written() {
    let folder = Folder::new();
    folder.write("income.csv", "x,y\n1,<=50K\n2,<=50K\n3,<=50K\n4,>50K\n5,>50K\n6.5,>50K\n");
    folder.ok(&["fit", "income.csv", "-t", "y", "--model", "gaussian", "-o", "m.deciban"]);
    let costs = |costs: &str| folder.ok(&["predict", "m.deciban", "income.csv", "--costs", costs]);
    assert_eq!(costs(">50K><=50K=10"), costs("\">50K\">\"<=50K\"=10"));
    folder.write("costs.csv", "true,<=50K,>50K\n<=50K,0,1\n>50K,10,0\n");
    assert_eq!(costs(">50K><=50K=10"), costs("costs.csv"));
}

#[test]
fn every_option_is_used_or_refused() {
    let folder = Folder::new();
    let wine = wine();
    let auto = |options: &[&str]| {
        let command = [&["fit", &wine, "-t", "Type", "--model", "auto"], options].concat();
        folder.fails(&command)
    };
    let message = auto(&["--covariance", "tied", "--weight-decay", "2"]);
    assert_eq!(message, "no model takes all of --covariance, --weight-decay: drop one, or give --model");
    auto(&["--covariance", "tied", "--pseudo-count", "2"]);
    let message = folder.fails(&["fit", &wine, "-t", "Type", "--model", "naive-bayes", "--covariance", "full"]);
    assert!(message.contains("--joint-numbers"), "{message}");
    let stats = ["stats", &wine, "-t", "Type", "-o", "a.stats"];
    for option in
        [&["--estimator", "unbiased"][..], &["--shrinkage", "0.1"], &["--pca", "2"], &["--covariance", "tied"]]
    {
        folder.fails(&[&stats[..], option].concat());
    }
}

#[test]
fn columns_are_carried_through() {
    let folder = Folder::with_model(&[]);
    folder.write("new.csv", "id,Alcohol,Hue\nA-1,13.2,1.05\n\"B,2\",14.1,1.10\n");
    let printed = folder.ok(&["predict", "wine.deciban", "new.csv", "--keep", "id"]);
    let starts: Vec<&str> = printed.lines().map(|line| &line[..line.find(",B").unwrap_or(11)]).collect();
    assert_eq!(starts, ["id,decision", "A-1", "\"B,2\""]);
    folder.write("none.csv", "id,Alcohol,Hue\n");
    assert_eq!(folder.ok(&["predict", "wine.deciban", "none.csv", "--keep", "id"]).lines().count(), 1);
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let folder = Folder::with_model(&[]);
    let evaluate = |option: &[&str]| folder.fails(&[&["evaluate", "wine.deciban", &wine()], option].concat());
    assert!(evaluate(&["--reject=-1"]).contains("not a finite cost"));
    assert!(evaluate(&["--report", "x.pdf"]).contains(".html"));
    assert!(evaluate(&["--positive", "Barolo"]).contains("it is for two classes, and there are 3"));
    assert!(folder.fails(&["inspect", "wine.deciban", "--prior", "uniform"]).contains("--risk"));
}

#[test]
fn infinite_numbers_are_told_apart_in_json() {
    let folder = Folder::new();
    folder.write("levels.csv", "c,y\nred,a\nred,a\nblue,b\nblue,b\n");
    let nothing = ["fit", "levels.csv", "-t", "y", "--model", "naive-bayes", "--pseudo-count", "0", "-o", "m.deciban"];
    folder.ok(&nothing);
    let printed = folder.ok(&["predict", "m.deciban", "levels.csv", "--evidence", "--json"]);
    let row: serde_json::Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    assert_eq!((&row["evidence(a)"], &row["evidence(b)"]), (&"inf".into(), &"-inf".into()));
}

#[test]
fn the_error_that_a_model_expects_is_that_of_the_closed_form() {
    let folder = Folder::new();
    // Two Gaussians of standard deviation 1, two apart: Φ(−1).
    folder.write("two.csv", "x,y\n-1,a\n1,a\n1,b\n3,b\n");
    folder.ok(&["fit", "two.csv", "-t", "y", "--model", "gaussian", "--covariance", "tied", "-o", "m.deciban"]);
    let found = folder.json(&["inspect", "m.deciban", "--risk", "--json"]);
    assert!((found["error_rate"].as_f64().unwrap() - 0.158_655_253_931_457_05).abs() < 1e-10, "{found}");
    let text = folder.ok(&["inspect", "m.deciban", "--risk", "--costs", "a>b=10"]);
    assert!(text.starts_with("error rate") && text.contains("exact"), "{text}");
}

/// Issue: aborts under `ulimit -v`, with a signal and a temporary file left behind.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_memory_is_an_error_not_an_abort() {
    let folder = Folder::new();
    let row = |i: usize| format!("{},{},c{}\n", i % 97, (i * 31) % 89, i % 60);
    folder.write("t.csv", format!("x,y,class\n{}", (0..40_000).map(row).collect::<String>()));
    folder.ok(&["fit", "t.csv", "-t", "class", "--covariance", "tied", "-o", "m.deciban"]);
    let before = folder.files();
    let mut failures = 0;
    for limit in [70_000, 100_000, 150_000, 250_000, 400_000] {
        for task in [
            "fit t.csv -t class --covariance tied -o out",
            "predict m.deciban t.csv --format csv -o out",
            "evaluate m.deciban t.csv --memory 1",
            "compare t.csv -t class --models gaussian --top 1",
        ] {
            let line = format!("ulimit -v {limit}; exec {} {task}", crate::common::PROGRAM);
            let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) => drop(std::fs::remove_file(folder.path().join("out"))),
                Some(1) => {
                    failures += 1;
                    assert!(stderr.contains("out of memory") || stderr.contains("thread"), "{limit} {task}: {stderr}");
                }
                code => panic!("{limit} {task}: {code:?}: {stderr}"),
            }
            assert_eq!(folder.files(), before, "{limit} {task}");
        }
    }
    assert!(failures > 0, "some of these limits are too low for the work");
}
