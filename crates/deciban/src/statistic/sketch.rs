//! Quantiles of columns, in one pass and in bounded memory.
//!
//! ```text
//! o(x): the bits of x, reordered so that x < y ⇔ o(x) < o(y)
//! bucket of x: o(x) >> s,  s the least for which all values lie in at most 16384 buckets
//! mid-distribution: P(X < x) + ½ P(X = x)
//! ```
//!
//! The bits of a double count the doubles below it, so a bucket is a run of 2ˢ neighbouring
//! doubles. With s = 0 it is one value and nothing is lost; otherwise its width is relative to its
//! values (2ˢ⁻⁵² of them), whatever their scale or offset. Joining sets of values can only raise
//! s, and s depends on the set alone, not on the way it was joined: merging is exactly associative
//! and commutative, which sketches that compress by rank or at random (t-digest, KLL) are not.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Retract, Statistic};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};

/// The most buckets of a column.
const CAPACITY: usize = 1 << 14;

/// With 64 − 14 bits shifted out there are no more keys than buckets.
const MAX_SHIFT: u32 = 50;

/// The share of a bucket's weight that rounding may leave when all of it is removed.
const ROUNDING: f64 = 1e-12;

/// A key and the weight of the values that share it.
type Bucket = (u64, f64);

/// The weights of a column's values, in buckets in ascending order.
///
/// ```
/// use deciban::statistic::Quantiles;
/// let mut heights = Quantiles::new();
/// heights.observe(&[181.0, 175.0, 162.0, 175.0], &[1.0; 4]);
/// assert_eq!((heights.quantile(0.5), heights.cdf(175.0)), (175.0, 0.75));
/// assert_eq!(heights.knots(512), [(162.0, 0.125), (175.0, 0.5), (181.0, 0.875)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantiles {
    shift: u32,
    /// Keys ascend, weights are positive.
    buckets: Vec<Bucket>,
}

impl Quantiles {
    /// The most bytes that the sketch of a column takes.
    pub(crate) const MOST_BYTES: usize = CAPACITY * size_of::<Bucket>();

