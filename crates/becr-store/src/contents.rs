//! Everything that a store holds, for those who write to it and those who check it.

use crate::{DocumentStore, FetchBuffer, Record, StoreError};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A store that can be read as a whole.
pub trait StoreContents: DocumentStore {
    /// How many changes were committed before: each counts one.
    fn generation(&self) -> Result<u64, StoreError>;

    /// The bytes that the caller keeps beside the documents, if there are any.
    fn companion(&self) -> Result<Option<&[u8]>, StoreError>;

    /// The external ids of documents, in the order of `numbers`; `None` where there is no document.
    fn ids(&self, numbers: &[u64]) -> Result<Vec<Option<String>>, StoreError>;

    /// The words of numbers; `None` for a number that no word has.
    fn spellings(&self, words: &[u32]) -> Result<Vec<Option<String>>, StoreError>;

    /// How many rows a table has.
    fn rows(&self, table: Table) -> Result<u64, StoreError>;

    /// Hands out the rows of a table in the order of their keys, until it is told to stop.
    fn scan(&self, table: Table, visit: &mut VisitRows<'_>) -> Result<(), StoreError>;
}

/// Takes the rows of a table: key and value.
pub type VisitRows<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// The tables of a store, as rows of bytes. A store may keep them in any other way. Keys of texts are those of
/// [`keys::of_text`](crate::keys::of_text); numbers are 64 bits, high bytes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Number of a document → [`Record`](crate::Record).
    Records,
    /// Key of an external id → number of the document.
    Numbers,
    /// Number of a document → external id.
    Ids,
    /// Number of a document → [`Text`](crate::Text).
    Texts,
    /// Key of a word → its number.
    Words,
    /// Number of a word → the word.
    Spellings,
    /// Key of a stem → [`Stem`](crate::Stem).
    Stems,
    /// Key of a pair in the token store → [`DocumentFrequency`](crate::DocumentFrequency).
    Pairs,
    /// Key of a token group → [`GroupRecord`](crate::GroupRecord).
    Groups,
}

/// Visits all rows of a table; the first error ends it.
pub(crate) fn each_row(
    store: &impl StoreContents,
    table: Table,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut fault = None;
    store.scan(table, &mut |key, value| match visit(key, value) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            fault = Some(error);
            ControlFlow::Break(())
        }
    })?;
    fault.map_or(Ok(()), Err)
}

/// The record of one document, checked, while it is there.
pub(crate) fn with_record<T>(
    store: &impl DocumentStore,
    number: u64,
    visit: impl FnOnce(&Record<'_>) -> T,
) -> Result<Option<T>, StoreError> {
    let (mut visit, mut result) = (Some(visit), Ok(None));
    store.fetch(&[number], &mut FetchBuffer::default(), &mut |_, found| {
        for found in found.iter().flatten() {
            if let Some(visit) = visit.take() {
                result = found.check().map(|record| Some(visit(&record)));
            }
        }
        ControlFlow::Continue(())
    })?;
    result
}

/// A number as tables have it; `None` if it is none.
pub(crate) fn number_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// The spellings of a record's words.
pub(crate) fn spellings_of(
    store: &impl StoreContents,
    record: &Record<'_>,
) -> Result<HashMap<u32, String>, StoreError> {
    let mut words: Vec<u32> = record.forward().numbers().collect();
    words.sort_unstable();
    words.dedup();
    let spellings = store.spellings(&words)?;
    let spelled = words.iter().zip(spellings).map(|(&word, spelling)| {
        let missing = || StoreError::Damaged {
            path: store.path().to_owned(),
            what: format!("word {word}"),
            reason: "its spelling is missing".into(),
        };
        Ok((word, spelling.ok_or_else(missing)?))
    });
    spelled.collect()
}
