//! Histograms: numbers cut into bins, p(x | c) = p(bin of x | c) / width of the bin.
//!
//! Statistic, for each column: the sketch of its values ([`Quantiles`]), and with given cuts also
//! the exact weight n_b of every bin. The bins are found at the fit, from all classes together
//! ([`Binning`]): given, of equal mass, or by minimum description length. Then
//!
//! ```text
//! p(b | c) = (n_cb + α) / (n_c + αB)        B bins, pseudo-count α
//! ```
//!
//! With α = 0 a bin that a class never saw is impossible (−∞). The end bins reach to the least and the
//! greatest value of all classes; values beyond fall in them and get their density, which therefore
//! integrates to 1 over the range seen. Widths are the same for all classes, so the evidence between
//! classes does not depend on them. Columns are independent given the class, missing cells add nothing.
//!
//! A sketch tells values apart to 2⁻³⁸ of themselves or better (exactly, up to 16384 different ones);
//! found cuts lie between what it tells apart.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{AnyStatistic, Density, Family, Names, Parameters};
use crate::data::{Cells, Column, Tile, Value};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::Random;
use crate::statistic::{Quantiles, Retract, Statistic};
use crate::transform::{Binning, Bins};

/// The histogram family.
///
/// Living areas of flats and houses, in square feet, with bins at 400, 800 and 1200:
///
/// ```
/// use deciban::data::{Batch, Cells, Rows, Tile};
/// use deciban::family::histogram::Histogram;
/// use deciban::family::{Density, Family, Names};
/// use deciban::transform::Binning;
///
/// let cuts = Binning::Cuts(vec![vec![400.0, 800.0, 1200.0]]);
/// let family = Histogram { bins: cuts, pseudo_count: 1.0 };
/// let names = ["area".to_string()];
/// let classes = ["flat", "house"].map(String::from);
/// let statistic = |areas: &[f64]| {
///     let mut statistic = family.empty(1);
///     let batch = Batch::new(areas.len()).column(areas)?;
///     family.observe(&mut statistic, &Cells::new(&batch, &[0], Rows::Range(0..areas.len())), &names)?;
///     Ok::<_, deciban::Error>(statistic)
/// };
/// // Made-up areas in square feet.
/// let flats = statistic(&[300.0, 350.0, 420.0, 500.0, 640.0, 900.0])?;
/// let houses = statistic(&[700.0, 950.0, 1100.0, 1300.0, 1500.0, 2000.0])?;
/// let density = family.fit(&[&flats, &houses], Names { columns: &names, levels: &[0], classes: &classes })?;
///
/// // Flats have 2, 3, 1, 0 of 6 in the four bins, houses 0, 1, 2, 3; each bin gets one more.
/// assert!((density.probability(0, 0, 1) - 4.0 / 10.0).abs() < 1e-15);
/// // 890 is in the third bin, 800..1200: 2/10 against 3/10, over a width of 400. 5000 is in the last bin.
/// let mut out = Tile::default();
/// out.resize(2, 2);
/// let batch = Batch::new(2).column(&[890.0, 5000.0][..])?;
/// density.add_log_density(&Cells::new(&batch, &[0], Rows::Range(0..2)), &names, &mut out)?;
/// assert!((out.column(0)[0] - (0.2f64 / 400.0).ln()).abs() < 1e-14);
/// assert!((out.column(1)[0] - out.column(0)[0] - 1.5f64.ln()).abs() < 1e-14);
/// assert!((out.column(1)[1] - out.column(0)[1] - 4f64.ln()).abs() < 1e-14);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// How the cuts are found.
    pub bins: Binning,
    /// α: rows that the prior adds to every bin of every class.
    pub pseudo_count: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { bins: Binning::Mdl, pseudo_count: 1.0 }
    }
}

impl Histogram {
    /// Refuses hyper-parameters out of range.
    pub fn check(&self) -> Result<()> {
        if !(self.pseudo_count >= 0.0 && self.pseudo_count.is_finite()) {
            return Err(Error::parameter("pseudo_count", "give a number of 0 or more"));
        }
        self.bins.check()
    }
}

/// What is kept of one class's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramStatistic {
    sketches: Vec<Quantiles>,
    /// Of each column with given cuts, these and the weights of its bins.
    given: Vec<Given>,
}

