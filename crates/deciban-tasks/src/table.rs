//! Aligned tables for people: the first column to the left, numbers to the right.

use std::fmt::Write;

use deciban::shown;

/// Rows of cells, the first of which may be a header.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a header.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        let mut table = Table::default();
        table.row(header);
        table
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| shown(&cell.into()).into_owned()).collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |j: usize| self.rows.iter().filter_map(|row| row.get(j)).map(|c| c.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (j, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[j] - cell.chars().count());
                match j {
                    0 => write!(line, "{cell}{pad}")?,
                    _ => write!(line, "  {pad}{cell}")?,
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A number with about `digits` significant digits, plain where that is readable. Whole numbers
/// stay whole.
pub fn number(x: f64, digits: usize) -> String {
    if !x.is_finite() || (x.fract() == 0.0 && x.abs() < 1e9) {
        return format!("{x}");
    }
    let magnitude = x.abs().log10().floor() as i32;
    if !(-4..9).contains(&magnitude) {
        return format!("{x:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i32 - 1 - magnitude).clamp(0, 12) as usize;
    format!("{x:.decimals$}")
}

/// A number of rows: whole, or with up to four decimals where rows are weighted.
pub fn count(x: f64) -> String {
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A share as per cent with two decimals, halves up.
pub fn percent(x: f64) -> String {
    format!("{:.2} %", (x * 1e4).round() / 1e2)
}

/// A number for programs to read back: the shortest that gives the same double.
pub fn exact(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        1e-4..1e16 => format!("{x}"),
        _ => format!("{x:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["class", "rows"]);
        table.row(["Barolo", "59"]);
        table.row(["é", "123"]);
        assert_eq!(table.to_string(), "class   rows\nBarolo    59\né        123\n");
        let mut table = Table::new(["class", "rows"]);
        table.row(["a\nb\u{1b}[2J\u{202e}", "1"]);
        assert_eq!(table.to_string().lines().nth(1), Some("a\\nb\\u001b[2J\\u202e     1"));
    }

    #[test]
    fn numbers_keep_their_significant_digits() {
        let shown = [0.0, 1234.5678, -0.0012345, 1e-9, 123456789.0, 5e12].map(|x| number(x, 4));
        assert_eq!((number(59.0, 3), count(59.0), count(1.16)), ("59".into(), "59".into(), "1.16".into()));
        assert_eq!((percent(0.11345), exact(1e-20), exact(0.25)), ("11.35 %".into(), "1e-20".into(), "0.25".into()));
        assert_eq!(shown, ["0", "1235", "-0.001234", "1.000e-9", "123456789", "5.000e12"]);
    }
}