    /// The sketch of these values.
    #[cfg(test)]
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut quantiles = Quantiles::new();
        quantiles.observe(values, &vec![1.0; values.len()]);
        quantiles
    }

    /// The sketch of no values.
    pub fn new() -> Self {
        Quantiles::default()
    }

    /// Adds finite values with positive weights; all others are skipped.
    pub fn observe(&mut self, values: &[f64], weights: &[f64]) {
        let cells = values.iter().zip(weights).filter(|(x, w)| x.is_finite() && **w > 0.0);
        let cells = cells.map(|(&x, &w)| (ordered(x) >> self.shift, w));
        let new = if weights.iter().all(|&w| w == 1.0) {
            // Without their weights keys sort twice as fast, and sorting is most of the work.
            let mut keys: Vec<u64> = cells.map(|bucket| bucket.0).collect();
            keys.sort_unstable();
            keys.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f64)).collect()
        } else {
            let mut buckets: Vec<Bucket> = cells.collect();
            buckets.sort_unstable_by_key(|bucket| bucket.0);
            combine(buckets)
        };
        self.add(&new);
    }

    /// The weight of all values.
    pub fn weight(&self) -> f64 {
        self.buckets.iter().map(|bucket| bucket.1).sum()
    }

    /// The values, ascending, each with its weight.
    pub(crate) fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.buckets.iter().enumerate().map(|(i, bucket)| (self.value(i), bucket.1))
    }

    /// The least value x with `cdf(x)` ≥ p, to the width of its bucket; NaN if there are no values
    /// or `p` is no probability.
    pub fn quantile(&self, p: f64) -> f64 {
        if self.buckets.is_empty() || !(0.0..=1.0).contains(&p) {
            return f64::NAN;
        }
        let total = self.weight();
        let mut sum = 0.0;
        let reached = self.buckets.iter().position(|bucket| {
            sum += bucket.1;
            sum / total >= p
        });
        self.value(reached.unwrap_or(self.buckets.len() - 1))
    }

    /// The share of the weight at `x` or below, all of x's bucket included; NaN if there are no
    /// values or `x` is NaN.
    pub fn cdf(&self, x: f64) -> f64 {
        if x.is_nan() {
            return f64::NAN;
        }
        let key = ordered(x) >> self.shift;
        let end = self.buckets.partition_point(|bucket| bucket.0 <= key);
        self.buckets[..end].iter().map(|bucket| bucket.1).sum::<f64>() / self.weight()
    }

    /// At most `n` values x, strictly increasing, each with its mid-distribution probability;
    /// the first and the last are always among them, the others as even in probability as the
    /// values allow.
    pub fn knots(&self, n: usize) -> Vec<(f64, f64)> {
        self.knots_even_in(n, |p| p)
    }

    /// [`knots`](Quantiles::knots) that are even in an increasing function of the probability.
    pub(crate) fn knots_even_in(&self, n: usize, scale: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let total = self.weight();
        let mut below = 0.0;
        let mut knots = Vec::with_capacity(self.buckets.len());
        for (i, bucket) in self.buckets.iter().enumerate() {
            knots.push((self.value(i), (below + 0.5 * bucket.1) / total));
            below += bucket.1;
        }
        if knots.len() > n {
            knots = thin(&knots, n, scale);
        }
        knots
    }

    /// The values that any of these sketches holds, ascending, each with its weight in every sketch;
    /// all at the width of the widest bucket that joining them needs.
    pub fn side_by_side(sketches: &[&Quantiles]) -> Result<Vec<(f64, Vec<f64>)>> {
        let mut whole = Quantiles::new();
        sketches.iter().try_for_each(|sketch| whole.merge(sketch))?;
        let mut rows: Vec<(f64, Vec<f64>)> =
            (0..whole.buckets.len()).map(|i| (whole.value(i), vec![0.0; sketches.len()])).collect();
        for (s, sketch) in sketches.iter().enumerate().filter(|(_, sketch)| !sketch.buckets.is_empty()) {
            let mut i = 0;
            for &(key, weight) in sketch.at(whole.shift).iter() {
                // Every key of a part is a key of the whole, and both ascend.
                i += whole.buckets[i..].partition_point(|bucket| bucket.0 < key);
                rows[i].1[s] = weight;
            }
        }
        Ok(rows)
    }

    /// The value that stands for bucket `i`: itself, or the middle of those it may hold, or 0.
    fn value(&self, i: usize) -> f64 {
        let first = self.buckets[i].0 << self.shift;
        // The outermost buckets reach into the bits of infinities and NaN.
        let low = from_ordered(first.max(ordered(f64::MIN)));
        let high = from_ordered((first | ((1 << self.shift) - 1)).min(ordered(f64::MAX)));
        // Zero often has much of the weight, and stands for its bucket. Otherwise both have the
        // same sign (shift ≤ 50), so this cannot overflow; and low = high gives low.
        if low == 0.0 { low } else { low + 0.5 * (high - low) }
    }

    /// The buckets as they are with a shift that is not smaller.
    fn at(&self, shift: u32) -> Cow<'_, [Bucket]> {
        match shift - self.shift {
            0 => Cow::Borrowed(&self.buckets),
            by => Cow::Owned(coarsen(self.buckets.clone(), by)),
        }
    }

    /// Adds sorted buckets that have this sketch's shift.
    fn add(&mut self, new: &[Bucket]) {
        let buckets = join(&self.buckets, new);
        let by = excess(&buckets);
        self.shift += by;
        self.buckets = coarsen(buckets, by);
    }
}

