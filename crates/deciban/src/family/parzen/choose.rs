//! What the kernel is like, by the log loss of rows that are left out one by one: each is judged by all others, at the
//! shares of the classes.
//!
//! First γ is chosen, then ρ at this γ, then α; each with its best width h. What tells columns apart, and where rows are
//! dense, was found with the rows that are left out, so ρ and α above 0 have to win by a standard error. Of widths that lose no more than the best by a
//! twentieth of its standard error, the largest is taken: where rows are told without doubt, the loss says little.
//!
//! Sums of kernels are made in single precision here: losses are right to five digits, and nothing of them is reported.

use rayon::prelude::*;

use super::kernel::{Points, Rough};
use super::{Frame, KeptRows, spread};
use crate::family::a1de::information;
use crate::numerics::{Matrix, log_shares};

/// γ: how much of the correlations is dropped; 1 is a product of kernels of single columns.
const SHRINKAGES: [f64; 5] = [1.0, 0.5, 0.1, 0.02, 0.0];
/// ρ: how much columns that tell more of the class count for more.
const FOCUSES: [f64; 2] = [0.25, 0.5];
/// α: how much wider kernels are where rows are rare.
const ALPHAS: [f64; 2] = [0.5, 1.0];
/// Widths, in standard deviations within the classes.
const BANDWIDTHS: [f64; 12] = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.85, 1.1, 1.5, 2.0];
/// Widths to either side of the best so far that the next kernel tries.
const AROUND: usize = 3;
/// Losses that differ by no more, in standard errors of the least one, are taken for equal.
const FLAT: f64 = 0.05;
/// Products of rows that are left out and all rows, at most: beyond it only some of the rows are left out.
const MOST_PAIRS: usize = 6_000_000;
/// Rows that are left out together.
const TILE: usize = 16;
/// Bins of equal weight in which columns tell of the class.
const BINS: f64 = 20.0;

/// A kernel and the losses of the rows that were left out.
struct Trial {
    frame: Frame,
    alpha: f64,
    spreads: Vec<Vec<f64>>,
    /// The place of h among the widths.
    width: usize,
    losses: Vec<f64>,
}

/// Rows that are left out: their class, their place in it, and their weight.
struct LeftOut(Vec<(usize, usize, f64)>);

impl LeftOut {
    fn new(classes: &[&KeptRows]) -> Self {
        let rows: usize = classes.iter().map(|class| class.rows()).sum();
        let every = rows.saturating_mul(rows).div_ceil(MOST_PAIRS).max(1);
        let of = |(c, class): (usize, &&KeptRows)| {
            // A class of a single row has nobody to judge it by.
            let weights = class.weights().to_vec();
            let able = class.weight() > 1.0;
            weights.into_iter().enumerate().filter(move |_| able).map(move |(i, w)| (c, i, w)).collect::<Vec<_>>()
        };
        let all = classes.iter().enumerate().flat_map(of);
        LeftOut(all.step_by(every).collect())
    }

    /// The weighted mean, and its standard error.
    fn mean(&self, losses: &[f64]) -> (f64, f64) {
        let total: f64 = self.0.iter().map(|row| row.2).sum();
        let weighted =
            |f: &dyn Fn(f64) -> f64| self.0.iter().zip(losses).map(|(row, loss)| row.2 * f(*loss)).sum::<f64>() / total;
        let mean = weighted(&|loss| loss);
        (mean, (weighted(&|loss| (loss - mean).powi(2)) / total).sqrt())
    }
}

/// The kernel of the least loss, its width, and α with the spreads of the rows of each class.
pub fn choose(classes: &[&KeptRows], frame: &Frame) -> (Frame, f64, (f64, Vec<Vec<f64>>)) {
    let rows = LeftOut::new(classes);
    let equal = (0.0, spread::equal(classes));
    let mut best: Option<Trial> = None;
    for shrinkage in SHRINKAGES {
        // A singular correlation has no kernel.
        let Some(frame) = frame.shrunken(shrinkage) else { continue };
        let trial = attempt(classes, frame, equal.clone(), &rows, best.as_ref());
        if best.as_ref().is_none_or(|best| rows.mean(&trial.losses).0 < rows.mean(&best.losses).0) {
            best = Some(trial);
        }
    }
    // A frame without correlations is never singular.
    let Some(mut best) = best else { return (frame.clone(), 1.0, equal) };
    let wins = |trial: &Trial, best: &Trial| {
        let gains: Vec<f64> = best.losses.iter().zip(&trial.losses).map(|(a, b)| a - b).collect();
        let (gain, error) = rows.mean(&gains);
        gain > error
    };
    let relevance = relevance(classes);
    let plain = best.frame.clone();
    for focus in FOCUSES {
        let trial = attempt(classes, plain.focused(&relevance, focus), equal.clone(), &rows, Some(&best));
        if wins(&trial, &best) {
            best = trial;
        }
    }
    let distances = spread::log_distances(classes, &best.frame);
    for alpha in ALPHAS {
        let spreads = (alpha, spread::spreads(&distances, alpha));
        let trial = attempt(classes, best.frame.clone(), spreads, &rows, Some(&best));
        if wins(&trial, &best) {
            best = trial;
        }
    }
    (best.frame, BANDWIDTHS[best.width], (best.alpha, best.spreads))
}

