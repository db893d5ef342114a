//! What the tests of the discrete families share: observing and scoring a few codes, and the laws
//! that every statistic keeps.

use std::fmt::Debug;

use proptest::prelude::*;

use super::{Density, Family, Names};
use crate::data::{Batch, Cells, MISSING, Rows, Tile, Value};
use crate::error::Result;
use crate::numerics::Random;
use crate::statistic::{Retract, Statistic};

/// Names for columns, with classes k0, k1, ...
pub fn names<'a>(columns: &[&str], levels: &'a [usize]) -> Names<'a> {
    // A test process is short: its names may stay.
    let columns = columns.iter().map(|c| c.to_string()).collect::<Vec<_>>().leak();
    Names { columns, levels, classes: (0..8).map(|k| format!("k{k}")).collect::<Vec<_>>().leak() }
}

/// Columns c0, c1, ...
fn numbered(width: usize) -> Vec<String> {
    (0..width).map(|j| format!("c{j}")).collect()
}

fn batch<'a>(columns: &[&'a [u32]]) -> Result<Batch<'a>> {
    columns.iter().try_fold(Batch::new(columns[0].len()), |batch, codes| batch.codes(codes))
}

/// The statistic of columns of codes.
pub fn observe<F: Family>(family: &F, columns: &[&[u32]], weights: Option<&[f64]>) -> Result<F::Statistic> {
    let mut batch = batch(columns)?;
    if let Some(weights) = weights {
        batch = batch.weights(weights)?;
    }
    observe_batch(family, &batch)
}

/// The statistic of the rows of a batch.
pub fn observe_batch<F: Family>(family: &F, batch: &Batch<'_>) -> Result<F::Statistic> {
    let places: Vec<usize> = (0..batch.width()).collect();
    let cells = Cells::new(batch, &places, Rows::Range(0..batch.rows()));
    let mut statistic = family.empty(batch.width());
    family.observe(&mut statistic, &cells, &numbered(batch.width()))?;
    Ok(statistic)
}

/// log p(x | class) of rows of a batch, per class and row.
pub fn score_batch(density: &impl Density, batch: &Batch<'_>) -> Result<Vec<Vec<f64>>> {
    let places: Vec<usize> = (0..batch.width()).collect();
    let mut out = Tile::default();
    out.resize(batch.rows(), density.classes());
    out.data_mut().fill(0.0);
    let cells = Cells::new(batch, &places, Rows::Range(0..batch.rows()));
    density.add_log_density(&cells, &numbered(batch.width()), &mut out)?;
    Ok((0..density.classes()).map(|c| out.column(c).to_vec()).collect())
}

/// log p(x | class) of columns of codes, per class and row.
pub fn score(density: &impl Density, columns: &[&[u32]]) -> Result<Vec<Vec<f64>>> {
    score_batch(density, &batch(columns)?)
}

/// Equal to `tolerance`, relative above 1; infinities must be the same.
#[track_caller]
pub fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!(f == e || (f - e).abs() <= tolerance * e.abs().max(1.0), "{found:?}, not {expected:?}");
    }
}

/// 40,000 draws have these frequencies of levels per column, to 4.5 standard errors.
pub fn check_samples(density: &impl Density, class: usize, expected: &[Vec<f64>]) {
    const N: usize = 40_000;
    let mut random = Random::new(1);
    let mut found: Vec<Vec<f64>> = expected.iter().map(|p| vec![0.0; p.len()]).collect();
    for _ in 0..N {
        for (j, value) in density.sample(class, &mut random).unwrap().into_iter().enumerate() {
            let Value::Level(level) = value else { panic!("{value:?} is not a level") };
            found[j][level as usize] += 1.0 / N as f64;
        }
    }
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        let error = 4.5 * (expected * (1.0 - expected) / N as f64).sqrt();
        assert!((found - expected).abs() <= error, "{found}, not {expected} ± {error}");
    }
}

/// Rows of `width` codes below `levels` or missing, with weights.
pub fn rows(width: usize, levels: u32) -> impl Strategy<Value = Vec<(Vec<u32>, f64)>> {
    let code = (0..=levels).prop_map(move |code| if code == levels { MISSING } else { code });
    prop::collection::vec((prop::collection::vec(code, width), 0.0..4.0f64), 0..40)
}

