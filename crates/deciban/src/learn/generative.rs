//! Generative models: p(x | class) is the product of its blocks' densities, fitted in closed form
//! from one pass. The prior of the training data is kept beside the model and never touches it.

use std::sync::atomic::AtomicBool;

use super::em::{self, Convergence};
use super::{
    About, Block, Classifier, Components, Count, Learner, Statistics, Summarise, blocks, evidence_of, explain,
    score_in_tiles,
};
use crate::data::{Batch, Column, Kind, Profile, Rows, Schema, Tile, Value};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::explain::{Explanation, Order};
use crate::family::gaussian::Gaussian;
use crate::family::histogram::{Histogram, sketches};
use crate::family::{AnyDensity, AnyFamily, Density, Domain, Family, Names};
use crate::file::{Archive, Stored};
use crate::numerics::Random;
use crate::posterior::Prior;
use crate::transform::{Binning, Deskew, Discretise, Gaussianise, Sketch};

/// Learns a generative model.
#[derive(Clone, Debug)]
pub struct Generative {
    blocks: Vec<Block>,
    gaussianise: bool,
    bins: Option<Binning>,
    cuts: Vec<(String, Vec<f64>)>,
    folds: usize,
    pub(super) seed: u64,
    pub(super) components: Count,
    pub(super) unlabelled: f64,
    pub(super) iterations: usize,
    /// `None` for what suits the model.
    pub(super) tolerance: Option<f64>,
}

impl Generative {
    /// One Gaussian block of all columns, which must be numbers.
    pub fn gaussian(columns: &[Column], family: Gaussian) -> Result<Self> {
        family.check()?;
        Ok(Generative::of_blocks(blocks::numbers(columns, &AnyFamily::Gaussian(family))?))
    }

    /// Blocks as [`blocks`](super::blocks) makes them.
    pub fn of_blocks(blocks: Vec<Block>) -> Self {
        Generative {
            blocks,
            gaussianise: false,
            bins: None,
            cuts: Vec::new(),
            folds: 1,
            seed: 0,
            components: Count::default(),
            unlabelled: 0.0,
            iterations: 300,
            tolerance: None,
        }
    }

    /// So many components in each class, each with densities of its own: p(x | class) = Σ_k π_k p_k(x).
    pub fn components(mut self, components: Count) -> Result<Self> {
        if components == Count::Fixed(0) {
            return Err(Error::parameter("components", "give at least 1"));
        }
        self.components = components;
        Ok(self)
    }

