//! The hyper-parameters of Gaussian blocks.

use clap::Args;
use deciban::family::gaussian::{Estimator, Rank, Strength, Structure};
use deciban::learn::Options;

use super::one_of;

/// The hyper-parameters of a Gaussian model.
#[derive(Args)]
#[command(next_help_heading = "Gaussian")]
pub struct GaussianArgs {
    /// Structure of the covariances: what they have in common between classes and columns; full by default
    #[arg(long, value_parser = one_of(&Structure::ALL))]
    covariance: Option<Structure>,
    /// How covariances are estimated: maximum likelihood, unbiased (n − 1), or integrated out (Student)
    #[arg(long, value_parser = one_of(&Estimator::ALL), default_value = "ml")]
    estimator: Estimator,
    /// Shrink covariances towards a multiple of the identity: 0 to 1, or auto
    #[arg(long, value_name = "G", default_value = "0")]
    shrinkage: Strength,
    /// Pool covariances with the one that all classes share: 0 to 1, or auto
    #[arg(long, value_name = "L", default_value = "0")]
    pooling: Strength,
    /// Penalty on the precision matrix (graphical lasso on correlations); 0 for no penalty
    #[arg(long, value_name = "R", default_value_t = 0.0)]
    sparse_precision: f64,
    /// Scale columns to mean 0 and variance 1 first
    #[arg(long)]
    standardise: bool,
    /// Each row is a square image: take the slant of its strokes out first (`fit images.idx --deskew --pca 40`)
    #[arg(long)]
    deskew: bool,
    /// Map each column through its distribution to a normal one first (one more pass)
    #[arg(long)]
    gaussianise: bool,
    /// Keep the N leading principal components
    #[arg(long, value_name = "N")]
    pca: Option<usize>,
    /// Keep the N leading discriminant directions (after --pca, if both are given)
    #[arg(long, value_name = "N")]
    lda: Option<usize>,
    /// Rows that the prior of each covariance weighs, centred on the covariance within classes; by default 0, and
    /// with --components as many as there are dimensions
    #[arg(long, value_name = "ROWS")]
    prior_rows: Option<f64>,
    /// Principal axes of low-rank covariances: a number, or auto (`--covariance low-rank --rank 5`)
    #[arg(long, value_name = "Q", default_value = "auto")]
    rank: Rank,
    /// Number of folds that choose `auto` values; 5 by default
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    folds: Option<u64>,
    /// The seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Equal rows stay in one fold. Folds then do not depend on the order of the rows, and are those of the same
    /// rows on Spark
    #[arg(long)]
    equal_together: bool,
}

impl GaussianArgs {
    /// The options; those that are not given stay as they are.
    pub fn options(&self) -> Options {
        Options {
            covariance: self.covariance,
            estimator: self.estimator,
            shrinkage: self.shrinkage,
            pooling: self.pooling,
            sparse_precision: self.sparse_precision,
            standardise: self.standardise,
            deskew: self.deskew,
            gaussianise: self.gaussianise,
            pca: self.pca,
            lda: self.lda,
            rank: self.rank,
            prior_rows: self.prior_rows,
            folds: self.folds.map(|folds| folds as usize),
            seed: self.seed,
            equal_together: self.equal_together,
            ..Options::default()
        }
    }
}
