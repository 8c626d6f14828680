//! Progress on standard error: bars on a terminal, a plain line every few seconds elsewhere, nothing with `--quiet`.

use crate::output;
use becr::{Observer, Plan, Stage};
use becr_corpus::{Corpus, Progress};
use indexmap::IndexMap;
use indicatif::{
    BinaryBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle,
};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often a bar is drawn while nothing is heard of the work.
const TICK: Duration = Duration::from_millis(250);
/// How often the rate of reading is computed anew.
const REFRESH: Duration = Duration::from_millis(200);
/// How long a stage runs before its pace is told: a rate of the first milliseconds would be off by orders.
const SETTLED: Duration = Duration::from_millis(500);
/// How often a line is written where there is no terminal.
const LINE: Duration = Duration::from_secs(5);

/// What the position of a bar counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Things,
    Bytes,
}

/// A bar over the bytes of a file that is fetched.
pub(crate) fn download(file: &'static str, bytes: u64) -> ProgressBar {
    let template = "{prefix} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
    shown(ProgressBar::new(bytes), template, file, Unit::Bytes)
}

/// A bar over `count` things.
pub fn counting(count: u64, what: &'static str) -> ProgressBar {
    let template = "{prefix} {wide_bar} {human_pos}/{human_len}, {per_sec}, {eta} left {msg}";
    shown(ProgressBar::new(count), template, what, Unit::Things)
}

/// Draws a bar from now on, at once and several times a second, or writes lines in its place.
fn shown(bar: ProgressBar, template: &str, name: &'static str, unit: Unit) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(name);
    if output::is_quiet() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    } else if std::io::stderr().is_terminal() {
        bar.enable_steady_tick(TICK);
    } else {
        write_lines(&bar, unit);
    }
    bar
}

/// Writes a line every few seconds until the bar is finished or gone.
fn write_lines(bar: &ProgressBar, unit: Unit) {
    let weak = bar.downgrade();
    let work = move || {
        loop {
            std::thread::sleep(LINE);
            match weak.upgrade() {
                Some(bar) if !bar.is_finished() => output::note(line(&bar, unit)),
                _ => return,
            }
        }
    };
    // Without a thread there are no lines, which is no reason to stop.
    let _ = std::thread::Builder::new().spawn(work);
}

/// How far the work is, in words.
fn line(bar: &ProgressBar, unit: Unit) -> String {
    let amount = |value: u64| match unit {
        Unit::Things => HumanCount(value).to_string(),
        Unit::Bytes => BinaryBytes(value).to_string(),
    };
    let mut line = bar.prefix();
    match (bar.position(), bar.length()) {
        (done, Some(length)) => {
            line.push_str(&format!(": {} of {}", amount(done), amount(length)));
        }
        (0, None) => {}
        (done, None) => line.push_str(&format!(": {}", amount(done))),
    }
    match bar.message() {
        message if message.is_empty() => {
            let elapsed = HumanDuration(bar.elapsed());
            format!("{line}, {elapsed} so far")
        }
        message if message.starts_with(',') => format!("{line}{message}"),
        message => format!("{line}, {message}"),
    }
}

/// Bars for the stages of work on an index, one after the other.
#[derive(Default)]
pub struct Stages {
    /// How far the corpus has been read, which is the bar of the stages that do nothing but read it.
    corpus: Option<Progress>,
    current: RefCell<Option<Running>>,
    /// When each stage began.
    begun: RefCell<Vec<(&'static str, Instant)>>,
}

/// A stage that is under way.
struct Running {
    bar: ProgressBar,
    /// For a bar over the bytes of a corpus.
    corpus: Option<Progress>,
    pace: Pace,
    refreshed: Option<Instant>,
}

/// How fast the work goes, without what had been done before.
struct Pace {
    since: Instant,
    done: u64,
}

impl Pace {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            done: 0,
        }
    }

    /// What an earlier try had done takes hardly any time: the clock starts behind it.
    fn resumed(&mut self) {
        if self.done == 0 {
            self.since = Instant::now();
        }
    }

    fn per_second(&self) -> f64 {
        self.done as f64 / self.since.elapsed().as_secs_f64().max(1e-3)
    }

    /// The time that the rest takes if it goes on like this.
    fn left(&self, rest: u64) -> Option<Duration> {
        let seconds = rest as f64 / self.per_second();
        Duration::try_from_secs_f64(seconds).ok()
    }
}

