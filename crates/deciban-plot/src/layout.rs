//! A figure to a scene: margins by the widths of labels, ticks by the room there is, marks by the
//! scales of the axes.

use crate::figure::{Figure, Mark, Shape};
use crate::font;
use crate::legend;
use crate::paint::Paint;
use crate::scale::Tick;
use crate::scene::{Anchor, Fill, Item, Point, Scene, Stroke};
use crate::simplify::simplify;

const EDGE: f64 = 14.0;
const TITLE: f64 = 15.0;
const LABEL: f64 = 12.0;
const TICK: f64 = 11.0;
/// Widest label of a tick before it is cut.
const WIDEST: f64 = 130.0;

fn text(at: Point, text: impl Into<String>, size: f64, paint: Paint, anchor: Anchor) -> Item {
    Item::Text { at, text: text.into(), size, paint, anchor, bold: false, angle: 0.0 }
}

/// One figure.
pub fn scene(figure: &Figure) -> Scene {
    let mut items = Vec::new();
    let mut top = heading(&mut items, &figure.title, &figure.subtitle, figure.width);
    if figure.legend {
        let (legend, height) = legend::draw(figure, EDGE, top, figure.width - 2.0 * EDGE);
        items.extend(legend);
        top += height + if height > 0.0 { 4.0 } else { 0.0 };
    }
    plot(figure, top + 6.0, &mut items);
    let (width, height) = (figure.width, figure.height);
    Scene { width, height, title: figure.title.clone(), description: figure.alt.clone(), items }
}

/// Several figures under one title.
pub fn grid(title: &str, figures: &[Figure], columns: usize) -> Scene {
    let mut items = Vec::new();
    let wide = |f: &[Figure]| f.iter().map(|f| f.width).sum::<f64>();
    let width = figures.chunks(columns).map(wide).fold(160.0, f64::max);
    let mut top = heading(&mut items, title, "", width);
    let shared = match figures {
        [first, rest @ ..] => !rest.is_empty() && rest.iter().all(|f| legend::names(f) == legend::names(first)),
        [] => false,
    };
    if shared && figures[0].legend {
        let (legend, height) = legend::draw(&figures[0], EDGE, top, width - 2.0 * EDGE);
        items.extend(legend);
        top += height + 4.0;
    }
    for row in figures.chunks(columns) {
        let mut left = 0.0;
        for figure in row {
            let inner = if shared { figure.clone().legend(false).scene() } else { figure.scene() };
            let title = if inner.description.is_empty() { inner.title } else { inner.description };
            items.push(Item::Group { corner: [left, top], clip: None, title, items: inner.items });
            left += inner.width;
        }
        top += row.iter().map(|f| f.height).fold(0.0, f64::max);
    }
    let alts: Vec<&str> = figures.iter().map(|f| f.alt.as_str()).filter(|a| !a.is_empty()).collect();
    Scene { width, height: top.max(40.0), title: title.into(), description: alts.join(" "), items }
}

/// Title and subtitle; returns where they end.
fn heading(items: &mut Vec<Item>, title: &str, subtitle: &str, width: f64) -> f64 {
    let room = width - 2.0 * EDGE;
    let mut top = 8.0;
    if !title.is_empty() {
        top += 18.0;
        let mut title = text([EDGE, top], font::fitted(title, TITLE, room * 0.94), TITLE, Paint::Ink, Anchor::Start);
        if let Item::Text { bold, .. } = &mut title {
            *bold = true;
        }
        items.push(title);
    }
    if !subtitle.is_empty() {
        top += 17.0;
        items.push(text([EDGE, top], font::fitted(subtitle, LABEL, room), LABEL, Paint::Muted, Anchor::Start));
    }
    if top > 8.0 { top + 7.0 } else { top }
}

/// The frame in pixels and the ranges of the axes.
struct Frame {
    size: Point,
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// A point of the data in the frame. What is infinite lies one frame beyond.
    fn place(&self, figure: &Figure, [x, y]: Point) -> Point {
        let along = |axis: &crate::Axis, value: f64, ends: (f64, f64)| {
            let place = |v| axis.scale.place(v);
            let t = (place(value) - place(ends.0)) / (place(ends.1) - place(ends.0));
            let t = if axis.reversed { 1.0 - t } else { t };
            t.clamp(-1.0, 2.0)
        };
        [along(&figure.x, x, self.x) * self.size[0], (1.0 - along(&figure.y, y, self.y)) * self.size[1]]
    }
}

