//! `becr rerank --cross-encoder`: a small random classifier reads query and document together.

use crate::becr;
use crate::full::{WORDS, run};
use crate::ranked::{json, ranked, rows};
use becr_encoder::{CrossEncoder, Precision};
use becr_model::{Config, Extra, Model, Storage, Weights};
use std::fs;
use std::path::Path;

/// A sequence classifier of this many labels.
fn classifier(folder: &Path, name: &str, labels: usize) {
    let directory = folder.join(name);
    fs::create_dir(&directory).unwrap();
    let mut vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n".to_owned();
    WORDS
        .iter()
        .for_each(|word| vocabulary.push_str(&format!("{word}\n")));
    let config = Config::new(4 + WORDS.len(), 16, 2, 2, 24, 24);
    config.write(&directory.join("config.json")).unwrap();
    fs::write(directory.join("vocab.txt"), vocabulary).unwrap();
    let mut weights = Weights::random(&config, 8, 8.0);
    weights.prefix = "bert.".into();
    let tensors = [
        ("bert.pooler.dense.weight", vec![16, 16]),
        ("bert.pooler.dense.bias", vec![16]),
        ("classifier.weight", vec![labels, 16]),
        ("classifier.bias", vec![labels]),
    ];
    for (name, shape) in tensors {
        let count: usize = shape.iter().product();
        let data = (0..count).map(|n| ((n * 31 + 7) % 23) as f32 / 10.0 - 1.1);
        let data = data.collect();
        weights.extra.insert(name.into(), Extra { shape, data });
    }
    weights
        .write(&directory.join("model.safetensors"), Storage::F32)
        .unwrap();
}

#[test]
fn candidates_are_read_together_with_the_query() {
    let folder = ranked();
    let folder = folder.path();
    classifier(folder, "cross", 1);
    let search = "search index --queries queries.tsv --run-out bm25.run --first-stage";
    run(folder, &search.split(' ').collect::<Vec<_>>());
    // A document that the index does not have, and a query without a text.
    let mut lines = fs::read_to_string(folder.join("bm25.run")).unwrap();
    lines.push_str("1 Q0 nowhere 999 -5 x\n9 Q0 d1 1 3 x\n");
    fs::write(folder.join("bm25.run"), lines).unwrap();
    let rerank = "rerank index --queries queries.tsv --run bm25.run --out out.run --cross-encoder cross --json";
    let report = json(&run(folder, &rerank.split(' ').collect::<Vec<_>>()).stdout);
    assert_eq!(
        (
            &report["unknown_documents"],
            &report["queries_without_text"]
        ),
        (&1.into(), &1.into())
    );
    assert!(report["cut"].as_u64().unwrap() > 0, "{report}");
    let found = rows(&folder.join("out.run"));
    assert_eq!(found.len(), rows(&folder.join("bm25.run")).len());
    assert_eq!(found.last().unwrap().1, "d1");
    let of_first: Vec<_> = found.iter().filter(|row| row.0 == "1").collect();
    assert_eq!(of_first.last().unwrap().1, "nowhere");
    // Scores are the library's, best first.
    let cross =
        CrossEncoder::of_model(Model::read(folder.join("cross")).unwrap(), Precision::F32).unwrap();
    let index = becr::Index::open(folder.join("index")).unwrap();
    let view = index.view().unwrap();
    for (_, id, score) in &of_first[..of_first.len() - 1] {
        let text = view.text(id).unwrap().unwrap();
        let own = cross
            .scores("river bank", &[(&text.title, &text.text)])
            .unwrap();
        assert!(
            (f64::from(own.scores[0]) - score).abs() < 1e-4,
            "{id}: {own:?} {score}"
        );
    }
    assert!(of_first.is_sorted_by(|a, b| a.2 >= b.2));
    let ids: Vec<&String> = of_first.iter().map(|row| &row.1).collect();
    let bm25 = rows(&folder.join("bm25.run"));
    let before: Vec<&String> = bm25
        .iter()
        .filter(|row| row.0 == "1")
        .map(|row| &row.1)
        .collect();
    assert_ne!(ids, before);
    // In int8 the scores are near.
    let int8 = rerank
        .replace("--json", "--precision int8 --unknown drop")
        .replace("out.run", "int8.run");
    run(folder, &int8.split(' ').collect::<Vec<_>>());
    assert_eq!(rows(&folder.join("int8.run")).len(), found.len() - 1);
}

#[test]
fn what_is_no_cross_encoder_is_refused() {
    let folder = ranked();
    let folder = folder.path();
    classifier(folder, "three", 3);
    let search = "search index --queries queries.tsv --run-out bm25.run --first-stage";
    run(folder, &search.split(' ').collect::<Vec<_>>());
    let refused = |more: &str, code: i32, told: &str| {
        let rerank =
            format!("rerank index --queries queries.tsv --run bm25.run --out out.run {more}");
        let outcome = becr(folder, &rerank.split(' ').collect::<Vec<_>>());
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
        assert!(!folder.join("out.run").exists());
    };
    refused(
        "--cross-encoder three",
        1,
        "its classifier has 3 labels, a re-ranker has one",
    );
    refused("--cross-encoder model", 1, "no tensor pooler.dense.weight");
    refused("--cross-encoder nowhere", 1, "nowhere/config.json");
    refused("--cross-encoder three --mode encoded", 2, "--cross-encoder");
}
