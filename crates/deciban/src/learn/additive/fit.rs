//! From rows to tables: the passes before the optimiser, the optimiser, and what becomes of its weights.

use super::Additive;
use super::coding::{Coding, survey};
use super::design::{Design, Metric};
use super::joint_hessian;
use super::model::{AdditiveFit, AdditiveModel};
use super::reader::Reader;
use super::rows::{CodedRows, Encode};
use super::slopes::Slopes;
use super::tally::{Pair, Tally, rank_pairs};
use super::terms::{Term, places};
use crate::data::Schema;
use crate::engine::{Engine, Memory, Run};
use crate::error::{Error, Result};
use crate::learn::logistic::derivatives::outputs;
use crate::learn::{About, Statistics};
use crate::numerics::Matrix;
use crate::numerics::minimise::{Curvature, Limits, Objective, Point, Solution, lbfgs_remembering};
use crate::posterior::Prior;

/// Up to so many codes rows are kept coded; more are read and coded again in every pass.
pub const MOST_KEPT: f64 = (1u64 << 30) as f64;

/// The fewest and the most steps that the optimiser remembers.
const MEMORY: [f64; 2] = [15.0, 50.0];

/// Rows that are ready to be learned from: their codes, how often these occur, and the pairs worth a term.
pub struct Prepared {
    schema: Schema,
    /// The weight of each class.
    classes: Vec<f64>,
    reader: Reader,
    /// The weight of each code of each column.
    seen: Vec<Vec<f64>>,
    pub pairs: Vec<Pair>,
    rows: Option<CodedRows>,
}

/// Weights, and how they were found.
pub struct Fitted {
    decay: f64,
    pair_decay: Option<f64>,
    design: Design,
    penalties: Vec<f64>,
    solution: Solution,
}

impl Fitted {
    /// The weights.
    pub fn theta(&self) -> &[f64] {
        &self.solution.theta
    }
}

/// Weights without pairs as weights with pairs that are 0.
fn extended(theta: &[f64], design: &Design) -> Vec<f64> {
    let (weights, intercepts) = theta.split_at(theta.len() - design.outputs);
    let pairs = vec![0.0; design.len() - theta.len()];
    [weights, &pairs, intercepts].concat()
}

impl Prepared {
    /// Finds codes and pairs, and codes the rows.
    pub fn new(engine: &dyn Engine, most_pairs: Option<usize>) -> Result<Self> {
        let statistics = Statistics::collect(survey(engine.schema()?.columns(), "additive")?, engine)?;
        let schema = statistics.schema().clone();
        let (rows, classes) = (statistics.summary().rows(), statistics.summary().weights());
        crate::learn::generative::check_classes(&schema, &rows, &classes)?;
        let coding = Coding::new(&statistics)?;
        let cells = rows.iter().sum::<f64>() * coding.columns().len() as f64;
        let reader = Reader { coding: coding.clone(), coded: cells <= MOST_KEPT };
        let rows = if reader.coded { Some(engine.run(&Encode { coding })?) } else { None };
        let mut prepared = Prepared { schema, classes, reader, seen: Vec::new(), pairs: Vec::new(), rows };
        let (seen, pairs) = match prepared.coded()? {
            Some(coded) => prepared.count(&coded, most_pairs)?,
            None => prepared.count(engine, most_pairs)?,
        };
        (prepared.seen, prepared.pairs) = (seen, pairs);
        Ok(prepared)
    }

