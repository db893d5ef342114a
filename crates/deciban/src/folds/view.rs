//! An engine seen through folds: its batches carry the folds of a rule; or rows of one fold, and of
//! classes that are left out, have no label, so that any learner learns without a fold, by its own passes.

use std::borrow::Cow;

use super::Folds;
use crate::data::{Batch, Identity, MISSING, Profile, Schema};
use crate::engine::{Engine, Watch};
use crate::error::Result;
use crate::file::Archive;
use crate::pass::{Accumulator, ErasedPass, ErasedStatistic, store_named};

/// What is seen of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    folds: Folds,
    /// The fold that is left out.
    without: Option<u32>,
    /// The classes that are seen, by their codes, in the order of their new codes.
    classes: Option<Vec<usize>>,
    /// The share of the rows that is seen, drawn as the folds are; a smaller one is part of a larger one.
    share: f64,
}

/// Sets the rows of a share apart from those of a fold.
const SHARE_SEED: u64 = 0x5eed_5a4e;

impl View {
    /// All rows, each with its fold.
    pub fn all(folds: &Folds) -> Self {
        View { folds: folds.clone(), without: None, classes: None, share: 1.0 }
    }

    /// The rows of all folds but one; the classes that are left have new codes, 0, 1, ...
    pub fn without(folds: &Folds, fold: usize, classes: &[usize]) -> Self {
        View { folds: folds.clone(), without: Some(fold as u32), classes: Some(classes.to_vec()), share: 1.0 }
    }

    /// Only this share of the rows, from 0 to 1.
    pub fn share(self, share: f64) -> Self {
        View { share, ..self }
    }

    fn show<R>(&self, batch: &Batch<'_>, body: impl FnOnce(&Batch<'_>) -> Result<R>) -> Result<R> {
        let folds = self.folds.of(batch)?;
        if self.without.is_none() && self.share >= 1.0 {
            return body(&batch.clone().folds(&folds)?);
        }
        let drawn = match self.share < 1.0 {
            true => self.folds.identity().draw(SHARE_SEED, batch),
            false => vec![0; batch.rows()],
        };
        let labels = batch.labels().unwrap_or(&[]);
        // The new code of each class.
        let codes = self.classes.as_ref().map(|classes| {
            let mut codes = vec![MISSING; classes.iter().max().map_or(0, |most| most + 1)];
            classes.iter().enumerate().for_each(|(code, &class)| codes[class] = code as u32);
            codes
        });
        let code = |class: u32| match &codes {
            None => class,
            Some(codes) => codes.get(class as usize).copied().unwrap_or(MISSING),
        };
        let seen = |(row, (&class, &fold)): (usize, (&u32, &u32))| match self.without == Some(fold) {
            false if (drawn[row] >> 11) as f64 * (-53f64).exp2() < self.share => code(class),
            _ => MISSING,
        };
        let given = labels;
        let labels: Vec<u32> = given.iter().zip(&folds).enumerate().map(seen).collect();
        // What looks at rows without their labels sees them without weight; rows that never had a label stay.
        let weight = |row: usize| match (labels[row], batch.row_weights()) {
            (MISSING, _) if given[row] != MISSING => 0.0,
            (_, Some(weights)) => weights[row],
            (_, None) => 1.0,
        };
        let weights: Vec<f64> = (0..batch.rows()).map(weight).collect();
        let seen = batch.clone().classes(&labels)?.weights(&weights)?;
        // Who learns without a fold draws folds of its own: by those of the view one of them would be empty.
        match self.without {
            None => body(&seen.folds(&folds)?),
            Some(_) => body(&seen),
        }
    }
}

/// An engine with a view of its rows.
pub struct Folded<'a> {
    engine: &'a dyn Engine,
    view: View,
}

impl<'a> Folded<'a> {
    /// The engine's rows as `view` shows them.
    pub fn new(engine: &'a dyn Engine, view: View) -> Self {
        Folded { engine, view }
    }
}

impl Engine for Folded<'_> {
    fn identity(&self) -> Identity {
        self.engine.identity()
    }

    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
        self.engine.collect(&Viewed::new(pass, &self.view))
    }

    fn sweep(&self, visit: &mut dyn FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
        self.engine.sweep(&mut |batch| self.view.show(batch, &mut *visit))
    }

    fn check_stop(&self) -> Result<()> {
        self.engine.check_stop()
    }

    fn watch(&self) -> Option<&Watch> {
        self.engine.watch()
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        self.engine.profiles()
    }

    fn schema(&self) -> Result<Schema> {
        let schema = self.engine.schema()?;
        match &self.view.classes {
            None => Ok(schema),
            Some(classes) => schema.with_classes(classes.iter().map(|&c| schema.classes()[c].clone()).collect()),
        }
    }
}

/// A pass over what a view shows.
pub struct Viewed<'a> {
    pass: &'a dyn ErasedPass,
    view: &'a View,
}

impl<'a> Viewed<'a> {
    /// The name of passes over what a view shows.
    pub(crate) const NAME: &'static str = "view";

    /// The pass over what `view` shows.
    pub fn new(pass: &'a dyn ErasedPass, view: &'a View) -> Self {
        Viewed { pass, view }
    }

    /// An empty accumulator for what an archive holds; `load` loads the accumulator of the pass itself.
    pub(crate) fn load(
        archive: &Archive,
        name: &str,
        load: fn(&Archive, &str) -> Result<Box<dyn Accumulator>>,
    ) -> Result<Box<dyn Accumulator>> {
        let (folds, without, classes, share) = archive.json(&format!("{name}.view"))?;
        let view = Cow::Owned(View { folds, without, classes, share });
        Ok(Box::new(Seen { view, inner: load(archive, &format!("{name}.pass"))? }))
    }
}

impl ErasedPass for Viewed<'_> {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn accumulator(&self) -> Box<dyn Accumulator + '_> {
        Box::new(Seen { view: Cow::Borrowed(self.view), inner: self.pass.accumulator() })
    }

    fn statistic_size(&self) -> usize {
        self.pass.statistic_size()
    }

    fn needs_hashes(&self) -> bool {
        self.view.folds.identity().wants_hashes() || self.pass.needs_hashes()
    }

    fn store_pass(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let View { folds, without, classes, share } = self.view;
        archive.put_json(&format!("{name}.view"), &(folds, without, classes, share))?;
        store_named(self.pass, archive, &format!("{name}.pass"))
    }
}

/// An accumulator of what a view shows.
struct Seen<'a> {
    view: Cow<'a, View>,
    inner: Box<dyn Accumulator + 'a>,
}

impl Accumulator for Seen<'_> {
    fn observe(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.view.show(batch, |batch| self.inner.observe(batch))
    }

    fn absorb(&mut self, statistic: ErasedStatistic) -> Result<()> {
        self.inner.absorb(statistic)
    }

    fn merge(&mut self, state: &[u8]) -> Result<()> {
        self.inner.merge(state)
    }

    fn state(&self) -> Result<Vec<u8>> {
        self.inner.state()
    }

    fn finish(self: Box<Self>) -> ErasedStatistic {
        self.inner.finish()
    }
}
