//! Rows that have some columns alone. A generative model integrates the others out, so its evidence
//! is the log density of the columns that are there: cells of the same block are missing, and other
//! blocks, such as texts, are not scored. A logistic model needs all columns: the others then have
//! the mean, or the most frequent level, of the rows.

use deciban::calibrate::Share;
use deciban::data::{Batch, Kind, MISSING, Sparse};
use deciban::evidence::Evidence;
use deciban::family::AnyDensity;
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::transform::Bins;
use deciban::{Error, Result};

use super::Gathered;

/// What is done about columns that are not shown.
pub fn others(model: &Model, shown: usize) -> &'static str {
    match model.plain() {
        _ if model.schema().columns().len() == shown => "",
        Model::Generative(_) => "other columns integrated out",
        _ => "other columns at their mean",
    }
}

/// The evidence of rows that have `values` in `columns` (values of one row after the other).
pub fn evidence(model: &Model, gathered: &Gathered, columns: &[usize], values: &[f64]) -> Result<Evidence> {
    let schema = model.schema();
    let rows = values.len() / columns.len().max(1);
    let offsets = vec![0; rows + 1];
    let mut numbers: Vec<Vec<f64>> = Vec::new();
    let mut codes: Vec<Vec<u32>> = Vec::new();
    for (c, column) in schema.columns().iter().enumerate() {
        let given = columns.iter().position(|j| *j == c);
        let cell = |row: usize, place: usize| values[row * columns.len() + place];
        let filled: Vec<f64> = match given {
            Some(place) => (0..rows).map(|row| cell(row, place)).collect(),
            None if !matches!(model.plain(), Model::Generative(_)) => vec![typical(gathered, c, is_code(column)); rows],
            None => vec![f64::NAN; rows],
        };
        match is_code(column) {
            true => codes.push(filled.iter().map(|x| if x.is_nan() { MISSING } else { *x as u32 }).collect()),
            false => numbers.push(filled),
        }
    }
    let mut batch = Batch::new(rows);
    let (mut numbers, mut codes) = (numbers.iter(), codes.iter());
    for column in schema.columns() {
        batch = match (column.kind, is_code(column)) {
            (Kind::Text, _) => batch.sparse(Sparse::new(&offsets[..], &[] as &[u32], &[] as &[f64])?)?,
            // There are as many of either as columns of the kind.
            (_, true) => batch.codes(codes.next().map_or(&[], Vec::as_slice))?,
            (_, false) => batch.column(numbers.next().map_or(&[][..], Vec::as_slice))?,
        };
    }
    let shown: Vec<&str> = columns.iter().map(|c| schema.columns()[*c].name.as_str()).collect();
    let evidence = match (model, model.plain()) {
        (Model::Calibrated(calibrated), Model::Generative(plain)) => {
            let share = Share::new(columns.len(), calibrated.typical_cells());
            let plain = plain.evidence_of(columns, &batch);
            plain.and_then(|evidence| calibrated.calibration().apply_shares(&evidence, |_| share))
        }
        (_, Model::Generative(plain)) => plain.evidence_of(columns, &batch),
        _ => model.evidence(&batch),
    };
    evidence.map_err(|e| {
        Error::parameter(
            "columns",
            format!("the model cannot be looked at in `{}` alone: {}", shown.join("`, `"), e.marked()),
        )
    })
}

/// Whether the evidence of a column alone is a density or probability of its value: counts that are
/// drawn together, and mere presence, have none.
pub fn has_density(model: &Model, column: usize) -> bool {
    let Model::Generative(model) = model.plain() else { return false };
    let block = model.blocks().iter().find(|b| b.block.columns.contains(&column));
    block.is_some_and(|b| !matches!(b.density, AnyDensity::Multinomial(_) | AnyDensity::Bernoulli(_)))
}

/// The bins into which a model cuts a column of numbers: its evidence is then that of the bin.
pub fn bins(model: &Model, column: usize) -> Option<&Bins> {
    let Model::Generative(model) = model.plain() else { return None };
    model.blocks().iter().find_map(|b| {
        let place = b.block.columns.iter().position(|c| *c == column)?;
        b.block.discretise.as_ref()?.bins(place)
    })
}

