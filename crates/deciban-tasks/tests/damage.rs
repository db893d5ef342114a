//! Model files of all kinds whose numbers were changed and whose checksum fits: they are refused, or load to a model whose
//! answers add up. Nothing panics, and nothing takes more memory than a few times the file.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use deciban::calibrate::Method;
use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::explain::Order;
use deciban::file::{Archive, seal};
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::numerics::Random;
use deciban_data::{Options, RowReader};
use deciban_tasks::{Input, Sampling, describe, sample};
use serde_json::{Value, json};

use crate::page::{Case, fitted, people, project, random_rows};

/// The allocator of this program: it knows how much each thread has, and the most that it had.
struct Counting;

thread_local! {
    static HELD: Cell<[isize; 2]> = const { Cell::new([0; 2]) };
}

fn add(bytes: isize) {
    let _ = HELD.try_with(|held| {
        let [now, most] = held.get();
        held.set([now + bytes, most.max(now + bytes)]);
    });
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // For a moment there may be both.
        add(size as isize);
        add(-(layout.size() as isize));
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How much more memory than before this thread had at some time in `work`.
fn most_memory<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let [before, _] = HELD.get();
    HELD.set([before, before]);
    let result = work();
    (result, (HELD.get()[1] - before).max(0) as usize)
}

/// What is done with a model that loads. Of a posterior, either all is a number and adds up to 1, or nothing is.
fn use_model(bytes: &[u8], rows: &Batch<'_>) -> deciban::Result<()> {
    let model = Model::from_bytes(bytes)?;
    if let Ok(evidence) = model.evidence(rows) {
        let posterior = evidence.posterior(model.prior());
        for row in 0..posterior.rows() {
            let p = posterior.row(row);
            let sum: f64 = p.iter().sum();
            assert!(sum.is_nan() || (sum - 1.0).abs() < 1e-14, "the posterior {p:?} of {:?}", evidence.row(row));
        }
    }
    let _ = model.explain(rows, Order::Average);
    let _ = describe::Description::new(&model).json();
    drop(describe::Description::new(&model).text());
    let _ = drawn(&model);
    Ok(())
}

/// Three rows drawn from a model.
fn drawn(model: &Model) -> deciban::Result<()> {
    sample(model, &Sampling { number: 3, ..Sampling::default() }, |_, _| Ok(()))
}

/// The bytes of a file with another header.
fn with_header(bytes: &[u8], header: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut new = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + length..]].concat();
    seal(&mut new);
    new
}

fn header(bytes: &[u8]) -> &str {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    std::str::from_utf8(&bytes[8..8 + length]).unwrap()
}

/// The arrays of a file, and where they stand.
fn arrays(bytes: &[u8]) -> Vec<(String, Range<usize>)> {
    let outer: Value = serde_json::from_str(header(bytes)).unwrap();
    let data = 8 + header(bytes).len();
    let place = |info: &Value| {
        let at = |i: usize| data + info["data_offsets"][i].as_u64().unwrap() as usize;
        at(0)..at(1)
    };
    let arrays = outer.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    arrays.map(|(name, info)| (name.clone(), place(info))).collect()
}

/// The file with this number in all of an array.
fn filled(bytes: &[u8], array: &str, number: f64) -> Vec<u8> {
    let (_, place) = arrays(bytes).into_iter().find(|(name, _)| name == array).unwrap();
    let mut new = bytes.to_vec();
    new[place].chunks_exact_mut(8).for_each(|cell| cell.copy_from_slice(&number.to_le_bytes()));
    seal(&mut new);
    new
}

