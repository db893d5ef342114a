//! Options that several subcommands share.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use deciban::data::{Column, Kind, Schema};
use deciban::decision::Costs;
use deciban::family::counts::Unseen;
use deciban::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use deciban::family::histogram::Histogram;
use deciban::family::{AnyFamily, Family};
use deciban::learn::{Generative, Link, Logistic, NaiveBayes, Solver, blocks};
use deciban::posterior::Prior;
use deciban::text::Tokeniser;
use deciban::transform::{Binning, Step};
use deciban::{Error, Result};
use deciban_data::{Files, Format, Options, Target, Vocabulary};

/// How tables are read.
#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// csv, tsv, text (separated by blanks), jsonl, parquet, arrow or idx; found by extension unless given
    #[arg(long)]
    format: Option<Format>,
    /// The character between fields of CSV; found from the first lines unless given
    #[arg(long, value_name = "CHAR")]
    separator: Option<char>,
    /// The first line is data: columns are named c0, c1, ...
    #[arg(long)]
    no_header: bool,
    /// Quotes are plain characters, as in label<TAB>text lines
    #[arg(long)]
    no_quotes: bool,
    /// Skip lines that begin with this character
    #[arg(long, value_name = "CHAR")]
    comment: Option<char>,
    /// Cells that mean a missing value, instead of the usual (empty, ?, NA, N/A, NaN, null, None)
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    missing: Option<Vec<String>>,
    /// Classes stand in the first column of this file, one row per row of the data
    #[arg(long, value_name = "FILE", conflicts_with = "one_hot_target")]
    labels: Option<String>,
    /// Classes stand in these columns, one per class: 1 in the column of the class, 0 in the others
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    one_hot_target: Option<Vec<String>>,
    /// A column of row weights
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
}

impl ReadArgs {
    /// Options without features; `target` is the column of the classes, if any.
    pub fn options(&self, target: Option<&str>) -> Options {
        let default = Options::default();
        let column = target.map_or(Target::None, |name| Target::Column(name.into()));
        let target = match (&self.labels, &self.one_hot_target) {
            (Some(file), _) => Target::Labels(file.clone()),
            (None, Some(columns)) => Target::OneHot(columns.clone()),
            (None, None) => column,
        };
        Options {
            format: self.format,
            separator: self.separator,
            header: !self.no_header,
            comment: self.comment,
            quotes: !self.no_quotes,
            missing: self.missing.clone().unwrap_or(default.missing.clone()),
            target,
            weight: self.weight.clone(),
            ..default
        }
    }

    /// Whether labels come from elsewhere than a column.
    pub fn has_labels(&self) -> bool {
        self.labels.is_some() || self.one_hot_target.is_some()
    }
}

/// Which columns are learned from.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
pub struct ColumnArgs {
    /// The column of the classes
    #[arg(long, short, value_name = "COLUMN", conflicts_with_all = ["labels", "one_hot_target"])]
    target: Option<String>,
    /// Make two classes of many: CLASS, and `not CLASS`
    #[arg(long, value_name = "CLASS")]
    versus_rest: Option<String>,
    /// Learn from these columns only
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Leave these columns out
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    ignore: Vec<String>,
    /// These columns hold numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    number: Vec<String>,
    /// These columns hold categories
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    category: Vec<String>,
    /// These columns hold yes or no
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    flag: Vec<String>,
    /// These columns count things
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    count: Vec<String>,
    /// These columns hold texts
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    text: Vec<String>,
    #[command(flatten)]
    words: TextArgs,
}

/// What the words of texts are.
#[derive(Args)]
#[command(next_help_heading = "Texts")]
pub struct TextArgs {
    /// Tokens of N to M words (up to 3) or characters (up to 8)
    #[arg(long, value_name = "N..M", value_parser = ngrams, default_value = "1..1")]
    ngrams: (usize, usize),
    /// Tokens of characters instead of words
    #[arg(long)]
    characters: bool,
    /// Keep upper case
    #[arg(long)]
    case: bool,
    /// Leave punctuation and other symbols out
    #[arg(long)]
    no_symbols: bool,
    /// Leave the words of this file out, one a line
    #[arg(long, value_name = "FILE")]
    stop_words: Option<PathBuf>,
    /// Number words by hashes of B bits: for streams that never end
    #[arg(long, value_name = "B")]
    hashed_bits: Option<u32>,
    /// More different words than this are an error
    #[arg(long, value_name = "N")]
    most_words: Option<usize>,
}

