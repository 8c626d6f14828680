//! `becr-lab rerank --variant`: what composed queries are composed of.

use crate::becr;
use crate::full::{index, run};
use crate::ranked::{ranked, rows};
use std::path::Path;

fn arguments<'a>(index: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let files = ["--queries", "queries.tsv", "--run", "bm25.run"];
    [&["rerank", index][..], &files, &["--out", "out.run"], more].concat()
}

fn reranked(folder: &Path, more: &[&str]) -> Vec<(String, String, f64)> {
    run(folder, &arguments("index", more));
    rows(&folder.join("out.run"))
}

#[test]
fn variants_differ() {
    let folder = ranked();
    let folder = folder.path();
    let search = "search index --queries queries.tsv --run-out bm25.run --first-stage";
    run(folder, &search.split(' ').collect::<Vec<_>>());
    let variants = ["becr", "no-pairs", "no-unigrams", "window-1"];
    let scores = variants.map(|variant| reranked(folder, &["--variant", variant]));
    for a in 0..scores.len() {
        for b in 0..a {
            assert_ne!(scores[a], scores[b], "{} and {}", variants[a], variants[b]);
        }
    }
    assert_eq!(scores[0], reranked(folder, &[]));
    let unknown = becr(folder, &arguments("index", &["--variant", "best"]));
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("window-1"), "{}", unknown.stderr);
    // Only composed queries are composed of anything.
    index(folder, "all.jsonl", "small", &["--mode", "encoded"]);
    for (index, more, told) in [
        (
            "index",
            &["--mode", "encoded"][..],
            "is not composed of token groups",
        ),
        ("small", &[], "no token groups to compose a query of"),
    ] {
        let variant = [&["--variant", "no-pairs"], more].concat();
        let refused = becr(folder, &arguments(index, &variant));
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
}
