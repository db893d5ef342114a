//! How the cells of a column become codes of one byte.
//!
//! | cell | code |
//! |---|---|
//! | a number | its bin: 40 bins, cut further where that tells the classes apart (MDL). A value that repeats much has a bin of its own, the others have equal weight |
//! | a category | its level; the rarest of more than 250 levels, and levels that are unseen, share one code |
//! | a missing cell | a code of its own, the last |
//!
//! In pairs of columns the codes are coarser: the MDL bins, and the 30 most frequent levels. MDL looks at a column alone:
//! a cut that tells something only where another column has a certain value, it does not find. So eight bins of equal
//! weight stand beside few MDL cuts, or of less than a thousand rows four in place of fewer than two. Every coarse cut is
//! a cut of the column itself, so the coarse code is a function of the code.

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Cells, Column, Kind, Rows, Tile};
use crate::error::{Error, Result};
use crate::family::{AnyFamily, AnyStatistic};
use crate::file::{Archive, Stored};
use crate::learn::{Block, Statistics, Summarise};
use crate::statistic::Quantiles;
use crate::transform::{Binning, Bins, Discretise};

/// Bins of a number, of equal weight but for values that repeat much.
const BINS: usize = 40;
/// The same in pairs: of few rows in place of up to one MDL cut, of many beside up to five.
const COARSE_BINS: usize = 4;
const MANY_COARSE_BINS: usize = 8;
const FEW_CUTS: usize = 5;
/// From so many rows on they are many: a hundred and more in each of the bins.
const MANY_ROWS: f64 = 1000.0;
/// The most MDL cuts of a number.
const MOST_CUTS: usize = 160;
/// The most levels with a code of their own, and the most in pairs; as many bins in pairs.
const MOST_LEVELS: usize = 250;
const MOST_COARSE: usize = 30;

/// The codes of all columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Coding {
    columns: Vec<Coded>,
}

/// The codes of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Coded {
    name: String,
    codes: Codes,
    /// The code in pairs of each code.
    coarse: Vec<u8>,
}

/// What a code stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Codes {
    /// A bin; the code behind the last bin is that of a missing number.
    Bins(Bins),
    /// A level, by its place among these; then come all other levels, and the missing cell.
    Levels {
        /// The code of each level of the schema.
        code: Vec<u8>,
        /// The names of the levels with a code of their own.
        names: Vec<String>,
    },
}

impl Coded {
    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its codes stand for.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// How many codes there are.
    pub fn count(&self) -> usize {
        self.coarse.len()
    }

    /// How many codes there are in pairs.
    pub fn coarse_count(&self) -> usize {
        // The last code is that of a missing cell, in pairs too.
        self.coarse.last().map_or(0, |last| usize::from(*last) + 1)
    }

    /// The code in pairs of each code.
    pub fn coarse(&self) -> &[u8] {
        &self.coarse
    }

    /// The code of a missing cell.
    pub fn missing(&self) -> usize {
        self.count() - 1
    }

    /// What a code is called.
    pub fn label(&self, code: usize) -> String {
        match &self.codes {
            _ if code == self.missing() => "missing".into(),
            Codes::Bins(bins) => range(bins, code, code),
            Codes::Levels { names, .. } => names.get(code).cloned().unwrap_or_else(|| "other".into()),
        }
    }

    /// What a code in pairs is called.
    pub fn coarse_label(&self, code: usize) -> String {
        let members: Vec<usize> = (0..self.count()).filter(|&c| usize::from(self.coarse[c]) == code).collect();
        match (&self.codes, &members[..]) {
            (_, []) => "none".into(),
            (_, [only]) => self.label(*only),
            (Codes::Levels { .. }, _) => "other".into(),
            (Codes::Bins(bins), [first, .., last]) => range(bins, *first, *last),
        }
    }

    /// A number's codes: these cuts, and those of them that count in pairs.
    fn of_bins(name: &str, bins: Bins, coarse_cuts: &[f64]) -> Self {
        let place = |x: f64| coarse_cuts.partition_point(|c| *c <= x) as u8;
        // Bin b ≥ 1 begins at cut b − 1.
        let coarse = std::iter::once(0).chain(bins.cuts().iter().map(|&cut| place(cut)));
        let coarse = coarse.chain([coarse_cuts.len() as u8 + 1]).collect();
        Coded { name: name.into(), codes: Codes::Bins(bins), coarse }
    }

