//! Readers while a writer works: every record that is read is the one that was written under its id.

use becr_lmdb::Store;
use becr_store::{Header, NewDocument, Shape};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SPAN: Duration = Duration::from_secs(2);
const READERS: usize = 3;
const DOCUMENTS: u64 = 60;
const SHAPE: Shape = Shape {
    layers: 2,
    bits: 64,
    vector: 0,
};

/// Small numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Footprints that tell which document they belong to, and which version of it: short ones live among others
/// in a page of the tree, long ones in pages of their own.
fn footprints(document: u64, version: u32) -> Vec<u8> {
    let tokens = if document.is_multiple_of(3) {
        4
    } else {
        600 + version as usize % 700
    };
    let stamp = [document.to_le_bytes(), u64::from(version).to_le_bytes()].concat();
    stamp.repeat(tokens)
}

fn put(update: &mut becr_lmdb::Update<'_>, document: u64, version: u32) {
    update
        .put(&NewDocument {
            id: &document.to_string(),
            text: &format!("word{document} version{}", version % 50),
            keep_text: true,
            tokens: version,
            footprints: &footprints(document, version),
            mean: &[document as u8; 8],
            ..Default::default()
        })
        .unwrap();
}

/// Puts, replaces and deletes until it is told to stop; counts its commits.
fn write(store: &Store, stop: &AtomicBool, commits: &AtomicU64) {
    let mut dice = Dice(17);
    let mut version = 1;
    while !stop.load(Ordering::Relaxed) {
        let mut update = store.update().unwrap();
        for _ in 0..1 + dice.below(5) {
            let document = dice.below(DOCUMENTS);
            if dice.below(4) == 0 {
                update.delete(&document.to_string()).unwrap();
            } else {
                put(&mut update, document, version);
            }
            version += 1;
        }
        update.commit().unwrap();
        commits.fetch_add(1, Ordering::Relaxed);
    }
}

/// Checks all documents of one snapshot; returns how many there were.
fn check(store: &Store, commits: &AtomicU64) -> u64 {
    let snapshot = store.snapshot().unwrap();
    let numbers: Vec<u64> = (0..DOCUMENTS)
        .filter_map(|document| snapshot.number(&document.to_string()).unwrap())
        .collect();
    snapshot.prefetch(&numbers);
    let totals = snapshot.totals().unwrap();
    assert_eq!(totals.documents, numbers.len() as u64);
    // The writer goes on under our hands.
    let before = commits.load(Ordering::Relaxed);
    let deadline = Instant::now() + Duration::from_millis(50);
    while commits.load(Ordering::Relaxed) < before + 2 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let mut tokens = 0;
    for &number in &numbers {
        let id = snapshot.id(number).unwrap().unwrap();
        let document: u64 = id.parse().unwrap();
        // Reading verifies the checksum; what is checked here is that it is the right record.
        let record = snapshot.record(number).unwrap().unwrap();
        let version = record.tokens() as u32;
        assert_eq!(
            record.footprints(),
            footprints(document, version),
            "document {id}"
        );
        assert_eq!(record.mean(), [document as u8; 8]);
        let text = snapshot.text(number).unwrap().unwrap();
        assert_eq!(text.text, format!("word{document} version{}", version % 50));
        tokens += record.tokens() as u64;
    }
    assert_eq!(totals.tokens, tokens);
    numbers.len() as u64
}

#[test]
fn readers_see_whole_snapshots_while_a_writer_works() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &Header::new("encoder-1", SHAPE, 3)).unwrap();
    let mut update = store.update().unwrap();
    (0..DOCUMENTS).for_each(|document| put(&mut update, document, 0));
    update.commit().unwrap();
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let read = || {
        let ends = Instant::now() + SPAN;
        let mut records = 0;
        while Instant::now() < ends {
            records += check(&store, &commits);
        }
        records
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write(&store, &stop, &commits));
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let records: Vec<_> = readers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        // The writer is let go before anything is said about the readers.
        stop.store(true, Ordering::Relaxed);
        for records in records {
            assert!(records.unwrap() > 0);
        }
    });
    assert!(commits.load(Ordering::Relaxed) > 5);
    let findings = store.snapshot().unwrap().verify().unwrap();
    assert_eq!(findings.problems, Vec::<String>::new());
}