/// A number of the header, or one or all of an array, becomes another.
fn mutated(bytes: &[u8], random: &mut Random) -> (Vec<u8>, String) {
    const TEXTS: [&str; 10] =
        ["0", "1", "-1", "3", "1e300", "-1e300", "1e-300", "4294967295", "18446744073709551615", "null"];
    const NUMBERS: [f64; 11] =
        [f64::NEG_INFINITY, f64::INFINITY, f64::NAN, 1e300, -1e300, 0.0, -1.0, 5e-324, 1e18, -40.0, 0.5];
    let text = header(bytes);
    let data = 8 + text.len();
    let number = NUMBERS[random.below(NUMBERS.len() as u64) as usize];
    let cells = (bytes.len() - data) / 8;
    match random.below(3) {
        0 if cells > 0 => {
            let at = random.below(cells as u64) as usize;
            let mut new = bytes.to_vec();
            new[data + 8 * at..data + 8 * at + 8].copy_from_slice(&number.to_le_bytes());
            seal(&mut new);
            (new, format!("{number:e} in cell {at}"))
        }
        1 if cells > 0 => {
            let names: Vec<String> = arrays(bytes).into_iter().map(|(name, _)| name).collect();
            let name = &names[random.below(names.len() as u64) as usize];
            (filled(bytes, name, number), format!("{number:e} in all of `{name}`"))
        }
        _ => {
            let is_start =
                |at: &usize| text.as_bytes()[*at].is_ascii_digit() && !text.as_bytes()[at - 1].is_ascii_alphanumeric();
            // Behind the checksum.
            let starts: Vec<usize> = (80..text.len()).filter(is_start).collect();
            let start = starts[random.below(starts.len() as u64) as usize];
            let is_of_number = |c: char| c.is_ascii_digit() || ".eE-+".contains(c);
            let end = start + text[start..].find(|c| !is_of_number(c)).unwrap();
            let other = TEXTS[random.below(TEXTS.len() as u64) as usize];
            let new = format!("{}{other}{}", &text[..start], &text[end..]);
            let around: Vec<char> = text[..start].chars().rev().take(60).collect();
            (with_header(bytes, &new), format!("{other} behind {}", around.iter().rev().collect::<String>()))
        }
    }
}

/// Files of all kinds of models, each with some rows for it.
fn files() -> Vec<(String, Vec<u8>, String, Model)> {
    let folder = tempfile::tempdir().unwrap();
    let wine = project().join("examples/wine.csv").display().to_string();
    let people = people(folder.path(), 2);
    let counts = ["size", "colour", "smoker", "born", "note"];
    let (no_text, few) = (["note"], ["age", "weight", "spend", "wait", "born", "note", "calls"]);
    let text = ["age", "weight", "spend", "wait", "gain", "size", "visits", "calls", "colour", "smoker", "born"];
    let wines = |model, options| Case { file: &wine, target: "Type", ignore: &[], model, options, calibrate: None };
    let of = |ignore, model, options| Case { file: &people, target: "group", ignore, model, options, calibrate: None };
    let mut cases = vec![
        wines("gaussian", json!({})),
        wines("gaussian", json!({ "covariance": "tied" })),
        wines("gaussian", json!({ "covariance": "diagonal", "standardise": true })),
        wines("gaussian", json!({ "covariance": "low-rank", "rank": "2" })),
        wines("gaussian", json!({ "estimator": "bayes" })),
        wines("gaussian", json!({ "gaussianise": true })),
        wines("gaussian", json!({ "pca": 3, "standardise": true })),
        wines("gaussian", json!({ "lda": 2 })),
        wines("gaussian", json!({ "components": "2", "covariance": "diagonal" })),
        wines("parzen", json!({})),
        wines("least-squares", json!({})),
        of(
            &[],
            "naive-bayes",
            json!({ "family": [["spend", "log-normal"], ["wait", "exponential"], ["gain", "gamma"], ["size", "histogram"]] }),
        ),
        of(&text, "multinomial", json!({})),
        of(&text, "bernoulli", json!({})),
        of(&counts, "multinomial", json!({})),
        of(&few, "table", json!({})),
        of(&[], "logistic", json!({})),
    ];
    let kinds = ["additive", "k-dependence", "a1de", "tree", "probit"];
    cases.extend(kinds.map(|kind| of(&no_text, kind, json!({}))));
    cases.push(of(&no_text, "fused", json!({ "models": ["naive-bayes", "logistic", "tree"] })));
    for method in [Method::Logistic, Method::Pav, Method::Beta] {
        cases.push(Case { calibrate: Some(method), ..of(&no_text, "naive-bayes", json!({})) });
    }
    let file = |case: &Case<'_>| {
        let model = fitted(case);
        let name = format!("{} {} {:?}", case.model, case.options, case.calibrate);
        (name, model.to_bytes().unwrap(), random_rows(&model, 3, case.options.get("pca").is_none()), model)
    };
    cases.iter().map(file).collect()
}

