//! The store as a whole: exact statistics, consistent snapshots, refusals.

use crate::Store;
use becr_store::{Documents, Header, NewDocument, Shape, StoreError};
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
    let odd = NewDocument {
        mean: &[0; 3],
        ..document("a", "", "x")
    };
    assert!(matches!(update.put(&odd), Err(StoreError::Refused { .. })));
    drop(update);
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