/// The cells of statistics in an order of their own, for comparing: their debug form, rounded.
fn rounded(statistic: &impl Debug) -> String {
    let text = format!("{statistic:?}");
    let mut out = String::new();
    let mut number = String::new();
    let flush = |number: &mut String, out: &mut String| {
        match number.parse::<f64>() {
            Ok(x) if number.contains('.') || number.contains('e') => out.push_str(&format!("{:.9}", x + 0.0)),
            _ => out.push_str(number),
        }
        number.clear();
    };
    for c in text.chars() {
        if c.is_ascii_digit() || c == '.' || c == 'e' || c == '-' {
            number.push(c);
        } else {
            flush(&mut number, &mut out);
            out.push(c);
        }
    }
    out
}

/// Equal but for rounding.
fn same(a: &impl Debug, b: &impl Debug) -> Result<(), TestCaseError> {
    prop_assert_eq!(rounded(a), rounded(b));
    Ok(())
}

/// The laws of a statistic over categories: any partition equals the whole, merging commutes and
/// has a zero, removing undoes it, a row of weight 2 is the row twice, and levels can be renumbered
/// before or after.
pub fn check_laws<F: Family<Statistic: Debug>>(
    family: &F,
    rows: &[(Vec<u32>, f64)],
    cut: usize,
    weight: f64,
) -> Result<(), TestCaseError> {
    let width = rows.first().map_or(2, |row| row.0.len());
    let of = |rows: &[(Vec<u32>, f64)], scale: f64| {
        let columns: Vec<Vec<u32>> = (0..width).map(|j| rows.iter().map(|row| row.0[j]).collect()).collect();
        let weights: Vec<f64> = rows.iter().map(|row| row.1 * scale).collect();
        observe(family, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), Some(&weights)).unwrap()
    };
    let merged = |a: &F::Statistic, b: &F::Statistic| {
        let mut sum = a.clone();
        sum.merge(b).unwrap();
        sum
    };
    let (whole, cut) = (of(rows, 1.0), cut.min(rows.len()));
    let (a, b) = (of(&rows[..cut], 1.0), of(&rows[cut..], 1.0));
    same(&merged(&a, &b), &whole)?;
    same(&merged(&b, &a), &whole)?;
    // Merging with nothing gives the other side back exactly.
    prop_assert_eq!(format!("{:?}", merged(&whole, &family.empty(width))), format!("{whole:?}"));
    same(&merged(&family.empty(width), &whole), &whole)?;
    let mut back = merged(&a, &b);
    back.remove(&b).unwrap();
    // What is left may still have room for levels that are gone: adding b puts both in one shape.
    same(&merged(&back, &b), &whole)?;
    let mut again = merged(&whole, &whole);
    again.remove(&whole).unwrap();
    same(&again, &whole)?;
    same(&of(rows, 2.0), &merged(&whole, &whole))?;
    if cut == 0 && has_weight(rows) {
        // Rows that were never added cannot be removed, and nothing changes.
        let mut a = a.clone();
        prop_assert!(a.remove(&b).is_err());
        prop_assert_eq!(format!("{:?}", a), format!("{:?}", family.empty(width)));
    }
    // Level l becomes 5 − l: in the rows or in the statistic.
    let map: Vec<u32> = (0..6).map(|l| 5 - l).collect();
    let turned: Vec<(Vec<u32>, f64)> = rows
        .iter()
        .map(|(codes, w)| (codes.iter().map(|&c| if c == MISSING { c } else { 5 - c }).collect(), *w))
        .collect();
    let maps = vec![map; width];
    let (mut renumbered, mut sum) = (whole.clone(), of(&turned, weight));
    family.relevel(&mut renumbered, &maps).unwrap();
    sum.merge(&renumbered).unwrap();
    let mut expected = of(&turned, weight);
    expected.merge(&of(&turned, 1.0)).unwrap();
    same(&sum, &expected)
}

fn has_weight(rows: &[(Vec<u32>, f64)]) -> bool {
    rows.iter().any(|(codes, w)| *w > 0.0 && codes.iter().all(|&c| c != MISSING))
}
