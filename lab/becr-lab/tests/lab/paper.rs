//! The paper's own protocol on a small random model, from the file that says so: train, index, re-rank, evaluate, explain.

use crate::becr;
use crate::full::{folder, run};
use crate::ranked::{json, rows};
use crate::train::{config, data, query};
use becr_model::{Config, Storage, Weights};
use std::fs;
use std::path::Path;

const PAPER: &str = include_str!("../../../becr-train/configs/paper-l5.toml");

/// A model with as many layers as the paper's file wants, in the place of the folder's.
pub(crate) fn five_layers(folder: &Path) {
    // Five layers are the embeddings, the first three and the last.
    let shape = Config::new(15, 16, 4, 2, 24, 40);
    shape.write(&folder.join("model/config.json")).unwrap();
    Weights::random(&shape, 3, 10.0)
        .write(&folder.join("model/model.safetensors"), Storage::F32)
        .unwrap();
}

/// The paper's file with few steps, on the CPU.
pub(crate) fn shrunk() -> String {
    PAPER
        .replace("steps = 3200", "steps = 4")
        .replace("vanilla_steps = 3200", "vanilla_steps = 3")
        .replace("device = \"cuda\"", "device = \"cpu\"")
        .replace("accumulate = 16", "accumulate = 2")
        .replace("validate_every = 32", "validate_every = 2")
}

#[test]
fn the_whole_chain() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    five_layers(folder);
    // The base has centres and orthogonal hyperplanes; the configuration takes both away.
    let prepare = "model prepare model --out base --centre corpus.jsonl --documents 20";
    run(folder, &prepare.split(' ').collect::<Vec<_>>());
    // A first stage's candidates, without an order, as MS MARCO has them.
    let mut top = String::new();
    for n in 0..80 {
        for other in 0..12 {
            let id = (n + other * 7) % 80;
            top += &format!("q{n}\ta{}#{id}\t{}\tits text\n", id / 4, query(n));
        }
    }
    fs::write(folder.join("top1000.tsv"), top).unwrap();
    let mut triples = String::new();
    for n in 0..80 {
        for other in 1..6 {
            let id = (n + other * 7) % 80;
            triples += &format!("q{n}\ta{}#{n}\ta{}#{id}\n", n / 4, id / 4);
        }
    }
    fs::write(folder.join("triples.tsv"), triples).unwrap();
    let small = shrunk()
        .replace("bert-base-uncased", "base")
        .replace("collection/corpus.trec.gz", "corpus.jsonl")
        .replace("collection/topics.tsv", "queries.tsv")
        .replace(
            "qrels = \"collection/qrels.txt\"",
            "triples = \"triples.tsv\"",
        )
        .replace("collection/first-stage.run", "top1000.tsv");
    // The positions of the small model are 40, so long documents are split.
    let mut corpus = fs::read_to_string(folder.join("corpus.jsonl")).unwrap();
    let long = vec!["river bank of money"; 30].join(" ");
    corpus = corpus.replacen("\"text\": \"", &format!("\"text\": \"{long} "), 3);
    fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
    config(folder, "paper.toml", &small);
    let told = run(folder, &["train", "paper.toml"]);
    assert!(
        told.stderr.contains("vanilla BERT ranker"),
        "{}",
        told.stderr
    );
    let head = json(&fs::read_to_string(folder.join("becr-l5/head.json")).unwrap());
    assert_eq!(head["proximity"], "query");
    assert_eq!(head["about"]["options"]["schedule"], "constant");
    assert!(head["others"]["cls"].is_array());
    let model = json(&fs::read_to_string(folder.join("becr-l5/config.json")).unwrap());
    assert_eq!(model["becr"]["hyperplanes"]["kind"], "gaussian");
    let stored = becr_model::Model::read(folder.join("becr-l5")).unwrap();
    assert!(stored.weights.centres.is_none());

    let index =
        "index corpus.jsonl --out ix --model becr-l5 --count-by occurrences --pair-distance 2";
    run(folder, &index.split(' ').collect::<Vec<_>>());
    let rerank = "rerank ix --queries queries.tsv --run top1000.tsv --out becr.run";
    run(folder, &rerank.split(' ').collect::<Vec<_>>());
    assert_eq!(rows(&folder.join("becr.run")).len(), 80 * 12);
    let measured = run(
        folder,
        &[
            "eval",
            "--qrels",
            "qrels.txt",
            "--run",
            "becr.run",
            "--measures",
            "nDCG@20 P@20",
            "--json",
        ],
    );
    assert!(measured.stdout.contains("nDCG@20"), "{}", measured.stdout);
    let explained = run(folder, &["explain", "ix", &query(7), "a1#7"]).stdout;
    assert!(
        explained.contains("what the encoder makes of the document alone"),
        "{explained}"
    );
    // Without the deep part, in training.
    let without = small
        .replace(
            "encoder = \"trained\"",
            "encoder = \"frozen\"\ndeep = false",
        )
        .replace("becr-l5\"", "no-deep\"");
    let of_encoder = ["query =", "cls", "train_kernels", "vanilla_steps"];
    let without: String = without
        .lines()
        .filter(|line| !of_encoder.iter().any(|key| line.starts_with(key)))
        .map(|line| format!("{line}\n"))
        .collect();
    config(folder, "without.toml", &without);
    run(folder, &["train", "without.toml"]);
    let head = json(&fs::read_to_string(folder.join("no-deep/head.json")).unwrap());
    let alpha = head["deep"]["alpha"].as_array().unwrap();
    assert!(
        alpha
            .iter()
            .flat_map(|row| row.as_array().unwrap())
            .all(|a| *a == 0.0)
    );
    assert!(head["deep"]["document_vector"].is_null());
    let refused = becr(folder, &["train", "without.toml", "--seed", "x"]);
    assert_eq!(refused.code, Some(2));
}
