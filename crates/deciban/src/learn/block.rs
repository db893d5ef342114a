//! A block: columns that are modelled jointly given the class, and how its family sees their cells.

use serde::{Deserialize, Serialize};

use crate::data::{Batch, Cells, Column, Kind, Rows, Tile};
use crate::error::{Error, Result};
use crate::family::{AnyDensity, AnyFamily, AnyStatistic, Assignment, Density, Family};
use crate::file::{Archive, Stored};
use crate::transform::{Deskew, Discretise, Gaussianise};

/// Columns modelled jointly given the class, with the family of their density.
#[derive(Clone, Debug)]
pub struct Block {
    /// The columns' places in the schema.
    pub columns: Vec<usize>,
    /// Their names.
    pub names: Vec<String>,
    /// The shear of images, before anything else.
    pub deskew: Option<Deskew>,
    /// A map of each number towards a normal one, before the family sees it.
    pub gaussianise: Option<Gaussianise>,
    /// Bins for the block's numbers, so that a family of categories sees codes only.
    pub discretise: Option<Discretise>,
    /// The family.
    pub family: AnyFamily,
}

#[derive(Serialize, Deserialize)]
struct StoredBlock {
    columns: Vec<usize>,
    names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deskew: Option<Deskew>,
    gaussianised: bool,
    #[serde(default)]
    discretised: bool,
    family: AnyFamily,
}

impl Stored for Block {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let stored = StoredBlock {
            columns: self.columns.clone(),
            names: self.names.clone(),
            deskew: self.deskew,
            gaussianised: self.gaussianise.is_some(),
            discretised: self.discretise.is_some(),
            family: self.family.clone(),
        };
        archive.put_json(name, &stored)?;
        if let Some(map) = &self.gaussianise {
            map.store(archive, &format!("{name}.gaussianise"))?;
        }
        match &self.discretise {
            Some(bins) => bins.store(archive, &format!("{name}.discretise")),
            None => Ok(()),
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let StoredBlock { columns, names, deskew, gaussianised, discretised, family } = archive.json(name)?;
        if columns.len() != names.len() || columns.is_empty() {
            return Err(archive.damaged(&format!("`{name}` does not name its columns")));
        }
        let gaussianise = match gaussianised {
            true => Some(Gaussianise::load(archive, &format!("{name}.gaussianise"))?),
            false => None,
        };
        let discretise = match discretised {
            true => Some(Discretise::load(archive, &format!("{name}.discretise"))?),
            false => None,
        };
        let widths = [
            deskew.map(|deskew| deskew.pixels()),
            gaussianise.as_ref().map(Gaussianise::width),
            discretise.as_ref().map(Discretise::width),
        ];
        if widths.iter().flatten().any(|&width| width != columns.len()) {
            return Err(archive.damaged(&format!("`{name}` has a map for other columns")));
        }
        if discretised && (gaussianised || deskew.is_some()) {
            return Err(archive.damaged(&format!("`{name}` is both mapped to numbers and discretised")));
        }
        Ok(Block { columns, names, deskew, gaussianise, discretise, family })
    }
}

impl Block {
    /// The columns at these places of the schema, by one family.
    pub fn new(places: Vec<usize>, columns: &[Column], family: AnyFamily) -> Self {
        let names = places.iter().map(|&c| columns[c].name.clone()).collect();
        Block { columns: places, names, deskew: None, gaussianise: None, discretise: None, family }
    }

    /// The block's columns as its family sees them: numbers with bins are categories, whose levels
    /// are the bins. `columns` are the schema's.
    ///
    /// # Panics
    /// If the schema lacks a column of the block.
    pub fn seen_columns(&self, columns: &[Column]) -> Vec<Column> {
        let seen = |(j, &column): (usize, &usize)| match self.discretise.as_ref().and_then(|d| d.bins(j)) {
            Some(bins) => Column { name: self.names[j].clone(), kind: Kind::Category, levels: bins.names() },
            None => columns[column].clone(),
        };
        self.columns.iter().enumerate().map(seen).collect()
    }

    /// How many levels each of them has.
    pub(super) fn seen_levels(&self, columns: &[Column]) -> Vec<usize> {
        let seen = |(j, &column): (usize, &usize)| match self.discretise.as_ref().and_then(|d| d.bins(j)) {
            Some(bins) => bins.count(),
            None => columns[column].levels.len(),
        };
        self.columns.iter().enumerate().map(seen).collect()
    }

    /// About how many bytes a statistic of it takes.
    pub(super) fn size(&self) -> usize {
        self.family.size(self.columns.len())
    }

    /// Adds the chosen rows to the groups they are assigned to; `at` holds the current densities of these.
    pub(super) fn observe(
        &self,
        groups: &mut [&mut AnyStatistic],
        batch: &Batch<'_>,
        rows: Rows<'_>,
        to: Assignment<'_>,
        at: Option<&AnyDensity>,
    ) -> Result<()> {
        self.with_cells(batch, rows, |cells, _| self.family.observe_groups(groups, cells, to, at, &self.names))
    }

