//! Instructions of hot paths, counted by valgrind and compared with the counts in `counts.json`. Times depend on
//! what else a machine does; counts of one program on one thread hardly differ from run to run.
//!
//! The test runs itself again as a child under callgrind, which knows AVX2 and no wider vectors, so counts are
//! those of x86-64 processors with AVX2. After a change that is worth its instructions, or with another compiler,
//! `DECIBAN_BLESS=1 cargo test --release --test data counts` records new counts.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, target};
use deciban::data::{Batch, Cells, Column, Kind, Rows, Schema, Sparse, Tile};
use deciban::engine::Memory;
use deciban::family::AnyFamily;
use deciban::family::gaussian::Gaussian;
use deciban::family::multinomial::Multinomial;
use deciban::learn::{Block, Classifier, Generative, Learner, Logistic, Statistics, Summarise};
use deciban::numerics::{Normalise, Random, normalise};
use deciban::scoring::Affine;
use deciban_data::{Files, Options};

/// Tells the child that it is one.
const CHILD: &str = "DECIBAN_COUNT";
/// A count may differ from the recorded one by this share. Incremental builds differ by 2 percent.
const TOLERANCE: f64 = 0.05;
const CLASSES: usize = 3;

/// What callgrind counts: it sets its counters to zero when this begins and writes them when it ends. The name is in
/// the arguments of valgrind.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn deciban_counted(work: &mut dyn FnMut()) {
    work();
    // Without it, the last call may become a jump, and nothing ends here.
    black_box(());
}

/// The child's side, which does nothing when the test runs by itself: prints the names of the paths as it runs them.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        // On one thread, with no other that waits for work.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(paths);
    }
}

fn count(name: &str, mut work: impl FnMut()) {
    println!("path {name}");
    deciban_counted(&mut work);
}

fn paths() {
    let mut random = Random::new(1);
    numbers(&mut random);
    words(&mut random);
    files(&mut random);
}

fn labels(rows: usize) -> Vec<u32> {
    (0..rows).map(|i| (i % CLASSES) as u32).collect()
}

