//! The Python package's core: arrays to tables, tables to statistics, parameters to scores. What users
//! see is written in Python, in `python/deciban/`.

use pyo3::prelude::*;

mod array;
mod arrow;
mod ask;
mod column;
mod compare;
mod errors;
mod judge;
mod labels;
mod logistic;
mod missing;
mod model;
mod remote;
mod rows;
mod score;
mod statistics;
mod stream;
mod table;
mod together;
mod transform;
mod unusual;
mod work;

/// The compiled half of deciban.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::array::all_finite;
    #[pymodule_export]
    use super::ask::{description, evaluate, explain, program, report, resolve};
    #[pymodule_export]
    use super::column::{Column, arrow_columns};
    #[pymodule_export]
    use super::compare::{Comparison, judge};
    #[pymodule_export]
    use super::judge::{Trials, cllr, decide, log_posterior, reliability};
    #[pymodule_export]
    use super::labels::encode_integers;
    #[pymodule_export]
    use super::logistic::fit_logistic;
    #[pymodule_export]
    use super::missing::{impute, next_measurement};
    #[pymodule_export]
    use super::model::{Model, models};
    #[pymodule_export]
    use super::remote::{merge_states, observe, survey};
    #[pymodule_export]
    use super::rows::{BatchIterator, Rows, byte_shares, row_groups};
    #[pymodule_export]
    use super::score::Scorer;
    #[pymodule_export]
    use super::statistics::Statistics;
    #[pymodule_export]
    use super::stream::{
        collect_remote, collect_rows, evaluate_part, evaluate_parts, evaluate_rows, fit_remote, fit_rows,
        merge_evaluated,
    };
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::transform::{deskew, discretise, gaussianise};
    #[pymodule_export]
    use super::unusual::{adapt_prior, conformal_p_values, density};

    /// The code of a missing cell or label.
    #[pymodule_export]
    const MISSING: u32 = deciban::data::MISSING;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
