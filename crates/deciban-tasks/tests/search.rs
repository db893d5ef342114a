//! A search of more rows than it needs judges models by a sample, and fits the best to all rows.

use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::learn::{Classifier, Effort, Options};
use deciban::numerics::Random;
use deciban_tasks::comparison::{Comparing, Found, compare};
use deciban_tasks::{Learning, learn};

const ROWS: usize = 120_000;

/// Two classes of one column, a standard deviation apart.
fn rows() -> (Vec<f64>, Vec<u32>) {
    let mut random = Random::new(4);
    let labels: Vec<u32> = (0..ROWS).map(|row| (row % 2) as u32).collect();
    (labels.iter().map(|label| f64::from(*label) + random.normal()).collect(), labels)
}

fn engine<'a>(x: &'a [f64], labels: &'a [u32]) -> Memory<'a> {
    let schema = Schema::numbers(&["x"], "y", &["a", "b"]).unwrap();
    Memory::new(schema, Batch::new(x.len()).column(x).unwrap().classes(labels).unwrap()).unwrap()
}

#[test]
fn many_rows_are_judged_by_a_sample_and_all_are_learned() {
    let (x, labels) = rows();
    let options = Options { effort: Effort::Quick, ..Options::default() };
    let learned = learn(&Learning { options, ..Learning::default() }, &mut engine(&x, &labels)).unwrap();
    let comparison = learned.comparison.as_ref().unwrap();
    let judged = comparison.ranked()[0].sums.rows;
    assert!((99_000.0..101_000.0).contains(&judged), "{judged}");
    assert_eq!(learned.model.learned_from(), ROWS as f64);
    let note = format!("models are judged by {judged} of {ROWS} rows");
    assert!(learned.remarks.iter().any(|remark| format!("{remark:?}").contains(&note)), "{:?}", learned.remarks);
    // A comparison does the same.
    let request = Comparing { effort: Effort::Quick, ..Comparing::default() };
    let mut rows = engine(&x, &labels);
    let mut compared = compare(&request, &mut rows).unwrap();
    let Found::Scores(scores) = &compared.found else { panic!("log losses") };
    assert_eq!(scores.ranked()[0].sums.log_loss(), comparison.ranked()[0].sums.log_loss());
    assert_eq!(compared.learn(None, &rows).unwrap().learned_from(), ROWS as f64);
}

#[test]
fn models_that_are_named_are_judged_by_all_rows() {
    let (x, labels) = rows();
    let options = Options { models: vec!["gaussian".into()], ..Options::default() };
    let learned = learn(&Learning { options, ..Learning::default() }, &mut engine(&x, &labels)).unwrap();
    assert_eq!(learned.comparison.unwrap().ranked()[0].sums.rows, ROWS as f64);
}
