//! What the tests share: a small pass, and texts that become files.
#![allow(dead_code)]

use deciban::data::{Batch, Cells, MISSING, Rows, Tile, UNSEEN, View};
use deciban::file::{Archive, Stored};
use deciban::pass::Pass;
use deciban::statistic::Statistic;
use deciban::{Error, Result};
use deciban_data::{Files, Options, Target};

/// The path of a data set of the folder `shared` beside the project. A test that needs it has the attribute
/// `cfg_attr(not(shared_data), ignore = "...")`, which `build.rs` settles; without the folder it is reported
/// as ignored, and fails if it is run.
pub fn data(name: &str) -> String {
    let Some(folder) = option_env!("DECIBAN_SHARED") else { panic!("this test needs the data sets in ../shared") };
    let path = std::path::Path::new(folder).join("data").join(name);
    assert!(path.exists(), "the folder `shared` is here, but {} is not", path.display());
    path.display().to_string()
}

/// Rows, sums of numbers and counts of codes, per class.
#[derive(Clone)]
pub struct Tally {
    pub classes: usize,
    pub columns: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tallied {
    /// Rows per class, the last without a label; then for each of them and each column the sum of
    /// its numbers (or of its codes + 1) and the number of missing cells.
    pub rows: Vec<f64>,
    pub sums: Vec<f64>,
    pub missing: Vec<f64>,
    /// Weights, the sum of the row numbers, and a value that depends on the order of rows.
    pub weight: f64,
    pub row_numbers: f64,
    pub order: f64,
}

impl Stored for Tally {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.classes, self.columns))
    }
    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (classes, columns) = archive.json(name)?;
        Ok(Tally { classes, columns })
    }
}

impl Stored for Tallied {
    fn store(&self, _: &mut Archive, _: &str) -> Result<()> {
        Err(Error::Schema("a test's statistic is not stored".into()))
    }
    fn load(_: &Archive, _: &str) -> Result<Self> {
        Err(Error::Schema("a test's statistic is not stored".into()))
    }
}

impl Statistic for Tallied {
    fn merge(&mut self, other: &Self) -> Result<()> {
        let add = |a: &mut Vec<f64>, b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.rows, &other.rows);
        add(&mut self.sums, &other.sums);
        add(&mut self.missing, &other.missing);
        self.weight += other.weight;
        self.row_numbers += other.row_numbers;
        self.order += other.order;
        Ok(())
    }
}

impl Pass for Tally {
    const NAME: &'static str = "test-tally";
    type Statistic = Tallied;

    fn empty(&self) -> Tallied {
        let cells = (self.classes + 1) * self.columns;
        Tallied {
            rows: vec![0.0; self.classes + 1],
            sums: vec![0.0; cells],
            missing: vec![0.0; cells],
            weight: 0.0,
            row_numbers: 0.0,
            order: 0.0,
        }
    }

    fn observe(&self, statistic: &mut Tallied, batch: &Batch<'_>) -> Result<()> {
        assert_eq!(batch.width(), self.columns);
        let mut tile = Tile::default();
        for row in 0..batch.rows() {
            let label = batch.labels().map_or(MISSING, |labels| labels[row]);
            let class = if label == MISSING { self.classes } else { label as usize };
            statistic.rows[class] += 1.0;
            statistic.weight += batch.row_weights().map_or(1.0, |weights| weights[row]);
            statistic.row_numbers += batch.row_number(row) as f64;
            statistic.order = 0.5 * statistic.order + class as f64;
        }
        for column in 0..batch.width() {
            if let View::Numbers(_) = batch.view(column) {
                Cells::new(batch, &[column], Rows::Range(0..batch.rows())).read_numbers(&mut tile)?;
            }
            for row in 0..batch.rows() {
                let label = batch.labels().map_or(MISSING, |labels| labels[row]);
                let class = if label == MISSING { self.classes } else { label as usize };
                let cell = match batch.view(column) {
                    View::Numbers(_) => Some(tile.column(0)[row]).filter(|x| !x.is_nan()),
                    View::Codes(codes) => {
                        Some(codes[row]).filter(|code| *code != MISSING).map(|code| f64::from(code) + 1.0)
                    }
                    View::Sparse(words) => {
                        let mut count = 0.0;
                        words.for_each(&Rows::Range(row..row + 1), |_, _, n| count += n);
                        Some(count)
                    }
                };
                match cell {
                    Some(x) => statistic.sums[class * self.columns + column] += x,
                    None => statistic.missing[class * self.columns + column] += 1.0,
                }
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        1000
    }
}

/// A file in a folder that vanishes with the value.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Writes a file and gives its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// An error's text without the folder.
    pub fn clean(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "").replace(&self.0.path().display().to_string(), ".")
    }
}

/// Options with a target column.
pub fn target(name: &str) -> Options {
    Options { target: Target::Column(name.into()), ..Options::default() }
}

/// The same without a header.
pub fn bare(name: &str) -> Options {
    Options { header: false, ..target(name) }
}

/// Everything a file holds, as text: the cells of each row, then its class.
pub fn dump(files: &Files) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    let codes = |batch: &Batch<'_>| {
        let mut rows = vec![Vec::new(); batch.rows()];
        let mut tile = Tile::default();
        for column in 0..batch.width() {
            match batch.view(column) {
                View::Numbers(_) => {
                    Cells::new(batch, &[column], Rows::Range(0..batch.rows())).read_numbers(&mut tile)?;
                    rows.iter_mut().zip(tile.column(0)).for_each(|(row, x)| row.push(Cell::Number(*x)));
                }
                View::Codes(codes) => {
                    rows.iter_mut().zip(*codes).for_each(|(row, code)| row.push(Cell::Level(column, *code)))
                }
                View::Sparse(words) => words.for_each(&Rows::Range(0..batch.rows()), |row, word, count| {
                    rows[row].extend([Cell::Level(column, word), Cell::Number(count)]);
                }),
            }
        }
        if let Some(labels) = batch.labels() {
            rows.iter_mut().zip(labels).for_each(|(row, code)| row.push(Cell::Class(*code)));
        }
        if let Some(weights) = batch.row_weights() {
            rows.iter_mut().zip(weights).for_each(|(row, x)| row.push(Cell::Number(*x)));
        }
        Ok(rows)
    };
    files.map_in_order(codes, |part| {
        rows.extend(part);
        Ok(())
    })?;
    let (columns, classes) = (files.columns(), files.classes());
    let text = |cell: &Cell| match cell {
        Cell::Number(x) if x.is_nan() => "-".to_string(),
        Cell::Number(x) => x.to_string(),
        Cell::Level(_, MISSING) | Cell::Class(MISSING) => "-".to_string(),
        Cell::Level(_, UNSEEN) => "unseen".to_string(),
        Cell::Level(column, code) => columns[*column].levels[*code as usize].clone(),
        Cell::Class(code) => format!("={}", classes[*code as usize]),
    };
    Ok(rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect())
}

#[derive(Clone)]
enum Cell {
    Number(f64),
    Level(usize, u32),
    Class(u32),
}

/// Opens and dumps.
pub fn read(path: &str, options: Options) -> Result<Vec<String>> {
    dump(&Files::open(&[path.to_string()], options)?)
}
