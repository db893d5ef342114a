//! Bins of numbers, and the ways to find their cuts: given, of equal mass, or by description length.
//!
//! Cuts c₁ < … < c_B₋₁ make B bins: x < c₁, c₁ ≤ x < c₂, …, x ≥ c_B₋₁. The end bins take whatever
//! lies beyond; their widths reach to the least and the greatest value that was seen.

use serde::{Deserialize, Serialize};

use super::mdl::mdl_cuts;
use crate::data::MISSING;
use crate::error::{Error, Result};
use crate::statistic::Quantiles;

/// How the cuts of columns are found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binning {
    /// Given, for each column.
    Cuts(Vec<Vec<f64>>),
    /// So many bins of equal weight, all classes together.
    Quantiles(usize),
    /// What tells the classes apart, by minimum description length (Fayyad & Irani 1993).
    #[default]
    Mdl,
    /// The same, and bins that hold more than 1/n of the weight are cut further, into parts of equal weight: what two
    /// columns tell together may show in neither of them alone.
    Refined(usize),
    /// About so many bins of equal weight of the values that repeat little; a value with more than 1/n of the weight has
    /// a bin of its own.
    Spread(usize),
}

/// The least weight of a bin of [`Binning::Spread`], but for values with a bin of their own.
const LEAST_ROWS: f64 = 3.0;

impl Binning {
    /// Refuses cuts that do not ascend, and no bins at all.
    pub fn check(&self) -> Result<()> {
        match self {
            Binning::Cuts(columns) => columns.iter().try_for_each(|cuts| check_cuts(cuts)),
            Binning::Quantiles(0) | Binning::Refined(0) | Binning::Spread(0) => {
                Err(Error::parameter("bins", "give at least one bin"))
            }
            _ => Ok(()),
        }
    }

    /// The bins of the `j`th column, from the sketches of its values in each class.
    pub fn bins(&self, j: usize, classes: &[&Quantiles]) -> Result<Bins> {
        self.check()?;
        let values = Quantiles::side_by_side(classes)?;
        let cuts = match self {
            Binning::Cuts(columns) => columns.get(j).cloned().ok_or_else(|| Error::Shape {
                what: "columns with given cuts".into(),
                expected: j + 1,
                found: columns.len(),
            })?,
            Binning::Quantiles(bins) => equal_mass(&values, *bins),
            Binning::Mdl => mdl_cuts(&values),
            Binning::Refined(bins) => refined(&values, mdl_cuts(&values), *bins),
            Binning::Spread(bins) => spread(&values, *bins, LEAST_ROWS),
        };
        let [low, high] = [values.first(), values.last()].map(|end| end.map(|row| row.0));
        Bins::new(cuts, low, high)
    }
}

/// A finite number above `a` and not above `b`, halfway where doubles allow.
pub(super) fn between(a: f64, b: f64) -> f64 {
    let middle = 0.5 * a + 0.5 * b;
    if middle > a && middle <= b { middle } else { b }
}

/// The cuts next to the shares 1/n, 2/n, … of the weight; fewer where values repeat.
fn equal_mass(values: &[(f64, Vec<f64>)], bins: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let below: Vec<f64> = values
        .iter()
        .map(|(_, weights)| {
            sum += weights.iter().sum::<f64>();
            sum
        })
        .collect();
    let mut places: Vec<usize> = (1..bins)
        .map(|i| sum * i as f64 / bins as f64)
        .map(|target| {
            let i = below.partition_point(|&b| b < target);
            let nearer_before = i > 0 && target - below[i - 1] < below.get(i).map_or(f64::INFINITY, |b| b - target);
            if nearer_before { i } else { i + 1 }
        })
        .filter(|&place| place > 0 && place < values.len())
        .collect();
    places.dedup();
    places.into_iter().map(|i| between(values[i - 1].0, values[i].0)).collect()
}

