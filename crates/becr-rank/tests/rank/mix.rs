//! Composed queries whose words are mixed.

use crate::collection::{Collection, list_head};
use becr_footprint::lsh::{HyperplaneKind, Hyperplanes};
use becr_footprint::{pack, unpack};
use becr_rank::{
    EncodedQuery, MixedQuery, QueryMode, RankError, RankOptions, RankWorkspace, Ranker, Scored,
    Scorer, Variant,
};
use std::sync::{Arc, Mutex};

const DIM: usize = 16;
/// Words that the store knows, stop words among them.
const TEXT: &str = "spring water of the river bank";

fn planes() -> Hyperplanes {
    Hyperplanes::generate(DIM, 64, HyperplaneKind::Orthogonal, 3).unwrap()
}

/// Every word gets the vector of its neighbour, the query that of its last word: enough to tell who is who.
fn turned(words: &[f32]) -> MixedQuery {
    let mut terms = words.to_vec();
    terms.rotate_left(DIM);
    MixedQuery {
        query: words[words.len() - DIM..].to_vec(),
        terms,
    }
}

type Seen = Arc<Mutex<Vec<f32>>>;

pub(crate) fn mixing(collection: &Collection, stop_words: bool) -> (Ranker, Seen) {
    let mut head = list_head(31);
    head.deep.stop_words = stop_words;
    head.deep.query_vector = becr_model::QueryVector::Whole;
    let seen = Seen::default();
    let keep = seen.clone();
    let mix = move |words: &[f32]| {
        *keep.lock().unwrap() = words.to_vec();
        turned(words)
    };
    let ranker = collection.ranker(head);
    (ranker.with_mixer(Box::new(mix), planes()).unwrap(), seen)
}

fn scores(
    collection: &Collection,
    ranker: &Ranker,
    text: &str,
    options: &RankOptions,
    encoded: Option<&EncodedQuery>,
) -> Vec<Option<Scored>> {
    let snapshot = collection.store.snapshot().unwrap();
    let read = |_: &str| Ok(encoded.cloned().unwrap_or_default());
    let encoder = encoded.is_some().then_some(&read as _);
    let query = ranker.query(&snapshot, text, options, encoder).unwrap();
    let candidates = collection.candidates();
    let work = &mut RankWorkspace::default();
    ranker.score(&query, &snapshot, &candidates, work).unwrap()
}

/// The unit vector of a word of the store.
fn vector(collection: &Collection, word: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIM];
    let group = &collection.groups[word];
    unpack(group[2..5].iter().copied(), &mut vector);
    vector
}

/// What the encoder would have to say for the same scores.
fn as_encoded(mixed: &MixedQuery) -> EncodedQuery {
    let mut words = Vec::new();
    for vector in mixed.terms.chunks(DIM) {
        let mut footprint = [0; 2];
        planes().footprint(vector, &mut footprint).unwrap();
        words.extend(footprint);
    }
    words.extend(mixed.terms.chunks(DIM).flat_map(pack));
    EncodedQuery {
        words,
        whole: pack(&mixed.query),
    }
}

#[test]
fn a_mixed_query_is_scored_as_an_encoded_one_of_these_vectors() {
    let collection = Collection::new(31, 20);
    assert!(collection.shape.is_relative());
    for stop_words in [false, true] {
        let (ranker, seen) = mixing(&collection, stop_words);
        let words: Vec<f32> = TEXT
            .split(' ')
            .flat_map(|word| vector(&collection, word))
            .collect();
        let encoded = as_encoded(&turned(&words));
        for scorer in Scorer::ALL {
            let composed = RankOptions {
                scorer,
                ..RankOptions::default()
            };
            let found = scores(&collection, &ranker, TEXT, &composed, None);
            let seen = seen.lock().unwrap().clone();
            assert_eq!(seen.len(), words.len(), "stop words are mixed too");
            let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
            assert!(seen.iter().zip(&words).all(close));
            let whole = RankOptions {
                mode: Some(QueryMode::Encoded),
                ..composed
            };
            let expected = scores(&collection, &ranker, TEXT, &whole, Some(&encoded));
            assert!(expected.iter().flatten().any(|scored| scored.deep != 0.0));
            for (found, expected) in found.iter().zip(&expected) {
                let (found, expected) = (found.unwrap(), expected.unwrap());
                assert!((found.score - expected.score).abs() < 1e-5);
                assert!((found.deep - expected.deep).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn terms_are_one_vector_each_and_stop_words_have_none() {
    let collection = Collection::new(31, 5);
    let (ranker, seen) = mixing(&collection, false);
    let snapshot = collection.store.snapshot().unwrap();
    let ask = |text: &str, variant: Variant| {
        let options = RankOptions {
            variant,
            ..RankOptions::default()
        };
        ranker.query(&snapshot, text, &options, None).unwrap()
    };
    let words = |text: &str| -> Vec<String> {
        let query = ask(text, Variant::Becr);
        assert!(query.terms().iter().all(|term| term.groups.len() == 1));
        query.terms().iter().map(|term| term.word.clone()).collect()
    };
    assert_eq!(words(TEXT), ["spring", "water", "river", "bank"]);
    assert_eq!(words("of the"), ["of", "the"], "there is nothing else");
    // Of a word that is not there, its pieces are mixed as one; of one without known pieces, nothing.
    assert_eq!(words("banks zebra"), ["banks"]);
    assert_eq!(seen.lock().unwrap().len(), DIM);
    let length: f32 = seen.lock().unwrap().iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5);
    assert!(words("zebra").is_empty() && words("").is_empty());
}

#[test]
fn the_papers_composition_stays_by_name() {
    let collection = Collection::new(31, 20);
    let (ranker, _) = mixing(&collection, false);
    let mut head = ranker.head().clone();
    head.encoder_id = ranker.head().encoder_id.clone();
    let plain = collection.ranker(head);
    let of = |variant| RankOptions {
        variant,
        ..RankOptions::default()
    };
    let asked = scores(&collection, &ranker, TEXT, &of(Variant::Plain), None);
    assert_eq!(
        asked,
        scores(&collection, &plain, TEXT, &of(Variant::Becr), None)
    );
    assert_ne!(
        asked,
        scores(&collection, &ranker, TEXT, &of(Variant::Becr), None)
    );
}

#[test]
fn a_mixer_of_other_vectors_is_refused() {
    let of_seed = |seed| {
        let collection = Collection::new(seed, 3);
        let ranker = collection.ranker(list_head(seed));
        ranker.with_mixer(Box::new(turned), planes()).err()
    };
    // Footprints that are not relative come without vectors.
    assert!(matches!(
        of_seed(30),
        Some(RankError::Mixer { index: 0, .. })
    ));
    assert!(of_seed(31).is_none());
    let collection = Collection::new(31, 3);
    let wide = Hyperplanes::generate(24, 64, HyperplaneKind::Gaussian, 3).unwrap();
    let error = collection
        .ranker(list_head(31))
        .with_mixer(Box::new(turned), wide)
        .err();
    let message = error.unwrap().to_string();
    assert!(
        message.contains("24") && message.contains("16"),
        "{message}"
    );
}
