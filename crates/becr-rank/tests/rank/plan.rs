//! How a query is read and scored follows from what is asked for, the head and the index.

use crate::collection::{Collection, head};
use crate::mix::mixing;
use becr_model::QueryVector;
use becr_rank::{
    ANCHOR_WEIGHT, QueryMode, RankError, RankOptions, Ranker, Reading, Scorer, Variant,
};

fn ask(mode: Option<QueryMode>, variant: Variant) -> RankOptions {
    RankOptions {
        mode,
        variant,
        ..RankOptions::default()
    }
}

fn reading(ranker: &Ranker, mode: Option<QueryMode>, variant: Variant) -> Reading {
    ranker.plan(&ask(mode, variant)).unwrap().reading
}

#[test]
fn the_caller_wins_over_the_head_and_the_head_over_the_default() {
    let collection = Collection::new(31, 4);
    let mut head = head(31);
    let (composed, encoded) = (Some(QueryMode::Composed), Some(QueryMode::Encoded));
    for (in_head, expected) in [
        (None, Reading::Composed),
        (composed, Reading::Composed),
        (encoded, Reading::Encoded),
    ] {
        head.mode = in_head;
        let ranker = collection.ranker(head.clone());
        assert_eq!(reading(&ranker, None, Variant::Becr), expected);
        assert_eq!(reading(&ranker, composed, Variant::Becr), Reading::Composed);
        assert_eq!(reading(&ranker, encoded, Variant::Becr), Reading::Encoded);
        // A variant of the composition is one of a composed query.
        assert_eq!(reading(&ranker, None, Variant::NoPairs), Reading::Composed);
    }
}

#[test]
fn an_index_for_encoded_queries_composes_none() {
    let collection = Collection::new(31, 4);
    let ranker = collection.ranker(head(31)).encoded_only();
    assert_eq!(reading(&ranker, None, Variant::Becr), Reading::Encoded);
    let composed = Some(QueryMode::Composed);
    for options in [ask(composed, Variant::Becr), ask(None, Variant::NoPairs)] {
        let refused = ranker.plan(&options);
        assert!(
            matches!(refused, Err(RankError::EncodedOnly)),
            "{refused:?}"
        );
    }
}

#[test]
fn a_mixer_takes_words_alone_and_variants_take_no_mixer() {
    let collection = Collection::new(31, 4);
    let (ranker, _) = mixing(&collection, false);
    let plan = |variant| ranker.plan(&ask(None, variant)).unwrap();
    let mixed = plan(Variant::Becr);
    assert_eq!(mixed.reading, Reading::Mixed);
    assert_eq!(mixed.mode(), QueryMode::Composed);
    assert!(!mixed.decomposition.pairs && mixed.decomposition.unigrams);
    let plain = plan(Variant::Plain);
    assert_eq!(plain.reading, Reading::Composed);
    assert!(plain.decomposition.pairs && plain.decomposition.unigrams);
    assert!(!plan(Variant::NoUnigrams).decomposition.unigrams);
    assert_eq!(plan(Variant::Window1).decomposition.window, 1);
}

#[test]
fn the_one_vector_scorer_compares_one_vector_by_the_weight_asked_for() {
    let collection = Collection::new(31, 4);
    let mut head = head(31);
    assert_eq!(head.deep.query_vector, QueryVector::Terms);
    for (in_head, asked, weight) in [
        (None, None, ANCHOR_WEIGHT),
        (Some(0.4), None, 0.4),
        (Some(0.4), Some(2.0), 2.0),
    ] {
        head.anchor_weight = in_head;
        let options = RankOptions {
            scorer: Scorer::OneVector,
            weight: asked,
            ..RankOptions::default()
        };
        let plan = collection.ranker(head.clone()).plan(&options).unwrap();
        assert_eq!((plan.scorer, plan.weight), (Scorer::OneVector, weight));
        assert_eq!(plan.query_vector, QueryVector::Whole);
    }
    let composite = collection.ranker(head).plan(&RankOptions::default());
    assert_eq!(composite.unwrap().query_vector, QueryVector::Terms);
}
