//! Texts and their codes, in order of first appearance. Each block fills dictionaries of its own, in
//! parallel; afterwards, in order, only their few entries are looked up in the dictionaries of the
//! whole input. So codes do not depend on threads, and no cell is hashed under a lock.

use deciban::text::{Key, Word};

/// Code `i` stands for the `i`th text that was added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary {
    /// All texts, one after the other: one allocation instead of one per level.
    texts: Vec<u8>,
    ends: Vec<usize>,
    /// Open addressing, at most half full.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: Key,
    /// The lower half of the hash; the higher half numbers hashed words.
    hash: u32,
    /// Code + 1, or 0 where the slot is free.
    filled: u32,
}

impl Dictionary {
    /// The dictionary of these texts; of equal ones the first counts.
    pub fn of<S: AsRef<str>>(texts: &[S]) -> Self {
        let mut dictionary = Dictionary::default();
        for text in texts {
            dictionary.code(Word::of(text.as_ref().as_bytes()));
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

    /// The code of a word, if it has one.
    #[inline]
    pub fn find(&self, word: Word<'_>) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.slot(word)].filled.checked_sub(1)
    }

    /// The code of a word with this key and hash that stands where the hash points to, as most do, if it
    /// is short. `None` says nothing.
    #[inline]
    pub fn glance(&self, key: Key, hash: u64) -> Option<u32> {
        let slot = self.slots.get(hash as u32 as usize & self.slots.len().wrapping_sub(1))?;
        if slot.key == key && key[1] >> 63 == 0 { slot.filled.checked_sub(1) } else { None }
    }

    /// The code of a word, which is added if it is new.
    #[inline]
    pub fn code(&mut self, word: Word<'_>) -> u32 {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let slot = self.slot(word);
        if self.slots[slot].filled == 0 {
            self.texts.extend_from_slice(word.text());
            self.ends.push(self.texts.len());
            self.slots[slot] = Slot { key: word.key(), hash: word.hash() as u32, filled: self.ends.len() as u32 };
        }
        self.slots[slot].filled - 1
    }

    /// Where a word is or belongs; there is always a free slot, so the search ends.
    #[inline]
    fn slot(&self, word: Word<'_>) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = word.hash() as u32 as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.filled == 0 {
                return at;
            }
            if slot.key == word.key() && (!word.is_long() || self.text(slot.filled - 1) == word.text()) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = (2 * self.slots.len()).max(16) - 1;
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); mask + 1]);
        for slot in old.into_iter().filter(|slot| slot.filled > 0) {
            let mut at = slot.hash as usize & mask;
            while self.slots[at].filled > 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_in_order_of_first_appearance() {
        let mut dictionary = Dictionary::default();
        let codes: Vec<u32> =
            ["b", "a", "b", "", "a"].iter().map(|t| dictionary.code(Word::of(t.as_bytes()))).collect();
        assert_eq!(codes, [0, 1, 0, 2, 1]);
        assert_eq!(dictionary.names(), ["b", "a", ""]);
        assert_eq!(dictionary.find(Word::of(b"a")), Some(1));
        assert_eq!(dictionary.find(Word::of(b"c")), None);
    }

    #[test]
    fn many_texts_keep_their_codes() {
        let mut dictionary = Dictionary::default();
        for i in 0..50_000u32 {
            assert_eq!(dictionary.code(Word::of(format!("level {i}").as_bytes())), i);
        }
        assert!((0..50_000).all(|i| dictionary.find(Word::of(format!("level {i}").as_bytes())) == Some(i)));
    }

    #[test]
    fn texts_of_all_lengths_are_told_apart() {
        let texts: Vec<Vec<u8>> = (0..20usize)
            .flat_map(|length| (0..=length).map(move |end| [vec![b'a'; end], vec![0; length - end]].concat()))
            .collect();
        let mut dictionary = Dictionary::default();
        for _ in 0..2 {
            for (code, text) in texts.iter().enumerate() {
                assert_eq!(dictionary.code(Word::of(text)), code as u32, "{text:?}");
            }
        }
    }
}
