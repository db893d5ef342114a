//! An [`Application`]: the prior, the costs and the price of a reject that a user plugs in after scoring.
//!
//! There is one parser and one meaning for the program, Python and JSON:
//!
//! - A prior is `uniform`, `empirical` (the shares of the training data), or probabilities of classes. Classes
//!   that it does not name share the rest in their empirical proportion.
//! - A cost is of a *true* class that was *decided* to be another: `malignant>benign=1000`. What is not named
//!   costs 1, and a right decision 0.
//! - A reject is one more action, with the same cost whatever is true.
//! - *None of these* is the answer for rows that are unlike what the model knows: less usual than all but a share P of
//!   the rows that it would make itself. It costs what a reject costs, or 1, unless a matrix of costs has such an action.

use std::collections::HashSet;
use std::path::Path;

use deciban::data::Schema;
use deciban::decision::{Costs, NONE_OF_THESE};
use deciban::learn::Classifier;
use deciban::model::Model;
use deciban::posterior::Prior;
use deciban::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::cost_table::CostTable;

/// What a user plugs in after scoring.
///
/// ```
/// use deciban_tasks::Application;
/// let application: Application = serde_json::from_str(
///     r#"{ "prior": {"malignant": 0.01}, "costs": {"malignant>benign": 1000}, "reject": 0.5 }"#,
/// )?;
/// assert_eq!(application.prior, "malignant=0.01".parse()?);
/// assert_eq!(application.reject, Some(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Application {
    /// How common the classes are.
    pub prior: PriorChoice,
    /// What decisions cost.
    pub costs: CostChoice,
    /// What it costs to decide for no class; `None` if that is not allowed.
    pub reject: Option<f64>,
    /// The share of the model's own rows that are so unusual that they are none of the classes.
    pub none_of_these: Option<f64>,
}

/// Which prior is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Value", try_from = "Value")]
pub enum PriorChoice {
    /// The model's own.
    #[default]
    Own,
    /// All classes alike.
    Uniform,
    /// The shares of the training data.
    Empirical,
    /// Probabilities by class.
    Named(Vec<(String, f64)>),
    /// A probability for each class, in the order of the model.
    Listed(Vec<f64>),
}

/// What decisions cost.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub enum CostChoice {
    /// Every mistake costs 1.
    #[default]
    ZeroOne,
    /// `TRUE>DECIDED=COST,...`, understood when the classes are known: their names may hold any character.
    Text(String),
    /// Single costs: true class, decided class, cost.
    Pairs(Vec<(String, String, f64)>),
    /// A row for each true class and a column for each action.
    Table(CostTable),
}

/// An application to the classes of a model: what decisions are made with.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The prior of the classes.
    pub prior: Prior,
    /// The costs of the actions.
    pub costs: Costs,
    /// Whether costs or a reject were given, so that the risk of a decision is worth telling.
    pub has_costs: bool,
    /// Rows whose [rank](deciban::unusual::HowUsual) is below this are none of the classes.
    pub none_of_these: Option<f64>,
}

/// The number of a class, or an error that lists the classes.
pub fn find_class(schema: &Schema, name: &str, option: &'static str) -> Result<usize> {
    schema.class(name).ok_or_else(|| Error::unknown_class(option, name, schema.classes()))
}

impl Application {
    /// For the classes of a model.
    pub fn to_model(&self, model: &impl Classifier) -> Result<Terms> {
        self.to(model.schema(), model.prior(), model.empirical())
    }

    /// For the classes of a schema; `own` is the prior where none is given.
    pub fn to(&self, schema: &Schema, own: &Prior, empirical: &Prior) -> Result<Terms> {
        let prior = self.prior.resolve(schema, own, empirical)?;
        let none_of_these = self.none_of_these;
        Ok(Terms { prior, costs: self.costs(schema)?, has_costs: self.has_costs(), none_of_these })
    }

    /// Whether costs or a reject are given.
    pub fn has_costs(&self) -> bool {
        self.costs != CostChoice::ZeroOne || self.reject.is_some()
    }

    /// The costs of actions.
    pub fn costs(&self, schema: &Schema) -> Result<Costs> {
        let mut costs = self.costs.resolve(schema)?;
        if let Some(cost) = self.reject {
            if !(cost >= 0.0 && cost.is_finite()) {
                return Err(Error::parameter("reject", format!("{cost} is not a finite cost of 0 or more")));
            }
            costs = costs.with_reject(cost)?;
        }
        match self.none_of_these {
            Some(p) if !(p > 0.0 && p < 1.0) => {
                Err(Error::parameter("none_of_these", format!("{p} is not a share above 0 and below 1, such as 0.01")))
            }
            Some(_) if schema.class(NONE_OF_THESE).is_some() => {
                Err(Error::parameter("none_of_these", format!("there is a class named `{NONE_OF_THESE}`")))
            }
            Some(_) => costs.with_none_of_these(self.reject.unwrap_or(1.0)),
            None => Ok(costs),
        }
    }
}

