//! Densities in files.

use std::sync::Arc;

use super::density::{GaussianDensity, Tails};
use super::factor::Factor;
use super::floor::Floored;
use super::low_rank::LowRank;
use super::projected::Reference;
use crate::error::Result;
use crate::file::{Archive, Stored};
use crate::numerics::Matrix;
use crate::numerics::covariance::Scaled;
use crate::transform::Linear;

impl Stored for GaussianDensity {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        let (k, d) = (self.means().len(), self.means()[0].len());
        let tails = match self.tails() {
            Tails::Normal => "normal",
            Tails::Joint(_) => "joint",
            Tails::Columns(_) => "columns",
        };
        let full = matches!(self.factors()[0], Factor::Lower(_));
        archive.put_json(&format!("{name}.shape"), &(self.chain().len(), k, d, self.factors().len(), full, tails))?;
        for (i, linear) in self.chain().iter().enumerate() {
            linear.store(archive, &format!("{name}.map{i}"))?;
        }
        if !self.floored().is_empty() {
            archive.put_json(&format!("{name}.floored"), &self.floored())?;
        }
        if let Some(reference) = self.reference() {
            reference.store(archive, &format!("{name}.reference"))?;
        }
        archive.put(&format!("{name}.mean"), &[k, d], &self.means().concat())?;
        let is_low_rank = matches!(self.factors()[0], Factor::LowRank(_));
        if is_low_rank {
            archive.put_json(&format!("{name}.low_rank"), &true)?;
        }
        for (i, factor) in self.factors().iter().enumerate() {
            if let Factor::LowRank(low) = factor {
                let (axes, variances, rest) = low.parts();
                let q = variances.len();
                archive.put_json(&format!("{name}.rank{i}"), &q)?;
                // Column after column is row after row of the transpose.
                archive.put(&format!("{name}.axes{i}"), &[q, d], axes.data())?;
                archive.put(&format!("{name}.variances{i}"), &[q + 1], &[variances, &[rest]].concat())?;
                continue;
            }
            archive.put(&format!("{name}.sd{i}"), &[d], factor.sd())?;
            if let Factor::Lower(scaled) = factor {
                let lower = scaled.l().lower();
                archive.put(&format!("{name}.correlation_root{i}"), &[lower.len()], &lower)?;
            }
        }
        let flat = |tails: &[(f64, f64)]| tails.iter().flat_map(|&(nu, s)| [nu, s]).collect::<Vec<_>>();
        match &self.tails() {
            Tails::Normal => Ok(()),
            Tails::Joint(tails) => archive.put(&format!("{name}.tails"), &[k, 2], &flat(tails)),
            Tails::Columns(tails) => archive.put(&format!("{name}.tails"), &[k, d, 2], &flat(&tails.concat())),
        }
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let damaged = |what: &str| Err(archive.damaged(&format!("`{name}` {what}")));
        let (maps, k, d, factors, full, tails): (usize, usize, usize, usize, bool, String) =
            archive.json(&format!("{name}.shape"))?;
        let means = archive.finite(&format!("{name}.mean"), &[k, d])?;
        if k == 0 || d == 0 || (factors != 1 && factors != k) {
            return damaged("has no classes, no columns or a wrong number of covariances");
        }
        let means: Vec<Vec<f64>> = means.chunks_exact(d).map(<[f64]>::to_vec).collect();
        let chain: Vec<Linear> =
            (0..maps).map(|i| Linear::load(archive, &format!("{name}.map{i}"))).collect::<Result<_>>()?;
        let fits = chain.windows(2).all(|w| w[0].outputs() == w[1].inputs());
        if !fits || chain.last().is_some_and(|last| last.outputs() != d) {
            return damaged("has maps that do not fit together");
        }
        let mut loaded = Vec::new();
        let low_rank = archive.json_if_any(&format!("{name}.low_rank"))?.unwrap_or(false);
        for i in 0..factors {
            if low_rank {
                let q: usize = archive.json(&format!("{name}.rank{i}"))?;
                let axes = archive.finite(&format!("{name}.axes{i}"), &[q, d])?;
                let variances = archive.finite(&format!("{name}.variances{i}"), &[q.saturating_add(1)])?;
                if q >= d || variances.iter().any(|v| *v <= 0.0) {
                    return damaged("has axes or variances that are no covariance");
                }
                let axes = Matrix::from_columns(d, q, axes.to_vec());
                loaded.push(Factor::LowRank(LowRank::from_parts(axes, variances[..q].to_vec(), variances[q])));
                continue;
            }
            let sd = archive.finite(&format!("{name}.sd{i}"), &[d])?.to_vec();
            if sd.iter().any(|s| *s <= 0.0) {
                return damaged("has a standard deviation that is not positive");
            }
            if !full {
                loaded.push(Factor::Diagonal(sd));
                continue;
            }
            let lower = archive.finite(&format!("{name}.correlation_root{i}"), &[d * (d + 1) / 2])?;
            let l = Matrix::from_lower(d, lower);
            if (0..d).any(|j| l[(j, j)] <= 0.0) {
                return damaged("has a correlation matrix that is not positive definite");
            }
            loaded.push(Factor::Lower(Scaled::from_parts(sd, l)?));
        }
        let tensor = format!("{name}.tails");
        let pairs = |v: &[f64]| v.chunks_exact(2).map(|p| (p[0], p[1])).collect::<Vec<_>>();
        let tails = match tails.as_str() {
            "normal" => Tails::Normal,
            "joint" if !low_rank => Tails::Joint(pairs(archive.finite(&tensor, &[k, 2])?)),
            "columns" if !full && !low_rank => {
                let all = pairs(archive.finite(&tensor, &[k, d, 2])?);
                Tails::Columns(all.chunks_exact(d).map(<[_]>::to_vec).collect())
            }
            _ => return damaged("has tails of an unknown kind"),
        };
        let positive = |tails: &[(f64, f64)]| tails.iter().all(|&(nu, s)| nu > 0.0 && s > 0.0);
        let sound = match &tails {
            Tails::Normal => true,
            Tails::Joint(tails) => positive(tails),
            Tails::Columns(tails) => tails.iter().all(|t| positive(t)),
        };
        if !sound {
            return damaged("has tails that are not positive");
        }
        let width = chain.first().map_or(d, Linear::inputs);
        let floored: Vec<Floored> = archive.json_if_any(&format!("{name}.floored"))?.unwrap_or_default();
        if floored.iter().any(|&(class, column)| class >= k || column >= d) {
            return damaged("lists a variance of a class or column that it does not have");
        }
        let density = GaussianDensity::with_tails(chain, means, loaded, tails).with_floored(floored);
        let place = format!("{name}.reference");
        if !archive.has(&format!("{place}.mean")) {
            return Ok(density);
        }
        let reference = Reference::load(archive, &place)?;
        match reference.width() == width {
            true => Ok(density.with_reference(Some(Arc::new(reference)))),
            false => damaged("has moments of other columns"),
        }
    }
}
