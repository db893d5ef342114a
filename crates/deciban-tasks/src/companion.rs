//! The companion of a model that a search has found: a naive Bayes model beside it, which describes how probable rows are
//! where the model itself does not ([`Model::described`]).

use deciban::engine::Engine;
use deciban::learn::{Classifier, Generative, GenerativeModel, Learner, Named, Options, Seen};
use deciban::model::{Asks, By, Model};
use deciban::{Error, Result};

use crate::remarks::Remark;

/// A companion takes at most this many bytes of a model file: a companion of texts would take as much as the model.
const MOST_BYTES: usize = 1 << 20;

/// Puts a companion beside a model that does not describe its rows, learned in a pass over them. Where there can be none,
/// a remark says why.
pub(crate) fn accompany(model: &mut Model, rows: &dyn Engine) -> Result<Option<Remark>> {
    if [Asks::Rows, Asks::Cells].iter().all(|asks| model.described(*asks).is_ok()) {
        return Ok(None);
    }
    let none = |why: String| {
        let what = "how probable rows are, so that §density, `sample`, `impute` and `explain --next` may refuse";
        Ok(Some(Remark::note(format!("no companion of the model describes {what}: {why}"))))
    };
    let companion = match learned(rows) {
        Ok(companion) => companion,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(error) => return none(error.marked()),
    };
    model.about_mut().set_companion(Some(companion))?;
    let bytes = model.about().companion_bytes()?;
    if bytes > MOST_BYTES {
        model.about_mut().set_companion(None)?;
        return none(format!("it would take {bytes} bytes of the model file, and {MOST_BYTES} is the limit"));
    }
    Ok(None)
}

fn learned(rows: &dyn Engine) -> Result<GenerativeModel> {
    let (schema, profiles) = (rows.schema()?, rows.profiles()?);
    let learner = Generative::of_options("naive-bayes", &Options::default(), schema.columns(), Seen::Rows(&profiles))?;
    learner.learn(rows)
}

/// What a person should know of an answer about how probable rows are: that it is the answer of the companion.
pub fn companion_note(model: &Model, asks: Asks) -> Option<Remark> {
    let described = model.described(asks).ok().filter(|described| described.by == By::Companion)?;
    let rows = described.model.learned_from();
    Some(Remark::note(format!(
        "rows are described by the companion of the model, a naive Bayes model of {rows} rows, in which columns are \
         independent within a class: the model itself knows classes given rows"
    )))
}
