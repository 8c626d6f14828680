//! Full indexes with a small random model: built, resumed, changed, merged, damaged.

use crate::becr;
pub(crate) use crate::fixtures::{WORDS, corpus, digest, folder, index, relative_folder, run};
use becr_model::{Config, Storage, Weights};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn first_stage(folder: &Path, index: &str) -> String {
    fs::write(
        folder.join("queries.tsv"),
        "1\triver bank\n2\tmoney of the loan\n3\tzebra\n",
    )
    .unwrap();
    run(
        folder,
        &[
            "search",
            index,
            "--queries",
            "queries.tsv",
            "--run-out",
            "run",
            "--first-stage",
        ],
    );
    fs::read_to_string(folder.join("run")).unwrap()
}

fn groups(folder: &Path, corpus: &str) {
    run(folder, &["groups", "count", corpus, "--out", "counts"]);
    run(
        folder,
        &[
            "groups",
            "select",
            "counts",
            "--model",
            "model",
            "--out",
            "groups.list",
        ],
    );
}

#[test]
fn the_same_corpus_gives_the_same_index() {
    let folder = folder();
    corpus(folder.path(), "all.jsonl", 0..40);
    let outcome = index(folder.path(), "all.jsonl", "one", &[]);
    assert!(
        outcome.stdout.contains("40 documents"),
        "{}",
        outcome.stdout
    );
    index(folder.path(), "all.jsonl", "two", &["--no-text"]);
    index(folder.path(), "all.jsonl", "three", &[]);
    assert_eq!(digest(folder.path(), "one"), digest(folder.path(), "three"));
    assert_ne!(
        digest(folder.path(), "one"),
        digest(folder.path(), "two"),
        "texts count"
    );
    assert_eq!(
        first_stage(folder.path(), "one"),
        first_stage(folder.path(), "two")
    );
    assert!(
        run(folder.path(), &["verify", "one"])
            .stdout
            .starts_with("sound: 40 documents")
    );
    let text = run(folder.path(), &["stats", "one"]).stdout;
    assert!(
        text.contains("forward index") && text.contains("token groups"),
        "{text}"
    );
}

#[test]
fn coverage_of_queries_is_told() {
    let folder = folder();
    corpus(folder.path(), "all.jsonl", 0..40);
    index(folder.path(), "all.jsonl", "index", &[]);
    fs::write(
        folder.path().join("queries.tsv"),
        "1\triver bank\n2\tunheard bank\n",
    )
    .unwrap();
    let arguments = ["stats", "index", "--queries", "queries.tsv"];
    let stats = run(folder.path(), &[&arguments[..], &["--json"]].concat()).stdout;
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    let coverage = &stats["store"]["coverage"];
    assert_eq!(coverage["words"]["asked"], 4, "{coverage}");
    assert_eq!(coverage["words"]["found"], 3, "{coverage}");
    assert_eq!(coverage["pairs"]["asked"], 2, "{coverage}");
    assert!(coverage["pairs"]["found"].as_u64() < Some(2), "{coverage}");
    let text = run(folder.path(), &arguments).stdout;
    assert!(text.contains("3 of 4 (75.0 %)"), "{text}");
}

#[test]
fn parts_merge_to_the_whole() {
    merge_parts(&folder());
    merge_parts(&relative_folder());
}

fn merge_parts(folder: &TempDir) {
    corpus(folder.path(), "all.jsonl", 0..30);
    groups(folder.path(), "all.jsonl");
    index(
        folder.path(),
        "all.jsonl",
        "whole",
        &["--groups", "groups.list"],
    );
    for part in ["0/3", "1/3", "2/3"] {
        let out = format!("part{}", &part[..1]);
        index(
            folder.path(),
            "all.jsonl",
            &out,
            &["--groups", "groups.list", "--shard", part],
        );
    }
    let merged = run(
        folder.path(),
        &["merge", "part2", "part0", "part1", "--out", "merged"],
    );
    assert!(
        merged.stdout.contains("30 documents from 3 parts"),
        "{}",
        merged.stdout
    );
    assert_eq!(
        digest(folder.path(), "merged"),
        digest(folder.path(), "whole")
    );
    assert_eq!(
        first_stage(folder.path(), "merged"),
        first_stage(folder.path(), "whole")
    );
    run(folder.path(), &["verify", "merged"]);
    // Parts with other groups do not fit.
    corpus(folder.path(), "few.jsonl", 30..33);
    index(folder.path(), "few.jsonl", "stranger", &[]);
    let outcome = becr(
        folder.path(),
        &["merge", "part0", "stranger", "--out", "no"],
    );
    assert!(
        outcome.code == Some(1) && outcome.stderr.contains("--groups"),
        "{}",
        outcome.stderr
    );
    let twice = becr(folder.path(), &["merge", "part0", "part0", "--out", "no"]);
    assert!(
        twice.code == Some(1) && !folder.path().join("no").exists(),
        "{}",
        twice.stderr
    );
}