#[test]
fn mutated_model_files_never_panic() {
    const EACH: usize = 100;
    let mut failures = Vec::new();
    for (name, bytes, csv, model) in files() {
        let rows = RowReader::new(model.schema(), Options::default()).unwrap().csv(csv.as_bytes()).unwrap();
        let batch = rows.batch().unwrap();
        let mut random = Random::new(bytes.len() as u64);
        let mut refused = 0;
        use_model(&bytes, &batch).map_or_else(|e| println!("{name}: {e}"), |()| ());
        for _ in 0..EACH {
            let (new, what) = mutated(&bytes, &mut random);
            let (found, memory) = most_memory(|| catch_unwind(AssertUnwindSafe(|| use_model(&new, &batch))));
            match found {
                Ok(found) => refused += usize::from(found.is_err()),
                Err(_) => failures.push(format!("{name}: {what}: panicked")),
            }
            if memory > (64 << 20) + 20 * bytes.len() {
                failures.push(format!("{name}: {what}: {} MB", memory >> 20));
            }
        }
        println!("{name}: {} bytes, {refused} of {EACH} refused", bytes.len());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (wine, people) = (project().join("examples/wine.csv").display().to_string(), people(folder.path(), 2));
    let text = ["age", "weight", "spend", "wait", "gain", "size", "visits", "calls", "colour", "smoker", "born"];
    let wines =
        |options| Case { file: &wine, target: "Type", ignore: &[], model: "gaussian", options, calibrate: None };
    let words = Case {
        file: &people,
        target: "group",
        ignore: &text,
        model: "multinomial",
        options: json!({}),
        calibrate: None,
    };
    // A text of 1e300 words is not drawn.
    let long = filled(&fitted(&words).to_bytes().unwrap(), "model.density0.lengths", 1e300);
    let error = drawn(&Model::from_bytes(&long).unwrap()).unwrap_err().to_string();
    assert!(error.contains("rows cannot be drawn: one has about 1e300 words"), "{error}");
    // The logarithm of a scale of 0 is −∞, which all classes would have.
    let scaled = fitted(&wines(json!({ "standardise": true }))).to_bytes().unwrap();
    let error = Model::from_bytes(&filled(&scaled, "model.density0.map0.scale", 0.0)).unwrap_err().to_string();
    assert!(error.contains("has a scale that is not above 0"), "{error}");
    let curved = fitted(&wines(json!({ "gaussianise": true }))).to_bytes().unwrap();
    let (curve, _) = arrays(&curved).into_iter().find(|(name, _)| name.ends_with(".y")).unwrap();
    let error = Model::from_bytes(&filled(&curved, &curve, f64::NEG_INFINITY)).unwrap_err().to_string();
    assert!(error.contains("holds a number that is not finite"), "{error}");
}

/// Headers of many small values take a few times their length, and those that are too long are not read.
#[test]
fn long_headers_take_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let people = people(folder.path(), 2);
    let case =
        Case { file: &people, target: "group", ignore: &[], model: "logistic", options: json!({}), calibrate: None };
    let bytes = fitted(&case).to_bytes().unwrap();
    let text = header(&bytes);
    let at = text.find(r#"\"json\":{"#).unwrap() + r#"\"json\":{"#.len();
    for filling in ["[],", "{},", "0,", r#"\"\","#] {
        let values = filling.repeat((8 << 20) / filling.len());
        let long = format!(r#"{}\"more\":[{}0],{}"#, &text[..at], values, &text[at..]);
        let long = with_header(&bytes, &long);
        let (model, memory) = most_memory(|| Model::from_bytes(&long));
        assert!(model.is_ok(), "{:?}", model.err());
        assert!(memory < 8 * long.len(), "{filling}: {} MB of {} MB", memory >> 20, long.len() >> 20);
    }
    let mut long = bytes.clone();
    long[..8].copy_from_slice(&200_000_000u64.to_le_bytes());
    seal(&mut long);
    let (error, memory) = most_memory(|| Model::from_bytes(&long).unwrap_err().to_string());
    assert!(error.contains("its header would take 200000000 bytes") && memory < 1 << 20, "{error}");
    // A name with two values is refused.
    let twice = with_header(&bytes, &format!(r#"{}\"kind\":0,\"kind\":1,{}"#, &text[..at], &text[at..]));
    let error = Model::from_bytes(&twice).unwrap_err().to_string();
    assert!(error.contains("`kind` is there twice"), "{error}");
}

/// An archive with a header that is too long is refused before it is written, and a table that would need one before any work.
#[test]
fn the_limit_of_a_file_is_said_before_the_work() {
    let names: Vec<String> = (0..60_000).map(|j| format!("{j:01700}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let schema = Schema::numbers(&names, "class", &["a", "b"]).unwrap();
    let cells = vec![1.0; 2 * names.len()];
    let rows = Batch::new(2).row_major(&cells[..], names.len()).unwrap().classes(&[0, 1]).unwrap();
    let input = Memory::new(schema, rows).unwrap();
    let error = (&input as &dyn Input).check_fits_a_file().unwrap_err().to_string();
    assert!(error.contains("and 100 MB are the most there may be: leave columns out"), "{error}");
    let mut archive = Archive::new("model");
    archive.put_json("words", &"x".repeat(100_000_001)).unwrap();
    assert!(archive.to_bytes().unwrap_err().to_string().contains("100 MB are the most"));
}
