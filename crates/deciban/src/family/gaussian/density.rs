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
use crate::file::{Archive, Stored};
use crate::numerics::covariance::Scaled;
use crate::numerics::{Matrix, Random, Whitening, ln_gamma, solve_lower_tile, vectorised};
use crate::transform::Linear;

use super::Prepared;
use super::incomplete::Precisions;
use super::low_rank::LowRank;
use super::projected::{Reference, Whitened};

/// A square root of a covariance.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// Standard deviations.
    Diagonal(Vec<f64>),
    /// Standard deviations and the factor of the correlations.
    Lower(Scaled),
    /// Principal axes and one variance in all other directions.
    LowRank(LowRank),
}

impl Factor {
    pub(super) fn half_log_determinant(&self) -> f64 {
        match self {
            Factor::Diagonal(sd) => sd.iter().map(|s| s.ln()).sum(),
            Factor::Lower(scaled) => scaled.half_log_determinant(),
            Factor::LowRank(low) => low.half_log_determinant(),
        }
    }

    pub(super) fn sd(&self) -> &[f64] {
        match self {
            Factor::Diagonal(sd) => sd,
            Factor::Lower(scaled) => scaled.sd(),
            Factor::LowRank(low) => low.sd(),
        }
    }

    pub(super) fn whiten(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Factor::Diagonal(sd) => x.iter().zip(sd).map(|(x, s)| x / s).collect(),
            Factor::Lower(scaled) => scaled.whiten(x),
            Factor::LowRank(low) => low.whiten(x),
        }
    }

    pub(super) fn marginal(&self, columns: &[usize]) -> Option<Factor> {
        match self {
            Factor::Diagonal(sd) => Some(Factor::Diagonal(columns.iter().map(|&j| sd[j]).collect())),
            Factor::Lower(scaled) => scaled.marginal(columns).map(Factor::Lower),
            Factor::LowRank(low) => {
                let all = low.covariance();
                let own = Matrix::from_fn(columns.len(), columns.len(), |i, j| all[(columns[i], columns[j])]);
                Scaled::factor(&own, &vec![0.0; columns.len()]).map(Factor::Lower)
            }
        }
    }

    /// The variance of a column.
    pub fn covariance_diagonal(&self, j: usize) -> f64 {
        match self {
            Factor::Diagonal(sd) => sd[j] * sd[j],
            Factor::Lower(scaled) => {
                let length: f64 = (0..=j).map(|k| scaled.l()[(j, k)].powi(2)).sum();
                length * scaled.sd()[j].powi(2)
            }
            Factor::LowRank(low) => low.variance(j),
        }
    }

    /// Σ
    pub fn covariance(&self) -> Matrix {
        match self {
            Factor::Diagonal(sd) => Matrix::diagonal(&sd.iter().map(|s| s * s).collect::<Vec<_>>()),
            Factor::Lower(scaled) => scaled.covariance(),
            Factor::LowRank(low) => low.covariance(),
        }
    }

    /// Σ⁻¹
    pub fn precision(&self) -> Matrix {
        match self {
            Factor::Diagonal(sd) => Matrix::diagonal(&sd.iter().map(|s| (s * s).recip()).collect::<Vec<_>>()),
            Factor::Lower(scaled) => scaled.precision(),
            Factor::LowRank(low) => low.precision(),
        }
    }
}

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
        let mut q = vec![0.0; z.rows()];
        if let Some((centre, means)) = &self.whitened {
            let factor = &self.factors[0];
            standardise(z, centre, factor.sd());
            self.solve_tile(0, z);
            for (class, mean) in means.iter().enumerate() {
                vectorised!(squared_distances(z, mean, &mut q));
                self.finish(class, &q, out.column_mut(class));
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
                    vectorised!(scaled_squared_distances(z, mean, sd, &mut q));
                    self.finish(class, &q, out.column_mut(class));
                }
                (Factor::LowRank(low), _) => {
                    low.squared_lengths(z, mean, &mut q);
                    self.finish(class, &q, out.column_mut(class));
                }
                (Factor::Lower(scaled), _) => {
                    match self.whitenings.get(self.factor_place(class)) {
                        Some(whitening) => whitening.squared_lengths(z, mean, &mut q),
                        None => {
                            spare.clone_from(z);
                            standardise(&mut spare, mean, scaled.sd());
                            solve_lower_tile(scaled.l(), &mut spare);
                            vectorised!(squared_norms(&spare, &mut q));
                        }
                    }
                    self.finish(class, &q, out.column_mut(class));
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
        let own = GaussianDensity::with_tails(self.chain.clone(), self.means[groups].to_vec(), factors, tails);
        own.with_reference(self.reference.clone())
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

impl Stored for GaussianDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let (k, d) = (self.means.len(), self.means[0].len());
        let tails = match self.tails {
            Tails::Normal => "normal",
            Tails::Joint(_) => "joint",
            Tails::Columns(_) => "columns",
        };
        let full = matches!(self.factors[0], Factor::Lower(_));
        archive.put_json(&format!("{name}.shape"), &(self.chain.len(), k, d, self.factors.len(), full, tails))?;
        for (i, linear) in self.chain.iter().enumerate() {
            linear.store(archive, &format!("{name}.map{i}"))?;
        }
        if let Some(reference) = &self.reference {
            reference.store(archive, &format!("{name}.reference"))?;
        }
        archive.put(&format!("{name}.mean"), &[k, d], &self.means.concat())?;
        let is_low_rank = matches!(self.factors[0], Factor::LowRank(_));
        if is_low_rank {
            archive.put_json(&format!("{name}.low_rank"), &true)?;
        }
        for (i, factor) in self.factors.iter().enumerate() {
            if let Factor::LowRank(low) = factor {
                let (axes, variances, rest) = low.parts();
                let q = variances.len();
                archive.put_json(&format!("{name}.rank{i}"), &q)?;
                // Column after column is row after row of the transpose.
                archive.put(&format!("{name}.axes{i}"), &[q, d], axes.data())?;
                archive.put(&format!("{name}.variances{i}"), &[q + 1], &[variances, &[rest]].concat())?;
                continue;
            }
            archive.put(&format!("{name}.sd{i}"), &[d], factor.sd())?;
            if let Factor::Lower(scaled) = factor {
                let lower = scaled.l().lower();
                archive.put(&format!("{name}.correlation_root{i}"), &[lower.len()], &lower)?;
            }
        }
        let flat = |tails: &[(f64, f64)]| tails.iter().flat_map(|&(nu, s)| [nu, s]).collect::<Vec<_>>();
        match &self.tails {
            Tails::Normal => Ok(()),
            Tails::Joint(tails) => archive.put(&format!("{name}.tails"), &[k, 2], &flat(tails)),
            Tails::Columns(tails) => archive.put(&format!("{name}.tails"), &[k, d, 2], &flat(&tails.concat())),
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let damaged = |what: &str| Err(archive.damaged(&format!("`{name}` {what}")));
        let (maps, k, d, factors, full, tails): (usize, usize, usize, usize, bool, String) =
            archive.json(&format!("{name}.shape"))?;
        let means = archive.finite(&format!("{name}.mean"), &[k, d])?;
        if k == 0 || d == 0 || (factors != 1 && factors != k) {
            return damaged("has no classes, no columns or a wrong number of covariances");
        }
        let means: Vec<Vec<f64>> = means.chunks_exact(d).map(<[f64]>::to_vec).collect();
        let chain: Vec<Linear> =
            (0..maps).map(|i| Linear::load(archive, &format!("{name}.map{i}"))).collect::<Result<_>>()?;
        let fits = chain.windows(2).all(|w| w[0].outputs() == w[1].inputs());
        if !fits || chain.last().is_some_and(|last| last.outputs() != d) {
            return damaged("has maps that do not fit together");
        }
        let mut loaded = Vec::new();
        let low_rank = archive.json_if_any(&format!("{name}.low_rank"))?.unwrap_or(false);
        for i in 0..factors {
            if low_rank {
                let q: usize = archive.json(&format!("{name}.rank{i}"))?;
                let axes = archive.finite(&format!("{name}.axes{i}"), &[q, d])?;
                let variances = archive.finite(&format!("{name}.variances{i}"), &[q.saturating_add(1)])?;
                if q >= d || variances.iter().any(|v| *v <= 0.0) {
                    return damaged("has axes or variances that are no covariance");
                }
                let axes = Matrix::from_columns(d, q, axes.to_vec());
                loaded.push(Factor::LowRank(LowRank::from_parts(axes, variances[..q].to_vec(), variances[q])));
                continue;
            }
            let sd = archive.finite(&format!("{name}.sd{i}"), &[d])?.to_vec();
            if sd.iter().any(|s| *s <= 0.0) {
                return damaged("has a standard deviation that is not positive");
            }
            if !full {
                loaded.push(Factor::Diagonal(sd));
                continue;
            }
            let lower = archive.finite(&format!("{name}.correlation_root{i}"), &[d * (d + 1) / 2])?;
            let l = Matrix::from_lower(d, lower);
            if (0..d).any(|j| l[(j, j)] <= 0.0) {
                return damaged("has a correlation matrix that is not positive definite");
            }
            loaded.push(Factor::Lower(Scaled::from_parts(sd, l)?));
        }
        let tensor = format!("{name}.tails");
        let pairs = |v: &[f64]| v.chunks_exact(2).map(|p| (p[0], p[1])).collect::<Vec<_>>();
        let tails = match tails.as_str() {
            "normal" => Tails::Normal,
            "joint" if !low_rank => Tails::Joint(pairs(archive.finite(&tensor, &[k, 2])?)),
            "columns" if !full && !low_rank => {
                let all = pairs(archive.finite(&tensor, &[k, d, 2])?);
                Tails::Columns(all.chunks_exact(d).map(<[_]>::to_vec).collect())
            }
            _ => return damaged("has tails of an unknown kind"),
        };
        let positive = |tails: &[(f64, f64)]| tails.iter().all(|&(nu, s)| nu > 0.0 && s > 0.0);
        let sound = match &tails {
            Tails::Normal => true,
            Tails::Joint(tails) => positive(tails),
            Tails::Columns(tails) => tails.iter().all(|t| positive(t)),
        };
        if !sound {
            return damaged("has tails that are not positive");
        }
        let width = chain.first().map_or(d, Linear::inputs);
        let density = GaussianDensity::with_tails(chain, means, loaded, tails);
        let place = format!("{name}.reference");
        if !archive.has(&format!("{place}.mean")) {
            return Ok(density);
        }
        let reference = Reference::load(archive, &place)?;
        match reference.width() == width {
            true => Ok(density.with_reference(Some(Arc::new(reference)))),
            false => damaged("has moments of other columns"),
        }
    }
}