/// A kernel with its best width, next to that of another.
fn attempt(
    classes: &[&KeptRows],
    frame: Frame,
    (alpha, spreads): (f64, Vec<Vec<f64>>),
    rows: &LeftOut,
    after: Option<&Trial>,
) -> Trial {
    let (first, last) = match after {
        None => (0, BANDWIDTHS.len()),
        Some(trial) => (trial.width.saturating_sub(AROUND), BANDWIDTHS.len().min(trial.width + AROUND + 1)),
    };
    let mut losses = losses(classes, &frame, &spreads, rows, &BANDWIDTHS[first..last]);
    let means: Vec<(f64, f64)> = losses.iter().map(|losses| rows.mean(losses)).collect();
    let least = means.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0.0));
    let good = |(mean, _): &(f64, f64)| *mean <= least.0 + FLAT * least.1;
    // Where nothing is left out, no width is better than another: the widest but three, about a standard deviation.
    let width = if rows.0.is_empty() { last.min(9) - first - 1 } else { means.iter().rposition(good).unwrap_or(0) };
    Trial { frame, alpha, spreads, width: first + width, losses: losses.swap_remove(width) }
}

/// The losses of rows that are left out, for each width.
fn losses(classes: &[&KeptRows], frame: &Frame, spreads: &[Vec<f64>], rows: &LeftOut, widths: &[f64]) -> Vec<Vec<f64>> {
    let points: Vec<Points> = classes.iter().copied().zip(spreads).map(|class| frame.points(class)).collect();
    let tile = |rows: &[(usize, usize, f64)]| {
        let q: Vec<&[f64]> = rows.iter().map(|&(c, i, _)| points[c].point(i)).collect();
        let q = Matrix::from_columns(frame.width(), q.len(), q.concat());
        let mut squares: Vec<Matrix> = points.iter().map(|points| points.minus_half_squares(&q)).collect();
        let mut all = Vec::new();
        // `width·classes + class`
        let mut scores = vec![0.0; widths.len() * points.len()];
        for (r, &(c, i, weight)) in rows.iter().enumerate() {
            // One row of several that are equal, or what there is of it.
            let less = weight.min(1.0);
            let several = (weight > less).then(|| {
                let mut own = points[c].log_weights.clone();
                own[i] += ((weight - less) / weight).ln();
                own
            });
            if several.is_none() {
                squares[c][(i, r)] = f64::NEG_INFINITY;
            }
            for (k, of_class) in points.iter().enumerate() {
                let weights = match (&several, of_class.log_weight) {
                    (Some(own), _) if k == c => Ok(&own[..]),
                    (_, Some(weight)) => Err(weight),
                    _ => Ok(&of_class.log_weights[..]),
                };
                let sums = Rough::new(squares[k].column(r), weights);
                let places = scores.iter_mut().skip(k).step_by(points.len());
                places.zip(widths).for_each(|(score, h)| *score = sums.log_sum(1.0 / (h * h)));
            }
            // The sum has the weight of class k, as it should; without the row it is a little less.
            let whole = (points[c].weight / (points[c].weight - less)).ln();
            for scores in scores.chunks_exact_mut(points.len()) {
                scores[c] += whole;
                log_shares(scores);
                all.push(-scores[c]);
            }
        }
        all
    };
    // Tiles in order: results do not depend on threads.
    let found: Vec<f64> = rows.0.par_chunks(TILE).map(tile).collect::<Vec<_>>().concat();
    let of = |width: usize| found.iter().skip(width).step_by(widths.len()).copied().collect();
    (0..widths.len()).map(of).collect()
}