fn ngrams(text: &str) -> Result<(usize, usize), String> {
    let number = |part: &str| part.trim().parse::<usize>().map_err(|_| "give a range such as 1..2".to_string());
    match text.split_once("..") {
        Some((from, to)) => Ok((number(from)?, number(to)?)),
        None => number(text).map(|n| (n, n)),
    }
}

impl TextArgs {
    fn tokeniser(&self) -> Result<Tokeniser> {
        let stop_words = match &self.stop_words {
            None => Vec::new(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
                text.lines().map(str::trim).filter(|word| !word.is_empty()).map(str::to_string).collect()
            }
        };
        let tokeniser = Tokeniser {
            characters: self.characters,
            lowercase: !self.case,
            ngrams: self.ngrams,
            symbols: !self.no_symbols,
            stop_words,
            ..Tokeniser::default()
        };
        tokeniser.check()?;
        Ok(tokeniser)
    }

    fn vocabulary(&self) -> Vocabulary {
        let default = Vocabulary::default();
        Vocabulary { hashed_bits: self.hashed_bits, most_words: self.most_words.unwrap_or(default.most_words) }
    }
}

impl ColumnArgs {
    /// Opens labelled rows to learn from.
    pub fn open(&self, paths: &[String], read: &ReadArgs) -> Result<Files> {
        if self.target.is_none() && !read.has_labels() && !are_folders(paths) {
            let columns = deciban_data::peek_columns(paths, &read.options(None))?;
            let shown: Vec<String> = columns.iter().take(20).map(|c| format!("`{c}`")).collect();
            let mut message = format!("name the column of the classes; the columns are {}", shown.join(", "));
            if columns.len() > 20 {
                message += &format!(" and {} more", columns.len() - 20);
            }
            return Err(Error::parameter("--target", message));
        }
        Files::open(paths, self.options(read)?)
    }

    /// Opens them once more, with the classes and levels that were found.
    pub fn open_again(&self, paths: &[String], read: &ReadArgs, schema: &Schema) -> Result<Files> {
        Files::open_as(paths, self.options(read)?, schema)
    }

    fn options(&self, read: &ReadArgs) -> Result<Options> {
        let kinds = [
            (&self.number, Kind::Number),
            (&self.category, Kind::Category),
            (&self.flag, Kind::Flag),
            (&self.count, Kind::Count),
            (&self.text, Kind::Text),
        ];
        let kinds = kinds.iter().flat_map(|(names, kind)| names.iter().map(|name| (name.clone(), *kind))).collect();
        Ok(Options {
            kinds,
            ignore: self.ignore.clone(),
            columns: self.columns.clone(),
            versus_rest: self.versus_rest.clone(),
            tokeniser: self.words.tokeniser()?,
            vocabulary: self.words.vocabulary(),
            ..read.options(self.target.as_deref())
        })
    }

