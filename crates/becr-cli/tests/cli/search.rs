//! `becr search`: a folder of notes in two commands, and query files to runs.

use crate::becr;
use crate::full::run;
use crate::ranked::{json, ranked, rows};
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

#[test]
fn a_full_index_is_re_ranked() {
    let folder = ranked();
    let search = |more: &[&str]| {
        let arguments = ["search", "index", "river bank", "--json", "--k", "12"];
        json(&run(folder.path(), &[&arguments[..], more].concat()).stdout)
    };
    let answer = search(&["--explain"]);
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 12);
    let number = |result: &serde_json::Value, name: &str| result[name].as_f64().unwrap();
    for (result, rank) in results.iter().zip(1..) {
        assert_eq!(result["rank"], rank);
        let parts = ["deep", "lexi", "others"].map(|part| number(result, part));
        let (score, sum) = (number(result, "score"), parts.iter().sum::<f64>());
        assert!(
            (score - sum).abs() <= 1e-4 * score.abs().max(1.0),
            "{result}"
        );
        assert!(!result["explanation"].as_array().unwrap().is_empty());
    }
    assert!(results.is_sorted_by(|a, b| number(a, "score") >= number(b, "score")));
    assert!(
        results.iter().any(|r| r["rank"] != r["first_stage_rank"]),
        "the order is another one than BM25's"
    );
    for stage in [
        "first_stage",
        "look_up",
        "fetch",
        "lexical",
        "deep",
        "total",
    ] {
        assert!(answer["timing_ms"][stage].is_f64(), "{stage}");
    }
    assert_eq!(answer["coverage"]["words_found"], 2, "{answer}");
    // Beyond the depth the first stage's order goes on, behind what was re-ranked.
    let shallow = search(&["--depth", "3"]);
    let shallow = shallow["results"].as_array().unwrap();
    let places: Vec<u64> = shallow
        .iter()
        .map(|result| result["first_stage_rank"].as_u64().unwrap())
        .collect();
    assert_eq!(places[3..], (4..=12).collect::<Vec<u64>>());
    assert!(shallow.is_sorted_by(|a, b| number(a, "score") > number(b, "score")));
    assert!(shallow[2]["deep"].is_f64() && shallow[3].get("deep").is_none());

    let outcome = run(
        folder.path(),
        &["search", "index", "river", "--explain", "--timing"],
    );
    assert!(outcome.stdout.contains("(BM25: "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("meaning +") || outcome.stdout.contains("meaning -"));
    assert!(outcome.stderr.contains("look-up"), "{}", outcome.stderr);
}

#[test]
fn odd_queries_are_re_ranked_without_fuss() {
    let folder = ranked();
    let long = "river bank the zyzzyva 🦓 ".repeat(125);
    for (query, finds) in [
        ("", false),
        ("🦓 🦓", false),
        ("zyzzyva unheardof", false),
        ("the of", true),
        (&long, true),
    ] {
        let arguments = ["search", "index", query, "--json", "--explain"];
        let answer = json(&run(folder.path(), &arguments).stdout);
        let found = answer["results"].as_array().unwrap();
        assert_eq!(!found.is_empty(), finds, "{query:?}");
        assert!(found.iter().all(|result| result["score"].is_f64()));
    }
}

#[test]
fn a_run_has_all_that_was_asked_for() {
    let folder = ranked();
    let arguments = ["search", "index", "--queries", "queries.tsv", "--timing"];
    let more = ["--run-out", "becr.run", "--depth", "5", "--k", "30"];
    let outcome = run(folder.path(), &[&arguments[..], &more].concat());
    assert!(outcome.stderr.contains("median"), "{}", outcome.stderr);
    let rows = rows(&folder.path().join("becr.run"));
    let first: Vec<_> = rows.iter().filter(|row| row.0 == "1").collect();
    assert!(first.len() > 5 && first.len() <= 30, "{}", first.len());
    assert!(first.is_sorted_by(|a, b| a.2 > b.2));
    let endless = run(folder.path(), &["search", "index", &"river ".repeat(1100)]);
    assert!(endless.stderr.contains("first 1024"), "{}", endless.stderr);
    let usage = ["search", "index", "river", "--first-stage", "--explain"];
    assert_eq!(becr(folder.path(), &usage).code, Some(2));
}

