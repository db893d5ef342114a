//! Where the components of a class begin: at clusters of its rows.
//!
//! A sample of each class's rows is clustered by k-means with the seeds of k-means++ (Arthur & Vassilvitskii
//! 2007), several times, and the tightest clusters are taken. One more pass assigns every row to the nearest
//! centre of its class. Rows are compared as points: numbers in standard deviations within classes, levels and
//! words as 1 in one of a few places, so that rows of any columns can be near or far.
//!
//! Rows are drawn by what they hold: those with the smallest keys ([`Contents`]), each with the number of rows equal to
//! it. A row that is among the smallest of all is so in every part, so that its count is complete. So the same rows give
//! the same clusters, to the last bit, in any order and however they are divided.

use std::cmp::Ordering;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Block;
use super::expect::Expected;
use crate::data::{Batch, Cells, Contents, Identity, MISSING, Rows, Tile, View};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::family::gaussian::Gaussian;
use crate::family::{AnyFamily, Assignment, Dealt};
use crate::file::{Archive, Stored};
use crate::numerics::{Random, hash, vectorised};
use crate::pass::Pass;
use crate::statistic::Statistic;
use crate::text::word_hash;

/// Different rows of each class that are clustered.
const SAMPLE: usize = 2000;
/// How often clusters are sought.
const RESTARTS: u64 = 5;
/// Steps of k-means.
const STEPS: usize = 25;
/// Rows that each cluster has at least, on average.
const ROWS_EACH: usize = 5;
/// Places for the levels of a category, and for the words of a text.
const LEVEL_PLACES: usize = 8;
const WORD_PLACES: usize = 32;

/// The clusters of the rows of each class that are not held out, at most `count` of them.
pub(super) fn clusters(
    blocks: &[Block],
    count: usize,
    seed: u64,
    held: Option<&Held>,
    engine: &dyn Engine,
) -> Result<Cluster> {
    let schema = engine.schema()?;
    let pass = Sample::new(blocks, schema.classes().len(), seed, Contents::of(&schema), held.cloned());
    let sample = engine.run(&pass)?;
    let scale = sample.scale(blocks)?;
    let centres = |(class, rows): (usize, &Vec<Drawn>)| {
        let points: Vec<(f64, Vec<f64>)> = rows.iter().map(|row| (row.rows, scaled(&row.point, &scale))).collect();
        let all: f64 = rows.iter().map(|row| row.rows).sum();
        let most = (all as usize / ROWS_EACH).clamp(1, count);
        // By its name: the order of classes may be that in which they turn up.
        let own = hash(seed, word_hash(schema.classes()[class].as_bytes()));
        let seeds = (0..RESTARTS).map(|restart| hash(own, restart));
        let found = seeds.map(|seed| k_means(&points, most, &mut Random::new(seed)));
        found.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(Vec::new(), |(_, centres)| centres)
    };
    let centres = sample.classes.par_iter().enumerate().map(centres).collect();
    let Sample { blocks, contents, held, .. } = pass;
    Ok(Cluster { blocks, contents, held, scale, centres })
}

/// One labelled row of so many is held out.
const HELD: u64 = 5;
/// Where rows of a class are equal, so many of them must differ, or rows are held out by their places.
const LEAST_DIFFERENT: usize = 100;

/// Which labelled rows are held out: drawn by what they hold, whatever their order. Where a class has but a few
/// different rows and many of each, all that are equal would go together, and a row is drawn by its place. Rows of a
/// group are drawn together, where the engine tells rows apart so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Held {
    seed: u64,
    contents: Option<Contents>,
    #[serde(default)]
    by: Identity,
}

impl Held {
    /// Looks at some rows of each class.
    pub fn new(blocks: &[Block], seed: u64, engine: &dyn Engine) -> Result<Self> {
        let schema = engine.schema()?;
        let sample = Sample::new(blocks, schema.classes().len(), seed, Contents::of(&schema), None);
        let differ = |rows: &Vec<Drawn>| rows.len() >= LEAST_DIFFERENT || rows.iter().all(|row| row.rows == 1.0);
        let by_content = engine.run(&sample)?.classes.iter().all(differ);
        let by = engine.identity();
        Ok(Held { seed, contents: (by_content && by != Identity::Group).then_some(sample.contents), by })
    }

