//! A Python process that does one job per line it is sent, beside ours, and the files that both read.
#![allow(dead_code)] // Not every bench has files.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a peer needs, as a message.
const NEEDED: &str = "these benches need a Python with numpy, scipy and scikit-learn: name it in DECIBAN_PYTHON";

pub struct Peer(Child);

impl Peer {
    /// Runs `benches/peers/NAME.py`.
    pub fn start(name: &str, args: &[String]) -> Peer {
        let python = std::env::var("DECIBAN_PYTHON").unwrap_or("python3".into());
        let child = Command::new(python)
            .arg(format!("{}/benches/peers/{name}.py", env!("CARGO_MANIFEST_DIR")))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(NEEDED);
        Peer(child)
    }

    /// What it answers to a job: one line.
    pub fn ask(&mut self, job: &str) -> String {
        writeln!(self.0.stdin.as_mut().unwrap(), "{job}").expect(NEEDED);
        let mut line = String::new();
        BufReader::with_capacity(1, self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "{NEEDED}");
        line
    }

    /// The seconds of a job, and what else it tells.
    pub fn run(&mut self, job: &str) -> (f64, Vec<f64>) {
        let line = self.ask(job);
        let mut numbers = line.split_whitespace().map(|x| x.parse().expect("numbers from the peer"));
        (numbers.next().expect("seconds from the peer"), numbers.collect())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// A folder for what both sides read.
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("deciban-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes an array for the peer.
pub fn write(folder: &Path, name: &str, bytes: impl Iterator<Item = u8>) {
    std::fs::write(folder.join(name), bytes.collect::<Vec<u8>>()).unwrap();
}