/// Axes and marks below `top`.
fn plot(figure: &Figure, top: f64, items: &mut Vec<Item>) {
    let (xs, ys) = extent(figure);
    let (x, y) = (figure.x.ends(xs.into_iter()), figure.y.ends(ys.into_iter()));
    let labels_of = |ticks: &[Tick]| ticks.iter().map(|t| font::width(&t.label, TICK)).fold(0.0, f64::max);
    let y_label = if figure.y.label.is_empty() { 0.0 } else { 20.0 };
    let x_label = if figure.x.label.is_empty() { 0.0 } else { 19.0 };
    // Upright labels first; the frame is a little lower where names have to be turned.
    let mut below = 19.0 + x_label;
    let mut height = (figure.height - top - below - 8.0).max(30.0);
    let y_gap = |_: &[Tick]| 24.0;
    let y_ticks = figure.y.ticks(y, height, y_gap);
    // A wide figure has room for longer names.
    let widest = WIDEST.max(0.34 * figure.width);
    let left = 8.0 + y_label + labels_of(&y_ticks).min(widest) * 1.05 + 8.0;
    let right = EDGE.max(if figure.x.names.is_none() { 22.0 } else { 0.0 });
    let width = (figure.width - left - right).max(30.0);
    let x_ticks = figure.x.ticks(x, width, |ticks| labels_of(ticks) * 1.06 + 14.0);
    let cell = width / x_ticks.len().max(1) as f64;
    let turned = figure.x.names.is_some() && labels_of(&x_ticks) > cell - 4.0;
    if turned {
        below += labels_of(&x_ticks).min(WIDEST) * 0.72;
        height = (figure.height - top - below - 8.0).max(30.0);
    }
    let y_ticks = figure.y.ticks(y, height, y_gap);
    let frame = Frame { size: [width, height], x, y };

    let line =
        |from: Point, to: Point, paint| Item::Polyline { points: vec![from, to], stroke: Stroke::solid(paint, 1.0) };
    let crisp = |v: f64| v.floor() + 0.5;
    let (x0, y0) = (crisp(left), crisp(top + height));
    let mut grid = Vec::new();
    let mut labels = Vec::new();
    // Names that are closer than their letters are thinned out.
    let every = ((TICK + 3.0) / cell).ceil().max(1.0) as usize;
    for (i, tick) in x_ticks.iter().enumerate() {
        let at = crisp(left + frame.place(figure, [tick.value, y.0])[0]);
        if figure.x.names.is_none() {
            grid.push(line([at, top], [at, y0], Paint::Faint));
            labels.push(line([at, y0], [at, y0 + 4.0], Paint::Muted));
        }
        let mut label = text([at, y0 + 16.0], tick.label.clone(), TICK, Paint::Muted, Anchor::Middle);
        if let (true, Item::Text { at, text, anchor, angle, .. }) = (turned, &mut label) {
            (*at, *anchor, *angle) = ([at[0] + 3.0, y0 + 12.0], Anchor::End, -45.0);
            *text = font::fitted(&tick.label, TICK, WIDEST);
        }
        if !turned || i % every == 0 {
            labels.push(label);
        }
    }
    let every = ((TICK + 2.0) * y_ticks.len() as f64 / height).ceil().max(1.0) as usize;
    for (i, tick) in y_ticks.iter().enumerate() {
        let at = crisp(top + frame.place(figure, [x.0, tick.value])[1]);
        if figure.y.names.is_none() {
            grid.push(line([x0, at], [left + width, at], Paint::Faint));
            labels.push(line([x0 - 4.0, at], [x0, at], Paint::Muted));
        }
        if figure.y.names.is_none() || i % every == 0 {
            let label = font::fitted(&tick.label, TICK, widest);
            labels.push(text([x0 - 7.0, at + 0.36 * TICK], label, TICK, Paint::Muted, Anchor::End));
        }
    }
    items.extend(grid);
    let marks: Vec<Item> = figure.marks.iter().flat_map(|m| draw(figure, &frame, m)).collect();
    items.push(Item::Group { corner: [left, top], clip: Some([width, height]), title: String::new(), items: marks });
    items.push(line([x0, y0], [left + width, y0], Paint::Muted));
    items.push(line([x0, top], [x0, y0], Paint::Muted));
    items.extend(labels);
    if x_label > 0.0 {
        let label = font::fitted(&figure.x.label, LABEL, figure.width - 2.0 * EDGE);
        let middle = (left + width / 2.0).min(figure.width - EDGE - 0.5 * font::width(&label, LABEL));
        items.push(text([middle, figure.height - 9.0], label, LABEL, Paint::Ink, Anchor::Middle));
    }
    if y_label > 0.0 {
        let label = font::fitted(&figure.y.label, LABEL, figure.height - top);
        let mut label = text([19.0, top + height / 2.0], label, LABEL, Paint::Ink, Anchor::Middle);
        if let Item::Text { angle, .. } = &mut label {
            *angle = -90.0;
        }
        items.push(label);
    }
}

