//! What the caller says about the input: its format, its columns and which of them is the target.

use std::str::FromStr;

use deciban::data::{Kind, Spelling};
use deciban::text::Tokeniser;
use deciban::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::cells::Missing;
use crate::number::Notation;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Separated by commas, or by the separator that is given or found.
    Csv,
    /// Separated by tabs.
    Tsv,
    /// Separated by runs of blanks, as `numpy.loadtxt` reads it: `#` begins a comment, no quotes.
    Text,
    /// JSON objects, whose keys are the columns: one per line, or a list of them.
    Json,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream; also Feather 2.
    Arrow,
    /// The format of MNIST: big-endian arrays. The first axis counts rows, the others are columns.
    Idx,
}

impl FromStr for Format {
    type Err = Error;

    /// ```
    /// assert_eq!("jsonl".parse::<deciban_data::Format>()?, deciban_data::Format::Json);
    /// # Ok::<(), deciban::Error>(())
    /// ```
    fn from_str(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "csv" => Ok(Format::Csv),
            "tsv" => Ok(Format::Tsv),
            "text" => Ok(Format::Text),
            "json" | "jsonl" | "ndjson" => Ok(Format::Json),
            "parquet" => Ok(Format::Parquet),
            "arrow" => Ok(Format::Arrow),
            "idx" => Ok(Format::Idx),
            _ => Err(Error::parameter(
                "format",
                format!("there is no format `{name}`: give csv, tsv, text, json, parquet, arrow or idx"),
            )),
        }
    }
}

/// Where the rows' classes stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Target {
    /// The rows have no labels.
    #[default]
    None,
    /// In a column of the data.
    Column(String),
    /// In the first column of another file of any format, one row per row of the data.
    Labels(String),
    /// In several columns of the data, one per class: the class's column is 1, the others are 0.
    OneHot(Vec<String>),
}

/// How the words of texts are numbered.
///
/// Words get their numbers in order of first appearance. A stream that never ends has ever new ones:
/// there a hashed vocabulary keeps memory fixed, at the price that some words share a number and none
/// can be named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vocabulary {
    /// 2^b numbers, from the words' hashes; 1 to 28 bits.
    pub hashed_bits: Option<u32>,
    /// More different words than this in a column are an error; at most 2^28.
    pub most_words: usize,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Vocabulary { hashed_bits: None, most_words: 1 << 24 }
    }
}

impl Vocabulary {
    pub(crate) fn check(&self) -> Result<()> {
        match self.hashed_bits {
            Some(bits) if !(1..=28).contains(&bits) => {
                Err(Error::parameter("hashed_bits", "give a number of bits from 1 to 28"))
            }
            _ if self.most_words > 1 << 28 => {
                Err(Error::parameter("most_words", format!("give a number up to {}", 1 << 28)))
            }
            _ => Ok(()),
        }
    }
}

