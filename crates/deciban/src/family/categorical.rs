//! Categorical family: levels of one or more columns, independent given the class.
//!
//! Statistic: n(l) = Σ wᵢ [xᵢ = l] per column and level; a missing cell adds nothing, so the
//! column's weight N = Σ_l n(l) is that of the cells that are there. Merge: counts add.
//!
//! log p(x | c) = Σ_j ln p_j(x_j | c),  p_j(l | c) = (n_jc(l) + α_jl) / (N_jc + Σ_l α_jl).
//!
//! This is the posterior predictive probability under a Dirichlet prior with parameters α: α = 1
//! is Laplace's rule of succession, α = ½ Jeffreys' prior, α = 0 maximum likelihood. A level that
//! training never saw scores as one of count 0, α/(N_jc + Σ α_jl), beyond those that sum to 1.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::counts::{
    Ragged, Unseen, add, check_pseudo_count, differences, level_name, levels_in, log_probabilities, mark,
    nothing_to_estimate, refuse_unseen, relevel,
};
use super::{Assignment, Density, Family, Names, Parameters, for_each_group};
use crate::data::{Cells, Column, MISSING, Tile, Value};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::Random;
use crate::statistic::{Retract, Statistic};

/// The categorical family with its hyper-parameters.
///
/// The fur of ten cats (from Cumani's lecture): of five females two are black, two white and one calico; of
/// five males one is black, two are orange and two white.
///
/// ```
/// use deciban::data::{Batch, Cells, Rows, Tile};
/// use deciban::evidence::Evidence;
/// use deciban::family::categorical::Categorical;
/// use deciban::family::{Density, Family, Names};
/// use deciban::posterior::Prior;
///
/// let (columns, classes) = (["fur".to_string()], ["female", "male"].map(String::from));
/// let evidence = |pseudo_count: f64| -> deciban::Result<Evidence> {
///     let family = Categorical { pseudo_count, ..Categorical::default() };
///     // A row for each colour (black, orange, white, calico), weighted by its count.
///     let statistic = |counts: [f64; 4]| -> deciban::Result<_> {
///         let batch = Batch::new(4).codes(&[0, 1, 2, 3])?.weights(&counts)?;
///         let mut statistic = family.empty(1);
///         family.observe(&mut statistic, &Cells::new(&batch, &[0], Rows::Range(0..4)), &columns)?;
///         Ok(statistic)
///     };
///     let (females, males) = (statistic([2.0, 0.0, 2.0, 1.0])?, statistic([1.0, 2.0, 2.0, 0.0])?);
///     let density = family.fit(&[&females, &males], Names { columns: &columns, levels: &[4], classes: &classes })?;
///     assert!((density.probability(0, 0, 0) - (2.0 + pseudo_count) / (5.0 + 4.0 * pseudo_count)).abs() < 1e-15);
///     // The evidence of a calico cat, then of an orange one.
///     let (batch, mut out) = (Batch::new(2).codes(&[3, 1])?, Tile::default());
///     out.resize(2, 2);
///     density.add_log_density(&Cells::new(&batch, &[0], Rows::Range(0..2)), &columns, &mut out)?;
///     Evidence::new(2, vec![out.column(0)[0], out.column(1)[0], out.column(0)[1], out.column(1)[1]])
/// };
///
/// // Maximum likelihood: a calico male is impossible, and no prior changes that.
/// let ml = evidence(0.0)?;
/// assert_eq!(ml.llr(0, 1), f64::NEG_INFINITY);
/// assert_eq!(ml.posterior(&Prior::new(&[0.1, 0.9])?).row(0), [1.0, 0.0]);
/// // With a pseudo-count of 1 he is rare: 2/9 for females against 1/9 for males.
/// let laplace = evidence(1.0)?;
/// assert!((laplace.llr(0, 1) - 0.5f64.ln()).abs() < 1e-14);
/// assert!((laplace.posterior(&Prior::uniform(2)).row(0)[0] - 2.0 / 3.0).abs() < 1e-14);
/// // Orange: 1/9 against 3/9.
/// assert!((laplace.posterior(&Prior::uniform(2)).row(1)[1] - 0.75).abs() < 1e-14);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Categorical {
    /// α of every level that `level_pseudo_counts` does not list.
    pub pseudo_count: f64,
    /// α per column and level: any Dirichlet prior.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_pseudo_counts: Option<Vec<Vec<f64>>>,
    /// What to do with a level that training never saw.
    #[serde(default)]
    pub unseen: Unseen,
}

