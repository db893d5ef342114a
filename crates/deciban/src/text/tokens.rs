//! Walking through texts. Each text is lower-cased into a buffer that is kept from text to text, and
//! tokens are slices of it: nothing is allocated per token.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Tokeniser, Word};
use crate::error::Result;

/// A [`Tokeniser`] at work.
///
/// ```
/// use deciban::text::{Tokeniser, Tokens};
/// let mut tokens = Tokens::new(&Tokeniser { ngrams: (1, 2), ..Tokeniser::default() })?;
/// let mut found = Vec::new();
/// tokens.for_each("Free  entry", |token| found.push(token.to_string()));
/// assert_eq!(found, ["free", "free entry", "entry"]);
/// # Ok::<(), deciban::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokens {
    rules: Tokeniser,
    stop_words: Arc<HashSet<String>>,
    /// The text in lower case.
    lower: String,
    /// The words with one blank between them, and where each begins and ends.
    joined: String,
    spans: Vec<(usize, usize)>,
}

impl Tokens {
    /// Refuses a tokeniser that has no meaning.
    pub fn new(rules: &Tokeniser) -> Result<Self> {
        rules.check()?;
        let fold = |word: &String| {
            let mut folded = String::new();
            if rules.lowercase {
                lowercase(word, &mut folded)
            } else {
                folded.push_str(word)
            }
            folded
        };
        let stop_words = Arc::new(rules.stop_words.iter().map(fold).collect());
        let (lower, joined, spans) = (String::new(), String::new(), Vec::new());
        Ok(Tokens { rules: rules.clone(), stop_words, lower, joined, spans })
    }

    /// Calls `body` with each token of `text`, in the order in which they begin.
    #[inline]
    pub fn for_each(&mut self, text: &str, mut body: impl FnMut(&str)) {
        self.each(text, |buffer, start, end| body(&buffer[start..end]));
    }

    /// The same, for dictionaries.
    #[inline]
    pub fn for_each_word(&mut self, text: &str, mut body: impl FnMut(Word<'_>)) {
        self.each(text, |buffer, start, end| body(Word::within(buffer.as_bytes(), start, end)));
    }

    /// Tokens as places in a buffer, with a few bytes behind the last.
    #[inline]
    fn each(&mut self, text: &str, mut body: impl FnMut(&str, usize, usize)) {
        const BEHIND: &str = "                ";
        let Tokens { rules, stop_words, lower, joined, spans } = self;
        let is_ascii = text.is_ascii();
        lower.clear();
        match rules.lowercase {
            true if !is_ascii => lowercase(text, lower),
            lowercase => {
                lower.push_str(text);
                if lowercase {
                    lower.make_ascii_lowercase();
                }
            }
        }
        let length = lower.len();
        lower.push_str(BEHIND);
        let keeps_all = rules.min_length <= 1 && stop_words.is_empty();
        let keep =
            |word: &str| word.chars().nth(rules.min_length.saturating_sub(1)).is_some() && !stop_words.contains(word);
        if !rules.characters && rules.ngrams == (1, 1) {
            return runs(&lower[..length], is_ascii, rules.symbols, |start, end| {
                if keeps_all || keep(&lower[start..end]) {
                    body(lower, start, end);
                }
            });
        }
        joined.clear();
        spans.clear();
        if rules.characters {
            let mut add = |c: char| {
                spans.push((joined.len(), joined.len() + c.len_utf8()));
                joined.push(c);
            };
            let mut words = lower[..length].split_whitespace().peekable();
            while let Some(word) = words.next() {
                add(' ');
                word.chars().for_each(&mut add);
                if words.peek().is_none() {
                    add(' ');
                }
            }
        } else {
            runs(&lower[..length], is_ascii, rules.symbols, |start, end| {
                let word = &lower[start..end];
                if keeps_all || keep(word) {
                    if !spans.is_empty() {
                        joined.push(' ');
                    }
                    spans.push((joined.len(), joined.len() + word.len()));
                    joined.push_str(word);
                }
            });
        }
        joined.push_str(BEHIND);
        let (fewest, most) = rules.ngrams;
        for i in 0..spans.len() {
            for n in fewest..=most.min(spans.len() - i) {
                let (start, end) = (spans[i].0, spans[i + n - 1].1);
                // A blank on its own says nothing.
                if &joined[start..end] != " " {
                    body(joined, start, end);
                }
            }
        }
    }
}

/// `text` in lower case, letter by letter. The final sigma becomes a plain one, as in case folding:
/// else ΣΟΦΟΣ and σοφος were two words.
fn lowercase(text: &str, out: &mut String) {
    out.clear();
    if text.is_ascii() {
        out.push_str(text);
        out.make_ascii_lowercase();
        return;
    }
    for c in text.chars() {
        match c {
            'ς' => out.push('σ'),
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            c => out.extend(c.to_lowercase()),
        }
    }
}

/// What a character does to the run it stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Word,
    Symbol,
    /// Goes with what is before it.
    Mark,
}

