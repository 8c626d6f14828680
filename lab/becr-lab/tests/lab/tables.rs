//! `becr-lab tables`: made once, and the same to the last byte from then on.

use crate::becr;
use crate::full::run;
use crate::ranked::ranked;
use std::fs;
use std::path::Path;

const TABLES: &str = r#"
out = "tables"
depth = 12
measures = "nDCG@10 P@5"

[[collections]]
name = "own"
corpus = ["all.jsonl"]
queries = "queries.tsv"
qrels = "qrels.txt"
run = "bm25.run"

[[models]]
name = "b256"
model = "model"

[[models]]
name = "b64"
model = "model"
prepare = ["--bits", "64", "--keep-head"]

[[tables]]
name = "rq4"
title = "Components"
against = ["BM25"]
lengths = "1-2,3+"
differences = [["BECR", "no deep"]]
rows = [
  { name = "BM25" },
  { name = "elsewhere", run = "kept/{collection}.run", made_by = "becr rerank elsewhere" },
  { name = "BECR", model = "b256" },
  { name = "no deep", model = "b256", rerank = ["--without", "deep"] },
]

[[tables]]
name = "rq5"
title = "Bits"
bytes = true
rows = [
  { name = "raw", model = "b256", rerank = ["--raw"] },
  { name = "256", model = "b256" },
  { name = "64", model = "b64" },
]

[operations]
"#;

fn prepared() -> tempfile::TempDir {
    let folder = ranked();
    let path = folder.path();
    let search = "search index --queries queries.tsv --run-out bm25.run --first-stage --k 20";
    run(path, &search.split(' ').collect::<Vec<_>>());
    let judged = (1..5).flat_map(|q| (0..8).map(move |n| format!("{q} 0 d{} {}\n", n * q, n % 2)));
    fs::write(path.join("qrels.txt"), judged.collect::<String>()).unwrap();
    fs::write(path.join("tables.toml"), TABLES).unwrap();
    fs::create_dir(path.join("kept")).unwrap();
    fs::copy(path.join("bm25.run"), path.join("kept/own.run")).unwrap();
    folder
}

const FILES: [&str; 10] = [
    "rq4.md",
    "rq4.csv",
    "rq4.svg",
    "rq4-lengths.csv",
    "rq4-lengths.svg",
    "rq5.svg",
    "rq5.md",
    "rq5.csv",
    "operations.md",
    "operations.csv",
];

fn contents(folder: &Path) -> Vec<Vec<u8>> {
    let read = |name: &str| fs::read(folder.join("tables").join(name)).unwrap();
    FILES.map(read).to_vec()
}

#[test]
fn tables_are_made_once() {
    let folder = prepared();
    let folder = folder.path();
    let early = becr(folder, &["tables", "tables.toml", "--check"]);
    assert_eq!(early.code, Some(1));
    assert!(early.stderr.contains("without --check"), "{}", early.stderr);
    let told = run(folder, &["tables", "tables.toml"]).stderr;
    // A prepared model, two indexes, four runs: BECR with 256 bits is in both tables.
    assert!(told.contains("7 steps done, 3 were done before"), "{told}");
    let made = contents(folder);
    let again = run(folder, &["tables", "tables.toml"]).stderr;
    assert!(again.contains("0 steps done"), "{again}");
    assert_eq!(contents(folder), made);
    // Runs are what figures come from: indexes and models may go.
    fs::remove_dir_all(folder.join("tables/indexes")).unwrap();
    fs::remove_dir_all(folder.join("tables/models")).unwrap();
    run(folder, &["tables", "tables.toml", "--check"]);
    assert_eq!(contents(folder), made);

    // Every figure is that of `becr eval` on the run it names.
    let csv = fs::read_to_string(folder.join("tables/rq5.csv")).unwrap();
    let mut compared = 0;
    for line in csv.lines().skip(1).filter(|line| line.contains("nDCG@10")) {
        let cells: Vec<&str> = line.split(',').map(|cell| cell.trim_matches('"')).collect();
        let path = format!("tables/runs/{}", cells[4]);
        let eval = [
            "eval",
            "--qrels",
            "qrels.txt",
            "--run",
            &path,
            "--measures",
            "nDCG@10",
            "--complete",
            "--json",
        ];
        // As text: a parser may round the last digit.
        let told = run(folder, &eval).stdout;
        assert!(told.contains(cells[3]), "{line}: {told}");
        compared += 1;
    }
    assert_eq!(compared, 3);
    let text = fs::read_to_string(folder.join("tables/rq5.md")).unwrap();
    let prepare = "becr-lab model prepare model --out tables/models/b64 --bits 64 --keep-head";
    assert!(text.contains(prepare), "{text}");
    // A step that is kept has the command that did it, also where the same is typed otherwise by now.
    let steps = folder.join("tables/steps.json");
    let known = fs::read_to_string(&steps).unwrap();
    fs::write(&steps, known.replace("becr-lab model", "becr model")).unwrap();
    run(folder, &["tables", "tables.toml"]);
    let earlier = fs::read_to_string(folder.join("tables/rq5.md")).unwrap();
    assert!(
        earlier.contains(&prepare.replace("becr-lab", "becr")),
        "{earlier}"
    );
    fs::write(&steps, known).unwrap();
    let bytes = |row: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with(row)).unwrap();
        line.split('|').nth(4).unwrap().trim().parse().unwrap()
    };
    assert!(bytes("| 64 |") < bytes("| 256 |"), "{text}");

    // Other judgements change tables and no run; other queries change runs.
    fs::write(folder.join("qrels.txt"), "1 0 d1 1\n2 0 d3 1\n").unwrap();
    let judged = run(folder, &["tables", "tables.toml"]).stderr;
    assert!(judged.contains("0 steps done"), "{judged}");
    assert_ne!(contents(folder), made);
    fs::write(
        folder.join("queries.tsv"),
        "1\triver bank\n2\tmoney\n3\tzebra\n4\tboat\n",
    )
    .unwrap();
    let stale = becr(folder, &["tables", "tables.toml", "--check"]);
    assert_eq!(stale.code, Some(1), "{}", stale.stdout);
    let redone = run(folder, &["tables", "tables.toml"]).stderr;
    assert!(redone.contains("7 steps done"), "{redone}");
}