#[derive(Clone, Debug, PartialEq)]
struct Given {
    cuts: Vec<f64>,
    weights: Vec<f64>,
}

/// The sketches of the columns in each class, from what the pass of this family left.
pub fn sketches(classes: &[AnyStatistic]) -> Result<Vec<Vec<Quantiles>>> {
    let of = |any: &AnyStatistic| match any {
        AnyStatistic::Histogram(statistic) => Ok(statistic.sketches().to_vec()),
        _ => Err(Error::Schema("bins are found from the statistics of the histogram family".into())),
    };
    classes.iter().map(of).collect()
}

impl HistogramStatistic {
    /// The values of each column.
    pub fn sketches(&self) -> &[Quantiles] {
        &self.sketches
    }

    /// The weights of a column's bins, exact where these are the given ones.
    fn weights(&self, column: usize, bins: &Bins) -> Result<Vec<f64>> {
        if let Some(given) = self.given.get(column).filter(|given| given.cuts == bins.cuts()) {
            return Ok(given.weights.clone());
        }
        let mut weights = vec![0.0; bins.count()];
        for (x, weight) in Quantiles::side_by_side(&[&self.sketches[column]])? {
            weights[bins.code(x) as usize] += weight[0];
        }
        Ok(weights)
    }

    fn check(&self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the histograms", self.sketches.len(), other.sketches.len())?;
        let cuts = |side: &Self| side.given.iter().map(|given| given.cuts.clone()).collect::<Vec<_>>();
        match cuts(self) == cuts(other) {
            true => Ok(()),
            false => Err(Error::Schema("the histograms have other cuts: make them with the same §bins".into())),
        }
    }
}

impl Statistic for HistogramStatistic {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.check(other)?;
        for (mine, theirs) in self.given.iter_mut().zip(&other.given) {
            mine.weights.iter_mut().zip(&theirs.weights).for_each(|(a, b)| *a += b);
        }
        self.sketches.iter_mut().zip(&other.sketches).try_for_each(|(mine, theirs)| mine.merge(theirs))
    }
}

impl Retract for HistogramStatistic {
    fn remove(&mut self, other: &Self) -> Result<()> {
        self.check(other)?;
        // On a copy: the last column may fail when the first has been changed.
        let mut left = self.clone();
        left.sketches.iter_mut().zip(&other.sketches).try_for_each(|(mine, theirs)| mine.remove(theirs))?;
        for (mine, theirs) in left.given.iter_mut().zip(&other.given) {
            for (a, b) in mine.weights.iter_mut().zip(&theirs.weights) {
                let (before, after) = (*a, *a - b);
                if after < -1e-9 * before || b > &0.0 && before == 0.0 {
                    return Err(Error::Cancellation(format!(
                        "values of weight {b} cannot be removed from a bin with {before}: these rows are not part of it"
                    )));
                }
                *a = if after > 1e-9 * before { after } else { 0.0 };
            }
        }
        *self = left;
        Ok(())
    }
}

impl Stored for HistogramStatistic {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let lengths: Vec<usize> = self.given.iter().map(|given| given.cuts.len()).collect();
        archive.put_json(&format!("{name}.shape"), &(self.sketches.len(), lengths))?;
        for (j, sketch) in self.sketches.iter().enumerate() {
            sketch.store(archive, &format!("{name}.sketch{j}"))?;
        }
        for (j, Given { cuts, weights }) in self.given.iter().enumerate() {
            archive.put(&format!("{name}.cuts{j}"), &[cuts.len()], cuts)?;
            archive.put(&format!("{name}.weights{j}"), &[weights.len()], weights)?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (width, lengths): (usize, Vec<usize>) = archive.json(&format!("{name}.shape"))?;
        let sketches =
            (0..width).map(|j| Quantiles::load(archive, &format!("{name}.sketch{j}"))).collect::<Result<_>>()?;
        let given = |(j, &n): (usize, &usize)| {
            let cuts = archive.finite(&format!("{name}.cuts{j}"), &[n])?.to_vec();
            let weights = archive.finite(&format!("{name}.weights{j}"), &[n.saturating_add(1)])?.to_vec();
            match cuts.is_sorted_by(|a, b| a < b) && weights.iter().all(|w| *w >= 0.0) {
                true => Ok(Given { cuts, weights }),
                false => Err(archive.damaged(&format!("`{name}` does not hold the weights of bins"))),
            }
        };
        let given = lengths.iter().enumerate().map(given).collect::<Result<Vec<_>>>()?;
        match given.is_empty() || given.len() == width {
            true => Ok(HistogramStatistic { sketches, given }),
            false => Err(archive.damaged(&format!("`{name}` has cuts for other columns"))),
        }
    }
}

