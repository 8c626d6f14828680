//! A full index with a random model and a head made by hand, for the commands that rank.

use crate::full::{corpus, folder, index};
use becr_model::{Feature, Head, Model};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A head with a bit of everything: no weight is 0, so that every part shows.
pub(crate) fn head(model: &Path) -> Head {
    let encoder_id = Model::read(model).unwrap().encoder_id();
    let mut head = Head::blank(encoder_id, 3);
    for (layer, row) in head.deep.alpha.iter_mut().enumerate() {
        for (kernel, weight) in row.iter_mut().enumerate() {
            *weight = ((layer * 7 + kernel * 5) % 11) as f32 / 50.0 - 0.08;
        }
    }
    let feature = |name: &str, mean, deviation, weight| Feature {
        name: name.to_owned(),
        mean,
        deviation,
        weight,
    };
    head.deep.document_vector = Some(feature("document_vector", 0.1, 0.2, 0.4));
    head.lexical = vec![
        feature("first_stage", 0.5, 0.3, 0.7),
        feature("body_bm25_sum", 2.0, 1.5, 0.5),
        feature("title_tfidf_max", 0.5, 1.0, 0.3),
        feature("body_proximity_max", 0.2, 0.4, 0.2),
        feature("body_bm25_pairs", 1.0, 2.0, 0.1),
    ];
    head.others.features = vec![
        feature("pagerank", 20.0, 10.0, 0.2),
        feature("clicks", 0.0, 1.0, 3.0),
    ];
    head
}

/// A folder with `model`, its head, `all.jsonl`, `queries.tsv` and the index `index`.
pub(crate) fn ranked() -> TempDir {
    let folder = folder();
    let model = folder.path().join("model");
    head(&model).write(&model.join("head.json")).unwrap();
    corpus(folder.path(), "all.jsonl", 0..40);
    index(folder.path(), "all.jsonl", "index", &[]);
    fs::write(
        folder.path().join("queries.tsv"),
        "1\triver bank\n2\tmoney of the loan\n3\tzebra quay fish\n4\tspring water boat\n",
    )
    .unwrap();
    folder
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The rows of a run: query, document, score.
pub(crate) fn rows(path: &Path) -> Vec<(String, String, f64)> {
    let run = fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(' ').collect();
        (
            cells[0].to_owned(),
            cells[2].to_owned(),
            cells[4].parse().unwrap(),
        )
    };
    run.lines().map(row).collect()
}
