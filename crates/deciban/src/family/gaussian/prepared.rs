//! The moments of classes as a fit takes them: with or without covariances, after linear maps.

use std::sync::Arc;

use super::statistic::mixed;
use super::{Gaussian, GaussianStatistic, Reference};
use crate::error::{Error, Result};
use crate::family::{Names, too_large};
use crate::statistic::{ColumnMoments, Moments, Statistic};
use crate::transform::{Linear, Step};

/// Classes after linear maps.
pub(super) struct Mapped {
    /// The maps.
    pub chain: Vec<Linear>,
    /// What the columns after them are called.
    pub names: Vec<String>,
    pub moments: Prepared,
    /// All rows before the maps, where these project.
    pub reference: Option<Arc<Reference>>,
}

/// Moments of the classes after the linear maps so far.
pub(super) enum Prepared {
    Full(Vec<Moments>),
    Columns(Vec<ColumnMoments>),
}

impl Gaussian {
    /// The classes after the linear maps.
    pub(super) fn mapped(&self, classes: &[&GaussianStatistic], names: Names<'_>) -> Result<Mapped> {
        let (mut chain, mut columns, mut reference) = match &self.settled {
            Some(settled) => (settled.maps.clone(), settled.names.clone(), settled.reference.clone()),
            None => (Vec::new(), names.columns.to_vec(), None),
        };
        let mut moments = self.prepare(classes.iter().copied())?;
        moments.check_range(&columns)?;
        if let (true, Prepared::Full(classes)) = (self.projects(), &moments) {
            let all = Reference::of_classes(classes)?;
            if let Some(j) = all.first_too_large() {
                return Err(too_large(&columns[j]));
            }
            reference = Some(Arc::new(all));
        }
        for step in &self.steps {
            let linear = moments.fit_step(step, &columns)?;
            moments = moments.map(&linear);
            columns = step.names(&columns);
            chain.push(linear);
        }
        Ok(Mapped { chain, names: columns, moments, reference })
    }

    pub(super) fn prepare<'s>(
        &self,
        classes: impl IntoIterator<Item = &'s GaussianStatistic> + Clone,
    ) -> Result<Prepared> {
        let moments = |c: &GaussianStatistic| if let GaussianStatistic::Full(m) = c { Some(m.clone()) } else { None };
        let full: Option<Vec<Moments>> = classes.clone().into_iter().map(moments).collect();
        if let Some(classes) = full {
            return Ok(Prepared::Full(classes));
        }
        if self.needs_full() {
            let gapped = |c: &GaussianStatistic| matches!(c, GaussianStatistic::Gapped { .. });
            return Err(match classes.clone().into_iter().any(gapped) {
                true => Error::parameter(
                    "covariance",
                    "some rows have missing cells, and a full or tied covariance is then learned from the rows in \
                     several passes: fit from the data, or give §covariance=diagonal",
                ),
                false => Error::parameter(
                    "covariance",
                    "these statistics hold variances only: give diagonal or spherical, without §pca or §lda",
                ),
            });
        }
        let is_columns = |c: &GaussianStatistic| matches!(c, GaussianStatistic::Columns(_));
        let columns = classes.clone().into_iter().filter(|c| is_columns(c)).count();
        if columns > 0 && columns < classes.clone().into_iter().count() {
            return Err(mixed());
        }
        classes.into_iter().map(GaussianStatistic::columns).collect::<Result<Vec<_>>>().map(Prepared::Columns)
    }
}

impl Prepared {
    /// Refuses columns whose squares are beyond the largest double.
    fn check_range(&self, names: &[String]) -> Result<()> {
        let classes = self.columns();
        let overflows = |j: &usize| !classes.iter().map(|class| class.scatter()[*j]).sum::<f64>().is_finite();
        match (0..self.width()).find(overflows) {
            Some(j) => Err(too_large(&names[j])),
            None => Ok(()),
        }
    }

    /// A linear map fitted to the moments.
    pub(super) fn fit_step(&self, step: &Step, columns: &[String]) -> Result<Linear> {
        match self {
            Prepared::Full(classes) => step.fit(classes, columns),
            // `needs_full` holds for every other step.
            Prepared::Columns(classes) => standardise(classes),
        }
    }

    pub(super) fn means(&self) -> Vec<Vec<f64>> {
        match self {
            Prepared::Full(classes) => classes.iter().map(|m| m.mean().to_vec()).collect(),
            Prepared::Columns(classes) => classes.iter().map(|m| m.mean().to_vec()).collect(),
        }
    }

    pub(super) fn width(&self) -> usize {
        match self {
            Prepared::Full(classes) => classes.first().map_or(0, Moments::width),
            Prepared::Columns(classes) => classes.first().map_or(0, ColumnMoments::width),
        }
    }

    pub(super) fn map(&self, linear: &Linear) -> Prepared {
        match self {
            Prepared::Full(classes) => Prepared::Full(classes.iter().map(|m| linear.moments(m)).collect()),
            Prepared::Columns(classes) => {
                let scale = linear.parts().0;
                let scale: Vec<f64> = (0..scale.rows()).map(|j| scale[(j, j)]).collect();
                Prepared::Columns(classes.iter().map(|m| m.scaled(linear.parts().1, &scale)).collect())
            }
        }
    }

    pub(super) fn columns(&self) -> Vec<ColumnMoments> {
        match self {
            Prepared::Full(classes) => classes.iter().map(ColumnMoments::from).collect(),
            Prepared::Columns(classes) => classes.clone(),
        }
    }
}

fn standardise(classes: &[ColumnMoments]) -> Result<Linear> {
    let mut total = ColumnMoments::empty(classes.first().map_or(0, ColumnMoments::width));
    for class in classes {
        total.merge(class)?;
    }
    let variances: Vec<f64> = total.scatter().iter().zip(total.weight()).map(|(s, w)| divide(*s, *w)).collect();
    Ok(Linear::standardise(total.mean(), &variances))
}

/// s/w, and 0 where there is nothing to divide.
pub(super) fn divide(s: f64, w: f64) -> f64 {
    if w > 0.0 { s / w } else { 0.0 }
}
