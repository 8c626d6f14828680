//! Documents with footprints that are as good as random, in versions.

use becr::{Build, Document, Model};
use becr_index::live::Change;
use becr_lmdb::Store;
use becr_model::{Config, Feature, Head, Settings, Storage, Weights};
use becr_store::{NewDocument, Shape};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const WORDS: [&str; 16] = [
    "river", "bank", "money", "loan", "fish", "boat", "spring", "water", "zebra", "quay", "bread",
    "oven", "star", "comet", "tram", "snow",
];

/// Numbers that look random, the same for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn words(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(" ")
    }
}

/// Which version of each document there is, and how many changes there were.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) tick: u64,
    pub(crate) versions: BTreeMap<usize, u32>,
    next: usize,
}

/// A document put or deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Put(usize, u32),
    Delete(usize),
    /// Rewrites the document that says how many changes there were.
    Tick(u64),
}

impl State {
    pub(crate) fn first(documents: usize) -> Self {
        Self {
            tick: 0,
            versions: (0..documents).map(|number| (number, 0)).collect(),
            next: documents,
        }
    }

    pub(crate) fn all(&self) -> Vec<Step> {
        let puts = self
            .versions
            .iter()
            .map(|(&n, &version)| Step::Put(n, version));
        puts.chain([Step::Tick(self.tick)]).collect()
    }

    /// Changes some documents: a third is new, a third changed, a third goes.
    pub(crate) fn change(&mut self, dice: &mut Dice, count: usize) -> Vec<Step> {
        let before = self.clone();
        for n in 0..count {
            if n % 3 == 0 {
                self.versions.insert(self.next, 0);
                self.next += 1;
                continue;
            }
            let place = dice.below(self.versions.len());
            let Some(number) = self.versions.keys().nth(place).copied() else {
                continue;
            };
            match n % 3 {
                1 => *self.versions.entry(number).or_default() += 1,
                _ => drop(self.versions.remove(&number)),
            }
        }
        self.tick += 1;
        self.difference(&before)
    }

    /// What leads from another state to this one.
    pub(crate) fn difference(&self, before: &Self) -> Vec<Step> {
        let puts = self.versions.iter().map(|(&n, &version)| (n, version));
        let puts = puts.filter(|(n, version)| before.versions.get(n) != Some(version));
        let gone = before.versions.keys();
        let gone = gone.filter(|number| !self.versions.contains_key(number));
        puts.map(|(n, version)| Step::Put(n, version))
            .chain(gone.map(|&number| Step::Delete(number)))
            .chain([Step::Tick(self.tick)])
            .collect()
    }
}

/// A document as the store takes it.
pub(crate) struct Version {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
    tokens: u32,
    footprints: Vec<u8>,
    mean: Vec<u8>,
    features: Vec<(String, f32)>,
}

pub(crate) struct Collection {
    shape: Shape,
    versions: std::sync::Mutex<BTreeMap<(usize, u32), &'static Version>>,
}

impl Collection {
    /// An index at `path` with a small random model and one document, which goes with the first state.
    pub(crate) fn build(path: &Path) -> Self {
        let model = model(&path.with_extension("model"));
        let first = Document::new("first", "", "river bank");
        Build::new().model(model).run(path, [first], &()).unwrap();
        let manifest = becr_index::manifest::Manifest::read(path).unwrap();
        let store = Store::open(&manifest.store(path)).unwrap();
        let shape = store.header().shape;
        drop(store);
        let mut live = becr_index::live::LiveIndex::open(path).unwrap();
        live.apply(&[Change::Delete("first")]).unwrap();
        live.finish().unwrap();
        Self {
            shape,
            versions: Default::default(),
        }
    }