/// All values along each axis, by which axes without given ends are ranged.
fn extent(figure: &Figure) -> (Vec<f64>, Vec<f64>) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for mark in &figure.marks {
        match &mark.shape {
            Shape::Line(points) | Shape::Points(points) => {
                xs.extend(points.iter().map(|p| p[0]));
                ys.extend(points.iter().map(|p| p[1]));
            }
            Shape::Area(band) => {
                xs.extend(band.iter().map(|p| p[0]));
                ys.extend(band.iter().flat_map(|p| [p[1], p[2]]));
            }
            Shape::Boxes(boxes) => {
                xs.extend(boxes.iter().flat_map(|b| [b[0], b[1]]));
                ys.extend(boxes.iter().flat_map(|b| [b[2], b[3]]));
            }
            Shape::Picture { x, y, .. } => {
                xs.extend([x.0, x.1]);
                ys.extend([y.0, y.1]);
            }
            Shape::Label { at, .. } => {
                xs.push(at[0]);
                ys.push(at[1]);
            }
        }
    }
    (xs, ys)
}

/// A mark in the frame.
fn draw(figure: &Figure, frame: &Frame, mark: &Mark) -> Vec<Item> {
    let place = |p: Point| frame.place(figure, p);
    let seen = |p: &Point| !p[0].is_nan() && !p[1].is_nan();
    let fill = Fill { paint: mark.paint, opacity: mark.opacity };
    let rectangle = |[a, b, c, d]: [f64; 4]| {
        let (p, q) = (place([a, c]), place([b, d]));
        let corner = [p[0].min(q[0]), p[1].min(q[1])];
        (corner, [(p[0] - q[0]).abs(), (p[1] - q[1]).abs()])
    };
    match &mark.shape {
        Shape::Line(points) => {
            let stroke = Stroke { paint: mark.paint, width: mark.width, dash: mark.dash, opacity: mark.opacity };
            let runs =
                points.split(|p| !seen(p)).map(|run| simplify(&run.iter().map(|p| place(*p)).collect::<Vec<_>>()));
            runs.filter(|run| run.len() > 1).map(|points| Item::Polyline { points, stroke }).collect()
        }
        Shape::Points(points) => {
            let points: Vec<Point> = points.iter().filter(|p| seen(p)).map(|p| place(*p)).collect();
            vec![Item::Markers { points, marker: mark.marker, radius: mark.width + 1.0, fill }]
        }
        Shape::Area(band) => {
            let run =
                |side: usize| simplify(&band.iter().map(|b| place([b[0], b[side]])).filter(seen).collect::<Vec<_>>());
            let (low, mut high) = (run(1), run(2));
            high.reverse();
            match low.len() + high.len() > 2 {
                true => vec![Item::Polygon { points: [low, high].concat(), fill }],
                false => Vec::new(),
            }
        }
        Shape::Boxes(boxes) => boxes
            .iter()
            .filter(|b| b.iter().all(|v| !v.is_nan()))
            .map(|b| rectangle(*b))
            .filter(|(_, size)| size[0] > 0.0 && size[1] > 0.0)
            .map(|(corner, size)| Item::Rectangle { corner, size, fill: Some(fill), stroke: None })
            .collect(),
        Shape::Picture { image, x, y } => {
            let (corner, size) = rectangle([x.0, x.1, y.0, y.1]);
            match image.pixels().is_empty() || size.iter().any(|s| s.is_nan()) {
                true => Vec::new(),
                false => vec![Item::Picture { corner, size, image: image.clone() }],
            }
        }
        Shape::Label { at, text: words, anchor, size } => {
            let [x, y] = place(*at);
            match x.is_nan() || y.is_nan() {
                true => Vec::new(),
                false => vec![text([x, y + 0.36 * size], words.clone(), *size, mark.paint, *anchor)],
            }
        }
    }
}
