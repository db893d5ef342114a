//! [`Scene`]: what is drawn, in pixels from the top left corner, before any format.

use crate::paint::{Dash, Marker, Paint, Theme};
use crate::png::Image;

/// x to the right and y downwards.
pub type Point = [f64; 2];

/// A filled surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// The colour.
    pub paint: Paint,
    /// From 0 to 1.
    pub opacity: f64,
}

/// A drawn line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// The colour.
    pub paint: Paint,
    /// In pixels.
    pub width: f64,
    /// How it is broken.
    pub dash: Dash,
    /// From 0 to 1.
    pub opacity: f64,
}

impl Stroke {
    /// An unbroken line.
    pub fn solid(paint: Paint, width: f64) -> Self {
        Stroke { paint, width, dash: Dash::Solid, opacity: 1.0 }
    }
}

/// Where the given point is in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Item {
    Polyline {
        points: Vec<Point>,
        stroke: Stroke,
    },
    Polygon {
        points: Vec<Point>,
        fill: Fill,
    },
    Rectangle {
        corner: Point,
        size: Point,
        fill: Option<Fill>,
        stroke: Option<Stroke>,
    },
    /// The same sign at many points.
    Markers {
        points: Vec<Point>,
        marker: Marker,
        radius: f64,
        fill: Fill,
    },
    /// `at` is on the baseline; `angle` in degrees, negative is counter-clockwise.
    Text {
        at: Point,
        text: String,
        size: f64,
        paint: Paint,
        anchor: Anchor,
        bold: bool,
        angle: f64,
    },
    /// A picture stretched over a rectangle.
    Picture {
        corner: Point,
        size: Point,
        image: Image,
    },
    /// Items moved by `corner`, cut off outside of `clip`, with a text for those who cannot see them.
    Group {
        corner: Point,
        clip: Option<Point>,
        title: String,
        items: Vec<Item>,
    },
}

/// A whole drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// In pixels.
    pub width: f64,
    /// In pixels.
    pub height: f64,
    /// What it shows, in a few words.
    pub title: String,
    /// What there is to see, for those who cannot see it.
    pub description: String,
    /// Drawn in this order.
    pub items: Vec<Item>,
}

impl Scene {
    /// An SVG file.
    pub fn svg(&self) -> String {
        crate::svg::write(self, true)
    }

    /// An `<svg>` element for a page that has [`STYLE`](crate::STYLE) once.
    pub fn svg_element(&self) -> String {
        crate::svg::write(self, false)
    }

    /// A PNG file, `scale` pixels for each unit of the scene.
    pub fn png(&self, scale: f64, theme: Theme) -> Vec<u8> {
        crate::raster::draw(self, scale, theme).to_png()
    }
}
