//! [`Image`]: pixels, and the PNG file of them (RFC 2083: signature, then chunks of length, type,
//! data and CRC of type and data). Rows are not filtered: drawings of flat colours pack best so.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Pixels of red, green, blue and opacity (not multiplied), row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

impl Image {
    /// An image of `width` × `height` pixels from a function of column and row.
    pub fn new(width: usize, height: usize, mut pixel: impl FnMut(usize, usize) -> [u8; 4]) -> Self {
        let pixels = (0..width * height).map(|i| pixel(i % width, i / width)).collect();
        Image { width, height, pixels }
    }

    /// Columns of pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows of pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All pixels.
    pub fn pixels(&self) -> &[[u8; 4]] {
        &self.pixels
    }

    /// A PNG file with the colours as they are: without the opacities where all are full, and as numbers of a
    /// palette where there are at most 256 colours. The nearest of the 256 most frequent colours would be another
    /// colour for what is small, such as the points of a legend beside a surface of many shades.
    pub fn to_png(&self) -> Vec<u8> {
        let opaque = self.pixels.iter().all(|p| p[3] == 255);
        let palette = self.palette();
        let mut rows = Vec::new();
        for row in self.pixels.chunks(self.width.max(1)) {
            rows.push(0); // no filter
            match &palette {
                Some(palette) => row.chunk_by(|a, b| a == b).for_each(|run| {
                    rows.extend(std::iter::repeat_n(palette[&run[0]], run.len()));
                }),
                None => row.iter().for_each(|p| rows.extend(&p[..if opaque { 3 } else { 4 }])),
            }
        }
        let kind = if palette.is_some() { 3 } else { 2 + 4 * u8::from(!opaque) };
        let mut header = Vec::new();
        header.extend((self.width as u32).to_be_bytes());
        header.extend((self.height as u32).to_be_bytes());
        header.extend([8, kind, 0, 0, 0]); // bits per sample, kind of colour, deflate, no filters, not interlaced
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(&mut png, b"IHDR", &header);
        if let Some(palette) = &palette {
            chunk(&mut png, b"PLTE", &palette.keys().flat_map(|p| [p[0], p[1], p[2]]).collect::<Vec<_>>());
            if !opaque {
                chunk(&mut png, b"tRNS", &palette.keys().map(|p| p[3]).collect::<Vec<_>>());
            }
        }
        chunk(&mut png, b"IDAT", &deflated(&rows));
        chunk(&mut png, b"IEND", &[]);
        png
    }

    /// The number of each colour in order, if there are at most 256.
    fn palette(&self) -> Option<BTreeMap<[u8; 4], u8>> {
        let mut colours = BTreeSet::new();
        for run in self.pixels.chunk_by(|a, b| a == b) {
            colours.insert(run[0]);
            if colours.len() > 256 {
                return None;
            }
        }
        Some(colours.into_iter().zip(0..=255).collect())
    }
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    png.extend((data.len() as u32).to_be_bytes());
    png.extend(kind);
    png.extend(data);
    png.extend(crc.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// (kind of colour, the unpacked rows), with every chunk's CRC checked.
    fn unpack(png: &[u8]) -> (u8, Vec<u8>) {
        let (mut at, mut kind, mut data) = (8, 0, Vec::new());
        while at < png.len() {
            let length = u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
            let body = &png[at + 4..at + 8 + length];
            let mut crc = Crc::new();
            crc.update(body);
            assert_eq!(crc.sum().to_be_bytes(), png[at + 8 + length..at + 12 + length]);
            match &body[..4] {
                b"IHDR" => kind = body[13],
                b"IDAT" => data.extend(&body[4..]),
                _ => {}
            }
            at += 12 + length;
        }
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(&data[..]).read_to_end(&mut rows).unwrap();
        (kind, rows)
    }

    #[test]
    fn few_colours_make_a_palette() {
        let image = Image::new(2, 2, |x, y| if x == y { [1, 2, 3, 255] } else { [0, 0, 0, 255] });
        let png = image.to_png();
        assert_eq!(&png[16..24], [0, 0, 0, 2, 0, 0, 0, 2]);
        assert_eq!(unpack(&png), (3, vec![0, 1, 0, 0, 0, 1]));
        // As many as a palette holds.
        let full = Image::new(256, 1, |x, _| [x as u8, 0, 7, 255]);
        assert_eq!(unpack(&full.to_png()), (3, (0..=256).map(|i: usize| i.saturating_sub(1) as u8).collect()));
    }

    /// Issue: a legend beside a surface of many shades had other colours than the points.
    #[test]
    fn a_rare_colour_stays_as_it_is() {
        let vermilion = [0xD5, 0x5E, 0x00, 255];
        let image = Image::new(300, 20, |x, y| match (x, y) {
            (7, 3) => vermilion,
            _ => [(x % 256) as u8, 160, (x / 256) as u8, 255],
        });
        let (kind, rows) = unpack(&image.to_png());
        assert_eq!((kind, &rows[3 * 901 + 1 + 7 * 3..][..3]), (2, &vermilion[..3]));
    }

    #[test]
    fn many_colours_are_written_out() {
        let opaque = Image::new(300, 1, |x, _| [x as u8, (x / 256) as u8, 7, 255]);
        let (kind, rows) = unpack(&opaque.to_png());
        assert_eq!((kind, rows.len(), &rows[..7]), (2, 901, &[0, 0, 0, 7, 1, 0, 7][..]));
        let clear = Image::new(300, 1, |x, _| [x as u8, (x / 256) as u8, 7, 9]);
        assert_eq!(unpack(&clear.to_png()).1.len(), 1201);
    }
}
