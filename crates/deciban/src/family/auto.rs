//! A number whose family is chosen: Gaussian, gamma, log-normal or histogram, whichever tells held-out
//! classes best.
//!
//! For each family the densities are fitted without a part of the rows, and judged by it:
//!
//! ```text
//! Σ w ln p(c | x),   p(c | x) ∝ p(x | c) W_c        W_c the weight of class c outside of the part
//! ```
//!
//! over the values x of the held-out part, which its sketch holds. This is the likelihood of the class
//! given the number, not of the number: what is the same for all classes, as gaps between rounded
//! values, must not decide. (Bins are found for telling classes apart, and would lose by the other.)
//!
//! The statistic holds those of all families. Gamma and log-normal describe numbers above 0; their sums
//! leave others out, and the sketch tells whether there are such.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::exponential_family::ExponentialStatistic;
use super::gamma::Gamma;
use super::gaussian::{Gaussian, GaussianStatistic, Structure};
use super::histogram::{Histogram, HistogramStatistic};
use super::log_normal::LogNormal;
use super::{AnyDensity, AnyFamily, AnyStatistic, Density, Domain, Family, Filled, Filling, Names, Parameters};
use crate::data::{Batch, Cells, Column, Rows, Tile, Value};
use crate::error::{Error, Result};
use crate::evidence::Entry;
use crate::file::{Archive, Stored};
use crate::numerics::{Random, log_shares};
use crate::statistic::{Quantiles, Retract, Statistic};

/// The most parts by which families are judged: folds are joined into so many.
const PARTS: usize = 3;

/// The family of one number, which is found from the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auto {
    /// What was chosen, if anything was yet.
    pub chosen: Option<Shape>,
    /// α of a histogram.
    pub pseudo_count: f64,
}

impl Default for Auto {
    fn default() -> Self {
        Auto { chosen: None, pseudo_count: 1.0 }
    }
}

/// The families there are to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Any number.
    Gaussian,
    /// Numbers above 0.
    Gamma,
    /// Numbers above 0.
    LogNormal,
    /// Any number.
    Histogram,
}

/// The earlier one where two are as good.
const SHAPES: [Shape; 4] = [Shape::Gaussian, Shape::Gamma, Shape::LogNormal, Shape::Histogram];

impl Shape {
    /// Its name, as `--family` has it.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Gaussian => "gaussian",
            Shape::Gamma => "gamma",
            Shape::LogNormal => "log-normal",
            Shape::Histogram => "histogram",
        }
    }
}

fn gaussian() -> Gaussian {
    Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() }
}

/// What is kept of one class's rows.
#[derive(Clone, Debug)]
pub struct AutoStatistic {
    gaussian: GaussianStatistic,
    gamma: ExponentialStatistic<Gamma>,
    log_normal: ExponentialStatistic<LogNormal>,
    histogram: HistogramStatistic,
}

impl AutoStatistic {
    fn sketch(&self) -> Option<&Quantiles> {
        self.histogram.sketches().first()
    }
}

impl Statistic for AutoStatistic {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.gaussian.merge(&other.gaussian)?;
        self.gamma.merge(&other.gamma)?;
        self.log_normal.merge(&other.log_normal)?;
        self.histogram.merge(&other.histogram)
    }
}

impl Retract for AutoStatistic {
    fn remove(&mut self, other: &Self) -> Result<()> {
        // On a copy: the last may fail when the first has been changed.
        let mut left = self.clone();
        left.gaussian.remove(&other.gaussian)?;
        left.gamma.remove(&other.gamma)?;
        left.log_normal.remove(&other.log_normal)?;
        left.histogram.remove(&other.histogram)?;
        *self = left;
        Ok(())
    }
}

impl Stored for AutoStatistic {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.gaussian.store(archive, &format!("{name}.gaussian"))?;
        self.gamma.store(archive, &format!("{name}.gamma"))?;
        self.log_normal.store(archive, &format!("{name}.log-normal"))?;
        self.histogram.store(archive, &format!("{name}.histogram"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        Ok(AutoStatistic {
            gaussian: GaussianStatistic::load(archive, &format!("{name}.gaussian"))?,
            gamma: ExponentialStatistic::load(archive, &format!("{name}.gamma"))?,
            log_normal: ExponentialStatistic::load(archive, &format!("{name}.log-normal"))?,
            histogram: HistogramStatistic::load(archive, &format!("{name}.histogram"))?,
        })
    }
}

/// The densities of the family that was chosen.
#[derive(Clone, Debug)]
pub struct AutoDensity(Box<AnyDensity>);

impl AutoDensity {
    /// The densities.
    pub fn chosen(&self) -> &AnyDensity {
        &self.0
    }
}

impl Density for AutoDensity {
    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn width(&self) -> usize {
        self.0.width()
    }

