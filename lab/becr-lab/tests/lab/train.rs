//! `becr-lab train` with a small random model: from pairs, on an index that exists, in folds; interrupted and refused.

use crate::becr;
use crate::full::{WORDS, folder, run};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Document `n`: words that few have, and some that many have. No two are alike, nor are their queries: equal queries
/// are one to the folds, and near-copies no negatives.
fn text(n: usize) -> String {
    let few = |k: usize| {
        let word = WORDS[(n * 5 + k * 3) % WORDS.len()];
        format!("{word}s{}", (n / WORDS.len() + k) % 7)
    };
    let many = |k: usize| WORDS[(n + k) % WORDS.len()].to_owned();
    let words = (0..8).map(few).chain((0..6).map(many));
    words.collect::<Vec<_>>().join(" ")
}

pub(crate) fn query(n: usize) -> String {
    let words: Vec<String> = text(n).split(' ').map(str::to_owned).collect();
    format!("{} {} {}", words[n % 4], words[4 + n % 4], words[12])
}

/// Pairs, and the same as a collection with queries and judgements.
pub(crate) fn data(folder: &Path) {
    let (mut pairs, mut corpus, mut queries, mut qrels) =
        (String::new(), String::new(), String::new(), String::new());
    for n in 0..80 {
        let (query, text) = (query(n), text(n));
        let id = format!("a{}#{n}", n / 4);
        writeln!(
            pairs,
            r#"{{"id": "{id}", "query": "{query} {n}", "title": "", "text": "{text}"}}"#
        )
        .unwrap();
        writeln!(corpus, r#"{{"id": "{id}", "text": "{text}"}}"#).unwrap();
        writeln!(queries, "q{n}\t{query}").unwrap();
        writeln!(qrels, "q{n} 0 {id} 1").unwrap();
    }
    for (name, text) in [
        ("pairs.jsonl", pairs),
        ("corpus.jsonl", corpus),
        ("queries.tsv", queries),
        ("qrels.txt", qrels),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
}

pub(crate) fn config(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

const PAIRS: &str = "\
    [model]\nbase = 'model'\nlayers = 1\nbits = 64\n[output]\nmodel = 'OUT'\n\
    [validation]\nshare = 0.2\n[data.negatives]\nbm25 = 8\nsiblings = 2\nrandom = 2\n\
    [[data.sets]]\nname = 'pairs'\npairs = 'pairs.jsonl'\n\
    [train]\nsteps = 300\nbatch = 8\nvalidate_every = 10\npatience = 0\n";

pub(crate) fn losses(folder: &Path, log: &str) -> Vec<f64> {
    let log = fs::read_to_string(folder.join(log)).unwrap();
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter_map(|event| event["loss"].as_f64()).collect()
}

#[test]
fn a_tiny_model_learns_goes_on_after_a_kill_and_ranks() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    config(folder, "whole.toml", &PAIRS.replace("OUT", "whole"));
    let outcome = run(folder, &["train", "whole.toml", "--json"]);
    let outcome: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let training = &outcome["outcome"]["trainings"][0];
    assert_eq!(
        (&training["examples"], &training["steps"]),
        (&64.into(), &300.into()),
        "{outcome}"
    );
    assert_eq!(outcome["data"]["sets"][0]["queries"], 80);
    let losses = losses(folder, "whole.training/seed-1/log.jsonl");
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    assert!(
        mean(&losses[280..]) < 0.8 * mean(&losses[..20]),
        "{losses:?}"
    );

    // The same training, killed once it has left a checkpoint.
    config(folder, "killed.toml", &PAIRS.replace("OUT", "killed"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_becr-lab"))
        .args(["train", "killed.toml"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = folder.join("killed.training/seed-1/checkpoint.safetensors");
    let begun = Instant::now();
    while !checkpoint.exists() && begun.elapsed() < Duration::from_secs(100) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    assert_eq!(
        child.wait().unwrap().code(),
        None,
        "it was killed in the middle"
    );
    assert!(!folder.join("killed").join("head.json").exists());
    let resumed = run(folder, &["train", "killed.toml"]);
    assert!(
        resumed.stderr.contains("going on after step"),
        "{}",
        resumed.stderr
    );
    let head = |name: &str| fs::read_to_string(folder.join(name).join("head.json")).unwrap();
    assert_eq!(
        head("killed"),
        head("whole"),
        "the same weights to the last bit"
    );

    // What was made is a model like any other.
    run(
        folder,
        &["index", "corpus.jsonl", "--out", "ix", "--model", "whole"],
    );
    let found = run(folder, &["search", "ix", &query(7), "--json"]).stdout;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_ne!(found["results"][0]["lexi"], 0.0, "{found}");

    // Another seed shares the index; other data do not.
    let second = ["train", "whole.toml", "--seed", "2", "--out", "second"];
    run(folder, &second);
    assert_ne!(head("second"), head("whole"));
    config(
        folder,
        "whole.toml",
        &PAIRS
            .replace("OUT", "whole")
            .replace("bits = 64", "bits = 32"),
    );
    let other = becr(folder, &["train", "whole.toml"]);
    assert!(
        other.code == Some(1) && other.stderr.contains("--restart"),
        "{}",
        other.stderr
    );
    let restarted = run(folder, &["train", "whole.toml", "--restart", "--prepare"]).stdout;
    assert!(restarted.contains("siblings"), "{restarted}");
}

const FOLDS: &str = "\
    [model]\nbase = 'model'\n[output]\nmodel = 'folds'\n[folds]\ncount = 3\nmeasures = 'nDCG@10 RR@10'\n\
    [[data.sets]]\nname = 'own'\ncorpus = ['corpus.jsonl']\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\nrun = 'bm25.run'\n\
    [train]\nsteps = 30\nbatch = 8\nvalidate_every = 10\n";

fn scores(run: &str) -> HashMap<(String, String), f64> {
    let columns = run.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    columns
        .map(|c| ((c[0].to_owned(), c[2].to_owned()), c[4].parse().unwrap()))
        .collect()
}

/// A trained encoder fits no index: every fold is a model, and its test queries are re-ranked as they are validated. Numbers of
/// documents come from files beside the corpus.
#[test]
fn folds_of_a_trained_encoder_leave_models_and_a_run() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    let ranks = fs::read_to_string(folder.join("corpus.jsonl")).unwrap();
    let id = |line: &str| -> String {
        let document: Value = serde_json::from_str(line).unwrap();
        document["id"].as_str().unwrap().to_owned()
    };
    let ranks: String = ranks
        .lines()
        .map(|line| format!("{} 0.5\n", id(line)))
        .collect();
    fs::write(folder.join("ranks.txt"), ranks).unwrap();
    let text = "\
        [model]\nbase = 'model'\n[output]\nmodel = 'folds'\n[folds]\ncount = 3\nmeasures = 'nDCG@10'\n\
        [[data.sets]]\nname = 'own'\ncorpus = ['corpus.jsonl']\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\npagerank = 'ranks.txt'\n\
        [train]\nsteps = 2\nbatch = 2\nnegatives = 2\nvalidate_every = 2\n\
        [train.model]\nencoder = 'trained'\nfeatures = ['pagerank']\nmax_document_tokens = 24\n";
    config(folder, "folds.toml", text);
    let told = run(folder, &["train", "folds.toml"]).stdout;
    assert!(told.contains("80 test queries"), "{told}");
    for fold in ["fold-1", "fold-2", "fold-3"] {
        let head = fs::read_to_string(folder.join("folds").join(fold).join("head.json")).unwrap();
        assert!(head.contains("pagerank"), "{head}");
        assert!(
            folder
                .join("folds")
                .join(fold)
                .join("model.safetensors")
                .is_file()
        );
    }
    let run = fs::read_to_string(folder.join("folds/cross-validated.run")).unwrap();
    let queries: std::collections::HashSet<&str> = run
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(queries.len(), 80);
}

#[test]
fn folds_leave_heads_and_a_run_that_rerank_repeats() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    run(
        folder,
        &["index", "corpus.jsonl", "--out", "ix", "--model", "model"],
    );
    let search = [
        "search",
        "ix",
        "--queries",
        "queries.tsv",
        "--run-out",
        "bm25.run",
        "--first-stage",
        "--k",
        "20",
    ];
    run(folder, &search);
    config(folder, "folds.toml", FOLDS);
    let told = run(folder, &["train", "folds.toml"]).stdout;
    assert!(
        told.contains("80 test queries") && told.contains("RR@10"),
        "{told}"
    );
    let folds: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("folds/folds.json")).unwrap())
            .unwrap();
    let crossed = scores(&fs::read_to_string(folder.join("folds/cross-validated.run")).unwrap());
    let mut compared = 0;
    for fold in 0..3 {
        let head = format!("folds/fold-{}.head.json", fold + 1);
        let index = "folds.training/index";
        run(
            folder,
            &[
                "rerank",
                index,
                "--queries",
                "queries.tsv",
                "--run",
                "bm25.run",
                "--out",
                "again.run",
                "--head",
                &head,
            ],
        );
        let again = scores(&fs::read_to_string(folder.join("again.run")).unwrap());
        for id in folds["folds"][fold]["test"].as_array().unwrap() {
            for (key, score) in crossed.iter().filter(|((query, _), _)| id == query) {
                assert!(
                    (again[key] - score).abs() <= 1e-4,
                    "{key:?}: {score} {}",
                    again[key]
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, crossed.len());

    // A head tuned on an index that exists, from a head that exists.
    let tuned = "[index]\npath = 'folds.training/index'\n[model]\nbase = 'model'\nhead = 'folds/fold-1.head.json'\n\
        [output]\nmodel = 'tuned'\n[validation]\nshare = 0.2\n[[data.sets]]\nname = 'own'\nqueries = 'queries.tsv'\n\
        qrels = 'qrels.txt'\n[train]\nsteps = 20\nbatch = 8\nvalidate_every = 10\n";
    config(folder, "tuned.toml", tuned);
    run(folder, &["train", "tuned.toml"]);
    let rerank = [
        "rerank",
        "ix",
        "--queries",
        "queries.tsv",
        "--run",
        "bm25.run",
        "--out",
        "tuned.run",
        "--head",
        "tuned/head.json",
    ];
    run(folder, &rerank);
}

/// The encoder is trained too, for a few steps; γ as well.
const ENCODER: &str = "\
    [model]\nbase = 'model'\nlayers = 1\nbits = 64\n[output]\nmodel = 'tuned'\n[validation]\nshare = 0.1\n\
    [data.negatives]\nbm25 = 4\n[[data.sets]]\nname = 'pairs'\npairs = 'pairs.jsonl'\n\
    [train]\nsteps = 2\nbatch = 4\nnegatives = 2\nvalidate_every = 2\n\
    model = { encoder = 'trained', cls = true, max_document_tokens = 24 }\n";

#[test]
fn a_trained_encoder_is_written_whole_or_the_training_goes_on() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    config(folder, "encoder.toml", ENCODER);
    // Something is in the way of the last file that is written.
    let obstacle = folder.join("tuned/head.json");
    fs::create_dir_all(obstacle.join("x")).unwrap();
    let stopped = becr(folder, &["train", "encoder.toml"]);
    assert_eq!(stopped.code, Some(1), "{}", stopped.stdout);
    assert!(stopped.stderr.contains("tuned"), "{}", stopped.stderr);
    fs::remove_dir_all(&obstacle).unwrap();
    let resumed = run(folder, &["train", "encoder.toml"]);
    assert!(
        resumed.stderr.contains("going on after step 2"),
        "{}",
        resumed.stderr
    );
    assert!(!folder.join("tuned.partial").exists());
    // Asked again, it has nothing left to do.
    let head = fs::read_to_string(&obstacle).unwrap();
    run(folder, &["train", "encoder.toml"]);
    assert_eq!(fs::read_to_string(&obstacle).unwrap(), head);

    // Its γ goes into an index, and a head that goes on from there keeps it: training is what is served.
    run(
        folder,
        &["index", "corpus.jsonl", "--out", "ix", "--model", "tuned"],
    );
    let more = "[index]\npath = 'ix'\n[model]\nhead = 'ix/model/head.json'\n[output]\nmodel = 'more'\n\
        [validation]\nshare = 0.2\n[[data.sets]]\nname = 'own'\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\n\
        [train]\nsteps = 5\nbatch = 8\nvalidate_every = 5\n";
    config(folder, "more.toml", more);
    run(folder, &["train", "more.toml"]);
    let gamma = |path: &str| -> Value {
        let head = fs::read_to_string(folder.join(path)).unwrap();
        serde_json::from_str::<Value>(&head).unwrap()["others"]["cls"].clone()
    };
    assert!(gamma("more/head.json").is_array());
    assert_eq!(gamma("more/head.json"), gamma("tuned/head.json"));
}

#[test]
fn a_similarity_that_footprints_do_not_give_is_not_served() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    let cosine = ENCODER.replace("cls = true", "similarity = 'cosine_of_sum'");
    config(folder, "cosine.toml", &cosine);
    let trained = run(folder, &["train", "cosine.toml"]);
    assert!(
        trained.stderr.contains("`becr index` will refuse"),
        "{}",
        trained.stderr
    );
    let build = ["index", "corpus.jsonl", "--out", "ix", "--model", "tuned"];
    let refused = becr(folder, &build);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    let told = "tuned/config.json: \"similarity\" is \"cosine_of_sum\"";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert!(!folder.join("ix").exists());
    // An index of the encoder alone may exist; the head is refused by it.
    let path = folder.join("tuned/config.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("cosine_of_sum", "sum_of_cosines")).unwrap();
    let head = folder.join("tuned/head.json");
    assert!(becr(folder, &build).stderr.contains("tuned/head.json"));
    fs::rename(&head, folder.join("head.json")).unwrap();
    run(folder, &build);
    fs::write(folder.join("run"), "q1 Q0 a0#1 1 1 x\n").unwrap();
    let rerank = [
        "rerank",
        "ix",
        "--queries",
        "queries.tsv",
        "--run",
        "run",
        "--out",
        "out.run",
        "--head",
        "head.json",
    ];
    let refused = becr(folder, &rerank);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("similarity = \"sum_of_cosines\""),
        "{}",
        refused.stderr
    );
}

#[test]
fn what_cannot_be_trained_is_said() {
    let folder = folder();
    let folder = folder.path();
    data(folder);
    let refused = |text: &str, told: &str| {
        config(folder, "c.toml", text);
        let outcome = becr(folder, &["train", "c.toml"]);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    };
    refused(
        &PAIRS.replace("steps", "stepz"),
        "c.toml:17: unknown field `stepz`",
    );
    refused(
        &PAIRS.replace("base = 'model'", "base = 'nowhere'"),
        "nowhere/config.json",
    );
    refused(
        &PAIRS.replace("[train]", "[train]\ndevice = 'cuda:9'"),
        match cfg!(feature = "cuda-plain") {
            true => "GPU",
            false => "--features",
        },
    );
    let missing = becr(folder, &["train", "nowhere.toml"]);
    assert!(
        missing.code == Some(1) && missing.stderr.contains("nowhere.toml"),
        "{}",
        missing.stderr
    );
    // Judgements of documents that nobody has.
    fs::write(
        folder.join("qrels.txt"),
        "q1 0 stranger 1\nq2 0 stranger 1\n",
    )
    .unwrap();
    let judged = FOLDS
        .replace("run = 'bm25.run'\n", "")
        .replace("[folds]\ncount = 3\nmeasures = 'nDCG@10 RR@10'\n", "");
    refused(&judged, "relevant documents are not in the index");
}
