//! Fitted Gaussian (and Student) densities, scored a tile at a time.
//!
//! With q = (x−μ)ᵀΣ⁻¹(x−μ) = ‖L⁻¹D⁻¹(x−μ)‖²:
//!
//! - Gaussian: log p = −½ (d ln 2π + q) − ½ ln|Σ|;
//! - Student with ν degrees of freedom and scale matrix sΣ:
//!   log p = ln Γ((ν+d)/2) − ln Γ(ν/2) − ½ d ln(πνs) − ½ ln|Σ| − ½(ν+d) ln(1 + q/(νs)).
//!
//! Classes that share Σ share the solve: rows and means are whitened once and compared there.
//! A missing cell is marginalised: the row is scored by the density of the cells it has.
//!
//! Rows and parameters are finite, so where q is not a number something on the way to it has
//! overflowed, ∞ − ∞ or 0·∞: the row is infinitely far away, and log p = −∞.

use std::f64::consts::{PI, TAU};
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Cells, Column, Tile, Value};
use crate::error::{Error, Result};
use crate::evidence::Entry;
use crate::family::{Density, Filled, Filling, Parameters};
use crate::numerics::covariance::Scaled;
use crate::numerics::{Matrix, Random, Whitening, ln_gamma, solve_lower_tile, vectorised};
use crate::transform::Linear;

use super::factor::Factor;
use super::floor::Floored;
use super::incomplete::Precisions;
use super::prepared::Prepared;
use super::projected::{Reference, Whitened};

fn check_means(means: &[Vec<f64>], covariances: usize) -> Result<()> {
    let width = means.first().map_or(0, Vec::len);
    Error::check_shape("covariances", means.len(), covariances)?;
    match width > 0 && means.iter().all(|m| m.len() == width && m.iter().all(|x| x.is_finite())) {
        true => Ok(()),
        false => Err(Error::Schema("means must be finite numbers, as many for each class, and at least one".into())),
    }
}

/// How fast a density falls off.
#[derive(Clone, Debug, PartialEq)]
pub enum Tails {
    /// As a Gaussian.
    Normal,
    /// As a Student density of all columns together, per class (ν, s).
    Joint(Vec<(f64, f64)>),
    /// As a Student density in each column on its own, per class and column (ν, s).
    Columns(Vec<Vec<(f64, f64)>>),
}

/// The densities p(x | class) of a Gaussian block.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianDensity {
    chain: Vec<Linear>,
    means: Vec<Vec<f64>>,
    /// One per class, or one for all.
    factors: Vec<Factor>,
    tails: Tails,
    /// The means, whitened about their centre, where classes share a factor.
    whitened: Option<(Vec<f64>, Vec<Vec<f64>>)>,
    /// The factors as they are read in scoring, where these are not diagonal and not wide.
    whitenings: Vec<Whitening>,
    /// log p at the mean of each class, in the units of the data.
    peaks: Vec<f64>,
    /// For rows with missing cells.
    precisions: Precisions,
    /// All rows before the maps, where these project: for rows with missing cells.
    reference: Option<Arc<Reference>>,
    /// The groups in units of it.
    projected: Whitened,
    /// The variances that are the least they may be.
    floored: Vec<Floored>,
}

impl GaussianDensity {
    pub(super) fn normal(chain: Vec<Linear>, means: Vec<Vec<f64>>, factors: Vec<Factor>) -> Self {
        GaussianDensity::with_tails(chain, means, factors, Tails::Normal)
    }

    pub(super) fn with_tails(chain: Vec<Linear>, means: Vec<Vec<f64>>, factors: Vec<Factor>, tails: Tails) -> Self {
        let is_low_rank = matches!(factors[0], Factor::LowRank(_));
        let whitened = (factors.len() == 1 && !is_low_rank && !matches!(tails, Tails::Columns(_))).then(|| {
            let d = means[0].len();
            let centre: Vec<f64> = (0..d).map(|j| means.iter().map(|m| m[j] / means.len() as f64).sum()).collect();
            let whiten =
                |m: &Vec<f64>| factors[0].whiten(&m.iter().zip(&centre).map(|(m, c)| m - c).collect::<Vec<_>>());
            let whitened = means.iter().map(whiten).collect();
            (centre, whitened)
        });
        let whitening = |factor: &Factor| match factor {
            Factor::Lower(scaled) if scaled.sd().len() <= Whitening::WIDEST => {
                Some(Whitening::new(scaled.l(), scaled.sd()))
            }
            _ => None,
        };
        let whitenings = factors.iter().filter_map(whitening).collect();
        let mut density = GaussianDensity {
            chain,
            means,
            factors,
            tails,
            whitened,
            whitenings,
            peaks: Vec::new(),
            precisions: Precisions::default(),
            reference: None,
            projected: Whitened::default(),
            floored: Vec::new(),
        };
        let columns: Vec<usize> = (0..density.means[0].len()).collect();
        let volume = density.log_volume();
        let peak = |class: usize| volume + density.log_peak(class, density.factor(class), &columns);
        density.peaks = (0..density.means.len()).map(peak).collect();
        density
    }