    /// Rows without a label are learned from too, each as much as `weight` labelled ones; 0 leaves them out.
    pub fn unlabelled(mut self, weight: f64) -> Result<Self> {
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(Error::parameter("unlabelled_weight", "give a number of at least 0"));
        }
        self.unlabelled = weight;
        Ok(self)
    }

    /// Ends expectation–maximisation after so many steps.
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Ends expectation–maximisation after so many steps, or when a step gains less than `tolerance` in
    /// log-likelihood per row.
    pub fn until(mut self, iterations: usize, tolerance: f64) -> Self {
        (self.iterations, self.tolerance) = (iterations, Some(tolerance));
        self
    }

    /// The same learner of other blocks.
    pub(super) fn with_blocks(self, blocks: Vec<Block>) -> Self {
        Generative { blocks, ..self }
    }

    /// Cuts the numbers of each block into bins first, at the price of one more pass.
    pub fn discretise(mut self, bins: Binning) -> Self {
        self.bins = Some(bins);
        self
    }

    /// Cuts these columns, by name, at given points instead, where numbers are cut into bins.
    pub fn cuts(mut self, cuts: Vec<(String, Vec<f64>)>) -> Result<Self> {
        Binning::Cuts(cuts.iter().map(|(_, cuts)| cuts.clone()).collect()).check()?;
        self.cuts = cuts;
        Ok(self)
    }

    /// Takes the slant out of images first: the columns of each Gaussian block are the pixels of a square, row of
    /// pixels after row of pixels.
    pub fn deskew(mut self) -> Result<Self> {
        for block in self.blocks.iter_mut().filter(|block| matches!(block.family, AnyFamily::Gaussian(_))) {
            block.deskew = Some(Deskew::of_pixels(block.columns.len())?);
        }
        Ok(self)
    }

    /// Maps each number through its empirical distribution to a normal one first, at the price of
    /// one more pass.
    pub fn gaussianise(mut self, on: bool) -> Self {
        self.gaussianise = on;
        self
    }

    /// Keeps statistics for `folds` folds, drawn with `seed`: what "auto" is settled with.
    pub fn folds(mut self, folds: usize, seed: u64) -> Self {
        (self.folds, self.seed) = (folds.max(1), seed);
        self
    }

    /// Whether more than one pass over the rows is needed, where these are like the rows of the profiles.
    pub fn needs_two_passes(&self, profiles: &[Profile]) -> bool {
        let is_gapped = |&c: &usize| profiles.get(c).is_some_and(|profile| profile.cells < profile.rows);
        let fills = |block: &Block| matches!(&block.family, AnyFamily::Gaussian(family) if family.needs_full());
        let gaps = self.blocks.iter().any(|block| fills(block) && block.columns.iter().any(is_gapped));
        self.gaussianise || self.bins.is_some() || self.iterates() || gaps
    }

    /// Whether every class has one component.
    pub fn is_single(&self) -> bool {
        self.components == Count::Fixed(1)
    }

    /// The blocks, as they are before a pass.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether one pass over rows of these columns is enough: nothing is mapped or cut into bins first.
    pub fn is_one_pass(&self, columns: &[Column]) -> bool {
        let is_cut = |block: &Block| block.columns.iter().any(|&c| columns.get(c).is_some_and(Column::is_numeric));
        !self.iterates() && !self.gaussianise && (self.bins.is_none() || !self.blocks.iter().any(is_cut))
    }

    /// Whether it learns in several passes, whatever the rows are.
    pub fn iterates(&self) -> bool {
        self.components != Count::Fixed(1) || self.unlabelled > 0.0
    }

    /// The passes: what [`fit`](Generative::fit) needs of the rows.
    pub fn statistics(&self, engine: &dyn Engine) -> Result<Statistics> {
        let mut blocks = self.blocks.clone();
        if let Some(binning) = &self.bins {
            let columns = engine.schema()?.columns().to_vec();
            for block in &mut blocks {
                block.discretise = find_bins(binning, &self.cuts, block, &columns, engine)?;
            }
        }
        if self.gaussianise {
            if blocks.iter().any(|block| block.deskew.is_some()) {
                return Err(Error::parameter("deskew", "pixels are not gaussianised: drop §gaussianise"));
            }
            for block in blocks.iter_mut().filter(|block| matches!(block.family, AnyFamily::Gaussian(_))) {
                let sketches = engine.run(&Sketch::new(block.columns.clone(), block.names.clone())?)?;
                block.gaussianise = Some(Gaussianise::fit(&sketches.0));
            }
        }
        let open = self.blocks.iter().any(|block| block.family.is_open());
        let folds = if open { self.folds.max(2) } else { self.folds };
        Statistics::collect(Summarise { blocks, folds, seed: self.seed }, engine)
    }

    /// Whether the model is learned from the rows, pass after pass, and not from these statistics of them alone:
    /// it has several components or learns from rows without a label, or cells are missing in columns that are
    /// modelled jointly.
    pub fn needs_rows(&self, statistics: &Statistics) -> Result<bool> {
        if self.iterates() {
            return Ok(true);
        }
        let (classes, summary) = (statistics.schema().classes(), statistics.summary());
        for (b, block) in self.blocks.iter().enumerate() {
            for (class, statistic) in summary.block(b)?.iter().enumerate() {
                if block.family.begin(statistic, &classes[class], &block.names)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The model, from statistics alone; their families give way to this learner's.
    pub fn fit(&self, statistics: &Statistics) -> Result<GenerativeModel> {
        if self.iterates() {
            let option = if self.components == Count::default() { "unlabelled_weight" } else { "components" };
            return Err(Error::parameter(option, "such a model is learned from rows, not from statistics"));
        }
        let (schema, summary) = (statistics.schema(), statistics.summary());
        check_classes(schema, &summary.rows(), &summary.weights())?;
        Error::check_shape("blocks of the statistics", self.blocks.len(), statistics.blocks().len())?;
        let mut blocks = Vec::new();
        for (b, (own, given)) in self.blocks.iter().zip(statistics.blocks()).enumerate() {
            Error::check_shape("columns of a block", own.columns.len(), given.columns.len())?;
            let levels = given.seen_levels(schema.columns());
            let names = Names { columns: &given.names, levels: &levels, classes: schema.classes() };
            let family = match own.family.is_open() {
                true => own.family.choose(&summary.block_by_fold(b), names)?,
                false => own.family.clone(),
            };
            let density = summary.read_block(b, |classes| family.fit(classes, names))??;
            blocks.push(FittedBlock { block: Block { family, ..given.clone() }, density });
        }
        let about = About::new(schema.clone(), Prior::from_weights(&summary.weights())?);
        let components = Components::single(schema.classes().len());
        Ok(GenerativeModel::new(about, summary.rows(), blocks, components))
    }
}

/// The bins of a block's numbers, from one pass that sketches them class by class; given cuts stay, between
/// the ends that were found.
fn find_bins(
    binning: &Binning,
    cuts: &[(String, Vec<f64>)],
    block: &Block,
    columns: &[Column],
    engine: &dyn Engine,
) -> Result<Option<Discretise>> {
    let is_number = |c: usize| matches!(columns[c].kind, Kind::Number | Kind::Count) && columns[c].levels.is_empty();
    let places: Vec<usize> = (0..block.columns.len()).filter(|&j| is_number(block.columns[j])).collect();
    if places.is_empty() {
        return Ok(None);
    }
    let numbers = places.iter().map(|&j| block.columns[j]).collect();
    let family = AnyFamily::Histogram(Histogram { bins: binning.clone(), ..Histogram::default() });
    let pass = Summarise { blocks: vec![Block::new(numbers, columns, family)], folds: 1, seed: 0 };
    let mut found = Discretise::from_sketches(binning, &sketches(&engine.run(&pass)?.block(0)?)?)?;
    for (j, &place) in places.iter().enumerate() {
        if let Some((_, cuts)) = cuts.iter().find(|(name, _)| *name == block.names[place]) {
            found = found.with_cuts(j, cuts)?;
        }
    }
    found.among(block.columns.len(), &places).map(Some)
}

impl Learner for Generative {
    type Model = GenerativeModel;
    fn learn(&self, engine: &dyn Engine) -> Result<GenerativeModel> {
        let statistics = self.statistics(engine)?;
        match self.needs_rows(&statistics)? {
            true => em::learn(self, statistics, engine),
            false => self.fit(&statistics),
        }
    }
}

pub(super) fn check_classes(schema: &Schema, rows: &[f64], weights: &[f64]) -> Result<()> {
    let target = schema.target();
    match schema.classes() {
        [] => return Err(Error::Classes("there are no labelled rows to learn from".into())),
        [only] => {
            return Err(Error::Classes(format!(
                "the target `{target}` has a single class, `{only}`: a classifier needs at least two"
            )));
        }
        _ => {}
    }
    for (class, name) in schema.classes().iter().enumerate() {
        if rows[class] == 0.0 {
            return Err(Error::Classes(format!("class `{name}` of `{target}` has no rows")));
        }
        if weights[class] <= 0.0 {
            return Err(Error::Classes(format!("the rows of class `{name}` of `{target}` have no weight")));
        }
    }
    Ok(())
}

/// A block with its densities.
#[derive(Clone, Debug)]
pub struct FittedBlock {
    /// What was fitted.
    pub block: Block,
    /// The densities, one per class.
    pub density: AnyDensity,
}

/// A fitted generative model.
#[derive(Clone, Debug)]
pub struct GenerativeModel {
    about: About,
    rows: Vec<f64>,
    blocks: Vec<FittedBlock>,
    components: Components,
    convergence: Option<Convergence>,
}

impl GenerativeModel {
    pub(super) fn new(about: About, rows: Vec<f64>, blocks: Vec<FittedBlock>, components: Components) -> Self {
        GenerativeModel { about, rows, blocks, components, convergence: None }
    }

    pub(super) fn with_about(self, about: About) -> Self {
        GenerativeModel { about, ..self }
    }

    pub(super) fn with_convergence(self, convergence: Convergence) -> Self {
        GenerativeModel { convergence: Some(convergence), ..self }
    }

    /// The components of its classes; the densities of the blocks are those of these groups.
    pub fn components(&self) -> &Components {
        &self.components
    }

    /// How expectation–maximisation came to it, where that was needed.
    pub fn convergence(&self) -> Option<&Convergence> {
        self.convergence.as_ref()
    }

    /// The blocks.
    pub fn blocks(&self) -> &[FittedBlock] {
        &self.blocks
    }

    /// The number of training rows of each class.
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// Draws a row of a class: its cells in the order of the schema.
    ///
    /// After `--pca` or `--lda` the row lies in the subspace that the model knows.
    pub fn sample(&self, class: usize, random: &mut Random) -> Result<Vec<Value>> {
        let mut row = vec![Value::Number(f64::NAN); self.schema().columns().len()];
        let weights: Vec<f64> = self.components.log_weights(class).iter().map(|w| w.exp()).collect();
        // A plain class draws nothing, so that streams of random numbers stay as they were.
        let component = if weights.len() > 1 { random.pick(&weights) } else { 0 };
        let class = self.components.of_class(class).start + component;
        for FittedBlock { block, density } in &self.blocks {
            let values = density.sample(class, random)?;
            for (j, (&column, value)) in block.columns.iter().zip(values).enumerate() {
                let bins = block.discretise.as_ref().and_then(|discretise| discretise.bins(j));
                row[column] = match (value, &block.gaussianise, bins) {
                    (Value::Number(y), Some(map), _) => Value::Number(map.inverse(j, y)),
                    // A code of no bin is a missing number.
                    (Value::Level(bin), _, Some(bins)) if bin as usize >= bins.count() => Value::Number(f64::NAN),
                    (Value::Level(bin), _, Some(bins)) => Value::Number(bins.at(bin as usize, random.uniform())),
                    (value, _, _) => value,
                };
            }
        }
        Ok(row)
    }

    /// The evidence of some columns alone: only blocks that hold one of `columns` are scored, and all
    /// other blocks are integrated out. This is also how a text is left out: a row cannot say that its
    /// text is missing, and an empty text is evidence of its own. The other columns of a scored block
    /// count unless their cells are missing.
    pub fn evidence_of(&self, columns: &[usize], x: &Batch<'_>) -> Result<Evidence> {
        let holds = |b: &FittedBlock| b.block.columns.iter().any(|c| columns.contains(c));
        evidence_of(x, self.schema(), |out| self.score(holds, x, out))
    }

    /// Scores rows by some of the blocks into `out`, row after row.
    fn score(&self, takes: impl Fn(&FittedBlock) -> bool + Sync, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
        // A tile and its copies fit the second-level cache.
        let tile = ((256 << 10) / (8 * x.width().max(1))).clamp(64, 1024);
        score_in_tiles(x, self.schema(), tile, out, |rows, out| self.score_tile(&takes, x, rows, out))
    }

    /// Scores a few rows.
    fn score_tile(
        &self,
        takes: impl Fn(&FittedBlock) -> bool,
        x: &Batch<'_>,
        rows: std::ops::Range<usize>,
        out: &mut [f64],
    ) -> Result<()> {
        let classes = self.schema().classes().len();
        let scores = self.group_scores(takes, x, Rows::Range(rows))?;
        if self.components.is_single() {
            for class in 0..classes {
                for (i, s) in scores.column(class).iter().enumerate() {
                    out[i * classes + class] = *s;
                }
            }
            return Ok(());
        }
        let mut own = Tile::default();
        for class in 0..classes {
            let groups = self.components.of_class(class);
            own.resize(scores.rows(), groups.len());
            groups.clone().enumerate().for_each(|(k, group)| own.column_mut(k).copy_from_slice(scores.column(group)));
            for (i, s) in self.components.share(class, &mut own).into_iter().enumerate() {
                out[i * classes + class] = s;
            }
        }
        Ok(())
    }

    /// log p(x | group) of some rows by some of the blocks.
    pub(crate) fn group_scores(
        &self,
        takes: impl Fn(&FittedBlock) -> bool,
        x: &Batch<'_>,
        rows: Rows<'_>,
    ) -> Result<Tile> {
        let mut scores = Tile::default();
        scores.resize(rows.len(), self.components.groups());
        scores.data_mut().fill(0.0);
        for FittedBlock { block, density } in self.blocks.iter().filter(|block| takes(block)) {
            block.add_log_density(density, x, rows.clone(), &mut scores)?;
        }
        Ok(scores)
    }
}

impl Classifier for GenerativeModel {
    fn about(&self) -> &About {
        &self.about
    }

    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn learned_from(&self) -> f64 {
        self.rows.iter().sum()
    }

    fn domains(&self) -> Vec<(usize, Domain)> {
        let of_block = |fitted: &FittedBlock| {
            let domain = fitted.density.domain().filter(|_| fitted.block.gaussianise.is_none());
            let columns = domain.map(|domain| fitted.block.columns.iter().map(move |&column| (column, domain)));
            columns.into_iter().flatten().collect::<Vec<_>>()
        };
        self.blocks.iter().flat_map(of_block).collect()
    }

    fn ledgers(&self, x: &Batch<'_>, order: Order, stop: &AtomicBool) -> Result<Vec<Explanation>> {
        explain::explain(self, x, order, stop)
    }

    fn evidence_into(&self, x: &Batch<'_>, out: &mut [f64]) -> Result<()> {
        self.score(|_| true, x, out)
    }
}

impl Stored for GenerativeModel {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.about.store(archive, name)?;
        self.store_fit(archive, name)
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        GenerativeModel::load_fit(archive, name, About::load(archive, name)?)
    }
}

impl GenerativeModel {
    /// Stores everything but what the model knows beside its parameters.
    pub(super) fn store_fit(&self, archive: &mut Archive, name: &str) -> Result<()> {
        archive.put(&format!("{name}.rows"), &[self.rows.len()], &self.rows)?;
        archive.put_json(&format!("{name}.blocks"), &self.blocks.len())?;
        if !self.components.is_single() {
            self.components.store(archive, &format!("{name}.components"))?;
        }
        if let Some(convergence) = &self.convergence {
            let Convergence { path, log_likelihood, converged } = convergence;
            archive.put_json(&format!("{name}.em"), &(path.len(), log_likelihood, converged))?;
            archive.put(&format!("{name}.path"), &[path.len()], path)?;
        }
        for (b, FittedBlock { block, density }) in self.blocks.iter().enumerate() {
            block.store(archive, &format!("{name}.block{b}"))?;
            density.store(archive, &format!("{name}.density{b}"))?;
        }
        Ok(())
    }

    /// Loads what [`store_fit`](GenerativeModel::store_fit) stores.
    pub(super) fn load_fit(archive: &Archive, name: &str, about: About) -> Result<Self> {
        let (schema, classes) = (about.schema(), about.schema().classes().len());
        let rows = archive.finite(&format!("{name}.rows"), &[classes])?.to_vec();
        let count: usize = archive.json(&format!("{name}.blocks"))?;
        let components = match archive.has(&format!("{name}.components.log_weights")) {
            true => Components::load(archive, &format!("{name}.components"))?,
            false => Components::single(classes),
        };
        let mut blocks = Vec::new();
        for b in 0..count {
            let block = Block::load(archive, &format!("{name}.block{b}"))?;
            let density = AnyDensity::load(archive, &format!("{name}.density{b}"))?;
            let fits = density.classes() == components.groups()
                && components.classes() == classes
                && density.width() == block.columns.len()
                && block.columns.iter().all(|&c| c < schema.columns().len());
            if !fits || classes == 0 {
                return Err(archive.damaged(&format!("block {b} does not fit the schema")));
            }
            blocks.push(FittedBlock { block, density });
        }
        let convergence = match archive.json_if_any::<(usize, f64, bool)>(&format!("{name}.em"))? {
            Some((steps, log_likelihood, converged)) => {
                let path = archive.finite(&format!("{name}.path"), &[steps])?.to_vec();
                Some(Convergence { path, log_likelihood, converged })
            }
            None => None,
        };
        Ok(GenerativeModel { about, rows, blocks, components, convergence })
    }
}

impl Stored for FittedBlock {
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()> {
        self.block.store(archive, &format!("{name}.block"))?;
        self.density.store(archive, &format!("{name}.density"))
    }

    fn load(archive: &Archive, name: &str) -> Result<Self> {
        let block = Block::load(archive, &format!("{name}.block"))?;
        let density = AnyDensity::load(archive, &format!("{name}.density"))?;
        match density.width() == block.columns.len() {
            true => Ok(FittedBlock { block, density }),
            false => Err(archive.damaged(&format!("`{name}` has densities of other columns"))),
        }
    }
}