    /// A version of a document. They live as long as the test: thousands of small ones.
    pub(crate) fn version(&self, number: usize, version: u32) -> &'static Version {
        let mut versions = self.versions.lock().unwrap();
        versions.entry((number, version)).or_insert_with(|| {
            let mut dice = Dice((number as u64) << 20 | u64::from(version));
            let (titled, worded) = (dice.below(3), 3 + dice.below(30));
            let (title, text) = (dice.words(titled), dice.words(worded));
            Box::leak(Box::new(self.made(
                &mut dice,
                format!("d{number}"),
                title,
                text,
            )))
        })
    }

    pub(crate) fn clock(&self, tick: u64) -> Version {
        let text = format!("tick {tick}");
        self.made(&mut Dice(tick), "clock".into(), String::new(), text)
    }

    fn made(&self, dice: &mut Dice, id: String, title: String, text: String) -> Version {
        let tokens =
            becr_text::words::words(&title).count() + becr_text::words::words(&text).count();
        let (layers, bits) = (usize::from(self.shape.layers), usize::from(self.shape.bits));
        let layout = becr_footprint::DocumentLayout::new(layers, tokens, bits).unwrap();
        let rows: Vec<u32> = (0..layers * tokens * bits / 32)
            .map(|_| dice.next() as u32)
            .collect();
        let mut footprints = vec![0; layout.bytes()];
        layout.tile(&rows, &mut footprints).unwrap();
        Version {
            id,
            title,
            text,
            tokens: tokens as u32,
            footprints,
            mean: (0..self.shape.mean_bytes())
                .map(|_| dice.next() as u8)
                .collect(),
            features: vec![("pagerank".into(), dice.below(10) as f32)],
        }
    }

    /// Steps as changes of an index. Clocks are leaked like versions: there are a hundred.
    pub(crate) fn changes(&self, steps: &[Step]) -> Vec<Change<'static>> {
        let change = |step: &Step| match *step {
            Step::Put(number, version) => Change::Put(self.version(number, version).document()),
            Step::Delete(number) => {
                Change::Delete(Box::leak(format!("d{number}").into_boxed_str()))
            }
            Step::Tick(tick) => Change::Put(Box::leak(Box::new(self.clock(tick))).document()),
        };
        steps.iter().map(change).collect()
    }
}

impl Version {
    pub(crate) fn document(&self) -> NewDocument<'_> {
        NewDocument {
            id: &self.id,
            title: &self.title,
            text: &self.text,
            keep_text: true,
            tokens: self.tokens,
            cls: 0.0,
            footprints: &self.footprints,
            mean: &self.mean,
            share: 0.0,
            lengths: &[],
            features: &self.features,
        }
    }
}

fn model(folder: &Path) -> Model {
    std::fs::create_dir(folder).unwrap();
    let mut vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n##s\n".to_owned();
    WORDS
        .iter()
        .for_each(|word| vocabulary.push_str(&format!("{word}\n")));
    let mut config = Config::new(5 + WORDS.len(), 16, 2, 2, 24, 40);
    config.becr = Some(Settings {
        bits: Some(64),
        ..Settings::default()
    });
    config.write(&folder.join("config.json")).unwrap();
    std::fs::write(folder.join("vocab.txt"), vocabulary).unwrap();
    let weights = Weights::random(&config, 3, 10.0);
    weights
        .write(&folder.join("model.safetensors"), Storage::F32)
        .unwrap();
    let mut model = Model::read(folder).unwrap();
    let layers = config.kept_layers().unwrap().len();
    let mut head = Head::blank(model.encoder_id(), layers);
    for (n, weight) in head.deep.alpha.iter_mut().flatten().enumerate() {
        *weight = ((n * 5) % 11) as f32 / 50.0 - 0.08;
    }
    let feature = |name: &str, weight| Feature {
        name: name.to_owned(),
        mean: 0.1,
        deviation: 0.5,
        weight,
    };
    head.lexical = vec![
        feature("first_stage", 0.7),
        feature("body_bm25_sum", 0.5),
        feature("title_tfidf_max", 0.3),
        feature("body_bm25_pairs", 0.1),
    ];
    head.deep.document_vector = Some(feature("document_vector", 0.4));
    head.others.features = vec![feature("pagerank", 0.2)];
    model.head = Some(head);
    model
}
