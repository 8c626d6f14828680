//! S_deep against the formulas, the variants, and the encoder's way.

use crate::collection::{Collection, Dice, WORDS, head};
use crate::slow;
use becr_rank::{EncodedQuery, QueryMode, RankError, RankOptions, RankWorkspace, Variant};

fn options(variant: Variant) -> RankOptions {
    RankOptions {
        variant,
        ..Default::default()
    }
}

#[test]
fn scores_are_those_of_the_formulas() {
    for seed in 0..12 {
        let collection = Collection::new(seed, 9);
        let head = head(seed);
        let ranker = collection.ranker(head.clone());
        let snapshot = collection.store.snapshot().unwrap();
        let text = Dice(seed + 99).words(1 + seed as usize % 7);
        let query = ranker
            .query(&snapshot, &text, &RankOptions::default(), None)
            .unwrap();
        let candidates = collection.candidates();
        let scored = ranker
            .score(&query, &snapshot, &candidates, &mut RankWorkspace::new())
            .unwrap();
        for (scored, document) in scored.iter().flatten().zip(&collection.documents) {
            let (pooled, vector) = slow::deep(&collection, &head, &text, document);
            let feature = head.deep.document_vector.as_ref().unwrap();
            let vector = vector.map_or(0.0, |v| f64::from(feature.contribution(v as f32)));
            let expected = pooled + vector;
            // The engine's similarities and kernels are within their own tolerance of the exact ones.
            let error = (f64::from(scored.deep) - expected).abs();
            assert!(
                error < 5e-3 * expected.abs().max(10.0),
                "{text:?}: {} {expected}",
                scored.deep
            );
        }
    }
}

#[test]
fn variants_use_what_they_say() {
    let collection = Collection::new(8, 4);
    let ranker = collection.ranker(head(8));
    let snapshot = collection.store.snapshot().unwrap();
    let kinds = |variant: Variant| -> Vec<usize> {
        let text = WORDS[..6].join(" ");
        let query = ranker
            .query(&snapshot, &text, &options(variant), None)
            .unwrap();
        let uses = query.terms().iter().flat_map(|term| &term.groups);
        let mut distances: Vec<usize> = uses.map(|used| used.distance).collect();
        distances.sort_unstable();
        distances.dedup();
        distances
    };
    assert_eq!(kinds(Variant::Becr), [0, 1, 2, 3]);
    assert_eq!(kinds(Variant::NoPairs), [0]);
    assert_eq!(kinds(Variant::NoUnigrams), [1, 2, 3]);
    assert_eq!(kinds(Variant::Window1), [0, 1]);
}

#[test]
fn coverage_and_fall_back() {
    let collection = Collection::new(3, 4);
    let ranker = collection.ranker(head(3));
    let snapshot = collection.store.snapshot().unwrap();
    let no_pairs = options(Variant::NoPairs);
    let query = ranker
        .query(&snapshot, "banks the river", &no_pairs, None)
        .unwrap();
    assert_eq!(
        (query.coverage().unigrams, query.coverage().unigrams_found),
        (3, 2)
    );
    let groups: Vec<&str> = query.terms()[0]
        .groups
        .iter()
        .map(|g| g.group.as_str())
        .collect();
    assert_eq!(groups, ["bank", "##s"]);
    assert_eq!(query.terms()[0].groups[0].weight, 0.5);
    // "the" has no term of its own.
    let words: Vec<&str> = query.terms().iter().map(|t| t.word.as_str()).collect();
    assert_eq!(words, ["banks", "river"]);
    // Of "zebra" not even a piece is known, and no pair alone.
    let unknown = ranker.query(&snapshot, "zebra", &no_pairs, None).unwrap();
    assert!(unknown.terms().is_empty());
    let literal = collection.ranker({
        let mut head = head(3);
        head.deep.stop_words = true;
        head
    });
    let query = literal
        .query(&snapshot, "banks the river", &no_pairs, None)
        .unwrap();
    assert_eq!(query.terms().len(), 3);
}

/// An encoder whose footprints are the uni-grams of the store gives BECR without pairs, under another name.
#[test]
fn whole_queries_go_through_the_encoder() {
    for seed in [8, 9] {
        check_whole_queries(seed);
    }
}

fn check_whole_queries(seed: u64) {
    let collection = Collection::new(seed, 6);
    let ranker = collection.ranker(head(seed));
    let snapshot = collection.store.snapshot().unwrap();
    let shape = collection.shape;
    let (layers, width) = (usize::from(shape.layers), usize::from(shape.bits) / 32);
    type Encoded = Result<EncodedQuery, Box<dyn std::error::Error + Send + Sync>>;
    let encoder = |text: &str| -> Encoded {
        let words = slow::words(text);
        let group = |word: &String| collection.groups[word].clone();
        let footprints = (0..layers).flat_map(|layer| {
            let part = |word: &String| group(word)[layer * width..][..width].to_vec();
            words.iter().flat_map(part).collect::<Vec<u32>>()
        });
        let vectors = words
            .iter()
            .flat_map(|word| group(word).split_off(layers * width));
        Ok(EncodedQuery {
            words: footprints.chain(vectors).collect(),
            whole: vec![0; shape.mean_bytes() / 4],
        })
    };
    let text = "the money of the river fish";
    let whole = RankOptions {
        mode: Some(QueryMode::Encoded),
        ..RankOptions::default()
    };
    let ours = ranker
        .query(&snapshot, text, &whole, Some(&encoder))
        .unwrap();
    let theirs = ranker
        .query(&snapshot, text, &options(Variant::NoPairs), None)
        .unwrap();
    let candidates = collection.candidates();
    let mut work = RankWorkspace::new();
    let scores = |query| {
        ranker
            .score(query, &snapshot, &candidates, &mut work)
            .unwrap()
    };
    let mut scores = scores;
    assert_eq!(scores(&ours), scores(&theirs));
    let none = ranker.query(&snapshot, text, &whole, None);
    assert!(matches!(none, Err(RankError::NoEncoder)));
    let short = |_: &str| -> Encoded {
        Ok(EncodedQuery {
            words: vec![1, 2, 3],
            whole: Vec::new(),
        })
    };
    let short = ranker.query(&snapshot, text, &whole, Some(&short));
    assert!(
        short
            .unwrap_err()
            .to_string()
            .contains("3 numbers for 6 words")
    );
    let no_vector = |text: &str| -> Encoded {
        let words = encoder(text)?.words;
        Ok(EncodedQuery {
            words,
            ..Default::default()
        })
    };
    let no_vector = ranker.query(&snapshot, text, &whole, Some(&no_vector));
    let said = no_vector.unwrap_err().to_string();
    assert!(said.contains("the vector of the whole query"), "{said}");
    let empty = ranker
        .query(&snapshot, "?", &whole, Some(&encoder))
        .unwrap();
    assert!(empty.terms().is_empty());
}
