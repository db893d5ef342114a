//! Where the components of a class begin: at clusters of its rows.
//!
//! A sample of each class's rows is clustered by k-means with the seeds of k-means++ (Arthur & Vassilvitskii
//! 2007), several times, and the tightest clusters are taken. One more pass assigns every row to the nearest
//! centre of its class. Rows are compared as points: numbers in standard deviations within classes, levels and
//! words as 1 in one of a few places, so that rows of any columns can be near or far.

use rayon::prelude::*;

use super::Block;
use super::expect::{Expected, is_held};
use crate::data::{Batch, Cells, MISSING, Rows, Tile, View};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::family::gaussian::Gaussian;
use crate::family::{AnyFamily, Assignment, Dealt};
use crate::file::{Archive, Stored};
use crate::numerics::{Random, hash};
use crate::pass::Pass;
use crate::statistic::Statistic;

/// Rows of each class that are clustered.
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

/// The clusters of the rows of each class, at most `count` of them; with a seed in `held`, of rows that are not
/// held out.
pub(super) fn clusters(
    blocks: &[Block],
    count: usize,
    seed: u64,
    held: Option<u64>,
    engine: &dyn Engine,
) -> Result<Cluster> {
    let classes = engine.schema()?.classes().len();
    let sample = engine.run(&Sample { blocks: blocks.to_vec(), classes, seed, held })?;
    let scale = sample.scale(blocks)?;
    let centres = |(class, rows): (usize, &Vec<Drawn>)| {
        let points: Vec<Vec<f64>> = rows.iter().map(|row| scaled(&row.point, &scale)).collect();
        let most = (points.len() / ROWS_EACH).clamp(1, count);
        let seeds = (0..RESTARTS).map(|restart| hash(hash(seed, class as u64), restart));
        let found = seeds.map(|seed| k_means(&points, most, &mut Random::new(seed)));
        found.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(Vec::new(), |(_, centres)| centres)
    };
    let centres = sample.classes.par_iter().enumerate().map(centres).collect();
    Ok(Cluster { blocks: blocks.to_vec(), held, scale, centres })
}

/// The Gaussian blocks.
fn gaussians(blocks: &[Block]) -> impl Iterator<Item = (&Block, &Gaussian)> {
    blocks.iter().filter_map(|block| if let AnyFamily::Gaussian(f) = &block.family { Some((block, f)) } else { None })
}

/// Rows as points, row after row, those of Gaussian blocks first; missing numbers are NaN.
fn points(blocks: &[Block], batch: &Batch<'_>, rows: &[u32]) -> Result<Vec<Vec<f64>>> {
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
            (0..cells.width()).try_for_each(|j| add_places(cells, j, &mut points))
        })?;
    }
    Ok(points)
}

