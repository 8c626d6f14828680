//! `--mode`, `--scorer one-vector` and heads that go by the list, through the command.

use crate::becr;
use crate::full::{corpus, digest, index, run};
use crate::ranked::{head, json, ranked, rows};
use becr_model::{DeepScale, Feedback, Head, QueryMode, QueryVector, ScaleOver};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A head of format 2.
pub(crate) fn list_head(model: &Path) -> Head {
    list_head_of(model, 3)
}

/// The same for a model that keeps so many layers.
pub(crate) fn list_head_of(model: &Path, layers: usize) -> Head {
    let mut head = head(model);
    head.deep.alpha.truncate(layers);
    head.deep.query_vector = QueryVector::Whole;
    head.deep.scale = Some(DeepScale {
        over: ScaleOver::List,
        weight: 1.0,
        deviation: 0.5,
    });
    head.feedback = Some(Feedback {
        neighbours: 3,
        weight: 0.2,
        vector: 0.8,
    });
    head
}

fn rerank(folder: &Path, more: &[&str]) -> Vec<(String, String, f64)> {
    let arguments = ["rerank", "index", "--queries", "queries.tsv"];
    let files = ["--run", "bm25.run", "--out", "out.run"];
    run(folder, &[&arguments[..], &files, more].concat());
    rows(&folder.join("out.run"))
}

fn first_stage(folder: &Path, index: &str) {
    let arguments = ["search", index, "--queries", "queries.tsv"];
    let more = ["--run-out", "bm25.run", "--first-stage"];
    run(folder, &[&arguments[..], &more].concat());
}

