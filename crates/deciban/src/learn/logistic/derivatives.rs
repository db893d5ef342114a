//! The pass of every linear model: −log-likelihood of the labels, its gradient and, if asked for, its
//! Hessian, at the weights θ that the pass carries.
//!
//! With residuals rᵢₖ = ∂ℓᵢ/∂zₖ and curvatures cᵢ = ∂²ℓᵢ/∂z²:  ∇ = Xᵀr,  H = Xᵀ diag(c) X.
//! Two classes have one output, z = log-odds of the second, through a [`Link`]; more have one
//! output per class through the softmax, whose curvature is bounded by ½ in every direction
//! (Böhning 1992): ½ XᵀX is one block that serves all classes. The exact Hessian has a block
//! Xᵀ diag(pₐ([a=b] − p_b)) X for every two classes.

use serde::{Deserialize, Serialize};

use super::features::Features;
use super::link::Link;
use super::rowset::Rowset;
use super::solve::Curvature;
use crate::data::{Batch, MISSING, Rows, Tile};
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::{Matrix, add_gram, log_sum_exp, tile_transpose_product, vectorised};
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
}

impl Stored for Differentiate {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let shape = Shape { classes: self.classes, link: self.link, curvature: self.curvature };
        archive.put_json(name, &shape)?;
        self.features.store(archive, &format!("{name}.features"))?;
        archive.put(&format!("{name}.theta"), &[self.theta.len()], &self.theta)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let Shape { classes, link, curvature } = archive.json(name)?;
        let features = Features::load(archive, &format!("{name}.features"))?;
        let length = (features.len() + 1) * outputs(classes);
        let theta = archive.finite(&format!("{name}.theta"), &[length])?.to_vec();
        Ok(Differentiate { features, classes, link, theta, curvature })
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
    /// What was asked of its Hessian; lower triangle, or empty.
    pub hessian: Matrix,
    /// The least margin of a row: z of its class less the best other; positive if all are right.
    pub margin: f64,
}

impl Statistic for Derivatives {
    fn merge(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("weights of the merged derivatives", self.gradient.len(), other.gradient.len())?;
        self.weight += other.weight;
        self.loss += other.loss;
        self.margin = self.margin.min(other.margin);
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.hessian.data_mut().iter_mut().zip(other.hessian.data()).for_each(|(a, b)| *a += b);
        Ok(())
    }

    fn remove(&mut self, other: &Self) -> Result<()> {
        Error::check_shape("weights of the removed derivatives", self.gradient.len(), other.gradient.len())?;
        self.weight -= other.weight;
        self.loss -= other.loss;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a -= b);
        self.hessian.data_mut().iter_mut().zip(other.hessian.data()).for_each(|(a, b)| *a -= b);
        Ok(())
    }
}

impl Stored for Derivatives {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let n = self.hessian.rows();
        archive.put_json(name, &(self.gradient.len(), n))?;
        archive.put(&format!("{name}.sums"), &[3], &[self.weight, self.loss, self.margin])?;
        archive.put(&format!("{name}.gradient"), &[self.gradient.len()], &self.gradient)?;
        archive.put(&format!("{name}.hessian"), &[n, n], self.hessian.data())
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (length, n): (usize, usize) = archive.json(name)?;
        let &[weight, loss, margin] = archive.get(&format!("{name}.sums"), &[3])? else { unreachable!("three values") };
        let gradient = archive.get(&format!("{name}.gradient"), &[length])?.to_vec();
        let hessian = archive.get(&format!("{name}.hessian"), &[n, n])?.to_vec();
        Ok(Derivatives { weight, loss, margin, gradient, hessian: Matrix::from_columns(n, n, hessian) })
    }
}

impl Differentiate {
    fn hessian_size(&self) -> usize {
        match self.curvature {
            Curvature::None => 0,
            Curvature::Bound => self.features.len() + 1,
            Curvature::Exact => self.theta.len(),
        }
    }
}

impl Pass for Differentiate {
    const NAME: &'static str = "differentiate";
    type Statistic = Derivatives;

    fn empty(&self) -> Derivatives {
        let n = self.hessian_size();
        Derivatives {
            weight: 0.0,
            loss: 0.0,
            margin: f64::INFINITY,
            gradient: vec![0.0; self.theta.len()],
            hessian: Matrix::zeros(n, n),
        }
    }

    fn size(&self) -> usize {
        8 * (self.theta.len() + self.hessian_size().pow(2))
    }

