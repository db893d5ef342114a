//! 200,000 messages of about 15 words, from a text file to a fitted multinomial model and the
//! posterior of each message, against scikit-learn's CountVectorizer and MultinomialNB; then the peak
//! of memory over a stream of 200 MB.
//!
//! `cargo bench -p deciban-data --bench text` (the peer needs scikit-learn: name a Python that has it in
//! `DECIBAN_PYTHON`, `python3` unless told). Runs of the two sides alternate and the best of each
//! counts; read the ratio, not the seconds. Where other programs keep the processors busy, read the
//! ratio of processor time: this side uses all processors, the peer one.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use deciban::data::{Batch, Cells, Kind, Rows, Tile};
use deciban::engine::Engine;
use deciban::evidence::Evidence;
use deciban::family::multinomial::Multinomial;
use deciban::family::{AnyFamily, Density, Family, Names};
use deciban::learn::{Block, Statistics, Summarise};
use deciban::numerics::Random;
use deciban::posterior::Prior;
use deciban::text::Tokeniser;
use deciban_data::{Files, Options, Target};

const ROWS: usize = 200_000;
const WORDS: usize = 50_000;
const ROUNDS: usize = 7;

/// A Python process that times one job per line it is sent.
struct Peer(Child);

impl Peer {
    fn start(path: &Path) -> Peer {
        let python = std::env::var("DECIBAN_PYTHON").unwrap_or("python3".into());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/text.py");
        let child = Command::new(python)
            .arg(script)
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python with scikit-learn: name it in DECIBAN_PYTHON");
        Peer(child)
    }

