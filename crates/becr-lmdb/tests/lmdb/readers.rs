//! Reader slots: those of killed processes are freed, and running out of them is an error.

use crate::child::Other;
use crate::{document, file_bytes, header, put};
use becr_lmdb::Store;
use becr_store::StoreError;

/// Writes over one document again and again; returns by how much the file grew.
fn growth(store: &Store, folder: &std::path::Path) -> u64 {
    let before = file_bytes(folder);
    (0..60).for_each(|_| put(store, "a", 256 << 10));
    file_bytes(folder) - before
}

/// Pages that a reader sees are not used again, so that one that was killed would make the file grow for ever.
#[test]
fn a_killed_reader_holds_no_pages() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    put(&store, "a", 256 << 10);
    let mut other = Other::start(folder.path());
    assert_eq!(other.ask("snapshot"), "taken");
    assert!(growth(&store, folder.path()) > 8 << 20, "a living one does");
    other.kill();
    assert!(growth(&store, folder.path()) < 2 << 20);
}

#[test]
fn running_out_of_slots_is_an_error_and_slots_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let mut snapshots = Vec::new();
    let error = loop {
        match store.snapshot() {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(error) => break error,
        }
    };
    assert!(snapshots.len() >= 4000, "{}", snapshots.len());
    assert!(matches!(error, StoreError::Readers { .. }), "{error}");
    // Prefetching does without, and writing too.
    snapshots[0].prefetch(&[0, 1, 2]);
    put(&store, "a", 16);
    snapshots.pop();
    assert!(store.snapshot().unwrap().number("a").unwrap().is_some());
}

/// When all slots are taken, those of killed processes are freed before a snapshot is refused.
#[test]
fn slots_of_killed_processes_are_freed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let mut other = Other::start(folder.path());
    (0..3).for_each(|_| assert_eq!(other.ask("snapshot"), "taken"));
    let mut snapshots = Vec::new();
    while let Ok(snapshot) = store.snapshot() {
        snapshots.push(snapshot);
    }
    other.kill();
    assert!(store.snapshot().is_ok());
}

#[test]
fn a_snapshot_keeps_the_store_open_and_moves_to_another_thread() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    put(&store, "a", 16);
    let snapshot = store.snapshot().unwrap();
    drop(store);
    let thread = std::thread::spawn(move || {
        let number = snapshot.number("a").unwrap().unwrap();
        snapshot.record(number).unwrap().unwrap().tokens()
    });
    assert_eq!(thread.join().unwrap(), 2);
}

#[test]
fn generations_count_commits_and_the_companion_goes_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let empty = store.snapshot().unwrap();
    assert_eq!(empty.generation().unwrap(), 0);
    assert_eq!(empty.companion().unwrap(), None);
    put(&store, "a", 16);
    let mut update = store.update().unwrap();
    update.put(&document("b", &[])).unwrap();
    update.set_companion(b"first");
    update.commit().unwrap();
    let second = store.snapshot().unwrap();
    let mut update = store.update().unwrap();
    update.set_companion(b"never");
    drop(update);
    store.update().unwrap().commit().unwrap();
    let third = store.snapshot().unwrap();
    let seen = [&empty, &second, &third].map(|snapshot| {
        let companion = snapshot.companion().unwrap().map(<[u8]>::to_vec);
        (snapshot.generation().unwrap(), companion)
    });
    let first = Some(b"first".to_vec());
    assert_eq!(seen, [(0, None), (2, first.clone()), (3, first)]);
}
