//! How often codes occur in each class, of columns and of pairs of columns, and the pairs that are worth a term.
//!
//! A pair is worth what both columns tell together beyond what they tell one by one, the interaction information
//! (McGill 1954), less what chance would make of it (Miller 1955):
//!
//! ```text
//! I(xᵢ,xⱼ; y) − I(xᵢ; y) − I(xⱼ; y) − (rᵢ − 1)(rⱼ − 1)(K − 1)/2n
//! ```
//!
//! in nats, with rᵢ the codes of column i that occur in pairs, K classes and n rows.

use super::coding::Coding;
use super::reader::Reader;
use crate::data::Batch;
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::Statistic;

/// Columns that may pair: of more, those that tell most one by one.
const MOST_PAIRED: usize = 120;
/// Counts of one pass: pairs that need more are counted in several.
const MOST_COUNTS: usize = 1 << 22;

/// The pass that counts.
#[derive(Clone, Debug)]
pub struct Tally {
    /// How rows become codes.
    pub reader: Reader,
    /// The number of classes.
    pub classes: usize,
    /// The pairs; columns are counted if there are none.
    pub pairs: Vec<(usize, usize)>,
}

/// The weights of all codes of all terms, class by class.
#[derive(Clone, Debug, PartialEq)]
pub struct Tallies {
    /// Of each column or pair, `code·classes + class`.
    counts: Vec<Vec<f64>>,
}

impl Tally {
    fn sizes(&self) -> Vec<usize> {
        let columns = self.reader.coding.columns();
        match self.pairs.is_empty() {
            true => columns.iter().map(|column| column.count() * self.classes).collect(),
            false => {
                let cells = |&(a, b): &(usize, usize)| columns[a].coarse_count() * columns[b].coarse_count();
                self.pairs.iter().map(|pair| cells(pair) * self.classes).collect()
            }
        }
    }
}

impl Pass for Tally {
    const NAME: &'static str = "tally";
    type Statistic = Tallies;

    fn empty(&self) -> Tallies {
        Tallies { counts: self.sizes().into_iter().map(|size| vec![0.0; size]).collect() }
    }

    fn size(&self) -> usize {
        8 * self.sizes().iter().sum::<usize>()
    }

    fn observe(&self, sums: &mut Tallies, batch: &Batch<'_>) -> Result<()> {
        let (classes, columns) = (self.classes as u32, self.reader.coding.columns());
        self.reader.tiles(batch, |codes, labels, weights| {
            if self.pairs.is_empty() {
                for (counts, codes) in sums.counts.iter_mut().zip(codes.fine()) {
                    for ((&code, &label), w) in codes.iter().zip(labels).zip(weights) {
                        counts[(u32::from(code) * classes + label) as usize] += w;
                    }
                }
                return;
            }
            // The place of the second column's code and the class serves all pairs.
            let places = |codes: &[u8]| -> Vec<u32> {
                codes.iter().zip(labels).map(|(&code, label)| u32::from(code) * classes + label).collect()
            };
            let second: Vec<Vec<u32>> = codes.coarse().map(places).collect();
            let first: Vec<&[u8]> = codes.coarse().collect();
            for (counts, &(a, b)) in sums.counts.iter_mut().zip(&self.pairs) {
                let stride = columns[b].coarse_count() as u32 * classes;
                for ((&code, &place), w) in first[a].iter().zip(&second[b]).zip(weights) {
                    counts[(u32::from(code) * stride + place) as usize] += w;
                }
            }
        })
    }
}

impl Statistic for Tallies {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("terms of merged counts", self.counts.len(), other.counts.len())?;
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
        Ok(())
    }
}

impl Stored for Tally {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(&format!("{name}.pairs"), &(self.classes, &self.pairs))?;
        self.reader.store(archive, name)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (classes, pairs): (usize, Vec<(usize, usize)>) = archive.json(&format!("{name}.pairs"))?;
        let reader = Reader::load(archive, name)?;
        let width = reader.coding.columns().len();
        match pairs.iter().all(|(a, b)| a.max(b) < &width) {
            true => Ok(Tally { reader, classes, pairs }),
            false => Err(archive.damaged("a pair has columns that are not there")),
        }
    }
}

impl Stored for Tallies {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let lengths: Vec<usize> = self.counts.iter().map(Vec::len).collect();
        let all = self.counts.concat();
        archive.put_json(name, &lengths)?;
        archive.put(&format!("{name}.counts"), &[all.len()], &all)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let lengths: Vec<usize> = archive.json(name)?;
        let total = lengths.iter().try_fold(0usize, |sum, n| sum.checked_add(*n));
        let total = total.ok_or_else(|| archive.damaged("there are too many counts"))?;
        let mut rest = archive.finite(&format!("{name}.counts"), &[total])?;
        let mut counts = Vec::new();
        for n in lengths {
            // The lengths add up to the number of counts.
            let (own, others) = rest.split_at(n);
            counts.push(own.to_vec());
            rest = others;
        }
        Ok(Tallies { counts })
    }
}

