//! Figures from plain arrays, written as SVG and PNG by the program itself.
//!
//! ```text
//! arrays ──chart──▶ Figure (axes and marks) ──layout──▶ Scene (primitives) ──▶ SVG, PNG
//! ```
//!
//! - A [`Figure`] has two axes and marks on them. [`Figure::grid`] sets several side by side.
//! - A [`Scene`] holds polylines, polygons, markers, rectangles, texts and groups in pixels.
//! - SVG keeps texts as texts, has alt texts, and follows the reader's light or dark scheme.
//! - PNG is drawn with a font that is part of the program; no font need be installed.
//! - The same arrays give the same bytes. Colours are those of Okabe and Ito, and every series
//!   also has a dash and a marker of its own.
//!
//! Values may be anything: infinite ones are drawn beyond the frame, a NaN breaks a line.
//!
//! ```
//! use deciban_plot::{Axis, Figure};
//! let passes = [1.0, 2.0, 3.0, 4.0, 5.0];
//! let figure = Figure::new("Newton needs few passes")
//!     .x(Axis::linear("passes over the data"))
//!     .y(Axis::log("norm of the gradient"))
//!     .line("Newton", &passes, &[1e2, 1e0, 1e-3, 1e-9, 1e-12])
//!     .line("L-BFGS", &passes, &[1e2, 4e1, 1e1, 2e0, 6e-1])
//!     .alt("The gradient of Newton's method falls to 1e-12 in five passes, that of L-BFGS to 0.6.");
//! let svg: String = figure.svg();
//! let png: Vec<u8> = figure.png(2.0); // two pixels for each unit
//! assert!(svg.starts_with("<svg") && png.starts_with(b"\x89PNG"));
//! ```

pub mod chart;

mod axis;
mod figure;
mod font;
mod layout;
mod legend;
mod paint;
mod png;
mod scale;
mod scene;
mod simplify;
mod svg;
mod raster;

pub use axis::Axis;
pub use figure::Figure;
pub use paint::{Dash, Marker, PALETTE, Paint, Theme};
pub use png::Image;
pub use scene::{Anchor, Fill, Item, Point, Scene, Stroke};
pub use svg::STYLE;
