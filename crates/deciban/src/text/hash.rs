//! Words as dictionaries compare them, and their hash: folded 128-bit products, far quicker than
//! SipHash on short words. Models of hashed vocabularies hold its values, so it never changes.

use std::hint::select_unpredictable;

/// A word with its hash, and a key that tells most words apart without a look at their letters.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    text: &'a [u8],
    key: Key,
    hash: u64,
}

/// Up to fifteen bytes of a word themselves, lowest first, and their number in the highest byte: equal
/// keys are equal words. Of longer words the hash, and the highest bit set.
pub type Key = [u64; 2];

const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
const LONG: u64 = 1 << 63;
/// The longest word whose key is the word.
const SHORT: usize = 15;

#[inline]
fn fold(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * u128::from(SPREAD);
    (product as u64) ^ (product >> 64) as u64
}

/// The callers give slices of eight.
#[inline]
fn eight(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl<'a> Word<'a> {
    /// A word on its own.
    #[inline]
    pub fn of(text: &'a [u8]) -> Self {
        match text.len() {
            0..8 => {
                let mut padded = [0; 8];
                padded[..text.len()].copy_from_slice(text);
                Word::short(text, u64::from_le_bytes(padded).into())
            }
            // The first eight and the last, which may overlap.
            length @ 8..=SHORT => {
                let last = u128::from(eight(&text[length - 8..])) << (8 * (length - 8));
                Word::short(text, last | u128::from(eight(&text[..8])))
            }
            _ => Word::long(text),
        }
    }

    /// The word `buffer[start..end]`, quicker where fifteen more bytes follow.
    #[inline(always)]
    pub fn within(buffer: &'a [u8], start: usize, end: usize) -> Self {
        let text = &buffer[start..end];
        match buffer.get(start..start + 16) {
            Some(following) if text.len() <= SHORT => {
                let bytes = following.try_into().map_or(0, u128::from_le_bytes);
                Word::short(text, bytes & !(u128::MAX << (8 * text.len())))
            }
            _ => Word::of(text),
        }
    }

    /// A word whose key and hash are known.
    #[inline]
    pub fn known(text: &'a [u8], key: Key, hash: u64) -> Self {
        Word { text, key, hash }
    }

    /// Up to fifteen bytes: what [`long`](Word::long) gives, without a branch on their number, which nobody can
    /// predict.
    #[inline(always)]
    fn short(text: &'a [u8], bytes: u128) -> Self {
        let length = (text.len() as u64) << 56;
        let first = bytes as u64;
        let last = (bytes >> (8 * text.len().saturating_sub(8))) as u64;
        let state = fold(SPREAD ^ length, first);
        let state = select_unpredictable(text.len() > 8, fold(state, last), state);
        Word { text, key: [first, (bytes >> 64) as u64 | length], hash: fold(state, SPREAD) }
    }

    /// Eight bytes at a time; the last eight may overlap those before.
    fn long(text: &'a [u8]) -> Self {
        let start = SPREAD ^ (text.len() as u64) << 56;
        let last = eight(&text[text.len() - 8..]);
        let state = text[..text.len() - 1].chunks_exact(8).fold(start, |state, word| fold(state, eight(word)));
        let hash = fold(fold(state, last), SPREAD);
        Word { text, key: [hash, LONG], hash }
    }

    /// The letters.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// What tells it apart from other words, unless it [is long](Word::is_long).
    #[inline]
    pub fn key(&self) -> Key {
        self.key
    }

    /// Whether an equal key is not enough.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.key[1] & LONG != 0
    }

    /// The bytes of a word that is not long, from its key, and how many they are.
    ///
    /// ```
    /// use deciban::text::Word;
    /// let (bytes, length) = Word::bytes_of(Word::of(b"entry").key());
    /// assert_eq!(&bytes[..length], b"entry");
    /// ```
    #[inline]
    pub fn bytes_of(key: Key) -> ([u8; 16], usize) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&key[0].to_le_bytes());
        bytes[8..].copy_from_slice(&key[1].to_le_bytes());
        (bytes, bytes[15] as usize & SHORT)
    }

    /// 64 bits that depend on all bytes.
    #[inline]
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// 64 bits that depend on all bytes of `text`.
///
/// ```
/// use deciban::text::word_hash;
/// // The slot of a word among 2¹⁶: its highest bits.
/// assert_eq!(word_hash(b"free") >> 48, 29537);
/// ```
#[inline]
pub fn word_hash(text: &[u8]) -> u64 {
    Word::of(text).hash
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
        for shift in [0, 32, 56] {
            let mut counts = [0i32; 256];
            (0..256_000).for_each(|i| counts[(word_hash(format!("w{i}").as_bytes()) >> shift & 255) as usize] += 1);
            // Standard deviation √1000 = 32.
            assert!(counts.iter().all(|n| (n - 1000).abs() < 160), "{shift}: {counts:?}");
        }
    }

    #[test]
    fn a_word_is_the_same_wherever_it_stands() {
        let buffer = b"of congratulations to you all";
        for (start, end) in (0..buffer.len()).flat_map(|start| (start..=buffer.len()).map(move |end| (start, end))) {
            let (within, alone) = (Word::within(buffer, start, end), Word::of(&buffer[start..end]));
            assert_eq!((within.key(), within.hash()), (alone.key(), alone.hash()));
            assert_eq!((within.text(), within.is_long()), (&buffer[start..end], end - start > SHORT));
            if !within.is_long() {
                let (bytes, length) = Word::bytes_of(within.key());
                assert_eq!(&bytes[..length], within.text());
            }
        }
    }

    #[test]
    fn short_cuts_give_the_same_hash() {
        let text = b"abcdefghijklmnopqrstuvwxyz";
        for length in 8..=text.len() {
            let (text, one) = (&text[..length], Word::of(&text[..length]));
            assert_eq!(one.hash(), Word::long(text).hash(), "{length}");
            assert_eq!(one.is_long(), length > SHORT);
        }
    }

    #[test]
    fn values_stay() {
        assert_eq!([&b""[..], b"a", b"free", b"entry", b"congratulations"].map(word_hash), VALUES);
    }

    const VALUES: [u64; 5] =
        [15074728693083421371, 7776369574207849640, 8313963710163134996, 7519650402839091011, 12374256388382154109];
}