impl PriorChoice {
    /// The prior over the schema's classes.
    pub fn resolve(&self, schema: &Schema, own: &Prior, empirical: &Prior) -> Result<Prior> {
        let classes = schema.classes().len();
        let pairs = match self {
            PriorChoice::Own => return Ok(own.clone()),
            PriorChoice::Uniform => return Ok(Prior::uniform(classes)),
            PriorChoice::Empirical => return Ok(empirical.clone()),
            PriorChoice::Listed(list) if list.len() != classes => {
                return Err(Error::Prior(format!("{} probabilities for {classes} classes", list.len())));
            }
            PriorChoice::Listed(list) => return Prior::new(list),
            PriorChoice::Named(pairs) => pairs,
        };
        let mut given: Vec<Option<f64>> = vec![None; classes];
        for (name, p) in pairs {
            let class = find_class(schema, name, "prior")?;
            if given[class].replace(*p).is_some() {
                return Err(Error::parameter("prior", format!("class `{name}` is given twice")));
            }
        }
        // Classes that are not named share the rest, in their empirical proportion.
        let rest = 1.0 - given.iter().flatten().sum::<f64>();
        let open: f64 = empirical.probabilities().iter().zip(&given).filter(|(_, g)| g.is_none()).map(|(p, _)| p).sum();
        if given.iter().all(Option::is_some) || rest < 0.0 || open <= 0.0 {
            return Prior::new(&given.iter().map(|g| g.unwrap_or(0.0)).collect::<Vec<_>>());
        }
        let probabilities = given.iter().zip(empirical.probabilities()).map(|(g, p)| g.unwrap_or(rest * p / open));
        Prior::new(&probabilities.collect::<Vec<_>>())
    }
}

impl std::str::FromStr for PriorChoice {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "uniform" => return Ok(PriorChoice::Uniform),
            "empirical" => return Ok(PriorChoice::Empirical),
            _ => {}
        }
        let wrong = |message: &str| Error::Prior(message.into());
        let pair = |part: String| {
            let usage = "give uniform, empirical, or CLASS=P,CLASS=P,...";
            let (name, p) = part.rsplit_once('=').ok_or_else(|| wrong(usage))?;
            let p: f64 = p.trim().parse().map_err(|_| wrong(&format!("`{p}` is not a probability")))?;
            Ok((unquoted(name), p))
        };
        parts(text).into_iter().map(pair).collect::<Result<_>>().map(PriorChoice::Named)
    }
}

impl From<PriorChoice> for Value {
    fn from(choice: PriorChoice) -> Value {
        match choice {
            PriorChoice::Own => Value::Null,
            PriorChoice::Uniform => json!("uniform"),
            PriorChoice::Empirical => json!("empirical"),
            PriorChoice::Named(pairs) => pairs.into_iter().map(|(name, p)| (name, json!(p))).collect(),
            PriorChoice::Listed(list) => json!(list),
        }
    }
}

impl TryFrom<Value> for PriorChoice {
    type Error = Error;
    fn try_from(value: Value) -> Result<Self> {
        let number = |p: &Value| p.as_f64().ok_or_else(|| Error::Prior(format!("{p} is not a probability")));
        match &value {
            Value::Null => Ok(PriorChoice::Own),
            Value::String(text) => text.parse(),
            Value::Array(list) => list.iter().map(number).collect::<Result<_>>().map(PriorChoice::Listed),
            Value::Object(pairs) => {
                let pair = |(name, p): (&String, &Value)| Ok((name.clone(), number(p)?));
                pairs.iter().map(pair).collect::<Result<_>>().map(PriorChoice::Named)
            }
            _ => Err(Error::Prior("give a name, probabilities by class, or a list of probabilities".into())),
        }
    }
}

impl CostChoice {
    /// From a file with a header `true,ACTION,...` and a row for each true class, if `text` is one; otherwise the costs
    /// are in the text itself.
    pub fn from_file_or_text(text: &str) -> Result<Self> {
        match Path::new(text).is_file() {
            true => CostTable::read(text).map(CostChoice::Table),
            false => Ok(CostChoice::Text(text.into())),
        }
    }