impl Tallies {
    /// The weight of each code of a term, all classes together.
    pub fn weights(&self, term: usize, classes: usize) -> Vec<f64> {
        self.counts[term].chunks_exact(classes).map(|code| code.iter().sum()).collect()
    }
}

/// The mutual information of codes and classes in nats, from their counts.
fn information(counts: &[f64], classes: usize) -> f64 {
    let mut of_class = vec![0.0; classes];
    for code in counts.chunks_exact(classes) {
        of_class.iter_mut().zip(code).for_each(|(sum, n)| *sum += n);
    }
    let n: f64 = of_class.iter().sum();
    let x_ln_x = |x: f64| if x > 0.0 { x * x.ln() } else { 0.0 };
    let mut sum = x_ln_x(n) - of_class.iter().map(|&n| x_ln_x(n)).sum::<f64>();
    for code in counts.chunks_exact(classes) {
        sum += code.iter().map(|&n| x_ln_x(n)).sum::<f64>() - x_ln_x(code.iter().sum());
    }
    if n > 0.0 { sum / n } else { 0.0 }
}

/// A column's counts by its codes in pairs.
fn coarsened(counts: &[f64], coarse: &[u8], codes: usize, classes: usize) -> Vec<f64> {
    let mut sums = vec![0.0; codes * classes];
    for (own, &place) in counts.chunks_exact(classes).zip(coarse) {
        let start = usize::from(place) * classes;
        sums[start..start + classes].iter_mut().zip(own).for_each(|(sum, n)| *sum += n);
    }
    sums
}

/// The `most` pairs of columns that are worth most, best first, with what they are worth.
pub fn rank_pairs(engine: &dyn Engine, columns: &Tallies, pass: &Tally, most: usize) -> Result<Vec<Pair>> {
    let (coding, classes): (&Coding, usize) = (&pass.reader.coding, pass.classes);
    let coarse = |c: usize| {
        let column = &coding.columns()[c];
        coarsened(&columns.counts[c], column.coarse(), column.coarse_count(), classes)
    };
    let alone: Vec<Vec<f64>> = (0..coding.columns().len()).map(coarse).collect();
    let told: Vec<f64> = alone.iter().map(|counts| information(counts, classes)).collect();
    let occur = |counts: &Vec<f64>| counts.chunks_exact(classes).filter(|code| code.iter().any(|n| *n > 0.0)).count();
    let codes: Vec<usize> = alone.iter().map(occur).collect();
    let n: f64 = alone.first().map_or(0.0, |counts| counts.iter().sum());
    let mut able: Vec<usize> = (0..codes.len()).filter(|&c| codes[c] > 1).collect();
    able.sort_by(|&a, &b| told[b].total_cmp(&told[a]).then(a.cmp(&b)));
    able.truncate(MOST_PAIRED);
    able.sort_unstable();
    let all: Vec<(usize, usize)> =
        able.iter().enumerate().flat_map(|(i, &b)| able[..i].iter().map(move |&a| (a, b))).collect();
    let mut pairs = Vec::new();
    let mut rest = &all[..];
    while !rest.is_empty() && most > 0 {
        let cells = |&(a, b): &(usize, usize)| {
            coding.columns()[a].coarse_count() * coding.columns()[b].coarse_count() * classes
        };
        let mut total = 0;
        let fits = rest.iter().take_while(|pair| {
            total += cells(pair);
            total <= MOST_COUNTS
        });
        let (own, others) = rest.split_at(fits.count().max(1));
        let counted = engine.run(&Tally { pairs: own.to_vec(), ..pass.clone() })?;
        for (&(a, b), counts) in own.iter().zip(&counted.counts) {
            let chance = ((codes[a] - 1) * (codes[b] - 1) * (classes - 1)) as f64 / (2.0 * n);
            let worth = information(counts, classes) - told[a] - told[b] - chance;
            let weights = counts.chunks_exact(classes).map(|cell| cell.iter().sum()).collect();
            pairs.push(Pair { a, b, worth, weights });
        }
        // Only the best so far are needed.
        pairs.sort_by(|x, y| y.worth.total_cmp(&x.worth).then((x.a, x.b).cmp(&(y.a, y.b))));
        pairs.truncate(most);
        rest = others;
    }
    Ok(pairs)
}

/// A pair of columns and what it is worth, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The first column.
    pub a: usize,
    /// The second column, behind the first.
    pub b: usize,
    /// Its interaction information, less chance.
    pub worth: f64,
    /// The weight of each of its cells.
    pub weights: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_by_hand() {
        // A code for each of two equally frequent classes: ln 2. Codes that say nothing: 0.
        assert!((information(&[5.0, 0.0, 0.0, 5.0], 2) - 2f64.ln()).abs() < 1e-15);
        assert!(information(&[2.0, 4.0, 3.0, 6.0], 2).abs() < 1e-15);
        // Shares 3/8, 1/8, 1/8, 3/8: ¾ ln(3/2) + ¼ ln(1/2).
        let by_hand = 0.75 * 1.5f64.ln() + 0.25 * 0.5f64.ln();
        assert!((information(&[3.0, 1.0, 1.0, 3.0], 2) - by_hand).abs() < 1e-15);
    }
}
