//! The model's head in an index: copied, checked, and γ·CLS computed with it for every document.

use crate::becr;
use crate::full::{corpus, folder, index, run};
use becr_encoder::Encoder;
use becr_lmdb::Store;
use becr_model::{Head, Model};
use std::path::Path;

/// γ of the head that the tests give the model: its hidden states are of 16 numbers.
fn gamma() -> Vec<f32> {
    (0..16_u8).map(|n| f32::from(n) / 10.0 - 0.7).collect()
}

fn write_head(folder: &Path, encoder_id: &str, gamma: Vec<f32>) {
    let mut head = Head::blank(encoder_id, 3);
    head.others.cls = Some(gamma);
    head.write(&folder.join("model/head.json")).unwrap();
}

/// γ·CLS of every document of an index, by id, beside what its text gives.
fn check(folder: &Path, index: &str, documents: usize) {
    let encoder = Encoder::open(folder.join("model")).unwrap();
    let store = Store::open(&folder.join(index).join("store")).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut checked = 0;
    for row in snapshot.documents().unwrap() {
        let (number, id) = row.unwrap();
        let text = snapshot.text(number).unwrap().unwrap();
        let cls = encoder.document(&text.title, &text.text).unwrap().cls;
        let expected: f32 = cls.iter().zip(gamma()).map(|(x, g)| x * g).sum();
        let found = snapshot.record(number).unwrap().unwrap().cls();
        assert!((found - expected).abs() < 1e-4, "{id}: {found} {expected}");
        assert_ne!(found, 0.0);
        checked += 1;
    }
    assert_eq!(checked, documents);
}

#[test]
fn every_document_has_gamma_times_cls() {
    let folder = folder();
    let folder = folder.path();
    let encoder_id = Model::read(folder.join("model")).unwrap().encoder_id();
    write_head(folder, &encoder_id, gamma());
    corpus(folder, "all.jsonl", 0..20);
    corpus(folder, "more.jsonl", 20..25);
    index(folder, "all.jsonl", "ix", &[]);
    check(folder, "ix", 20);
    // Another head beside the model changes nothing: the index keeps its own.
    write_head(folder, &encoder_id, vec![9.0; 16]);
    run(folder, &["add", "ix", "more.jsonl"]);
    check(folder, "ix", 25);
    let kept = Head::read(&folder.join("ix/model/head.json")).unwrap();
    assert_eq!(kept.others.cls, Some(gamma()));
}

#[test]
fn heads_that_do_not_belong_to_the_model_are_refused() {
    let folder = folder();
    let folder = folder.path();
    corpus(folder, "all.jsonl", 0..3);
    let refused = |reason: &str| {
        let arguments = ["index", "all.jsonl", "--out", "ix", "--model", "model"];
        let outcome = becr(folder, &arguments);
        assert_eq!(outcome.code, Some(1));
        assert!(
            outcome.stderr.contains("model/head.json"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
        assert!(!folder.join("ix").exists());
    };
    write_head(folder, "somebody-else", gamma());
    refused("trained for encoder somebody-else");
    let encoder_id = Model::read(folder.join("model")).unwrap().encoder_id();
    write_head(folder, &encoder_id, vec![1.0; 3]);
    refused("`others.cls` has 3 weights");
    std::fs::write(folder.join("model/head.json"), "{").unwrap();
    refused("line 1");
}

/// For tables of bits: the same weights over footprints of other lengths.
#[test]
fn a_head_goes_along_to_other_bits_if_asked() {
    let folder = folder();
    let folder = folder.path();
    let encoder_id = Model::read(folder.join("model")).unwrap().encoder_id();
    write_head(folder, &encoder_id, gamma());
    corpus(folder, "all.jsonl", 0..20);
    let prepare = "model prepare model --bits 32 --out".split(' ');
    let left = run(folder, &prepare.clone().chain(["left"]).collect::<Vec<_>>());
    assert!(left.stderr.contains("--keep-head"), "{}", left.stderr);
    assert!(!folder.join("left/head.json").exists());
    run(
        folder,
        &prepare.chain(["taken", "--keep-head"]).collect::<Vec<_>>(),
    );
    let taken = Model::read(folder.join("taken")).unwrap();
    assert_eq!(taken.head.as_ref().unwrap().encoder_id, taken.encoder_id());
    run(
        folder,
        &["index", "all.jsonl", "--out", "ix", "--model", "taken"],
    );
    run(folder, &["search", "ix", "river bank"]);
    // A head of three layers is of no use with one.
    let one = "model prepare model --layers 1 --keep-head --out one";
    let outcome = becr(folder, &one.split(' ').collect::<Vec<_>>());
    let built = match outcome.code {
        Some(0) => {
            becr(
                folder,
                &["index", "all.jsonl", "--out", "no", "--model", "one"],
            )
            .code
        }
        code => code,
    };
    assert_eq!(built, Some(1), "{}", outcome.stderr);
}
