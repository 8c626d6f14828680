//! What a store must not take, and what it leaves behind then: nothing.

use super::Make;
use super::model::{Chance, Put, header, pair, unigram, with_pairs};
use crate::{
    Batch, DocumentStore, FetchBuffer, FrequencyChange, MAX_ID_BYTES, NewDocument, PairChange,
    Question, StemChange, StoreContents, StoreError, WriteStore, digest, verify,
};

/// Documents and groups of the wrong size are refused, and the change goes on as if they had never been tried.
pub fn what_is_refused_leaves_no_trace<S: WriteStore>(make: Make<'_, S>) {
    let mut digests = Vec::new();
    for tries in [true, false] {
        let store = with_pairs(make);
        let mut chance = Chance::new(4);
        let (first, second) = (Put::random(&mut chance), Put::random(&mut chance));
        let mut update = store.update().unwrap();
        update.put(&first.document("a")).unwrap();
        update.commit().unwrap();
        let mut update = store.update().unwrap();
        update.put(&second.document("b")).unwrap();
        for id in ["a", "b", "c"].into_iter().filter(|_| tries) {
            let odd = NewDocument {
                mean: &[0; 3],
                text: "words that nobody had",
                features: &[("new".into(), 1.0)],
                ..first.document(id)
            };
            let error = update.put(&odd).unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{error}");
            let long = "i".repeat(MAX_ID_BYTES + 1);
            let error = update.put(&first.document(&long)).unwrap_err();
            assert!(matches!(error, StoreError::LongId { .. }), "{error}");
            for (group, footprints) in [
                (unigram("river"), &[0; 7][..]),
                // A new pair could not be counted in the documents that are there.
                (pair("loan", "bank"), &[0; 16]),
            ] {
                let error = update.put_group(&group, footprints).unwrap_err();
                assert!(matches!(error, StoreError::Refused { .. }), "{error}");
            }
        }
        update.put_group(&unigram("loan"), &[1; 8]).unwrap();
        update.put(&second.document("d")).unwrap();
        update.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(verify(&snapshot).unwrap().problems, Vec::<String>::new());
        let question = Question {
            words: &["nobody"],
            ..Question::default()
        };
        let mut buffer = FetchBuffer::default();
        let answer = snapshot.look_up(&question, &mut buffer).unwrap();
        assert_eq!(answer.words, [None]);
        assert!(!answer.feature_names.contains(&"new".to_owned()));
        digests.push((digest(&snapshot).unwrap(), answer.totals));
    }
    assert_eq!(digests[0], digests[1]);
}

/// A change that was made from another state than the store now has, or that takes more away than there is, is refused as a
/// whole.
pub fn impossible_changes_are_refused<S: WriteStore>(make: Make<'_, S>) {
    let store = with_pairs(make);
    let before = digest(&store.snapshot().unwrap()).unwrap();
    for base in [0, 2, u64::MAX] {
        let batch = Batch {
            base,
            feature_names: vec!["new".into()],
            companion: Some(vec![1]),
            ..Batch::default()
        };
        let error = store.apply(store.begin().unwrap(), &batch).unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    }
    // Counts that would fall below nothing show that they were wrong.
    let change = FrequencyChange { title: 0, body: -1 };
    let (stem, words) = ("river".to_owned(), Vec::new());
    let stems = vec![StemChange {
        stem,
        change,
        words,
    }];
    let pair = "river bank".to_owned();
    let pairs = vec![PairChange { pair, change }];
    for (stems, pairs) in [(stems, Vec::new()), (Vec::new(), pairs)] {
        let batch = Batch {
            base: 1,
            stems,
            pairs,
            ..Batch::default()
        };
        let error = store.apply(store.begin().unwrap(), &batch).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.generation().unwrap(), 1);
    assert_eq!(snapshot.companion().unwrap(), None);
    assert_eq!(digest(&snapshot).unwrap(), before);
}

/// Ids and words are kept however long they are, up to what is allowed.
pub fn long_ids_and_words_are_kept<S: WriteStore>(make: Make<'_, S>) {
    let store = make(&header());
    let put = Put {
        text: "w".repeat(5000),
        ..Put::random(&mut Chance::new(5))
    };
    let mut update = store.update().unwrap();
    for length in [0, 1, 500, 501, 5000, MAX_ID_BYTES] {
        update.put(&put.document(&"i".repeat(length))).unwrap();
    }
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    for length in [0, 1, 500, 501, 5000, MAX_ID_BYTES] {
        let id = "i".repeat(length);
        let number = snapshot.numbers(&[&id]).unwrap()[0].unwrap();
        assert_eq!(snapshot.ids(&[number]).unwrap(), [Some(id)]);
    }
    let question = Question {
        words: &[&put.text],
        ..Question::default()
    };
    let mut buffer = FetchBuffer::default();
    let word = snapshot.look_up(&question, &mut buffer).unwrap().words[0];
    assert_eq!(
        snapshot.spellings(&[word.unwrap()]).unwrap(),
        [Some(put.text)]
    );
    assert_eq!(verify(&snapshot).unwrap().problems, Vec::<String>::new());
}