    /// An engine over the coded rows, if they are kept.
    fn coded(&self) -> Result<Option<Memory<'_>>> {
        self.rows.as_ref().map(|rows| rows.engine(&self.schema)).transpose()
    }

    fn tally(&self) -> Tally {
        Tally { reader: self.reader.clone(), classes: self.classes.len(), pairs: Vec::new() }
    }

    fn count(&self, engine: &dyn Engine, most_pairs: Option<usize>) -> Result<(Vec<Vec<f64>>, Vec<Pair>)> {
        let pass = self.tally();
        let columns = engine.run(&pass)?;
        let coded = self.reader.coding.columns();
        let most = most_pairs.unwrap_or_else(|| super::default_pairs(self.schema.columns()));
        let pairs = rank_pairs(engine, &columns, &pass, most)?;
        Ok(((0..coded.len()).map(|c| columns.weights(c, self.classes.len())).collect(), pairs))
    }

    /// The weights for decays, found from those for others.
    pub fn fit(&self, engine: &dyn Engine, learner: &Additive, to: Aim<'_>) -> Result<Fitted> {
        match self.coded()? {
            Some(coded) => self.fit_on(&coded, learner, to, &|| engine.check_stop()),
            None => self.fit_on(engine, learner, to, &|| Ok(())),
        }
    }

    /// The same for rows that are kept.
    pub fn fit_kept(&self, learner: &Additive, to: Aim<'_>) -> Result<Fitted> {
        let coded = self.coded()?.ok_or_else(|| Error::Schema("the rows are too many to be kept".into()))?;
        self.fit_on(&coded, learner, to, &|| Ok(()))
    }

    /// The same on an engine; `stop` is asked at each step.
    fn fit_on(&self, engine: &dyn Engine, learner: &Additive, to: Aim<'_>, stop: Stop<'_>) -> Result<Fitted> {
        let outputs = outputs(self.classes.len());
        let mut terms: Vec<Term> = (0..self.reader.coding.columns().len()).map(Term::Column).collect();
        if to.pair_decay.is_some() {
            terms.extend(self.pairs.iter().map(|pair| Term::Pair(pair.a, pair.b)));
        }
        let design = Design::new(self.reader.coding.clone(), terms, outputs, &self.seen);
        let start = match to.start {
            Some(theta) => extended(theta, &design),
            None => self.first(&design),
        };
        let penalties = design.penalties(to.decay, to.pair_decay.unwrap_or(0.0));
        let (reader, classes) = (&self.reader, self.classes.len());
        let rows = self.rows.as_ref();
        let problem = Problem { engine, design: &design, reader, rows, classes, penalties, stop };
        // As many steps as cost less than a pass over the rows, which has a look-up where each step has a few products.
        let look_ups = self.classes.iter().sum::<f64>() * (design.terms.len() * outputs) as f64;
        let memory = (look_ups / (8 * design.len()) as f64).clamp(MEMORY[0], MEMORY[1]) as usize;
        let limits = Limits { gradient: to.tolerance, iterations: learner.iterations };
        let solution = problem.solve(start, limits, memory)?;
        let penalties = problem.penalties;
        Ok(Fitted { decay: to.decay, pair_decay: to.pair_decay, design, penalties, solution })
    }

    /// Weights of 0 and the intercepts of the classes' weights.
    fn first(&self, design: &Design) -> Vec<f64> {
        let mut theta = vec![0.0; design.len()];
        let total: f64 = self.classes.iter().sum();
        let start = theta.len() - design.outputs;
        match design.outputs {
            1 => theta[start] = (self.classes[1] / self.classes[0]).ln(),
            _ => theta[start..].iter_mut().zip(&self.classes).for_each(|(b, w)| *b = (w / total).ln()),
        }
        theta
    }

    /// The model of weights: tables that are 0 on average over the rows, and what was averaged in the intercepts.
    pub fn model(&self, fitted: Fitted) -> Result<AdditiveModel> {
        let Fitted { decay, pair_decay, design, penalties, solution } = fitted;
        let k = design.outputs;
        let mut tables = design.tables(&solution.theta);
        // Terms are the columns, and perhaps the pairs.
        let seen = self.seen.iter().chain(self.pairs.iter().map(|pair| &pair.weights)).take(design.terms.len());
        let starts = places(&design.terms, &design.coding);
        let intercepts = tables.len() - k;
        let mut importance = Vec::new();
        for (t, weights) in seen.enumerate() {
            let total: f64 = weights.iter().sum();
            let own = starts[t] * k..starts[t + 1] * k;
            let mut squares = 0.0;
            for o in 0..k {
                let values = || tables[own.clone()].iter().skip(o).step_by(k).zip(weights);
                let mean = values().map(|(t, w)| t * w).sum::<f64>() / total;
                squares += values().map(|(t, w)| w * (t - mean) * (t - mean)).sum::<f64>() / total;
                tables[own.clone()].iter_mut().skip(o).step_by(k).for_each(|t| *t -= mean);
                tables[intercepts + o] += mean;
            }
            // Nothing is known of a cell without rows: it is an average one. Empty bins are known by their neighbours.
            let first = if design.has_steps(t) { weights.len() - 1 } else { 0 };
            for cell in (first..weights.len()).filter(|&cell| weights[cell] == 0.0) {
                tables[own.start + cell * k..own.start + (cell + 1) * k].fill(0.0);
            }
            importance.push((squares / k as f64).sqrt());
        }
        let weight: f64 = self.classes.iter().sum();
        let penalty: f64 = solution.theta.iter().zip(&penalties).map(|(t, p)| 0.5 * p * t * t).sum();
        let fit = AdditiveFit {
            weight,
            weight_decay: decay,
            pair_decay,
            log_likelihood: penalty - solution.value,
            null_log_likelihood: self.classes.iter().filter(|w| **w > 0.0).map(|w| w * (w / weight).ln()).sum(),
            objective: solution.value,
            slope: solution.gradient_norm,
            iterations: solution.iterations,
            converged: solution.converged,
            tried: Vec::new(),
        };
        let about = About::new(self.schema.clone(), Prior::from_weights(&self.classes)?);
        Ok(AdditiveModel::new(about, design.coding, design.terms, tables, importance, fit))
    }
}

