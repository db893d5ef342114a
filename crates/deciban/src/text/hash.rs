//! A hash of words: a folded 128-bit product per eight bytes, far quicker than SipHash on short
//! words. Models of hashed vocabularies hold its values, so it never changes.

/// 64 bits that depend on all bytes of `text`.
///
/// ```
/// use deciban::text::word_hash;
/// assert_eq!(word_hash(b"free") & 0xffff, word_hash("free".as_bytes()) & 0xffff);
/// assert_ne!(word_hash(b"free"), word_hash(b"eerf"));
/// ```
#[inline]
pub fn word_hash(text: &[u8]) -> u64 {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(SPREAD);
        (product as u64) ^ (product >> 64) as u64
    };
    let state = SPREAD ^ text.len() as u64;
    // Each arm covers all bytes; of eight and more, the last eight may overlap the ones before.
    let last = match text {
        [.., _, _, _, _, _, _, _, _] => {
            let whole = text[..text.len() - 1].chunks_exact(8);
            let state = whole.fold(state, |state, word| fold(state, eight(word)));
            return fold(fold(state, eight(&text[text.len() - 8..])), SPREAD);
        }
        [a, b, c, d, ..] => {
            let n = text.len();
            let first = u32::from_le_bytes([*a, *b, *c, *d]);
            let last = u32::from_le_bytes([text[n - 4], text[n - 3], text[n - 2], text[n - 1]]);
            u64::from(first) | u64::from(last) << 32
        }
        [a, .., z] => u64::from(*a) | u64::from(text[text.len() / 2]) << 8 | u64::from(*z) << 16,
        [a] => u64::from(*a),
        [] => 0,
    };
    fold(fold(state, last), SPREAD)
}

/// The callers give slices of eight.
#[inline]
fn eight(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        for length in 1..40 {
            let text: Vec<u8> = (0..length as u8).map(|i| b'a' + i % 26).collect();
            for i in 0..length {
                let mut other = text.clone();
                other[i] ^= 1;
                assert_ne!(word_hash(&text), word_hash(&other), "byte {i} of {length}");
            }
        }
    }

    #[test]
    fn slots_fill_evenly() {
        let mut counts = [0i32; 256];
        (0..256_000).for_each(|i| counts[(word_hash(format!("word{i}").as_bytes()) & 255) as usize] += 1);
        // Standard deviation √1000 = 32.
        assert!(counts.iter().all(|n| (n - 1000).abs() < 160), "{counts:?}");
    }

    #[test]
    fn values_stay() {
        assert_eq!([&b""[..], b"a", b"free", b"entry", b"congratulations"].map(word_hash), VALUES);
    }

    const VALUES: [u64; 5] =
        [15074728693083421371, 9426262388702263570, 16788123829111529196, 1252592444030639836, 11912310121635056009];
}