    /// Says of each row of a batch whether it is held out.
    pub fn rows(held: Option<&Self>, batch: &Batch<'_>) -> impl Fn(usize) -> bool + use<> {
        let keys: Vec<u64> = match held {
            None => Vec::new(),
            Some(Held { seed, contents: Some(contents), .. }) => contents.keys(*seed, batch),
            Some(Held { seed, by: Identity::Group, .. }) => Identity::Group.draw(*seed, batch),
            Some(Held { seed, .. }) => Identity::Place.draw(*seed, batch),
        };
        move |row| keys.get(row).is_some_and(|key| key.is_multiple_of(HELD))
    }
}

/// The Gaussian blocks.
fn gaussians(blocks: &[Block]) -> impl Iterator<Item = (&Block, &Gaussian)> {
    blocks.iter().filter_map(|block| if let AnyFamily::Gaussian(f) = &block.family { Some((block, f)) } else { None })
}

/// Rows as points, row after row, those of Gaussian blocks first; missing numbers are NaN.
fn points(blocks: &[Block], contents: &Contents, batch: &Batch<'_>, rows: &[u32]) -> Result<Vec<Vec<f64>>> {
    let mut points = vec![Vec::new(); rows.len()];
    for (block, family) in gaussians(blocks) {
        block.with_cells(batch, Rows::Index(rows), |cells, _| {
            let mut tile = Tile::default();
            cells.read_numbers(&mut tile)?;
            family.apply_maps(&mut tile);
            for j in 0..tile.width() {
                points.iter_mut().zip(tile.column(j)).for_each(|(point, x)| point.push(*x));
            }
            Ok(())
        })?;
    }
    for block in blocks.iter().filter(|block| !matches!(block.family, AnyFamily::Gaussian(_))) {
        block.with_cells(batch, Rows::Index(rows), |cells, _| {
            (0..cells.width())
                .try_for_each(|j| add_places(cells, j, |code| contents.level(block.columns[j], code), &mut points))
        })?;
    }
    Ok(points)
}

/// The places of one column's cells; `named` is the hash of a level or word.
fn add_places(cells: &Cells<'_>, j: usize, named: impl Fn(u32) -> u64, points: &mut [Vec<f64>]) -> Result<()> {
    let add = |points: &mut [Vec<f64>], places: usize| points.iter_mut().for_each(|p| p.resize(p.len() + places, 0.0));
    match cells.view(j) {
        Some(View::Codes(_)) => {
            let mut codes = Vec::new();
            cells.read_codes(j, &mut codes)?;
            add(points, LEVEL_PLACES);
            for (point, &code) in points.iter_mut().zip(&codes).filter(|(_, code)| **code != MISSING) {
                let end = point.len();
                point[end - LEVEL_PLACES + (named(code) % LEVEL_PLACES as u64) as usize] = 1.0;
            }
        }
        Some(View::Sparse(sparse)) => {
            add(points, WORD_PLACES);
            sparse.for_each_row(cells.chosen(), |i, words, counts| {
                let place = points[i].len() - WORD_PLACES;
                // Counts first, which add up exactly in any order of the words.
                let (mut sums, mut squares) = ([0.0; WORD_PLACES], 0.0);
                for (&word, x) in words.iter().zip(counts).filter(|(_, x)| **x > 0.0) {
                    sums[(named(word) % WORD_PLACES as u64) as usize] += x;
                    squares += x * x;
                }
                let length = f64::sqrt(squares);
                points[i][place..]
                    .iter_mut()
                    .zip(sums)
                    .for_each(|(p, sum)| *p = if sum > 0.0 { sum / length } else { 0.0 });
            });
        }
        _ => {
            let mut tile = Tile::default();
            cells.column(j).read_numbers(&mut tile)?;
            points.iter_mut().zip(tile.column(0)).for_each(|(point, x)| point.push(*x));
        }
    }
    Ok(())
}

