//! Ledgers of many lines: pairs of columns are shown with their columns.

use deciban_tasks::ledger::{Ledger, Line};

#[test]
fn many_pairs_are_shown_with_their_columns_and_add_up() {
    let line = |(name, pair, decibans): (&str, Option<[&str; 2]>, f64)| Line {
        name: name.into(),
        value: String::new(),
        decibans,
        pair: pair.map(|pair| pair.map(String::from)),
    };
    let said = [
        ("a", None, 1.0),
        ("b", None, -2.0),
        ("b × c", Some(["b", "c"]), 3.0),
        ("a × c", Some(["a", "c"]), 8.0),
        ("a × b", None, 0.25), // A column may have the name of a pair.
        ("(calibration)", None, 0.5),
    ];
    let ledger = Ledger {
        row: 1,
        of: "x".into(),
        over: None,
        posterior: [0.9, 0.1],
        prior: -1.0,
        features: said.map(line).to_vec(),
        missing: Vec::new(),
        total: 9.75,
    };
    let told = |most: usize| -> Vec<(String, f64)> {
        ledger.lines(most).into_iter().map(|line| (line.name, line.decibans)).collect()
    };
    let expected = [
        ("prior odds", -1.0),
        ("c and 2 pairs", 5.5),
        ("a and 1 pair", 5.0),
        ("(calibration)", 0.5),
        ("b and 1 pair", -0.5),
        ("a × b", 0.25),
    ];
    assert_eq!(told(4), expected.map(|(name, decibans)| (name.to_string(), decibans)));
    // Where there is room for all lines, each pair has its own.
    assert_eq!(told(5).len(), 7);
    for most in [0, 1, 2, 3, 4, 5, 9] {
        assert_eq!(told(most).iter().map(|(_, decibans)| decibans).sum::<f64>(), ledger.total, "{most}");
    }
}
