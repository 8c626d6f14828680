//! `becr bench rank` on a store of a few documents: the rows are there and their parts make sense.

use crate::full::run;
use std::path::Path;

#[test]
fn rows_have_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["composed", "encoded"] {
        rows_of(folder.path(), mode);
    }
}

fn rows_of(folder: &Path, mode: &str) {
    let arguments = ["--n", "2", "--candidates", "5,20", "--documents", "30"];
    let bench = ["bench", "rank", "--json", "rank.json", "--mode", mode];
    let table = run(folder, &[&bench[..], &arguments].concat()).stdout;
    assert!(
        table.lines().count() == 3 && table.contains("ratio"),
        "{table}"
    );
    let json = std::fs::read_to_string(folder.join("rank.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["mode"], mode);
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for (row, candidates) in rows.iter().zip([5, 20]) {
        assert_eq!(
            (row["n"].as_u64(), row["candidates"].as_u64()),
            (Some(2), Some(candidates))
        );
        let ms = |name: &str| row[name].as_f64().unwrap();
        assert!(ms("lookup_ms") > 0.0 && ms("fetch_ms") > 0.0 && ms("engine_ms") > 0.0);
        assert!(ms("total_ms") > ms("deep_ms"), "{row}");
    }
}
