//! One row at a time: 20 numbers by full Gaussians of three classes, and a message of 20 words of 50,000.
//!
//! `cargo bench -p deciban --bench single_rows`. Each figure is the best of 20 means over 5,000 rows, with the
//! batch made anew for each row, as a service would. `tests/single_rows.rs` counts what they allocate: nothing.

use std::hint::black_box;
use std::time::Instant;

use deciban::data::{Batch, Column, Kind, Schema, Sparse};
use deciban::engine::Memory;
use deciban::family::AnyFamily;
use deciban::family::gaussian::Gaussian;
use deciban::family::multinomial::Multinomial;
use deciban::learn::{Block, Classifier, Generative, Learner, Logistic};
use deciban::numerics::Random;

const TIMES: usize = 5_000;

fn measure(what: &str, goal: f64, mut score: impl FnMut(usize)) {
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        (0..TIMES).for_each(&mut score);
        best = best.min(start.elapsed().as_secs_f64() / TIMES as f64);
    }
    println!("{what:<44} {:6.2} µs   (at most {goal})", 1e6 * best);
}

fn main() {
    let mut random = Random::new(1);
    let (rows, width, classes) = (3_000, 20, 3);
    let x: Vec<f64> = (0..rows * width).map(|_| random.normal()).collect();
    let labels: Vec<u32> = (0..rows).map(|i| (i % classes) as u32).collect();
    let names: Vec<String> = (0..width).map(|j| format!("x{j}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let schema = Schema::numbers(&names, "y", &["a", "b", "c"]).unwrap();
    let batch = Batch::new(rows).row_major(&x[..], width).unwrap().classes(&labels).unwrap();
    let engine = Memory::new(schema.clone(), batch).unwrap();
    let mut out = [0.0; 3];
    let gaussian = Generative::gaussian(schema.columns(), Gaussian::default()).unwrap().learn(&engine).unwrap();
    measure("20 numbers, full Gaussians, 3 classes", 3.0, |i| {
        let row = &x[i % rows * width..][..width];
        gaussian.evidence_into(&Batch::new(1).row_major(row, width).unwrap(), &mut out).unwrap();
        black_box(&out);
    });
    let logistic = Logistic::default().learn(&engine).unwrap();
    measure("20 numbers, softmax, 3 classes", 3.0, |i| {
        let row = &x[i % rows * width..][..width];
        logistic.evidence_into(&Batch::new(1).row_major(row, width).unwrap(), &mut out).unwrap();
        black_box(&out);
    });

    let (vocabulary, length) = (50_000u64, 20);
    let words: Vec<u32> = (0..rows * length).map(|_| random.below(vocabulary) as u32).collect();
    let offsets: Vec<usize> = (0..=rows).map(|i| i * length).collect();
    let counts = vec![1.0; words.len()];
    let levels = (0..vocabulary).map(|j| j.to_string()).collect();
    let text = Column { name: "text".into(), kind: Kind::Text, levels };
    let schema = Schema::new(vec![text], "y", vec!["a".into(), "b".into(), "c".into()]).unwrap();
    let texts = Sparse::new(&offsets[..], &words[..], &counts[..]).unwrap();
    let batch = Batch::new(rows).sparse(texts).unwrap().classes(&labels).unwrap();
    let family = AnyFamily::Multinomial(Multinomial::default());
    let learner = Generative::of_blocks(vec![Block::new(vec![0], schema.columns(), family)]);
    let model = learner.learn(&Memory::new(schema, batch).unwrap()).unwrap();
    measure("20 words of 50,000, multinomial, 3 classes", 5.0, |i| {
        let range = i % rows * length..(i % rows + 1) * length;
        let text = Sparse::new(&[0usize, 20][..], &words[range.clone()], &counts[range]).unwrap();
        model.evidence_into(&Batch::new(1).sparse(text).unwrap(), &mut out).unwrap();
        black_box(&out);
    });
}
