//! Frequencies of pairs that are estimated from those of words.

use crate::collection::{Collection, Dice, head};
use becr_model::PairFrequency;
use becr_rank::{LEXICAL_FEATURES, RankError, RankOptions, RankWorkspace, Ranker};
use becr_store::DocumentStore;

/// The values of `body_bm25_pairs` and `title_bm25_pairs`.
fn pairs(ranker: &Ranker, store: &impl DocumentStore, text: &str, documents: usize) -> Vec<f32> {
    let ids: Vec<String> = (0..documents).map(|n| format!("d{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let plan = ranker.plan(&RankOptions::default()).unwrap();
    let (query, numbers) = ranker.query_for(store, text, &ids, &plan, None).unwrap();
    let candidate = |number: &u64| becr_rank::Candidate {
        number: *number,
        ..Default::default()
    };
    let candidates: Vec<_> = numbers.iter().flatten().map(candidate).collect();
    let mut values = Vec::new();
    let work = &mut RankWorkspace::new();
    let seen = ranker.features(&query, store, &candidates, work, |document| {
        let names = LEXICAL_FEATURES.iter().zip(document.lexical());
        values.extend(
            names
                .filter(|(name, _)| name.ends_with("_pairs"))
                .map(|(_, x)| *x),
        );
        Ok::<(), RankError>(())
    });
    seen.unwrap();
    values
}

/// They are the same whatever the token store has, and whatever came and went.
#[test]
fn they_do_not_depend_on_the_token_store_or_on_history() {
    let mut differing = 0;
    for seed in 0..6 {
        let collection = Collection::new(seed, 40);
        let (with, without) = (
            collection.store.snapshot().unwrap(),
            collection.without_groups(),
        );
        let without = without.snapshot();
        let mut estimating = head(seed);
        estimating.pair_frequency = PairFrequency::Words;
        let (counting, estimating) = (collection.ranker(head(seed)), collection.ranker(estimating));
        let text = Dice(seed + 3).words(6);
        let expected = pairs(&estimating, &with, &text, 40);
        assert!(expected.iter().any(|value| *value > 0.0), "{text}");
        assert_eq!(pairs(&estimating, &without, &text, 40), expected);
        let counted = pairs(&counting, &with, &text, 40);
        differing += usize::from(pairs(&counting, &without, &text, 40) != counted);
    }
    assert!(differing > 0, "counts of the store do depend on it");
}
