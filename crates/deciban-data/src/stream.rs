//! The way of a block: a thread of its own reads, decompresses and cuts; groups of blocks are parsed
//! in parallel; in order they get their place and codes; then they are handed on. At any time there
//! are only a few groups in memory, however large the input is, but for what [`Files`] keeps for the
//! next run.

use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;

use deciban::{Error, Result};
use rayon::prelude::*;

use crate::block::Block;
use crate::code::{Coder, Names};
use crate::files::Files;
use crate::kept::Keeper;
use crate::pieces::{Piece, Pieces};
use crate::source::Counter;

/// Blocks that are parsed together: enough to keep all threads busy, few enough to stay small.
fn group_size() -> usize {
    (4 * rayon::current_num_threads()).clamp(4, 32)
}

impl Files {
    /// Hands all blocks to `deliver`, in groups, in order, from memory if they were kept there. `hashes`
    /// says whether their levels and words are wanted as [hashes](Block::hash), too.
    pub(crate) fn stream(&self, hashes: bool, deliver: &mut dyn FnMut(&[Block]) -> Result<()>) -> Result<()> {
        let Some(kept) = &self.kept else { return self.read(hashes, deliver, &mut Keeper::nothing()) };
        if let Some(blocks) = kept.blocks(hashes) {
            blocks.chunks(group_size()).try_for_each(deliver)?;
            self.tell(self.bytes().unwrap_or(0));
            return Ok(());
        }
        let mut keeper = kept.keeper(hashes);
        self.read(hashes, deliver, &mut keeper)?;
        kept.keep(keeper);
        Ok(())
    }

    /// Reads all blocks once and hands them over, in order.
    pub(crate) fn stream_owned(&self, mut deliver: impl FnMut(Block) -> Result<()>) -> Result<()> {
        self.read_groups(false, &mut |blocks| blocks.into_iter().try_for_each(&mut deliver))
    }

    /// Reads all blocks. The earliest error of the input wins: blocks before it are delivered first, and
    /// may fail earlier still.
    fn read(&self, hashes: bool, deliver: &mut dyn FnMut(&[Block]) -> Result<()>, keeper: &mut Keeper) -> Result<()> {
        self.read_groups(hashes, &mut |blocks| {
            deliver(&blocks)?;
            keeper.take(blocks);
            Ok(())
        })
    }

    // Not generic: it would be compiled again, with its threads, for each use in each crate.
    fn read_groups(&self, hashes: bool, deliver: &mut dyn FnMut(Vec<Block>) -> Result<()>) -> Result<()> {
        let plan = &self.input.plan;
        let counter = Counter::default();
        let pieces = Pieces::new(self.input.clone(), self.block, counter.clone());
        let (sender, receiver) = sync_channel(group_size().min(8));
        // Not a scoped thread: after an error nobody waits for a pipe that may never speak again.
        let reader = std::thread::Builder::new().name("deciban-reader".into()).spawn(move || {
            for piece in pieces {
                if sender.send(piece).is_err() {
                    return; // Nobody listens any more.
                }
            }
        });
        let reader = reader.map_err(|e| Error::io("a thread for reading", e))?;
        let labels = self.labels.as_ref().map(|labels| (labels.clone(), self.block));
        let mut coder = Coder::new(plan, &self.names, self.input.options.unlabelled, labels);
        while let Ok(first) = receiver.recv() {
            let mut group = vec![first];
            group.extend(receiver.try_iter().take(group_size() - 1));
            let mut failure = None;
            let mut pieces = Vec::with_capacity(group.len());
            for piece in group {
                match piece {
                    Ok(piece) => pieces.push(piece),
                    Err(e) => failure = Some(e), // It is the last.
                }
            }
            let parsed: Vec<_> = {
                // Nobody adds names while blocks are parsed.
                let guard = self.lock();
                let names: &Names = &guard;
                let parse = |piece: Piece| {
                    let (layout, first_line, mut parsed) = piece.parse(plan);
                    parsed.count_words(plan, names);
                    (layout, first_line, parsed)
                };
                pieces.into_par_iter().with_max_len(1).map(parse).collect()
            };
            let mut blocks = Vec::with_capacity(parsed.len());
            for (layout, first_line, parsed) in parsed {
                match coder.place(layout, first_line, parsed) {
                    Ok(block) => {
                        blocks.extend(block.map(|block| Block { first_row: block.first_row + self.first_row, ..block }))
                    }
                    Err(e) => {
                        failure = Some(e);
                        break;
                    }
                }
            }
            blocks.par_iter_mut().with_max_len(1).for_each(|block| {
                if hashes {
                    block.hash(plan);
                }
                block.recode();
            });
            deliver(blocks)?;
            self.tell(counter.load(Ordering::Relaxed));
            if let Some(e) = failure {
                return Err(e);
            }
        }
        if reader.join().is_err() {
            let message = "the reader of this format gave up: the file is damaged".into();
            return Err(Error::Input { file: self.input.sources[0].name.clone(), line: None, column: None, message });
        }
        let files: Vec<String> = self.input.sources.iter().map(|source| source.name.clone()).collect();
        let rows = coder.finish(&files)?;
        self.check_rows(rows)?;
        self.tell(counter.load(Ordering::Relaxed));
        self.complete()
    }

    /// Refuses input that has other rows than before: nothing that is learned from both would be right.
    fn check_rows(&self, rows: u64) -> Result<()> {
        match *self.rows.get_or_init(|| rows) {
            first if first == rows => Ok(()),
            first => {
                let message = format!(
                    "the rows must be the same in every pass: there were {first} rows the first time, and {rows} now"
                );
                let file = self.input.sources[0].name.clone();
                Err(Error::Input { file, line: None, column: None, message })
            }
        }
    }

    /// Tells how far the input has been read.
    fn tell(&self, bytes: u64) {
        if let Some(report) = &self.report {
            report(bytes, self.bytes());
        }
    }

    /// The size of the input, if it is known.
    fn bytes(&self) -> Option<u64> {
        self.input.sources.iter().map(|source| source.len()).sum()
    }
}
