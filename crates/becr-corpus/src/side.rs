//! Scores by document id from files beside the collection: PageRank, spam.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{CorpusError, ErrorKind, Fault};
use crate::hashed::AlreadyHashed;
use crate::input::Input;
use crate::lines::Lines;
use crate::progress::Progress;
use crate::skip::{OnError, SkipReport};
use becr_basics::Document;

/// Files of scores by document id: a line for each, id and score in either order (the Waterloo spam rankings put the score
/// first), separated by blanks or tabs, plain or compressed.
///
/// The scores are held in memory, 20 to 39 bytes per id for both files together: 1.1 GB for 50 million ids, half as
/// much again while the table grows.
#[derive(Clone, Debug, Default)]
pub struct SideFiles {
    /// PageRank; becomes the feature `pagerank`.
    pub pagerank: Option<PathBuf>,
    /// Spam scores, higher is better (a percentile in the Waterloo rankings); becomes the feature `spam`.
    pub spam: Option<PathBuf>,
    /// Documents whose spam score is below this are left out and counted. Documents without a score stay.
    pub spam_threshold: Option<f32>,
}

const PAGERANK: usize = 0;
const SPAM: usize = 1;
/// Names of the features, in the order of the scores.
const NAMES: [&str; 2] = ["pagerank", "spam"];

/// The scores of all ids, under 64-bit hashes of the ids: among 50 million ids the odds that any two collide, and one page
/// gets the other's score, are 1 in 15,000.
#[derive(Debug, Default)]
pub(crate) struct SideScores {
    scores: HashMap<u64, [f32; 2], BuildHasherDefault<AlreadyHashed>>,
    threshold: Option<f32>,
}

impl SideScores {
    /// Reads the files.
    pub(crate) fn read(
        files: &SideFiles,
        on_error: OnError,
        report: &mut SkipReport,
    ) -> Result<Self, CorpusError> {
        let mut side = Self {
            threshold: files.spam_threshold,
            ..Self::default()
        };
        for (path, column) in [(&files.pagerank, PAGERANK), (&files.spam, SPAM)] {
            if let Some(path) = path {
                side.read_file(path, column, on_error, report)?;
            }
        }
        Ok(side)
    }

    fn read_file(
        &mut self,
        path: &Path,
        column: usize,
        on_error: OnError,
        report: &mut SkipReport,
    ) -> Result<(), CorpusError> {
        let mut lines = Lines::new(Input::open(path, Progress::default())?);
        let mut order = None;
        while let Some(line) = lines.next_text() {
            let read = line.and_then(|(number, line)| {
                pair(line, &mut order).map_err(|found| {
                    Fault::line(
                        number,
                        ErrorKind::Form {
                            expected: EXPECTED,
                            found,
                        },
                    )
                })
            });
            match read {
                Ok(None) => {}
                Ok(Some((id, score))) => {
                    self.scores
                        .entry(xxh3_64(id.as_bytes()))
                        .or_insert([f32::NAN; 2])[column] = score;
                }
                Err(fault) => {
                    let error = fault.at(path);
                    if on_error == OnError::Stop || matches!(error.kind, ErrorKind::Io(_)) {
                        return Err(error);
                    }
                    report.add_fault(&error);
                }
            }
        }
        Ok(())
    }

    /// Gives a document its scores; false if it is below the spam threshold.
    pub(crate) fn apply(&self, document: &mut Document) -> bool {
        let Some(scores) = self.scores.get(&xxh3_64(document.id.as_bytes())) else {
            return true;
        };
        for (name, &score) in NAMES
            .iter()
            .zip(scores)
            .filter(|(_, score)| !score.is_nan())
        {
            document.set_feature(name, score);
        }
        // No score is not a bad score: the comparison with NaN is false.
        !self
            .threshold
            .is_some_and(|threshold| scores[SPAM] < threshold)
    }
}

const EXPECTED: &str = "an id and a score, in the order of the first line";

#[derive(Clone, Copy)]
enum Order {
    IdFirst,
    ScoreFirst,
}

/// Id and score of a line; `None` for a blank one. The first line tells the order for the file; where both columns are
/// numbers the id comes first.
fn pair<'a>(line: &'a str, order: &mut Option<Order>) -> Result<Option<(&'a str, f32)>, String> {
    let mut columns = line.split_whitespace();
    let (first, second) = match (columns.next(), columns.next(), columns.next()) {
        (None, _, _) => return Ok(None),
        (Some(first), Some(second), None) => (first, second),
        _ => return Err(format!("{} columns", line.split_whitespace().count())),
    };
    let known = order.or(match (score(first), score(second)) {
        (_, Some(_)) => Some(Order::IdFirst),
        (Some(_), None) => Some(Order::ScoreFirst),
        (None, None) => None,
    });
    let read = match known {
        Some(Order::IdFirst) => score(second).map(|value| (first, value)),
        Some(Order::ScoreFirst) => score(first).map(|value| (second, value)),
        None => None,
    };
    if read.is_some() {
        *order = known;
    }
    read.map(Some)
        .ok_or_else(|| format!("{first:?} and {second:?}"))
}

fn score(text: &str) -> Option<f32> {
    text.parse().ok().filter(|value: &f32| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_order() {
        let mut order = None;
        assert_eq!(pair("", &mut order), Ok(None));
        assert_eq!(
            pair("70 clueweb09-en0000-00-00000", &mut order),
            Ok(Some(("clueweb09-en0000-00-00000", 70.0)))
        );
        assert_eq!(pair("70 12", &mut order), Ok(Some(("12", 70.0))));
        assert!(pair("x 70", &mut order).is_err());
        let mut order = None;
        assert_eq!(pair("12\t0.5", &mut order), Ok(Some(("12", 0.5))));
        assert!(pair("12\tnan", &mut order).is_err());
        assert_eq!(pair("12", &mut order), Err("1 columns".to_owned()));
        assert_eq!(pair("a b c", &mut order), Err("3 columns".to_owned()));
    }
}
