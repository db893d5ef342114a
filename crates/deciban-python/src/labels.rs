//! Class labels that are integers become codes without a sort.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::Array;

/// The most values a table of codes has room for.
const MOST: usize = 1 << 20;

/// The distinct labels in ascending order, and into `codes` the place of each row's among them; `None`
/// where they are spread too far for a table, and must be sorted.
#[pyfunction]
pub fn encode_integers(labels: &Bound<'_, PyAny>, codes: &Bound<'_, PyAny>) -> PyResult<Option<Vec<i64>>> {
    let (labels, mut codes) = (Array::new(labels)?, Array::new(codes)?);
    let (labels, codes) = (labels.slice::<i64>()?, codes.slice_mut::<u32>()?);
    if labels.len() != codes.len() {
        return Err(PyValueError::new_err("a code for each label is needed"));
    }
    let (lowest, highest) = labels.iter().fold((i64::MAX, i64::MIN), |(l, h), &y| (l.min(y), h.max(y)));
    let Some(span) = highest.checked_sub(lowest).filter(|span| (0..MOST as i64).contains(span)) else {
        return Ok(labels.is_empty().then(Vec::new));
    };
    let mut table = vec![0u32; span as usize + 1];
    labels.iter().for_each(|y| table[(y - lowest) as usize] = 1);
    let mut classes = Vec::new();
    for (offset, place) in table.iter_mut().enumerate().filter(|(_, place)| **place == 1) {
        *place = classes.len() as u32;
        classes.push(lowest + offset as i64);
    }
    codes.iter_mut().zip(labels).for_each(|(code, y)| *code = table[(y - lowest) as usize]);
    Ok(Some(classes))
}
