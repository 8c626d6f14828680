//! What re-ranking asks of a store, whoever keeps it.
//!
//! Every question is put for a whole list at once, so that a store behind a network answers in one round trip.
//! An embedded implementation lends what lies in its memory map; an implementation that has to
//! fetch puts the bytes into the caller's [`FetchBuffer`] and lends them from there. Callers keep one buffer
//! and use it again for every query.

use crate::{DocumentFrequency, GroupRecord, Record, Stem, StoreError, Text, Totals};
use becr_text::groups::TokenGroup;
use std::path::Path;

/// Documents by number, and what the collection as a whole says of words.
pub trait DocumentStore {
    /// The numbers of documents, in the order of `ids`; `None` for ids that the store does not have.
    fn numbers(&self, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError>;

    /// The records of documents in the order of `numbers`; `None` where there is no document. They are found,
    /// and not yet read: [`Found::check`] does that when a record's turn comes, and leaves it in the processor's
    /// cache for whoever scores it next.
    fn fetch<'a>(
        &'a self,
        numbers: &[u64],
        buffer: &'a mut FetchBuffer,
    ) -> Result<Vec<Option<Found<'a>>>, StoreError>;

    /// Sums over all documents.
    fn totals(&self) -> Result<Totals, StoreError>;

    /// The numbers that forward indexes have for words; `None` for words that no document ever had.
    fn words(&self, words: &[&str]) -> Result<Vec<Option<u32>>, StoreError>;

    /// What the collection knows of each stem. One that no document has is in none.
    fn stems(&self, stems: &[&str]) -> Result<Vec<Stem>, StoreError>;

    /// In how many documents each pair occurs: exactly for pairs in the token store, `None` for others.
    fn pairs(&self, pairs: &[TokenGroup]) -> Result<Vec<Option<DocumentFrequency>>, StoreError>;

    /// Names of the features that records have, by number.
    fn feature_names(&self) -> Result<Vec<String>, StoreError>;

    /// A document's title and text, if they were kept.
    fn text(&self, number: u64) -> Result<Option<Text>, StoreError>;
}

/// Token groups by their words.
pub trait GroupStore {
    /// The footprints of token groups, checked, in the order of `groups`; `None` for groups that were not
    /// kept.
    fn fetch_groups<'a>(
        &'a self,
        groups: &[TokenGroup],
        buffer: &'a mut FetchBuffer,
    ) -> Result<Vec<Option<GroupRecord<'a>>>, StoreError>;
}

/// A record that was found and not yet read.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    number: u64,
    bytes: &'a [u8],
    source: &'a Path,
}

impl<'a> Found<'a> {
    /// The bytes of a document's record; `source` is the store's name in errors.
    pub fn new(number: u64, bytes: &'a [u8], source: &'a Path) -> Self {
        Self {
            number,
            bytes,
            source,
        }
    }

    /// The record, every byte checked.
    pub fn check(&self) -> Result<Record<'a>, StoreError> {
        Record::read(self.bytes, self.source, || {
            format!("the record of document {}", self.number)
        })
    }

    /// The record as it is stored, unchecked: for fetching it ahead.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its footprints, unchecked: for measuring what they alone cost.
    pub fn footprints(&self) -> &'a [u8] {
        crate::record::footprints(self.bytes)
    }
}

/// Bytes fetched from elsewhere: values one after the other, some of which may be missing.
#[derive(Debug, Default)]
pub struct FetchBuffer {
    bytes: Vec<u8>,
    /// Where each value lies; `None` for one that is not there.
    values: Vec<Option<std::ops::Range<usize>>>,
}

impl FetchBuffer {
    /// Forgets the values, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.values.clear();
    }

    /// Takes the next value.
    pub fn push(&mut self, value: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.values.push(value.map(|_| start..self.bytes.len()));
    }

    /// The values, in the order in which they came.
    pub fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let lend = |range: std::ops::Range<usize>| &self.bytes[range];
        self.values.iter().map(move |range| range.clone().map(lend))
    }
}
