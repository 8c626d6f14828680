//! Queries and candidates that are strange, and heads that do not fit.

use crate::collection::{Collection, head, pieces};
use becr_model::{Feature, Head};
use becr_rank::{
    Candidate, MAX_QUERY_WORDS, RankError, RankOptions, RankWorkspace, Ranker, Scored,
};
use becr_store::Shape;

fn ask(
    collection: &Collection,
    ranker: &Ranker,
    text: &str,
    candidates: &[Candidate<'_>],
) -> Result<Vec<Scored>, RankError> {
    let snapshot = collection.store.snapshot()?;
    let query = ranker.query(&snapshot, text, &RankOptions::default(), None)?;
    let scored = ranker.score(&query, &snapshot, candidates, &mut RankWorkspace::new())?;
    Ok(scored.into_iter().flatten().collect())
}

/// Without words there is nothing deep; lexical features are those of an absent word, the same for all documents.
#[test]
fn empty_queries_leave_the_other_parts() {
    let collection = Collection::new(1, 10);
    let mut head = head(1);
    head.lexical.retain(|feature| feature.name != "first_stage");
    let ranker = collection.ranker(head);
    for text in ["", "  ", "?!", "\u{0}"] {
        let scored = ask(&collection, &ranker, text, &collection.candidates()).unwrap();
        assert!(
            scored
                .iter()
                .all(|s| s.deep == 0.0 && s.lexi == scored[0].lexi)
        );
        assert!(scored.iter().any(|s| s.others != scored[0].others));
    }
}

#[test]
fn unknown_words_long_queries_and_emoji_are_scored() {
    let collection = Collection::new(2, 10);
    let ranker = collection.ranker(head(2));
    let long = "river bank money ".repeat(167);
    let longer = "river ".repeat(MAX_QUERY_WORDS + 5);
    for (text, terms) in [
        ("zebra quagga", 0),
        ("\u{1F981} \u{1F3DE}\u{FE0F}", 0),
        ("\u{1F981} river", 1),
        (long.as_str(), 501),
        (longer.as_str(), MAX_QUERY_WORDS),
    ] {
        let snapshot = collection.store.snapshot().unwrap();
        let query = ranker
            .query(&snapshot, text, &RankOptions::default(), None)
            .unwrap();
        let found = query.terms().len();
        // Pairs of unknown words may be known.
        assert!(
            found == terms || terms == 0 && found <= 2,
            "{found} terms, expected {terms}"
        );
        let scored = ask(&collection, &ranker, text, &collection.candidates()).unwrap();
        assert!(
            scored.iter().all(|scored| scored.score.is_finite()),
            "{text}"
        );
    }
}

#[test]
fn duplicates_are_scored_alike() {
    let collection = Collection::new(5, 10);
    let ranker = collection.ranker(head(5));
    let mut candidates = collection.candidates();
    candidates.push(candidates[2]);
    let scored = ask(&collection, &ranker, "river", &candidates).unwrap();
    assert_eq!(scored[2], scored[10]);
    assert!(ask(&collection, &ranker, "river", &[]).unwrap().is_empty());
}

/// A document that has gone since its number was looked up has no score; the others have theirs.
#[test]
fn a_document_that_has_vanished_is_reported() {
    let collection = Collection::new(5, 10);
    let ranker = collection.ranker(head(5));
    let snapshot = collection.store.snapshot().unwrap();
    let work = &mut RankWorkspace::new();
    let query = ranker
        .query(&snapshot, "river", &RankOptions::default(), None)
        .unwrap();
    let mut candidates = collection.candidates();
    let whole = ranker.score(&query, &snapshot, &candidates, work).unwrap();
    candidates[4].number = 4711;
    let scored = ranker.score(&query, &snapshot, &candidates, work).unwrap();
    for (place, (scored, before)) in scored.iter().zip(&whole).enumerate() {
        assert_eq!(*scored, before.filter(|_| place != 4));
    }
    // To explain or to learn from it is an error.
    let error = ranker.explain(&query, &snapshot, &candidates, 4, work);
    assert!(matches!(error, Err(RankError::NoDocument(4711))));
    let mut seen = 0;
    let error = ranker.features(&query, &snapshot, &candidates, work, |_| {
        seen += 1;
        Ok::<(), RankError>(())
    });
    assert!(matches!(error, Err(RankError::NoDocument(4711))));
    assert_eq!(seen, 9);
}

/// A ranker that was made for other layers, bits or vectors than the store has is refused, not let loose on it.
#[test]
fn a_ranker_for_another_shape_is_refused() {
    let collection = Collection::new(6, 4);
    assert_eq!(collection.shape, Shape::new(2, 64));
    for shape in [Shape::new(2, 32), Shape::new(2, 128)] {
        let ranker = Ranker::new(head(6), shape, pieces()).unwrap();
        let error = ask(&collection, &ranker, "river bank", &collection.candidates()).unwrap_err();
        assert!(matches!(error, RankError::Shape { .. }), "{error}");
        let snapshot = collection.store.snapshot().unwrap();
        let ours = collection.ranker(head(6));
        let query = ours
            .query(&snapshot, "river", &RankOptions::default(), None)
            .unwrap();
        let work = &mut RankWorkspace::new();
        let scored = ranker.score(&query, &snapshot, &collection.candidates(), work);
        assert!(matches!(scored, Err(RankError::Shape { .. })));
    }
}

#[test]
fn features_of_the_caller_come_first_and_odd_values_are_missing() {
    let collection = Collection::new(6, 12);
    let ranker = collection.ranker(head(6));
    let others = |features: &[(String, f32)], number: u64| {
        let candidate = Candidate {
            number,
            first_stage: None,
            features,
        };
        ask(&collection, &ranker, "river", &[candidate]).unwrap()[0].others
    };
    let number = collection
        .documents
        .iter()
        .position(|d| d.features.len() == 1);
    let number = number.unwrap() as u64;
    let plain = others(&[], number);
    let named = |name: &str, value: f32| vec![(name.to_owned(), value)];
    assert_ne!(others(&named("pagerank", 7.0), number), plain);
    assert_eq!(others(&named("pagerank", f32::NAN), number), plain);
    assert_eq!(others(&named("unheard of", 1.0), number), plain);
    let pagerank = collection.documents[number as usize].features[0].1;
    assert_eq!(others(&named("pagerank", pagerank), number), plain);
}

#[test]
fn records_of_another_shape_are_refused() {
    // A ranker for one store meets another store.
    let (plain, relative) = (Collection::new(2, 3), Collection::new(3, 3));
    for (ours, theirs, seed) in [(&plain, &relative, 2), (&relative, &plain, 3)] {
        let ranker = ours.ranker(head(seed));
        let snapshot = theirs.store.snapshot().unwrap();
        let query = ranker.query(
            &ours.store.snapshot().unwrap(),
            "river",
            &RankOptions::default(),
            None,
        );
        let work = &mut RankWorkspace::new();
        let scored = ranker.score(&query.unwrap(), &snapshot, &theirs.candidates(), work);
        assert!(matches!(scored, Err(RankError::Shape { .. })), "{scored:?}");
    }
    let shape = Shape {
        vector: 3,
        ..Shape::new(2, 64)
    };
    let two_layers = Ranker::new(Head::blank("encoder-1", 2), shape, pieces());
    assert!(matches!(
        two_layers.err(),
        Some(RankError::Relative {
            layers: 2,
            words: 3
        })
    ));
}

#[test]
fn heads_that_do_not_fit_are_refused() {
    let collection = Collection::new(8, 2);
    let refused = |head: Head| {
        let ranker = Ranker::for_store(collection.store.header(), head, pieces());
        ranker.err().unwrap().to_string()
    };
    assert!(refused(Head::blank("encoder-1", 3)).contains("3 layers, the index keeps 2"));
    assert!(refused(Head::blank("encoder-2", 2)).contains("encoder-2"));
    let mut unknown = Head::blank("encoder-1", 2);
    unknown.lexical = vec![Feature::plain("body_bm26_sum", 1.0)];
    let message = refused(unknown);
    assert!(message.contains("body_bm26_sum") && message.contains("body_bm25_sum"));
}
