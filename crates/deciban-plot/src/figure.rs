//! [`Figure`]: two axes and the marks on them.

use crate::axis::Axis;
use crate::paint::{Dash, Marker, Paint, Theme};
use crate::png::Image;
use crate::scene::{Anchor, Scene};

/// A figure, built mark by mark. Marks of the same name are one series: one colour, one line of
/// the legend. A mark without a name is drawn in ink and has no line in the legend.
#[derive(Clone, Debug)]
pub struct Figure {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) alt: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) marks: Vec<Mark>,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) legend: bool,
}

/// Something drawn, with its look.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub name: String,
    pub shape: Shape,
    pub paint: Paint,
    pub dash: Dash,
    pub marker: Marker,
    pub width: f64,
    pub opacity: f64,
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Line(Vec<[f64; 2]>),
    Points(Vec<[f64; 2]>),
    /// x, low, high.
    Area(Vec<[f64; 3]>),
    /// left, right, low, high.
    Boxes(Vec<[f64; 4]>),
    Picture {
        image: Image,
        x: (f64, f64),
        y: (f64, f64),
    },
    Label {
        at: [f64; 2],
        text: String,
        anchor: Anchor,
        size: f64,
    },
}

impl Figure {
    /// A figure of 640 × 420 without marks.
    pub fn new(title: &str) -> Self {
        Figure {
            title: title.into(),
            subtitle: String::new(),
            alt: String::new(),
            x: Axis::linear(""),
            y: Axis::linear(""),
            marks: Vec::new(),
            width: 640.0,
            height: 420.0,
            legend: true,
        }
    }

    /// Another title.
    pub fn title(mut self, text: &str) -> Self {
        self.title = text.into();
        self
    }

    /// A second line below the title.
    pub fn subtitle(mut self, text: &str) -> Self {
        self.subtitle = text.into();
        self
    }

    /// One more remark in the second line.
    pub fn also(mut self, text: &str) -> Self {
        let space = if self.subtitle.is_empty() || text.is_empty() { "" } else { "; " };
        self.subtitle = format!("{}{space}{text}", self.subtitle);
        self
    }

    /// What there is to see, for those who cannot see it.
    pub fn alt(mut self, text: &str) -> Self {
        self.alt = text.into();
        self
    }

    /// The axis to the right.
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// Without the label of the axis to the right, where the title says it.
    pub fn bare_x(mut self) -> Self {
        self.x.label.clear();
        self
    }

