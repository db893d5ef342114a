//! Languages of source files, by their punctuation alone: 32 counts a file, a multinomial a language.
//! With `--data FOLDER`, on a folder with one folder per language.

use std::path::{Path, PathBuf};

use deciban::data::{Batch, Schema};
use deciban::engine::Memory;
use deciban::evidence::decibans;
use deciban::family::multinomial::Multinomial;
use deciban::family::{AnyDensity, AnyFamily};
use deciban::learn::{Block, Classifier, Generative, GenerativeModel, Statistics};
use deciban::posterior::Prior;
use deciban::{Error, Result};

use crate::output::say;
use deciban_tasks::table::{Table, percent};

/// What is counted: all that ASCII prints but letters, digits and the blank.
const SYMBOLS: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// The files of `examples/languages`: folder, file, text.
macro_rules! embedded {
    ($($language:literal: $($file:literal)+;)+) => {
        [$($(($language, $file, include_str!(concat!("../../../../../examples/languages/", $language, "/", $file))),)+)+]
    };
}
const FILES: [(&str, &str, &str); 28] = embedded! {
    "c": "buffer.c" "list.c" "matrix.c" "words.c";
    "html": "article.html" "form.html" "page.html" "table.html";
    "javascript": "cart.js" "page.js" "sort.js" "timer.js";
    "lisp": "lists.lisp" "macro.lisp" "primes.lisp" "tree.lisp";
    "python": "graph.py" "mean.py" "queue.py" "words.py";
    "rust": "lines.rs" "parse.rs" "shape.rs" "stack.rs";
    "sql": "changes.sql" "report.sql" "schema.sql" "window.sql";
};

/// A line of Rust that is in none of the files.
const SNIPPET: &str = "let n: usize = rows.iter().map(|row| row.len()).max().unwrap_or(0);";

pub fn run(data: Option<PathBuf>) -> Result<()> {
    let mut sources = Sources::default();
    match &data {
        None => FILES.iter().for_each(|(language, _, text)| sources.add(language, text.as_bytes())),
        Some(folder) => sources.read(folder)?,
    }
    if sources.languages.len() < 2 {
        return Err(Error::parameter("data", "give a folder with a folder of files for each of several languages"));
    }
    let (files, languages) = (sources.labels.len(), sources.languages.len());
    say!("{files} files of {languages} languages, each as the counts of {} symbols; no letter is read.", SYMBOLS.len());
    say!("Each file is decided by a model of all others: the statistics of all, minus those of the file.\n");
    let schema =
        Schema::numbers(&SYMBOLS.chars().map(String::from).collect::<Vec<_>>(), "language", &sources.languages)?;
    let block =
        Block::new((0..SYMBOLS.len()).collect(), schema.columns(), AnyFamily::Multinomial(Multinomial::default()));
    let learner = Generative::of_blocks(vec![block]);
    let collect = |rows: Batch<'_>| learner.statistics(&Memory::new(schema.clone(), rows)?);
    let batch = Batch::new(files).row_major(&sources.counts[..], SYMBOLS.len())?.classes(&sources.labels)?;
    let whole = collect(batch.clone())?;
    let confusion = leave_one_out(&learner, &whole, &batch, collect)?;
    let mut table = Table::new(["true \\ decided"].into_iter().chain(sources.languages.iter().map(String::as_str)));
    for (language, row) in sources.languages.iter().zip(&confusion) {
        table.row(
            [language.clone()].into_iter().chain(row.iter().map(|&n| if n == 0 { "·".into() } else { n.to_string() })),
        );
    }
    let right: usize = (0..languages).map(|c| confusion[c][c]).sum();
    say!("{table}\n{right} of {files} files are right: {}.\n", percent(right as f64 / files as f64));
    explain(&learner.fit(&whole)?, SNIPPET)
}

/// The files' counts of symbols, one row after the other.
#[derive(Default)]
struct Sources {
    languages: Vec<String>,
    labels: Vec<u32>,
    counts: Vec<f64>,
}

