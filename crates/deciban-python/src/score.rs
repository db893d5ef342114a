//! [`Scorer`]: fitted parameters to log p(x | class), posteriors or decisions, tile by tile into an array of Python's.
//!
//! A scorer is made once for the arrays that a fitted model holds, and kept with it. Linear models are scored from
//! these arrays themselves; what others derive from them is made anew when their content has changed.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use deciban::Result;
use deciban::data::{Batch, Cells, Rows, Sparse, Tile};
use deciban::family::bernoulli::BernoulliDensity;
use deciban::family::categorical::CategoricalDensity;
use deciban::family::counts::Unseen;
use deciban::family::gaussian::GaussianDensity;
use deciban::family::{AnyDensity, Density};
use deciban::numerics::{Matrix, Normalise, label_of_largest, normalise, product};
use deciban::scoring::{Affine, Projection};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::Array;
use crate::errors::raise;
use crate::work;

/// Scores of so many terms, one a row, class and cell, are computed before other threads would have woken.
const FEW_TERMS: usize = 1 << 17;

/// The same for rows of numbers and linear models, whose terms are products in lanes: these take less than a fifth of a
/// millisecond.
const FEW_PRODUCTS: usize = 1 << 20;

/// The same for rows of words and linear models, whose terms also wait for the weights of their words.
const FEW_TERMS_OF_WORDS: usize = 1 << 19;

/// Scores rows.
#[pyclass(frozen, module = "deciban._core")]
pub struct Scorer {
    kind: Kind,
    classes: usize,
    width: usize,
    /// Names and places of the columns of an array: x0, x1, ...
    columns: OnceLock<(Vec<String>, Vec<usize>)>,
    /// The weights of a linear model in the order of sparse rows, kept from call to call.
    by_word: Mutex<ByWord>,
    /// The arrays of the model, and what they held where something is derived from it.
    sources: Vec<Array>,
    content: Option<u64>,
}

/// Weights side by side for each column, and the content of the arrays that they were made of.
#[derive(Default)]
struct ByWord {
    content: u64,
    weights: Vec<f64>,
}

/// Rows to score.
struct Work<'a> {
    x: Batch<'a>,
    /// Whether they are compressed rows.
    is_sparse: bool,
    /// How many cells there are, or how many are stored.
    cells: usize,
    /// Added to the scores, if it is not empty.
    log_prior: Vec<f64>,
    output: Output,
    /// What is written for each class where the most probable one is asked for: its label as 64 bits, or its place.
    labels: Vec<i64>,
}

/// What a thread keeps from tile to tile.
#[derive(Default)]
struct Tiles {
    /// The cells, where they are copied.
    copy: Tile,
    /// Their scores, a column for each class.
    scores: Tile,
    /// The largest score of each row.
    most: Vec<f64>,
}

enum Kind {
    Density {
        density: AnyDensity,
        needs: Needs,
    },
    /// s = Wx + b; one output for two classes is the log-odds of the second.
    Linear(Linear),
    /// z = W(x − c), with directions in the place of classes.
    Projection {
        weights: Vec<f64>,
        centre: Vec<f64>,
    },
}

/// Which cells may be scored; others are scored all the same, and told.
#[derive(Clone, Copy, PartialEq)]
enum Needs {
    /// The density itself refuses what it cannot score.
    Anything,
    /// Infinities may not.
    NoInfinities,
    /// Infinities may not, nor may missing cells.
    Finite,
}

struct Linear {
    /// Copies of W, row after row, and of b, where the arrays do not hold them so.
    weights: Option<Vec<f64>>,
    bias: Option<Vec<f64>>,
    outputs: usize,
    /// A missing cell says nothing.
    skip_missing: bool,
}

/// What is written for each row.
#[derive(Clone, Copy, PartialEq)]
enum Output {
    /// log p(x | class) + log prior.
    Joint,
    /// The same, or of two classes the difference, second less first.
    Decision,
    /// p(class | x), or its logarithm.
    Normalised(Normalise),
    /// The most probable class.
    Class,
}

