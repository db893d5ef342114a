//! How columns become the blocks of a model: which are modelled together, and by which family.
//!
//! | model | blocks |
//! |---|---|
//! | naive Bayes | numbers by a Gaussian, categories by a categorical, counts by a Poisson, each text by a multinomial; columns that are named by the family that is named |
//! | Bernoulli, multinomial | all numbers and counts together, each text on its own |
//! | table, tree | all categories together, numbers cut into bins first |

use super::Block;
use crate::data::{Column, Kind};
use crate::error::{Error, Result};
use crate::family::gaussian::{Gaussian, Structure};
use crate::family::{AnyFamily, Family};

/// Naive Bayes: blocks are independent given the class.
#[derive(Clone, Debug, Default)]
pub struct NaiveBayes {
    /// The family of the numbers. Unless they are joint, it keeps no covariances.
    pub gaussian: Gaussian,
    /// Whether the numbers are one block with the covariances of `gaussian`.
    pub joint_numbers: bool,
    /// α of the families that have pseudo-counts.
    pub pseudo_count: f64,
    /// Families of columns, by name.
    pub families: Vec<(String, AnyFamily)>,
}

impl NaiveBayes {
    /// The blocks of these columns.
    pub fn blocks(&self, columns: &[Column]) -> Result<Vec<Block>> {
        for (name, _) in &self.families {
            if !columns.iter().any(|c| c.name == *name) {
                return Err(Error::parameter("--family", format!("there is no column `{name}`")));
            }
        }
        let chosen = |c: &usize| self.families.iter().find(|(name, _)| *name == columns[*c].name);
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
            Structure::Full => Structure::Diagonal,
            Structure::Tied => Structure::TiedDiagonal,
            covariance => covariance,
        };
        Gaussian { covariance, ..self.gaussian.clone() }
    }
}

/// One block of all numbers and counts and one of each text, all by one family.
pub fn counted(columns: &[Column], family: &AnyFamily) -> Result<Vec<Block>> {
    if let Some(category) = columns.iter().find(|c| matches!(c.kind, Kind::Category | Kind::Flag)) {
        let name = &category.name;
        let message = format!("column `{name}` holds categories: --ignore '{name}', or give --model naive-bayes");
        return Err(Error::parameter("--model", message));
    }
    let numbers: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].kind != Kind::Text).collect();
    let texts = (0..columns.len()).filter(|&c| columns[c].kind == Kind::Text).map(|c| vec![c]);
    let places = Some(numbers).filter(|n| !n.is_empty()).into_iter().chain(texts);
    nonempty(places.map(|places| Block::new(places, columns, family.clone())).collect())
}

/// One block of all columns, by a family of categories: numbers among them need bins.
pub fn together(columns: &[Column], family: &AnyFamily) -> Result<Vec<Block>> {
    if let Some(text) = columns.iter().find(|c| c.kind == Kind::Text) {
        let name = &text.name;
        let message = format!("column `{name}` holds texts: --ignore '{name}', or give --model naive-bayes");
        return Err(Error::parameter("--model", message));
    }
    let places: Vec<usize> = (0..columns.len()).collect();
    nonempty(if places.is_empty() { Vec::new() } else { vec![Block::new(places, columns, family.clone())] })
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
    fn what_does_not_fit_is_named() {
        let families = vec![("gian".to_string(), AnyFamily::named("gamma").unwrap())];
        let error = NaiveBayes { families, ..NaiveBayes::default() }.blocks(&columns()).unwrap_err().to_string();
        assert_eq!(error, "--family: there is no column `gian`");
        let error = counted(&columns(), &AnyFamily::named("bernoulli").unwrap()).unwrap_err().to_string();
        assert!(error.contains("column `job` holds categories"), "{error}");
        assert!(AnyFamily::named("gauss").is_err());
    }
}
