//! Synthetic documents.

use crate::progress;
use becr_footprint::DocumentLayout;
use becr_lmdb::Store;
use becr_store::{Header, NewDocument, Shape};
use std::path::{Path, PathBuf};

/// Documents of a candidate list.
pub(super) const LIST: usize = 150;
const TOKENS: usize = 857;
const LAYERS: u16 = 5;
const BITS: u16 = 256;
/// Words that texts are made of.
const VOCABULARY: u64 = 5000;
/// Words of a text.
const WORDS: usize = 30;

/// Numbers that look random, the same in every run.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Different documents, picked out of `documents`, as many as a candidate list has or as there are.
    pub(super) fn list(&mut self, documents: u64) -> Vec<u64> {
        let mut list = Vec::new();
        while list.len() < LIST.min(documents as usize) {
            let number = self.next() % documents;
            if !list.contains(&number) {
                list.push(number);
            }
        }
        list
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }

    pub(super) fn text(&mut self) -> String {
        let words = (0..WORDS).map(|_| format!("w{}", self.next() % VOCABULARY));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The file of a store.
pub(super) fn file(dir: &Path) -> PathBuf {
    dir.join("data.mdb")
}

/// A store of `documents` records of the size of W, numbered from 0.
pub(super) fn large_records(dir: &Path, documents: u64) -> anyhow::Result<()> {
    let shape = Shape {
        layers: LAYERS,
        bits: BITS,
        vector: 0,
    };
    let layout = DocumentLayout::new(usize::from(LAYERS), TOKENS, usize::from(BITS))?;
    let bar = progress::counting(documents, "records written");
    write(dir, shape, layout.bytes(), TOKENS as u32, documents, |n| {
        bar.set_position(n);
    })?;
    bar.finish_and_clear();
    Ok(())
}

/// Writes documents `0..documents` in batches.
pub(super) fn write(
    dir: &Path,
    shape: Shape,
    bytes: usize,
    tokens: u32,
    documents: u64,
    written: impl Fn(u64),
) -> anyhow::Result<Store> {
    const BATCH: u64 = 500;
    let store = Store::create(dir, &Header::new("synthetic", shape, 3))?;
    let mut dice = Dice::new(1);
    let mut footprints = vec![0; bytes];
    let mean = vec![0; shape.mean_bytes()];
    for first in (0..documents).step_by(BATCH as usize) {
        let mut update = store.update()?;
        let mut ids = Vec::new();
        for number in first..documents.min(first + BATCH) {
            dice.fill(&mut footprints);
            ids.push(id(number));
            update.put(&NewDocument {
                id: &id(number),
                text: &dice.text(),
                tokens,
                footprints: &footprints,
                mean: &mean,
                ..Default::default()
            })?;
        }
        // No first stage: nothing is left to be done there.
        update.settle(&ids)?;
        update.commit()?;
        written(first + ids.len() as u64);
    }
    Ok(store)
}

/// The external id of a document.
pub(super) fn id(number: u64) -> String {
    format!("document-{number}")
}
