//! How columns become the blocks of a model: which are modelled together, and by which family.
//!
//! | model | blocks |
//! |---|---|
//! | naive Bayes | numbers by a Gaussian, categories by a categorical, counts by a Poisson, each text by a multinomial; columns that are named by the family that is named; numbers that no Gaussian describes by a histogram, if [`NaiveBayes::settle`] saw them |
//! | Bernoulli, multinomial | all numbers and counts together, each text on its own |
//! | Parzen | all numbers together |
//! | table, tree, A1DE | all categories together, numbers cut into bins first |

use super::Block;
use crate::data::{Column, Kind, Profile};
use crate::error::{Error, Result};
use crate::family::gaussian::{Gaussian, Structure};
use crate::family::histogram::Histogram;
use crate::family::{AnyFamily, Family};
use crate::transform::Binning;

/// Naive Bayes: blocks are independent given the class.
#[derive(Clone, Debug, Default)]
pub struct NaiveBayes {
    /// The family of the numbers. Unless they are joint, it keeps no covariances.
    pub gaussian: Gaussian,
    /// Whether the numbers are one block with the covariances of `gaussian`.
    pub joint_numbers: bool,
    /// α of the families that have pseudo-counts.
    pub pseudo_count: f64,
    /// Families of columns, by name; the family that a kind has anyway changes nothing.
    pub families: Vec<(String, AnyFamily)>,
}

/// The family that a column has unless another is named.
fn usual(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "gaussian",
        Kind::Category | Kind::Flag => "categorical",
        Kind::Count => "poisson",
        Kind::Text => "multinomial",
    }
}

/// Whether a family describes what a column holds.
fn takes(family: &AnyFamily, column: &Column) -> bool {
    match family {
        AnyFamily::Categorical(_) | AnyFamily::Table(_) | AnyFamily::Tree(_) | AnyFamily::A1de(_) => {
            matches!(column.kind, Kind::Category | Kind::Flag)
        }
        AnyFamily::Multinomial(_) | AnyFamily::Bernoulli(_) => column.is_numeric() || column.kind == Kind::Text,
        _ => column.is_numeric(),
    }
}

fn held(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "numbers",
        Kind::Category => "categories",
        Kind::Flag => "flags",
        Kind::Count => "counts",
        Kind::Text => "texts",
    }
}

impl NaiveBayes {
    /// Gives number columns without a named family a histogram if [one value](Profile::is_spiked) takes
    /// at least half of the cells, which no Gaussian describes: 0 for most and thousands for a few.
    /// Returns the places of these columns.
    ///
    /// ```
    /// use deciban::data::{Batch, Schema};
    /// use deciban::engine::{Engine, Memory};
    /// use deciban::learn::{Generative, Learner, NaiveBayes};
    /// let gains: Vec<f64> = (0..200).map(|i| if i % 20 == 0 { 5000.0 + i as f64 } else { 0.0 }).collect();
    /// let classes: Vec<u32> = (0..200).map(|i| u32::from(i % 40 == 0)).collect();
    /// let schema = Schema::numbers(&["gain"], "income", &["low", "high"])?;
    /// let rows = Memory::new(schema.clone(), Batch::new(200).column(&gains[..])?.classes(&classes)?)?;
    /// let mut bayes = NaiveBayes::default();
    /// assert_eq!(bayes.settle(schema.columns(), &rows.profiles()?), [0]);
    /// let model = Generative::of_blocks(bayes.blocks(schema.columns())?).learn(&rows)?;
    /// assert_eq!(model.blocks()[0].block.family.name(), "histogram");
    /// # Ok::<(), deciban::Error>(())
    /// ```
    pub fn settle(&mut self, columns: &[Column], profiles: &[Profile]) -> Vec<usize> {
        let is_open = |c: &usize| {
            let Column { name, kind, .. } = &columns[*c];
            *kind == Kind::Number && profiles[*c].is_spiked() && !self.families.iter().any(|(named, _)| named == name)
        };
        let spiked: Vec<usize> = (0..columns.len().min(profiles.len())).filter(is_open).collect();
        let histogram = AnyFamily::Histogram(Histogram::default());
        self.families.extend(spiked.iter().map(|&c| (columns[c].name.clone(), histogram.clone())));
        spiked
    }

    /// Gives every number without a named family this one.
    pub fn every_number(&mut self, columns: &[Column], family: &AnyFamily) {
        for column in columns.iter().filter(|column| column.kind == Kind::Number) {
            if !self.families.iter().any(|(named, _)| *named == column.name) {
                self.families.push((column.name.clone(), family.clone()));
            }
        }
    }

