//! What is tried of generative models.

use super::{Search, Table};
use crate::data::{Column, Kind, Profile};
use crate::error::{Error, Result};
use crate::family::gaussian::{Estimator, Gaussian, Strength, Structure};
use crate::family::{AnyFamily, Family};
use crate::learn::{Count, Effort, Generative, NaiveBayes, Named, blocks};
use crate::model::Candidate;
use crate::transform::Step;

/// More columns than this get no full covariance of all of them.
const MOST_JOINT: usize = 128;

/// A table with more cells of categories than this is hopeless.
const MOST_CELLS: f64 = 1e4;

/// Above so many products a step (rows × components × columns²), a mixture takes too long.
const MOST_MIXED: f64 = 5e8;

/// With fewer rows a class, mixtures are not tried: their likelihood grows with every component.
const LEAST_CLASS: f64 = 200.0;

/// With fewer rows a component, a mixture is not tried.
const LEAST_COMPONENT: f64 = 30.0;

/// Mixtures of more columns are found after PCA.
const MOST_MIXED_COLUMNS: usize = 32;

/// Above so many counts a pass (rows × columns²), models of pairs of columns take too long.
const MOST_PAIRED: f64 = 2e9;

/// Above so many products (rows² × columns), kernels on all rows take too long.
const MOST_KERNELS: f64 = 2e10;

impl Search for Generative {
    fn candidates(model: &str, table: &Table<'_>) -> Result<Vec<Candidate>> {
        let (columns, profiles) = (table.columns, table.profiles);
        let [numbers, counts] = [Kind::Number, Kind::Count].map(|kind| table.count(&[kind]));
        match model {
            "gaussian" => {
                let gaps = profiles.iter().any(|profile| profile.cells < profile.rows);
                let all = gaussians(columns, table.classes, gaps).into_iter().map(|family| gaussian(columns, family));
                let mut all: Vec<Candidate> = all.collect::<Result<_>>()?;
                if columns.len() <= MOST_JOINT && !gaps {
                    all.extend(normal_scores(columns)?);
                }
                all.extend(mixtures(table)?);
                Ok(all)
            }
            "naive-bayes" if table.has_only_numbers() => {
                let each = ["histogram", "auto"].map(|family| all_numbers(columns, family, 1.0));
                each.into_iter().filter_map(Result::transpose).collect()
            }
            "naive-bayes" => {
                let mut all = Vec::new();
                for pseudo_count in [0.1, 1.0] {
                    all.push(naive_bayes(columns, profiles, NaiveBayes { pseudo_count, ..NaiveBayes::default() })?);
                    for family in ["histogram", "auto"] {
                        all.extend(all_numbers(columns, family, pseudo_count)?);
                    }
                }
                if (2..=MOST_JOINT).contains(&numbers) {
                    for covariance in [Structure::Full, Structure::Tied] {
                        let gaussian = Gaussian { covariance, ..Gaussian::default() };
                        let joint =
                            NaiveBayes { gaussian, joint_numbers: true, pseudo_count: 1.0, families: Vec::new() };
                        all.push(naive_bayes(columns, profiles, joint)?);
                    }
                }
                Ok(all)
            }
            "bernoulli" | "multinomial" => counted(model, columns, &[0.01, 0.1, 0.5, 1.0]),
            "table" => {
                let cells: f64 = columns.iter().map(|c| c.levels.len().max(1) as f64).product();
                match cells * 4f64.powi((numbers + counts) as i32) > MOST_CELLS {
                    true => Err(Error::parameter("models", "a table of all columns has too many cells: give tree")),
                    false => binned(model, columns),
                }
            }
            "tree" | "a1de" => binned(model, columns),
            "parzen" => {
                let blocks = blocks::numbers(columns, &AnyFamily::named(model)?)?;
                Ok(vec![Candidate::generative(model, Generative::of_blocks(blocks))])
            }
            _ => Err(Error::parameter("models", format!("`{model}` is not a generative model"))),
        }
    }