fn class(c: char) -> Class {
    match c {
        // Accents in decomposed text, the marks that kill a vowel, and joiners: they are no
        // letters to Unicode, yet they do not end a word (nor an emoji).
        '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}' => Class::Mark,
        '\u{94d}' | '\u{9cd}' | '\u{a4d}' | '\u{acd}' | '\u{b4d}' | '\u{bcd}' | '\u{c4d}' | '\u{ccd}' | '\u{d4d}' => {
            Class::Mark
        }
        // The blank of no width, and the byte order mark.
        '\u{200b}' | '\u{feff}' => Class::Blank,
        c if c.is_alphanumeric() || c == '_' => Class::Word,
        c if c.is_whitespace() || c.is_control() => Class::Blank,
        _ => Class::Symbol,
    }
}

/// Where the runs of one class begin and end, but for blanks.
#[inline]
fn runs(text: &str, is_ascii: bool, symbols: bool, body: impl FnMut(usize, usize)) {
    match is_ascii {
        true => ascii_runs(text.as_bytes(), symbols, body),
        false => wide_runs(text, symbols, body),
    }
}

/// Sixty-four bytes at a time: a bit for each byte of a word and of a symbol; where a bit differs from
/// the one before, a run begins or ends. Words cost next to nothing per letter, and their lengths, which
/// nobody can predict, no branches.
#[inline]
fn ascii_runs(bytes: &[u8], symbols: bool, mut body: impl FnMut(usize, usize)) {
    let (mut start, mut open) = (0, false);
    let (mut word_before, mut symbol_before) = (0, 0);
    let mut block = [b' '; 64];
    for (i, part) in bytes.chunks(64).enumerate() {
        let block = match part.try_into() {
            Ok(part) => part,
            Err(_) => {
                block[..part.len()].copy_from_slice(part);
                block[part.len()..].fill(b' ');
                &block
            }
        };
        let (word, symbol) = classes(block);
        let symbol = if symbols { symbol } else { 0 };
        let (words, symbols) = (word << 1 | word_before, symbol << 1 | symbol_before);
        let mut starts = (word & !words) | (symbol & !symbols);
        let mut ends = (words & !word) | (symbols & !symbol);
        if open && ends != 0 {
            body(start, 64 * i + ends.trailing_zeros() as usize);
            ends &= ends - 1;
            open = false;
        }
        while ends != 0 {
            // Each run has its beginning and its end, in order.
            body(64 * i + starts.trailing_zeros() as usize, 64 * i + ends.trailing_zeros() as usize);
            starts &= starts.wrapping_sub(1);
            ends &= ends - 1;
        }
        if starts != 0 {
            (start, open) = (64 * i + starts.trailing_zeros() as usize, true);
        }
        (word_before, symbol_before) = (word >> 63, symbol >> 63);
    }
    if open {
        body(start, bytes.len());
    }
}