    fn parameters(&self, columns: &[Column]) -> Vec<Parameters> {
        self.0.parameters(columns)
    }

    fn of_groups(&self, groups: Range<usize>) -> Self {
        AutoDensity(Box::new(self.0.of_groups(groups)))
    }

    fn add_log_density(&self, x: &Cells<'_>, names: &[String], out: &mut Tile) -> Result<()> {
        self.0.add_log_density(x, names, out)
    }

    fn no_density(&self) -> Option<&'static str> {
        self.0.no_density()
    }

    fn no_filling(&self) -> Option<&'static str> {
        self.0.no_filling()
    }

    fn is_joint(&self) -> bool {
        self.0.is_joint()
    }

    fn parts(&self, x: &Cells<'_>, columns: &[Column]) -> Result<Option<Vec<Vec<Entry>>>> {
        self.0.parts(x, columns)
    }

    fn levels(&self, column: usize) -> Option<usize> {
        self.0.levels(column)
    }

    fn points(&self, group: usize, column: usize) -> Option<Vec<(f64, f64)>> {
        self.0.points(group, column)
    }

    fn domain(&self) -> Option<Domain> {
        self.0.domain()
    }

    fn column_mean(&self, group: usize, column: usize) -> Option<f64> {
        self.0.column_mean(group, column)
    }

    fn fill(&self, group: usize, x: &Cells<'_>, names: &[String], by: Filling<'_>) -> Result<Vec<Filled>> {
        self.0.fill(group, x, names, by)
    }

    fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        self.0.sample(class, random)
    }
}

impl Stored for AutoDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.0.store(archive, &format!("{name}.chosen"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        // Before it is loaded: a chain of them must not be followed.
        let chosen = format!("{name}.chosen");
        if archive.json::<String>(&format!("{chosen}.family"))? == "auto" {
            return Err(archive.damaged("a chosen family is none"));
        }
        Ok(AutoDensity(Box::new(AnyDensity::load(archive, &chosen)?)))
    }
}

impl Auto {
    fn family(&self, shape: Shape) -> AnyFamily {
        match shape {
            Shape::Gaussian => AnyFamily::Gaussian(gaussian()),
            Shape::Gamma => AnyFamily::Gamma(Gamma {}),
            Shape::LogNormal => AnyFamily::LogNormal(LogNormal {}),
            Shape::Histogram => {
                AnyFamily::Histogram(Histogram { pseudo_count: self.pseudo_count, ..Histogram::default() })
            }
        }
    }

    /// The densities of a shape.
    fn of_shape(&self, shape: Shape, classes: &[&AutoStatistic], names: Names<'_>) -> Result<AnyDensity> {
        let statistic = |class: &AutoStatistic| match shape {
            Shape::Gaussian => AnyStatistic::Gaussian(class.gaussian.clone()),
            Shape::Gamma => AnyStatistic::Gamma(class.gamma.clone()),
            Shape::LogNormal => AnyStatistic::LogNormal(class.log_normal.clone()),
            Shape::Histogram => AnyStatistic::Histogram(class.histogram.clone()),
        };
        let classes: Vec<AnyStatistic> = classes.iter().map(|class| statistic(class)).collect();
        self.family(shape).fit(&classes.iter().collect::<Vec<_>>(), names)
    }
}

/// Whether numbers are all above 0.
fn are_positive<'a>(classes: impl Iterator<Item = &'a AutoStatistic>) -> bool {
    classes.filter_map(AutoStatistic::sketch).all(|sketch| sketch.weight() == 0.0 || sketch.quantile(0.0) > 0.0)
}

/// Σ w ln p(c | x) of the values of `held` under densities of classes with these weights; −∞ where a
/// value is impossible.
fn class_likelihood(density: &AnyDensity, weights: &[f64], held: &[AutoStatistic]) -> Result<f64> {
    let sketches: Vec<&Quantiles> = held.iter().filter_map(AutoStatistic::sketch).collect();
    Error::check_shape("sketches", held.len(), sketches.len())?;
    let values = Quantiles::side_by_side(&sketches)?;
    let x: Vec<f64> = values.iter().map(|(x, _)| *x).collect();
    let batch = Batch::new(x.len()).column(&x[..])?;
    let mut out = Tile::default();
    out.resize(x.len(), density.classes());
    out.data_mut().fill(0.0);
    density.add_log_density(&Cells::new(&batch, &[0], Rows::Range(0..x.len())), &[], &mut out)?;
    let log_prior: Vec<f64> = weights.iter().map(|w| w.ln()).collect();
    let mut joint = vec![0.0; weights.len()];
    let mut sum = 0.0;
    for (i, (_, at)) in values.iter().enumerate() {
        (0..joint.len()).for_each(|c| joint[c] = out.column(c)[i] + log_prior[c]);
        if at.iter().zip(&joint).any(|(w, joint)| *w > 0.0 && *joint == f64::NEG_INFINITY) {
            return Ok(f64::NEG_INFINITY);
        }
        log_shares(&mut joint);
        for (c, w) in at.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            sum += w * joint[c];
        }
    }
    Ok(sum)
}