#[test]
fn words_need_no_quotes_and_results_show_the_passage() {
    let folder = ranked();
    let folder = folder.path();
    let quoted = run(folder, &["search", "index", "river bank", "-k", "3"]).stdout;
    let words = run(folder, &["search", "index", "river", "bank", "-k", "3"]).stdout;
    assert_eq!(quoted, words);
    assert!(!quoted.contains('\x1b'), "no colours where nobody looks");
    // A line for the result, a line for the passage.
    assert_eq!(quoted.lines().count(), 6, "{quoted}");
    let bold = run(
        folder,
        &["search", "index", "river", "bank", "--color", "always"],
    );
    assert!(bold.stdout.contains("\x1b[1m"), "{}", bold.stdout);
    for flag in ["-k", "--depth"] {
        let refused = becr(folder, &["search", "index", "river", flag, "0"]);
        assert_eq!(refused.code, Some(2), "{flag}");
        assert!(
            refused.stderr.contains("at least one"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn shells_and_manuals_are_served() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(folder.path(), &["completions", shell]).stdout;
        assert!(script.contains("rerank"), "{shell}");
    }
    run(folder.path(), &["manual", "man"]);
    let page = fs::read_to_string(folder.path().join("man/becr-search.1")).unwrap();
    assert!(page.contains("BM25"));
    let version = run(folder.path(), &["--version"]).stdout;
    assert!(version.contains("engine: "), "{version}");
}

#[test]
fn words_of_a_files_name_are_found() {
    let folder = notes();
    assert_eq!(first(folder.path(), "bread")["id"], "kitchen/bread.md");
    assert_eq!(first(folder.path(), "kitchen")["id"], "kitchen/bread.md");
}

/// Told of, and not replaced.
#[test]
fn words_with_a_typo_are_told_of() {
    let folder = ranked();
    let folder = folder.path();
    let outcome = run(
        folder,
        &["search", "index", "rivre", "bank", "zzzzzz", "q7w8x9"],
    );
    let said: Vec<&str> = outcome
        .stderr
        .lines()
        .filter(|line| line.contains("Did you mean"))
        .collect();
    assert_eq!(said, ["No document has \"rivre\". Did you mean \"river\"?"]);
    let answer = json(&run(folder, &["search", "index", "rivre bank", "--json"]).stdout);
    assert_eq!(
        answer["suggestions"],
        serde_json::json!([{"word": "rivre", "instead": "river"}])
    );
    let answer = json(&run(folder, &["search", "index", "river bank", "--json"]).stdout);
    assert!(answer.get("suggestions").is_none(), "{answer}");
    let snippet = &answer["results"][0]["snippet"];
    let marks = snippet["marks"].as_array().unwrap();
    assert!(!marks.is_empty() && !snippet["text"].as_str().unwrap().is_empty());
    let arguments = ["search", "index", "river bank", "--json", "--no-snippets"];
    let bare = json(&run(folder, &arguments).stdout);
    assert!(bare["results"][0].get("snippet").is_none(), "{bare}");
}

/// One vocabulary for people; technical names stand where every number does.
#[test]
fn reasons_are_told_in_plain_words() {
    let folder = ranked();
    let outcome = run(
        folder.path(),
        &["search", "index", "river bank", "--explain"],
    )
    .stdout;
    for expected in ["meaning ", "words ", "other signals "] {
        assert!(outcome.contains(expected), "{expected}: {outcome}");
    }
    for name in [
        "document_vector",
        "first_stage",
        "bm25_",
        "tfidf_",
        "deep ",
        "lexi",
    ] {
        assert!(!outcome.contains(name), "{name}: {outcome}");
    }
}
