//! Word vectors that come with a model.

use crate::becr;
use crate::full::{corpus, folder, index, relative_folder, run};
use std::fs;

#[test]
fn builds_take_the_vectors_of_wordpieces_from_the_model() {
    let folder = relative_folder();
    let folder = folder.path();
    corpus(folder, "corpus.jsonl", 0..30);
    index(folder, "corpus.jsonl", "computed", &[]);
    let told = run(folder, &["model", "words", "model"]).stdout;
    assert!(told.contains("words.bin: 11 WordPieces"), "{told}");
    index(folder, "corpus.jsonl", "taken", &[]);
    run(folder, &["verify", "taken"]);
    let groups = |index: &str| {
        let stats = run(folder, &["stats", index, "--json"]).stdout;
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        stats["store"]["groups"].clone()
    };
    assert_eq!(groups("taken"), groups("computed"));

    // A file that cannot be read is named, and nothing is built.
    let path = folder.join("model/words.bin");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let failed = becr(
        folder,
        &["index", "corpus.jsonl", "--out", "none", "--model", "model"],
    );
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("words.bin"), "{}", failed.stderr);
    assert!(!folder.join("none").exists());
}

#[test]
fn whole_footprints_keep_no_vectors() {
    let folder = folder();
    let failed = becr(folder.path(), &["model", "words", "model"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("--relative"), "{}", failed.stderr);
}