/// What is to be fitted.
#[derive(Clone, Copy)]
pub struct Aim<'a> {
    pub decay: f64,
    /// F, if pairs have terms.
    pub pair_decay: Option<f64>,
    pub start: Option<&'a [f64]>,
    /// The largest slope by a whitened weight that counts as zero.
    pub tolerance: f64,
}

/// An error if work is to end.
type Stop<'a> = &'a dyn Fn() -> Result<()>;

/// The penalised −log-likelihood of weights, on an engine.
struct Problem<'a> {
    engine: &'a dyn Engine,
    design: &'a Design,
    reader: &'a Reader,
    /// The rows of the engine, if they are kept as codes.
    rows: Option<&'a CodedRows>,
    classes: usize,
    penalties: Vec<f64>,
    stop: Stop<'a>,
}

impl Problem<'_> {
    /// The value, its slopes by the weights, and by the tables the diagonal of the Hessian if it is asked for.
    fn at(&self, theta: &[f64], curvature: bool) -> Result<(f64, Vec<f64>, Matrix)> {
        (self.stop)()?;
        let (reader, terms) = (self.reader.clone(), self.design.terms.clone());
        let tables = self.design.tables(theta);
        let sums = self.engine.run(&Slopes { reader, terms, classes: self.classes, tables, curvature })?;
        let mut value = sums.loss;
        let mut slopes = self.design.pull(&sums.gradient);
        for ((slope, t), p) in slopes.iter_mut().zip(theta).zip(&self.penalties) {
            *slope += p * t;
            value += 0.5 * p * t * t;
        }
        Ok((value, slopes, sums.hessian))
    }

    /// The rows, where the metric of all columns together is worth its time.
    fn worth_a_metric(&self) -> Option<&CodedRows> {
        let starts = self.design.column_cells();
        let is_worth_it = |rows: &&CodedRows| {
            joint_hessian::is_worth_it(starts[starts.len() - 1] + 1, rows.rows() as f64, self.design.terms.len())
        };
        self.rows.filter(is_worth_it)
    }

    /// The metric of all columns together.
    fn joint_metric(&self, rows: &CodedRows, theta: &[f64], diagonal: &Matrix) -> Result<Option<Metric>> {
        let starts = self.design.column_cells();
        let (reader, terms) = (self.reader.clone(), self.design.terms.clone());
        let tables = self.design.tables(theta);
        let pass = Slopes { reader, terms, classes: self.classes, tables, curvature: true };
        let mut curvatures = Vec::new();
        self.engine.sweep(&mut |batch| {
            curvatures.extend(pass.curvatures(batch)?);
            Ok(())
        })?;
        let hessians = joint_hessian::by_output(rows, starts, &curvatures, self.design.outputs);
        Ok(self.design.joint_metric(&hessians, diagonal.data(), &self.penalties))
    }

    /// L-BFGS in rounds, each in the metric of where the last one ended. After the first round, whatever is left is
    /// hard: it is worth a better metric.
    fn solve(&self, mut theta: Vec<f64>, limits: Limits, memory: usize) -> Result<Solution> {
        let mut path = Vec::new();
        let mut round = 30;
        loop {
            let (_, _, diagonal) = self.at(&theta, true)?;
            let joint = match self.worth_a_metric().filter(|_| !path.is_empty()) {
                Some(rows) => self.joint_metric(rows, &theta, &diagonal)?,
                None => None,
            };
            let metric = joint.unwrap_or_else(|| self.design.metric(diagonal.data(), &self.penalties));
            let left = limits.iterations.saturating_sub(path.len());
            let whitened = Whitened { problem: self, metric: &metric };
            let own = Limits { iterations: round.min(left), ..limits };
            let solution = lbfgs_remembering(memory, &whitened, metric.whitened(&theta), Curvature::Diagonal, own)?;
            theta = metric.weights(&solution.theta);
            let steps = solution.iterations;
            path.extend_from_slice(&solution.path[usize::from(!path.is_empty())..]);
            if solution.converged || steps < own.iterations || steps >= left {
                return Ok(Solution { theta, iterations: path.len() - 1, path, ..solution });
            }
            round *= 2;
        }
    }
}

