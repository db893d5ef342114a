//! [`Costs`] and decisions: the action a with the least expected cost Σₖ C[k][a] p(k|x). Rows are the true classes and
//! columns the actions, as in a table of confusions.
//!
//! An action need not be a class: *reject* is one more column of the matrix. *None of these* is another, which no
//! expected cost chooses: it is for rows that are too unusual for every class. For two classes and
//! two actions the rule is a threshold on the log-likelihood ratio,
//!
//! decide 1 if LLR > −logit π̃,  π̃ = π₁C_miss / (π₁C_miss + π₀C_fa),
//!
//! where C_miss = C[1][0] − C[1][1], C_fa = C[0][1] − C[0][0], and π̃ is the effective prior.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::posterior::{Posterior, Prior, to_probabilities};

/// What each action costs when each class is true.
///
/// ```
/// use deciban::decision::Costs;
/// // To send somebody home who is ill costs 1000 times as much as to treat somebody who is well.
/// let costs = Costs::new(
///     vec!["send home".into(), "treat".into()],
///     vec![vec![0.0, 1.0], vec![1000.0, 0.0]], // well, ill
/// )?;
/// let (action, cost) = costs.best(&[0.99, 0.01]);
/// assert_eq!((costs.actions()[action].as_str(), cost), ("treat", 0.99));
/// # Ok::<(), deciban::Error>(())
/// ```
///
/// Zero-one costs take no room and no time for pairs of classes, however many classes there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    actions: Vec<String>,
    classes: usize,
    rows: Vec<Row>,
    /// The action for rows that are unlike all classes.
    none_of_these: Option<usize>,
}

/// The name of the action for rows that are unlike all classes.
pub const NONE_OF_THESE: &str = "none of these";

/// What an action costs for each true class. A row has one form only, so equal costs compare as equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Row {
    /// 0 for this class, 1 for every other.
    ZeroOne(usize),
    /// A number for each class.
    Each(Vec<f64>),
}

impl Row {
    fn new(costs: Vec<f64>) -> Self {
        let mut zeros = costs.iter().enumerate().filter(|(_, c)| **c == 0.0).map(|(k, _)| k);
        match (zeros.next(), zeros.next()) {
            (Some(own), None) if costs.iter().enumerate().all(|(k, c)| k == own || *c == 1.0) => Row::ZeroOne(own),
            _ => Row::Each(costs),
        }
    }

    fn cost(&self, class: usize) -> f64 {
        match self {
            Row::ZeroOne(own) => f64::from(u8::from(*own != class)),
            Row::Each(costs) => costs[class],
        }
    }

    /// Σₖ cost(k) pₖ; 0 · NaN is 0.
    fn expected(&self, posterior: &[f64]) -> f64 {
        let positive = |p: &f64| if *p > 0.0 { *p } else { 0.0 };
        match self {
            Row::ZeroOne(own) => posterior.iter().enumerate().filter(|(k, _)| k != own).map(|(_, p)| positive(p)).sum(),
            // Exactly, though the probabilities are rounded.
            Row::Each(costs) if costs.iter().all(|c| *c == costs[0]) => costs[0],
            Row::Each(costs) => costs.iter().zip(posterior).map(|(c, p)| c * positive(p)).sum(),
        }
    }
}

/// Whether a number is a cost. A gain is a cost that is smaller than the others: add the same to all costs of its class.
fn check(cost: f64) -> Result<()> {
    match cost >= 0.0 && cost.is_finite() {
        true => Ok(()),
        false => Err(Error::Costs(format!("{cost} is not a finite number of 0 or more"))),
    }
}