    fn quick(table: &Table<'_>) -> Result<Vec<Candidate>> {
        let columns = table.columns;
        let [numbers, texts] = [Kind::Number, Kind::Text].map(|kind| table.count(&[kind]));
        let categories = table.count(&[Kind::Category, Kind::Flag]);
        let mut all = Vec::new();
        if table.has_only_numbers() {
            let auto = |covariance: Structure| {
                let pooling = if covariance.is_tied() { Strength::Fixed(0.0) } else { Strength::Auto };
                let steps = vec![Step::Standardise];
                Gaussian { covariance, shrinkage: Strength::Auto, pooling, steps, ..Gaussian::default() }
            };
            let plain = |covariance: Structure| Gaussian { covariance, ..Gaussian::default() };
            let mut families = vec![plain(Structure::Diagonal)];
            match numbers <= MOST_JOINT {
                true => families.extend([plain(Structure::Full), plain(Structure::Tied)]),
                false => {
                    families.extend([50, 100].map(|n| Gaussian { steps: vec![Step::Pca(n)], ..plain(Structure::Full) }))
                }
            }
            if numbers <= 32 {
                families.extend([auto(Structure::Full), auto(Structure::Tied)]);
            }
            all.extend(families.into_iter().map(|family| gaussian(columns, family)).collect::<Result<Vec<_>>>()?);
        }
        if !table.has_only_numbers() && texts == 0 {
            all.push(naive_bayes(columns, table.profiles, NaiveBayes { pseudo_count: 1.0, ..NaiveBayes::default() })?);
            for family in ["histogram", "auto"] {
                all.extend(all_numbers(columns, family, 1.0)?);
            }
        }
        if texts > 0 && categories == 0 {
            all.extend(counted("bernoulli", columns, &[0.01, 0.1])?);
            all.extend(counted("multinomial", columns, &[0.1, 0.5, 1.0])?);
        } else if texts > 0 {
            all.extend(Generative::candidates("naive-bayes", table)?);
        }
        Ok(all)
    }

    fn takes_too_long(&self, table: &Table<'_>) -> bool {
        let (rows, columns) = (table.rows, table.columns.len());
        match self.model() {
            "tree" | "a1de" => rows * (columns * columns) as f64 > MOST_PAIRED * table.factor(),
            // It keeps every row.
            "parzen" => table.fitted * table.fitted * columns as f64 > MOST_KERNELS * table.factor(),
            _ => false,
        }
    }
}

/// Gaussians of all structures; shrinkage is told in standard deviations.
fn gaussians(columns: &[Column], classes: usize, gaps: bool) -> Vec<Gaussian> {
    let d = columns.len();
    let plain = |covariance: Structure| Gaussian { covariance, ..Gaussian::default() };
    let mut all = Vec::new();
    if d <= MOST_JOINT {
        for share in [0.3, 1.0, 3.0] {
            let prior_rows = Some((share * d as f64).round().max(1.0));
            all.push(Gaussian { prior_rows, ..plain(Structure::Full) });
        }
    }
    if gaps {
        // Each takes passes of its own, where cells are missing.
        let few = [Structure::Full, Structure::Tied].into_iter().filter(|_| d <= MOST_JOINT);
        all.extend(few.chain([Structure::Diagonal, Structure::TiedDiagonal]).map(plain));
        return all;
    }
    if d <= MOST_JOINT {
        for covariance in [Structure::Full, Structure::Tied] {
            let poolings: &[f64] = if covariance.is_tied() { &[0.0] } else { &[0.0, 0.25, 0.5, 0.75] };
            for &lambda in poolings {
                for gamma in [0.0, 1e-3, 0.01, 0.1, 0.3] {
                    let (shrinkage, pooling) = (Strength::Fixed(gamma), Strength::Fixed(lambda));
                    let steps = if gamma > 0.0 { vec![Step::Standardise] } else { Vec::new() };
                    all.push(Gaussian { shrinkage, pooling, steps, ..plain(covariance) });
                }
            }
            all.push(Gaussian { estimator: Estimator::Bayes, ..plain(covariance) });
        }
    }
    let narrow = [Structure::Diagonal, Structure::TiedDiagonal, Structure::Spherical, Structure::TiedSpherical];
    all.extend(narrow.map(plain));
    let mut dimensions: Vec<usize> = match d {
        ..=MOST_JOINT => vec![d / 8, d / 4, d / 2],
        _ => vec![10, 20, 50, 100],
    };
    dimensions.dedup();
    for n in dimensions.into_iter().filter(|&n| n >= 2) {
        for covariance in [Structure::Full, Structure::Tied] {
            all.push(Gaussian { steps: vec![Step::Standardise, Step::Pca(n)], ..plain(covariance) });
        }
    }
    if classes > 2 && d > classes && d <= MOST_JOINT {
        for n in [2, classes - 1] {
            all.push(Gaussian { steps: vec![Step::Lda(n)], ..plain(Structure::Full) });
        }
    }
    all.dedup();
    all
}

fn gaussian(columns: &[Column], family: Gaussian) -> Result<Candidate> {
    let name = format!("gaussian{}", options(&family));
    let open = family.shrinkage == Strength::Auto || family.pooling == Strength::Auto;
    let learner = Generative::gaussian(columns, family)?;
    Ok(Candidate::generative(name, if open { learner.folds(5, 0) } else { learner }))
}