/// A bit for each byte of a word, and one for each of a symbol.
#[inline]
#[cfg(target_arch = "x86_64")]
fn classes(block: &[u8; 64]) -> (u64, u64) {
    use std::arch::x86_64::*;
    // ASCII is not negative, so signed comparisons do.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn within(x: __m128i, first: u8, last: u8) -> __m128i {
        let (below, above) = (_mm_set1_epi8(first as i8 - 1), _mm_set1_epi8(last as i8 + 1));
        _mm_and_si128(_mm_cmpgt_epi8(x, below), _mm_cmplt_epi8(x, above))
    }
    #[inline]
    #[target_feature(enable = "sse2")]
    fn sixteen(bytes: [u8; 16]) -> (u64, u64) {
        let x: __m128i = bytemuck::cast(bytes);
        let letter = within(_mm_or_si128(x, _mm_set1_epi8(32)), b'a', b'z');
        let rest = _mm_or_si128(within(x, b'0', b'9'), _mm_cmpeq_epi8(x, _mm_set1_epi8(b'_' as i8)));
        let word = _mm_or_si128(letter, rest);
        let symbol = _mm_andnot_si128(word, within(x, b'!', b'~'));
        (_mm_movemask_epi8(word) as u64, _mm_movemask_epi8(symbol) as u64)
    }
    let (mut words, mut symbols) = (0, 0);
    for (k, part) in block.as_chunks().0.iter().enumerate() {
        // SAFETY: every x86-64 has SSE2.
        let (word, symbol) = unsafe { sixteen(*part) };
        words |= word << (16 * k);
        symbols |= symbol << (16 * k);
    }
    (words, symbols)
}

#[inline]
#[cfg(not(target_arch = "x86_64"))]
fn classes(block: &[u8; 64]) -> (u64, u64) {
    let word = bits(block, |b| ((b | 32).wrapping_sub(b'a') < 26) | (b.wrapping_sub(b'0') < 10) | (b == b'_'));
    (word, bits(block, |b| b.wrapping_sub(b'!') < 94) & !word)
}

/// A bit for each byte.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
fn bits(block: &[u8; 64], is: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0u8; 64];
    for (flag, byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(is(*byte));
    }
    // The product's highest byte gathers the lowest bits of eight bytes.
    let gather = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    flags.as_chunks().0.iter().rev().fold(0, |mask, eight| mask << 8 | gather(eight))
}

