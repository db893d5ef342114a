//! [`Input`]: the rows that a task reads, of files or in memory.

use deciban::data::{Batch, Column, Deciding, Identity};
use deciban::engine::{Engine, Memory, Run};
use deciban::file::{MOST_HEADER, escaped, too_long};
use deciban::learn::Summarise;
use deciban::{Error, Result};
use deciban_data::{Dates, Files, Mapped, Oddity, Unseen};

/// Rows that tasks read. Tasks take them as `dyn Input`, so that each is compiled once.
pub trait Input: Engine {
    /// Applies `map` to batches and hands the results, whose type is erased, to `emit` in the order of the rows.
    fn map_erased_in_order(
        &self,
        map: &(dyn Fn(&Batch<'_>) -> Result<Mapped> + Sync),
        emit: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()>;

    /// Says what tells rows apart where some of them are drawn, into folds or into a share.
    fn tell_apart(&mut self, by: Identity);

    /// Lets the rows be read again, finds their classes and puts these in order.
    fn settle(&mut self) -> Result<Counted>;

    /// Whether the rows can be visited in their order.
    fn has_order(&self) -> bool {
        true
    }

    /// Puts the classes that were found in order.
    fn sort_classes(&mut self) -> Result<()> {
        Ok(())
    }

    /// Lets the rows be read again.
    fn make_rereadable(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether nobody has asked for a column: it came along with a table.
    fn came_along(&self, _column: usize) -> bool {
        false
    }

    /// Leaves columns out, before the rows are read; only such as [came along](Input::came_along).
    fn leave_out(&mut self, _columns: &[usize]) -> Result<()> {
        Err(Error::Schema("the columns of these rows cannot be left out".into()))
    }

    /// The columns that decide the class alone, as far as the first rows tell.
    fn deciding(&self) -> Result<Vec<usize>> {
        Ok(Vec::new())
    }

    /// The columns, whose levels may grow as rows are read.
    fn columns(&self) -> Result<Vec<Column>> {
        Ok(self.schema()?.columns().to_vec())
    }

    /// What dates each column holds, where that is known.
    fn dates(&self) -> Vec<Option<Dates>> {
        Vec::new()
    }

    /// Where the rows come from, for people.
    fn place(&self) -> Option<String> {
        None
    }

    /// What the last run found odd, though it went on.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What a look at the first rows finds odd about the cells of columns.
    fn oddities(&self) -> Vec<Oddity> {
        Vec::new()
    }

    /// Cells that hold a level which the model has not seen.
    fn unseen(&self) -> Vec<Unseen> {
        Vec::new()
    }

    /// Rows of classes that the model does not know, which are left out.
    fn unknown_classes(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// Counts the bytes that a JSON text takes in the header of a file.
struct HeaderSize(usize);

impl std::io::Write for HeaderSize {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0 += escaped(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl dyn Input + '_ {
    /// Refuses columns of which no model file can hold the names and what they look like, before hours of work go into
    /// such a model.
    pub fn check_fits_a_file(&self) -> Result<()> {
        /// This number of columns fits with names of up to a kilobyte.
        const FEW: usize = 50_000;
        let columns = self.columns()?;
        if columns.len() <= FEW {
            return Ok(());
        }
        let mut size = HeaderSize(0);
        let written = serde_json::to_writer(&mut size, &columns);
        let written = written.and(serde_json::to_writer(&mut size, &self.profiles()?));
        written.map_err(|e| Error::Schema(e.to_string()))?;
        if size.0 > MOST_HEADER { Err(too_long(size.0)) } else { Ok(()) }
    }

    /// Applies `map` to batches and hands the results to `emit` in the order of the rows.
    pub fn map_in_order<T: Send + 'static>(
        &self,
        map: impl Fn(&Batch<'_>) -> Result<T> + Sync,
        mut emit: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.map_erased_in_order(&|batch| Ok(Box::new(map(batch)?)), &mut |mapped| {
            emit(*mapped.downcast().expect("what map has made"))
        })
    }
}

/// How many labelled rows there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Their number.
    pub rows: f64,
    /// The sum of their weights.
    pub weight: f64,
}

impl Counted {
    /// By a pass over the labels.
    pub fn of(engine: &dyn Engine) -> Result<Self> {
        let labels = engine.run(&Summarise { blocks: Vec::new(), folds: 1, seed: 0 })?;
        Ok(Counted { rows: labels.rows().iter().sum(), weight: labels.weights().iter().sum() })
    }
}

impl Input for Files {
    fn map_erased_in_order(
        &self,
        map: &(dyn Fn(&Batch<'_>) -> Result<Mapped> + Sync),
        emit: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()> {
        Files::map_erased_in_order(self, &|part| map(part.batch()), emit)
    }

    fn tell_apart(&mut self, by: Identity) {
        Files::tell_apart(self, by);
    }

    fn settle(&mut self) -> Result<Counted> {
        Files::make_rereadable(self)?;
        let counted = Counted::of(self)?;
        Files::sort_classes(self)?;
        Ok(counted)
    }

    fn sort_classes(&mut self) -> Result<()> {
        Files::sort_classes(self)
    }

    fn came_along(&self, column: usize) -> bool {
        Files::came_along(self, column)
    }

    fn leave_out(&mut self, columns: &[usize]) -> Result<()> {
        Files::leave_out(self, columns)
    }

    fn deciding(&self) -> Result<Vec<usize>> {
        Files::deciding(self)
    }

    fn make_rereadable(&mut self) -> Result<()> {
        Files::make_rereadable(self)
    }

    fn columns(&self) -> Result<Vec<Column>> {
        Ok(Files::columns(self).to_vec())
    }

    fn dates(&self) -> Vec<Option<Dates>> {
        Files::dates(self)
    }

    fn place(&self) -> Option<String> {
        Some(match self.first_file() {
            "-" => "standard input".into(),
            file => file.into(),
        })
    }

    fn warnings(&self) -> Vec<String> {
        Files::warnings(self)
    }

    fn oddities(&self) -> Vec<Oddity> {
        Files::oddities(self).to_vec()
    }

    fn unseen(&self) -> Vec<Unseen> {
        Files::unseen(self)
    }

    fn unknown_classes(&self) -> Vec<(String, u64)> {
        Files::unknown_classes(self)
    }
}

impl Input for Memory<'_> {
    fn map_erased_in_order(
        &self,
        map: &(dyn Fn(&Batch<'_>) -> Result<Mapped> + Sync),
        emit: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()> {
        self.sweep(&mut |batch| emit(map(batch)?))
    }

    fn tell_apart(&mut self, by: Identity) {
        Memory::tell_apart(self, by);
    }

    fn settle(&mut self) -> Result<Counted> {
        Counted::of(self)
    }

    fn came_along(&self, column: usize) -> bool {
        Memory::came_along(self, column)
    }

    fn leave_out(&mut self, columns: &[usize]) -> Result<()> {
        Memory::leave_out(self, columns)
    }

    fn deciding(&self) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        // One batch, unless the rows are thousands of millions.
        self.sweep(&mut |batch| {
            found = Deciding::of_batch(batch)?;
            Ok(())
        })?;
        Ok(found)
    }
}
