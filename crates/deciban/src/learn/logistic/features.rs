//! How columns become the features of a linear model: numbers standardised, a category an indicator
//! per level, a text a count per word. Features stand in that order, the intercept last.
//!
//! A missing cell is what is expected of it, whatever the class ([`Fill`]): a number its mean given the other numbers of
//! the row, a category that had no missing cells at the fit a share of each level. Without a fill a missing number is its
//! column's mean, and a missing level no level. An unseen level is no level, an unseen word no word: they contribute
//! nothing to a score.

use serde::{Deserialize, Serialize};

use super::fill::Fill;
use super::in_place::InPlace;
use super::rowset::Rowset;
use crate::data::{Batch, Cells, Column, Kind, MISSING, Rows, Sparse, Tile, View};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::all_finite;

/// The features of a linear model.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    layout: Layout,
    /// Mean and scale of each number.
    centre: Vec<f64>,
    scale: Vec<f64>,
    fill: Fill,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Layout {
    numbers: Vec<usize>,
    /// Columns of categories and texts, with the first of their features and how many there are.
    categories: Vec<(usize, usize, usize)>,
    texts: Vec<(usize, usize, usize)>,
    /// None in a pass, which sends nobody their names.
    names: Vec<String>,
    /// Levels that are no feature of their own: the place of one for each category.
    #[serde(default)]
    left_out: Vec<usize>,
}

