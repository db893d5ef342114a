//! Several files as one sequence of pieces: chunks that know their file's layout.

use std::sync::Arc;

use deciban::Result;

use crate::cells::Parsed;
use crate::layout::Layout;
use crate::options::Options;
use crate::plan::Plan;
use crate::source::{Counter, Purpose, Source};
use crate::table::{self, Chunk, Table};

/// Files, how to read them and what is wanted of them.
pub(crate) struct Input {
    pub sources: Vec<Source>,
    pub options: Options,
    pub plan: Plan,
}

impl Input {
    /// Whether the rows of a source have a class.
    fn has_classes(&self, source: usize) -> bool {
        source < self.sources.len() - self.options.unlabelled_files.len().min(self.sources.len())
    }
}

/// A chunk of a file.
pub(crate) struct Piece {
    pub layout: Arc<Layout>,
    chunk: Chunk,
    /// The first row's line, for the first piece of a file; later ones follow.
    pub first_line: Option<u64>,
}

impl Piece {
    /// How much text it is; `None` where it is none. What is only looked at may be a part of what is read later.
    pub fn bytes(&self) -> Option<usize> {
        match &self.chunk {
            Chunk::Delimited(text, _) | Chunk::Json(text, _) => Some(text.len()),
            Chunk::Records(_) | Chunk::Idx(_) | Chunk::Texts(_) => None,
        }
    }

    pub fn parse(self, plan: &Plan) -> (Arc<Layout>, Option<u64>, Parsed) {
        let parsed = self.chunk.parse(plan, &self.layout);
        (self.layout, self.first_line, parsed)
    }
}

/// The pieces of all files, in order. After an error there are no more.
pub(crate) struct Pieces {
    input: Arc<Input>,
    block: usize,
    purpose: Purpose,
    counter: Counter,
    next_source: usize,
    open: Option<(Box<dyn Table>, Arc<Layout>)>,
}

impl Pieces {
    pub fn new(input: Arc<Input>, block: usize, counter: Counter) -> Self {
        Pieces { input, block, purpose: Purpose::Read, counter, next_source: 0, open: None }
    }

    /// Pieces that are only looked at: a pipe is not used up.
    pub fn to_look_at(input: Arc<Input>, block: usize) -> Self {
        Pieces { purpose: Purpose::Look, ..Pieces::new(input, block, Counter::default()) }
    }

    /// Opens the next file; `false` if there is none.
    fn open_next(&mut self) -> Result<bool> {
        let Input { sources, options, plan } = &*self.input;
        let Some(source) = sources.get(self.next_source) else { return Ok(false) };
        let labelled = self.input.has_classes(self.next_source);
        self.next_source += 1;
        let mut table = table::open(source, options, self.purpose, &self.counter)?;
        let layout = match table.names() {
            [] => plan.layout_by_name(&source.name, labelled),
            names => plan.layout(&source.name, names, table.counted(), labelled)?,
        };
        let wanted: Vec<bool> = layout.slots.iter().map(Option::is_some).collect();
        table.project(&wanted)?;
        if let Some(rows) = plan.rows_at_once {
            table.at_most(rows);
        }
        self.open = Some((table, Arc::new(layout)));
        Ok(true)
    }

    fn read(&mut self) -> Result<Option<Piece>> {
        let mut first_line = None;
        loop {
            if let Some((table, layout)) = &mut self.open {
                if let Some(chunk) = table.next(self.block)? {
                    return Ok(Some(Piece { layout: layout.clone(), chunk, first_line }));
                }
                self.open = None;
            }
            if !self.open_next()? {
                return Ok(None);
            }
            first_line = self.open.as_ref().map(|(table, _)| table.first_line());
        }
    }
}

impl Iterator for Pieces {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        let piece = self.read();
        if piece.is_err() {
            self.next_source = usize::MAX;
            self.open = None;
        }
        piece.transpose()
    }
}