/// The problem as the optimiser sees it, by whitened weights.
struct Whitened<'a> {
    problem: &'a Problem<'a>,
    metric: &'a Metric,
}

impl Objective for Whitened<'_> {
    fn at(&self, phi: &[f64], curvature: Curvature) -> Result<Point> {
        let (value, slopes, _) = self.problem.at(&self.metric.weights(phi), false)?;
        // In this metric the Hessian is nearly the identity.
        let curvature = match curvature {
            Curvature::None => Matrix::zeros(0, 0),
            _ => Matrix::from_fn(phi.len(), 1, |_, _| 1.0),
        };
        Ok(Point { value, gradient: self.metric.slope(&slopes), curvature })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Batch;
    use crate::numerics::Random;

    /// Two numbers, some missing, and three classes.
    fn rows(n: usize) -> (Vec<f64>, Vec<u32>) {
        let mut random = Random::new(3);
        let mut cell = |_| if random.uniform() < 0.1 { f64::NAN } else { random.normal() };
        let x: Vec<f64> = (0..2 * n).map(&mut cell).collect();
        let y = (0..n).map(|i| u32::from(x[2 * i] > 0.0) + u32::from(x[2 * i + 1] * x[2 * i] > 0.2)).collect();
        (x, y)
    }

    fn with_problem(classes: u32, body: impl Fn(&Prepared, &Memory<'_>, &Design)) {
        let (x, y) = rows(300);
        let y: Vec<u32> = y.iter().map(|y| y % classes).collect();
        let names = ["a", "b", "c"];
        let schema = Schema::numbers(&["u", "v"], "y", &names[..classes as usize]).unwrap();
        let batch = Batch::new(300).row_major(&x[..], 2).unwrap().classes(&y).unwrap();
        let engine = Memory::new(schema, batch).unwrap();
        let prepared = Prepared::new(&engine, Some(1)).unwrap();
        let terms = vec![Term::Column(0), Term::Column(1), Term::Pair(0, 1)];
        let coding = prepared.reader.coding.clone();
        let design = Design::new(coding, terms, outputs(classes as usize), &prepared.seen);
        body(&prepared, &engine, &design);
    }

    #[test]
    fn slopes_are_those_of_the_value() {
        for classes in [2, 3] {
            with_problem(classes, |prepared, _, design| {
                let coded = prepared.coded().unwrap().unwrap();
                let penalties = design.penalties(0.7, 4.0);
                let classes = classes as usize;
                let problem = Problem {
                    engine: &coded,
                    design,
                    reader: &prepared.reader,
                    rows: None,
                    classes,
                    penalties,
                    stop: &|| Ok(()),
                };
                let mut random = Random::new(1);
                let theta: Vec<f64> = (0..design.len()).map(|_| 0.3 * random.normal()).collect();
                let (_, slopes, diagonal) = problem.at(&theta, true).unwrap();
                let metric = design.metric(diagonal.data(), &problem.penalties);
                let phi = metric.whitened(&theta);
                let back = metric.weights(&phi);
                assert!(theta.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-9));
                let whitened = Whitened { problem: &problem, metric: &metric };
                let by_phi = whitened.at(&phi, Curvature::None).unwrap().gradient;
                let value = |theta: &[f64]| problem.at(theta, false).unwrap().0;
                // A number of steps, missing cells, cells of the pair, and the intercepts.
                for i in (0..design.len()).step_by(7).chain([design.len() - 1]) {
                    let moved = |by: f64| {
                        let mut theta = theta.clone();
                        theta[i] += by;
                        value(&theta)
                    };
                    let quotient = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                    assert!((quotient - slopes[i]).abs() < 1e-5 * slopes[i].abs().max(1.0), "{i}: {quotient}");
                    let moved = |by: f64| {
                        let mut phi = phi.clone();
                        phi[i] += by;
                        value(&metric.weights(&phi))
                    };
                    let quotient = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                    assert!((quotient - by_phi[i]).abs() < 1e-5 * by_phi[i].abs().max(1.0), "{i}: {quotient}");
                }
            });
        }
    }

    #[test]
    fn the_metric_is_the_block_of_the_hessian() {
        with_problem(2, |prepared, _, design| {
            let coded = prepared.coded().unwrap().unwrap();
            let penalties = design.penalties(0.7, 4.0);
            let problem = Problem {
                engine: &coded,
                design,
                reader: &prepared.reader,
                rows: None,
                classes: 2,
                penalties,
                stop: &|| Ok(()),
            };
            let theta = vec![0.1; design.len()];
            let (_, _, diagonal) = problem.at(&theta, true).unwrap();
            let metric = design.metric(diagonal.data(), &problem.penalties);
            // In φ the second derivative along each weight of a term is 1.
            let phi = metric.whitened(&theta);
            let whitened = Whitened { problem: &problem, metric: &metric };
            for i in (0..design.len() - 1).step_by(5) {
                let slope = |by: f64| {
                    let mut phi = phi.clone();
                    phi[i] += by;
                    whitened.at(&phi, Curvature::None).unwrap().gradient[i]
                };
                let curvature = (slope(1e-4) - slope(-1e-4)) / 2e-4;
                assert!((curvature - 1.0).abs() < 1e-5, "{i}: {curvature}");
            }
        });
    }

    #[test]
    fn rows_coded_as_they_come_give_the_same() {
        with_problem(3, |prepared, engine, design| {
            let coded = prepared.coded().unwrap().unwrap();
            let theta: Vec<f64> = (0..design.len()).map(|i| 0.01 * (i % 17) as f64).collect();
            let at = |engine: &Memory<'_>, coded: bool| {
                let reader = Reader { coded, ..prepared.reader.clone() };
                let penalties = design.penalties(1.0, 6.0);
                Problem { engine, design, reader: &reader, rows: None, classes: 3, penalties, stop: &|| Ok(()) }
                    .at(&theta, true)
                    .unwrap()
            };
            let (a, b) = (at(&coded, true), at(engine, false));
            assert_eq!((a.0, a.1, a.2.data()), (b.0, b.1, b.2.data()));
        });
    }

    /// In the metric of all columns the Hessian by their weights is the identity, for two classes.
    #[test]
    fn columns_have_one_metric() {
        with_problem(2, |prepared, _, design| {
            let coded = prepared.coded().unwrap().unwrap();
            let (penalties, rows) = (design.penalties(0.7, 4.0), prepared.rows.as_ref());
            let reader = &prepared.reader;
            let problem = Problem { engine: &coded, design, reader, rows, classes: 2, penalties, stop: &|| Ok(()) };
            let mut random = Random::new(1);
            let theta: Vec<f64> = (0..design.len()).map(|_| 0.3 * random.normal()).collect();
            let (_, _, diagonal) = problem.at(&theta, true).unwrap();
            let metric = problem.joint_metric(rows.unwrap(), &theta, &diagonal).unwrap().unwrap();
            let phi = metric.whitened(&theta);
            let back = metric.weights(&phi);
            assert!(theta.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-9));
            let whitened = Whitened { problem: &problem, metric: &metric };
            let slope = |i: usize, by: f64| {
                let mut phi = phi.clone();
                phi[i] += by;
                whitened.at(&phi, Curvature::None).unwrap().gradient
            };
            // Steps of both columns, their missing cells, and the intercept.
            let columns = design.column_cells()[2] - 2;
            let places: Vec<usize> = (0..columns).step_by(5).chain([columns - 1, phi.len() - 1]).collect();
            for &i in &places {
                let (up, down) = (slope(i, 1e-4), slope(i, -1e-4));
                for &j in &places {
                    let curvature = (up[j] - down[j]) / 2e-4;
                    let identity = if i == j { 1.0 } else { 0.0 };
                    assert!((curvature - identity).abs() < 1e-4, "{i} {j}: {curvature}");
                }
            }
        });
    }
}
