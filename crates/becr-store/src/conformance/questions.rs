//! What a store answers, and in which order.

use super::Make;
use super::model::{Chance, Put, header, pair, unigram, with_pairs};
use crate::{DocumentStore, FetchBuffer, Question, Stem, StoreContents, WriteStore};
use becr_text::groups::Slot;
use std::ops::ControlFlow;

/// A document comes back as it went in.
pub fn documents_come_back<S: WriteStore>(make: Make<'_, S>) {
    let store = with_pairs(make);
    let mut chance = Chance::new(1);
    let put = Put {
        title: "The River".into(),
        text: "Bank of the river".into(),
        keep_text: true,
        features: vec![("pagerank".into(), 0.5), ("clicks".into(), 7.0)],
        ..Put::random(&mut chance)
    };
    let mut update = store.update().unwrap();
    let number = update.put(&put.document("a/ä b")).unwrap();
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.numbers(&["a/ä b"]).unwrap(), [Some(number)]);
    assert_eq!(snapshot.ids(&[number]).unwrap(), [Some("a/ä b".into())]);
    let mut buffer = FetchBuffer::default();
    let answer = snapshot.look_up(&Question::default(), &mut buffer).unwrap();
    assert_eq!(answer.totals.documents, 1);
    let mut seen = 0;
    let mut read = FetchBuffer::default();
    let fetched = snapshot.fetch(&[number], &mut read, &mut |_, found| {
        for found in found {
            seen += 1;
            let record = found.unwrap().check().unwrap();
            assert_eq!(record.footprints(), put.footprints);
            assert_eq!(
                (record.tokens(), record.cls()),
                (put.tokens as usize, put.cls)
            );
            assert_eq!(record.mean(), put.mean);
            let name =
                |(name, value): (u32, f32)| (answer.feature_names[name as usize].clone(), value);
            assert_eq!(
                record.features().map(name).collect::<Vec<_>>(),
                put.features
            );
            let words = record.forward().words();
            let spelled = |numbers: &[u32]| -> Vec<String> {
                let spelled = snapshot.spellings(numbers).unwrap();
                spelled.into_iter().flatten().collect()
            };
            assert_eq!(spelled(&words.title), ["the", "river"]);
            assert_eq!(spelled(&words.body), ["bank", "of", "the", "river"]);
        }
        ControlFlow::Continue(())
    });
    fetched.unwrap();
    assert_eq!(seen, 1);
    let text = snapshot.texts(&[number]).unwrap().pop().flatten().unwrap();
    assert_eq!((text.title, text.text), (put.title, put.text));
}

/// What a store does not have is none or nothing, in its place in the list.
pub fn unknown_things_are_unknown<S: WriteStore>(make: Make<'_, S>) {
    let store = with_pairs(make);
    let mut update = store.update().unwrap();
    let put = Put {
        text: "river".into(),
        ..Put::random(&mut Chance::new(2))
    };
    let number = update.put(&put.document("a")).unwrap();
    assert!(!update.delete("nobody").unwrap());
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let question = Question {
        ids: &["nobody", "a", ""],
        words: &["zebra", "river", ""],
        stems: &["zebra", "river", ""],
        pairs: &[pair("bank", "river"), pair("river", "bank")],
        groups: &[pair("bank", "river"), unigram("river"), unigram("zebra")],
        pieces: None,
    };
    let mut buffer = FetchBuffer::default();
    let answer = snapshot.look_up(&question, &mut buffer).unwrap();
    assert_eq!(answer.numbers, [None, Some(number), None]);
    let is_known: Vec<bool> = answer.words.iter().map(Option::is_some).collect();
    assert_eq!(is_known, [false, true, false]);
    assert_eq!(answer.stems[0], Stem::default());
    assert_eq!(answer.stems[1].frequency.body, 1);
    assert_eq!(answer.stems[1].words, [answer.words[1].unwrap()]);
    assert_eq!(answer.stems[2], Stem::default());
    assert_eq!(answer.pairs[0], None);
    assert!(answer.pairs[1].is_some());
    let is_known: Vec<bool> = answer.groups.iter().map(Option::is_some).collect();
    assert_eq!(is_known, [false, true, false]);
    assert_eq!(answer.groups[1].unwrap().footprint(1, Slot::First), [9; 4]);
    assert!(answer.pieces.is_empty());
    assert_eq!(snapshot.texts(&[number + 1]).unwrap(), [None]);
    assert_eq!(snapshot.ids(&[number + 1]).unwrap(), [None]);
    assert_eq!(snapshot.spellings(&[u32::MAX]).unwrap(), [None]);
    assert_eq!(snapshot.companion().unwrap(), None);
}

