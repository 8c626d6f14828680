//! Scores that are relative to the list of candidates, against the formulas and at the edges.

use crate::collection::{Collection, Dice, head, list_head};
use becr_model::Head;
use becr_rank::{Candidate, OWN_BM25, RankError, RankOptions, RankWorkspace, Ranker, Scored};

const TEXT: &str = "spring water of the river bank";

pub(crate) fn score(
    collection: &Collection,
    ranker: &Ranker,
    text: &str,
    options: &RankOptions,
    candidates: &[Candidate<'_>],
) -> Vec<Option<Scored>> {
    let snapshot = collection.store.snapshot().unwrap();
    let query = ranker.query(&snapshot, text, options, None).unwrap();
    let work = &mut RankWorkspace::new();
    ranker.score(&query, &snapshot, candidates, work).unwrap()
}

fn scored(collection: &Collection, head: Head, candidates: &[Candidate<'_>]) -> Vec<Scored> {
    let ranker = collection.ranker(head);
    let scored = score(
        collection,
        &ranker,
        TEXT,
        &RankOptions::default(),
        candidates,
    );
    scored.into_iter().flatten().collect()
}

/// The cosines of the query and every candidate's vector.
pub(crate) fn cosines(
    collection: &Collection,
    ranker: &Ranker,
    text: &str,
    options: &RankOptions,
    candidates: &[Candidate<'_>],
) -> Vec<Option<f32>> {
    let snapshot = collection.store.snapshot().unwrap();
    let query = ranker.query(&snapshot, text, options, None).unwrap();
    let mut cosines = Vec::new();
    let work = &mut RankWorkspace::new();
    let seen = ranker.features(&query, &snapshot, candidates, work, |document| {
        cosines.push(document.document_vector());
        Ok::<(), RankError>(())
    });
    seen.unwrap();
    cosines
}

/// Mean 0, deviation 1; what is missing stays missing.
pub(crate) fn z(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let count = values.iter().flatten().count() as f64;
    let mean = values.iter().flatten().sum::<f64>() / count;
    let squares = values.iter().flatten().map(|x| (x - mean).powi(2));
    let deviation = (squares.sum::<f64>() / count).sqrt();
    let z = |x: &Option<f64>| x.map(|x| (x - mean) / deviation);
    values.iter().map(z).collect()
}

pub(crate) fn wide(values: &[Option<f32>]) -> Vec<Option<f64>> {
    values.iter().map(|x| x.map(f64::from)).collect()
}

/// Min–max of the first stage's scores, 0 where there is none.
pub(crate) fn first_stage(candidates: &[Candidate<'_>]) -> Vec<f64> {
    let scores: Vec<Option<f64>> =
        wide(&candidates.iter().map(|c| c.first_stage).collect::<Vec<_>>());
    let least = scores
        .iter()
        .flatten()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let most = scores
        .iter()
        .flatten()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let scale = |x: &Option<f64>| x.map_or(0.0, |x| (x - least) / (most - least));
    scores.iter().map(scale).collect()
}

/// The cosine of two documents' vectors, from what the collection was made of.
fn likeness(collection: &Collection, a: usize, b: usize) -> f64 {
    let (a, b) = (&collection.documents[a].mean, &collection.documents[b].mean);
    if collection.shape.is_relative() {
        let unpacked = |packed: &Vec<u32>| {
            let mut vector = [0.0; 16];
            becr_footprint::unpack(packed.iter().copied(), &mut vector);
            vector
        };
        let (a, b) = (unpacked(a), unpacked(b));
        return a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum();
    }
    let bits: u32 = a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum();
    (std::f64::consts::PI * f64::from(bits) / f64::from(collection.shape.bits)).cos()
}

/// S_deep = 1.5·z(x) + 0.4·z(mean likeness to the three best others), x being what a head without all that gives.
#[test]
fn equal_to_the_formulas() {
    for seed in 20..32 {
        let collection = Collection::new(seed, 23);
        let candidates = collection.candidates();
        let mut plain = list_head(seed);
        (plain.deep.scale, plain.feedback) = (None, None);
        let plain_scores = scored(&collection, plain.clone(), &candidates);
        let deep: Vec<Option<f64>> = plain_scores
            .iter()
            .map(|s| Some(f64::from(s.deep)))
            .collect();
        let cosines = cosines(
            &collection,
            &collection.ranker(plain),
            TEXT,
            &RankOptions::default(),
            &candidates,
        );
        let chosen = z(&wide(&cosines));
        let best_first = {
            let mut places: Vec<usize> = (0..candidates.len()).collect();
            places.retain(|&at| cosines[at].is_some());
            let first_stage = first_stage(&candidates);
            let by = |at: usize| first_stage[at] + 0.8 * chosen[at].unwrap();
            places.sort_by(|&a, &b| by(b).total_cmp(&by(a)));
            places
        };
        let likeness_to_best = |at: usize| {
            cosines[at]?;
            let others = best_first.iter().filter(|&&other| other != at).take(3);
            let cosines = others.map(|&other| likeness(&collection, at, other));
            Some(cosines.sum::<f64>() / 3.0)
        };
        let likenesses: Vec<Option<f64>> = (0..candidates.len()).map(likeness_to_best).collect();
        let (deep, likenesses) = (z(&deep), z(&likenesses));
        let found = scored(&collection, list_head(seed), &candidates);
        for (at, (found, plain)) in found.iter().zip(&plain_scores).enumerate() {
            let expected = 1.5 * deep[at].unwrap() + 0.4 * likenesses[at].unwrap_or(0.0);
            let error = (f64::from(found.deep) - expected).abs();
            assert!(error < 2e-3, "{seed} {at}: {} {expected}", found.deep);
            assert_eq!((found.lexi, found.others), (plain.lexi, plain.others));
        }
    }
}

/// Stretching and moving all deep sums of a list changes nothing.
#[test]
fn affine_changes_of_the_deep_part_do_not_matter() {
    for seed in 0..6 {
        let collection = Collection::new(seed, 30);
        let candidates = collection.candidates();
        let before = scored(&collection, list_head(seed), &candidates);
        let mut head = list_head(seed);
        head.deep.alpha.iter_mut().flatten().for_each(|a| *a *= 3.5);
        let vector = head.deep.document_vector.as_mut().unwrap();
        vector.weight *= 3.5;
        // An empty document has no vector, hence no part in the move.
        if collection.documents.iter().all(|d| d.tokens > 0) {
            vector.mean += 0.4;
        }
        for (before, after) in before.iter().zip(scored(&collection, head, &candidates)) {
            let error = (before.score - after.score).abs();
            assert!(error < 1e-3, "{} {}", before.score, after.score);
        }
    }
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let collection = Collection::new(13, 30);
    let candidates = collection.candidates();
    let expected = scored(&collection, list_head(13), &candidates);
    let backwards: Vec<_> = candidates.iter().rev().copied().collect();
    let mut found = scored(&collection, list_head(13), &backwards);
    found.reverse();
    for (expected, found) in expected.iter().zip(found) {
        assert_eq!(expected.number, found.number);
        assert!((expected.score - found.score).abs() < 1e-5);
    }
}

/// Lists of every length, with equal values, documents without a token and missing ones: scores are numbers.
#[test]
fn short_and_odd_lists_are_scored() {
    for seed in [2, 3] {
        let collection = Collection::new(seed, 12);
        let all = collection.candidates();
        let mut plain = list_head(seed);
        (plain.deep.scale, plain.feedback) = (None, None);
        for length in [0, 1, 2, 4, 5, 12] {
            let candidates = &all[..length];
            let found = scored(&collection, list_head(seed), candidates);
            assert_eq!(found.len(), length);
            assert!(found.iter().all(|scored| scored.score.is_finite()));
            if length == 1 {
                assert_eq!(found[0].deep, 0.0);
            }
            if (2..5).contains(&length) {
                // The list's mean, the head's deviation, and no feedback.
                let plain = scored(&collection, plain.clone(), candidates);
                let mean = plain.iter().map(|s| s.deep).sum::<f32>() / length as f32;
                for (found, plain) in found.iter().zip(plain) {
                    let expected = 1.5 * (plain.deep - mean) / 0.7;
                    assert!((found.deep - expected).abs() < 1e-3 * expected.abs().max(1.0));
                }
            }
        }
        let same = [all[1]; 7];
        let found = scored(&collection, list_head(seed), &same);
        assert!(found.iter().all(|s| s.deep.abs() < 1e-9), "{found:?}");
    }
    let nothing = vec![(String::new(), String::new()); 6];
    let collection = Collection::of_texts(crate::collection::shape(1), &mut Dice(1), &nothing);
    let found = scored(&collection, list_head(1), &collection.candidates());
    assert!(found.iter().all(|s| s.deep.abs() < 1e-9), "{found:?}");
}

/// A candidate that has gone is as if it had never been in the list.
#[test]
fn a_missing_candidate_changes_nothing() {
    let collection = Collection::new(7, 20);
    let candidates = collection.candidates();
    let expected = scored(&collection, list_head(7), &candidates);
    let gone = Candidate {
        number: 4711,
        ..Default::default()
    };
    let longer: Vec<_> = [&candidates[..4], &[gone], &candidates[4..]].concat();
    let ranker = collection.ranker(list_head(7));
    let found = score(&collection, &ranker, TEXT, &RankOptions::default(), &longer);
    assert_eq!(found[4], None);
    assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), expected);
    let snapshot = collection.store.snapshot().unwrap();
    let query = ranker
        .query(&snapshot, TEXT, &RankOptions::default(), None)
        .unwrap();
    let work = &mut RankWorkspace::new();
    let error = ranker.explain(&query, &snapshot, &longer, 4, work);
    assert!(matches!(error, Err(RankError::NoDocument(4711))));
}

/// Both entries of a document that is in the list twice have the same score, and it is not its own neighbour.
#[test]
fn duplicates_are_scored_alike() {
    let collection = Collection::new(5, 10);
    let mut candidates = collection.candidates();
    candidates.push(candidates[2]);
    let found = scored(&collection, list_head(5), &candidates);
    assert_eq!(found[2], found[10]);
    let snapshot = collection.store.snapshot().unwrap();
    let ranker = collection.ranker(list_head(5));
    let query = ranker
        .query(&snapshot, TEXT, &RankOptions::default(), None)
        .unwrap();
    let work = &mut RankWorkspace::new();
    let places: Vec<usize> = (0..candidates.len()).collect();
    let explained = ranker.explain_all(&query, &snapshot, &candidates, &places, work);
    for why in explained.unwrap() {
        let likeness = why.feedback.unwrap().value;
        assert!(
            likeness.is_none_or(|likeness| likeness < 0.999),
            "{likeness:?}"
        );
    }
}

/// Without the first stage's scores our own BM25 takes their place, for heads that go by the list.
#[test]
fn own_bm25_where_no_candidate_has_a_score() {
    let collection = Collection::new(9, 15);
    let mut candidates = collection.candidates();
    candidates.iter_mut().for_each(|c| c.first_stage = None);
    let snapshot = collection.store.snapshot().unwrap();
    let work = &mut RankWorkspace::new();
    let part = |head: Head, work: &mut RankWorkspace| {
        let ranker = collection.ranker(head);
        let query = ranker
            .query(&snapshot, TEXT, &RankOptions::default(), None)
            .unwrap();
        let why = ranker.explain_all(&query, &snapshot, &candidates, &[0, 1, 2], work);
        let first_stage = |why: &becr_rank::Explanation| {
            let mut parts = why.lexical.iter();
            let found = parts.find(|part| ["first_stage", OWN_BM25].contains(&part.name.as_str()));
            found.unwrap().clone()
        };
        why.unwrap().iter().map(first_stage).collect::<Vec<_>>()
    };
    let of_words = |work: &mut RankWorkspace| {
        let ranker = collection.ranker(head(9));
        let query = ranker
            .query(&snapshot, TEXT, &RankOptions::default(), None)
            .unwrap();
        let mut sums = Vec::new();
        let place = becr_rank::LEXICAL_FEATURES
            .iter()
            .position(|name| *name == "sum_bm25");
        let seen = ranker.features(&query, &snapshot, &candidates, work, |document| {
            sums.push(document.lexical()[place.unwrap()]);
            Ok::<(), RankError>(())
        });
        seen.unwrap();
        let least = sums.iter().copied().fold(f32::INFINITY, f32::min);
        let most = sums.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scale = move |sum: &f32| (sum - least) / (most - least);
        sums.iter().map(scale).collect::<Vec<f32>>()
    };
    let expected = of_words(work);
    for (found, expected) in part(list_head(9), work).iter().zip(&expected) {
        assert_eq!(found.name, OWN_BM25);
        assert!((found.value.unwrap() - expected).abs() < 1e-5);
    }
    for found in part(head(9), work) {
        assert_eq!(
            (found.name.as_str(), found.value),
            ("first_stage", Some(0.0))
        );
    }
}

/// One kernel is enough for the engine and the head.
#[test]
fn a_head_of_one_kernel_is_served() {
    for seed in [4, 5] {
        let collection = Collection::new(seed, 10);
        let mut head = list_head(seed);
        head.deep.kernels.mu = vec![1.0];
        head.deep.kernels.sigma = vec![0.1];
        head.deep.alpha.iter_mut().for_each(|row| *row = vec![0.2]);
        let found = scored(&collection, head, &collection.candidates());
        assert!(found.iter().any(|scored| scored.deep > 0.0));
    }
}
