//! What a store hands out: records that are found, and bytes that were fetched from elsewhere.

use crate::{Record, StoreError};
use std::path::Path;

/// A record that was found and not yet read.
#[derive(Debug, Clone, Copy)]
pub struct FoundRecord<'a> {
    number: u64,
    bytes: &'a [u8],
    source: &'a Path,
}

impl<'a> FoundRecord<'a> {
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
