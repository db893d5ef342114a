//! Chains in files, as bytes: most cells are small, and a number of eight bytes for each of their counts would be
//! ten times as much.
//!
//! Table after table, for each cell of the table before: how many cells refine it; for each of them its code, how many
//! classes it has, and these with their weights. A cell with the classes and weights of the one it refines says 0
//! classes. Numbers are written in groups of seven bits, the lowest first, the highest bit of a byte saying that more
//! follow (LEB128). Weights that are not integers stand apart, as they are. Arrays in files hold doubles, so that six
//! bytes go into each: integers up to 2⁴⁸ are exact.

use serde::{Deserialize, Serialize};

use super::chain::{Chain, Level};
use crate::error::Result;
use crate::file::Archive;

/// Bytes in a double.
const PACKED: usize = 6;

/// What is stored beside the bytes.
#[derive(Serialize, Deserialize)]
struct Layout {
    chains: Vec<(Vec<usize>, Vec<f64>)>,
    bytes: usize,
    /// How many weights stand apart; none if they are integers.
    apart: Option<usize>,
}

pub fn store(chains: &[Chain], archive: &mut Archive, name: &str) -> Result<()> {
    let all = || chains.iter().flat_map(|chain| &chain.levels).flat_map(|level| &level.weights);
    let integers = all().all(|w| w.fract() == 0.0 && *w < (1u64 << 53) as f64);
    let (mut bytes, mut apart) = (Vec::new(), Vec::new());
    for chain in chains {
        let mut before: Option<&Level> = None;
        for level in &chain.levels {
            for parent in 0..level.first.len() - 1 {
                let (start, end) = (level.first[parent] as usize, level.first[parent + 1] as usize);
                write(&mut bytes, (end - start) as u64);
                for cell in start..end {
                    bytes.push(level.codes[cell]);
                    if before.is_some_and(|before| before.of(parent).eq(level.of(cell))) {
                        bytes.push(0);
                        continue;
                    }
                    write(&mut bytes, level.of(cell).count() as u64);
                    for (class, weight) in level.of(cell) {
                        write(&mut bytes, class as u64);
                        match integers {
                            true => write(&mut bytes, weight as u64),
                            false => apart.push(weight),
                        }
                    }
                }
            }
            before = Some(level);
        }
    }
    let concentrations = |chain: &Chain| chain.levels.iter().map(|level| level.concentration).collect();
    let layout = Layout {
        chains: chains.iter().map(|chain| (chain.columns.clone(), concentrations(chain))).collect(),
        bytes: bytes.len(),
        apart: (!integers).then_some(apart.len()),
    };
    archive.put_json(name, &layout)?;
    let packed: Vec<f64> = bytes.chunks(PACKED).map(pack).collect();
    archive.put(&format!("{name}.bytes"), &[packed.len()], &packed)?;
    archive.put(&format!("{name}.apart"), &[apart.len()], &apart)
}

/// The chains, which fit so many columns and classes.
pub fn load(archive: &Archive, name: &str, width: usize, classes: usize) -> Result<Vec<Chain>> {
    let damaged = || archive.damaged("the tables of its columns cannot be read");
    let layout: Layout = archive.json(name)?;
    let packed = archive.finite(&format!("{name}.bytes"), &[layout.bytes.div_ceil(PACKED)])?;
    let apart = archive.finite(&format!("{name}.apart"), &[layout.apart.unwrap_or(0)])?;
    let mut bytes = Vec::with_capacity(packed.len() * PACKED);
    for &number in packed {
        bytes.extend_from_slice(&unpack(number).ok_or_else(damaged)?);
    }
    bytes.truncate(layout.bytes);
    let mut source = Source { bytes: &bytes, apart: layout.apart.is_some().then_some(apart), classes };
    let mut chains = Vec::new();
    for (columns, concentrations) in layout.chains {
        let fits = !columns.is_empty() && columns.len() == concentrations.len() && columns.iter().all(|&c| c < width);
        if !fits || concentrations.iter().any(|c| !(*c > 0.0 && c.is_finite())) {
            return Err(damaged());
        }
        let mut levels: Vec<Level> = Vec::new();
        for concentration in concentrations {
            let level = source.level(concentration, levels.last()).ok_or_else(damaged)?;
            levels.push(level);
        }
        chains.push(Chain { columns, levels });
    }
    match source.bytes.is_empty() && source.apart.is_none_or(|apart| apart.is_empty()) {
        true => Ok(chains),
        false => Err(damaged()),
    }
}

