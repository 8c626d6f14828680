//! What is particular to this store: what it is bound to, damage, and that it copies nothing.

use crate::Store;
use becr_store::DocumentStore;
use becr_store::{
    Documents, FetchBuffer, Header, NewDocument, Question, Shape, StoreContents, StoreError, Table,
};
use becr_text::groups::TokenGroup;

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
fn other_encoders_and_other_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_pairs(folder.path());
    assert!(store.check_encoder("encoder-1").is_ok());
    let error = store.check_encoder("encoder-2").unwrap_err();
    assert!(matches!(error, StoreError::OtherEncoder { .. }), "{error}");
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

/// Prefetching only makes reading faster: without a free reader slot it does nothing.
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

#[test]
fn what_lies_in_the_memory_map_is_lent() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_pairs(folder.path());
    let mut update = store.update().unwrap();
    let number = update.put(&document("a", "", "river")).unwrap();
    update.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let question = Question {
        groups: &[pair("river", "bank")],
        ..Question::default()
    };
    let mut buffer = FetchBuffer::default();
    let answer = snapshot.look_up(&question, &mut buffer).unwrap();
    assert!(answer.groups[0].is_some());
    let fetched = snapshot.fetch(&[number], &mut buffer, &mut |_, found| {
        assert!(found[0].is_some());
        std::ops::ControlFlow::Continue(())
    });
    fetched.unwrap();
    assert_eq!(buffer.values().count(), 0);
}

/// Short records share values and long ones do not, whatever they were before: nobody who asks for them notices.
#[test]
fn records_move_between_blocks_and_rows_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let words = |count: usize| -> String { (0..count).map(|n| format!("w{n} ")).collect() };
    let (short, long) = (words(30), words(9000));
    let change = |documents: &[(usize, &str)], gone: &[usize]| {
        let mut update = store.update().unwrap();
        for &(n, text) in documents {
            update.put(&document(&format!("d{n}"), "", text)).unwrap();
        }
        for n in gone {
            assert!(update.delete(&format!("d{n}")).unwrap());
        }
        update.commit().unwrap();
    };
    let check = |expected: &[(usize, &str)]| {
        let snapshot = store.snapshot().unwrap();
        for (n, text) in expected {
            let number = snapshot.number(&format!("d{n}")).unwrap().unwrap();
            let record = snapshot.record(number).unwrap().unwrap();
            let count = text.split_whitespace().count();
            assert_eq!(record.forward().body_words(), count, "d{n}");
        }
        assert_eq!(
            snapshot.rows(Table::Records).unwrap(),
            expected.len() as u64
        );
        let mut numbers = Vec::new();
        let visit = &mut |key: &[u8], _: &[u8]| {
            numbers.push(key.to_vec());
            std::ops::ControlFlow::Continue(())
        };
        snapshot.scan(Table::Records, visit).unwrap();
        assert!(numbers.is_sorted() && numbers.len() == expected.len());
        assert_eq!(snapshot.verify().unwrap().problems, [""; 0]);
        assert_eq!(snapshot.check_tables().unwrap().problems, [""; 0]);
        let sizes = snapshot.sizes().unwrap();
        assert_eq!(sizes[0].rows, expected.len() as u64);
        let rows = store.tables().records.len(snapshot.txn()).unwrap();
        (rows, snapshot.digest().unwrap())
    };
    let all: Vec<(usize, &str)> = (0..20)
        .map(|n| (n, if n % 5 == 4 { &*long } else { &*short }))
        .collect();
    change(&all, &[]);
    let (rows, first) = check(&all);
    assert!(
        rows < 10,
        "16 short records in few rows, 4 long ones: {rows}"
    );
    // Short ones grow, long ones shrink, some go.
    let mut other = all.clone();
    other[3].1 = &long;
    other[4].1 = &short;
    change(&[other[3], other[4]], &[0, 9, 19]);
    let rest: Vec<_> = other
        .iter()
        .filter(|(n, _)| ![0, 9, 19].contains(n))
        .copied()
        .collect();
    check(&rest);
    // And back.
    change(&[all[3], all[4], all[0], all[9], all[19]], &[]);
    assert_eq!(check(&all).1, first);
    change(&[], &(0..20).collect::<Vec<_>>());
    assert_eq!(check(&[]).0, 0, "no empty block is left");
}

/// A store may have short records in rows of their own: those of earlier versions do.
#[test]
fn short_records_by_themselves_are_found_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &header()).unwrap();
    let put = |text: &str| {
        let mut update = store.update().unwrap();
        let number = update.put(&document("a", "", text)).unwrap();
        update.commit().unwrap();
        number
    };
    let number = put("river bank");
    let records = store.tables().records;
    let mut txn = store.env().write_txn().unwrap();
    let key = crate::blocks::key(number);
    let block = records.get(&txn, &key).unwrap().unwrap().to_vec();
    let record = crate::blocks::record(&block, crate::blocks::place(number));
    let record = record.unwrap().unwrap();
    records.delete(&mut txn, &key).unwrap();
    records.put(&mut txn, &number, record).unwrap();
    txn.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.record(number).unwrap().is_some());
    assert_eq!(snapshot.check_tables().unwrap().problems, [""; 0]);
    drop(snapshot);
    let number = put("water");
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.record(number).unwrap().is_some());
    assert_eq!(snapshot.rows(Table::Records).unwrap(), 1);
    assert_eq!(snapshot.check_tables().unwrap().problems, [""; 0]);
}
