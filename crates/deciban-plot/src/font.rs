//! The font of PNG files, Noto Sans (SIL Open Font License 1.1), and how wide its texts are.
//! Widths are also those by which SVG texts are laid out, though a reader's font may differ a little.

use std::sync::LazyLock;

use ttf_parser::{Face, OutlineBuilder};

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(notosans::REGULAR_TTF, 0).ok());

/// The width of a text in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let Some(face) = &*FACE else { return 0.6 * size * text.chars().count() as f64 };
    let units: f64 = text.chars().map(|c| advance(face, c)).sum();
    units * size / f64::from(face.units_per_em())
}

/// The text, cut with an ellipsis where it is wider than `room`.
pub fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let mut short: Vec<char> = text.chars().collect();
    while short.pop().is_some() {
        let cut = format!("{}…", short.iter().collect::<String>().trim_end());
        if width(&cut, size) <= room {
            return cut;
        }
    }
    "…".to_string()
}

fn advance(face: &Face<'_>, c: char) -> f64 {
    let glyph = face.glyph_index(c).unwrap_or_default();
    f64::from(face.glyph_hor_advance(glyph).unwrap_or(600))
}

/// Draws the outlines of a text that begins at (0, 0), in pixels, y downwards.
pub fn outline(text: &str, size: f64, out: &mut impl OutlineBuilder) {
    let Some(face) = &*FACE else { return };
    let scale = size / f64::from(face.units_per_em());
    let mut x = 0.0;
    for c in text.chars() {
        let glyph = face.glyph_index(c).unwrap_or_default();
        face.outline_glyph(glyph, &mut Placed { out, scale: scale as f32, x: (x * scale) as f32 });
        x += advance(face, c);
    }
}

/// Font units, y upwards, to pixels.
struct Placed<'a, B> {
    out: &'a mut B,
    scale: f32,
    x: f32,
}

impl<B: OutlineBuilder> OutlineBuilder for Placed<'_, B> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.out.move_to(self.x + x * self.scale, -y * self.scale);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.out.line_to(self.x + x * self.scale, -y * self.scale);
    }
    fn quad_to(&mut self, a: f32, b: f32, x: f32, y: f32) {
        let s = self.scale;
        self.out.quad_to(self.x + a * s, -b * s, self.x + x * s, -y * s);
    }
    fn curve_to(&mut self, a: f32, b: f32, c: f32, d: f32, x: f32, y: f32) {
        let s = self.scale;
        self.out.curve_to(self.x + a * s, -b * s, self.x + c * s, -d * s, self.x + x * s, -y * s);
    }
    fn close(&mut self) {
        self.out.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_what_figures_say() {
        let face = FACE.as_ref().unwrap();
        for c in "0123456789 AZaz äéß αβγδεθλμπρσφχψωΣΔΩ −+×·%…".chars() {
            if face.glyph_index(c).is_none() {
                panic!("no glyph for {c}");
            }
        }
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(fitted("short", 12.0, 100.0), "short");
        let cut = fitted("a very long name of a class", 12.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 60.0 && cut.len() > 6, "{cut}");
        assert_eq!(fitted("wide", 12.0, 0.0), "…");
        // A digit of Noto Sans is 1171 of 2048 units wide.
        assert!((width("1234", 100.0) - 228.7).abs() < 0.1);
    }
}
