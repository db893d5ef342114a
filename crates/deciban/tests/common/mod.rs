//! What the tests on real data share: where the data lies, and tables read from it.

#![allow(dead_code)] // Each test file uses its part.

use std::path::{Path, PathBuf};

use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::evidence::Evidence;
use deciban::family::AnyDensity;
use deciban::family::gaussian::{Gaussian, GaussianDensity};
use deciban::learn::{Classifier, Generative, GenerativeModel, Learner};

/// A file of the folder `shared` beside the project. A test that needs it has the attribute
/// `cfg_attr(not(shared_data), ignore = "...")`, which `build.rs` settles; without the folder it is reported
/// as ignored, and fails if it is run.
pub fn shared(path: &str) -> PathBuf {
    let Some(folder) = option_env!("DECIBAN_SHARED") else { panic!("this test needs the data sets in ../shared") };
    let file = Path::new(folder).join(path);
    assert!(file.is_file(), "the folder `shared` is here, but {} is not", file.display());
    file
}

/// A file of `examples`, which every clone has.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// A table of numbers with a class per row; class codes follow the sorted names.
#[derive(Clone, Debug)]
pub struct Table {
    pub columns: Vec<String>,
    pub classes: Vec<String>,
    /// Row after row.
    pub values: Vec<f64>,
    pub labels: Vec<u32>,
}

impl Table {
    /// Rows of numbers with the names of their classes.
    pub fn new(columns: Vec<String>, rows: &[(Vec<f64>, String)]) -> Self {
        let mut classes: Vec<String> = rows.iter().map(|row| row.1.clone()).collect();
        classes.sort();
        classes.dedup();
        let code = |class: &String| classes.binary_search(class).unwrap() as u32;
        let labels = rows.iter().map(|row| code(&row.1)).collect();
        Table { columns, labels, values: rows.iter().flat_map(|row| row.0.clone()).collect(), classes }
    }

    /// Rows given by number and class code, with columns a, b, c, ... and classes x, y, z.
    pub fn of<const D: usize>(rows: &[([f64; D], u32)]) -> Self {
        let most = rows.iter().map(|row| row.1).max().unwrap_or(0) as usize;
        Table {
            columns: (0..D).map(|j| char::from(b'a' + j as u8).to_string()).collect(),
            classes: ["x", "y", "z"][..=most].iter().map(|c| c.to_string()).collect(),
            values: rows.iter().flat_map(|row| row.0).collect(),
            labels: rows.iter().map(|row| row.1).collect(),
        }
    }

    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.width()..(i + 1) * self.width()]
    }

    pub fn schema(&self) -> Schema {
        Schema::numbers(&self.columns, "class", &self.classes).unwrap()
    }

    /// The rows with their labels.
    pub fn batch(&self) -> Batch<'_> {
        Batch::new(self.rows()).row_major(&self.values[..], self.width()).unwrap().classes(&self.labels).unwrap()
    }

    pub fn memory(&self) -> Memory<'_> {
        Memory::new(self.schema(), self.batch()).unwrap()
    }

    pub fn learner(&self, family: Gaussian) -> Generative {
        Generative::gaussian(self.schema().columns(), family).unwrap()
    }

    pub fn try_fit(&self, family: Gaussian) -> deciban::Result<GenerativeModel> {
        self.learner(family).learn(&self.memory())
    }

    pub fn fit(&self, family: Gaussian) -> GenerativeModel {
        self.try_fit(family).unwrap()
    }

    /// The chosen columns.
    pub fn select(&self, columns: &[usize]) -> Table {
        let values = (0..self.rows()).flat_map(|i| columns.iter().map(move |&j| self.row(i)[j])).collect();
        Table { columns: columns.iter().map(|&j| self.columns[j].clone()).collect(), values, ..self.clone() }
    }

    /// The rows for which `keep` holds.
    pub fn filter(&self, keep: impl Fn(usize) -> bool) -> Table {
        let kept: Vec<usize> = (0..self.rows()).filter(|&i| keep(i)).collect();
        Table {
            values: kept.iter().flat_map(|&i| self.row(i).to_vec()).collect(),
            labels: kept.iter().map(|&i| self.labels[i]).collect(),
            ..self.clone()
        }
    }
}

/// The evidence of one row.
pub fn evidence_of(model: &GenerativeModel, row: &[f64]) -> Evidence {
    model.evidence(&Batch::new(1).row_major(row, row.len()).unwrap()).unwrap()
}

/// The density of a model's only block.
pub fn density(model: &GenerativeModel) -> &GaussianDensity {
    let AnyDensity::Gaussian(density) = &model.blocks()[0].density else { panic!("the block is not Gaussian") };
    density
}

/// Comma-separated numbers and a class; with `header` the columns' names come first.
fn read(path: &Path, header: bool, class_first: bool) -> Table {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let mut cells: Vec<String> = line.split(',').map(|cell| cell.trim().to_string()).collect();
        let class = cells.remove(if class_first { 0 } else { cells.len() - 1 });
        (cells, class)
    });
    let names = if header { lines.next().map(|line| line.0) } else { None };
    let rows: Vec<(Vec<f64>, String)> =
        lines.map(|(cells, class)| (cells.iter().map(|cell| cell.parse().unwrap()).collect(), class)).collect();
    let names = names.unwrap_or_else(|| (1..=rows[0].0.len()).map(|j| format!("c{j}")).collect());
    Table::new(names, &rows)
}

pub fn iris() -> Table {
    read(&shared("data/iris/iris.data"), false, false)
}

pub fn wine() -> Table {
    read(&example("wine.csv"), true, true)
}

pub fn wdbc() -> Table {
    read(&example("cancer.csv"), true, true)
}

/// `tra` for training, `tes` for testing.
pub fn pendigits(part: &str) -> Table {
    read(&shared(&format!("data/pendigits/pendigits.{part}")), false, false)
}
