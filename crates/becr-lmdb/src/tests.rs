//! The store as a whole: exact statistics, consistent snapshots, refusals.

use crate::Store;
use becr_store::{Documents, Header, MAX_ID_BYTES, NewDocument, Shape, StoreError};
use becr_text::groups::TokenGroup;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SHAPE: Shape = Shape {
    layers: 2,
    bits: 32,
    vector: 0,
};

fn header() -> Header {
    Header::new("encoder-1", SHAPE, 2)
}

fn document<'a>(id: &'a str, title: &'a str, text: &'a str) -> NewDocument<'a> {
    NewDocument {
        id,
        title,
        text,
        footprints: &[1; 16],
        mean: &[2; 4],
        tokens: 2,
        ..Default::default()
    }
}

fn pair(first: &str, second: &str) -> TokenGroup {
    TokenGroup::Pair(first.into(), second.into())
}

/// Totals, stems and pairs of a store, as readable rows.
fn statistics(store: &Store) -> Vec<String> {
    let snapshot = store.snapshot().unwrap();
    let totals = snapshot.totals().unwrap();
    let mut rows = vec![format!(
        "{} {} {} {}",
        totals.documents, totals.title_words, totals.body_words, totals.tokens
    )];
    for stem in ["river", "bank", "loan", "the", "boat"] {
        rows.push(format!(
            "{stem} {:?}",
            snapshot.stem(stem).unwrap().frequency
        ));
    }
    for (first, second) in PAIRS {
        rows.push(format!(
            "{first} {second} {:?}",
            snapshot.pair(&pair(first, second)).unwrap()
        ));
    }
    rows
}

const PAIRS: [(&str, &str); 3] = [("river", "bank"), ("the", "boat"), ("bank", "bank")];

fn with_pairs(dir: &std::path::Path) -> Store {
    let store = Store::create(dir, &header()).unwrap();
    let mut update = store.update().unwrap();
    for (first, second) in PAIRS {
        update.put_group(&pair(first, second), &[7; 16]).unwrap();
    }
    update.commit().unwrap();
    store
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, String, String),
    Delete(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let word = prop::sample::select(vec![
        "river", "bank", "banks", "loan", "the", "boat", "Boats",
    ]);
    let text = prop::collection::vec(word, 0..8).prop_map(|words| words.join(" "));
    let put = (0u8..5, text.clone(), text).prop_map(|(id, title, body)| Step::Put(id, title, body));
    prop::collection::vec(
        prop_oneof![3 => put, 1 => (0u8..5).prop_map(Step::Delete)],
        0..20,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn statistics_are_those_of_the_documents_that_are_left(steps in steps(), every in 1usize..6) {
        let (changed, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = with_pairs(changed.path());
        let mut left = BTreeMap::new();
        for batch in steps.chunks(every) {
            let mut update = store.update().unwrap();
            for step in batch {
                match step {
                    Step::Put(id, title, body) => {
                        update.put(&document(&id.to_string(), title, body)).unwrap();
                        left.insert(*id, (title, body));
                    }
                    Step::Delete(id) => {
                        let was_there = left.remove(id).is_some();
                        prop_assert_eq!(update.delete(&id.to_string()).unwrap(), was_there);
                    }
                }
            }
            update.commit().unwrap();
        }
        let expected = with_pairs(fresh.path());
        let mut update = expected.update().unwrap();
        for (id, (title, body)) in &left {
            update.put(&document(&id.to_string(), title, body)).unwrap();
        }
        update.commit().unwrap();
        prop_assert_eq!(statistics(&store), statistics(&expected));
        let digest = |store: &Store| store.snapshot().unwrap().digest().unwrap();
        prop_assert_eq!(digest(&store), digest(&expected));
        let findings = store.snapshot().unwrap().verify().unwrap();
        prop_assert_eq!(findings.problems, Vec::<String>::new());
        prop_assert_eq!(findings.documents, left.len() as u64);
    }
}

/// What footprints are relative to comes back, and counts in a digest.
#[test]
fn relative_footprints_are_kept() {
    let relative = Header {
        shape: Shape {
            layers: 1,
            bits: 64,
            vector: 2,
        },
        ..header()
    };
    let digest = |share: f32, lengths: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path(), &relative).unwrap();
        let mut update = store.update().unwrap();
        let new = NewDocument {
            footprints: &[1; 16],
            mean: &[7; 8],
            share,
            lengths,
            ..document("a", "", "river")
        };
        let number = update.put(&new).unwrap();
        update.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let record = snapshot.record(number).unwrap().unwrap();
        assert_eq!((record.share(), record.lengths()), (share, lengths));
        assert_eq!(record.shape(), relative.shape);
        assert!(snapshot.verify().unwrap().problems.is_empty());
        snapshot.digest().unwrap()
    };
    let one = digest(0.5, &[1, 2]);
    assert_eq!(one, digest(0.5, &[1, 2]));
    assert_ne!(one, digest(0.25, &[1, 2]));
    assert_ne!(one, digest(0.5, &[1, 3]));
}

