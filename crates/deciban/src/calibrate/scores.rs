//! [`HeldScores`]: evidence of labelled rows by models that have not seen them, kept with the calibration that it
//! taught. It says later how far the shares of the classes among new rows can be trusted
//! ([`proportions`](crate::proportions)), and how usual a new row is for each class ([`conformal`](super::conformal)).

use super::Calibration;
use super::partial::Share;
use crate::error::{Error, Result};
use crate::evaluate::Scored;
use crate::evidence::Evidence;
use crate::file::{Archive, Stored};
use crate::numerics::hash;

/// No more rows are kept.
const MOST_ROWS: usize = 20_000;

/// No more numbers are kept: 8 MiB.
const MOST_NUMBERS: usize = 1 << 20;

/// With more classes than these, too few rows of each would be left to be worth keeping.
const MOST_CLASSES: usize = 100;

/// Evidence of labelled rows, before calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldScores {
    rows: Scored,
    /// How many cells each row has.
    cells: Vec<u32>,
    folds: usize,
}

impl HeldScores {
    /// Keeps some of the rows, the same number of each class if they are many; `None` if there are too many
    /// classes. `cells` says how many cells each row has. The scores come from models without the row's fold of
    /// `folds`, or, if that is 0, from the model itself, to which the rows were new.
    pub fn new(rows: &Scored, cells: &[u32], folds: usize) -> Result<Option<Self>> {
        let classes = rows.evidence().classes();
        Error::check_shape("rows with a number of cells", rows.rows(), cells.len())?;
        if classes > MOST_CLASSES {
            return Ok(None);
        }
        let most = MOST_ROWS.min(MOST_NUMBERS / classes) / classes;
        let mut chosen = Vec::new();
        for class in 0..classes as u32 {
            let mut own: Vec<usize> = (0..rows.rows()).filter(|&i| rows.truth()[i] == class).collect();
            if own.len() > most {
                own.sort_unstable_by_key(|&i| hash(0, i as u64));
                own.truncate(most);
                own.sort_unstable();
            }
            chosen.extend(own);
        }
        let values = chosen.iter().flat_map(|&i| rows.evidence().row(i).iter().copied()).collect();
        let truth: Vec<u32> = chosen.iter().map(|&i| rows.truth()[i]).collect();
        let weights: Vec<f64> = chosen.iter().map(|&i| rows.weights()[i]).collect();
        let mut kept = Scored::new(classes)?;
        kept.append(&Evidence::new(classes, values)?, &truth, Some(&weights))?;
        Ok(Some(HeldScores { rows: kept, cells: chosen.iter().map(|&i| cells[i]).collect(), folds }))
    }

    /// The rows, with their evidence before calibration.
    pub fn rows(&self) -> &Scored {
        &self.rows
    }

    /// How many folds there were; 0 if the rows were new to the model itself.
    pub fn folds(&self) -> usize {
        self.folds
    }

    /// The rows with calibrated evidence.
    pub fn calibrated(&self, map: &Calibration, typical_cells: f64) -> Result<Scored> {
        let share = |row: usize| Share::new(self.cells[row] as usize, typical_cells);
        let evidence = map.apply_shares(self.rows.evidence(), share)?;
        let mut rows = Scored::new(evidence.classes())?;
        rows.append(&evidence, self.rows.truth(), Some(self.rows.weights()))?;
        Ok(rows)
    }
}

impl Stored for HeldScores {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let (rows, classes) = (self.rows.rows(), self.rows.evidence().classes());
        archive.put_json(&format!("{name}.shape"), &(rows, classes, self.folds))?;
        archive.put(&format!("{name}.evidence"), &[rows, classes], self.rows.evidence().values())?;
        let about = |i: usize| [f64::from(self.rows.truth()[i]), self.rows.weights()[i], f64::from(self.cells[i])];
        let about: Vec<f64> = (0..rows).flat_map(about).collect();
        archive.put(&format!("{name}.rows"), &[rows, 3], &about)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (count, classes, folds): (usize, usize, usize) = archive.json(&format!("{name}.shape"))?;
        let evidence = archive.get(&format!("{name}.evidence"), &[count, classes])?.to_vec();
        let about = archive.finite(&format!("{name}.rows"), &[count, 3])?.as_chunks::<3>().0;
        let is_count = |x: f64| x >= 0.0 && x.fract() == 0.0 && x <= f64::from(u32::MAX);
        if !about.iter().all(|[class, _, cells]| is_count(*class) && is_count(*cells)) {
            return Err(archive.damaged("the scores of its calibration are not those of rows"));
        }
        let truth: Vec<u32> = about.iter().map(|row| row[0] as u32).collect();
        let weights: Vec<f64> = about.iter().map(|row| row[1]).collect();
        let scored = || {
            let mut rows = Scored::new(classes)?;
            rows.append(&Evidence::new(classes, evidence)?, &truth, Some(&weights))?;
            Ok(rows)
        };
        let rows = scored().map_err(|e: Error| archive.damaged(&format!("the scores of its calibration: {e}")))?;
        Ok(HeldScores { rows, cells: about.iter().map(|row| row[2] as u32).collect(), folds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_thinned_class_by_class_and_stay_what_they_are_in_a_file() {
        let mut rows = Scored::new(2).unwrap();
        let truth: Vec<u32> = (0..40_000).map(|i| u32::from(i % 20 == 0)).collect();
        let values = (0..40_000).flat_map(|i| [0.0, f64::from(i)]).collect();
        rows.append(&Evidence::new(2, values).unwrap(), &truth, None).unwrap();
        let held = HeldScores::new(&rows, &vec![7; 40_000], 5).unwrap().unwrap();
        let of = |class: u32| held.rows().truth().iter().filter(|k| **k == class).count();
        assert_eq!((of(0), of(1), held.folds()), (10_000, 2_000, 5));
        let mut archive = Archive::new("model");
        held.store(&mut archive, "scores").unwrap();
        assert_eq!(HeldScores::load(&archive, "scores").unwrap(), held);
        archive.put("scores.rows", &[12_000, 3], &vec![0.5; 36_000]).unwrap();
        assert!(HeldScores::load(&archive, "scores").is_err());
        assert!(HeldScores::new(&Scored::new(101).unwrap(), &[], 5).unwrap().is_none());
    }
}