/// The densities of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramDensity {
    columns: Vec<HistogramColumn>,
    classes: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct HistogramColumn {
    bins: Bins,
    /// p(b | c), class by class.
    probabilities: Vec<Vec<f64>>,
    /// ln p(b | c) − ln width, class by class.
    log_density: Vec<Vec<f64>>,
}

impl HistogramColumn {
    fn new(bins: Bins, probabilities: Vec<Vec<f64>>) -> Self {
        let log_density =
            |class: &Vec<f64>| class.iter().enumerate().map(|(b, p)| p.ln() - bins.width(b).ln()).collect();
        HistogramColumn { log_density: probabilities.iter().map(log_density).collect(), bins, probabilities }
    }
}

impl HistogramDensity {
    /// The bins of a column.
    pub fn bins(&self, column: usize) -> &Bins {
        &self.columns[column].bins
    }

    /// p(bin | class) of a column.
    pub fn probability(&self, column: usize, class: usize, bin: usize) -> f64 {
        self.columns[column].probabilities[class][bin]
    }
}

/// Copies one column's numbers; infinite ones are refused.
fn read(x: &Cells<'_>, names: &[String], tile: &mut Tile) -> Result<()> {
    x.read_numbers(tile)?;
    for j in 0..tile.width() {
        if let Some(i) = tile.column(j).iter().position(|x| x.is_infinite()) {
            return Err(Error::Infinite { column: name(names, j).into(), row: x.row_number(i) + 1 });
        }
    }
    Ok(())
}

fn name(names: &[String], j: usize) -> &str {
    names.get(j).map_or("", String::as_str)
}

impl Density for HistogramDensity {
    fn classes(&self) -> usize {
        self.classes
    }

    fn width(&self) -> usize {
        self.columns.len()
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let rows = |(name, column): (&Column, &HistogramColumn)| {
            let values = |b: usize| column.probabilities.iter().map(|class| class[b]).collect();
            let bins = column.bins.names().into_iter().enumerate();
            bins.map(|(b, bin)| (format!("{} {bin}", name.name), values(b))).collect::<Vec<_>>()
        };
        vec![Parameters { what: "probability", rows: columns.iter().zip(&self.columns).flat_map(rows).collect() }]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let own = |column: &HistogramColumn| HistogramColumn {
            bins: column.bins.clone(),
            probabilities: column.probabilities[groups.clone()].to_vec(),
            log_density: column.log_density[groups.clone()].to_vec(),
        };
        HistogramDensity { columns: self.columns.iter().map(own).collect(), classes: groups.len() }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        Error::check_shape("columns of a block", self.width(), x.width())?;
        let (mut tile, mut codes) = (Tile::default(), Vec::new());
        read(x, names, &mut tile)?;
        for (j, column) in self.columns.iter().enumerate() {
            column.bins.codes(tile.column(j), &mut codes);
            for (class, log_density) in column.log_density.iter().enumerate() {
                for (out, &code) in out.column_mut(class).iter_mut().zip(&codes) {
                    // A missing cell has no bin.
                    *out += log_density.get(code as usize).unwrap_or(&0.0);
                }
            }
        }
        Ok(())
    }

    fn points(&self, group: usize, column: usize) -> Option<Vec<(f64, f64)>> {
        let HistogramColumn { bins, probabilities, .. } = &self.columns[column];
        Some(probabilities[group].iter().enumerate().map(|(bin, p)| (bins.at(bin, 0.5), *p)).collect())
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        if class >= self.classes {
            return Err(Error::Classes(format!("there is no class {class}")));
        }
        let draw = |column: &HistogramColumn| {
            let bin = random.pick(&column.probabilities[class]);
            Value::Number(column.bins.at(bin, random.uniform()))
        };
        Ok(self.columns.iter().map(draw).collect())
    }
}

