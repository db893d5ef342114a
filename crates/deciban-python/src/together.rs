//! [`Together`]: the rows of several tables as one, by the levels, words and classes of one schema.

use std::collections::HashMap;

use deciban::data::{Batch, Cells, Column, Kind, MISSING, Rows, Schema, Sparse, Tile, UNSEEN, View, level_key};
use deciban::{Error, Result};

/// A column of all tables.
enum Joined {
    Numbers(Vec<f64>),
    Codes(Vec<u32>),
    Words { offsets: Vec<usize>, words: Vec<u32>, counts: Vec<f64> },
}

/// Rows that were copied out of several tables.
pub struct Together {
    columns: Vec<Joined>,
    classes: Vec<u32>,
    weights: Vec<f64>,
}

impl Together {
    /// The rows of tables, each with the schema that its codes are of; all have the columns of `schema`.
    pub fn new(schema: &Schema, tables: &[(&Schema, &Batch<'_>)]) -> Result<Self> {
        let mut all = Together { columns: Vec::new(), classes: Vec::new(), weights: Vec::new() };
        for (c, column) in schema.columns().iter().enumerate() {
            let mut joined: Option<Joined> = None;
            for (own, batch) in tables {
                Error::check_shape("columns of the rows", schema.columns().len(), batch.width())?;
                append(&mut joined, column, &own.columns()[c], batch, c)?;
            }
            all.columns.extend(joined);
        }
        for (own, batch) in tables {
            let class = |name: &String| schema.class(name).map_or(UNSEEN, |k| k as u32);
            let codes: Vec<u32> = own.classes().iter().map(class).collect();
            let labels = batch.labels().unwrap_or(&[]);
            if let Some(&strange) = labels.iter().find(|&&k| k != MISSING && codes[k as usize] == UNSEEN) {
                let class = &own.classes()[strange as usize];
                return Err(Error::Classes(format!("the model has no class `{class}`: the rows are not its own")));
            }
            all.classes.extend(labels.iter().map(|&k| if k == MISSING { MISSING } else { codes[k as usize] }));
            match batch.row_weights() {
                Some(weights) => all.weights.extend_from_slice(weights),
                None => all.weights.extend(std::iter::repeat_n(1.0, batch.rows())),
            }
        }
        Ok(all)
    }

    /// The rows as the library sees them.
    pub fn batch(&self) -> Result<Batch<'_>> {
        let mut batch = Batch::new(self.classes.len());
        for column in &self.columns {
            batch = match column {
                Joined::Numbers(x) => batch.column(&x[..])?,
                Joined::Codes(codes) => batch.codes(codes)?,
                Joined::Words { offsets, words, counts } => batch.sparse(Sparse::new(offsets, words, &counts[..])?)?,
            };
        }
        batch.classes(&self.classes)?.weights(&self.weights)
    }
}

/// Puts the cells of a table behind those of others; its levels or words are found by their names.
fn append(to: &mut Option<Joined>, column: &Column, own: &Column, batch: &Batch<'_>, c: usize) -> Result<()> {
    let place = [c];
    let cells = Cells::new(batch, &place, Rows::Range(0..batch.rows()));
    match batch.view(c) {
        View::Numbers(_) => {
            let mut tile = Tile::default();
            cells.read_numbers(&mut tile)?;
            match to.get_or_insert_with(|| Joined::Numbers(Vec::new())) {
                Joined::Numbers(x) => x.extend_from_slice(tile.column(0)),
                _ => return Err(mixed(column)),
            }
        }
        View::Codes(codes) => {
            let map = places(column, own);
            let code = |&code: &u32| map.get(code as usize).copied().unwrap_or(code);
            match to.get_or_insert_with(|| Joined::Codes(Vec::new())) {
                Joined::Codes(all) => all.extend(codes.iter().map(code)),
                _ => return Err(mixed(column)),
            }
        }
        View::Sparse(sparse) => {
            let map = places(column, own);
            let none = || Joined::Words { offsets: vec![0], words: Vec::new(), counts: Vec::new() };
            let Joined::Words { offsets, words, counts } = to.get_or_insert_with(none) else {
                return Err(mixed(column));
            };
            let mut row_ends = vec![0; batch.rows()];
            sparse.for_each(&Rows::Range(0..batch.rows()), |row, word, count| {
                words.push(map.get(word as usize).copied().unwrap_or(UNSEEN));
                counts.push(count);
                row_ends[row] = words.len();
            });
            let mut end = offsets.last().copied().unwrap_or(0);
            // A row without words ends where the one before does.
            offsets.extend(row_ends.into_iter().map(|own| {
                end = own.max(end);
                end
            }));
        }
    }
    Ok(())
}

/// The code in `column` of each level of `own`.
fn places(column: &Column, own: &Column) -> Vec<u32> {
    let key = |level: &String| match column.kind {
        Kind::Text => level.as_bytes().to_vec(),
        _ => level_key(level.as_bytes()).into_owned(),
    };
    let mut codes: HashMap<Vec<u8>, u32> = HashMap::new();
    for (level, code) in column.levels.iter().zip(0..) {
        codes.entry(key(level)).or_insert(code);
    }
    own.levels.iter().map(|level| codes.get(&key(level)).copied().unwrap_or(UNSEEN)).collect()
}

fn mixed(column: &Column) -> Error {
    Error::Schema(format!("column `{}` has numbers in one table and levels in another", column.name))
}
