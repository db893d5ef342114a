//! Colours, dashes and markers. Series have the colours of Okabe and Ito (2008), which people
//! with any common colour blindness can tell apart; without its yellow, which is lost on white,
//! and its black, lost on dark paper. The colours of series serve both themes.

/// Red, green and blue of the series, in order; more series begin again.
pub const PALETTE: [[u8; 3]; 7] = [
    [0x00, 0x72, 0xB2], // blue
    [0xD5, 0x5E, 0x00], // vermilion
    [0x00, 0x9E, 0x73], // bluish green
    [0xCC, 0x79, 0xA7], // reddish purple
    [0xE6, 0x9F, 0x00], // orange
    [0x56, 0xB4, 0xE9], // sky blue
    [0x80, 0x80, 0x80], // grey
];

/// What something is painted with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paint {
    /// Texts, frames and what belongs to no series.
    Ink,
    /// Labels of ticks and second lines.
    Muted,
    /// Grid lines.
    Faint,
    /// The background.
    Paper,
    /// The colour of a series.
    Series(usize),
}

/// Light or dark paper. An SVG has both; a PNG has one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on nearly black.
    Dark,
}

impl Theme {
    /// Red, green and blue.
    pub fn rgb(self, paint: Paint) -> [u8; 3] {
        match (paint, self) {
            (Paint::Ink, Theme::Light) => [0x1A, 0x1C, 0x1F],
            (Paint::Ink, Theme::Dark) => [0xEC, 0xED, 0xEE],
            (Paint::Muted, Theme::Light) => [0x5A, 0x60, 0x68],
            (Paint::Muted, Theme::Dark) => [0xA9, 0xB0, 0xB8],
            (Paint::Faint, Theme::Light) => [0xE4, 0xE6, 0xE9],
            (Paint::Faint, Theme::Dark) => [0x34, 0x38, 0x3E],
            (Paint::Paper, Theme::Light) => [0xFF, 0xFF, 0xFF],
            (Paint::Paper, Theme::Dark) => [0x16, 0x18, 0x1C],
            (Paint::Series(k), _) => PALETTE[k % PALETTE.len()],
        }
    }
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Dash {
    /// Not at all.
    #[default]
    Solid,
    /// Long strokes.
    Dashed,
    /// Dots.
    Dotted,
    /// Strokes and dots in turn.
    DashDot,
}

impl Dash {
    /// The dash of a series.
    pub fn of(series: usize) -> Dash {
        [Dash::Solid, Dash::Dashed, Dash::DashDot, Dash::Dotted][series % 4]
    }

    /// Lengths of strokes and gaps, in widths of the line.
    pub(crate) fn lengths(self) -> &'static [f64] {
        match self {
            Dash::Solid => &[],
            Dash::Dashed => &[4.0, 2.0],
            Dash::Dotted => &[1.0, 1.5],
            Dash::DashDot => &[5.0, 1.5, 1.0, 1.5],
        }
    }
}

/// The sign for a point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Nabla,
    /// An arrow head to the right.
    Right,
    /// An arrow head to the left.
    Left,
}

impl Marker {
    /// The marker of a series.
    pub fn of(series: usize) -> Marker {
        use Marker::*;
        [Circle, Square, Triangle, Diamond, Nabla][series % 5]
    }

    /// The corners around (0, 0), all markers of about the same area; none for a circle.
    pub(crate) fn corners(self, radius: f64) -> Vec<[f64; 2]> {
        let unit: &[[f64; 2]] = match self {
            Marker::Circle => &[],
            Marker::Square => &[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
            Marker::Triangle => &[[0.0, -1.3], [1.2, 0.9], [-1.2, 0.9]],
            Marker::Diamond => &[[0.0, -1.3], [1.3, 0.0], [0.0, 1.3], [-1.3, 0.0]],
            Marker::Nabla => &[[0.0, 1.3], [-1.2, -0.9], [1.2, -0.9]],
            Marker::Right => &[[0.9, 0.0], [-0.3, 1.2], [-0.3, -1.2]],
            Marker::Left => &[[-0.9, 0.0], [0.3, -1.2], [0.3, 1.2]],
        };
        unit.iter().map(|[x, y]| [x * radius, y * radius]).collect()
    }
}