impl Default for Categorical {
    fn default() -> Self {
        Categorical { pseudo_count: 1.0, level_pseudo_counts: None, unseen: Unseen::Share }
    }
}

/// The weight of each level of each column.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelCounts {
    columns: Ragged,
}

impl LevelCounts {
    /// The weight of each level of a column, as far as levels have been seen.
    pub fn counts(&self, column: usize) -> &[f64] {
        &self.columns.0[column]
    }

    /// The weight of the cells of a column that are not missing.
    pub fn total(&self, column: usize) -> f64 {
        self.counts(column).iter().sum()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.0.len()
    }
}

/// n(l) ← n(l) + Σ wᵢ [xᵢ = l] of codes, each for its class; the counts have room for all levels.
fn count(counts: &mut [&mut Vec<f64>], codes: &[u32], classes: &[u32], weights: &[f64], tally: &mut Vec<f64>) {
    let cells = codes.iter().zip(classes).zip(weights);
    let levels = counts.iter().map(|counts| counts.len()).max().unwrap_or(0);
    // The last place is for missing cells.
    let places = levels + 1;
    if counts.len() * places > codes.len() {
        for ((&code, &class), w) in cells {
            if let Some(n) = counts[class as usize].get_mut(code as usize) {
                *n += w;
            }
        }
        return;
    }
    // All classes side by side: a cell has one place to find.
    tally.clear();
    tally.resize(counts.len() * places, 0.0);
    for ((&code, &class), w) in cells {
        tally[class as usize * places + levels.min(code as usize)] += w;
    }
    for (counts, sums) in counts.iter_mut().zip(tally.chunks_exact(places)) {
        counts.iter_mut().zip(sums).for_each(|(n, sum)| *n += sum);
    }
}

impl Statistic for LevelCounts {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged counts", self.width(), other.width())?;
        self.columns.0.iter_mut().zip(&other.columns.0).for_each(|(a, b)| add(a, b));
        Ok(())
    }
}

impl Retract for LevelCounts {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed counts", self.width(), other.width())?;
        let columns = self.columns.0.iter().zip(&other.columns.0).enumerate();
        let left = columns.map(|(j, (a, b))| differences(a, b).map_err(|e| e.in_column(j)));
        self.columns = Ragged(left.collect::<Result<_>>()?);
        Ok(())
    }
}

impl Stored for LevelCounts {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.columns.store(archive, name)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        Ok(LevelCounts { columns: Ragged::load(archive, name)? })
    }
}

/// The probabilities p(level | class) of a block of categories.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoricalDensity {
    classes: usize,
    columns: Vec<LevelTable>,
    unseen: Unseen,
}

/// ln p(level | class) of one column: class after class, each with its levels, then the level never
/// seen, then the missing cell.
#[derive(Clone, Debug, PartialEq)]
struct LevelTable {
    levels: usize,
    log_p: Vec<f64>,
}

impl LevelTable {
    /// From `levels` logarithms per class and one for a level never seen.
    fn new(levels: usize, log_p: &[f64]) -> Self {
        let with_missing = |class: &[f64]| class.iter().copied().chain([0.0]).collect::<Vec<_>>();
        LevelTable { levels, log_p: log_p.chunks_exact(levels + 1).flat_map(with_missing).collect() }
    }

    fn class(&self, class: usize) -> &[f64] {
        &self.log_p[class * (self.levels + 2)..(class + 1) * (self.levels + 2)]
    }

    /// The place of each code in a class's part.
    fn places(&self, codes: &mut [u32]) {
        let levels = self.levels as u32;
        codes.iter_mut().for_each(|code| *code = if *code == MISSING { levels + 1 } else { levels.min(*code) });
    }
}