impl Features {
    /// The features of `columns`; `means` and `variances` are those of the numbers, in their order.
    pub fn new(columns: &[Column], means: &[f64], variances: &[f64]) -> Result<Self> {
        let numbers: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].is_numeric()).collect();
        Error::check_shape("means of the numbers", numbers.len(), means.len())?;
        let mut names: Vec<String> = numbers.iter().map(|&c| columns[c].name.clone()).collect();
        let (mut categories, mut texts) = (Vec::new(), Vec::new());
        for (c, column) in columns.iter().enumerate().filter(|(_, column)| !column.is_numeric()) {
            let place = (c, names.len(), column.levels.len());
            if column.kind == Kind::Text {
                texts.push(place)
            } else {
                categories.push(place)
            }
            names.extend(column.levels.iter().map(|level| format!("{}={level}", column.name)));
        }
        let scale = variances.iter().map(|&v| if v > 0.0 { v.sqrt().recip() } else { 1.0 }).collect();
        let layout = Layout { numbers, categories, texts, names, left_out: Vec::new() };
        Ok(Features { layout, centre: means.to_vec(), scale, fill: Fill::default() })
    }

    /// The same, where missing cells are filled; the fill is in the units of the data.
    pub fn filled_by(mut self, fill: Fill) -> Self {
        self.fill = fill.mapped(&self.centre, &self.scale);
        self
    }

    /// What stands for missing cells.
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// Leaves out these features, a level of each category: they are never there.
    pub fn leave_out(mut self, left_out: Vec<usize>) -> Self {
        self.layout.left_out = left_out;
        self
    }

    /// Whether the feature is a level that is never there.
    pub fn is_left_out(&self, feature: usize) -> bool {
        self.layout.left_out.contains(&feature)
    }

    /// The features of each category, one for each of its levels.
    pub fn categories(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.layout.categories.iter().map(|&(_, start, levels)| start..start + levels)
    }

    /// The number of features, without the intercept.
    pub fn len(&self) -> usize {
        let Layout { numbers, categories, texts, .. } = &self.layout;
        numbers.len() + categories.iter().chain(texts).map(|(_, _, count)| count).sum::<usize>()
    }

    /// Whether there are no features.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names: a number's column, `column=level`, `column=word`.
    pub fn names(&self) -> &[String] {
        &self.layout.names
    }

    /// The name of a number's column.
    fn name(&self, number: usize) -> String {
        self.layout.names.get(number).cloned().unwrap_or_else(|| format!("number {}", number + 1))
    }

    /// Stores them for a pass: without their names, which are as many as levels and words.
    pub fn store_unnamed(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let layout = Layout { names: Vec::new(), ..self.layout.clone() };
        Features { layout, ..self.clone() }.store(archive, name)
    }

    /// What [`store_unnamed`](Features::store_unnamed) has stored.
    pub fn load_unnamed(archive: &Archive, name: &str) -> Result<Self> {
        Features::read_stored(archive, name, false)
    }

    /// Whether every column it reads is one of `columns`.
    pub fn fits(&self, columns: usize) -> bool {
        let Layout { numbers, categories, texts, .. } = &self.layout;
        let sparse = categories.iter().chain(texts).map(|(column, _, _)| column);
        numbers.iter().chain(sparse).all(|&column| column < columns)
    }

    /// How many features are numbers; the others are sparse.
    pub fn numbers(&self) -> usize {
        self.layout.numbers.len()
    }

    /// Weights per standardised feature as weights per unit of the data; `theta` holds `outputs`
    /// values per feature, the intercept last.
    pub fn in_units(&self, theta: &[f64], outputs: usize) -> Vec<f64> {
        let weight = |i: usize| {
            let (j, k) = (i / outputs, i % outputs);
            self.unit(j).iter().map(|(from, factor)| factor * theta[from * outputs + k]).sum()
        };
        (0..theta.len()).map(weight).collect()
    }

    /// Weights per unit of the data as weights per standardised feature: undoes [`Features::in_units`].
    pub fn standardised(&self, weights: &[f64], outputs: usize) -> Vec<f64> {
        let mut theta = weights.to_vec();
        let last = self.len() * outputs;
        for j in 0..self.numbers() {
            for k in 0..outputs {
                theta[last + k] += weights[j * outputs + k] * self.centre[j];
                theta[j * outputs + k] /= self.scale[j];
            }
        }
        theta
    }

    /// The weight per unit of feature `j` (the intercept is the last) as a sum over standardised
    /// weights: features and factors.
    pub fn unit(&self, j: usize) -> Vec<(usize, f64)> {
        let moved = |i: usize| (i, -self.centre[i] * self.scale[i]);
        match j {
            j if j < self.numbers() => vec![(j, self.scale[j])],
            j if j == self.len() => (0..self.numbers()).map(moved).chain([(j, 1.0)]).collect(),
            j => vec![(j, 1.0)],
        }
    }

    /// Reads some rows.
    pub fn read(&self, batch: &Batch<'_>, rows: Rows<'_>, out: &mut Rowset) -> Result<()> {
        if !self.fits(batch.width()) {
            return Err(Error::Schema("the rows have fewer columns than the features are made of".into()));
        }
        let cells = Cells::new(batch, &self.layout.numbers, rows);
        cells.read_numbers(&mut out.numbers)?;
        let mut has_gaps = false;
        for (j, (c, s)) in self.centre.iter().zip(&self.scale).enumerate() {
            let column = out.numbers.column_mut(j);
            column.iter_mut().for_each(|x| *x = (*x - c) * s);
            if all_finite(column) {
                continue;
            }
            has_gaps = true;
            if let Some(i) = column.iter().position(|x| x.is_infinite()) {
                return Err(Error::Infinite { column: self.name(j), row: cells.row_number(i) + 1 });
            }
        }
        if has_gaps {
            self.fill.numbers(&mut out.numbers)?;
        }
        self.read_sparse(batch, cells.chosen(), out)
    }

    /// The rows of a batch where they lie, if they can stay there for so many outputs.
    pub fn in_place<'a>(&'a self, batch: &'a Batch<'a>, outputs: usize) -> Option<InPlace<'a>> {
        let Layout { numbers, categories, texts, .. } = &self.layout;
        let rows = 0..batch.rows();
        match (&numbers[..], &categories[..], &texts[..]) {
            (numbers, [], []) if outputs == 1 => {
                let x = Cells::new(batch, numbers, Rows::Range(rows)).row_major()?;
                Some(InPlace::Numbers { x, centre: &self.centre, scale: &self.scale })
            }
            ([], [], &[(column, _, words)]) if column < batch.width() => match batch.view(column) {
                View::Sparse(counts) => Some(InPlace::Text { counts: *counts, rows, words }),
                _ => None,
            },
            _ => None,
        }
    }

    fn read_sparse(&self, batch: &Batch<'_>, rows: &Rows<'_>, out: &mut Rowset) -> Result<()> {
        let Layout { categories, texts, left_out, .. } = &self.layout;
        out.clear_sparse();
        if categories.is_empty() && texts.is_empty() {
            return Ok(());
        }
        let mut codes = vec![Vec::new(); categories.len()];
        for (codes, (column, _, _)) in codes.iter_mut().zip(categories) {
            Cells::new(batch, &[*column], rows.clone()).read_codes(0, codes)?;
        }
        let sparse = texts.iter().map(|(column, _, _)| match batch.view(*column) {
            View::Sparse(sparse) => Ok(*sparse),
            _ => Err(Error::Schema(format!("column {column} does not hold texts"))),
        });
        let sparse: Vec<Sparse<'_>> = sparse.collect::<Result<_>>()?;
        for i in 0..rows.len() {
            for (c, (codes, &(_, start, levels))) in codes.iter().zip(categories).enumerate() {
                let feature = start + codes[i] as usize;
                if feature < start + levels && left_out.get(c) != Some(&feature) {
                    out.push(feature as u32, 1.0);
                }
                if codes[i] == MISSING {
                    self.fill.shares(c).for_each(|(level, share)| out.push((start + level) as u32, share));
                }
            }
            let row = rows.get(i);
            for (sparse, &(_, start, words)) in sparse.iter().zip(texts) {
                sparse.for_each(&Rows::Range(row..row + 1), |_, word, count| {
                    if (word as usize) < words && count != 0.0 {
                        out.push(start as u32 + word, count);
                    }
                });
            }
            out.end_row();
        }
        Ok(())
    }
}

/// What a row has of a feature.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A feature that is there, as the model takes it and as people read it.
    Feature {
        /// Which one.
        index: usize,
        /// Its value, standardised.
        x: f64,
        /// Its value in the table.
        shown: String,
    },
    /// A cell that is missing.
    Missing {
        /// The column's name.
        column: String,
        /// The features that stand for it, and their values; none where it says nothing.
        expected: Vec<(usize, f64)>,
        /// What stands for it, for people.
        shown: String,
    },
}

