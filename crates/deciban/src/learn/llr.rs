//! Log-likelihood ratios (LLRs) that come with the rows, from wherever they are: a column of the table is the evidence.
//!
//! Nothing is learned but the shares of the classes. With such a model, scores of other systems are evaluated, drawn,
//! calibrated, compared and fused in the same way as models. With x the cell in a unit of u nats,
//!
//! log p(row | second class) − log p(row | first class) = u x.

use std::sync::atomic::AtomicBool;

use super::options::{Group, Named, Options, Seen};
use super::{About, Classifier, Learner, Summarise, score_in_tiles};
use crate::data::{Batch, Cells, Column, Rows, Schema, Tile};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::explain::{Entry, Explanation, Order};
use crate::file::{Archive, Stored};
use crate::posterior::Prior;

/// Takes a column of LLRs as evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Llr {
    /// The number of the column in the schema.
    pub column: usize,
    /// How many nats its unit has.
    pub unit: f64,
}

impl Llr {
    /// The model of rows with these columns and two classes. The LLRs are those of the second class; `shares` are the
    /// shares of the classes.
    pub fn of_table(self, schema: Schema, shares: Prior) -> Result<LlrModel> {
        if schema.classes().len() != 2 {
            let message = format!("LLRs are of two classes, and `{}` has {}", schema.target(), schema.classes().len());
            return Err(Error::parameter("target", message));
        }
        if !schema.columns().get(self.column).is_some_and(Column::is_numeric) {
            return Err(Error::parameter("llr", "give a column of numbers"));
        }
        if !(self.unit > 0.0 && self.unit.is_finite()) {
            return Err(Error::parameter("unit", "give a number above 0"));
        }
        Error::check_shape("classes of the shares", 2, shares.classes())?;
        Ok(LlrModel { about: About::new(schema, shares), llr: self })
    }
}

impl Learner for Llr {
    type Model = LlrModel;

    fn learn(&self, engine: &dyn Engine) -> Result<LlrModel> {
        let counted = engine.run(&Summarise { blocks: Vec::new(), folds: 1, seed: 0 })?;
        self.of_table(engine.schema()?, Prior::from_weights(&counted.weights())?)
    }
}

impl Named for Llr {
    // Requests do not name it: `--llr` names its column.
    const MODELS: &'static [(&'static str, &'static [Group])] = &[];

    fn of_options(_: &str, _: &Options, _: &[Column], _: Seen<'_>) -> Result<Self> {
        Err(Error::parameter("model", "LLRs from elsewhere are not learned"))
    }

    fn model(&self) -> &'static str {
        "llr"
    }

    fn of_model(model: &LlrModel) -> Self {
        model.llr
    }
}

/// A column of LLRs as a model.
#[derive(Clone, Debug)]
pub struct LlrModel {
    about: About,
    llr: Llr,
}

impl LlrModel {
    /// The name of the column.
    pub fn column(&self) -> &str {
        &self.schema().columns()[self.llr.column].name
    }

    /// How many nats its unit has.
    pub fn unit(&self) -> f64 {
        self.llr.unit
    }

    /// The LLRs of some rows, in the unit of the column.
    fn read(&self, x: &Batch<'_>, rows: std::ops::Range<usize>, tile: &mut Tile) -> Result<()> {
        Cells::new(x, &[self.llr.column], Rows::Range(rows.clone())).read_numbers(tile)?;
        match tile.column(0).iter().position(|x| x.is_nan()) {
            None => Ok(()),
            Some(i) => {
                let remedy = "give every row its LLR, or leave the row out".to_string();
                let row = x.row_number(rows.start + i) + 1;
                Err(Error::Missing { column: self.column().into(), row, remedy })
            }
        }
    }

    /// The evidence for both classes, never above 0, so that an infinite LLR is an impossible class.
    fn evidence_of(&self, x: f64) -> [f64; 2] {
        [f64::min(0.0, -x * self.llr.unit), f64::min(0.0, x * self.llr.unit)]
    }
}

impl Classifier for LlrModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
        score_in_tiles(x, self.schema(), 512, out, |rows, out| {
            let mut tile = Tile::default();
            self.read(x, rows, &mut tile)?;
            out.chunks_exact_mut(2).zip(tile.column(0)).for_each(|(out, x)| out.copy_from_slice(&self.evidence_of(*x)));
            Ok(())
        })
    }

    fn learned_from(&self) -> f64 {
        0.0
    }

    fn ledgers(&self, x: &Batch<'_>, _: Order, _: &AtomicBool) -> Result<Vec<Explanation>> {
        let mut tile = Tile::default();
        self.read(x, 0..x.rows(), &mut tile)?;
        let entry = |x: &f64| Entry::new(self.column(), format!("{x}"), self.evidence_of(*x).to_vec());
        Ok(tile.column(0).iter().map(|x| Explanation { entries: vec![entry(x)] }).collect())
    }
}

impl Stored for LlrModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        archive.put_json(&format!("{name}.column"), &self.llr.column)?;
        archive.put(&format!("{name}.unit"), &[1], &[self.llr.unit])
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let about = About::load(archive, name)?;
        let column: usize = archive.json(&format!("{name}.column"))?;
        let unit = archive.finite(&format!("{name}.unit"), &[1])?[0];
        let model = Llr { column, unit }.of_table(about.schema().clone(), about.empirical().clone());
        let model = model.map_err(|_| archive.damaged("its LLRs do not fit the schema"))?;
        Ok(LlrModel { about, ..model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    #[test]
    fn the_column_is_the_evidence() {
        let schema = Schema::numbers(&["a", "b"], "same", &["no", "yes"]).unwrap();
        let unit = std::f64::consts::LN_2;
        let llr = Llr { column: 1, unit };
        let model = llr.of_table(schema.clone(), Prior::new(&[0.75, 0.25]).unwrap()).unwrap();
        let bits = [3.0, -1.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 1e300];
        let cells: Vec<f64> = bits.iter().flat_map(|x| [f64::NAN, *x]).collect();
        let rows = Batch::new(6).row_major(&cells[..], 2).unwrap();
        let model = Model::from_bytes(&Model::Llr(model).to_bytes().unwrap()).unwrap();
        let evidence = model.evidence(&rows).unwrap();
        for (i, x) in bits.iter().enumerate() {
            let [no, yes] = [evidence.row(i)[0], evidence.row(i)[1]];
            assert!(no.max(yes) == 0.0 && (yes - no == x * unit), "{no} {yes}");
        }
        // 8 to 1 in favour, at odds of 1 to 3 against.
        assert!((evidence.posterior(model.prior()).row(0)[1] - 8.0 / 11.0).abs() < 1e-15);
        let ledger = &model.explain(&rows, Order::Average).unwrap()[0].ledger(1, 0, model.prior());
        assert!((ledger.total() - (8.0f64 / 3.0).ln()).abs() < 1e-15);
        let gap = Batch::new(1).row_major(&[1.0, f64::NAN][..], 2).unwrap();
        let message = model.evidence(&gap).unwrap_err().to_string();
        assert!(message.contains("column `b`") && message.contains("give every row its LLR"), "{message}");
        for wrong in [Llr { column: 2, unit }, Llr { column: 0, unit: 0.0 }, Llr { column: 0, unit: f64::NAN }] {
            assert!(wrong.of_table(schema.clone(), Prior::new(&[0.5, 0.5]).unwrap()).is_err());
        }
    }
}
