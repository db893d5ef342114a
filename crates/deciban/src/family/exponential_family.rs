//! One path for the exponential families of single numbers: Poisson, exponential, log-normal, gamma, beta.
//!
//! A family has a sufficient statistic t(x) and a divergence d(a, b) ≥ 0 of its means. Of each
//! column a class keeps
//!
//! ```text
//! w = Σwᵢ,  s = Σwᵢ t(xᵢ),  D = Σwᵢ d(t(xᵢ), m),  m = s/w
//! merge:  s = s_a + s_b,  D = D_a + D_b + w_a d(m_a, m) + w_b d(m_b, m)
//! ```
//!
//! with d the Bregman divergence of a convex function (Banerjee et al. 2005): then the merge is
//! exact, whatever the order. d = (a−b)² is the merge of Chan, Golub & LeVeque; d = a/b − 1 − ln(a/b)
//! gives Σ ln x = w ln m − D, which the gamma needs; families of one parameter have d = 0. All terms
//! of D are positive, so the difference that a fit needs of two sums is never formed: it cancels.
//! Sums are kept in two doubles, so that sums of counts are exact and `remove` undoes `merge`.
//!
//! Columns are independent given the class. A missing cell (NaN) is left out: at the fit its column
//! has one cell less, at scoring it adds nothing. A cell outside of the family's domain, such as 0 for a gamma, is
//! refused by the fit, so that at scoring no class has seen the like: it adds nothing there either. To add a family: write its file, implement
//! [`ExponentialFamily`] and [`Member`]; [`Family`] and [`Density`] follow.

use std::fmt::Debug;
use std::marker::PhantomData;

use super::{Density, Domain, Family, Names, Parameters};
use crate::data::{Cells, Column, Tile, Value};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::Random;
use crate::statistic::{Retract, Statistic};

/// A family of densities of one number, with its hyper-parameters.
pub trait ExponentialFamily: Clone + Debug + Send + Sync + 'static {
    /// A density of the family.
    type Member: Member;
    /// The least mean of t.
    const LEAST: f64 = 0.0;

    /// t(x)
    fn sufficient(x: f64) -> f64 {
        x
    }

    /// d(a, b), with δ = a − b as well as it is known.
    fn divergence(_a: f64, _b: f64, _delta: f64) -> f64 {
        0.0
    }

    /// The same family with another number of events that the prior adds, if it has one.
    fn with_events(self, _events: f64) -> Self {
        self
    }

    /// Refuses hyper-parameters out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The density of w > 0, s/w and D/w; without one, why.
    fn member(&self, weight: f64, mean: f64, divergence: f64) -> Result<Self::Member, &'static str>;
}

/// A density of one number.
pub trait Member: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// The names of its parameters.
    const PARAMETERS: &'static [&'static str];
    /// What a column must hold, as an error says it.
    const DOMAIN: &'static str;

    /// Whether a density of the family may be positive at a finite `x`.
    fn contains(x: f64) -> bool;

    /// The density with these parameters; `None` where they are out of range.
    fn new(parameters: &[f64]) -> Option<Self>;

    /// Its parameters.
    fn parameters(&self) -> Vec<f64>;

    /// log p(x), for an `x` that the family contains.
    fn log_density(&self, x: f64) -> f64;

    /// Its mean.
    fn mean(&self) -> f64;

    /// A random number.
    fn sample(&self, random: &mut Random) -> f64;
}

/// What is kept of one class's rows, column by column.
#[derive(Clone, Debug)]
pub struct ExponentialStatistic<E> {
    columns: Vec<Sum>,
    family: PhantomData<E>,
}

/// w, s and D of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    /// Cells that were there, whatever their weight.
    cells: f64,
    weight: f64,
    /// s = high + low.
    high: f64,
    low: f64,
    divergence: f64,
}

impl Sum {
    fn add(&mut self, t: f64) {
        let (sum, rest) = two_sum(self.high, t);
        (self.high, self.low) = two_sum(sum, self.low + rest);
    }

    /// s/w in two doubles.
    fn mean(&self) -> (f64, f64) {
        let mean = self.high / self.weight;
        (mean, ((-mean).mul_add(self.weight, self.high) + self.low) / self.weight)
    }

