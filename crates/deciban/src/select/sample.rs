//! Some rows of a large table, copied: a search takes hundreds of passes, and the choice between models needs fewer
//! rows than the models themselves.
//!
//! Rows are drawn by their places, or by what they hold where that tells them apart, so that the same rows are drawn with
//! any number of threads. Of a rare class more rows are drawn than its share: what is learned is evidence, which does not depend on how common a class is.

use rayon::prelude::*;

use crate::data::{Batch, Cells, Contents, Identity, MISSING, Rows, Schema, Sparse, Tile, View};
use crate::engine::{Engine, Memory, Run};
use crate::error::Result;
use crate::learn::Summarise;

/// So many rows of each class are drawn on average, if it has them.
const LEAST_OF_CLASS: f64 = 200.0;

/// Sets the rows of a sample apart from those of a fold.
const SEED: u64 = 0x5a3d_1e5e;

/// Rows that were drawn.
#[derive(Debug)]
pub struct Sample {
    schema: Schema,
    columns: Vec<Column>,
    labels: Vec<u32>,
    weights: Vec<f64>,
    /// The groups or folds that the rows carry; empty if they carry none.
    folds: Vec<u32>,
}

#[derive(Debug)]
enum Column {
    Numbers(Vec<f64>),
    Codes(Vec<u32>),
    Counts { offsets: Vec<usize>, indices: Vec<u32>, counts: Vec<f64> },
}

impl Sample {
    /// Draws about this many rows of an engine that can show its rows in their order. They are told apart as the engine does.
    pub fn draw(engine: &dyn Engine, rows: f64) -> Result<Self> {
        let by_class = engine.run(&Summarise { blocks: Vec::new(), folds: 1, seed: 0 })?.rows();
        let share = rows / by_class.iter().sum::<f64>().max(1.0);
        let shares: Vec<f64> = by_class.iter().map(|n| share.max(LEAST_OF_CLASS / n.max(1.0))).collect();
        Sample::draw_by(engine, engine.identity(), share, &shares)
    }

    /// Draws rows, told apart in this way: a share of each class, or `share` of those whose class is not among them.
    pub(super) fn draw_by(engine: &dyn Engine, identity: Identity, share: f64, shares: &[f64]) -> Result<Self> {
        let schema = engine.schema()?;
        // Rows that are swept carry no hashes: the levels and words of the schema give them.
        let contents = (identity == Identity::Contents).then(|| Contents::of(&schema));
        let mut sample =
            Sample { schema, columns: Vec::new(), labels: Vec::new(), weights: Vec::new(), folds: Vec::new() };
        engine.sweep(&mut |batch| {
            let labels = batch.labels_to_learn()?;
            let drawn = match &contents {
                Some(contents) => contents.keys(SEED, batch),
                None => Identity::Place.draw(SEED, batch),
            };
            let is_drawn = |row: &u32| {
                let drawn = (drawn[*row as usize] >> 11) as f64 * (-53f64).exp2();
                drawn < shares.get(labels[*row as usize] as usize).copied().unwrap_or(share)
            };
            let chosen: Vec<u32> = (0..batch.rows() as u32).filter(is_drawn).collect();
            sample.append(batch, &chosen, labels)
        })?;
        Ok(sample)
    }

    /// How many rows have a label.
    pub fn rows(&self) -> usize {
        self.labels.iter().filter(|label| **label != MISSING).count()
    }

    /// An engine over the rows, which carry the places 0, 1, ...
    pub fn engine(&self) -> Result<Memory<'_>> {
        let mut batch = Batch::new(self.labels.len());
        for column in &self.columns {
            batch = match column {
                Column::Numbers(numbers) => batch.column(&numbers[..])?,
                Column::Codes(codes) => batch.codes(codes)?,
                Column::Counts { offsets, indices, counts } => {
                    batch.sparse(Sparse::new(&offsets[..], &indices[..], &counts[..])?)?
                }
            };
        }
        let batch = batch.classes(&self.labels)?.weights(&self.weights)?;
        Memory::new(self.schema.clone(), if self.folds.is_empty() { batch } else { batch.folds(&self.folds)? })
    }

    fn append(&mut self, batch: &Batch<'_>, rows: &[u32], labels: &[u32]) -> Result<()> {
        if self.columns.is_empty() {
            self.columns = (0..batch.width()).map(|c| Column::like(batch.view(c))).collect();
        }
        self.columns.par_iter_mut().enumerate().try_for_each(|(c, column)| column.append(batch, c, rows))?;
        self.labels.extend(rows.iter().map(|&row| labels[row as usize]));
        self.weights.extend(rows.iter().map(|&row| batch.row_weights().map_or(1.0, |weights| weights[row as usize])));
        self.folds
            .extend(batch.given_folds().into_iter().flat_map(|folds| rows.iter().map(|&row| folds[row as usize])));
        Ok(())
    }
}

impl Column {
    /// No cells yet.
    fn like(view: &View<'_>) -> Self {
        match view {
            View::Numbers(_) => Column::Numbers(Vec::new()),
            View::Codes(_) => Column::Codes(Vec::new()),
            View::Sparse(_) => Column::Counts { offsets: vec![0], indices: Vec::new(), counts: Vec::new() },
        }
    }

