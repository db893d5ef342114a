//! To which groups rows go: one each, or several by weights.
//!
//! A group is a class, a component of a class, or a fold of either. Labelled rows go to one group each;
//! rows of a mixture, and rows without a label, go to several, by the probability of each given the row.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::data::{Cells, Rows, Tile};
use crate::error::Result;

/// To which groups the rows of a block go.
#[derive(Clone, Copy, Debug)]
pub enum Assignment<'a> {
    /// Row `i` to one group.
    Hard(&'a Dealt<'a>),
    /// Row `i` to each group by the weight in cell (`i`, group), on top of the row's own.
    Soft(&'a Tile),
}

/// Rows dealt out to groups.
#[derive(Clone, Debug)]
pub struct Dealt<'a> {
    groups: Cow<'a, [u32]>,
    sizes: Vec<usize>,
    order: OnceCell<Vec<u32>>,
}

impl<'a> Dealt<'a> {
    /// Row `i` goes to group `groups[i]`, of `count` groups.
    ///
    /// # Panics
    /// If a row goes to a group that is not there.
    pub fn new(groups: Cow<'a, [u32]>, count: usize) -> Self {
        let mut sizes = vec![0; count];
        groups.iter().for_each(|&g| sizes[g as usize] += 1);
        Dealt { groups, sizes, order: OnceCell::new() }
    }

    /// The group of each row.
    pub fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// How many rows each group has.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The rows of the first group in their order, then those of the next.
    pub fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let starts = self.sizes.iter().scan(0, |next, size| {
                let start = *next;
                *next += size;
                Some(start)
            });
            let mut next: Vec<usize> = starts.collect();
            let mut order = vec![0; self.groups.len()];
            for (i, &group) in self.groups.iter().enumerate() {
                let place = &mut next[group as usize];
                order[*place] = i as u32;
                *place += 1;
            }
            order
        })
    }
}

/// A share this small changes no sum of doubles, and its row is left out of the group.
const LEAST_SHARE: f64 = 1e-17;

/// Runs `observe` once for each group that has rows, on its rows with their weights.
pub(crate) fn for_each_group(
    x: &Cells<'_>,
    to: Assignment<'_>,
    mut observe: impl FnMut(usize, &Cells<'_>) -> Result<()>,
) -> Result<()> {
    let mut weights = Vec::new();
    let number = |i: u32| x.chosen().get(i as usize) as u32;
    match to {
        Assignment::Hard(dealt) => {
            let index: Vec<u32> = dealt.order().iter().map(|&i| number(i)).collect();
            if x.weighted() {
                x.read_weights(&mut weights);
                weights = dealt.order().iter().map(|&i| weights[i as usize]).collect();
            }
            let mut start = 0;
            for (group, &size) in dealt.sizes().iter().enumerate().filter(|(_, size)| **size > 0) {
                let rows = start..start + size;
                start = rows.end;
                let cells = x.of_rows(Rows::Index(&index[rows.clone()]));
                match weights.is_empty() {
                    true => observe(group, &cells)?,
                    false => observe(group, &cells.weighted_by(&weights[rows]))?,
                }
            }
        }
        Assignment::Soft(shares) => for_each_share(x, shares, |group, _, cells, _| observe(group, cells))?,
    }
    Ok(())
}

/// Runs `observe` once for each group that has a share of the rows: with their places among the rows of `x`, with the
/// rows themselves and their weights, and with these weights.
pub(crate) fn for_each_share(
    x: &Cells<'_>,
    shares: &Tile,
    mut observe: impl FnMut(usize, &[u32], &Cells<'_>, &[f64]) -> Result<()>,
) -> Result<()> {
    let [mut weights, mut own] = [(); 2].map(|()| Vec::new());
    let [mut places, mut index] = [(); 2].map(|()| Vec::new());
    x.read_weights(&mut weights);
    for group in 0..shares.width() {
        places.clear();
        own.clear();
        for (i, (share, weight)) in shares.column(group).iter().zip(&weights).enumerate() {
            if *share > LEAST_SHARE {
                places.push(i as u32);
                own.push(share * weight);
            }
        }
        if !places.is_empty() {
            index.clear();
            index.extend(places.iter().map(|&place| x.chosen().get(place as usize) as u32));
            observe(group, &places, &x.of_rows(Rows::Index(&index)).weighted_by(&own), &own)?;
        }
    }
    Ok(())
}
