//! What a build is going to do, and how long each part of it takes on this machine.

use serde::Serialize;

/// The long parts of a build. What is done already, or known without encoding, is not among the work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Plan {
    /// Token groups to encode; `per_second` counts groups.
    pub groups: Work,
    /// Token groups whose vectors come with the model, from the cache, or from an earlier try.
    pub known_groups: u64,
    /// Documents to encode; `per_second` counts WordPieces.
    pub documents: Work,
    /// WordPieces of an average document, as far as a sample tells.
    pub tokens_per_document: f64,
}

/// Some work, and the pace that a trial measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Work {
    /// How many there are.
    pub count: u64,
    /// What a second gets done.
    pub per_second: f64,
    /// How long all of it takes.
    pub seconds: f64,
}

impl Work {
    /// `count` things, each of them `size` of what the pace counts.
    pub(crate) fn new(count: u64, size: f64, per_second: f64) -> Self {
        let seconds = match per_second > 0.0 {
            true => count as f64 * size / per_second,
            false => 0.0,
        };
        Self {
            count,
            per_second,
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_work_by_pace_and_no_work_takes_none() {
        assert_eq!(Work::new(1000, 200.0, 8000.0).seconds, 25.0);
        assert_eq!(Work::new(0, 1.0, 0.0).seconds, 0.0);
    }
}
