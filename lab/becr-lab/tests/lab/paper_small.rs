//! The paper's tables in small, from the first training to the last file: the sample collection, a random BERT of sixteen
//! dimensions, the CPU. Every model learns, every table has its shape, and the second time nothing is trained.

use crate::full::run;
use crate::train::losses;
use becr_model::{Config, Storage, Weights};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

/// Words with a vocabulary entry of their own; others are unknown.
const WORDS: usize = 600;
/// Query tokens that stand for something else.
const MARKS: [&str; 7] = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[unused0]",
    "[unused1]",
];

/// A training of few queries, which a random BERT learns by heart.
const TRAINING: &str = "\
    [output]\nmodel = 'out'\nwork = 'work/NAME'\n[validation]\nshare = 0.1\n[data.negatives]\nbm25 = 6\nrandom = 2\n\
    [[data.sets]]\nname = 'sample'\ncorpus = ['corpus.jsonl']\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\ncap = 14\n\
    [train]\nsteps = STEPS\nbatch = 8\nnegatives = 3\nloss = 'pairwise'\nrate = RATE\nencoder_rate = 2e-3\n\
    schedule = 'constant'\nvalidate_every = 20\npatience = 0\n";

/// Names, steps, rates and what else their files have.
const TRAININGS: [(&str, usize, f64, &str); 6] = [
    ("knrm", 40, 0.3, "dimensions = 16"),
    ("conv_knrm", 40, 0.05, "dimensions = 8\nfilters = 8"),
    ("bert", 40, 0.005, "pooler = true"),
    ("cedr_knrm", 30, 0.002, ""),
    ("colbert", 40, 0.02, "projection = 8"),
    (
        "becr",
        30,
        0.02,
        "[model]\nbase = 'model'\nlayers = 5\nbits = 256\nhyperplanes = 'gaussian'\ncentre = false\nwindow = 2\n\
         [train.model]\nencoder = 'trained'\nquery = 'decomposed'\ncls = true\nstop_words = true\n\
         document_vector = false\nproximity = 'query'\nmax_document_tokens = 40\nvanilla_steps = 5\n",
    ),
];

const TABLES: &str = r#"
out = "tables"
measures = "nDCG@5 nDCG@20 P@20"
depth = 20

[[collections]]
name = "sample"
corpus = ["corpus.jsonl"]
queries = "queries.tsv"
qrels = "qrels.txt"
run = "bm25.run"

[[models]]
name = "b256"
model = "becr"
index = ["--count-by", "occurrences", "--pair-distance", "2"]

[[models]]
name = "b64"
model = "becr"
prepare = ["--bits", "64", "--keep-head"]
index = ["--count-by", "occurrences", "--pair-distance", "2"]

[[models]]
name = "tokens"
model = "becr"
index = ["--count-by", "occurrences", "--pair-distance", "2", "--compose-documents"]

[[tables]]
name = "rq1"
title = "Relevance"
against = ["BM25", "BERT"]
rows = [
  { name = "BM25" },
  { name = "KNRM", model = "b256", baseline = "knrm" },
  { name = "CONV-KNRM", model = "b256", baseline = "conv_knrm" },
  { name = "BERT", model = "b256", baseline = "bert" },
  { name = "CEDR-KNRM", model = "b256", baseline = "cedr_knrm" },
  { name = "ColBERT", model = "b256", baseline = "colbert" },
  { name = "BECR⁻", model = "b256", rerank = ["--mode", "encoded"] },
  { name = "BECR", model = "b256" },
]

[[tables]]
name = "rq3"
title = "Decomposition"
lengths = "1-3,4+"
differences = [["BECR", "BECR⁻"]]
rows = [
  { name = "BECR⁻", model = "b256", rerank = ["--mode", "encoded"] },
  { name = "no token pairs", model = "b256", rerank = ["--variant", "no-pairs"] },
  { name = "no uni-grams", model = "b256", rerank = ["--variant", "no-unigrams"] },
  { name = "window 1", model = "b256", rerank = ["--variant", "window-1"] },
  { name = "tokens for Q&D", model = "tokens" },
  { name = "BECR", model = "b256" },
]

