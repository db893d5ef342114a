//! [`Deciding`]: whether a column decides the class alone. What is known only after the class does so, such as the lifeboat
//! of somebody who was saved, or a code that stands for the class.
//!
//! Numbers decide if the rows, in their order, fall into as many runs of one class as there are classes. Levels decide if
//! the other rows of a level have the class of a row. Rows that lack the cell are a level of their own. A few rows may be
//! exceptions: a hundredth of those that are not of the most frequent class.

use super::{Batch, Cells, MISSING, Profile, Rows, Tile, UNSEEN, View};
use crate::error::Result;

/// Of this many rows that are not of the most frequent class, one may be an exception.
const WRONG: usize = 100;

/// Fewer rows, and fewer that are not of the most frequent class, may be in order by chance.
const FEWEST: usize = 50;
const FEWEST_OTHERS: usize = 10;

/// A look at this many rows is enough to see that most columns do not decide.
const FEW: usize = 512;

/// Labelled rows, by which columns are looked at.
pub struct Deciding<'a> {
    classes: &'a [u32],
    rows: Vec<u32>,
    /// Some of the rows.
    few: Vec<u32>,
    /// How many classes they have.
    count: usize,
    /// How many rows may be exceptions.
    wrong: usize,
}

impl<'a> Deciding<'a> {
    /// Takes rows with these classes, [`MISSING`] where the class is not known. Too few rows give `None`.
    pub fn new(classes: &'a [u32]) -> Option<Self> {
        let step = classes.len().div_ceil(Profile::MOST).max(1);
        let rows: Vec<u32> =
            (0..classes.len()).step_by(step).filter(|&row| classes[row] != MISSING).map(|row| row as u32).collect();
        let mut sorted: Vec<u32> = rows.iter().map(|&row| classes[row as usize]).collect();
        sorted.sort_unstable();
        let sizes: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[u32]>::len).collect();
        let others = rows.len() - sizes.iter().max()?;
        let few = rows.iter().copied().step_by(rows.len().div_ceil(FEW)).collect();
        let are_enough = rows.len() >= FEWEST && others >= FEWEST_OTHERS;
        are_enough.then_some(Deciding { classes, rows, few, count: sizes.len(), wrong: others / WRONG })
    }

    /// Whether a column decides, whose cells `read` gives for rows: numbers or codes, NaN where one is missing.
    pub fn by(&self, are_numbers: bool, mut read: impl FnMut(&[u32]) -> Result<Vec<f64>>) -> Result<bool> {
        let mut exceptions = |rows: &[u32]| -> Result<usize> {
            let class = |row: &u32| self.classes[*row as usize];
            let mut cells: Vec<(f64, u32)> = read(rows)?.into_iter().zip(rows.iter().map(class)).collect();
            cells.iter_mut().for_each(|cell| cell.0 += 0.0);
            cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (mut wrong, mut runs, mut last) = (0, 0, None);
            let is_same = |a: &(f64, u32), b: &(f64, u32)| a.0 == b.0 || a.0.is_nan() && b.0.is_nan();
            for level in cells.chunk_by(is_same) {
                let of_class = level.chunk_by(|a, b| a.1 == b.1);
                // A level has a row.
                let (most, class) = of_class.map(|run| (run.len(), run[0].1)).max().unwrap_or_default();
                wrong += level.len() - most;
                if level[0].0.is_nan() {
                    continue;
                }
                match are_numbers {
                    true => runs += usize::from(last.replace(class) != Some(class)),
                    // No other row tells.
                    false => wrong += usize::from(level.len() == 1),
                }
            }
            Ok(wrong + runs.saturating_sub(self.count).div_ceil(2))
        };
        // Some rows have no more exceptions than all.
        Ok(exceptions(&self.few)? <= 2 * self.wrong + 2 && exceptions(&self.rows)? <= self.wrong)
    }

    /// The columns of a batch that decide.
    pub fn of_batch(batch: &Batch<'_>) -> Result<Vec<usize>> {
        let Some(rows) = batch.labels().and_then(Deciding::new) else { return Ok(Vec::new()) };
        let (mut tile, mut codes, mut found) = (Tile::default(), Vec::new(), Vec::new());
        for column in 0..batch.width() {
            let place = [column];
            let are_numbers = match batch.view(column) {
                View::Numbers(_) => true,
                View::Codes(_) => false,
                View::Sparse(_) => continue,
            };
            let decides = rows.by(are_numbers, |rows| {
                let cells = Cells::new(batch, &place, Rows::Index(rows));
                if are_numbers {
                    cells.read_numbers(&mut tile)?;
                    return Ok(tile.column(0).to_vec());
                }
                cells.read_codes(0, &mut codes)?;
                let number = |code: &u32| if [MISSING, UNSEEN].contains(code) { f64::NAN } else { f64::from(*code) };
                Ok(codes.iter().map(number).collect())
            });
            found.extend(decides?.then_some(column));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    #[test]
    fn columns_that_decide_alone_are_found() {
        let rows = 30_000u32;
        let mut random = Random::new(5);
        let classes: Vec<u32> = (0..rows).map(|_| (random.uniform() * 3.0) as u32).collect();
        let column =
            |value: &mut dyn FnMut(u32) -> f64| classes.iter().map(|&class| value(class)).collect::<Vec<f64>>();
        let noise = column(&mut |_| random.uniform());
        // Intervals, one for each class; in another order; missing in one class; and with too many exceptions.
        let leak = column(&mut |class| [5.0, -3.0, 1.0][class as usize] + random.uniform());
        let gap = column(&mut |class| if class == 1 { f64::NAN } else { f64::from(class) });
        let mut doubtful = leak.clone();
        (0..900).for_each(|i| doubtful[i * 33] = noise[i]);
        let near = column(&mut |class| f64::from(class) + 1.2 * random.uniform());
        // Levels: a code for each class; and one for each row, which decides nothing.
        let codes: Vec<u32> = classes.iter().zip(0..).map(|(&class, i)| class + 3 * (i % 4)).collect();
        let own: Vec<u32> = (0..rows).collect();
        let few: Vec<u32> = (0..rows).map(|i| i % 7).collect();
        let mut batch = Batch::new(rows as usize);
        for numbers in [&noise, &leak, &gap, &doubtful, &near] {
            batch = batch.column(&numbers[..]).unwrap();
        }
        for levels in [&codes, &own, &few] {
            batch = batch.codes(levels).unwrap();
        }
        let batch = batch.classes(&classes).unwrap();
        assert_eq!(Deciding::of_batch(&batch).unwrap(), [1, 2, 5]);
        // Few rows are in order by chance.
        assert!(Deciding::of_batch(&batch.slice(0..49)).unwrap().is_empty());
        let rare: Vec<u32> = (0..rows).map(|i| u32::from(i < 9)).collect();
        assert!(Deciding::new(&rare).is_none());
    }
}
