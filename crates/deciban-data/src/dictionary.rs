//! Texts and their codes, in order of first appearance. Each block fills dictionaries of its own, in
//! parallel; afterwards, in order, only their few entries are looked up in the dictionaries of the
//! whole input. So codes do not depend on threads, and no cell is hashed under a lock.

use deciban::text::word_hash;

/// Code `i` stands for the `i`th text that was added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    /// All texts, one after the other: one allocation instead of one per level.
    texts: Vec<u8>,
    ends: Vec<usize>,
    /// Half of each text's hash: a text that moves to another dictionary is not hashed again.
    tags: Vec<u32>,
    /// Open addressing, at most half full: tag and code + 1, which is 0 where the slot is free.
    slots: Vec<(u32, u32)>,
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

    /// All texts with their tags.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        self.tags.iter().zip(0..).map(|(tag, code)| (self.text(code), *tag))
    }

    /// All texts; what is not UTF-8 was refused before it came here.
    pub fn names(&self) -> Vec<String> {
        self.iter().map(|(text, _)| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// The code of `text`, if it has one.
    #[cfg(test)]
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        self.find_tagged(text, tag(text))
    }

    /// The same for a text whose tag is known.
    pub fn find_tagged(&self, text: &[u8], tag: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        match self.slots[self.slot(text, tag)].1 {
            0 => None,
            filled => Some(filled - 1),
        }
    }

    /// The code of `text`, which is added if it is new.
    #[inline]
    pub fn code(&mut self, text: &[u8]) -> u32 {
        self.code_tagged(text, tag(text))
    }

    /// The same for a text whose tag is known.
    #[inline]
    pub fn code_tagged(&mut self, text: &[u8], tag: u32) -> u32 {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let slot = self.slot(text, tag);
        if self.slots[slot].1 == 0 {
            self.texts.extend_from_slice(text);
            self.ends.push(self.texts.len());
            self.tags.push(tag);
            self.slots[slot] = (tag, self.ends.len() as u32);
        }
        self.slots[slot].1 - 1
    }

    /// Where `text` is or belongs; there is always a free slot, so the search ends.
    #[inline]
    fn slot(&self, text: &[u8], tag: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = tag as usize & mask;
        loop {
            let (other, filled) = self.slots[slot];
            if filled == 0 || (other == tag && self.text(filled - 1) == text) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = (2 * self.slots.len()).max(16) - 1;
        self.slots.clear();
        self.slots.resize(mask + 1, (0, 0));
        for (&tag, filled) in self.tags.iter().zip(1..) {
            let mut slot = tag as usize & mask;
            while self.slots[slot].1 != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = (tag, filled);
        }
    }
}

/// The higher half of a text's hash.
#[inline]
fn tag(text: &[u8]) -> u32 {
    (word_hash(text) >> 32) as u32
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
