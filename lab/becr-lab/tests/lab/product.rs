//! The product's commands through the laboratory's program, and what the laboratory has of its own beside them.

use crate::becr;
use crate::full::{index, run};
use crate::ranked::ranked;
use serde_json::Value;
use std::fs;
use std::process::Command;

#[test]
fn every_other_command_is_the_products() {
    let folder = ranked();
    let folder = folder.path();
    let search = [
        "--quiet",
        "search",
        "index",
        "river",
        "--first-stage",
        "--json",
    ];
    let found: Value = serde_json::from_str(&run(folder, &search).stdout).unwrap();
    assert!(found["results"].is_array(), "{found}");
    let unknown = becr(folder, &["serch", "index", "river"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    let help = run(folder, &["--help"]).stdout;
    for own in ["bench", "train", "tables", "folds", "rerank", "index"] {
        assert!(help.contains(&format!("\n  {own} ")), "{own}: {help}");
    }
    assert!(run(folder, &["--version"]).stdout.starts_with("becr-lab "));
    let help = run(folder, &["rerank", "--help"]).stdout;
    for flag in ["--raw", "--baseline", "--cross-encoder", "--mode"] {
        assert!(help.contains(flag), "{flag}: {help}");
    }
}

/// The file is the product's: flags that the laboratory has are taken from it, others are left to the product.
#[test]
fn the_configuration_file_is_the_products() {
    let folder = ranked();
    let folder = folder.path();
    fs::write(
        folder.join("config.toml"),
        "[folds]\nseed = 1\n[rerank]\ntag = \"mine\"\n[search]\nk = 3\n",
    )
    .unwrap();
    run(
        folder,
        &[
            "search",
            "index",
            "--queries",
            "queries.tsv",
            "--run-out",
            "bm25.run",
            "--first-stage",
        ],
    );
    let rerank = "rerank index --queries queries.tsv --run bm25.run --out out.run --raw";
    let output = Command::new(env!("CARGO_BIN_EXE_becr-lab"))
        .args(rerank.split(' '))
        .current_dir(folder)
        .env("BECR_CONFIG", "config.toml")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let run = fs::read_to_string(folder.join("out.run")).unwrap();
    assert!(run.lines().all(|line| line.ends_with(" mine")), "{run}");
}

/// A document composed from token groups has a footprint for each word, which an explanation shows.
#[test]
fn composed_documents_are_explained() {
    let folder = ranked();
    let folder = folder.path();
    index(folder, "all.jsonl", "composed", &["--compose-documents"]);
    let text = run(folder, &["explain", "composed", "river", "d3"]).stdout;
    assert!(text.contains("nearest to \"river\": "), "{text}");
    for (more, told) in [
        ("--mode encoded", "no token groups"),
        ("--vectors-only", "--compose-documents"),
    ] {
        let line = format!("index all.jsonl --out x --model model --compose-documents {more}");
        let outcome = becr(folder, &line.split(' ').collect::<Vec<_>>());
        assert_ne!(outcome.code, Some(0), "{line}");
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    }
    assert!(!folder.join("x").exists());
}

#[test]
fn a_file_for_tuning_is_the_products() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tune.toml"), "[tune]\nindex = 'x'\n").unwrap();
    let outcome = becr(folder.path(), &["train", "tune.toml"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("`becr tune`"), "{}", outcome.stderr);
}
