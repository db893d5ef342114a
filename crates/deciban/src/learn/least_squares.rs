//! Least squares on an indicator matrix: yᵢₖ = 1 where row i is of class k, else 0, and
//! sₖ(x) = πₖ + bₖᵀ(x − m) minimises Σ w (yₖ − sₖ)².
//!
//! It is fitted from the same moments as a Gaussian model, so from statistics files too: with class
//! weights Wₖ, class means mₖ, overall mean m and the scatter T about it,
//!
//! T bₖ = Wₖ (mₖ − m).
//!
//! Where T is singular the weights are the smallest ones, per standard deviation, that do it.
//!
//! Scores sum to 1 over the classes, for Σ Wₖ(mₖ − m) = 0, and each is the best linear approximation
//! of p(k | x); but nothing keeps it between 0 and 1. The posterior is the scores where all are at
//! least f = 1/(W + K), one row's share; a score below f counts as f, and the whole is divided by
//! its sum. So the decision under the training prior is the largest score. For two classes b is
//! proportional to the direction of LDA; with more, classes between others are masked.

use std::ops::Range;

use super::discriminative::Discriminative;
use super::options::{FOLDS, Group, Named, Options, Seen};
use super::{About, Classifier, Generative, Learner, Statistics};
use crate::data::{Batch, Cells, Column, Rows, Tile};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::explain::{AVERAGE, Entry, Explanation, base, slopes};
use crate::family::AnyStatistic;
use crate::family::gaussian::{Gaussian, GaussianStatistic, LinearForm};
use crate::file::{Archive, Stored};
use crate::numerics::{Matrix, cholesky, dot, eigen, log_shares, solve_lower, tile_product};
use crate::posterior::Prior;
use crate::statistic::{Moments, Statistic};

/// Learns scores by least squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeastSquares;

impl LeastSquares {
    /// The model, from the statistics of a Gaussian one.
    pub fn fit(&self, statistics: &Statistics) -> Result<LeastSquaresModel> {
        let (schema, summary) = (statistics.schema(), statistics.summary());
        super::generative::check_classes(schema, &summary.rows(), &summary.weights())?;
        let [block] = statistics.blocks() else { return Err(unfit()) };
        if block.deskew.is_some() || block.gaussianise.is_some() || block.discretise.is_some() {
            return Err(unfit());
        }
        let moments: Vec<Moments> = summary.block(0)?.into_iter().map(moments_of).collect::<Result<_>>()?;
        let weights = summary.weights();
        let mut total = Moments::empty(block.columns.len());
        moments.iter().try_for_each(|class| total.merge(class))?;
        let d = total.width();
        let shifts = Matrix::from_fn(d, moments.len(), |j, k| weights[k] * (moments[k].mean()[j] - total.mean()[j]));
        let w = solve(total.scatter(), &shifts).ok_or_else(|| Error::Schema("the moments overflow".into()))?;
        let empirical = Prior::from_weights(&weights)?;
        let explained = |(k, p): (usize, &f64)| dot(w.column(k), shifts.column(k)) / (total.weight() * p * (1.0 - p));
        Ok(LeastSquaresModel {
            explained: empirical.probabilities().iter().enumerate().map(explained).collect(),
            about: About::new(schema.clone(), empirical),
            weight: total.weight(),
            columns: block.columns.clone(),
            mean: total.mean().to_vec(),
            w,
        })
    }
}

fn moments_of(statistic: AnyStatistic) -> Result<Moments> {
    match statistic {
        AnyStatistic::Gaussian(GaussianStatistic::Full(moments)) => Ok(moments),
        _ => Err(unfit()),
    }
}

fn unfit() -> Error {
    Error::parameter(
        "model",
        "least-squares needs the means and covariances of numbers: make the statistics with §model=gaussian, \
         a full or tied §covariance and no §deskew or §gaussianise",
    )
}

