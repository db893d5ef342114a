//! What a Gaussian family may be asked for: the structure of its covariances, their estimator, and strengths of
//! regularisation.

use serde::{Deserialize, Serialize};

/// What the covariances of the classes have in common, and which of their cells are free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// Each class its own matrix (quadratic discriminant analysis).
    #[default]
    Full,
    /// One matrix for all classes (linear discriminant analysis).
    Tied,
    /// Each class its own variances (Gaussian naive Bayes).
    Diagonal,
    /// One set of variances for all classes.
    TiedDiagonal,
    /// Each class one variance.
    Spherical,
    /// One variance.
    TiedSpherical,
    /// Each class its own principal axes, and one variance in all other directions (probabilistic PCA).
    LowRank,
    /// The same axes and variances for all classes.
    TiedLowRank,
}

impl Structure {
    /// All structures, by the names of the command line.
    pub const ALL: [(&'static str, Structure); 8] = [
        ("full", Structure::Full),
        ("tied", Structure::Tied),
        ("diagonal", Structure::Diagonal),
        ("tied-diagonal", Structure::TiedDiagonal),
        ("spherical", Structure::Spherical),
        ("tied-spherical", Structure::TiedSpherical),
        ("low-rank", Structure::LowRank),
        ("tied-low-rank", Structure::TiedLowRank),
    ];

    /// Those that leave no number of axes open.
    pub const FREE: [(&'static str, Structure); 6] = {
        let [full, tied, diagonal, tied_diagonal, spherical, tied_spherical, ..] = Structure::ALL;
        [full, tied, diagonal, tied_diagonal, spherical, tied_spherical]
    };

    /// Whether the classes share their covariance.
    pub fn is_tied(self) -> bool {
        use Structure::*;
        matches!(self, Tied | TiedDiagonal | TiedSpherical | TiedLowRank)
    }

    /// Whether columns are correlated within a class.
    pub fn is_full(self) -> bool {
        matches!(self, Structure::Full | Structure::Tied) || self.is_low_rank()
    }

    /// Whether columns are correlated along a few axes only.
    pub fn is_low_rank(self) -> bool {
        matches!(self, Structure::LowRank | Structure::TiedLowRank)
    }

    /// Whether all columns share one variance.
    pub fn is_spherical(self) -> bool {
        matches!(self, Structure::Spherical | Structure::TiedSpherical)
    }
}

/// How a covariance is estimated from a scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// Maximum likelihood: divide by the weight.
    #[default]
    Ml,
    /// Divide by the weight less the means that were estimated.
    Unbiased,
    /// Integrate mean and covariance out: a Student density.
    Bayes,
}

impl Estimator {
    /// All estimators, by the names of the command line.
    pub const ALL: [(&'static str, Estimator); 3] =
        [("ml", Estimator::Ml), ("unbiased", Estimator::Unbiased), ("bayes", Estimator::Bayes)];
}

/// A strength of regularisation: given, or chosen by held-out likelihood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// A number from 0 to 1.
    Fixed(f64),
    /// The best of a grid by leave-fold-out likelihood.
    Auto,
}

impl Default for Strength {
    fn default() -> Self {
        Strength::Fixed(0.0)
    }
}

impl std::str::FromStr for Strength {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Strength::Auto),
            number => match number.parse() {
                Ok(x) if (0.0..=1.0).contains(&x) => Ok(Strength::Fixed(x)),
                _ => Err("give a number from 0 to 1, or auto".into()),
            },
        }
    }
}

impl std::fmt::Display for Strength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Strength::Fixed(x) => write!(f, "{x}"),
            Strength::Auto => write!(f, "auto"),
        }
    }
}

impl Serialize for Strength {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Strength {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
