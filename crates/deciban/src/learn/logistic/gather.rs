//! The numbers of labelled rows, or of some of them: what the Gaussian that fills missing cells is learned from.

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Cells, Contents, Rows, Tile};
use crate::error::Result;
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::Statistic;

/// The pass that copies numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gather {
    /// The columns.
    pub numbers: Vec<usize>,
    /// One row of so many is drawn, by what it holds.
    pub every: u64,
    /// How rows are told apart.
    pub(crate) contents: Contents,
}

/// The rows that were drawn, in their order.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The numbers, row after row; NaN where a cell is missing.
    pub rows: Vec<f64>,
    /// The weight of each row.
    pub weights: Vec<f64>,
}

/// Sets the rows that are drawn apart from others that are drawn.
const SEED: u64 = 0x6a75_5f11;

impl Pass for Gather {
    const NAME: &'static str = "gather";
    type Statistic = Gathered;

    fn empty(&self) -> Gathered {
        Gathered::default()
    }

    fn size(&self) -> usize {
        // They grow with the rows: nothing is saved by fewer of them.
        1
    }

    fn observe(&self, gathered: &mut Gathered, batch: &Batch<'_>) -> Result<()> {
        let (labelled, weights) = (batch.labelled()?, batch.row_weights());
        let rows = labelled.rows();
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let keys = if self.every < 2 { Vec::new() } else { self.contents.keys(SEED, batch) };
        let is_drawn =
            |row: &usize| weight(*row) > 0.0 && keys.get(*row).is_none_or(|key| key.is_multiple_of(self.every));
        let drawn: Vec<u32> = (0..rows.len()).map(|i| rows.get(i)).filter(is_drawn).map(|row| row as u32).collect();
        let mut tile = Tile::default();
        for rows in drawn.chunks(512) {
            Cells::new(batch, &self.numbers, Rows::Index(rows)).read_numbers(&mut tile)?;
            for (i, &row) in rows.iter().enumerate() {
                gathered.rows.extend((0..tile.width()).map(|j| tile.column(j)[i]));
                gathered.weights.push(weight(row as usize));
            }
        }
        Ok(())
    }
}

impl Statistic for Gathered {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.rows.extend_from_slice(&other.rows);
        self.weights.extend_from_slice(&other.weights);
        Ok(())
    }
}

impl Stored for Gather {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, self)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        archive.json(name)
    }
}

impl Stored for Gathered {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.rows.len(), self.weights.len()))?;
        archive.put(&format!("{name}.rows"), &[self.rows.len()], &self.rows)?;
        archive.put(&format!("{name}.weights"), &[self.weights.len()], &self.weights)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (cells, rows): (usize, usize) = archive.json(name)?;
        let weights = archive.finite(&format!("{name}.weights"), &[rows])?.to_vec();
        Ok(Gathered { rows: archive.get(&format!("{name}.rows"), &[cells])?.to_vec(), weights })
    }
}