/// X with T X = C, T given by its lower triangle. Columns that do not vary get weight 0; where others
/// depend on each other, the smallest solution per standard deviation.
fn solve(t: &Matrix, c: &Matrix) -> Option<Matrix> {
    let n = t.rows();
    let scale: Vec<f64> = (0..n).map(|j| if t[(j, j)] > 0.0 { t[(j, j)].sqrt().recip() } else { 0.0 }).collect();
    let varies: Vec<usize> = (0..n).filter(|&j| scale[j] > 0.0).collect();
    let cell = |i: usize, j: usize| t[(i.max(j), i.min(j))] * scale[i] * scale[j];
    let r = Matrix::from_fn(varies.len(), varies.len(), |i, j| cell(varies[i], varies[j]));
    let mut x = Matrix::from_fn(varies.len(), c.columns(), |i, k| c[(varies[i], k)] * scale[varies[i]]);
    match cholesky(&r).filter(|l| (0..l.rows()).all(|j| l[(j, j)] > 1e-6)) {
        Some(l) => {
            solve_lower(&l, false, &mut x);
            solve_lower(&l, true, &mut x);
        }
        None => {
            let (values, u) = eigen(&r)?;
            let least = 1e-12 * values.first().copied().unwrap_or(0.0);
            let inverse: Vec<f64> = values.iter().map(|&v| if v > least { v.recip() } else { 0.0 }).collect();
            let along = crate::numerics::product(&u, true, &x, false);
            let along = Matrix::from_fn(along.rows(), along.columns(), |i, k| along[(i, k)] * inverse[i]);
            x = crate::numerics::product(&u, false, &along, false);
        }
    }
    let mut w = Matrix::zeros(n, c.columns());
    for (i, &j) in varies.iter().enumerate() {
        (0..c.columns()).for_each(|k| w[(j, k)] = x[(i, k)] * scale[j]);
    }
    w.data().iter().all(|x| x.is_finite()).then_some(w)
}

impl Named for LeastSquares {
    const MODELS: &'static [(&'static str, &'static [Group])] = &[("least-squares", &[FOLDS])];

    fn of_options(_: &str, _: &Options, _: &[Column], _: Seen<'_>) -> Result<Self> {
        Ok(LeastSquares)
    }

    fn model(&self) -> &'static str {
        "least-squares"
    }

    fn of_model(_: &LeastSquaresModel) -> Self {
        LeastSquares
    }

    fn statistics_of(_: &str) -> Option<&str> {
        Some("gaussian")
    }

    fn of_statistics(&self, statistics: &Statistics) -> Result<LeastSquaresModel> {
        self.fit(statistics)
    }
}

impl Learner for LeastSquares {
    type Model = LeastSquaresModel;

    fn learn(&self, engine: &dyn Engine) -> Result<LeastSquaresModel> {
        let learner = Generative::gaussian(engine.schema()?.columns(), Gaussian::default())?;
        self.fit(&learner.statistics(engine)?)
    }
}

/// Scores fitted by least squares.
#[derive(Clone, Debug)]
pub struct LeastSquaresModel {
    about: About,
    weight: f64,
    columns: Vec<usize>,
    mean: Vec<f64>,
    /// A column of weights per class.
    w: Matrix,
    explained: Vec<f64>,
}

impl LeastSquaresModel {
    /// R² of each class's indicator.
    pub fn explained(&self) -> &[f64] {
        &self.explained
    }

    /// The score of each class in the units of the data.
    pub fn scores(&self) -> Vec<LinearForm> {
        let form = |(k, p): (usize, &f64)| {
            let w = self.w.column(k).to_vec();
            LinearForm { w0: p - dot(&w, &self.mean), w }
        };
        self.empirical().probabilities().iter().enumerate().map(form).collect()
    }

    /// ln p under the training prior, up to what all classes share.
    fn log_share(&self, score: f64) -> f64 {
        score.max(1.0 / (self.weight + self.empirical().classes() as f64)).ln()
    }

    /// The names and numbers of a row.
    fn cells(&self, x: &Batch<'_>, row: usize) -> Result<Vec<(String, f64)>> {
        let mut tile = Tile::default();
        Cells::new(x, &self.columns, Rows::Range(row..row + 1)).read_numbers(&mut tile)?;
        let name = |j: usize| self.schema().columns()[self.columns[j]].name.clone();
        Ok((0..tile.width()).map(|j| (name(j), tile.column(j)[0])).collect())
    }

