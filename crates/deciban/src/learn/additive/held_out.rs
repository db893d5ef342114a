//! The log loss of rows by models that have not seen their fold.

use super::model::AdditiveModel;
use crate::data::{Batch, Gathered, MISSING};
use crate::error::Result;
use crate::file::{Archive, Stored};
use crate::folds::Folds;
use crate::learn::Classifier;
use crate::learn::discriminative::Discriminative;
use crate::numerics::mean_error;
use crate::pass::Pass;
use crate::statistic::Statistic;

/// Rows scored at once.
const TILE: usize = 512;

/// Scores every row by the model of its fold.
#[derive(Clone, Debug)]
pub struct HeldOut {
    /// Which fold a row is in.
    pub folds: Folds,
    /// The model without each fold, and its classes by their codes in the table.
    pub models: Vec<(Vec<usize>, AdditiveModel)>,
}

/// Σw, Σwℓ, Σw², Σw²ℓ and Σw²ℓ² with ℓ = −ln p(true class), over rows whose class the model of their fold knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses([f64; 5]);

impl Losses {
    /// Σwℓ/Σw.
    pub fn mean(&self) -> f64 {
        self.0[1] / self.0[0]
    }

    /// Its standard error.
    pub fn error(&self) -> f64 {
        let [weight, _, squares @ ..] = self.0;
        mean_error(weight, self.mean(), squares)
    }

    fn add(&mut self, weight: f64, loss: f64) {
        let own = [weight, weight * loss, weight * weight, weight * weight * loss, weight * weight * loss * loss];
        self.0.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
    }
}

impl Statistic for Losses {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.0.iter_mut().zip(other.0).for_each(|(sum, x)| *sum += x);
        Ok(())
    }
}

impl Stored for Losses {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put(&format!("{name}.sums"), &[5], &self.0)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let mut sums = [0.0; 5];
        sums.copy_from_slice(archive.finite(&format!("{name}.sums"), &[5])?);
        Ok(Losses(sums))
    }
}

impl Pass for HeldOut {
    const NAME: &'static str = "additive held out";
    type Statistic = Losses;

    fn empty(&self) -> Losses {
        Losses::default()
    }

    fn size(&self) -> usize {
        5
    }

    fn wants_hashes(&self) -> bool {
        self.folds.identity().wants_hashes()
    }

    fn observe(&self, losses: &mut Losses, batch: &Batch<'_>) -> Result<()> {
        let (labels, folds) = (batch.labels_to_learn()?, self.folds.of(batch)?);
        let mut gathered = Gathered::default();
        let (mut rows, mut scores) = (Vec::new(), Vec::new());
        for (fold, (classes, model)) in self.models.iter().enumerate() {
            let is_held = |row: usize| folds[row] == fold as u32 && labels[row] != MISSING;
            rows.clear();
            rows.extend((0..batch.rows()).filter(|&row| is_held(row)).map(|row| row as u32));
            for tile in rows.chunks(TILE) {
                gathered.read(batch, tile)?;
                scores.resize(tile.len() * classes.len(), 0.0);
                model.log_posteriors(&gathered.batch()?, 0..tile.len(), &mut scores)?;
                for (&row, log_p) in tile.iter().zip(scores.chunks_exact(classes.len())) {
                    let row = row as usize;
                    let weight = batch.row_weights().map_or(1.0, |weights| weights[row]);
                    let known = classes.iter().position(|&class| class == labels[row] as usize);
                    if let Some(class) = known.filter(|_| weight > 0.0) {
                        losses.add(weight, -log_p[class]);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Stored for HeldOut {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let classes: Vec<&Vec<usize>> = self.models.iter().map(|(classes, _)| classes).collect();
        archive.put_json(&format!("{name}.folds"), &(&self.folds, classes))?;
        self.models.iter().enumerate().try_for_each(|(f, (_, model))| model.store(archive, &format!("{name}.model{f}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (folds, classes): (Folds, Vec<Vec<usize>>) = archive.json(&format!("{name}.folds"))?;
        let model = |(f, classes): (usize, Vec<usize>)| {
            let model = AdditiveModel::load(archive, &format!("{name}.model{f}"))?;
            match model.schema().classes().len() == classes.len() {
                true => Ok((classes, model)),
                false => Err(archive.damaged("the model of a fold has other classes")),
            }
        };
        let models = classes.into_iter().enumerate().map(model).collect::<Result<_>>()?;
        Ok(HeldOut { folds, models })
    }
}