impl CategoricalDensity {
    /// From ln p(level | class): for each column its levels, one class after the other. A level never
    /// seen is impossible, or an error.
    pub fn from_log_probabilities(classes: usize, columns: &[Vec<f64>], unseen: Unseen) -> Result<Self> {
        let table = |log_p: &Vec<f64>| {
            let levels = log_p.len() / classes.max(1);
            Error::check_shape("probabilities of a column", levels * classes, log_p.len())?;
            if log_p.iter().any(|x| x.is_nan() || *x > 1e-9) {
                return Err(Error::Schema("logarithms of probabilities are at most 0".into()));
            }
            let with_unseen = |class: &[f64]| class.iter().copied().chain([f64::NEG_INFINITY]).collect::<Vec<_>>();
            let log_p: Vec<f64> = log_p.chunks_exact(levels.max(1)).flat_map(with_unseen).collect();
            Ok(LevelTable::new(levels, &log_p))
        };
        Ok(CategoricalDensity { classes, columns: columns.iter().map(table).collect::<Result<_>>()?, unseen })
    }

    /// p(level | class) of a column; levels never seen have theirs too.
    pub fn probability(&self, class: usize, column: usize, level: usize) -> f64 {
        let table = &self.columns[column];
        table.class(class)[level.min(table.levels)].exp()
    }
}

impl Density for CategoricalDensity {
    fn classes(&self) -> usize {
        self.classes
    }

    fn width(&self) -> usize {
        self.columns.len()
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let mut rows = Vec::new();
        for (j, (table, column)) in self.columns.iter().zip(columns).enumerate() {
            for level in 0..table.levels {
                let values = (0..self.classes).map(|c| self.probability(c, j, level)).collect();
                rows.push((level_name(column, level), values));
            }
        }
        vec![Parameters { what: "probability", rows }]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let of_column = |table: &LevelTable| LevelTable {
            levels: table.levels,
            log_p: table.log_p[groups.start * (table.levels + 2)..groups.end * (table.levels + 2)].to_vec(),
        };
        CategoricalDensity {
            classes: groups.len(),
            columns: self.columns.iter().map(of_column).collect(),
            unseen: self.unseen,
        }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        let mut codes = Vec::new();
        for (j, table) in self.columns.iter().enumerate() {
            x.read_codes(j, &mut codes)?;
            table.places(&mut codes);
            if self.unseen == Unseen::Error
                && let Some(i) = codes.iter().position(|&place| place as usize == table.levels)
            {
                return Err(refuse_unseen(&names[j], x.row_number(i)));
            }
            for class in 0..self.classes {
                let log_p = table.class(class);
                // `places` left no code beyond the table.
                out.column_mut(class).iter_mut().zip(&codes).for_each(|(o, &place)| *o += log_p[place as usize]);
            }
        }
        Ok(())
    }

    fn levels(&self, column: usize) -> Option<usize> {
        Some(self.columns[column].levels)
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let draw = |table: &LevelTable| {
            let p: Vec<f64> = table.class(class)[..table.levels].iter().map(|log_p| log_p.exp()).collect();
            Value::Level(if p.is_empty() { MISSING } else { random.pick(&p) as u32 })
        };
        Ok(self.columns.iter().map(draw).collect())
    }
}

impl Stored for CategoricalDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let levels: Vec<usize> = self.columns.iter().map(|table| table.levels).collect();
        archive.put_json(&format!("{name}.shape"), &(self.classes, &levels, self.unseen))?;
        for (j, table) in self.columns.iter().enumerate() {
            let log_p: Vec<f64> = (0..self.classes).flat_map(|c| table.class(c)[..=table.levels].to_vec()).collect();
            archive.put(&format!("{name}.log_p{j}"), &[self.classes, table.levels + 1], &log_p)?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (classes, levels, unseen): (usize, Vec<usize>, Unseen) = archive.json(&format!("{name}.shape"))?;
        let table = |(j, &levels): (usize, &usize)| {
            let shape = [classes, levels.saturating_add(1)];
            Ok(LevelTable::new(levels, log_probabilities(archive, &format!("{name}.log_p{j}"), &shape)?))
        };
        Ok(CategoricalDensity {
            classes,
            columns: levels.iter().enumerate().map(table).collect::<Result<_>>()?,
            unseen,
        })
    }
}

impl Categorical {
    /// Refuses pseudo-counts that are negative or not finite.
    pub fn check(&self) -> Result<()> {
        check_pseudo_count(self.pseudo_count)?;
        self.level_pseudo_counts.iter().flatten().flatten().try_for_each(|&alpha| check_pseudo_count(alpha))
    }

