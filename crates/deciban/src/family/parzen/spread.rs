//! How wide the kernel of a row is beside those of the others: wide where rows are rare, narrow where they are dense
//! (Breiman, Meisel & Purcell 1977).
//!
//! ```text
//! aᵢ = (tᵢ / g)^α
//! ```
//!
//! with tᵢ the distance of row i from its tenth neighbour, of any class, and g the geometric mean of all tᵢ.

use rayon::prelude::*;

use super::kernel::Points;
use super::{Frame, KeptRows};
use crate::numerics::Matrix;

/// Which neighbour the distance is measured to.
const NEIGHBOUR: usize = 10;
/// tᵢ/g is no less than this, and no more than its reciprocal: rows of several classes may be equal.
const LEAST: f64 = 0.1;
/// The most distances; of more rows every so many may be neighbours.
const MOST_DISTANCES: usize = 50_000_000;
/// Rows that are compared together.
const TILE: usize = 16;

/// ln(tᵢ/g) of the rows of each class.
pub fn log_distances(classes: &[&KeptRows], frame: &Frame) -> Vec<Vec<f64>> {
    let rows: Vec<&[f64]> = classes.iter().flat_map(|class| (0..class.rows()).map(|i| class.row(i))).collect();
    let every = rows.len().saturating_mul(rows.len()).div_ceil(MOST_DISTANCES).max(1);
    let near = frame.whitened(rows.iter().copied().step_by(every));
    let nearest = NEIGHBOUR.min(near.columns().saturating_sub(1));
    let ones = vec![1.0; near.columns()];
    let near = Points::new(&near, &ones, &ones);
    let tile = |(t, rows): (usize, &[&[f64]])| -> Vec<f64> {
        let mut squares: Matrix = near.minus_half_squares(&frame.whitened(rows.iter().copied()));
        let distance = |i: usize| {
            // A row that may be a neighbour is the nearest to itself.
            let own = usize::from((t * TILE + i).is_multiple_of(every));
            let place = (nearest + own).clamp(1, near.len()) - 1;
            let column = &mut squares.data_mut()[i * near.len()..(i + 1) * near.len()];
            let (_, square, _) = column.select_nth_unstable_by(place, |a, b| b.total_cmp(a));
            f64::sqrt(-2.0 * *square)
        };
        (0..rows.len()).map(distance).collect()
    };
    // Tiles in order: results do not depend on threads.
    let distances = rows.par_chunks(TILE).enumerate().map(tile).collect::<Vec<_>>().concat();
    let positive = || distances.iter().filter(|r| **r > 0.0);
    let mean = positive().map(|r| r.ln()).sum::<f64>() / positive().count().max(1) as f64;
    let mut logs = distances.iter().map(|r| (r.ln() - mean).clamp(LEAST.ln(), -LEAST.ln()));
    classes.iter().map(|class| logs.by_ref().take(class.rows()).collect()).collect()
}

/// aᵢ of the rows of each class.
pub fn spreads(log_distances: &[Vec<f64>], alpha: f64) -> Vec<Vec<f64>> {
    log_distances.iter().map(|class| class.iter().map(|log| (alpha * log).exp()).collect()).collect()
}

/// The same for rows whose kernels are equally wide.
pub fn equal(classes: &[&KeptRows]) -> Vec<Vec<f64>> {
    classes.iter().map(|class| vec![1.0; class.rows()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Batch;
    use crate::family::parzen::Parzen;
    use crate::family::testing::observe_batch;

    #[test]
    fn distances_by_hand() {
        // Whole numbers, 1 apart in one class and 4 apart in the other, where they are alone.
        let rows = |cells: Vec<f64>| {
            let batch = Batch::new(cells.len()).row_major(&cells[..], 1).unwrap();
            observe_batch(&Parzen::default(), &batch).unwrap()
        };
        let classes =
            [rows((0..100).map(f64::from).collect()), rows((0..50).map(|i| 1000.0 + f64::from(4 * i)).collect())];
        let classes = [&classes[0], &classes[1]];
        let found = log_distances(&classes, &Frame::new(&classes));
        // In the middle five neighbours lie on either side; at an end all ten lie on one.
        let ratio = |a: f64, b: f64| (a - b).exp();
        assert!((ratio(found[1][25], found[0][50]) - 4.0).abs() < 1e-9);
        assert!((ratio(found[0][0], found[0][50]) - 2.0).abs() < 1e-9);
        assert!(found.concat().iter().sum::<f64>().abs() < 1e-9);
        let a = spreads(&found, 0.5);
        assert!((a[1][25] / a[0][50] - 2.0).abs() < 1e-9);
    }
}
