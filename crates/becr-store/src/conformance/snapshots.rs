//! Snapshots and generations.

use super::Make;
use super::model::{Chance, Held, Put, change, with_pairs};
use crate::{DocumentStore, StoreContents, WriteStore, digest};

/// A change that is not committed never was.
pub fn dropped_changes_never_were<S: WriteStore>(make: Make<'_, S>) {
    let store = with_pairs(make);
    let before = digest(&store.snapshot().unwrap()).unwrap();
    let mut update = store.update().unwrap();
    let put = Put::random(&mut Chance::new(6));
    update.put(&put.document("a")).unwrap();
    update.set_companion(b"never");
    drop(update);
    let snapshot = store.snapshot().unwrap();
    assert_eq!(digest(&snapshot).unwrap(), before);
    assert_eq!(snapshot.numbers(&["a"]).unwrap(), [None]);
    assert_eq!(snapshot.generation().unwrap(), 1);
    assert_eq!(snapshot.companion().unwrap(), None);
}

/// A snapshot stays what it was, with its generation and the caller's bytes, whatever is written after it.
pub fn snapshots_stay_as_they_are<S: WriteStore>(make: Make<'_, S>) {
    let (store, mut chance, mut held) = (with_pairs(make), Chance::new(7), Held::new());
    let mut snapshots = Vec::new();
    let mut companion = None;
    for round in 0..12_u8 {
        let snapshot = store.snapshot().unwrap();
        let seen = digest(&snapshot).unwrap();
        snapshots.push((snapshot, seen, companion.clone(), held.clone()));
        let mut update = store.update().unwrap();
        change(&mut update, &mut chance, &mut held);
        if round % 3 == 0 {
            update.set_companion(&[round]);
            companion = Some(vec![round]);
        }
        update.commit().unwrap();
    }
    for (at, (snapshot, seen, companion, held)) in snapshots.iter().enumerate() {
        assert_eq!(snapshot.generation().unwrap(), at as u64 + 1);
        assert_eq!(digest(snapshot).unwrap(), *seen, "snapshot {at} changed");
        assert_eq!(snapshot.companion().unwrap(), companion.as_deref());
        let ids: Vec<&str> = held.keys().map(String::as_str).collect();
        let numbers = snapshot.numbers(&ids).unwrap();
        assert!(numbers.iter().all(Option::is_some));
    }
}
