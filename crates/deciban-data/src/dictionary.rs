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
    keys: Vec<Key>,
    /// Open addressing, at most half full. A slot is half of a hash and the code beside it, so that most of a
    /// vocabulary's slots stay in the second-level cache; the keys of frequent words, which come early, are close
    /// together.
    slots: Vec<Slot>,
}

/// The lower half of a hash (the higher half numbers hashed words) in the high bits, and code + 1; 0 is free.
type Slot = u64;

/// Where no code is likely.
pub(crate) const UNLIKELY: u32 = u32::MAX;

/// The code of a slot that holds this hash.
#[inline]
fn code_of(slot: Slot, hash: u64) -> Option<u32> {
    if slot != 0 && slot >> 32 == hash & 0xFFFF_FFFF { Some(slot as u32 - 1) } else { None }
}

/// Asks for the memory of a value that is read soon.
#[inline]
fn prefetch<T>(value: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = value {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it is a hint to the processor, which reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
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
        if self.slots.is_empty() { None } else { self.look_for(word).ok() }
    }

    /// Where a word with this hash stands, as most do.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        hash as u32 as usize & self.slots.len().wrapping_sub(1)
    }

    /// The first of three steps to look up many words, for which the processor fetches the memory of all of them at
    /// once: asks for the slots.
    #[inline]
    pub fn fetch(&self, hash: u64) {
        prefetch(self.slots.get(self.home(hash)));
    }

    /// The second step: what is likely to be the code of a word with this hash, or [`UNLIKELY`]; asks for its key.
    #[inline]
    pub fn likely(&self, hash: u64) -> u32 {
        match self.slots.get(self.home(hash)).and_then(|slot| code_of(*slot, hash)) {
            Some(code) => {
                prefetch(self.keys.get(code as usize));
                code
            }
            None => UNLIKELY,
        }
    }

    /// The third step: whether a likely code is the code of a word with this key. `false` for long words, of which a
    /// key is not enough.
    #[inline]
    pub fn confirms(&self, likely: u32, key: Key) -> bool {
        self.keys.get(likely as usize).is_some_and(|found| *found == key) && key[1] >> 63 == 0
    }

    /// The code of a word, which is added if it is new.
    #[inline]
    pub fn code(&mut self, word: Word<'_>) -> u32 {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        match self.look_for(word) {
            Ok(code) => code,
            Err(free) => {
                self.texts.extend_from_slice(word.text());
                self.ends.push(self.texts.len());
                self.keys.push(word.key());
                self.slots[free] = word.hash() << 32 | self.ends.len() as u64;
                self.ends.len() as u32 - 1
            }
        }
    }

    /// The code of a word, or the slot where it belongs; there is always a free slot, so the search ends.
    #[inline]
    fn look_for(&self, word: Word<'_>) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(word.hash());
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if let Some(code) = code_of(slot, word.hash())
                && self.keys[code as usize] == word.key()
                && (!word.is_long() || self.text(code) == word.text())
            {
                return Ok(code);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = (2 * self.slots.len()).max(16) - 1;
        let old = std::mem::replace(&mut self.slots, vec![0; mask + 1]);
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let mut at = (slot >> 32) as usize & mask;
            while self.slots[at] != 0 {
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