#[test]
fn changes_end_where_a_fresh_build_does() {
    change_and_compare(&folder());
    change_and_compare(&relative_folder());
}

fn change_and_compare(folder: &TempDir) {
    corpus(folder.path(), "all.jsonl", 0..30);
    groups(folder.path(), "all.jsonl");
    let with_groups = ["--groups", "groups.list"];
    corpus(folder.path(), "first.jsonl", 0..20);
    index(folder.path(), "first.jsonl", "live", &with_groups);
    corpus(folder.path(), "more.jsonl", 20..30);
    let added = run(folder.path(), &["add", "live", "more.jsonl"]).stdout;
    assert_eq!(added, "10 added, 0 replaced, 0 deleted\n");
    let deleted = run(folder.path(), &["delete", "live", "d0", "d21", "--json"]).stdout;
    assert!(deleted.contains("\"deleted\": 2"), "{deleted}");
    let updated = run(folder.path(), &["update", "live", "first.jsonl"]).stdout;
    assert_eq!(updated, "1 added, 19 replaced, 0 deleted\n");
    run(folder.path(), &["delete", "live", "d29"]);
    fs::write(folder.path().join("last.jsonl"), {
        let more = fs::read_to_string(folder.path().join("more.jsonl")).unwrap();
        let kept: Vec<&str> = more
            .lines()
            .filter(|l| !l.contains("\"d21\"") && !l.contains("\"d29\""))
            .collect();
        fs::read_to_string(folder.path().join("first.jsonl")).unwrap() + &kept.join("\n")
    })
    .unwrap();
    index(folder.path(), "last.jsonl", "fresh", &with_groups);
    assert_eq!(
        digest(folder.path(), "live"),
        digest(folder.path(), "fresh")
    );
    assert_eq!(
        first_stage(folder.path(), "live"),
        first_stage(folder.path(), "fresh")
    );
    run(folder.path(), &["compact", "live"]);
    assert_eq!(
        digest(folder.path(), "live"),
        digest(folder.path(), "fresh")
    );
    assert_eq!(
        first_stage(folder.path(), "live"),
        first_stage(folder.path(), "fresh")
    );
    run(folder.path(), &["verify", "live"]);
}

