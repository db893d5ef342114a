//! An evidence ledger: what each feature adds to the odds, in decibans, one below the other from
//! the prior odds to the posterior odds.

use crate::scale::plain;
use crate::{Anchor, Axis, Figure, Paint};

/// Entries of a name and decibans, in order; the sum of all is added as the last line.
///
/// ```
/// use deciban_plot::chart::ledger;
/// let figure = ledger("Barolo over Barbera", &[("prior odds", 0.9), ("Alcohol", 12.5), ("Hue", -3.0)]);
/// assert!(figure.svg().contains(">+12.5</text>"));
/// ```
pub fn ledger(title: &str, entries: &[(&str, f64)]) -> Figure {
    let total: f64 = entries.iter().map(|e| e.1).sum();
    let names: Vec<String> = entries.iter().map(|e| e.0.to_string()).chain(["total".to_string()]).collect();
    let mut figure = Figure::new(title)
        .size(640.0, 96.0 + 24.0 * names.len() as f64)
        .x(Axis::linear("decibans"))
        .y(Axis::names("", &names).reversed())
        .rule_x("", 0.0)
        .paint(Paint::Muted)
        .width(1.0);
    let (mut from, mut low, mut high) = (0.0, 0.0f64, 0.0f64);
    let steps: Vec<(f64, f64, f64)> = entries
        .iter()
        .map(|(_, d)| {
            let to = from + d;
            (low, high) = (low.min(to), high.max(to));
            let step = (from, to, *d);
            from = to;
            step
        })
        .chain([(0.0, total, total)])
        .collect();
    let room = 0.13 * (high - low).max(1e-9);
    figure.x = figure.x.from(low - room).to(high + room);
    for (i, (from, to, decibans)) in steps.into_iter().enumerate() {
        let y = i as f64;
        let paint = match i == entries.len() {
            true => Paint::Ink,
            false => Paint::Series(usize::from(decibans < 0.0)),
        };
        let (at, anchor) =
            if decibans < 0.0 { (to - 0.08 * room, Anchor::End) } else { (to + 0.08 * room, Anchor::Start) };
        figure = figure.boxes("", &[[from.min(to), from.max(to), y - 0.36, y + 0.36]]).paint(paint).opacity(0.7).label(
            at,
            y,
            &signed(decibans),
            anchor,
        );
    }
    figure.alt(&format!("Evidence in decibans that adds up to {}.", signed(total)))
}

/// With its sign and one decimal, so that the numbers can be added up.
fn signed(decibans: f64) -> String {
    match decibans.abs() < 1e5 {
        true => format!("{decibans:+.1}").replace('-', "−"),
        false => format!("{}{}", if decibans > 0.0 { "+" } else { "" }, plain(decibans)),
    }
}