/// The bits of a finite `x`, reordered to ascend with it; −0 is 0.
fn ordered(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The number whose bits [`ordered`] has reordered.
fn from_ordered(o: u64) -> f64 {
    f64::from_bits(if o >> 63 == 1 { o & !(1 << 63) } else { !o })
}

/// The sum of two lists of buckets whose keys ascend.
fn join(a: &[Bucket], b: &[Bucket]) -> Vec<Bucket> {
    let mut sum = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        // Selections, not branches: which list comes next is a coin toss.
        let (left, right) = (x.0 <= y.0, y.0 <= x.0);
        sum.push((x.0.min(y.0), if left { x.1 } else { 0.0 } + if right { y.1 } else { 0.0 }));
        i += left as usize;
        j += right as usize;
    }
    sum.extend_from_slice(&a[i..]);
    sum.extend_from_slice(&b[j..]);
    sum
}

/// Joins sorted buckets of equal keys.
fn combine(mut buckets: Vec<Bucket>) -> Vec<Bucket> {
    buckets.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    buckets
}

/// Shifts the keys of sorted buckets and joins those that become equal.
fn coarsen(mut buckets: Vec<Bucket>, by: u32) -> Vec<Bucket> {
    if by == 0 {
        return buckets;
    }
    buckets.iter_mut().for_each(|bucket| bucket.0 >>= by);
    combine(buckets)
}

/// The least shift that leaves at most [`CAPACITY`] of these keys, which ascend.
fn excess(buckets: &[Bucket]) -> u32 {
    if buckets.len() <= CAPACITY {
        return 0;
    }
    // Neighbours join once the highest bit in which they differ is shifted out, so the keys
    // left by shift s are 1 + the pairs that differ in bit s or above.
    let mut pairs = [0; 64];
    for pair in buckets.windows(2) {
        pairs[(pair[0].0 ^ pair[1].0).ilog2() as usize] += 1;
    }
    let mut left = buckets.len();
    let mut shift = 0;
    while left > CAPACITY {
        left -= pairs[shift];
        shift += 1;
    }
    shift as u32
}

/// At most `n` knots, first and last among them, as even in `scale(p)` as they allow.
fn thin(knots: &[(f64, f64)], n: usize, scale: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let [first, .., last] = knots else { return knots.to_vec() };
    let steps = n.max(2) - 1;
    let (low, high) = (scale(first.1), scale(last.1));
    let mut chosen = vec![0];
    for step in 1..steps {
        let target = low + (high - low) * step as f64 / steps as f64;
        let i = knots.partition_point(|knot| scale(knot.1) < target);
        if i > chosen[chosen.len() - 1] && i < knots.len() - 1 {
            chosen.push(i);
        }
    }
    chosen.push(knots.len() - 1);
    chosen.into_iter().map(|i| knots[i]).collect()
}

impl Statistic for Quantiles {
    fn merge(&mut self, other: &Self) -> Result<()> {
        let shift = self.shift.max(other.shift);
        self.buckets = coarsen(std::mem::take(&mut self.buckets), shift - self.shift);
        self.shift = shift;
        self.add(&other.at(shift));
        Ok(())
    }
}