    /// Normal densities with these means and variances, one of each per class and column.
    pub fn diagonal(means: Vec<Vec<f64>>, variances: Vec<Vec<f64>>) -> Result<Self> {
        check_means(&means, variances.len())?;
        let sd = |(variances, mean): (Vec<f64>, &Vec<f64>)| {
            Error::check_shape("variances of a class", mean.len(), variances.len())?;
            match variances.iter().all(|v| *v > 0.0 && v.is_finite()) {
                true => Ok(Factor::Diagonal(variances.iter().map(|v| v.sqrt()).collect())),
                false => Err(Error::Schema("every variance must be a finite number above 0".into())),
            }
        };
        let factors = variances.into_iter().zip(&means).map(sd).collect::<Result<_>>()?;
        Ok(GaussianDensity::normal(Vec::new(), means, factors))
    }

    /// Normal densities with these means and covariance matrices: one per class, or one for all.
    pub fn from_parameters(means: Vec<Vec<f64>>, covariances: Vec<Matrix>) -> Result<Self> {
        check_means(&means, if covariances.len() == 1 { means.len() } else { covariances.len() })?;
        let factor = |(class, covariance): (usize, &Matrix)| {
            Error::check_shape("rows of a covariance", means[class].len(), covariance.rows())?;
            let scaled = Scaled::factor(covariance, &means[class]);
            scaled.map(Factor::Lower).ok_or_else(|| Error::Schema(format!("covariance {class} is singular")))
        };
        let factors = covariances.iter().enumerate().map(factor).collect::<Result<_>>()?;
        Ok(GaussianDensity::normal(Vec::new(), means, factors))
    }

    /// The same densities of what these maps make of rows.
    pub(crate) fn after(self, mut maps: Vec<Linear>) -> Self {
        maps.extend(self.chain);
        GaussianDensity::with_tails(maps, self.means, self.factors, self.tails)
    }

    /// The same densities that know the rows before the maps.
    pub(crate) fn with_reference(self, reference: Option<Arc<Reference>>) -> Self {
        GaussianDensity { reference, projected: Whitened::default(), ..self }
    }

    /// Notes which of the variances were raised to the least that they may be.
    pub(super) fn with_floored(self, floored: Vec<Floored>) -> Self {
        GaussianDensity { floored, ..self }
    }

    /// The classes and columns whose variance would be 0, and is the least that it may be.
    pub fn floored(&self) -> &[Floored] {
        &self.floored
    }

    pub(super) fn reference(&self) -> Option<&Reference> {
        self.reference.as_deref()
    }

    pub(super) fn projected(&self) -> &Whitened {
        &self.projected
    }

    /// ln|det| of the maps that keep the number of columns.
    pub(super) fn log_volume(&self) -> f64 {
        self.chain.iter().map(Linear::log_determinant).sum()
    }

    /// The linear maps before the density.
    pub fn chain(&self) -> &[Linear] {
        &self.chain
    }

    /// The mean of a class, after the linear maps.
    pub fn mean(&self, class: usize) -> &[f64] {
        &self.means[class]
    }

    /// The covariance (for a Student density, the scale matrix) of a class, after the linear maps.
    pub fn covariance(&self, class: usize) -> Matrix {
        let sigma = self.factor(class).covariance();
        // √s per column: the scale matrix of a Student density is sΣ.
        let root = |j: usize| match &self.tails {
            Tails::Normal => 1.0,
            Tails::Joint(tails) => tails[class].1.sqrt(),
            Tails::Columns(tails) => tails[class][j].1.sqrt(),
        };
        Matrix::from_fn(sigma.rows(), sigma.rows(), |i, j| sigma[(i, j)] * root(i) * root(j))
    }

