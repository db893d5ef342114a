//! Rows as codes, tile by tile: of rows that are coded already, or coded as they come.

use super::coding::Coding;
use crate::data::{Batch, MISSING, Rows};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};

/// Rows read at once.
const TILE: usize = 1024;

/// How the passes of an additive model read rows.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The codes.
    pub coding: Coding,
    /// Whether the batches hold codes already.
    pub coded: bool,
}

/// The codes of a tile.
pub struct Codes<'a> {
    coding: &'a Coding,
    fine: Vec<&'a [u8]>,
    coarse: &'a [u8],
    rows: usize,
}

impl<'a> Codes<'a> {
    /// The codes of each column.
    pub fn fine(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.fine.iter().copied()
    }

    /// The codes in pairs of each column.
    pub fn coarse(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        (0..self.coding.columns().len()).map(|c| self.coarse_of(c))
    }

    /// The codes of a column.
    pub fn fine_of(&self, column: usize) -> &'a [u8] {
        self.fine[column]
    }

    /// The codes in pairs of a column.
    pub fn coarse_of(&self, column: usize) -> &'a [u8] {
        &self.coarse[column * self.rows..(column + 1) * self.rows]
    }
}

impl Reader {
    /// Calls `body` with the codes of every tile, its labels and its weights. A row without a label has the
    /// weight 0, and class 0.
    pub fn tiles(&self, batch: &Batch<'_>, mut body: impl FnMut(&Codes<'_>, &[u32], &[f64])) -> Result<()> {
        let all = batch.labels_to_learn()?;
        let (mut labels, mut weights) = (Vec::new(), Vec::new());
        self.each(batch, 0..batch.rows(), |codes, range| {
            let known = range.clone().map(|i| all[i] != MISSING);
            labels.clear();
            labels.extend(range.clone().map(|i| if all[i] == MISSING { 0 } else { all[i] }));
            weights.clear();
            weights.extend(range.zip(known).map(|(i, known)| match (known, batch.row_weights()) {
                (false, _) => 0.0,
                (true, Some(given)) => given[i],
                (true, None) => 1.0,
            }));
            body(codes, &labels, &weights);
        })
    }

    /// Calls `body` with the codes of every tile and the rows it has.
    pub fn each(
        &self,
        batch: &Batch<'_>,
        rows: std::ops::Range<usize>,
        mut body: impl FnMut(&Codes<'_>, std::ops::Range<usize>),
    ) -> Result<()> {
        let columns = self.coding.columns();
        let (mut buffer, mut coarse) = (Vec::new(), Vec::new());
        for start in rows.clone().step_by(TILE) {
            let range = start..rows.end.min(start + TILE);
            let fine: Vec<&[u8]> = match self.coded {
                true => {
                    let bytes = |c: usize| batch.bytes(c, range.clone()).ok_or_else(not_coded);
                    (0..columns.len()).map(bytes).collect::<Result<_>>()?
                }
                false => {
                    self.coding.read(batch, Rows::Range(range.clone()), &mut buffer)?;
                    buffer.chunks_exact(range.len()).collect()
                }
            };
            coarse.clear();
            for (codes, column) in fine.iter().zip(columns) {
                let of = column.coarse();
                coarse.extend(codes.iter().map(|&code| of[usize::from(code)]));
            }
            let codes = Codes { coding: &self.coding, fine, coarse: &coarse, rows: range.len() };
            body(&codes, range);
        }
        Ok(())
    }
}

fn not_coded() -> Error {
    Error::Schema("the rows are not coded".into())
}

impl Stored for Reader {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.coded"), &self.coded)?;
        self.coding.store(archive, &format!("{name}.coding"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let coded = archive.json(&format!("{name}.coded"))?;
        Ok(Reader { coding: Coding::load(archive, &format!("{name}.coding"))?, coded })
    }
}
