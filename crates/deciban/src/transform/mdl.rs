//! Cut points by minimum description length (Fayyad & Irani, *Multi-interval discretization of
//! continuous-valued attributes for classification learning*, 1993).
//!
//! A set S of N rows is cut where the classes' entropy falls most, and each side again, as long as
//! the description of the classes gets shorter by it, that is
//!
//! ```text
//! gain = H(S) − (N₁ H(S₁) + N₂ H(S₂))/N  >  (log₂(N − 1) + Δ)/N
//! Δ = log₂(3ᵏ − 2) − (k H(S) − k₁ H(S₁) − k₂ H(S₂))
//! ```
//!
//! with k, k₁, k₂ the numbers of classes that occur. Weights count as rows. Among equally good cuts
//! the lowest is taken. A cut lies halfway between two neighbouring values.

use super::bins::between;

/// The cuts of values that ascend, each with its weight in every class.
///
/// ```
/// use deciban::transform::mdl_cuts;
/// // Seven rows of class 0 below seven of class 1: one cut, halfway between 7 and 8.
/// let row = |x: u32| (x as f64, if x <= 7 { vec![1.0, 0.0] } else { vec![0.0, 1.0] });
/// assert_eq!(mdl_cuts(&(1..=14).map(row).collect::<Vec<_>>()), [7.5]);
/// ```
pub fn mdl_cuts(values: &[(f64, Vec<f64>)]) -> Vec<f64> {
    let classes = values.first().map_or(0, |row| row.1.len());
    // below[i]: the classes' weights of the values before the ith.
    let mut below = vec![vec![0.0; classes]];
    for (_, weights) in values {
        let last = &below[below.len() - 1];
        below.push(last.iter().zip(weights).map(|(sum, w)| sum + w).collect());
    }
    let mut cuts = Vec::new();
    // A stack, not recursion: how deep the cuts nest is up to the data.
    let mut open = vec![(0, values.len())];
    while let Some((start, end)) = open.pop() {
        if let Some(at) = best_cut(&below, start, end) {
            cuts.push(between(values[at - 1].0, values[at].0));
            open.extend([(start, at), (at, end)]);
        }
    }
    cuts.sort_by(f64::total_cmp);
    cuts
}

/// Where to cut the values `start..end`, if at all.
fn best_cut(below: &[Vec<f64>], start: usize, end: usize) -> Option<usize> {
    let part = |from: usize, to: usize| Part::new(below[to].iter().zip(&below[from]).map(|(b, a)| b - a));
    let whole = part(start, end);
    let mut best: Option<(f64, usize)> = None;
    for at in start + 1..end {
        let rest = part(start, at).information + part(at, end).information;
        // Equally good cuts differ by rounding.
        if best.is_none_or(|(least, _)| rest < least - 1e-12 * whole.weight) {
            best = Some((rest, at));
        }
    }
    let (_, at) = best?;
    whole.is_worth(&part(start, at), &part(at, end)).then_some(at)
}

/// A set of rows.
struct Part {
    weight: f64,
    /// k
    classes: f64,
    /// N·H in bits.
    information: f64,
}

impl Part {
    fn new(weights: impl Iterator<Item = f64> + Clone) -> Self {
        let weight: f64 = weights.clone().sum();
        let (mut classes, mut information) = (0.0, 0.0);
        // Differences of sums of fractional weights may leave a little of nothing.
        for w in weights.filter(|w| *w > 1e-12 * weight) {
            classes += 1.0;
            information -= w * (w / weight).log2();
        }
        Part { weight, classes, information }
    }

    fn entropy(&self) -> f64 {
        if self.weight > 0.0 { self.information / self.weight } else { 0.0 }
    }

