//! Stores are asked seldom, and it does not matter which one it is.

use crate::collection::{Collection, Dice, head};
use becr_rank::{Candidate, RankOptions, RankQuery, RankWorkspace, Ranker, Scored, Variant};
use becr_store::DocumentStore;
use becr_store::conformance::CountingStore;

/// Ranks all documents by their ids, as a caller does.
fn rank(
    ranker: &Ranker,
    store: &impl DocumentStore,
    text: &str,
    options: &RankOptions,
    documents: usize,
) -> (RankQuery, Vec<Option<Scored>>) {
    let ids: Vec<String> = (0..documents).map(|n| format!("d{n}")).collect();
    let mut ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    ids.push("nobody");
    let plan = ranker.plan(options).unwrap();
    let asked = ranker.query_for(store, text, &ids, &plan, None);
    let (query, numbers) = asked.unwrap();
    assert_eq!(numbers.iter().flatten().count(), documents);
    let candidates: Vec<Candidate<'_>> = numbers
        .iter()
        .flatten()
        .map(|&number| Candidate {
            number,
            first_stage: Some(number as f32),
            features: &[],
        })
        .collect();
    let work = &mut RankWorkspace::new();
    let scored = ranker.score(&query, store, &candidates, work).unwrap();
    (query, scored)
}

/// A query and its candidates take one question to the collection and one for the records, whatever is missing from
/// the token store, stop words with terms of their own included.
#[test]
fn a_ranking_takes_two_round_trips() {
    for seed in 0..8 {
        let collection = Collection::new(seed, 200);
        let mut head = head(seed);
        head.deep.stop_words = seed % 4 < 2;
        let ranker = collection.ranker(head);
        let store = CountingStore::new(collection.store.snapshot().unwrap());
        for variant in [Variant::Becr, Variant::NoPairs, Variant::NoUnigrams] {
            let options = RankOptions {
                variant,
                ..Default::default()
            };
            for text in ["zebra banks of the river", "the of", ""] {
                let (query, scored) = rank(&ranker, &store, text, &options, 200);
                assert_eq!(scored.iter().flatten().count(), 200);
                assert_eq!(store.trips(), 2, "{text:?} {variant:?}");
                assert_eq!(query.words().len(), text.split_whitespace().count());
            }
        }
        let query = ranker.query(&store, "river", &RankOptions::default(), None);
        assert_eq!(store.trips(), 1);
        let shaded = ranker.shading(&query.unwrap(), &store, 1, 0, &mut RankWorkspace::new());
        assert!(shaded.is_ok());
        assert_eq!(store.trips(), 2, "one for the text, one for the record");
    }
}

/// Scores are the same bits from the disk and from memory.
#[test]
fn stores_give_the_same_scores() {
    for seed in 0..6 {
        let collection = Collection::new(seed, 150);
        let memory = collection.in_memory();
        let ranker = collection.ranker(head(seed));
        let (disk, memory) = (collection.store.snapshot().unwrap(), memory.snapshot());
        let mut dice = Dice(seed + 7);
        for length in 0..8 {
            let text = dice.words(length);
            let options = RankOptions::default();
            let (query, expected) = rank(&ranker, &disk, &text, &options, 150);
            let (other, scored) = rank(&ranker, &memory, &text, &options, 150);
            assert_eq!(scored, expected, "{text:?}");
            assert_eq!(query.terms(), other.terms());
            assert_eq!(query.coverage(), other.coverage());
        }
    }
}