    /// α of each of at least `levels` levels of a column.
    fn pseudo_counts(&self, column: usize, levels: usize) -> Vec<f64> {
        let mut alpha = self.level_pseudo_counts.as_ref().and_then(|all| all.get(column).cloned()).unwrap_or_default();
        alpha.resize(levels.max(alpha.len()), self.pseudo_count);
        alpha
    }
}

/// ln (n + α) − ln (N + Σα) for each level, and for one of count 0 and pseudo-count `other`;
/// `None` where there is neither weight nor pseudo-count.
pub(super) fn log_probabilities_of(counts: &[f64], alpha: &[f64], other: f64) -> Option<Vec<f64>> {
    let n = |level: usize| counts.get(level).copied().unwrap_or(0.0);
    let total = (0..alpha.len()).map(|l| n(l) + alpha[l]).sum::<f64>();
    let log_p = |x: f64| (x.ln() - total.ln()).min(0.0);
    (total > 0.0).then(|| (0..alpha.len()).map(|l| log_p(n(l) + alpha[l])).chain([log_p(other)]).collect())
}

/// Adds rows, each to the counts of its class.
fn observe(statistics: &mut [&mut LevelCounts], x: &Cells<'_>, classes: &[u32], names: &[String]) -> Result<()> {
    // So few rows of a matrix stay in the cache while column after column is read.
    const PART: usize = 1024;
    let (mut codes, mut weights, mut tally) = (Vec::new(), Vec::new(), Vec::new());
    for (start, classes) in (0..).step_by(PART).zip(classes.chunks(PART)) {
        let part = x.part(start..start + classes.len());
        part.read_weights(&mut weights);
        for (j, name) in names.iter().enumerate() {
            part.read_codes(j, &mut codes)?;
            let levels = levels_in(&codes, &part, name)?;
            let mut counts: Vec<_> = statistics.iter_mut().map(|statistic| &mut statistic.columns.0[j]).collect();
            counts.iter_mut().filter(|counts| counts.len() < levels).for_each(|counts| counts.resize(levels, 0.0));
            count(&mut counts, &codes, classes, &weights, &mut tally);
        }
    }
    Ok(())
}