impl Stored for HistogramDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let counts: Vec<usize> = self.columns.iter().map(|column| column.bins.count()).collect();
        archive.put_json(&format!("{name}.shape"), &(self.classes, counts))?;
        for (j, column) in self.columns.iter().enumerate() {
            let edges = column.bins.all_edges();
            archive.put(&format!("{name}.edges{j}"), &[edges.len()], &edges)?;
            let shape = [self.classes, column.bins.count()];
            archive.put(&format!("{name}.probabilities{j}"), &shape, &column.probabilities.concat())?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (classes, counts): (usize, Vec<usize>) = archive.json(&format!("{name}.shape"))?;
        let damaged = || archive.damaged(&format!("`{name}` does not hold histograms"));
        let column = |(j, &bins): (usize, &usize)| {
            let edges = archive.finite(&format!("{name}.edges{j}"), &[bins.saturating_add(1)])?;
            let probabilities = archive.finite(&format!("{name}.probabilities{j}"), &[classes, bins])?;
            let rows: Vec<Vec<f64>> = probabilities.chunks_exact(bins.max(1)).map(<[f64]>::to_vec).collect();
            let distribution =
                |row: &Vec<f64>| row.iter().all(|p| *p >= 0.0) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-9;
            let bins = Bins::from_edges(edges).filter(|_| rows.iter().all(distribution)).ok_or_else(damaged)?;
            Ok(HistogramColumn::new(bins, rows))
        };
        Ok(HistogramDensity { columns: counts.iter().enumerate().map(column).collect::<Result<_>>()?, classes })
    }
}

