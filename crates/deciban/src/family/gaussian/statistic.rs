//! What is kept of a group's rows: weight, mean and scatter, and what rows with missing cells show.

use crate::data::Tile;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::Matrix;
use crate::statistic::{ColumnMoments, Moments, NotFinite, Retract, Statistic};

/// What is kept of one class's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum GaussianStatistic {
    /// Means and all covariances.
    Full(Moments),
    /// Means and variances.
    Columns(ColumnMoments),
    /// Means and all covariances of the rows that have all their cells, and means and variances of the
    /// cells of the others. This is enough to begin expectation–maximisation, which then fills the cells.
    Gapped {
        /// The rows that have all their cells.
        whole: Moments,
        /// The other rows, column by column.
        gaps: ColumnMoments,
    },
}

impl GaussianStatistic {
    /// Means and variances, column by column.
    pub(super) fn columns(&self) -> Result<ColumnMoments> {
        match self {
            GaussianStatistic::Full(moments) => Ok(ColumnMoments::from(moments)),
            GaussianStatistic::Columns(moments) => Ok(moments.clone()),
            GaussianStatistic::Gapped { whole, gaps } => {
                let mut columns = ColumnMoments::from(whole);
                columns.merge(gaps)?;
                Ok(columns)
            }
        }
    }

    /// Adds rows, which are used up. Where a cell is missing and covariances are asked for, nothing is
    /// added: see [`observe_with_gaps`](GaussianStatistic::observe_with_gaps).
    pub(super) fn observe(&mut self, tile: &mut Tile, weights: Option<&[f64]>) -> Result<(), NotFinite> {
        match self {
            GaussianStatistic::Full(whole) | GaussianStatistic::Gapped { whole, .. } => whole.observe(tile, weights),
            GaussianStatistic::Columns(columns) => columns.observe(tile, weights),
        }
    }

    /// Adds rows of which some have missing cells.
    pub(super) fn observe_with_gaps(&mut self, tile: &Tile, weights: Option<&[f64]>) -> Result<(), NotFinite> {
        if tile.data().iter().any(|x| x.is_infinite()) {
            return Err(NotFinite);
        }
        let mut has_gap = vec![false; tile.rows()];
        for j in 0..tile.width() {
            has_gap.iter_mut().zip(tile.column(j)).for_each(|(gap, x)| *gap |= x.is_nan());
        }
        let part = |gap: bool| {
            let rows: Vec<usize> = (0..tile.rows()).filter(|&i| has_gap[i] == gap).collect();
            let mut part = Tile::default();
            part.resize(rows.len(), tile.width());
            for j in 0..tile.width() {
                part.column_mut(j).iter_mut().zip(&rows).for_each(|(cell, &i)| *cell = tile.column(j)[i]);
            }
            (part, weights.map(|w| rows.iter().map(|&i| w[i]).collect::<Vec<f64>>()))
        };
        let (mut whole, weights) = part(false);
        self.observe(&mut whole, weights.as_deref())?;
        let (mut rest, weights) = part(true);
        match self {
            GaussianStatistic::Columns(columns) => columns.observe(&mut rest, weights.as_deref()),
            _ if rest.rows() == 0 => Ok(()),
            _ => self.gaps_mut().observe(&mut rest, weights.as_deref()),
        }
    }

    /// What is known of rows with missing cells, which may be nothing yet.
    fn gaps_mut(&mut self) -> &mut ColumnMoments {
        if let GaussianStatistic::Full(whole) = self {
            let (whole, gaps) = (whole.clone(), ColumnMoments::empty(whole.width()));
            *self = GaussianStatistic::Gapped { whole, gaps };
        }
        match self {
            GaussianStatistic::Gapped { gaps, .. } | GaussianStatistic::Columns(gaps) => gaps,
            GaussianStatistic::Full(_) => unreachable!("has just been replaced"),
        }
    }

    fn is_columns(&self) -> bool {
        matches!(self, GaussianStatistic::Columns(_))
    }