impl Family for Categorical {
    type Statistic = LevelCounts;
    type Density = CategoricalDensity;

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        Self { pseudo_count, ..self }
    }

    fn empty(&self, width: usize) -> LevelCounts {
        LevelCounts { columns: Ragged(vec![Vec::new(); width]) }
    }

    fn size(&self, width: usize) -> usize {
        width * 128
    }

    fn observe(&self, statistic: &mut LevelCounts, x: &Cells<'_>, names: &[String]) -> Result<()> {
        observe(&mut [statistic], x, &vec![0; x.rows()], names)
    }

    /// Categories are counted in the order of the rows, whatever their class.
    fn observe_groups(
        &self,
        groups: &mut [&mut LevelCounts],
        x: &Cells<'_>,
        to: Assignment<'_>,
        _: Option<&CategoricalDensity>,
        names: &[String],
    ) -> Result<()> {
        match to {
            Assignment::Hard(dealt) => observe(groups, x, dealt.groups(), names),
            Assignment::Soft(_) => for_each_group(x, to, |group, cells| self.observe(groups[group], cells, names)),
        }
    }

    fn relevel(&self, statistic: &mut LevelCounts, maps: &[Vec<u32>]) -> Result<()> {
        Error::check_shape("columns with renumbered levels", statistic.width(), maps.len())?;
        let columns = statistic.columns.0.iter().zip(maps).map(|(counts, map)| relevel(counts, map));
        statistic.columns = Ragged(columns.collect::<Result<_>>()?);
        Ok(())
    }

    fn mark_levels(&self, statistic: &LevelCounts, j: usize, seen: &mut [bool]) {
        mark(statistic.counts(j).iter().copied(), seen);
    }

    /// Σ α ln p: the logarithm of the Dirichlet prior whose mode the probabilities are.
    fn log_prior(&self, density: &CategoricalDensity) -> f64 {
        let of_column = |(j, table): (usize, &LevelTable)| -> f64 {
            let alpha = self.pseudo_counts(j, table.levels);
            let levels = |class: usize| alpha.iter().zip(table.class(class)).filter(|(a, _)| **a > 0.0);
            (0..density.classes).flat_map(levels).map(|(a, log_p)| a * log_p).sum()
        };
        density.columns.iter().enumerate().map(of_column).sum()
    }

    fn log_likelihood(&self, density: &CategoricalDensity, class: usize, rows: &LevelCounts) -> Option<f64> {
        let mut sum = 0.0;
        for (j, table) in density.columns.iter().enumerate() {
            let log_p = table.class(class);
            // A level that the density does not know stands behind those it knows; 0·(−∞) = 0.
            let counts = rows.counts(j).iter().enumerate().filter(|(_, n)| **n > 0.0);
            sum += counts.map(|(level, n)| n * log_p[level.min(table.levels)]).sum::<f64>();
        }
        Some(sum)
    }

    fn fit(&self, classes: &[&LevelCounts], names: Names<'_>) -> Result<CategoricalDensity> {
        self.check()?;
        let mut columns = Vec::new();
        for j in 0..names.columns.len() {
            let seen = classes.iter().map(|class| class.counts(j).len()).max().unwrap_or(0);
            let alpha = self.pseudo_counts(j, seen.max(names.levels[j]));
            let mut log_p = Vec::new();
            for (c, class) in classes.iter().enumerate() {
                let of_class = log_probabilities_of(class.counts(j), &alpha, self.pseudo_count);
                log_p.extend(of_class.ok_or_else(|| nothing_to_estimate(&names.columns[j], &names.classes[c]))?);
            }
            columns.push(LevelTable::new(alpha.len(), &log_p));
        }
        Ok(CategoricalDensity { classes: classes.len(), columns, unseen: self.unseen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Rows, UNSEEN};
    use crate::family::Dealt;
    use crate::family::testing::{self, names, score};
    use crate::file::{from_bytes, to_bytes};
    use proptest::prelude::*;

    fn counts(family: &Categorical, columns: &[&[u32]], weights: Option<&[f64]>) -> LevelCounts {
        testing::observe(family, columns, weights).unwrap()
    }

    /// Cats' fur: of 10 cats 6 are striped, 3 black, 1 white; of 5 dogs 1 is black, 4 white.
    fn fur(family: &Categorical) -> CategoricalDensity {
        let cats = counts(family, &[&[0, 0, 0, 0, 0, 0, 1, 1, 1, 2]], None);
        let dogs = counts(family, &[&[1, 2, 2, 2, 2]], None);
        family.fit(&[&cats, &dogs], names(&["fur"], &[3])).unwrap()
    }

    #[test]
    fn probabilities_by_hand() {
        let ml = fur(&Categorical { pseudo_count: 0.0, ..Categorical::default() });
        let p = |d: &CategoricalDensity, c: usize| [0, 1, 2, 3].map(|l| d.probability(c, 0, l));
        testing::close(&p(&ml, 0), &[0.6, 0.3, 0.1, 0.0], 1e-15);
        testing::close(&p(&ml, 1), &[0.0, 0.2, 0.8, 0.0], 1e-15);
        let laplace = fur(&Categorical::default());
        testing::close(&p(&laplace, 0), &[7.0 / 13.0, 4.0 / 13.0, 2.0 / 13.0, 1.0 / 13.0], 1e-15);
        testing::close(&p(&laplace, 1), &[1.0 / 8.0, 2.0 / 8.0, 5.0 / 8.0, 1.0 / 8.0], 1e-15);
        let dirichlet = Categorical {
            level_pseudo_counts: Some(vec![vec![2.0, 1.0]]),
            pseudo_count: 0.5,
            ..Categorical::default()
        };
        testing::close(&p(&fur(&dirichlet), 1), &[2.0 / 8.5, 2.0 / 8.5, 4.5 / 8.5, 0.5 / 8.5], 1e-15);
    }

    #[test]
    fn a_row_is_the_product_of_its_columns_and_missing_cells_add_nothing() {
        let family = Categorical::default();
        let a = counts(&family, &[&[0, 0, 1, MISSING], &[1, MISSING, MISSING, MISSING]], None);
        let b = counts(&family, &[&[1, 1], &[0, 2]], None);
        assert_eq!((a.counts(0), a.counts(1), a.total(1)), (&[2.0, 1.0][..], &[0.0, 1.0][..], 1.0));
        let density = family.fit(&[&a, &b], names(&["x", "y"], &[2, 3])).unwrap();
        let scores = score(&density, &[&[0, MISSING, MISSING, UNSEEN, 9], &[1, 1, MISSING, MISSING, MISSING]]).unwrap();
        let expected = |p: [f64; 5]| p.map(f64::ln);
        testing::close(&scores[0], &expected([3.0 / 5.0 * 2.0 / 4.0, 2.0 / 4.0, 1.0, 1.0 / 5.0, 1.0 / 5.0]), 1e-15);
        testing::close(&scores[1], &expected([1.0 / 4.0 * 1.0 / 5.0, 1.0 / 5.0, 1.0, 1.0 / 4.0, 1.0 / 4.0]), 1e-15);
    }

    #[test]
    fn unseen_levels_are_impossible_under_maximum_likelihood_and_refused_on_request() {
        let ml = fur(&Categorical { pseudo_count: 0.0, ..Categorical::default() });
        let scores = score(&ml, &[&[UNSEEN, 0]]).unwrap();
        testing::close(&scores[0], &[f64::NEG_INFINITY, 0.6f64.ln()], 1e-15);
        assert_eq!(scores[1], [f64::NEG_INFINITY; 2]);
        let strict = fur(&Categorical { unseen: Unseen::Error, ..Categorical::default() });
        let error = score(&strict, &[&[0, MISSING, UNSEEN]]).unwrap_err().to_string();
        assert!(error.contains("column `c0`, row 3"), "{error}");
    }

    #[test]
    fn hostile_input_is_refused() {
        let family = Categorical { pseudo_count: 0.0, ..Categorical::default() };
        let empty = counts(&family, &[&[MISSING]], None);
        let error = family.fit(&[&empty, &counts(&family, &[&[0]], None)], names(&["fur"], &[1])).unwrap_err();
        assert!(error.to_string().contains("class `k0` has no cell in column `fur`"), "{error}");
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Categorical { pseudo_count: bad, ..Categorical::default() }.check().is_err());
            let family = Categorical { level_pseudo_counts: Some(vec![vec![bad]]), ..Categorical::default() };
            assert!(family.check().is_err());
        }
        for code in [UNSEEN, 1 << 30] {
            let error = testing::observe(&family, &[&[0, code]], None).unwrap_err().to_string();
            assert!(error.contains("column `c0`, row 2"), "{error}");
        }
        for number in [-1.0, 0.5, f64::INFINITY, 4_294_967_294.0] {
            let column = [1.0, number];
            let numbers = Batch::new(2).column(&column[..]).unwrap();
            let cells = Cells::new(&numbers, &[0], Rows::Range(0..2));
            let error = family.observe(&mut family.empty(1), &cells, &["x".into()]).unwrap_err().to_string();
            assert!(error.contains("row 2") && error.contains(&format!("{number} is not the code")), "{error}");
        }
    }

    #[test]
    fn numbers_are_codes_wherever_they_lie() {
        let codes = [[2, 0, MISSING, 1], [1, 1, 0, MISSING]];
        let expected = counts(&Categorical::default(), &[&codes[0], &codes[1]], None);
        // Row by row; what is missing is NaN.
        let number = |code: u32| if code == MISSING { f64::NAN } else { f64::from(code) };
        let rows: Vec<f64> = (0..4).flat_map(|i| codes.map(|column| number(column[i]))).collect();
        let batch = Batch::new(4).row_major(&rows[..], 2).unwrap();
        let mut found = Categorical::default().empty(2);
        let cells = Cells::new(&batch, &[0, 1], Rows::Range(0..4));
        Categorical::default().observe(&mut found, &cells, &["x".into(), "y".into()]).unwrap();
        assert_eq!(found, expected);
        let bytes = [2u8, 0, 1];
        let batch = Batch::new(3).column(&bytes[..]).unwrap();
        let mut out = Vec::new();
        Cells::new(&batch, &[0], Rows::Index(&[2, 0])).read_codes(0, &mut out).unwrap();
        assert_eq!(out, [1, 2]);
    }

    #[test]
    fn classes_are_counted_in_one_go() {
        // Few levels go through a tally, many straight to the counts.
        for levels in [3, 5000] {
            let rows = 3000u32;
            let codes: Vec<u32> = (0..rows).map(|i| if i % 7 == 0 { MISSING } else { i * 31 % levels }).collect();
            let weights: Vec<f64> = (0..rows).map(|i| [1.0, 0.25, 0.0][i as usize % 3]).collect();
            let plain = Batch::new(rows as usize).codes(&codes).unwrap();
            for batch in [plain.clone(), plain.weights(&weights).unwrap()] {
                let family = Categorical::default();
                let (class, names) = (|row: u32| row / 2 % 3, ["x".to_string()]);
                let mut mixed: Vec<_> = (0..3).map(|_| family.empty(1)).collect();
                let all = Cells::new(&batch, &[0], Rows::Range(0..rows as usize));
                let classes: Vec<u32> = (0..rows).map(class).collect();
                let mut statistics: Vec<_> = mixed.iter_mut().collect();
                let dealt = Dealt::new(classes.into(), 3);
                family.observe_groups(&mut statistics, &all, Assignment::Hard(&dealt), None, &names).unwrap();
                for (c, mixed) in mixed.iter().enumerate() {
                    let own: Vec<u32> = (0..rows).filter(|row| class(*row) == c as u32).collect();
                    let mut alone = family.empty(1);
                    family.observe(&mut alone, &Cells::new(&batch, &[0], Rows::Index(&own)), &names).unwrap();
                    // All classes have room for all levels.
                    let (known, rest) = mixed.counts(0).split_at(alone.counts(0).len());
                    assert_eq!(known, alone.counts(0));
                    assert!(rest.iter().all(|n| *n == 0.0) && mixed.total(0) > 0.0);
                }
            }
        }
    }

    #[test]
    fn samples_have_the_levels_frequencies() {
        let density = fur(&Categorical::default());
        testing::check_samples(&density, 0, &[vec![7.0 / 13.0, 4.0 / 13.0, 2.0 / 13.0]]);
    }

    #[test]
    fn parameters_name_columns_and_levels() {
        let levels = vec!["striped".to_string(), "black".into()];
        let column = Column { name: "fur".into(), kind: crate::data::Kind::Category, levels };
        let parameters = fur(&Categorical::default()).parameters(&[column]);
        let names: Vec<&str> = parameters[0].rows.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(names, ["fur=striped", "fur=black", "fur=#2"]);
        testing::close(&parameters[0].rows[1].1, &[4.0 / 13.0, 2.0 / 8.0], 1e-15);
    }

    #[test]
    fn files_hold_it_and_damage_is_refused() {
        let family = Categorical { pseudo_count: 0.0, ..Categorical::default() };
        let statistic = counts(&family, &[&[0, 0, 2], &[MISSING; 3]], None);
        assert_eq!(from_bytes::<LevelCounts>(&to_bytes(&statistic).unwrap()).unwrap(), statistic);
        let density = fur(&family);
        assert_eq!(from_bytes::<CategoricalDensity>(&to_bytes(&density).unwrap()).unwrap(), density);
        let mut archive = Archive::new("state");
        density.store(&mut archive, "d").unwrap();
        for bad in [0.1, f64::NAN, f64::INFINITY] {
            archive.put("d.log_p0", &[2, 4], &[bad; 8]).unwrap();
            assert!(CategoricalDensity::load(&archive, "d").is_err());
        }
        archive.put("d.log_p0", &[2, 3], &[-1.0; 6]).unwrap();
        assert!(CategoricalDensity::load(&archive, "d").is_err());
        let mut archive = Archive::new("state");
        statistic.store(&mut archive, "s").unwrap();
        archive.put("s.weights", &[3], &[1.0, -1.0, 1.0]).unwrap();
        assert!(LevelCounts::load(&archive, "s").is_err());
        archive.put_json("s.lengths", &[usize::MAX, 2]).unwrap();
        assert!(LevelCounts::load(&archive, "s").is_err());
    }

    proptest! {
        #[test]
        fn laws(rows in testing::rows(2, 5), cut in 0usize..40, weight in 0.0..3.0f64) {
            testing::check_laws(&Categorical::default(), &rows, cut, weight)?;
        }
    }
}
