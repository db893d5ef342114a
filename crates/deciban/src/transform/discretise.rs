//! Numbers to the codes of their bins, so that families of categories take mixed columns.
//!
//! A column without bins holds categories already and passes through.

use super::bins::{Binning, Bins};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::statistic::Quantiles;

/// The bins of each column of a block.
///
/// ```
/// use deciban::data::MISSING;
/// use deciban::transform::{Bins, Discretise};
/// let area = Bins::new(vec![400.0, 800.0, 1200.0], None, None)?;
/// // The first column is a category.
/// let discretise = Discretise::new(vec![None, Some(area)]);
/// let mut codes = Vec::new();
/// discretise.bins(1).unwrap().codes(&[890.0, f64::NAN, 120.0], &mut codes);
/// assert_eq!(codes, [2, MISSING, 0]);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Discretise {
    columns: Vec<Option<Bins>>,
}

impl Discretise {
    /// Bins for the columns that have them; the others pass through.
    pub fn new(columns: Vec<Option<Bins>>) -> Self {
        Discretise { columns }
    }

    /// The bins of number columns, from the sketches of the columns in each class.
    pub fn from_sketches(binning: &Binning, classes: &[Vec<Quantiles>]) -> Result<Self> {
        let width = classes.first().map_or(0, Vec::len);
        classes.iter().try_for_each(|class| Error::check_shape("columns of the statistics", width, class.len()))?;
        let bins = |j: usize| binning.bins(j, &classes.iter().map(|class| &class[j]).collect::<Vec<_>>()).map(Some);
        Ok(Discretise { columns: (0..width).map(bins).collect::<Result<_>>()? })
    }

    /// The same with other cuts in a column that has bins, between its least and its greatest value.
    pub fn with_cuts(mut self, column: usize, cuts: &[f64]) -> Result<Self> {
        if let Some(Some(bins)) = self.columns.get_mut(column) {
            let (low, high) = (bins.edges(0).0, bins.edges(bins.count() - 1).1);
            *bins = Bins::new(cuts.to_vec(), Some(low), Some(high))?;
        }
        Ok(self)
    }

    /// The same bins at these places among `width` columns; the others pass through.
    pub fn among(&self, width: usize, places: &[usize]) -> Result<Self> {
        Error::check_shape("places of the columns with bins", self.columns.len(), places.len())?;
        let mut columns = vec![None; width];
        for (bins, &place) in self.columns.iter().zip(places) {
            let column = columns.get_mut(place);
            let found = Error::Shape { what: "columns of a block".into(), expected: place + 1, found: width };
            *column.ok_or(found)? = bins.clone();
        }
        Ok(Discretise { columns })
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The bins of a column, if it has any.
    pub fn bins(&self, column: usize) -> Option<&Bins> {
        self.columns.get(column)?.as_ref()
    }
}

impl Stored for Discretise {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let edges: Vec<Vec<f64>> =
            self.columns.iter().map(|bins| bins.as_ref().map_or(Vec::new(), Bins::all_edges)).collect();
        archive.put_json(name, &edges.iter().map(Vec::len).collect::<Vec<_>>())?;
        let edges = edges.concat();
        archive.put(&format!("{name}.edges"), &[edges.len()], &edges)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let damaged = || archive.damaged(&format!("`{name}` does not hold bins"));
        let lengths: Vec<usize> = archive.json(name)?;
        let total = lengths.iter().try_fold(0usize, |sum, n| sum.checked_add(*n)).ok_or_else(damaged)?;
        let mut rest = archive.finite(&format!("{name}.edges"), &[total])?;
        let mut columns = Vec::new();
        for n in lengths {
            // The lengths add up to the number of edges.
            let (edges, others) = rest.split_at(n);
            columns.push(if n == 0 { None } else { Some(Bins::from_edges(edges).ok_or_else(damaged)?) });
            rest = others;
        }
        Ok(Discretise { columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{from_bytes, to_bytes};

    #[test]
    fn what_is_stored_is_loaded() {
        let bins = |cuts: &[f64]| Some(Bins::new(cuts.to_vec(), Some(-3.0), Some(9.0)).unwrap());
        let all = Discretise::new(vec![bins(&[1.0, 2.5]), None, bins(&[]), bins(&[-7.0])]);
        assert_eq!(from_bytes::<Discretise>(&to_bytes(&all).unwrap()).unwrap(), all);
    }

    #[test]
    fn damaged_bins_are_refused() {
        for (lengths, edges) in [(vec![3], vec![1.0, 3.0, 2.0]), (vec![1], vec![1.0]), (vec![2], vec![1.0, 2.0, 3.0])] {
            let mut archive = Archive::new("state");
            archive.put_json("state", &lengths).unwrap();
            archive.put("state.edges", &[edges.len()], &edges).unwrap();
            assert!(Discretise::load(&archive, "state").is_err());
        }
    }

    #[test]
    fn given_cuts_keep_the_ends() {
        let found = Discretise::new(vec![Some(Bins::new(vec![2.0], Some(1.0), Some(5.0)).unwrap()), None]);
        let given = found.with_cuts(0, &[3.0, 4.0]).unwrap().with_cuts(1, &[9.0]).unwrap();
        let bins = Bins::new(vec![3.0, 4.0], Some(1.0), Some(5.0)).unwrap();
        assert_eq!(given, Discretise::new(vec![Some(bins), None]));
        assert!(given.with_cuts(0, &[4.0, 3.0]).is_err());
    }

    #[test]
    fn columns_are_placed_among_others() {
        let one = Discretise::new(vec![Some(Bins::new(vec![1.0], None, None).unwrap())]);
        let placed = one.among(3, &[1]).unwrap();
        assert!(placed.bins(0).is_none() && placed.bins(1) == one.bins(0) && placed.bins(2).is_none());
        assert!(one.among(3, &[3]).is_err() && one.among(3, &[]).is_err());
    }
}
