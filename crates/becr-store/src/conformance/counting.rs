//! How often a store is asked.

use crate::{
    Answer, DocumentStore, FetchBuffer, Header, Question, StoreContents, StoreError, Table, Text,
    VisitRecords, VisitRows,
};
use std::cell::Cell;
use std::path::Path;

/// A store that counts its round trips.
pub struct CountingStore<S> {
    store: S,
    trips: Cell<usize>,
}

impl<S> CountingStore<S> {
    /// Counts for `store`.
    pub fn new(store: S) -> Self {
        Self {
            store,
            trips: Cell::new(0),
        }
    }

    /// The store itself.
    pub fn into_inner(self) -> S {
        self.store
    }

    /// How often it was asked since it was last asked this.
    pub fn trips(&self) -> usize {
        self.trips.take()
    }

    fn asked(&self) -> &S {
        self.trips.set(self.trips.get() + 1);
        &self.store
    }
}

impl<S: DocumentStore> DocumentStore for CountingStore<S> {
    /// Known since the store was opened.
    fn header(&self) -> &Header {
        self.store.header()
    }

    /// Known since the store was opened.
    fn path(&self) -> &Path {
        self.store.path()
    }

    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        buffer: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError> {
        self.asked().look_up(question, buffer)
    }

    fn fetch(
        &self,
        numbers: &[u64],
        buffer: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        self.asked().fetch(numbers, buffer, visit)
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        self.asked().texts(numbers)
    }
}

impl<S: StoreContents> StoreContents for CountingStore<S> {
    fn generation(&self) -> Result<u64, StoreError> {
        self.asked().generation()
    }

    fn companion(&self) -> Result<Option<&[u8]>, StoreError> {
        self.asked().companion()
    }

    fn ids(&self, numbers: &[u64]) -> Result<Vec<Option<String>>, StoreError> {
        self.asked().ids(numbers)
    }

    fn spellings(&self, words: &[u32]) -> Result<Vec<Option<String>>, StoreError> {
        self.asked().spellings(words)
    }

    fn rows(&self, table: Table) -> Result<u64, StoreError> {
        self.asked().rows(table)
    }

    fn scan(&self, table: Table, visit: &mut VisitRows<'_>) -> Result<(), StoreError> {
        self.asked().scan(table, visit)
    }
}
