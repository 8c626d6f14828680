//! Searches, and what they found.

use crate::collection::Dice;
use becr::{Details, Error, ExplainOptions, Index, SearchOptions};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// Tells a child process which index to read.
pub(crate) const READER: &str = "BECR_STRESS_READER";

/// Candidates of a search, all of which are results.
const DEPTH: usize = 30;

/// A search and its answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// How many changes the state had seen.
    pub(crate) tick: u64,
    pub(crate) query: String,
    pub(crate) results: Vec<Found>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) score: f32,
    pub(crate) first_stage_rank: usize,
    pub(crate) first_stage_score: f32,
}

/// Searches until told to stop. Every answer is of one state, which a view keeps.
pub(crate) fn search_until(index: &Index, seed: u64, stop: impl Fn() -> bool) -> Vec<Sample> {
    let mut dice = Dice(seed);
    let mut samples = Vec::new();
    let options = SearchOptions {
        k: DEPTH,
        depth: DEPTH,
        details: Details::default(),
        ..SearchOptions::default()
    };
    while !stop() {
        let words = 1 + dice.below(4);
        let query = dice.words(words);
        let view = index.view().unwrap();
        let clock = view.text("clock").unwrap().unwrap();
        let tick = clock.text.strip_prefix("tick ").unwrap().parse().unwrap();
        let answer = view.search(&query, &options).unwrap();
        assert_eq!(answer.generation, view.generation());
        if samples.len() % 50 == 0 {
            explain(index, &view, &query, &answer.results);
        }
        let found = answer.results.into_iter().map(|result| Found {
            id: result.id,
            score: result.score,
            first_stage_rank: result.first_stage_rank.unwrap(),
            first_stage_score: result.first_stage_score,
        });
        samples.push(Sample {
            tick,
            query,
            results: found.collect(),
        });
        // A search without a view too: it sees some whole state.
        index.search("river bank", &options).unwrap();
    }
    samples
}

/// The explanation of a result speaks of the same score; the state can be asked for by name while the view lives, and
/// is gone, or the newest, afterwards.
fn explain(index: &Index, view: &becr::View, query: &str, results: &[becr::SearchResult]) {
    let Some(first) = results.first() else {
        return;
    };
    let kept = index.at(view.generation()).unwrap();
    let options = ExplainOptions {
        depth: DEPTH,
        ..ExplainOptions::default()
    };
    let explained = kept.explain(query, &[&first.id], &options).unwrap();
    assert_eq!(explained.documents[0].explanation.score as f32, first.score);
    assert_eq!(explained.documents[0].rank, Some(1));
    let never = becr::Generation {
        edition: 1 << 40,
        commit: 0,
    };
    assert!(matches!(index.at(never), Err(Error::Gone { .. })));
}

/// Writes samples to the file that the parent process named.
pub(crate) fn write(samples: &[Sample]) {
    let path = std::env::var_os("BECR_STRESS_SAMPLES").unwrap();
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    for sample in samples {
        serde_json::to_writer(&mut file, sample).unwrap();
        file.write_all(b"\n").unwrap();
    }
    file.flush().unwrap();
}

/// What the second process found.
pub(crate) fn searched_by_child(path: &Path) -> Vec<Sample> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