    /// A category's codes, from the weights of its levels.
    fn of_levels(column: &Column, weights: &[f64]) -> Self {
        let count = column.levels.len();
        let weight = |level: usize| weights.get(level).copied().unwrap_or(0.0);
        let mut ranked: Vec<usize> = (0..count).collect();
        ranked.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)).then(a.cmp(&b)));
        let mut kept: Vec<usize> = ranked.iter().copied().take(MOST_LEVELS).collect();
        kept.sort_unstable();
        let other = kept.len() as u8;
        let mut code = vec![other; count];
        kept.iter().enumerate().for_each(|(c, &level)| code[level] = c as u8);
        let mut frequent: Vec<usize> = ranked.into_iter().take(MOST_COARSE).collect();
        frequent.sort_unstable();
        let mut coarse = vec![frequent.len() as u8; kept.len()];
        frequent.iter().enumerate().for_each(|(c, &level)| coarse[usize::from(code[level])] = c as u8);
        coarse.extend([frequent.len() as u8, frequent.len() as u8 + 1]);
        let names = kept.iter().map(|&level| column.levels[level].clone()).collect();
        Coded { name: column.name.clone(), codes: Codes::Levels { code, names }, coarse }
    }
}

/// What some neighbouring bins are called; cuts with six digits, for they lie anywhere between two values.
fn range(bins: &Bins, first: usize, last: usize) -> String {
    let short = |x: f64| format!("{x:.5e}").parse::<f64>().unwrap_or(x).to_string();
    let cuts = bins.cuts();
    match (first.checked_sub(1).map(|i| short(cuts[i])), cuts.get(last).map(|x| short(*x))) {
        (None, None) => "any".into(),
        (None, Some(high)) => format!("<{high}"),
        (Some(low), Some(high)) => format!("{low}..{high}"),
        (Some(low), None) => format!(">={low}"),
    }
}

/// As many of the cuts as may be, evenly spread.
fn thinned(cuts: &[f64], most: usize) -> Vec<f64> {
    match cuts.len() <= most {
        true => cuts.to_vec(),
        false => (0..most).map(|i| cuts[(2 * i + 1) * cuts.len() / (2 * most)]).collect(),
    }
}

/// Cuts in order, each once.
fn sorted(mut cuts: Vec<f64>) -> Vec<f64> {
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    cuts
}

/// The pass that finds the codes: sketches of the numbers and counts of the levels, class by class. `model` is who
/// asks, for messages.
pub fn survey(columns: &[Column], model: &str) -> Result<Summarise> {
    if let Some(text) = columns.iter().find(|column| column.kind == Kind::Text) {
        let message =
            format!("{model} takes numbers and categories: leave out §ignore='{}', or give §model=logistic", text.name);
        return Err(Error::parameter("model", message));
    }
    let places = |numeric: bool| (0..columns.len()).filter(|&c| columns[c].is_numeric() == numeric).collect();
    let block = |numeric: bool, family: &str| Ok(Block::new(places(numeric), columns, AnyFamily::named(family)?));
    Ok(Summarise { blocks: vec![block(true, "histogram")?, block(false, "categorical")?], folds: 1, seed: 0 })
}

impl Coding {
    /// The codes that fit what a [`survey`] has found.
    pub fn new(statistics: &Statistics) -> Result<Self> {
        let columns = statistics.schema().columns();
        let [numbers, categories] = [0, 1].map(|b| statistics.summary().block(b));
        let (numbers, categories) = (numbers?, categories?);
        let sketches: Vec<&[Quantiles]> = numbers
            .iter()
            .filter_map(|class| match class {
                AnyStatistic::Histogram(class) => Some(class.sketches()),
                _ => None,
            })
            .collect();
        let mut coded: Vec<Option<Coded>> = vec![None; columns.len()];
        for (j, &column) in statistics.blocks()[0].columns.iter().enumerate() {
            let classes: Vec<&Quantiles> = sketches.iter().map(|class| &class[j]).collect();
            coded[column] = Some(of_number(&columns[column].name, &classes)?);
        }
        for (j, &column) in statistics.blocks()[1].columns.iter().enumerate() {
            let mut weights = vec![0.0; columns[column].levels.len()];
            for class in &categories {
                let AnyStatistic::Categorical(class) = class else { continue };
                weights.iter_mut().zip(class.counts(j)).for_each(|(sum, w)| *sum += w);
            }
            coded[column] = Some(Coded::of_levels(&columns[column], &weights));
        }
        // Every column is a number or a category.
        Ok(Coding { columns: coded.into_iter().flatten().collect() })
    }

    /// The columns.
    pub fn columns(&self) -> &[Coded] {
        &self.columns
    }

