//! The models that the paper compares BECR with: trained on a small random model, and re-ranking a run.

use crate::becr;
use crate::full::{folder, run};
use crate::ranked::{json, rows};
use crate::train::{config, data, losses};
use std::fs;
use std::path::Path;

/// A training of the kind that KIND names. A random BERT learns few queries by heart sooner than many.
const TRAINING: &str = "\
    [model]\nbase = 'model'\n[output]\nmodel = 'OUT'\nwork = 'work'\n[validation]\nshare = 0.1\n\
    [data.negatives]\nbm25 = 6\nrandom = 2\n\
    [[data.sets]]\nname = 'own'\ncorpus = ['corpus.jsonl']\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\ncap = 14\n\
    [baseline]\nkind = 'KIND'\nmax_document_tokens = 40\nMORE\n\
    [train]\nsteps = STEPS\nbatch = 8\nnegatives = 3\nloss = 'pairwise'\nrate = RATE\nencoder_rate = 2e-3\n\
    schedule = 'constant'\nvalidate_every = 20\npatience = 0\n";

fn training(kind: &str, out: &str, more: &str, steps: usize, rate: f64) -> String {
    TRAINING
        .replace("KIND", kind)
        .replace("OUT", out)
        .replace("MORE", more)
        .replace("STEPS", &steps.to_string())
        .replace("RATE", &rate.to_string())
}

/// A folder with a model, data, an index and the run of its first stage.
fn prepared() -> tempfile::TempDir {
    let folder = folder();
    let path = folder.path();
    data(path);
    run(
        path,
        &["index", "corpus.jsonl", "--out", "ix", "--model", "model"],
    );
    let search = "search ix --queries queries.tsv --run-out bm25.run --first-stage --k 10";
    run(path, &search.split(' ').collect::<Vec<_>>());
    folder
}

fn rerank(folder: &Path, baseline: &str, out: &str) -> serde_json::Value {
    let rerank = format!(
        "rerank ix --queries queries.tsv --run bm25.run --out {out} --baseline {baseline} --json"
    );
    json(&run(folder, &rerank.split(' ').collect::<Vec<_>>()).stdout)
}

#[test]
fn each_learns_and_reranks() {
    let folder = prepared();
    let folder = folder.path();
    let mut glove = String::new();
    for (number, word) in crate::full::WORDS.iter().enumerate() {
        let angle = number as f64;
        glove += &format!("{word} {} {} {}\n", angle.sin(), angle.cos(), angle / 12.0);
    }
    fs::write(folder.join("glove.txt"), glove).unwrap();
    let kinds = [
        ("knrm", "dimensions = 16", 60, 0.3),
        ("conv_knrm", "dimensions = 8\nfilters = 8", 60, 0.05),
        ("bert", "pooler = true", 150, 0.005),
        ("cedr_knrm", "", 30, 0.002),
        ("colbert", "projection = 8", 40, 0.02),
    ];
    let bm25 = rows(&folder.join("bm25.run"));
    for (kind, more, steps, rate) in kinds {
        let text = training(kind, kind, more, steps, rate);
        config(folder, "c.toml", &text);
        fs::remove_dir_all(folder.join("work/seed-1")).ok();
        run(folder, &["train", "c.toml"]);
        let losses = losses(folder, "work/seed-1/log.jsonl");
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (first, last) = (mean(&losses[..8]), mean(&losses[losses.len() - 8..]));
        assert!(last < 0.95 * first, "{kind}: {first} to {last}");
        let out = format!("{kind}.run");
        let report = rerank(folder, kind, &out);
        assert_eq!(report["scored"], bm25.len(), "{report}");
        let found = rows(&folder.join(&out));
        assert_eq!(found.len(), bm25.len());
        let order = |rows: &[(String, String, f64)]| -> Vec<String> {
            rows.iter().map(|row| row.1.clone()).collect()
        };
        assert_ne!(order(&found), order(&bm25), "{kind}");
        // The same once more, to the last digit.
        rerank(folder, kind, "again.run");
        assert_eq!(
            fs::read(folder.join("again.run")).unwrap(),
            fs::read(folder.join(&out)).unwrap()
        );
    }
    // With a pooler, BERT is a sequence classifier that the cross-encoder reads.
    let cross =
        "rerank ix --queries queries.tsv --run bm25.run --out cross.run --cross-encoder bert";
    run(folder, &cross.split(' ').collect::<Vec<_>>());
    let (own, served) = (
        rows(&folder.join("bert.run")),
        rows(&folder.join("cross.run")),
    );
    for (query, document, score) in &own {
        let same = |row: &&(String, String, f64)| row.0 == *query && row.1 == *document;
        let other = served.iter().find(same).unwrap().2;
        assert!(
            (score - other).abs() < 1e-3,
            "{query} {document}: {score} {other}"
        );
    }
    // CEDR-KNRM from the weights of BERT, as in the paper, and word vectors of a file.
    let from =
        training("cedr_knrm", "cedr2", "", 5, 0.002).replace("base = 'model'", "base = 'bert'");
    config(
        folder,
        "c.toml",
        &from.replace("work = 'work'", "work = 'work2'"),
    );
    run(folder, &["train", "c.toml"]);
    rerank(folder, "cedr2", "cedr2.run");
    config(
        folder,
        "c.toml",
        &training("knrm", "glove", "vectors = 'glove.txt'", 60, 0.3),
    );
    fs::remove_dir_all(folder.join("work/seed-1")).unwrap();
    let told = run(folder, &["train", "c.toml"]).stderr;
    assert!(
        told.contains("12 words with vectors of 3 numbers"),
        "{told}"
    );
    rerank(folder, "glove", "glove.run");
    // Asked again, there is nothing left to do; after other options, it is said.
    run(folder, &["train", "c.toml"]);
    let other = becr(
        folder,
        &["train", "c.toml", "--seed", "2", "--out", "glove2"],
    );
    assert_eq!(other.code, Some(0), "{}", other.stderr);
}

