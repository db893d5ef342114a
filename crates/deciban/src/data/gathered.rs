//! Rows of a batch copied out of it, so that what works on a batch works on a choice of its rows.

use super::{Batch, Cells, Rows, Sparse, Tile, View};
use crate::error::Result;

/// The columns of some rows, one after the other.
#[derive(Debug, Default)]
pub struct Gathered {
    rows: usize,
    columns: Vec<Owned>,
    /// All columns of numbers.
    numbers: Tile,
}

#[derive(Debug)]
enum Owned {
    /// The place among the columns of numbers.
    Numbers(usize),
    Codes(Vec<u32>),
    Sparse {
        offsets: Vec<usize>,
        indices: Vec<u32>,
        counts: Vec<f64>,
    },
}

impl Gathered {
    /// Copies the chosen rows of all columns.
    pub fn read(&mut self, batch: &Batch<'_>, rows: &[u32]) -> Result<()> {
        self.rows = rows.len();
        self.columns.clear();
        let is_number = |c: &usize| matches!(batch.view(*c), View::Numbers(_));
        let numbers: Vec<usize> = (0..batch.width()).filter(is_number).collect();
        Cells::new(batch, &numbers, Rows::Index(rows)).read_numbers(&mut self.numbers)?;
        for c in 0..batch.width() {
            let column = match batch.view(c) {
                View::Numbers(_) => Owned::Numbers(numbers.partition_point(|&n| n < c)),
                View::Codes(codes) => Owned::Codes(rows.iter().map(|&i| codes[i as usize]).collect()),
                View::Sparse(sparse) => {
                    let (mut offsets, mut indices, mut counts) = (vec![0; rows.len() + 1], Vec::new(), Vec::new());
                    sparse.for_each(&Rows::Index(rows), |i, index, count| {
                        offsets[i + 1] += 1;
                        indices.push(index);
                        counts.push(count);
                    });
                    (0..rows.len()).for_each(|i| offsets[i + 1] += offsets[i]);
                    Owned::Sparse { offsets, indices, counts }
                }
            };
            self.columns.push(column);
        }
        Ok(())
    }

    /// The copies, as a batch without labels.
    pub fn batch(&self) -> Result<Batch<'_>> {
        let mut batch = Batch::new(self.rows);
        for column in &self.columns {
            batch = match column {
                Owned::Numbers(place) => batch.column(self.numbers.column(*place))?,
                Owned::Codes(codes) => batch.codes(codes)?,
                Owned::Sparse { offsets, indices, counts } => {
                    batch.sparse(Sparse::new(offsets, indices, counts.as_slice())?)?
                }
            };
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_rows_of_every_kind() {
        let (numbers, codes) = ([1.0f32, 2.0, 3.0], [7u32, 8, 9]);
        let (offsets, indices, counts) = ([0usize, 2, 2, 3], [4u32, 5, 6], [1u8, 2, 3]);
        let sparse = Sparse::new(&offsets[..], &indices[..], &counts[..]).unwrap();
        let batch = Batch::new(3).codes(&codes).unwrap().column(&numbers[..]).unwrap().sparse(sparse).unwrap();
        let mut gathered = Gathered::default();
        gathered.read(&batch, &[2, 0]).unwrap();
        let rows = gathered.batch().unwrap();
        let mut tile = Tile::default();
        Cells::new(&rows, &[1], Rows::Range(0..2)).read_numbers(&mut tile).unwrap();
        assert_eq!(tile.data(), [3.0, 1.0]);
        let mut read = Vec::new();
        Cells::new(&rows, &[0], Rows::Range(0..2)).read_codes(0, &mut read).unwrap();
        assert_eq!(read, [9, 7]);
        let View::Sparse(words) = rows.view(2) else { panic!("texts stay texts") };
        let mut found = Vec::new();
        words.for_each(&Rows::Range(0..2), |i, index, count| found.push((i, index, count)));
        assert_eq!(found, [(0, 6, 3.0), (1, 4, 1.0), (1, 5, 2.0)]);
    }
}