/// The places of one column's cells.
fn add_places(cells: &Cells<'_>, j: usize, points: &mut [Vec<f64>]) -> Result<()> {
    let add = |points: &mut [Vec<f64>], places: usize| points.iter_mut().for_each(|p| p.resize(p.len() + places, 0.0));
    match cells.view(j) {
        Some(View::Codes(_)) => {
            let mut codes = Vec::new();
            cells.read_codes(j, &mut codes)?;
            add(points, LEVEL_PLACES);
            for (point, &code) in points.iter_mut().zip(&codes).filter(|(_, code)| **code != MISSING) {
                let end = point.len();
                point[end - LEVEL_PLACES + code as usize % LEVEL_PLACES] = 1.0;
            }
        }
        Some(View::Sparse(sparse)) => {
            add(points, WORD_PLACES);
            sparse.for_each_row(cells.chosen(), |i, words, counts| {
                let length = counts.iter().map(|x| x * x).sum::<f64>().sqrt();
                let place = points[i].len() - WORD_PLACES;
                for (&word, x) in words.iter().zip(counts).filter(|(_, x)| **x > 0.0) {
                    points[i][place + (hash(0, u64::from(word)) % WORD_PLACES as u64) as usize] += x / length;
                }
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

/// Centres of at most `count` clusters, and the sum of squared distances to them.
fn k_means(points: &[Vec<f64>], count: usize, random: &mut Random) -> (f64, Vec<Vec<f64>>) {
    let Some(width) = points.first().map(Vec::len) else { return (0.0, Vec::new()) };
    let mut centres = vec![points[random.below(points.len() as u64) as usize].clone()];
    let mut distances: Vec<f64> = points.iter().map(|point| squared_distance(point, &centres[0])).collect();
    while centres.len() < count && distances.iter().any(|d| *d > 0.0) {
        let next = points[random.pick(&distances)].clone();
        distances.iter_mut().zip(points).for_each(|(d, point)| *d = d.min(squared_distance(point, &next)));
        centres.push(next);
    }
    let mut inertia = f64::INFINITY;
    for _ in 0..STEPS {
        let mut sums = vec![(0.0, vec![0.0; width]); centres.len()];
        let mut total = 0.0;
        for point in points {
            let (k, distance) = nearest(point, &centres);
            total += distance;
            sums[k].0 += 1.0;
            sums[k].1.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
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

/// The pass that draws rows of each class: those whose places hash to the smallest numbers.
#[derive(Clone, Debug)]
pub struct Sample {
    blocks: Vec<Block>,
    classes: usize,
    seed: u64,
    held: Option<u64>,
}

/// A row that was drawn.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    key: u64,
    point: Vec<f64>,
}

/// The rows that were drawn of each class, by ascending key.
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
        rows.sort_by_key(|row| row.key);
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
            let (sum, count) =
                rows.map(|row| row.point[j]).filter(|x| !x.is_nan()).fold((0.0, 0.0), |(s, n), x| (s + x, n + 1.0));
            if count > 0.0 { sum / count } else { 0.0 }
        };
        let mut variances = Vec::with_capacity(width);
        for j in 0..width {
            let (mut sum, mut count) = (0.0, 0.0);
            for class in &self.classes {
                let mean = mean_of(&mut class.iter(), j);
                for x in class.iter().map(|row| row.point[j]).filter(|x| !x.is_nan()) {
                    sum += (x - mean) * (x - mean);
                    count += 1.0;
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
        let mut by_class: Vec<Vec<(u64, u32)>> = vec![Vec::new(); self.classes];
        for (row, &class) in labels.iter().enumerate().filter(|(_, class)| **class != MISSING) {
            let weighs = batch.row_weights().is_none_or(|w| w[row] > 0.0) && !is_held(self.held, batch, row);
            let key = hash(self.seed, batch.row_number(row));
            let (class, rows) = (class as usize, sampled.classes.get(class as usize));
            let last = rows.filter(|rows| rows.len() == SAMPLE).and_then(|rows| rows.last());
            if weighs && class < self.classes && last.is_none_or(|last| key < last.key) {
                by_class[class].push((key, row as u32));
            }
        }
        for (class, mut drawn) in by_class.into_iter().enumerate().filter(|(_, drawn)| !drawn.is_empty()) {
            drawn.sort_unstable();
            drawn.truncate(SAMPLE);
            let rows: Vec<u32> = drawn.iter().map(|(_, row)| *row).collect();
            let points = points(&self.blocks, batch, &rows)?;
            sampled.add(class, drawn.into_iter().zip(points).map(|((key, _), point)| Drawn { key, point }).collect());
        }
        Ok(())
    }
}

impl Stored for Sample {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.blocks.len(), self.classes, self.seed, self.held))?;
        self.blocks.iter().enumerate().try_for_each(|(b, block)| block.store(archive, &format!("{name}.block{b}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (blocks, classes, seed, held): (usize, usize, u64, Option<u64>) = archive.json(name)?;
        let blocks = (0..blocks).map(|b| Block::load(archive, &format!("{name}.block{b}"))).collect::<Result<_>>()?;
        Ok(Sample { blocks, classes, seed, held })
    }
}

impl Stored for Sampled {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let keys: Vec<Vec<u64>> = self.classes.iter().map(|rows| rows.iter().map(|row| row.key).collect()).collect();
        archive.put_json(name, &keys)?;
        for (class, rows) in self.classes.iter().enumerate() {
            let points: Vec<f64> = rows.iter().flat_map(|row| row.point.iter().copied()).collect();
            archive.put_json(&format!("{name}.length{class}"), &points.len())?;
            archive.put(&format!("{name}.points{class}"), &[points.len()], &points)?;
        }
        Ok(())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let keys: Vec<Vec<u64>> = archive.json(name)?;
        let mut classes = Vec::new();
        for (class, keys) in keys.into_iter().enumerate() {
            let length: usize = archive.json(&format!("{name}.length{class}"))?;
            let points = archive.get(&format!("{name}.points{class}"), &[length])?;
            let width = length / keys.len().max(1);
            let rows = keys.into_iter().zip(points.chunks_exact(width.max(1)));
            classes.push(rows.map(|(key, point)| Drawn { key, point: point.to_vec() }).collect());
        }
        Ok(Sampled { classes })
    }
}

/// The pass that assigns each row to the nearest centre of its class.
#[derive(Clone, Debug)]
pub struct Cluster {
    blocks: Vec<Block>,
    held: Option<u64>,
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
        let is_taken = |row: &u32| labels[*row as usize] != MISSING && !is_held(self.held, batch, *row as usize);
        let numbers: Vec<u32> = (0..labels.len() as u32).filter(is_taken).collect();
        let starts: Vec<usize> =
            self.counts().iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect();
        let points = points(&self.blocks, batch, &numbers)?;
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
        archive.put_json(name, &(self.blocks.len(), self.held, &self.scale, &self.centres))?;
        self.blocks.iter().enumerate().try_for_each(|(b, block)| block.store(archive, &format!("{name}.block{b}")))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        type Parts = (usize, Option<u64>, Vec<[f64; 2]>, Vec<Vec<Vec<f64>>>);
        let (blocks, held, scale, centres): Parts = archive.json(name)?;
        let blocks = (0..blocks).map(|b| Block::load(archive, &format!("{name}.block{b}"))).collect::<Result<_>>()?;
        Ok(Cluster { blocks, held, scale, centres })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_that_lie_apart_are_found() {
        let mut random = Random::new(3);
        let corners = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]];
        let points: Vec<Vec<f64>> = (0..400).map(|i| corners[i % 4].map(|x| x + random.normal()).to_vec()).collect();
        let best = (0..RESTARTS).map(|seed| k_means(&points, 4, &mut Random::new(seed)));
        let (inertia, centres) = best.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        // Two squared normal numbers a row.
        assert!((inertia / 400.0 - 2.0).abs() < 0.3, "{inertia}");
        assert!(corners.iter().all(|corner| nearest(corner, &centres).1 < 0.1));
    }

    #[test]
    fn equal_points_are_one_cluster() {
        let points = vec![vec![1.0, 2.0]; 7];
        let (inertia, centres) = k_means(&points, 3, &mut Random::new(1));
        assert_eq!((inertia, centres.len()), (0.0, 1));
    }
}
