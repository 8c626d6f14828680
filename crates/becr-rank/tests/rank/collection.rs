//! A generated collection: random texts, random footprints, a head with every weight set.

use becr_footprint::DocumentLayout;
use becr_lmdb::Store;
use becr_model::{DeepScale, Feature, Feedback, Head, QueryVector, ScaleOver, TermWeights};
use becr_rank::{Candidate, LEXICAL_FEATURES, Ranker};
use becr_store::{Header, NewDocument, Shape, WriteStore};
use becr_text::groups::TokenGroup;
use becr_text::pieces::WordPieces;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Two layers of footprints, or one that is relative to vectors of 16 dimensions, in turn.
pub(crate) fn shape(seed: u64) -> Shape {
    match seed % 2 {
        0 => Shape::new(2, 64),
        _ => Shape {
            vector: 3,
            ..Shape::new(1, 64)
        },
    }
}

pub(crate) const WINDOW: usize = 3;

/// Words of texts and queries. The last two are no vocabulary entries; of the last, not even pieces are known.
pub(crate) const WORDS: [&str; 14] = [
    "river", "rivers", "bank", "money", "loan", "loans", "the", "fish", "of", "spring", "water",
    "boat", "banks", "zebra",
];
const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nriver\nrivers\nbank\nmoney\nloan\nloans\nthe\nfish\nof\nspring\n\
                          water\nboat\n##s\n,\n";

/// Numbers that look random, the same for the same seed (SplitMix64).
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

    /// In `-1.0..1.0`.
    pub(crate) fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn words(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(" ")
    }

    fn footprints(&mut self, words: usize) -> Vec<u32> {
        (0..words).map(|_| self.next() as u32).collect()
    }

    /// A packed vector, nothing if footprints are not relative.
    fn vector(&mut self, shape: Shape) -> Vec<u32> {
        match shape.is_relative() {
            true => becr_footprint::pack(&std::array::from_fn::<f32, 16, _>(|_| self.signed())),
            false => Vec::new(),
        }
    }
}

pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) tokens: usize,
    /// `[layer][token][bits / 32]`.
    pub(crate) rows: Vec<u32>,
    pub(crate) mean: Vec<u32>,
    pub(crate) share: f32,
    pub(crate) lengths: Vec<u8>,
    pub(crate) cls: f32,
    pub(crate) features: Vec<(String, f32)>,
}

pub(crate) struct Collection {
    pub(crate) shape: Shape,
    pub(crate) store: Store,
    pub(crate) documents: Vec<Document>,
    /// `[layer][slot][bits / 32]`, then `[slot]` packed vectors, by key.
    pub(crate) groups: BTreeMap<String, Vec<u32>>,
    _folder: TempDir,
}

