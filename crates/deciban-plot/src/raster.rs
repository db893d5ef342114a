//! A scene to pixels, by `tiny-skia`.

use tiny_skia::{
    Color, FillRule, FilterQuality, LineCap, LineJoin, Mask, Paint as Brush, Path, PathBuilder, Pixmap, PixmapPaint,
    PremultipliedColorU8, Rect, Stroke as Pen, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

use crate::font;
use crate::paint::{Dash, Marker, Paint, Theme};
use crate::png::Image;
use crate::scene::{Anchor, Fill, Item, Point, Scene, Stroke};

/// The longest side in pixels; a larger scale is reduced.
const LARGEST: f64 = 16_000.0;

/// The pixels of a scene on paper of a theme.
pub fn draw(scene: &Scene, scale: f64, theme: Theme) -> Image {
    let sides = scene.width.max(scene.height).max(1.0);
    let scale = if scale.is_finite() { scale.clamp(1.0 / sides, LARGEST / sides) } else { 1.0 };
    let side = |length: f64| ((length * scale).round() as u32).max(1);
    let Some(mut canvas) = Pixmap::new(side(scene.width), side(scene.height)) else {
        return Image::new(0, 0, |_, _| [0; 4]);
    };
    canvas.fill(colour(theme, Fill { paint: Paint::Paper, opacity: 1.0 }));
    let transform = Transform::from_scale(scale as f32, scale as f32);
    let mut painter = Painter { canvas, theme };
    painter.items(&scene.items, transform, None);
    let canvas = painter.canvas;
    let (pixels, width) = (canvas.pixels(), canvas.width() as usize);
    Image::new(width, canvas.height() as usize, |x, y| {
        let p = pixels[y * width + x].demultiply();
        [p.red(), p.green(), p.blue(), p.alpha()]
    })
}

struct Painter {
    canvas: Pixmap,
    theme: Theme,
}

impl Painter {
    fn items(&mut self, items: &[Item], transform: Transform, mask: Option<&Mask>) {
        for item in items {
            self.item(item, transform, mask);
        }
    }

    fn item(&mut self, item: &Item, transform: Transform, mask: Option<&Mask>) {
        match item {
            Item::Polyline { points, stroke } => self.stroke(polyline(points, false), stroke, transform, mask),
            Item::Polygon { points, fill } => self.fill(polyline(points, true), *fill, transform, mask),
            Item::Rectangle { corner: [x, y], size: [w, h], fill, stroke } => {
                let corners = [[*x, *y], [x + w, *y], [x + w, y + h], [*x, y + h]];
                if let Some(fill) = fill {
                    self.fill(polyline(&corners, true), *fill, transform, mask);
                }
                if let Some(stroke) = stroke {
                    self.stroke(polyline(&corners, true), stroke, transform, mask);
                }
            }
            Item::Markers { points, marker, radius, fill } => {
                // One by one, so that overlapping markers darken.
                points.iter().for_each(|p| self.fill(sign(*p, *marker, *radius), *fill, transform, mask));
            }
            Item::Text { at, text, size, paint, anchor, bold, angle } => {
                let width = font::width(text, *size);
                let shift = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => -0.5 * width,
                    Anchor::End => -width,
                };
                let placed = transform
                    .pre_translate(at[0] as f32, at[1] as f32)
                    .pre_concat(Transform::from_rotate(*angle as f32))
                    .pre_translate(shift as f32, 0.0);
                let mut outline = Outline(PathBuilder::new());
                font::outline(text, *size, &mut outline);
                let path = outline.0.finish();
                if *bold {
                    self.stroke(path.clone(), &Stroke::solid(*paint, 0.035 * size), placed, mask);
                }
                self.fill(path, Fill { paint: *paint, opacity: 1.0 }, placed, mask);
            }
            Item::Picture { corner, size, image } => self.picture(*corner, *size, image, transform, mask),
            Item::Group { corner, clip, items, .. } => {
                let moved = transform.pre_translate(corner[0] as f32, corner[1] as f32);
                let cut = clip.and_then(|[w, h]| {
                    let mut cut = match mask {
                        Some(outer) => outer.clone(),
                        None => {
                            let mut all = Mask::new(self.canvas.width(), self.canvas.height())?;
                            all.data_mut().fill(255);
                            all
                        }
                    };
                    let frame = polyline(&[[0.0, 0.0], [w, 0.0], [w, h], [0.0, h]], true)?;
                    cut.intersect_path(&frame, FillRule::Winding, true, moved);
                    Some(cut)
                });
                self.items(items, moved, cut.as_ref().or(mask));
            }
        }
    }

    fn fill(&mut self, path: Option<Path>, fill: Fill, transform: Transform, mask: Option<&Mask>) {
        let Some(path) = path else { return };
        self.canvas.fill_path(&path, &self.brush(fill), FillRule::Winding, transform, mask);
    }

    fn stroke(&mut self, path: Option<Path>, stroke: &Stroke, transform: Transform, mask: Option<&Mask>) {
        let Some(path) = path else { return };
        let lengths: Vec<f32> = stroke.dash.lengths().iter().map(|l| (l * stroke.width) as f32).collect();
        let pen = Pen {
            width: stroke.width as f32,
            line_join: LineJoin::Round,
            line_cap: if stroke.dash == Dash::Solid { LineCap::Round } else { LineCap::Butt },
            dash: StrokeDash::new(lengths, 0.0),
            ..Pen::default()
        };
        let brush = self.brush(Fill { paint: stroke.paint, opacity: stroke.opacity });
        self.canvas.stroke_path(&path, &brush, &pen, transform, mask);
    }

    fn picture(&mut self, corner: Point, size: Point, image: &Image, transform: Transform, mask: Option<&Mask>) {
        let Some(mut pixmap) = Pixmap::new(image.width() as u32, image.height() as u32) else { return };
        for (out, [r, g, b, a]) in pixmap.pixels_mut().iter_mut().zip(image.pixels()) {
            let with = |c: &u8| ((u16::from(*c) * u16::from(*a) + 127) / 255) as u8;
            // Multiplied values are at most the opacity.
            *out = PremultipliedColorU8::from_rgba(with(r), with(g), with(b), *a)
                .unwrap_or(PremultipliedColorU8::TRANSPARENT);
        }
        let stretch = [size[0] / image.width() as f64, size[1] / image.height() as f64];
        let placed =
            transform.pre_translate(corner[0] as f32, corner[1] as f32).pre_scale(stretch[0] as f32, stretch[1] as f32);
        let paint = PixmapPaint { quality: FilterQuality::Bilinear, ..PixmapPaint::default() };
        self.canvas.draw_pixmap(0, 0, pixmap.as_ref(), &paint, placed, mask);
    }

    fn brush(&self, fill: Fill) -> Brush<'static> {
        let mut brush = Brush::default();
        brush.set_color(colour(self.theme, fill));
        brush
    }
}