impl Costs {
    /// `matrix[class][action]`: a row for each true class and a column for each action, of finite numbers of 0 or more.
    pub fn new(actions: Vec<String>, matrix: Vec<Vec<f64>>) -> Result<Self> {
        let classes = matrix.len();
        if classes == 0 || actions.is_empty() || matrix.iter().any(|row| row.len() != actions.len()) {
            return Err(Error::Costs("give a row for each true class and a column for each action".into()));
        }
        matrix.iter().flatten().try_for_each(|cost| check(*cost))?;
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = actions.iter().find(|a| !seen.insert(a.as_str())) {
            return Err(Error::Costs(format!("there are two actions named `{twice}`")));
        }
        let of_action = |a: usize| Row::new(matrix.iter().map(|row| row[a]).collect());
        let rows = (0..actions.len()).map(of_action).collect();
        Ok(Costs { actions, classes, rows, none_of_these: None })
    }

    /// One action per class, 0 for the right one and 1 for every other.
    pub fn zero_one(classes: &[String]) -> Self {
        let rows = (0..classes.len()).map(Row::ZeroOne).collect();
        Costs { actions: classes.to_vec(), classes: classes.len(), rows, none_of_these: None }
    }

    /// One more action, `reject`, that costs the same whatever is true.
    pub fn with_reject(mut self, cost: f64) -> Result<Self> {
        if self.actions.iter().any(|action| action == "reject") {
            return Err(Error::Costs("there are two actions named `reject`".into()));
        }
        check(cost)?;
        self.actions.push("reject".into());
        self.rows.push(Row::new(vec![cost; self.classes]));
        Ok(self)
    }

    /// One more action, [`NONE_OF_THESE`], for rows that are unlike all classes
    /// ([`decide_unless`](Posterior::decide_unless)). It costs the same whatever is true, unless there is an action of
    /// this name already. Whatever it costs, other rows never get it.
    pub fn with_none_of_these(mut self, cost: f64) -> Result<Self> {
        check(cost)?;
        let place = self.actions.iter().position(|action| action == NONE_OF_THESE);
        if place.is_none() {
            self.actions.push(NONE_OF_THESE.into());
            self.rows.push(Row::new(vec![cost; self.classes]));
        }
        self.none_of_these = place.or(Some(self.rows.len() - 1));
        match self.rows.len() {
            1 => Err(Error::Costs(format!("there must be other actions than `{NONE_OF_THESE}`"))),
            _ => Ok(self),
        }
    }

    /// The action for rows that are unlike all classes, if there is one.
    pub fn none_of_these(&self) -> Option<usize> {
        self.none_of_these
    }

    /// Sets the cost of an action where `class` is true.
    pub fn set(&mut self, class: usize, action: usize, cost: f64) -> Result<()> {
        check(cost)?;
        let mut costs: Vec<f64> = (0..self.classes).map(|k| self.cost(k, action)).collect();
        costs[class] = cost;
        self.rows[action] = Row::new(costs);
        Ok(())
    }

    /// The actions' names.
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The cost of an action where `class` is true.
    pub fn cost(&self, class: usize, action: usize) -> f64 {
        self.rows[action].cost(class)
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The expected cost of each action.
    pub fn expected(&self, posterior: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| row.expected(posterior)).collect()
    }

    /// The action of least expected cost (the first of equals), and that cost.
    pub fn best(&self, posterior: &[f64]) -> (usize, f64) {
        // Of zero-one actions the one for the most probable class is best: only its cost is summed.
        let (mut most, mut zero_one) = (f64::NEG_INFINITY, None);
        let mut best = (0, f64::INFINITY);
        let chosen = |action: &usize| self.none_of_these != Some(*action);
        for (action, row) in self.rows.iter().enumerate().filter(|(action, _)| chosen(action)) {
            match row {
                Row::ZeroOne(own) if posterior[*own] > most => (most, zero_one) = (posterior[*own], Some(action)),
                Row::ZeroOne(_) => {}
                Row::Each(_) => {
                    let cost = row.expected(posterior);
                    if cost < best.1 {
                        best = (action, cost);
                    }
                }
            }
        }
        let Some(action) = zero_one else { return best };
        let cost = self.rows[action].expected(posterior);
        if cost < best.1 || (cost == best.1 && action < best.0) { (action, cost) } else { best }
    }

