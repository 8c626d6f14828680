//! `becr rerank`: runs in, runs out, and what happens to what is odd about them.

use crate::becr;
use crate::full::run;
use crate::ranked::{head, json, ranked, rows};
use becr_model::Head;
use std::fs;
use std::path::Path;
use std::process::Command;

fn first_stage(folder: &Path) {
    let arguments = ["search", "index", "--queries", "queries.tsv"];
    let more = ["--run-out", "bm25.run", "--first-stage"];
    run(folder, &[&arguments[..], &more].concat());
}

fn rerank(folder: &Path, input: &str, out: &str, more: &[&str]) -> crate::Outcome {
    let arguments = ["rerank", "index", "--queries", "queries.tsv"];
    let files = ["--run", input, "--out", out];
    becr(folder, &[&arguments[..], &files, more].concat())
}

/// Re-ranks and returns the rows.
fn reranked(folder: &Path, more: &[&str]) -> Vec<(String, String, f64)> {
    let outcome = rerank(folder, "bm25.run", "out.run", more);
    assert_eq!(outcome.code, Some(0), "{more:?}: {}", outcome.stderr);
    rows(&folder.join("out.run"))
}

#[test]
fn the_same_run_whatever_the_number_of_threads() {
    let folder = ranked();
    first_stage(folder.path());
    let expected = reranked(folder.path(), &[]);
    assert!(expected.len() > 40);
    let bytes = fs::read(folder.path().join("out.run")).unwrap();
    for threads in ["1", "2", "7"] {
        let status = Command::new(env!("CARGO_BIN_EXE_becr"))
            .args(["rerank", "index", "--queries", "queries.tsv"])
            .args(["--run", "bm25.run", "--out", "again.run"])
            .env("RAYON_NUM_THREADS", threads)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(status.status.success());
        let again = fs::read(folder.path().join("again.run")).unwrap();
        assert_eq!(again, bytes, "{threads} threads");
    }
    // `becr search` ranks the same candidates the same way.
    let search = ["search", "index", "--queries", "queries.tsv"];
    run(
        folder.path(),
        &[&search[..], &["--run-out", "search.run"]].concat(),
    );
    assert_eq!(
        fs::read(folder.path().join("search.run")).unwrap(),
        bytes,
        "search and rerank"
    );
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let folder = ranked();
    first_stage(folder.path());
    reranked(folder.path(), &[]);
    let expected = fs::read(folder.path().join("out.run")).unwrap();
    let run = fs::read_to_string(folder.path().join("bm25.run")).unwrap();
    // Queries in their order, each query's documents backwards.
    let mut lines: Vec<&str> = run.lines().rev().collect();
    lines.sort_by_key(|line| line.split(' ').next().map(str::to_owned));
    fs::write(folder.path().join("bm25.run"), lines.join("\n")).unwrap();
    reranked(folder.path(), &[]);
    assert_eq!(fs::read(folder.path().join("out.run")).unwrap(), expected);
}

#[test]
fn parts_left_out_are_left_out_exactly() {
    let folder = ranked();
    first_stage(folder.path());
    let scores = |more: &[&str]| -> Vec<f64> {
        let mut rows = reranked(folder.path(), more);
        rows.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        rows.into_iter().map(|row| row.2).collect()
    };
    let whole = scores(&[]);
    let parts = [["lexi", "others"], ["deep", "others"], ["deep", "lexi"]];
    let parts = parts.map(|[a, b]| scores(&["--without", a, "--without", b]));
    for (at, whole) in whole.iter().enumerate() {
        let sum: f64 = parts.iter().map(|part| part[at]).sum();
        assert!((whole - sum).abs() <= 1e-4 * whole.abs().max(1.0), "{at}");
        assert!(parts.iter().all(|part| part[at] != *whole), "{at}");
    }
    let nothing = scores(&[
        "--without",
        "deep",
        "--without",
        "lexi",
        "--without",
        "others",
    ]);
    assert!(nothing.iter().all(|&score| score == 0.0));
}

