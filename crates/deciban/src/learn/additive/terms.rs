//! The terms of an additive model and their tables: a value per code, or per two codes of a pair, and output.

use serde::{Deserialize, Serialize};

use super::coding::Coding;
use super::reader::Codes;

/// A term: a column, or two together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Term {
    /// A column, by its place.
    Column(usize),
    /// Two columns, by their places.
    Pair(usize, usize),
}

impl Term {
    /// How many cells its table has.
    pub fn cells(self, coding: &Coding) -> usize {
        let columns = coding.columns();
        match self {
            Term::Column(c) => columns[c].count(),
            Term::Pair(a, b) => columns[a].coarse_count() * columns[b].coarse_count(),
        }
    }

    /// Calls `body` with each row and its cell.
    #[inline]
    pub fn each(self, coding: &Coding, codes: &Codes<'_>, mut body: impl FnMut(usize, usize)) {
        match self {
            Term::Column(c) => codes.fine_of(c).iter().enumerate().for_each(|(i, &code)| body(i, usize::from(code))),
            Term::Pair(a, b) => {
                let stride = coding.columns()[b].coarse_count();
                let both = codes.coarse_of(a).iter().zip(codes.coarse_of(b));
                both.enumerate().for_each(|(i, (&a, &b))| body(i, usize::from(a) * stride + usize::from(b)));
            }
        }
    }
}

/// Where the cells of each term begin, and where the last ends.
pub fn places(terms: &[Term], coding: &Coding) -> Vec<usize> {
    let mut end = 0;
    let ends = terms.iter().map(|term| {
        end += term.cells(coding);
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// The scores of a tile, row after row, from tables of `outputs` values per cell, the intercepts last.
pub fn scores(coding: &Coding, terms: &[Term], codes: &Codes<'_>, tables: &[f64], outputs: usize, z: &mut [f64]) {
    let (mut rest, intercepts) = tables.split_at(tables.len() - outputs);
    z.chunks_exact_mut(outputs).for_each(|row| row.copy_from_slice(intercepts));
    for term in terms {
        let (table, others) = rest.split_at(term.cells(coding) * outputs);
        match outputs {
            1 => term.each(coding, codes, |i, cell| z[i] += table[cell]),
            _ => term.each(coding, codes, |i, cell| {
                let row = z[i * outputs..(i + 1) * outputs].iter_mut();
                row.zip(&table[cell * outputs..(cell + 1) * outputs]).for_each(|(z, t)| *z += t);
            }),
        }
        rest = others;
    }
}

/// Adds rows of `outputs` values to the cells of the terms that they have, the intercepts last.
pub fn add_rows(coding: &Coding, terms: &[Term], codes: &Codes<'_>, rows: &[f64], outputs: usize, sums: &mut [f64]) {
    let end = sums.len() - outputs;
    let (mut rest, intercepts) = sums.split_at_mut(end);
    for row in rows.chunks_exact(outputs) {
        intercepts.iter_mut().zip(row).for_each(|(sum, r)| *sum += r);
    }
    for term in terms {
        let (table, others) = rest.split_at_mut(term.cells(coding) * outputs);
        match outputs {
            1 => term.each(coding, codes, |i, cell| table[cell] += rows[i]),
            _ => term.each(coding, codes, |i, cell| {
                let sums = table[cell * outputs..(cell + 1) * outputs].iter_mut();
                sums.zip(&rows[i * outputs..(i + 1) * outputs]).for_each(|(sum, r)| *sum += r);
            }),
        }
        rest = others;
    }
}
