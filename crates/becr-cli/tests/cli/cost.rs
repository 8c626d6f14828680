//! `becr cost`: the paper's figures and other people's.

use crate::{becr, full};
use serde_json::Value;
use std::path::Path;

fn json(arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["cost", "--json"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    let outcome = becr(Path::new("."), &arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn the_papers_example_in_words() {
    let outcome = becr(Path::new("."), &["cost"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for figure in [
        "1,711 TB",
        "37.9 TB",
        "7.01 TB",
        " 7.0 TB",
        "152 GB",
        "6.86 TB",
        "saves 3.07 kB",
        "153 GB",
    ] {
        assert!(
            outcome.stdout.contains(figure),
            "{figure} in\n{}",
            outcome.stdout
        );
    }
    let outcome = becr(Path::new("."), &["cost", "--all-groups"]);
    assert!(
        outcome.stdout.contains("306 GB") && outcome.stdout.contains("305.5 GB"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn the_papers_example_in_json() {
    let cost = json(&[]);
    assert_eq!(cost["storage"]["per_document"]["compressed"], 140_192.0);
    assert_eq!(cost["storage"]["documents"]["saved_by_cls"], 153.4e9);
    assert_eq!(cost["storage"]["groups"]["compressed"], 151.76e9);
    assert_eq!(cost["paper"]["storage"]["groups_compressed"], 152e9);
}

#[test]
fn another_collection_has_no_figures_of_the_paper() {
    let cost = json(&[
        "--documents",
        "1k",
        "--tokens",
        "100",
        "--words",
        "10",
        "--pairs",
        "20",
        "--dim",
        "384",
        "--layers",
        "7",
        "--stored-layers",
        "1",
        "--bits",
        "128",
    ]);
    assert_eq!(
        cost["storage"]["documents"]["ours"],
        1000.0 * (1600.0 + 4.0 + 16.0)
    );
    assert_eq!(cost["storage"]["groups"]["compressed"], 50.0 * 16.0);
    assert_eq!(cost["paper"], serde_json::json!({}));
}

#[test]
fn what_is_no_number_is_a_wrong_command_line() {
    for arguments in [["--documents", "many"], ["--tokens", "0"], ["--bits", "0"]] {
        let outcome = becr(Path::new("."), &["cost", arguments[0], arguments[1]]);
        assert_eq!(outcome.code, Some(2), "{arguments:?}");
        assert!(outcome.stderr.contains(arguments[0]), "{}", outcome.stderr);
    }
}

#[test]
fn an_index_predicts_a_larger_one() {
    let folder = full::folder();
    full::corpus(folder.path(), "all.jsonl", 0..40);
    full::index(folder.path(), "all.jsonl", "index", &[]);
    let predict = |documents: &str, more: &[&str]| -> Value {
        let first = ["cost", "--json", "--index", "index", "--target-documents"];
        let arguments: Vec<&str> = [&first[..], &[documents], more].concat();
        serde_json::from_str(&full::run(folder.path(), &arguments).stdout).unwrap()
    };
    let part = |forecast: &Value, name: &str, place: &str| {
        let parts = forecast[place]["components"].as_array().unwrap();
        let part = parts.iter().find(|part| part["name"] == name).unwrap();
        part["bytes"].as_f64().unwrap()
    };
    let same = predict("40", &[]);
    assert_eq!(
        same["prediction"]["components"],
        same["measured"]["components"]
    );
    // All that lies in the directory is counted, but for the manifest and the locks.
    let on_disk = size(&folder.path().join("index")) as f64;
    let counted = same["prediction"]["bytes"].as_f64().unwrap();
    assert!(
        counted <= on_disk && counted > on_disk - 4_000.0,
        "{counted} of {on_disk}"
    );
    let footprints = part(&same, "footprints", "measured");
    let tokens = same["measured"]["tokens"].as_f64().unwrap();
    assert!(footprints > tokens, "{footprints}");
    let more = predict("4k", &["--target-groups", "1M"]);
    assert_eq!(part(&more, "footprints", "prediction"), 100.0 * footprints);
    let groups = same["measured"]["groups"].as_f64().unwrap();
    let expected = part(&same, "token groups", "measured") * 1e6 / groups;
    assert!((part(&more, "token groups", "prediction") / expected - 1.0).abs() < 1e-9);
    let longer = predict("40", &["--target-tokens", &(tokens / 20.0).to_string()]);
    let ratio = part(&longer, "footprints", "prediction") / footprints;
    assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");

    let text = full::run(
        folder.path(),
        &["cost", "--index", "index", "--target-documents", "50M"],
    )
    .stdout;
    assert!(
        text.contains("predicted  50M documents") && text.contains("first-stage index"),
        "{text}"
    );
    for wrong in [
        &["--index", "index"][..],
        &["--target-documents", "5"],
        &[
            "--index",
            "index",
            "--target-documents",
            "5",
            "--bits",
            "64",
        ],
    ] {
        let outcome = becr(folder.path(), &[&["cost"], wrong].concat());
        assert_eq!(outcome.code, Some(2), "{wrong:?}");
    }
}

/// Bytes of all files but the readers' table of LMDB, whose size has nothing to do with the index.
fn size(path: &Path) -> u64 {
    if path.ends_with("lock.mdb") {
        return 0;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return std::fs::metadata(path).unwrap().len();
    };
    entries.map(|entry| size(&entry.unwrap().path())).sum()
}
