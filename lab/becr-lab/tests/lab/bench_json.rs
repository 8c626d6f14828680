//! What `becr-lab bench … --json` writes, for those benchmarks that have no module of their own.

use crate::full::{corpus, folder, run};
use crate::ranked::json;

#[test]
fn encoder() {
    let folder = folder();
    let arguments = "bench encoder --model model --batches 2x8 --seconds 0.01 --json -";
    let outcome = run(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    let report = json(&outcome.stdout);
    assert!(
        outcome.stderr.contains("int8"),
        "the table is elsewhere: {}",
        outcome.stderr
    );
    let text = report.to_string();
    for name in ["f32", "int8", "tokens_per_cpu_second"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn index() {
    let folder = folder();
    corpus(folder.path(), "all.jsonl", 0..50);
    let arguments = "bench index all.jsonl --runs 1 --json index.json";
    run(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    let written = std::fs::read_to_string(folder.path().join("index.json")).unwrap();
    let text = json(&written).to_string();
    for name in [
        "\"becr\"",
        "\"tantivy\"",
        "documents_per_second",
        "\"documents\":50",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn store() {
    let folder = folder();
    let arguments = "bench store --only serve,change --documents 200 --large 300 --runs 1 --json -";
    let outcome = run(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    let report = json(&outcome.stdout);
    assert!(
        report["serve"].is_object() && report["change"].is_object(),
        "{report}"
    );
    assert!(report.get("cold").is_none(), "{report}");
}

#[test]
fn scaling() {
    let folder = folder();
    let arguments = "bench scaling --threads 2 --documents 2 --precisions int8 --json -";
    let outcome = run(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    let row = &json(&outcome.stdout)["rows"][0];
    assert!(
        row["threads"] == 2 && row["ratio"].as_f64() > Some(0.0),
        "{row}"
    );
    // The bundled model builds indexes of a corpus: by one process, and by two of a part each.
    corpus(folder.path(), "few.jsonl", 0..6);
    let arguments = "bench scaling few.jsonl --threads 2 --precisions int8 --json -";
    let outcome = run(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    let row = &json(&outcome.stdout)["rows"][0];
    assert!(
        row["processes_tokens_per_second"].as_f64() > Some(0.0),
        "{row}"
    );
}
