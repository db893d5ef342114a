//! The terms of an additive model and their tables: a value per code, or per two codes of a pair, and output.

use serde::{Deserialize, Serialize};

use super::coding::Coding;
use super::reader::Codes;
use crate::numerics::vectorised;

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

    /// The cell of a row of a tile.
    #[inline]
    pub fn cell(self, coding: &Coding, codes: &Codes<'_>, row: usize) -> usize {
        match self {
            Term::Column(c) => usize::from(codes.fine_of(c)[row]),
            Term::Pair(a, b) => {
                let stride = coding.columns()[b].coarse_count();
                usize::from(codes.coarse_of(a)[row]) * stride + usize::from(codes.coarse_of(b)[row])
            }
        }
    }

    /// The cell of each row of a tile.
    fn cells_of(self, coding: &Coding, codes: &Codes<'_>, cells: &mut Vec<u16>) {
        cells.clear();
        match self {
            Term::Column(c) => cells.extend(codes.fine_of(c).iter().map(|&code| u16::from(code))),
            Term::Pair(a, b) => {
                // Codes are bytes: there are no more than 2¹⁶ cells.
                let stride = coding.columns()[b].coarse_count() as u16;
                let both = codes.coarse_of(a).iter().zip(codes.coarse_of(b));
                vectorised!(cells.extend(both.map(|(&a, &b)| u16::from(a).wrapping_mul(stride) + u16::from(b))));
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

/// Terms that are looked up together: a sum in a cell that the row before has changed is waited for, and the others are
/// made meanwhile.
const TOGETHER: usize = 4;

/// The scores of a tile, row after row, from tables of `outputs` values per cell, the intercepts last.
pub fn scores(coding: &Coding, terms: &[Term], codes: &Codes<'_>, tables: &[f64], outputs: usize, z: &mut [f64]) {
    let (mut rest, intercepts) = tables.split_at(tables.len() - outputs);
    z.chunks_exact_mut(outputs).for_each(|row| row.copy_from_slice(intercepts));
    if z.len() == outputs {
        // A single row is not worth the room for its cells.
        for term in terms {
            let (table, others) = rest.split_at(term.cells(coding) * outputs);
            add(z, &table[term.cell(coding, codes, 0) * outputs..][..outputs]);
            rest = others;
        }
        return;
    }
    let mut cells: [Vec<u16>; TOGETHER] = Default::default();
    for some in terms.chunks(TOGETHER) {
        let mut tables = [&[][..]; TOGETHER];
        for ((term, table), cells) in some.iter().zip(&mut tables).zip(&mut cells) {
            (*table, rest) = rest.split_at(term.cells(coding) * outputs);
            term.cells_of(coding, codes, cells);
        }
        let [p, q, r, s] = &cells;
        let four = p.iter().zip(q).zip(r.iter().zip(s));
        match (outputs, &tables[..some.len()]) {
            (1, [a, b, c, d]) => {
                for (z, ((p, q), (r, s))) in z.iter_mut().zip(four) {
                    let of = |table: &[f64], cell: &u16| table[usize::from(*cell)];
                    *z = *z + of(a, p) + of(b, q) + of(c, r) + of(d, s);
                }
            }
            (_, [a, b, c, d]) => {
                vectorised!(for (z, ((p, q), (r, s))) in z.chunks_exact_mut(outputs).zip(four) {
                    add_four(z, [of(a, p, outputs), of(b, q, outputs), of(c, r, outputs), of(d, s, outputs)]);
                });
            }
            (_, tables) => tables.iter().zip(&cells).for_each(|(table, cells)| {
                let rows = z.chunks_exact_mut(outputs).zip(cells);
                rows.for_each(|(z, cell)| add(z, of(table, cell, outputs)));
            }),
        }
    }
}

/// Adds rows of `outputs` values to the cells of the terms that they have, the intercepts last.
pub fn add_rows(coding: &Coding, terms: &[Term], codes: &Codes<'_>, rows: &[f64], outputs: usize, sums: &mut [f64]) {
    let end = sums.len() - outputs;
    let (mut rest, intercepts) = sums.split_at_mut(end);
    for row in rows.chunks_exact(outputs) {
        intercepts.iter_mut().zip(row).for_each(|(sum, r)| *sum += r);
    }
    let mut cells: [Vec<u16>; TOGETHER] = Default::default();
    for some in terms.chunks(TOGETHER) {
        let mut tables: [&mut [f64]; TOGETHER] = Default::default();
        for ((term, table), cells) in some.iter().zip(&mut tables).zip(&mut cells) {
            (*table, rest) = rest.split_at_mut(term.cells(coding) * outputs);
            term.cells_of(coding, codes, cells);
        }
        let [p, q, r, s] = &cells;
        let four = p.iter().zip(q).zip(r.iter().zip(s));
        match (outputs, &mut tables[..some.len()]) {
            (1, [a, b, c, d]) => {
                for (x, ((p, q), (r, s))) in rows.iter().zip(four) {
                    a[usize::from(*p)] += x;
                    b[usize::from(*q)] += x;
                    c[usize::from(*r)] += x;
                    d[usize::from(*s)] += x;
                }
            }
            (_, [a, b, c, d]) => {
                vectorised!(for (row, ((p, q), (r, s))) in rows.chunks_exact(outputs).zip(four) {
                    add(of_mut(a, p, outputs), row);
                    add(of_mut(b, q, outputs), row);
                    add(of_mut(c, r, outputs), row);
                    add(of_mut(d, s, outputs), row);
                });
            }
            (_, tables) => tables.iter_mut().zip(&cells).for_each(|(table, cells)| {
                let rows = rows.chunks_exact(outputs).zip(cells);
                rows.for_each(|(row, cell)| add(of_mut(table, cell, outputs), row));
            }),
        }
    }
}

/// The values of a cell.
#[inline(always)]
fn of<'a>(table: &'a [f64], cell: &u16, outputs: usize) -> &'a [f64] {
    &table[usize::from(*cell) * outputs..][..outputs]
}

#[inline(always)]
fn of_mut<'a>(table: &'a mut [f64], cell: &u16, outputs: usize) -> &'a mut [f64] {
    &mut table[usize::from(*cell) * outputs..][..outputs]
}

/// Adds one row to another, in lanes.
#[inline(always)]
fn add(sums: &mut [f64], row: &[f64]) {
    let ((sums, last_sums), (row, last_row)) = (sums.as_chunks_mut::<4>(), row.as_chunks::<4>());
    for (sums, row) in sums.iter_mut().zip(row) {
        for k in 0..4 {
            sums[k] += row[k];
        }
    }
    last_sums.iter_mut().zip(last_row).for_each(|(sum, x)| *sum += x);
}

/// Adds four rows to another, one after the other, in lanes.
#[inline(always)]
fn add_four(sums: &mut [f64], rows: [&[f64]; 4]) {
    let [(a, last_a), (b, last_b), (c, last_c), (d, last_d)] = rows.map(|row| row.as_chunks::<4>());
    let (sums, last) = sums.as_chunks_mut::<4>();
    for (sums, ((a, b), (c, d))) in sums.iter_mut().zip(a.iter().zip(b).zip(c.iter().zip(d))) {
        for k in 0..4 {
            sums[k] = sums[k] + a[k] + b[k] + c[k] + d[k];
        }
    }
    for (sum, ((a, b), (c, d))) in last.iter_mut().zip(last_a.iter().zip(last_b).zip(last_c.iter().zip(last_d))) {
        *sum = *sum + a + b + c + d;
    }
}
