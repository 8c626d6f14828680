//! A small index with a random model, and queries whose answers share their topic.

use crate::random::Random;
use crate::{Candidate, Example, Validation, ValidationQuery};
use becr_encoder::Encoder;
use becr_groups::Rules;
use becr_index::Document;
use becr_index::full::{BuildOptions, FullBuild};
use becr_index::manifest::Manifest;
use becr_lmdb::Store;
use becr_model::{Config, Head, Layers, Model, Settings, Storage, Weights};
use becr_store::Documents;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A topic has words of its own.
const TOPICS: [[&str; 5]; 4] = [
    ["river", "bank", "water", "boat", "fish"],
    ["money", "loan", "credit", "market", "price"],
    ["star", "planet", "orbit", "moon", "comet"],
    ["bread", "dough", "oven", "yeast", "flour"],
];
const OTHERS: [&str; 8] = [
    "the", "of", "and", "long", "small", "early", "quay", "zebra",
];
const DOCUMENTS: usize = 60;

pub(crate) struct Sample {
    _folder: TempDir,
    pub(crate) model: Model,
    pub(crate) store: Store,
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self::build(two_layers(), None)
    }

    /// An index whose footprints are relative.
    pub(crate) fn relative() -> Self {
        let settings = Settings {
            layers: Layers::Last,
            relative: true,
            ..two_layers()
        };
        Self::build(settings, None)
    }

    /// An index whose records have γ·CLS.
    pub(crate) fn with_gamma(gamma: Vec<f32>) -> Self {
        Self::build(two_layers(), Some(gamma))
    }

    fn build(settings: Settings, gamma: Option<Vec<f32>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut model = model(&folder.path().join("model"), settings);
        model.head = gamma.map(|gamma| {
            let mut head = Head::blank(model.encoder_id(), 2);
            head.others.cls = Some(gamma);
            head
        });
        let backend = Box::new(
            becr_encoder::NativeEncoder::new(&model.config, model.weights.clone()).unwrap(),
        );
        let encoder = Encoder::new(&model.tokenizer, backend).unwrap();
        let build = FullBuild {
            model: &model,
            encoder: &encoder,
            identity: None,
            options: BuildOptions {
                keep_text: true,
                group_list: None,
                rules: Rules::default(),
                query_log: Vec::new(),
                memory: 1 << 20,
                shard: None,
                documents: Documents::Encoded,
                mode: becr_model::QueryMode::Composed,
                folders: Vec::new(),
                allow_empty: false,
            },
        };
        let index = folder.path().join("index");
        build.run(documents(), &index, false, &()).unwrap();
        let store = Store::open(&Manifest::default().store(&index)).unwrap();
        Self {
            _folder: folder,
            model,
            store,
        }
    }

    /// Queries of two to five words. The first stage gives relevant and irrelevant documents scores from 0 to 1.
    pub(crate) fn examples(&self, count: usize) -> Vec<Example> {
        let mut random = Random::new(5, &[]);
        let snapshot = self.store.snapshot().unwrap();
        let numbers: Vec<u64> = (0..DOCUMENTS)
            .map(|n| snapshot.number(&format!("d{n}")).unwrap().unwrap())
            .collect();
        (0..count)
            .map(|id| {
                let topic = id % TOPICS.len();
                let words = 1 + random.below(3);
                let mut query: Vec<&str> =
                    (0..words).map(|_| TOPICS[topic][random.below(5)]).collect();
                query.push(OTHERS[random.below(OTHERS.len())]);
                query.rotate_left(random.below(words));
                let mut candidate = |n: usize, at: usize| Candidate {
                    number: numbers[n],
                    first_stage: match at {
                        0 => Some(0.0),
                        1 => Some(1.0),
                        2 => None,
                        _ => Some(random.below(100) as f32 / 100.0),
                    },
                };
                let of = |relevant: bool| {
                    (0..DOCUMENTS).filter(move |n| (n % TOPICS.len() == topic) == relevant)
                };
                Example {
                    id: format!("q{id}"),
                    query: query.join(" "),
                    positives: vec![candidate(of(true).nth(id % 15).unwrap_or(topic), 1)],
                    negatives: of(false)
                        .skip(id % 30)
                        .take(6)
                        .enumerate()
                        .map(|(at, n)| candidate(n, 2 * at))
                        .collect(),
                }
            })
            .collect()
    }

    /// Re-ranking the documents of examples.
    pub(crate) fn validation(&self, examples: &[Example]) -> Validation {
        let mut validation = Validation::default();
        for example in examples {
            let documents = example.positives.iter().chain(&example.negatives);
            let candidates: Vec<_> = documents.map(|c| (format!("n{}", c.number), *c)).collect();
            validation.qrels.insert(&example.id, &candidates[0].0, 1);
            validation.queries.push(ValidationQuery {
                id: example.id.clone(),
                query: example.query.clone(),
                candidates,
            });
        }
        validation
    }
}

fn two_layers() -> Settings {
    Settings {
        layers: Layers::Chosen(vec![0, 2]),
        bits: Some(64),
        ..Settings::default()
    }
}

fn model(folder: &Path, settings: Settings) -> Model {
    fs::create_dir(folder).unwrap();
    let mut vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n##s\n##a\n##y\nqu\n".to_owned();
    // The last two are no entries of their own.
    for word in TOPICS.iter().flatten().chain(&OTHERS[..6]) {
        writeln!(vocabulary, "{word}").unwrap();
    }
    let mut config = Config::new(vocabulary.lines().count(), 16, 2, 2, 24, 40);
    config.becr = Some(settings);
    config.write(&folder.join("config.json")).unwrap();
    fs::write(folder.join("vocab.txt"), vocabulary).unwrap();
    let weights = Weights::random(&config, 3, 20.0);
    weights
        .write(&folder.join("model.safetensors"), Storage::F32)
        .unwrap();
    Model::read(folder).unwrap()
}

fn documents() -> impl Iterator<Item = Document> {
    let mut random = Random::new(9, &[]);
    (0..DOCUMENTS).map(move |n| {
        let topic = TOPICS[n % TOPICS.len()];
        let mut words = |count: usize| {
            let word = |_| match random.below(3) {
                0 => OTHERS[random.below(OTHERS.len())],
                1 => TOPICS[random.below(TOPICS.len())][random.below(5)],
                _ => topic[random.below(5)],
            };
            (0..count).map(word).collect::<Vec<_>>().join(" ")
        };
        let (title, text) = (words(n % 3), words(4 + n % 45));
        Document {
            features: vec![("rank".to_owned(), n as f32 + 0.5)],
            ..Document::new(format!("d{n}"), title, text)
        }
    })
}