    /// Writes the codes of some rows, column after column.
    pub fn read(&self, batch: &Batch<'_>, rows: Rows<'_>, out: &mut Vec<u8>) -> Result<()> {
        Error::check_shape("columns of a batch", self.columns.len(), batch.width())?;
        out.clear();
        let (mut numbers, mut levels) = (Tile::default(), Vec::new());
        for (c, column) in self.columns.iter().enumerate() {
            let place = [c];
            let cells = Cells::new(batch, &place, rows.clone());
            match &column.codes {
                Codes::Bins(bins) => {
                    cells.read_numbers(&mut numbers)?;
                    if let Some(i) = numbers.column(0).iter().position(|x| x.is_infinite()) {
                        return Err(Error::Infinite { column: column.name.clone(), row: cells.row_number(i) + 1 });
                    }
                    // NaN has the code behind all bins.
                    out.extend(numbers.column(0).iter().map(|&x| bins.code(x).min(bins.count() as u32) as u8));
                }
                Codes::Levels { code, names } => {
                    cells.read_codes(0, &mut levels)?;
                    let (other, missing) = (names.len() as u8, names.len() as u8 + 1);
                    out.extend(levels.iter().map(|&level| match code.get(level as usize) {
                        Some(code) => *code,
                        None if level == crate::data::MISSING => missing,
                        None => other,
                    }));
                }
            }
        }
        Ok(())
    }
}

/// The codes of a number, from the sketches of its values in each class.
fn of_number(name: &str, classes: &[&Quantiles]) -> Result<Coded> {
    let cuts = |binning: Binning| Ok::<_, Error>(binning.bins(0, classes)?.cuts().to_vec());
    let mdl = thinned(&cuts(Binning::Mdl)?, MOST_CUTS);
    let is_many = classes.iter().map(|class| class.weight()).sum::<f64>() >= MANY_ROWS;
    let coarse = match mdl.len() {
        ..=FEW_CUTS if is_many => sorted([cuts(Binning::Quantiles(MANY_COARSE_BINS))?, mdl.clone()].concat()),
        0 | 1 => cuts(Binning::Quantiles(COARSE_BINS))?,
        _ => thinned(&mdl, MOST_COARSE - 1),
    };
    let even = Binning::Spread(BINS).bins(0, classes)?;
    let all = sorted([even.cuts(), &mdl, &coarse].concat());
    let (low, high) = (even.edges(0).0, even.edges(even.count() - 1).1);
    Ok(Coded::of_bins(name, Bins::new(all, Some(low), Some(high))?, &coarse))
}

/// What is stored of a column beside its bins.
#[derive(Serialize, Deserialize)]
struct Layout {
    name: String,
    coarse: Vec<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    levels: Option<(Vec<u8>, Vec<String>)>,
}

impl Stored for Coding {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let layout = |column: &Coded| Layout {
            name: column.name.clone(),
            coarse: column.coarse.clone(),
            levels: match &column.codes {
                Codes::Bins(_) => None,
                Codes::Levels { code, names } => Some((code.clone(), names.clone())),
            },
        };
        archive.put_json(name, &self.columns.iter().map(layout).collect::<Vec<_>>())?;
        let bins = |column: &Coded| match &column.codes {
            Codes::Bins(bins) => Some(bins.clone()),
            Codes::Levels { .. } => None,
        };
        Discretise::new(self.columns.iter().map(bins).collect()).store(archive, &format!("{name}.bins"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let damaged = || archive.damaged(&format!("`{name}` does not hold the codes of columns"));
        let layouts: Vec<Layout> = archive.json(name)?;
        let bins = Discretise::load(archive, &format!("{name}.bins"))?;
        let mut columns = Vec::new();
        for (c, Layout { name, coarse, levels }) in layouts.into_iter().enumerate() {
            let (codes, count) = match (bins.bins(c), levels) {
                (Some(bins), None) => (Codes::Bins(bins.clone()), bins.count() + 1),
                (None, Some((code, names))) => {
                    if code.iter().any(|code| usize::from(*code) > names.len()) {
                        return Err(damaged());
                    }
                    let count = names.len() + 2;
                    (Codes::Levels { code, names }, count)
                }
                _ => return Err(damaged()),
            };
            // The missing cell has the last code in pairs, too.
            if coarse.len() != count || count > 256 || coarse.iter().max() != coarse.last() {
                return Err(damaged());
            }
            columns.push(Coded { name, codes, coarse });
        }
        Ok(Coding { columns })
    }
}