    /// The means, after the linear maps.
    pub fn means(&self) -> &[Vec<f64>] {
        &self.means
    }

    /// Σ log p(x | class) of rows that only their moments tell of; `None` for densities that need the
    /// rows, and after projections.
    pub(super) fn log_likelihood(&self, class: usize, mut rows: Prepared) -> Option<f64> {
        if self.tails != Tails::Normal || self.chain.iter().any(|linear| !linear.is_columnwise()) {
            return None;
        }
        for linear in &self.chain {
            rows = rows.map(linear);
        }
        let (mean, factor) = (&self.means[class], self.factor(class));
        let columns = rows.columns().swap_remove(0);
        let cells: f64 = columns.weight().iter().sum();
        // A column counts as often as it has cells.
        let of_map =
            |linear: &Linear| -> f64 { linear.log_scales().iter().zip(columns.weight()).map(|(s, w)| s * w).sum() };
        let volume: f64 = self.chain.iter().map(of_map).sum();
        let constant = volume - 0.5 * cells * TAU.ln();
        let rest = match (factor, &rows) {
            (Factor::Lower(scaled), Prepared::Full(moments)) => {
                let m = &moments[0];
                let delta: Vec<f64> = m.mean().iter().zip(mean).map(|(a, b)| a - b).collect();
                let distance: f64 = scaled.whiten(&delta).iter().map(|z| z * z).sum();
                m.weight() * (2.0 * scaled.half_log_determinant() + distance) + scaled.trace_ratio(m.scatter())
            }
            (Factor::LowRank(low), Prepared::Full(moments)) => {
                let m = &moments[0];
                let delta: Vec<f64> = m.mean().iter().zip(mean).map(|(a, b)| a - b).collect();
                let distance: f64 = low.whiten(&delta).iter().map(|z| z * z).sum();
                m.weight() * (2.0 * low.half_log_determinant() + distance) + low.trace_ratio(m.scatter())
            }
            (Factor::Diagonal(sd), _) => {
                let column = |j: usize| {
                    let t = (columns.mean()[j] - mean[j]) / sd[j];
                    columns.weight()[j] * (2.0 * sd[j].ln() + t * t) + columns.scatter()[j] / (sd[j] * sd[j])
                };
                (0..sd.len()).map(column).sum()
            }
            _ => return None,
        };
        Some(constant - 0.5 * rest)
    }

    /// Whether the classes share their covariance.
    pub fn is_tied(&self) -> bool {
        self.factors.len() == 1 && self.means.len() > 1
    }

    /// The tails of the densities.
    pub fn tails(&self) -> &Tails {
        &self.tails
    }

    pub(super) fn factor(&self, class: usize) -> &Factor {
        &self.factors[self.factor_place(class)]
    }

    pub(super) fn factor_place(&self, class: usize) -> usize {
        if self.factors.len() == 1 { 0 } else { class }
    }

    /// One for each class, or one for all.
    pub(super) fn factors(&self) -> &[Factor] {
        &self.factors
    }

    pub(super) fn precisions(&self) -> &Precisions {
        &self.precisions
    }

    /// log p at q = 0 for a density over these columns.
    pub(super) fn log_peak(&self, class: usize, factor: &Factor, columns: &[usize]) -> f64 {
        self.log_constant(class, columns) - factor.half_log_determinant()
    }

    /// What stands before −½ ln|Σ| in log p at q = 0, for these columns.
    pub(super) fn log_constant(&self, class: usize, columns: &[usize]) -> f64 {
        let d = columns.len() as f64;
        let peak =
            |d: f64, (nu, s): (f64, f64)| ln_gamma((nu + d) / 2.0) - ln_gamma(nu / 2.0) - 0.5 * d * (PI * nu * s).ln();
        match &self.tails {
            Tails::Normal => -0.5 * d * TAU.ln(),
            Tails::Joint(tails) => peak(d, tails[class]),
            Tails::Columns(tails) => columns.iter().map(|&j| peak(1.0, tails[class][j])).sum(),
        }
    }

