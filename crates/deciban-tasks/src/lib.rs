//! What people ask of deciban, as typed requests and results: learn, predict, evaluate, explain, compare,
//! describe, draw.
//!
//! The program, the Python package and the service are renderings of this crate: a decision about meaning
//! (what a prior, a cost, a ledger or a remark is) is made here, once.

mod adapt;
mod application;
mod card;
mod change;
mod companion;
pub mod comparison;
mod cost_table;
pub mod crossed;
pub mod describe;
mod evaluation;
mod familiar;
pub mod figures;
mod form;
mod fuse;
mod input;
mod learn;
pub mod ledger;
mod map;
mod impute;
mod measure;
pub mod numbers;
mod outside;
mod page;
mod predict;
mod receipt;
mod remarks;
mod sample;
pub mod scored;
mod source;
pub mod sql;
pub mod table;
mod unlabelled;

pub use adapt::{Adapted, Adapting, adapt_prior};
pub use application::{Application, CostChoice, PriorChoice, Terms, find_class};
pub use card::{Card, ColumnCard};
pub use change::{Change, Changed};
pub use companion::companion_note;
pub use cost_table::CostTable;
pub use evaluation::{
    Evaluated, Evaluating, Target, evaluate, evaluate_part, evaluate_parts, evaluate_scores, merge_parts, unseen,
};
pub use form::{Form, Shown, quoted};
pub use fuse::{Fused, Fusible, Fusing, Weighed};
pub use impute::{FilledCell, Imputing, fills};
pub use input::{Counted, Input};
pub use learn::{Keep, Learned, Learning, collect, learn, learn_from_statistics};
pub use map::{CaseMap, MapAxis, Mapping, Span};
pub use measure::{MeasureCosts, Measured, Measuring, Worth};
pub use outside::Outside;
pub use page::{ScoredBy, base64, page_data};
pub use predict::{Prediction, Predictor, predictions, usual_rows};
pub use receipt::{ClassRows, Learnt, Levels, MemberChange, Receipt};
pub use remarks::{Look, Remark, Weight};
pub use sample::{Sampling, cell, sample};
pub use source::{Kept, Source};