    /// The costs of deciding for each class.
    fn resolve(&self, schema: &Schema) -> Result<Costs> {
        let cells: Vec<(usize, usize, f64)> = match self {
            CostChoice::ZeroOne => Vec::new(),
            CostChoice::Pairs(pairs) => {
                let find = |name: &str| find_class(schema, name, "costs");
                let cell = |(truth, decided, cost): &(String, String, f64)| Ok((find(truth)?, find(decided)?, *cost));
                pairs.iter().map(cell).collect::<Result<_>>()?
            }
            CostChoice::Text(text) => parts(text).iter().map(|part| cost_of(part, schema)).collect::<Result<_>>()?,
            CostChoice::Table(table) => return table.resolve(schema),
        };
        let (mut costs, mut given) = (Costs::zero_one(schema.classes()), HashSet::new());
        for (truth, decided, cost) in cells {
            if !given.insert((truth, decided)) {
                let [truth, decided] = [truth, decided].map(|class| &schema.classes()[class]);
                return Err(Error::parameter("costs", format!("the cost of `{truth}>{decided}` is given twice")));
            }
            costs.set(truth, decided, cost)?;
        }
        Ok(costs)
    }
}

/// `TRUE>DECIDED=COST`. Where names hold `>` themselves, it is cut where both sides are classes.
fn cost_of(part: &str, schema: &Schema) -> Result<(usize, usize, f64)> {
    let usage = || {
        let form = "write TRUE>DECIDED=COST,..., with names in double quotes where they hold , or >";
        Error::parameter("costs", format!("`{part}` is neither a file nor a cost: {form}"))
    };
    let (pair, cost) = part.rsplit_once('=').ok_or_else(usage)?;
    let cost: f64 = cost.trim().parse().map_err(|_| usage())?;
    let cuts: Vec<(String, String)> =
        pair.match_indices('>').map(|(i, _)| (unquoted(&pair[..i]), unquoted(&pair[i + 1..]))).collect();
    let class = |name: &str| schema.class(name);
    let mut known = cuts.iter().filter_map(|(truth, decided)| Some((class(truth)?, class(decided)?)));
    match (known.next(), known.next(), cuts.first()) {
        (Some((truth, decided)), None, _) => Ok((truth, decided, cost)),
        (Some(_), Some(_), _) => {
            Err(Error::parameter("costs", format!("`{part}` can be read in two ways: use quotes")))
        }
        (None, _, None) => Err(usage()),
        (None, _, Some((truth, decided))) => {
            let unknown = if class(truth).is_none() { truth } else { decided };
            Err(Error::unknown_class("costs", unknown, schema.classes()))
        }
    }
}

/// The parts between commas that are not in double quotes.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut quoted) = (vec![String::new()], false);
    for c in text.chars() {
        quoted ^= c == '"';
        match c {
            ',' if !quoted => parts.push(String::new()),
            // There is a part from the start.
            c => parts.last_mut().expect("a part").push(c),
        }
    }
    parts
}

/// A name without blanks and double quotes around it.
pub(crate) fn unquoted(name: &str) -> String {
    let name = name.trim();
    name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(name).to_string()
}