impl Family for Auto {
    type Statistic = AutoStatistic;
    type Density = AutoDensity;

    fn empty(&self, width: usize) -> AutoStatistic {
        AutoStatistic {
            gaussian: gaussian().empty(width),
            gamma: Gamma {}.empty(width),
            log_normal: LogNormal {}.empty(width),
            histogram: Histogram::default().empty(width),
        }
    }

    fn size(&self, width: usize) -> usize {
        Histogram::default().size(width) + gaussian().size(width)
    }

    fn observe(&self, statistic: &mut AutoStatistic, x: &Cells<'_>, names: &[String]) -> Result<()> {
        Error::check_shape("columns of a block whose family is chosen", 1, x.width())?;
        Histogram::default().observe(&mut statistic.histogram, x, names)?;
        gaussian().observe(&mut statistic.gaussian, x, names)?;
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        x.read_numbers(&mut tile)?;
        x.read_weights(&mut weights);
        // What is not above 0 is missing to the others.
        let above: Vec<f64> = tile.column(0).iter().map(|x| if *x > 0.0 { *x } else { f64::NAN }).collect();
        let batch = Batch::new(above.len()).column(&above[..])?.weights(&weights)?;
        let above = Cells::new(&batch, &[0], Rows::Range(0..batch.rows()));
        Gamma {}.observe(&mut statistic.gamma, &above, names)?;
        LogNormal {}.observe(&mut statistic.log_normal, &above, names)
    }

    fn with_pseudo_count(self, pseudo_count: f64) -> Self {
        Auto { pseudo_count, ..self }
    }

    fn is_open(&self) -> bool {
        self.chosen.is_none()
    }

    fn choose(&self, folds: &[Vec<AutoStatistic>], names: Names<'_>) -> Result<Self> {
        if folds.len() < 2 {
            return Err(Error::parameter("folds", "a family is chosen by folds: at least 2 are needed"));
        }
        let sum = |chosen: &dyn Fn(usize) -> bool| -> Result<Vec<AutoStatistic>> {
            let mut all: Vec<AutoStatistic> = vec![self.empty(1); folds[0].len()];
            for (_, fold) in folds.iter().enumerate().filter(|(f, _)| chosen(*f)) {
                all.iter_mut().zip(fold).try_for_each(|(a, b)| a.merge(b))?;
            }
            Ok(all)
        };
        let positive = are_positive(folds.iter().flatten());
        let mut told = [0.0; SHAPES.len()];
        let parts = folds.len().min(PARTS);
        for part in 0..parts {
            let (held, train) = (sum(&|f| f % parts == part)?, sum(&|f| f % parts != part)?);
            let weights: Vec<f64> = train.iter().filter_map(AutoStatistic::sketch).map(Quantiles::weight).collect();
            for (told, &shape) in told.iter_mut().zip(&SHAPES) {
                let fits = positive || matches!(shape, Shape::Gaussian | Shape::Histogram);
                let density =
                    fits.then(|| self.of_shape(shape, &train.iter().collect::<Vec<_>>(), names)).and_then(Result::ok);
                // A Gaussian of the least variance describes no class: a histogram does.
                let density = density
                    .filter(|density| !matches!(density, AnyDensity::Gaussian(own) if !own.floored().is_empty()));
                *told += match density {
                    Some(density) => class_likelihood(&density, &weights, &held)?,
                    None => f64::NEG_INFINITY,
                };
            }
        }
        // The first of the best; a Gaussian where none could be judged.
        let best = (0..SHAPES.len()).fold(0, |best, s| if told[s] > told[best] { s } else { best });
        Ok(Auto { chosen: Some(SHAPES[best]), ..self.clone() })
    }

