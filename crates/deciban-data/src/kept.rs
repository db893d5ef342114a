//! Parsed rows between runs. The first run hands its blocks on to a [`Keeper`]; if all of them fit
//! the budget, later runs take them from memory, and otherwise none are kept. Blocks and their order
//! are those of the first run, so results do not depend on it.

use std::sync::OnceLock;

use crate::block::Block;
use crate::cells::Cells;

/// The blocks of the whole input, if they are few enough.
pub(crate) struct Kept {
    /// In bytes.
    budget: usize,
    /// Set by the first whole run.
    run: OnceLock<Keeper>,
}

/// Gathers the blocks of a run.
pub(crate) struct Keeper {
    left: usize,
    /// Whether the blocks have hashes.
    hashed: bool,
    /// `None` where the rows are too many.
    blocks: Option<Vec<Block>>,
}

impl Kept {
    pub fn new(budget: usize) -> Self {
        Kept { budget, run: OnceLock::new() }
    }

    /// All rows, if a run has left them here, and with hashes if these are wanted.
    pub fn blocks(&self, hashes: bool) -> Option<&[Block]> {
        let run = self.run.get()?;
        if hashes && !run.hashed { None } else { run.blocks.as_deref() }
    }

    /// For a run that reads the input; only the first has anything to gather.
    pub fn keeper(&self, hashed: bool) -> Keeper {
        match self.run.get() {
            None => Keeper { left: self.budget, hashed, blocks: Some(Vec::new()) },
            Some(_) => Keeper::nothing(),
        }
    }

    /// What a whole run has gathered.
    pub fn keep(&self, keeper: Keeper) {
        self.run.get_or_init(|| keeper);
    }

    /// Class `i` becomes class `map[i]`; `slot` is where the rows have theirs.
    pub fn renumber_classes(&mut self, map: &[u32], slot: Option<usize>) {
        for block in self.run.get_mut().and_then(|run| run.blocks.as_mut()).into_iter().flatten() {
            let own = slot.and_then(|slot| match &mut block.parsed.cells[slot] {
                Cells::Codes { codes, .. } => Some(codes),
                _ => None,
            });
            let codes = own.into_iter().chain(&mut block.labels).flatten();
            // A missing class has no place in the map and stays.
            codes.for_each(|code| *code = map.get(*code as usize).copied().unwrap_or(*code));
        }
    }
}

impl Keeper {
    pub fn nothing() -> Self {
        Keeper { left: 0, hashed: false, blocks: None }
    }

    /// Keeps these blocks too, or gives all up.
    pub fn take(&mut self, blocks: Vec<Block>) {
        let bytes = blocks.iter().map(Block::bytes).sum();
        match (self.left.checked_sub(bytes), &mut self.blocks) {
            (Some(left), Some(kept)) => {
                self.left = left;
                kept.extend(blocks);
            }
            _ => self.blocks = None,
        }
    }
}