fn wide_runs(text: &str, symbols: bool, mut body: impl FnMut(usize, usize)) {
    let (mut start, mut running) = (0, Class::Blank);
    let mut emit = |running: Class, start: usize, at: usize| {
        if running == Class::Word || (symbols && running == Class::Symbol) {
            body(start, at);
        }
    };
    for (at, c) in text.char_indices() {
        let next = match class(c) {
            Class::Mark => running,
            class => class,
        };
        if next != running {
            emit(running, start, at);
            (start, running) = (at, next);
        }
    }
    emit(running, start, text.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(rules: Tokeniser, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        rules.for_each(text, |token| found.push(token.to_string())).unwrap();
        found
    }

    fn default() -> Tokeniser {
        Tokeniser::default()
    }

    #[test]
    fn words_of_many_scripts() {
        assert_eq!(tokens(default(), "Ärger im CAFÉ, 3 Straßen"), ["ärger", "im", "café", ",", "3", "straßen"]);
        assert_eq!(tokens(default(), "Привет, МИР!"), ["привет", ",", "мир", "!"]);
        assert_eq!(tokens(default(), "Σοφός ΣΟΦΌΣ"), ["σοφόσ", "σοφόσ"]);
        assert_eq!(tokens(default(), "नमस्ते दुनिया"), ["नमस्ते", "दुनिया"]);
        assert_eq!(tokens(default(), "東京へ行く。"), ["東京へ行く", "。"]);
        assert_eq!(tokens(default(), "٣ كتب"), ["٣", "كتب"]);
        // Decomposed accents stay in their word, the Turkish capital I with a dot becomes two characters.
        assert_eq!(tokens(default(), "cafe\u{301}s İz"), ["cafe\u{301}s", "i\u{307}z"]);
        // No-break, ideographic and zero-width blanks; soft hyphens.
        assert_eq!(tokens(default(), "a\u{a0}b\u{3000}c\u{200b}d\u{feff}e so\u{ad}ft").len(), 6);
    }

    #[test]
    fn symbols_and_emoji() {
        assert_eq!(tokens(default(), "only £1.50!!! :-) x_1"), ["only", "£", "1", ".", "50", "!!!", ":-)", "x_1"]);
        assert_eq!(
            tokens(default(), "ok 👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}"),
            ["ok", "👨\u{200d}👩\u{200d}👧", "❤\u{fe0f}"]
        );
        let words = Tokeniser { symbols: false, ..default() };
        assert_eq!(tokens(words, "don't WIN £1.50!!!"), ["don", "t", "win", "1", "50"]);
        assert!(tokens(default(), " \t\r\n\0\u{7f}").is_empty());
        assert!(tokens(default(), "").is_empty());
        assert_eq!(tokens(default(), "\u{301}a"), ["a"]);
    }

    #[test]
    fn case_stop_words_and_length() {
        assert_eq!(tokens(Tokeniser { lowercase: false, ..default() }, "Free ÉLAN"), ["Free", "ÉLAN"]);
        let rules = Tokeniser { stop_words: vec!["The".into(), "É".into()], min_length: 2, ..default() };
        assert_eq!(tokens(rules.clone(), "THE éa é b cd the"), ["éa", "cd"]);
        // Left out before neighbours are joined.
        assert_eq!(tokens(Tokeniser { ngrams: (2, 2), ..rules }, "end of the ab"), ["end of", "of ab"]);
    }

    #[test]
    fn ngrams() {
        let rules = |fewest, most| Tokeniser { ngrams: (fewest, most), ..default() };
        assert_eq!(tokens(rules(1, 3), "a b c"), ["a", "a b", "a b c", "b", "b c", "c"]);
        assert_eq!(tokens(rules(2, 3), "a"), Vec::<String>::new());
        assert_eq!(tokens(rules(3, 3), "a\n b , c"), ["a b ,", "b , c"]);
        let characters = |fewest, most| Tokeniser { characters: true, ngrams: (fewest, most), ..default() };
        assert_eq!(tokens(characters(2, 2), " Ab  \n ç"), [" a", "ab", "b ", " ç", "ç "]);
        assert_eq!(tokens(characters(1, 3), "é"), [" é", " é ", "é", "é "]);
        assert!(tokens(characters(1, 8), " ").is_empty());
    }

    #[test]
    fn meaningless_ngrams_are_refused() {
        for (characters, ngrams) in [(false, (0, 1)), (false, (2, 1)), (false, (1, 4)), (true, (1, 9))] {
            let error = Tokens::new(&Tokeniser { characters, ngrams, ..default() }).unwrap_err().to_string();
            assert!(error.starts_with("ngrams: give numbers of "), "{error}");
        }
        let error = Tokens::new(&Tokeniser { characters: true, min_length: 2, ..default() }).unwrap_err().to_string();
        assert_eq!(error, "min_length: it is for words: drop it, or drop characters");
        let read: Tokeniser = serde_json::from_str(r#"{"ngrams": [1, 2]}"#).unwrap();
        assert_eq!(read, Tokeniser { ngrams: (1, 2), ..default() });
    }

    #[test]
    fn both_ways_of_finding_words_agree() {
        const LETTERS: &[u8] = b"abcXYZ019_ \t\n.,!'$~\0\x7f@[`{/:";
        let mut random = crate::numerics::Random::new(1);
        for _ in 0..3000 {
            let length = random.below(150) as usize;
            let mut byte = || LETTERS[random.below(LETTERS.len() as u64) as usize];
            let text = String::from_utf8((0..length).map(|_| byte()).collect()).unwrap();
            for symbols in [false, true] {
                let (mut one, mut other) = (Vec::new(), Vec::new());
                ascii_runs(text.as_bytes(), symbols, |start, end| one.push((start, end)));
                wide_runs(&text, symbols, |start, end| other.push((start, end)));
                assert_eq!(one, other, "{text:?}");
            }
        }
    }
}