    /// Scores a tile without missing cells; `z` is used up.
    pub(super) fn score_complete(&self, z: &mut Tile, out: &mut Tile) {
        let mut spare = Tile::default();
        for linear in &self.chain {
            linear.apply(z, &mut spare);
        }
        let mut q = Tile::default();
        q.resize(z.rows(), 1);
        let q = q.data_mut();
        if let Some((centre, means)) = &self.whitened {
            let factor = &self.factors[0];
            standardise(z, centre, factor.sd());
            self.solve_tile(0, z);
            for (class, mean) in means.iter().enumerate() {
                vectorised!(squared_distances(z, mean, q));
                self.finish(class, q, out.column_mut(class));
            }
            return;
        }
        for class in 0..self.means.len() {
            let (factor, mean) = (self.factor(class), &self.means[class]);
            match (factor, &self.tails) {
                (Factor::Diagonal(sd), Tails::Columns(tails)) => {
                    let column = out.column_mut(class);
                    for (j, &(nu, s)) in tails[class].iter().enumerate() {
                        for (o, x) in column.iter_mut().zip(z.column(j)) {
                            let t = (x - mean[j]) / sd[j];
                            *o -= 0.5 * (nu + 1.0) * (far(t * t) / (nu * s)).ln_1p();
                        }
                    }
                    column.iter_mut().for_each(|o| *o += self.peaks[class]);
                }
                (Factor::Diagonal(sd), _) => {
                    vectorised!(scaled_squared_distances(z, mean, sd, q));
                    self.finish(class, q, out.column_mut(class));
                }
                (Factor::LowRank(low), _) => {
                    low.squared_lengths(z, mean, q);
                    self.finish(class, q, out.column_mut(class));
                }
                (Factor::Lower(scaled), _) => {
                    match self.whitenings.get(self.factor_place(class)) {
                        Some(whitening) => whitening.squared_lengths(z, mean, q),
                        None => {
                            spare.clone_from(z);
                            standardise(&mut spare, mean, scaled.sd());
                            solve_lower_tile(scaled.l(), &mut spare);
                            vectorised!(squared_norms(&spare, q));
                        }
                    }
                    self.finish(class, q, out.column_mut(class));
                }
            }
        }
    }

    /// Each standardised row z becomes L⁻¹z, by one of the factors.
    pub(super) fn solve_tile(&self, factor: usize, z: &mut Tile) {
        match (self.whitenings.get(factor), &self.factors[factor]) {
            (Some(whitening), _) => whitening.solve_tile(z),
            (None, Factor::Lower(scaled)) => solve_lower_tile(scaled.l(), z),
            (None, _) => {}
        }
    }

    /// Adds log p from squared distances.
    fn finish(&self, class: usize, q: &[f64], out: &mut [f64]) {
        let peak = self.peaks[class];
        match &self.tails {
            Tails::Joint(tails) => {
                let (nu, s) = tails[class];
                let power = 0.5 * (nu + self.means[class].len() as f64);
                out.iter_mut().zip(q).for_each(|(o, &q)| *o += peak - power * (far(q) / (nu * s)).ln_1p());
            }
            _ => out.iter_mut().zip(q).for_each(|(o, &q)| *o += peak - 0.5 * far(q)),
        }
    }
}

/// q, or ∞ where it overflowed on the way.
#[inline(always)]
pub(super) fn far(q: f64) -> f64 {
    if q.is_nan() { f64::INFINITY } else { q }
}

#[inline(always)]
fn squared_distances(z: &Tile, mean: &[f64], q: &mut [f64]) {
    q.fill(0.0);
    for (j, m) in mean.iter().enumerate() {
        q.iter_mut().zip(z.column(j)).for_each(|(q, z)| *q += (z - m) * (z - m));
    }
}

#[inline(always)]
fn scaled_squared_distances(x: &Tile, mean: &[f64], sd: &[f64], q: &mut [f64]) {
    q.fill(0.0);
    for (j, (m, s)) in mean.iter().zip(sd).enumerate() {
        let r = s.recip();
        q.iter_mut().zip(x.column(j)).for_each(|(q, x)| {
            let t = (x - m) * r;
            *q += t * t;
        });
    }
}

#[inline(always)]
pub(super) fn squared_norms(z: &Tile, q: &mut [f64]) {
    q.fill(0.0);
    for j in 0..z.width() {
        q.iter_mut().zip(z.column(j)).for_each(|(q, z)| *q += z * z);
    }
}