/// I(X; C) of each column in bins of equal weight, less what chance makes of it, and at least that of one row.
fn relevance(classes: &[&KeptRows]) -> Vec<f64> {
    let total: f64 = classes.iter().map(|class| class.weight()).sum();
    let width = classes.first().map_or(0, |class| class.width());
    let of_column = |j: usize| {
        let rows = |(c, class): (usize, &&KeptRows)| -> Vec<(f64, usize, f64)> {
            (0..class.rows()).map(|i| (class.row(i)[j], c, class.weights()[i])).collect()
        };
        let mut rows: Vec<(f64, usize, f64)> = classes.iter().enumerate().flat_map(rows).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut counts = vec![vec![0.0; BINS as usize]; classes.len()];
        let (mut below, mut bin, mut last) = (0.0, 0, f64::NAN);
        for (x, class, weight) in rows {
            // Equal numbers have one bin.
            if x != last {
                (bin, last) = ((BINS * below / total).min(BINS - 1.0) as usize, x);
            }
            counts[class][bin] += weight;
            below += weight;
        }
        let bins = (0..BINS as usize).filter(|&bin| counts.iter().any(|class| class[bin] > 0.0)).count();
        let chance = ((bins.max(1) - 1) * (classes.len() - 1)) as f64 / (2.0 * total);
        (information(&counts.iter().collect::<Vec<_>>()) - chance).max(0.0) + 1.0 / total
    };
    (0..width).map(of_column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Batch;
    use crate::family::parzen::Parzen;
    use crate::family::testing::observe_batch;
    use crate::numerics::Random;

    #[test]
    fn columns_that_tell_of_the_class_count_for_more() {
        // Of six columns only the first tells of the class, and it does so in narrow bands.
        let mut random = Random::new(7);
        let mut cells = [Vec::new(), Vec::new()];
        for _ in 0..800 {
            let x: Vec<f64> = (0..6).map(|_| random.uniform()).collect();
            cells[(4.0 * x[0]) as usize % 2].extend(x);
        }
        let classes = cells.map(|cells| {
            let batch = Batch::new(cells.len() / 6).row_major(&cells[..], 6).unwrap();
            observe_batch(&Parzen::default(), &batch).unwrap()
        });
        let classes = [&classes[0], &classes[1]];
        let found = relevance(&classes);
        assert!(found[0] > 0.5 && found[1..].iter().all(|i| *i < 0.03), "{found:?}");
        let frame = Frame::new(&classes);
        let (chosen, ..) = choose(&classes, &frame);
        // Scales: the first column has the smallest kernel, in units of its standard deviation.
        let scale = |j: usize| chosen.sd[j] / frame.sd[j];
        assert!((1..6).all(|j| scale(0) < 0.5 * scale(j)), "{:?}", (0..6).map(scale).collect::<Vec<_>>());
    }

    #[test]
    fn losses_by_hand() {
        // Rows 0, 1 and 3 of class a, 2 of class b with weight 2; within the classes the variance is V.
        let rows = |cells: &[f64], weights: &[f64]| {
            let batch = Batch::new(cells.len()).row_major(cells, 1).unwrap().weights(weights).unwrap();
            observe_batch(&Parzen::default(), &batch).unwrap()
        };
        let (a, b) = (rows(&[0.0, 1.0, 3.0], &[1.0; 3]), rows(&[2.0], &[2.0]));
        let classes = [&a, &b];
        let frame = Frame::new(&classes);
        let left_out = LeftOut::new(&classes);
        let found = losses(&classes, &frame, &spread::equal(&classes), &left_out, &[0.5, 1.0]);
        // Squares of 0, 1 and 9 about the mean 4/3, in 3 of 5 rows.
        let variance = (10.0 / 3.0 - 16.0 / 9.0) * 3.0 / 5.0;
        assert!((frame.sd[0].powi(2) - variance).abs() < 1e-14);
        let kernel = |x: f64, y: f64, h: f64| (-(x - y).powi(2) / (2.0 * h * h * variance)).exp();
        for (h, found) in [0.5, 1.0].into_iter().zip(&found) {
            // The row 0: a without it, at the share 3/5; b at 2/5.
            let own = 3.0 * (kernel(0.0, 1.0, h) + kernel(0.0, 3.0, h)) / 2.0;
            let other = 2.0 * kernel(0.0, 2.0, h);
            assert!((found[0] + (own / (own + other)).ln()).abs() < 1e-6);
            // Of the two rows 2 one judges the other.
            let (own, other) = (2.0, kernel(2.0, 0.0, h) + kernel(2.0, 1.0, h) + kernel(2.0, 3.0, h));
            assert!((found[3] + (own / (own + other)).ln()).abs() < 1e-6);
        }
        assert_eq!(left_out.mean(&[1.0, 1.0, 1.0, 6.0]).0, 3.0);
    }
}
