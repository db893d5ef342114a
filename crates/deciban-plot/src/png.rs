//! [`Image`]: pixels, and the PNG file of them (RFC 2083: signature, then chunks of length, type,
//! data and CRC of type and data). Rows are not filtered: drawings of flat colours pack best so.

use std::collections::{BTreeMap, HashMap};
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

    /// A PNG file: without the opacities where all are full, and as numbers of a palette where
    /// at most 256 colours paint all but a tenth of the pixels; the softened edges of letters and
    /// lines then take the nearest of them.
    pub fn to_png(&self) -> Vec<u8> {
        let opaque = self.pixels.iter().all(|p| p[3] == 255);
        let palette = self.palette();
        let mut rows = Vec::new();
        for row in self.pixels.chunks(self.width.max(1)) {
            rows.push(0); // no filter
            match &palette {
                Some(palette) => row.chunk_by(|a, b| a == b).for_each(|run| {
                    rows.extend(std::iter::repeat_n(palette.numbers[&run[0]], run.len()));
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
        if let Some(Palette { colours, .. }) = &palette {
            chunk(&mut png, b"PLTE", &colours.iter().flat_map(|p| [p[0], p[1], p[2]]).collect::<Vec<_>>());
            if !opaque {
                chunk(&mut png, b"tRNS", &colours.iter().map(|p| p[3]).collect::<Vec<_>>());
            }
        }
        chunk(&mut png, b"IDAT", &deflated(&rows));
        chunk(&mut png, b"IEND", &[]);
        png
    }

    fn palette(&self) -> Option<Palette> {
        let mut counts: BTreeMap<[u8; 4], usize> = BTreeMap::new();
        // Runs of one colour are counted at once.
        for run in self.pixels.chunk_by(|a, b| a == b) {
            *counts.entry(run[0]).or_default() += run.len();
        }
        let mut colours: Vec<[u8; 4]> = counts.keys().copied().collect();
        // A stable sort: of equally frequent colours the smaller comes first.
        colours.sort_by_key(|c| std::cmp::Reverse(counts[c]));
        let rest = colours.split_off(colours.len().min(256));
        if rest.iter().map(|c| counts[c]).sum::<usize>() * 10 > self.pixels.len() {
            return None;
        }
        let mut numbers: HashMap<[u8; 4], u8> = colours.iter().enumerate().map(|(i, c)| (*c, i as u8)).collect();
        for colour in rest {
            let distance = |c: &[u8; 4]| (0..4).map(|i| i32::from(c[i].abs_diff(colour[i])).pow(2)).sum::<i32>();
            let nearest = (0..colours.len()).min_by_key(|i| distance(&colours[*i])).unwrap_or(0);
            numbers.insert(colour, nearest as u8);
        }
        Some(Palette { colours, numbers })
    }
}

/// At most 256 colours, and the number of each colour of an image.
struct Palette {
    colours: Vec<[u8; 4]>,
    numbers: HashMap<[u8; 4], u8>,
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
