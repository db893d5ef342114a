//! Deskewing of images: a shear along the rows of pixels that puts slanted strokes upright.
//!
//! With the ink of a pixel w = p − min p, the centre of mass (x̄, ȳ) = Σ w (x, y) / Σ w and the second moments
//!
//! μ_xy = Σ w (x − x̄)(y − ȳ),  μ_yy = Σ w (y − ȳ)²,  α = μ_xy / μ_yy,
//!
//! the new image is p'(x, y) = p(x + α (y − ȳ), y), interpolated between neighbours in the row; beyond the edge
//! there is no ink. Afterwards μ_xy is about 0. Images without ink, or in a single row of pixels, stay as they are.

use serde::{Deserialize, Serialize};

use crate::data::Tile;
use crate::error::{Error, Result};

/// The shear of images of `side` × `side` pixels, given row of pixels after row of pixels.
///
/// ```
/// use deciban::transform::Deskew;
/// let deskew = Deskew::of_pixels(9)?;
/// // A stroke from the upper right to the lower left.
/// let mut image = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0];
/// deskew.image(&mut image);
/// assert_eq!(image, [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deskew {
    side: usize,
}

/// Rows of a tile that are sheared together: a line of the cache holds so many of a column.
const ROWS: usize = 8;

impl Deskew {
    /// For square images of so many pixels.
    pub fn of_pixels(pixels: usize) -> Result<Self> {
        let side = pixels.isqrt();
        match side * side == pixels && side > 1 {
            true => Ok(Deskew { side }),
            false => Err(Error::parameter(
                "deskew",
                format!("{pixels} columns are not a square image: leave columns that are not pixels out with §ignore"),
            )),
        }
    }

    /// The number of pixels.
    pub fn pixels(&self) -> usize {
        self.side * self.side
    }

    /// Shears one image of finite numbers.
    ///
    /// # Panics
    /// If it has another number of pixels.
    pub fn image(&self, image: &mut [f64]) {
        assert_eq!(image.len(), self.pixels(), "pixels");
        let mut room = vec![0.0; self.side];
        self.shear(image, &mut room);
    }

    /// Shears the images of a tile, one in each row; a missing or infinite pixel is an error that names it.
    pub fn apply(&self, tile: &mut Tile, names: &[String], row_number: impl Fn(usize) -> u64) -> Result<()> {
        Error::check_shape("pixels of an image", self.pixels(), tile.width())?;
        if let Some((i, j)) = tile.first_not_finite() {
            let (column, row) = (names[j].clone(), row_number(i) + 1);
            return Err(match tile.column(j)[i].is_nan() {
                true => Error::Missing { column, row, remedy: "§deskew needs every pixel: fill it".into() },
                false => Error::Infinite { column, row },
            });
        }
        let pixels = self.pixels();
        let mut images = vec![0.0; ROWS * pixels];
        let mut room = vec![0.0; self.side];
        for start in (0..tile.rows()).step_by(ROWS) {
            let rows = ROWS.min(tile.rows() - start);
            for j in 0..pixels {
                let column = &tile.column(j)[start..start + rows];
                column.iter().enumerate().for_each(|(i, x)| images[i * pixels + j] = *x);
            }
            images.chunks_exact_mut(pixels).take(rows).for_each(|image| self.shear(image, &mut room));
            for j in 0..pixels {
                let column = &mut tile.column_mut(j)[start..start + rows];
                column.iter_mut().enumerate().for_each(|(i, x)| *x = images[i * pixels + j]);
            }
        }
        Ok(())
    }

    fn shear(&self, image: &mut [f64], room: &mut [f64]) {
        let background = image.iter().copied().fold(f64::INFINITY, f64::min);
        let Some((alpha, y0)) = self.slant(image, background) else { return };
        let side = self.side as f64;
        for (y, line) in image.chunks_exact_mut(self.side).enumerate() {
            let shift = alpha * (y as f64 - y0);
            room.copy_from_slice(line);
            let ink = |x: f64| if (0.0..side).contains(&x) { room[x as usize] } else { background };
            let (whole, part) = (shift.floor(), shift - shift.floor());
            for (x, pixel) in line.iter_mut().enumerate() {
                let from = x as f64 + whole;
                *pixel = ink(from) * (1.0 - part) + ink(from + 1.0) * part;
            }
        }
    }