impl Term {
    /// xⱼθⱼ; where the cell is missing, that of the features that stand for it.
    pub fn times(&self, theta: &[f64]) -> f64 {
        match self {
            Term::Feature { index, x, .. } => x * theta[*index],
            Term::Missing { expected, .. } => expected.iter().map(|(index, x)| x * theta[*index]).sum(),
        }
    }
}

impl Features {
    /// The features of one row, in their order; levels and words that it does not have are left out.
    pub fn terms(&self, batch: &Batch<'_>, row: usize) -> Result<Vec<Term>> {
        let Layout { numbers, categories, names, .. } = &self.layout;
        let mut rowset = Rowset::default();
        self.read(batch, Rows::Range(row..row + 1), &mut rowset)?;
        let mut raw = Tile::default();
        raw.resize(1, 0);
        if !numbers.is_empty() {
            Cells::new(batch, numbers, Rows::Range(row..row + 1)).read_numbers(&mut raw)?;
        }
        let number = |j: usize| match raw.column(j)[0] {
            x if x.is_nan() => self.missing_number(j, rowset.numbers.column(j)[0]),
            x => Term::Feature { index: j, x: rowset.numbers.column(j)[0], shown: format!("{x}") },
        };
        let mut terms: Vec<Term> = (0..numbers.len()).map(number).collect();
        let first_word = self.layout.texts.iter().map(|text| text.1).min().unwrap_or(self.len());
        let mut missing = Vec::new();
        for (c, &(column, start, levels)) in categories.iter().enumerate() {
            let mut code = Vec::new();
            Cells::new(batch, &[column], Rows::Range(row..row + 1)).read_codes(0, &mut code)?;
            if code[0] == MISSING {
                missing.push((c, start..start + levels));
            }
        }
        let is_there = |index: &usize| !missing.iter().any(|(_, features)| features.contains(index));
        terms.extend(rowset.sparse(0).filter(|(index, _)| is_there(index)).map(|(index, x)| {
            let shown = if index < first_word { String::new() } else { format!("×{x}") };
            Term::Feature { index, x, shown }
        }));
        for (c, features) in missing {
            let expected: Vec<(usize, f64)> =
                self.fill.shares(c).map(|(level, share)| (features.start + level, share)).collect();
            let shown = if expected.is_empty() { String::new() } else { "missing".into() };
            // The name of a feature is `column=level`.
            let name = names.get(features.start).filter(|_| !features.is_empty()).and_then(|name| name.split_once('='));
            let column = name.map_or(String::new(), |(column, _)| column.to_string());
            terms.push(Term::Missing { column, expected, shown });
        }
        Ok(terms)
    }

    /// The term of a missing number, which is taken as `x`, standardised.
    fn missing_number(&self, j: usize, x: f64) -> Term {
        let column = self.name(j);
        match self.fill.has_numbers() {
            true => {
                let taken = five_digits(x / self.scale[j] + self.centre[j]);
                Term::Missing { column, expected: vec![(j, x)], shown: format!("missing, expected {taken}") }
            }
            false => Term::Missing { column, expected: Vec::new(), shown: String::new() },
        }
    }
}

/// A number rounded to five significant digits.
fn five_digits(x: f64) -> f64 {
    format!("{x:.4e}").parse().unwrap_or(x)
}

impl Stored for Features {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &self.layout)?;
        archive.put(&format!("{name}.centre"), &[self.centre.len()], &self.centre)?;
        archive.put(&format!("{name}.scale"), &[self.scale.len()], &self.scale)?;
        self.fill.store(archive, &format!("{name}.fill"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        Features::read_stored(archive, name, true)
    }
}

impl Features {
    fn read_stored(archive: &Archive, name: &str, named: bool) -> Result<Self> {
        let layout: Layout = archive.json(name)?;
        let n = layout.numbers.len();
        let mut next = n;
        let mut sparse: Vec<_> = layout.categories.iter().chain(&layout.texts).collect();
        sparse.sort_by_key(|(_, start, _)| *start);
        for (_, start, count) in sparse {
            if *start != next {
                return Err(archive.damaged(&format!("`{name}` leaves a gap between its features")));
            }
            next = start.saturating_add(*count);
        }
        if layout.names.len() != (if named { next } else { 0 }) || layout.left_out.iter().any(|j| *j >= next) {
            return Err(archive.damaged(&format!("`{name}` does not name its features")));
        }
        let centre = archive.finite(&format!("{name}.centre"), &[n])?.to_vec();
        let scale = archive.finite(&format!("{name}.scale"), &[n])?.to_vec();
        let fill = Fill::load(archive, &format!("{name}.fill"))?;
        let levels: Vec<usize> = layout.categories.iter().map(|(_, _, levels)| *levels).collect();
        if !fill.fits(n, &levels) {
            return Err(archive.damaged(&format!("`{name}.fill` does not fit the features")));
        }
        Ok(Features { layout, centre, scale, fill })
    }
}
