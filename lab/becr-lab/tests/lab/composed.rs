//! Documents composed from token groups instead of encoded.

use crate::becr;
use crate::full::{corpus, digest, folder, index, run};
use std::path::Path;

fn stats(folder: &Path, index: &str) -> serde_json::Value {
    serde_json::from_str(&run(folder, &["stats", index, "--json"]).stdout).unwrap()
}

fn groups(folder: &Path) {
    run(folder, &["groups", "count", "all.jsonl", "--out", "counts"]);
    let select = ["groups", "select", "counts", "--model", "model"];
    run(folder, &[&select[..], &["--out", "groups.list"]].concat());
}

#[test]
fn composed_documents_are_built_changed_and_verified() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..30);
    corpus(folder, "first.jsonl", 0..20);
    corpus(folder, "more.jsonl", 20..30);
    groups(folder);
    let composed = ["--groups", "groups.list", "--compose-documents"];
    index(folder, "all.jsonl", "encoded", &composed[..2]);
    index(folder, "all.jsonl", "composed", &composed);
    assert_ne!(digest(folder, "encoded"), digest(folder, "composed"));
    let sound = run(folder, &["verify", "composed"]).stdout;
    assert!(sound.starts_with("sound: 30 documents"), "{sound}");

    // A footprint for each word, title and body.
    let store = &stats(folder, "composed")["store"];
    let count = |name: &str| store["totals"][name].as_u64().unwrap();
    assert_eq!(count("tokens"), count("title_words") + count("body_words"));
    assert_eq!(store["documents"], "composed");
    assert_eq!(stats(folder, "encoded")["store"]["documents"], "encoded");
    let text = run(folder, &["stats", "composed"]).stdout;
    assert!(text.contains("composed from token groups"), "{text}");

    // The same in parts, over time and after compaction.
    index(folder, "first.jsonl", "live", &composed);
    let added = run(folder, &["add", "live", "more.jsonl"]).stdout;
    assert_eq!(added, "10 added, 0 replaced, 0 deleted\n");
    run(folder, &["update", "live", "first.jsonl"]);
    assert_eq!(digest(folder, "live"), digest(folder, "composed"));
    run(folder, &["compact", "live"]);
    assert_eq!(digest(folder, "live"), digest(folder, "composed"));
    run(folder, &["verify", "live"]);
}

#[test]
fn kinds_do_not_mix() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..8);
    groups(folder);
    let composed = ["--groups", "groups.list", "--compose-documents"];
    for part in ["0/2", "1/2"] {
        let out = format!("part{}", &part[..1]);
        let shard = [&composed[..], &["--shard", part]].concat();
        index(folder, "all.jsonl", &out, &shard);
    }
    let shard = [&composed[..2], &["--shard", "1/2"]].concat();
    index(folder, "all.jsonl", "stranger", &shard);
    run(folder, &["merge", "part0", "part1", "--out", "merged"]);
    index(folder, "all.jsonl", "whole", &composed);
    assert_eq!(digest(folder, "merged"), digest(folder, "whole"));
    let mixed = becr(folder, &["merge", "part0", "stranger", "--out", "no"]);
    assert!(
        mixed.code == Some(1) && mixed.stderr.contains("one index holds one kind"),
        "{}",
        mixed.stderr
    );
    let lexical = ["index", "all.jsonl", "--out", "no", "--lexical-only"];
    let lexical = [&lexical[..], &["--compose-documents"]].concat();
    assert_eq!(becr(folder, &lexical).code, Some(2));
}
