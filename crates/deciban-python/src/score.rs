//! [`Scorer`]: parameters to log p(x | class) or posteriors, tile by tile into an array of Python's.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use deciban::data::{Batch, Cells, Rows, Tile};
use deciban::family::categorical::CategoricalDensity;
use deciban::family::counts::Unseen;
use deciban::family::gaussian::GaussianDensity;
use deciban::family::{AnyDensity, Density};
use deciban::numerics::{Matrix, WordTable, log_sum_exp, tile_product};
use deciban::{Error, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::array::Array;
use crate::errors::raise;
use crate::table::Table;
use crate::work;

/// Scores rows.
#[pyclass(frozen, module = "deciban._core")]
pub struct Scorer {
    kind: Kind,
    classes: usize,
}

enum Kind {
    Density(AnyDensity),
    /// s = Wx + b
    Linear(Linear),
}

struct Linear {
    /// Wᵀ
    transposed: Matrix,
    /// The weights of each column, one after the other: what a word of a sparse row touches.
    by_column: Vec<f64>,
    bias: Vec<f64>,
}

impl Linear {
    fn add_scores(&self, cells: &Cells<'_>, out: &mut Tile) -> Result<()> {
        let k = self.bias.len();
        for (class, &bias) in self.bias.iter().enumerate() {
            out.column_mut(class).iter_mut().for_each(|s| *s += bias);
        }
        if let Some(texts) = cells.sparse() {
            let (height, scores) = (out.rows(), out.data_mut());
            let table = WordTable { classes: k, values: &self.by_column, unknown: None };
            let add = |i: usize, _: f64, sums: &[f64]| {
                sums.iter().enumerate().for_each(|(class, s)| scores[class * height + i] += s);
            };
            table.sums(texts, |x| x, add);
            return Ok(());
        }
        let (mut tile, mut product) = (Tile::default(), Tile::default());
        cells.read_numbers(&mut tile)?;
        tile_product(&tile, &self.transposed, &mut product);
        out.data_mut().iter_mut().zip(product.data()).for_each(|(s, p)| *s += p);
        Ok(())
    }
}

/// What is written for each row.
#[derive(Clone, Copy, PartialEq)]
enum Output {
    /// log p(x | class) + log prior.
    Joint,
    /// log p(class | x).
    LogPosterior,
    /// p(class | x).
    Posterior,
}

impl Scorer {
    fn add_scores(&self, x: &Batch<'_>, rows: Range<usize>, names: &[String], out: &mut Tile) -> Result<()> {
        let places: Vec<usize> = (0..x.width()).collect();
        let cells = Cells::new(x, &places, Rows::Range(rows));
        match &self.kind {
            Kind::Density(density) => density.add_log_density(&cells, names, out),
            Kind::Linear(linear) => linear.add_scores(&cells, out),
        }
    }

    fn score(
        &self,
        x: &Batch<'_>,
        log_prior: &[f64],
        output: Output,
        out: &mut [f64],
        stop: &AtomicBool,
    ) -> Result<()> {
        let k = self.classes;
        // A tile and its copies fit the second-level cache.
        let height = ((96 << 10) / (8 * x.width().max(1))).clamp(64, 1024);
        let names: Vec<String> = (0..x.width()).map(|j| format!("x{j}")).collect();
        out.par_chunks_mut(height * k).enumerate().try_for_each(|(t, out)| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let rows = t * height..t * height + out.len() / k;
            let mut scores = Tile::default();
            scores.resize(rows.len(), k);
            for (class, p) in log_prior.iter().enumerate() {
                scores.column_mut(class).fill(*p);
            }
            self.add_scores(x, rows, &names, &mut scores)?;
            for (class, column) in scores.data().chunks_exact(scores.rows()).enumerate() {
                out.iter_mut().skip(class).step_by(k).zip(column).for_each(|(o, s)| *o = *s);
            }
            if output != Output::Joint {
                out.chunks_exact_mut(k).for_each(|row| normalise(row, output));
            }
            Ok(())
        })
    }
}

/// One exponential a class; where all are impossible the posterior is 0/0, and NaN.
fn normalise(row: &mut [f64], output: Output) {
    if output == Output::LogPosterior {
        let total = log_sum_exp(row);
        row.iter_mut().for_each(|s| *s -= total);
        return;
    }
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|s| *s = (*s - most).exp());
    let share = row.iter().sum::<f64>().recip();
    row.iter_mut().for_each(|p| *p *= share);
}

