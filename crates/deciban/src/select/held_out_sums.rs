//! Sums over held-out rows, for each candidate and fold, and what they say.
//!
//! With losses ℓᵢ = −ln p(true class) and weights wᵢ the log loss is m = Σwᵢℓᵢ/Σwᵢ; its standard error
//! is √(Σwᵢ²(ℓᵢ−m)²)/Σwᵢ, as if rows were independent. (Models of different folds share rows, so the
//! true error is somewhat larger; no unbiased estimate exists: Bengio & Grandvalet 2004.)

use std::collections::HashMap;

use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::file::{Archive, Stored};
use crate::numerics::mean_error;

/// Sums over rows that a model has not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOutSums {
    /// Rows.
    pub rows: f64,
    /// Σw, of all rows.
    pub weight: f64,
    /// Σw of rows that have a posterior, and whose class the model knows.
    pub scored: f64,
    /// Σw², Σw²ℓ and Σw²ℓ² of those.
    pub squares: [f64; 3],
    /// Σwℓ.
    pub loss: f64,
    /// Σw Σₖ (pₖ − [k = true])².
    pub brier: f64,
    /// Σw C[decided][true].
    pub cost: f64,
    /// Σw of rows decided for another class, or not decidable.
    pub errors: f64,
    /// Rows of a class that the model has never seen: errors, and in no average but the error rate.
    pub unseen: f64,
    /// Rows whose posterior is 0/0, likewise.
    pub undefined: f64,
    /// Σw by true class and action; the last column is no action. Empty where there are too many cells.
    pub confusion: Vec<f64>,
}

/// How many numbers stand before the confusion.
const PLAIN: usize = 12;

/// Above so many cells the confusion of all pairs of classes is not kept: there is one for each candidate and
/// fold.
const MOST_CELLS: usize = 1 << 14;

impl HeldOutSums {
    /// No rows yet, and room for so many cells of the confusion.
    pub(super) fn empty(cells: usize) -> Self {
        HeldOutSums::from_numbers(&vec![0.0; PLAIN + cells])
    }

    /// Adds other rows.
    pub fn merge(&mut self, other: &HeldOutSums) {
        let sum: Vec<f64> = self.numbers().iter().zip(other.numbers()).map(|(a, b)| a + b).collect();
        *self = HeldOutSums::from_numbers(&sum);
    }

    pub(super) fn numbers(&self) -> Vec<f64> {
        let [a, b, c] = self.squares;
        let plain = [self.rows, self.weight, self.scored, a, b, c, self.loss, self.brier, self.cost, self.errors];
        plain.into_iter().chain([self.unseen, self.undefined]).chain(self.confusion.iter().copied()).collect()
    }

    pub(super) fn from_numbers(x: &[f64]) -> Self {
        HeldOutSums {
            rows: x[0],
            weight: x[1],
            scored: x[2],
            squares: [x[3], x[4], x[5]],
            loss: x[6],
            brier: x[7],
            cost: x[8],
            errors: x[9],
            unseen: x[10],
            undefined: x[11],
            confusion: x[PLAIN..].to_vec(),
        }
    }

    /// Mean −ln p(true class), in nats.
    pub fn log_loss(&self) -> f64 {
        self.loss / self.scored
    }

    /// Its standard error.
    pub fn log_loss_error(&self) -> f64 {
        mean_error(self.scored, self.log_loss(), self.squares)
    }

    /// The share of errors.
    pub fn error_rate(&self) -> f64 {
        self.errors / self.weight
    }

    /// Mean squared distance of the posterior from the truth, over all classes.
    pub fn brier(&self) -> f64 {
        self.brier / self.scored
    }

    /// Mean cost of the decisions.
    pub fn expected_cost(&self) -> f64 {
        self.cost / self.scored
    }

    /// `confusion(actions)[true][decided]`, without rows that could not be decided; empty where classes times
    /// actions are more than 2¹⁴.
    pub fn confusion(&self, actions: usize) -> Vec<&[f64]> {
        self.confusion.chunks_exact(actions + 1).map(|row| &row[..actions]).collect()
    }
}

/// What a row's posterior is judged by.
#[derive(Clone, Debug)]
pub struct Judge {
    /// The costs.
    pub costs: Costs,
    /// For each action the class it stands for.
    class_of: Vec<Option<usize>>,
    zero_one: bool,
}

