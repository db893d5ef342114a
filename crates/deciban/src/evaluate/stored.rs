//! Sums over evaluated rows, and rows with their evidence, as bytes: what comes back from machines that evaluate a
//! part of the rows each.

use super::{Cllr, Evaluation, Scored};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::file::Archive;

impl Evaluation {
    /// Stores the sums.
    pub fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let sums = self.sums();
        archive.put(name, &[sums.len()], &sums)
    }

    /// Adds what another evaluation, of the same classes and actions, has [stored](Evaluation::store).
    pub fn merge_stored(&mut self, archive: &Archive, name: &str) -> Result<()> {
        let length = self.sums().len();
        self.add_sums(archive.get(name, &[length])?);
        Ok(())
    }
}

impl Cllr {
    /// Stores the sums.
    pub fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put(name, &[2, self.loss.len()], &[&self.loss[..], &self.weight].concat())
    }

    /// Adds what another one, of as many classes, has [stored](Cllr::store).
    pub fn merge_stored(&mut self, archive: &Archive, name: &str) -> Result<()> {
        let (loss, weight) = archive.get(name, &[2, self.loss.len()])?.split_at(self.loss.len());
        self.merge(&Cllr { loss: loss.to_vec(), weight: weight.to_vec() });
        Ok(())
    }
}

impl Scored {
    /// Stores the rows.
    pub fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let (rows, classes) = (self.rows(), self.evidence().classes());
        let truth: Vec<f64> = self.truth().iter().map(|class| f64::from(*class)).collect();
        let unusual: Vec<f64> = self.unusual().iter().map(|unusual| f64::from(u8::from(*unusual))).collect();
        archive.put_json(name, &(rows, unusual.len()))?;
        archive.put(&format!("{name}.evidence"), &[rows, classes], self.evidence().values())?;
        archive.put(&format!("{name}.truth"), &[rows], &truth)?;
        archive.put(&format!("{name}.weights"), &[rows], self.weights())?;
        archive.put(&format!("{name}.unusual"), &[unusual.len()], &unusual)
    }

    /// Adds rows that others have [stored](Scored::store).
    pub fn merge_stored(&mut self, archive: &Archive, name: &str) -> Result<()> {
        let (rows, unusual): (usize, usize) = archive.json(name)?;
        let classes = self.evidence().classes();
        let values = archive.get(&format!("{name}.evidence"), &[rows, classes])?.to_vec();
        let truth: Vec<u32> =
            archive.finite(&format!("{name}.truth"), &[rows])?.iter().map(|class| *class as u32).collect();
        let mut other = Scored::new(classes)?;
        other.append(
            &Evidence::new(classes, values)?,
            &truth,
            Some(archive.get(&format!("{name}.weights"), &[rows])?),
        )?;
        let unusual =
            archive.get(&format!("{name}.unusual"), &[unusual])?.iter().map(|unusual| *unusual != 0.0).collect();
        self.merge(&if rows == 0 {
            other
        } else {
            other.with_unusual(Some(unusual).filter(|u: &Vec<bool>| !u.is_empty()))?
        })
    }
}
