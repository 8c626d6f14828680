//! `becr search`: a folder of notes in two commands, and query files to runs.

use crate::becr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A folder of notes, indexed.
fn notes() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    fs::create_dir_all(notes.join("kitchen")).unwrap();
    fs::write(
        notes.join("kitchen/bread.md"),
        "# Sourdough\n\nA dense crumb: proof it longer.\n",
    )
    .unwrap();
    fs::write(
        notes.join("tea.txt"),
        "Green tea\n\nWater at 80 degrees, two minutes.\n",
    )
    .unwrap();
    let page = "<html><head><title>Trains</title></head><body><p>The night train to Vienna</p></body></html>";
    fs::write(notes.join("trains.html"), page).unwrap();
    let outcome = becr(
        folder.path(),
        &["index", "notes", "--out", "notes.becr", "--lexical-only"],
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    folder
}

fn first(folder: &Path, query: &str) -> serde_json::Value {
    let outcome = becr(folder, &["search", "notes.becr", query, "--json"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    serde_json::from_str::<serde_json::Value>(&outcome.stdout).unwrap()["results"][0].clone()
}

#[test]
fn a_folder_of_notes_in_two_commands() {
    let folder = notes();
    let bread = first(folder.path(), "dense sourdough");
    assert_eq!(bread["id"], "kitchen/bread.md");
    assert_eq!(bread["title"], "Sourdough");
    assert_eq!(bread["rank"], 1);
    assert_eq!(first(folder.path(), "trains to vienna")["title"], "Trains");
    let outcome = becr(folder.path(), &["search", "notes.becr", "green tea"]);
    assert!(outcome.stdout.contains("[tea.txt]"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("BM25"), "{}", outcome.stderr);
}

#[test]
fn odd_queries_find_nothing_without_fuss() {
    let folder = notes();
    for query in ["", "🦓", "...", "zyzzyva"] {
        let outcome = becr(
            folder.path(),
            &["search", "notes.becr", query, "--first-stage"],
        );
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (Some(0), "nothing found\n"),
            "{query:?}"
        );
    }
}

#[test]
fn a_query_file_becomes_a_run() {
    let folder = notes();
    fs::write(
        folder.path().join("queries.tsv"),
        "q1\tgreen tea\nq2\tnight train vienna\nq3\tzyzzyva\n",
    )
    .unwrap();
    let arguments = [
        "search",
        "notes.becr",
        "--queries",
        "queries.tsv",
        "--run-out",
        "bm25.run",
        "--first-stage",
        "--k",
        "5",
        "--tag",
        "mine",
    ];
    let outcome = becr(folder.path(), &arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let run = fs::read_to_string(folder.path().join("bm25.run")).unwrap();
    let rows: Vec<Vec<&str>> = run
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let heads: Vec<_> = rows
        .iter()
        .map(|row| (row[0], row[2], row[3], row[5]))
        .collect();
    assert_eq!(
        heads,
        [
            ("q1", "tea.txt", "1", "mine"),
            ("q2", "trains.html", "1", "mine")
        ]
    );
    let again = becr(folder.path(), &arguments);
    assert_eq!(again.code, Some(0));
    assert_eq!(
        fs::read_to_string(folder.path().join("bm25.run")).unwrap(),
        run
    );
}

#[test]
fn a_faulty_query_file_names_the_line() {
    let folder = notes();
    fs::write(
        folder.path().join("queries.tsv"),
        "q1\tgreen tea\nno tab here\n",
    )
    .unwrap();
    let run = |more: &[&str]| {
        let mut arguments = vec![
            "search",
            "notes.becr",
            "--queries",
            "queries.tsv",
            "--run-out",
            "bm25.run",
        ];
        arguments.extend(more);
        becr(folder.path(), &arguments)
    };
    let outcome = run(&[]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("queries.tsv:2"),
        "{}",
        outcome.stderr
    );
    assert!(!folder.path().join("bm25.run").exists());
    let outcome = run(&["--on-error", "skip"]);
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("skipped 1"), "{}", outcome.stderr);
}

#[test]
fn what_is_no_index_is_refused() {
    let folder = notes();
    let outcome = becr(folder.path(), &["search", "notes", "tea"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("not a BECR index"),
        "{}",
        outcome.stderr
    );
    fs::write(
        folder.path().join("notes.becr/becr.json"),
        r#"{"format": 99, "written_by": "x"}"#,
    )
    .unwrap();
    let outcome = becr(folder.path(), &["search", "notes.becr", "tea"]);
    assert!(outcome.stderr.contains("format 99"), "{}", outcome.stderr);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = notes();
    let mut child = Command::new(env!("CARGO_BIN_EXE_becr"))
        .args(["search", "notes.becr", "tea", "--json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("error"));
}
