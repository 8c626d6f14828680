//! Models, corpora and indexes that tests are made of.

use crate::{Outcome, becr};
use becr_model::{Config, Storage, Weights};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Words that documents are made of; a few are no vocabulary entries.
pub(crate) const WORDS: [&str; 12] = [
    "river", "bank", "money", "loan", "the", "fish", "boat", "of", "spring", "water", "zebra",
    "quay",
];

/// A folder with a model; indexes and corpora go beside it.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    fs::create_dir(&model).unwrap();
    let mut vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n##s\n".to_owned();
    WORDS[..10]
        .iter()
        .for_each(|word| vocabulary.push_str(&format!("{word}\n")));
    let config = Config::new(15, 16, 2, 2, 24, 40);
    config.write(&model.join("config.json")).unwrap();
    fs::write(model.join("vocab.txt"), vocabulary).unwrap();
    let weights = Weights::random(&config, 3, 10.0);
    weights
        .write(&model.join("model.safetensors"), Storage::F32)
        .unwrap();
    folder
}

/// The same with footprints that are relative.
pub(crate) fn relative_folder() -> TempDir {
    let folder = folder();
    let prepare = "model prepare model --out prepared --layers 1 --relative";
    run(folder.path(), &prepare.split(' ').collect::<Vec<_>>());
    fs::remove_dir_all(folder.path().join("model")).unwrap();
    fs::rename(folder.path().join("prepared"), folder.path().join("model")).unwrap();
    folder
}

/// A corpus of documents `from..to`, the same for the same numbers.
pub(crate) fn corpus(folder: &Path, name: &str, numbers: std::ops::Range<usize>) {
    let line = |n: usize| {
        let words = |count: usize, seed: usize| {
            let word = |k: usize| WORDS[(n * 7 + k * k * seed + k * 3) % WORDS.len()];
            (0..count).map(word).collect::<Vec<_>>().join(" ")
        };
        let (title, text) = (words(n % 3, 5), words(5 + n % 60, 11));
        format!(r#"{{"id": "d{n}", "title": "{title}", "text": "{text}", "pagerank": {n}.5}}"#)
            + "\n"
    };
    fs::write(folder.join(name), numbers.map(line).collect::<String>()).unwrap();
}

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Outcome {
    let outcome = becr(folder, arguments);
    assert_eq!(
        outcome.code,
        Some(0),
        "{arguments:?}: {}{}",
        outcome.stdout,
        outcome.stderr
    );
    outcome
}

pub(crate) fn index(folder: &Path, corpus: &str, out: &str, more: &[&str]) -> Outcome {
    run(
        folder,
        &[&["index", corpus, "--out", out, "--model", "model"], more].concat(),
    )
}

pub(crate) fn digest(folder: &Path, index: &str) -> String {
    let stats = run(folder, &["stats", index, "--digest", "--json"]).stdout;
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    stats["store"]["digest"].as_str().unwrap().to_owned()
}