#[test]
fn a_document_comes_back_as_it_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let features = [("pagerank".to_owned(), 0.5), ("clicks".to_owned(), 7.0)];
    let new = NewDocument {
        keep_text: true,
        cls: -1.25,
        features: &features,
        ..document("a/ä b", "The River", "Bank of the river")
    };
    let mut update = store.update().unwrap();
    let number = update.put(&new).unwrap();
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.number("a/ä b").unwrap(), Some(number));
    assert_eq!(snapshot.id(number).unwrap(), Some("a/ä b"));
    let record = snapshot.record(number).unwrap().unwrap();
    assert_eq!(
        (record.tokens(), record.cls(), record.footprints()),
        (2, -1.25, &[1; 16][..])
    );
    let names = snapshot.feature_names().unwrap();
    let read: Vec<_> = record
        .features()
        .map(|(n, value)| (names[n as usize].clone(), value))
        .collect();
    assert_eq!(read, features);
    let words = record.forward().words();
    let spell = |numbers: &[u32]| -> Vec<String> {
        numbers
            .iter()
            .map(|&n| snapshot.spelling(n).unwrap().to_owned())
            .collect()
    };
    assert_eq!(spell(&words.title), ["the", "river"]);
    assert_eq!(spell(&words.body), ["bank", "of", "the", "river"]);
    assert_eq!(snapshot.text(number).unwrap().unwrap().title, "The River");
}

#[test]
fn a_dropped_update_never_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_pairs(folder.path());
    let before = statistics(&store);
    let mut update = store.update().unwrap();
    update.put(&document("a", "river", "bank")).unwrap();
    drop(update);
    assert_eq!(statistics(&store), before);
    assert_eq!(store.snapshot().unwrap().number("a").unwrap(), None);
}

#[test]
fn a_snapshot_does_not_see_later_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut update = store.update().unwrap();
    update.put(&document("a", "", "x")).unwrap();
    update.commit().unwrap();
    assert_eq!(snapshot.number("a").unwrap(), None);
    assert!(store.snapshot().unwrap().number("a").unwrap().is_some());
}

#[test]
fn other_encoders_and_wrong_sizes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_pairs(folder.path());
    assert!(store.check_encoder("encoder-1").is_ok());
    let error = store.check_encoder("encoder-2").unwrap_err();
    assert!(matches!(error, StoreError::OtherEncoder { .. }), "{error}");
    let mut update = store.update().unwrap();
    assert!(update.put_group(&pair("a", "b"), &[0; 3]).is_err());
    update.put(&document("a", "", "x")).unwrap();
    assert!(
        update.put_group(&pair("a", "b"), &[0; 16]).is_err(),
        "pairs come before documents"
    );
    assert!(
        update
            .put_group(&TokenGroup::Unigram("a".into()), &[0; 8])
            .is_ok()
    );
    drop(update);
    assert!(matches!(
        Store::open(&folder.path().join("nowhere")),
        Err(StoreError::Missing(_))
    ));
}

#[test]
fn a_store_begun_otherwise_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::create(folder.path(), &header()).unwrap());
    let composed = Header {
        documents: Documents::Composed,
        ..header()
    };
    let error = Store::create(folder.path(), &composed).err().unwrap();
    assert!(error.to_string().contains("composed"), "{error}");
    let other = Header {
        window: 5,
        ..header()
    };
    let error = Store::create(folder.path(), &other).err().unwrap();
    assert!(error.to_string().contains("window"), "{error}");
    drop(Store::create(folder.path(), &header()).unwrap());
}

#[test]
fn long_ids_and_long_words_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let (id, word) = ("i".repeat(5000), "w".repeat(5000));
    let mut update = store.update().unwrap();
    update.put(&document(&id, "", &word)).unwrap();
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let number = snapshot.number(&id).unwrap().unwrap();
    assert_eq!(snapshot.id(number).unwrap(), Some(id.as_str()));
    assert_eq!(
        snapshot
            .spelling(snapshot.word(&word).unwrap().unwrap())
            .unwrap(),
        word
    );
}

