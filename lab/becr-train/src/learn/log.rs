//! What happened, as JSON lines, and as curves.

use crate::{Step, TrainError, Validated};
use becr_eval::{Estimate, Panel, Plot, Series, estimate, write_atomically};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The log's name.
pub(crate) const FILE: &str = "log.jsonl";
/// The plot's name.
pub(crate) const CURVES: &str = "curves.svg";

/// More points would touch one another in the plot.
const POINTS: usize = 14;

/// A line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    Step(Step),
    Validated(Validated),
}

impl Event {
    fn step(&self) -> usize {
        match self {
            Self::Step(step) => step.step,
            Self::Validated(validated) => validated.step,
        }
    }
}

/// The log of a training.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    events: Vec<Event>,
}

impl Log {
    /// Opens the log of a folder and forgets what was written after `step`, which is going to happen again.
    pub(crate) fn open(folder: &Path, step: usize) -> Result<Self, TrainError> {
        let path = folder.join(FILE);
        let text = match step {
            0 => String::new(),
            _ => std::fs::read_to_string(&path).map_err(TrainError::io(&path))?,
        };
        let (mut events, mut lines) = (Vec::new(), Vec::new());
        for line in text.lines() {
            // A line that was being written when the process ended is none.
            if let Ok(event) = serde_json::from_str::<Event>(line)
                && event.step() <= step
            {
                events.push(event);
                lines.push(line);
            }
        }
        write_atomically(&path, |out| {
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))
        })?;
        let file = File::options()
            .append(true)
            .open(&path)
            .map_err(TrainError::io(&path))?;
        Ok(Self { path, file, events })
    }

    /// Writes a line.
    pub(crate) fn write(&mut self, event: Event) -> Result<(), TrainError> {
        self.events.push(event);
        line(&event)
            .and_then(|line| writeln!(self.file, "{line}"))
            .map_err(TrainError::io(&self.path))
    }

    /// Seconds that the training took so far, over all its runs.
    pub(crate) fn seconds(&self) -> f64 {
        let seconds = self.events.iter().map(|event| match event {
            Event::Step(step) => step.seconds,
            Event::Validated(validated) => validated.seconds,
        });
        seconds.fold(0.0, f64::max)
    }

    /// The steps that have a point: validations, or else equal parts, and not too many of them.
    fn ends(&self) -> Vec<usize> {
        let validated = self.events.iter().filter_map(|event| match event {
            Event::Validated(validated) => Some(validated.step),
            Event::Step(_) => None,
        });
        let mut steps: Vec<usize> = validated.collect();
        if steps.is_empty() {
            steps = self.events.iter().map(Event::step).collect();
        }
        // Counted from the end, which is always shown.
        let every = steps.len().div_ceil(POINTS).max(1);
        let mut ends: Vec<usize> = steps.into_iter().rev().step_by(every).collect();
        ends.reverse();
        ends
    }

    /// Draws loss and nDCG@10 over the steps.
    pub(crate) fn draw(&self, folder: &Path, queries: usize) -> Result<(), TrainError> {
        let ends = self.ends();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let parts: Vec<(usize, usize)> = starts.zip(ends.iter().copied()).collect();
        let losses = parts.iter().map(|&(start, end)| {
            let losses = self.events.iter().filter_map(|event| match event {
                Event::Step(step) if step.step > start && step.step <= end => Some(step.loss),
                _ => None,
            });
            estimate(&losses.collect::<Vec<_>>(), 0.95)
        });
        let ndcg = ends.iter().map(|&end| {
            let found = self.events.iter().find_map(|event| match event {
                Event::Validated(found) if found.step == end => Some(found.ndcg),
                _ => None,
            });
            found.map(|mean| Estimate {
                n: queries,
                mean,
                half_width: None,
            })
        });
        let panel = |y_label: &str, points: Vec<Option<Estimate>>| Panel {
            y_label: y_label.into(),
            series: vec![Series {
                name: "this training".into(),
                points,
            }],
        };
        let plot = Plot {
            x_label: "step".into(),
            categories: ends.iter().map(usize::to_string).collect(),
            panels: vec![
                panel("training loss", losses.collect()),
                panel("validation nDCG@10", ndcg.collect()),
            ],
        };
        let path = folder.join(CURVES);
        Ok(write_atomically(&path, |out| write!(out, "{plot}"))?)
    }
}

fn line(event: &Event) -> std::io::Result<String> {
    serde_json::to_string(event).map_err(std::io::Error::other)
}
