//! What the words of texts are.

use std::path::PathBuf;

use clap::Args;
use deciban::text::Tokeniser;
use deciban::{Error, Result};
use deciban_data::Vocabulary;

/// What the words of texts are.
#[derive(Args)]
#[command(next_help_heading = "Texts")]
pub struct TextArgs {
    /// Tokens of N to M words (up to 3) or characters (up to 8)
    #[arg(long, value_name = "N..M", value_parser = ngrams, default_value = "1..1")]
    ngrams: (usize, usize),
    /// Tokens of characters instead of words
    #[arg(long)]
    characters: bool,
    /// Keep upper case
    #[arg(long)]
    case: bool,
    /// Leave punctuation and other symbols out
    #[arg(long)]
    no_symbols: bool,
    /// Leave the words of this file out, one a line
    #[arg(long, value_name = "FILE")]
    stop_words: Option<PathBuf>,
    /// Leave out words and symbols of fewer characters than this
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_length: usize,
    /// Number words by hashes of B bits: for streams that never end
    #[arg(long, value_name = "B")]
    hashed_bits: Option<u32>,
    /// More different words than this are an error
    #[arg(long, value_name = "N")]
    most_words: Option<usize>,
}

fn ngrams(text: &str) -> Result<(usize, usize), String> {
    let number = |part: &str| part.trim().parse::<usize>().map_err(|_| "give a range such as 1..2".to_string());
    match text.split_once("..") {
        Some((from, to)) => Ok((number(from)?, number(to)?)),
        None => number(text).map(|n| (n, n)),
    }
}

impl TextArgs {
    pub fn tokeniser(&self) -> Result<Tokeniser> {
        let stop_words = match &self.stop_words {
            None => Vec::new(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
                text.lines().map(str::trim).filter(|word| !word.is_empty()).map(str::to_string).collect()
            }
        };
        let tokeniser = Tokeniser {
            characters: self.characters,
            lowercase: !self.case,
            ngrams: self.ngrams,
            symbols: !self.no_symbols,
            stop_words,
            min_length: self.min_length,
        };
        tokeniser.check()?;
        Ok(tokeniser)
    }

    pub fn vocabulary(&self) -> Vocabulary {
        let default = Vocabulary::default();
        Vocabulary { hashed_bits: self.hashed_bits, most_words: self.most_words.unwrap_or(default.most_words) }
    }
}
