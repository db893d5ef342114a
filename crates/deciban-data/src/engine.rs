//! [`Files`] as an engine. Block `i` belongs to stripe `i mod S`; each stripe observes its blocks in
//! order, and stripes are merged in order. S depends on the pass alone and the blocks on the bytes
//! alone, so results are the same bits for any number of threads.

use std::sync::atomic::Ordering;

use deciban::data::{Batch, Identity, Profile, Schema};
use deciban::engine::{Engine, Watch, merged_in_order, stripes};
use deciban::pass::{Accumulator, ErasedPass, ErasedStatistic};
use deciban::{Error, Result};
use rayon::prelude::*;

use crate::block::Block;
use crate::files::Files;

/// More stripes than this would only cost memory.
const MOST_STRIPES: usize = 16;

/// Rows observed at once, as in memory: few enough to stay in the cache.
const CHUNK: usize = 8192;

impl Engine for Files {
    fn identity(&self) -> Identity {
        self.identity
    }

    fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
        Ok(self.accumulate(pass)?.finish())
    }

    fn sweep(&self, visit: &mut dyn FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
        let plan = &self.input.plan;
        self.watch().inspect(|watch| watch.pass());
        self.stream(false, &mut |blocks| {
            self.check_stop()?;
            blocks.iter().try_for_each(|block| {
                block.with_batch(plan, |batch| {
                    self.watch().inspect(|watch| watch.rows(batch.rows()));
                    visit(batch)
                })
            })
        })
    }

    fn check_stop(&self) -> Result<()> {
        match self.watch().is_some_and(|watch| watch.stop().load(Ordering::Relaxed)) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    fn watch(&self) -> Option<&Watch> {
        self.watch.as_deref()
    }

    fn schema(&self) -> Result<Schema> {
        Files::schema(self)
    }

    fn profiles(&self) -> Result<Vec<Profile>> {
        self.look()
    }
}

impl Files {
    /// What a pass over all rows leaves, as bytes: for whoever runs a pass over parts of an input, each elsewhere.
    pub fn state(&self, pass: &dyn ErasedPass) -> Result<Vec<u8>> {
        self.accumulate(pass)?.state()
    }

    fn accumulate<'p>(&self, pass: &'p dyn ErasedPass) -> Result<Box<dyn Accumulator + 'p>> {
        let plan = &self.input.plan;
        let count = stripes(pass.statistic_size()).min(MOST_STRIPES);
        let mut stripes: Vec<_> = (0..count).map(|_| pass.accumulator()).collect();
        self.watch().inspect(|watch| watch.pass());
        self.stream(pass.needs_hashes(), &mut |blocks| {
            self.check_stop()?;
            let mut shares: Vec<Vec<&Block>> = (0..count).map(|_| Vec::new()).collect();
            for block in blocks {
                shares[block.index % count].push(block);
            }
            let observe = |(part, share): (&mut Box<dyn Accumulator + 'p>, Vec<&Block>)| {
                for block in share {
                    let observed = block.with_batch(plan, |batch| {
                        self.watch().inspect(|watch| watch.rows(batch.rows()));
                        (0..batch.rows())
                            .step_by(CHUNK)
                            .try_for_each(|start| part.observe(&batch.slice(start..start + CHUNK)))
                    });
                    observed.map_err(|e| (block.index, e))?;
                }
                Ok(())
            };
            let failures = stripes.par_iter_mut().zip(shares).with_max_len(1).map(observe).filter_map(Result::err);
            match failures.min_by_key(|(index, _)| *index) {
                Some((_, e)) => Err(e),
                None => Ok(()),
            }
        })?;
        merged_in_order(stripes.into_iter().map(Ok))
    }
}