/// Cuts for about so many bins, where a value with the share 1/n of the weight or more has a bin of its own, and the
/// others share the rest of the bins evenly. So a column that is mostly 0 has most of its cuts elsewhere. No bin is made
/// that has less than `least` of the weight, but for what lies between two such values.
fn spread(values: &[(f64, Vec<f64>)], bins: usize, least: f64) -> Vec<f64> {
    let weights: Vec<f64> = values.iter().map(|(_, weights)| weights.iter().sum()).collect();
    let total: f64 = weights.iter().sum();
    let is_heavy = |w: f64| w * bins as f64 >= total && w >= least;
    let (heavy, light) = weights.iter().partition::<Vec<f64>, _>(|w| is_heavy(**w));
    let target = (light.iter().sum::<f64>() / bins.saturating_sub(heavy.len()).max(1) as f64).max(least);
    let (mut places, mut sum) = (Vec::new(), 0.0);
    for i in 1..values.len() {
        sum += weights[i - 1];
        // The next value counts by half: the cut is where the bin is nearest to its share.
        let full = sum + 0.5 * weights[i].min(target) > target && sum >= least;
        if is_heavy(weights[i - 1]) || is_heavy(weights[i]) || full {
            places.push(i);
            sum = 0.0;
        }
    }
    places.into_iter().map(|i| between(values[i - 1].0, values[i].0)).collect()
}

/// These cuts and more of them: a bin with the share s of the weight is cut into the whole number of parts next to
/// n·s.
fn refined(values: &[(f64, Vec<f64>)], mut cuts: Vec<f64>, bins: usize) -> Vec<f64> {
    let weight = |values: &[(f64, Vec<f64>)]| values.iter().flat_map(|(_, weights)| weights).sum::<f64>();
    let total = weight(values);
    let mut rest = values;
    let mut more = Vec::new();
    for &cut in cuts.iter().chain([&f64::INFINITY]) {
        let (own, others) = rest.split_at(rest.partition_point(|(x, _)| *x < cut));
        more.extend(equal_mass(own, (bins as f64 * weight(own) / total).round() as usize));
        rest = others;
    }
    cuts.extend(more);
    cuts.sort_by(f64::total_cmp);
    cuts
}

fn check_cuts(cuts: &[f64]) -> Result<()> {
    match cuts.iter().all(|c| c.is_finite()) && cuts.is_sorted_by(|a, b| a < b) {
        true => Ok(()),
        false => Err(Error::parameter("bins", format!("the cuts {cuts:?} must ascend: write 400,800,1200"))),
    }
}

/// The bins of one column.
///
/// ```
/// use deciban::transform::Bins;
/// let area = Bins::new(vec![400.0, 800.0, 1200.0], Some(250.0), Some(2000.0))?;
/// assert_eq!(area.names(), ["<400", "400..800", "800..1200", ">=1200"]);
/// // Codes count from 0: 890 square feet are in the third bin.
/// assert_eq!([area.code(399.0), area.code(400.0), area.code(890.0), area.code(9000.0)], [0, 1, 2, 3]);
/// assert_eq!(area.width(0), 150.0);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    cuts: Vec<f64>,
    /// The outer edges, below the first cut and above the last.
    low: f64,
    high: f64,
}

impl Bins {
    /// Bins with these cuts, between the least and the greatest value seen. An end bin without
    /// values is as wide as its neighbour, and 1 wide where there is none.
    pub fn new(cuts: Vec<f64>, least: Option<f64>, greatest: Option<f64>) -> Result<Self> {
        check_cuts(&cuts)?;
        let step = |pair: Option<&[f64]>| pair.map_or(1.0, |p| (p[1] - p[0]).min(f64::MAX));
        let (first, last) = match (cuts.first(), cuts.last()) {
            (Some(first), Some(last)) => (*first, *last),
            // One bin: its edges are the values.
            _ => (greatest.unwrap_or(0.0), least.unwrap_or(0.0)),
        };
        // Far from 0 a step of 1 may be less than a double can tell.
        let outside = |edge: f64, side: f64, step: f64| edge + side * step.max(1e-9 * edge.abs());
        let low = least.filter(|low| *low < first);
        let high = greatest.filter(|high| *high > last);
        let low = low.unwrap_or_else(|| outside(first, -1.0, step(cuts.windows(2).next())));
        let high = high.unwrap_or_else(|| outside(last, 1.0, step(cuts.windows(2).next_back())));
        match low < high && low.is_finite() && high.is_finite() {
            true => Ok(Bins { cuts, low, high }),
            false => Err(Error::parameter("bins", "the numbers are too large to be cut into bins")),
        }
    }

