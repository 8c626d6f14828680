//! Progress bars, on standard error, and only when that is a terminal.

use becr_corpus::Progress;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::cell::Cell;

/// Documents between two looks at the clock.
const STRIDE: u64 = 64;

/// A bar over the bytes of a corpus, with documents, rate and time left.
pub(crate) struct Reading {
    bar: ProgressBar,
    progress: Progress,
    calls: Cell<u64>,
}

/// A bar for a corpus that is being read.
pub(crate) fn reading(progress: &Progress) -> Reading {
    let bar = match progress.total_bytes() {
        Some(bytes) => ProgressBar::new(bytes).with_style(style(
            "{wide_bar} {bytes}/{total_bytes}, {msg}, {eta} left",
        )),
        None => ProgressBar::new_spinner().with_style(style("{spinner} {bytes}, {msg}, {elapsed}")),
    };
    Reading { bar, progress: progress.clone(), calls: Cell::new(0) }
}

/// A bar over `count` things.
pub(crate) fn counting(count: u64, what: &'static str) -> ProgressBar {
    let template = "{wide_bar} {human_pos}/{human_len} {msg}, {per_sec}, {eta} left";
    ProgressBar::new(count).with_style(style(template)).with_message(what)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Reading {
    /// Called after each document.
    pub(crate) fn update(&self) {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get().is_multiple_of(STRIDE) {
            self.bar.set_position(self.progress.bytes_read());
            let documents = self.progress.documents();
            let rate = documents as f64 / self.bar.elapsed().as_secs_f64().max(1e-3);
            self.bar.set_message(format!("{} documents, {rate:.0}/s", HumanCount(documents)));
        }
    }

    pub(crate) fn set_message(&self, message: &'static str) {
        self.bar.set_message(message);
    }

    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }
}
