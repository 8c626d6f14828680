//! Progress bars, on standard error, and only when that is a terminal.

use crate::output;
use becr_corpus::Corpus;
use becr_corpus::Progress;
use becr_index::full::{Observer, Stage};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::cell::{Cell, RefCell};

/// Documents between two looks at the clock.
const STRIDE: u64 = 64;

/// A bar over the bytes of a corpus, with documents, rate and time left.
pub(crate) struct Reading {
    bar: ProgressBar,
    progress: Progress,
    calls: Cell<u64>,
}

/// A bar for a corpus that is being indexed lexically.
pub(crate) fn reading(progress: &Progress) -> Reading {
    reading_as(progress, "indexing")
}

/// A bar for a corpus that is being read for some purpose.
fn reading_as(progress: &Progress, purpose: &'static str) -> Reading {
    let bar = match progress.total_bytes() {
        Some(bytes) => ProgressBar::new(bytes).with_style(style(
            "{prefix} {wide_bar} {bytes}/{total_bytes}, {msg}, {eta} left",
        )),
        None => ProgressBar::new_spinner()
            .with_style(style("{prefix} {spinner} {bytes}, {msg}, {elapsed}")),
    };
    Reading {
        bar: bar.with_prefix(purpose),
        progress: progress.clone(),
        calls: Cell::new(0),
    }
}

/// A bar over the bytes of a file that is fetched.
pub(crate) fn download(file: &'static str, bytes: u64) -> ProgressBar {
    let template = "{prefix} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
    ProgressBar::new(bytes)
        .with_style(style(template))
        .with_prefix(file)
}

/// A bar over `count` things.
pub(crate) fn counting(count: u64, what: &'static str) -> ProgressBar {
    let template = "{wide_bar} {human_pos}/{human_len} {msg}, {per_sec}, {eta} left";
    ProgressBar::new(count)
        .with_style(style(template))
        .with_message(what)
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
            self.bar
                .set_message(format!("{} documents, {rate:.0}/s", HumanCount(documents)));
        }
    }

    pub(crate) fn set_message(&self, message: &'static str) {
        self.bar.set_message(message);
    }

    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Bars for the stages of a build, one after the other.
#[derive(Default)]
pub(crate) struct Stages {
    current: RefCell<Option<Bar>>,
    skipped: Cell<u64>,
}

enum Bar {
    Reading(Reading),
    Counting(ProgressBar),
}

impl Stages {
    /// Takes the last bar away.
    pub(crate) fn clear(&self) {
        match self.current.take() {
            Some(Bar::Reading(bar)) => bar.finish_and_clear(),
            Some(Bar::Counting(bar)) => bar.finish_and_clear(),
            None => {}
        }
    }

    /// Faults that were skipped.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped.get()
    }
}

impl Observer for Stages {
    fn begin(&self, stage: Stage, corpus: Option<&Corpus>, total: Option<u64>) {
        self.clear();
        let name = match stage {
            Stage::Counting => "counting words and pairs",
            Stage::EncodingGroups => "token groups encoded",
            Stage::EncodingDocuments => "encoding documents",
            Stage::Merging => "documents merged",
            Stage::Finishing => "finishing",
        };
        let bar = match corpus {
            Some(corpus) => Bar::Reading(reading_as(&corpus.progress(), name)),
            None => Bar::Counting(counting(total.unwrap_or_default(), name)),
        };
        self.current.replace(Some(bar));
    }

    fn advance(&self, steps: u64) {
        match &*self.current.borrow() {
            Some(Bar::Reading(bar)) => bar.update(),
            Some(Bar::Counting(bar)) => bar.inc(steps),
            None => {}
        }
    }

    fn read(&self, corpus: &Corpus) {
        let skipped = corpus.skipped();
        self.skipped.set(skipped.total_faults());
        self.clear();
        output::note_report(&skipped);
    }
}
