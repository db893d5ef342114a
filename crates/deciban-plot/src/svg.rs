//! A scene as SVG: texts stay texts, groups have titles, and colours are classes that follow the
//! reader's light or dark scheme. Clipping is by nested `<svg>` elements, which need no ids, so
//! many drawings can stand on one page.

use std::fmt::Write;

use crate::paint::{Dash, Marker, PALETTE, Paint};
use crate::scene::{Anchor, Fill, Item, Point, Scene, Stroke};

/// The rules that every `<svg>` element needs; a file has them inside.
pub const STYLE: &str = "\
.deciban{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",Arial,sans-serif}\
.deciban text{stroke:none}.deciban .b{font-weight:600}.deciban .l{fill:none;stroke-linejoin:round}\
.f-ink{fill:#1A1C1F}.l-ink{stroke:#1A1C1F}.f-muted{fill:#5A6068}.l-muted{stroke:#5A6068}\
.f-faint{fill:#E4E6E9}.l-faint{stroke:#E4E6E9}.f-paper{fill:#FFFFFF}.l-paper{stroke:#FFFFFF}\
.f0{fill:#0072B2}.l0{stroke:#0072B2}.f1{fill:#D55E00}.l1{stroke:#D55E00}.f2{fill:#009E73}.l2{stroke:#009E73}\
.f3{fill:#CC79A7}.l3{stroke:#CC79A7}.f4{fill:#E69F00}.l4{stroke:#E69F00}.f5{fill:#56B4E9}.l5{stroke:#56B4E9}\
.f6{fill:#808080}.l6{stroke:#808080}\
@media (prefers-color-scheme:dark){\
.f-ink{fill:#ECEDEE}.l-ink{stroke:#ECEDEE}.f-muted{fill:#A9B0B8}.l-muted{stroke:#A9B0B8}\
.f-faint{fill:#34383E}.l-faint{stroke:#34383E}.f-paper{fill:#16181C}.l-paper{stroke:#16181C}}";

/// The file (`whole`), or the element without the style.
pub fn write(scene: &Scene, whole: bool) -> String {
    let (w, h) = (Number(scene.width), Number(scene.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"deciban\" role=\"img\" \
         viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\">\n"
    );
    let _ = writeln!(out, "<title>{}</title>", Escaped(&scene.title));
    if !scene.description.is_empty() {
        let _ = writeln!(out, "<desc>{}</desc>", Escaped(&scene.description));
    }
    if whole {
        let _ = writeln!(out, "<style>{STYLE}</style>");
    }
    let _ = writeln!(out, "<rect width=\"{w}\" height=\"{h}\" class=\"f-paper\"/>");
    items(&mut out, &scene.items);
    out += "</svg>\n";
    out
}

fn items(out: &mut String, items: &[Item]) {
    items.iter().for_each(|i| item(out, i));
}

/// Writing to a string does not fail, so results of `write!` are dropped here.
fn item(out: &mut String, item: &Item) {
    match item {
        Item::Polyline { points, stroke } => {
            let _ = writeln!(out, "<path d=\"{}\"{}/>", path(points), line(stroke, true));
        }
        Item::Polygon { points, fill } => {
            let _ = writeln!(out, "<path d=\"{}z\"{}/>", path(points), filled(fill, ""));
        }
        Item::Rectangle { corner: [x, y], size: [w, h], fill, stroke } => {
            let place = format!(
                "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
                Number(*x),
                Number(*y),
                Number(w.max(0.0)),
                Number(h.max(0.0))
            );
            let look = match (fill, stroke) {
                (Some(fill), Some(stroke)) => {
                    filled(fill, &class("l", stroke.paint)) + &format!(" stroke-width=\"{}\"", Number(stroke.width))
                }
                (Some(fill), None) => filled(fill, ""),
                (None, Some(stroke)) => line(stroke, false),
                (None, None) => return,
            };
            let _ = writeln!(out, "<rect {place}{look}/>");
        }
        Item::Markers { points, marker, radius, fill } => markers(out, points, *marker, *radius, fill),
        Item::Text { at: [x, y], text, size, paint, anchor, bold, angle } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let place = match angle {
                0.0 => format!("x=\"{}\" y=\"{}\"", Number(*x), Number(*y)),
                _ => format!("transform=\"translate({} {}) rotate({})\"", Number(*x), Number(*y), Number(*angle)),
            };
            let look = class("f", *paint) + if *bold { " b" } else { "" };
            let _ = writeln!(
                out,
                "<text {place} font-size=\"{}\"{anchor} class=\"{look}\">{}</text>",
                Number(*size),
                Escaped(text)
            );
        }
        Item::Picture { corner: [x, y], size: [w, h], image } => {
            let _ = writeln!(
                out,
                "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
                 href=\"data:image/png;base64,{}\"/>",
                Number(*x),
                Number(*y),
                Number(*w),
                Number(*h),
                base64(&image.to_png())
            );
        }
        Item::Group { corner: [x, y], clip, title, items: inner } => {
            let close = match clip {
                Some([w, h]) => {
                    let (x, y, w, h) = (Number(*x), Number(*y), Number(*w), Number(*h));
                    let _ = writeln!(out, "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\">");
                    "</svg>"
                }
                None if [*x, *y] == [0.0, 0.0] => {
                    *out += "<g>\n";
                    "</g>"
                }
                None => {
                    let _ = writeln!(out, "<g transform=\"translate({} {})\">", Number(*x), Number(*y));
                    "</g>"
                }
            };
            if !title.is_empty() {
                let _ = writeln!(out, "<title>{}</title>", Escaped(title));
            }
            items(out, inner);
            let _ = writeln!(out, "{close}");
        }
    }
}

/// All signs in one path; circles are strokes without length and with round ends.
fn markers(out: &mut String, points: &[Point], marker: Marker, radius: f64, fill: &Fill) {
    let corners = marker.corners(radius);
    let mut d = String::new();
    for [x, y] in points {
        match corners.split_first() {
            None => {
                let _ = write!(d, "M{} {}h0", Number(*x), Number(*y));
            }
            Some((first, rest)) => {
                let _ = write!(d, "M{} {}", Number(x + first[0]), Number(y + first[1]));
                let mut from = first;
                for to in rest {
                    let _ = write!(d, "l{} {}", Number(to[0] - from[0]), Number(to[1] - from[1]));
                    from = to;
                }
                d.push('z');
            }
        }
    }
    if points.is_empty() {
        return;
    }
    let _ = match corners.is_empty() {
        true => writeln!(
            out,
            "<path d=\"{d}\" stroke-width=\"{}\" stroke-linecap=\"round\"{} class=\"l {}\"/>",
            Number(2.0 * radius),
            opacity("stroke-opacity", fill.opacity),
            class("l", fill.paint)
        ),
        false => writeln!(out, "<path d=\"{d}\"{}/>", filled(fill, "")),
    };
}

/// Absolute start, then relative steps of tenths of a pixel, whose rounding does not add up.
fn path(points: &[Point]) -> String {
    let tenths = |x: f64| (x * 10.0).round() as i64;
    let mut d = String::new();
    let mut from = [0, 0];
    for (i, [x, y]) in points.iter().enumerate() {
        let to = [tenths(*x), tenths(*y)];
        let step = [to[0] - from[0], to[1] - from[1]];
        let _ = match (i, step) {
            (0, _) => write!(d, "M{} {}", Tenths(to[0]), Tenths(to[1])),
            (_, [dx, 0]) => write!(d, "h{}", Tenths(dx)),
            (_, [0, dy]) => write!(d, "v{}", Tenths(dy)),
            (_, [dx, dy]) => write!(d, "l{} {}", Tenths(dx), Tenths(dy)),
        };
        from = to;
    }
    d
}

fn class(prefix: &str, paint: Paint) -> String {
    match paint {
        Paint::Ink => format!("{prefix}-ink"),
        Paint::Muted => format!("{prefix}-muted"),
        Paint::Faint => format!("{prefix}-faint"),
        Paint::Paper => format!("{prefix}-paper"),
        Paint::Series(k) => format!("{prefix}{}", k % PALETTE.len()),
    }
}

fn opacity(name: &str, value: f64) -> String {
    if value < 1.0 { format!(" {name}=\"{}\"", (value.max(0.0) * 100.0).round() / 100.0) } else { String::new() }
}

fn filled(fill: &Fill, more: &str) -> String {
    let space = if more.is_empty() { "" } else { " " };
    format!("{} class=\"{}{space}{more}\"", opacity("fill-opacity", fill.opacity), class("f", fill.paint))
}

fn line(stroke: &Stroke, caps: bool) -> String {
    let mut look = format!(" stroke-width=\"{}\"", Number(stroke.width));
    if stroke.dash != Dash::Solid {
        let lengths = stroke.dash.lengths().iter().map(|l| Number(l * stroke.width).to_string());
        let _ = write!(look, " stroke-dasharray=\"{}\"", lengths.collect::<Vec<_>>().join(" "));
    } else if caps {
        look += " stroke-linecap=\"round\"";
    }
    look + &opacity("stroke-opacity", stroke.opacity) + &format!(" class=\"l {}\"", class("l", stroke.paint))
}

/// A length in pixels to a tenth.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Layout gives finite numbers; `as` makes anything else a number too.
        Tenths((self.0 * 10.0).round() as i64).fmt(f)
    }
}

struct Tenths(i64);

impl std::fmt::Display for Tenths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, size) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        match (size / 10, size % 10) {
            (whole, 0) => write!(f, "{sign}{whole}"),
            (0, tenth) => write!(f, "{sign}.{tenth}"),
            (whole, tenth) => write!(f, "{sign}{whole}.{tenth}"),
        }
    }
}

/// Text inside of XML; control characters, which XML does not allow, become spaces.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_str(" ")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * i)) as usize & 63]);
            text.push(if i <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Theme;

    #[test]
    fn base64_of_the_rfc() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn paths_are_short_and_exact() {
        assert_eq!(path(&[[10.0, 20.04], [10.5, 20.0], [10.5, 21.26], [9.0, 20.0]]), "M10 20h.5v1.3l-1.5 -1.3");
        // Thirds: the end is where it should be.
        let thirds: Vec<Point> = (0..=300).map(|i| [f64::from(i) / 3.0, 0.0]).collect();
        let sum: f64 = path(&thirds).split('h').skip(1).map(|s| s.parse::<f64>().unwrap()).sum();
        assert!((sum - 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_style_has_the_colours_of_both_themes() {
        let (light, dark) = STYLE.split_once("@media").unwrap();
        for (text, theme) in [(light, Theme::Light), (dark, Theme::Dark)] {
            let mut paints = vec![Paint::Ink, Paint::Muted, Paint::Faint, Paint::Paper];
            if theme == Theme::Light {
                paints.extend((0..PALETTE.len()).map(Paint::Series));
            }
            for paint in paints {
                let [r, g, b] = theme.rgb(paint);
                for (prefix, property) in [("f", "fill"), ("l", "stroke")] {
                    let rule = format!(".{}{{{property}:#{r:02X}{g:02X}{b:02X}}}", class(prefix, paint));
                    assert!(text.contains(&rule), "{rule}");
                }
            }
        }
    }
}