#[test]
fn groups_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_pairs(folder.path());
    let snapshot = store.snapshot().unwrap();
    let group = snapshot.group(&pair("river", "bank")).unwrap().unwrap();
    assert_eq!(group.footprint(1, becr_text::groups::Slot::Second), [7; 4]);
    assert!(snapshot.group(&pair("bank", "river")).unwrap().is_none());
    assert_eq!(snapshot.group_count().unwrap(), 3);
}

/// What cannot be read is damage: to take it for nothing would write wrong counts over it.
#[test]
fn unreadable_statistics_are_damage() {
    for stem in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let store = with_pairs(folder.path());
        let mut update = store.update().unwrap();
        update.put(&document("a", "", "river bank")).unwrap();
        update.commit().unwrap();
        let mut txn = store.env().write_txn().unwrap();
        let (table, key) = match stem {
            true => (store.tables().stems, "river"),
            false => (store.tables().pairs, "river bank"),
        };
        table.put(&mut txn, key.as_bytes(), &[1, 2, 3]).unwrap();
        txn.commit().unwrap();
        // "rivers" is a new word of a damaged stem; "river bank" has a damaged count.
        for text in ["rivers", "river bank"] {
            let mut update = store.update().unwrap();
            let put = update.put(&document("b", "", text));
            let error = put.and_then(|_| update.commit()).err();
            match (stem, text) {
                (false, "rivers") => assert!(error.is_none(), "{error:?}"),
                _ => assert!(
                    matches!(error, Some(StoreError::Damaged { .. })),
                    "{error:?}"
                ),
            }
        }
        let txn = store.env().read_txn().unwrap();
        let kept = table.get(&txn, key.as_bytes()).unwrap();
        assert_eq!(kept, Some(&[1, 2, 3][..]), "written over");
    }
}

#[test]
fn ids_that_are_too_long_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_pairs(folder.path());
    let (longest, longer) = ("i".repeat(MAX_ID_BYTES), "i".repeat(MAX_ID_BYTES + 1));
    let mut update = store.update().unwrap();
    update.put(&document(&longest, "", "river")).unwrap();
    let error = update.put(&document(&longer, "", "river")).unwrap_err();
    assert!(matches!(error, StoreError::LongId { .. }), "{error}");
    assert!(error.to_string().len() < 300, "{error}");
    update.commit().unwrap();
    assert_eq!(store.snapshot().unwrap().totals().unwrap().documents, 1);
}

/// Prefetching only makes reading faster: without a place for another reader it does nothing.
#[test]
fn prefetching_never_fails() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let mut update = store.update().unwrap();
    let put = |n: u64| update.put(&document(&n.to_string(), "", "river")).unwrap();
    let numbers: Vec<u64> = (0..100).map(put).collect();
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    snapshot.prefetch_together(&numbers);
    let mut others = Vec::new();
    while let Ok(other) = store.snapshot() {
        others.push(other);
    }
    snapshot.prefetch_together(&numbers);
    assert_eq!(
        snapshot.find(&numbers).unwrap().iter().flatten().count(),
        100
    );
}

/// A document that does not fit leaves the change as it was: it goes on, and the statistics are exact.
#[test]
fn what_is_refused_leaves_no_trace() {
    let (folder, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, expected) = (with_pairs(folder.path()), with_pairs(fresh.path()));
    for (store, tries) in [(&store, true), (&expected, false)] {
        let mut update = store.update().unwrap();
        update.put(&document("a", "river", "bank")).unwrap();
        update.commit().unwrap();
        let mut update = store.update().unwrap();
        update
            .put(&document("b", "the boat", "river bank"))
            .unwrap();
        for id in ["a", "b", "c"].into_iter().filter(|_| tries) {
            let odd = NewDocument {
                mean: &[0; 3],
                features: &[("new".into(), 1.0)],
                ..document(id, "river bank", "words that nobody had")
            };
            let error = update.put(&odd).unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        }
        update.put(&document("d", "", "boats")).unwrap();
        update.commit().unwrap();
    }
    assert_eq!(statistics(&store), statistics(&expected));
    let snapshot = store.snapshot().unwrap();
    let theirs = expected.snapshot().unwrap();
    assert_eq!(snapshot.verify().unwrap().problems, Vec::<String>::new());
    assert_eq!(snapshot.digest().unwrap(), theirs.digest().unwrap());
    assert_eq!(snapshot.totals().unwrap(), theirs.totals().unwrap());
    assert_eq!(snapshot.word("nobody").unwrap(), None);
    assert_eq!(snapshot.feature_names().unwrap(), Vec::<String>::new());
}