    /// Moments without gaps to begin with: means and variances of the cells that are there, and the
    /// correlations of the rows that have all cells, where these are enough. `None` where nothing is missing.
    pub(super) fn beginning(&self, class: &str, names: &[String]) -> Result<Option<GaussianStatistic>> {
        let GaussianStatistic::Gapped { whole, .. } = self else { return Ok(None) };
        let columns = self.columns()?;
        let d = columns.width();
        check_cells(&columns, class, names)?;
        let weight = columns.weight().iter().copied().fold(0.0, f64::max);
        let variance = |j: usize| columns.scatter()[j] / columns.weight()[j];
        let root = |j: usize| whole.scatter()[(j, j)].sqrt();
        let tells = whole.rows() > 2.0 * d as f64;
        let scatter = Matrix::from_fn(d, d, |i, j| match i == j {
            true => weight * variance(j),
            // Halfway to none: these rows may be few, and the means of the others are elsewhere.
            false if tells && root(i) > 0.0 && root(j) > 0.0 => {
                let correlation = whole.scatter()[(i.max(j), i.min(j))] / root(i) / root(j);
                0.5 * correlation * weight * (variance(i) * variance(j)).sqrt()
            }
            false => 0.0,
        });
        let rows = whole.rows().max(weight);
        Moments::from_parts(rows, weight, columns.mean().to_vec(), scatter).map(|m| Some(GaussianStatistic::Full(m)))
    }
}

/// A column without any cell in a class has no mean there, whatever is shared or shrunk.
pub(super) fn check_cells(columns: &ColumnMoments, class: &str, names: &[String]) -> Result<()> {
    match columns.weight().iter().position(|weight| *weight <= 0.0) {
        // A class without rows is told of elsewhere.
        Some(j) if columns.weight().iter().any(|weight| *weight > 0.0) => Err(Error::Schema(format!(
            "column `{0}` has no cell in class `{class}`: leave the column out with §ignore='{0}', or leave out the \
             rows of that class",
            names[j]
        ))),
        _ => Ok(()),
    }
}

/// Means and covariances in standard deviations of the first of three steps: r and v of each.
struct Steps<'a> {
    first: &'a Moments,
    sd: Vec<f64>,
    /// θ₀, r and v; means, then the lower triangle of covariances.
    start: Vec<f64>,
    r: Vec<f64>,
    v: Vec<f64>,
}

impl<'a> Steps<'a> {
    fn new(steps: [&'a GaussianStatistic; 3]) -> Option<Self> {
        let full = |statistic: &'a GaussianStatistic| match statistic {
            GaussianStatistic::Full(moments) if moments.weight() > 0.0 => Some(moments),
            _ => None,
        };
        let [first, second, third] = [full(steps[0])?, full(steps[1])?, full(steps[2])?];
        let d = first.width();
        let sd: Vec<f64> = (0..d).map(|j| (first.scatter()[(j, j)] / first.weight()).sqrt()).collect();
        if sd.iter().any(|s| s.is_nan() || *s <= 0.0) {
            return None;
        }
        let point = |m: &Moments| -> Vec<f64> {
            let means = (0..d).map(|j| (m.mean()[j] - first.mean()[j]) / sd[j]);
            let cell = |i: usize, j: usize| m.scatter()[(i, j)] / m.weight() / sd[i] / sd[j];
            means.chain((0..d).flat_map(|j| (j..d).map(move |i| (i, j))).map(|(i, j)| cell(i, j))).collect()
        };
        let [a, b, c] = [point(first), point(second), point(third)];
        let r: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let v = b.iter().zip(&c).zip(&r).map(|((b, c), r)| (c - b) - r).collect();
        Some(Steps { first, sd, start: a, r, v })
    }
}

impl GaussianStatistic {
    /// ‖r‖² and ‖v‖² of three steps, in standard deviations.
    pub(super) fn step_lengths(steps: [&GaussianStatistic; 3]) -> Option<[f64; 2]> {
        if let [GaussianStatistic::Columns(a), GaussianStatistic::Columns(b), GaussianStatistic::Columns(c)] = steps {
            return column_step_lengths([a, b, c]);
        }
        let Steps { r, v, .. } = Steps::new(steps)?;
        Some([r, v].map(|x| x.iter().map(|x| x * x).sum()))
    }

    /// The moments at θ₀ + 2αr + α²v, with the weight of the last step.
    pub(super) fn extrapolate(steps: [&GaussianStatistic; 3], alpha: f64) -> Option<GaussianStatistic> {
        let Steps { first, sd, start, r, v } = Steps::new(steps)?;
        let GaussianStatistic::Full(last) = steps[2] else { return None };
        let d = first.width();
        let at = |k: usize| start[k] + 2.0 * alpha * r[k] + alpha * alpha * v[k];
        let mean = (0..d).map(|j| first.mean()[j] + sd[j] * at(j)).collect();
        let mut scatter = Matrix::zeros(d, d);
        let cells = (0..d).flat_map(|j| (j..d).map(move |i| (i, j)));
        for (k, (i, j)) in cells.enumerate() {
            scatter[(i, j)] = last.weight() * sd[i] * sd[j] * at(d + k);
        }
        Moments::from_parts(last.rows(), last.weight(), mean, scatter).ok().map(GaussianStatistic::Full)
    }
}