impl Output {
    fn named(name: &str) -> PyResult<Self> {
        match name {
            "joint" => Ok(Output::Joint),
            "decision" => Ok(Output::Decision),
            "log" => Ok(Output::Normalised(Normalise::LogPosterior)),
            "probability" => Ok(Output::Normalised(Normalise::Posterior)),
            "class" => Ok(Output::Class),
            _ => Err(PyValueError::new_err(format!("there is no output `{name}`"))),
        }
    }

    /// The number of columns for so many classes.
    fn width(self, classes: usize) -> usize {
        match self {
            Output::Class => 1,
            Output::Decision if classes == 2 => 1,
            _ => classes,
        }
    }
}

/// A number of an array that is written to: a score, or a label.
trait Number: Copy + Send {
    fn of(x: f64) -> Self;
    fn of_label(label: i64) -> Self;
    /// The numbers themselves, if they are of double precision.
    fn doubles(_: &mut [Self]) -> Option<&mut [f64]>;
}
macro_rules! numbers {
    ($($type:ty => $doubles:expr),*) => {
        $(impl Number for $type {
            fn of(x: f64) -> Self {
                x as $type
            }
            fn of_label(label: i64) -> Self {
                label as $type
            }
            fn doubles(numbers: &mut [Self]) -> Option<&mut [f64]> {
                let doubles: fn(&mut [Self]) -> Option<&mut [f64]> = $doubles;
                doubles(numbers)
            }
        })*
    };
}
numbers!(f64 => |numbers| Some(numbers), f32 => |_| None, i64 => |_| None);

impl Scorer {
    fn new(kind: Kind, classes: usize, width: usize, sources: Vec<Array>) -> Self {
        // A copy of a bias that is 0 is no copy.
        let is_copied = |linear: &Linear| linear.weights.is_some() || (linear.bias.is_some() && sources.len() > 1);
        let is_derived = !matches!(&kind, Kind::Linear(linear) if !is_copied(linear));
        let content = is_derived.then(|| content(&sources));
        Scorer { kind, classes, width, columns: OnceLock::new(), by_word: Mutex::default(), sources, content }
    }

