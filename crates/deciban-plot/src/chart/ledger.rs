//! An evidence ledger: what each feature adds to the odds, in decibans, one below the other from
//! the prior odds to the posterior odds. What makes a class impossible is an infinite bar, drawn as an
//! arrow at the edge; all others stay in scale and add up without it.

use crate::scale::plain;
use crate::{Anchor, Axis, Figure, Marker, Paint};

/// Entries of a name and decibans, in order; the sum of all is added as the last line.
///
/// ```
/// use deciban_plot::chart::ledger;
/// let figure = ledger("Barolo over Barbera", &[("prior odds", 0.9), ("Alcohol", 12.5), ("Hue", -3.0)]);
/// assert!(figure.svg().contains(">+12.5</text>"));
/// ```
pub fn ledger(title: &str, entries: &[(&str, f64)]) -> Figure {
    let total: f64 = entries.iter().map(|e| e.1).sum::<f64>() + 0.0;
    let names: Vec<String> = entries.iter().map(|e| e.0.to_string()).chain(["total".to_string()]).collect();
    let mut figure = Figure::new(title)
        .size(640.0, 96.0 + 24.0 * names.len() as f64)
        .x(Axis::linear("decibans"))
        .y(Axis::names("", &names).reversed())
        .rule_x("", 0.0)
        .paint(Paint::Muted)
        .width(1.0);
    let (mut from, mut low, mut high) = (0.0, 0.0f64, 0.0f64);
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (_, decibans) in entries {
        steps.push((from, *decibans));
        if decibans.is_finite() {
            from += decibans;
            (low, high) = (low.min(from), high.max(from));
        }
    }
    steps.push((0.0, total));
    // Room for arrows where nothing is finite.
    let infinite = |sign: f64| steps.iter().any(|(_, d)| *d == sign * f64::INFINITY);
    if high - low < 1e-9 {
        low -= if infinite(-1.0) || !infinite(1.0) { 10.0 } else { 0.0 };
        high += if infinite(1.0) || !infinite(-1.0) { 10.0 } else { 0.0 };
    }
    let room = 0.13 * (high - low);
    figure.x = figure.x.from(low - room).to(high + room);
    for (i, (from, decibans)) in steps.into_iter().enumerate() {
        let y = i as f64;
        let paint = match i == entries.len() {
            true => Paint::Ink,
            false => Paint::Series(usize::from(decibans < 0.0)),
        };
        // An infinite bar goes beyond all finite ones and ends in an arrow; 0/0 has no bar.
        let (to, arrow) = match decibans {
            d if d == f64::INFINITY => (high + 0.3 * room, Some(Marker::Right)),
            d if d == f64::NEG_INFINITY => (low - 0.3 * room, Some(Marker::Left)),
            d if d.is_nan() => (from, None),
            d => (from + d, None),
        };
        let gap = if arrow.is_some() { 0.24 * room } else { 0.08 * room };
        let (at, anchor) = if decibans < 0.0 { (to - gap, Anchor::End) } else { (to + gap, Anchor::Start) };
        figure = figure.boxes("", &[[from.min(to), from.max(to), y - 0.36, y + 0.36]]).paint(paint).opacity(0.7);
        if let Some(arrow) = arrow {
            figure = figure.points("", &[to], &[y]).marker(arrow).paint(paint).width(7.0).opacity(1.0);
        }
        figure = figure.label(at, y, &signed(decibans), anchor);
    }
    figure.alt(&format!("Evidence in decibans that adds up to {}.", signed(total)))
}

/// With its sign and one decimal, so that the numbers can be added up.
fn signed(decibans: f64) -> String {
    if decibans.is_nan() {
        return "0/0".into();
    }
    match decibans.abs() < 1e5 {
        true => format!("{decibans:+.1}").replace('-', "−"),
        false => format!("{}{}", if decibans > 0.0 { "+" } else { "" }, plain(decibans)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue: the picture of a row with infinite decibans was empty.
    #[test]
    fn infinite_bars_end_in_an_arrow_and_finite_ones_are_in_scale() {
        let figure = ledger("t", &[("prior odds", -3.0), ("fur", f64::INFINITY), ("kg", 12.5)]);
        let boxes: Vec<[f64; 4]> = figure
            .marks
            .iter()
            .filter_map(|m| match &m.shape {
                crate::figure::Shape::Boxes(boxes) => Some(boxes[0]),
                _ => None,
            })
            .collect();
        let (low, high) = figure.x.ends(std::iter::empty());
        // The finite bars add up, and both infinite ones, of fur and of the total, end beyond them.
        assert_eq!([&boxes[0][..2], &boxes[2][..2]], [[-3.0, 0.0], [-3.0, 9.5]]);
        assert!(boxes[1][0] == -3.0 && boxes[3][0] == 0.0);
        for bar in [boxes[1], boxes[3]] {
            assert!(bar[1] > 9.5 && bar[1] < high && low > -6.0, "{bar:?} {low} {high}");
        }
        let svg = figure.svg();
        assert_eq!(svg.matches(">+∞</text>").count(), 2);
        assert!(svg.contains(">+12.5</text>"));
        // Against both: 0/0, said and not drawn.
        let svg = ledger("t", &[("a", f64::INFINITY), ("b", f64::NEG_INFINITY)]).svg();
        assert!(svg.contains(">+∞</text>") && svg.contains(">−∞</text>") && svg.contains(">0/0</text>"));
    }
}