    /// Takes the families of columns that are not named from blocks that were made before, as those of
    /// statistics.
    pub fn follow(&mut self, blocks: &[Block], columns: &[Column]) {
        for block in blocks {
            if let ([column], [name]) = (&block.columns[..], &block.names[..])
                && columns.get(*column).is_some_and(|c| usual(c.kind) != block.family.name())
                && !self.families.iter().any(|(named, _)| named == name)
            {
                self.families.push((name.clone(), block.family.clone()));
            }
        }
    }

    /// The blocks of these columns.
    pub fn blocks(&self, columns: &[Column]) -> Result<Vec<Block>> {
        for (name, family) in &self.families {
            let Some(column) = columns.iter().find(|c| c.name == *name) else {
                return Err(Error::parameter("family", format!("there is no column `{name}`")));
            };
            if !takes(family, column) {
                let (what, family) = (held(column.kind), family.name());
                let message = format!("column `{name}` holds {what}, which {family} does not describe");
                return Err(Error::parameter("family", message));
            }
        }
        let chosen = |c: &usize| {
            let Column { name, kind, .. } = &columns[*c];
            self.families.iter().find(|(named, family)| named == name && family.name() != usual(*kind))
        };
        let free: Vec<usize> = (0..columns.len()).filter(|c| chosen(c).is_none()).collect();
        let of =
            |kinds: &[Kind]| free.iter().copied().filter(|&c| kinds.contains(&columns[c].kind)).collect::<Vec<_>>();
        let default = |name: &str| AnyFamily::named(name).map(|f| f.with_pseudo_count(self.pseudo_count));
        let mut blocks = Vec::new();
        let mut add = |places: Vec<usize>, family: AnyFamily| {
            if !places.is_empty() {
                blocks.push(Block::new(places, columns, family));
            }
        };
        add(of(&[Kind::Number]), AnyFamily::Gaussian(self.numbers()));
        add(of(&[Kind::Category, Kind::Flag]), default("categorical")?);
        add(of(&[Kind::Count]), default("poisson")?);
        for text in of(&[Kind::Text]) {
            add(vec![text], default("multinomial")?);
        }
        for c in 0..columns.len() {
            if let Some((_, family)) = chosen(&c) {
                add(vec![c], family.clone().with_pseudo_count(self.pseudo_count));
            }
        }
        nonempty(blocks)
    }

    fn numbers(&self) -> Gaussian {
        let covariance = match self.gaussian.covariance {
            covariance if self.joint_numbers => covariance,
            Structure::Full | Structure::LowRank => Structure::Diagonal,
            Structure::Tied | Structure::TiedLowRank => Structure::TiedDiagonal,
            covariance => covariance,
        };
        Gaussian { covariance, ..self.gaussian.clone() }
    }
}

/// One block of all numbers and counts and one of each text, all by one family.
pub fn counted(columns: &[Column], family: &AnyFamily) -> Result<Vec<Block>> {
    if let Some(category) = columns.iter().find(|c| matches!(c.kind, Kind::Category | Kind::Flag)) {
        let name = &category.name;
        let message = format!("column `{name}` holds categories: §ignore='{name}', or give §model=naive-bayes");
        return Err(Error::parameter("model", message));
    }
    let numbers: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].kind != Kind::Text).collect();
    let texts = (0..columns.len()).filter(|&c| columns[c].kind == Kind::Text).map(|c| vec![c]);
    let places = Some(numbers).filter(|n| !n.is_empty()).into_iter().chain(texts);
    nonempty(places.map(|places| Block::new(places, columns, family.clone())).collect())
}

/// One block of all columns, which must be numbers.
pub fn numbers(columns: &[Column], family: &AnyFamily) -> Result<Vec<Block>> {
    if let Some(column) = columns.iter().find(|c| c.kind != Kind::Number) {
        return Err(Error::Schema(format!(
            "column `{0}` does not hold numbers: leave it out with §ignore='{0}', \
             or give §number='{0}' to see the first cell that is not a number",
            column.name
        )));
    }
    nonempty(if columns.is_empty() {
        Vec::new()
    } else {
        vec![Block::new((0..columns.len()).collect(), columns, family.clone())]
    })
}