impl Family for Histogram {
    type Statistic = HistogramStatistic;
    type Density = HistogramDensity;

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        Self { pseudo_count, ..self }
    }

    fn empty(&self, width: usize) -> HistogramStatistic {
        let given = match &self.bins {
            Binning::Cuts(columns) => {
                columns.iter().map(|cuts| Given { cuts: cuts.clone(), weights: vec![0.0; cuts.len() + 1] }).collect()
            }
            _ => Vec::new(),
        };
        HistogramStatistic { sketches: vec![Quantiles::new(); width], given }
    }

    fn size(&self, width: usize) -> usize {
        // A full sketch: 2¹⁴ buckets of a key and a weight.
        width * (16 << 14)
    }

    fn observe(&self, statistic: &mut HistogramStatistic, x: &Cells<'_>, names: &[String]) -> Result<()> {
        self.check()?;
        Error::check_shape("columns of a block", statistic.sketches.len(), x.width())?;
        if !statistic.given.is_empty() {
            Error::check_shape("columns with given cuts", statistic.given.len(), x.width())?;
        }
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        read(x, names, &mut tile)?;
        x.read_weights(&mut weights);
        for (j, sketch) in statistic.sketches.iter_mut().enumerate() {
            sketch.observe(tile.column(j), &weights);
        }
        for (j, Given { cuts, weights: bins }) in statistic.given.iter_mut().enumerate() {
            for (x, w) in tile.column(j).iter().zip(&weights).filter(|(x, _)| !x.is_nan()) {
                bins[cuts.partition_point(|c| c <= x)] += w;
            }
        }
        Ok(())
    }

    fn fit(&self, classes: &[&HistogramStatistic], names: Names<'_>) -> Result<HistogramDensity> {
        self.check()?;
        let width = classes.first().map_or(0, |class| class.sketches.len());
        classes.iter().try_for_each(|c| Error::check_shape("columns of the histograms", width, c.sketches.len()))?;
        let alpha = self.pseudo_count;
        let column = |j: usize| {
            let bins = self.bins.bins(j, &classes.iter().map(|class| &class.sketches[j]).collect::<Vec<_>>())?;
            let shares = |(c, class): (usize, &HistogramStatistic)| {
                let weights = class.weights(j, &bins)?;
                let total = weights.iter().sum::<f64>() + alpha * bins.count() as f64;
                if total <= 0.0 {
                    let (column, class) = (name(names.columns, j), name(names.classes, c));
                    return Err(Error::Schema(format!(
                        "column `{column}` has no values within class `{class}`: leave it out with §ignore='{column}', \
                         or give §pseudo_count=1"
                    )));
                }
                Ok(weights.iter().map(|n| (n + alpha) / total).collect())
            };
            let probabilities = classes.iter().copied().enumerate().map(shares).collect::<Result<_>>()?;
            Ok(HistogramColumn::new(bins, probabilities))
        };
        Ok(HistogramDensity { columns: (0..width).map(column).collect::<Result<_>>()?, classes: classes.len() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{Batch, Rows};
    use crate::file::{from_bytes, to_bytes};

    fn observe(family: &Histogram, x: &[f64], weights: Option<&[f64]>) -> HistogramStatistic {
        let mut statistic = family.empty(1);
        let mut batch = Batch::new(x.len()).column(x).unwrap();
        if let Some(weights) = weights {
            batch = batch.weights(weights).unwrap();
        }
        family.observe(&mut statistic, &Cells::new(&batch, &[0], Rows::Range(0..x.len())), &["a".into()]).unwrap();
        statistic
    }

    fn fit(family: &Histogram, classes: &[HistogramStatistic]) -> Result<HistogramDensity> {
        let class_names = ["x", "y", "z"].map(String::from);
        let names = Names { columns: &["a".into()], levels: &[0], classes: &class_names[..classes.len()] };
        family.fit(&classes.iter().collect::<Vec<_>>(), names)
    }

    fn score(density: &HistogramDensity, x: &[f64]) -> Tile {
        let mut out = Tile::default();
        out.resize(x.len(), density.classes());
        out.data_mut().fill(0.0);
        let batch = Batch::new(x.len()).column(x).unwrap();
        density.add_log_density(&Cells::new(&batch, &[0], Rows::Range(0..x.len())), &["a".into()], &mut out).unwrap();
        out
    }

    fn normals(seed: u64, n: usize, mean: f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| mean + random.normal()).collect()
    }

    fn families() -> [Histogram; 3] {
        let cuts = Binning::Cuts(vec![vec![-0.5, 0.25, 1.0]]);
        [cuts, Binning::Quantiles(7), Binning::Mdl].map(|bins| Histogram { bins, pseudo_count: 0.5 })
    }

    #[test]
    fn densities_integrate_to_one() {
        for family in families() {
            let classes =
                [observe(&family, &normals(1, 500, 0.0), None), observe(&family, &normals(2, 300, 2.0), None)];
            let density = fit(&family, &classes).unwrap();
            let bins = density.bins(0);
            assert!(bins.count() > 1);
            for class in 0..2 {
                // Exact: the density is constant within a bin.
                let mass = |b: usize| score(&density, &[bins.at(b, 0.5)]).column(class)[0].exp() * bins.width(b);
                let sum: f64 = (0..bins.count()).map(mass).sum();
                assert!((sum - 1.0).abs() < 1e-14, "{sum}");
            }
            assert_eq!(from_bytes::<HistogramDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
        }
    }

    #[test]
    fn ranges_reach_to_the_values_of_all_classes() {
        let family = &families()[0];
        let density = fit(family, &[observe(family, &[-3.0, 0.0], None), observe(family, &[0.5, 9.0], None)]).unwrap();
        assert_eq!((density.bins(0).edges(0), density.bins(0).edges(3)), ((-3.0, -0.5), (1.0, 9.0)));
        // Beyond the range the density is that of the end bin; missing cells add nothing.
        let out = score(&density, &[-100.0, -1.0, f64::NAN]);
        assert_eq!(out.column(0)[0], out.column(0)[1]);
        assert_eq!((out.column(0)[2], out.column(1)[2]), (0.0, 0.0));
        let rows = &density.parameters(&[Column::number("a")])[0].rows;
        assert_eq!(rows[0].0, "a <-0.5");
        assert_eq!(rows[3].1, [0.5 / 4.0, 1.5 / 4.0]);
    }

    #[test]
    fn without_a_pseudo_count_the_unseen_is_impossible() {
        let family = Histogram { pseudo_count: 0.0, ..families()[0].clone() };
        let density =
            fit(&family, &[observe(&family, &[0.0], None), observe(&family, &[2.0, f64::NAN], None)]).unwrap();
        let out = score(&density, &[2.0]);
        assert_eq!(out.column(0)[0], f64::NEG_INFINITY);
        assert_eq!(density.probability(0, 1, 3), 1.0);
        let error = fit(&family, &[observe(&family, &[0.0], None), family.empty(1)]).unwrap_err().to_string();
        assert!(error.contains("column `a` has no values within class `y`"), "{error}");
    }

    #[test]
    fn samples_recover_the_probabilities() {
        for family in families() {
            let classes =
                [observe(&family, &normals(1, 500, 0.0), None), observe(&family, &normals(2, 300, 2.0), None)];
            let density = fit(&family, &classes).unwrap();
            let (bins, n, mut random) = (density.bins(0), 100_000, Random::new(3));
            let mut counts = vec![0.0; bins.count()];
            for _ in 0..n {
                let Value::Number(x) = density.sample(1, &mut random).unwrap()[0] else { panic!("a number") };
                counts[bins.code(x) as usize] += 1.0;
            }
            for (b, count) in counts.iter().enumerate() {
                let p = density.probability(0, 1, b);
                assert!(
                    (count / n as f64 - p).abs() < 4.5 * (p * (1.0 - p) / n as f64).sqrt(),
                    "{b}: {count}, not {p}"
                );
            }
        }
    }

    #[test]
    fn the_fit_may_ask_for_other_bins_than_the_pass() {
        let [given, quantiles, _] = families();
        let x = normals(4, 1000, 0.0);
        let from_given = fit(&quantiles, &[observe(&given, &x, None)]).unwrap();
        assert_eq!(from_given, fit(&quantiles, &[observe(&quantiles, &x, None)]).unwrap());
        // And given cuts from sketches alone, exact up to 16384 different values.
        let from_sketch = fit(&given, &[observe(&quantiles, &x, None)]).unwrap();
        assert_eq!(from_sketch, fit(&given, &[observe(&given, &x, None)]).unwrap());
    }

    #[test]
    fn hyper_parameters_are_checked() {
        for pseudo_count in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Histogram { pseudo_count, ..Histogram::default() }.check().is_err());
        }
        let two = Histogram { bins: Binning::Cuts(vec![vec![1.0], vec![2.0]]), pseudo_count: 1.0 };
        let batch = Batch::new(1).column(&[1.0][..]).unwrap();
        let cells = Cells::new(&batch, &[0], Rows::Range(0..1));
        assert!(two.observe(&mut two.empty(1), &cells, &["a".into()]).is_err());
        let batch = Batch::new(2).column(&[1.0, f64::INFINITY][..]).unwrap();
        let error = Histogram::default().observe(
            &mut Histogram::default().empty(1),
            &Cells::new(&batch, &[0], Rows::Range(0..2)),
            &["a".into()],
        );
        assert!(error.unwrap_err().to_string().contains("column `a`, row 2"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn statistics_are_additive(seed: u64, n in 1usize..500, m in 0usize..500) {
            for family in families() {
                let x: Vec<f64> = normals(seed, n + m, 0.3).iter().map(|x| (x * 20.0).round() / 20.0).collect();
                let mut random = Random::new(seed);
                let w: Vec<f64> = x.iter().map(|_| random.below(4) as f64 * 0.5).collect();
                let (a, b) = (observe(&family, &x[..n], Some(&w[..n])), observe(&family, &x[n..], Some(&w[n..])));
                let whole = observe(&family, &x, Some(&w));
                let (mut ab, mut ba) = (a.clone(), b.clone());
                ab.merge(&b).unwrap();
                ba.merge(&a).unwrap();
                // Halves are exact in binary.
                prop_assert_eq!(&ab, &whole);
                prop_assert_eq!(&ba, &whole);
                prop_assert_eq!(&from_bytes::<HistogramStatistic>(&to_bytes(&whole).unwrap()).unwrap(), &whole);
                ab.remove(&b).unwrap();
                prop_assert_eq!(&ab, &a);
                ab.remove(&a).unwrap();
                prop_assert_eq!(&ab, &family.empty(1));
                if b != family.empty(1) {
                    prop_assert!(matches!(ab.remove(&b), Err(Error::Cancellation(_))));
                }
            }
        }
    }
}