/// A point in standard deviations; where a number is missing, at the mean.
fn scaled(point: &[f64], scale: &[[f64; 2]]) -> Vec<f64> {
    let place = |(x, [mean, factor]): (&f64, &[f64; 2])| if x.is_nan() { 0.0 } else { (x - mean) * factor };
    point.iter().zip(scale).map(place).collect()
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The nearest centre, and how far it is.
fn nearest(point: &[f64], centres: &[Vec<f64>]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (k, centre) in centres.iter().enumerate() {
        let distance = squared_distance(point, centre);
        if distance < best.1 {
            best = (k, distance);
        }
    }
    best
}

/// Points in lanes: a coordinate of eight points after the other, so that their distances are made together, each
/// in the order of its coordinates.
struct InLanes {
    /// `(block·width + coordinate)`, of eight points each; behind the last point are zeros.
    blocks: Vec<[f64; LANES]>,
    width: usize,
    points: usize,
}

const LANES: usize = 8;

impl InLanes {
    fn new(points: &[(f64, Vec<f64>)]) -> Self {
        let width = points.first().map_or(0, |(_, point)| point.len());
        let mut blocks = vec![[0.0; LANES]; points.len().div_ceil(LANES) * width];
        for (i, (_, point)) in points.iter().enumerate() {
            let own = &mut blocks[i / LANES * width..][..width];
            own.iter_mut().zip(point).for_each(|(lanes, x)| lanes[i % LANES] = *x);
        }
        InLanes { blocks, width, points: points.len() }
    }

    /// The squared distance of each point from a centre.
    fn squared_distances(&self, centre: &[f64]) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.points + LANES);
        // Points without coordinates are all equal.
        vectorised!(for block in self.blocks.chunks_exact(self.width.max(1)) {
            all.extend_from_slice(&distances(block, centre));
        });
        all.resize(self.points, 0.0);
        all
    }

    /// The nearest centre of each point, and how far it is.
    fn nearest(&self, centres: &[Vec<f64>]) -> Vec<(usize, f64)> {
        let mut all = Vec::with_capacity(self.points + LANES);
        vectorised!(for block in self.blocks.chunks_exact(self.width.max(1)) {
            let (mut places, mut least) = ([0u64; LANES], [f64::INFINITY; LANES]);
            for (k, centre) in centres.iter().enumerate() {
                let distances = distances(block, centre);
                for i in 0..LANES {
                    let is_less = distances[i] < least[i];
                    places[i] = if is_less { k as u64 } else { places[i] };
                    least[i] = if is_less { distances[i] } else { least[i] };
                }
            }
            all.extend(places.iter().zip(least).map(|(place, least)| (*place as usize, least)));
        });
        all.resize(self.points, (0, 0.0));
        all
    }
}

#[inline(always)]
fn distances(block: &[[f64; LANES]], centre: &[f64]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (x, c) in block.iter().zip(centre) {
        for i in 0..LANES {
            sums[i] += (x[i] - c) * (x[i] - c);
        }
    }
    sums
}

/// Centres of at most `count` clusters of points, each of so many rows, and the sum of squared distances to them.
fn k_means(points: &[(f64, Vec<f64>)], count: usize, random: &mut Random) -> (f64, Vec<Vec<f64>>) {
    let Some(width) = points.first().map(|(_, point)| point.len()) else { return (0.0, Vec::new()) };
    let rows: Vec<f64> = points.iter().map(|(rows, _)| *rows).collect();
    let in_lanes = InLanes::new(points);
    let mut centres = vec![points[random.pick(&rows)].1.clone()];
    // For all rows of a point.
    let distances =
        |centre: &[f64]| in_lanes.squared_distances(centre).into_iter().zip(&rows).map(|(d, rows)| rows * d);
    let mut least: Vec<f64> = distances(&centres[0]).collect();
    while centres.len() < count && least.iter().any(|d| *d > 0.0) {
        let next = points[random.pick(&least)].1.clone();
        least.iter_mut().zip(distances(&next)).for_each(|(d, other)| *d = d.min(other));
        centres.push(next);
    }
    let mut inertia = f64::INFINITY;
    for _ in 0..STEPS {
        let mut sums = vec![(0.0, vec![0.0; width]); centres.len()];
        let mut total = 0.0;
        for ((rows, point), (k, distance)) in points.iter().zip(in_lanes.nearest(&centres)) {
            total += rows * distance;
            sums[k].0 += rows;
            sums[k].1.iter_mut().zip(point).for_each(|(sum, x)| *sum += rows * x);
        }
        for (centre, (rows, sum)) in centres.iter_mut().zip(sums).filter(|(_, (rows, _))| *rows > 0.0) {
            *centre = sum.into_iter().map(|x| x / rows).collect();
        }
        if total >= inertia * (1.0 - 1e-6) {
            break;
        }
        inertia = total;
    }
    (inertia, centres)
}