pub(crate) fn pieces() -> WordPieces {
    WordPieces::from_vocab(VOCABULARY.as_bytes(), "vocab.txt").unwrap()
}

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Collection {
    pub(crate) fn new(seed: u64, documents: usize) -> Self {
        let mut dice = Dice(seed);
        let texts: Vec<(String, String)> = (0..documents)
            .map(|n| {
                let (title, length) = (dice.below(5), dice.below(60));
                // One document in seven has nothing to say.
                let text = if n % 7 == 3 {
                    String::new()
                } else {
                    dice.words(length)
                };
                (dice.words(title), text)
            })
            .collect();
        Self::of_texts(shape(seed), &mut dice, &texts)
    }

    pub(crate) fn of_texts(shape: Shape, dice: &mut Dice, texts: &[(String, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let header = Header::new("encoder-1", shape, WINDOW);
        let store = Store::create(folder.path(), &header).unwrap();
        let groups = put_groups(dice, &store);
        let documents: Vec<Document> = texts
            .iter()
            .map(|text| document(shape, dice, text))
            .collect();
        put_documents(&store, shape, &documents);
        Self {
            shape,
            store,
            documents,
            groups,
            _folder: folder,
        }
    }

    /// The same collection in the other store.
    pub(crate) fn in_memory(&self) -> becr_memory::Store {
        let store = becr_memory::Store::new(self.store.header().clone());
        let mut update = store.update().unwrap();
        for (key, footprints) in &self.groups {
            let group = match key.split_once(' ') {
                Some((first, second)) => TokenGroup::Pair(first.into(), second.into()),
                None => TokenGroup::Unigram(key.clone()),
            };
            update.put_group(&group, &bytes(footprints)).unwrap();
        }
        update.commit().unwrap();
        put_documents(&store, self.shape, &self.documents);
        store
    }

    /// The same documents in a store that has no token group, and had another document for a while.
    pub(crate) fn without_groups(&self) -> becr_memory::Store {
        let store = becr_memory::Store::new(self.store.header().clone());
        put_documents(&store, self.shape, &self.documents);
        let mut update = store.update().unwrap();
        let mean = vec![0; self.shape.mean_bytes()];
        let visitor = NewDocument {
            id: "visitor",
            title: "river bank",
            text: "money of the river bank spring water",
            mean: &mean,
            ..Default::default()
        };
        update.put(&visitor).unwrap();
        update.commit().unwrap();
        let mut update = store.update().unwrap();
        assert!(update.delete("visitor").unwrap());
        update.commit().unwrap();
        store
    }

    pub(crate) fn ranker(&self, head: Head) -> Ranker {
        Ranker::for_store(self.store.header(), head, pieces()).unwrap()
    }

    /// All documents, with first-stage scores that leave a few out.
    pub(crate) fn candidates(&self) -> Vec<Candidate<'static>> {
        (0..self.documents.len() as u64)
            .map(|number| Candidate {
                number,
                first_stage: (number % 5 != 1).then_some(20.0 - number as f32 / 3.0),
                features: &[],
            })
            .collect()
    }
}

/// The same head, its deep part relative to the list, with feedback.
pub(crate) fn list_head(seed: u64) -> Head {
    let mut head = head(seed);
    head.deep.query_vector = QueryVector::Whole;
    head.deep.scale = Some(DeepScale {
        over: ScaleOver::List,
        weight: 1.5,
        deviation: 0.7,
    });
    head.feedback = Some(Feedback {
        neighbours: 3,
        weight: 0.4,
        vector: 0.8,
    });
    head
}

/// Every vocabulary word and half of the pairs.
fn put_groups(dice: &mut Dice, store: &Store) -> BTreeMap<String, Vec<u32>> {
    let mut groups = BTreeMap::new();
    let shape = store.header().shape;
    let width = usize::from(shape.bits) / 32 * usize::from(shape.layers);
    let mut update = store.update().unwrap();
    let mut put = |dice: &mut Dice, group: TokenGroup, slots: usize| {
        let mut footprints = dice.footprints(width * slots);
        (0..slots).for_each(|_| footprints.extend(dice.vector(shape)));
        update.put_group(&group, &bytes(&footprints)).unwrap();
        groups.insert(group.to_string(), footprints);
    };
    for word in WORDS[..12].iter().chain(&["##s"]) {
        put(dice, TokenGroup::Unigram((*word).into()), 1);
    }
    for first in WORDS {
        for second in WORDS {
            if dice.below(2) == 0 {
                put(dice, TokenGroup::Pair(first.into(), second.into()), 2);
            }
        }
    }
    update.commit().unwrap();
    groups
}

fn document(shape: Shape, dice: &mut Dice, (title, text): &(String, String)) -> Document {
    let tokens = pieces().document(title, text).pieces.len();
    let width = usize::from(shape.bits) / 32;
    let features = match dice.below(3) {
        0 => Vec::new(),
        1 => vec![("pagerank".into(), dice.signed())],
        _ => vec![
            ("spam".into(), dice.signed()),
            ("pagerank".into(), dice.signed()),
        ],
    };
    Document {
        title: title.clone(),
        text: text.clone(),
        tokens,
        rows: dice.footprints(usize::from(shape.layers) * tokens * width),
        mean: match shape.is_relative() {
            true => dice.vector(shape),
            false => dice.footprints(width),
        },
        share: match shape.is_relative() {
            true => dice.signed(),
            false => 0.0,
        },
        lengths: match shape.is_relative() {
            true => (0..tokens).map(|_| dice.below(128) as u8).collect(),
            false => Vec::new(),
        },
        cls: dice.signed(),
        features,
    }
}

fn put_documents<S: WriteStore>(store: &S, shape: Shape, documents: &[Document]) {
    let mut update = store.update().unwrap();
    for (number, document) in documents.iter().enumerate() {
        let (layers, bits) = (usize::from(shape.layers), usize::from(shape.bits));
        let layout = DocumentLayout::new(layers, document.tokens, bits).unwrap();
        let mut tiles = vec![0; layout.bytes()];
        layout.tile(&document.rows, &mut tiles).unwrap();
        let put = update.put(&NewDocument {
            id: &format!("d{number}"),
            title: &document.title,
            text: &document.text,
            keep_text: true,
            tokens: document.tokens as u32,
            cls: document.cls,
            footprints: &tiles,
            mean: &bytes(&document.mean),
            share: document.share,
            lengths: &document.lengths,
            features: &document.features,
        });
        assert_eq!(put.unwrap(), number as u64);
    }
    update.commit().unwrap();
}

/// A head with every feature there is, and weights of either sign, for the collection of the same seed.
pub(crate) fn head(seed: u64) -> Head {
    let mut dice = Dice(seed);
    let mut head = Head::blank("encoder-1", usize::from(shape(seed).layers));
    let mut feature = |name: &str| Feature {
        name: name.into(),
        mean: dice.signed(),
        deviation: 1.5 + dice.signed(),
        weight: dice.signed(),
    };
    head.lexical = LEXICAL_FEATURES.iter().map(|name| feature(name)).collect();
    head.deep.document_vector = Some(feature("document_vector"));
    head.others.features = vec![feature("pagerank"), feature("spam"), feature("clicks")];
    head.others.cls = Some(vec![1.0]);
    for weight in head.deep.alpha.iter_mut().flatten() {
        *weight = dice.signed();
    }
    head.deep.term_weights = match dice.below(3) {
        0 => TermWeights::Sum,
        1 => TermWeights::Mean,
        _ => TermWeights::Idf,
    };
    head
}
