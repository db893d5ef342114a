//! The pass of expectation–maximisation: every row goes to the groups by their probability given the row, and
//! missing cells are filled by the current densities.
//!
//! A labelled row goes to the components of its class, p(group | x, class); a row without a label to the groups
//! of all classes, p(group | x), times the weight that such rows are given. What is left is the log-likelihood
//! of the rows under the current model and the statistics of each group, from which the next model is fitted.

use rayon::prelude::*;

use super::components::shares;
use super::start::Held;
use super::summary::Group;
use super::{Block, Components, FittedBlock};
use crate::data::{Batch, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::family::gaussian::Gaussian;
use crate::family::{AnyDensity, AnyFamily, Assignment, Density};
use crate::file::{Archive, Stored};
use crate::pass::Pass;
use crate::statistic::Statistic;

/// The pass, with the model it starts from.
#[derive(Clone, Debug)]
pub struct Expect {
    blocks: Vec<FittedBlock>,
    components: Components,
    log_prior: Vec<f64>,
    unlabelled: f64,
    /// Which labelled rows are held out: they are scored, and not learned from.
    held: Option<Held>,
    /// The densities of each class's groups, block by block.
    by_class: Vec<Vec<AnyDensity>>,
}

impl Expect {
    /// Rows without a label count `unlabelled` times; 0 leaves them out. `held` says which rows are held out.
    pub(super) fn new(
        blocks: Vec<FittedBlock>,
        components: Components,
        log_prior: Vec<f64>,
        unlabelled: f64,
        held: Option<Held>,
    ) -> Self {
        let of_class =
            |class| blocks.iter().map(|fitted| fitted.density.of_groups(components.of_class(class))).collect();
        let by_class = (0..components.classes()).map(of_class).collect();
        Expect { blocks, components, log_prior, unlabelled, held, by_class }
    }

    /// log p(x | group) of some rows, where the densities are those of `groups`.
    fn scores(&self, densities: &[&AnyDensity], batch: &Batch<'_>, rows: Rows<'_>, groups: usize) -> Result<Tile> {
        let mut scores = Tile::default();
        scores.resize(rows.len(), groups);
        scores.data_mut().fill(0.0);
        for (FittedBlock { block, .. }, density) in self.blocks.iter().zip(densities) {
            block.add_log_density(density, batch, rows.clone(), &mut scores)?;
        }
        Ok(scores)
    }

    /// So many rows at once: tiles of scores stay in the second-level cache.
    fn most_rows(&self) -> usize {
        ((128 << 10) / self.components.groups().max(1)).clamp(256, 4096)
    }

    /// Adds rows of a class of one group to it, and gives log p(x, class) of each.
    fn add_plain(&self, group: &mut Group, batch: &Batch<'_>, rows: &[u32], class: usize) -> Result<Vec<f64>> {
        let mut log_p = vec![self.log_prior[class]; rows.len()];
        let densities = self.by_class[class].iter();
        for ((FittedBlock { block, .. }, density), statistic) in
            self.blocks.iter().zip(densities).zip(&mut group.blocks)
        {
            block.observe_scored(statistic, batch, Rows::Index(rows), density, &mut log_p)?;
        }
        group.rows += rows.len() as f64;
        group.weight += rows.iter().map(|&row| weight_of(batch, row)).sum::<f64>();
        Ok(log_p)
    }

    /// Adds rows of one class, or rows without a class, to the groups of the class or of all, and gives log p(x, class) or
    /// log p(x) of each.
    fn add_shared(
        &self,
        groups: &mut [Group],
        batch: &Batch<'_>,
        rows: &[u32],
        class: Option<usize>,
    ) -> Result<Vec<f64>> {
        let densities: Vec<&AnyDensity> = match class {
            Some(class) => self.by_class[class].iter().collect(),
            None => self.blocks.iter().map(|fitted| &fitted.density).collect(),
        };
        let mut scores = self.scores(&densities, batch, Rows::Index(rows), groups.len())?;
        let log_p = match class {
            Some(class) => {
                let mut log_p = self.components.share(class, &mut scores);
                log_p.iter_mut().for_each(|log_p| *log_p += self.log_prior[class]);
                log_p
            }
            None => {
                for class in 0..self.components.classes() {
                    let own = self.components.of_class(class);
                    for (group, w) in own.zip(self.components.log_weights(class)) {
                        scores.column_mut(group).iter_mut().for_each(|s| *s += w + self.log_prior[class]);
                    }
                }
                shares(&mut scores)
            }
        };
        if class.is_none() {
            scores.data_mut().iter_mut().for_each(|share| *share *= self.unlabelled);
        }
        for (k, group) in groups.iter_mut().enumerate() {
            group.rows += scores.column(k).iter().sum::<f64>();
            let shares = scores.column(k).iter().zip(rows);
            group.weight += shares.map(|(share, &row)| share * weight_of(batch, row)).sum::<f64>();
        }
        for (b, (FittedBlock { block, .. }, density)) in self.blocks.iter().zip(densities).enumerate() {
            let mut statistics: Vec<_> = groups.iter_mut().map(|group| &mut group.blocks[b]).collect();
            block.observe(&mut statistics, batch, Rows::Index(rows), Assignment::Soft(&scores), Some(density))?;
        }
        Ok(log_p)
    }

    /// Adds rows of one class, or rows without a class, to the groups of the class or of all; Σ w log p and Σ w are the
    /// result.
    fn add(&self, groups: &mut [Group], batch: &Batch<'_>, rows: &[u32], class: Option<usize>) -> Result<[f64; 2]> {
        let factor = if class.is_some() { 1.0 } else { self.unlabelled };
        let mut sums = [0.0; 2];
        for rows in rows.chunks(self.most_rows()) {
            let log_p = match (class, &mut *groups) {
                (Some(class), [group]) => self.add_plain(group, batch, rows, class)?,
                (class, groups) => self.add_shared(groups, batch, rows, class)?,
            };
            for (log_p, &row) in log_p.iter().zip(rows) {
                let weight = factor * weight_of(batch, row);
                if weight > 0.0 {
                    sums = [sums[0] + weight * log_p, sums[1] + weight];
                }
            }
        }
        Ok(sums)
    }

    /// Scores rows of a class that are held out; Σ w log p(x | class) and Σ w are the result.
    fn score_held(&self, batch: &Batch<'_>, rows: &[u32], class: usize) -> Result<[f64; 2]> {
        let densities: Vec<&AnyDensity> = self.by_class[class].iter().collect();
        let groups = self.components.of_class(class).len();
        let mut sums = [0.0; 2];
        for rows in rows.chunks(self.most_rows()) {
            let mut scores = self.scores(&densities, batch, Rows::Index(rows), groups)?;
            for (log_p, &row) in self.components.share(class, &mut scores).iter().zip(rows) {
                let weight = weight_of(batch, row);
                if weight > 0.0 {
                    sums = [sums[0] + weight * log_p, sums[1] + weight];
                }
            }
        }
        Ok(sums)
    }
}

fn weight_of(batch: &Batch<'_>, row: u32) -> f64 {
    batch.row_weights().map_or(1.0, |weights| weights[row as usize])
}

impl Pass for Expect {
    const NAME: &'static str = "expect";
    type Statistic = Expected;

    fn empty(&self) -> Expected {
        let blocks: Vec<Block> = self.blocks.iter().map(|fitted| fitted.block.clone()).collect();
        Expected::empty(&blocks, self.components.groups())
    }

    fn size(&self) -> usize {
        let per_group: usize = self.blocks.iter().map(|fitted| fitted.block.size()).sum();
        per_group * self.components.groups()
    }

    fn observe(&self, expected: &mut Expected, batch: &Batch<'_>) -> Result<()> {
        let classes = self.components.classes();
        let labels = batch.labels_to_learn()?;
        let mut by_class = vec![Vec::new(); classes + 1];
        let mut held = by_class.clone();
        let is_held = Held::rows(self.held.as_ref(), batch);
        for (row, &class) in labels.iter().enumerate() {
            if class != MISSING && is_held(row) {
                held[class as usize].push(row as u32);
                continue;
            }
            let place = if class == MISSING { classes } else { class as usize };
            if let Some(rows) = by_class.get_mut(place) {
                rows.push(row as u32);
            }
        }
        // Each class has groups of its own, and their sums are joined in their order: threads change no bit.
        let mut own = Vec::with_capacity(classes);
        let mut rest = &mut expected.groups[..];
        for class in 0..classes {
            let groups;
            (groups, rest) = rest.split_at_mut(self.components.of_class(class).len());
            own.push((class, groups));
        }
        let of_class = |(class, groups)| {
            let (rows, held): (&Vec<u32>, &Vec<u32>) = (&by_class[class], &held[class]);
            Ok([self.add(groups, batch, rows, Some(class))?, self.score_held(batch, held, class)?])
        };
        let sums: Vec<Result<[[f64; 2]; 2]>> = own.into_par_iter().map(of_class).collect();
        for sums in sums {
            let [[log_likelihood, weight], [held_out, held_weight]] = sums?;
            expected.log_likelihood += log_likelihood;
            expected.weight += weight;
            expected.held_out += held_out;
            expected.held_weight += held_weight;
        }
        if self.unlabelled > 0.0 {
            let [log_likelihood, weight] = self.add(&mut expected.groups, batch, &by_class[classes], None)?;
            expected.log_likelihood += log_likelihood;
            expected.weight += weight;
        }
        Ok(())
    }
}

impl Stored for Expect {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.blocks.len(), self.unlabelled, &self.held))?;
        archive.put(&format!("{name}.log_prior"), &[self.log_prior.len()], &self.log_prior)?;
        self.components.store(archive, &format!("{name}.components"))?;
        for (b, fitted) in self.blocks.iter().enumerate() {
            fitted.store(archive, &format!("{name}.{b}"))?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (blocks, unlabelled, held): (usize, f64, Option<Held>) = archive.json(name)?;
        let components = Components::load(archive, &format!("{name}.components"))?;
        let log_prior = archive.get(&format!("{name}.log_prior"), &[components.classes()])?.to_vec();
        let mut loaded = Vec::new();
        for b in 0..blocks {
            let mut fitted = FittedBlock::load(archive, &format!("{name}.{b}"))?;
            if fitted.density.classes() != components.groups() {
                return Err(archive.damaged("the densities are not those of the groups"));
            }
            if let (AnyFamily::Gaussian(family), AnyDensity::Gaussian(density)) =
                (&mut fitted.block.family, &fitted.density)
            {
                *family = Gaussian::settled_as(family, density);
            }
            loaded.push(fitted);
        }
        Ok(Expect::new(loaded, components, log_prior, unlabelled, held))
    }
}

