//! [`Costs`] and decisions: the action a with the least expected cost Σₖ C[a][k] p(k|x).
//!
//! An action need not be a class: *reject* is one more row of the matrix. For two classes and
//! two actions the rule is a threshold on the log-likelihood ratio,
//!
//! decide 1 if LLR > −logit π̃,  π̃ = π₁C_miss / (π₁C_miss + π₀C_fa),
//!
//! where C_miss = C[0][1] − C[1][1], C_fa = C[1][0] − C[0][0], and π̃ is the effective prior.

use crate::error::{Error, Result};
use crate::posterior::{Posterior, Prior};

/// What each action costs when each class is true.
///
/// ```
/// use deciban::decision::Costs;
/// // Missing an illness costs 1000 times as much as a false alarm.
/// let costs = Costs::new(
///     vec!["send home".into(), "treat".into()],
///     vec![vec![0.0, 1000.0], vec![1.0, 0.0]],
/// )?;
/// let (action, cost) = costs.best(&[0.99, 0.01]);
/// assert_eq!((costs.actions()[action].as_str(), cost), ("treat", 0.99));
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    actions: Vec<String>,
    matrix: Vec<Vec<f64>>,
}

impl Costs {
    /// `matrix[action][class]`, of finite numbers.
    pub fn new(actions: Vec<String>, matrix: Vec<Vec<f64>>) -> Result<Self> {
        let classes = matrix.first().map_or(0, Vec::len);
        if actions.len() != matrix.len() || classes == 0 || matrix.iter().any(|row| row.len() != classes) {
            return Err(Error::Costs("give one row per action and one column per class".into()));
        }
        if matrix.iter().flatten().any(|c| !c.is_finite()) {
            return Err(Error::Costs("every cost must be a finite number".into()));
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = actions.iter().find(|a| !seen.insert(a.as_str())) {
            return Err(Error::Costs(format!("there are two actions named `{twice}`")));
        }
        Ok(Costs { actions, matrix })
    }

    /// One action per class, 0 for the right one and 1 for every other.
    pub fn zero_one(classes: &[String]) -> Self {
        let k = classes.len();
        let row = |a: usize| (0..k).map(|c| if a == c { 0.0 } else { 1.0 }).collect();
        Costs { actions: classes.to_vec(), matrix: (0..k).map(row).collect() }
    }

    /// One more action, `reject`, that costs the same whatever is true.
    pub fn with_reject(mut self, cost: f64) -> Result<Self> {
        let classes = self.matrix[0].len();
        self.actions.push("reject".into());
        self.matrix.push(vec![cost; classes]);
        Costs::new(self.actions, self.matrix)
    }

    /// Sets the cost of an action when a class is true.
    pub fn set(&mut self, action: usize, class: usize, cost: f64) -> Result<()> {
        if !cost.is_finite() {
            return Err(Error::Costs("every cost must be a finite number".into()));
        }
        self.matrix[action][class] = cost;
        Ok(())
    }

    /// The actions' names.
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The cost of an action when a class is true.
    pub fn cost(&self, action: usize, class: usize) -> f64 {
        self.matrix[action][class]
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.matrix[0].len()
    }

    /// The expected cost of each action.
    pub fn expected(&self, posterior: &[f64]) -> Vec<f64> {
        let product = |row: &Vec<f64>| row.iter().zip(posterior).map(|(c, p)| if *p > 0.0 { c * p } else { 0.0 }).sum();
        self.matrix.iter().map(product).collect()
    }

    /// The action of least expected cost (the first of equals), and that cost.
    pub fn best(&self, posterior: &[f64]) -> (usize, f64) {
        let expected = self.expected(posterior);
        // There is at least one action.
        let best = (0..expected.len()).reduce(|a, b| if expected[b] < expected[a] { b } else { a }).unwrap_or(0);
        (best, expected[best])
    }

    fn two_by_two(&self) -> Result<(f64, f64)> {
        if self.matrix.len() != 2 || self.classes() != 2 {
            return Err(Error::Costs("a threshold needs two classes and two actions".into()));
        }
        let (miss, false_alarm) = (self.cost(0, 1) - self.cost(1, 1), self.cost(1, 0) - self.cost(0, 0));
        match miss > 0.0 && false_alarm > 0.0 {
            true => Ok((miss, false_alarm)),
            false => Err(Error::Costs("a threshold needs each action to be the cheaper one for its class".into())),
        }
    }

    /// For two classes: the prior of the second class with which zero-one costs decide alike.
    pub fn effective_prior(&self, prior: &Prior) -> Result<f64> {
        let (miss, false_alarm) = self.two_by_two()?;
        let p = prior.probabilities();
        Ok(p[1] * miss / (p[1] * miss + p[0] * false_alarm))
    }

    /// For two classes: the LLR (second over first, in nats) above which the second action is best.
    pub fn llr_threshold(&self, prior: &Prior) -> Result<f64> {
        let (miss, false_alarm) = self.two_by_two()?;
        let p = prior.probabilities();
        Ok((p[0] * false_alarm).ln() - (p[1] * miss).ln())
    }
}

/// A decision about one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Action {
    /// The action's number in [`Costs::actions`]; `None` where the posterior is undefined (0/0).
    pub action: Option<usize>,
    /// Its expected cost, the risk.
    pub risk: f64,
}

impl Posterior {
    /// The best action for each row.
    pub fn decide(&self, costs: &Costs) -> Vec<Action> {
        (0..self.rows())
            .map(|row| {
                let posterior = self.row(row);
                if posterior[0].is_nan() {
                    return Action { action: None, risk: f64::NAN };
                }
                let (action, risk) = costs.best(&posterior);
                Action { action: Some(action), risk }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;

    fn binary(miss: f64, false_alarm: f64) -> Costs {
        Costs::new(vec!["0".into(), "1".into()], vec![vec![0.0, miss], vec![false_alarm, 0.0]]).unwrap()
    }

    #[test]
    fn threshold_and_expected_cost_decide_alike() {
        for miss in [0.5, 1.0, 1000.0] {
            for p in [0.01, 0.3, 0.5, 0.99] {
                let (costs, prior) = (binary(miss, 1.0), Prior::new(&[1.0 - p, p]).unwrap());
                let threshold = costs.llr_threshold(&prior).unwrap();
                let effective = costs.effective_prior(&prior).unwrap();
                assert!((threshold + (effective / (1.0 - effective)).ln()).abs() < 1e-12);
                for llr in [-12.0, -3.0, threshold - 1e-9, threshold + 1e-9, 0.1, 5.0] {
                    let evidence = Evidence::new(2, vec![0.0, llr]).unwrap();
                    let decided = evidence.posterior(&prior).decide(&costs)[0].action;
                    assert_eq!(decided, Some(usize::from(llr > threshold)), "{miss} {p} {llr}");
                }
            }
        }
    }

    #[test]
    fn reject_wins_when_in_doubt() {
        let costs = Costs::zero_one(&["a".into(), "b".into()]).with_reject(0.1).unwrap();
        let decide = |p: f64| costs.actions()[costs.best(&[p, 1.0 - p]).0].clone();
        assert_eq!((decide(0.95).as_str(), decide(0.6).as_str(), decide(0.05).as_str()), ("a", "reject", "b"));
        assert!(costs.llr_threshold(&Prior::uniform(2)).is_err());
        assert!(costs.with_reject(0.2).is_err());
    }
}