/// Records come in the order that was asked for, each once, in as many chunks as the store likes, and no more after a stop.
pub fn records_come_in_order<S: WriteStore>(make: Make<'_, S>) {
    let store = make(&header());
    let mut update = store.update().unwrap();
    let mut chance = Chance::new(3);
    for number in 0..150 {
        let put = Put {
            tokens: number,
            footprints: vec![number as u8; 8 * number as usize],
            ..Put::random(&mut chance)
        };
        let stored = update.put(&put.document(&number.to_string())).unwrap();
        assert_eq!(stored, u64::from(number));
    }
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    // Every third is not there, and one is asked for twice.
    let numbers: Vec<u64> = (0..200_u64)
        .map(|n| if n % 3 == 0 { 1000 + n } else { n * 7 % 150 })
        .collect();
    let (mut seen, mut buffer) = (0, FetchBuffer::default());
    let fetched = snapshot.fetch(&numbers, &mut buffer, &mut |first, found| {
        assert_eq!(first, seen, "a chunk out of its place");
        for found in found {
            match found {
                Some(found) => {
                    let record = found.check().unwrap();
                    assert_eq!(record.tokens() as u64, numbers[seen]);
                    assert!(
                        record
                            .footprints()
                            .iter()
                            .all(|&b| u64::from(b) == numbers[seen])
                    );
                }
                None => assert!(numbers[seen] >= 1000, "record {} is missing", numbers[seen]),
            }
            seen += 1;
        }
        ControlFlow::Continue(())
    });
    fetched.unwrap();
    assert_eq!(seen, numbers.len());
    let mut chunks = 0;
    let stopped = snapshot.fetch(&numbers, &mut buffer, &mut |_, _| {
        chunks += 1;
        ControlFlow::Break(())
    });
    stopped.unwrap();
    assert_eq!(chunks, 1);
    let none = snapshot.fetch(&[], &mut buffer, &mut |_, found| {
        assert!(found.is_empty());
        ControlFlow::Continue(())
    });
    none.unwrap();
}

/// The pieces of a word that the store lacks come with the same answer.
pub fn wordpieces_stand_in_for_words<S: WriteStore>(make: Make<'_, S>) {
    let store = make(&header());
    let mut update = store.update().unwrap();
    for (n, word) in ["river", "##s", "bank"].into_iter().enumerate() {
        update.put_group(&unigram(word), &[n as u8; 8]).unwrap();
    }
    update.commit().unwrap();
    let split = |word: &str| match word.strip_suffix('s') {
        Some(stem) => vec![stem.to_owned(), "##s".to_owned(), "##never".to_owned()],
        None => vec![word.to_owned()],
    };
    let snapshot = store.snapshot().unwrap();
    let question = Question {
        groups: &[unigram("rivers"), unigram("bank"), unigram("zebra")],
        pieces: Some(&split),
        ..Question::default()
    };
    let mut buffer = FetchBuffer::default();
    let answer = snapshot.look_up(&question, &mut buffer).unwrap();
    assert!(answer.groups[0].is_none() && answer.groups[1].is_some());
    for (piece, expected) in [
        ("river", Some(0)),
        ("##s", Some(1)),
        ("##never", None),
        ("zebra", None),
    ] {
        let found = answer
            .pieces
            .iter()
            .find(|(group, _)| *group == unigram(piece));
        let byte = found.map(|(_, record)| record.footprints()[0]);
        assert_eq!(byte, expected, "{piece}");
    }
}