fn rows_of(array: &Array) -> PyResult<Vec<Vec<f64>>> {
    let values = array.slice::<f64>()?;
    Ok(values.chunks(array.columns().max(1)).map(<[f64]>::to_vec).collect())
}

#[pymethods]
impl Scorer {
    /// Gaussians with a variance per class and column.
    #[staticmethod]
    fn diagonal(means: &Bound<'_, PyAny>, variances: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (means, variances) = (rows_of(&Array::new(means)?)?, rows_of(&Array::new(variances)?)?);
        let classes = means.len();
        let density = GaussianDensity::diagonal(means, variances).map_err(raise)?;
        Ok(Scorer { kind: Kind::Density(AnyDensity::Gaussian(density)), classes })
    }

    /// Gaussians with a covariance matrix for each class, or one for all; the matrices lie one below
    /// the other.
    #[staticmethod]
    fn gaussian(means: &Bound<'_, PyAny>, covariances: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (means, covariances) = (rows_of(&Array::new(means)?)?, Array::new(covariances)?);
        let (classes, width) = (means.len(), means.first().map_or(0, Vec::len));
        let matrices = covariances.slice::<f64>()?.chunks_exact((width * width).max(1));
        let matrices = matrices.map(|m| Matrix::from_columns(width, width, m.to_vec())).collect();
        let density = GaussianDensity::from_parameters(means, matrices).map_err(raise)?;
        Ok(Scorer { kind: Kind::Density(AnyDensity::Gaussian(density)), classes })
    }

    /// Categories by ln p(level | class), an array of classes × levels for each column; other levels are an error.
    #[staticmethod]
    fn categorical(columns: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let arrays: Vec<Array> = columns.iter().map(Array::new).collect::<PyResult<_>>()?;
        let classes = arrays.first().map_or(0, Array::rows);
        let columns: Vec<Vec<f64>> =
            arrays.iter().map(|array| Ok(array.slice::<f64>()?.to_vec())).collect::<PyResult<_>>()?;
        let density = CategoricalDensity::from_log_probabilities(classes, &columns, Unseen::Error).map_err(raise)?;
        Ok(Scorer { kind: Kind::Density(AnyDensity::Categorical(density)), classes })
    }

    /// s = Wx + b, with a row of W for each class.
    #[staticmethod]
    fn linear(weights: &Bound<'_, PyAny>, bias: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (weights, bias) = (Array::new(weights)?, Array::new(bias)?);
        let (classes, width) = (weights.rows(), weights.columns());
        let values = weights.slice::<f64>()?;
        // What lies class by class here is Wᵀ there, column after column.
        let transposed = Matrix::from_columns(width, classes, values.to_vec());
        let mut by_column = vec![0.0; values.len()];
        for (class, weights) in values.chunks_exact(width.max(1)).enumerate() {
            by_column.iter_mut().skip(class).step_by(classes).zip(weights).for_each(|(cell, w)| *cell = *w);
        }
        let bias = bias.slice::<f64>()?.to_vec();
        match bias.len() == classes {
            true => Ok(Scorer { kind: Kind::Linear(Linear { transposed, by_column, bias }), classes }),
            false => Err(PyValueError::new_err("a bias for each class is needed")),
        }
    }

    /// Writes what `output` names ("joint", "log", "probability") into `out`, rows × classes.
    #[pyo3(signature = (table, out, log_prior, output="probability", n_jobs=None))]
    fn write(
        &self,
        py: Python<'_>,
        table: PyRef<'_, Table>,
        out: &Bound<'_, PyAny>,
        log_prior: Vec<f64>,
        output: &str,
        n_jobs: Option<isize>,
    ) -> PyResult<()> {
        let output = match output {
            "joint" => Output::Joint,
            "log" => Output::LogPosterior,
            "probability" => Output::Posterior,
            _ => return Err(PyValueError::new_err(format!("there is no output `{output}`"))),
        };
        if log_prior.len() != self.classes {
            return Err(PyValueError::new_err("the prior needs a value per class"));
        }
        let mut out = Array::of_scores(out, table.rows(), self.classes)?;
        let batch = table.batch()?;
        let out = out.slice_mut::<f64>()?;
        work::run(py, n_jobs, |stop| self.score(&batch, &log_prior, output, out, stop))
    }
}