/// D⁻¹(x − c), in place.
pub(super) fn standardise(tile: &mut Tile, centre: &[f64], sd: &[f64]) {
    vectorised!({
        for (j, (c, s)) in centre.iter().zip(sd).enumerate() {
            let r = s.recip();
            tile.column_mut(j).iter_mut().for_each(|x| *x = (*x - c) * r);
        }
    });
}

impl Density for GaussianDensity {
    fn classes(&self) -> usize {
        self.means.len()
    }

    fn width(&self) -> usize {
        self.chain.first().map_or(self.means[0].len(), Linear::inputs)
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        let d = self.means[0].len();
        // After a projection the dimensions have numbers, not names.
        let name = |j: usize| match self.width() == d {
            true => columns[j].name.clone(),
            false => format!("z{}", j + 1),
        };
        let table = |what, value: &dyn Fn(usize, usize) -> f64| Parameters {
            what,
            rows: (0..d).map(|j| (name(j), (0..self.classes()).map(|k| value(k, j)).collect())).collect(),
        };
        let sd = |k: usize, j: usize| {
            // A Student variable with scale sΣ has covariance sΣ ν/(ν−2), where there is one.
            let spread = |(nu, s): (f64, f64)| if nu > 2.0 { s * nu / (nu - 2.0) } else { f64::INFINITY };
            let stretch = match &self.tails {
                Tails::Normal => 1.0,
                Tails::Joint(tails) => spread(tails[k]),
                Tails::Columns(tails) => spread(tails[k][j]),
            };
            (self.factor(k).covariance_diagonal(j) * stretch).sqrt()
        };
        vec![table("mean", &|k, j| self.means[k][j]), table("sd", &sd)]
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        let factors = match self.factors.len() {
            1 => self.factors.clone(),
            _ => self.factors[groups.clone()].to_vec(),
        };
        let tails = match &self.tails {
            Tails::Normal => Tails::Normal,
            Tails::Joint(tails) => Tails::Joint(tails[groups.clone()].to_vec()),
            Tails::Columns(tails) => Tails::Columns(tails[groups.clone()].to_vec()),
        };
        let own = GaussianDensity::with_tails(self.chain.clone(), self.means[groups.clone()].to_vec(), factors, tails);
        let floored = self.floored.iter().filter(|(group, _)| groups.contains(group));
        own.with_reference(self.reference.clone())
            .with_floored(floored.map(|(group, column)| (group - groups.start, *column)).collect())
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        let mut tile = Tile::default();
        x.read_numbers(&mut tile)?;
        match tile.first_not_finite() {
            None => self.score_complete(&mut tile, out),
            Some(_) => self.score_incomplete(x, names, &tile, out)?,
        }
        Ok(())
    }

    fn is_joint(&self) -> bool {
        self.is_correlated()
    }

    fn parts(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
        self.is_projected().then(|| self.along_the_path(x, columns)).transpose()
    }

    fn fill(&self, group: usize, x: &Cells<'_>, names: &[String], by: Filling<'_>) -> Result<Vec<Filled>> {
        self.fill_missing(group, x, names, by)
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let mean = &self.means[class];
        let mut z: Vec<f64> = mean.iter().map(|_| random.normal()).collect();
        // A Student variable is a Gaussian over the root of an independent χ²/ν.
        let mut stretch = |(nu, s): (f64, f64)| (s * nu / (2.0 * random.gamma(nu / 2.0))).sqrt();
        match &self.tails {
            Tails::Normal => {}
            Tails::Joint(tails) => {
                let by = stretch(tails[class]);
                z.iter_mut().for_each(|z| *z *= by);
            }
            Tails::Columns(tails) => z.iter_mut().zip(&tails[class]).for_each(|(z, &t)| *z *= stretch(t)),
        }
        let coloured = match self.factor(class) {
            Factor::Diagonal(sd) => z.iter().zip(sd).map(|(z, s)| z * s).collect(),
            Factor::Lower(scaled) => scaled.colour(&z),
            Factor::LowRank(low) => low.colour(&z),
        };
        let mut x: Vec<f64> = coloured.iter().zip(mean).map(|(x, m)| x + m).collect();
        for linear in self.chain.iter().rev() {
            x = linear.inverse_row(&x)?;
        }
        Ok(x.into_iter().map(Value::Number).collect())
    }
}