fn colour(theme: Theme, fill: Fill) -> Color {
    let [r, g, b] = theme.rgb(fill.paint);
    Color::from_rgba8(r, g, b, (fill.opacity.clamp(0.0, 1.0) * 255.0).round() as u8)
}

/// None where there is nothing to draw, as of fewer than two points.
fn polyline(points: &[Point], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (i, [x, y]) in points.iter().enumerate() {
        match i {
            0 => path.move_to(*x as f32, *y as f32),
            _ => path.line_to(*x as f32, *y as f32),
        }
    }
    if closed && points.len() > 2 {
        path.close();
    }
    path.finish()
}

fn sign([x, y]: Point, marker: Marker, radius: f64) -> Option<Path> {
    if marker == Marker::Circle {
        let r = radius as f32;
        return PathBuilder::from_oval(Rect::from_xywh(x as f32 - r, y as f32 - r, 2.0 * r, 2.0 * r)?);
    }
    let corners: Vec<Point> = marker.corners(radius).iter().map(|[dx, dy]| [x + dx, y + dy]).collect();
    polyline(&corners, true)
}

/// Glyphs into a path.
struct Outline(PathBuilder);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }
    fn quad_to(&mut self, a: f32, b: f32, x: f32, y: f32) {
        self.0.quad_to(a, b, x, y);
    }
    fn curve_to(&mut self, a: f32, b: f32, c: f32, d: f32, x: f32, y: f32) {
        self.0.cubic_to(a, b, c, d, x, y);
    }
    fn close(&mut self) {
        self.0.close();
    }
}
