//! CRC-64/XZ, the checksum of files: the remainder of the message by the polynomial of ECMA-182, bits
//! reflected. It finds every flip of one or two bits and every damage within 64 neighbouring bits. It
//! is no protection from people who change a file on purpose.

/// x⁶⁴ + x⁶² + … + 1 of ECMA-182, its bits reflected.
const POLYNOMIAL: u64 = 0xC96C_5795_D787_0F42;

/// Bytes that are taken at once.
const STRIDE: usize = 16;

/// `TABLES[k][b]`: the remainder of the byte b followed by k zero bytes.
static TABLES: [[u64; 256]; STRIDE] = tables();

const fn tables() -> [[u64; 256]; STRIDE] {
    let mut tables = [[0; 256]; STRIDE];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 1 == 1 { (remainder >> 1) ^ POLYNOMIAL } else { remainder >> 1 };
            bit += 1;
        }
        tables[0][byte] = remainder;
        byte += 1;
    }
    let mut k = 1;
    while k < STRIDE {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// A checksum on the way.
pub(crate) struct Crc64(u64);

impl Crc64 {
    pub fn new() -> Self {
        Crc64(!0)
    }

    /// The checksum of these bytes behind those before.
    pub fn update(&mut self, bytes: &[u8]) {
        let (strides, rest) = bytes.as_chunks::<STRIDE>();
        for stride in strides {
            let mut mixed = *stride;
            mixed.iter_mut().zip(self.0.to_le_bytes()).for_each(|(byte, old)| *byte ^= old);
            self.0 = (0..STRIDE).fold(0, |sum, i| sum ^ TABLES[STRIDE - 1 - i][mixed[i] as usize]);
        }
        for byte in rest {
            self.0 = (self.0 >> 8) ^ TABLES[0][(self.0 as u8 ^ byte) as usize];
        }
    }

    /// The checksum of all bytes so far.
    pub fn finish(&self) -> u64 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> u64 {
        let mut crc = Crc64::new();
        crc.update(bytes);
        crc.finish()
    }

    /// CRC-64/XZ in Greg Cook's catalogue of parametrised CRC algorithms (reveng.sourceforge.io); other
    /// lengths against the definition, bit by bit.
    #[test]
    fn published_values() {
        assert_eq!(of(b""), 0);
        assert_eq!(of(b"123456789"), 0x995D_C9BB_DF19_39FA);
        let by_bits = |bytes: &[u8]| {
            let step = |crc: u64| if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ *byte as u64, |crc, _| step(crc)))
        };
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [1, 15, 16, 17, 31, 32, 33, 64, 256] {
            assert_eq!(of(&bytes[..length]), by_bits(&bytes[..length]), "{length}");
        }
        assert_eq!(of(&[0; 32]), by_bits(&[0; 32]));
    }

    #[test]
    fn parts_are_as_the_whole() {
        let bytes: Vec<u8> = (0..100).map(|i| (i * 37) as u8).collect();
        let mut crc = Crc64::new();
        bytes.chunks(7).for_each(|part| crc.update(part));
        assert_eq!(crc.finish(), of(&bytes));
    }
}
