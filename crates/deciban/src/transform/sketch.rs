//! The pass that sketches columns: what maps and bins are found from.

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Cells, Rows, Tile};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::{Quantiles, Sketches};

/// The pass that sketches columns of numbers, all classes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    columns: Vec<usize>,
    names: Vec<String>,
}

impl Sketch {
    /// Rows and columns read at once: rows enough to make one merge into the buckets cheap,
    /// columns few enough for the tile (1 MiB) to stay in the cache.
    const ROWS: usize = 8192;
    const COLUMNS: usize = 16;

    /// Sketches these columns of a batch, which have these names.
    pub fn new(columns: Vec<usize>, names: Vec<String>) -> Result<Self> {
        Error::check_shape("names of the columns to sketch", columns.len(), names.len())?;
        Ok(Sketch { columns, names })
    }
}

impl Pass for Sketch {
    const NAME: &'static str = "sketch";
    type Statistic = Sketches;

    fn empty(&self) -> Sketches {
        Sketches(vec![Quantiles::new(); self.columns.len()])
    }

    fn observe(&self, statistic: &mut Sketches, batch: &Batch<'_>) -> Result<()> {
        Error::check_shape("columns of a sketch", self.columns.len(), statistic.0.len())?;
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        for start in (0..batch.rows()).step_by(Self::ROWS) {
            let end = batch.rows().min(start + Self::ROWS);
            let groups = self.columns.chunks(Self::COLUMNS).zip(statistic.0.chunks_mut(Self::COLUMNS));
            for ((columns, quantiles), names) in groups.zip(self.names.chunks(Self::COLUMNS)) {
                let cells = Cells::new(batch, columns, Rows::Range(start..end));
                cells.read_numbers(&mut tile)?;
                cells.read_weights(&mut weights);
                for (j, (quantiles, name)) in quantiles.iter_mut().zip(names).enumerate() {
                    let values = tile.column(j);
                    if let Some(i) = values.iter().position(|x| x.is_infinite()) {
                        return Err(Error::Infinite { column: name.clone(), row: cells.row_number(i) + 1 });
                    }
                    quantiles.observe(values, &weights);
                }
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.columns.len() * Quantiles::MOST_BYTES
    }
}

impl Stored for Sketch {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, self)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let Sketch { columns, names } = archive.json(name)?;
        Sketch::new(columns, names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Memory, Run};
    use crate::file::from_bytes;
    use crate::numerics::Random;
    use crate::pass::pass_to_bytes;
    use crate::registry::accumulator;

    #[test]
    fn the_pass_names_the_infinite_cell() {
        let values = [1.0, 2.0, f64::NAN, f64::INFINITY];
        let pass = Sketch::new(vec![1], vec!["age".into()]).unwrap();
        let batch = Batch::new(4).column(&values[..]).unwrap().column(&values[..]).unwrap().first_row(10);
        let error = pass.observe(&mut pass.empty(), &batch).unwrap_err();
        assert!(matches!(error, Error::Infinite { ref column, row: 14 } if column == "age"), "{error}");
        assert!(Sketch::new(vec![1], vec![]).is_err());
    }

    #[test]
    fn engines_agree() {
        let (rows, width) = (20_000, 19);
        let mut random = Random::new(5);
        let values: Vec<f64> = (0..rows * width).map(|_| random.normal()).collect();
        let weights: Vec<f64> = (0..rows).map(|i| (i % 4) as f64).collect();
        let batch = Batch::new(rows).row_major(&values[..], width).unwrap().weights(&weights).unwrap();
        let columns: Vec<usize> = (1..width).collect();
        let names = columns.iter().map(|j| j.to_string()).collect();
        let pass = Sketch::new(columns.clone(), names).unwrap();
        let all: Vec<String> = (0..width).map(|j| j.to_string()).collect();
        let schema = crate::data::Schema::numbers(&all, "class", &[]).unwrap();
        let found = Memory::new(schema, batch.clone()).unwrap().run(&pass).unwrap();
        for (j, quantiles) in columns.iter().zip(&found.0) {
            let column: Vec<f64> = values.chunks(width).map(|row| row[*j]).collect();
            let mut expected = Quantiles::new();
            expected.observe(&column, &weights);
            assert_eq!(*quantiles, expected);
        }
        let bytes = pass_to_bytes(&pass).unwrap();
        let (mut a, mut b) = (accumulator(&bytes).unwrap(), accumulator(&bytes).unwrap());
        a.observe(&batch.slice(7000..rows)).unwrap();
        b.observe(&batch.slice(0..7000)).unwrap();
        a.merge(&b.state().unwrap()).unwrap();
        assert_eq!(from_bytes::<Sketches>(&a.state().unwrap()).unwrap(), found);
    }
}
