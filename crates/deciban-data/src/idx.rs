//! The idx format of MNIST: two zero bytes, the type of the elements, the number of axes, the length
//! of each axis as a big-endian `u32`, then the elements. The first axis counts rows; the others,
//! multiplied, are the columns. Bytes stay bytes: they are widened only where they are used.

use deciban::Result;
use deciban::text::Word;

use crate::cells::{Cells, Parsed, check_number};
use crate::cut::Cutter;
use crate::layout::Layout;
use crate::number;
use crate::plan::Plan;
use crate::source::Source;
use crate::table::{Chunk, Table};

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    U8,
    I8,
    I16,
    I32,
    F32,
    F64,
}

impl Element {
    fn of(code: u8) -> Option<Element> {
        use Element::*;
        [(0x08, U8), (0x09, I8), (0x0b, I16), (0x0c, I32), (0x0d, F32), (0x0e, F64)]
            .into_iter()
            .find_map(|(known, element)| (known == code).then_some(element))
    }

    fn size(self) -> usize {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::I16 => 2,
            Element::I32 | Element::F32 => 4,
            Element::F64 => 8,
        }
    }

    /// The element in `bytes`, which are `size` long; big-endian.
    fn read(self, bytes: &[u8]) -> f64 {
        let word = bytes.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        match self {
            Element::U8 => word as f64,
            Element::I8 => f64::from(word as u8 as i8),
            Element::I16 => f64::from(word as u16 as i16),
            Element::I32 => f64::from(word as u32 as i32),
            Element::F32 => f64::from(f32::from_bits(word as u32)),
            Element::F64 => f64::from_bits(word),
        }
    }

    /// The shortest text of an element, as single precision if it is.
    fn text(self, bytes: &[u8]) -> String {
        match self {
            Element::F32 => (self.read(bytes) as f32).to_string(),
            _ => number::shortest(self.read(bytes)),
        }
    }
}

/// Some rows of an idx file.
pub(crate) struct Rows {
    pub rows: usize,
    width: usize,
    element: Element,
    bytes: Vec<u8>,
}

struct Idx {
    cutter: Cutter,
    file: String,
    names: Vec<String>,
    element: Element,
    rows: u64,
    read: u64,
}

/// A header promises no more columns than this.
const WIDEST: usize = 1 << 24;

/// Opens an idx file, whose header is checked.
pub(crate) fn open(mut cutter: Cutter, source: &Source) -> Result<Box<dyn Table>> {
    let magic = cutter.take(4)?;
    let (element, axes) = match magic[..] {
        [0, 0, code, axes @ 1..=255] => (Element::of(code), usize::from(axes)),
        _ => (None, 0),
    };
    let Some(element) = element else {
        let found = magic.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
        return Err(source.refuse(format!("this is not an idx file: it begins with {found}; give §format")));
    };
    let lengths = cutter.take(4 * axes)?;
    if lengths.len() < 4 * axes {
        return Err(source.refuse("the idx header ends too early: the file is truncated, get it again"));
    }
    let lengths: Vec<u64> =
        lengths.chunks_exact(4).map(|b| b.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))).collect();
    let width = lengths[1..].iter().try_fold(1u64, |product, length| product.checked_mul(*length));
    let width = width.filter(|width| (1..=WIDEST as u64).contains(width));
    let Some(width) = width else {
        return Err(
            source.refuse(format!("the idx header promises rows of shape {:?}: the file is damaged", &lengths[1..]))
        );
    };
    let names = (0..width).map(|i| format!("c{i}")).collect();
    Ok(Box::new(Idx { cutter, file: source.name.clone(), names, element, rows: lengths[0], read: 0 }))
}

impl Table for Idx {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, block: usize) -> Result<Option<Chunk>> {
        let (width, size) = (self.names.len(), self.element.size());
        let refuse = |message| deciban::Error::Input { file: self.file.clone(), line: None, column: None, message };
        if self.read == self.rows {
            return match self.cutter.look(1)?.is_empty() {
                true => Ok(None),
                false => Err(refuse(format!(
                    "the idx header promises {} rows, but more follow: the file is damaged",
                    self.rows
                ))),
            };
        }
        let rows = (block / (width * size)).max(1).min((self.rows - self.read).min(1 << 32) as usize);
        let bytes = self.cutter.take(rows * width * size)?;
        if bytes.len() < rows * width * size {
            let found = self.read + (bytes.len() / (width * size)) as u64;
            let message =
                format!("the idx header promises {} rows, the file ends after {found}: it is truncated", self.rows);
            return Err(refuse(message));
        }
        self.read += rows as u64;
        Ok(Some(Chunk::Idx(Rows { rows, width, element: self.element, bytes })))
    }
}

/// The wanted columns of some rows.
pub(crate) fn parse(rows: Rows, plan: &Plan, layout: &Layout) -> Parsed {
    let Rows { rows, width, element, bytes } = rows;
    let mut parsed = Parsed::new(plan, 0);
    (parsed.rows, parsed.line_count) = (rows, rows as u64);
    let size = element.size();
    let cell = |row: usize, column: usize| &bytes[(row * width + column) * size..][..size];
    let places = layout.slots.iter().enumerate().filter_map(|(column, slot)| Some((column, (*slot)?)));
    for (column, slot) in places.chain(layout.also.iter().copied()) {
        let mut wrong = None;
        match &mut parsed.cells[slot] {
            Cells::Codes { codes, levels } => {
                codes.extend((0..rows).map(|row| levels.code(Word::of(element.text(cell(row, column)).as_bytes()))));
            }
            Cells::Texts(texts) | Cells::Kept(texts) => {
                (0..rows).for_each(|row| texts.push(element.text(cell(row, column)).as_bytes()));
            }
            cells if element == Element::U8 && !plan.missing.has_bytes() => {
                *cells = Cells::Bytes { start: column, stride: width }
            }
            Cells::Numbers(numbers) => {
                numbers.extend((0..rows).map(|row| {
                    check_number(element.read(cell(row, column)), plan).unwrap_or_else(|message| {
                        wrong.get_or_insert((row, message));
                        f64::NAN
                    })
                }));
            }
            Cells::Words(_) | Cells::Bytes { .. } => {} // A slot has one column.
        }
        if let Some((row, message)) = wrong {
            parsed.blame(row as u64, Some(&plan.slots[slot].name), message);
        }
    }
    if element == Element::U8 {
        parsed.matrix = bytes;
    }
    parsed
}