/// A time in words.
pub(crate) fn duration(seconds: f64) -> HumanDuration {
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn rate(per_second: f64) -> String {
    match per_second {
        slow if slow < 10.0 => format!("{slow:.1}/s"),
        fast => format!("{}/s", HumanCount(fast as u64)),
    }
}

impl Running {
    fn new(name: &'static str, total: Option<u64>, corpus: Option<Progress>) -> Self {
        let bytes = corpus.as_ref().and_then(Progress::total_bytes);
        let bar = match (bytes, total) {
            (Some(bytes), _) => {
                let template = "{prefix} {wide_bar} {bytes}/{total_bytes}{msg} ({elapsed})";
                shown(ProgressBar::new(bytes), template, name, Unit::Bytes)
            }
            (None, Some(total)) => {
                let template = "{prefix} {wide_bar} {human_pos}/{human_len}{msg} ({elapsed})";
                shown(ProgressBar::new(total), template, name, Unit::Things)
            }
            (None, None) => {
                let template = "{spinner} {prefix}: {human_pos}{msg} ({elapsed})";
                shown(ProgressBar::no_length(), template, name, Unit::Things)
            }
        };
        Self {
            bar,
            corpus: corpus.filter(|_| bytes.is_some()),
            pace: Pace::new(),
            refreshed: None,
        }
    }

    /// Work whose extent nobody counts.
    fn waiting(name: &'static str) -> Self {
        let template = "{spinner} {prefix} ({elapsed})";
        Self {
            bar: shown(ProgressBar::no_length(), template, name, Unit::Things),
            corpus: None,
            pace: Pace::new(),
            refreshed: None,
        }
    }

    fn advance(&mut self, steps: u64) {
        self.pace.done += steps;
        if self.corpus.is_none() {
            self.bar.inc(steps);
        }
        // An encoder gives documents in bursts: a rate of the first of them, kept until the next burst, would be wrong.
        // Whoever only reads does so steadily, and often.
        let is_due = self.refreshed.is_none_or(|last| last.elapsed() >= REFRESH);
        // The last documents come when all is read: what they leave on the screen stays until the next stage.
        let is_read = |corpus: &Progress| Some(corpus.bytes_read()) >= corpus.total_bytes();
        if is_due || self.corpus.as_ref().is_none_or(is_read) {
            self.refreshed = Some(Instant::now());
            self.refresh();
        }
    }

    fn resumed(&mut self, steps: u64) {
        self.pace.resumed();
        self.bar.inc(steps);
    }

    fn refresh(&self) {
        let mut message = String::new();
        if let Some(corpus) = &self.corpus {
            self.bar.set_position(corpus.bytes_read());
            let documents = corpus.documents();
            let noun = output::noun(documents, "document");
            message = format!(", {} {noun}", HumanCount(documents));
        }
        if self.pace.since.elapsed() >= SETTLED {
            message.push_str(&self.outlook());
        }
        self.bar.set_message(message);
    }

    /// The pace, and how long the rest takes at it.
    fn outlook(&self) -> String {
        let mut message = format!(", {}", rate(self.pace.per_second()));
        if let Some(corpus) = &self.corpus {
            let read = corpus.bytes_read();
            let total = corpus.total_bytes().unwrap_or_default();
            let share = read as f64 / total.max(1) as f64;
            let left = self.pace.since.elapsed().as_secs_f64() * (1.0 - share) / share.max(1e-6);
            if let Ok(left) = Duration::try_from_secs_f64(left) {
                message = format!("{message}, {} left", HumanDuration(left));
            }
        } else if let Some(total) = self.bar.length()
            && let Some(left) = self.pace.left(total.saturating_sub(self.bar.position()))
        {
            message = format!("{message}, {} left", HumanDuration(left));
        }
        message
    }
}

impl Stages {
    /// For work that reads a corpus. Something moves from now on: models are opened before the first stage begins.
    pub(crate) fn reading(corpus: &Corpus) -> Self {
        Self {
            corpus: Some(corpus.progress()),
            current: RefCell::new(Some(Running::waiting("getting ready"))),
            begun: RefCell::new(vec![("getting ready", Instant::now())]),
        }
    }

    /// How long each stage took, the last one until now.
    pub(crate) fn seconds(&self) -> IndexMap<&'static str, f64> {
        let begun = self.begun.borrow();
        let ends = begun.iter().skip(1).map(|(_, begun)| *begun);
        let ends = ends.chain([Instant::now()]);
        (begun.iter().zip(ends))
            .map(|((name, begun), end)| (*name, (end - *begun).as_secs_f64()))
            .collect()
    }

    /// Takes the last bar away.
    pub(crate) fn clear(&self) {
        if let Some(running) = self.current.take() {
            running.bar.finish_and_clear();
        }
    }
}

