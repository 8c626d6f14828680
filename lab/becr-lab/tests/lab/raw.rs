//! `becr rerank --raw`: the same ranking with vectors in the place of footprints.

use crate::becr;
use crate::full::{index, run};
use crate::ranked::{head, json, ranked, rows};
use becr_encoder::Encoder;
use becr_lmdb::Store;
use becr_model::{DeepScale, ScaleOver};
use becr_text::groups::TokenGroup;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Scores by query and document.
type Scores = BTreeMap<(String, String), f64>;

fn rerank(folder: &Path, index: &str, more: &[&str]) -> crate::Outcome {
    let files = [
        "--queries",
        "queries.tsv",
        "--run",
        "all.run",
        "--out",
        "out.run",
        "--json",
    ];
    becr(folder, &[&["rerank", index], &files[..], more].concat())
}

fn scores(folder: &Path, more: &[&str]) -> Scores {
    scores_of(folder, "index", more)
}

fn scores_of(folder: &Path, index: &str, more: &[&str]) -> Scores {
    let outcome = rerank(folder, index, more);
    assert_eq!(outcome.code, Some(0), "{more:?}: {}", outcome.stderr);
    if !more.contains(&"encoded") {
        let coverage = &json(&outcome.stdout)["coverage"];
        assert_eq!(coverage["words_found"], 3, "{coverage}");
        assert_eq!(coverage["pairs_found"], 1, "{coverage}");
    }
    let rows = rows(&folder.join("out.run"));
    assert!(
        rows.is_sorted_by(|a, b| a.0 != b.0 || a.2 >= b.2),
        "best first"
    );
    rows.into_iter()
        .map(|(query, id, score)| ((query, id), score))
        .collect()
}