/// How to read the input. The default is a CSV file with a header and without a target.
///
/// ```
/// use deciban_data::{Options, Target};
/// let options = Options { target: Target::Column("species".into()), ..Options::default() };
/// assert!(options.header);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The format; by default found by extension and content.
    pub format: Option<Format>,
    /// What separates fields of CSV; by default found from the first lines.
    pub separator: Option<char>,
    /// Whether the first line of delimited text names the columns; otherwise they are `c0`, `c1`, ...
    pub header: bool,
    /// Lines that begin with it are skipped. In whitespace-separated text it is `#` by default.
    pub comment: Option<char>,
    /// Whether fields of delimited text may be quoted. Otherwise quotes are plain characters.
    pub quotes: bool,
    /// Texts that stand for a missing cell; by default those of the model, or else the usual ones
    /// ([`Spelling::MISSING`](deciban::data::Spelling::MISSING)).
    pub missing: Option<Vec<String>>,
    /// What separates the whole part of a number from its fraction; by default that of the model, or a point.
    pub decimal: Option<char>,
    /// What groups the digits of large numbers; by default that of the model, or nothing.
    pub thousands: Option<char>,
    /// Kinds that the caller knows better than the sample.
    pub kinds: Vec<(String, Kind)>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Features to keep, in this order; all by default.
    pub columns: Option<Vec<String>>,
    /// Where the classes stand.
    pub target: Target,
    /// Makes two classes of many: `not X` and `X`.
    pub versus_rest: Option<String>,
    /// A column of row weights.
    pub weight: Option<String>,
    /// A column of folds or groups: batches carry its codes, by first appearance.
    pub fold: Option<String>,
    /// Columns whose cells are handed through as they are written ([`Part::kept`](crate::Part::kept)); they may be
    /// features, too.
    pub keep: Vec<String>,
    /// Whether the file of each row is wanted where rows are files: in folders of texts.
    pub keep_file: bool,
    /// Whether rows of classes that a model does not know are read, as rows without a label, and counted
    /// ([`Files::unknown_classes`](crate::Files::unknown_classes)); otherwise they are errors.
    pub unknown_classes: bool,
    /// Whether rows that name their columns may name some that a model does not have.
    pub allow_unknown: bool,
    /// Whether a table may lack columns of a model: their cells are then missing. Such a table may have no other
    /// columns than those of the model, since one of them may be a misspelled one.
    pub allow_absent: bool,
    /// Whether a row may lack its class.
    pub unlabelled: bool,
    /// Files behind the others whose rows have no class: their target, if they have that column, is not read.
    pub unlabelled_files: Vec<String>,
    /// Each file is one text, the only cell of a row, in a column of this name.
    pub documents: Option<String>,
    /// What the words of texts are.
    pub tokeniser: Tokeniser,
    /// How they are numbered.
    pub vocabulary: Vocabulary,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: None,
            separator: None,
            header: true,
            comment: None,
            quotes: true,
            missing: None,
            decimal: None,
            thousands: None,
            kinds: Vec::new(),
            ignore: Vec::new(),
            columns: None,
            target: Target::None,
            versus_rest: None,
            weight: None,
            fold: None,
            keep: Vec::new(),
            keep_file: false,
            unknown_classes: false,
            allow_unknown: false,
            allow_absent: false,
            unlabelled: false,
            unlabelled_files: Vec::new(),
            documents: None,
            tokeniser: Tokeniser::default(),
            vocabulary: Vocabulary::default(),
        }
    }
}

impl Options {
    /// Whether a column was named as one of texts.
    pub(crate) fn is_text(&self, name: &str) -> bool {
        self.kinds.iter().rev().find(|(column, _)| column == name).is_some_and(|(_, kind)| *kind == Kind::Text)
    }

    /// How numbers are written.
    pub(crate) fn notation(&self) -> Result<Notation> {
        let (decimal, thousands) = (self.decimal.unwrap_or('.'), self.thousands);
        let is_free = |c: char| !c.is_alphanumeric() && !"+-\"\r\n".contains(c);
        if !decimal.is_ascii() || !is_free(decimal) {
            return Err(Error::parameter(
                "decimal",
                format!("`{decimal}` cannot stand before a fraction: give . or ,"),
            ));
        }
        match thousands {
            Some(c) if !is_free(c) || c == decimal => {
                let message = format!("`{c}` cannot group digits: give another character than the decimal one");
                Err(Error::parameter("thousands", message))
            }
            _ => Ok(Notation { point: decimal as u8, thousands }),
        }
    }

    /// Whether some numbers stand for a missing cell, so that columns of numbers cannot be used as they are.
    ///
    /// ```
    /// let options = deciban_data::Options { missing: Some(vec!["-999".into()]), ..Default::default() };
    /// assert!(options.marks_numbers() && !deciban_data::Options::default().marks_numbers());
    /// ```
    pub fn marks_numbers(&self) -> bool {
        self.missing().has_numbers()
    }

    /// The texts that stand for a missing cell.
    pub(crate) fn missing(&self) -> Missing {
        match &self.missing {
            Some(missing) => Missing::new(missing),
            None => Missing::new(&Spelling::default().missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_format_lists_the_known() {
        assert_eq!(
            "xls".parse::<Format>().unwrap_err().to_string(),
            "format: there is no format `xls`: give csv, tsv, text, json, parquet, arrow or idx"
        );
        assert_eq!("CSV".parse::<Format>().unwrap(), Format::Csv);
    }
}
