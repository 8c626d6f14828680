//! A synthetic collection, as an index: random footprints, texts whose words are as frequent as those of a language.

use crate::Console;
use crate::random::Random;
use anyhow::{Context, ensure};
use becr_encoder::Precision;
use becr_footprint::DocumentLayout;
use becr_index::live::{Change, LiveIndex};
use becr_index::manifest::{Manifest, ModelReference};
use becr_lmdb::Store;
use becr_model::{HEAD_FILE, Head};
use becr_rank::EncodedQuery;
use becr_store::{Header, NewDocument, Shape};
use becr_text::groups::{Decomposition, Query};
use std::path::Path;

pub(super) const TOKENS: usize = 857;

/// Footprints of 256 bits at so many layers.
pub(super) fn shape(layers: u16) -> Shape {
    Shape {
        layers,
        bits: 256,
        vector: 0,
    }
}

pub(super) const WINDOW: usize = 3;
/// WordPieces are a quarter more than words.
const WORDS: usize = 680;
const TITLE_WORDS: usize = 6;
const VOCABULARY: f64 = 50_000.0;
/// Queries are made of words that are neither in every document nor in hardly any: these places by frequency.
const QUERY_WORDS: std::ops::Range<u64> = 200..3000;
const BATCH: u64 = 100;
/// Words of queries are token groups: no WordPiece is needed but those that every tokenizer has.
const VOCAB: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";

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
pub(super) fn encoded(query: &str, shape: Shape) -> EncodedQuery {
    let mut random = Random::new(query.len() as u64);
    let width = usize::from(shape.bits) / 32;
    let words = query.split(' ').count() * usize::from(shape.layers) * width;
    let mut footprints = |count: usize| (0..count).map(|_| random.next() as u32).collect();
    EncodedQuery {
        words: footprints(words),
        whole: footprints(width),
    }
}

/// What the index says its encoder is.
const ENCODER: &str = "synthetic";

/// The index in `dir`, if it is one that [`write`] made, of so many documents and layers.
pub(super) fn is_there(dir: &Path, documents: u64, shape: Shape) -> anyhow::Result<bool> {
    if !Manifest::is_in(dir) {
        return Ok(false);
    }
    let manifest = Manifest::read(dir)?;
    let encoder = manifest.model.as_ref().map(|model| &*model.encoder_id);
    ensure!(
        encoder == Some(ENCODER),
        "{}: an index, but none that this benchmark made; name another folder",
        dir.display()
    );
    let found = becr::Index::open(dir)?.view()?.documents()?;
    ensure!(
        found == documents,
        "{}: an index of {found} documents, not of {documents}; give --documents {found}, or name another folder",
        dir.display()
    );
    let layers = Store::open(&manifest.store(dir))?.header().shape.layers;
    ensure!(
        layers == shape.layers,
        "{}: an index of {layers} layers, not of {}; give --layers {layers}, or name another folder",
        dir.display(),
        shape.layers
    );
    Ok(true)
}

/// Writes an index of `documents` records, numbered from 0, and the token groups of `queries`.
pub(super) fn write(
    dir: &Path,
    documents: u64,
    queries: &[String],
    head: &Head,
    shape: Shape,
    console: &Console<'_>,
) -> anyhow::Result<()> {
    let manifest = Manifest {
        model: Some(ModelReference {
            encoder_id: ENCODER.to_owned(),
            directory: "bench:synthetic".into(),
            precision: Precision::F32,
        }),
        ..Manifest::default()
    };
    for folder in [dir.join("model"), manifest.first_stage(dir)] {
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let store = Store::create(&manifest.store(dir), &Header::new(ENCODER, shape, WINDOW))?;
    let mut random = Random::new(1);
    write_groups(&store, queries, shape, &mut random)?;
    drop(store);
    std::fs::write(dir.join("model").join("vocab.txt"), VOCAB)?;
    head.write(&dir.join("model").join(HEAD_FILE))?;
    manifest.write(dir)?;
    write_documents(dir, documents, shape, &mut random, console)
}

fn write_groups(
    store: &Store,
    queries: &[String],
    shape: Shape,
    random: &mut Random,
) -> anyhow::Result<()> {
    let bytes = usize::from(shape.bits) / 8;
    let mut update = store.update()?;
    for query in queries {
        for group in Query::new(query, &Decomposition::default()).groups {
            let words = group.to_string().split(' ').count();
            let mut footprints = vec![0; words * usize::from(shape.layers) * bytes];
            random.fill(&mut footprints);
            update.put_group(&group, &footprints)?;
        }
    }
    Ok(update.commit()?)
}

fn write_documents(
    dir: &Path,
    documents: u64,
    shape: Shape,
    random: &mut Random,
    console: &Console<'_>,
) -> anyhow::Result<()> {
    let mut index = LiveIndex::open(dir)?;
    let layout = DocumentLayout::new(usize::from(shape.layers), TOKENS, usize::from(shape.bits))?;
    let mean = usize::from(shape.bits) / 8;
    let bar = (console.bar)(documents, "records written");
    for first in (0..documents).step_by(BATCH as usize) {
        let batch: Vec<SyntheticDocument> = (first..documents.min(first + BATCH))
            .map(|number| SyntheticDocument::new(number, [layout.bytes(), mean], random))
            .collect();
        let changes: Vec<Change<'_>> = batch.iter().map(SyntheticDocument::change).collect();
        index.apply(&changes)?;
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    Ok(index.finish()?)
}

struct SyntheticDocument {
    id: String,
    title: String,
    text: String,
    footprints: Vec<u8>,
    mean: Vec<u8>,
}

impl SyntheticDocument {
    fn new(number: u64, [footprints, mean]: [usize; 2], random: &mut Random) -> Self {
        let mut bytes = |count: usize| {
            let mut bytes = vec![0; count];
            random.fill(&mut bytes);
            bytes
        };
        let (footprints, mean) = (bytes(footprints), bytes(mean));
        Self {
            id: id(number),
            title: text(random, TITLE_WORDS),
            text: text(random, WORDS),
            footprints,
            mean,
        }
    }

    fn change(&self) -> Change<'_> {
        Change::Put(NewDocument {
            id: &self.id,
            title: &self.title,
            text: &self.text,
            tokens: TOKENS as u32,
            footprints: &self.footprints,
            mean: &self.mean,
            ..Default::default()
        })
    }
}
