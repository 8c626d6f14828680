//! What a program may rely on, with a small random model.

mod building;
mod changing;
mod meaning;
mod reading;

use becr::{
    Build, Candidate, Details, Document, Error, Existing, Index, IndexError, Model, Observer, Plan,
    Precision, QueryMode, RankOptions, Rules, Scorer, SearchOptions, Stage, SyncOptions, Variant,
};
use becr_model::{
    Config, Feature, Head, Layers, MIXER_FILE, MixerKind, MixerShape, MixerWeights, Settings,
    Storage, Weights,
};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const WORDS: [&str; 10] = [
    "river", "bank", "money", "loan", "fish", "boat", "spring", "water", "zebra", "quay",
];

fn model(folder: &Path) -> Model {
    model_of(folder, &Config::new(14, 16, 2, 2, 24, 40))
}

fn model_of(folder: &Path, config: &Config) -> Model {
    std::fs::create_dir_all(folder).unwrap();
    config.write(&folder.join("config.json")).unwrap();
    let vocabulary = format!("[PAD]\n[UNK]\n[CLS]\n[SEP]\n{}\n", WORDS.join("\n"));
    std::fs::write(folder.join("vocab.txt"), vocabulary).unwrap();
    let weights = Weights::random(config, 3, 10.0);
    weights
        .write(&folder.join("model.safetensors"), Storage::F32)
        .unwrap();
    let mut model = Model::read(folder).unwrap();
    let layers = config.kept_layers().unwrap().len();
    let mut head = Head::blank(model.encoder_id(), layers);
    head.deep
        .alpha
        .iter_mut()
        .flatten()
        .for_each(|weight| *weight = 0.05);
    head.lexical = vec![Feature {
        name: "body_bm25_sum".into(),
        mean: 1.0,
        deviation: 1.0,
        weight: 0.5,
    }];
    head.write(&folder.join("head.json")).unwrap();
    model.head = Some(head);
    model
}

fn documents(numbers: std::ops::Range<usize>) -> impl Iterator<Item = Document> {
    numbers.map(|n| {
        let word = |k: usize| WORDS[(n * 7 + k * k * 3 + k) % WORDS.len()];
        let text: Vec<&str> = (0..6 + n % 20).map(word).collect();
        Document::new(format!("d{n}"), word(5), text.join(" "))
    })
}

fn built(count: usize) -> (TempDir, PathBuf, Index) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let model = model(&folder.path().join("model"));
    let (index, summary) = Build::new()
        .model(model)
        .run(&path, documents(0..count), &())
        .unwrap();
    assert_eq!(summary.documents, count as u64);
    (folder, path, index)
}
