//! The Hessian of the columns of an additive model, by their cells, from rows that are kept as codes. Where columns say
//! the same, as a number and the category that it was made from, the optimiser would take hundreds of passes over the
//! rows to settle what each of them says; in the metric of this Hessian it takes a few.
//!
//! A row adds w pₖ(1 − pₖ) to output k in each pair of cells that it has; the intercept is a cell of all rows. How the
//! outputs depend on each other is left out.

use rayon::prelude::*;

use super::rows::CodedRows;

/// It is computed where its factors cost no more products than so many look-ups of each row and term: about those of
/// thirty passes.
const MOST_PRODUCTS: f64 = 60.0;

/// Where a pass has fewer look-ups, of rows and terms, its iterations cost next to nothing.
const LEAST_LOOK_UPS: f64 = 2e5;

/// Rows in parts, which are added up in order, where there is but one output.
const PARTS: usize = 4;

/// Whether the Hessian of so many cells is worth its time.
pub fn is_worth_it(cells: usize, rows: f64, terms: usize) -> bool {
    let look_ups = rows * terms as f64;
    look_ups >= LEAST_LOOK_UPS && (cells as f64).powi(3) / 3.0 <= MOST_PRODUCTS * look_ups
}

/// For each output the Hessian by cells, row after row. `starts` says where the cells of each column begin, and where the
/// intercept stands; `curvatures` has w pₖ(1 − pₖ) of each row and output.
pub fn by_output(rows: &CodedRows, starts: &[usize], curvatures: &[f64], outputs: usize) -> Vec<Vec<f64>> {
    let n = starts[starts.len() - 1] + 1;
    let parts = if outputs == 1 { PARTS } else { 1 };
    let length = rows.rows().div_ceil(parts).max(1);
    let part = |task: usize| {
        let (output, part) = (task / parts, task % parts);
        let mut sums = vec![0.0; n * n];
        let mut places = starts.to_vec();
        for row in part * length..rows.rows().min((part + 1) * length) {
            let curvature = curvatures[row * outputs + output];
            let codes = rows.columns().iter().map(|codes| usize::from(codes[row]));
            places.iter_mut().zip(starts).zip(codes).for_each(|((place, start), code)| *place = start + code);
            // Cells of earlier columns stand before those of later ones, and the intercept stands last.
            for (a, place) in places.iter().enumerate() {
                let own = &mut sums[place * n..][..n];
                places[..=a].iter().for_each(|&other| own[other] += curvature);
            }
        }
        sums
    };
    let mut tasks = (0..outputs * parts).into_par_iter().map(part).collect::<Vec<_>>().into_iter();
    let mut output = || {
        // There is a part for each output.
        let mut sums = tasks.next().unwrap_or_default();
        for other in tasks.by_ref().take(parts - 1) {
            sums.iter_mut().zip(&other).for_each(|(sum, x)| *sum += x);
        }
        for i in 0..n {
            (0..i).for_each(|j| sums[j * n + i] = sums[i * n + j]);
        }
        sums
    };
    (0..outputs).map(|_| output()).collect()
}