[[tables]]
name = "rq4"
title = "Components"
rows = [
  { name = "BECR", model = "b256" },
  { name = "no S_deep", model = "b256", rerank = ["--without", "deep"] },
  { name = "no S_lexi", model = "b256", rerank = ["--without", "lexi"] },
  { name = "no S_others", model = "b256", rerank = ["--without", "others"] },
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

[[tables]]
name = "folds"
title = "Three folds"
rows = [
  { name = "BM25" },
  { name = "KNRM", folds = "folds" },
]

[[trainings]]
name = "folds"
config = "folds.toml"

[operations]
"#;

/// Every query is ranked by a model that did not learn from it.
const FOLDS: &str = "\
    [model]\nbase = 'model'\n[output]\nmodel = 'out'\nwork = 'work/folds'\n[folds]\ncount = 3\n[data]\ncandidates = 20\n\
    [baseline]\nkind = 'knrm'\nmax_document_tokens = 40\ndimensions = 16\n[data.negatives]\nbm25 = 6\n\
    [[data.sets]]\nname = 'sample'\ncorpus = ['corpus.jsonl']\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\nrun = 'bm25.run'\n\
    [train]\nsteps = 5\nbatch = 8\nnegatives = 3\nloss = 'pairwise'\n";

/// Rows and columns of the tables, without names.
const SHAPES: [(&str, usize, usize); 5] = [
    ("rq1", 8, 3),
    ("rq3", 6, 3),
    ("rq4", 4, 3),
    ("rq5", 3, 5),
    ("folds", 2, 3),
];

/// The sample collection, candidates, a random model of its words, and the files that say what is trained and compared.
fn prepare(folder: &Path) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/becr-cli/sample");
    let read = |name: &str| fs::read_to_string(sample.join(name)).unwrap();
    // Its first part alone: as much as these trainings need.
    let first = read("first.txt");
    let first: HashSet<&str> = first.lines().collect();
    let keep = |name: &str, is_kept: &dyn Fn(&str) -> bool| {
        let text = read(name);
        let lines = text.lines().filter(|line| is_kept(line));
        let kept: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(folder.join(name), kept).unwrap();
    };
    let is_first_query = |line: &str| {
        let id = line.split(['\t', ' ']).next().unwrap();
        id[1..].parse::<usize>().unwrap() <= 40
    };
    keep("corpus.jsonl", &|line| {
        let document: Value = serde_json::from_str(line).unwrap();
        first.contains(document["id"].as_str().unwrap())
    });
    keep("queries.tsv", &is_first_query);
    keep("qrels.txt", &|line| {
        is_first_query(line) && line.split(' ').nth(2).is_some_and(|id| first.contains(id))
    });
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("corpus.jsonl"))
        .unwrap()
        .lines()
    {
        let document: Value = serde_json::from_str(line).unwrap();
        let text = document["text"].as_str().unwrap().to_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        for word in words.filter(|word| !word.is_empty()) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let words = words.iter().take(WORDS).map(|(word, _)| word.as_str());
    let vocabulary: Vec<&str> = MARKS.into_iter().chain(words).collect();
    let model = folder.join("model");
    fs::create_dir(&model).unwrap();
    fs::write(model.join("vocab.txt"), vocabulary.join("\n") + "\n").unwrap();
    let shape = Config::new(vocabulary.len(), 16, 4, 2, 24, 64);
    shape.write(&model.join("config.json")).unwrap();
    Weights::random(&shape, 3, 10.0)
        .write(&model.join("model.safetensors"), Storage::F32)
        .unwrap();
    run(
        folder,
        &["index", "corpus.jsonl", "--out", "words", "--lexical-only"],
    );
    let search = "search words --queries queries.tsv --run-out bm25.run --first-stage --k 20";
    run(folder, &search.split(' ').collect::<Vec<_>>());
    let mut tables = TABLES.to_owned();
    for (name, steps, rate, more) in TRAININGS {
        let more = match name {
            "becr" => more.to_owned(),
            kind => format!(
                "[model]\nbase = 'model'\n[baseline]\nkind = '{kind}'\nmax_document_tokens = 40\n{more}\n"
            ),
        };
        let text = TRAINING
            .replace("NAME", name)
            .replace("STEPS", &steps.to_string())
            .replace("RATE", &rate.to_string());
        fs::write(folder.join(format!("{name}.toml")), text + &more).unwrap();
        tables += &format!("[[trainings]]\nname = '{name}'\nconfig = '{name}.toml'\n");
    }
    fs::write(folder.join("folds.toml"), FOLDS).unwrap();
    fs::write(folder.join("tables.toml"), tables).unwrap();
}

/// Every file that was made beside runs, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("tables")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.is_file())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn all_models_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    prepare(folder);
    run(folder, &["tables", "tables.toml"]);
    for (name, steps, ..) in TRAININGS {
        let losses = losses(folder, &format!("work/{name}/seed-1/log.jsonl"));
        assert_eq!(losses.len(), steps, "{name}");
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (first, last) = (mean(&losses[..8]), mean(&losses[steps - 8..]));
        assert!(last < 0.9 * first, "{name}: {first} to {last}");
    }
    for (name, rows, columns) in SHAPES {
        let text = fs::read_to_string(folder.join(format!("tables/{name}.md"))).unwrap();
        let first = text.lines().skip_while(|line| !line.starts_with("|---"));
        let first = first.skip(1).take_while(|line| line.starts_with('|'));
        let cells: Vec<Vec<&str>> = first.map(|line| line.split('|').collect()).collect();
        assert_eq!(cells.len(), rows, "{text}");
        for row in cells {
            // Nothing stands before the first bar and behind the last.
            assert_eq!(row.len(), columns + 3, "{text}");
            // Runs on vectors and on footprints come from one index, whose bytes they tell.
            assert!(!row.iter().any(|cell| cell.trim() == "–"), "{text}");
        }
    }
    let made = files(folder);
    assert_eq!(made.len(), 5 * 3 + 2 + 2 + 1, "{:?}", made.keys());
    let again = run(folder, &["tables", "tables.toml"]).stderr;
    assert!(again.contains(": 0 steps done"), "{again}");
    assert_eq!(files(folder), made);
    run(folder, &["tables", "tables.toml", "--check"]);
}
