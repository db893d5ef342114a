//! A row on its own is scored without allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use deciban::data::{Batch, Column, Kind, Schema, Sparse};
use deciban::engine::Memory;
use deciban::family::AnyFamily;
use deciban::family::bernoulli::Bernoulli;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::family::multinomial::Multinomial;
use deciban::learn::{Block, Classifier, Generative, Learner, Logistic};
use deciban::numerics::Random;

/// Counts what each thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ROWS: usize = 120;

fn labels(classes: usize) -> (Vec<u32>, Vec<String>) {
    ((0..ROWS).map(|i| (i % classes) as u32).collect(), (0..classes).map(|c| format!("class {c}")).collect())
}

/// Scores rows twice and tells how much was allocated the second time; single rows must get what they get together.
fn allocations<'a>(model: &impl Classifier, all: &Batch<'_>, row: impl Fn(usize) -> Batch<'a>) -> usize {
    let classes = model.schema().classes().len();
    let together = model.evidence(all).unwrap();
    let mut out = vec![0.0; classes];
    let mut before = 0;
    for _ in 0..2 {
        before = ALLOCATIONS.with(Cell::get);
        for i in 0..ROWS {
            model.evidence_into(&row(i), &mut out).unwrap();
            for (single, together) in out.iter().zip(together.row(i)) {
                assert!((single - together).abs() <= 1e-12 * together.abs().max(1.0), "{single} {together}");
            }
        }
    }
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn numbers_are_scored_without_allocation() {
    let width = 20;
    let mut random = Random::new(1);
    let x: Vec<f64> = (0..ROWS * width).map(|_| random.normal()).collect();
    for classes in [2, 3] {
        let (labels, names) = labels(classes);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let columns: Vec<String> = (0..width).map(|j| format!("x{j}")).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let schema = Schema::numbers(&columns, "y", &names).unwrap();
        let batch = Batch::new(ROWS).row_major(&x[..], width).unwrap().classes(&labels).unwrap();
        let engine = Memory::new(schema.clone(), batch.clone()).unwrap();
        let row = |i: usize| Batch::new(1).row_major(&x[i * width..][..width], width).unwrap();
        for covariance in [Structure::Full, Structure::Tied, Structure::Diagonal] {
            let family = Gaussian { covariance, ..Gaussian::default() };
            let model = Generative::gaussian(schema.columns(), family).unwrap().learn(&engine).unwrap();
            assert_eq!(allocations(&model, &batch, row), 0, "{covariance:?}, {classes} classes");
        }
        let logistic = Logistic::default().learn(&engine).unwrap();
        assert_eq!(allocations(&logistic, &batch, row), 0, "logistic regression, {classes} classes");
    }
}

#[test]
fn texts_are_scored_without_allocation() {
    let (vocabulary, length) = (500u64, 20);
    let mut random = Random::new(2);
    let words: Vec<u32> = (0..ROWS * length).map(|_| random.below(vocabulary) as u32).collect();
    let counts = vec![1.0; words.len()];
    let offsets: Vec<usize> = (0..=ROWS).map(|i| i * length).collect();
    let levels = (0..vocabulary).map(|j| j.to_string()).collect();
    let text = Column { name: "text".into(), kind: Kind::Text, levels };
    let (labels, names) = labels(3);
    let schema = Schema::new(vec![text], "y", names).unwrap();
    let texts = Sparse::new(&offsets[..], &words[..], &counts[..]).unwrap();
    let batch = Batch::new(ROWS).sparse(texts).unwrap().classes(&labels).unwrap();
    let row = |i: usize| {
        let range = i * length..(i + 1) * length;
        Batch::new(1).sparse(Sparse::new(&[0usize, 20][..], &words[range.clone()], &counts[range]).unwrap()).unwrap()
    };
    for family in [AnyFamily::Multinomial(Multinomial::default()), AnyFamily::Bernoulli(Bernoulli::default())] {
        let learner = Generative::of_blocks(vec![Block::new(vec![0], schema.columns(), family)]);
        let model = learner.learn(&Memory::new(schema.clone(), batch.clone()).unwrap()).unwrap();
        assert_eq!(allocations(&model, &batch, row), 0);
    }
}