#[test]
fn folds_test_every_query_once() {
    let folder = prepared();
    let folder = folder.path();
    let frozen = "encoder = 'frozen'\nprojection = 8";
    for (kind, more, rate) in [
        ("knrm", "dimensions = 8", 0.3),
        ("bert", frozen, 0.05),
        ("cedr_knrm", frozen, 0.005),
        ("colbert", frozen, 0.02),
    ] {
        let out = format!("{kind}-folds");
        let text = training(kind, &out, more, 10, rate).replace("cap = 14\n", "");
        config(
            folder,
            "c.toml",
            &(text + "[folds]\ncount = 3\nmeasures = 'nDCG@10'\n"),
        );
        fs::remove_dir_all(folder.join("work/seed-1")).ok();
        let told = run(folder, &["train", "c.toml"]).stdout;
        assert!(told.contains("80 test queries"), "{told}");
        check_first_fold(folder, &out);
    }
}

/// What the run of all folds says of the first fold's queries, its model says again.
fn check_first_fold(folder: &Path, out: &str) {
    let crossed = rows(&folder.join(out).join("cross-validated.run"));
    assert!(!crossed.is_empty());
    let folds: serde_json::Value =
        json(&fs::read_to_string(folder.join(out).join("folds.json")).unwrap());
    rerank(folder, &format!("{out}/fold-1"), "one.run");
    let again = rows(&folder.join("one.run"));
    let mut compared = 0;
    for id in folds["folds"][0]["test"].as_array().unwrap() {
        for (query, document, score) in crossed.iter().filter(|row| id == &row.0) {
            let found = again
                .iter()
                .find(|row| row.0 == *query && row.1 == *document);
            if let Some(found) = found {
                let error = (found.2 - score).abs();
                assert!(
                    error < 1e-4 * score.abs().max(1.0),
                    "{out}: {query} {document}: {} and {score}",
                    found.2
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    let good = training("knrm", "out", "", 5, 0.1);
    for (from, to, told) in [
        ("'knrm'", "'drmm'", "unknown variant `drmm`"),
        (
            "'knrm'",
            "'colbert'\nvectors = 'x'",
            "ColBERT has no table of word vectors",
        ),
        ("'knrm'", "'knrm'\npooler = true", "KNRM has none"),
        ("'knrm'", "'knrm'\nvectors = 'nowhere.txt'", "nowhere.txt"),
        ("'knrm'", "'knrm'\ndimensions = 0", "expected 1 to 4096"),
        (
            "base = 'model'",
            "base = 'model'\nbits = 64",
            "name base alone",
        ),
        (
            "[train]",
            "[train]\nmodel = { deep = false }",
            "[train.model] is about BECR",
        ),
    ] {
        config(folder, "c.toml", &good.replace(from, to));
        let outcome = becr(folder, &["train", "c.toml"]);
        assert_eq!(outcome.code, Some(1), "{told}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
    }
    let other = [
        "rerank",
        "x",
        "--queries",
        "queries.tsv",
        "--run",
        "r",
        "--out",
        "o",
    ];
    let both = [&other[..], &["--baseline", "a", "--cross-encoder", "b"]].concat();
    assert_eq!(becr(folder, &both).code, Some(2));
    run(
        folder,
        &["index", "corpus.jsonl", "--out", "ix", "--model", "model"],
    );
    fs::write(folder.join("r"), "q1 Q0 a0#1 1 1 x\n").unwrap();
    let refused = [
        "rerank",
        "ix",
        "--queries",
        "queries.tsv",
        "--run",
        "r",
        "--out",
        "o",
        "--baseline",
        "model",
    ];
    let refused = becr(folder, &refused);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("model/baseline.json") && refused.stderr.contains("becr-lab train"),
        "{}",
        refused.stderr
    );
}