    /// Whether these two parts of it are described in fewer bits.
    fn is_worth(&self, one: &Part, two: &Part) -> bool {
        if self.weight <= 2.0 - 1e-9 {
            return false;
        }
        let k = self.classes;
        // log₂(3ᵏ − 2), without overflow.
        let partitions = k * 3f64.log2() + (-2.0 * 3f64.powf(-k)).ln_1p() / std::f64::consts::LN_2;
        let delta = partitions - (k * self.entropy() - one.classes * one.entropy() - two.classes * two.entropy());
        let gain = self.information - one.information - two.information;
        gain > (self.weight - 1.0).log2() + delta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Random;

    fn rows(classes: &str) -> Vec<(f64, Vec<f64>)> {
        let of = |c: char| ['a', 'b', 'c'].map(|d| f64::from(c == d)).to_vec();
        classes.chars().enumerate().map(|(i, c)| (i as f64, of(c))).collect()
    }

    #[test]
    fn few_rows_are_not_worth_a_cut() {
        // n and n rows of two classes: gain 2n bits; the price is log₂(2n−1) + log₂7 − 2.
        // n = 1: 2 against 0 + 0.807; n = 2: 4 against 1.585 + 0.807.
        assert_eq!(mdl_cuts(&rows("ab")), [0.5]);
        assert_eq!(mdl_cuts(&rows("aabb")), [1.5]);
        // Alternating: the best cut of abab leaves 3·0.918 = 2.755 of 4 bits, gain 1.245; the price is
        // log₂3 + log₂7 − (2·1 − 2·0.918 − 1·0) = 1.585 + 2.807 − 0.163 = 4.23.
        assert!(mdl_cuts(&rows("abab")).is_empty());
        assert!(mdl_cuts(&rows("aaaaaaa")).is_empty());
        assert!(mdl_cuts(&[]).is_empty());
    }

    #[test]
    fn three_runs_have_two_cuts() {
        // Runs of n: 3n·0.918 bits become 2n, gain 0.755n; the price is log₂(3n−1) + log₂7 + 0.163.
        // n = 7: 5.28 against 7.29; n = 12: 9.06 against 8.10.
        let runs = |n: usize| rows(&["a".repeat(n), "b".repeat(n), "a".repeat(n)].concat());
        assert!(mdl_cuts(&runs(7)).is_empty());
        assert_eq!(mdl_cuts(&runs(12)), [11.5, 23.5]);
        assert_eq!(mdl_cuts(&rows("aaaaabbbbbbccccc")), [4.5, 10.5]);
    }

    /// As the paper says it, on single rows, with every sum taken anew: O(n²) for each cut.
    fn by_definition(rows: &[(f64, usize)], classes: usize, cuts: &mut Vec<f64>) {
        let entropy = |rows: &[(f64, usize)]| {
            let share = |c: usize| rows.iter().filter(|row| row.1 == c).count() as f64 / rows.len() as f64;
            let shares = (0..classes).map(share).filter(|p| *p > 0.0);
            (shares.clone().map(|p| -p * p.log2()).sum::<f64>(), shares.count() as f64)
        };
        let n = rows.len() as f64;
        let (h, k) = entropy(rows);
        let mut best = (f64::NEG_INFINITY, 0);
        for at in (1..rows.len()).filter(|&at| rows[at - 1].0 < rows[at].0) {
            let gain = h - (at as f64 * entropy(&rows[..at]).0 + (n - at as f64) * entropy(&rows[at..]).0) / n;
            // Equally good cuts differ by rounding.
            if gain > best.0 + 1e-12 {
                best = (gain, at);
            }
        }
        if best.1 == 0 {
            return;
        }
        let ((h1, k1), (h2, k2)) = (entropy(&rows[..best.1]), entropy(&rows[best.1..]));
        let delta = (3f64.powf(k) - 2.0).log2() - (k * h - k1 * h1 - k2 * h2);
        if best.0 > ((n - 1.0).log2() + delta) / n {
            by_definition(&rows[..best.1], classes, cuts);
            cuts.push((rows[best.1 - 1].0 + rows[best.1].0) / 2.0);
            by_definition(&rows[best.1..], classes, cuts);
        }
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut cut = 0;
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let (n, classes) = (2 + random.below(200) as usize, 2 + random.below(4) as usize);
            let spread = 1.0 + 3.0 * random.uniform();
            let mut draw = |_| {
                let c = random.below(classes as u64) as usize;
                ((4.0 * (random.normal() + spread * c as f64)).round(), c)
            };
            let mut rows: Vec<(f64, usize)> = (0..n).map(&mut draw).collect();
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut expected = Vec::new();
            by_definition(&rows, classes, &mut expected);
            let mut values: Vec<(f64, Vec<f64>)> = Vec::new();
            for (x, c) in rows {
                if values.last().is_none_or(|last| last.0 < x) {
                    values.push((x, vec![0.0; classes]));
                }
                values.last_mut().unwrap().1[c] += 1.0;
            }
            assert_eq!(mdl_cuts(&values), expected, "seed {seed}");
            cut += expected.len();
        }
        assert!(cut > 400, "{cut}");
    }
}
