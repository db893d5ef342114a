//! Cells that a model's densities do not describe, such as 0 in a column of numbers above 0: they say nothing about
//! the class, and whoever asks is told how many there are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use deciban::data::{Batch, Cells, Rows, Tile};
use deciban::family::Domain;
use deciban::learn::Classifier;
use deciban::model::Model;

use crate::remarks::Remark;

/// Counts them while rows are scored, by any number of threads.
#[derive(Debug)]
pub struct Outside {
    columns: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    place: [usize; 1],
    name: String,
    domain: Domain,
    cells: AtomicU64,
    /// The bits of one of them, the same whichever thread comes first: the least.
    example: AtomicU64,
}

impl Outside {
    /// Of the columns of a model that have a domain.
    pub fn new(model: &Model) -> Self {
        let domains: BTreeMap<usize, Domain> = model.domains().into_iter().collect();
        let columns = model.schema().columns();
        let watched = |(place, domain): (usize, Domain)| {
            let (name, example) = (columns[place].name.clone(), AtomicU64::new(u64::MAX));
            Watched { place: [place], name, domain, cells: AtomicU64::new(0), example }
        };
        Outside { columns: domains.into_iter().map(watched).collect() }
    }

    /// Counts those of some rows.
    pub fn look(&self, batch: &Batch<'_>) {
        let mut tile = Tile::default();
        for column in &self.columns {
            // What cannot be read as numbers is refused by the model.
            if Cells::new(batch, &column.place, Rows::Range(0..batch.rows())).read_numbers(&mut tile).is_err() {
                continue;
            }
            let outside = || tile.column(0).iter().filter(|x| x.is_finite() && !(column.domain.contains)(**x));
            column.cells.fetch_add(outside().count() as u64, Ordering::Relaxed);
            if let Some(least) = outside().copied().reduce(f64::min) {
                let lower = |known: u64| (known == u64::MAX || least < f64::from_bits(known)).then(|| least.to_bits());
                let _ = column.example.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lower);
            }
        }
    }

    /// A warning for each column that has some.
    pub fn remarks(&self) -> Vec<Remark> {
        let counted = self.columns.iter().map(|column| (column, column.cells.load(Ordering::Relaxed)));
        let warning = |(column, cells): (&Watched, u64)| {
            let (cells, say) = if cells == 1 { ("1 cell".into(), "says") } else { (format!("{cells} cells"), "say") };
            let (name, what, example) = (&column.name, column.domain.what, column.example.load(Ordering::Relaxed));
            let example = f64::from_bits(example);
            Remark::warning(format!("column `{name}`: {cells}, as {example}, {say} nothing to a density of {what}"))
        };
        counted.filter(|(_, cells)| *cells > 0).map(warning).collect()
    }
}
