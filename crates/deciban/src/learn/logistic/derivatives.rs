//! The pass of every linear model: −log-likelihood of the labels, its gradient and, if asked for, its
//! Hessian, at the weights θ that the pass carries.
//!
//! With residuals rᵢₖ = ∂ℓᵢ/∂zₖ and curvatures cᵢ = ∂²ℓᵢ/∂z²:  ∇ = Xᵀr,  H = Xᵀ diag(c) X.
//! Two classes have one output, z = log-odds of the second, through a [`Link`]; more have one
//! output per class through the softmax, whose curvature is bounded by ½ in every direction
//! (Böhning 1992): ½ XᵀX is one block that serves all classes. The exact Hessian has a block
//! Xᵀ diag(pₐ([a=b] − p_b)) X for every two classes. A Hessian that only points the way may be that of
//! every so many tiles of rows ([`Differentiate::every`]): in its place, weight/curved times it is used.
//! Likewise for the value and the gradient, where the pass is to look at these tiles alone.

use serde::{Deserialize, Serialize};

use super::features::Features;
use super::link::Link;
use super::rowset::{Design, Rowset};
use crate::data::{Batch, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::minimise::Curvature;
use crate::numerics::{Matrix, add_gram_of_blocks, dot, lanes, vectorised};
use crate::pass::Pass;
use crate::statistic::Statistic;

/// A sweep at the weights θ.
#[derive(Clone, Debug)]
pub struct Differentiate {
    /// How columns become features.
    pub features: Features,
    /// The number of classes.
    pub classes: usize,
    /// The link, for two classes.
    pub link: Link,
    /// Weights, `outputs` per feature, the intercept last.
    pub theta: Vec<f64>,
    /// What to compute of the Hessian.
    pub curvature: Curvature,
    /// The Hessian is that of every so many tiles of rows; 1 is all of them.
    pub every: usize,
    /// Whether the value and the gradient are those of the same tiles; otherwise they are those of all rows.
    pub is_sample: bool,
}

/// How many scores a row has.
pub fn outputs(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

#[derive(Serialize, Deserialize)]
struct Shape {
    classes: usize,
    link: Link,
    curvature: Curvature,
    every: usize,
    is_sample: bool,
}

impl Stored for Differentiate {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let Differentiate { classes, link, curvature, every, is_sample, .. } = *self;
        let shape = Shape { classes, link, curvature, every, is_sample };
        archive.put_json(name, &shape)?;
        self.features.store_unnamed(archive, &format!("{name}.features"))?;
        archive.put(&format!("{name}.theta"), &[self.theta.len()], &self.theta)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let Shape { classes, link, curvature, every, is_sample } = archive.json(name)?;
        let features = Features::load_unnamed(archive, &format!("{name}.features"))?;
        let length = (features.len() + 1) * outputs(classes);
        let theta = archive.finite(&format!("{name}.theta"), &[length])?.to_vec();
        Ok(Differentiate { features, classes, link, theta, curvature, every, is_sample })
    }
}

/// −log-likelihood and its derivatives, summed over rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivatives {
    /// Σ of the weights of labelled rows.
    pub weight: f64,
    /// −Σ w ln p(label | row).
    pub loss: f64,
    /// Its gradient.
    pub gradient: Vec<f64>,
    /// Σ of the weights of the rows in the Hessian.
    pub curved: f64,
    /// What was asked of its Hessian; lower triangle, diagonal, or empty.
    pub hessian: Matrix,
    /// The least margin of a row: z of its class less the best other; positive if all are right.
    pub margin: f64,
}

impl Derivatives {
    /// Makes sums over some of the rows stand for those over rows of this weight.
    pub fn scale_to(&mut self, weight: f64) {
        let share = |seen: f64| if seen > 0.0 { weight / seen } else { 1.0 };
        let (of_seen, of_curved) = (share(self.weight), share(self.curved));
        self.loss *= of_seen;
        self.gradient.iter_mut().for_each(|g| *g *= of_seen);
        self.hessian.data_mut().iter_mut().for_each(|h| *h *= of_curved);
    }
}

impl Statistic for Derivatives {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("weights of the merged derivatives", self.gradient.len(), other.gradient.len())?;
        self.weight += other.weight;
        self.curved += other.curved;
        self.loss += other.loss;
        self.margin = self.margin.min(other.margin);
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.hessian.data_mut().iter_mut().zip(other.hessian.data()).for_each(|(a, b)| *a += b);
        Ok(())
    }
}

