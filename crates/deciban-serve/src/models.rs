//! The models that are served, by name, and how they are loaded again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::SystemTime;

use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::{Error, Result, Wording};
use deciban_data::Options;
use deciban_tasks::{Application, Card, Predictor, Terms};
use serde_json::{Value, json};

use crate::write::{Keys, string};

/// A model that is ready to answer.
pub struct Served {
    /// The name in the routes.
    pub name: String,
    /// The model, prepared.
    pub predictor: Predictor,
    /// The model's own prior, and costs that are all alike.
    pub terms: Terms,
    /// The classes as they are written in answers.
    pub keys: Keys,
    /// How answers begin.
    pub head: Vec<u8>,
    /// What it takes and answers, as JSON.
    pub card: Value,
}

impl Served {
    /// Prepares a model.
    pub fn new(name: &str, model: Model) -> Result<Self> {
        let options = Options { allow_absent: true, ..Options::default() };
        let mut card = json!({ "name": name, "ready": true });
        if let (Value::Object(card), Value::Object(rest)) = (&mut card, json!(Card::new(&model))) {
            card.extend(rest);
        }
        let terms = Application::default().to_model(&model)?;
        let keys = Keys::new(model.schema().classes());
        let head = [b"{\"model\":", &string(name)[..], b",\"predictions\":["].concat();
        let predictor = Predictor::with_options(model, options)?;
        Ok(Served { name: name.into(), predictor, terms, keys, head, card })
    }

    /// How many columns a row has.
    pub fn columns(&self) -> usize {
        self.predictor.model().schema().columns().len()
    }
}

/// By what a change of a file is seen.
type Mark = (Option<SystemTime>, u64);

/// A file, and the model that was last read from it.
struct Place {
    name: String,
    path: PathBuf,
    mark: Mark,
    served: Arc<Served>,
    /// Why the file as it is now is not served.
    problem: Option<String>,
}

/// All models, in the order in which they were given.
pub struct Models(RwLock<Vec<Place>>);

impl Models {
    /// Reads model files, and those in folders.
    pub fn load(given: &[PathBuf]) -> Result<Self> {
        let mut places: Vec<Place> = Vec::new();
        for (name, path) in found(given)? {
            if places.iter().any(|place| place.name == name) {
                let message = format!("two models are called `{name}`: give one of them as NAME={}", path.display());
                return Err(Error::Usage(message));
            }
            let mark = mark(&path);
            let served = Arc::new(Served::new(&name, Model::load(&path)?)?);
            places.push(Place { name, path, mark, served, problem: None });
        }
        match places.is_empty() {
            true => Err(Error::Usage("give at least one model file".into())),
            false => Ok(Models(RwLock::new(places))),
        }
    }

    /// The model of a name.
    pub fn get(&self, name: &str) -> Option<Arc<Served>> {
        self.places().iter().find(|place| place.name == name).map(|place| place.served.clone())
    }

    /// The first model.
    pub fn first(&self) -> Option<Arc<Served>> {
        self.places().first().map(|place| place.served.clone())
    }

    /// The names, in their order.
    pub fn names(&self) -> Vec<String> {
        self.places().iter().map(|place| place.name.clone()).collect()
    }

    /// Each name, and why the file as it is now is not served.
    pub fn states(&self) -> Vec<(String, Option<String>)> {
        self.places().iter().map(|place| (place.name.clone(), place.problem.clone())).collect()
    }

    /// Reads the files that have changed; returns what there is to log. A file that cannot be read leaves the model
    /// that was read before.
    pub fn reload(&self) -> Vec<String> {
        let files: Vec<(usize, String, PathBuf, Mark)> = {
            let places = self.places();
            let changed = places.iter().enumerate().filter(|(_, place)| mark(&place.path) != place.mark);
            changed.map(|(i, place)| (i, place.name.clone(), place.path.clone(), mark(&place.path))).collect()
        };
        let mut told = Vec::new();
        for (i, name, path, mark) in files {
            // Without the lock: others are served meanwhile.
            let read = Model::load(&path).and_then(|model| Served::new(&name, model));
            // A panic elsewhere leaves places that are whole.
            let mut places = self.0.write().unwrap_or_else(|e| e.into_inner());
            let place = &mut places[i];
            place.mark = mark;
            match read {
                Ok(served) => {
                    (place.served, place.problem) = (Arc::new(served), None);
                    told.push(format!("model `{name}` was loaded again"));
                }
                Err(e) => {
                    let message = format!("the file has changed and cannot be used: {}", e.worded(Wording::Plain));
                    told.push(format!("model `{name}` stays as it was: {message}"));
                    place.problem = Some(message);
                }
            }
        }
        told
    }

    fn places(&self) -> std::sync::RwLockReadGuard<'_, Vec<Place>> {
        self.0.read().unwrap_or_else(|e| e.into_inner())
    }
}

fn mark(path: &Path) -> Mark {
    std::fs::metadata(path).map_or((None, 0), |data| (data.modified().ok(), data.len()))
}

/// The files with their names: `NAME=FILE`, files that are named as they are called, and those of folders.
fn found(given: &[PathBuf]) -> Result<Vec<(String, PathBuf)>> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut all = Vec::new();
    for path in given {
        let named = path.to_str().and_then(|text| text.split_once('=')).filter(|_| !path.exists());
        if let Some((name, file)) = named {
            all.push((checked(name.to_string())?, PathBuf::from(file)));
        } else if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, e))?;
            let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "deciban"));
            files.sort();
            if files.is_empty() {
                let message = "no file in this folder ends in .deciban".to_string();
                return Err(Error::File { path: path.display().to_string(), message });
            }
            for file in files {
                all.push((checked(stem(&file))?, file));
            }
        } else {
            all.push((checked(stem(path))?, path.clone()));
        }
    }
    Ok(all)
}

/// A name that can stand in an address.
fn checked(name: String) -> Result<String> {
    match name.is_empty() || name.contains(['/', ':', '?', '#', '%']) || name.chars().any(char::is_control) {
        true => Err(Error::Usage(format!("`{name}` cannot be a name in an address: give NAME=FILE"))),
        false => Ok(name),
    }
}
