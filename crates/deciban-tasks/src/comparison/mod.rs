//! Comparisons: of models that are cross-validated on the same rows (`search.rs`, with the tables in `table.rs`),
//! and of fitted models that are judged by rows that none of them has seen (`judged.rs`).

mod judged;
mod search;
mod searched;
mod table;

pub use judged::{Judged, Judgement};
pub(crate) use search::{CALIBRATED, candidates, default_folds, fit_options};
pub use search::{Compared, Comparing, FoldCount, FoldRule, Found, MEASURES, Measure, compare};
pub(crate) use searched::{Searched, sample};
pub use table::{left_out, members, more, not_tried, remarks, runner_up, to_json, to_text, why};
