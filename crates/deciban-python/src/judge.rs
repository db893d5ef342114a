//! Evidence to posteriors and decisions, and judgement of log-likelihood ratios.

use deciban::decision::Costs;
use deciban::evaluate::{self, Application, Reliability, Trials as Sorted};
use deciban::evidence::Evidence;
use deciban::posterior::Prior;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{Array, to_numpy};
use crate::errors::raise;
use crate::work;

fn evidence_of(array: &Array) -> PyResult<Evidence> {
    Evidence::new(array.columns(), array.slice::<f64>()?.to_vec()).map_err(raise)
}

fn prior_of(prior: &[f64], classes: usize) -> PyResult<Prior> {
    match prior.len() == classes {
        true => Prior::new(prior).map_err(raise),
        false => Err(PyValueError::new_err(format!("prior: {} probabilities for {classes} classes", prior.len()))),
    }
}

/// log p(class | x) of evidence (rows × classes) under a prior; NaN where all classes are impossible.
#[pyfunction]
pub fn log_posterior<'py>(
    py: Python<'py>,
    evidence: &Bound<'_, PyAny>,
    prior: Vec<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let evidence = Array::new(evidence)?;
    let (rows, classes) = (evidence.rows(), evidence.columns());
    let (prior, evidence) = (prior_of(&prior, classes)?, evidence_of(&evidence)?);
    let values = work::run_little(py, rows <= work::FEW_ROWS, None, |_| {
        let posterior = evidence.posterior(&prior);
        Ok((0..rows).flat_map(|row| posterior.log_row(row).to_vec()).collect::<Vec<f64>>())
    })?;
    to_numpy(py, &values, &[rows, classes])
}

/// The action of least expected cost for each row (−1 where the posterior is undefined), and that cost.
#[pyfunction]
pub fn decide<'py>(
    py: Python<'py>,
    evidence: &Bound<'_, PyAny>,
    prior: Vec<f64>,
    costs: Vec<Vec<f64>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let evidence = Array::new(evidence)?;
    let prior = prior_of(&prior, evidence.columns())?;
    let actions = costs.first().map_or(0, Vec::len);
    let costs = Costs::new((0..actions).map(|a| a.to_string()).collect(), costs).map_err(raise)?;
    if costs.classes() != evidence.columns() {
        return Err(PyValueError::new_err(format!(
            "costs: {} rows for {} classes",
            costs.classes(),
            evidence.columns()
        )));
    }
    let evidence = evidence_of(&evidence)?;
    let actions = work::run_little(py, evidence.rows() <= work::FEW_ROWS, None, |_| {
        Ok(evidence.posterior(&prior).decide(&costs))
    })?;
    let chosen: Vec<f64> = actions.iter().map(|a| a.action.map_or(-1.0, |action| action as f64)).collect();
    let risks: Vec<f64> = actions.iter().map(|a| a.risk).collect();
    Ok((to_numpy(py, &chosen, &[chosen.len()])?, to_numpy(py, &risks, &[risks.len()])?))
}

/// Cllr in bits of log-likelihood ratios of targets (1) and others (0).
#[pyfunction]
#[pyo3(signature = (llr, targets, weights=None))]
pub fn cllr(
    py: Python<'_>,
    llr: &Bound<'_, PyAny>,
    targets: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<f64> {
    let trials = Rows::new(llr, targets, weights)?;
    let (llr, targets, weights) = trials.slices()?;
    work::run_little(py, targets.len() <= work::FEW_ROWS, None, |_| evaluate::cllr(llr, targets, weights))
}

/// The value of each row, whether it is a target, and its weight.
type Slices<'a> = (&'a [f64], &'a [bool], Option<&'a [f64]>);

/// What is known of each row.
struct Rows {
    values: Array,
    targets: Array,
    weights: Option<Array>,
}

impl Rows {
    fn new(
        values: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let weights = weights.map(Array::new).transpose()?;
        Ok(Rows { values: Array::new(values)?, targets: Array::new(targets)?, weights })
    }

    fn slices(&self) -> PyResult<Slices<'_>> {
        let weights = self.weights.as_ref().map(|weights| weights.slice::<f64>()).transpose()?;
        Ok((self.values.slice::<f64>()?, self.targets.slice::<bool>()?, weights))
    }
}

/// Log-likelihood ratios of targets (1) and others (0), sorted.
#[pyclass(frozen, module = "deciban._core")]
pub struct Trials(Sorted);

#[pymethods]
impl Trials {
    #[new]
    #[pyo3(signature = (llr, targets, weights=None))]
    fn new(
        py: Python<'_>,
        llr: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let trials = Rows::new(llr, targets, weights)?;
        let (llr, targets, weights) = trials.slices()?;
        work::run_little(py, targets.len() <= work::FEW_ROWS, None, |_| Sorted::new(llr, targets, weights).map(Trials))
    }

    fn min_cllr(&self) -> f64 {
        self.0.min_cllr()
    }

    fn auc(&self) -> f64 {
        self.0.auc()
    }

    fn eer(&self) -> f64 {
        self.0.eer()
    }

    /// Actual, minimum and default cost.
    fn dcf(&self, prior: f64, cost_miss: f64, cost_false_alarm: f64) -> PyResult<[f64; 3]> {
        let cost = self.0.dcf(&Application::new(prior, cost_miss, cost_false_alarm).map_err(raise)?);
        Ok([cost.actual, cost.minimum, cost.default])
    }

    /// Actual, minimum and default error rate at each of these prior log-odds.
    fn bayes_error_curve<'py>(&self, py: Python<'py>, log_odds: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        let curve = self.0.bayes_error_curve(&log_odds);
        let values: Vec<f64> = curve.iter().flat_map(|e| [e.actual, e.minimum, e.default]).collect();
        to_numpy(py, &values, &[curve.len(), 3])
    }

    /// Threshold, miss rate and false-alarm rate of each corner.
    fn roc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let curve = self.0.roc();
        let values: Vec<f64> = curve.iter().flat_map(|p| [p.threshold, p.miss, p.false_alarm]).collect();
        to_numpy(py, &values, &[curve.len(), 3])
    }
}

/// Low, high, weight, mean probability and share of events of each bin that has rows; and the calibration error.
#[pyfunction]
#[pyo3(signature = (probabilities, events, bins, weights=None))]
pub fn reliability<'py>(
    py: Python<'py>,
    probabilities: &Bound<'_, PyAny>,
    events: &Bound<'_, PyAny>,
    bins: usize,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, f64)> {
    let wrong = |message: &str| Err(PyValueError::new_err(message.to_string()));
    let rows = Rows::new(probabilities, events, weights)?;
    let (probabilities, events, weights) = rows.slices()?;
    if probabilities.len() != events.len() || weights.is_some_and(|w| w.len() != events.len()) {
        return wrong("a probability, an event and a weight of each row are needed");
    }
    if probabilities.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return wrong("probabilities lie between 0 and 1");
    }
    if weights.is_some_and(|w| w.iter().any(|w| !(w.is_finite() && *w >= 0.0))) || bins == 0 || bins > 1_000_000 {
        return wrong("weights are finite and at least 0, and there is at least one bin");
    }
    let mut curve = Reliability::new(bins);
    for (i, (p, event)) in probabilities.iter().zip(events).enumerate() {
        curve.add(*p, *event, weights.map_or(1.0, |w| w[i]));
    }
    let bins = curve.curve();
    let values: Vec<f64> = bins.iter().flat_map(|b| [b.low, b.high, b.weight, b.mean, b.share]).collect();
    Ok((to_numpy(py, &values, &[bins.len(), 5])?, curve.error()))
}