/// What became of a row: its loss and whether it is an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// −ln p(true class); NaN where there is no posterior.
    pub loss: f64,
    /// Whether another class was decided for.
    pub wrong: bool,
}

impl Judge {
    /// Judges by these costs over these classes.
    pub fn new(classes: &[String], costs: Costs) -> Result<Self> {
        Error::check_shape("classes of the costs", classes.len(), costs.classes())?;
        let places: HashMap<&String, usize> = classes.iter().enumerate().map(|(k, name)| (name, k)).collect();
        let class_of = costs.actions().iter().map(|action| places.get(action).copied()).collect();
        let zero_one = costs == Costs::zero_one(classes);
        Ok(Judge { costs, class_of, zero_one })
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.costs.classes()
    }

    /// The cells of a confusion, if they are not too many.
    fn cells(&self) -> usize {
        let cells = self.classes() * (self.class_of.len() + 1);
        if cells <= MOST_CELLS { cells } else { 0 }
    }

    /// Sums of no rows.
    pub fn empty(&self) -> HeldOutSums {
        HeldOutSums::empty(self.cells())
    }

    /// The bytes that sums take.
    pub(super) fn size(&self) -> usize {
        8 * (PLAIN + self.cells())
    }

    /// Adds a row to `sums`: `joint` holds log p(x, class) + constant for the classes `present`, and is
    /// used up; `posterior` is room for all classes.
    pub fn add(
        &self,
        sums: &mut HeldOutSums,
        joint: &mut [f64],
        present: &[usize],
        truth: usize,
        weight: f64,
        posterior: &mut [f64],
    ) -> Verdict {
        sums.rows += 1.0;
        sums.weight += weight;
        let actions = self.class_of.len();
        let cell = truth * (actions + 1);
        let place =
            if present.len() == self.classes() { Some(truth) } else { present.iter().position(|&c| c == truth) };
        let (mut top, mut best) = (f64::NEG_INFINITY, 0);
        for (k, &x) in joint.iter().enumerate() {
            if x > top {
                (top, best) = (x, k);
            }
        }
        if top == f64::NEG_INFINITY {
            sums.undefined += 1.0;
            sums.errors += weight;
            tally(sums, cell + actions, weight);
            return Verdict { loss: f64::NAN, wrong: true };
        }
        let log_true = place.map(|place| joint[place] - top);
        let mut total = 0.0;
        for x in joint.iter_mut() {
            *x = (*x - top).exp();
            total += *x;
        }
        joint.iter_mut().for_each(|x| *x /= total);
        let action = match self.zero_one {
            true => present[best],
            false => {
                posterior.fill(0.0);
                present.iter().zip(joint.iter()).for_each(|(&c, p)| posterior[c] = *p);
                self.costs.best(posterior).0
            }
        };
        let wrong = self.class_of[action].is_some_and(|class| class != truth);
        tally(sums, cell + action, weight);
        if wrong {
            sums.errors += weight;
        }
        let (Some(log_true), Some(place)) = (log_true, place) else {
            sums.unseen += 1.0;
            if !wrong {
                sums.errors += weight;
            }
            return Verdict { loss: f64::NAN, wrong: true };
        };
        let loss = total.ln() - log_true;
        sums.scored += weight;
        sums.loss += weight * loss;
        sums.squares[0] += weight * weight;
        sums.squares[1] += weight * weight * loss;
        sums.squares[2] += weight * weight * loss * loss;
        let squares: f64 = joint.iter().map(|p| p * p).sum();
        sums.brier += weight * (squares - 2.0 * joint[place] + 1.0);
        sums.cost += weight * self.costs.cost(truth, action);
        Verdict { loss, wrong }
    }
}

/// Adds to a cell of the confusion, if there is one.
fn tally(sums: &mut HeldOutSums, cell: usize, weight: f64) {
    if let Some(sum) = sums.confusion.get_mut(cell) {
        *sum += weight;
    }
}

impl Stored for Judge {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put_json(name, &(self.costs.parts(), &self.class_of, self.zero_one))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let (costs, class_of, zero_one): (serde_json::Value, Vec<Option<usize>>, bool) = archive.json(name)?;
        let costs = Costs::from_parts(costs)?;
        Error::check_shape("actions", costs.actions().len(), class_of.len())?;
        Ok(Judge { costs, class_of, zero_one })
    }
}