impl Retract for Quantiles {
    /// Undoes a merge up to the width of the buckets, which stays what the merge made it.
    fn remove(&mut self, other: &Self) -> Result<()> {
        let shift = self.shift.max(other.shift);
        let mut buckets = self.at(shift).into_owned();
        for &(key, weight) in other.at(shift).iter() {
            let found = buckets.binary_search_by_key(&key, |bucket| bucket.0);
            let before = found.map_or(0.0, |i| buckets[i].1);
            let left = before - weight;
            match found {
                Ok(i) if left > ROUNDING * before => buckets[i].1 = left,
                Ok(i) if left >= -ROUNDING * before => buckets[i].1 = 0.0,
                _ => {
                    return Err(Error::Cancellation(format!(
                        "values of weight {weight} cannot be removed where there is {before}: these rows are not part of the statistic"
                    )));
                }
            }
        }
        buckets.retain(|bucket| bucket.1 > 0.0);
        // The sketch of no values must be the zero of merging again.
        *self = if buckets.is_empty() { Quantiles::new() } else { Quantiles { shift, buckets } };
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
struct Layout {
    shift: u32,
    buckets: usize,
}

impl Stored for Quantiles {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &Layout { shift: self.shift, buckets: self.buckets.len() })?;
        // A double holds 53 bits, so a key takes two.
        let halves = |&(key, weight): &Bucket| [(key >> 32) as f64, (key & 0xffff_ffff) as f64, weight];
        let values: Vec<f64> = self.buckets.iter().flat_map(halves).collect();
        archive.put(name, &[self.buckets.len(), 3], &values)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let Layout { shift, buckets } = archive.json(name)?;
        let values = archive.finite(name, &[buckets, 3])?;
        let half = |x: f64| (x >= 0.0 && x < 2f64.powi(32) && x.fract() == 0.0).then_some(x as u64);
        let bucket = |b: &[f64]| Some((half(b[0])? << 32 | half(b[1])?, (b[2] > 0.0).then_some(b[2])?));
        let read: Option<Vec<Bucket>> = values.chunks_exact(3).map(bucket).collect();
        let ascending = |b: &Vec<Bucket>| b.is_sorted_by(|a, b| a.0 < b.0);
        let in_range = |b: &Vec<Bucket>| b.last().is_none_or(|b| b.0 <= u64::MAX >> shift);
        read.filter(|b| shift <= MAX_SHIFT && b.len() <= CAPACITY && ascending(b) && in_range(b))
            .map(|buckets| Quantiles { shift, buckets })
            .ok_or_else(|| archive.damaged(&format!("`{name}` is not a sketch of quantiles")))
    }
}

/// The quantiles of several columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketches(pub Vec<Quantiles>);

impl Statistic for Sketches {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of a sketch", self.0.len(), other.0.len())?;
        self.0.iter_mut().zip(&other.0).try_for_each(|(mine, theirs)| mine.merge(theirs))
    }
}

impl Retract for Sketches {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of a sketch", self.0.len(), other.0.len())?;
        // On a copy: the last column may fail when the first has been changed.
        let mut columns = self.0.clone();
        columns.iter_mut().zip(&other.0).try_for_each(|(mine, theirs)| mine.remove(theirs))?;
        self.0 = columns;
        Ok(())
    }
}

