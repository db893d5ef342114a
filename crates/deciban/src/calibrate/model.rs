//! A model with its calibration: one more [`Model`], whose evidence is the calibrated one.

use super::Calibration;
use crate::data::Batch;
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::file::{Archive, Stored};
use crate::learn::{About, Classifier, Model};

/// A model and the calibration of its evidence.
#[derive(Clone, Debug)]
pub struct CalibratedModel {
    model: Box<Model>,
    calibration: Calibration,
}

impl CalibratedModel {
    /// Puts a calibration on a model that has none.
    pub fn new(model: Model, calibration: Calibration) -> Result<Self> {
        let classes = model.schema().classes().len();
        Error::check_shape("classes of the calibration", classes, calibration.classes().unwrap_or(classes))?;
        match model {
            Model::Calibrated(_) => {
                Err(Error::Schema("the model is calibrated already: calibrate its `model()`".into()))
            }
            model => Ok(CalibratedModel { model: Box::new(model), calibration }),
        }
    }

    /// The model as it was before.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The map of its evidence.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The model as it was before, by value.
    pub fn into_model(self) -> Model {
        *self.model
    }
}

impl Classifier for CalibratedModel {
    fn about(&self) -> &About {
        self.model.about()
    }

    fn about_mut(&mut self) -> &mut About {
        self.model.about_mut()
    }

    fn evidence(&self, x: &Batch<'_>) -> Result<Evidence> {
        self.calibration.apply(&self.model.evidence(x)?)
    }
}

impl Stored for CalibratedModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.model.put(archive, &format!("{name}.model.kind"), &format!("{name}.model"))?;
        self.calibration.store(archive, &format!("{name}.calibration"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        // Before the model is loaded: a chain of them must not be followed.
        let kind = format!("{name}.model.kind");
        if archive.json::<String>(&kind)? == "calibrated" {
            return Err(archive.damaged("a calibrated model holds another calibrated one"));
        }
        let calibration = Calibration::load(archive, &format!("{name}.calibration"))?;
        let model = Model::get(archive, &kind, &format!("{name}.model"))?;
        CalibratedModel::new(model, calibration).map_err(|e| archive.damaged(&e.to_string()))
    }
}