    /// The costs in a form that takes no room for zero-one actions.
    pub(crate) fn parts(&self) -> impl Serialize + '_ {
        (&self.actions, self.classes, &self.rows, self.none_of_these)
    }

    /// Costs from their [`parts`](Costs::parts), as serialised.
    pub(crate) fn from_parts(parts: serde_json::Value) -> Result<Self> {
        let wrong = || Error::Costs("the stored costs are not a matrix".into());
        type Parts = (Vec<String>, usize, Vec<Row>, Option<usize>);
        let (actions, classes, rows, none_of_these): Parts = serde_json::from_value(parts).map_err(|_| wrong())?;
        let fits = |row: &Row| match row {
            Row::ZeroOne(own) => *own < classes,
            Row::Each(costs) => costs.len() == classes && costs.iter().all(|c| check(*c).is_ok()),
        };
        let has_place = none_of_these.is_none_or(|place| place < rows.len() && rows.len() > 1);
        match !rows.is_empty() && actions.len() == rows.len() && rows.iter().all(fits) && has_place {
            true => Ok(Costs { actions, classes, rows, none_of_these }),
            false => Err(wrong()),
        }
    }

    fn two_by_two(&self) -> Result<(f64, f64)> {
        if self.rows.len() != 2 || self.classes != 2 {
            return Err(Error::Costs("a threshold needs two classes and two actions".into()));
        }
        let (miss, false_alarm) = (self.cost(1, 0) - self.cost(1, 1), self.cost(0, 1) - self.cost(0, 0));
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
        let mut posterior = vec![0.0; self.classes()];
        let mut decide = |row: usize| {
            if self.log_row(row)[0].is_nan() {
                return Action { action: None, risk: f64::NAN };
            }
            posterior.copy_from_slice(self.log_row(row));
            to_probabilities(&mut posterior);
            let (action, risk) = costs.best(&posterior);
            Action { action: Some(action), risk }
        };
        (0..self.rows()).map(&mut decide).collect()
    }

    /// The best action for each row, and [none of these](Costs::none_of_these) for those that are `unusual`, if there
    /// is such an action; an empty list is no row. The risk is that of the answer if the row is of one of the classes.
    pub fn decide_unless(&self, costs: &Costs, unusual: &[bool]) -> Vec<Action> {
        let mut decided = self.decide(costs);
        let Some(action) = costs.none_of_these else { return decided };
        for (row, decision) in decided.iter_mut().enumerate().filter(|(row, _)| unusual.get(*row) == Some(&true)) {
            let is_defined = decision.action.is_some();
            let risk = if is_defined { costs.rows[action].expected(&self.row(row)) } else { f64::NAN };
            *decision = Action { action: Some(action), risk };
        }
        decided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;

    fn binary(miss: f64, false_alarm: f64) -> Costs {
        Costs::new(vec!["0".into(), "1".into()], vec![vec![0.0, false_alarm], vec![miss, 0.0]]).unwrap()
    }

    #[test]
    fn a_cost_is_a_finite_number_of_0_or_more() {
        let names = vec!["0".to_string(), "1".to_string()];
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            let message = format!("costs: {wrong} is not a finite number of 0 or more");
            let mut costs = Costs::zero_one(&names);
            for refused in [
                Costs::new(names.clone(), vec![vec![0.0, wrong], vec![1.0, 0.0]]).map(|_| ()),
                costs.set(0, 1, wrong),
                costs.clone().with_reject(wrong).map(|_| ()),
                costs.with_none_of_these(wrong).map(|_| ()),
            ] {
                assert_eq!(refused.unwrap_err().to_string(), message);
            }
        }
        // A row for each class: three classes and two actions, not the other way round.
        assert!(Costs::new(names.clone(), vec![vec![0.0, 1.0, 2.0], vec![1.0, 0.0, 2.0]]).is_err());
        let costs = Costs::new(names, vec![vec![0.0, 7.0], vec![1.0, 0.0], vec![2.0, 3.0]]).unwrap();
        assert_eq!((costs.classes(), costs.cost(0, 1), costs.cost(2, 0)), (3, 7.0, 2.0));
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
        // Its cost is what was said, though rounded probabilities do not sum to 1.
        assert_eq!(costs.best(&[0.6, 0.4 - 1e-15]), (2, 0.1));
        assert!(costs.llr_threshold(&Prior::uniform(2)).is_err());
        assert!(costs.with_reject(0.2).is_err());
    }

    #[test]
    fn none_of_these_is_for_unusual_rows_alone() {
        let names = ["a".to_string(), "b".to_string()];
        // It costs nothing, and all the same no usual row gets it.
        let costs = Costs::zero_one(&names).with_none_of_these(0.0).unwrap();
        let never = f64::NEG_INFINITY;
        let posterior = Evidence::new(2, vec![0.0, 0.1, 0.0, 0.1, never, never]).unwrap().posterior(&Prior::uniform(2));
        let actions =
            |unusual: &[bool]| posterior.decide_unless(&costs, unusual).iter().map(|d| d.action).collect::<Vec<_>>();
        assert_eq!(actions(&[]), [Some(1), Some(1), None]);
        assert_eq!(actions(&[true, false, true]), [Some(2), Some(1), Some(2)]);
        assert_eq!(costs.actions()[2], NONE_OF_THESE);
        let again = Costs::from_parts(serde_json::to_value(costs.parts()).unwrap()).unwrap();
        assert_eq!(costs, again);
        // A matrix may say what it costs.
        let matrix = vec![vec![0.0, 5.0, 3.0], vec![5.0, 0.0, 2.0]];
        let own = Costs::new(vec!["a".into(), "b".into(), NONE_OF_THESE.into()], matrix)
            .unwrap()
            .with_none_of_these(1.0)
            .unwrap();
        assert_eq!((own.actions().len(), own.cost(0, 2)), (3, 3.0));
        assert!((posterior.decide_unless(&own, &[true])[0].risk - 2.475).abs() < 1e-3);
        assert!(
            Costs::new(vec![NONE_OF_THESE.into()], vec![vec![0.0], vec![1.0]])
                .unwrap()
                .with_none_of_these(1.0)
                .is_err()
        );
    }

    /// What zero-one actions cost is not looked up in a matrix: it is what a matrix would say.
    #[test]
    fn zero_one_costs_are_those_of_their_matrix() {
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let dense = |a: usize| (0..3).map(|k| f64::from(u8::from(a != k))).collect::<Vec<f64>>();
        let matrix: Vec<Vec<f64>> = (0..3).map(dense).collect();
        assert_eq!(Costs::zero_one(&names), Costs::new(names.clone(), matrix).unwrap());
        let mut costs = Costs::zero_one(&names).with_reject(0.4).unwrap();
        costs.set(0, 2, 5.0).unwrap();
        for p in [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.0, 0.35, 0.65], [0.4, 0.4, 0.2], [0.25, 0.25, 0.5]] {
            let decided = (0..3).map(|a| (0..3).map(|k| costs.cost(k, a) * p[k]).sum());
            let all: Vec<f64> = decided.chain([0.4]).collect();
            let least = (0..4).reduce(|a, b| if all[b] < all[a] { b } else { a }).unwrap();
            let (action, cost) = costs.best(&p);
            assert_eq!((action, costs.expected(&p)), (least, all.clone()), "{p:?}");
            assert!((cost - all[least]).abs() < 1e-16);
        }
        costs.set(0, 2, 1.0).unwrap();
        assert_eq!(costs, Costs::zero_one(&names).with_reject(0.4).unwrap());
        let again = Costs::from_parts(serde_json::to_value(costs.parts()).unwrap()).unwrap();
        assert_eq!(costs, again);
        assert!(Costs::from_parts(serde_json::json!([["a"], 2, [7], null])).is_err());
    }
}