    /// α and ȳ; `None` where there is nothing to shear.
    fn slant(&self, image: &[f64], background: f64) -> Option<(f64, f64)> {
        let (mut total, mut xs, mut ys) = (0.0, 0.0, 0.0);
        for (y, line) in image.chunks_exact(self.side).enumerate() {
            let (mut own, mut own_x) = (0.0, 0.0);
            for (x, pixel) in line.iter().enumerate() {
                own += pixel - background;
                own_x += (pixel - background) * x as f64;
            }
            (total, xs, ys) = (total + own, xs + own_x, ys + own * y as f64);
        }
        let (x0, y0) = (xs / total, ys / total);
        let (mut xy, mut yy) = (0.0, 0.0);
        for (y, line) in image.chunks_exact(self.side).enumerate() {
            let dy = y as f64 - y0;
            let (mut own, mut own_x) = (0.0, 0.0);
            for (x, pixel) in line.iter().enumerate() {
                own += pixel - background;
                own_x += (pixel - background) * (x as f64 - x0);
            }
            (xy, yy) = (xy + own_x * dy, yy + own * dy * dy);
        }
        let alpha = xy / yy;
        // Ink in one row of pixels leaves only rounding in μ_yy.
        (alpha.is_finite() && yy > 1e-12 * total).then_some((alpha, y0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// μ_xy / μ_yy
    fn slant(image: &[f64], side: usize) -> f64 {
        Deskew { side }.slant(image, image.iter().copied().fold(f64::INFINITY, f64::min)).unwrap().0
    }

    /// A smooth stroke of slant `a` in 20 × 20 pixels.
    fn stroke(a: f64, offset: f64) -> Vec<f64> {
        let pixel = |i: usize| {
            let (y, x) = ((i / 20) as f64 - 9.5, (i % 20) as f64 - 9.5);
            offset + 200.0 * (-(x - a * y).powi(2) / 4.0 - y * y / 20.0).exp()
        };
        (0..400).map(pixel).collect()
    }

    #[test]
    fn a_slanted_stroke_stands_upright() {
        let deskew = Deskew::of_pixels(400).unwrap();
        for a in [0.7, -0.4] {
            let mut image = stroke(a, 0.0);
            assert!((slant(&image, 20) - a).abs() < 0.02, "{}", slant(&image, 20));
            deskew.image(&mut image);
            assert!(slant(&image, 20).abs() < 0.01, "{}", slant(&image, 20));
            // It is about the upright stroke, spread a little by the interpolation.
            let error = image.iter().zip(stroke(0.0, 0.0)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 15.0, "{error}");
        }
    }

    #[test]
    fn the_level_of_the_background_changes_nothing() {
        let deskew = Deskew::of_pixels(400).unwrap();
        let (mut a, mut b) = (stroke(0.5, 0.0), stroke(0.5, -1.0));
        deskew.image(&mut a);
        deskew.image(&mut b);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b - 1.0).abs() < 1e-9));
    }

    #[test]
    fn tiles_are_sheared_image_by_image() {
        let deskew = Deskew::of_pixels(400).unwrap();
        let mut tile = Tile::default();
        tile.resize(11, 400);
        let slant = |i: usize| i as f64 / 10.0 - 0.5;
        for i in 0..11 {
            stroke(slant(i), 0.0).iter().enumerate().for_each(|(j, p)| tile.column_mut(j)[i] = *p);
        }
        let names: Vec<String> = (0..400).map(|j| format!("p{j}")).collect();
        deskew.apply(&mut tile, &names, |i| i as u64).unwrap();
        for i in 0..11 {
            let mut image = stroke(slant(i), 0.0);
            deskew.image(&mut image);
            assert!(image.iter().enumerate().all(|(j, p)| tile.column(j)[i] == *p));
        }
        tile.column_mut(7)[3] = f64::NAN;
        let error = deskew.apply(&mut tile, &names, |i| i as u64).unwrap_err().to_string();
        assert!(error.contains("p7") && error.contains("row 4"), "{error}");
    }

    #[test]
    fn blank_images_and_single_lines_stay() {
        let deskew = Deskew::of_pixels(16).unwrap();
        let mut blank = [3.0; 16];
        deskew.image(&mut blank);
        assert_eq!(blank, [3.0; 16]);
        let mut line = [0.0; 16];
        line[4..7].copy_from_slice(&[1.0, 2.0, 5.0]);
        let before = line;
        deskew.image(&mut line);
        assert_eq!(line, before);
        assert!(Deskew::of_pixels(15).is_err());
    }
}