impl Stored for Derivatives {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let (rows, columns) = (self.hessian.rows(), self.hessian.columns());
        archive.put_json(name, &(self.gradient.len(), rows, columns))?;
        archive.put(&format!("{name}.sums"), &[4], &[self.weight, self.loss, self.margin, self.curved])?;
        archive.put(&format!("{name}.gradient"), &[self.gradient.len()], &self.gradient)?;
        archive.put(&format!("{name}.hessian"), &[rows, columns], self.hessian.data())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (length, rows, columns): (usize, usize, usize) = archive.json(name)?;
        let &[weight, loss, margin, curved] = archive.get(&format!("{name}.sums"), &[4])? else {
            unreachable!("four values")
        };
        let gradient = archive.get(&format!("{name}.gradient"), &[length])?.to_vec();
        let hessian = archive.get(&format!("{name}.hessian"), &[rows, columns])?.to_vec();
        let hessian = Matrix::from_columns(rows, columns, hessian);
        Ok(Derivatives { weight, loss, margin, curved, gradient, hessian })
    }
}

impl Differentiate {
    /// Rows and columns of what is computed of the Hessian.
    fn hessian_size(&self) -> (usize, usize) {
        match self.curvature {
            Curvature::None => (0, 0),
            Curvature::Diagonal => (self.theta.len(), 1),
            Curvature::Bound => (self.features.len() + 1, self.features.len() + 1),
            Curvature::Exact => (self.theta.len(), self.theta.len()),
        }
    }

    /// Whether the tile is one of those that make the Hessian.
    fn is_drawn(&self, tile: usize) -> bool {
        tile.is_multiple_of(self.every.max(1))
    }

    /// Reads a batch in tiles: calls `body` with the number of the tile, its rows, their scores, labels
    /// and weights; a row without a label has the weight 0.
    fn tiles(
        &self,
        batch: &Batch<'_>,
        mut body: impl FnMut(usize, &dyn Design, &mut Tile, &[u32], &[f64]) -> Result<()>,
    ) -> Result<()> {
        let labels = batch.labels_to_learn()?;
        let outputs = outputs(self.classes);
        // Products of pairs of columns need tall tiles; others one that stays in the cache.
        let least = if matches!(self.curvature, Curvature::None | Curvature::Diagonal) { 16 } else { 128 };
        let tall = ((128 << 10) / (8 * self.features.numbers().max(1))).clamp(least, 1024);
        let in_place = self.features.in_place(batch, outputs);
        let (mut copied, mut z, mut weights) = (Rowset::default(), Tile::default(), Vec::new());
        for (number, start) in (0..batch.rows()).step_by(tall).enumerate() {
            if self.is_sample && !self.is_drawn(number) {
                continue;
            }
            let range = start..batch.rows().min(start + tall);
            let whole = in_place.as_ref().map(|rows| rows.part(range.clone())).filter(|rows| {
                rows.scores(&self.theta, outputs, &mut z);
                rows.is_whole(&z)
            });
            let rows: &dyn Design = match &whole {
                Some(rows) => rows,
                None => {
                    self.features.read(batch, Rows::Range(range.clone()), &mut copied)?;
                    copied.scores(&self.theta, outputs, &mut z);
                    &copied
                }
            };
            let (labels, given) = (&labels[range.clone()], batch.row_weights());
            weights.clear();
            weights.extend(range.zip(labels).map(|(i, &label)| match (label, given) {
                (MISSING, _) => 0.0,
                (_, Some(given)) => given[i],
                (_, None) => 1.0,
            }));
            body(number, rows, &mut z, labels, &weights)?;
        }
        Ok(())
    }
}

impl Pass for Differentiate {
    const NAME: &'static str = "differentiate";
    type Statistic = Derivatives;

    fn empty(&self) -> Derivatives {
        let (rows, columns) = self.hessian_size();
        Derivatives {
            loss: 0.0,
            margin: f64::INFINITY,
            gradient: vec![0.0; self.theta.len()],
            weight: 0.0,
            curved: 0.0,
            hessian: Matrix::zeros(rows, columns),
        }
    }

    fn size(&self) -> usize {
        let (rows, columns) = self.hessian_size();
        8 * (self.theta.len() + rows * columns)
    }