/// What is still to be read.
struct Source<'a> {
    bytes: &'a [u8],
    apart: Option<&'a [f64]>,
    classes: usize,
}

impl Source<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for place in 0..8 {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << (7 * place);
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn weight(&mut self) -> Option<f64> {
        let weight = match &mut self.apart {
            None => self.number()? as f64,
            Some(apart) => {
                let (&first, rest) = apart.split_first()?;
                *apart = rest;
                first
            }
        };
        (weight > 0.0).then_some(weight)
    }

    /// A table behind another one.
    fn level(&mut self, concentration: f64, before: Option<&Level>) -> Option<Level> {
        let mut level = Level { concentration, first: vec![0], starts: vec![0], ..Level::default() };
        for parent in 0..before.map_or(1, Level::cells) {
            let mut least = 0;
            for _ in 0..self.number()? {
                let code = self.byte()?;
                if u32::from(code) < least {
                    return None;
                }
                least = u32::from(code) + 1;
                level.codes.push(code);
                match self.number()? {
                    0 => {
                        for (class, weight) in before?.of(parent) {
                            level.classes.push(class as u32);
                            level.weights.push(weight);
                        }
                    }
                    count => {
                        let mut least = 0;
                        for _ in 0..count {
                            let class = usize::try_from(self.number()?).ok()?;
                            if class < least || class >= self.classes {
                                return None;
                            }
                            least = class + 1;
                            level.classes.push(class as u32);
                            level.weights.push(self.weight()?);
                        }
                    }
                }
                level.starts.push(u32::try_from(level.classes.len()).ok()?);
            }
            level.first.push(u32::try_from(level.codes.len()).ok()?);
        }
        Some(level)
    }
}

fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn pack(bytes: &[u8]) -> f64 {
    bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) as f64
}

fn unpack(number: f64) -> Option<[u8; PACKED]> {
    let most = (1u64 << (8 * PACKED)) as f64;
    let fits = number >= 0.0 && number < most && number.fract() == 0.0;
    let bytes = (number as u64).to_le_bytes();
    // Six of eight bytes.
    fits.then(|| std::array::from_fn(|i| bytes[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::k_dependence::chain::Root;
    use crate::learn::k_dependence::tests::table;

    fn chains(weight: f64) -> Vec<Chain> {
        let mut table = table(100, 3);
        table.weights.fill(weight);
        let root = Root { weights: table.class_weights() };
        [vec![0, 1, 2], vec![2]].map(|columns| Chain::grow(&table, &root, columns)).to_vec()
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        for weight in [1.0, 200.0, 0.3] {
            let chains = chains(weight);
            let mut archive = Archive::new("test");
            store(&chains, &mut archive, "chains").unwrap();
            assert_eq!(load(&archive, "chains", 3, 3).unwrap(), chains);
            // Columns and classes that are not there.
            assert!(load(&archive, "chains", 2, 3).is_err() && load(&archive, "chains", 3, 2).is_err());
        }
    }

    #[test]
    fn changed_bytes_are_an_error_and_no_panic() {
        let mut archive = Archive::new("test");
        store(&chains(1.0), &mut archive, "chains").unwrap();
        let (shape, values) = archive
            .arrays()
            .find(|(name, ..)| name.ends_with("bytes"))
            .map(|(_, shape, values)| (shape.to_vec(), values.to_vec()))
            .unwrap();
        let mut refused = 0;
        for place in 0..values.len() {
            let mut changed = values.clone();
            changed[place] = ((changed[place] as u64) ^ 0xff00) as f64;
            archive.put("chains.bytes", &shape, &changed).unwrap();
            refused += usize::from(load(&archive, "chains", 3, 3).is_err());
        }
        assert!(refused > values.len() / 2, "{refused} of {}", values.len());
        for value in [-1.0, 0.5, (1u64 << 48) as f64] {
            let mut changed = values.clone();
            changed[0] = value;
            archive.put("chains.bytes", &shape, &changed).unwrap();
            assert!(load(&archive, "chains", 3, 3).is_err());
        }
    }

    #[test]
    fn numbers_of_any_length() {
        for number in [0, 1, 127, 128, 300, 1 << 20, (1 << 53) - 1] {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            assert_eq!(Source { bytes: &bytes, apart: None, classes: 2 }.number(), Some(number));
        }
        assert_eq!(unpack(pack(&[1, 2, 3, 4, 5, 255])), Some([1, 2, 3, 4, 5, 255]));
    }
}