/// Times are measured once: the second time nothing is, and the files are the same to the last byte.
#[cfg(feature = "train")]
#[test]
fn times_of_baselines_are_kept() {
    let folder = prepared();
    let folder = folder.path();
    let elsewhere = r#"{"cpu": null, "rows": [{"model": "MaxSim", "implementation": "other", "device": "gpu", "n": 3, "ms": 1.25}]}"#;
    fs::write(folder.join("kept/times.json"), elsewhere).unwrap();
    let text = r#"
out = "tables"
[times]
encoders = ["tiny"]
query_words = [3]
layers = [5]
records = 160
cold = 1
kept = [{ file = "kept/times.json", made_by = "another program" }]
"#;
    fs::write(folder.join("t.toml"), text).unwrap();
    let told = run(folder, &["tables", "t.toml"]).stderr;
    assert!(told.contains("3 steps done"), "{told}");
    let read = |name: &str| fs::read_to_string(folder.join("tables").join(name)).unwrap();
    let made = (read("times.md"), read("times.csv"));
    let again = run(folder, &["tables", "t.toml", "--check"]).stderr;
    assert!(
        again.contains("0 steps done, 3 were done before"),
        "{again}"
    );
    assert_eq!((read("times.md"), read("times.csv")), made);
    for row in [
        "| KNRM | – | burn | cpu |",
        "| KNRM, LSH | – | becr | cpu |",
        "| CONV-KNRM | – | burn | cpu |",
        "| ColBERT | tiny | burn | cpu |",
        "| BERT | tiny | becr | cpu |",
        "| CEDR-KNRM | tiny | burn | cpu |",
        "| BECR⁻, L = 5 | tiny | becr | cpu |",
        "| BECR, L = 5 | – | becr | cpu |",
        "| MaxSim | – | other | gpu | 1.25 |",
        "| 5 | 3 | ",
        "another program",
        "becr-lab bench rank --n 3 --candidates 150 --layers 5 --documents 160 --cold 1 --json tables/times/rank.json",
    ] {
        assert!(made.0.contains(row), "{row}: {}", made.0);
    }
    assert!(
        made.1.contains("records fetched, cold, L = 5"),
        "{}",
        made.1
    );
}

#[test]
fn what_makes_no_sense_is_said() {
    let folder = prepared();
    let folder = folder.path();
    for (from, to, told) in [
        (
            "against = [\"BM25\"]",
            "against = [\"BM26\"]",
            "against names no row \"BM26\"",
        ),
        ("model = \"b64\"", "model = \"b32\"", "there is no model"),
        (
            "name = \"b64\"",
            "name = \"b256\"",
            "two of the name \"b256\"",
        ),
        ("name = \"rq5\"", "name = \"../rq5\"", "is no name"),
        ("P@5", "P@x", "measures"),
        ("bytes = true", "byte = true", "unknown field `byte`"),
        (
            "[operations]",
            "[operations]\ntokens = 0",
            "expected numbers",
        ),
        ("\"--bits\", \"64\"", "\"--bits\", \"6x\"", "model prepare"),
        ("bm25.run", "nowhere.run", "nowhere.run"),
    ] {
        fs::write(folder.join("t.toml"), TABLES.replace(from, to)).unwrap();
        let outcome = becr(folder, &["tables", "t.toml"]);
        assert_eq!(outcome.code, Some(1), "{told}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
    }
    assert!(
        becr(folder, &["tables", "nowhere.toml"])
            .stderr
            .contains("nowhere.toml")
    );
}
