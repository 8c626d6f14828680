//! `becr index`: what goes in, what comes out, and what is left when it fails.

use crate::{Outcome, becr};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const GOOD: &str = r#"{"id": "bread", "title": "Bread", "text": "Dense crumb, short proof."}
{"_id": 7, "text": "Green tea wants cooler water."}
"#;

fn index(folder: &Path, corpus: &str, more: &[&str]) -> Outcome {
    let mut arguments = vec!["index", corpus, "--out", "out", "--lexical-only"];
    arguments.extend(more);
    becr(folder, &arguments)
}

#[test]
fn a_summary_in_words_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("corpus.jsonl"), GOOD).unwrap();
    let outcome = index(folder.path(), "corpus.jsonl", &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.starts_with("out: 2 documents"),
        "{}",
        outcome.stdout
    );
    let outcome = index(folder.path(), "corpus.jsonl", &["--overwrite", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(summary["documents"], 2);
    assert_eq!(summary["skipped"], 0);
}

#[test]
fn the_first_fault_stops_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let faults = [
        ("{\"id\": \"a\", \"text\": \"x\"", "malformed"),
        ("{\"text\": \"no id\"}", "missing id"),
        ("{\"id\": \"bread\", \"text\": \"again\"}", "duplicate id"),
    ];
    for (line, what) in faults {
        fs::write(
            folder.path().join("corpus.jsonl"),
            format!("{GOOD}{line}\n"),
        )
        .unwrap();
        let outcome = index(folder.path(), "corpus.jsonl", &[]);
        assert_eq!(outcome.code, Some(1), "{what}");
        assert!(
            outcome.stderr.contains("corpus.jsonl:3"),
            "{what}: {}",
            outcome.stderr
        );
        assert!(!folder.path().join("out").exists(), "{what}");
        assert!(!folder.path().join("out.partial").exists(), "{what}");
        let outcome = index(
            folder.path(),
            "corpus.jsonl",
            &["--on-error", "skip", "--overwrite"],
        );
        assert_eq!(outcome.code, Some(0), "{what}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("skipped 1"),
            "{what}: {}",
            outcome.stderr
        );
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn an_empty_document_is_kept_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = format!("{GOOD}{{\"id\": \"void\", \"title\": \"\", \"text\": \" \"}}\n");
    fs::write(folder.path().join("corpus.jsonl"), corpus).unwrap();
    let outcome = index(folder.path(), "corpus.jsonl", &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.starts_with("out: 3 documents"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stderr.contains("corpus.jsonl:3: \"void\" is empty"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn bytes_that_are_no_text_and_files_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = GOOD.as_bytes().to_vec();
    bytes.extend(b"{\"id\": \"x\", \"text\": \"\xff\xfe\"}\n");
    fs::write(folder.path().join("corpus.jsonl"), bytes).unwrap();
    let outcome = index(folder.path(), "corpus.jsonl", &[]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("corpus.jsonl:3"),
        "{}",
        outcome.stderr
    );
    let outcome = index(folder.path(), "nowhere.jsonl", &[]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("nowhere.jsonl"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_is_there_is_replaced_only_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("corpus.jsonl"), GOOD).unwrap();
    index(folder.path(), "corpus.jsonl", &[]);
    let outcome = index(folder.path(), "corpus.jsonl", &[]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("--overwrite"), "{}", outcome.stderr);
    // A rebuild that fails leaves the old index searchable.
    fs::write(folder.path().join("corpus.jsonl"), "{").unwrap();
    assert_eq!(
        index(folder.path(), "corpus.jsonl", &["--overwrite"]).code,
        Some(1)
    );
    let outcome = becr(folder.path(), &["search", "out", "tea"]);
    assert!(outcome.stdout.contains("[7]"), "{}", outcome.stdout);
}

#[test]
fn a_killed_build_leaves_the_old_index_and_the_next_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("corpus.jsonl"), GOOD).unwrap();
    index(folder.path(), "corpus.jsonl", &[]);
    // The build waits for its standard input, which never ends, until it is killed.
    let mut child = Command::new(env!("CARGO_BIN_EXE_becr"))
        .args([
            "index",
            "-",
            "--out",
            "out",
            "--lexical-only",
            "--overwrite",
        ])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let partial = folder.path().join("out.partial");
    while !partial.join("first-stage").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the build ended early");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(partial.exists());
    assert!(
        becr(folder.path(), &["search", "out", "tea"])
            .stdout
            .contains("[7]")
    );
    assert_eq!(
        index(folder.path(), "corpus.jsonl", &["--overwrite"]).code,
        Some(0)
    );
    assert!(!partial.exists());
}

#[test]
fn a_lexical_index_is_built_whole() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("corpus.jsonl"), GOOD).unwrap();
    index(folder.path(), "corpus.jsonl", &[]);
    for command in [
        &["add", "out", "corpus.jsonl"][..],
        &["delete", "out", "bread"],
        &["compact", "out"],
        &["merge", "out", "--out", "merged"],
    ] {
        let outcome = becr(folder.path(), command);
        assert_eq!(outcome.code, Some(1), "{command:?}");
        assert!(
            outcome.stderr.contains("a lexical index cannot be changed"),
            "{command:?}: {}",
            outcome.stderr
        );
    }
    assert_eq!(
        becr(folder.path(), &["stats", "out", "--digest"]).code,
        Some(1)
    );
    assert_eq!(becr(folder.path(), &["stats", "out"]).code, Some(0));
}

#[test]
fn wrong_usage_is_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let ignored = ["search", "out", "bread", "--run-out", "x.run"];
    assert_eq!(becr(folder.path(), &ignored).code, Some(2));
    let part = [
        "index",
        "c",
        "--out",
        "o",
        "--lexical-only",
        "--groups",
        "g",
        "--shard",
        "0/2",
    ];
    assert_eq!(becr(folder.path(), &part).code, Some(2));
    assert_eq!(
        becr(folder.path(), &["index", "corpus.jsonl"]).code,
        Some(2)
    );
    assert_eq!(becr(folder.path(), &["search"]).code, Some(2));
    assert_eq!(becr(folder.path(), &["no-such-command"]).code, Some(2));
}