impl TryFrom<Value> for CostChoice {
    type Error = Error;
    fn try_from(value: Value) -> Result<Self> {
        #[derive(Deserialize)]
        struct Pair {
            r#true: String,
            decided: String,
            cost: f64,
        }
        let wrong = |e: serde_json::Error| Error::Costs(e.to_string());
        match value {
            Value::Null => Ok(CostChoice::ZeroOne),
            Value::String(text) => Ok(CostChoice::Text(text)),
            Value::Array(_) => {
                let pairs: Vec<Pair> = serde_json::from_value(value).map_err(wrong)?;
                Ok(CostChoice::Pairs(pairs.into_iter().map(|p| (p.r#true, p.decided, p.cost)).collect()))
            }
            // Names of classes in a pair are joined by `>`, so these are none of them.
            Value::Object(ref map) if ["true", "decided", "costs"].iter().any(|key| map.contains_key(*key)) => {
                CostTable::of_json(value).map(CostChoice::Table)
            }
            Value::Object(map) => named_costs(&map),
            _ => Err(Error::Costs("give costs by TRUE>DECIDED, a list of them, or a table".into())),
        }
    }
}

/// `{"A>B": 10, ...}` as text, which is cut when the classes are known.
fn named_costs(map: &Map<String, Value>) -> Result<CostChoice> {
    let part = |(pair, cost): (&String, &Value)| match cost.as_f64() {
        Some(cost) => Ok(format!("{pair}={cost}")),
        None => Err(Error::Costs(format!("{cost} is not a cost"))),
    };
    Ok(CostChoice::Text(map.iter().map(part).collect::<Result<Vec<_>>>()?.join(",")))
}

/// The terms of a model as it stands: its own prior, and 1 for every mistake.
impl From<&Model> for Terms {
    fn from(model: &Model) -> Terms {
        let costs = Costs::zero_one(model.schema().classes());
        Terms { prior: model.prior().clone(), costs, has_costs: false, none_of_these: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(classes: &[&str]) -> Schema {
        Schema::numbers(&["x"], "y", classes).unwrap()
    }

    fn costs(text: &str, classes: &[&str]) -> Result<Costs> {
        Application { costs: CostChoice::Text(text.into()), ..Application::default() }.costs(&schema(classes))
    }

    #[test]
    fn classes_that_a_prior_does_not_name_share_the_rest() {
        let (schema, empirical) = (schema(&["a", "b", "c"]), Prior::new(&[0.5, 0.3, 0.2]).unwrap());
        let prior: PriorChoice = "a=0.1".parse().unwrap();
        let p = prior.resolve(&schema, &empirical, &empirical).unwrap();
        let expected = [0.1, 0.9 * 0.6, 0.9 * 0.4];
        assert!(p.probabilities().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
        let twice: PriorChoice = "a=0.1,a=0.2".parse().unwrap();
        let error = twice.resolve(&schema, &empirical, &empirical).unwrap_err().to_string();
        assert_eq!(error, "prior: class `a` is given twice");
        assert!(PriorChoice::Listed(vec![1.0]).resolve(&schema, &empirical, &empirical).is_err());
    }

    #[test]
    fn costs_of_classes_named_by_signs_can_be_written() {
        let classes = ["<=50K", ">50K"];
        for text in [">50K><=50K=10", "\">50K\">\"<=50K\"=10", " >50K > <=50K = 10"] {
            let costs = costs(text, &classes).unwrap();
            // Decided <=50K where >50K is true.
            assert_eq!((costs.cost(1, 0), costs.cost(0, 1)), (10.0, 1.0), "{text}");
        }
        assert!(costs(">=50K><=50K=1", &classes).unwrap_err().to_string().contains("there is no class"));
        assert_eq!(costs("\"a,b\">c=3", &["a,b", "c"]).unwrap().cost(0, 1), 3.0);
    }

    #[test]
    fn json_and_text_mean_the_same() {
        let json = r#"{"prior": {"a": 0.25}, "costs": {"a>b": 7}, "reject": 0.5, "none_of_these": 0.01}"#;
        let told: Application = serde_json::from_str(json).unwrap();
        let text = Application {
            prior: "a=0.25".parse().unwrap(),
            costs: CostChoice::Text("a>b=7".into()),
            reject: Some(0.5),
            none_of_these: Some(0.01),
        };
        assert_eq!(told, text);
        assert!(serde_json::from_str::<Application>(r#"{"priors": "uniform"}"#).is_err());
        let list: Application =
            serde_json::from_str(r#"{"costs": [{"true": "a", "decided": "b", "cost": 7}]}"#).unwrap();
        assert_eq!(list.costs(&schema(&["a", "b"])).unwrap().cost(0, 1), 7.0);
    }

    #[test]
    fn a_table_in_json_has_a_row_for_each_true_class() {
        let of = |json: &str| {
            let application: Result<Application, _> = serde_json::from_str(json);
            let costs = application.map_err(|e| e.to_string())?.costs(&schema(&["ill", "well"]));
            costs.map_err(|e| e.to_string())
        };
        let costs = of(r#"{"costs": {"true": ["well", "ill"], "decided": ["home", "treat", "ask"],
                          "costs": [[0, 1, 2], [50, 3, 4]]}}"#)
        .unwrap();
        assert_eq!((costs.actions().len(), costs.cost(0, 0), costs.cost(1, 2)), (3, 50.0, 2.0));
        let transposed =
            r#"{"costs": {"true": ["home", "treat"], "decided": ["well", "ill"], "costs": [[0, 50], [1, 3]]}}"#;
        assert!(of(transposed).unwrap_err().contains("exchange them"));
        // What the rows are is not left open.
        let open = r#"{"costs": {"actions": ["ill", "well"], "classes": ["ill", "well"], "costs": [[0, 50], [1, 0]]}}"#;
        assert!(of(open).unwrap_err().contains("a row for each true class"));
    }

    #[test]
    fn costs_are_given_once_and_are_not_negative() {
        let classes = ["a", "b"];
        assert_eq!(costs("a>b=1,a>b=2", &classes).unwrap_err().to_string(), "costs: the cost of `a>b` is given twice");
        assert_eq!(costs("a>b=-5", &classes).unwrap_err().to_string(), "costs: -5 is not a finite number of 0 or more");
    }

    #[test]
    fn a_reject_costs_nothing_or_more() {
        for cost in [-1.0, f64::NAN, f64::INFINITY] {
            let application = Application { reject: Some(cost), ..Application::default() };
            assert!(application.costs(&schema(&["a", "b"])).is_err());
        }
    }
}