/// Gaussians of normal scores: each number is mapped so that it is normal within the classes taken together.
fn normal_scores(columns: &[Column]) -> Result<Vec<Candidate>> {
    let prior_rows = Some(columns.len() as f64);
    let full = Gaussian { prior_rows, ..Gaussian::default() };
    let tied = Gaussian { covariance: Structure::Tied, ..Gaussian::default() };
    let candidate = |family: Gaussian| {
        let name = format!("gaussian{} --gaussianise", options(&family));
        Ok(Candidate::generative(name, Generative::gaussian(columns, family)?.gaussianise(true)))
    };
    [full, tied].into_iter().map(candidate).collect()
}

/// Mixtures of Gaussians, where classes have rows enough for several components.
fn mixtures(table: &Table<'_>) -> Result<Vec<Candidate>> {
    let Table { columns, rows, classes, effort, .. } = *table;
    let d = columns.len();
    if d == 0 || rows < LEAST_CLASS * classes as f64 {
        return Ok(Vec::new());
    }
    let kept = d.min(MOST_MIXED_COLUMNS);
    let few = |count: &usize| {
        let products = rows * *count as f64 * (kept * kept) as f64;
        rows / classes as f64 >= LEAST_COMPONENT * *count as f64 && products <= MOST_MIXED * table.factor()
    };
    let mut counts: Vec<usize> = [2, 4, 8, 16, 24].into_iter().filter(few).collect();
    if effort == Effort::Normal {
        counts = counts.split_off(counts.len().saturating_sub(3));
    }
    let candidate = |count: usize| {
        let steps = if kept < d { vec![Step::Pca(kept)] } else { Vec::new() };
        let family = Gaussian { steps, ..Gaussian::default() };
        let name = format!("gaussian{} --components {count}", options(&family));
        let learner = Generative::gaussian(columns, family)?.components(Count::Fixed(count))?;
        Ok(Candidate::generative(name, learner))
    };
    counts.into_iter().map(candidate).collect()
}

/// A Gaussian's hyper-parameters as options of the command line.
fn options(family: &Gaussian) -> String {
    let name = |list: &[(&'static str, Structure)]| list.iter().find(|(_, s)| *s == family.covariance).map(|(n, _)| *n);
    let mut text = format!(" --covariance {}", name(&Structure::ALL).unwrap_or_default());
    if family.estimator == Estimator::Bayes {
        text += " --estimator bayes";
    }
    for (option, strength) in [("shrinkage", family.shrinkage), ("pooling", family.pooling)] {
        if strength != Strength::Fixed(0.0) {
            text += &format!(" --{option} {strength}");
        }
    }
    if let Some(rows) = family.prior_rows {
        text += &format!(" --prior-rows {rows}");
    }
    for step in &family.steps {
        text += &match step {
            Step::Standardise => " --standardise".to_string(),
            Step::Pca(n) => format!(" --pca {n}"),
            Step::Lda(n) => format!(" --lda {n}"),
        };
    }
    text
}

fn naive_bayes(columns: &[Column], profiles: &[Profile], mut bayes: NaiveBayes) -> Result<Candidate> {
    bayes.settle(columns, profiles);
    let joint = match (bayes.joint_numbers, bayes.gaussian.covariance.is_tied()) {
        (false, _) => "",
        (true, false) => " --joint-numbers",
        (true, true) => " --joint-numbers --covariance tied",
    };
    let name = format!("naive-bayes --pseudo-count {}{joint}", bayes.pseudo_count);
    Ok(Candidate::generative(name, Generative::of_blocks(bayes.blocks(columns)?)).of_kind("naive-bayes"))
}

/// Naive Bayes with every number by a family, if there are numbers.
fn all_numbers(columns: &[Column], family: &str, pseudo_count: f64) -> Result<Option<Candidate>> {
    if !columns.iter().any(|c| c.kind == Kind::Number) {
        return Ok(None);
    }
    let mut bayes = NaiveBayes { pseudo_count, ..NaiveBayes::default() };
    bayes.every_number(columns, &AnyFamily::named(family)?);
    let name = format!("naive-bayes --pseudo-count {pseudo_count} --family {family}");
    Ok(Some(Candidate::generative(name, Generative::of_blocks(bayes.blocks(columns)?)).of_kind("naive-bayes")))
}

fn counted(model: &str, columns: &[Column], pseudo_counts: &[f64]) -> Result<Vec<Candidate>> {
    let candidate = |&pseudo_count: &f64| {
        let blocks = blocks::counted(columns, &AnyFamily::named(model)?.with_pseudo_count(pseudo_count))?;
        Ok(Candidate::generative(format!("{model} --pseudo-count {pseudo_count}"), Generative::of_blocks(blocks)))
    };
    pseudo_counts.iter().map(candidate).collect()
}

fn binned(model: &str, columns: &[Column]) -> Result<Vec<Candidate>> {
    let family = AnyFamily::named(model)?.with_pseudo_count(1.0);
    let learner = Generative::of_blocks(blocks::together(columns, &family)?).discretise(blocks::binning(&family));
    Ok(vec![Candidate::generative(model, learner)])
}