/// A folder with an index, a query of one word and one of two, and every document as a candidate of both.
fn folder() -> tempfile::TempDir {
    let folder = ranked();
    fs::write(
        folder.path().join("queries.tsv"),
        "1\tfish\n2\triver money\n",
    )
    .unwrap();
    let line = |query: usize, n: usize| format!("{query} Q0 d{n} {} {}.5 x\n", n + 1, 40 - n);
    let all: String = (1..3)
        .flat_map(|query| (0..40).map(move |n| line(query, n)))
        .collect();
    fs::write(folder.path().join("all.run"), all).unwrap();
    folder
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

const DIM: usize = 16;
const LAYERS: usize = 3;

/// A token group's part in a term: its vectors by layer, and its weight.
struct Part {
    layers: Vec<Vec<f32>>,
    weight: f64,
}

impl Part {
    /// `slot` says which of the group's vectors.
    fn new(encoder: &Encoder, group: &TokenGroup, slot: usize, weight: f64) -> Self {
        let vectors = encoder.raw_group(group).unwrap();
        let slots = vectors.len() / (LAYERS * DIM);
        let layer = |layer: usize| vectors[(layer * slots + slot) * DIM..][..DIM].to_vec();
        let layers = (0..LAYERS).map(layer).collect();
        Self { layers, weight }
    }

    /// A word as the encoder reads it within its query.
    fn within(encoder: &Encoder, query: &str, word: usize) -> Self {
        let read = encoder.raw_query(query).unwrap();
        let layer =
            |layer: usize| read.vectors[(layer * read.words + word) * DIM..][..DIM].to_vec();
        Self {
            layers: (0..LAYERS).map(layer).collect(),
            weight: 1.0,
        }
    }
}

/// How the vectors of a term are joined.
#[derive(Clone, Copy, PartialEq)]
enum Joined {
    Cosines,
    Vectors,
}

/// S_deep as the paper has it, in plain code: every similarity is a weighted sum of cosines of vectors, or the cosine of
/// their weighted sum.
fn plain_deep(
    folder: &Path,
    encoder: &Encoder,
    terms: &[Vec<Part>],
    joined: Joined,
) -> BTreeMap<String, f64> {
    let head = head(&folder.join("model"));
    let store = Store::open(&folder.join("index/store")).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut scores = BTreeMap::new();
    for row in snapshot.documents().unwrap() {
        let (number, id) = row.unwrap();
        let text = snapshot.text(number).unwrap().unwrap();
        let document = encoder.raw_document(&text.title, &text.text).unwrap();
        let mut score = 0.0;
        for term in terms {
            let similarity = |layer: usize, vector: &[f32]| -> f64 {
                if joined == Joined::Vectors {
                    let at = |at: usize| {
                        let parts = term.iter();
                        parts
                            .map(|part| part.weight * f64::from(part.layers[layer][at]))
                            .sum::<f64>() as f32
                    };
                    let sum: Vec<f32> = (0..DIM).map(at).collect();
                    return cosine(&sum, vector);
                }
                let parts = term.iter();
                parts
                    .map(|part| part.weight * cosine(&part.layers[layer], vector))
                    .sum()
            };
            for (layer, alpha) in head.deep.alpha.iter().enumerate() {
                let kernels = &head.deep.kernels;
                for (k, alpha) in alpha.iter().enumerate() {
                    let (mu, sigma) = (f64::from(kernels.mu[k]), f64::from(kernels.sigma[k]));
                    let tokens = (0..document.tokens).map(|token| {
                        let at = (layer * document.tokens + token) * DIM;
                        let c = similarity(layer, &document.vectors[at..at + DIM]);
                        (-(c - mu).powi(2) / (2.0 * sigma * sigma)).exp()
                    });
                    let sum: f64 = tokens.sum();
                    score += f64::from(*alpha) * (f64::from(kernels.epsilon) + sum).ln();
                }
            }
            let vector = head.deep.document_vector.as_ref().unwrap();
            let mean = similarity(LAYERS - 1, &document.mean);
            score += f64::from(vector.contribution(mean as f32));
        }
        scores.insert(id.to_string(), score / terms.len() as f64);
    }
    scores
}

#[test]
fn scores_come_from_vectors() {
    let folder = folder();
    let folder = folder.path();
    let [footprints, rest] = [&[][..], &["--without", "deep"]].map(|more| scores(folder, more));
    let raw = scores(folder, &["--raw"]);
    let encoder = &Encoder::open(folder.join("model")).unwrap();
    let word =
        |word: &str, weight| Part::new(encoder, &TokenGroup::Unigram(word.into()), 0, weight);
    let pair = |slot| {
        let pair = TokenGroup::Pair("river".into(), "money".into());
        Part::new(encoder, &pair, slot, 0.8)
    };
    // A uni-gram has 1/4, a pair of neighbours 1; what a term has is scaled to 1.
    let one = [vec![word("fish", 1.0)]];
    let two = [
        vec![word("river", 0.2), pair(0)],
        vec![word("money", 0.2), pair(1)],
    ];
    let expected = |joined| {
        [
            ("1", plain_deep(folder, encoder, &one, joined)),
            ("2", plain_deep(folder, encoder, &two, joined)),
        ]
    };
    check(&raw, &rest, &expected(Joined::Cosines));
    let of_sum = scores(folder, &["--raw=cosine-of-sum"]);
    check(&of_sum, &rest, &expected(Joined::Vectors));
    // Whole queries, read by the encoder.
    let whole = scores(folder, &["--raw", "--mode", "encoded"]);
    let read = |query: &str, word| vec![Part::within(encoder, query, word)];
    let (one, two) = (
        [read("fish", 0)],
        [read("river money", 0), read("river money", 1)],
    );
    let expected = [
        ("1", plain_deep(folder, encoder, &one, Joined::Cosines)),
        ("2", plain_deep(folder, encoder, &two, Joined::Cosines)),
    ];
    check(&whole, &rest, &expected);
    // What is left out of a score is left out here too.
    let without = scores(folder, &["--raw", "--without", "lexi"]);
    let lexi = scores(folder, &["--without", "lexi"]);
    for (key, score) in &raw {
        let (left, expected) = (score - without[key], footprints[key] - lexi[key]);
        assert!((left - expected).abs() < 1e-3, "{key:?}: {left} {expected}");
    }
    let none = scores(folder, &["--raw", "--without", "deep"]);
    assert_eq!(none, rest);
    // Footprints estimate the same: never quite, but nearly.
    let deep =
        |scores: &Scores| -> Vec<f64> { scores.iter().map(|(key, s)| s - rest[key]).collect() };
    let (exact, estimated) = (deep(&raw), deep(&footprints));
    let differing = exact
        .iter()
        .zip(&estimated)
        .filter(|(a, b)| (*a - *b).abs() > 1e-6);
    assert!(differing.count() > 70);
    let correlation = correlation(&exact, &estimated);
    assert!(correlation > 0.9, "{correlation}");
}

/// The deep part of scores is what was expected.
fn check(raw: &Scores, rest: &Scores, expected: &[(&str, BTreeMap<String, f64>)]) {
    let mut compared = 0;
    for (query, deep) in expected {
        for (id, deep) in deep {
            let key = (query.to_string(), id.clone());
            let found = raw[&key] - rest[&key];
            assert!(
                (found - deep).abs() <= 1e-3 * deep.abs().max(1.0),
                "{key:?}: {found}, not {deep}"
            );
            compared += 1;
        }
    }
    assert_eq!((compared, raw.len()), (80, 80));
}

/// Documents that are composed of token groups have vectors that are composed of theirs.
#[test]
fn composed_documents_have_vectors() {
    let folder = folder();
    let folder = folder.path();
    let build = [
        "index",
        "all.jsonl",
        "--out",
        "composed",
        "--model",
        "model",
    ];
    run(folder, &[&build[..], &["--compose-documents"]].concat());
    let deep = |more: &[&str]| -> Vec<f64> {
        let scores = scores_of(folder, "composed", more);
        let rest = scores_of(folder, "composed", &["--without", "deep"]);
        scores.iter().map(|(key, s)| s - rest[key]).collect()
    };
    let (raw, footprints) = (deep(&["--raw"]), deep(&[]));
    let correlation = correlation(&raw, &footprints);
    assert!(correlation > 0.9, "{correlation}");
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |x: &[f64]| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter().map(|x| x - mean).collect()
    };
    let (a, b) = (centred(a), centred(b));
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

#[test]
fn what_has_no_vectors_to_compare_is_said() {
    let folder = folder();
    let folder = folder.path();
    index(folder, "all.jsonl", "words", &["--no-text"]);
    let mut list = head(&folder.join("model"));
    list.deep.scale = Some(DeepScale {
        over: ScaleOver::List,
        weight: 1.0,
        deviation: 0.5,
    });
    list.write(&folder.join("list.json")).unwrap();
    for (index, more, told) in [
        (
            "index",
            &["--scorer", "one-vector"][..],
            "one-vector compares none",
        ),
        ("index", &["--head", "list.json"], "goes by the list"),
        ("words", &[], "build it without --no-text"),
    ] {
        let outcome = rerank(folder, index, &[&["--raw"], more].concat());
        assert_eq!(outcome.code, Some(1), "{told}");
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
    }
    fs::rename(folder.join("model"), folder.join("elsewhere")).unwrap();
    let outcome = rerank(folder, "index", &["--raw"]);
    assert!(
        outcome.code == Some(1) && outcome.stderr.contains("--model"),
        "{}",
        outcome.stderr
    );
    let outcome = rerank(folder, "index", &["--raw", "--model", "elsewhere"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}
