//! Maps of columns: to normal ones, and to bins.

use deciban::data::{MISSING, Tile};
use deciban::statistic::Quantiles;
use deciban::transform::{Binning, Deskew, Gaussianise};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{Array, to_numpy};
use crate::errors::raise;

/// The numbers of one column, in an array of their own.
fn column(array: &Array, j: usize) -> PyResult<Vec<f64>> {
    let values = array.slice::<f64>()?;
    let column: Vec<f64> = (0..array.rows()).map(|i| values[i * array.columns() + j]).collect();
    match column.iter().any(|x| x.is_infinite()) {
        true => Err(PyValueError::new_err(format!("column {j}: a number is infinite"))),
        false => Ok(column),
    }
}

/// Each column of `X` through the empirical distribution of the same column of `like` to a normal one.
#[pyfunction]
pub fn gaussianise<'py>(py: Python<'py>, x: &Bound<'_, PyAny>, like: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (x, like) = (Array::new(x)?, Array::new(like)?);
    let (rows, width) = (x.rows(), x.columns());
    if like.columns() != width {
        return Err(PyValueError::new_err("both tables must have the same columns"));
    }
    let mut out = vec![0.0; rows * width];
    for j in 0..width {
        let known = column(&like, j)?;
        let mut sketch = Quantiles::new();
        sketch.observe(&known, &vec![1.0; known.len()]);
        let mut tile = Tile::default();
        tile.resize(rows, 1);
        tile.column_mut(0).copy_from_slice(&column(&x, j)?);
        Gaussianise::fit(&[sketch]).apply(&mut tile, &mut vec![0.0; rows]).map_err(raise)?;
        tile.column(0).iter().enumerate().for_each(|(i, y)| out[i * width + j] = *y);
    }
    to_numpy(py, &out, &[rows, width])
}

/// Square images, one in each row, without their slant.
#[pyfunction]
pub fn deskew<'py>(py: Python<'py>, x: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let x = Array::new(x)?;
    let (rows, pixels) = (x.rows(), x.columns());
    let map = Deskew::of_pixels(pixels).map_err(raise)?;
    let mut out = x.slice::<f64>()?.to_vec();
    if out.iter().any(|p| !p.is_finite()) {
        return Err(PyValueError::new_err("deskew needs every pixel, and finite numbers"));
    }
    out.chunks_exact_mut(pixels).for_each(|image| map.image(image));
    to_numpy(py, &out, &[rows, pixels])
}

/// For each column of `x` the cut points that tell the classes apart best (minimum description length), and the
/// bin of each cell, −1 where it is missing. `cuts` are those of columns, if they are known.
#[pyfunction]
#[pyo3(signature = (x, codes, classes, cuts=None))]
#[allow(clippy::type_complexity)]
pub fn discretise<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    codes: &Bound<'_, PyAny>,
    classes: usize,
    cuts: Option<Vec<Vec<f64>>>,
) -> PyResult<(Bound<'py, PyAny>, Vec<Vec<f64>>)> {
    let (x, labels) = (Array::new(x)?, Array::new(codes)?);
    let (rows, width, labels) = (x.rows(), x.columns(), labels.slice::<u32>()?);
    if labels.len() != rows || labels.iter().any(|&c| c as usize >= classes) {
        return Err(PyValueError::new_err("a class of each row is needed"));
    }
    if cuts.as_ref().is_some_and(|cuts| cuts.len() != width) {
        return Err(PyValueError::new_err("cuts of each column are needed"));
    }
    let (mut out, mut found) = (vec![0.0; rows * width], Vec::new());
    for j in 0..width {
        let values = column(&x, j)?;
        let mut sketches = vec![Quantiles::new(); classes];
        for (class, sketch) in sketches.iter_mut().enumerate() {
            let own: Vec<f64> =
                values.iter().zip(labels).filter(|(_, c)| **c as usize == class).map(|(x, _)| *x).collect();
            sketch.observe(&own, &vec![1.0; own.len()]);
        }
        let binning = cuts.as_ref().map_or(Binning::Mdl, |cuts| Binning::Cuts(vec![cuts[j].clone()]));
        let bins = binning.check().and_then(|()| binning.bins(0, &sketches.iter().collect::<Vec<_>>()));
        let bins = bins.map_err(raise)?;
        let mut codes = Vec::new();
        bins.codes(&values, &mut codes);
        for (i, &code) in codes.iter().enumerate() {
            out[i * width + j] = if code == MISSING { -1.0 } else { f64::from(code) };
        }
        found.push(bins.cuts().to_vec());
    }
    Ok((to_numpy(py, &out, &[rows, width])?, found))
}
