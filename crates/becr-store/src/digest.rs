//! A hash of what a store says, whatever order it was written in and whoever keeps it.
//!
//! Numbers of documents, words and features, free pages and stems that no document has any more are left
//! out: they tell how a store came to be, not what it holds.

use crate::contents::{each_row, number_of, spellings_of, with_record};
use crate::{Answer, FetchBuffer, Question, Record, Stem, StoreContents, StoreError, Table};
use std::collections::HashMap;
use twox_hash::XxHash3_128;

/// A hash over header, documents by id, statistics and token groups, in hexadecimal. Two stores of one
/// digest answer every question alike.
pub fn digest(store: &impl StoreContents) -> Result<String, StoreError> {
    let mut hasher = XxHash3_128::new();
    let header = store.header();
    part(&mut hasher, header.encoder_id.as_bytes());
    part(
        &mut hasher,
        &[
            header.shape.layers.to_le_bytes(),
            header.shape.bits.to_le_bytes(),
            header.shape.vector.to_le_bytes(),
        ]
        .concat(),
    );
    part(&mut hasher, &header.window.to_le_bytes());
    part(&mut hasher, header.documents.name().as_bytes());
    let mut buffer = FetchBuffer::default();
    let Answer {
        totals,
        feature_names,
        ..
    } = store.look_up(&Question::default(), &mut buffer)?;
    each_row(store, Table::Numbers, |_, number| {
        digest_document(store, number, &feature_names, &mut hasher)
    })?;
    let sums = [
        totals.documents,
        totals.title_words,
        totals.body_words,
        totals.tokens,
    ];
    sums.iter()
        .for_each(|sum| part(&mut hasher, &sum.to_le_bytes()));
    each_row(store, Table::Stems, |key, bytes| {
        let stem = Stem::read(bytes).ok_or_else(|| damaged(store, "a stem".into()))?;
        if stem.frequency != Default::default() {
            part(&mut hasher, key);
            part(&mut hasher, &stem.frequency.bytes());
        }
        Ok(())
    })?;
    for table in [Table::Pairs, Table::Groups] {
        each_row(store, table, |key, bytes| {
            part(&mut hasher, key);
            part(&mut hasher, bytes);
            Ok(())
        })?;
    }
    Ok(format!("{:032x}", hasher.finish_128()))
}

fn digest_document(
    store: &impl StoreContents,
    number: &[u8],
    names: &[String],
    hasher: &mut XxHash3_128,
) -> Result<(), StoreError> {
    let number = number_of(number).ok_or_else(|| damaged(store, "a document's number".into()))?;
    let id = store.ids(&[number])?.pop().flatten();
    let id = id.ok_or_else(|| damaged(store, format!("the id of document {number}")))?;
    part(hasher, id.as_bytes());
    let digested = with_record(store, number, |record| {
        let spellings = spellings_of(store, record)?;
        digest_record(record, names, &spellings, hasher);
        Ok(())
    })?;
    digested.ok_or_else(|| damaged(store, format!("the record of document {id}")))??;
    if let Some(text) = store.texts(&[number])?.pop().flatten() {
        part(hasher, text.title.as_bytes());
        part(hasher, text.text.as_bytes());
    }
    Ok(())
}

fn digest_record(
    record: &Record<'_>,
    names: &[String],
    spellings: &HashMap<u32, String>,
    hasher: &mut XxHash3_128,
) {
    part(hasher, &(record.tokens() as u64).to_le_bytes());
    part(hasher, &record.cls().to_le_bytes());
    part(hasher, record.footprints());
    part(hasher, record.mean());
    part(hasher, &record.share().to_le_bytes());
    part(hasher, record.lengths());
    let named = |(name, value): (u32, f32)| (names.get(name as usize), value.to_bits());
    let mut features: Vec<_> = record.features().map(named).collect();
    features.sort_unstable();
    for (name, value) in features {
        part(hasher, name.map(String::as_bytes).unwrap_or_default());
        part(hasher, &value.to_le_bytes());
    }
    let forward = record.forward();
    part(hasher, &(forward.title_words() as u64).to_le_bytes());
    for word in forward.numbers() {
        part(hasher, spellings[&word].as_bytes());
    }
}

fn damaged(store: &impl StoreContents, what: String) -> StoreError {
    StoreError::Damaged {
        path: store.path().to_owned(),
        what,
        reason: "it cannot be read".into(),
    }
}

/// Feeds one part with its length, so that no two sequences of parts look alike.
fn part(hasher: &mut XxHash3_128, bytes: &[u8]) {
    hasher.write(&(bytes.len() as u64).to_le_bytes());
    hasher.write(bytes);
}
