//! One environment for each file, by whatever path it is reached.

use crate::child::Other;
use crate::{has, header, put};
use becr_lmdb::Store;
use becr_store::StoreError;
use std::fs;

#[test]
fn a_store_that_is_opened_again_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let (first, link) = (folder.path().join("first"), folder.path().join("link"));
    let moved = folder.path().join("moved");
    let store = Store::create(&first, &header()).unwrap();
    put(&store, "a", 16);
    std::os::unix::fs::symlink(&first, &link).unwrap();
    let by_link = Store::open(&link).unwrap();
    put(&by_link, "b", 16);
    assert!(has(&Store::create(&first, &header()).unwrap(), "b"));
    fs::rename(&first, &moved).unwrap();
    let by_new_name = Store::open(&moved).unwrap();
    put(&by_new_name, "c", 16);
    assert!(has(&store, "c"));
    // With all of them gone it is opened anew, and has a lock of its own again.
    drop((store, by_link, by_new_name));
    assert!(has(&Store::open(&moved).unwrap(), "c"));
}

#[test]
fn a_store_that_was_replaced_while_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("store"), folder.path().join("old"));
    let store = Store::create(&path, &header()).unwrap();
    put(&store, "old", 16);
    fs::rename(&path, &away).unwrap();
    let error = Store::create(&path, &header()).err().unwrap();
    assert!(matches!(error, StoreError::Replaced(_)), "{error}");
    // The old one goes on, under its new name too, and the path is free when it is gone.
    assert!(has(&Store::open(&away).unwrap(), "old"));
    let snapshot = store.snapshot().unwrap();
    drop(store);
    assert!(matches!(
        Store::create(&path, &header()),
        Err(StoreError::Replaced(_))
    ));
    drop(snapshot);
    let store = Store::create(&path, &header()).unwrap();
    assert!(!has(&store, "old"));
}

/// Threads that open, use and let go of one store: at times the last one closes it while another opens it.
#[test]
fn opening_waits_for_closing() {
    let folder = tempfile::tempdir().unwrap();
    put(&Store::create(folder.path(), &header()).unwrap(), "a", 16);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..300 {
                    assert!(has(&Store::open(folder.path()).unwrap(), "a"));
                }
            });
        }
    });
}

/// A new file may get the inode of one that was deleted, while the store of that one is still being closed.
#[test]
fn inodes_are_used_again() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                for round in 0..150 {
                    let path = folder.join(format!("{thread}-{round}"));
                    let store = Store::create(&path, &header()).unwrap();
                    assert!(!has(&store, "a"), "another store");
                    fs::remove_dir_all(&path).unwrap();
                }
            });
        }
    });
}

#[test]
fn processes_see_each_others_changes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let mut other = Other::start(folder.path());
    put(&store, "ours", 16);
    assert_eq!(other.ask("has ours"), "true");
    assert_eq!(other.ask("put theirs"), "put");
    assert!(has(&store, "theirs"));
    // That another clone of ours is closed takes no lock away: theirs still counts us among the living.
    let snapshot = store.snapshot().unwrap();
    drop(Store::open(folder.path()).unwrap());
    (0..30).for_each(|_| assert_eq!(other.ask("put theirs"), "put"));
    let number = snapshot.number("theirs").unwrap().unwrap();
    assert!(snapshot.record(number).unwrap().is_some());
}
