//! `becr-lab bench rank` on a store of a few documents: the rows are there and their parts make sense.

use crate::becr;
use crate::full::run;
use std::path::Path;

#[test]
fn rows_have_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["composed", "encoded"] {
        rows_of(folder.path(), mode);
    }
}

#[test]
fn a_kept_index_is_whole_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let arguments = ["--n", "3", "--candidates", "5", "--documents", "30"];
    let bench = [
        "bench",
        "rank",
        "--keep",
        "kept",
        "--threads",
        "1,2",
        "--json",
        "rank.json",
    ];
    let bench = [&bench[..], &arguments].concat();
    let first = run(folder, &bench).stdout;
    assert_eq!(first.lines().count(), 6, "{first}");
    let written = std::fs::metadata(folder.join("kept/becr.json")).unwrap();
    run(folder, &bench);
    let again = std::fs::metadata(folder.join("kept/becr.json")).unwrap();
    assert_eq!(written.modified().unwrap(), again.modified().unwrap());

    let json = std::fs::read_to_string(folder.join("rank.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let threads = json["library"].as_array().unwrap().iter();
    let threads: Vec<u64> = threads
        .map(|row| row["threads"].as_u64().unwrap())
        .collect();
    assert_eq!(threads, [1, 2]);
    let query = json["queries"]["3"][0].as_str().unwrap();
    let found = run(folder, &["search", "kept", "--mode", "composed", query]).stdout;
    assert!(found.contains("document-"), "{found}");
    run(folder, &["verify", "kept"]);

    let other = ["bench", "rank", "--keep", "kept", "--documents", "31"];
    let refused = becr(folder, &other);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("give --documents 30"),
        "{}",
        refused.stderr
    );
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