    /// Seconds, processor seconds, words, tokens and the sum of the posteriors of the second class.
    fn run(&mut self, job: &str) -> [f64; 5] {
        writeln!(self.0.stdin.as_mut().unwrap(), "{job}").unwrap();
        let mut line = String::new();
        BufReader::with_capacity(1, self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let numbers: Vec<f64> = line.split_whitespace().map(|x| x.parse().expect("numbers from the peer")).collect();
        numbers.try_into().expect("five numbers from the peer")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

fn options() -> Options {
    Options {
        header: false,
        quotes: false,
        target: Target::Column("c0".into()),
        kinds: vec![("c1".into(), Kind::Text)],
        // The words that the peer counts: no symbols.
        tokeniser: Tokeniser { symbols: false, ..Tokeniser::default() },
        ..Options::default()
    }
}

/// One pass over the file.
fn summarise(files: &dyn Engine) -> Statistics {
    let family = AnyFamily::Multinomial(Multinomial::default());
    let block =
        Block { columns: vec![0], names: vec!["c1".into()], deskew: None, gaussianise: None, discretise: None, family };
    Statistics::collect(Summarise { blocks: vec![block], folds: 1, seed: 0 }, files).unwrap()
}

/// From file to posteriors: words, tokens, the sum of the posteriors of the second class, and the
/// seconds of the first pass.
fn fit_and_score(path: &Path) -> [f64; 4] {
    let start = Instant::now();
    let paths = [path.display().to_string()];
    let mut files = Files::open(&paths, options()).unwrap();
    files.make_rereadable().unwrap();
    let mut statistics = summarise(&files);
    statistics.sort_classes().unwrap();
    files.sort_classes().unwrap();
    let learned = start.elapsed().as_secs_f64();
    let (schema, summary, block) = (statistics.schema(), statistics.summary(), &statistics.blocks()[0]);
    let levels = [schema.columns()[0].levels.len()];
    let names = Names { columns: &block.names, levels: &levels, classes: schema.classes() };
    let classes = summary.block(0).unwrap();
    let tokens: f64 = classes
        .iter()
        .map(|class| match class {
            deciban::family::AnyStatistic::Multinomial(words) => words.total(),
            _ => 0.0,
        })
        .sum();
    let density = block.family.fit(&classes.iter().collect::<Vec<_>>(), names).unwrap();
    let prior = Prior::from_weights(&summary.weights()).unwrap();
    let score = |batch: &Batch<'_>| {
        let mut scores = Tile::default();
        scores.resize(batch.rows(), density.classes());
        scores.data_mut().fill(0.0);
        let cells = Cells::new(batch, &[0], Rows::Range(0..batch.rows()));
        density.add_log_density(&cells, &block.names, &mut scores)?;
        let row = |i: usize| [scores.column(0)[i], scores.column(1)[i]];
        let evidence = Evidence::new(2, (0..batch.rows()).flat_map(row).collect())?;
        let posterior = evidence.posterior(&prior);
        Ok((0..batch.rows()).map(|i| posterior.log_row(i)[1].exp()).sum::<f64>())
    };
    let mut sum = 0.0;
    let emit = |part: f64| {
        sum += part;
        Ok(())
    };
    files.map_in_order(score, emit).unwrap();
    [levels[0] as f64, tokens, sum, learned]
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages");
    write(&path, ROWS, usize::MAX);
    let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    let mut peer = Peer::start(&path);
    let [mut ours, mut learned, mut theirs, mut again, mut our_cpu, mut their_cpu] = [f64::INFINITY; 6];
    for round in 0..ROUNDS {
        let (start, cpu) = (Instant::now(), processor_seconds());
        let [words, tokens, sum, first] = fit_and_score(&path);
        ours = ours.min(start.elapsed().as_secs_f64());
        our_cpu = our_cpu.min(processor_seconds() - cpu);
        learned = learned.min(first);
        if round < 3 {
            let [seconds, cpu, their_words, their_tokens, their_sum] = peer.run("fit-predict");
            theirs = theirs.min(seconds);
            their_cpu = their_cpu.min(cpu);
            again = again.min(peer.run("again")[0]);
            assert_eq!([words, tokens], [their_words, their_tokens], "the same words on both sides");
            assert!((sum - their_sum).abs() < 1e-6 * sum, "the same posteriors: {sum}, {their_sum}");
        }
        if round == 0 {
            println!("{ROWS} messages, {megabytes:.1} MB, {tokens} tokens, {words} words, best of {ROUNDS}");
        }
    }
    println!("statistics                  {learned:7.3} s   {:6.0} MB/s", megabytes / learned);
    println!("statistics, fit, posteriors {ours:7.3} s   {:6.2} million messages/s", ROWS as f64 / ours / 1e6);
    println!("sklearn, words counted once {theirs:7.3} s   theirs / ours = {:5.1}  (at least 15)", theirs / ours);
    println!(
        "processor time              {our_cpu:7.3} s   theirs {their_cpu:.3} s, theirs / ours = {:5.1}",
        their_cpu / our_cpu
    );
    println!("sklearn, counted twice      {again:7.3} s   theirs / ours = {:5.1}", again / ours);

    let stream = folder.path().join("stream");
    let rows = write(&stream, usize::MAX, 200 << 20);
    let before = peak();
    let statistics = summarise(&Files::open(&[stream.display().to_string()], options()).unwrap());
    let words = statistics.schema().columns()[0].levels.len();
    println!("a stream of 200 MB: {rows} messages, {words} words, peak memory {} (before: {before})", peak());
}

/// `label<TAB>text` lines with words by Zipf's law; three of ten words are drawn by the class.
fn write(path: &Path, rows: usize, bytes: usize) -> usize {
    let mut random = Random::new(1);
    let mut sum = 0.0;
    let zipf: Vec<f64> = (0..WORDS)
        .map(|rank| {
            sum += 1.0 / (rank as f64 + 2.7);
            sum
        })
        .collect();
    let words: Vec<String> = (0..WORDS).map(word).collect();
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    let (mut written, mut count, mut line) = (0, 0, String::new());
    while count < rows && written < bytes {
        let spam = random.below(5) == 0;
        line.clear();
        line += if spam { "spam\t" } else { "ham\t" };
        for place in 0..8 + random.below(15) {
            let u = random.uniform() * sum;
            let rank = zipf.partition_point(|x| *x < u).min(WORDS - 1);
            // A permutation of the words for spam: 7919 is prime to 50,000.
            let rank = if spam && random.below(10) < 3 { (rank * 7919 + 13) % WORDS } else { rank };
            line += if place > 0 { " " } else { "" };
            // A sentence begins in upper case.
            if place == 0 {
                line.extend(words[rank].chars().map(|c| c.to_ascii_uppercase()));
            } else {
                line += &words[rank];
            }
        }
        line += ".\n";
        out.write_all(line.as_bytes()).unwrap();
        written += line.len();
        count += 1;
    }
    out.flush().unwrap();
    count
}

/// Two letters for each digit in base 20 or so: frequent words are short.
fn word(mut rank: usize) -> String {
    let mut word = String::new();
    rank += 1;
    while rank > 0 {
        word.push(char::from(b"bcdfghjklmnpqrstvwxz"[rank % 20]));
        word.push(char::from(b"aeiou"[rank % 5]));
        rank /= 20;
    }
    word
}

/// What the process has used of all processors, in hundredths of a second where the system tells.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system ticks are the 14th and 15th field; the second, in brackets, may hold blanks.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory the process has had, where the system tells.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".into(), |line| line.trim().to_string())
}