impl Sources {
    fn add(&mut self, language: &str, text: &[u8]) {
        let place = self.languages.iter().position(|known| known == language).unwrap_or_else(|| {
            self.languages.push(language.into());
            self.languages.len() - 1
        });
        self.labels.push(place as u32);
        self.counts.extend(count(text));
    }

    /// The files below each folder of the folder, in the order of their names; hidden ones are left out.
    fn read(&mut self, folder: &Path) -> Result<()> {
        for language in entries(folder)?.iter().filter(|path| path.is_dir()) {
            let name = language.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut waiting = entries(language)?;
            waiting.reverse();
            while let Some(path) = waiting.pop() {
                match path.is_dir() {
                    true if path.is_symlink() => {} // It may lead back.
                    true => waiting.extend(entries(&path)?.into_iter().rev()),
                    false => {
                        let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
                        self.add(&name, &bytes);
                    }
                }
            }
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e| Error::io(folder, e);
    let all = std::fs::read_dir(folder).map_err(failed)?.map(|entry| entry.map(|e| e.path()).map_err(failed));
    let mut paths = all.collect::<Result<Vec<_>>>()?;
    paths.retain(|path| !path.file_name().unwrap_or_default().as_encoded_bytes().starts_with(b"."));
    paths.sort();
    Ok(paths)
}

/// How often each symbol occurs.
fn count(text: &[u8]) -> [f64; SYMBOLS.len()] {
    let mut counts = [0.0; SYMBOLS.len()];
    for place in text.iter().filter_map(|byte| SYMBOLS.bytes().position(|symbol| symbol == *byte)) {
        counts[place] += 1.0;
    }
    counts
}

/// `confusion[true][decided]` under equal priors, each row scored by the statistics of all others.
fn leave_one_out<'a>(
    learner: &Generative,
    whole: &Statistics,
    batch: &Batch<'a>,
    collect: impl Fn(Batch<'a>) -> Result<Statistics>,
) -> Result<Vec<Vec<usize>>> {
    let classes = whole.schema().classes().len();
    let mut confusion = vec![vec![0; classes]; classes];
    for (row, &class) in batch.labels().unwrap_or_default().iter().enumerate() {
        let one = batch.slice(row..row + 1);
        let mut others = whole.clone();
        others.remove(&collect(one.clone())?)?;
        let posterior = learner.fit(&others)?.evidence(&one)?.posterior(&Prior::uniform(classes));
        if let Some(decided) = posterior.most_probable(0) {
            confusion[class as usize][decided] += 1;
        }
    }
    Ok(confusion)
}

/// What each symbol of a snippet says for the best language against the second.
fn explain(model: &GenerativeModel, snippet: &str) -> Result<()> {
    let counts = count(snippet.as_bytes());
    let evidence = model.evidence(&Batch::new(1).row_major(&counts[..], counts.len())?)?;
    let languages = model.schema().classes();
    let mut order: Vec<usize> = (0..languages.len()).collect();
    order.sort_by(|&a, &b| evidence.row(0)[b].total_cmp(&evidence.row(0)[a]));
    let (best, second) = (order[0], order[1]);
    let AnyDensity::Multinomial(density) = &model.blocks()[0].density else { return Ok(()) };
    let mut shares: Vec<(f64, char, f64)> = SYMBOLS
        .chars()
        .enumerate()
        .filter(|(j, _)| counts[*j] > 0.0)
        .map(|(j, symbol)| {
            (counts[j] * decibans(density.weights(j)[best] - density.weights(j)[second]), symbol, counts[j])
        })
        .collect();
    shares.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    say!("A line that is in none of the files:\n\n  {snippet}\n");
    say!(
        "Most likely {}, then {}. What its symbols say for the first against the second:\n",
        languages[best],
        languages[second]
    );
    let mut table = Table::new(["symbol", "count", "decibans each", "decibans"]);
    for (share, symbol, n) in &shares {
        table.row([symbol.to_string(), n.to_string(), format!("{:+.1}", share / n), format!("{share:+.1}")]);
    }
    let total = decibans(evidence.row(0)[best] - evidence.row(0)[second]);
    table.row(["all".to_string(), counts.iter().sum::<f64>().to_string(), String::new(), format!("{total:+.1}")]);
    say!("{table}");
    Ok(())
}
