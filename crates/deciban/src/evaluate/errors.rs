//! Errors, confusion, log loss −mean ln p(true), Brier score mean Σₖ (pₖ − [k = true])² and expected
//! cost mean C[decided][true]. An evaluation is additive, so streams are evaluated as they pass.

use crate::decision::Costs;
use crate::error::{Error, Result};
use crate::posterior::Posterior;

/// Sums over evaluated rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    classes: Vec<String>,
    actions: Vec<String>,
    rows: usize,
    weight: f64,
    log_loss: f64,
    brier: f64,
    cost: f64,
    undefined: usize,
    /// The weight of rows that have a posterior.
    defined: f64,
    /// `confusion[true][decided]`; the last column counts rows without a decision.
    confusion: Vec<Vec<f64>>,
}

impl Evaluation {
    /// No rows yet.
    pub fn new(classes: &[String], costs: &Costs) -> Self {
        Evaluation {
            classes: classes.to_vec(),
            actions: costs.actions().to_vec(),
            rows: 0,
            weight: 0.0,
            log_loss: 0.0,
            brier: 0.0,
            cost: 0.0,
            undefined: 0,
            defined: 0.0,
            confusion: vec![vec![0.0; costs.actions().len() + 1]; classes.len()],
        }
    }

    /// Adds rows with their true classes.
    pub fn observe(
        &mut self,
        posterior: &Posterior,
        truth: &[u32],
        weights: Option<&[f64]>,
        costs: &Costs,
    ) -> Result<()> {
        Error::check_shape("labels", posterior.rows(), truth.len())?;
        for (row, (decision, &class)) in posterior.decide(costs).iter().zip(truth).enumerate() {
            let class = class as usize;
            if class >= self.classes.len() {
                return Err(Error::Classes(format!("row {}: the class is not one the model knows", row + 1)));
            }
            let weight = weights.map_or(1.0, |w| w[row]);
            self.rows += 1;
            self.weight += weight;
            let undecided = self.actions.len();
            self.confusion[class][decision.action.unwrap_or(undecided)] += weight;
            let Some(action) = decision.action else {
                self.undefined += 1;
                continue;
            };
            self.defined += weight;
            let log_p = posterior.log_row(row);
            self.cost += weight * costs.cost(action, class);
            self.log_loss -= weight * log_p[class];
            let square = |(k, l): (usize, &f64)| (l.exp() - f64::from(u8::from(k == class))).powi(2);
            self.brier += weight * log_p.iter().enumerate().map(square).sum::<f64>();
        }
        Ok(())
    }

    /// Adds the rows of another evaluation with the same classes and actions.
    pub fn merge(&mut self, other: &Evaluation) {
        self.rows += other.rows;
        self.weight += other.weight;
        self.log_loss += other.log_loss;
        self.brier += other.brier;
        self.cost += other.cost;
        self.undefined += other.undefined;
        self.defined += other.defined;
        for (a, b) in self.confusion.iter_mut().flatten().zip(other.confusion.iter().flatten()) {
            *a += b;
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The classes' names.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The actions' names.
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The weight of rows decided for a class that is not theirs; rows without a decision count too.
    pub fn errors(&self) -> f64 {
        let wrong = |(class, row): (usize, &Vec<f64>)| {
            let is_wrong = |action: usize| {
                let name = self.actions.get(action);
                name.is_none_or(|name| *name != self.classes[class] && self.classes.contains(name))
            };
            row.iter().enumerate().filter(|(action, _)| is_wrong(*action)).map(|(_, w)| w).sum::<f64>()
        };
        self.confusion.iter().enumerate().map(wrong).fold(0.0, |sum, w| sum + w)
    }

    /// The weight of rows whose action is not a class, such as *reject*.
    pub fn rejected(&self) -> f64 {
        let other: Vec<usize> = (0..self.actions.len()).filter(|&a| !self.classes.contains(&self.actions[a])).collect();
        // An empty sum of doubles is −0.
        self.confusion.iter().flat_map(|row| other.iter().map(|&a| row[a])).fold(0.0, |sum, w| sum + w)
    }

    /// The share of errors.
    pub fn error_rate(&self) -> f64 {
        self.errors() / self.weight
    }

    /// Mean −ln p(true class), in nats.
    pub fn log_loss(&self) -> f64 {
        self.log_loss / self.defined
    }

    /// Mean squared distance of the posterior from the truth, over all classes.
    pub fn brier(&self) -> f64 {
        self.brier / self.defined
    }

    /// Mean cost of the decisions.
    pub fn expected_cost(&self) -> f64 {
        self.cost / self.defined
    }

    /// Rows whose posterior is 0/0: they count as errors and in no average but the error rate.
    pub fn undefined(&self) -> usize {
        self.undefined
    }

    /// The weight of rows of each class without a decision.
    pub fn undecided(&self) -> Vec<f64> {
        self.confusion.iter().map(|row| row[self.actions.len()]).collect()
    }

    /// `confusion()[true][decided]`.
    pub fn confusion(&self) -> Vec<&[f64]> {
        self.confusion.iter().map(|row| &row[..self.actions.len()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::posterior::Prior;

    #[test]
    fn figures_by_hand() {
        let classes = vec!["a".to_string(), "b".to_string()];
        let costs = Costs::zero_one(&classes);
        let logs = [[0.8f64, 0.2], [0.4, 0.6], [0.5, 0.5], [0.1, 0.9]].concat().iter().map(|p| p.ln()).collect();
        let posterior = Evidence::new(2, logs).unwrap().posterior(&Prior::uniform(2));
        let mut e = Evaluation::new(&classes, &costs);
        e.observe(&posterior, &[0, 0, 1, 1], None, &costs).unwrap();
        assert_eq!((e.rows(), e.errors(), e.error_rate(), e.expected_cost()), (4, 2.0, 0.5, 0.5));
        let log_loss = -(0.8f64.ln() + 0.4f64.ln() + 0.5f64.ln() + 0.9f64.ln()) / 4.0;
        assert!((e.log_loss() - log_loss).abs() < 1e-15);
        assert!((e.brier() - 2.0 * (0.04 + 0.36 + 0.25 + 0.01) / 4.0).abs() < 1e-15);
        assert_eq!(e.confusion(), [[1.0, 1.0], [1.0, 1.0]]);
        let mut twice = e.clone();
        twice.merge(&e);
        assert_eq!((twice.rows(), twice.brier()), (8, e.brier()));
    }
}