/// Whether cells are codes of levels.
pub fn is_code(column: &deciban::data::Column) -> bool {
    !column.is_numeric()
}

/// The mean of a column of numbers, the most frequent code of one of levels.
fn typical(gathered: &Gathered, column: usize, code: bool) -> f64 {
    let (values, weights) = gathered.cells(column, None);
    let there = || values.iter().zip(&weights).filter(|(x, _)| x.is_finite());
    if !code {
        let total: f64 = there().map(|(_, w)| w).sum();
        return there().map(|(x, w)| x * w / total).sum();
    }
    let mut counts = std::collections::BTreeMap::<u32, f64>::new();
    there().for_each(|(x, w)| *counts.entry(*x as u32).or_default() += w);
    let most = counts.iter().fold((0, 0.0), |best, (code, w)| if *w > best.1 { (*code, *w) } else { best });
    f64::from(most.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Use;
    use deciban::data::{Column, Schema};
    use deciban::decision::Costs;
    use deciban::engine::Memory;
    use deciban::family::AnyFamily;
    use deciban::family::bernoulli::Bernoulli;
    use deciban::family::multinomial::Multinomial;
    use deciban::learn::blocks::NaiveBayes;
    use deciban::learn::{Generative, Learner};
    use deciban::posterior::Prior;

    /// Issue: densities of a model with a text column stood at 0 % and 100 %, since rows had an empty text.
    #[test]
    fn a_text_that_is_not_shown_is_integrated_out() {
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let category = Column { name: "fur".into(), kind: Kind::Category, levels: names(&["short", "long"]) };
        let words = Column { name: "words".into(), kind: Kind::Text, levels: names(&["meow", "purr", "sleep"]) };
        let columns = vec![category, Column::number("kg"), words];
        let schema = Schema::new(columns.clone(), "cat", names(&["siamese", "persian"])).unwrap();
        let (fur, kg) = ([0, 0, 1, 1, 1, 0], [4.1, 3.6, 4.4, 4.0, 5.2, 5.9]);
        let (offsets, terms) = ([0, 1, 2, 3, 5, 6, 7], [0u32, 1, 0, 2, 1, 2, 2]);
        let text = Sparse::new(&offsets[..], &terms[..], &[1.0; 7][..]).unwrap();
        let rows = Batch::new(6).codes(&fur).unwrap().column(&kg[..]).unwrap().sparse(text).unwrap();
        let memory = Memory::new(schema.clone(), rows.classes(&[0, 0, 0, 1, 1, 1]).unwrap()).unwrap();
        let texts = [AnyFamily::Bernoulli(Bernoulli::default()), AnyFamily::Multinomial(Multinomial::default())];
        for family in texts {
            let bayes = NaiveBayes { families: vec![("words".into(), family)], ..NaiveBayes::default() };
            let learner = Generative::of_blocks(bayes.blocks(&columns).unwrap());
            let model = Model::Generative(learner.learn(&memory).unwrap());
            let (prior, costs) = (Prior::uniform(2), Costs::zero_one(schema.classes()));
            let used = Use { model: &model, prior: &prior, costs: &costs };
            let gathered = Gathered::of_cells(&used, Vec::new(), Vec::new(), Vec::new());
            let Model::Generative(plain) = &model else { unreachable!() };
            let density =
                |column: usize| &plain.blocks().iter().find(|b| b.block.columns.contains(&column)).unwrap().density;
            let (AnyDensity::Categorical(fur), AnyDensity::Gaussian(kg)) = (density(0), density(1)) else {
                panic!("a category and a number")
            };
            let levels = evidence(&model, &gathered, &[0], &[0.0, 1.0]).unwrap();
            let numbers = evidence(&model, &gathered, &[1], &[3.9, 6.0]).unwrap();
            for class in 0..2 {
                for level in 0..2 {
                    let p = fur.probability(class, 0, level);
                    assert!((levels.row(level)[class].exp() - p).abs() < 1e-12, "{p}");
                }
                let (mean, variance) = (kg.mean(class)[0], kg.covariance(class)[(0, 0)]);
                for (i, x) in [3.9, 6.0f64].into_iter().enumerate() {
                    let log_p = -0.5 * ((x - mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln());
                    assert!((numbers.row(i)[class] - log_p).abs() < 1e-12);
                }
            }
        }
    }
}