    fn fit(&self, classes: &[&AutoStatistic], names: Names<'_>) -> Result<AutoDensity> {
        let shape = self.chosen.ok_or_else(|| Error::parameter("family", "the family has not been chosen yet"))?;
        Ok(AutoDensity(Box::new(self.of_shape(shape, classes, names)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{from_bytes, to_bytes};
    use crate::numerics::log_sum_exp;

    const CLASSES: usize = 2;

    /// Four folds of 250 rows of each class.
    fn folds(mut draw: impl FnMut(&mut Random, usize) -> f64) -> Vec<Vec<AutoStatistic>> {
        let mut random = Random::new(5);
        let mut one = |class: usize| {
            let x: Vec<f64> = (0..250).map(|_| draw(&mut random, class)).collect();
            super::super::testing::observe_batch(&Auto::default(), &Batch::new(250).column(&x[..]).unwrap()).unwrap()
        };
        (0..4).map(|_| (0..CLASSES).map(&mut one).collect()).collect()
    }

    fn names() -> Names<'static> {
        super::super::testing::names(&["x"], &[0])
    }

    fn chosen(draw: impl FnMut(&mut Random, usize) -> f64) -> Shape {
        let family = Auto { chosen: None, pseudo_count: 1.0 }.choose(&folds(draw), names()).unwrap();
        assert!(!family.is_open());
        family.chosen.unwrap()
    }

    #[test]
    fn the_family_that_made_the_rows_is_found() {
        assert_eq!(chosen(|r, k| 3.0 + r.normal() * (1.0 + k as f64)), Shape::Gaussian);
        assert_eq!(chosen(|r, k| (r.normal() * 1.5 + k as f64).exp()), Shape::LogNormal);
        assert_eq!(chosen(|r, k| r.gamma(0.4 + 0.6 * k as f64)), Shape::Gamma);
        // Two lumps on both sides of the other class; and numbers below 0 among others.
        let lumps = |r: &mut Random, k: usize| {
            let side = if r.uniform() < 0.5 { 4.0 } else { -4.0 };
            0.5 * r.normal() + if k == 0 { side } else { 0.0 }
        };
        assert_eq!(chosen(lumps), Shape::Histogram);
    }

    /// The choice is the greatest Σ ln p(c | x), here with densities fitted and scored row by row.
    #[test]
    fn the_likelihood_is_that_of_the_rows() {
        let rows: Vec<Vec<f64>> = vec![vec![1.0, 2.5, 2.5, 7.0], vec![3.0, 4.0, 9.0]];
        let statistic = |x: &Vec<f64>| {
            super::super::testing::observe_batch(&Auto::default(), &Batch::new(x.len()).column(&x[..]).unwrap())
                .unwrap()
        };
        let classes: Vec<AutoStatistic> = rows.iter().map(statistic).collect();
        let family = Auto { chosen: Some(Shape::Gamma), pseudo_count: 1.0 };
        let density = family.fit(&classes.iter().collect::<Vec<_>>(), names()).unwrap();
        let found = class_likelihood(density.chosen(), &[4.0, 3.0], &classes).unwrap();
        let mut expected = 0.0;
        for (k, x) in rows.iter().enumerate() {
            let batch = Batch::new(x.len()).column(&x[..]).unwrap();
            let scores = super::super::testing::score_batch(&density, &batch).unwrap();
            for i in 0..x.len() {
                let joint = [4f64.ln() + scores[0][i], 3f64.ln() + scores[1][i]];
                expected += joint[k] - log_sum_exp(&joint);
            }
        }
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        // The densities are those of the family by its name.
        let plain = AnyFamily::named("gamma").unwrap();
        let gamma: Vec<AnyStatistic> = classes.iter().map(|class| AnyStatistic::Gamma(class.gamma.clone())).collect();
        let AnyDensity::Gamma(by_name) = plain.fit(&gamma.iter().collect::<Vec<_>>(), names()).unwrap() else {
            panic!()
        };
        let AnyDensity::Gamma(own) = density.chosen() else { panic!() };
        assert_eq!(own, &by_name);
        let again: AutoDensity = from_bytes(&to_bytes(&density).unwrap()).unwrap();
        assert_eq!(again.parameters(&[Column::number("x")]), density.parameters(&[Column::number("x")]));
    }

    /// Removing undoes merging, also where the only numbers of at most 0 go.
    #[test]
    fn merge_and_remove() {
        let statistic = |x: &[f64]| {
            super::super::testing::observe_batch(&Auto::default(), &Batch::new(x.len()).column(x).unwrap()).unwrap()
        };
        let (a, b) = (statistic(&[1.0, 2.0, 5.0]), statistic(&[-1.0, 0.0, 3.0]));
        let mut both = a.clone();
        both.merge(&b).unwrap();
        assert!(!are_positive([&both].into_iter()));
        both.remove(&b).unwrap();
        assert!(are_positive([&both].into_iter()));
        assert_eq!((both.gamma.weight(0), both.log_normal.weight(0)), (3.0, 3.0));
        assert!((both.gamma.divergence(0) - a.gamma.divergence(0)).abs() < 1e-12);
        let again: AutoStatistic = from_bytes(&to_bytes(&both).unwrap()).unwrap();
        assert_eq!(again.gamma.sum(0), both.gamma.sum(0));
        assert!(a.clone().remove(&statistic(&[9.0])).is_err());
        // Two numbers in a block have two families.
        let two = Batch::new(1).column(&[1.0][..]).unwrap().column(&[2.0][..]).unwrap();
        assert!(super::super::testing::observe_batch(&Auto::default(), &two).is_err());
    }
}
