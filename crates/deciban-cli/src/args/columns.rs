//! Which columns are learned from, and what they are.

use clap::Args;
use deciban::data::Kind;
use deciban::{Error, Result};
use deciban_data::{Files, Options};

use super::read::ReadArgs;
use super::texts::TextArgs;

/// Which columns are learned from.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
pub struct ColumnArgs {
    /// The column of the classes
    #[arg(long, short, value_name = "COLUMN", conflicts_with_all = ["labels", "one_hot_target"])]
    target: Option<String>,
    /// Make two classes of many: CLASS, and `not CLASS`
    #[arg(long, value_name = "CLASS")]
    versus_rest: Option<String>,
    /// Learn from these columns only
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Leave these columns out
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    ignore: Vec<String>,
    /// These columns hold numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    number: Vec<String>,
    /// These columns hold categories
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    category: Vec<String>,
    /// These columns hold yes or no
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    flag: Vec<String>,
    /// These columns count things
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    count: Vec<String>,
    /// These columns hold texts
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    text: Vec<String>,
    #[command(flatten)]
    words: TextArgs,
}

impl ColumnArgs {
    /// Opens labelled rows to learn from.
    pub fn open(&self, paths: &[String], read: &ReadArgs) -> Result<Files> {
        self.open_with(paths, read, Options::default())
    }

    /// Opens labelled rows to learn from, with rows that lack their class, files of such rows, and a column of groups.
    pub fn open_unlabelled(
        &self,
        paths: &[String],
        read: &ReadArgs,
        unlabelled_files: &[String],
        group: Option<&str>,
    ) -> Result<Files> {
        let (unlabelled_files, fold) = (unlabelled_files.to_vec(), group.map(String::from));
        self.open_with(paths, read, Options { unlabelled: true, unlabelled_files, fold, ..Options::default() })
    }

    /// The same, with a column of folds or groups.
    pub fn open_folded(&self, paths: &[String], read: &ReadArgs, fold: Option<&str>) -> Result<Files> {
        self.open_with(paths, read, Options { fold: fold.map(String::from), ..Options::default() })
    }

    fn open_with(&self, paths: &[String], read: &ReadArgs, with: Options) -> Result<Files> {
        if self.target.is_none() && !read.has_labels() && !are_folders(paths) {
            let columns = deciban_data::peek_columns(paths, &read.options(None))?;
            let shown: Vec<String> = columns.iter().take(20).map(|c| format!("`{c}`")).collect();
            let mut message = format!("name the column of the classes; the columns are {}", shown.join(", "));
            if columns.len() > 20 {
                message += &format!(" and {} more", columns.len() - 20);
            }
            return Err(Error::parameter("target", message));
        }
        let Options { fold, unlabelled, unlabelled_files, .. } = with;
        Files::open(paths, Options { fold, unlabelled, unlabelled_files, ..self.options(read)? })
    }

    fn options(&self, read: &ReadArgs) -> Result<Options> {
        let kinds = [
            (&self.number, Kind::Number),
            (&self.category, Kind::Category),
            (&self.flag, Kind::Flag),
            (&self.count, Kind::Count),
            (&self.text, Kind::Text),
        ];
        let kinds = kinds.iter().flat_map(|(names, kind)| names.iter().map(|name| (name.clone(), *kind))).collect();
        Ok(Options {
            kinds,
            ignore: self.ignore.clone(),
            columns: self.columns.clone(),
            versus_rest: self.versus_rest.clone(),
            tokeniser: self.words.tokeniser()?,
            vocabulary: self.words.vocabulary(),
            ..read.options(self.target.as_deref())
        })
    }

    /// The column of the classes.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// The columns of numbers and of categories, for a database that is asked about them by name.
    pub fn for_database(&self) -> Result<(Vec<String>, Vec<String>)> {
        if !self.text.is_empty() || self.versus_rest.is_some() {
            return Err(Error::Usage("§sql takes numbers, categories, flags and counts, and all classes".into()));
        }
        let left = |name: &&String| !self.ignore.contains(name);
        let numbers = self.number.iter().chain(&self.count).chain(self.columns.iter().flatten()).filter(left);
        Ok((numbers.cloned().collect(), self.category.iter().chain(&self.flag).filter(left).cloned().collect()))
    }

    /// Whether the order of the classes is free to be sorted.
    pub fn sorts_classes(&self, read: &ReadArgs) -> bool {
        self.versus_rest.is_none() && read.one_hot_target.is_none()
    }
}

/// Whether the data are folders with a folder per class: there the classes have no column.
pub fn are_folders(paths: &[String]) -> bool {
    paths.iter().all(|path| std::path::Path::new(path).is_dir())
}