/// One block of all columns, by a family of categories: numbers among them need bins.
pub fn together(columns: &[Column], family: &AnyFamily) -> Result<Vec<Block>> {
    if let Some(text) = columns.iter().find(|c| c.kind == Kind::Text) {
        let name = &text.name;
        let message = format!("column `{name}` holds texts: §ignore='{name}', or give §model=naive-bayes");
        return Err(Error::parameter("model", message));
    }
    let places: Vec<usize> = (0..columns.len()).collect();
    nonempty(if places.is_empty() { Vec::new() } else { vec![Block::new(places, columns, family.clone())] })
}

/// How the numbers of such a block are cut into bins. A1DE gains from finer ones: it averages over many small tables.
pub fn binning(family: &AnyFamily) -> Binning {
    match family {
        AnyFamily::A1de(_) => Binning::Refined(5),
        _ => Binning::Mdl,
    }
}

fn nonempty(blocks: Vec<Block>) -> Result<Vec<Block>> {
    match blocks.is_empty() {
        true => Err(Error::Schema("there is no column to learn from".into())),
        false => Ok(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let column = |name: &str, kind| Column { name: name.into(), kind, levels: Vec::new() };
        vec![
            column("age", Kind::Number),
            column("job", Kind::Category),
            column("gain", Kind::Number),
            column("note", Kind::Text),
            column("visits", Kind::Count),
        ]
    }

    #[test]
    fn each_kind_gets_its_family_unless_another_is_named() {
        let families = vec![("gain".to_string(), AnyFamily::named("gamma").unwrap())];
        let bayes = NaiveBayes { pseudo_count: 0.5, families, ..NaiveBayes::default() };
        let blocks = bayes.blocks(&columns()).unwrap();
        let told: Vec<(String, Vec<usize>)> =
            blocks.iter().map(|b| (b.family.name().to_string(), b.columns.clone())).collect();
        let expected = [
            ("gaussian", vec![0]),
            ("categorical", vec![1]),
            ("poisson", vec![4]),
            ("multinomial", vec![3]),
            ("gamma", vec![2]),
        ];
        assert_eq!(told, expected.map(|(name, places)| (name.to_string(), places)));
        let AnyFamily::Gaussian(numbers) = &blocks[0].family else { panic!("numbers first") };
        assert_eq!(numbers.covariance, Structure::Diagonal);
        let AnyFamily::Categorical(levels) = &blocks[1].family else { panic!("categories second") };
        assert_eq!(levels.pseudo_count, 0.5);
    }

    #[test]
    fn a_number_that_no_gaussian_describes_gets_a_histogram_unless_it_is_named() {
        let spike = Profile { cells: 100, distinct: 3, mode_cells: 50, ..Profile::default() };
        let profiles = vec![spike.clone(); 5];
        let mut bayes = NaiveBayes {
            families: vec![("age".into(), AnyFamily::named("gaussian").unwrap())],
            ..NaiveBayes::default()
        };
        // Of the numbers age is named; the others are no numbers.
        assert_eq!(bayes.settle(&columns(), &profiles), [2]);
        let blocks = bayes.blocks(&columns()).unwrap();
        assert_eq!((blocks[0].family.name(), &blocks[0].columns), ("gaussian", &vec![0]));
        assert_eq!((blocks[4].family.name(), &blocks[4].columns), ("histogram", &vec![2]));
        // What was chosen once is followed later, without the rows.
        let mut later = NaiveBayes::default();
        later.follow(&blocks, &columns());
        let again = later.blocks(&columns()).unwrap();
        assert!(blocks.iter().zip(&again).all(|(a, b)| a.columns == b.columns && a.family == b.family));
        assert_eq!(NaiveBayes::default().settle(&columns(), &[]), [0usize; 0]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let families = vec![("gian".to_string(), AnyFamily::named("gamma").unwrap())];
        let error = NaiveBayes { families, ..NaiveBayes::default() }.blocks(&columns()).unwrap_err().to_string();
        assert_eq!(error, "family: there is no column `gian`");
        let families = vec![("job".to_string(), AnyFamily::named("gamma").unwrap())];
        let error = NaiveBayes { families, ..NaiveBayes::default() }.blocks(&columns()).unwrap_err().to_string();
        assert_eq!(error, "family: column `job` holds categories, which gamma does not describe");
        let error = counted(&columns(), &AnyFamily::named("bernoulli").unwrap()).unwrap_err().to_string();
        assert!(error.contains("column `job` holds categories"), "{error}");
        assert!(AnyFamily::named("gauss").is_err());
    }
}