/// `add` and `update` go on in the precision of the index, and refuse another.
#[test]
fn an_index_keeps_its_precision() {
    let folder = relative_folder();
    corpus(folder.path(), "all.jsonl", 0..30);
    corpus(folder.path(), "more.jsonl", 30..33);
    let built = index(
        folder.path(),
        "all.jsonl",
        "i",
        &["--precision", "int8", "--json"],
    );
    let summary: serde_json::Value = serde_json::from_str(&built.stdout).unwrap();
    let (all, stages) = (&summary["seconds"], summary["stages"].as_object().unwrap());
    let sum: f64 = stages.values().filter_map(serde_json::Value::as_f64).sum();
    assert!(stages.contains_key("documents encoded"), "{summary}");
    assert!(sum <= all.as_f64().unwrap(), "{summary}");
    for change in ["add", "update"] {
        let asked = [change, "i", "more.jsonl", "--precision", "f32"];
        let refused = becr(folder.path(), &asked);
        assert!(
            refused.code == Some(1)
                && refused.stderr.contains("int8")
                && refused.stderr.contains("leave --precision out"),
            "{}",
            refused.stderr
        );
    }
    run(folder.path(), &["add", "i", "more.jsonl"]);
    run(folder.path(), &["verify", "i"]);
    let stats = run(folder.path(), &["stats", "i", "--json"]).stdout;
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["precision"], "int8");
    let text = run(folder.path(), &["stats", "i"]).stdout;
    assert!(text.contains(", int8\n"), "{text}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = folder();
    corpus(folder.path(), "all.jsonl", 0..5);
    index(folder.path(), "all.jsonl", "index", &[]);
    let before = digest(folder.path(), "index");
    let again = becr(folder.path(), &["add", "index", "all.jsonl"]);
    assert!(
        again.code == Some(1) && again.stderr.contains("becr update"),
        "{}",
        again.stderr
    );
    let unknown = becr(folder.path(), &["delete", "index", "nobody"]);
    assert!(
        unknown.code == Some(1) && unknown.stderr.contains("nobody"),
        "{}",
        unknown.stderr
    );
    // Another encoder.
    let config = Config::new(15, 16, 2, 2, 24, 40);
    let weights = Weights::random(&config, 99, 10.0);
    weights
        .write(&folder.path().join("model/model.safetensors"), Storage::F32)
        .unwrap();
    corpus(folder.path(), "more.jsonl", 5..6);
    let other = becr(folder.path(), &["add", "index", "more.jsonl"]);
    assert!(
        other.code == Some(1) && other.stderr.contains("encoder"),
        "{}",
        other.stderr
    );
    assert_eq!(digest(folder.path(), "index"), before);
    // A writer that is busy elsewhere.
    let lock = fs::File::options()
        .write(true)
        .open(folder.path().join("index/writer.lock"))
        .unwrap();
    lock.lock().unwrap();
    let second = becr(folder.path(), &["delete", "index", "d1"]);
    assert!(
        second.code == Some(1) && second.stderr.contains("another process"),
        "{}",
        second.stderr
    );
    drop(lock);
    // Our own code knows no GPU.
    let device = ["index", "all.jsonl", "--out", "no", "--model", "model"];
    let device = becr(
        folder.path(),
        &[&device[..], &["--device", "cuda"]].concat(),
    );
    assert!(
        device.code == Some(1) && device.stderr.contains("--backend burn"),
        "{}",
        device.stderr
    );
    let shard = [
        "index",
        "all.jsonl",
        "--out",
        "no",
        "--model",
        "model",
        "--shard",
        "4/4",
    ];
    assert_eq!(becr(folder.path(), &shard).code, Some(2));
}

