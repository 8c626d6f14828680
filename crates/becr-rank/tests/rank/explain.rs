//! The sum of an explanation is the score.

use crate::collection::{Collection, Dice, head, list_head, shape};
use becr_model::Head;
use becr_rank::{Part, RankError, RankOptions, RankWorkspace, Scorer};

#[test]
fn explanations_add_up_on_a_thousand_pairs() {
    add_up(head, Scorer::Composite, true);
}

/// Where scores are relative to the list, too, and where our own BM25 takes the place of the first stage's score.
#[test]
fn list_wise_explanations_add_up() {
    add_up(list_head, Scorer::Composite, true);
    add_up(list_head, Scorer::Composite, false);
    add_up(head, Scorer::OneVector, true);
    add_up(head, Scorer::OneVector, false);
}

fn add_up(head: fn(u64) -> Head, scorer: Scorer, has_first_stage: bool) {
    let mut pairs = 0;
    for seed in 0..40 {
        let collection = Collection::new(seed, 25);
        let ranker = collection.ranker(head(seed));
        let snapshot = collection.store.snapshot().unwrap();
        let text = Dice(seed + 7).words(seed as usize % 8);
        let options = RankOptions {
            scorer,
            ..RankOptions::default()
        };
        let query = ranker.query(&snapshot, &text, &options, None).unwrap();
        let mut candidates = collection.candidates();
        if !has_first_stage {
            candidates.iter_mut().for_each(|c| c.first_stage = None);
        }
        let mut work = RankWorkspace::new();
        let scored = ranker
            .score(&query, &snapshot, &candidates, &mut work)
            .unwrap();
        let mut before = None;
        for (which, scored) in scored.iter().flatten().enumerate() {
            let why = ranker
                .explain(&query, &snapshot, &candidates, which, &mut work)
                .unwrap();
            let close = |sum: f64, score: f32, what: &str| {
                let error = (sum - f64::from(score)).abs();
                assert!(
                    error <= 1e-4 * f64::from(score).abs() + 1e-9,
                    "{text:?} {what}: {sum} {score}"
                );
            };
            let rows = why.rows();
            let of = |part: Part| -> f64 {
                let rows = rows.iter().filter(|row| row.part == part);
                rows.map(|row| row.contribution).sum()
            };
            close(
                rows.iter().map(|row| row.contribution).sum(),
                scored.score,
                "score",
            );
            close(of(Part::Deep), scored.deep, "deep");
            close(of(Part::Lexi), scored.lexi, "lexi");
            close(of(Part::Others), scored.others, "others");
            for term in &why.terms {
                let sum: f64 = term
                    .cells
                    .iter()
                    .flatten()
                    .map(|cell| cell.contribution)
                    .sum();
                assert!((sum - term.contribution).abs() < 1e-12);
                assert_eq!(term.cells.len(), usize::from(collection.shape.layers));
                assert_eq!(term.cells[0].len(), 11);
            }
            if let Some(other) = before.replace(why.clone()) {
                let sum: f64 = why
                    .difference(&other)
                    .iter()
                    .map(|row| row.contribution)
                    .sum();
                let difference = why.score - other.score;
                // What no word has is the first stage's score; what standardising subtracts goes out.
                let words = why.word_difference(&other);
                let by_words: f64 = words.iter().map(|part| part.lexi).sum();
                let own = |why: &becr_rank::Explanation| -> f64 {
                    let lexical = why.lexical.iter().filter(|part| {
                        !["first_stage", becr_rank::OWN_BM25].contains(&part.name.as_str())
                    });
                    lexical.map(|part| part.contribution).sum()
                };
                let lexi = match scorer {
                    Scorer::OneVector => 0.0,
                    Scorer::Composite => own(&why) - own(&other),
                };
                assert!(
                    (by_words - lexi).abs() < 1e-4 * lexi.abs().max(1.0),
                    "{text:?}: {by_words} {lexi}"
                );
                let terms = |why: &becr_rank::Explanation| -> f64 {
                    why.terms.iter().map(|part| part.contribution).sum()
                };
                let by_words: f64 = words.iter().map(|part| part.deep).sum();
                assert!((by_words - (terms(&why) - terms(&other))).abs() < 1e-9);
                assert!(
                    (sum - difference).abs()
                        <= 1e-9 * why.score.abs().max(other.score.abs()).max(1.0)
                );
            }
            pairs += 1;
        }
    }
    assert_eq!(pairs, 1000);
}