    fn check_width(&self, width: usize) -> PyResult<()> {
        match width == self.width {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!("X has {width} columns instead of {}", self.width))),
        }
    }

    /// Names and places of the columns of an array.
    fn columns(&self) -> (&[String], &[usize]) {
        let columns = || ((0..self.width).map(|j| format!("x{j}")).collect(), (0..self.width).collect());
        let (names, places) = self.columns.get_or_init(columns);
        (names, places)
    }

    /// W and b of a linear model.
    fn affine(&self) -> PyResult<Option<Affine<'_>>> {
        let Kind::Linear(linear) = &self.kind else { return Ok(None) };
        let weights = linear.weights.as_deref().map_or_else(|| self.sources[0].slice::<f64>(), Ok)?;
        let bias = linear.bias.as_deref().map_or_else(|| self.sources[1].slice::<f64>(), Ok)?;
        Ok(Some(Affine { weights, bias }))
    }

    /// Writes the scores of some rows, a column for each class, and tells whether all of their cells may be scored.
    fn scores(
        &self,
        work: &Work<'_>,
        affine: Option<(Affine<'_>, Option<&[f64]>)>,
        rows: Range<usize>,
        Tiles { copy, scores: out, .. }: &mut Tiles,
    ) -> Result<bool> {
        let (names, places) = if work.is_sparse { (&[][..], &[0][..]) } else { self.columns() };
        let cells = Cells::new(&work.x, places, Rows::Range(rows.clone()));
        if let Some((sparse, _)) = cells.sparse() {
            sparse.check_words(rows, self.width)?;
        }
        let height = cells.rows();
        let mut sound = true;
        match (&self.kind, affine) {
            (Kind::Linear(linear), Some((affine, by_word))) => {
                sound = match cells.sparse() {
                    Some(texts) => affine.text_scores(texts, by_word, out),
                    None => affine.scores(&cells, linear.skip_missing, copy, out)?,
                };
                if self.classes == 2 && linear.outputs == 1 {
                    // Log-odds are the score of the second class, and that of the first is 0.
                    out.resize(height, 2);
                    let (first, second) = out.data_mut().split_at_mut(height);
                    second.copy_from_slice(first);
                    first.fill(0.0);
                }
            }
            (Kind::Density { density, needs }, _) => {
                out.resize(height, self.classes);
                out.data_mut().fill(0.0);
                density.add_log_density(&cells, names, out)?;
                if *needs != Needs::Anything {
                    let odd = cells.oddities()?;
                    sound = !odd.infinite && !(odd.missing && (*needs == Needs::Finite || work.is_sparse));
                }
            }
            (Kind::Projection { weights, centre }, _) => {
                sound = Projection { weights, centre }.of(&cells, copy, out)?;
            }
            // `affine` has the weights of every linear model.
            (Kind::Linear(_), None) => {}
        }
        for (column, p) in out.data_mut().chunks_exact_mut(height.max(1)).zip(&work.log_prior) {
            column.iter_mut().for_each(|s| *s += p);
        }
        Ok(sound)
    }

    /// Writes the scores of some rows of several linear forms as they are found, if these are asked for; `false` where
    /// [`Scorer::scores`] must find them.
    fn write_rows<T: Number>(
        &self,
        work: &Work<'_>,
        affine: Option<Affine<'_>>,
        rows: Range<usize>,
        out: &mut [T],
    ) -> bool {
        let is_asked = matches!(work.output, Output::Joint | Output::Decision) && work.output.width(self.classes) > 1;
        let (true, Some(out)) = (is_asked && !work.is_sparse, T::doubles(out)) else { return false };
        let (_, places) = self.columns();
        let cells = Cells::new(&work.x, places, Rows::Range(rows));
        let is_written = match (&self.kind, affine) {
            (Kind::Linear(_), Some(affine)) => affine.classes() == self.classes && affine.write_rows(&cells, out),
            (Kind::Projection { weights, centre }, _) => Projection { weights, centre }.write_rows(&cells, out),
            _ => false,
        };
        if is_written && !work.log_prior.is_empty() {
            for row in out.chunks_exact_mut(self.classes) {
                row.iter_mut().zip(&work.log_prior).for_each(|(s, p)| *s += p);
            }
        }
        is_written
    }

    fn write_all<T: Number>(&self, py: Python<'_>, work: &Work<'_>, out: &mut [T]) -> PyResult<bool> {
        let affine = self.affine()?;
        // If there are so many words that it is worth it.
        let is_many = work.is_sparse && work.cells > self.width / 4;
        let mut kept = self.by_word.try_lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
        let by_word = affine.filter(|affine| is_many && affine.classes() > 1).map(|affine| {
            let content = self.content.unwrap_or_else(|| content(&self.sources));
            if kept.weights.is_empty() || kept.content != content {
                affine.by_word(&mut kept.weights);
                kept.content = content;
            }
            &kept.weights[..]
        });
        let affine = affine.map(|affine| (affine, by_word));
        let columns = work.output.width(self.classes);
        // A tile and its copies fit the second-level cache; its columns do not lie a power of two apart.
        let height = ((96 << 10) / (8 * work.x.width().max(self.classes).max(1))).clamp(64, 1024) / 8 * 8 + 8;
        let sound = AtomicBool::new(true);
        let tile = |tiles: &mut Tiles, (t, out): (usize, &mut [T])| {
            let rows = t * height..t * height + out.len() / columns;
            if self.write_rows(work, affine.map(|(affine, _)| affine), rows.clone(), out) {
                return Ok(());
            }
            if !self.scores(work, affine, rows, tiles)? {
                sound.store(false, Ordering::Relaxed);
            }
            write(tiles, work, out);
            Ok(())
        };
        let rows = work.x.rows();
        // Each score may need an exponential.
        let is_quick = !matches!(self.kind, Kind::Density { .. }) && rows * self.classes <= FEW_TERMS;
        let few = match (is_quick, work.is_sparse) {
            (false, _) => FEW_TERMS,
            (true, true) => FEW_TERMS_OF_WORDS,
            (true, false) => FEW_PRODUCTS,
        };
        let mut tiles = out.chunks_mut(height * columns).enumerate();
        if work.cells.max(rows) * self.classes <= few {
            let mut buffers = Tiles::default();
            tiles.try_for_each(|part| tile(&mut buffers, part)).map_err(raise)?;
        } else {
            work::share(py, tiles, Tiles::default, tile)?;
        }
        if let Ok(mut place) = self.by_word.try_lock() {
            *place = kept;
        }
        Ok(sound.into_inner())
    }

    /// A label for each class, or its place.
    fn labels(&self, labels: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<i64>> {
        let Some(labels) = labels else { return Ok((0..self.classes as i64).collect()) };
        match Array::new(labels)?.slice::<i64>()? {
            labels if labels.len() == self.classes => Ok(labels.to_vec()),
            _ => Err(PyValueError::new_err("a label is needed for each class")),
        }
    }

    fn write_to(&self, py: Python<'_>, work: &Work<'_>, out: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !work.log_prior.is_empty() && work.log_prior.len() != self.classes {
            return Err(PyValueError::new_err("the prior needs a value per class"));
        }
        let mut out = Array::of_scores(out, work.x.rows(), work.output.width(self.classes))?;
        match (work.output, out.is_narrow()) {
            (Output::Class, _) => self.write_all(py, work, out.slice_mut::<i64>()?),
            (_, true) => self.write_all(py, work, out.slice_mut::<f32>()?),
            (_, false) => self.write_all(py, work, out.slice_mut::<f64>()?),
        }
    }
}

/// Scores to what is asked for, row after row.
fn write<T: Number>(Tiles { scores, most, .. }: &mut Tiles, work: &Work<'_>, out: &mut [T]) {
    let (rows, classes) = (scores.rows(), scores.width());
    if let Output::Normalised(to) = work.output {
        normalise(scores, to);
    }
    match work.output {
        Output::Class => {
            let labels: Vec<T> = work.labels.iter().map(|label| T::of_label(*label)).collect();
            label_of_largest(scores, &labels, most, out);
        }
        Output::Decision if classes == 2 => {
            let scores = scores.column(0).iter().zip(scores.column(1));
            out.iter_mut().zip(scores).for_each(|(o, (a, b))| *o = T::of(b - a));
        }
        _ => {
            // The rows of a few lines of each column at a time.
            const PART: usize = 64;
            for start in (0..rows).step_by(PART) {
                let part = start..rows.min(start + PART);
                for class in 0..classes {
                    let column = &scores.column(class)[part.clone()];
                    let cells = out[part.start * classes..part.end * classes].iter_mut().skip(class).step_by(classes);
                    cells.zip(column).for_each(|(o, s)| *o = T::of(*s));
                }
            }
        }
    }
}

/// A number that changes with the content of the arrays.
fn content(arrays: &[Array]) -> u64 {
    arrays.iter().fold(0, |all, array| (all ^ array.content()).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29))
}