/// The same for means and variances, column by column.
fn column_step_lengths(steps: [&ColumnMoments; 3]) -> Option<[f64; 2]> {
    let mut lengths = [0.0; 2];
    for j in 0..steps[0].width() {
        let variance = |m: &ColumnMoments| m.scatter()[j] / m.weight()[j];
        let sd = Some(variance(steps[0]).sqrt()).filter(|sd| *sd > 0.0)?;
        let means = steps.map(|m| (m.mean()[j] - steps[0].mean()[j]) / sd);
        let variances = steps.map(|m| variance(m) / (sd * sd));
        for [a, b, c] in [means, variances] {
            lengths[0] += (b - a) * (b - a);
            lengths[1] += ((c - b) - (b - a)).powi(2);
        }
    }
    Some(lengths)
}

impl Statistic for GaussianStatistic {
    fn merge(&mut self, other: &Self) -> Result<()> {
        if self.is_columns() != other.is_columns() {
            return Err(mixed());
        }
        match (&mut *self, other) {
            (GaussianStatistic::Columns(mine), GaussianStatistic::Columns(theirs)) => mine.merge(theirs),
            (
                GaussianStatistic::Full(mine) | GaussianStatistic::Gapped { whole: mine, .. },
                GaussianStatistic::Full(theirs),
            ) => mine.merge(theirs),
            (
                GaussianStatistic::Full(mine) | GaussianStatistic::Gapped { whole: mine, .. },
                GaussianStatistic::Gapped { whole, gaps },
            ) => {
                mine.merge(whole)?;
                self.gaps_mut().merge(gaps)
            }
            _ => Err(mixed()),
        }
    }
}

impl Retract for GaussianStatistic {
    fn remove(&mut self, other: &Self) -> Result<()> {
        match (&mut *self, other) {
            (GaussianStatistic::Columns(mine), GaussianStatistic::Columns(theirs)) => mine.remove(theirs),
            (
                GaussianStatistic::Full(mine) | GaussianStatistic::Gapped { whole: mine, .. },
                GaussianStatistic::Full(theirs),
            ) => mine.remove(theirs),
            (GaussianStatistic::Gapped { whole: mine, gaps: my_gaps }, GaussianStatistic::Gapped { whole, gaps }) => {
                let (mut rest, mut rest_gaps) = (mine.clone(), my_gaps.clone());
                rest.remove(whole)?;
                rest_gaps.remove(gaps)?;
                *self = match rest_gaps.rows() {
                    0.0 => GaussianStatistic::Full(rest),
                    _ => GaussianStatistic::Gapped { whole: rest, gaps: rest_gaps },
                };
                Ok(())
            }
            (GaussianStatistic::Full(_), GaussianStatistic::Gapped { gaps, .. }) => Err(Error::Cancellation(format!(
                "cannot remove {} rows with missing cells: they were never added",
                gaps.rows()
            ))),
            _ => Err(mixed()),
        }
    }
}

pub(super) fn mixed() -> Error {
    Error::Schema("some statistics hold covariances and some only variances: make them with the same options".into())
}

impl Stored for GaussianStatistic {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.full"), &!self.is_columns())?;
        match self {
            GaussianStatistic::Full(moments) => moments.store(archive, name),
            GaussianStatistic::Columns(moments) => moments.store(archive, name),
            GaussianStatistic::Gapped { whole, gaps } => {
                archive.put_json(&format!("{name}.gapped"), &true)?;
                whole.store(archive, name)?;
                gaps.store(archive, &format!("{name}.gaps"))
            }
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        if !archive.json::<bool>(&format!("{name}.full"))? {
            return Ok(GaussianStatistic::Columns(ColumnMoments::load(archive, name)?));
        }
        let whole = Moments::load(archive, name)?;
        if !archive.json_if_any(&format!("{name}.gapped"))?.unwrap_or(false) {
            return Ok(GaussianStatistic::Full(whole));
        }
        let gaps = ColumnMoments::load(archive, &format!("{name}.gaps"))?;
        match gaps.width() == whole.width() {
            true => Ok(GaussianStatistic::Gapped { whole, gaps }),
            false => Err(archive.damaged(&format!("`{name}` has gaps in other columns"))),
        }
    }
}