    fn observe(&self, sums: &mut Derivatives, batch: &Batch<'_>) -> Result<()> {
        let (features, outputs) = (self.features.len(), outputs(self.classes));
        let (mut dense, mut curvature) = (Tile::default(), Vec::new());
        let mut pairs = Pairs::new(if self.curvature == Curvature::Exact { outputs } else { 0 }, features + 1);
        self.tiles(batch, |number, rows, z, labels, weights| {
            let weight = weights.iter().sum::<f64>();
            let curved = self.curvature != Curvature::None && self.is_drawn(number);
            curvature.resize(labels.len(), 0.0);
            let (loss, margin) = match outputs {
                1 => self.link.residuals(z.data_mut(), labels, weights, &mut curvature),
                _ => softmax(z, labels, weights),
            };
            sums.weight += weight;
            sums.loss += loss;
            sums.margin = sums.margin.min(margin);
            if !sums.loss.is_finite() {
                return Err(Error::parameter("weights", "the log-likelihood overflows: rescale the columns"));
            }
            if curved {
                sums.curved += weight;
                if self.curvature == Curvature::Diagonal {
                    // Of the softmax w pₖ(1 − pₖ).
                    dense.resize(labels.len(), outputs);
                    match outputs {
                        1 => dense.data_mut().copy_from_slice(&curvature),
                        _ => (0..outputs).for_each(|k| {
                            let cells = z.column(k).iter().zip(weights);
                            dense.column_mut(k).iter_mut().zip(cells).for_each(|(c, (p, w))| *c = w * p * (1.0 - p));
                        }),
                    }
                    rows.add_diagonal(&dense, sums.hessian.data_mut());
                } else if outputs > 1 && self.curvature == Curvature::Exact {
                    pairs.add(rows, z, weights, &mut dense);
                } else {
                    if outputs > 1 {
                        curvature.iter_mut().zip(weights).for_each(|(c, w)| *c = 0.5 * w);
                    }
                    curvature.iter_mut().for_each(|c| *c = c.max(0.0).sqrt());
                    rows.add_gram(&curvature, &mut dense, &mut sums.hessian);
                }
            }
            if outputs > 1 {
                softmax_residuals(z, labels, weights);
            }
            rows.add_gradient(z, &mut sums.gradient);
            Ok(())
        })?;
        pairs.finish(&mut sums.hessian);
        Ok(())
    }
}

/// A sweep for the product of the Hessian at θ with a direction, which the statistic has in the place of
/// the gradient: what conjugate gradients need where the Hessian itself would be too large.
#[derive(Clone, Debug)]
pub struct HessianProduct {
    /// The weights θ.
    pub at: Differentiate,
    /// The direction.
    pub direction: Vec<f64>,
}

impl Stored for HessianProduct {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.at.store(archive, &format!("{name}.at"))?;
        archive.put(&format!("{name}.direction"), &[self.direction.len()], &self.direction)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let at = Differentiate::load(archive, &format!("{name}.at"))?;
        let direction = archive.finite(&format!("{name}.direction"), &[at.theta.len()])?.to_vec();
        Ok(HessianProduct { at, direction })
    }
}

impl Pass for HessianProduct {
    const NAME: &'static str = "hessian-product";
    type Statistic = Derivatives;

    fn empty(&self) -> Derivatives {
        self.at.empty()
    }

    fn size(&self) -> usize {
        self.at.size()
    }

    fn observe(&self, sums: &mut Derivatives, batch: &Batch<'_>) -> Result<()> {
        let outputs = outputs(self.at.classes);
        let (mut u, mut curvature) = (Tile::default(), Vec::new());
        self.at.tiles(batch, |_, rows, z, labels, weights| {
            rows.scores(&self.direction, outputs, &mut u);
            if outputs == 1 {
                curvature.resize(labels.len(), 0.0);
                self.at.link.residuals(z.data_mut(), labels, weights, &mut curvature);
                u.data_mut().iter_mut().zip(&curvature).for_each(|(u, c)| *u *= c);
            } else {
                softmax(z, labels, weights);
                // w p_k (u_k − Σ p_j u_j)
                let mut mean = vec![0.0; labels.len()];
                for k in 0..outputs {
                    let terms = z.column(k).iter().zip(u.column(k));
                    mean.iter_mut().zip(terms).for_each(|(m, (p, u))| *m += p * u);
                }
                for k in 0..outputs {
                    let others = z.column(k).iter().zip(&mean).zip(weights);
                    u.column_mut(k).iter_mut().zip(others).for_each(|(u, ((p, m), w))| *u = w * p * (*u - m));
                }
            }
            rows.add_gradient(&u, &mut sums.gradient);
            Ok(())
        })
    }
}

