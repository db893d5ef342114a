//! The confusion matrix as a heat map: rows are the true classes, columns what was decided. Shades
//! are shares of the row, so that rare classes are seen as well.

use super::percent;
use crate::{Anchor, Axis, Figure, Paint};

/// `counts[true][decided]`. Numbers stand in the cells where there is room.
///
/// ```
/// use deciban_plot::chart::confusion;
/// let classes = ["ham".to_string(), "spam".to_string()];
/// let figure = confusion(&classes, &classes, &[vec![95.0, 5.0], vec![1.0, 19.0]]);
/// assert!(figure.svg().contains(">95%</text>"));
/// ```
pub fn confusion(classes: &[String], actions: &[String], counts: &[Vec<f64>]) -> Figure {
    let size = classes.len().max(actions.len());
    let cell = (420.0 / size.max(1) as f64).clamp(14.0, 74.0);
    let mut figure = Figure::new("Confusion")
        .subtitle("shade: share of the true class")
        .size(210.0 + cell * actions.len() as f64, 150.0 + cell * classes.len() as f64)
        .x(Axis::names("decided", actions))
        .y(Axis::names("true", classes).reversed());
    let mut said = Vec::new();
    for (c, row) in counts.iter().enumerate() {
        let total: f64 = row.iter().sum();
        for (a, count) in row.iter().enumerate().filter(|(_, n)| **n > 0.0) {
            let share = count / total;
            let (x, y) = (a as f64, c as f64);
            let right = classes.get(c) == actions.get(a);
            figure = figure
                .boxes("", &[[x - 0.48, x + 0.48, y - 0.48, y + 0.48]])
                .paint(Paint::Series(if right { 0 } else { 1 }))
                .opacity(0.06 + 0.54 * share);
            let written = crate::scale::plain(count.round());
            if cell >= 50.0 {
                figure = figure.label(x, y - 0.13, &written, Anchor::Middle).label(
                    x,
                    y + 0.17,
                    &percent(share),
                    Anchor::Middle,
                );
            } else if cell >= 24.0 {
                figure = figure.label(x, y, &written, Anchor::Middle);
            }
        }
        if let (Some(class), true) = (classes.get(c), c < 12) {
            let right = actions.iter().position(|a| a == class).map_or(0.0, |a| row.get(a).copied().unwrap_or(0.0));
            said.push(format!("{class}: {} of {} right", crate::scale::plain(right), crate::scale::plain(total)));
        }
    }
    figure.alt(&format!("Confusion matrix. {}.", said.join("; ")))
}