    /// w d(m, m′) for another mean.
    fn moved<E: ExponentialFamily>(&self, mean: (f64, f64)) -> f64 {
        let own = self.mean();
        self.weight * E::divergence(own.0, mean.0, (own.0 - mean.0) + (own.1 - mean.1))
    }

    /// The sums of cells that are all there.
    fn of<E: ExponentialFamily>(t: &[f64], weights: &[f64]) -> Sum {
        let mut sum = Sum { cells: t.len() as f64, weight: weights.iter().sum(), ..Sum::default() };
        for (t, w) in t.iter().zip(weights) {
            let (high, rest) = two_sum(sum.high, w * t);
            (sum.high, sum.low) = (high, sum.low + rest);
        }
        (sum.high, sum.low) = two_sum(sum.high, sum.low);
        if sum.weight > 0.0 {
            let (mean, low) = sum.mean();
            let terms = t.iter().zip(weights).filter(|(_, w)| **w > 0.0);
            sum.divergence = terms.map(|(t, w)| w * E::divergence(*t, mean, (t - mean) - low)).sum();
        }
        sum
    }

    fn merge<E: ExponentialFamily>(&mut self, other: &Sum) {
        let cells = self.cells + other.cells;
        if self.weight == 0.0 || other.weight == 0.0 {
            *self = Sum { cells, ..if self.weight == 0.0 { *other } else { *self } };
            return;
        }
        let mut both = Sum { cells, weight: self.weight + other.weight, ..*self };
        both.add(other.high);
        both.add(other.low);
        let mean = both.mean();
        both.divergence = self.divergence + other.divergence + self.moved::<E>(mean) + other.moved::<E>(mean);
        *self = both;
    }

    /// What is left without `other`; `Err` says why it is not known.
    fn without<E: ExponentialFamily>(&self, other: &Sum) -> Result<Sum, String> {
        let never = || Err(format!("cannot remove {} cells from {}: they were never added", other.cells, self.cells));
        let weight = self.weight - other.weight;
        if other.cells > self.cells || weight < -1e-12 * self.weight {
            return never();
        }
        let cells = self.cells - other.cells;
        if cells == 0.0 || weight <= 1e-14 * self.weight {
            return Ok(Sum { cells, ..Sum::default() });
        }
        let mut left = Sum { cells, weight, ..*self };
        left.add(-other.high);
        left.add(-other.low);
        if left.mean().0 < E::LEAST {
            // Rounding of weighted cells may leave a little less than nothing.
            if left.high < E::LEAST * weight - 1e-12 * self.high.abs() {
                return never();
            }
            (left.high, left.low) = (E::LEAST * weight, 0.0);
        }
        if other.weight > 0.0 && cells > 1.0 {
            let moved = left.moved::<E>(self.mean()) + other.moved::<E>(self.mean());
            left.divergence = self.divergence - other.divergence - moved;
            // The share of what remains that rounding may have changed.
            let lost = 8.0 * f64::EPSILON * self.divergence / left.divergence.max(0.0);
            if lost > 1e-9 {
                let digits = (-lost.log10()).max(0.0);
                return Err(format!("this leaves {digits:.0} good digits of its spread, fewer than 9"));
            }
        } else if cells == 1.0 {
            left.divergence = 0.0;
        }
        Ok(left)
    }
}

/// a + b exactly, as a double and the rest (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

impl<E: ExponentialFamily> ExponentialStatistic<E> {
    fn empty(width: usize) -> Self {
        ExponentialStatistic { columns: vec![Sum::default(); width], family: PhantomData }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// w of a column: the weight of its cells.
    pub fn weight(&self, column: usize) -> f64 {
        self.columns[column].weight
    }

    /// Σw t(x) of a column.
    pub fn sum(&self, column: usize) -> f64 {
        self.columns[column].high
    }

    /// D of a column.
    pub fn divergence(&self, column: usize) -> f64 {
        self.columns[column].divergence
    }
}

impl<E: ExponentialFamily> Statistic for ExponentialStatistic<E> {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the merged sums", self.width(), other.width())?;
        self.columns.iter_mut().zip(&other.columns).for_each(|(a, b)| a.merge::<E>(b));
        Ok(())
    }
}

impl<E: ExponentialFamily> Retract for ExponentialStatistic<E> {
    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("columns of the removed sums", self.width(), other.width())?;
        let without = |(j, (a, b)): (usize, (&Sum, &Sum))| {
            a.without::<E>(b).map_err(|why| {
                let message = format!("removing these rows: {why}: compute the statistics of the remaining rows anew");
                Error::ColumnCancellation { column: j, message }
            })
        };
        self.columns = self.columns.iter().zip(&other.columns).enumerate().map(without).collect::<Result<_>>()?;
        Ok(())
    }
}

