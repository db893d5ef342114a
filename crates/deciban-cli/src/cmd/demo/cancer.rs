//! Breast cancer: the same model and evidence, decided under different costs.

use std::path::PathBuf;

use deciban::Result;
use deciban::decision::Costs;
use deciban::engine::Memory;
use deciban::evaluate::Evaluation;
use deciban::evidence::decibans;
use deciban::family::gaussian::{Gaussian, Strength, Structure};
use deciban::learn::{Classifier, Generative, Learner};
use deciban::posterior::Prior;

use super::Table as Data;
use crate::output::say;
use deciban_tasks::table::{Table, number};

/// 569 tumours × 30 measurements: UCI Breast Cancer Wisconsin (Diagnostic), CC BY 4.0.
const CANCER: &str = include_str!("../../../../../examples/cancer.csv");

pub fn run(_: Option<PathBuf>) -> Result<()> {
    let tumours =
        Data::parse(CANCER, "diagnosis", &["mean_texture", "mean_smoothness", "mean_area", "mean_concave_points"])?;
    let (train, test) = (tumours.half(0), tumours.half(1));
    let family = Gaussian { covariance: Structure::Full, shrinkage: Strength::Fixed(0.0), ..Gaussian::default() };
    let learner = Generative::gaussian(train.schema.columns(), family)?;
    let model = learner.learn(&Memory::new(train.schema.clone(), train.batch()?)?)?;
    let evidence = model.evidence(&test.batch()?)?;
    let classes = train.schema.classes().to_vec();
    let (benign, malignant) = match classes[0].as_str() {
        "benign" => (0, 1),
        _ => (1, 0),
    };

    say!("Tumours, benign or malignant, by four measurements; every other one is kept for the test.");
    say!("The evidence is computed once. Then each application brings its prior and its costs:\n");
    let mut table = Table::new(["application", "malignant above", "missed", "false alarms", "cost per patient"]);
    for (name, prior, miss) in [
        ("a study: errors count alike", 0.37, 1.0),
        ("clinic: a miss costs 1000", 0.37, 1000.0),
        ("screening: 1 in 200 is ill", 0.005, 1000.0),
    ] {
        let mut weights = vec![1.0 - prior; 2];
        weights[malignant] = prior;
        let prior = Prior::new(&weights)?;
        let mut costs = Costs::zero_one(&classes);
        costs.set(malignant, benign, miss)?;
        let mut e = Evaluation::new(&classes, &costs);
        e.observe(&evidence.posterior(&prior), &test.classes, None, &costs)?;
        let confusion = e.confusion();
        // The threshold on the LLR of malignant over benign.
        let p = prior.probabilities();
        let threshold = decibans((p[benign] / (p[malignant] * miss)).ln());
        let cells = [
            name.to_string(),
            format!("{threshold:+.1} dB"),
            number(confusion[malignant][benign], 4),
            number(confusion[benign][malignant], 4),
            format!("{:.3}", cost_per_patient(&confusion, &prior, &costs)),
        ];
        table.row(cells);
    }
    say!("{table}");
    say!("\nWith a costly miss the threshold falls by 30 decibans and doubtful tumours are treated.");
    let llr = |row: &usize| decibans(evidence.llr(*row, malignant));
    // The doubtful one nearest to −15 decibans; there are rows.
    let rows = 0..evidence.rows();
    let doubtful = rows.min_by(|a, b| (llr(a) + 15.0).abs().total_cmp(&(llr(b) + 15.0).abs())).unwrap_or(0);
    let mut weights = vec![1.0 - 0.37; 2];
    weights[malignant] = 0.37;
    let posterior = evidence.posterior(&Prior::new(&weights)?).row(doubtful);
    say!("\nOne of them has evidence {:+.1} dB and p(malignant) = {:.4}.", llr(&doubtful), posterior[malignant]);
    say!("What each action is expected to cost, and what is decided:\n");
    let mut table = Table::new(["a miss costs", "a false alarm", "benign", "malignant", "decision"]);
    for miss in [1.0, 10.0, 1000.0] {
        let mut costs = Costs::zero_one(&classes);
        costs.set(malignant, benign, miss)?;
        let expected = costs.expected(&posterior);
        let decision = costs.actions()[costs.best(&posterior).0].clone();
        let risks = [benign, malignant].map(|action| number(expected[action], 4));
        table.row([number(miss, 4), "1".into(), risks[0].clone(), risks[1].clone(), decision]);
    }
    say!("{}", table.to_string().trim_end());
    Ok(())
}

/// The expected cost where classes are as frequent as the prior says, whatever the test set's share.
fn cost_per_patient(confusion: &[&[f64]], prior: &Prior, costs: &Costs) -> f64 {
    let of_class = |(class, row): (usize, &&[f64])| {
        let rows: f64 = row.iter().sum();
        let cost: f64 = row.iter().enumerate().map(|(action, n)| n * costs.cost(class, action)).sum();
        prior.probabilities()[class] * cost / rows
    };
    confusion.iter().enumerate().map(of_class).sum()
}
