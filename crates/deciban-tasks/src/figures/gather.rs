//! One sweep over labelled rows: the evaluation of all of them, and of some rows the LLR of every
//! class and the cells of some columns. Where there are more rows than are kept, every second,
//! fourth, eighth, ... row of each class is, so memory is bounded and nothing depends on chance or threads.

use std::sync::OnceLock;

use deciban::data::{Batch, Cells, Kind, Rows, Tile};
use deciban::evaluate::{Evaluation, Trials, parts};
use deciban::learn::Classifier;
use deciban::posterior::Prior;
use deciban::{Error, Result};

use super::Use;
use super::thin::Thinning;
use crate::familiar::Familiar;
use crate::input::Input;
use crate::remarks::Remark;

/// Values that are kept at most.
const KEPT: usize = 4 << 20;

/// What is known of the rows.
pub struct Gathered {
    /// The evaluation of all rows.
    pub evaluation: Evaluation,
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
    /// The number of rows, kept or not.
    seen: usize,
    /// Of the rows of each class, one in `every` is kept.
    every: usize,
    thinning: Thinning,
    hardest: OnceLock<Vec<usize>>,
    /// Whether the model was fitted on some of the rows.
    pub remark: Option<Remark>,
}

/// What is known of the rows of a batch: of all of them the evaluation, of some the rest.
struct Part {
    evaluation: Evaluation,
    rows: usize,
    labels: Vec<u32>,
    weights: Vec<f64>,
    llr: Vec<f64>,
    cells: Vec<f64>,
}

/// The values that are kept of a row.
fn width(classes: usize, columns: usize) -> usize {
    classes + columns + 2
}

/// Which rows are kept: by class, if there is room for at least four of each.
fn thinning(classes: usize, width: usize) -> Thinning {
    if 4 * classes * width <= KEPT { Thinning::new(classes) } else { Thinning::together(classes) }
}

/// Sweeps over the rows.
pub fn gather(input: &dyn Input, used: &Use<'_>, columns: &[usize]) -> Result<Gathered> {
    let schema = used.model.schema();
    let classes = schema.classes().len();
    let mut all = Gathered::new(used, columns.to_vec());
    let familiar = Familiar::new(used.model);
    let width = width(classes, columns.len());
    let part = |batch: &Batch<'_>| {
        let labels = batch.labels().ok_or_else(|| Error::Classes("the rows have no labels".into()))?;
        let weights = batch.row_weights();
        familiar.look(batch);
        let mut evaluation = Evaluation::new(schema.classes(), used.costs);
        // Rows of very many classes are too many already in one batch.
        let every = (batch.rows() * width).div_ceil(KEPT).max(1).next_power_of_two();
        let kept = thinning(classes, width).places(labels, every);
        let cells = cells(batch, columns, |c| schema.columns()[c].kind)?;
        let mut llr = Vec::with_capacity(kept.len() * classes);
        for rows in parts(batch.rows(), classes) {
            let some = batch.slice(rows.clone());
            let evidence = used.model.evidence(&some)?;
            let (labels, weights) = (&labels[rows.clone()], weights.map(|w| &w[rows.clone()]));
            evaluation.observe_evidence(&evidence, used.prior, labels, weights, used.costs, &[])?;
            let own = &kept[kept.partition_point(|row| *row < rows.start)..kept.partition_point(|row| *row < rows.end)];
            own.iter().for_each(|row| llrs(evidence.row(row - rows.start), used.prior, &mut llr));
        }
        let d = columns.len();
        Ok(Part {
            evaluation,
            rows: batch.rows(),
            labels: kept.iter().map(|&row| labels[row]).collect(),
            weights: kept.iter().map(|&row| weights.map_or(1.0, |w| w[row])).collect(),
            llr,
            cells: kept.iter().flat_map(|&row| &cells[row * d..(row + 1) * d]).copied().collect(),
        })
    };
    input.map_in_order(part, |part| {
        all.add(part);
        Ok(())
    })?;
    all.remark = familiar.remark();
    Ok(all)
}

impl Gathered {
    fn new(used: &Use<'_>, columns: Vec<usize>) -> Self {
        let names = used.model.schema().classes();
        let width = width(names.len(), columns.len());
        Gathered {
            evaluation: Evaluation::new(names, used.costs),
            columns,
            labels: Vec::new(),
            weights: Vec::new(),
            llr: Vec::new(),
            cells: Vec::new(),
            classes: names.len(),
            seen: 0,
            every: 1,
            thinning: thinning(names.len(), width),
            hardest: OnceLock::new(),
            remark: None,
        }
    }

    /// Rows with their cells and without LLRs.
    #[cfg(test)]
    pub fn of_cells(used: &Use<'_>, columns: Vec<usize>, labels: Vec<u32>, cells: Vec<f64>) -> Self {
        let rows = labels.len();
        let mut all = Gathered::new(used, columns);
        (all.weights, all.llr) = (vec![1.0; rows], vec![0.0; rows * all.classes]);
        (all.labels, all.cells, all.seen) = (labels, cells, rows);
        all
    }

