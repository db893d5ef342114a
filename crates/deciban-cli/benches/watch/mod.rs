//! The peak of resident memory of another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Looks every few milliseconds, until the process ends.
pub struct Peak(Arc<AtomicU64>);

impl Peak {
    pub fn of(process: u32) -> Peak {
        let peak = Arc::new(AtomicU64::new(0));
        let shared = peak.clone();
        std::thread::spawn(move || {
            while let Some(kilobytes) = resident_kilobytes(process) {
                shared.fetch_max(kilobytes, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        Peak(peak)
    }

    pub fn megabytes(&self) -> f64 {
        self.0.load(Ordering::Relaxed) as f64 * 1024.0 / 1e6
    }
}

/// The peak so far, as the kernel keeps it.
fn resident_kilobytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find(|line| line.starts_with("VmHWM:"))?.split_whitespace().nth(1)?.parse().ok()
}