impl Observer for Stages {
    fn wants_plan(&self) -> bool {
        !output::is_quiet()
    }

    fn expected_documents(&self) -> Option<u64> {
        let corpus = self.corpus.as_ref()?;
        let share = corpus.bytes_read() as f64 / corpus.total_bytes()?.max(1) as f64;
        let expected = corpus.documents() as f64 / share;
        // Of nothing read, nothing is known.
        expected.is_finite().then_some(expected as u64)
    }

    fn planned(&self, plan: &Plan) {
        self.clear();
        output::note("To do, at the pace of a short trial on this machine:");
        if plan.groups.count > 0 {
            output::note(format_args!(
                "  about {}: {} words and pairs at {} ({} more are known already)",
                duration(plan.groups.seconds),
                HumanCount(plan.groups.count),
                rate(plan.groups.per_second),
                HumanCount(plan.known_groups),
            ));
        }
        output::note(format_args!(
            "  about {}: {} documents of some {:.0} tokens at {} tokens/s",
            duration(plan.documents.seconds),
            HumanCount(plan.documents.count),
            plan.tokens_per_document,
            HumanCount(plan.documents.per_second as u64),
        ));
    }

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
        self.begun.borrow_mut().push((name, Instant::now()));
        // An encoder reads ahead: what was read says nothing of what is done.
        let reads = matches!(stage, Stage::Counting | Stage::Indexing) && total.is_none();
        let corpus = self.corpus.clone().filter(|_| reads);
        let running = match (stage, total) {
            // All are known, and only have to be written.
            (Stage::EncodingGroups, Some(0)) => Running::waiting("storing token groups"),
            _ => Running::new(name, total, corpus),
        };
        self.current.replace(Some(running));
    }

    fn advance(&self, steps: u64) {
        if let Some(running) = &mut *self.current.borrow_mut() {
            running.advance(steps);
        }
    }

    fn resumed(&self, steps: u64) {
        if let Some(running) = &mut *self.current.borrow_mut() {
            running.resumed(steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_before_says_nothing_of_the_pace() {
        let mut running = Running::new("documents", Some(1000), None);
        running.resumed(900);
        running.pace.since = Instant::now() - Duration::from_secs(10);
        for _ in 0..20 {
            running.advance(1);
        }
        let line = line(&running.bar, Unit::Things);
        assert!(
            line.starts_with("documents: 920 of 1,000, 2.0/s, "),
            "{line}"
        );
        // 80 are left, at two a second.
        let left = running.pace.left(80).unwrap().as_secs_f64();
        assert!((39.0..41.0).contains(&left), "{left}");
    }

    #[test]
    fn the_pace_of_the_first_moment_is_not_told() {
        let mut running = Running::new("documents", Some(1000), None);
        running.advance(1);
        assert_eq!(running.bar.message(), "");
        running.pace.since = Instant::now() - Duration::from_secs(1);
        running.advance(1);
        let said = running.bar.message();
        assert!(said.starts_with(", 2.0/s, 8 minutes left"), "{said}");
    }

    #[test]
    fn what_nobody_counts_has_no_number() {
        let line = line(&Running::waiting("getting ready").bar, Unit::Things);
        assert!(line.starts_with("getting ready, "), "{line}");
    }

    #[test]
    fn before_the_first_step_the_time_so_far_is_told() {
        let running = Running::new("documents", Some(7), None);
        let line = line(&running.bar, Unit::Things);
        assert!(line.starts_with("documents: 0 of 7, "), "{line}");
        assert!(line.ends_with("so far"), "{line}");
    }
}
