//! Texts and their codes, in order of first appearance. Each block fills dictionaries of its own, in
//! parallel; afterwards, in order, only their few entries are looked up in the dictionaries of the
//! whole input. So codes do not depend on threads, and no cell is hashed under a lock.

/// Code `i` stands for the `i`th text that was added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    /// All texts, one after the other: one allocation instead of one per level.
    texts: Vec<u8>,
    ends: Vec<usize>,
    /// Open addressing, at most half full: 0 is free, otherwise code + 1.
    slots: Vec<u32>,
}

impl Dictionary {
    /// The dictionary of these texts; of equal ones the first counts.
    pub fn of<S: AsRef<str>>(texts: &[S]) -> Self {
        let mut dictionary = Dictionary::default();
        for text in texts {
            dictionary.code(text.as_ref().as_bytes());
        }
        dictionary
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a code below `len`.
    pub fn text(&self, code: u32) -> &[u8] {
        let code = code as usize;
        let start = if code == 0 { 0 } else { self.ends[code - 1] };
        &self.texts[start..self.ends[code]]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).map(|code| self.text(code))
    }

    /// All texts; what is not UTF-8 was refused before it came here.
    pub fn names(&self) -> Vec<String> {
        self.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// The code of `text`, if it has one.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        match self.slots[self.slot(text)] {
            0 => None,
            filled => Some(filled - 1),
        }
    }

    /// The code of `text`, which is added if it is new.
    #[inline]
    pub fn code(&mut self, text: &[u8]) -> u32 {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let slot = self.slot(text);
        if self.slots[slot] == 0 {
            self.texts.extend_from_slice(text);
            self.ends.push(self.texts.len());
            self.slots[slot] = self.ends.len() as u32;
        }
        self.slots[slot] - 1
    }

    /// Where `text` is or belongs; there is always a free slot, so the search ends.
    #[inline]
    fn slot(&self, text: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(text) as usize & mask;
        while self.slots[slot] != 0 && self.text(self.slots[slot] - 1) != text {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![0; (2 * self.slots.len()).max(16)];
        for code in 0..self.len() as u32 {
            let slot = self.slot(self.text(code));
            self.slots[slot] = code + 1;
        }
    }
}

/// A folded 128-bit product per eight bytes: far quicker than SipHash on short cells.
#[inline]
fn hash(text: &[u8]) -> u64 {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(SPREAD);
        (product as u64) ^ (product >> 64) as u64
    };
    let mut state = SPREAD ^ text.len() as u64;
    let mut words = text.chunks_exact(8);
    for word in &mut words {
        state = fold(state, u64::from_le_bytes(word.try_into().expect("chunks of eight")));
    }
    let rest = words.remainder().iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    fold(fold(state, rest), SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_in_order_of_first_appearance() {
        let mut dictionary = Dictionary::default();
        let codes: Vec<u32> = ["b", "a", "b", "", "a"].iter().map(|t| dictionary.code(t.as_bytes())).collect();
        assert_eq!(codes, [0, 1, 0, 2, 1]);
        assert_eq!(dictionary.names(), ["b", "a", ""]);
        assert_eq!(dictionary.find(b"a"), Some(1));
        assert_eq!(dictionary.find(b"c"), None);
    }

    #[test]
    fn many_texts_keep_their_codes() {
        let mut dictionary = Dictionary::default();
        for i in 0..50_000u32 {
            assert_eq!(dictionary.code(format!("level {i}").as_bytes()), i);
        }
        assert!((0..50_000).all(|i| dictionary.find(format!("level {i}").as_bytes()) == Some(i)));
    }
}