#[test]
fn a_corpus_without_documents_is_refused_and_an_index_that_was_there_stays() {
    let folder = crate::full::folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("some.jsonl"), "{\"id\": \"1\", \"text\": \"river\"}\n").unwrap();
    fs::write(path("none.jsonl"), "").unwrap();
    fs::write(path("faults.jsonl"), "{\"id\"\nnothing\n").unwrap();
    fs::create_dir(path("folder")).unwrap();
    for more in [&["--lexical-only"][..], &["--model", "model"]] {
        let build = |corpus: &str, options: &[&str]| {
            let arguments = ["index", corpus, "--out", "ix", "--overwrite"];
            becr(folder.path(), &[&arguments[..], more, options].concat())
        };
        assert_eq!(build("some.jsonl", &[]).code, Some(0));
        for (corpus, options, told) in [
            ("none.jsonl", &["--format", "jsonl"][..], "no document"),
            ("folder", &["--format", "folder"], "no folder files"),
            (
                "faults.jsonl",
                &["--format", "jsonl", "--on-error", "skip"],
                "faults.jsonl:1",
            ),
        ] {
            let refused = build(corpus, options);
            assert_eq!(refused.code, Some(1), "{corpus}: {}", refused.stdout);
            assert!(
                refused.stderr.contains(told),
                "{corpus}: {}",
                refused.stderr
            );
            assert!(!path("ix.partial").exists());
        }
        let found = becr(folder.path(), &["search", "ix", "river", "--first-stage"]);
        assert!(
            found.code == Some(0) && found.stdout.contains('1'),
            "{}",
            found.stderr
        );
    }
}
