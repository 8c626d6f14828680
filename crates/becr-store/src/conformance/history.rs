//! Long histories of changes: what is left is exact, however it came about.

use super::Make;
use super::model::{Chance, Held, PAIRS, change, filled, pair, with_pairs};
use crate::{Answer, FetchBuffer, Question, StoreContents, WriteStore, digest, verify};

const HISTORIES: u64 = 12;
const CHANGES: usize = 12;

/// After any history of changes the statistics are those of the documents that are left: equal to a recount, and to a store
/// that was filled with them at once.
pub fn statistics_are_exact<S: WriteStore>(make: Make<'_, S>) {
    for seed in 0..HISTORIES {
        let (store, mut chance, mut held) = (with_pairs(make), Chance::new(seed), Held::new());
        for _ in 0..CHANGES {
            let mut update = store.update().unwrap();
            change(&mut update, &mut chance, &mut held);
            update.commit().unwrap();
            let findings = verify(&store.snapshot().unwrap()).unwrap();
            assert_eq!(findings.problems, Vec::<String>::new(), "history {seed}");
            assert_eq!(findings.documents, held.len() as u64);
            assert_eq!(findings.groups, PAIRS.len() as u64 + 1);
        }
        let (ours, fresh) = (store.snapshot().unwrap(), filled(make, &held));
        let fresh = fresh.snapshot().unwrap();
        assert_eq!(statistics(&ours), statistics(&fresh), "history {seed}");
        assert_eq!(digest(&ours).unwrap(), digest(&fresh).unwrap());
    }
}

/// Two implementations that are given the same changes have the same digests at every generation, and give the same
/// answers.
pub fn agree<A: WriteStore, B: WriteStore>(one: Make<'_, A>, other: Make<'_, B>) {
    for seed in 100..100 + HISTORIES {
        let (one, other) = (with_pairs(one), with_pairs(other));
        let mut chances = [Chance::new(seed), Chance::new(seed)];
        let mut held = [Held::new(), Held::new()];
        for _ in 0..CHANGES {
            let mut update = one.update().unwrap();
            change(&mut update, &mut chances[0], &mut held[0]);
            update.commit().unwrap();
            let mut update = other.update().unwrap();
            change(&mut update, &mut chances[1], &mut held[1]);
            update.commit().unwrap();
            let (ours, theirs) = (one.snapshot().unwrap(), other.snapshot().unwrap());
            assert_eq!(ours.generation().unwrap(), theirs.generation().unwrap());
            assert_eq!(digest(&ours).unwrap(), digest(&theirs).unwrap());
            assert_eq!(answers(&ours, &held[0]), answers(&theirs, &held[1]));
        }
    }
}

/// Sums, stems and pairs, as readable rows. What tells the history (numbers of words) is left out.
fn statistics(store: &impl StoreContents) -> Vec<String> {
    let pairs = PAIRS.map(|(first, second)| pair(first, second));
    let question = Question {
        stems: &[
            "river", "bank", "loan", "the", "boat", "of", "uber", "zebra",
        ],
        pairs: &pairs,
        ..Question::default()
    };
    let mut buffer = FetchBuffer::default();
    let Answer {
        totals,
        stems,
        pairs,
        ..
    } = store.look_up(&question, &mut buffer).unwrap();
    let sums = (
        totals.documents,
        totals.title_words,
        totals.body_words,
        totals.tokens,
    );
    let frequencies: Vec<_> = stems.iter().map(|stem| stem.frequency).collect();
    vec![
        format!("{sums:?}"),
        format!("{frequencies:?}"),
        format!("{pairs:?}"),
    ]
}

/// Everything that the same history must answer alike, numbers too.
fn answers(store: &impl StoreContents, held: &Held) -> Vec<String> {
    let ids: Vec<&str> = held.keys().map(String::as_str).chain(["nobody"]).collect();
    let pairs = PAIRS.map(|(first, second)| pair(first, second));
    let question = Question {
        ids: &ids,
        words: &["river", "rivers", "uber", "zebra"],
        stems: &["river", "bank", "zebra"],
        pairs: &pairs,
        groups: &pairs,
        pieces: None,
    };
    let mut buffer = FetchBuffer::default();
    let answer = store.look_up(&question, &mut buffer).unwrap();
    let numbers: Vec<u64> = answer.numbers.iter().copied().flatten().collect();
    let groups: Vec<_> = answer
        .groups
        .iter()
        .map(|g| g.map(|g| g.footprints()))
        .collect();
    let mut rows = vec![
        format!("{:?} {:?}", answer.totals, answer.feature_names),
        format!("{:?} {:?}", answer.numbers, answer.words),
        format!("{:?} {:?} {groups:?}", answer.stems, answer.pairs),
        format!("{:?}", store.texts(&numbers).unwrap()),
    ];
    let mut buffer = FetchBuffer::default();
    let fetched = store.fetch(&numbers, &mut buffer, &mut |_, found| {
        let bytes = found.iter().map(|found| found.map(|found| found.bytes()));
        rows.extend(bytes.map(|bytes| format!("{bytes:?}")));
        std::ops::ControlFlow::Continue(())
    });
    fetched.unwrap();
    rows
}
