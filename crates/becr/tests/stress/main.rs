//! Searching while writing: every answer equals that of a store in memory at the answer's state.
//!
//! Four threads search, one adds, updates and deletes documents, one compacts twice; a second process reads. Every change
//! also rewrites a document that says how many changes there were, so that a view tells which state it is of, and a view
//! that mixes two states gives itself away.
//!
//! `BECR_STRESS_SECONDS` sets how long it goes on; the default suits a test run:
//!
//! ```text
//! BECR_STRESS_SECONDS=120 cargo test --release -p becr --test stress
//! ```

mod collection;
mod reference;
mod search;

use becr::Index;
use becr_index::live::LiveIndex;
use collection::{Collection, Dice, State};
use reference::Reference;
use search::{READER, Sample, search_until, searched_by_child};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const DOCUMENTS: usize = 5_000;
const SEARCHERS: u64 = 4;
/// Documents that a change puts or deletes.
const BATCH: usize = 20;
/// Documents that are changed in all.
const CHANGES: usize = 2_000;

fn seconds() -> u64 {
    let given = std::env::var("BECR_STRESS_SECONDS");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(10)
}

#[test]
fn searching_while_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let collection = Collection::build(&path);
    let mut state = State::first(DOCUMENTS);
    put_all(&path, &collection, &state);
    let index = Index::open(&path).unwrap();
    index.compact(&()).unwrap();
    let fresh = store_bytes(&index);

    let samples_of_child = folder.path().join("samples.jsonl");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_second_process_reads", "--nocapture"])
        .env(READER, &path)
        .env("BECR_STRESS_SAMPLES", &samples_of_child)
        .env("BECR_STRESS_SECONDS", seconds().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();

    let (stop, largest) = (AtomicBool::new(false), AtomicU64::new(0));
    let samples = Mutex::new(Vec::new());
    let mut states = vec![state.clone()];
    std::thread::scope(|scope| {
        for seed in 0..SEARCHERS {
            let (index, samples, stop) = (index.clone(), &samples, &stop);
            scope.spawn(move || {
                let found = search_until(&index, seed, || stop.load(Ordering::Relaxed));
                samples.lock().unwrap().extend(found);
            });
        }
        let compactor = scope.spawn(|| {
            for _ in 0..2 {
                std::thread::sleep(Duration::from_secs(seconds()) / 3);
                index.compact(&()).unwrap();
            }
        });
        let begun = Instant::now();
        let rounds = CHANGES / BATCH;
        let mut dice = Dice(99);
        for round in 0..rounds {
            let change = state.change(&mut dice, BATCH);
            let mut live = LiveIndex::open(&path).unwrap();
            live.apply(&collection.changes(&change)).unwrap();
            live.finish().unwrap();
            states.push(state.clone());
            largest.fetch_max(store_bytes(&index), Ordering::Relaxed);
            let due = Duration::from_secs(seconds()).mul_f64((round + 1) as f64 / rounds as f64);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        compactor.join().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    assert!(child.wait().unwrap().success(), "the second process failed");

    let mut samples = samples.into_inner().unwrap();
    let own = samples.len();
    samples.extend(searched_by_child(&samples_of_child));
    assert!(own > 100, "only {own} searches");
    assert!(
        samples.len() > own + 20,
        "the second process searched too little"
    );
    let ticks: std::collections::HashSet<u64> = samples.iter().map(|s| s.tick).collect();
    assert!(ticks.len() > 10, "only {} states were seen", ticks.len());
    compare(&index, &collection, &states, samples);
    let largest = largest.into_inner();
    assert!(
        largest <= fresh + fresh / 2,
        "the store grew from {fresh} to {largest} bytes"
    );
    assert!(index.verify().unwrap().problems.is_empty());
}

/// What the second process does.
#[test]
fn a_second_process_reads() {
    let Some(path) = std::env::var_os(READER) else {
        return;
    };
    let index = Index::open(path).unwrap();
    let begun = Instant::now();
    let samples = search_until(&index, 77, || begun.elapsed().as_secs() >= seconds());
    search::write(&samples);
}

/// Fills the index with its first state.
fn put_all(path: &std::path::Path, collection: &Collection, state: &State) {
    let mut live = LiveIndex::open(path).unwrap();
    for batch in state.all().chunks(500) {
        live.apply(&collection.changes(batch)).unwrap();
    }
    live.finish().unwrap();
}

fn store_bytes(index: &Index) -> u64 {
    let manifest = becr_index::manifest::Manifest::read(index.path()).unwrap();
    let file = manifest.store(index.path()).join("data.mdb");
    // A compaction may just have put another in its place.
    std::fs::metadata(file).map_or(0, |meta| meta.len())
}

/// Replays the changes in memory and compares every sample with the state it says it is of.
fn compare(index: &Index, collection: &Collection, states: &[State], mut samples: Vec<Sample>) {
    samples.sort_by_key(|sample| sample.tick);
    let mut reference = Reference::new(index, collection);
    let mut at = 0;
    reference.put(&states[0].all());
    for sample in &samples {
        while at < sample.tick {
            at += 1;
            reference.put(&states[at as usize].difference(&states[at as usize - 1]));
        }
        reference.check(sample, &states[at as usize]);
    }
}