/// The pass that draws rows of each class: those with the smallest keys.
#[derive(Clone, Debug)]
pub struct Sample {
    blocks: Vec<Block>,
    classes: usize,
    seed: u64,
    contents: Contents,
    held: Option<Held>,
}

impl Sample {
    fn new(blocks: &[Block], classes: usize, seed: u64, contents: Contents, held: Option<Held>) -> Self {
        Sample { blocks: blocks.to_vec(), classes, seed, contents, held }
    }
}

/// A row that was drawn.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    key: u64,
    /// How many rows are equal to it, itself included.
    rows: f64,
    point: Vec<f64>,
}

impl Drawn {
    /// By key; numbers of equal rows may differ in their last digits after a projection.
    fn order(&self, other: &Self) -> Ordering {
        let numbers = || {
            let pairs = self.point.iter().zip(&other.point);
            pairs.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        self.key.cmp(&other.key).then_with(numbers)
    }
}

/// The different rows that were drawn of each class, by ascending key.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    classes: Vec<Vec<Drawn>>,
}

impl Sampled {
    fn add(&mut self, class: usize, mut drawn: Vec<Drawn>) {
        if self.classes.len() <= class {
            self.classes.resize(class + 1, Vec::new());
        }
        let rows = &mut self.classes[class];
        rows.append(&mut drawn);
        rows.sort_by(Drawn::order);
        rows.dedup_by(|row, first| {
            let is_equal = row.key == first.key;
            first.rows += if is_equal { row.rows } else { 0.0 };
            is_equal
        });
        rows.truncate(SAMPLE);
    }

    /// The mean of each place and one over its standard deviation within classes. The places of a block that
    /// is mapped first keep their proportions.
    fn scale(&self, blocks: &[Block]) -> Result<Vec<[f64; 2]>> {
        let rows = || self.classes.iter().flatten();
        let Some(width) = rows().next().map(|row| row.point.len()) else {
            return Err(Error::Classes("there are no labelled rows to learn from".into()));
        };
        let mean_of = |rows: &mut dyn Iterator<Item = &Drawn>, j: usize| {
            let known = rows.map(|row| (row.rows, row.point[j])).filter(|(_, x)| !x.is_nan());
            let (sum, count) = known.fold((0.0, 0.0), |(s, n), (rows, x)| (s + rows * x, n + rows));
            if count > 0.0 { sum / count } else { 0.0 }
        };
        let mut variances = Vec::with_capacity(width);
        for j in 0..width {
            let (mut sum, mut count) = (0.0, 0.0);
            for class in &self.classes {
                let mean = mean_of(&mut class.iter(), j);
                for (rows, x) in class.iter().map(|row| (row.rows, row.point[j])).filter(|(_, x)| !x.is_nan()) {
                    sum += rows * (x - mean) * (x - mean);
                    count += rows;
                }
            }
            variances.push(if count > 0.0 { sum / count } else { 0.0 });
        }
        let mut start = 0;
        for (block, family) in gaussians(blocks) {
            if let Some(mapped) = family.mapped_width() {
                let own = &mut variances[start..start + mapped];
                let mean = own.iter().sum::<f64>() / mapped as f64;
                own.fill(mean);
                start += mapped;
            } else {
                start += block.columns.len();
            }
        }
        let factor = |variance: f64| if variance > 0.0 && variance.is_finite() { variance.sqrt().recip() } else { 0.0 };
        Ok((0..width).map(|j| [mean_of(&mut rows(), j), factor(variances[j])]).collect())
    }
}

