//! Addresses of clusters where no server runs; `.ci/scale/command.py` has those where some do.

use crate::becr;
use crate::full::{corpus, index};
use crate::ranked::ranked;

/// Nobody listens on this port of the machine.
const NOBODY: &str = "redis://me:secret@127.0.0.1:1/notes";

#[test]
fn addresses_that_cannot_be_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for (address, said) in [
        ("redis://127.0.0.1:1", "the name of the index"),
        ("redis://127.0.0.1:port/notes", "host:port"),
        ("rediss://127.0.0.1:1/notes", "no answer within"),
    ] {
        let outcome = becr(folder.path(), &["stats", address]);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[test]
fn a_cluster_that_does_not_answer_is_told_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = becr(folder.path(), &["verify", NOBODY]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no answer within"));
    assert!(outcome.stderr.contains("redis://127.0.0.1:1/notes"));
    assert!(!outcome.stderr.contains("secret"), "{}", outcome.stderr);
}

/// What is made on a disk is not made in a folder named "redis:".
#[test]
fn addresses_are_no_folders() {
    let folder = tempfile::tempdir().unwrap();
    corpus(folder.path(), "all.jsonl", 0..3);
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    std::fs::write(folder.path().join("notes/a.txt"), "bread").unwrap();
    for arguments in [
        &["sync", NOBODY, "notes"][..],
        &["index", "all.jsonl", "--out", NOBODY, "--lexical-only"],
    ] {
        let outcome = becr(folder.path(), arguments);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        assert!(!folder.path().join("redis:").exists());
        assert!(!outcome.stderr.contains("secret"), "{}", outcome.stderr);
    }
}

#[test]
fn candidates_come_from_another_index() {
    let folder = ranked();
    index(folder.path(), "all.jsonl", "words", &["--lexical-only"]);
    let search = |more: &[&str]| {
        let arguments = [&["search", "index", "river", "bank", "--json"], more].concat();
        let outcome = becr(folder.path(), &arguments);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        answer["results"].clone()
    };
    let own = search(&[]);
    assert!(!own.as_array().unwrap().is_empty());
    assert_eq!(search(&["--first-stage=index"]), own);
    // BM25 of an index of words counts as the store does, so the lists are the same there too.
    let ids = |results: &serde_json::Value| -> Vec<serde_json::Value> {
        let rows = results.as_array().unwrap().iter();
        rows.map(|row| row["id"].clone()).collect()
    };
    assert_eq!(ids(&search(&["--first-stage=words"])), ids(&own));
    let refused = becr(
        folder.path(),
        &["search", "index", "river", "--first-stage", "--explain"],
    );
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("BM25 alone"), "{}", refused.stderr);
}
