//! `becr bench rank` on a store of a few documents: the rows are there and their parts make sense.

use crate::full::run;

#[test]
fn rows_have_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--n", "2", "--candidates", "5,20", "--documents", "30"];
    let arguments = [&["bench", "rank", "--json", "rank.json"], &arguments[..]].concat();
    let table = run(folder.path(), &arguments).stdout;
    assert!(
        table.lines().count() == 3 && table.contains("ratio"),
        "{table}"
    );
    let json = std::fs::read_to_string(folder.path().join("rank.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
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