    fn add(&mut self, part: Part) {
        self.evaluation.merge(&part.evaluation);
        self.seen += part.rows;
        let (k, d) = (self.classes, self.columns.len());
        for (row, &label) in part.labels.iter().enumerate() {
            if self.thinning.picks(label, self.every) {
                self.labels.push(label);
                self.weights.push(part.weights[row]);
                self.llr.extend(&part.llr[row * k..(row + 1) * k]);
                self.cells.extend(&part.cells[row * d..(row + 1) * d]);
            }
            if self.labels.len() * width(k, d) > KEPT {
                self.thin();
            }
        }
    }

    /// Keeps every second row of each class of those kept.
    fn thin(&mut self) {
        let kept = thinning(self.classes, width(self.classes, self.columns.len())).places(&self.labels, 2);
        fn pick<T: Copy>(values: &mut Vec<T>, width: usize, kept: &[usize]) {
            *values = kept.iter().flat_map(|row| &values[row * width..(row + 1) * width]).copied().collect();
        }
        pick(&mut self.labels, 1, &kept);
        pick(&mut self.weights, 1, &kept);
        pick(&mut self.llr, self.classes, &kept);
        pick(&mut self.cells, self.columns.len(), &kept);
        self.every *= 2;
    }

    /// The number of rows, kept or not.
    pub fn seen(&self) -> usize {
        self.seen
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

/// Adds log p(x|k) − log Σ_{j≠k} πⱼ p(x|j)/(1 − πₖ) for each class k of a row: what the posterior log-odds have
/// more than the prior log-odds. With sums from both ends, K of them take K steps.
fn llrs(evidence: &[f64], prior: &Prior, out: &mut Vec<f64>) {
    let p = prior.probabilities();
    let joint: Vec<f64> =
        evidence.iter().zip(p).map(|(e, p)| if *p > 0.0 { e + p.ln() } else { f64::NEG_INFINITY }).collect();
    let best = (0..joint.len()).fold(0, |best, k| if joint[k] > joint[best] { k } else { best });
    // The others of the best class may all be too small beside it: they have a scale of their own.
    let second = (0..joint.len()).filter(|k| *k != best).map(|k| joint[k]).fold(f64::NEG_INFINITY, f64::max);
    let scaled = |k: usize, top: f64| if joint[k] > f64::NEG_INFINITY { (joint[k] - top).exp() } else { 0.0 };
    // Of all classes from k on, the sum of joint probabilities and that of priors.
    let mut after = vec![[0.0, 0.0]; joint.len() + 1];
    for k in (0..joint.len()).rev() {
        after[k] = [after[k + 1][0] + scaled(k, joint[best]), after[k + 1][1] + p[k]];
    }
    let mut before = [0.0, 0.0];
    for k in 0..joint.len() {
        let (sum, top) = match k == best {
            true => ((0..joint.len()).filter(|j| *j != k).map(|j| scaled(j, second)).sum(), second),
            false => (before[0] + after[k + 1][0], joint[best]),
        };
        out.push(match (evidence[k] == f64::NEG_INFINITY, top == f64::NEG_INFINITY) {
            // Where both are impossible, the row has no evidence about this class.
            (true, true) => 0.0,
            (false, true) => f64::INFINITY,
            // The difference first: beside a large number the logarithms would be lost.
            (_, false) => (evidence[k] - top) - (f64::ln(sum) - f64::ln(before[1] + after[k + 1][1])),
        });
        before = [before[0] + scaled(k, joint[best]), before[1] + p[k]];
    }
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
    use deciban::evidence::Evidence;

    #[test]
    fn the_llr_is_what_the_posterior_adds_to_the_prior() {
        let evidence = Evidence::new(3, vec![-1.0, -2.0, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0]);
        let (evidence, prior) = (evidence.unwrap(), Prior::new(&[0.2, 0.5, 0.3]).unwrap());
        let posterior = evidence.posterior(&prior).row(0);
        let mut llr = Vec::new();
        (0..2).for_each(|row| llrs(evidence.row(row), &prior, &mut llr));
        for k in 0..2 {
            let odds = |p: f64| (p / (1.0 - p)).ln();
            assert!((llr[k] - odds(posterior[k]) + odds(prior.probabilities()[k])).abs() < 1e-12);
        }
        assert_eq!(llr[2..], [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY]);
        // Of a sure row the others of the best class are far below it. The third class has no prior.
        let mut sure = Vec::new();
        llrs(&[0.0, -2000.0, 5.0], &Prior::new(&[0.4, 0.6, 0.0]).unwrap(), &mut sure);
        assert!((sure[0] - 2000.0).abs() < 1e-9 && (sure[1] + 2000.0).abs() < 1e-9, "{sure:?}");
        assert!((sure[2] - (5.0 - 0.4f64.ln())).abs() < 1e-12);
    }
}
