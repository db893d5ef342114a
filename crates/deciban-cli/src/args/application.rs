//! Priors and costs: what an application plugs in after scoring.

use std::path::Path;

use clap::Args;
use deciban::data::Schema;
use deciban::decision::Costs;
use deciban::posterior::Prior;
use deciban::{Error, Result};

/// `uniform`, `empirical`, or `NAME=P,...`
#[derive(Clone, Debug)]
pub enum PriorArg {
    Uniform,
    Empirical,
    Given(Vec<(String, f64)>),
}

impl std::str::FromStr for PriorArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "uniform" => return Ok(PriorArg::Uniform),
            "empirical" => return Ok(PriorArg::Empirical),
            _ => {}
        }
        let pair = |part: &str| {
            let (name, p) = part.rsplit_once('=').ok_or("give uniform, empirical, or CLASS=P,CLASS=P,...")?;
            let p: f64 = p.trim().parse().map_err(|_| format!("`{p}` is not a probability"))?;
            Ok::<_, String>((name.trim().to_string(), p))
        };
        text.split(',').map(pair).collect::<Result<_, _>>().map(PriorArg::Given)
    }
}

impl PriorArg {
    /// The prior over the schema's classes; `own` is the model's.
    pub fn resolve(&self, schema: &Schema, empirical: &Prior) -> Result<Prior> {
        let pairs = match self {
            PriorArg::Uniform => return Ok(Prior::uniform(schema.classes().len())),
            PriorArg::Empirical => return Ok(empirical.clone()),
            PriorArg::Given(pairs) => pairs,
        };
        let mut given: Vec<Option<f64>> = vec![None; schema.classes().len()];
        for (name, p) in pairs {
            let class = find_class(schema, name, "--prior")?;
            if given[class].replace(*p).is_some() {
                return Err(Error::parameter("--prior", format!("class `{name}` is given twice")));
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

fn find_class(schema: &Schema, name: &str, option: &'static str) -> Result<usize> {
    schema.class(name).ok_or_else(|| {
        let known: Vec<String> = schema.classes().iter().map(|c| format!("`{c}`")).collect();
        Error::parameter(option, format!("there is no class `{name}`: the classes are {}", known.join(", ")))
    })
}

/// Prior and costs, plugged in after scoring.
#[derive(Args)]
#[command(next_help_heading = "Application")]
pub struct DecisionArgs {
    /// uniform, empirical (of the training data), or CLASS=P,...; classes not named share the rest
    #[arg(long)]
    prior: Option<PriorArg>,
    /// Costs: `A>B=10,...` (a true A taken for B costs 10; 1 unless named), or a CSV file with a
    /// row per action and a column per class
    #[arg(long, value_name = "COSTS|FILE")]
    costs: Option<String>,
    /// Allow to decide for no class, at this cost
    #[arg(long, value_name = "COST")]
    reject: Option<f64>,
}

impl DecisionArgs {
    pub fn prior(&self, schema: &Schema, model: &Prior, empirical: &Prior) -> Result<Prior> {
        self.prior.as_ref().map_or(Ok(model.clone()), |prior| prior.resolve(schema, empirical))
    }

    /// The prior, if another than that of the training data is asked for.
    pub fn other_prior(&self, schema: &Schema, empirical: impl FnOnce() -> Result<Prior>) -> Result<Option<Prior>> {
        match &self.prior {
            None | Some(PriorArg::Empirical) => Ok(None),
            Some(prior) => prior.resolve(schema, &empirical()?).map(Some),
        }
    }

    pub fn has_costs(&self) -> bool {
        self.costs.is_some() || self.reject.is_some()
    }

    pub fn costs(&self, schema: &Schema) -> Result<Costs> {
        let costs = match &self.costs {
            None => Costs::zero_one(schema.classes()),
            Some(text) if Path::new(text).is_file() => read_costs(text, schema)?,
            Some(text) => parse_costs(text, schema)?,
        };
        match self.reject {
            Some(cost) => costs.with_reject(cost),
            None => Ok(costs),
        }
    }
}

fn parse_costs(text: &str, schema: &Schema) -> Result<Costs> {
    let usage =
        || Error::parameter("--costs", format!("`{text}` is neither a file nor of the form TRUE>DECIDED=COST,..."));
    let mut costs = Costs::zero_one(schema.classes());
    for part in text.split(',') {
        let (pair, cost) = part.rsplit_once('=').ok_or_else(usage)?;
        let (truth, decided) = pair.split_once('>').ok_or_else(usage)?;
        let cost: f64 = cost.trim().parse().map_err(|_| usage())?;
        let truth = find_class(schema, truth.trim(), "--costs")?;
        costs.set(find_class(schema, decided.trim(), "--costs")?, truth, cost)?;
    }
    Ok(costs)
}

/// A header `action,CLASS,...` and a row per action.
fn read_costs(path: &str, schema: &Schema) -> Result<Costs> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    let wrong = |line: usize, message: String| Error::Input {
        file: path.into(),
        line: Some(line as u64 + 1),
        column: None,
        message,
    };
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, header) = lines.next().ok_or_else(|| wrong(0, "the file is empty".into()))?;
    let order: Vec<usize> =
        header.split(',').skip(1).map(|name| find_class(schema, name.trim(), "--costs")).collect::<Result<_>>()?;
    if (0..schema.classes().len()).any(|c| order.iter().filter(|&&o| o == c).count() != 1) {
        return Err(wrong(0, "the header must be `action` and then each class once".into()));
    }
    let (mut actions, mut matrix) = (Vec::new(), Vec::new());
    for (n, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != order.len() + 1 {
            return Err(wrong(n, format!("{} fields, not {}", fields.len(), order.len() + 1)));
        }
        let mut row = vec![0.0; order.len()];
        for (&class, field) in order.iter().zip(&fields[1..]) {
            row[class] = field.parse().map_err(|_| wrong(n, format!("`{field}` is not a cost")))?;
        }
        actions.push(fields[0].to_string());
        matrix.push(row);
    }
    Costs::new(actions, matrix)
}