/// Xᵀ diag(w pₐ p_b) X for every two classes b < a. The Hessian's blocks off its diagonal are their
/// negatives, and those on it the sums Σ_b over the other classes, for pₐ(1 − pₐ) = Σ_b pₐ p_b.
struct Pairs {
    classes: usize,
    width: usize,
    /// The products of the columns √w p₁ X, √w p₂ X, ... with each other, as far as they are needed: class by class,
    /// those of a class with the ones before.
    products: Matrix,
    scaled: Tile,
}

impl Pairs {
    fn new(classes: usize, width: usize) -> Self {
        let products = Matrix::zeros(classes * width, classes * width);
        Pairs { classes, width, products, scaled: Tile::default() }
    }

    fn add(&mut self, rows: &dyn Design, p: &Tile, weights: &[f64], dense: &mut Tile) {
        let mut scale = vec![1.0; weights.len()];
        rows.dense(self.width - 1, &scale, dense);
        self.scaled.resize(weights.len(), self.classes * self.width);
        for a in 0..self.classes {
            scale.iter_mut().zip(p.column(a)).zip(weights).for_each(|((s, p), w)| *s = w.sqrt() * p);
            for j in 0..self.width {
                let cells = self.scaled.column_mut(a * self.width + j).iter_mut().zip(dense.column(j));
                cells.zip(&scale).for_each(|((o, x), s)| *o = x * s);
            }
        }
        add_gram_of_blocks(&mut self.products, &self.scaled, self.width);
    }

    /// Adds the lower triangle, at (feature·K + a, feature·K + b).
    fn finish(&self, hessian: &mut Matrix) {
        let (k, width) = (self.classes, self.width);
        for j in 0..width {
            for b in 0..k {
                for a in b + 1..k {
                    // A product of two classes is symmetric in the features.
                    let products = &self.products.column(a * width + j)[b * width..][..width];
                    for (i, g) in products.iter().enumerate().skip(j) {
                        hessian[(i * k + a, j * k + a)] += g;
                        hessian[(i * k + b, j * k + b)] += g;
                        hessian[(i * k + a, j * k + b)] -= g;
                        // With i = j this one is above the diagonal, and nobody looks there.
                        hessian[(i * k + b, j * k + a)] -= g;
                    }
                }
            }
        }
    }
}

/// Scores become probabilities; returns the loss and the least margin.
pub fn softmax(z: &mut Tile, labels: &[u32], weights: &[f64]) -> (f64, f64) {
    let (rows, classes) = (z.rows(), z.width());
    let mut own = vec![0.0; rows];
    let mut other = vec![f64::NEG_INFINITY; rows];
    for k in 0..classes {
        let cells = z.column(k).iter().zip(labels);
        for ((own, other), (&z, &label)) in own.iter_mut().zip(&mut other).zip(cells) {
            let is_own = label as usize == k;
            *own = if is_own { z } else { *own };
            *other = if is_own { *other } else { other.max(z) };
        }
    }
    let margins = own.iter().zip(&other).zip(weights).filter(|(_, w)| **w > 0.0);
    let margin = margins.map(|((own, other), _)| own - other).fold(f64::INFINITY, f64::min);
    // The largest score, of a row without a label too: there `own` is 0 and no score.
    let top: Vec<f64> = (0..rows).map(|i| if labels[i] == MISSING { other[i] } else { own[i].max(other[i]) }).collect();
    let (mut sum, mut logs) = (vec![0.0; rows], vec![0.0; rows]);
    vectorised!({
        for k in 0..classes {
            for ((z, t), s) in z.column_mut(k).iter_mut().zip(&top).zip(&mut sum) {
                *z = lanes::exp(*z - t);
                *s += *z;
            }
        }
        for ((s, log), (top, own)) in sum.iter_mut().zip(&mut logs).zip(top.iter().zip(&own)) {
            *log = (top - own) + lanes::ln(*s);
            *s = s.recip();
        }
        for k in 0..classes {
            z.column_mut(k).iter_mut().zip(&sum).for_each(|(z, s)| *z *= s);
        }
    });
    let loss = dot(&logs, weights);
    (loss, margin)
}

/// Probabilities become w(p − [label]).
pub fn softmax_residuals(p: &mut Tile, labels: &[u32], weights: &[f64]) {
    for k in 0..p.width() {
        for ((p, &label), w) in p.column_mut(k).iter_mut().zip(labels).zip(weights) {
            *p = w * (*p - f64::from(label as usize == k));
        }
    }
}
