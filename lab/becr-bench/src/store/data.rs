//! Synthetic documents.

use crate::Console;
use crate::random::Random;
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

/// Words picked at random.
pub(super) fn text(random: &mut Random) -> String {
    let words = (0..WORDS).map(|_| format!("w{}", random.next() % VOCABULARY));
    words.collect::<Vec<_>>().join(" ")
}

/// The file of a store.
pub(crate) fn file(dir: &Path) -> PathBuf {
    dir.join("data.mdb")
}

/// A store of `documents` records of the size of W, numbered from 0.
pub(super) fn large_records(
    dir: &Path,
    documents: u64,
    console: &Console<'_>,
) -> anyhow::Result<()> {
    let shape = Shape {
        layers: LAYERS,
        bits: BITS,
        vector: 0,
    };
    let layout = DocumentLayout::new(usize::from(LAYERS), TOKENS, usize::from(BITS))?;
    let bar = (console.bar)(documents, "records written");
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
    let mut random = Random::new(1);
    let mut footprints = vec![0; bytes];
    let mean = vec![0; shape.mean_bytes()];
    for first in (0..documents).step_by(BATCH as usize) {
        let mut update = store.update()?;
        let mut ids = Vec::new();
        for number in first..documents.min(first + BATCH) {
            random.fill(&mut footprints);
            ids.push(id(number));
            update.put(&NewDocument {
                id: &id(number),
                text: &text(&mut random),
                tokens,
                footprints: &footprints,
                mean: &mean,
                ..Default::default()
            })?;
        }
        update.commit()?;
        written(first + ids.len() as u64);
    }
    Ok(store)
}

/// The external id of a document.
pub(super) fn id(number: u64) -> String {
    format!("document-{number}")
}
