//! `becr index --vectors-only`: documents' vectors without footprints of tokens.

use crate::becr;
use crate::full::{corpus, digest, index, relative_folder, run};
use crate::modes::list_head_of;
use crate::ranked::json;
use becr_model::Feature;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const VECTORS: [&str; 3] = ["--mode", "encoded", "--vectors-only"];

/// A model with a head, an index of each kind, and queries.
fn both() -> TempDir {
    let folder = relative_folder();
    let path = folder.path();
    let model = path.join("model");
    let mut head = list_head_of(&model, 1);
    head.lexical = vec![Feature::plain("first_stage", 0.5)];
    head.others.features.clear();
    head.write(&model.join("head.json")).unwrap();
    corpus(path, "all.jsonl", 0..40);
    index(path, "all.jsonl", "whole", &["--mode", "encoded"]);
    index(path, "all.jsonl", "vectors", &VECTORS);
    folder
}

fn search(folder: &Path, index: &str, more: &[&str]) -> serde_json::Value {
    // Snippets mark words by their footprints, which one of the indexes lacks.
    let arguments = [
        "search",
        index,
        "river bank loan",
        "--json",
        "--no-snippets",
    ];
    json(&run(folder, &[&arguments[..], more].concat()).stdout)["results"].clone()
}

#[test]
fn vectors_alone_rank_as_vectors_do_beside_footprints() {
    let folder = both();
    let folder = folder.path();
    let one_vector = ["--scorer", "one-vector"];
    assert_eq!(
        search(folder, "vectors", &one_vector),
        search(folder, "whole", &one_vector)
    );
    // The head without its kernels, on an index that has tokens, gives the same scores.
    let mut head = becr_model::Head::read(&folder.join("model/head.json")).unwrap();
    head.deep
        .alpha
        .iter_mut()
        .flatten()
        .for_each(|alpha| *alpha = 0.0);
    head.write(&folder.join("no-kernels.json")).unwrap();
    let without = search(folder, "whole", &["--head", "no-kernels.json"]);
    let found = search(folder, "vectors", &[]);
    assert_eq!(found.as_array().unwrap().len(), 10);
    for (found, expected) in found
        .as_array()
        .unwrap()
        .iter()
        .zip(without.as_array().unwrap())
    {
        assert_eq!(found["id"], expected["id"]);
        let difference = found["score"].as_f64().unwrap() - expected["score"].as_f64().unwrap();
        assert!(difference.abs() < 1e-5, "{found} {expected}");
    }
    assert_ne!(search(folder, "whole", &[]), found);
    // Explanations still add up; terms contribute nothing.
    let why = run(
        folder,
        &["explain", "vectors", "river bank loan", "d3", "--json"],
    )
    .stdout;
    let why = &json(&why)["documents"][0]["explanation"];
    for term in why["terms"].as_array().unwrap() {
        assert!(
            term["contribution"].as_f64().unwrap().abs() < 1e-9,
            "{term}"
        );
    }
    run(
        folder,
        &[
            "explain",
            "vectors",
            "river bank",
            "d3",
            "--html",
            "why.html",
        ],
    );
    // A passage is found by the words themselves.
    run(folder, &["search", "vectors", "river bank loan"]);
}

#[test]
fn it_lives_as_any_other_index_and_is_smaller() {
    let folder = both();
    let folder = folder.path();
    corpus(folder, "more.jsonl", 40..44);
    for part in ["0/2", "1/2"] {
        let out = format!("part{}", &part[..1]);
        index(
            folder,
            "all.jsonl",
            &out,
            &[&VECTORS[..], &["--shard", part]].concat(),
        );
    }
    run(folder, &["merge", "part0", "part1", "--out", "merged"]);
    assert_eq!(digest(folder, "merged"), digest(folder, "vectors"));
    for index in ["vectors", "merged"] {
        run(folder, &["add", index, "more.jsonl"]);
        run(folder, &["delete", index, "d1", "d2"]);
        run(folder, &["compact", index]);
        run(folder, &["verify", index]);
        run(folder, &["update", index, "all.jsonl"]);
        run(folder, &["verify", index]);
    }
    assert_eq!(digest(folder, "merged"), digest(folder, "vectors"));
    let stats = run(folder, &["stats", "vectors"]).stdout;
    assert!(
        stats.contains("documents without any: one vector of each"),
        "{stats}"
    );
    let bytes = |index: &str| {
        let stats = json(&run(folder, &["stats", index, "--json"]).stdout);
        stats["store"]["per_document"]["footprints"].as_f64()
    };
    assert_eq!(bytes("vectors"), Some(0.0));
    assert!(bytes("whole") > Some(100.0));
    let refused = |arguments: &str, told: &str| {
        let outcome = becr(folder, &arguments.split(' ').collect::<Vec<_>>());
        assert_ne!(outcome.code, Some(0), "{arguments}");
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    };
    refused(
        "index all.jsonl --out x --vectors-only --lexical-only",
        "--lexical-only",
    );
    refused(
        "merge whole vectors --out y",
        "its documents are vectors, these are encoded",
    );
    assert!(!fs::exists(folder.join("y")).unwrap());
}