fn refused(folder: &Path, arguments: &str, reasons: &[&str]) {
    let outcome = becr(folder, &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(outcome.code, Some(1), "{arguments}: {}", outcome.stderr);
    for reason in reasons {
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}

#[test]
fn an_index_for_encoded_queries_alone() {
    let folder = ranked();
    let folder = folder.path();
    corpus(folder, "more.jsonl", 40..44);
    let built = index(folder, "all.jsonl", "small", &["--mode", "encoded"]);
    assert!(built.stdout.contains(" tokens"), "{}", built.stdout);
    assert!(!built.stdout.contains("token groups"), "{}", built.stdout);
    assert!(!folder.join("small/groups.list").exists());
    let stats = json(&run(folder, &["stats", "small", "--json"]).stdout);
    assert_eq!(
        (&stats["mode"], &stats["store"]["groups"]),
        (&"encoded".into(), &0.into())
    );
    let stats = run(folder, &["stats", "small"]).stdout;
    assert!(stats.contains("for encoded queries alone"), "{stats}");

    // What it finds is what an index for both finds with encoded queries, but for the frequencies of pairs.
    let search = |index: &str, more: &[&str]| {
        let arguments = ["search", index, "river bank loan", "--json"];
        json(&run(folder, &[&arguments[..], more].concat()).stdout)["results"].clone()
    };
    let encoded = search("index", &["--mode", "encoded", "--without", "lexi"]);
    assert_eq!(search("small", &["--without", "lexi"]), encoded);
    assert_ne!(search("index", &["--without", "lexi"]), encoded);
    let why = run(
        folder,
        &["explain", "small", "river bank loan", "d3", "--all"],
    )
    .stdout;
    assert!(why.contains("read as a whole by the encoder"), "{why}");
    refused(
        folder,
        "search small river --mode composed",
        &["small: ", "encoded queries alone", "--mode encoded"],
    );

    // It lives as any other.
    run(folder, &["add", "small", "more.jsonl"]);
    run(folder, &["compact", "small"]);
    run(folder, &["verify", "small"]);
    assert_eq!(search("small", &[]).as_array().unwrap().len(), 10);
}

#[test]
fn parts_for_encoded_queries_need_no_list_of_groups() {
    let folder = ranked();
    let folder = folder.path();
    let encoded = ["--mode", "encoded"];
    index(folder, "all.jsonl", "whole", &encoded);
    for part in ["0/2", "1/2"] {
        let out = format!("part{}", &part[..1]);
        index(
            folder,
            "all.jsonl",
            &out,
            &[&encoded[..], &["--shard", part]].concat(),
        );
    }
    run(folder, &["merge", "part0", "part1", "--out", "merged"]);
    assert_eq!(digest(folder, "merged"), digest(folder, "whole"));
    refused(
        folder,
        "search merged river --mode composed",
        &["encoded queries alone"],
    );
    refused(folder, "merge part0 index --out mixed", &["for one mode"]);
    let shard = "index all.jsonl --out x --model model --mode composed --shard 0/2";
    refused(folder, shard, &["--groups"]);
    let grouped = "index all.jsonl --out x --model model --mode encoded --groups groups.list";
    refused(
        folder,
        grouped,
        &["no token groups", "leave --mode encoded out"],
    );
    assert!(!folder.join("x").exists());
}

/// Terms, document vector and feedback add up, and the list's numbers are said.
#[test]
fn heads_that_go_by_the_list() {
    let folder = ranked();
    let folder = folder.path();
    list_head(&folder.join("model"))
        .write(&folder.join("list.json"))
        .unwrap();
    let head = ["--head", "list.json"];
    for mode in ["composed", "encoded"] {
        let options = [&head[..], &["--mode", mode]].concat();
        let search = ["search", "index", "river bank loan", "--json"];
        let found = json(&run(folder, &[&search[..], &options].concat()).stdout);
        for result in found["results"].as_array().unwrap() {
            let id = result["id"].as_str().unwrap();
            let explain = ["explain", "index", "river bank loan", id, "--json"];
            let report = json(&run(folder, &[&explain[..], &options].concat()).stdout);
            let why = &report["documents"][0]["explanation"];
            let contribution = |part: &Value| part["contribution"].as_f64().unwrap();
            let terms = why["terms"].as_array().unwrap().iter().map(contribution);
            let deep = terms.sum::<f64>()
                + contribution(&why["document_vector"])
                + contribution(&why["feedback"]);
            assert!((deep - why["deep"].as_f64().unwrap()).abs() < 1e-6, "{id}");
            let score = result["score"].as_f64().unwrap();
            assert!(
                (why["score"].as_f64().unwrap() - score).abs() < 1e-4,
                "{id}"
            );
            assert_eq!(report["mode"], mode);
        }
    }
    let text = ["explain", "index", "river bank loan", "d3", "--all"];
    let text = run(folder, &[&text[..], &head].concat()).stdout;
    assert!(text.contains("like the best candidates"), "{text}");
    let page = [
        "explain",
        "index",
        "river bank",
        "d3",
        "d4",
        "--html",
        "why.html",
    ];
    run(folder, &[&page[..], &head].concat());
    let page = fs::read_to_string(folder.join("why.html")).unwrap();
    assert!(page.contains("like the best candidates"));
    // Of the first stage's candidates there is none: our own BM25 takes the place of its scores.
    let nothing = ["explain", "index", "nonsense", "d3", "--all"];
    let nothing = run(folder, &[&nothing[..], &head].concat()).stdout;
    assert!(
        nothing.contains("own_bm25") && nothing.contains("takes its place"),
        "{nothing}"
    );
}

#[test]
fn the_head_decides_the_mode() {
    let folder = ranked();
    let folder = folder.path();
    first_stage(folder, "index");
    let mut told = head(&folder.join("model"));
    told.mode = Some(QueryMode::Encoded);
    told.write(&folder.join("told.json")).unwrap();
    let encoded = rerank(folder, &["--mode", "encoded"]);
    assert_ne!(rerank(folder, &[]), encoded);
    assert_eq!(rerank(folder, &["--head", "told.json"]), encoded);
    let composed = ["--head", "told.json", "--mode", "composed"];
    assert_eq!(rerank(folder, &composed), rerank(folder, &[]));
}

#[test]
fn the_one_vector_score() {
    let folder = ranked();
    let folder = folder.path();
    first_stage(folder, "index");
    let one = |more: &[&str]| rerank(folder, &[&["--scorer", "one-vector"], more].concat());
    let runs = [
        one(&[]),
        one(&["--mode", "encoded"]),
        one(&["--weight", "0.4"]),
        rerank(folder, &[]),
    ];
    for (at, run) in runs.iter().enumerate() {
        assert!(runs[..at].iter().all(|other| other != run), "{at}");
    }
    assert_eq!(one(&["--weight", "0.8"]), runs[0]);
    // With weight 0 it is the first stage's score, from 0 to 1 within each list.
    let scores = one(&["--weight", "0"]);
    assert!(scores.iter().all(|row| (0.0..=1.0).contains(&row.2)));
    let bm25 = rows(&folder.join("bm25.run"));
    assert_eq!(scores[0].1, bm25[0].1);
    let why = [
        "explain",
        "index",
        "river bank",
        "d3",
        "--all",
        "--scorer",
        "one-vector",
    ];
    let why = run(folder, &why).stdout;
    assert!(
        why.contains("document_vector") && why.contains("first_stage"),
        "{why}"
    );
    refused(
        folder,
        "search index river --weight 2",
        &["the scorer one-vector"],
    );
    let weight = "search index river --scorer one-vector --weight nan";
    refused(folder, weight, &["finite number"]);
}
