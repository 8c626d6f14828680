//! Random documents and changes, and what a store should then hold.

use super::Make;
use crate::{Header, NewDocument, Shape, Update, WriteStore};
use becr_text::groups::TokenGroup;
use std::collections::BTreeMap;
use twox_hash::XxHash3_64;

pub(super) const SHAPE: Shape = Shape {
    layers: 2,
    bits: 32,
    vector: 0,
};

/// Words of titles and texts; some share a stem.
const WORDS: [&str; 10] = [
    "river", "rivers", "bank", "banks", "loan", "the", "boat", "Boats", "of", "über",
];
/// Pairs that are counted.
pub(super) const PAIRS: [(&str, &str); 4] = [
    ("river", "bank"),
    ("the", "boat"),
    ("bank", "bank"),
    ("uber", "the"),
];

pub(super) fn header() -> Header {
    Header::new("encoder-1", SHAPE, 2)
}

pub(super) fn pair(first: &str, second: &str) -> TokenGroup {
    TokenGroup::Pair(first.into(), second.into())
}

pub(super) fn unigram(word: &str) -> TokenGroup {
    TokenGroup::Unigram(word.into())
}

/// Numbers that look random, the same for the same seed: hashes of how many there were.
pub(super) struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.drawn += 1;
        let number = XxHash3_64::oneshot_with_seed(self.seed, &self.drawn.to_le_bytes());
        (number % limit as u64) as usize
    }

    fn text(&mut self, most: usize) -> String {
        let words = (0..self.below(most + 1)).map(|_| WORDS[self.below(WORDS.len())]);
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A document as it was put.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Put {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) keep_text: bool,
    pub(super) tokens: u32,
    pub(super) cls: f32,
    pub(super) footprints: Vec<u8>,
    pub(super) mean: [u8; 4],
    pub(super) features: Vec<(String, f32)>,
}

impl Put {
    pub(super) fn random(chance: &mut Chance) -> Self {
        // Some as large as a few pages of a file.
        let tokens = match chance.below(8) {
            0 => chance.below(3000),
            _ => chance.below(9),
        };
        let mut byte = || chance.below(256) as u8;
        let (footprints, mean) = ((0..tokens * 8).map(|_| byte()).collect(), [byte(); 4]);
        let names = ["pagerank", "clicks", "spam"];
        let features = (0..chance.below(3))
            .map(|n| (names[n].to_owned(), chance.below(100) as f32 / 8.0))
            .collect();
        Self {
            title: chance.text(4),
            text: chance.text(12),
            keep_text: chance.below(2) == 0,
            tokens: tokens as u32,
            cls: chance.below(100) as f32 - 50.0,
            footprints,
            mean,
            features,
        }
    }

    /// With the id under which it is put.
    pub(super) fn document<'a>(&'a self, id: &'a str) -> NewDocument<'a> {
        NewDocument {
            id,
            title: &self.title,
            text: &self.text,
            keep_text: self.keep_text,
            tokens: self.tokens,
            cls: self.cls,
            footprints: &self.footprints,
            mean: &self.mean,
            features: &self.features,
            ..Default::default()
        }
    }
}

/// What a store should hold, by id.
pub(super) type Held = BTreeMap<String, Put>;

/// An empty store that counts pairs.
pub(super) fn with_pairs<S: WriteStore>(make: Make<'_, S>) -> S {
    let store = make(&header());
    let mut update = store.update().unwrap();
    for (n, (first, second)) in PAIRS.iter().enumerate() {
        let footprints = [n as u8; 16];
        update.put_group(&pair(first, second), &footprints).unwrap();
    }
    update.put_group(&unigram("river"), &[9; 8]).unwrap();
    update.commit().unwrap();
    store
}

/// Puts and deletes a few documents at random, and notes what is held then.
pub(super) fn change<S: WriteStore>(
    update: &mut Update<'_, S>,
    chance: &mut Chance,
    held: &mut Held,
) {
    for _ in 0..chance.below(6) {
        let ids: Vec<String> = (0..1 + chance.below(3))
            .map(|_| format!("d{}", chance.below(12)))
            .collect();
        match chance.below(5) {
            0 => {
                let expected = held.remove(&ids[0]).is_some();
                assert_eq!(update.delete(&ids[0]).unwrap(), expected);
            }
            1 => {
                let expected: Vec<bool> = ids.iter().map(|id| held.remove(id).is_some()).collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                assert_eq!(update.delete_all(&ids).unwrap(), expected);
            }
            2 => {
                let put = Put::random(chance);
                update.put(&put.document(&ids[0])).unwrap();
                held.insert(ids[0].clone(), put);
            }
            3 => {
                // A group that is there may be replaced at any time.
                let footprints = [chance.below(256) as u8; 16];
                update
                    .put_group(&pair("river", "bank"), &footprints)
                    .unwrap();
                // It is put back, so that the order of changes does not matter to what is held.
                update.put_group(&pair("river", "bank"), &[0; 16]).unwrap();
            }
            _ => {
                let puts: Vec<Put> = ids.iter().map(|_| Put::random(chance)).collect();
                let documents: Vec<_> = ids.iter().zip(&puts).collect();
                let new: Vec<_> = documents.iter().map(|(id, put)| put.document(id)).collect();
                assert_eq!(update.put_all(&new).unwrap().len(), ids.len());
                held.extend(ids.iter().cloned().zip(puts));
            }
        }
    }
}

/// A store that was filled with these documents at once.
pub(super) fn filled<S: WriteStore>(make: Make<'_, S>, held: &Held) -> S {
    let store = with_pairs(make);
    let mut update = store.update().unwrap();
    for (id, put) in held {
        update.put(&put.document(id)).unwrap();
    }
    update.commit().unwrap();
    store
}