fn rows_of(array: &Array) -> PyResult<Vec<Vec<f64>>> {
    let values = array.to_vec()?;
    Ok(values.chunks(array.columns().max(1)).map(<[f64]>::to_vec).collect())
}

#[pymethods]
impl Scorer {
    /// Whether it was made for these arrays, and they hold what they did.
    fn is_of(&self, arrays: &Bound<'_, PyTuple>) -> bool {
        let same = arrays.len() == self.sources.len()
            && self.sources.iter().zip(arrays.iter_borrowed()).all(|(own, given)| own.is(&given));
        same && self.content.is_none_or(|held| held == content(&self.sources))
    }

    /// Gaussians with a variance per class and column.
    #[staticmethod]
    fn diagonal(means: &Bound<'_, PyAny>, variances: &Bound<'_, PyAny>) -> PyResult<Self> {
        let sources = vec![Array::new(means)?, Array::new(variances)?];
        let (means, variances) = (rows_of(&sources[0])?, rows_of(&sources[1])?);
        let (classes, width) = (means.len(), means.first().map_or(0, Vec::len));
        let density = AnyDensity::Gaussian(GaussianDensity::diagonal(means, variances).map_err(raise)?);
        Ok(Scorer::new(Kind::Density { density, needs: Needs::Anything }, classes, width, sources))
    }

