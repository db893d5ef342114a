//! What is kept of a class: the combinations of levels that occur.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::MOST_CELLS;
use crate::error::{Error, Result, list};
use crate::family::counts::{difference, weights};
use crate::file::{Archive, Stored};
use crate::numerics::hash;
use crate::statistic::{Retract, Statistic};

/// Mixes a packed combination; hostile keys are no concern, combinations are few.
#[derive(Clone, Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b as u64));
    }
    fn write_u64(&mut self, x: u64) {
        self.0 = hash(self.0, x);
    }
}

/// The weight of each combination of levels that occurs.
///
/// A combination is packed into 64 bits, each column with as many as its levels need. More are
/// never needed: a column of b bits has at least 2^(b/2) levels, so that beyond 64 bits there are
/// more than 2³² cells.
#[derive(Clone)]
pub struct JointCounts {
    /// One more than the largest code of each column.
    pub(super) levels: Vec<usize>,
    pub(super) cells: HashMap<u64, f64, BuildHasherDefault<Mix>>,
}

impl JointCounts {
    pub(super) fn empty(width: usize) -> Self {
        JointCounts { levels: vec![0; width], cells: HashMap::default() }
    }

    /// The combinations in ascending order with their weights.
    pub fn cells(&self) -> Vec<(Vec<u32>, f64)> {
        let bits = bits(&self.levels);
        let mut cells: Vec<_> = self.cells.iter().map(|(&key, &n)| (unpack(&bits, key), n)).collect();
        cells.sort_by(|a, b| a.0.cmp(&b.0));
        cells
    }

    /// Makes room for more levels.
    pub(super) fn grow(&mut self, levels: &[usize]) -> Result<()> {
        let levels: Vec<usize> = self.levels.iter().zip(levels).map(|(&a, &b)| a.max(b)).collect();
        let (old, new) = (bits(&self.levels), bits(&levels));
        check_bits(&new)?;
        if old != new {
            self.cells = self.cells.iter().map(|(&key, &n)| (pack(&new, &unpack(&old, key)), n)).collect();
        }
        self.levels = levels;
        Ok(())
    }
}

/// The bits that the codes of each column need.
pub(super) fn bits(levels: &[usize]) -> Vec<u32> {
    levels.iter().map(|&levels| usize::BITS - levels.saturating_sub(1).leading_zeros()).collect()
}

pub(super) fn check_bits(bits: &[u32]) -> Result<()> {
    match bits.iter().sum::<u32>() <= u64::BITS {
        true => Ok(()),
        false => Err(Error::Schema("the columns have too many combinations of levels for a table".into())),
    }
}

pub(super) fn pack(bits: &[u32], codes: &[u32]) -> u64 {
    // A shift by all 64 bits happens only before the only column that has any.
    bits.iter().zip(codes).fold(0, |key, (&b, &code)| key.checked_shl(b).unwrap_or(0) | code as u64)
}

pub(super) fn unpack(bits: &[u32], mut key: u64) -> Vec<u32> {
    let mut codes = vec![0; bits.len()];
    for (code, &b) in codes.iter_mut().zip(bits).rev() {
        *code = (key & ((1u64 << b) - 1)) as u32;
        key = key.checked_shr(b).unwrap_or(0);
    }
    codes
}

/// The number of cells, or `None` where it is beyond [`MOST_CELLS`].
pub(super) fn cells_of(levels: &[usize]) -> Option<usize> {
    let product = levels.iter().try_fold(1usize, |cells, &levels| cells.checked_mul(levels.max(1)));
    product.filter(|&cells| cells <= MOST_CELLS)
}

pub(super) fn too_many(levels: &[usize], columns: &[String]) -> Error {
    let cells = levels.iter().map(|&levels| levels.max(1) as f64).product::<f64>();
    Error::Schema(format!(
        "the table of {} has {cells} cells, more than {MOST_CELLS}: leave columns out with §ignore, or give §model=tree or naive-bayes",
        list(columns)
    ))
}

impl std::fmt::Debug for JointCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JointCounts").field("levels", &self.levels).field("cells", &self.cells()).finish()
    }
}

impl PartialEq for JointCounts {
    fn eq(&self, other: &Self) -> bool {
        self.levels == other.levels && self.cells == other.cells
    }
}

impl Statistic for JointCounts {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged table", self.levels.len(), other.levels.len())?;
        self.grow(&other.levels)?;
        let (theirs, mine) = (bits(&other.levels), bits(&self.levels));
        for (&key, n) in &other.cells {
            *self.cells.entry(pack(&mine, &unpack(&theirs, key))).or_insert(0.0) += n;
        }
        Ok(())
    }
}

impl Retract for JointCounts {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed table", self.levels.len(), other.levels.len())?;
        let mut left = self.clone();
        left.grow(&other.levels)?;
        let (theirs, mine) = (bits(&other.levels), bits(&left.levels));
        for (&key, &n) in &other.cells {
            let key = pack(&mine, &unpack(&theirs, key));
            match difference(left.cells.get(&key).copied().unwrap_or(0.0), n)? {
                0.0 => left.cells.remove(&key),
                rest => left.cells.insert(key, rest),
            };
        }
        *self = left;
        Ok(())
    }
}

impl Stored for JointCounts {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let cells = self.cells();
        archive.put_json(&format!("{name}.levels"), &(&self.levels, cells.len()))?;
        let codes: Vec<f64> = cells.iter().flat_map(|cell| cell.0.iter().map(|&code| code as f64)).collect();
        archive.put(&format!("{name}.codes"), &[cells.len(), self.levels.len()], &codes)?;
        archive.put(&format!("{name}.weights"), &[cells.len()], &cells.iter().map(|cell| cell.1).collect::<Vec<_>>())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (levels, count): (Vec<usize>, usize) = archive.json(&format!("{name}.levels"))?;
        let codes = archive.finite(&format!("{name}.codes"), &[count, levels.len()])?;
        let weights = weights(archive, &format!("{name}.weights"), count)?;
        let bits = bits(&levels);
        let damaged = || archive.damaged(&format!("`{name}` is no table of levels"));
        check_bits(&bits).map_err(|_| damaged())?;
        let mut cells = HashMap::default();
        for (codes, &n) in codes.chunks_exact(levels.len().max(1)).zip(weights) {
            let sound = codes.iter().zip(&levels).all(|(&c, &l)| c.fract() == 0.0 && c >= 0.0 && (c as usize) < l);
            let key = pack(&bits, &codes.iter().map(|&code| code as u32).collect::<Vec<_>>());
            if !sound || cells.insert(key, n).is_some() {
                return Err(damaged());
            }
        }
        Ok(JointCounts { levels, cells })
    }
}
