//! Every chart is drawn, whatever it is given.

use crate::common::{size_of_png, well_formed};
use deciban_plot::Figure;
use deciban_plot::chart::*;

/// Well-formed, of the size it says, without any number that is none, and the same each time.
fn drawn(figure: &Figure) {
    let svg = figure.svg();
    well_formed(&svg);
    assert!(!svg.contains("NaN") && !svg.contains("inf\"") && svg == figure.svg());
    assert!(svg.contains("<desc>") || svg.contains("<title></title>"));
    assert!(size_of_png(&figure.png(1.0)).0 >= 160);
}

const HOSTILE: [&[f64]; 7] = [
    &[],
    &[0.3],
    &[0.0, 0.0, 0.0],
    &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
    &[f64::MAX, f64::MIN, 0.0],
    &[1e9, 1e9 + 1e-6],
    &[0.1, 0.5, 0.9],
];

#[test]
fn charts_of_hostile_arrays() {
    for v in HOSTILE {
        let samples = [Sample { name: "a", values: v, weights: &[] }, Sample { name: "b", values: &[], weights: v }];
        drawn(&densities("x", &samples, v, &[v.to_vec(), Vec::new()]));
        drawn(&densities("x", &[], v, &[]));
        drawn(&levels("x", &["l".into()], &["a"], &[v.to_vec()], &[v.to_vec()]));
        let curve = [ErrorCurve { name: "a", false_alarm: v, miss: v }];
        drawn(&roc(&curve));
        drawn(&det(&curve));
        drawn(&bayes_error(&BayesError { log_odds: v, actual: v, minimum: v, default: v }, &[("here", f64::NAN)]));
        drawn(&reliability(&[Reliability { name: "a", said: v, happened: v, weights: v }]));
        drawn(&ledger("t", &v.iter().map(|d| ("x", *d)).collect::<Vec<_>>()));
        drawn(&learning("rows", "loss", &[LearningCurve { name: "a", size: v, loss: v, interval: Some((v, v)) }]));
        drawn(&confusion(&["a".into(), "b".into()], &["a".into()], &[v.to_vec(), Vec::new()]));
        let cloud = [Cloud { name: "a", xs: v, ys: v }];
        let covariance = [*v.first().unwrap_or(&1.0), 0.0, 1.0];
        let ellipse = [Ellipse { class: 0, mean: [0.0, *v.last().unwrap_or(&0.0)], covariance }];
        drawn(&regions("x", "y", &cloud, &ellipse, None));
        for (columns, rows) in [(0, 0), (1, 1), (3, 1)] {
            let ends = (*v.first().unwrap_or(&0.0), *v.last().unwrap_or(&0.0));
            let grid = Grid { x: ends, y: ends, columns, rows };
            let actions = ["a".to_string(), "reject".to_string()];
            drawn(&regions("x", "y", &cloud, &[], Some(&Regions { grid, actions: &actions, costs: v })));
            drawn(&surface(&grid, v, 0, "x", "y"));
        }
    }
    drawn(&roc(&[]));
    drawn(&det(&[]));
    drawn(&reliability(&[]));
    drawn(&confusion(&[], &[], &[]));
}

#[test]
fn confusions_of_many_classes_fit() {
    let names: Vec<String> = (0..60).map(|i| format!("a rather long name of class {i}")).collect();
    let counts: Vec<Vec<f64>> = (0..60).map(|i| (0..60).map(|j| f64::from(i == j)).collect()).collect();
    drawn(&confusion(&names, &names, &counts));
}

#[test]
fn the_ledger_adds_up() {
    let svg = ledger("t", &[("prior odds", -3.0), ("a", 12.5), ("b", 0.5)]).svg();
    for label in
        [">−3.0</text>", ">+12.5</text>", ">+0.5</text>", ">+10.0</text>", ">prior odds</text>", ">total</text>"]
    {
        assert!(svg.contains(label), "{label}");
    }
}