#[test]
fn unknown_documents_repeated_lines_and_queries_without_text() {
    let folder = ranked();
    let input = "1 Q0 nobody 1 9 t\n1 Q0 d3 2 8 t\n1 Q0 ghost 3 7 t\n1 Q0 d4 4 6 t\n1 Q0 d3 5 5 t\n\
                 77 Q0 d1 1 2.5 t\n77 Q0 d2 2 1.5 t\n3 Q0 nobody 1 1 t\n";
    fs::write(folder.path().join("odd.run"), input).unwrap();
    let outcome = rerank(folder.path(), "odd.run", "out.run", &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for told in [
        "1 repeated lines",
        "2 queries of the queries file have no candidates",
        "token groups found: ",
        "odd.run:5",
        "1 queries of the run are not in the queries file and stay as they were: 77",
        "3 documents of the run are not in the index and were kept last: nobody, ghost",
    ] {
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
    }
    let kept = rows(&folder.path().join("out.run"));
    let of = |query: &str| -> Vec<&str> {
        let rows = kept.iter().filter(|row| row.0 == query);
        rows.map(|row| row.1.as_str()).collect()
    };
    let mut known = of("1")[..2].to_vec();
    known.sort_unstable();
    assert_eq!(known, ["d3", "d4"]);
    assert_eq!(of("1")[2..], ["nobody", "ghost"]);
    assert_eq!(of("3"), ["nobody"]);
    assert_eq!(
        kept.iter().filter(|row| row.0 == "77").collect::<Vec<_>>(),
        [
            &("77".into(), "d1".into(), 2.5),
            &("77".into(), "d2".into(), 1.5)
        ]
    );
    let dropped = rerank(
        folder.path(),
        "odd.run",
        "out.run",
        &["--unknown", "drop", "--json"],
    );
    let report = json(&dropped.stdout);
    assert_eq!(report["unknown_documents"]["count"], 3, "{report}");
    assert_eq!(report["queries_without_text"]["examples"][0], "77");
    assert_eq!(
        report["coverage"]["words"], 5,
        "of queries 1 and 3: {report}"
    );
    assert_eq!(
        (&report["repeated"], &report["documents"]),
        (&1.into(), &4.into())
    );
    let kept = rows(&folder.path().join("out.run"));
    assert!(kept.iter().all(|row| row.1.starts_with('d')), "{kept:?}");
}

#[test]
fn features_of_the_caller_count_and_missing_ones_do_not() {
    let folder = ranked();
    first_stage(folder.path());
    let before = reranked(folder.path(), &[]);
    let last = before.iter().rfind(|row| row.0 == "1").unwrap().clone();
    let features = format!("1\t{}\tclicks\t50\n1\td0\tmood\t1\n", last.1);
    fs::write(folder.path().join("clicks.tsv"), features).unwrap();
    let outcome = rerank(
        folder.path(),
        "bm25.run",
        "out.run",
        &["--features", "clicks.tsv"],
    );
    assert!(
        outcome.stderr.contains("no weight for \"mood\""),
        "{}",
        outcome.stderr
    );
    let after = rows(&folder.path().join("out.run"));
    assert_eq!(after[0].1, last.1, "clicks bring it to the front");
    assert!((after[0].2 - last.2 - 150.0).abs() < 1e-3, "weight 3 × 50");
    // Nobody else has clicks, and nobody else's score has changed.
    let others = |rows: &[(String, String, f64)]| -> Vec<(String, String, f64)> {
        let changed = |row: &&(String, String, f64)| row.0 == "1" && row.1 == last.1;
        rows.iter().filter(|row| !changed(row)).cloned().collect()
    };
    assert_eq!(others(&after), others(&before));
    fs::write(folder.path().join("clicks.tsv"), "1\td0\tclicks\tmany\n").unwrap();
    let faulty = rerank(
        folder.path(),
        "bm25.run",
        "out.run",
        &["--features", "clicks.tsv"],
    );
    assert!(
        faulty.code == Some(1) && faulty.stderr.contains("clicks.tsv:1"),
        "{}",
        faulty.stderr
    );
}

#[test]
fn heads_may_be_swapped_if_they_fit() {
    let folder = ranked();
    first_stage(folder.path());
    let before = reranked(folder.path(), &[]);
    let mut other = head(&folder.path().join("model"));
    other.lexical.clear();
    let path = folder.path().join("other.json");
    other.write(&path).unwrap();
    let after = reranked(folder.path(), &["--head", "other.json"]);
    assert_ne!(before, after);
    for (change, told) in [
        (
            Box::new(|head: &mut Head| head.encoder_id = "0".repeat(32)) as Box<dyn Fn(&mut Head)>,
            "trained for encoder 0000",
        ),
        (
            Box::new(|head: &mut Head| head.deep.alpha.truncate(2)),
            "2 layers, the index keeps 3",
        ),
        (
            Box::new(|head: &mut Head| {
                let mut unknown = head.others.features[0].clone();
                unknown.name = "vibes".into();
                head.lexical.push(unknown);
            }),
            "body_bm25_pairs",
        ),
    ] {
        let mut head = other.clone();
        change(&mut head);
        head.write(&path).unwrap();
        let outcome = rerank(
            folder.path(),
            "bm25.run",
            "out.run",
            &["--head", "other.json"],
        );
        assert_eq!(outcome.code, Some(1), "{told}");
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("other.json"), "{}", outcome.stderr);
    }
}

#[test]
fn what_cannot_be_ranked_says_what_to_do() {
    let folder = ranked();
    first_stage(folder.path());
    run(
        folder.path(),
        &["index", "all.jsonl", "--out", "words", "--lexical-only"],
    );
    fs::remove_file(folder.path().join("index/model/head.json")).unwrap();
    for (index, told) in [
        ("words", "without --lexical-only"),
        ("index", "--head FILE"),
    ] {
        let files = ["--run", "bm25.run", "--out", "out.run"];
        let command = ["rerank", index, "--queries", "queries.tsv"];
        let outcome = becr(folder.path(), &[&command[..], &files].concat());
        assert_eq!(outcome.code, Some(1), "{index}");
        assert!(outcome.stderr.contains(told), "{index}: {}", outcome.stderr);
        // A search falls back to BM25 and says so.
        let outcome = becr(folder.path(), &["search", index, "river"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("Ranked by BM25"),
            "{}",
            outcome.stderr
        );
        let outcome = becr(folder.path(), &["explain", index, "river", "d1"]);
        assert!(
            outcome.code == Some(1) && outcome.stderr.contains(told),
            "{}",
            outcome.stderr
        );
    }
}
