//! A stream of 2 GB of messages on the program's standard input: megabytes per second and the peak of
//! resident memory, which must stay within 500 MB, with a vocabulary that grows and with a hashed one;
//! and a stream of ever new words, which must be refused with advice before memory is gone.
//!
//! `cargo bench -p deciban-cli --bench text_stream [-- MEGABYTES]`.

mod watch;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use deciban::numerics::Random;
use watch::Peak;

const WORDS: usize = 50_000;
const ARGS: [&str; 12] = [
    "fit",
    "-",
    "--format",
    "tsv",
    "--no-header",
    "--no-quotes",
    "--target",
    "c0",
    "--text",
    "c1",
    "--model",
    "multinomial",
];

fn main() {
    let megabytes: usize = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(2000);
    let text = messages(32 << 20);
    let folder = std::env::temp_dir().join(format!("deciban-text-stream-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let model = folder.join("model.deciban").display().to_string();
    for (name, options) in [("words", vec![]), ("hashed", vec!["--hashed-bits", "20"])] {
        let (told, seconds, peak) = feed(&[&ARGS[..], &options, &["-o", &model]].concat(), megabytes, |out, round| {
            // New words never cease: a thousand of them in each round.
            let new: String = (0..1000).map(|i| format!("ham\tseen once {round}x{i}\n")).collect();
            out.write_all(&text).and_then(|()| out.write_all(new.as_bytes())).map(|()| text.len() + new.len())
        });
        println!(
            "{name:<7} {megabytes} MB  {seconds:6.1} s  {:4.0} MB/s  peak memory {peak:4.0} MB (at most 500)  {}",
            megabytes as f64 / seconds,
            told.lines().next().unwrap_or_default()
        );
    }
    let most = ["--most-words", "2000000", "-o", &model];
    let (told, seconds, peak) = feed(&[&ARGS[..], &most].concat(), megabytes, |out, round| {
        let new: String = (0..10_000).map(|i| format!("{}\tsome{round}x{i}\n", ["a", "b"][i % 2])).collect();
        out.write_all(new.as_bytes()).map(|()| new.len())
    });
    println!("new words only, at most 2 million: {seconds:.1} s, peak memory {peak:.0} MB\n{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Runs the program and writes to it until it has so many megabytes or wants no more: what it tells, the
/// seconds and the peak of its memory.
fn feed(
    args: &[&str],
    megabytes: usize,
    mut write: impl FnMut(&mut dyn Write, usize) -> std::io::Result<usize>,
) -> (String, f64, f64) {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_deciban"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let peak = Peak::of(child.id());
    let mut input = child.stdin.take().unwrap();
    let mut written = 0;
    for round in 0.. {
        match write(&mut input, round) {
            Ok(bytes) => written += bytes,
            Err(_) => break, // The program has ended.
        }
        if written >= megabytes * 1_000_000 {
            break;
        }
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    (String::from_utf8_lossy(&output.stderr).into_owned(), start.elapsed().as_secs_f64(), peak.megabytes())
}

/// `label<TAB>text` lines, words by Zipf's law; a third of the words of spam are other ones.
fn messages(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    let mut text = Vec::with_capacity(bytes + 1000);
    while text.len() < bytes {
        let spam = random.below(5) == 0;
        text.extend_from_slice(if spam { b"spam\t" } else { b"ham\t" });
        for _ in 0..8 + random.below(15) {
            // The inverse of the logarithmic distribution of ranks.
            let rank = (random.uniform() * (WORDS as f64).ln()).exp() as usize;
            let rank = if spam && random.below(3) == 0 { rank * 7919 % WORDS } else { rank };
            write!(text, "w{rank:x} ").unwrap();
        }
        text.push(b'\n');
    }
    text
}