#[test]
fn missing_values_are_shown_as_missing() {
    let collection = Collection::new(4, 8);
    let ranker = collection.ranker(head(4));
    let snapshot = collection.store.snapshot().unwrap();
    let query = ranker
        .query(&snapshot, "river", &RankOptions::default(), None)
        .unwrap();
    let mut candidates = collection.candidates();
    let given = [("clicks".to_owned(), 2.0), ("nobody".to_owned(), 9.0)];
    candidates[0].features = &given;
    let mut work = RankWorkspace::new();
    let mut explain = |which| ranker.explain(&query, &snapshot, &candidates, which, &mut work);
    let clicks = |which: Result<becr_rank::Explanation, RankError>| {
        let features = which.unwrap().features;
        let part = features.iter().find(|part| part.name == "clicks").unwrap();
        (part.value, part.contribution == 0.0)
    };
    assert_eq!(clicks(explain(0)), (Some(2.0), false));
    assert_eq!(clicks(explain(1)), (None, true));
    let error = explain(8).unwrap_err().to_string();
    assert!(error.contains("candidate 8 of 8"), "{error}");
}

#[test]
fn words_are_shaded_by_their_nearest_piece() {
    let texts = [("Banks, river".to_owned(), "money! the (Rivers)".to_owned())];
    let collection = Collection::of_texts(shape(2), &mut Dice(2), &texts);
    let ranker = collection.ranker(head(2));
    let snapshot = collection.store.snapshot().unwrap();
    let query = ranker
        .query(&snapshot, "river money", &RankOptions::default(), None)
        .unwrap();
    let mut work = RankWorkspace::new();
    let shading = ranker.shading(&query, &snapshot, 0, 1, &mut work).unwrap();
    let of = |text: &str, words: &[becr_rank::ShadedWord]| -> Vec<String> {
        words
            .iter()
            .map(|word| text[word.start..word.end].to_owned())
            .collect()
    };
    assert_eq!(of(&shading.title, &shading.title_words), ["Banks", "river"]);
    assert_eq!(
        of(&shading.text, &shading.text_words),
        ["money", "the", "Rivers"]
    );
    let mut similarities = Vec::new();
    ranker
        .features(
            &query,
            &snapshot,
            &collection.candidates(),
            &mut work,
            |document| {
                document.similarities(&mut similarities)?;
                Ok::<(), RankError>(())
            },
        )
        .unwrap();
    // Tokens: bank ##s , river | money [UNK] the [UNK] rivers [UNK]; layer 1, two terms.
    let tokens = collection.documents[0].tokens;
    let layer = &similarities[2 * tokens..];
    for (term, row) in layer.chunks_exact(tokens).enumerate() {
        assert_eq!(
            shading.title_words[0].similarities[term],
            row[0].max(row[1])
        );
        assert_eq!(shading.title_words[1].similarities[term], row[3]);
        assert_eq!(shading.text_words[0].similarities[term], row[4]);
    }
    assert!(matches!(
        ranker.shading(&query, &snapshot, 0, 2, &mut work),
        Err(RankError::NoLayer {
            asked: 2,
            layers: 2
        })
    ));
    let nothing = ranker
        .query(&snapshot, "", &RankOptions::default(), None)
        .unwrap();
    let plain = ranker
        .shading(&nothing, &snapshot, 0, 0, &mut work)
        .unwrap();
    assert!(plain.text_words[0].similarities.is_empty());
}

#[test]
fn words_stand_out_by_what_the_average_word_lacks_and_function_words_do_not() {
    let body =
        "the river and the bank of it, where money was lent to them, and that is the whole of it";
    let texts = [("River".to_owned(), body.to_owned())];
    let collection = Collection::of_texts(shape(2), &mut Dice(2), &texts);
    let ranker = collection.ranker(head(2));
    let snapshot = collection.store.snapshot().unwrap();
    let mut work = RankWorkspace::new();
    let mut shade = |query: &str| {
        let query = ranker
            .query(&snapshot, query, &RankOptions::default(), None)
            .unwrap();
        ranker.shading(&query, &snapshot, 0, 1, &mut work).unwrap()
    };
    // Vectors are drawn, so that similarities say nothing: what counts is what is made of them.
    let mut check = |query: &str, loud: &[&str]| {
        let shading = shade(query);
        let words = shading.title_words.iter().chain(&shading.text_words);
        let words: Vec<&becr_rank::ShadedWord> = words.collect();
        let mut shown = 0;
        for term in 0..words[0].similarities.len() {
            let sum: f32 = words.iter().map(|word| word.similarities[term]).sum();
            let average = ((sum + 16.0 * 0.2) / (words.len() as f32 + 16.0)).clamp(0.0, 0.6);
            for word in &shading.text_words {
                let spelling = &body[word.start..word.end];
                let expected = match loud.contains(&spelling) {
                    true => ((word.similarities[term] - average) / (1.0 - average)).clamp(0.0, 1.0),
                    false => 0.0,
                };
                let difference = (word.strengths[term] - expected).abs();
                assert!(difference < 1e-5, "{spelling}");
                shown += usize::from(expected > 0.0);
            }
        }
        shown
    };
    let content = ["river", "bank", "money", "lent", "whole"];
    assert!(check("river money bank lent whole", &content) > 0);
    // Who asks for function words is shown them.
    check("the", &["the", "river", "bank", "money", "lent", "whole"]);
}
