//! KNRM and CONV-KNRM.

use super::reference::{Parameters, Vector, affine, matrix, row, soft_counts};
use super::{DOCUMENTS, QUERIES, check, config};
use crate::baseline::options::{BaselineConfig, BaselineKind};

/// The rows of words in the table; "loans" has none.
fn rows(text: &str) -> Vec<usize> {
    let words = ["river", "bank", "money", "loan", "of"];
    text.to_lowercase()
        .split([' ', ','])
        .filter_map(|word| words.iter().position(|known| *known == word))
        .map(|place| place + 1)
        .collect()
}

fn vectors(parameters: &Parameters, text: &str) -> Vec<Vector> {
    let rows = rows(text).into_iter();
    rows.map(|at| row(parameters, "vectors", at)).collect()
}

fn texts(query: usize, pair: usize) -> (String, String) {
    let (title, text) = DOCUMENTS[pair].unwrap();
    (QUERIES[query].to_owned(), format!("{title} {text}"))
}

/// w·φ/100 + b through tanh.
fn score(parameters: &Parameters, features: &[f64]) -> f64 {
    let scaled: Vector = features.iter().map(|x| 0.01 * x).collect();
    affine(parameters, "combine", &scaled)[0].tanh()
}

#[test]
fn knrm_is_the_formula() {
    let reference = |parameters: &Parameters, query: usize, pair: usize| {
        let (query, document) = texts(query, pair);
        let matrix = matrix(
            &vectors(parameters, &query),
            &vectors(parameters, &document),
        );
        score(parameters, &soft_counts(&matrix, 1e-10))
    };
    let learned = ["vectors", "combine.weight", "combine.bias"];
    check(
        &BaselineConfig {
            fixed_vectors: Some(false),
            ..config(BaselineKind::Knrm)
        },
        &learned,
        &reference,
    );
    check(
        &BaselineConfig {
            fixed_vectors: Some(true),
            ..config(BaselineKind::Knrm)
        },
        &learned[1..],
        &reference,
    );
}

/// The vectors of the n-grams of a text.
fn ngrams(parameters: &Parameters, text: &str, length: usize) -> Vec<Vector> {
    let words = vectors(parameters, text);
    let at = |place: usize| words.get(place).cloned().unwrap_or_else(|| vec![0.0; 6]);
    (0..words.len())
        .map(|first| {
            let window: Vector = (first..first + length).flat_map(at).collect();
            let filtered = affine(parameters, &format!("convolution.{length}"), &window);
            filtered.iter().map(|x| x.max(0.0)).collect()
        })
        .collect()
}

#[test]
fn conv_knrm_is_the_formula() {
    let reference = |parameters: &Parameters, query: usize, pair: usize| {
        let (query, document) = texts(query, pair);
        let mut features = Vec::new();
        for of_query in 1..=3 {
            for of_document in 1..=3 {
                let matrix = matrix(
                    &ngrams(parameters, &query, of_query),
                    &ngrams(parameters, &document, of_document),
                );
                features.extend(soft_counts(&matrix, 1e-10));
            }
        }
        score(parameters, &features)
    };
    let learned = [
        "vectors",
        "convolution.1.weight",
        "convolution.3.weight",
        "convolution.2.bias",
        "combine.weight",
    ];
    check(
        &BaselineConfig {
            fixed_vectors: Some(false),
            ..config(BaselineKind::ConvKnrm)
        },
        &learned,
        &reference,
    );
}
