//! The names of series with samples of their looks, in rows above the frame, where they hide nothing.

use crate::figure::{Figure, Shape};
use crate::font;
use crate::paint::Paint;
use crate::scene::{Anchor, Fill, Item, Stroke};

const SIZE: f64 = 12.0;
const ROW: f64 = 18.0;
const SAMPLE: f64 = 22.0;
const ROWS: usize = 4;

/// The names in a figure's legend, each once.
pub fn names(figure: &Figure) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for mark in &figure.marks {
        if !mark.name.is_empty() && !names.contains(&mark.name.as_str()) {
            names.push(&mark.name);
        }
    }
    names
}

/// The legend from (left, top), and its height.
pub fn draw(figure: &Figure, left: f64, top: f64, room: f64) -> (Vec<Item>, f64) {
    let names = names(figure);
    let (mut items, mut x, mut row) = (Vec::new(), 0.0, 0);
    for (i, name) in names.iter().enumerate() {
        let text = font::fitted(name, SIZE, (room - SAMPLE - 8.0).clamp(20.0, 260.0));
        // Readers' fonts may be wider than ours.
        let width = SAMPLE + 6.0 + font::width(&text, SIZE) * 1.06;
        if x > 0.0 && x + width > room {
            (x, row) = (0.0, row + 1);
        }
        if row == ROWS {
            let more = format!("and {} more", names.len() - i);
            items.push(label(left, top + ROW * row as f64 + 12.0, more));
            break;
        }
        let y = top + ROW * row as f64 + 8.0;
        items.extend(sample(figure, name, left + x, y));
        items.push(label(left + x + SAMPLE + 6.0, y + 4.0, text));
        x += width + 16.0;
    }
    let rows = if names.is_empty() { 0 } else { row + 1 };
    (items, rows as f64 * ROW)
}

fn label(x: f64, y: f64, text: String) -> Item {
    Item::Text { at: [x, y], text, size: SIZE, paint: Paint::Ink, anchor: Anchor::Start, bold: false, angle: 0.0 }
}

/// All marks of a series, one over the other.
fn sample(figure: &Figure, name: &str, x: f64, y: f64) -> Vec<Item> {
    let look = |mark: &crate::figure::Mark| {
        let fill = Fill { paint: mark.paint, opacity: mark.opacity };
        match mark.shape {
            Shape::Line(_) => Item::Polyline {
                points: vec![[x, y], [x + SAMPLE, y]],
                stroke: Stroke { paint: mark.paint, width: mark.width, dash: mark.dash, opacity: mark.opacity },
            },
            Shape::Points(_) => {
                let points = vec![[x + SAMPLE / 2.0, y]];
                let opaque = Fill { opacity: 1.0, ..fill };
                Item::Markers { points, marker: mark.marker, radius: mark.width + 1.2, fill: opaque }
            }
            _ => Item::Rectangle {
                corner: [x + 3.0, y - 5.0],
                size: [SAMPLE - 6.0, 10.0],
                fill: Some(fill),
                stroke: None,
            },
        }
    };
    let mut seen = Vec::new();
    let mut items = Vec::new();
    for mark in figure.marks.iter().filter(|m| m.name == name) {
        let item = look(mark);
        if !seen.contains(&item) {
            seen.push(item.clone());
            items.push(item);
        }
    }
    items
}
