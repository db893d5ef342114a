//! How rows become statistics: after the maps that are settled, dealt out to the groups, or with their missing cells filled.

use super::dealt_rows::DealtRows;
use super::density::GaussianDensity;
use super::factor::Factor;
use super::{Gaussian, GaussianStatistic};
use crate::data::{Cells, Tile};
use crate::error::{Error, Result};
use crate::family::assignment::for_each_share;
use crate::family::{Dealt, add_scores, too_large};
use crate::statistic::NotFinite;

/// Rows of a tile: tall enough that the rank-one joins are cheap, small enough for the second-level cache.
fn tile_rows(width: usize) -> usize {
    ((256 << 10) / (8 * width.max(1))).clamp(256, 1024)
}

impl Gaussian {
    /// Runs `observe` on tiles of the rows, after the maps that are settled.
    pub(super) fn for_each_tile(
        &self,
        x: &Cells<'_>,
        names: &[String],
        mut observe: impl FnMut(&Cells<'_>, &mut Tile, Option<&[f64]>) -> Result<()>,
    ) -> Result<()> {
        let rows = tile_rows(x.width());
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        for start in (0..x.rows()).step_by(rows) {
            let part = x.part(start..x.rows().min(start + rows));
            part.read_numbers(&mut tile)?;
            self.check_projected(&part, names, &tile)?;
            self.apply_maps(&mut tile);
            part.read_weights(&mut weights);
            observe(&part, &mut tile, part.weighted().then_some(weights.as_slice()))?;
        }
        Ok(())
    }

    /// Adds rows to all groups by their shares, as `for_each_group` and `for_each_tile` do; the rows are read once, and
    /// those of a group are copied from what was read.
    pub(super) fn observe_shares(
        &self,
        groups: &mut [&mut GaussianStatistic],
        x: &Cells<'_>,
        shares: &Tile,
        density: &GaussianDensity,
        names: &[String],
    ) -> Result<()> {
        let (mut all, mut tile) = (Tile::default(), Tile::default());
        x.read_numbers(&mut all)?;
        for_each_share(x, shares, |group, places, cells, weights| {
            let rows = tile_rows(x.width());
            for start in (0..places.len()).step_by(rows) {
                let range = start..places.len().min(start + rows);
                let places = &places[range.clone()];
                tile.resize(places.len(), all.width());
                let (first, last) = (places[0] as usize, places[places.len() - 1] as usize);
                for j in 0..all.width() {
                    let (column, own) = (all.column(j), tile.column_mut(j));
                    match last - first + 1 == places.len() {
                        true => own.copy_from_slice(&column[first..=last]),
                        false => own.iter_mut().zip(places).for_each(|(own, &place)| *own = column[place as usize]),
                    }
                }
                let (part, weights) = (cells.part(range.clone()), Some(&weights[range]));
                self.observe_filled(groups[group], &part, names, (&mut tile, weights), (density, group), None)?;
            }
            Ok(())
        })
    }

    /// Deals rows that lie one after the other out to the groups; `None` where they do not lie so.
    pub(super) fn deal_out(
        &self,
        groups: &mut [&mut GaussianStatistic],
        x: &Cells<'_>,
        dealt: &Dealt<'_>,
        names: &[String],
    ) -> Option<Result<()>> {
        // The buffers of all groups stay in the second-level cache, and each is worth a join.
        let count = groups.len();
        let tall = ((256 << 10) / (8 * x.width() * count).max(1)).min(512);
        let numbers = x.row_major().filter(|_| tall >= 32 && self.settled.is_none())?;
        let mut weights = Vec::new();
        x.read_weights(&mut weights);
        let rows = DealtRows { numbers, groups: dealt.groups(), weights: &weights };
        let is_columnwise = groups.iter().all(|group| matches!(group, GaussianStatistic::Columns(_)));
        let observed = match is_columnwise {
            true => rows.observe_columns(groups),
            false => rows.observe_moments(groups, tall),
        };
        Some(observed.map_err(|NotFinite| self.explain_not_finite(x, names)))
    }

    /// Adds rows whose missing cells are filled by the density of a group; log p of each row is added to `log_p`.
    pub(super) fn observe_filled(
        &self,
        statistic: &mut GaussianStatistic,
        part: &Cells<'_>,
        names: &[String],
        (tile, weights): (&mut Tile, Option<&[f64]>),
        (density, group): (&GaussianDensity, usize),
        mut log_p: Option<&mut [f64]>,
    ) -> Result<()> {
        let fills = matches!(statistic, GaussianStatistic::Full(_)) && tile.first_not_finite().is_some();
        if fills && tile.data().iter().any(|x| x.is_infinite()) {
            return Err(self.explain_not_finite(part, names));
        }
        if !(fills && matches!(density.factor(group), Factor::Lower(_)))
            && let Some(log_p) = log_p.take()
        {
            add_scores(density, part, names, log_p)?;
        }
        let spread = fills.then(|| density.complete(group, tile, weights, log_p)).transpose()?;
        statistic.observe(tile, weights).map_err(|NotFinite| self.explain_not_finite(part, names))?;
        if let (GaussianStatistic::Full(moments), Some(spread)) = (statistic, spread) {
            moments.add_scatter(&spread);
        }
        Ok(())
    }

    /// How many columns there are after the maps that are settled; `None` where there are none.
    pub(crate) fn mapped_width(&self) -> Option<usize> {
        self.settled.as_ref().filter(|settled| !settled.maps.is_empty()).map(|settled| settled.names.len())
    }

    /// Rows of several components after a projection need every cell.
    fn check_projected(&self, x: &Cells<'_>, names: &[String], tile: &Tile) -> Result<()> {
        let projects = self.settled.as_ref().is_some_and(|settled| settled.maps.iter().any(|map| !map.is_columnwise()));
        match projects.then(|| tile.first_not_finite()).flatten().filter(|&(i, j)| tile.column(j)[i].is_nan()) {
            None => Ok(()),
            Some((i, j)) => Err(Error::Missing {
                column: names[j].clone(),
                row: x.row_number(i) + 1,
                remedy: "components after §pca or §lda need every cell: fill it, or fit without them".into(),
            }),
        }
    }

    /// Applies the maps that are settled.
    pub(crate) fn apply_maps(&self, tile: &mut Tile) {
        let Some(settled) = &self.settled else { return };
        let mut spare = Tile::default();
        settled.maps.iter().for_each(|linear| linear.apply(tile, &mut spare));
    }

    /// Which cell it was, and what to do about it.
    pub(super) fn explain_not_finite(&self, part: &Cells<'_>, names: &[String]) -> Error {
        let mut tile = Tile::default();
        if let Err(error) = part.read_numbers(&mut tile) {
            return error;
        }
        let infinite_first = (0..tile.width())
            .find_map(|j| tile.column(j).iter().position(|x| x.is_infinite()).map(|i| (i, j)))
            .filter(|_| !self.needs_full());
        let Some((i, j)) = infinite_first.or_else(|| tile.first_not_finite()) else {
            let size = |j: usize| tile.column(j).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let widest = (0..tile.width()).max_by(|&a, &b| size(a).total_cmp(&size(b)));
            return too_large(widest.map_or("", |j| &names[j]));
        };
        let (column, row) = (names[j].clone(), part.row_number(i) + 1);
        match tile.column(j)[i].is_nan() {
            true => Error::Missing {
                column,
                row,
                remedy: "a full or tied covariance needs every cell: give §covariance=diagonal, \
                         §ignore the column, or leave such rows out"
                    .into(),
            },
            false => Error::Infinite { column, row },
        }
    }
}