    /// The cuts.
    pub fn cuts(&self) -> &[f64] {
        &self.cuts
    }

    /// The number of bins.
    pub fn count(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The bin of a number; [`MISSING`] for NaN.
    pub fn code(&self, x: f64) -> u32 {
        if x.is_nan() { MISSING } else { self.cuts.partition_point(|c| *c <= x) as u32 }
    }

    /// The bin of each number.
    pub fn codes(&self, numbers: &[f64], out: &mut Vec<u32>) {
        out.clear();
        out.extend(numbers.iter().map(|&x| self.code(x)));
    }

    /// The edges of a bin.
    ///
    /// # Panics
    /// If there is no such bin.
    pub fn edges(&self, bin: usize) -> (f64, f64) {
        let low = if bin == 0 { self.low } else { self.cuts[bin - 1] };
        (low, self.cuts.get(bin).copied().unwrap_or(self.high))
    }

    /// The width of a bin.
    ///
    /// # Panics
    /// If there is no such bin.
    pub fn width(&self, bin: usize) -> f64 {
        let (low, high) = self.edges(bin);
        (high - low).min(f64::MAX)
    }

    /// The number at the share `u` of the way through a bin.
    ///
    /// # Panics
    /// If there is no such bin.
    pub fn at(&self, bin: usize, u: f64) -> f64 {
        let (low, high) = self.edges(bin);
        let x = (1.0 - u) * low + u * high;
        // Rounding must not carry it into a neighbour.
        if x < low || (bin < self.cuts.len() && x >= high) { low } else { x.min(high) }
    }

    /// What the bins are called.
    pub fn names(&self) -> Vec<String> {
        let name = |bin: usize| match (bin.checked_sub(1).map(|i| self.cuts[i]), self.cuts.get(bin)) {
            (None, None) => "any".to_string(),
            (None, Some(high)) => format!("<{high}"),
            (Some(low), Some(high)) => format!("{low}..{high}"),
            (Some(low), None) => format!(">={low}"),
        };
        (0..self.count()).map(name).collect()
    }

    /// Cuts with the outer edges around them: what is stored.
    pub(crate) fn all_edges(&self) -> Vec<f64> {
        [&[self.low], &self.cuts[..], &[self.high]].concat()
    }

    /// What [`all_edges`](Bins::all_edges) gave, checked.
    pub(crate) fn from_edges(edges: &[f64]) -> Option<Self> {
        let ascend = edges.iter().all(|e| e.is_finite()) && edges.is_sorted_by(|a, b| a < b);
        match edges {
            [low, cuts @ .., high] if ascend => Some(Bins { cuts: cuts.to_vec(), low: *low, high: *high }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_equal_mass() {
        let (a, b) =
            (Quantiles::of(&[1.0, 2.0, 3.0, 4.0, 5.0]), Quantiles::of(&[6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]));
        let bins = |n| Binning::Quantiles(n).bins(0, &[&a, &b]).unwrap().cuts().to_vec();
        assert_eq!(bins(1), [0.0; 0]);
        assert_eq!(bins(2), [6.5]);
        assert_eq!(bins(3), [4.5, 8.5]);
        assert_eq!(bins(12).len(), 11);
        assert_eq!(bins(50), bins(12));
        // A value with half of the weight is one bin, whatever the number asked for.
        let ties = Quantiles::of(&[1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(Binning::Quantiles(4).bins(0, &[&ties]).unwrap().cuts(), [1.5, 2.5, 3.5]);
    }

    #[test]
    fn large_bins_are_cut_further() {
        let ascending = |from: u32, to: u32| Quantiles::of(&(from..to).map(f64::from).collect::<Vec<_>>());
        // MDL cuts at 19.5; 20 and 80 of 100 rows are 1 and 4 of 5 parts.
        let (a, b) = (ascending(0, 20), ascending(20, 100));
        let bins = |n: usize| Binning::Refined(n).bins(0, &[&a, &b]).unwrap().cuts().to_vec();
        assert_eq!(bins(1), [19.5]);
        assert_eq!(bins(5), [19.5, 39.5, 59.5, 79.5]);
        // What tells nothing by itself is cut all the same.
        assert_eq!(Binning::Refined(2).bins(0, &[&ascending(0, 10)]).unwrap().cuts(), [4.5]);
        assert_eq!(Binning::Refined(5).bins(0, &[&Quantiles::default()]).unwrap().count(), 1);
        assert!(Binning::Refined(0).check().is_err());
    }

    /// A value with its share of the weight has a bin of its own, and the others share the bins that are left.
    #[test]
    fn bins_are_spread_over_what_repeats_little() {
        let mut values = vec![0.0; 900];
        values.extend((1..=100).map(f64::from));
        let bins = |n: usize| Binning::Spread(n).bins(0, &[&Quantiles::of(&values)]).unwrap().cuts().to_vec();
        assert_eq!(bins(11), [0.5, 10.5, 20.5, 30.5, 40.5, 50.5, 60.5, 70.5, 80.5, 90.5]);
        // No bin has fewer than three rows, but for what lies between values that repeat much.
        let most = bins(1000);
        assert!(most[0] == 0.5 && most.windows(2).all(|w| w[1] - w[0] >= 3.0) && most.len() > 30, "{most:?}");
        let flags = Quantiles::of(&[[0.0; 20], [1.0; 20], [2.0; 20]].concat());
        assert_eq!(Binning::Spread(4).bins(0, &[&flags]).unwrap().cuts(), [0.5, 1.5]);
        assert_eq!(Binning::Spread(4).bins(0, &[&Quantiles::default()]).unwrap().count(), 1);
        assert!(Binning::Spread(0).check().is_err());
    }

    #[test]
    fn end_bins_without_values_are_as_wide_as_their_neighbours() {
        let bins = Bins::new(vec![0.0, 2.0, 5.0], Some(0.0), Some(5.0)).unwrap();
        assert_eq!((bins.edges(0), bins.edges(3)), ((-2.0, 0.0), (5.0, 8.0)));
        assert_eq!(Bins::new(vec![], Some(7.0), Some(7.0)).unwrap().edges(0), (6.0, 8.0));
        assert_eq!(Bins::new(vec![], Some(3.0), Some(7.0)).unwrap().edges(0), (3.0, 7.0));
        assert_eq!(Bins::new(vec![4.0], None, None).unwrap().edges(1), (4.0, 5.0));
        assert_eq!(Bins::new(vec![], None, None).unwrap().names(), ["any"]);
    }

    #[test]
    fn cuts_that_do_not_ascend_are_refused() {
        for cuts in [vec![2.0, 1.0], vec![1.0, 1.0], vec![f64::NAN], vec![f64::INFINITY]] {
            assert!(Bins::new(cuts.clone(), None, None).is_err());
            assert!(Binning::Cuts(vec![cuts]).check().is_err());
        }
        assert!(Binning::Quantiles(0).check().is_err());
        assert!(Binning::Cuts(vec![vec![1.0]]).bins(1, &[&Quantiles::of(&[1.0])]).is_err());
        assert!(Bins::from_edges(&[1.0]).is_none() && Bins::from_edges(&[1.0, 3.0, 2.0]).is_none());
    }

    #[test]
    fn neighbouring_doubles_are_cut_apart() {
        for (a, b) in [(1.0, 1.0 + f64::EPSILON), (0.0, 5e-324), (f64::MIN, f64::MAX), (-5e-324, 0.0)] {
            let cut = between(a, b);
            assert!(a < cut && cut <= b, "{a} {cut} {b}");
        }
    }

    #[test]
    fn draws_stay_in_their_bin() {
        let bins = Bins::new(vec![1.0, 1.0 + f64::EPSILON, 3.0], Some(0.5), Some(1e300)).unwrap();
        for bin in 0..bins.count() {
            for u in [1e-16, 0.3, 0.5, 1.0 - 1e-16] {
                assert_eq!(bins.code(bins.at(bin, u)), bin as u32);
            }
        }
    }
}