impl Statistic for Sampled {
    fn merge(&mut self, other: &Self) -> Result<()> {
        other.classes.iter().enumerate().for_each(|(class, rows)| self.add(class, rows.clone()));
        Ok(())
    }
}

impl Pass for Sample {
    const NAME: &'static str = "sample";
    type Statistic = Sampled;

    fn empty(&self) -> Sampled {
        Sampled { classes: vec![Vec::new(); self.classes] }
    }

    fn size(&self) -> usize {
        let width: usize = self.blocks.iter().map(|block| block.columns.len()).sum();
        8 * SAMPLE * self.classes * width
    }

    fn observe(&self, sampled: &mut Sampled, batch: &Batch<'_>) -> Result<()> {
        let labels = batch.labels_to_learn()?;
        let (is_held, keys) = (Held::rows(self.held.as_ref(), batch), self.contents.keys(self.seed, batch));
        let mut by_class: Vec<Vec<u32>> = vec![Vec::new(); self.classes];
        for (row, &class) in labels.iter().enumerate().filter(|(_, class)| **class != MISSING) {
            let weighs = batch.row_weights().is_none_or(|w| w[row] > 0.0) && !is_held(row);
            let (class, rows) = (class as usize, sampled.classes.get(class as usize));
            let last = rows.filter(|rows| rows.len() == SAMPLE).and_then(|rows| rows.last());
            if weighs && class < self.classes && last.is_none_or(|last| keys[row] <= last.key) {
                by_class[class].push(row as u32);
            }
        }
        for (class, rows) in by_class.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let points = points(&self.blocks, &self.contents, batch, &rows)?;
            let drawn =
                rows.iter().zip(points).map(|(&row, point)| Drawn { key: keys[row as usize], rows: 1.0, point });
            sampled.add(class, drawn.collect());
        }
        Ok(())
    }
}

