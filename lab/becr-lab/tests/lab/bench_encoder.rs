//! `becr-lab bench encoder`: the forward pass in small.

use crate::becr;
use serde_json::Value;

#[test]
fn the_benchmark_measures_our_own_side_alone() {
    let folder = tempfile::tempdir().unwrap();
    let small = [
        "--shapes",
        "minilm",
        "--threads",
        "1",
        "--batches",
        "2x8",
        "--seconds",
        "0",
    ];
    let outcome = becr(
        folder.path(),
        &[&["bench", "encoder", "--json", "rows.json"], &small[..]].concat(),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("becr"), "{}", outcome.stdout);
    let json: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("rows.json")).unwrap()).unwrap();
    assert_eq!(
        (&json["rows"][0]["runtime"], &json["rows"][0]["becr_ratio"]),
        (&"becr".into(), &1.0.into())
    );
    assert!(json["rows"][0]["tokens_per_cpu_second"].as_f64().unwrap() > 0.0);
    let outcome = becr(
        folder.path(),
        &[&["bench", "encoder", "--python", "no/python"], &small[..]].concat(),
    );
    assert!(
        outcome.code == Some(1) && outcome.stderr.contains("no/python"),
        "{}",
        outcome.stderr
    );
}