    /// Columns are settled where statistics are: options that choose them would be ignored.
    pub fn refuse_beside_statistics(&self) -> Result<()> {
        let given = [
            ("--target", self.target.is_some()),
            ("--versus-rest", self.versus_rest.is_some()),
            ("--columns", self.columns.is_some()),
            ("--ignore", !self.ignore.is_empty()),
            ("--number", !self.number.is_empty()),
            ("--category", !self.category.is_empty()),
            ("--flag", !self.flag.is_empty()),
            ("--count", !self.count.is_empty()),
            ("--text", !self.text.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => {
                Err(Error::parameter(name, "statistics files have their columns settled: drop the option"))
            }
            None => Ok(()),
        }
    }

    /// Whether the order of the classes is free to be sorted.
    pub fn sorts_classes(&self, read: &ReadArgs) -> bool {
        self.versus_rest.is_none() && read.one_hot_target.is_none()
    }
}

/// Whether the data are folders with a folder per class: there the classes have no column.
fn are_folders(paths: &[String]) -> bool {
    paths.iter().all(|path| std::path::Path::new(path).is_dir())
}

/// Opens rows for a model: its columns by name, labels only if `labelled`.
pub fn open_for_model(paths: &[String], read: &ReadArgs, schema: &Schema, labelled: bool) -> Result<Files> {
    let mut options = read.options(labelled.then(|| schema.target()));
    if let [not, class] = schema.classes()
        && *not == format!("not {class}")
    {
        options.versus_rest = Some(class.clone());
    }
    Files::open_as(paths, options, schema)
}

/// The hyper-parameters of a Gaussian model.
#[derive(Args)]
#[command(next_help_heading = "Gaussian")]
pub struct GaussianArgs {
    /// What the covariances of the classes have in common
    #[arg(long, value_parser = one_of(&Structure::ALL), default_value = "full")]
    covariance: Structure,
    /// How covariances are estimated: maximum likelihood, unbiased (n − 1), or integrated out (Student)
    #[arg(long, value_parser = one_of(&Estimator::ALL), default_value = "ml")]
    estimator: Estimator,
    /// Shrink covariances towards a multiple of the identity: 0 to 1, or auto
    #[arg(long, value_name = "G", default_value = "0")]
    shrinkage: Strength,
    /// Pool covariances with the one that all classes share: 0 to 1, or auto
    #[arg(long, value_name = "L", default_value = "0")]
    pooling: Strength,
    /// Penalty on the precision matrix (graphical lasso on correlations): 0 is none
    #[arg(long, value_name = "R", default_value_t = 0.0)]
    sparse_precision: f64,
    /// Scale columns to mean 0 and variance 1 first
    #[arg(long)]
    standardise: bool,
    /// Map each column through its distribution to a normal one first (one more pass)
    #[arg(long)]
    gaussianise: bool,
    /// Keep the N leading principal components
    #[arg(long, value_name = "N")]
    pca: Option<usize>,
    /// Keep the N leading discriminant directions (after --pca, if both are given)
    #[arg(long, value_name = "N")]
    lda: Option<usize>,
    /// Folds by which `auto` is settled
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    folds: Option<u64>,
    /// The seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Takes one of the names of a list.
fn one_of<T: Copy + Send + Sync + 'static>(list: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(list.iter().map(|(name, _)| *name));
    // The parser lets only names of the list through.
    names.map(move |name| list.iter().find(|(known, _)| *known == name).expect("a known name").1)
}

impl GaussianArgs {
    pub fn family(&self) -> Gaussian {
        let mut steps = Vec::new();
        if self.standardise {
            steps.push(Step::Standardise);
        }
        steps.extend(self.pca.map(Step::Pca));
        steps.extend(self.lda.map(Step::Lda));
        Gaussian {
            covariance: self.covariance,
            estimator: self.estimator,
            shrinkage: self.shrinkage,
            pooling: self.pooling,
            sparse_precision: self.sparse_precision,
            steps,
        }
    }

    pub fn gaussianise(&self) -> bool {
        self.gaussianise
    }

    pub fn folds(&self) -> Result<usize> {
        let is_auto = self.shrinkage == Strength::Auto || self.pooling == Strength::Auto;
        match (is_auto, self.folds) {
            (true, Some(1)) => Err(Error::parameter("--folds", "auto needs at least 2 folds")),
            (true, folds) => Ok(folds.unwrap_or(5) as usize),
            (false, folds) => Ok(folds.unwrap_or(1) as usize),
        }
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }
}

/// The hyper-parameters of discrete and mixed models.
#[derive(Args)]
#[command(next_help_heading = "Discrete")]
pub struct DiscreteArgs {
    /// Rows that the prior adds to every level, word or bin; 0 is maximum likelihood
    #[arg(long, value_name = "A", default_value_t = 1.0)]
    pseudo_count: f64,
    /// Refuse rows with a level that was not there at fit, instead of giving it the pseudo-count's share
    #[arg(long)]
    refuse_unseen: bool,
    /// naive-bayes: one Gaussian of all numbers with --covariance, instead of one per column
    #[arg(long)]
    joint_numbers: bool,
    /// naive-bayes: another family for a column: gamma, log-normal, histogram, ...
    #[arg(long, value_name = "COLUMN=FAMILY", value_delimiter = ',')]
    family: Vec<String>,
    /// Cut points of a number, as COLUMN=400,800,1200; otherwise bins are found where they are needed
    #[arg(long, value_name = "COLUMN=CUTS")]
    bins: Vec<String>,
    /// Leave out words that occur less often
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    min_count: f64,
    /// multinomial: weights from the other classes' words (complement naive Bayes; not a density)
    #[arg(long)]
    complement: bool,
}

/// The models that `fit --model` knows.
pub const MODELS: [&str; 9] =
    ["gaussian", "naive-bayes", "bernoulli", "multinomial", "table", "tree", "logistic", "probit", "cloglog"];

impl DiscreteArgs {
    /// The generative learner for a model's name.
    pub fn learner(&self, model: &str, columns: &[Column], gaussian: &GaussianArgs) -> Result<Generative> {
        if !(self.pseudo_count >= 0.0 && self.pseudo_count.is_finite()) {
            return Err(Error::parameter("--pseudo-count", "give a number of 0 or more"));
        }
        let learner = match model {
            "gaussian" => Generative::gaussian(columns, gaussian.family())?.gaussianise(gaussian.gaussianise()),
            "naive-bayes" => {
                let mut blocks = self.naive_bayes(gaussian)?.blocks(columns)?;
                blocks.iter_mut().for_each(|block| self.finish(&mut block.family));
                Generative::of_blocks(blocks).gaussianise(gaussian.gaussianise())
            }
            "bernoulli" | "multinomial" => Generative::of_blocks(blocks::counted(columns, &self.named(model)?)?),
            _ => {
                let learner = Generative::of_blocks(blocks::together(columns, &self.named(model)?)?);
                learner.discretise(Binning::Mdl)
            }
        };
        Ok(learner.folds(gaussian.folds()?, gaussian.seed()))
    }