/// What the pass leaves.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Σ w log p(x, class) of labelled rows and Σ w log p(x) of the others.
    pub(super) log_likelihood: f64,
    /// Σ w
    pub(super) weight: f64,
    /// Σ w log p(x | class) of the rows that were held out.
    pub(super) held_out: f64,
    /// Σ w of them.
    pub(super) held_weight: f64,
    /// The statistics of each group.
    pub(super) groups: Vec<Group>,
}

impl Expected {
    pub(super) fn empty(blocks: &[Block], groups: usize) -> Self {
        let groups = vec![Group::empty(blocks); groups];
        Expected { log_likelihood: 0.0, weight: 0.0, held_out: 0.0, held_weight: 0.0, groups }
    }
}

impl Statistic for Expected {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("groups of the merged statistics", self.groups.len(), other.groups.len())?;
        self.log_likelihood += other.log_likelihood;
        self.weight += other.weight;
        self.held_out += other.held_out;
        self.held_weight += other.held_weight;
        self.groups.iter_mut().zip(&other.groups).try_for_each(|(a, b)| a.merge(b))
    }
}

impl Stored for Expected {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let sums = [self.log_likelihood, self.weight, self.held_out, self.held_weight];
        archive.put(&format!("{name}.sums"), &[4], &sums)?;
        archive.put_json(&format!("{name}.groups"), &self.groups.len())?;
        self.groups.iter().enumerate().try_for_each(|(g, group)| group.store(archive, &format!("{name}.{g}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let &[log_likelihood, weight, held_out, held_weight] = archive.get(&format!("{name}.sums"), &[4])? else {
            unreachable!("four values")
        };
        let count: usize = archive.json(&format!("{name}.groups"))?;
        let groups = (0..count).map(|g| Group::load(archive, &format!("{name}.{g}"))).collect::<Result<_>>()?;
        Ok(Expected { log_likelihood, weight, held_out, held_weight, groups })
    }
}
