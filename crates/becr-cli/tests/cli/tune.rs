//! `becr tune`: a head fitted to judgements, on an index that exists.

use crate::becr;
use crate::full::{WORDS, run};
use crate::modes::list_head;
use crate::ranked::{json, ranked, rows};
use becr_model::Head;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const CONFIG: &str = "[tune]\nindex = 'index'\nhead = 'list.json'\nout = 'tuned.json'\n\
    [[tune.sets]]\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\n";

/// Many queries; relevant is what BM25 has first and second, which the head to start from hardly looks at.
fn judged() -> TempDir {
    let folder = ranked();
    let path = folder.path();
    let mut queries = String::new();
    for (i, first) in WORDS.iter().enumerate() {
        for second in &WORDS[i + 1..] {
            if ![*first, *second]
                .iter()
                .any(|word| ["the", "of"].contains(word))
            {
                writeln!(queries, "{first}-{second}\t{first} {second}").unwrap();
            }
        }
    }
    fs::write(path.join("queries.tsv"), queries).unwrap();
    let search = "search index --queries queries.tsv --run-out bm25.run --first-stage --k 100";
    run(path, &search.split(' ').collect::<Vec<_>>());
    let mut places = std::collections::HashMap::new();
    let mut qrels = String::new();
    for (query, document, _) in rows(&path.join("bm25.run")) {
        let place = places.entry(query.clone()).or_insert(0);
        if *place < 2 {
            writeln!(qrels, "{query} 0 {document} 1").unwrap();
        }
        *place += 1;
    }
    fs::write(path.join("qrels.txt"), qrels).unwrap();
    let mut head = list_head(&path.join("model"));
    head.lexical[0].weight = 0.1;
    head.write(&path.join("list.json")).unwrap();
    fs::write(path.join("tune.toml"), CONFIG).unwrap();
    folder
}

/// nDCG@10 of a head over all queries.
fn ndcg(folder: &Path, head: &str) -> f64 {
    let rerank = "rerank index --queries queries.tsv --run bm25.run --out out.run --head";
    run(
        folder,
        &[&rerank.split(' ').collect::<Vec<_>>()[..], &[head]].concat(),
    );
    let eval = "eval --qrels qrels.txt --run out.run --measures nDCG@10 --json";
    let report = json(&run(folder, &eval.split(' ').collect::<Vec<_>>()).stdout);
    report["runs"][0]["aggregate"]["nDCG@10"]
        .as_f64()
        .unwrap_or_else(|| panic!("{report}"))
}

#[test]
fn a_head_learns_from_judgements() {
    let folder = judged();
    let folder = folder.path();
    let outcome = json(&run(folder, &["tune", "tune.toml", "--json"]).stdout);
    assert_eq!(outcome["verdict"], "gain", "{outcome}");
    assert_eq!(outcome["queries"], 45);
    // The queries are measured as the program ranks them.
    let before = outcome["before"].as_f64().unwrap();
    assert!(
        (before - ndcg(folder, "list.json")).abs() < 1e-6,
        "{outcome}"
    );
    let after = outcome["after"].as_f64().unwrap();
    assert!(after > before && outcome["interval"][0].as_f64().unwrap() > 0.0);
    assert!(ndcg(folder, "tuned.json") > before + 0.01);
    let (old, new) = ["list.json", "tuned.json"]
        .map(|name| Head::read(&folder.join(name)).unwrap())
        .into();
    assert!(new.lexical[0].weight > old.lexical[0].weight);
    assert!(new.about.contains_key("fine_tuned"));
    // The same again, to another file, in words.
    let told = run(folder, &["tune", "tune.toml", "--out", "again.json"]).stdout;
    assert!(told.contains("45 queries to learn from"), "{told}");
    assert!(
        told.contains("again.json: the new head, which is better"),
        "{told}"
    );
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    assert_eq!(read("again.json"), read("tuned.json"));
}

#[test]
fn what_cannot_be_tuned_is_said() {
    let folder = judged();
    let folder = folder.path();
    let refused = |config: &str, more: &[&str], told: &str| {
        fs::write(folder.join("bad.toml"), config).unwrap();
        let outcome = becr(folder, &[&["tune", "bad.toml"], more].concat());
        assert_eq!(outcome.code, Some(1), "{config}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
        assert!(!folder.join("tuned.json").exists());
    };
    refused(
        "[model]\nbase = 'bundled'\n",
        &[],
        "bad.toml: expected a section [tune]",
    );
    let own = CONFIG.replace("head = 'list.json'\n", "");
    refused(
        &own,
        &[],
        "index/model/head.json: this head scores every document by itself",
    );
    refused(&CONFIG.replace("'index'", "'nowhere'"), &[], "nowhere");
    refused(
        &CONFIG.replace("qrels.txt", "queries.tsv"),
        &[],
        "queries.tsv:1",
    );
    fs::write(
        folder.join("few.txt"),
        "river-bank 0 d1 1\nriver-bank 0 d2 0\n",
    )
    .unwrap();
    refused(
        &CONFIG.replace("qrels.txt", "few.txt"),
        &[],
        "1 judged queries have a relevant and an irrelevant document",
    );
}
