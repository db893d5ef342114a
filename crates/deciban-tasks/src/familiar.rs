//! Rows that a model was fitted on, among those that it is judged by: its figures are too good there.

use deciban::data::Batch;
use deciban::fingerprint::Recogniser;
use deciban::learn::Classifier;
use deciban::model::Model;

use crate::remarks::Remark;

/// More than this share of the rows is all of them, as far as a fingerprint can tell.
const ALL: f64 = 0.995;

/// Counts them while rows are scored, by any number of threads.
#[derive(Debug, Default)]
pub struct Familiar<'a>(Option<Recogniser<'a>>);

impl<'a> Familiar<'a> {
    /// Counts the rows that are in the fingerprint of a model; none if the model has no fingerprint.
    pub fn new(model: &'a Model) -> Self {
        Familiar(model.about().fingerprint().map(|own| Recogniser::new(own, model.schema())))
    }

    /// Looks at some rows.
    pub fn look(&self, batch: &Batch<'_>) {
        self.0.iter().for_each(|recogniser| recogniser.look(batch));
    }

    /// A warning, if some of the rows are clearly known.
    pub fn remark(&self) -> Option<Remark> {
        let share = self.0.as_ref()?.share()?;
        let which = match share > ALL {
            true => "these rows".into(),
            false => format!("about {:.0} % of these rows", 100.0 * share),
        };
        Some(Remark::warning(format!(
            "the model was fitted on {which}: its figures are too good for them, and new rows will do worse. Judge it by \
             rows that it has not seen"
        )))
    }
}
