//! Against the textbook in double precision, and what is refused.

use super::*;
use crate::native::tests::reference_of_types;
use becr_model::{Config, Storage, Weights};
use std::path::Path;

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nneural\nrank\n##ing\nriver\nbank\nof\n";

/// A random classifier, as a directory has it.
fn directory(labels: usize, types: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::new(10, 24, 2, 3, 40, 16);
    config.type_vocab_size = types;
    config.write(&folder.path().join("config.json")).unwrap();
    std::fs::write(folder.path().join("vocab.txt"), VOCABULARY).unwrap();
    let mut weights = Weights::random(&config, 5, 6.0);
    weights.prefix = "bert.".into();
    let mut add = |name: &str, shape: Vec<usize>, seed: usize| {
        let count: usize = shape.iter().product();
        let data = (0..count).map(|i| ((i * 37 + seed * 11) % 101) as f32 / 101.0 - 0.5);
        let data = data.collect();
        weights
            .extra
            .insert(name.into(), becr_model::Extra { shape, data });
    };
    add("bert.pooler.dense.weight", vec![24, 24], 1);
    add("bert.pooler.dense.bias", vec![24], 2);
    add("classifier.weight", vec![labels, 24], 3);
    add("classifier.bias", vec![labels], 4);
    let path = folder.path().join("model.safetensors");
    weights.write(&path, Storage::F32).unwrap();
    folder
}

fn model(folder: &Path) -> Model {
    Model::read(folder).unwrap()
}

fn dense(x: &[f64], name: &str, model: &Model) -> Vec<f64> {
    let weight = &model.weights.extra[&format!("{name}.weight")].data;
    let bias = &model.weights.extra[&format!("{name}.bias")].data;
    let rows = weight.chunks_exact(x.len()).zip(bias);
    rows.map(|(row, &bias)| {
        let products = row.iter().zip(x).map(|(&w, x)| f64::from(w) * x);
        f64::from(bias) + products.sum::<f64>()
    })
    .collect()
}

/// Pooler and classifier over the textbook's BERT.
fn by_the_book(model: &Model, ids: &[u32], types: &[usize]) -> f64 {
    let states = reference_of_types(&model.config, &model.weights, ids, types);
    let cls = &states.last().unwrap()[0];
    let pooled = dense(cls, "bert.pooler.dense", model);
    let pooled: Vec<f64> = pooled.iter().map(|x| x.tanh()).collect();
    dense(&pooled, "classifier", model)[0]
}

#[test]
fn equal_to_the_textbook() {
    let folder = directory(1, 2);
    let model = model(folder.path());
    // [CLS] neural ranking [SEP] river / bank of river [SEP], and a document without a word.
    let pairs: [(&[u32], &[usize]); 3] = [
        (
            &[2, 4, 5, 6, 3, 7, 8, 9, 7, 3],
            &[0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        ),
        (&[2, 4, 5, 6, 3, 5, 6, 3], &[0, 0, 0, 0, 0, 1, 1, 1]),
        (&[2, 4, 5, 6, 3, 3], &[0, 0, 0, 0, 0, 1]),
    ];
    let expected = pairs.map(|(ids, types)| by_the_book(&model, ids, types));
    let documents = [("river", "bank of river"), ("", "Ranking"), ("", "")];
    for (precision, tolerance) in [(Precision::F32, 1e-4), (Precision::Int8, 0.05)] {
        let cross = CrossEncoder::of_model(model.clone(), precision).unwrap();
        let found = cross.scores("Neural ranking", &documents).unwrap();
        assert_eq!(found.cut, 0);
        for (expected, found) in expected.iter().zip(&found.scores) {
            let difference = (expected - f64::from(*found)).abs();
            assert!(difference < tolerance, "{precision}: {expected} {found}");
        }
    }
    // Token types matter: without them another score comes out.
    let (ids, _) = pairs[0];
    assert!((by_the_book(&model, ids, &[0; 10]) - expected[0]).abs() > 1e-3);
}

#[test]
fn long_documents_lose_their_ends_and_batches_do_not_matter() {
    let folder = directory(1, 2);
    let model = model(folder.path());
    let cross = CrossEncoder::of_model(model.clone(), Precision::F32).unwrap();
    let long = "river bank of ".repeat(20);
    // 16 positions: [CLS], two words, [SEP], eleven words, [SEP].
    let short = "river bank of river bank of river bank of river bank";
    let found = cross
        .scores("neural river", &[("", &long), ("", short)])
        .unwrap();
    assert_eq!(found.cut, 1);
    assert_eq!(found.scores[0], found.scores[1]);
    // A query longer than half of the positions loses its end.
    let questions = [
        "bank of river neural bank of",
        "bank of river neural bank of neural of of of of",
    ];
    let scores = questions.map(|query| cross.scores(query, &[("", "river")]).unwrap().scores);
    assert_eq!(scores[0], scores[1]);
    let (model, classifier) = Classifier::split(model).unwrap();
    let encoder = Encoder::of_model(model).unwrap().with_batch_tokens(1);
    let alone = CrossEncoder::new(encoder, classifier);
    let again = alone
        .scores("neural river", &[("", &long), ("", short)])
        .unwrap();
    assert_eq!(again, found);
    assert_eq!(alone.scores("neural", &[]).unwrap(), CrossScores::default());
}

#[test]
fn other_models_are_refused() {
    let refused = |folder: &Path| match Classifier::split(model(folder)) {
        Ok(_) => panic!("taken"),
        Err(error) => error.to_string(),
    };
    let three = directory(3, 2);
    let told = refused(three.path());
    assert!(told.contains("has 3 labels, a re-ranker has one"), "{told}");
    let told = refused(directory(1, 1).path());
    assert!(told.contains("one token type"), "{told}");
    let plain = tempfile::tempdir().unwrap();
    let mut without = model(three.path());
    without.weights.extra.clear();
    without.write(plain.path(), Storage::F32).unwrap();
    let told = refused(plain.path());
    assert!(
        told.contains("no tensor bert.pooler.dense.weight"),
        "{told}"
    );
}