    fn append(&mut self, batch: &Batch<'_>, column: usize, rows: &[u32]) -> Result<()> {
        let cells = Cells::new(batch, std::slice::from_ref(&column), Rows::Index(rows));
        match (self, batch.view(column)) {
            (Column::Numbers(numbers), _) => {
                let mut tile = Tile::default();
                cells.read_numbers(&mut tile)?;
                numbers.extend_from_slice(tile.column(0));
            }
            (Column::Codes(codes), _) => {
                let mut read = Vec::new();
                cells.read_codes(0, &mut read)?;
                codes.extend(read);
            }
            (Column::Counts { offsets, indices, counts }, View::Sparse(sparse)) => {
                sparse.for_each_row(&Rows::Index(rows), |_, words, own| {
                    indices.extend_from_slice(words);
                    counts.extend_from_slice(own);
                    offsets.push(indices.len());
                });
            }
            // A column has cells of one kind in all batches of an engine.
            (Column::Counts { .. }, _) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::family::gaussian::Gaussian;
    use crate::folds::Folds;
    use crate::learn::{Classifier, Generative, Learner};
    use crate::model::Candidate;
    use crate::select::CrossValidation;

    const ROWS: usize = 40_000;

    /// Every 800th row is of class 2.
    fn class(row: usize) -> u32 {
        if row.is_multiple_of(800) { 2 } else { (row % 2) as u32 }
    }

    #[test]
    fn rows_are_drawn_with_all_that_belongs_to_them() {
        let x: Vec<f64> = (0..ROWS).map(|row| row as f64).collect();
        let codes: Vec<u32> = (0..ROWS as u32).map(|row| row % 7).collect();
        // A row has as many words as its code.
        let indices: Vec<u32> = codes.iter().flat_map(|code| 0..*code).collect();
        let offsets: Vec<usize> = std::iter::once(0)
            .chain(codes.iter().scan(0, |end, code| {
                *end += *code as usize;
                Some(*end)
            }))
            .collect();
        let counts = vec![2.0; indices.len()];
        let labels: Vec<u32> = (0..ROWS).map(class).collect();
        let groups: Vec<u32> = (0..ROWS as u32).map(|row| row / 10).collect();
        let mut columns = ["x", "code", "words"].map(data::Column::number);
        (columns[1].kind, columns[2].kind) = (data::Kind::Category, data::Kind::Text);
        columns[1].levels = (0..7).map(|level| level.to_string()).collect();
        let classes = ["a", "b", "rare"].map(String::from).to_vec();
        let schema = Schema::new(columns.to_vec(), "y", classes).unwrap();
        let batch = Batch::new(ROWS).column(&x[..]).unwrap().codes(&codes).unwrap();
        let batch = batch.sparse(Sparse::new(&offsets[..], &indices[..], &counts[..]).unwrap()).unwrap();
        let engine = Memory::new(schema, batch.classes(&labels).unwrap().folds(&groups).unwrap()).unwrap();
        let sample = Sample::draw(&engine, 2000.0).unwrap();
        // All 50 rows of the rare class, and a twentieth of the others.
        assert_eq!(sample.labels.iter().filter(|label| **label == 2).count(), 50);
        assert!((1850..2250).contains(&sample.rows()), "{}", sample.rows());
        let (Column::Numbers(x), Column::Codes(codes)) = (&sample.columns[0], &sample.columns[1]) else { panic!() };
        let Column::Counts { offsets, counts, .. } = &sample.columns[2] else { panic!() };
        for (i, x) in x.iter().enumerate() {
            let row = *x as usize;
            assert_eq!((sample.labels[i], codes[i], sample.folds[i]), (class(row), row as u32 % 7, row as u32 / 10));
            assert_eq!(offsets[i + 1] - offsets[i], row % 7);
        }
        assert!(counts.iter().all(|count| *count == 2.0) && sample.engine().is_ok());
    }

    #[test]
    fn what_a_sample_finds_is_learned_from_all_rows() {
        let x: Vec<f64> = (0..ROWS).map(|row| f64::from(class(row)) + (row % 97) as f64 / 97.0).collect();
        let labels: Vec<u32> = (0..ROWS).map(class).collect();
        let schema = Schema::numbers(&["x"], "y", &["a", "b", "rare"]).unwrap();
        let batch = Batch::new(ROWS).column(&x[..]).unwrap().classes(&labels).unwrap();
        let engine = Memory::new(schema.clone(), batch).unwrap();
        let sample = Sample::draw(&engine, 1000.0).unwrap();
        let few = sample.engine().unwrap();
        let learner = Generative::gaussian(schema.columns(), Gaussian::default()).unwrap();
        let candidates = [Candidate::generative("gaussian", learner.clone())];
        let folds = Folds::stratified(&few, 3, 0).unwrap();
        let comparison = CrossValidation::new(folds).calibrated(1).run(&few, &candidates).unwrap().of_sample();
        assert_eq!(comparison.ranked()[0].sums.rows, sample.rows() as f64);
        let plain = comparison.ranked().iter().find(|outcome| outcome.calibration.is_none()).unwrap();
        let model = comparison.refit(plain, &candidates, &engine).unwrap();
        assert_eq!(model.learned_from(), ROWS as f64);
        let expected = learner.learn(&engine).unwrap();
        let rows = Batch::new(2).column(&[0.3, 1.7][..]).unwrap();
        assert_eq!(model.evidence(&rows).unwrap(), expected.evidence(&rows).unwrap());
    }
}
