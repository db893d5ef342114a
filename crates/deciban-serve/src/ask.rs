//! What a request asks: the application, and what is to be told of each row.

use axum::http::Uri;
use deciban::data::Schema;
use deciban::{Error, Result};
use deciban_tasks::ledger::Between;
use deciban_tasks::{Application, CostChoice, PriorChoice, Shown};
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;

/// What comes with rows, in the query of the address or in a JSON request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ask {
    /// How common the classes are.
    pub prior: PriorChoice,
    /// What decisions cost.
    pub costs: CostChoice,
    /// What it costs to decide for no class.
    pub reject: Option<f64>,
    /// The share of the model's own rows that are so unusual that they are none of the classes.
    pub none_of_these: Option<f64>,
    /// Whether the evidence is told.
    pub evidence: bool,
    /// Whether log p(x) and its rank are told.
    pub density: bool,
    /// Whether a ledger is told, and of which classes.
    pub explain: Explain,
}

/// Which ledger is told.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub enum Explain {
    /// None.
    #[default]
    No,
    /// Of the most probable class over the next.
    Best,
    /// Of one class over another, or over all others.
    Named(Vec<String>),
}

impl TryFrom<Value> for Explain {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Null | Value::Bool(false) => Ok(Explain::No),
            Value::Bool(true) => Ok(Explain::Best),
            Value::String(name) => Ok(Explain::Named(vec![name])),
            Value::Array(names) if matches!(names.len(), 1..=2) && names.iter().all(Value::is_string) => {
                Ok(Explain::Named(names.iter().filter_map(|name| name.as_str().map(String::from)).collect()))
            }
            _ => Err("explain: give true, a class, or a list of two classes".into()),
        }
    }
}

impl Explain {
    /// For the classes of a model; `None` where no ledger is wanted.
    pub fn between(&self, schema: &Schema) -> Result<Option<Between>> {
        match self {
            Explain::No => Ok(None),
            Explain::Best => Ok(Some(Between::Best)),
            Explain::Named(names) => Between::named(Some(names), schema, "explain").map(Some),
        }
    }
}

impl Ask {
    /// What the query of an address asks.
    pub fn of_query(uri: &Uri) -> Result<Self, Problem> {
        let mut ask = Ask::default();
        let Some(query) = uri.query().filter(|query| !query.is_empty()) else { return Ok(ask) };
        for (name, value) in pairs(query)? {
            ask.put(&name, &value).map_err(|e| Problem::of(&e, Default::default()))?;
        }
        Ok(ask)
    }

    fn put(&mut self, name: &str, value: &str) -> Result<()> {
        let number = |option: &'static str| match value.parse::<f64>() {
            Ok(x) => Ok(Some(x)),
            Err(_) => Err(Error::parameter(option, format!("`{value}` is not a number"))),
        };
        let flag = |option: &'static str| match value {
            "" | "1" | "true" | "yes" => Ok(true),
            "0" | "false" | "no" => Ok(false),
            _ => Err(Error::parameter(option, "give true or false")),
        };
        match name {
            "prior" => self.prior = value.parse()?,
            "costs" => self.costs = CostChoice::Text(value.into()),
            "reject" => self.reject = number("reject")?,
            "none_of_these" => self.none_of_these = number("none_of_these")?,
            "evidence" => self.evidence = flag("evidence")?,
            "density" => self.density = flag("density")?,
            "explain" => {
                self.explain = match flag("explain") {
                    Ok(true) => Explain::Best,
                    Ok(false) => Explain::No,
                    Err(_) => Explain::Named(value.split(',').map(|name| name.trim().to_string()).collect()),
                }
            }
            _ => {
                let known = "prior, costs, reject, none_of_these, evidence, density and explain";
                return Err(Error::Usage(format!("there is no option `{name}`: the options are {known}")));
            }
        }
        Ok(())
    }

    /// What a JSON object asks; what it does not name is as it was.
    pub fn with(self, object: &Value) -> Result<Self, Problem> {
        let given: Ask = Ask::deserialize(object)
            .map_err(|e| Problem::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "option", e.to_string()))?;
        let has = |name: &str| object.get(name).is_some();
        Ok(Ask {
            prior: if has("prior") { given.prior } else { self.prior },
            costs: if has("costs") { given.costs } else { self.costs },
            reject: given.reject.or(self.reject),
            none_of_these: given.none_of_these.or(self.none_of_these),
            evidence: if has("evidence") { given.evidence } else { self.evidence },
            density: if has("density") { given.density } else { self.density },
            explain: if has("explain") { given.explain } else { self.explain },
        })
    }

    /// The application.
    pub fn application(&self) -> Application {
        Application {
            prior: self.prior.clone(),
            costs: self.costs.clone(),
            reject: self.reject,
            none_of_these: self.none_of_these,
        }
    }

    /// Whether decisions are those of the model's own prior and of costs that are all alike.
    pub fn is_plain(&self) -> bool {
        self.prior == PriorChoice::Own
            && self.costs == CostChoice::ZeroOne
            && self.reject.is_none()
            && self.none_of_these.is_none()
    }

    /// What lines of CSV or JSON show.
    pub fn shown(&self) -> Shown {
        Shown { evidence: self.evidence, density: self.density, front: Vec::new() }
    }
}

/// The names and values of a query.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, Problem> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Ok((decoded(name)?, decoded(value)?))
    };
    let pairs: Vec<(String, String)> = parts.map(pair).collect::<Result<_, Problem>>()?;
    let again =
        pairs.iter().enumerate().find(|(place, (name, _))| pairs[..*place].iter().any(|(known, _)| known == name));
    match again {
        Some((_, (name, _))) => Err(Problem::malformed(format!("the option `{name}` is in the address twice"))),
        None => Ok(pairs),
    }
}

/// A text of a query: `+` is a blank, `%2B` a plus.
fn decoded(text: &str) -> Result<String, Problem> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        (rest, _) = match (first, tail) {
            (b'+', _) => (tail, bytes.push(b' ')),
            (b'%', [a, b, after @ ..]) if digit(*a).is_some() && digit(*b).is_some() => {
                let byte = 16 * digit(*a).unwrap_or(0) + digit(*b).unwrap_or(0);
                (after, bytes.push(byte))
            }
            _ => (tail, bytes.push(*first)),
        };
    }
    String::from_utf8(bytes).map_err(|_| Problem::malformed("the query is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_asks_as_json_does() {
        let uri: Uri = "/p?prior=a%3D0.1&costs=a%3Eb%3D5&reject=0.2&evidence&explain=a,b".parse().unwrap();
        let asked = Ask::of_query(&uri).unwrap();
        let object = serde_json::json!({ "prior": {"a": 0.1}, "costs": "a>b=5", "reject": 0.2, "evidence": true,
            "explain": ["a", "b"] });
        assert_eq!(asked, Ask::default().with(&object).unwrap());
        assert_eq!(Ask::of_query(&"/p?reject=1&reject=2".parse().unwrap()).unwrap_err().status.as_u16(), 400);
        assert_eq!(Ask::of_query(&"/p?wat=1".parse().unwrap()).unwrap_err().status.as_u16(), 422);
        assert_eq!(decoded("a+b%2Bc%zz").unwrap(), "a b+c%zz");
        assert!(decoded("%ff").is_err());
    }
}
