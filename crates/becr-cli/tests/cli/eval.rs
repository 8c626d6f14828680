//! `becr eval`.

use crate::becr;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Twelve queries with one relevant document; `good` finds it first but for one query, `weak` third.
fn collection() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [mut qrels, mut good, mut weak, mut queries] = [const { String::new() }; 4];
    for query in 1..=12 {
        qrels += &format!("{query} 0 rel 2\n{query} 0 bad -1\n");
        let hit = if query == 12 { 0.5 } else { 9.0 };
        good += &format!(
            "{query} Q0 rel 1 {hit} good\n{query} Q0 bad 2 1.0 good\n{query} Q0 x 3 0.9 good\n"
        );
        weak +=
            &format!("{query} Q0 bad 1 3 weak\n{query} Q0 x 2 2 weak\n{query} Q0 rel 3 1 weak\n");
        queries += &format!("{query}\t{}\n", vec!["word"; 1 + query % 3].join(" "));
    }
    let files: [(&str, String); 4] = [
        ("qrels.txt", qrels),
        ("good.run", good),
        ("weak.run", weak),
        ("queries.tsv", queries),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let outcome = becr(
        folder,
        &[&["eval", "--json", "--qrels", "qrels.txt"], arguments].concat(),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn json_layout_scripts_rely_on() {
    let folder = collection();
    let report = json(
        folder.path(),
        &[
            "--run",
            "good.run",
            "--measures",
            "RR P(rel=2)@2",
            "--per-query",
        ],
    );
    let run = &report["runs"][0];
    assert_eq!(run["run"], "good.run");
    let mean = (11.0 + 1.0 / 3.0) / 12.0;
    assert!((run["aggregate"]["RR"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert_eq!(run["per_query"]["RR"]["12"], 1.0 / 3.0);
    assert_eq!(run["per_query"]["P(rel=2)@2"]["3"], 0.5);
    let without = json(folder.path(), &["--run", "good.run", "--measures", "RR"]);
    assert!(without["runs"][0].get("per_query").is_none());
}

#[test]
fn table_marks_what_differs_from_each_baseline() {
    let folder = collection();
    let arguments = [
        "eval",
        "--qrels",
        "qrels.txt",
        "--run",
        "good.run",
        "weak.run",
        "--measures",
        "RR AP P@3",
    ];
    let outcome = becr(
        folder.path(),
        &[
            &arguments[..],
            &["--baseline", "weak.run", "--correction", "holm"],
        ]
        .concat(),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let expected = "\
run   queries  RR       AP       P@3
good       12  0.9444‡  0.9444‡  0.3333
weak       12  0.3333   0.3333   0.3333

‡ better than weak (‡↓ worse)
paired two-sided t-test at 95 %, Holm's correction over each column
";
    assert_eq!(outcome.stdout, expected);

    // Given only as a baseline it stands above; a run that is worse says so.
    let outcome = becr(
        folder.path(),
        &[
            "eval",
            "--qrels",
            "qrels.txt",
            "--run",
            "weak.run",
            "--baseline",
            "good.run",
            "--measures",
            "RR",
        ],
    );
    let rows: Vec<_> = outcome.stdout.lines().take(3).collect();
    assert_eq!(
        rows,
        [
            "run   queries  RR",
            "good       12  0.9444",
            "weak       12  0.3333‡↓"
        ]
    );
}

#[test]
fn p_values_are_in_json() {
    let folder = collection();
    let report = json(
        folder.path(),
        &[
            "--run",
            "good.run",
            "--baseline",
            "weak.run",
            "good.run",
            "--measures",
            "RR P@3",
        ],
    );
    let comparisons = report["runs"][0]["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 2, "none against itself");
    assert_eq!(
        (&comparisons[0]["marker"], &comparisons[0]["pairs"]),
        (&"‡".into(), &12.into())
    );
    // scipy.stats.ttest_rel([1] * 11 + [1/3], [1/3] * 12) gives t = 11, p = 2.830028134097913e-07.
    assert!((comparisons[0]["t"].as_f64().unwrap() - 11.0).abs() < 1e-9);
    assert!(
        (comparisons[0]["p"].as_f64().unwrap() / 2.830_028_134_097_913e-7 - 1.0).abs() < 1e-9,
        "{comparisons:?}"
    );
    assert_eq!(
        comparisons[1]["p"], 1.0,
        "equal values differ by chance for certain"
    );
    assert_eq!(report["baselines"][1]["marker"], "*");
}

#[test]
fn complete_counts_missing_answers() {
    let folder = collection();
    let run = fs::read_to_string(folder.path().join("good.run")).unwrap();
    let first: String = run
        .lines()
        .take(9)
        .map(|line| line.to_owned() + "\n")
        .collect();
    fs::write(folder.path().join("short.run"), first + "99 Q0 rel 1 1 x\n").unwrap();
    let answered = becr(
        folder.path(),
        &[
            "eval",
            "--qrels",
            "qrels.txt",
            "--run",
            "short.run",
            "--measures",
            "RR",
            "--json",
        ],
    );
    assert!(
        answered
            .stderr
            .contains("short.run does not answer 9 of 12 judged queries: left out")
    );
    assert!(
        answered
            .stderr
            .contains("answers 1 queries without judgements")
    );
    let answered: Value = serde_json::from_str(&answered.stdout).unwrap();
    assert_eq!(answered["runs"][0]["aggregate"]["RR"], 1.0);
    let complete = json(
        folder.path(),
        &["--run", "short.run", "--measures", "RR", "--complete"],
    );
    assert_eq!(complete["runs"][0]["aggregate"]["RR"], 0.25);
}

#[test]
fn break_down_by_length_as_table_json_and_picture() {
    let folder = collection();
    let arguments = [
        "--run",
        "good.run",
        "--baseline",
        "weak.run",
        "--measures",
        "RR",
        "--by-length",
    ];
    let more = [
        "--queries",
        "queries.tsv",
        "--lengths",
        "1,2,3+",
        "--svg",
        "lengths.svg",
    ];
    let table = becr(
        folder.path(),
        &[&["eval", "--qrels", "qrels.txt"], &arguments[..], &more].concat(),
    );
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    let lines: Vec<_> = table.stdout.lines().skip(7).collect();
    assert_eq!(
        lines,
        [
            "RR by words in the query, mean ± 95 % interval",
            "words  queries  weak             good",
            "1            4  0.3333 ± 0.0000  0.8333 ± 0.5304",
            "2            4  0.3333 ± 0.0000  1.0000 ± 0.0000",
            "3+           4  0.3333 ± 0.0000  1.0000 ± 0.0000",
            "all         12  0.3333 ± 0.0000  0.9444 ± 0.1223",
            "",
            "RR difference by words in the query, mean ± 95 % interval",
            "words  queries  good − weak",
            "1            4  +0.5000 ± 0.5304",
            "2            4  +0.6667 ± 0.0000",
            "3+           4  +0.6667 ± 0.0000",
            "all         12  +0.6111 ± 0.1223",
        ]
    );
    let picture = fs::read_to_string(folder.path().join("lengths.svg")).unwrap();
    assert!(
        picture.starts_with("<svg ")
            && picture.contains("RR difference")
            && picture.contains("good − weak")
    );
    let report = json(folder.path(), &[&arguments[..], &more].concat());
    let line = &report["by_length"][0]["differences"][0];
    assert_eq!(
        (&line["baseline"], &line["lengths"]["2"]["queries"]),
        (&"weak.run".into(), &4.into())
    );
}

#[test]
fn bad_lines_stop_or_are_counted() {
    let folder = collection();
    let good = fs::read_to_string(folder.path().join("good.run")).unwrap();
    for (name, text, message) in [
        (
            "nan.run",
            format!("{good}1 Q0 y 9 NaN good\n"),
            "nan.run:37: expected a finite number as score",
        ),
        (
            "twice.run",
            format!("{good}1 Q0 rel 9 1 good\n"),
            "twice.run:37: expected each document once",
        ),
        (
            "three.run",
            format!("{good}1 y 9\n"),
            "three.run:37: expected 6 columns, as before",
        ),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
        let arguments = [
            "eval",
            "--qrels",
            "qrels.txt",
            "--run",
            name,
            "--measures",
            "RR",
        ];
        let stopped = becr(folder.path(), &arguments);
        assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(1), ""));
        assert!(stopped.stderr.contains(message), "{}", stopped.stderr);
        let skipped = becr(
            folder.path(),
            &[&arguments[..], &["--on-error", "skip"]].concat(),
        );
        assert_eq!(skipped.code, Some(0));
        assert!(
            skipped.stdout.contains("0.9444")
                && skipped
                    .stderr
                    .contains("skipped 1: lines that cannot be used"),
            "{}",
            skipped.stderr
        );
    }
    fs::write(folder.path().join("three.qrels"), "1 rel 1\n").unwrap();
    let outcome = becr(
        folder.path(),
        &["eval", "--qrels", "three.qrels", "--run", "good.run"],
    );
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("three.qrels:1: expected 4 columns"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn files_that_do_not_belong_together() {
    let folder = collection();
    fs::write(folder.path().join("other.run"), "q7 Q0 rel 1 1 x\n").unwrap();
    let outcome = becr(
        folder.path(),
        &["eval", "--qrels", "qrels.txt", "--run", "other.run"],
    );
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains(r#"such as "1", found "q7""#),
        "{}",
        outcome.stderr
    );
    let outcome = becr(
        folder.path(),
        &["eval", "--qrels", "qrels.txt", "--run", "nowhere.run"],
    );
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome
            .stderr
            .contains("cannot open nowhere.run: No such file"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    let folder = collection();
    for (arguments, message) in [
        (&["--measures", "ERR@20"][..], "unknown measure \"ERR\""),
        (&["--confidence", "95"], "between 0 and 1"),
        (&["--by-length"], "--queries"),
        (
            &[
                "--by-length",
                "--queries",
                "queries.tsv",
                "--lengths",
                "3,2",
            ],
            "does not come after",
        ),
    ] {
        let outcome = becr(
            folder.path(),
            &[
                &["eval", "--qrels", "qrels.txt", "--run", "good.run"],
                arguments,
            ]
            .concat(),
        );
        assert_eq!(outcome.code, Some(2));
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    }
}