    /// Gaussians with covariances R diag(s) Rᵀ: for each class its rotation R, then for each class its scales s.
    #[staticmethod]
    #[pyo3(signature = (means, *parts))]
    fn gaussian(means: &Bound<'_, PyAny>, parts: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let mut sources = vec![Array::new(means)?];
        let means = rows_of(&sources[0])?;
        let (classes, width) = (means.len(), means.first().map_or(0, Vec::len));
        if parts.len() != 2 * classes {
            return Err(PyValueError::new_err("a rotation and scales are needed for each class"));
        }
        for part in parts.iter() {
            sources.push(Array::new(&part)?);
        }
        let covariance = |class: usize| {
            let (rotation, scale) = (sources[1 + class].to_vec()?, sources[1 + classes + class].to_vec()?);
            if rotation.len() != width * scale.len() {
                return Err(PyValueError::new_err(
                    "a rotation needs a row for each column and a column for each scale",
                ));
            }
            let rotation = Matrix::from_fn(width, scale.len(), |i, j| rotation[i * scale.len() + j]);
            let scaled = Matrix::from_fn(width, scale.len(), |i, j| rotation[(i, j)] * scale[j]);
            Ok(product(&scaled, false, &rotation, true))
        };
        let covariances = (0..classes).map(covariance).collect::<PyResult<Vec<_>>>()?;
        let density = AnyDensity::Gaussian(GaussianDensity::from_parameters(means, covariances).map_err(raise)?);
        Ok(Scorer::new(Kind::Density { density, needs: Needs::Finite }, classes, width, sources))
    }

    /// Categories by ln p(level | class), an array of classes × levels for each column; other levels are an error.
    #[staticmethod]
    #[pyo3(signature = (*columns))]
    fn categorical(columns: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let sources: Vec<Array> = columns.iter().map(|column| Array::new(&column)).collect::<PyResult<_>>()?;
        let classes = sources.first().map_or(0, Array::rows);
        let columns: Vec<Vec<f64>> = sources.iter().map(Array::to_vec).collect::<PyResult<_>>()?;
        let density = CategoricalDensity::from_log_probabilities(classes, &columns, Unseen::Error).map_err(raise)?;
        let kind = Kind::Density { density: AnyDensity::Categorical(density), needs: Needs::Anything };
        Ok(Scorer::new(kind, classes, columns.len(), sources))
    }

    /// Flags, present above `threshold`, by ln p(present | class), a row for each class; of arrays or of compressed rows.
    #[staticmethod]
    fn bernoulli(log_present: &Bound<'_, PyAny>, threshold: f64, is_sparse: bool) -> PyResult<Self> {
        let sources = vec![Array::new(log_present)?];
        let (classes, width) = (sources[0].rows(), sources[0].columns());
        let density = BernoulliDensity::from_log_probabilities(classes, threshold, &sources[0].to_vec()?, is_sparse);
        let density = AnyDensity::Bernoulli(density.map_err(raise)?);
        Ok(Scorer::new(Kind::Density { density, needs: Needs::NoInfinities }, classes, width, sources))
    }

