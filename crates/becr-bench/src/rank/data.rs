//! A synthetic collection: random footprints, texts whose words are as frequent as those of a language.

use crate::Console;
use crate::random::Random;
use becr_footprint::DocumentLayout;
use becr_lmdb::Store;
use becr_rank::EncodedQuery;
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

/// Words whose frequency falls as 1 over their place (Zipf's law).
fn text(random: &mut Random, words: usize) -> String {
    let place = |unit: f64| VOCABULARY.powf(unit) as u64;
    let words = (0..words).map(|_| word(place(random.unit())));
    words.collect::<Vec<_>>().join(" ")
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
    let mut random = Random::new(n as u64);
    let range = QUERY_WORDS.end - QUERY_WORDS.start;
    let mut query = || {
        let words = (0..n).map(|_| word(QUERY_WORDS.start + random.next() % range));
        words.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(|_| query()).collect()
}

/// A query as an encoder would read it: random footprints.
pub(super) fn encoded(query: &str) -> EncodedQuery {
    let mut random = Random::new(query.len() as u64);
    let width = usize::from(SHAPE.bits) / 32;
    let words = query.split(' ').count() * usize::from(SHAPE.layers) * width;
    let mut footprints = |count: usize| (0..count).map(|_| random.next() as u32).collect();
    EncodedQuery {
        words: footprints(words),
        whole: footprints(width),
    }
}

/// A store of `documents` records, numbered from 0, and the token groups of `queries`.
pub(super) fn write(
    dir: &Path,
    documents: u64,
    queries: &[String],
    console: &Console<'_>,
) -> anyhow::Result<Store> {
    let store = Store::create(dir, &Header::new("synthetic", SHAPE, WINDOW))?;
    let mut random = Random::new(1);
    let bytes = usize::from(SHAPE.bits) / 8;
    let mut update = store.update()?;
    for query in queries {
        for group in Query::new(query, &Decomposition::default()).groups {
            let words = group.to_string().split(' ').count();
            let mut footprints = vec![0; words * usize::from(SHAPE.layers) * bytes];
            random.fill(&mut footprints);
            update.put_group(&group, &footprints)?;
        }
    }
    update.commit()?;
    let layout = DocumentLayout::new(usize::from(SHAPE.layers), TOKENS, usize::from(SHAPE.bits))?;
    let (mut footprints, mut mean) = (vec![0; layout.bytes()], vec![0; bytes]);
    let bar = (console.bar)(documents, "records written");
    for first in (0..documents).step_by(BATCH as usize) {
        let mut update = store.update()?;
        let mut ids = Vec::new();
        for number in first..documents.min(first + BATCH) {
            random.fill(&mut footprints);
            random.fill(&mut mean);
            ids.push(id(number));
            update.put(&NewDocument {
                id: &id(number),
                title: &text(&mut random, TITLE_WORDS),
                text: &text(&mut random, WORDS),
                tokens: TOKENS as u32,
                footprints: &footprints,
                mean: &mean,
                ..Default::default()
            })?;
        }
        update.commit()?;
        bar.inc(ids.len() as u64);
    }
    bar.finish_and_clear();
    Ok(store)
}
