//! One sweep over labelled rows: the evaluation of all of them, and of some rows the LLR of every
//! class and the cells of some columns. Where there are more rows than are kept, every second,
//! fourth, eighth, ... row is, so memory is bounded and nothing depends on chance or threads.

use std::sync::OnceLock;

use deciban::data::{Batch, Cells, Kind, Rows, Tile};
use deciban::evaluate::{Evaluation, Trials};
use deciban::evidence::Evidence;
use deciban::learn::Classifier;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use deciban_data::Files;

use super::Use;

/// Values that are kept at most.
const KEPT: usize = 4 << 20;

/// What is known of the rows.
pub struct Gathered {
    /// The evaluation of all rows.
    pub evaluation: Evaluation,
    /// Of all rows, one in `every` is kept.
    pub every: usize,
    /// The columns whose cells are kept, by their numbers in the schema.
    pub columns: Vec<usize>,
    /// The classes of kept rows.
    pub labels: Vec<u32>,
    /// The weights of kept rows.
    pub weights: Vec<f64>,
    /// The LLR of each class against the others, row after row.
    llr: Vec<f64>,
    /// The cells of `columns`, row after row; codes of categories are numbers, NaN is missing.
    cells: Vec<f64>,
    classes: usize,
    seen: usize,
    hardest: OnceLock<Vec<usize>>,
}

struct Part {
    evaluation: Evaluation,
    labels: Vec<u32>,
    weights: Vec<f64>,
    llr: Vec<f64>,
    cells: Vec<f64>,
}

/// Sweeps over the rows.
pub fn gather(files: &Files, used: &Use<'_>, columns: &[usize]) -> Result<Gathered> {
    let schema = used.model.schema();
    let classes = schema.classes().len();
    let mut all = Gathered {
        evaluation: Evaluation::new(schema.classes(), used.costs),
        every: 1,
        columns: columns.to_vec(),
        labels: Vec::new(),
        weights: Vec::new(),
        llr: Vec::new(),
        cells: Vec::new(),
        classes,
        seen: 0,
        hardest: OnceLock::new(),
    };
    let part = |batch: &Batch<'_>| {
        let evidence = used.model.evidence(batch)?;
        let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
        let mut evaluation = Evaluation::new(schema.classes(), used.costs);
        evaluation.observe(&evidence.posterior(used.prior), labels, batch.row_weights(), used.costs)?;
        Ok(Part {
            evaluation,
            labels: labels.to_vec(),
            weights: batch.row_weights().map_or_else(|| vec![1.0; batch.rows()], <[f64]>::to_vec),
            llr: llrs(&evidence, used.prior),
            cells: cells(batch, columns, |c| schema.columns()[c].kind)?,
        })
    };
    files.map_in_order(part, |part| {
        all.add(part);
        Ok(())
    })?;
    Ok(all)
}

impl Gathered {
    /// Rows with their cells and without LLRs.
    #[cfg(test)]
    pub fn of_cells(used: &Use<'_>, columns: Vec<usize>, labels: Vec<u32>, cells: Vec<f64>) -> Self {
        let names = used.model.schema().classes();
        let (classes, rows) = (names.len(), labels.len());
        let evaluation = Evaluation::new(names, used.costs);
        let (weights, llr) = (vec![1.0; rows], vec![0.0; rows * classes]);
        let hardest = OnceLock::new();
        Gathered { evaluation, every: 1, columns, labels, weights, llr, cells, classes, seen: rows, hardest }
    }

    fn add(&mut self, part: Part) {
        self.evaluation.merge(&part.evaluation);
        let (k, d) = (self.classes, self.columns.len());
        for row in 0..part.labels.len() {
            if self.seen.is_multiple_of(self.every) {
                self.labels.push(part.labels[row]);
                self.weights.push(part.weights[row]);
                self.llr.extend(&part.llr[row * k..(row + 1) * k]);
                self.cells.extend(&part.cells[row * d..(row + 1) * d]);
            }
            self.seen += 1;
            if self.labels.len() * (k + d + 2) > KEPT {
                self.thin();
            }
        }
    }

    /// Keeps every second row of those kept.
    fn thin(&mut self) {
        fn second<T: Copy>(values: &mut Vec<T>, width: usize) {
            *values = values.chunks(width.max(1)).step_by(2).flatten().copied().collect();
        }
        second(&mut self.labels, 1);
        second(&mut self.weights, 1);
        second(&mut self.llr, self.classes);
        second(&mut self.cells, self.columns.len());
        self.every *= 2;
    }

    /// The number of rows kept.
    pub fn kept(&self) -> usize {
        self.labels.len()
    }

