//! A progress bar on standard error, on a terminal only.

use std::io::IsTerminal;
use std::sync::Arc;

use deciban_data::Files;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

/// Shows how much of the input has been read until it is dropped.
pub struct Progress {
    bar: Arc<ProgressBar>,
}

impl Progress {
    pub fn watch(files: &mut Files, what: &'static str) -> Option<Progress> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let style =
            |template: &str| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        // No numbers before there are some.
        let bar = Arc::new(ProgressBar::new(0).with_style(style("{msg}")).with_message(what));
        let with_bar = style("{msg} {wide_bar} {bytes}/{total_bytes} {eta}");
        let shared = bar.clone();
        files.on_progress(Box::new(move |read, total| match total {
            _ if read == 0 => {}
            Some(total) => {
                shared.set_length(total);
                shared.set_position(read);
                shared.set_style(with_bar.clone());
            }
            None => shared.set_message(format!("{what} {}", HumanBytes(read))),
        }));
        Some(Progress { bar })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