    /// s = Wx + b, where b may be left out, with a row of W for each class, or one for two classes: the log-odds of
    /// the second.
    #[staticmethod]
    fn linear(
        weights: &Bound<'_, PyAny>,
        bias: Option<&Bound<'_, PyAny>>,
        classes: usize,
        skip_missing: bool,
    ) -> PyResult<Self> {
        let mut sources = vec![Array::new(weights)?];
        sources.extend(bias.map(Array::new).transpose()?);
        let (outputs, width) = (sources[0].rows(), sources[0].columns());
        let biases = sources.get(1).map_or(outputs, Array::rows);
        if biases != outputs || (outputs != classes && (outputs, classes) != (1, 2)) {
            return Err(PyValueError::new_err("a row of weights and a bias are needed for each class"));
        }
        let copy = |array: &Array| array.slice::<f64>().is_err().then(|| array.to_vec()).transpose();
        let weights = copy(&sources[0])?;
        let bias = sources.get(1).map_or(Ok(Some(vec![0.0; outputs])), copy)?;
        let linear = Linear { weights, bias, outputs, skip_missing };
        Ok(Scorer::new(Kind::Linear(linear), classes, width, sources))
    }

    /// z = (x − c) S for the first few columns of S, where c may be left out: the joint scores of so many classes.
    #[staticmethod]
    fn projection(scalings: &Bound<'_, PyAny>, centre: Option<&Bound<'_, PyAny>>, directions: usize) -> PyResult<Self> {
        let mut sources = vec![Array::new(scalings)?];
        sources.extend(centre.map(Array::new).transpose()?);
        let (width, all) = (sources[0].rows(), sources[0].columns());
        let centre = sources.get(1).map_or_else(|| Ok(vec![0.0; width]), Array::to_vec)?;
        if directions == 0 || directions > all || centre.len() != width {
            return Err(PyValueError::new_err(
                "a column of scalings is needed for each direction, and a centre for each row",
            ));
        }
        let scalings = sources[0].to_vec()?;
        let weights = (0..directions * width).map(|k| scalings[k % width * all + k / width]).collect();
        Ok(Scorer::new(Kind::Projection { weights, centre }, directions, width, sources))
    }

    /// Writes what `output` names ("joint", "decision", "log", "probability", "class") into `out`, and tells whether
    /// all cells were of a kind that may be scored. `log_prior` is added to the scores. Of the most probable class its
    /// entry of `labels` is written, an array of 64-bit integers, or its place if there is none.
    fn write(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
        log_prior: Option<Vec<f64>>,
        output: &str,
        labels: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let x = Array::new(x)?;
        self.check_width(x.columns())?;
        let (output, log_prior) = (Output::named(output)?, log_prior.unwrap_or_default());
        let (cells, labels) = (x.rows() * x.columns(), self.labels(labels)?);
        self.write_to(py, &Work { x: x.batch()?, is_sparse: false, cells, log_prior, output, labels }, out)
    }

    /// The same for a matrix of compressed rows.
    #[allow(clippy::too_many_arguments)]
    fn write_sparse(
        &self,
        py: Python<'_>,
        offsets: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        counts: &Bound<'_, PyAny>,
        width: usize,
        out: &Bound<'_, PyAny>,
        log_prior: Option<Vec<f64>>,
        output: &str,
        labels: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        self.check_width(width)?;
        let (offsets, indices, counts) = (Array::new(offsets)?, Array::new(indices)?, Array::new(counts)?);
        let (height, stored) = (offsets.rows().saturating_sub(1), (offsets.integers()?, indices.integers()?));
        // Words are checked tile by tile.
        let sparse = Sparse::of_unchecked_words(stored.0, stored.1, counts.values().0).map_err(raise)?;
        let x = Batch::new(height).sparse(sparse).map_err(raise)?;
        let (output, log_prior) = (Output::named(output)?, log_prior.unwrap_or_default());
        let (cells, labels) = (counts.rows(), self.labels(labels)?);
        self.write_to(py, &Work { x, is_sparse: true, cells, log_prior, output, labels }, out)
    }
}