impl<E: ExponentialFamily> Stored for ExponentialStatistic<E> {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let fields = |c: &Sum| [c.cells, c.weight, c.high, c.low, c.divergence];
        let values: Vec<f64> = self.columns.iter().flat_map(fields).collect();
        archive.put_json(&format!("{name}.width"), &self.width())?;
        archive.put(&format!("{name}.sums"), &[self.width(), 5], &values)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let width: usize = archive.json(&format!("{name}.width"))?;
        let values = archive.finite(&format!("{name}.sums"), &[width, 5])?;
        let sum = |v: &[f64]| Sum { cells: v[0], weight: v[1], high: v[2], low: v[3], divergence: v[4] };
        let columns: Vec<Sum> = values.chunks_exact(5).map(sum).collect();
        let valid = |c: &Sum| {
            c.cells >= 0.0 && c.weight >= 0.0 && c.divergence >= 0.0 && c.high + c.low >= E::LEAST * c.weight.min(1.0)
        };
        match columns.iter().all(valid) {
            true => Ok(ExponentialStatistic { columns, family: PhantomData }),
            false => Err(archive.damaged(&format!("`{name}` holds sums out of range"))),
        }
    }
}

/// Cells that the family does not contain are refused, and so are infinite ones.
pub(super) fn check_domain<M: Member>(column: &[f64], x: &Cells<'_>, name: &str) -> Result<()> {
    let Some(i) = column.iter().position(|x| !(x.is_nan() || x.is_finite() && M::contains(*x))) else {
        return Ok(());
    };
    let row = x.row_number(i) + 1;
    if column[i].is_infinite() {
        return Err(Error::Infinite { column: name.into(), row });
    }
    let message = format!(
        "{} is not one of the {} of this family; give §family='{name}=gaussian' or §family='{name}=histogram'",
        column[i],
        M::DOMAIN
    );
    Err(Error::Cell { column: name.into(), row, message })
}

/// How a column's name stands at its place.
pub(super) fn name(names: &[String], j: usize) -> &str {
    names.get(j).map_or("", String::as_str)
}

/// The densities of a block: a member of the family for each class and column.
#[derive(Clone, Debug, PartialEq)]
pub struct Independent<M> {
    /// Class by class, each with the columns in order.
    members: Vec<Vec<M>>,
}

impl<M: Member> Independent<M> {
    /// A density of each class and column; without one `member` says why.
    pub(super) fn of_members(
        classes: usize,
        width: usize,
        names: Names<'_>,
        member: impl Fn(usize, usize) -> Result<M, &'static str>,
    ) -> Result<Self> {
        let named = |class: usize, j: usize| {
            member(class, j).map_err(|why| {
                let (column, class) = (name(names.columns, j), name(names.classes, class));
                Error::Schema(format!(
                    "column `{column}` {why} within class `{class}`: leave it out with §ignore='{column}', \
                     or give §family='{column}=histogram'"
                ))
            })
        };
        let row = |class: usize| (0..width).map(|j| named(class, j)).collect();
        Ok(Independent { members: (0..classes).map(row).collect::<Result<_>>()? })
    }

    /// The density of a column given the class.
    pub fn member(&self, class: usize, column: usize) -> &M {
        &self.members[class][column]
    }
}

impl<M: Member> Density for Independent<M> {
    fn classes(&self) -> usize {
        self.members.len()
    }

    fn width(&self) -> usize {
        self.members.first().map_or(0, Vec::len)
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let values = |p: usize, j: usize| self.members.iter().map(|class| class[j].parameters()[p]).collect();
        let rows = |p: usize| {
            columns.iter().take(self.width()).enumerate().map(|(j, c)| (c.name.clone(), values(p, j))).collect()
        };
        M::PARAMETERS.iter().enumerate().map(|(p, what)| Parameters { what, rows: rows(p) }).collect()
    }

