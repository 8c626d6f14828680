//! A synthetic collection: random footprints, texts whose words are as frequent as those of a language.

use crate::progress;
use becr_footprint::DocumentLayout;
use becr_lmdb::Store;
use becr_store::{Header, NewDocument, Shape};
use becr_text::groups::{Decomposition, Query};
use std::path::Path;

pub(super) const TOKENS: usize = 857;
pub(super) const SHAPE: Shape = Shape {
    layers: 5,
    bits: 256,
    vector: 0,
};
pub(super) const WINDOW: usize = 3;
/// WordPieces are a quarter more than words.
const WORDS: usize = 680;
const TITLE_WORDS: usize = 6;
const VOCABULARY: f64 = 50_000.0;
/// Queries are made of words that are neither in every document nor in hardly any: these places by frequency.
const QUERY_WORDS: std::ops::Range<u64> = 200..3000;
const BATCH: u64 = 500;

/// Numbers that look random, the same in every run (SplitMix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `0.0..1.0`.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }

    /// Words whose frequency falls as 1 over their place (Zipf's law).
    fn text(&mut self, words: usize) -> String {
        let word = |place: f64| word(place as u64);
        let words = (0..words).map(|_| word(VOCABULARY.powf(self.unit())));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Different documents, picked out of `documents`.
    pub(super) fn list(&mut self, length: usize, documents: u64) -> Vec<u64> {
        let mut taken = vec![false; documents as usize];
        let mut list = Vec::with_capacity(length);
        while list.len() < length.min(documents as usize) {
            let number = self.next() % documents;
            if !std::mem::replace(&mut taken[number as usize], true) {
                list.push(number);
            }
        }
        list
    }
}

/// The word of a place by frequency. The ending keeps the stemmer from taking words together.
fn word(place: u64) -> String {
    format!("w{place}x")
}

/// The external id of a document.
pub(super) fn id(number: u64) -> String {
    format!("document-{number}")
}

/// Queries of `n` words, all of whose token groups the store will have.
pub(super) fn queries(n: usize, count: usize) -> Vec<String> {
    let mut dice = Dice(n as u64);
    let range = QUERY_WORDS.end - QUERY_WORDS.start;
    let mut query = || {
        let words = (0..n).map(|_| word(QUERY_WORDS.start + dice.next() % range));
        words.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(|_| query()).collect()
}

/// A store of `documents` records, numbered from 0, and the token groups of `queries`.
pub(super) fn write(dir: &Path, documents: u64, queries: &[String]) -> anyhow::Result<Store> {
    let store = Store::create(dir, &Header::new("synthetic", SHAPE, WINDOW))?;
    let mut dice = Dice(1);
    let bytes = usize::from(SHAPE.bits) / 8;
    let mut update = store.update()?;
    for query in queries {
        for group in Query::new(query, &Decomposition::default()).groups {
            let words = group.to_string().split(' ').count();
            let mut footprints = vec![0; words * usize::from(SHAPE.layers) * bytes];
            dice.fill(&mut footprints);
            update.put_group(&group, &footprints)?;
        }
    }
    update.commit()?;
    let layout = DocumentLayout::new(usize::from(SHAPE.layers), TOKENS, usize::from(SHAPE.bits))?;
    let (mut footprints, mut mean) = (vec![0; layout.bytes()], vec![0; bytes]);
    let bar = progress::counting(documents, "records written");
    for first in (0..documents).step_by(BATCH as usize) {
        let mut update = store.update()?;
        let mut ids = Vec::new();
        for number in first..documents.min(first + BATCH) {
            dice.fill(&mut footprints);
            dice.fill(&mut mean);
            ids.push(id(number));
            update.put(&NewDocument {
                id: &id(number),
                title: &dice.text(TITLE_WORDS),
                text: &dice.text(WORDS),
                tokens: TOKENS as u32,
                footprints: &footprints,
                mean: &mean,
                ..Default::default()
            })?;
        }
        // No first stage: nothing is left to be done there.
        update.settle(&ids)?;
        update.commit()?;
        bar.inc(ids.len() as u64);
    }
    bar.finish_and_clear();
    Ok(store)
}
