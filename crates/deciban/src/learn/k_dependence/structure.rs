//! Which columns a chain of tables has, in the manner of k-dependence Bayesian classifiers (Sahami 1996): columns in
//! the order of their mutual information with the class, and for each the k columns before it that depend most on it
//! given the class.
//!
//! ```text
//! I(xᵢ; y) − (rᵢ − 1)(K − 1)/2n          I(xᵢ; xⱼ | y) − (rᵢ − 1)(rⱼ − 1)K/2n
//! ```
//!
//! in nats, less what chance makes of them (Miller 1955), with rᵢ the codes of column i that occur, K classes and n
//! rows. A column has a chain if more than one of its codes occurs: together with others it may tell what it does not
//! tell alone.

use rayon::prelude::*;

use super::table::CodedTable;

/// The most columns with a chain: of more, those that tell most.
const MOST_COLUMNS: usize = 120;
/// The most rows times pairs that are counted; beyond that, every so many rows are.
const MOST_COUNTED: f64 = 4e8;

/// The columns of each chain: the column itself, then its parents, the closest first.
pub fn chains(table: &CodedTable, parents: usize) -> Vec<Vec<usize>> {
    let alone: Vec<Alone> = (0..table.columns.len()).into_par_iter().map(|c| Alone::count(table, c)).collect();
    let classes = entropy(&table.class_weights());
    let worth = |c: usize| alone[c].told(classes, table);
    let mut order: Vec<usize> = (0..alone.len()).filter(|&c| alone[c].codes > 1).collect();
    order.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)).then(a.cmp(&b)));
    order.truncate(MOST_COLUMNS);
    let pairs: Vec<(usize, usize)> = (0..order.len()).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let step = (pairs.len() as f64 * table.rows() as f64 / MOST_COUNTED).ceil().max(1.0) as usize;
    let depend: Vec<f64> = pairs
        .par_iter()
        .map(|&(i, j)| match parents {
            0 => 0.0,
            _ => dependence(table, [order[i], order[j]], [&alone[order[i]], &alone[order[j]]], step),
        })
        .collect();
    let chain = |(i, &column): (usize, &usize)| {
        // The pairs of the column in place i stand together.
        let own = &depend[i * i.saturating_sub(1) / 2..][..i];
        let mut before: Vec<usize> = (0..i).collect();
        before.sort_by(|&a, &b| own[b].total_cmp(&own[a]).then(a.cmp(&b)));
        std::iter::once(column).chain(before.into_iter().take(parents).map(|j| order[j])).collect()
    };
    order.iter().enumerate().map(chain).collect()
}

/// A column with the class.
struct Alone {
    /// How many of its codes occur.
    codes: usize,
    /// H(x) and H(x, y).
    entropy: f64,
    with_class: f64,
}

impl Alone {
    fn count(table: &CodedTable, column: usize) -> Self {
        let classes = table.classes;
        let mut counts = vec![0.0; table.codes[column] * classes];
        for ((&code, &label), w) in table.columns[column].iter().zip(&table.labels).zip(&table.weights) {
            counts[usize::from(code) * classes + label as usize] += w;
        }
        let sums: Vec<f64> = counts.chunks_exact(classes).map(|code| code.iter().sum()).collect();
        let codes = sums.iter().filter(|w| **w > 0.0).count();
        Alone { codes, entropy: entropy(&sums), with_class: entropy(&counts) }
    }

    /// I(x; y), less chance.
    fn told(&self, classes: f64, table: &CodedTable) -> f64 {
        let chance = (self.codes.saturating_sub(1) * (table.classes - 1)) as f64 / (2.0 * table.weight());
        self.entropy + classes - self.with_class - chance
    }
}

/// I(xᵢ; xⱼ | y), less chance, of every `step`th row.
fn dependence(table: &CodedTable, [a, b]: [usize; 2], alone: [&Alone; 2], step: usize) -> f64 {
    let (classes, stride) = (table.classes, table.codes[b] * table.classes);
    let mut counts = vec![0.0; table.codes[a] * stride];
    let cells = table.columns[a].iter().zip(&table.columns[b]).zip(table.labels.iter().zip(&table.weights));
    for ((&a, &b), (&label, w)) in cells.step_by(step) {
        counts[usize::from(a) * stride + usize::from(b) * classes + label as usize] += w;
    }
    let total: f64 = counts.iter().sum();
    let cells = alone[0].codes.saturating_sub(1) * alone[1].codes.saturating_sub(1) * classes;
    let chance = cells as f64 / (2.0 * total);
    let with_class = match step {
        1 => alone[0].with_class + alone[1].with_class,
        // The entropies of the same rows.
        _ => {
            let mut first = vec![0.0; table.codes[a] * classes];
            let mut second = vec![0.0; stride];
            for (i, own) in counts.chunks_exact(stride).enumerate() {
                second.iter_mut().zip(own).for_each(|(sum, n)| *sum += n);
                for cell in own.chunks_exact(classes) {
                    first[i * classes..].iter_mut().zip(cell).for_each(|(sum, n)| *sum += n);
                }
            }
            entropy(&first) + entropy(&second)
        }
    };
    let mut of_class = vec![0.0; classes];
    counts.chunks_exact(classes).for_each(|cell| of_class.iter_mut().zip(cell).for_each(|(sum, n)| *sum += n));
    with_class - entropy(&counts) - entropy(&of_class) - chance
}

/// −Σ p ln p of weights that make up the shares p; 0 of none.
fn entropy(weights: &[f64]) -> f64 {
    let (mut total, mut sum) = (0.0, 0.0);
    for &w in weights.iter().filter(|w| **w > 0.0) {
        total += w;
        sum += w * w.ln();
    }
    if total > 0.0 { total.ln() - sum / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `b` repeats the class but for one row, `a` repeats `b`, and `c` is the same in all rows.
    fn table() -> CodedTable {
        let b = vec![0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0];
        CodedTable {
            columns: vec![vec![1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0], b, vec![0; 12]],
            codes: vec![2, 2, 1],
            labels: vec![0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
            weights: vec![1.0; 12],
            classes: 2,
        }
    }

    #[test]
    fn entropy_by_hand() {
        assert!((entropy(&[2.0, 2.0]) - 2f64.ln()).abs() < 1e-15);
        assert!((entropy(&[3.0, 0.0, 1.0]) - (4f64.ln() - 0.75 * 3f64.ln())).abs() < 1e-15);
        assert_eq!(entropy(&[]), 0.0);
    }

    #[test]
    fn columns_come_in_the_order_of_what_they_tell() {
        assert_eq!(chains(&table(), 2), vec![vec![1], vec![0, 1]]);
        assert_eq!(chains(&table(), 0), vec![vec![1], vec![0]]);
    }

    #[test]
    fn dependence_by_hand() {
        // Two columns that are equal within each class: I(a; b | y) = H(a | y) = ln 2, less 2/(2·8).
        let a = vec![0u8, 1, 0, 1, 0, 1, 0, 1];
        let table = CodedTable {
            columns: vec![a.clone(), a],
            codes: vec![2, 2],
            labels: vec![0, 0, 0, 0, 1, 1, 1, 1],
            weights: vec![1.0; 8],
            classes: 2,
        };
        let alone = [0, 1].map(|c| Alone::count(&table, c));
        let found = dependence(&table, [0, 1], [&alone[0], &alone[1]], 1);
        assert!((found - (2f64.ln() - 0.125)).abs() < 1e-14, "{found}");
        // Every second row has one code only.
        assert!((dependence(&table, [0, 1], [&alone[0], &alone[1]], 2) + 0.25).abs() < 1e-14);
    }
}