    /// All classes, those that are hardest to tell from the others first: by the area below the ROC curve.
    /// Classes without rows come last.
    pub fn hardest(&self) -> Result<&[usize]> {
        if let Some(classes) = self.hardest.get() {
            return Ok(classes);
        }
        let area = |class: usize| Ok(self.trials(class)?.auc());
        let areas: Vec<f64> = (0..self.classes).map(area).collect::<Result<_>>()?;
        let mut classes: Vec<usize> = (0..self.classes).collect();
        // A NaN, of a class without rows, is above all numbers.
        classes.sort_by(|a, b| areas[*a].abs().total_cmp(&areas[*b].abs()));
        Ok(self.hardest.get_or_init(|| classes))
    }

    /// The classes of which there is room for `most`: all in their order, or the hardest to tell.
    pub fn shown(&self, most: usize) -> Result<Vec<usize>> {
        match self.classes <= most {
            true => Ok((0..self.classes).collect()),
            false => Ok(self.hardest()?[..most].to_vec()),
        }
    }

    /// One class against the others.
    pub fn trials(&self, class: usize) -> Result<Trials> {
        let llr: Vec<f64> = self.llr.iter().skip(class).step_by(self.classes).copied().collect();
        let y: Vec<bool> = self.labels.iter().map(|l| *l as usize == class).collect();
        Trials::new(&llr, &y, Some(&self.weights))
    }

    /// The LLR of a class and whether it is the true one, with the weight, for each kept row.
    pub fn detections(&self, class: usize) -> impl Iterator<Item = (f64, bool, f64)> {
        let llr = self.llr.iter().skip(class).step_by(self.classes);
        llr.zip(&self.labels).zip(&self.weights).map(move |((l, y), w)| (*l, *y as usize == class, *w))
    }

    /// The cells of a column in rows of a class (of all, if none is given), with their weights.
    pub fn cells(&self, column: usize, class: Option<usize>) -> (Vec<f64>, Vec<f64>) {
        let Some(place) = self.columns.iter().position(|c| *c == column) else { return Default::default() };
        let values = self.cells.iter().skip(place).step_by(self.columns.len());
        let rows = values.zip(&self.labels).zip(&self.weights);
        rows.filter(|((_, l), _)| class.is_none_or(|c| **l as usize == c)).map(|((x, _), w)| (*x, *w)).unzip()
    }
}

/// log p(x|k) − log Σ_{j≠k} πⱼ p(x|j)/(1 − πₖ) for each class k: what the posterior log-odds have more
/// than the prior log-odds.
fn llrs(evidence: &Evidence, prior: &Prior) -> Vec<f64> {
    let p = prior.probabilities();
    let mut out = Vec::with_capacity(evidence.values().len());
    for row in 0..evidence.rows() {
        let e = evidence.row(row);
        for k in 0..p.len() {
            let others = || (0..p.len()).filter(|j| *j != k && p[*j] > 0.0).map(|j| (e[j], p[j]));
            let top = others().map(|o| o.0).fold(f64::NEG_INFINITY, f64::max);
            let weight: f64 = others().map(|o| o.1).sum();
            let rest = match top == f64::NEG_INFINITY {
                true => top,
                false => top + (others().map(|(e, p)| p / weight * (e - top).exp()).sum::<f64>()).ln(),
            };
            // Both impossible: the row says nothing about this class.
            out.push(if e[k] == rest { 0.0 } else { e[k] - rest });
        }
    }
    out
}

/// The cells of columns, row after row.
fn cells(batch: &Batch<'_>, columns: &[usize], kind: impl Fn(usize) -> Kind) -> Result<Vec<f64>> {
    let (rows, width) = (batch.rows(), columns.len());
    let mut out = vec![f64::NAN; rows * width];
    let (mut tile, mut codes) = (Tile::default(), Vec::new());
    for (place, column) in columns.iter().enumerate() {
        let column = [*column];
        let cells = Cells::new(batch, &column, Rows::Range(0..rows));
        match kind(column[0]) {
            Kind::Text => {}
            _ if matches!(batch.view(column[0]), deciban::data::View::Codes(_)) => {
                cells.read_codes(0, &mut codes)?;
                for (row, code) in codes.iter().enumerate().filter(|(_, c)| **c < deciban::data::UNSEEN) {
                    out[row * width + place] = f64::from(*code);
                }
            }
            _ => {
                cells.read_numbers(&mut tile)?;
                tile.column(0).iter().enumerate().for_each(|(row, x)| out[row * width + place] = *x);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_llr_is_what_the_posterior_adds_to_the_prior() {
        let evidence = Evidence::new(3, vec![-1.0, -2.0, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0]);
        let (evidence, prior) = (evidence.unwrap(), Prior::new(&[0.2, 0.5, 0.3]).unwrap());
        let (llr, posterior) = (llrs(&evidence, &prior), evidence.posterior(&prior).row(0));
        for k in 0..2 {
            let odds = |p: f64| (p / (1.0 - p)).ln();
            assert!((llr[k] - odds(posterior[k]) + odds(prior.probabilities()[k])).abs() < 1e-12);
        }
        assert_eq!(llr[2..], [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY]);
    }
}