    /// x − m of some rows, 0 where a cell is missing.
    fn centred(&self, x: &Batch<'_>, rows: std::ops::Range<usize>, tile: &mut Tile) -> Result<()> {
        Cells::new(x, &self.columns, Rows::Range(rows.clone())).read_numbers(tile)?;
        for (j, m) in self.mean.iter().enumerate() {
            let column = tile.column_mut(j);
            column.iter_mut().for_each(|x| *x = if x.is_nan() { 0.0 } else { *x - m });
        }
        match tile.first_not_finite() {
            None => Ok(()),
            Some((i, j)) => {
                let column = self.schema().columns()[self.columns[j]].name.clone();
                Err(Error::Infinite { column, row: x.row_number(rows.start + i) + 1 })
            }
        }
    }
}

impl Discriminative for LeastSquaresModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn learned_from(&self) -> f64 {
        self.weight
    }

    fn log_posteriors(&self, x: &Batch<'_>, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
        let p = self.empirical().probabilities();
        let (mut tile, mut scores) = (Tile::default(), Tile::default());
        self.centred(x, rows, &mut tile)?;
        tile_product(&tile, &self.w, &mut scores);
        for (i, row) in out.chunks_exact_mut(p.len()).enumerate() {
            for (k, o) in row.iter_mut().enumerate() {
                *o = self.log_share(p[k] + scores.column(k)[i]);
            }
            log_shares(row);
        }
        Ok(())
    }

    fn explain_row(&self, x: &Batch<'_>, row: usize) -> Result<Explanation> {
        let (mut centred, p) = (Tile::default(), self.empirical().probabilities());
        self.centred(x, row..row + 1, &mut centred)?;
        let raw = self.cells(x, row)?;
        let forms = self.scores();
        let d = raw.len();
        let of_class = |k: usize| {
            let z = p[k] + (0..d).map(|j| forms[k].w[j] * centred.column(j)[0]).sum::<f64>();
            let (from, slopes) = slopes(p[k], z, |score| vec![self.log_share(score)]);
            (from[0], slopes[0])
        };
        let classes: Vec<(f64, f64)> = (0..p.len()).map(of_class).collect();
        let mut all = vec![base(AVERAGE, &classes.iter().map(|c| c.0).collect::<Vec<_>>(), self.empirical())];
        for j in 0..d {
            let name = &raw[j].0;
            all.push(match raw[j].1.is_nan() {
                true => Entry::missing(name, p.len()),
                false => {
                    let says = |(k, c): (usize, &(f64, f64))| c.1 * forms[k].w[j] * centred.column(j)[0];
                    Entry::new(name, format!("{}", raw[j].1), classes.iter().enumerate().map(says).collect())
                }
            });
        }
        Ok(Explanation { entries: all })
    }
}

impl Stored for LeastSquaresModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        archive.put_json(&format!("{name}.columns"), &self.columns)?;
        let (k, d) = (self.explained.len(), self.mean.len());
        archive.put(&format!("{name}.weight"), &[1], &[self.weight])?;
        archive.put(&format!("{name}.mean"), &[d], &self.mean)?;
        archive.put(&format!("{name}.w"), &[k, d], self.w.data())?;
        archive.put(&format!("{name}.explained"), &[k], &self.explained)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let about = About::load(archive, name)?;
        let schema = about.schema();
        let columns: Vec<usize> = archive.json(&format!("{name}.columns"))?;
        let (k, d) = (schema.classes().len(), columns.len());
        if k < 2 || columns.iter().any(|&c| c >= schema.columns().len()) {
            return Err(archive.damaged("the scores do not fit the schema"));
        }
        let weight = archive.finite(&format!("{name}.weight"), &[1])?[0];
        if weight <= 0.0 {
            return Err(archive.damaged("the model has no rows"));
        }
        Ok(LeastSquaresModel {
            weight,
            mean: archive.finite(&format!("{name}.mean"), &[d])?.to_vec(),
            w: Matrix::from_columns(d, k, archive.finite(&format!("{name}.w"), &[k, d])?.to_vec()),
            explained: archive.get(&format!("{name}.explained"), &[k])?.to_vec(),
            about,
            columns,
        })
    }
}