    fn named(&self, name: &str) -> Result<AnyFamily> {
        let mut family = AnyFamily::named(name)?.with_pseudo_count(self.pseudo_count);
        self.finish(&mut family);
        Ok(family)
    }

    /// Puts the options that only some families have.
    fn finish(&self, family: &mut AnyFamily) {
        let unseen = if self.refuse_unseen { Unseen::Error } else { Unseen::Share };
        match family {
            AnyFamily::Categorical(family) => family.unseen = unseen,
            AnyFamily::Table(family) => family.unseen = unseen,
            AnyFamily::Tree(family) => family.unseen = unseen,
            AnyFamily::Multinomial(family) => (family.min_count, family.complement) = (self.min_count, self.complement),
            _ => {}
        }
    }

    fn naive_bayes(&self, gaussian: &GaussianArgs) -> Result<NaiveBayes> {
        let mut families = Vec::new();
        for pair in &self.family {
            let usage = || Error::parameter("--family", format!("`{pair}` is not of the form COLUMN=FAMILY"));
            let (column, family) = pair.rsplit_once('=').ok_or_else(usage)?;
            families.push((column.to_string(), AnyFamily::named(family)?));
        }
        for pair in &self.bins {
            let usage = || Error::parameter("--bins", format!("`{pair}` is not of the form COLUMN=400,800,1200"));
            let (column, cuts) = pair.rsplit_once('=').ok_or_else(usage)?;
            let cuts: Vec<f64> =
                cuts.split(',').map(|x| x.trim().parse().map_err(|_| usage())).collect::<Result<_>>()?;
            families.retain(|(name, _)| name != column);
            let bins = Binning::Cuts(vec![cuts]);
            families.push((column.to_string(), AnyFamily::Histogram(Histogram { bins, ..Histogram::default() })));
        }
        let (pseudo_count, joint_numbers) = (self.pseudo_count, self.joint_numbers);
        Ok(NaiveBayes { gaussian: gaussian.family(), joint_numbers, pseudo_count, families })
    }
}

/// The hyper-parameters of a linear model.
#[derive(Args)]
#[command(next_help_heading = "Logistic")]
pub struct LogisticArgs {
    /// What a squared weight costs, in rows (half of it; the intercept is free)
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    weight_decay: f64,
    /// How the optimum is found
    #[arg(long, value_parser = one_of(&Solver::ALL), default_value = "auto")]
    solver: Solver,
    /// Penalise weights per unit of a column, not per standard deviation
    #[arg(long)]
    no_standardise: bool,
}

impl LogisticArgs {
    /// The learner for a model's name.
    pub fn learner(&self, model: &str) -> Logistic {
        let link = match model {
            "probit" => Link::Probit,
            "cloglog" => Link::Cloglog,
            _ => Link::Logit,
        };
        let (weight_decay, solver, standardise) = (self.weight_decay, self.solver, !self.no_standardise);
        Logistic { link, weight_decay, solver, standardise, ..Logistic::default() }
    }
}

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

    pub fn has_costs(&self) -> bool {
        self.costs.is_some() || self.reject.is_some()
    }

    pub fn costs(&self, schema: &Schema) -> Result<Costs> {
        let costs = match &self.costs {
            None => Costs::zero_one(schema.classes()),
            Some(text) if PathBuf::from(text).is_file() => read_costs(text, schema)?,
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