impl Stored for Sample {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.blocks.len(), self.classes, self.seed, &self.contents, &self.held))?;
        self.blocks.iter().enumerate().try_for_each(|(b, block)| block.store(archive, &format!("{name}.block{b}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (blocks, classes, seed, contents, held): (usize, usize, u64, Contents, Option<Held>) =
            archive.json(name)?;
        let blocks = (0..blocks).map(|b| Block::load(archive, &format!("{name}.block{b}"))).collect::<Result<_>>()?;
        Ok(Sample { blocks, classes, seed, contents, held })
    }
}

impl Stored for Sampled {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let key = |row: &Drawn| (row.key, row.rows);
        let keys: Vec<Vec<(u64, f64)>> = self.classes.iter().map(|rows| rows.iter().map(key).collect()).collect();
        archive.put_json(name, &keys)?;
        for (class, rows) in self.classes.iter().enumerate() {
            let points: Vec<f64> = rows.iter().flat_map(|row| row.point.iter().copied()).collect();
            archive.put_json(&format!("{name}.length{class}"), &points.len())?;
            archive.put(&format!("{name}.points{class}"), &[points.len()], &points)?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let keys: Vec<Vec<(u64, f64)>> = archive.json(name)?;
        let mut classes = Vec::new();
        for (class, keys) in keys.into_iter().enumerate() {
            let length: usize = archive.json(&format!("{name}.length{class}"))?;
            let points = archive.get(&format!("{name}.points{class}"), &[length])?;
            let width = length / keys.len().max(1);
            let rows = keys.into_iter().zip(points.chunks_exact(width.max(1)));
            classes.push(rows.map(|((key, rows), point)| Drawn { key, rows, point: point.to_vec() }).collect());
        }
        Ok(Sampled { classes })
    }
}

/// The pass that assigns each row to the nearest centre of its class.
#[derive(Clone, Debug)]
pub struct Cluster {
    blocks: Vec<Block>,
    contents: Contents,
    held: Option<Held>,
    scale: Vec<[f64; 2]>,
    /// Of each class.
    centres: Vec<Vec<Vec<f64>>>,
}

impl Cluster {
    /// How many clusters each class has.
    pub(super) fn counts(&self) -> Vec<usize> {
        self.centres.iter().map(|centres| centres.len().max(1)).collect()
    }
}

impl Pass for Cluster {
    const NAME: &'static str = "cluster";
    type Statistic = Expected;

    fn empty(&self) -> Expected {
        Expected::empty(&self.blocks, self.counts().into_iter().sum())
    }

    fn size(&self) -> usize {
        let per_group: usize = self.blocks.iter().map(|block| block.size()).sum();
        per_group * self.counts().iter().sum::<usize>()
    }

    fn observe(&self, expected: &mut Expected, batch: &Batch<'_>) -> Result<()> {
        let labels = batch.labels_to_learn()?;
        let is_held = Held::rows(self.held.as_ref(), batch);
        let is_taken = |row: &u32| labels[*row as usize] != MISSING && !is_held(*row as usize);
        let numbers: Vec<u32> = (0..labels.len() as u32).filter(is_taken).collect();
        let starts: Vec<usize> =
            self.counts().iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect();
        let points = points(&self.blocks, &self.contents, batch, &numbers)?;
        let group = |(point, &row): (&Vec<f64>, &u32)| {
            let class = labels[row as usize] as usize;
            (starts[class] + nearest(&scaled(point, &self.scale), &self.centres[class]).0) as u32
        };
        let groups: Vec<u32> = points.iter().zip(&numbers).map(group).collect();
        for (&row, &group) in numbers.iter().zip(&groups) {
            let group = &mut expected.groups[group as usize];
            group.rows += 1.0;
            group.weight += batch.row_weights().map_or(1.0, |w| w[row as usize]);
        }
        let dealt = Dealt::new(groups.into(), expected.groups.len());
        for (b, block) in self.blocks.iter().enumerate() {
            let mut statistics: Vec<_> = expected.groups.iter_mut().map(|group| &mut group.blocks[b]).collect();
            block.observe(&mut statistics, batch, Rows::Index(&numbers), Assignment::Hard(&dealt), None)?;
        }
        Ok(())
    }
}

impl Stored for Cluster {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.blocks.len(), &self.contents, &self.held, &self.scale, &self.centres))?;
        self.blocks.iter().enumerate().try_for_each(|(b, block)| block.store(archive, &format!("{name}.block{b}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        type Parts = (usize, Contents, Option<Held>, Vec<[f64; 2]>, Vec<Vec<Vec<f64>>>);
        let (blocks, contents, held, scale, centres): Parts = archive.json(name)?;
        let blocks = (0..blocks).map(|b| Block::load(archive, &format!("{name}.block{b}"))).collect::<Result<_>>()?;
        Ok(Cluster { blocks, contents, held, scale, centres })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Kind, Schema};
    use crate::engine::Memory;
    use crate::pass::{ErasedPass, ErasedStatistic, pass_to_bytes};
    use crate::registry::accumulator;

    #[test]
    fn clusters_that_lie_apart_are_found() {
        let mut random = Random::new(3);
        let corners = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]];
        let point = |i: usize| (1.0, corners[i % 4].map(|x| x + random.normal()).to_vec());
        let points: Vec<(f64, Vec<f64>)> = (0..400).map(point).collect();
        let best = (0..RESTARTS).map(|seed| k_means(&points, 4, &mut Random::new(seed)));
        let (inertia, centres) = best.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        // Two squared normal numbers a row.
        assert!((inertia / 400.0 - 2.0).abs() < 0.3, "{inertia}");
        assert!(corners.iter().all(|corner| nearest(corner, &centres).1 < 0.1));
    }

    /// The clusters of rows of two classes: numbers, a category and a few equal rows, in the order `order`.
    fn clusters_of(order: &[usize], levels: [&str; 3], parts: usize) -> (Vec<[f64; 2]>, Vec<Vec<Vec<f64>>>) {
        let mut random = Random::new(5);
        let rows: Vec<([f64; 2], usize, u32)> = (0..order.len())
            .map(|i| ([random.normal() + 4.0 * (i % 3) as f64, random.normal()], i % 3, (i / 3 % 2) as u32))
            .collect();
        // Every seventh row is one of ten.
        let rows: Vec<_> = (0..rows.len()).map(|i| rows[if i % 7 == 0 { i % 10 } else { i }]).collect();
        let numbers: Vec<f64> = order.iter().flat_map(|&i| rows[i].0).collect();
        let names = ["red", "green", "blue"];
        let code = |i: &usize| levels.iter().position(|level| *level == names[rows[*i].1]).unwrap() as u32;
        let codes: Vec<u32> = order.iter().map(code).collect();
        let classes: Vec<u32> = order.iter().map(|&i| rows[i].2).collect();
        let kind = Kind::Category;
        let colour = Column { name: "colour".into(), kind, levels: levels.map(String::from).to_vec() };
        let columns = vec![Column::number("x"), Column::number("y"), colour];
        let schema = Schema::new(columns.clone(), "class", vec!["a".into(), "b".into()]).unwrap();
        let batch = Batch::new(order.len()).row_major(&numbers[..], 2).unwrap().codes(&codes).unwrap();
        let batch = batch.classes(&classes).unwrap();
        let gaussian = Block::new(vec![0, 1], &columns, AnyFamily::Gaussian(Gaussian::default()));
        let categorical = Block::new(vec![2], &columns, AnyFamily::named("categorical").unwrap());
        let blocks = [gaussian, categorical];
        let engine = Parts { engine: Memory::new(schema, batch.clone()).unwrap(), batch, parts };
        let held = Held::new(&blocks, 3, &engine).unwrap();
        let found = clusters(&blocks, 3, 3, Some(&held), &engine).unwrap();
        (found.scale, found.centres)
    }

    /// Rows in several parts, each a memory of its own, merged as bytes.
    struct Parts<'a> {
        engine: Memory<'a>,
        batch: Batch<'a>,
        parts: usize,
    }

    impl Engine for Parts<'_> {
        fn collect(&self, pass: &dyn ErasedPass) -> Result<ErasedStatistic> {
            let bytes = pass_to_bytes(pass)?;
            let mut whole = accumulator(&bytes)?;
            let size = self.batch.rows().div_ceil(self.parts);
            for part in 0..self.parts {
                let mut own = accumulator(&bytes)?;
                own.observe(&self.batch.slice(part * size..(part + 1) * size))?;
                whole.merge(&own.state()?)?;
            }
            Ok(whole.finish())
        }

        fn schema(&self) -> Result<Schema> {
            self.engine.schema()
        }
    }

    /// More rows of a class than are drawn.
    #[test]
    fn clusters_depend_on_what_rows_hold_and_not_on_their_order_parts_or_codes() {
        for rows in [300, 3 * SAMPLE] {
            let order: Vec<usize> = (0..rows).collect();
            let first = clusters_of(&order, ["red", "green", "blue"], 1);
            assert!(first.1.iter().all(|centres| centres.len() == 3));
            let mut mixed = Vec::new();
            Random::new(1).permutation(rows as u32, &mut mixed);
            let mixed: Vec<usize> = mixed.into_iter().map(|i| i as usize).collect();
            assert_eq!(first, clusters_of(&order, ["red", "green", "blue"], 7));
            assert_eq!(first, clusters_of(&mixed, ["red", "green", "blue"], 1));
            assert_eq!(first, clusters_of(&mixed, ["blue", "red", "green"], 5));
        }
    }

    #[test]
    fn equal_points_are_one_cluster() {
        let points = vec![(1.0, vec![1.0, 2.0]); 7];
        let (inertia, centres) = k_means(&points, 3, &mut Random::new(1));
        assert_eq!((inertia, centres.len()), (0.0, 1));
    }
}
