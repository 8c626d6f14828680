//! Whole preparations with a tiny random model.

use super::*;
use crate::config::Config;
use becr_encoder::{Encoder, NativeEncoder};
use becr_index::{Observer, Stage};
use becr_model::{Head, Model, Storage, Weights};
use std::cell::Cell;
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;

const WORDS: [&str; 10] = [
    "river", "bank", "money", "loan", "fish", "boat", "spring", "water", "zebra", "quay",
];

/// Counts the documents that are encoded.
#[derive(Default)]
struct Encodings(Cell<u32>);

impl Observer for Encodings {
    fn begin(&self, stage: Stage, _: Option<u64>) {
        if stage == Stage::EncodingDocuments {
            self.0.set(self.0.get() + 1);
        }
    }
}

struct Nobody;

impl Watch for Nobody {
    fn begin(&self, _: &'static str, _: usize) {}
    fn advance(&self, _: usize) {}
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("base");
    std::fs::create_dir(&model).unwrap();
    let config = becr_model::Config::new(14, 16, 2, 2, 24, 40);
    config.write(&model.join("config.json")).unwrap();
    let vocabulary = format!("[PAD]\n[UNK]\n[CLS]\n[SEP]\n{}\n", WORDS.join("\n"));
    std::fs::write(model.join("vocab.txt"), vocabulary).unwrap();
    let weights = Weights::random(&config, 3, 10.0);
    weights
        .write(&model.join("model.safetensors"), Storage::F32)
        .unwrap();
    folder
}

/// The words of text `n`: text 7k + 1 is text 7k with one word more.
fn text(n: usize) -> String {
    let seed = if n % 7 == 1 { n - 1 } else { n };
    let word = |k: usize| {
        format!(
            "{}{}",
            WORDS[(seed * 7 + k * k * 3 + k) % WORDS.len()],
            (seed * k) % 4
        )
    };
    let mut words: Vec<String> = (0..24).map(word).collect();
    if n % 7 == 1 {
        words.push("more".into());
    }
    words.join(" ")
}

fn pairs(folder: &Path, name: &str, count: usize) {
    let mut lines = String::new();
    for n in 0..count {
        let query: Vec<String> = text(n)
            .split(' ')
            .skip(n % 3)
            .take(5)
            .map(str::to_owned)
            .collect();
        let (query, text) = (query.join(" "), text(n));
        writeln!(
            lines,
            r#"{{"id": "a{}#{n}", "query": "{query} {n}", "title": "tale", "text": "{text}"}}"#,
            n / 4
        )
        .unwrap();
    }
    std::fs::write(folder.join(name), lines).unwrap();
}

fn prepare(folder: &Path, config: &str, restart: bool) -> Result<(Prepared, u32), DataError> {
    let text = format!("model.base = 'base'\noutput.model = 'out'\n{config}");
    let config = Config::parse(&text, &folder.join("config.toml")).unwrap();
    let encodings = Encodings::default();
    let preparation = Preparation {
        config: &config,
        restart,
        encoder: &|model: Model| {
            let backend = NativeEncoder::new(&model.config, model.weights)?;
            Ok(Encoder::new(&model.tokenizer, Box::new(backend))?)
        },
        indexing: &encodings,
        watch: &Nobody,
    };
    let prepared = preparation.run()?;
    Ok((prepared, encodings.0.get()))
}

const PAIRS: &str = "[validation]\nshare = 0.25\n[data]\nnegatives = { bm25 = 4, siblings = 3, random = 2, in_batch = 2 }\n\
    [[data.sets]]\nname = 'one'\npairs = 'one.jsonl'\n";

#[test]
fn pairs_become_examples_and_a_validation() {
    let folder = folder();
    pairs(folder.path(), "one.jsonl", 60);
    let (prepared, encodings) = prepare(folder.path(), PAIRS, false).unwrap();
    assert_eq!(encodings, 1);
    let [plan] = prepared.plans.as_slice() else {
        panic!("one training")
    };
    assert_eq!(
        (plan.examples.len(), plan.validation.queries.len()),
        (45, 15)
    );
    let used = &prepared.report.trainings[0][0];
    assert_eq!((used.train, used.validation, used.positives), (45, 15, 45));
    assert!(used.near_duplicates > 0, "text 7k + 1 is nearly text 7k");
    let kinds = [
        NegativeKind::Bm25,
        NegativeKind::Siblings,
        NegativeKind::Random,
        NegativeKind::InBatch,
    ];
    assert!(
        kinds.iter().all(|kind| used.negatives[kind] > 40),
        "{used:?}"
    );
    let snapshot = prepared.index.store.snapshot().unwrap();
    for example in &plan.examples {
        let relevant = example.positives[0].number;
        let id = snapshot.id(relevant).unwrap().unwrap();
        assert_eq!(id, example.id);
        let mut seen = std::collections::HashSet::from([relevant]);
        assert!(
            example
                .negatives
                .iter()
                .all(|negative| seen.insert(negative.number)),
            "each once"
        );
        let n: usize = id.split_once('#').unwrap().1.parse().unwrap();
        if n % 7 == 1 {
            let twin = format!("a{}#{}", (n - 1) / 4, n - 1);
            let twin = snapshot.number(&twin).unwrap().unwrap();
            assert!(
                !seen.contains(&twin),
                "the near-duplicate of {id} is no negative"
            );
        }
    }
    for query in &plan.validation.queries {
        let scores: Vec<f32> = query
            .candidates
            .iter()
            .map(|(_, c)| c.first_stage.unwrap())
            .collect();
        assert_eq!((scores[0], scores.last()), (1.0, Some(&0.0)), "from 1 to 0");
        assert!(scores.is_sorted_by(|a, b| a >= b));
        assert!(plan.validation.qrels.queries.contains_key(&query.id));
    }
    let written = std::fs::read_to_string(folder.path().join("out.training/data.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["trainings"][0][0]["train"], 45);
    assert!(
        prepared.report.to_string().contains("siblings"),
        "{}",
        prepared.report
    );
}

#[test]
fn the_index_is_made_once_for_the_same_data() {
    let folder = folder();
    pairs(folder.path(), "one.jsonl", 30);
    let (first, _) = prepare(folder.path(), PAIRS, false).unwrap();
    let busy = prepare(folder.path(), PAIRS, false)
        .err()
        .unwrap()
        .to_string();
    assert!(busy.contains("another training"), "{busy}");
    let examples = first.plans[0].examples.clone();
    // Token groups of the queries are there, pairs too; nothing else was asked for.
    let snapshot = first.index.store.snapshot().unwrap();
    let mut words = examples[0].query.split(' ').map(str::to_owned);
    let (a, b) = (words.next().unwrap(), words.next().unwrap());
    let pair = becr_text::groups::TokenGroup::Pair(a, b);
    assert!(snapshot.group(&pair).unwrap().is_some(), "{pair:?}");
    drop(snapshot);
    drop(first);
    let (again, encodings) = prepare(folder.path(), PAIRS, false).unwrap();
    assert_eq!((encodings, &again.plans[0].examples), (0, &examples));
    drop(again);
    let other = PAIRS.replace("[data]", "[data]\nmax_document_words = 9");
    let error = prepare(folder.path(), &other, false)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("--restart"), "{error}");
    let (other, encodings) = prepare(folder.path(), &other, true).unwrap();
    assert_eq!(encodings, 1);
    let words = other.index.store.snapshot().unwrap().totals().unwrap();
    assert_eq!(words.documents, 30);
}

fn collection(folder: &Path) {
    let mut lines = String::new();
    let mut queries = String::new();
    let mut qrels = String::new();
    for n in 0..40 {
        writeln!(lines, r#"{{"id": "d{n}", "text": "{}"}}"#, text(n)).unwrap();
        let query: Vec<String> = text(n).split(' ').take(4).map(str::to_owned).collect();
        writeln!(queries, "q{n}\t{}", query.join(" ")).unwrap();
        if n < 30 {
            writeln!(
                qrels,
                "q{n} 0 d{n} 1\nq{n} 0 d{} 0\nq{n} 0 nowhere{n} 1",
                (n + 3) % 40
            )
            .unwrap();
        }
    }
    // A query that is judged but has no text, one whose only relevant document is missing, one with none.
    qrels += "ghost 0 d1 1\nq30 0 nowhere 1\nq31 0 d1 0\n";
    for (name, text) in [
        ("corpus.jsonl", lines),
        ("queries.tsv", queries),
        ("qrels.txt", qrels),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

const JUDGED: &str = "[data]\nnegatives = { bm25 = 3, judged = 1 }\n[[data.sets]]\nname = 'own'\ncorpus = ['corpus.jsonl']\n\
    queries = 'queries.tsv'\nqrels = 'qrels.txt'\n";

#[test]
fn judgements_are_used_and_what_is_missing_is_told() {
    let folder = folder();
    collection(folder.path());
    let config = format!("[validation]\nshare = 0.2\n{JUDGED}");
    let (prepared, _) = prepare(folder.path(), &config, false).unwrap();
    let read = &prepared.report.sets[0];
    assert_eq!((read.read, read.queries, read.documents), (40, 31, 40));
    let expected = [
        ("judged but without text", 1),
        ("no relevant document", 1),
        ("not judged", 8),
    ];
    assert_eq!(read.dropped, expected.into_iter().collect());
    let used = &prepared.report.trainings[0][0];
    assert!(used.unknown_documents >= used.train, "{used:?}");
    assert_eq!(used.negatives[&NegativeKind::Judged], used.train);
    let everywhere = used.train + used.validation + used.dropped.values().sum::<u64>();
    assert_eq!(everywhere, 31, "{used:?}");
    // The same on the index that is there now.
    let index = "model.base = 'base'\n[index]\npath = 'out.training/index'\n";
    let existing = config.replace("corpus = ['corpus.jsonl']\n", "");
    let config = Config::parse(
        &format!("output.model = 'tuned'\n{index}{existing}"),
        &folder.path().join("c.toml"),
    );
    let config = config.unwrap();
    let examples = prepared.plans[0].examples.clone();
    drop(prepared);
    let preparation = Preparation {
        config: &config,
        restart: false,
        encoder: &|_| Err("nothing is to be encoded".into()),
        indexing: &Encodings::default(),
        watch: &Nobody,
    };
    assert_eq!(preparation.run().unwrap().plans[0].examples, examples);
}

#[test]
fn folds_test_every_query_once() {
    let folder = folder();
    collection(folder.path());
    let (prepared, _) = prepare(
        folder.path(),
        &format!("[folds]\ncount = 3\n{JUDGED}"),
        false,
    )
    .unwrap();
    assert_eq!(
        (prepared.plans.len(), prepared.folds.unwrap().folds().len()),
        (3, 3)
    );
    let mut tested: Vec<String> = Vec::new();
    for plan in &prepared.plans {
        let test = &plan.test.as_ref().unwrap().queries;
        tested.extend(test.iter().map(|query| query.id.clone()));
        let ids = |id: &String| plan.examples.iter().all(|example| example.id != *id);
        assert!(
            test.iter().all(|query| ids(&query.id)),
            "no test query is trained on"
        );
    }
    tested.sort();
    tested.dedup();
    assert_eq!(tested.len(), 31);
}

#[test]
fn nothing_to_learn_from_is_said_with_the_reasons() {
    let folder = folder();
    collection(folder.path());
    let wrong: String = (0..9).map(|n| format!("q{n} 0 other{n} 1\n")).collect();
    std::fs::write(folder.path().join("qrels.txt"), wrong).unwrap();
    let error = prepare(folder.path(), JUDGED, false)
        .err()
        .unwrap()
        .to_string();
    assert!(error.starts_with("no query is left to train on"), "{error}");
    assert!(
        error.contains("relevant documents are not in the index"),
        "{error}"
    );
    let faulty = "{\"id\": 1, \"text\": \"x\"}\n";
    std::fs::write(folder.path().join("one.jsonl"), faulty).unwrap();
    let error = prepare(folder.path(), PAIRS, false)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("one.jsonl:1:") && error.contains("skip_faults"),
        "{error}"
    );
}

#[test]
fn a_head_with_gamma_finds_its_product_in_the_index() {
    let folder = folder();
    collection(folder.path());
    let path = |name: &str| folder.path().join(name);
    let write = |gamma: f32| {
        let encoder_id = Model::read(path("base")).unwrap().encoder_id();
        let mut head = Head::blank(encoder_id, 3);
        head.others.cls = Some(vec![gamma; 16]);
        head.write(&path("head.json")).unwrap();
    };
    write(0.5);
    let config = format!("model.head = 'head.json'\n[validation]\nshare = 0.2\n{JUDGED}");
    let (prepared, _) = prepare(folder.path(), &config, false).unwrap();
    let snapshot = prepared.index.store.snapshot().unwrap();
    let number = snapshot.number("d1").unwrap().unwrap();
    assert_ne!(snapshot.record(number).unwrap().unwrap().cls(), 0.0);
    drop(snapshot);
    drop(prepared);
    // Going on from the same head is fine on this index, from another one is not.
    let existing = config.replace("corpus = ['corpus.jsonl']\n", "");
    let existing = format!("index.path = 'out.training/index'\noutput.work = 'again'\n{existing}");
    assert!(prepare(folder.path(), &existing, false).is_ok());
    write(0.25);
    let refused = |config: &str, told: &str| {
        let error = prepare(folder.path(), config, false).err().unwrap();
        assert!(error.to_string().contains(told), "{error}");
    };
    refused(&existing, "head.json: its `others.cls`");
    refused(&config, "--restart");
    Head::blank("somebody-else", 3)
        .write(&path("head.json"))
        .unwrap();
    refused(&config, "head.json: trained for encoder somebody-else");
}

#[test]
fn ids_of_a_folds_file_that_no_query_has_are_told() {
    let folder = folder();
    collection(folder.path());
    let ids = |numbers: std::ops::Range<usize>| -> Vec<String> {
        numbers.map(|n| format!("q{n}")).collect()
    };
    let write = |groups: &[Vec<String>]| {
        let text = serde_json::to_string(groups).unwrap();
        std::fs::write(folder.path().join("folds.json"), text).unwrap();
    };
    let config = format!("[folds]\nfile = 'folds.json'\n{JUDGED}");
    // q31 has no relevant document, q77 nobody knows; q28 to q30 are in no fold.
    let mut groups = [ids(0..9), ids(9..18), ids(18..28)];
    groups[1].extend(["q31".into(), "q77".into()]);
    write(&groups);
    let (prepared, _) = prepare(folder.path(), &config, false).unwrap();
    let report = &prepared.report;
    let folds = report.folds.as_ref().unwrap();
    assert_eq!(folds.unknown, ["q31", "q77"]);
    assert_eq!(folds.missing, ["q28", "q29", "q30"]);
    let told = report.to_string();
    let file = folder.path().join("folds.json");
    let expected = format!(
        "{}: 2 ids are of no query that can be used: q31, q77",
        file.display()
    );
    assert!(told.contains(&expected), "{told}");
    drop(prepared);
    groups[0] = vec!["nobody".into()];
    write(&groups);
    let error = prepare(folder.path(), &config, false).err().unwrap();
    let error = error.to_string();
    assert!(
        error.contains("to test a fold with; check the ids"),
        "{error}"
    );
    assert!(
        error.contains("no query that can be used: nobody"),
        "{error}"
    );
}
