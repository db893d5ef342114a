//! Walking through texts. Each text is lower-cased into a buffer that is kept from text to text, and
//! tokens are slices of it: nothing is allocated per token.

use std::collections::HashSet;
use std::sync::Arc;

use super::Tokeniser;
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
        let Tokens { rules, stop_words, lower, joined, spans } = self;
        let text = match rules.lowercase {
            true => {
                lowercase(text, lower);
                lower.as_str()
            }
            false => text,
        };
        let keep = |word: &str| {
            (rules.min_length <= 1 || word.chars().nth(rules.min_length - 1).is_some())
                && (stop_words.is_empty() || !stop_words.contains(word))
        };
        if !rules.characters && rules.ngrams == (1, 1) {
            return words(text, rules.symbols, |word| {
                if keep(word) {
                    body(word);
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
            for word in text.split_whitespace() {
                add(' ');
                word.chars().for_each(&mut add);
            }
            if !spans.is_empty() {
                spans.push((joined.len(), joined.len() + 1));
                joined.push(' ');
            }
        } else {
            words(text, rules.symbols, |word| {
                if keep(word) {
                    if !spans.is_empty() {
                        joined.push(' ');
                    }
                    spans.push((joined.len(), joined.len() + word.len()));
                    joined.push_str(word);
                }
            });
        }
        let (fewest, most) = rules.ngrams;
        for i in 0..spans.len() {
            for n in fewest..=most.min(spans.len() - i) {
                let token = &joined[spans[i].0..spans[i + n - 1].1];
                // A blank on its own says nothing.
                if token != " " {
                    body(token);
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
    /// Not ASCII: look at the whole character.
    Wide,
}

/// The classes of bytes.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Wide; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' => Class::Word,
            b'!'..=b'~' => Class::Symbol,
            _ => Class::Blank,
        };
        byte += 1;
    }
    classes
};

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
        c if c.is_alphanumeric() => Class::Word,
        c if c.is_whitespace() || c.is_control() => Class::Blank,
        _ => Class::Symbol,
    }
}

/// The runs of one class, but for blanks.
#[inline]
fn words(text: &str, symbols: bool, mut body: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let (mut start, mut at, mut running) = (0, 0, Class::Blank);
    let mut emit = |running: Class, start: usize, at: usize| {
        if running == Class::Word || (symbols && running == Class::Symbol) {
            body(&text[start..at]);
        }
    };
    while let Some(&byte) = bytes.get(at) {
        let (mut next, mut length) = (CLASSES[byte as usize], 1);
        if next == Class::Wide {
            // `at` moves by whole characters.
            let c = text[at..].chars().next().unwrap_or(' ');
            (next, length) = (class(c), c.len_utf8());
            if next == Class::Mark {
                next = running;
            }
        }
        if next != running {
            emit(running, start, at);
            (start, running) = (at, next);
        }
        at += length;
    }
    emit(running, start, at);
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
            assert!(error.starts_with("--ngrams: give numbers of "), "{error}");
        }
        let read: Tokeniser = serde_json::from_str(r#"{"ngrams": [1, 2]}"#).unwrap();
        assert_eq!(read, Tokeniser { ngrams: (1, 2), ..default() });
    }
}
