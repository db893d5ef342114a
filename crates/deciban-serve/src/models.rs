//! The models that are served, by name.

use std::path::Path;
use std::sync::Arc;

use deciban::{Error, Result};
use deciban_tasks::Predictor;

/// A model that is ready to answer.
pub struct Served {
    /// The name in the routes.
    pub name: String,
    /// The model, prepared.
    pub predictor: Predictor,
}

/// All models, in the order in which they were given.
#[derive(Default)]
pub struct Models {
    all: Vec<Arc<Served>>,
}

impl Models {
    /// Reads model files.
    pub fn load(files: &[impl AsRef<Path>]) -> Result<Self> {
        let mut models = Models::default();
        for file in files {
            let (name, path) = named(file.as_ref())?;
            if models.get(&name).is_some() {
                let message = format!("two models are called `{name}`: give one of them as NAME={}", path.display());
                return Err(Error::Usage(message));
            }
            let predictor = Predictor::load(path)?;
            models.all.push(Arc::new(Served { name, predictor }));
        }
        Ok(models)
    }

    /// The model of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Served>> {
        self.all.iter().find(|served| served.name == name)
    }

    /// The names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|served| served.name.as_str())
    }
}

/// `NAME=FILE`, or a file that is named as it is called.
fn named(given: &Path) -> Result<(String, &Path)> {
    if let Some((name, path)) = given.to_str().and_then(|text| text.split_once('='))
        && !given.exists()
    {
        return Ok((name.to_string(), Path::new(path)));
    }
    let name = given.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((name, given))
}
