//! The way of a block: a thread of its own reads, decompresses and cuts; groups of blocks are parsed
//! in parallel; in order they get their place and codes; then they are handed on, while the next group
//! is parsed. At any time there are only a few groups in memory, however large the input is, but for
//! what [`Files`] keeps for the next run.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;

use deciban::{Error, Result};
use rayon::prelude::*;

use crate::block::Block;
use crate::cells::Parsed;
use crate::code::Coder;
use crate::files::Files;
use crate::kept::Keeper;
use crate::layout::Layout;
use crate::pieces::{Piece, Pieces};
use crate::source::Counter;

/// Blocks that are handed on together: enough to keep all threads busy, few enough to stay small.
fn group_size() -> usize {
    (4 * rayon::current_num_threads()).clamp(4, 32)
}

/// Blocks that are read ahead. Memory that has been used before costs less than fresh pages, so they are few.
fn ahead() -> usize {
    (2 * rayon::current_num_threads()).clamp(4, 32)
}

/// Blocks of a group that have been parsed, and what is wrong with the input behind them.
#[derive(Default)]
struct Group {
    parsed: Vec<(Arc<Layout>, Option<u64>, Parsed)>,
    failure: Option<Error>,
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
        let (sender, receiver) = sync_channel(ahead());
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
        let mut looked_at = self.take_first();
        let mut group: Option<Group> = None;
        loop {
            // Only a fit looks at the first block before. Nobody waits for what comes of it alone, and others are
            // better parsed when its words are known.
            let is_known = looked_at.is_some();
            let most = if is_known { 1 } else { group_size() };
            let current = match group.take() {
                Some(group) => group,
                // Nothing is left to do but to wait.
                None => match receiver.recv() {
                    Ok(piece) => {
                        let pieces = std::iter::once(piece).chain(receiver.try_iter().take(most - 1));
                        self.parse(pieces.collect(), looked_at.take())
                    }
                    Err(_) => break,
                },
            };
            let mut next: Vec<_> = receiver.try_iter().take(group_size()).collect();
            if next.is_empty() && is_known {
                next.extend(receiver.recv().into_iter().chain(receiver.try_iter().take(group_size() - 1)));
            }
            rayon::in_place_scope(|scope| {
                let Group { parsed, mut failure } = current;
                let mut blocks = Vec::with_capacity(parsed.len());
                let mut parsed = parsed.into_iter().map(|parsed| self.place(parsed, &mut coder));
                let mut place = |result: Option<Result<Option<Block>>>| match result {
                    Some(Ok(block)) => {
                        blocks.extend(block);
                        true
                    }
                    Some(Err(e)) => {
                        failure = Some(e);
                        false
                    }
                    None => false,
                };
                // The words of the first block get their codes before others look for them.
                let goes_on = place(parsed.next());
                if !next.is_empty() {
                    scope.spawn(|_| group = Some(self.parse(next, None)));
                }
                while goes_on && place(parsed.next()) {}
                blocks.par_iter_mut().with_max_len(1).for_each(|block| {
                    if hashes {
                        block.hash(plan);
                    }
                    block.recode();
                });
                deliver(blocks)?;
                self.tell(counter.load(Ordering::Relaxed));
                failure.map_or(Ok(()), Err)
            })?;
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

    /// Parses the pieces of a group, in parallel, but for the first if it is known already. Of a stream, less may have
    /// been looked at than is read: then the first one is parsed as well.
    fn parse(&self, pieces: Vec<Result<Piece>>, first: Option<(usize, Parsed)>) -> Group {
        let plan = &self.input.plan;
        let mut group = Group::default();
        let mut known = vec![first];
        known.resize_with(pieces.len(), || None);
        // An error is the last.
        let pieces: Vec<Piece> =
            pieces.into_iter().map_while(|piece| piece.map_err(|e| group.failure = Some(e)).ok()).collect();
        let parse = |(piece, known): (Piece, Option<(usize, Parsed)>)| {
            let (layout, first_line, mut parsed) = match known.filter(|(bytes, _)| piece.bytes() == Some(*bytes)) {
                Some((_, parsed)) => (piece.layout, piece.first_line, parsed),
                None => piece.parse(plan),
            };
            parsed.count_words(plan, &self.names);
            (layout, first_line, parsed)
        };
        group.parsed = pieces.into_par_iter().zip(known).with_max_len(1).map(parse).collect();
        group
    }

    /// Gives a block its place among the rows, and its names their codes.
    fn place(&self, parsed: (Arc<Layout>, Option<u64>, Parsed), coder: &mut Coder<'_>) -> Result<Option<Block>> {
        let (layout, first_line, parsed) = parsed;
        let block = coder.place(layout, first_line, parsed)?;
        Ok(block.map(|block| Block { first_row: block.first_row + self.first_row, ..block }))
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