    /// The axis upwards.
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Width and height in pixels, at least 160 × 120.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        (self.width, self.height) = (width.clamp(160.0, 8000.0), height.clamp(120.0, 8000.0));
        self
    }

    /// Whether the names of the series are shown; they are by default.
    pub fn legend(mut self, shown: bool) -> Self {
        self.legend = shown;
        self
    }

    /// A line through points in their order; a NaN interrupts it.
    pub fn line(self, name: &str, xs: &[f64], ys: &[f64]) -> Self {
        self.mark(name, Shape::Line(pairs(xs, ys)))
    }

    /// A marker at each point.
    pub fn points(self, name: &str, xs: &[f64], ys: &[f64]) -> Self {
        self.mark(name, Shape::Points(pairs(xs, ys))).opacity(0.75)
    }

    /// A band between two curves.
    pub fn area(self, name: &str, xs: &[f64], low: &[f64], high: &[f64]) -> Self {
        let band = xs.iter().zip(low).zip(high).map(|((x, a), b)| [*x, *a, *b]).collect();
        self.mark(name, Shape::Area(band)).opacity(0.2)
    }

    /// Rectangles, each from left to right and from low to high.
    pub fn boxes(self, name: &str, boxes: &[[f64; 4]]) -> Self {
        self.mark(name, Shape::Boxes(boxes.to_vec())).opacity(0.35)
    }

    /// A picture over a range of x and of y; its first row is at the top.
    pub fn picture(self, image: Image, x: (f64, f64), y: (f64, f64)) -> Self {
        self.mark("", Shape::Picture { image, x, y })
    }

    /// A text at a point.
    pub fn label(self, x: f64, y: f64, text: &str, anchor: Anchor) -> Self {
        self.mark("", Shape::Label { at: [x, y], text: text.into(), anchor, size: 11.0 })
    }

    /// A vertical line at x.
    pub fn rule_x(self, name: &str, x: f64) -> Self {
        self.line(name, &[x, x], &[f64::NEG_INFINITY, f64::INFINITY]).width(1.2).dash(Dash::Dashed)
    }

    /// A horizontal line at y.
    pub fn rule_y(self, name: &str, y: f64) -> Self {
        self.line(name, &[f64::NEG_INFINITY, f64::INFINITY], &[y, y]).width(1.2).dash(Dash::Dashed)
    }

    fn mark(mut self, name: &str, shape: Shape) -> Self {
        let series = self.series(name);
        let (paint, dash, marker) = match series {
            Some(k) => (Paint::Series(k), Dash::of(k), Marker::of(k)),
            None => (Paint::Ink, Dash::Solid, Marker::Circle),
        };
        self.marks.push(Mark { name: name.into(), shape, paint, dash, marker, width: 2.0, opacity: 1.0 });
        self
    }

    /// The number of the series of this name: that of its first mark, or the next.
    fn series(&self, name: &str) -> Option<usize> {
        if name.is_empty() {
            return None;
        }
        let mut names: Vec<&str> = Vec::new();
        for mark in &self.marks {
            if let Paint::Series(k) = mark.paint {
                if mark.name == name {
                    return Some(k);
                }
                if !mark.name.is_empty() && !names.contains(&mark.name.as_str()) {
                    names.push(&mark.name);
                }
            }
        }
        Some(names.len())
    }

    /// The last mark in the look of a series, whatever its name.
    pub fn series_of(self, k: usize) -> Self {
        self.last(|m| (m.paint, m.dash, m.marker) = (Paint::Series(k), Dash::of(k), Marker::of(k)))
    }

    /// The last mark in another colour.
    pub fn paint(self, paint: Paint) -> Self {
        self.last(|m| m.paint = paint)
    }

    /// The last mark with another dash.
    pub fn dash(self, dash: Dash) -> Self {
        self.last(|m| m.dash = dash)
    }

    /// The last mark with another marker.
    pub fn marker(self, marker: Marker) -> Self {
        self.last(|m| m.marker = marker)
    }

    /// The width of the last mark's lines, or the radius of its markers plus one.
    pub fn width(self, width: f64) -> Self {
        self.last(|m| m.width = width)
    }

    /// The opacity of the last mark, from 0 to 1.
    pub fn opacity(self, opacity: f64) -> Self {
        self.last(|m| m.opacity = opacity)
    }

    fn last(mut self, change: impl FnOnce(&mut Mark)) -> Self {
        if let Some(mark) = self.marks.last_mut() {
            change(mark);
        }
        self
    }

    /// The figure laid out.
    pub fn scene(&self) -> Scene {
        crate::layout::scene(self)
    }

    /// Figures side by side under one title, `columns` in a row. Where all have the same series,
    /// their names are shown once.
    pub fn grid(title: &str, figures: &[Figure], columns: usize) -> Scene {
        crate::layout::grid(title, figures, columns.max(1))
    }

    /// An SVG file.
    pub fn svg(&self) -> String {
        self.scene().svg()
    }

    /// A PNG file on white, `scale` pixels for each unit.
    pub fn png(&self, scale: f64) -> Vec<u8> {
        self.scene().png(scale, Theme::Light)
    }
}

fn pairs(xs: &[f64], ys: &[f64]) -> Vec<[f64; 2]> {
    xs.iter().zip(ys).map(|(x, y)| [*x, *y]).collect()
}
