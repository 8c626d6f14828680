//! The anchor: the first stage's score and one cosine.

use crate::collection::{Collection, head, list_head};
use crate::list::{cosines, first_stage, score, wide, z};
use becr_rank::{
    ANCHOR_WEIGHT, EncodedQuery, Part, Parts, QueryMode, RankOptions, RankWorkspace, Scorer,
};

const TEXT: &str = "spring water of the river bank";

fn options() -> RankOptions {
    RankOptions {
        scorer: Scorer::OneVector,
        ..RankOptions::default()
    }
}

/// The default's weight, the head's, the caller's; whatever else the head has.
#[test]
fn equal_to_its_formula() {
    for seed in [30, 31] {
        let collection = Collection::new(seed, 20);
        let candidates = collection.candidates();
        for (in_head, asked, weight) in [
            (None, None, ANCHOR_WEIGHT),
            (Some(0.4), None, 0.4),
            (Some(0.4), Some(2.0), 2.0),
        ] {
            let mut head = list_head(seed);
            head.anchor_weight = in_head;
            let options = RankOptions {
                weight: asked,
                ..options()
            };
            let ranker = collection.ranker(head);
            let z = z(&wide(&cosines(
                &collection,
                &ranker,
                TEXT,
                &options,
                &candidates,
            )));
            let first_stage = first_stage(&candidates);
            let found = score(&collection, &ranker, TEXT, &options, &candidates);
            for (at, scored) in found.iter().flatten().enumerate() {
                let deep = f64::from(weight) * z[at].unwrap_or(0.0);
                assert!((f64::from(scored.deep) - deep).abs() < 1e-4, "{at}");
                assert!((f64::from(scored.lexi) - first_stage[at]).abs() < 1e-6);
                assert_eq!(scored.others, 0.0);
            }
        }
    }
}

/// A composed query's one vector points where the sum of its terms' vectors does: cosines differ by a factor.
#[test]
fn a_composed_query_has_the_direction_of_its_terms() {
    let collection = Collection::new(31, 12);
    assert!(collection.shape.is_relative());
    let candidates = collection.candidates();
    let ranker = collection.ranker(head(31));
    let ask = |options| cosines(&collection, &ranker, TEXT, &options, &candidates);
    let (terms, whole) = (ask(RankOptions::default()), ask(options()));
    let pairs = terms.iter().flatten().zip(whole.iter().flatten());
    let ratios: Vec<f32> = pairs.map(|(terms, whole)| whole / terms).collect();
    assert!(ratios.len() > 5 && ratios[0] >= 1.0);
    for ratio in &ratios {
        assert!((ratio / ratios[0] - 1.0).abs() < 1e-3, "{ratios:?}");
    }
}

/// An encoded query's one vector is the encoder's: a query that is a document's own vector has cosine 1 to it.
#[test]
fn an_encoded_query_has_the_vector_that_the_encoder_gives() {
    for seed in [30, 31] {
        let collection = Collection::new(seed, 12);
        let ranker = collection.ranker(list_head(seed));
        let snapshot = collection.store.snapshot().unwrap();
        let shape = collection.shape;
        let each =
            usize::from(shape.layers) * usize::from(shape.bits) / 32 + usize::from(shape.vector);
        let encoder = |text: &str| {
            let words = becr_text::words::words(text).count();
            Ok(EncodedQuery {
                words: vec![0; words * each],
                whole: collection.documents[2].mean.clone(),
            })
        };
        for scorer in Scorer::ALL {
            let options = RankOptions {
                mode: Some(QueryMode::Encoded),
                scorer,
                ..RankOptions::default()
            };
            let query = ranker.query(&snapshot, TEXT, &options, Some(&encoder));
            let work = &mut RankWorkspace::new();
            let why = ranker.explain(
                &query.unwrap(),
                &snapshot,
                &collection.candidates(),
                2,
                work,
            );
            let cosine = why.unwrap().document_vector.unwrap().value.unwrap();
            assert!((cosine - 1.0).abs() < 1e-5, "{scorer:?} {cosine}");
        }
    }
}

#[test]
fn short_lists_and_parts_left_out() {
    let collection = Collection::new(30, 6);
    let all = collection.candidates();
    let ranker = collection.ranker(head(30));
    for length in [0, 1, 2, 4] {
        let found = score(&collection, &ranker, TEXT, &options(), &all[..length]);
        assert!(
            found
                .iter()
                .flatten()
                .all(|scored| scored.score.is_finite())
        );
    }
    let mut without = Parts::default();
    without.add(Part::Deep);
    let options = RankOptions {
        without,
        ..options()
    };
    let found = score(&collection, &ranker, TEXT, &options, &all);
    assert!(
        found
            .iter()
            .flatten()
            .all(|s| s.deep == 0.0 && s.score == s.lexi)
    );
    let snapshot = collection.store.snapshot().unwrap();
    let query = ranker.query(&snapshot, TEXT, &options, None).unwrap();
    let work = &mut RankWorkspace::new();
    let why = ranker.explain(&query, &snapshot, &all, 0, work).unwrap();
    assert!(why.rows().iter().all(|row| row.part == Part::Lexi));
}
