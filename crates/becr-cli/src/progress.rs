//! Progress bars, on standard error, and only when that is a terminal.

use becr::{Observer, Stage};
use becr_corpus::{Corpus, Progress};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::cell::{Cell, RefCell};

/// Documents between two looks at the clock.
const STRIDE: u64 = 64;

/// A bar over the bytes of a corpus, with documents, rate and time left.
struct Reading {
    bar: ProgressBar,
    progress: Progress,
    calls: Cell<u64>,
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
    fn update(&self) {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get().is_multiple_of(STRIDE) {
            self.bar.set_position(self.progress.bytes_read());
            let documents = self.progress.documents();
            let rate = documents as f64 / self.bar.elapsed().as_secs_f64().max(1e-3);
            self.bar
                .set_message(format!("{} documents, {rate:.0}/s", HumanCount(documents)));
        }
    }

    fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Bars for the stages of work on an index, one after the other.
#[derive(Default)]
pub(crate) struct Stages {
    /// How far the corpus has been read, which is the bar of the stage that reads it.
    corpus: Option<Progress>,
    current: RefCell<Option<Bar>>,
}

enum Bar {
    Reading(Reading),
    Counting(ProgressBar),
}

impl Stages {
    /// For work that reads a corpus.
    pub(crate) fn reading(corpus: &Corpus) -> Self {
        Self {
            corpus: Some(corpus.progress()),
            ..Self::default()
        }
    }

    /// Takes the last bar away.
    pub(crate) fn clear(&self) {
        match self.current.take() {
            Some(Bar::Reading(bar)) => bar.finish_and_clear(),
            Some(Bar::Counting(bar)) => bar.finish_and_clear(),
            None => {}
        }
    }
}

impl Observer for Stages {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        self.clear();
        let name = match stage {
            Stage::Counting => "counting words and pairs",
            Stage::Comparing => "documents compared",
            Stage::Indexing => "indexing",
            Stage::EncodingGroups => "token groups encoded",
            Stage::EncodingDocuments => "documents encoded",
            Stage::Merging => "documents merged",
            Stage::Compacting => "documents written anew",
            Stage::Finishing => "finishing",
            _ => "working",
        };
        let bar = match (&self.corpus, total) {
            (Some(progress), None) if stage != Stage::Finishing => {
                Bar::Reading(reading_as(progress, name))
            }
            _ => Bar::Counting(counting(total.unwrap_or_default(), name)),
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
}
