//! Counts for Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Status codes that are counted each on their own; others are counted as `other`.
const CODES: [u16; 17] = [200, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 421, 422, 431, 500, 503, 304];
/// The upper ends of the classes of durations, in seconds.
const ENDS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// What is counted.
#[derive(Default)]
pub struct Metrics {
    codes: [AtomicU64; CODES.len() + 1],
    durations: [AtomicU64; ENDS.len() + 1],
    microseconds: AtomicU64,
    rows: AtomicU64,
    running: AtomicI64,
    reloads: AtomicU64,
    failed_reloads: AtomicU64,
}

impl Metrics {
    /// A request has come.
    pub fn begin(&self) {
        self.running.fetch_add(1, Relaxed);
    }

    /// A request has been answered.
    pub fn end(&self, code: u16, took: Duration) {
        self.running.fetch_sub(1, Relaxed);
        let place = CODES.iter().position(|known| *known == code).unwrap_or(CODES.len());
        self.codes[place].fetch_add(1, Relaxed);
        let seconds = took.as_secs_f64();
        let class = ENDS.iter().position(|end| seconds <= *end).unwrap_or(ENDS.len());
        self.durations[class].fetch_add(1, Relaxed);
        self.microseconds.fetch_add(took.as_micros() as u64, Relaxed);
    }

    /// Rows have been scored.
    pub fn count_rows(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Relaxed);
    }

    /// A model file was loaded again, or could not be.
    pub fn count_reload(&self, failed: bool) {
        if failed { &self.failed_reloads } else { &self.reloads }.fetch_add(1, Relaxed);
    }

    /// All counts in the text format of Prometheus.
    pub fn text(&self, models: &[(String, Option<String>)]) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        head(&mut text, "deciban_requests_total", "counter", "Requests that were answered, by status code.");
        for (place, count) in self.codes.iter().enumerate() {
            let code = CODES.get(place).map_or("other".to_string(), u16::to_string);
            let count = count.load(Relaxed);
            if count > 0 || code == "200" {
                let _ = writeln!(text, "deciban_requests_total{{code=\"{code}\"}} {count}");
            }
        }
        let name = "deciban_request_duration_seconds";
        head(&mut text, name, "histogram", "Time from a request's headers to the head of its answer.");
        let mut sum = 0;
        for (place, count) in self.durations.iter().enumerate() {
            sum += count.load(Relaxed);
            let end = ENDS.get(place).map_or("+Inf".to_string(), f64::to_string);
            let _ = writeln!(text, "{name}_bucket{{le=\"{end}\"}} {sum}");
        }
        let _ = writeln!(text, "{name}_sum {}", self.microseconds.load(Relaxed) as f64 * 1e-6);
        let _ = writeln!(text, "{name}_count {sum}");
        for (name, kind, help, value) in [
            ("deciban_rows_total", "counter", "Rows that were scored.", self.rows.load(Relaxed) as i64),
            ("deciban_requests_running", "gauge", "Requests without an answer yet.", self.running.load(Relaxed)),
            ("deciban_reloads_total", "counter", "Model files loaded again.", self.reloads.load(Relaxed) as i64),
            (
                "deciban_reloads_failed_total",
                "counter",
                "Model files that changed and could not be loaded.",
                self.failed_reloads.load(Relaxed) as i64,
            ),
        ] {
            head(&mut text, name, kind, help);
            let _ = writeln!(text, "{name} {value}");
        }
        head(&mut text, "deciban_model_stale", "gauge", "Whether a model's file has changed and cannot be used.");
        for (name, problem) in models {
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(text, "deciban_model_stale{{model=\"{name}\"}} {}", u8::from(problem.is_some()));
        }
        text
    }
}