/// Fits and posteriors of 20 numbers.
fn numbers(random: &mut Random) {
    let (rows, width) = (3000, 20);
    let x: Vec<f64> = (0..rows * width).map(|_| random.normal()).collect();
    let labels = labels(rows);
    let names: Vec<String> = (0..width).map(|j| format!("x{j}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let schema = Schema::numbers(&names, "y", &["a", "b", "c"]).unwrap();
    let batch = Batch::new(rows).row_major(&x[..], width).unwrap().classes(&labels).unwrap();
    let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
    let learner = Generative::gaussian(schema.columns(), Gaussian::default()).unwrap();
    count("fit of full Gaussians", || drop(black_box(learner.learn(&engine).unwrap())));
    let gaussian = learner.learn(&engine).unwrap();
    count("evidence of single rows by full Gaussians", || {
        let mut out = [0.0; CLASSES];
        for row in x.chunks_exact(width).take(1000) {
            gaussian.evidence_into(&Batch::new(1).row_major(row, width).unwrap(), &mut out).unwrap();
            black_box(&out);
        }
    });
    let logistic = Logistic::default();
    count("fit of softmax regression", || drop(black_box(logistic.learn(&engine).unwrap())));
    let logistic = logistic.learn(&engine).unwrap();
    count("posteriors of softmax regression", || {
        for _ in 0..5 {
            let posterior = logistic.evidence(&batch).unwrap().posterior(logistic.about().prior());
            drop(black_box(posterior.probabilities()));
        }
    });
    affine(&x, width, random);
}

/// Scores by weights alone, as the drop-ins take them: of two classes, whose difference is one, and of ten to
/// posteriors.
fn affine(x: &[f64], width: usize, random: &mut Random) {
    let batch = Batch::new(x.len() / width).row_major(x, width).unwrap();
    let columns: Vec<usize> = (0..width).collect();
    for (name, outputs) in [("linear scores of two classes", 1), ("posteriors of ten classes by linear scores", 10)] {
        let weights: Vec<f64> = (0..outputs * width).map(|_| random.normal()).collect();
        count(name, || {
            let (mut copy, mut scores) = (Tile::default(), Tile::default());
            let affine = Affine { weights: &weights, bias: &vec![0.0; outputs] };
            for start in (0..batch.rows()).step_by(500) {
                let cells = Cells::new(&batch, &columns, Rows::Range(start..start + 500));
                assert!(affine.scores(&cells, false, &mut copy, &mut scores).unwrap());
                if outputs > 1 {
                    normalise(&mut scores, Normalise::Posterior);
                }
                black_box(&scores);
            }
        });
    }
}

/// Rows of 40 words, of 5,000.
fn words(random: &mut Random) {
    let (rows, length, vocabulary) = (3000, 40, 5000u64);
    let words: Vec<u32> = (0..rows * length).map(|_| random.below(vocabulary) as u32).collect();
    let offsets: Vec<usize> = (0..=rows).map(|i| i * length).collect();
    let (counts, labels) = (vec![1.0; words.len()], labels(rows));
    let levels = (0..vocabulary).map(|j| j.to_string()).collect();
    let text = Column { name: "text".into(), kind: Kind::Text, levels };
    let schema = Schema::new(vec![text], "y", vec!["a".into(), "b".into(), "c".into()]).unwrap();
    let texts = Sparse::new(&offsets[..], &words[..], &counts[..]).unwrap();
    let batch = Batch::new(rows).sparse(texts).unwrap().classes(&labels).unwrap();
    let family = AnyFamily::Multinomial(Multinomial::default());
    let learner = Generative::of_blocks(vec![Block::new(vec![0], schema.columns(), family)]);
    let engine = Memory::new(schema, batch.clone()).unwrap();
    count("fit and evidence of sparse counts", || {
        let model = learner.learn(&engine).unwrap();
        drop(black_box(model.evidence(&batch).unwrap()));
    });
}

/// Files to statistics.
fn files(random: &mut Random) {
    let folder = Folder::new();
    let columns: Vec<String> = (0..10).map(|j| format!("x{j}")).collect();
    let mut table = format!("{},t\n", columns.join(","));
    let mut messages = "text,t\n".to_string();
    for i in 0..3000 {
        let cells: Vec<String> = columns.iter().map(|_| format!("{:.4}", random.normal())).collect();
        table += &format!("{},{}\n", cells.join(","), i % CLASSES);
        let words: Vec<String> = (0..10).map(|_| format!("word{}", random.below(2000))).collect();
        messages += &format!("{},{}\n", words.join(" "), i % CLASSES);
    }
    let (table, messages) = (folder.write("table.csv", &table), folder.write("messages.csv", &messages));
    let collect = |path: &str, options: Options, family: AnyFamily| {
        let files = Files::open(&[path.to_string()], options).unwrap();
        let all: Vec<usize> = (0..files.columns().len()).collect();
        let blocks = vec![Block::new(all, files.columns(), family)];
        Statistics::collect(Summarise { blocks, folds: 1, seed: 0 }, &files).unwrap()
    };
    count("a table of numbers to statistics", || {
        drop(black_box(collect(&table, target("t"), AnyFamily::Gaussian(Gaussian::default()))))
    });
    count("texts to statistics", || {
        let options = Options { kinds: vec![("text".into(), Kind::Text)], ..target("t") };
        drop(black_box(collect(&messages, options, AnyFamily::Multinomial(Multinomial::default()))))
    });
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The counts of all paths, by a child under callgrind.
fn measure() -> BTreeMap<String, f64> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("counts");
    let mut child = Command::new("valgrind");
    child.args(["--tool=callgrind", "--zero-before=deciban_counted", "--dump-after=deciban_counted"]);
    child.arg(format!("--callgrind-out-file={}", out.display()));
    child.arg(std::env::current_exe().unwrap()).args(["counts::child", "--exact", "--nocapture", "--test-threads=1"]);
    let output = child.env(CHILD, "1").env("RAYON_NUM_THREADS", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    // The first name stands behind what the harness has written on the same line.
    let names = text.lines().filter_map(|line| line.split_once("path ")).map(|(_, name)| name.to_string());
    let total = |k: usize| {
        let dump = std::fs::read_to_string(format!("{}.{k}", out.display())).expect("a dump for each path");
        let line = dump.lines().find_map(|line| line.strip_prefix("totals: ")).expect("a total");
        line.trim().parse().expect("a number of instructions")
    };
    names.enumerate().map(|(k, name)| (name, total(k + 1))).collect()
}

#[test]
fn hot_paths_take_no_more_instructions_than_recorded() {
    if !std::arch::is_x86_feature_detected!("avx2") || !std::arch::is_x86_feature_detected!("fma") {
        return println!("the counts are those of processors with AVX2, which this one does not have");
    }
    if !has_valgrind() {
        let apt = |arguments: &[&str]| Command::new("apt-get").args(arguments).output();
        let _ = apt(&["update"]);
        let _ = apt(&["install", "-y", "--no-install-recommends", "valgrind"]);
    }
    assert!(has_valgrind(), "instructions are counted by valgrind: apt-get install valgrind");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counts.json");
    let counts = measure();
    assert_eq!(counts.len(), 9);
    if std::env::var_os("DECIBAN_BLESS").is_some() {
        return std::fs::write(file, serde_json::to_string_pretty(&counts).unwrap() + "\n").unwrap();
    }
    let recorded: BTreeMap<String, f64> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut off = String::new();
    for (name, count) in &counts {
        let before = recorded.get(name).copied().unwrap_or(f64::NAN);
        let line = format!("{name}: {:.2} million, {:.2} recorded\n", count / 1e6, before / 1e6);
        print!("{line}");
        if (count / before - 1.0).abs().partial_cmp(&TOLERANCE) != Some(std::cmp::Ordering::Less) {
            off += &line;
        }
    }
    assert!(
        off.is_empty(),
        "these paths take another number of instructions than recorded:\n{off}\
         Find out why. If the change is meant, `DECIBAN_BLESS=1 cargo test --release --test data counts` records it."
    );
}