impl Stored for Sketches {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &self.0.len())?;
        self.0.iter().enumerate().try_for_each(|(j, column)| column.store(archive, &format!("{name}.{j}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let columns: usize = archive.json(name)?;
        (0..columns).map(|j| Quantiles::load(archive, &format!("{name}.{j}"))).collect::<Result<_>>().map(Sketches)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::{from_bytes, to_bytes};
    use crate::numerics::{Random, normal_quantile};

    fn normals(seed: u64, n: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| random.normal()).collect()
    }

    /// Values of every scale and sign, some of them again and again.
    fn wild(seed: u64, n: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut draw = || match random.below(8) {
            0 => random.below(10) as f64 - 5.0,
            1 => -0.0,
            2 => random.normal() * 1e300,
            3 => random.normal() * 1e-310,
            4 => 1e9 + random.normal(),
            5 => f64::NAN,
            _ => random.normal(),
        };
        (0..n).map(|_| draw()).collect()
    }

    /// The quantile of sorted values by its definition.
    fn exact(sorted: &[f64], p: f64) -> f64 {
        sorted[((p * sorted.len() as f64).ceil() as usize).max(1) - 1]
    }

    fn quantiles_are_within(values: &[f64], relative: f64, absolute: f64) {
        let quantiles = Quantiles::of(values);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        assert!(quantiles.buckets.len() <= CAPACITY);
        for i in 0..=1000 {
            let p = i as f64 / 1000.0;
            let (found, expected) = (quantiles.quantile(p), exact(&sorted, p));
            let error = (found - expected).abs();
            assert!(error <= relative * expected.abs() + absolute, "at {p}: found {found:e}, expected {expected:e}");
        }
    }

    #[test]
    fn order_of_bits_is_the_order_of_numbers() {
        let ascending = [f64::MIN, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1e-310, 1.0, 1.0 + f64::EPSILON, f64::MAX];
        assert!(ascending.is_sorted_by(|&a, &b| ordered(a) < ordered(b)));
        assert!(ascending.iter().all(|&x| from_ordered(ordered(x)) == x));
        assert_eq!(ordered(-0.0), ordered(0.0));
    }

    #[test]
    fn few_values_are_kept_exactly() {
        let quantiles = Quantiles::of(&[5e-324, -1e300, f64::NAN, 1e9 + 0.1, -0.0, 0.0, f64::MAX]);
        let x: Vec<f64> = quantiles.knots(512).into_iter().map(|knot| knot.0).collect();
        assert_eq!(x, [-1e300, 0.0, 5e-324, 1e9 + 0.1, f64::MAX]);
        assert_eq!((quantiles.weight(), quantiles.cdf(0.0), quantiles.cdf(-1.0)), (6.0, 0.5, 1.0 / 6.0));
        assert_eq!(
            (quantiles.quantile(0.0), quantiles.quantile(0.5), quantiles.quantile(1.0)),
            (-1e300, 0.0, f64::MAX)
        );
    }

    #[test]
    fn no_values_have_no_quantiles() {
        let quantiles = Quantiles::of(&[f64::NAN]);
        assert_eq!((quantiles.weight(), quantiles.knots(10)), (0.0, vec![]));
        assert!(quantiles.quantile(0.5).is_nan() && quantiles.cdf(0.0).is_nan());
        assert!(Quantiles::of(&[1.0]).quantile(1.5).is_nan() && Quantiles::of(&[1.0]).cdf(f64::NAN).is_nan());
        assert_eq!(Quantiles::of(&[1.0]).knots(1), [(1.0, 0.5)]);
    }

    #[test]
    fn quantiles_of_many_values_are_within_the_width_of_a_bucket() {
        let z = normals(1, 200_000);
        // Half a bucket, 512 of which make a power of two.
        quantiles_are_within(&z, 1e-3, 0.0);
        quantiles_are_within(&z.iter().map(|z| 1e300 * z).collect::<Vec<_>>(), 1e-3, 0.0);
        quantiles_are_within(&z.iter().map(|z| z.exp()).collect::<Vec<_>>(), 1e-3, 0.0);
        // All values in one power of two, or subnormal: the width is absolute, range / 2¹³ at worst.
        quantiles_are_within(&z.iter().map(|z| 1e9 + z).collect::<Vec<_>>(), 0.0, 1e-3);
        quantiles_are_within(&z.iter().map(|z| 1e-310 * z).collect::<Vec<_>>(), 0.0, 1e-313);
        quantiles_are_within(&z.iter().map(|z| z.round()).collect::<Vec<_>>(), 0.0, 0.0);
    }

    #[test]
    fn quantiles_are_those_of_the_distribution() {
        let quantiles = Quantiles::of(&normals(2, 400_000));
        for p in [0.01, 0.1, 0.5, 0.8, 0.99] {
            // 4 standard errors √(p(1−p)/n)/φ(x), at most 0.0243 for p = 0.01.
            assert!((quantiles.quantile(p) - normal_quantile(p)).abs() < 0.025, "at {p}");
            assert!((quantiles.cdf(normal_quantile(p)) - p).abs() < 0.0035, "at {p}");
        }
    }

    #[test]
    fn knots_are_even_in_probability_and_reach_the_ends() {
        let values = normals(3, 100_000);
        let quantiles = Quantiles::of(&values);
        let all = quantiles.knots(usize::MAX);
        let knots = quantiles.knots(512);
        assert!(knots.len() <= 512 && knots.len() > 500, "{}", knots.len());
        assert_eq!((knots.first(), knots.last()), (all.first(), all.last()));
        assert!(knots.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        assert!(knots.windows(2).all(|k| k[1].1 - k[0].1 < 2.0 / 511.0));
    }

    #[test]
    fn a_heavy_tie_keeps_its_mid_probability() {
        let mut values = vec![0.0; 50_000];
        values.extend(normals(4, 50_000).iter().map(|z| z.abs() + 1.0));
        let knots = Quantiles::of(&values).knots(512);
        assert_eq!(knots[0], (0.0, 0.25));
        assert!(knots.len() <= 512 && knots[1].1 > 0.5);
    }

    #[test]
    fn removing_what_is_not_there_is_an_error_and_changes_nothing() {
        let before = Quantiles::of(&[1.0, 2.0]);
        for other in [Quantiles::of(&[3.0]), Quantiles::of(&[1.0, 1.0])] {
            let mut quantiles = before.clone();
            assert!(matches!(quantiles.remove(&other), Err(Error::Cancellation(_))));
            assert_eq!(quantiles, before);
        }
    }

    #[test]
    fn side_by_side_keeps_each_weight() {
        let (a, b) = (Quantiles::of(&[1.0, 2.0, 2.0]), Quantiles::of(&[2.0, 5.0]));
        let rows = Quantiles::side_by_side(&[&a, &Quantiles::new(), &b]).unwrap();
        assert_eq!(rows, [(1.0, vec![1.0, 0.0, 0.0]), (2.0, vec![2.0, 0.0, 1.0]), (5.0, vec![0.0, 0.0, 1.0])]);
        // A sketch with wide buckets widens the other's.
        let (wide, narrow) = (Quantiles::of(&normals(1, 100_000)), Quantiles::of(&normals(2, 50)));
        let rows = Quantiles::side_by_side(&[&wide, &narrow]).unwrap();
        let sum = |s: usize| rows.iter().map(|row| row.1[s]).sum::<f64>();
        assert!(wide.shift > 0 && rows.len() <= CAPACITY && rows.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!((sum(0), sum(1)), (100_000.0, 50.0));
    }

    #[test]
    fn damaged_sketches_are_refused() {
        let store = |quantiles: &Quantiles| to_bytes(quantiles).and_then(|b| from_bytes::<Quantiles>(&b));
        let good = Quantiles { shift: 3, buckets: vec![(1, 1.0), (u64::MAX >> 3, 0.5)] };
        assert_eq!(store(&good).unwrap(), good);
        let bad = [
            (3, vec![(2, 1.0), (1, 1.0)]),
            (3, vec![(1, 1.0), (1, 1.0)]),
            (3, vec![(1, 0.0)]),
            (3, vec![(1, f64::INFINITY)]),
            (3, vec![(u64::MAX, 1.0)]),
            (51, vec![(1, 1.0)]),
            (0, (0..CAPACITY as u64 + 1).map(|key| (key, 1.0)).collect()),
        ];
        for (shift, buckets) in bad {
            assert!(store(&Quantiles { shift, buckets }).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_partition_in_any_order_gives_the_same_sketch(seed: u64, n in 0usize..60_000, parts in 1usize..9) {
            let values = wild(seed, n);
            let whole = Quantiles::of(&values);
            prop_assert!(whole.buckets.len() <= CAPACITY);
            let mut random = Random::new(seed ^ 1);
            let mut pieces = vec![Vec::new(); parts];
            for x in values {
                pieces[random.below(parts as u64) as usize].push(x);
            }
            let mut sketches: Vec<Quantiles> = pieces.iter().map(|values| Quantiles::of(values)).collect();
            // Two at a time, drawn at random, until one is left.
            while sketches.len() > 1 {
                let a = sketches.swap_remove(random.below(sketches.len() as u64) as usize);
                let b = random.below(sketches.len() as u64) as usize;
                sketches[b].merge(&a).unwrap();
            }
            prop_assert_eq!(&sketches[0], &whole);
        }

        #[test]
        fn the_shift_is_the_least_that_fits(seed: u64, n in 16_000usize..60_000) {
            let values = wild(seed, n);
            let quantiles = Quantiles::of(&values);
            let keys = |shift: u32| {
                let finite = values.iter().filter(|x| x.is_finite());
                finite.map(|&x| ordered(x) >> shift).collect::<std::collections::HashSet<u64>>().len()
            };
            prop_assert_eq!(keys(quantiles.shift), quantiles.buckets.len());
            prop_assert!(quantiles.shift == 0 || keys(quantiles.shift - 1) > CAPACITY);
        }

        #[test]
        fn remove_undoes_merge(seed: u64, n in 0usize..30_000, m in 0usize..30_000) {
            let (a, b) = (Quantiles::of(&wild(seed, n)), Quantiles::of(&wild(!seed, m)));
            let mut both = a.clone();
            both.merge(&b).unwrap();
            let shift = both.shift;
            both.remove(&b).unwrap();
            let expected = if a == Quantiles::new() { a } else { Quantiles { shift, buckets: a.at(shift).into_owned() } };
            prop_assert_eq!(&both, &expected);
            let copy = both.clone();
            both.remove(&copy).unwrap();
            prop_assert_eq!(both, Quantiles::new());
        }

        #[test]
        fn remove_undoes_merge_with_any_weights(seed: u64, n in 1usize..3000) {
            let values: Vec<f64> = normals(seed, n).iter().map(|z| (10.0 * z).round()).collect();
            let weights: Vec<f64> = normals(seed ^ 1, n).iter().map(|z| z.exp()).collect();
            let (mut a, mut b) = (Quantiles::new(), Quantiles::new());
            a.observe(&values[..n / 2], &weights[..n / 2]);
            b.observe(&values[n / 2..], &weights[n / 2..]);
            let mut both = a.clone();
            both.merge(&b).unwrap();
            both.remove(&b).unwrap();
            prop_assert_eq!(both.buckets.len(), a.buckets.len());
            prop_assert!(both.buckets.iter().zip(&a.buckets).all(|(x, y)| x.0 == y.0 && (x.1 - y.1).abs() < 1e-10));
        }

        #[test]
        fn merging_with_nothing_changes_nothing(seed: u64, n in 0usize..40_000) {
            let a = Quantiles::of(&wild(seed, n));
            let (mut left, mut right) = (a.clone(), Quantiles::new());
            left.merge(&Quantiles::new()).unwrap();
            right.merge(&a).unwrap();
            prop_assert_eq!(&left, &a);
            prop_assert_eq!(&right, &a);
        }

        #[test]
        fn a_weight_is_a_repetition(seed: u64, n in 0usize..30_000) {
            let values = wild(seed, n);
            let mut random = Random::new(seed ^ 1);
            let weights: Vec<f64> = (0..n).map(|_| random.below(3) as f64).collect();
            let mut weighted = Quantiles::new();
            weighted.observe(&values, &weights);
            let repeated: Vec<f64> =
                values.iter().zip(&weights).flat_map(|(&x, &w)| std::iter::repeat_n(x, w as usize)).collect();
            prop_assert_eq!(weighted, Quantiles::of(&repeated));
        }

        #[test]
        fn what_is_stored_is_loaded(seed: u64, n in 0usize..40_000) {
            let a = Quantiles::of(&wild(seed, n));
            prop_assert_eq!(from_bytes::<Quantiles>(&to_bytes(&a).unwrap()).unwrap(), a);
        }

        #[test]
        fn quantile_inverts_cdf(seed: u64, n in 1usize..40_000) {
            let a = Quantiles::of(&wild(seed, n));
            for (x, _) in a.knots(100) {
                prop_assert_eq!(a.quantile(a.cdf(x)), x);
            }
        }
    }
}
