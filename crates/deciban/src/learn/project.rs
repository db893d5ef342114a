//! Rows after a projection, in memory: what expectation–maximisation reads again and again once PCA or LDA have
//! made a few numbers of many.

use super::Block;
use crate::data::{Batch, Contents, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::Statistic;
use crate::transform::Linear;

/// The pass that maps rows.
#[derive(Clone, Debug)]
pub struct Project {
    /// The columns, in the order of the first map, and how their cells are seen.
    pub(super) block: Block,
    /// The maps.
    pub(super) maps: Vec<Linear>,
    /// How rows are told apart.
    pub(super) contents: Contents,
}

/// The rows, in their order.
#[derive(Clone, Debug, Default)]
pub struct Projected {
    /// The numbers, row after row.
    pub(super) numbers: Vec<f64>,
    /// The classes.
    pub(super) classes: Vec<u32>,
    /// The weights, where rows are weighted.
    pub(super) weights: Vec<f64>,
    /// What tells each row apart from others, whatever the last digits of its numbers.
    pub(super) keys: Vec<u64>,
    /// The groups or folds that the rows carry; empty if they carry none.
    pub(super) folds: Vec<u32>,
}

impl Project {
    /// The number of columns after the maps.
    pub(super) fn width(&self) -> usize {
        self.maps.last().map_or(self.block.columns.len(), Linear::outputs)
    }
}

impl Pass for Project {
    const NAME: &'static str = "project";
    type Statistic = Projected;

    fn empty(&self) -> Projected {
        Projected::default()
    }

    fn size(&self) -> usize {
        // They grow with the rows: nothing is saved by fewer of them.
        1
    }

    fn observe(&self, projected: &mut Projected, batch: &Batch<'_>) -> Result<()> {
        const TILE: usize = 256;
        let (mut tile, mut spare) = (Tile::default(), Tile::default());
        for start in (0..batch.rows()).step_by(TILE) {
            let rows = Rows::Range(start..batch.rows().min(start + TILE));
            self.block.with_cells(batch, rows, |cells, _| {
                cells.read_numbers(&mut tile)?;
                let Some((i, j)) = tile.first_not_finite() else { return Ok(()) };
                let (column, row) = (self.block.names[j].clone(), cells.row_number(i) + 1);
                Err(match tile.column(j)[i].is_nan() {
                    true => Error::Missing {
                        column,
                        row,
                        remedy: "components after §pca or §lda need every cell: fill it, or fit without them".into(),
                    },
                    false => Error::Infinite { column, row },
                })
            })?;
            self.maps.iter().for_each(|map| map.apply(&mut tile, &mut spare));
            for i in 0..tile.rows() {
                projected.numbers.extend((0..tile.width()).map(|j| tile.column(j)[i]));
            }
        }
        match batch.labels() {
            Some(labels) => projected.classes.extend_from_slice(labels),
            None => projected.classes.extend(std::iter::repeat_n(MISSING, batch.rows())),
        }
        projected.weights.extend(batch.row_weights().into_iter().flatten());
        projected.keys.extend(self.contents.keys(0, batch));
        projected.folds.extend(batch.given_folds().into_iter().flatten());
        Ok(())
    }
}

impl Statistic for Projected {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.numbers.extend_from_slice(&other.numbers);
        self.classes.extend_from_slice(&other.classes);
        self.weights.extend_from_slice(&other.weights);
        self.keys.extend_from_slice(&other.keys);
        self.folds.extend_from_slice(&other.folds);
        Ok(())
    }
}

impl Stored for Project {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.maps.len(), &self.contents))?;
        self.block.store(archive, &format!("{name}.block"))?;
        self.maps.iter().enumerate().try_for_each(|(m, map)| map.store(archive, &format!("{name}.map{m}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (maps, contents): (usize, Contents) = archive.json(name)?;
        let block = Block::load(archive, &format!("{name}.block"))?;
        let maps = (0..maps).map(|m| Linear::load(archive, &format!("{name}.map{m}"))).collect::<Result<_>>()?;
        Ok(Project { block, maps, contents })
    }
}

impl Stored for Projected {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(&self.classes, self.numbers.len(), self.weights.len(), &self.keys, &self.folds))?;
        archive.put(&format!("{name}.numbers"), &[self.numbers.len()], &self.numbers)?;
        archive.put(&format!("{name}.weights"), &[self.weights.len()], &self.weights)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        type Parts = (Vec<u32>, usize, usize, Vec<u64>, Vec<u32>);
        let (classes, numbers, weights, keys, folds): Parts = archive.json(name)?;
        let array = |which: &str, length| archive.finite(&format!("{name}.{which}"), &[length]).map(<[f64]>::to_vec);
        let (numbers, weights) = (array("numbers", numbers)?, array("weights", weights)?);
        Ok(Projected { numbers, classes, weights, keys, folds })
    }
}