    fn of_groups(&self, groups: std::ops::Range<usize>) -> Self {
        Independent { members: self.members[groups].to_vec() }
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        Error::check_shape("columns of a block", self.width(), x.width())?;
        let mut tile = Tile::default();
        x.read_numbers(&mut tile)?;
        for j in 0..self.width() {
            // No class has learned from a cell outside of the domain, so that it says nothing about the class.
            let infinite = tile.column(j).iter().position(|x| x.is_infinite());
            if let Some(i) = infinite {
                return Err(Error::Infinite { column: name(names, j).into(), row: x.row_number(i) + 1 });
            }
            for (class, members) in self.members.iter().enumerate() {
                let known = |x: &f64| !x.is_nan() && M::contains(*x);
                let cells = out.column_mut(class).iter_mut().zip(tile.column(j)).filter(|(_, x)| known(x));
                cells.for_each(|(out, x)| *out += members[j].log_density(*x));
            }
        }
        Ok(())
    }

    fn domain(&self) -> Option<Domain> {
        Some(Domain { what: M::DOMAIN, contains: M::contains })
    }

    fn column_mean(&self, group: usize, column: usize) -> Option<f64> {
        Some(self.member(group, column).mean())
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let members = self.members.get(class).ok_or_else(|| Error::Classes(format!("there is no class {class}")))?;
        Ok(members.iter().map(|member| Value::Number(member.sample(random))).collect())
    }
}

impl<M: Member> Stored for Independent<M> {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let shape = [self.classes(), self.width(), M::PARAMETERS.len()];
        let values: Vec<f64> = self.members.iter().flatten().flat_map(Member::parameters).collect();
        archive.put_json(&format!("{name}.shape"), &shape)?;
        archive.put(&format!("{name}.parameters"), &shape, &values)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let [classes, width, _]: [usize; 3] = archive.json(&format!("{name}.shape"))?;
        let each = M::PARAMETERS.len();
        let values = archive.finite(&format!("{name}.parameters"), &[classes, width, each])?;
        let damaged = || archive.damaged(&format!("`{name}` holds parameters out of range"));
        let members: Option<Vec<M>> = values.chunks_exact(each).map(M::new).collect();
        let members = members.filter(|_| width > 0).ok_or_else(damaged)?;
        Ok(Independent { members: members.chunks_exact(width).map(<[_]>::to_vec).collect() })
    }
}

impl<E: ExponentialFamily> Family for E {
    type Statistic = ExponentialStatistic<E>;
    type Density = Independent<E::Member>;

    fn empty(&self, width: usize) -> ExponentialStatistic<E> {
        ExponentialStatistic::empty(width)
    }

    fn size(&self, width: usize) -> usize {
        width * size_of::<Sum>()
    }

    fn observe(&self, statistic: &mut ExponentialStatistic<E>, x: &Cells<'_>, names: &[String]) -> Result<()> {
        const ROWS: usize = 1024;
        Error::check_shape("columns of a block", statistic.width(), x.width())?;
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        let (mut t, mut kept) = (Vec::new(), Vec::new());
        for start in (0..x.rows()).step_by(ROWS) {
            let part = x.part(start..x.rows().min(start + ROWS));
            part.read_numbers(&mut tile)?;
            part.read_weights(&mut weights);
            for (j, column) in statistic.columns.iter_mut().enumerate() {
                check_domain::<E::Member>(tile.column(j), &part, name(names, j))?;
                let there = || tile.column(j).iter().zip(&weights).filter(|(x, _)| !x.is_nan());
                t.clear();
                t.extend(there().map(|(x, _)| E::sufficient(*x)));
                kept.clear();
                kept.extend(there().map(|(_, w)| *w));
                column.merge::<E>(&Sum::of::<E>(&t, &kept));
                if !column.high.is_finite() || !column.divergence.is_finite() {
                    let name = name(names, j);
                    return Err(Error::Schema(format!("column `{name}`: its numbers are too large to be summed")));
                }
            }
        }
        Ok(())
    }

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        self.with_events(pseudo_count / 2.0)
    }

    fn fit(&self, classes: &[&ExponentialStatistic<E>], names: Names<'_>) -> Result<Independent<E::Member>> {
        self.check()?;
        let member = |class: usize, j: usize| {
            let sum = &classes[class].columns[j];
            if sum.weight > 0.0 {
                self.member(sum.weight, sum.mean().0, sum.divergence / sum.weight)
            } else {
                Err("has no values")
            }
        };
        Independent::of_members(classes.len(), classes.first().map_or(0, |class| class.width()), names, member)
    }
}