    fn observe(&self, sums: &mut Derivatives, batch: &Batch<'_>) -> Result<()> {
        let labels = batch.labels().ok_or_else(|| Error::Schema("the rows have no labels to learn from".into()))?;
        let outputs = outputs(self.classes);
        let tall = ((128 << 10) / (8 * self.features.numbers().max(1))).clamp(128, 1024);
        let (mut rows, mut z) = (Rowset::default(), Tile::default());
        let (mut dense, mut blocks) = (Tile::default(), Tile::default());
        let (mut weights, mut curvature) = (Vec::new(), Vec::new());
        for start in (0..batch.rows()).step_by(tall) {
            let range = start..batch.rows().min(start + tall);
            self.features.read(batch, Rows::Range(range.clone()), &mut rows)?;
            rows.scores(&self.theta, outputs, &mut z);
            let labels = &labels[range.clone()];
            let given = batch.row_weights();
            weights.clear();
            weights.extend(range.clone().zip(labels).map(|(i, &label)| match (label, given) {
                (MISSING, _) => 0.0,
                (_, Some(given)) => given[i],
                (_, None) => 1.0,
            }));
            curvature.resize(labels.len(), 0.0);
            sums.weight += weights.iter().sum::<f64>();
            match outputs {
                1 => {
                    let (loss, margin) =
                        vectorised(|| self.link.residuals(z.data_mut(), labels, &weights, &mut curvature));
                    sums.loss += loss;
                    sums.margin = sums.margin.min(margin);
                }
                _ => {
                    if self.curvature == Curvature::Exact {
                        blocks.clone_from(&z);
                    }
                    let (loss, margin) = softmax_residuals(&mut z, labels, &weights);
                    sums.loss += loss;
                    sums.margin = sums.margin.min(margin);
                    curvature.iter_mut().zip(&weights).for_each(|(c, w)| *c = 0.5 * w);
                }
            }
            if !sums.loss.is_finite() {
                return Err(Error::parameter("weights", "the log-likelihood overflows: rescale the columns"));
            }
            rows.add_gradient(&z, &mut sums.gradient);
            match (self.curvature, outputs) {
                (Curvature::None, _) => {}
                (Curvature::Exact, 2..) => {
                    rows.dense(self.features.len(), &vec![1.0; rows.rows()], &mut dense);
                    add_softmax_blocks(&mut sums.hessian, &dense, &mut blocks, &weights);
                }
                _ => {
                    curvature.iter_mut().for_each(|c| *c = c.max(0.0).sqrt());
                    rows.dense(self.features.len(), &curvature, &mut dense);
                    add_gram(&mut sums.hessian, &dense);
                }
            }
        }
        Ok(())
    }
}

/// H ← H + Xᵀ diag(w pₐ([a=b] − p_b)) X at (feature·K + a, feature·K + b); `z` are scores.
fn add_softmax_blocks(hessian: &mut Matrix, x: &Tile, z: &mut Tile, weights: &[f64]) {
    let (rows, classes) = (z.rows(), z.width());
    for i in 0..rows {
        let total = log_sum_exp(&(0..classes).map(|k| z.column(k)[i]).collect::<Vec<_>>());
        (0..classes).for_each(|k| z.column_mut(k)[i] = (z.column(k)[i] - total).exp());
    }
    let mut scaled = Tile::default();
    for a in 0..classes {
        for b in 0..=a {
            scaled.resize(rows, x.width());
            for j in 0..x.width() {
                let (pa, pb) = (z.column(a), z.column(b));
                for (i, cell) in scaled.column_mut(j).iter_mut().enumerate() {
                    *cell = x.column(j)[i] * weights[i] * pa[i] * (if a == b { 1.0 } else { 0.0 } - pb[i]);
                }
            }
            let block = tile_transpose_product(x, &scaled);
            for j in 0..x.width() {
                for i in 0..x.width() {
                    hessian[(i * classes + a, j * classes + b)] += block[(i, j)];
                    if a != b {
                        hessian[(i * classes + b, j * classes + a)] += block[(i, j)];
                    }
                }
            }
        }
    }
}

/// Scores become w(p − [label]); returns the loss and the least margin.
fn softmax_residuals(z: &mut Tile, labels: &[u32], weights: &[f64]) -> (f64, f64) {
    let (rows, classes) = (z.rows(), z.width());
    let mut top = vec![f64::NEG_INFINITY; rows];
    for k in 0..classes {
        top.iter_mut().zip(z.column(k)).for_each(|(t, z)| *t = t.max(*z));
    }
    let (mut loss, mut margin) = (0.0, f64::INFINITY);
    let mut own = vec![0.0; rows];
    for (i, &label) in labels.iter().enumerate().filter(|(i, _)| weights[*i] > 0.0) {
        own[i] = z.column(label as usize)[i];
        let others = (0..classes).filter(|k| *k != label as usize).map(|k| z.column(k)[i]);
        margin = f64::min(margin, own[i] - others.fold(f64::NEG_INFINITY, f64::max));
    }
    let mut sum = vec![0.0; rows];
    for k in 0..classes {
        let column = z.column_mut(k);
        for ((z, t), s) in column.iter_mut().zip(&top).zip(&mut sum) {
            *z = (*z - t).exp();
            *s += *z;
        }
    }
    for i in 0..rows {
        loss += weights[i] * (top[i] + sum[i].ln() - own[i]);
        sum[i] = weights[i] / sum[i];
    }
    for k in 0..classes {
        z.column_mut(k).iter_mut().zip(&sum).for_each(|(z, s)| *z *= s);
    }
    for (i, &label) in labels.iter().enumerate().filter(|(i, _)| weights[*i] > 0.0) {
        z.column_mut(label as usize)[i] -= weights[i];
    }
    (loss, margin)
}
