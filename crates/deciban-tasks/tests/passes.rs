//! How often the rows are read.

use std::sync::atomic::{AtomicUsize, Ordering};

use deciban::Result;
use deciban::calibrate::Method;
use deciban::data::{Batch, Identity, Profile, Schema};
use deciban::engine::{Engine, Memory};
use deciban::numerics::Random;
use deciban::pass::{ErasedPass, ErasedStatistic};
use deciban_data::Mapped;
use deciban_tasks::{Counted, Input, Learning, learn};

/// An input that counts its passes.
struct Counting<'a> {
    rows: Memory<'a>,
    passes: AtomicUsize,
}

impl Engine for Counting<'_> {
    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.rows.collect(pass)
    }

    fn sweep(&self, visit: &mut dyn FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.rows.sweep(visit)
    }

    fn schema(&self) -> Result<Schema> {
        self.rows.schema()
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        self.rows.profiles()
    }
}

impl Input for Counting<'_> {
    fn map_erased_in_order(
        &self,
        map: &(dyn Fn(&Batch<'_>) -> Result<Mapped> + Sync),
        emit: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.rows.map_erased_in_order(map, emit)
    }

    fn tell_apart(&mut self, by: Identity) {
        self.rows.tell_apart(by);
    }

    fn settle(&mut self) -> Result<Counted> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.rows.settle()
    }
}

#[test]
fn no_pass_is_made_twice() {
    let mut random = Random::new(1);
    let labels: Vec<u32> = (0..200).map(|i| i % 2).collect();
    let x: Vec<f64> = labels.iter().map(|k| f64::from(*k) + random.normal()).collect();
    let passes = |model: &str, calibrate: Option<Method>, memory: usize| {
        let schema = Schema::numbers(&["x"], "class", &["a", "b"]).unwrap();
        let rows = Batch::new(x.len()).column(&x[..]).unwrap().classes(&labels).unwrap();
        let mut input = Counting { rows: Memory::new(schema, rows).unwrap(), passes: AtomicUsize::new(0) };
        let request = Learning { model: model.into(), calibrate, memory, ..Learning::default() };
        learn(&request, &mut input).unwrap();
        input.passes.into_inner()
    };
    // Statistics; with calibration also copies, folds, statistics by fold, and scores.
    assert_eq!(passes("gaussian", None, usize::MAX), 1);
    assert_eq!(passes("gaussian", Some(Method::Logistic), usize::MAX), 5);
    // Where each fold needs a pass of its own, five more; the statistics by fold are class shares then.
    let alone = passes("least-squares", None, usize::MAX);
    assert_eq!(passes("least-squares", Some(Method::Pav), usize::MAX), alone + 9);
    // Scores that do not fit in memory are computed at each step of the fit.
    let again = passes("gaussian", Some(Method::Logistic), 0);
    assert!((20..300).contains(&again), "{again}");
}