#[test]
fn damage_is_found_and_reported() {
    let folder = folder();
    corpus(folder.path(), "all.jsonl", 0..30);
    index(folder.path(), "all.jsonl", "index", &[]);
    let file = folder.path().join("index/store/data.mdb");
    let whole = fs::read(&file).unwrap();
    // A bit of a record: every record holds its magic once.
    let records: Vec<usize> = (0..whole.len() - 4)
        .filter(|&at| &whole[at..at + 4] == b"BECR")
        .collect();
    assert!(records.len() >= 30);
    let mut flipped = whole.clone();
    flipped[records[7] + 60] ^= 1;
    fs::write(&file, &flipped).unwrap();
    let outcome = becr(folder.path(), &["verify", "index"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stdout.contains("checksum"), "{}", outcome.stdout);
    // Cut short, and full of noise: whatever happens to the reader, there is a report.
    for damage in [whole[..whole.len() / 2].to_vec(), noise(&whole)] {
        fs::write(&file, damage).unwrap();
        let outcome = becr(folder.path(), &["verify", "index", "--json"]);
        assert_eq!(
            outcome.code,
            Some(1),
            "{}{}",
            outcome.stdout,
            outcome.stderr
        );
        let findings: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(findings["sound"], false, "{}", outcome.stdout);
    }
    // Whoever opens a store that was cut short is told so; nobody is brought down.
    let commands = [
        &["stats", "index"][..],
        &["delete", "index", "d3"],
        &["add", "index", "all.jsonl"],
    ];
    for (cut, is_refused) in [(whole.len() / 2, true), (whole.len() - 4096, false)] {
        for command in commands {
            fs::write(&file, &whole[..cut]).unwrap();
            let outcome = becr(folder.path(), command);
            assert!(
                outcome.code.is_some(),
                "{cut} {command:?} was ended by a signal"
            );
            if is_refused {
                assert_eq!(outcome.code, Some(1), "{command:?}: {}", outcome.stderr);
                assert!(
                    outcome.stderr.contains("truncated"),
                    "{command:?}: {}",
                    outcome.stderr
                );
            }
        }
    }
    fs::write(&file, whole).unwrap();
    run(folder.path(), &["verify", "index"]);
}

/// All pages but the first two overwritten.
fn noise(whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for (n, byte) in bytes.iter_mut().enumerate().skip(8192) {
        *byte = (n as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3];
    }
    bytes
}

#[test]
fn a_long_build_says_before_it_starts_how_long_it_takes() {
    let folder = folder();
    corpus(folder.path(), "large.jsonl", 0..2600);
    corpus(folder.path(), "small.jsonl", 0..20);
    let told = index(folder.path(), "large.jsonl", "large", &[]).stderr;
    assert!(told.contains("at the pace of a short trial"), "{told}");
    assert!(told.contains(": 2,600 documents of some "), "{told}");
    assert!(told.contains(" tokens/s"), "{told}");
    let told = index(folder.path(), "small.jsonl", "small", &[]).stderr;
    assert!(!told.contains("trial"), "not worth a trial: {told}");
    let told = index(folder.path(), "large.jsonl", "quiet", &["--quiet"]).stderr;
    assert!(!told.contains("trial"), "{told}");
    // `cost` says the same of other collections.
    let cost = "cost --index small --target-documents 1M --json";
    let cost = run(folder.path(), &cost.split(' ').collect::<Vec<_>>()).stdout;
    let cost: serde_json::Value = serde_json::from_str(&cost).unwrap();
    let time = |name: &str| cost["encoding"][name].as_f64().unwrap();
    let tokens = cost["measured"]["tokens"].as_f64().unwrap() / 20.0 * 1e6;
    let seconds = tokens / time("tokens_per_second");
    assert!((time("seconds") / seconds - 1.0).abs() < 1e-6, "{cost}");
}

/// Hyperplanes, centre and token groups as in the paper, and a head that goes along.
#[test]
fn the_papers_choices_can_be_asked_for() {
    let folder = folder();
    let at = folder.path();
    let split = |line: &str| run(at, &line.split(' ').collect::<Vec<_>>());
    corpus(at, "a.jsonl", 0..40);
    split("model prepare model --out centred --centre a.jsonl --layers all --bits 64");
    let paper = "model prepare centred --out paper --no-centre --hyperplanes gaussian --json";
    split(paper);
    let config = fs::read_to_string(at.join("paper/config.json")).unwrap();
    assert!(config.contains("\"gaussian\""), "{config}");
    let centred = fs::metadata(at.join("centred/model.safetensors")).unwrap();
    let plain = fs::metadata(at.join("paper/model.safetensors")).unwrap();
    assert!(plain.len() < centred.len(), "the centre is gone");
    // Neighbours twice in each of two documents, and a pair at distance 2.
    let line =
        |id| format!("{{\"id\": \"{id}\", \"text\": \"river bank loan. river bank loan.\"}}\n");
    fs::write(at.join("pairs.jsonl"), line("a") + &line("b")).unwrap();
    let groups = |out: &str, more: &[&str]| {
        let usual = "index pairs.jsonl --model paper --json --out".split(' ');
        let arguments = usual.chain([out]).chain(more.iter().copied());
        let told = run(at, &arguments.collect::<Vec<_>>()).stdout;
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        told["groups"].as_u64().unwrap()
    };
    let near = groups("near", &["--pair-distance", "1"]);
    let far = groups("far", &[]);
    let often = groups(
        "often",
        &["--count-by", "occurrences", "--min-pair-documents", "4"],
    );
    let rare = groups("rare", &["--min-pair-documents", "4"]);
    assert!(near < far, "{near} {far}");
    assert!(
        rare < often,
        "pairs are met four times, in two documents: {rare} {often}"
    );
}
