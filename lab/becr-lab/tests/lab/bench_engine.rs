//! `becr-lab bench engine` on its smallest work.

use crate::becr;

const SMALL: [&str; 10] = [
    "bench",
    "engine",
    "--only",
    "n=1",
    "--only",
    "layers=1",
    "--only",
    "bits=64",
    "--only",
    "system=becr",
];

#[test]
fn rows_have_the_promised_fields() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let outcome = becr(
        folder.path(),
        &[&SMALL[..], &["--json", "rows.json"]].concat(),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("portable"), "{}", outcome.stdout);
    let text = std::fs::read_to_string(folder.path().join("rows.json")).expect("written");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = json["rows"].as_array().expect("rows");
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["system"], "becr");
        for (field, value) in [("n", 1), ("layers", 1), ("bits", 64), ("documents", 150)] {
            assert_eq!(row[field], value, "{row}");
        }
        assert_eq!(row["tokens"], 857);
        assert!(row["store_bytes"].as_u64() >= Some(200_000_000), "{row}");
        assert!(row["threads"].as_u64() >= Some(1), "{row}");
        assert!(
            row["ms"].as_f64() > Some(0.0) && row["floor_ms"].as_f64() > Some(0.0),
            "{row}"
        );
    }
}

#[test]
fn a_wrong_filter_is_a_usage_error_that_names_the_keys() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let outcome = becr(folder.path(), &["bench", "engine", "--only", "words=3"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("layers"), "{}", outcome.stderr);
}

#[test]
fn vectors_that_are_not_there_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let arguments = [
        "bench",
        "engine",
        "--only",
        "n=0",
        "--only",
        "system=becr",
        "--vectors",
        "none.safetensors",
    ];
    let outcome = becr(folder.path(), &arguments);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("none.safetensors"),
        "{}",
        outcome.stderr
    );
}
