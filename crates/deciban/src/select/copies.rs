//! Copies among rows: a table that is repeated, or whose rare rows are. A model that has learned from one of two equal
//! rows knows the other, so its figures for held-out rows are those of new rows only if copies are held out together.
//!
//! In a table of few categories many rows are equal by chance. If the columns of a class were independent, a row would
//! stand e = n Πⱼ pⱼ times: n is the number of rows of its class, and pⱼ the share of them that have its cell in column j.
//! Columns do depend on each other, so that rows may stand more often by far. A row that stands m times counts as
//! m − max(1, 30 e) copies: then no table of those that the tests use has a tenth, unless its rows are repeated.

use std::collections::HashMap;

use super::Sample;
use crate::data::{Batch, Contents, Identity, MISSING};
use crate::engine::Engine;
use crate::error::Result;

/// Of more rows, some are drawn by what they hold: all that are equal, or none.
const ROWS: f64 = 2e4;

/// A row may stand this many times as often as independent columns let expect, and be no copy.
const DEPENDENT: f64 = 30.0;

/// How many rows are copies of others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Copies {
    /// The rows that were looked at.
    pub rows: usize,
    /// How many of them are copies, at least.
    pub copies: f64,
}

impl Copies {
    /// Counts copies among the rows of an engine that can show them in their order, and has about this many. One sweep.
    ///
    /// ```
    /// use deciban::data::{Batch, Schema};
    /// use deciban::engine::Memory;
    /// use deciban::select::Copies;
    /// let schema = Schema::numbers(&["x", "y"], "class", &["a", "b"])?;
    /// // 300 rows, each of which stands twice.
    /// let x: Vec<f64> = (0..600).map(|i| (i % 300) as f64).collect();
    /// let y: Vec<f64> = x.iter().map(|x| (x * 37.0) % 307.0).collect();
    /// let classes: Vec<u32> = (0..600).map(|i| i % 2).collect();
    /// let rows = Batch::new(600).column(&x[..])?.column(&y[..])?.classes(&classes)?;
    /// let found = Copies::among(&Memory::new(schema, rows)?, 600.0)?;
    /// assert_eq!((found.rows, found.copies, found.are_many()), (600, 300.0, true));
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn among(engine: &dyn Engine, rows: f64) -> Result<Self> {
        let sample = Sample::draw_by(engine, Identity::Contents, ROWS / rows.max(1.0), &[])?;
        let mut found = Copies::default();
        sample.engine()?.sweep(&mut |batch| {
            found = Copies::of(batch)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Whether they are so many that figures of held-out rows mislead: a tenth of the rows.
    pub fn are_many(&self) -> bool {
        self.copies > 0.0 && 10.0 * self.copies >= self.rows as f64
    }

    /// The share of the rows that are copies.
    pub fn share(&self) -> f64 {
        self.copies / self.rows.max(1) as f64
    }

    fn of(batch: &Batch<'_>) -> Result<Self> {
        let (labels, contents) = (batch.labels_to_learn()?, Contents::default());
        let keys = contents.keys(0, batch);
        let mut order: Vec<usize> = (0..batch.rows()).filter(|&row| labels[row] != MISSING).collect();
        order.sort_unstable_by_key(|&row| (keys[row], row));
        let repeated: Vec<&[usize]> = order.chunk_by(|&a, &b| keys[a] == keys[b]).filter(|run| run.len() > 1).collect();
        let copies: usize = repeated.iter().map(|run| run.len() - 1).sum();
        let all = Copies { rows: order.len(), copies: copies as f64 };
        if !all.are_many() {
            return Ok(all);
        }
        // ln 30 e of each row that stands several times.
        let mut of_class: HashMap<u32, f64> = HashMap::new();
        order.iter().for_each(|&row| *of_class.entry(labels[row]).or_default() += 1.0);
        let most = |run: &&[usize]| (DEPENDENT * of_class[&labels[run[0]]]).ln();
        let mut expected: Vec<f64> = repeated.iter().map(most).collect();
        for column in 0..batch.width() {
            let cells = contents.cell_keys(batch, column);
            let mut counts: HashMap<(u32, u64), f64> = HashMap::new();
            order.iter().for_each(|&row| *counts.entry((labels[row], cells[row])).or_default() += 1.0);
            for (expected, run) in expected.iter_mut().zip(&repeated) {
                let class = labels[run[0]];
                *expected += (counts[&(class, cells[run[0]])] / of_class[&class]).ln();
            }
            // Columns that follow only make rows rarer.
            if expected.iter().all(|expected| *expected <= 0.0) {
                return Ok(all);
            }
        }
        let beyond = repeated.iter().zip(&expected).map(|(run, e)| (run.len() as f64 - e.exp().max(1.0)).max(0.0));
        Ok(Copies { copies: beyond.sum(), ..all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Schema;
    use crate::engine::Memory;
    use crate::numerics::Random;

    #[test]
    fn equal_rows_of_few_levels_are_no_copies() {
        let mut random = Random::new(3);
        let mut column =
            |levels: f64, rows: usize| (0..rows).map(|_| (random.uniform() * levels).floor()).collect::<Vec<_>>();
        // 500 rows of 3 × 4 × 2 values: nearly all stand several times.
        let few = [column(3.0, 500), column(4.0, 500), column(2.0, 500)];
        // 500 rows of a million values, and 30 of them again and again.
        let mut some = [column(1e6, 500), column(1e6, 500), column(2.0, 500)];
        let among = |columns: &[Vec<f64>; 3]| {
            let rows = columns[0].len();
            let classes: Vec<u32> = (0..rows as u32).map(|i| i % 3 % 2).collect();
            let batch = columns.iter().fold(Batch::new(rows), |batch, column| batch.column(&column[..]).unwrap());
            let schema = Schema::numbers(&["x", "y", "z"], "class", &["a", "b"]).unwrap();
            Copies::among(&Memory::new(schema, batch.classes(&classes).unwrap()).unwrap(), rows as f64).unwrap()
        };
        assert!(!among(&few).are_many(), "{:?}", among(&few));
        assert!(!among(&some).are_many());
        some.iter_mut().for_each(|column| (0..90).for_each(|i| column.push(column[i % 30])));
        let found = among(&some);
        assert!(found.are_many() && (found.rows, found.copies) == (590, 90.0), "{found:?}");
        // A tenth is the limit.
        some.iter_mut().for_each(|column| column.truncate(540));
        assert!(!among(&some).are_many());
    }

    #[test]
    fn of_many_rows_some_are_drawn_and_all_that_equal_them() {
        let x: Vec<f64> = (0..120_000).map(|i| f64::from(i % 40_000)).collect();
        let y: Vec<f64> = x.iter().map(|x| (x * 7919.0) % 40_009.0).collect();
        let classes: Vec<u32> = (0..120_000).map(|i| i % 40_000 % 2).collect();
        let batch = Batch::new(x.len()).column(&x[..]).unwrap().column(&y[..]).unwrap().classes(&classes).unwrap();
        let engine = Memory::new(Schema::numbers(&["x", "y"], "class", &["a", "b"]).unwrap(), batch).unwrap();
        let found = Copies::among(&engine, 120_000.0).unwrap();
        assert!((19_000..21_000).contains(&found.rows), "{found:?}");
        assert!((found.share() - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
    }
}