    /// Adds the chosen rows to one group, whose current density `at` is, and log p(x | group) of each to `log_p`, in the
    /// units of the data.
    pub(super) fn observe_scored(
        &self,
        group: &mut AnyStatistic,
        batch: &Batch<'_>,
        rows: Rows<'_>,
        at: &AnyDensity,
        log_p: &mut [f64],
    ) -> Result<()> {
        self.with_cells(batch, rows, |cells, log_jacobian| {
            log_p.iter_mut().zip(log_jacobian).for_each(|(p, j)| *p += j);
            self.family.observe_scored(group, cells, at, &self.names, log_p)
        })
    }

    /// Adds log p(x | group) of the chosen rows, in the units of the data.
    pub(crate) fn add_log_density(
        &self,
        density: &AnyDensity,
        batch: &Batch<'_>,
        rows: Rows<'_>,
        out: &mut Tile,
    ) -> Result<()> {
        self.with_cells(batch, rows, |cells, log_jacobian| {
            density.add_log_density(cells, &self.names, out)?;
            if !log_jacobian.is_empty() {
                for group in 0..out.width() {
                    out.column_mut(group).iter_mut().zip(log_jacobian).for_each(|(s, j)| *s += j);
                }
            }
            Ok(())
        })
    }

    /// Runs `body` on the block's cells in the chosen rows, deskewed, gaussianised or discretised if the block is so. The
    /// second argument is the log-Jacobian of each row, empty where it is 0.
    pub(crate) fn with_cells<R>(
        &self,
        batch: &Batch<'_>,
        rows: Rows<'_>,
        body: impl FnOnce(&Cells<'_>, &[f64]) -> Result<R>,
    ) -> Result<R> {
        let cells = Cells::new(batch, &self.columns, rows.clone());
        if let Some(discretise) = &self.discretise {
            return self.with_codes(discretise, batch, rows, body);
        }
        if self.deskew.is_none() && self.gaussianise.is_none() {
            return body(&cells, &[]);
        }
        let (mut tile, mut weights) = (Tile::default(), Vec::new());
        cells.read_numbers(&mut tile)?;
        if let Some(deskew) = &self.deskew {
            deskew.apply(&mut tile, &self.names, |i| cells.row_number(i))?;
        }
        let mut log_jacobian = Vec::new();
        if let Some(map) = &self.gaussianise {
            log_jacobian.resize(tile.rows(), 0.0);
            map.apply(&mut tile, &mut log_jacobian)?;
        }
        cells.read_weights(&mut weights);
        let mut mapped = Batch::new(tile.rows()).column_major(tile.data(), tile.width())?;
        if let Rows::Range(range) = &rows {
            mapped = mapped.first_row(batch.row_number(range.start));
        }
        if cells.weighted() {
            mapped = mapped.weights(&weights)?;
        }
        let columns: Vec<usize> = (0..tile.width()).collect();
        body(&Cells::new(&mapped, &columns, Rows::Range(0..tile.rows())), &log_jacobian)
    }

    /// Runs `body` on codes: numbers become those of their bins, categories pass through.
    fn with_codes<R>(
        &self,
        discretise: &Discretise,
        batch: &Batch<'_>,
        rows: Rows<'_>,
        body: impl FnOnce(&Cells<'_>, &[f64]) -> Result<R>,
    ) -> Result<R> {
        let mut codes = vec![Vec::new(); self.columns.len()];
        let mut tile = Tile::default();
        for (j, codes) in codes.iter_mut().enumerate() {
            let cells = Cells::new(batch, &self.columns[j..=j], rows.clone());
            match discretise.bins(j) {
                None => cells.read_codes(0, codes)?,
                Some(bins) => {
                    cells.read_numbers(&mut tile)?;
                    if let Some(i) = tile.column(0).iter().position(|x| x.is_infinite()) {
                        return Err(Error::Infinite { column: self.names[j].clone(), row: cells.row_number(i) + 1 });
                    }
                    bins.codes(tile.column(0), codes);
                }
            }
        }
        let mut weights = Vec::new();
        let cells = Cells::new(batch, &self.columns, rows.clone());
        cells.read_weights(&mut weights);
        let mut mapped = Batch::new(rows.len());
        if let Rows::Range(range) = &rows {
            mapped = mapped.first_row(batch.row_number(range.start));
        }
        for codes in &codes {
            mapped = mapped.codes(codes)?;
        }
        if cells.weighted() {
            mapped = mapped.weights(&weights)?;
        }
        let columns: Vec<usize> = (0..self.columns.len()).collect();
        body(&Cells::new(&mapped, &columns, Rows::Range(0..rows.len())), &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{MISSING, Schema};
    use crate::engine::{Memory, Run};
    use crate::family::histogram::{Histogram, sketches};
    use crate::file::{from_bytes, to_bytes};
    use crate::learn::Summarise;
    use crate::transform::{Binning, Bins};

    const AREA: [f64; 8] = [300.0, 420.0, 500.0, f64::NAN, 900.0, 1300.0, 1500.0, 2000.0];
    const ROOMS: [u32; 8] = [0, 1, 0, MISSING, 2, 1, 2, 2];
    const CLASSES: [u32; 8] = [0, 0, 0, 0, 1, 1, 1, 1];
    const WEIGHTS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

    fn batch() -> Batch<'static> {
        let batch = Batch::new(8).codes(&ROOMS).unwrap().column(&AREA[..]).unwrap();
        batch.classes(&CLASSES).unwrap().weights(&WEIGHTS).unwrap().first_row(40)
    }

    fn schema() -> Schema {
        let levels = ["one", "two", "more"].map(String::from).to_vec();
        let rooms = Column { name: "rooms".into(), kind: Kind::Category, levels };
        Schema::new(vec![rooms, Column::number("area")], "kind", ["flat", "house"].map(String::from).to_vec()).unwrap()
    }

    fn block(columns: &[usize], discretise: Option<Discretise>) -> Block {
        Block {
            columns: columns.to_vec(),
            names: columns.iter().map(|&c| ["rooms", "area"][c].to_string()).collect(),
            deskew: None,
            gaussianise: None,
            discretise,
            family: AnyFamily::Histogram(Histogram::default()),
        }
    }

    #[test]
    fn families_of_categories_see_mixed_columns_as_codes() {
        let bins = Bins::new(vec![400.0, 800.0, 1200.0], None, None).unwrap();
        let block = block(&[0, 1], Some(Discretise::new(vec![None, Some(bins)])));
        let codes = |rows: Rows<'_>| {
            block.with_cells(&batch(), rows, |cells, log_jacobian| {
                let (mut rooms, mut area, mut weights) = (Vec::new(), Vec::new(), Vec::new());
                cells.read_codes(0, &mut rooms)?;
                cells.read_codes(1, &mut area)?;
                cells.read_weights(&mut weights);
                assert!(log_jacobian.is_empty());
                Ok((rooms, area, weights, cells.row_number(0)))
            })
        };
        let (rooms, area, weights, first) = codes(Rows::Range(2..6)).unwrap();
        assert_eq!((rooms, area), (vec![0, MISSING, 2, 1], vec![1, MISSING, 2, 3]));
        assert_eq!((weights, first), (vec![3.0, 4.0, 5.0, 6.0], 42));
        let (rooms, area, weights, _) = codes(Rows::Index(&[7, 0])).unwrap();
        assert_eq!((rooms, area, weights), (vec![2, 0], vec![3, 0], vec![8.0, 1.0]));
        let seen = block.seen_columns(schema().columns());
        assert_eq!(seen[0], schema().columns()[0]);
        assert_eq!(seen[1].levels, ["<400", "400..800", "800..1200", ">=1200"]);
    }

    #[test]
    fn bins_come_from_the_pass_of_the_histogram() {
        // Flats reach to 500 (weights 1, 2, 3), houses begin at 900 (5, 6, 7, 8): one cut between.
        let pass = Summarise { blocks: vec![block(&[1], None)], folds: 1, seed: 0 };
        let summary = Memory::new(schema(), batch()).unwrap().run(&pass).unwrap();
        let of_classes = sketches(&summary.block(0).unwrap()).unwrap();
        let found = Discretise::from_sketches(&Binning::Mdl, &of_classes).unwrap();
        assert_eq!(found.bins(0).unwrap().cuts(), [700.0]);
        assert_eq!(found.bins(0).unwrap().edges(1), (700.0, 2000.0));
        let halves = Discretise::from_sketches(&Binning::Quantiles(2), &of_classes).unwrap();
        // 17 of 32 lie up to 1300.
        assert_eq!(halves.bins(0).unwrap().cuts(), [1400.0]);
        let placed = found.among(2, &[1]).unwrap();
        assert!(placed.bins(0).is_none() && placed.bins(1).is_some());
    }

    #[test]
    fn blocks_are_stored_with_their_bins() {
        let bins = || Some(Bins::new(vec![400.0], None, None).unwrap());
        let good = block(&[0, 1], Some(Discretise::new(vec![None, bins()])));
        let loaded: Block = from_bytes(&to_bytes(&good).unwrap()).unwrap();
        assert_eq!((&loaded.columns, &loaded.discretise), (&good.columns, &good.discretise));
        let narrow = block(&[0, 1], Some(Discretise::new(vec![bins()])));
        assert!(from_bytes::<Block>(&to_bytes(&narrow).unwrap()).is_err());
        let both = Block { gaussianise: Some(Gaussianise::fit(&vec![Default::default(); 2])), ..good };
        assert!(from_bytes::<Block>(&to_bytes(&both).unwrap()).is_err());
    }

    #[test]
    fn infinite_numbers_are_named() {
        let area = [1.0, f64::INFINITY];
        let batch = Batch::new(2).column(&area[..]).unwrap().first_row(10);
        let mut block = block(&[0], Some(Discretise::new(vec![Some(Bins::new(vec![], None, None).unwrap())])));
        block.names = vec!["area".into()];
        let error = block.with_cells(&batch, Rows::Index(&[1]), |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("column `area`, row 12:"), "{error}");
    }
}
