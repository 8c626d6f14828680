//! Adding to and deleting from a living index.

use crate::full::{BatchWriter, DocumentEncoder};
use crate::intake::Intake;
use crate::live::{Change, LiveIndex};
use crate::observer::check_stop;
use crate::{IndexError, IntoDocument, Observer, Stage};
use becr_lmdb::Snapshot;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

/// What to do with a document whose id the index has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Stop: adding is for new documents.
    Refuse,
    /// Leave the one that is there.
    Skip,
    /// Put the new one in its place.
    Replace,
}

/// What a change did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changed {
    /// Documents that are new.
    pub added: u64,
    /// Documents that took the place of another.
    pub replaced: u64,
    /// Documents deleted.
    pub deleted: u64,
    /// Documents passed over because their ids are there.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Adds documents to an index, in batches: each is a generation when it is complete.
///
/// An error comes as [`IndexError::Incomplete`] with what is in the index by then: the documents before the one at
/// fault, in their order, or as far as they could be written.
pub fn add<D: IntoDocument>(
    index: &mut LiveIndex,
    encoder: &DocumentEncoder<'_>,
    documents: impl Iterator<Item = D>,
    existing: Existing,
    observer: &dyn Observer,
) -> Result<Changed, IndexError> {
    put(index, encoder, documents, existing, None, observer)
}

/// The same for a number of documents that may be known.
pub(crate) fn put<D: IntoDocument>(
    index: &mut LiveIndex,
    encoder: &DocumentEncoder<'_>,
    documents: impl Iterator<Item = D>,
    existing: Existing,
    total: Option<u64>,
    observer: &dyn Observer,
) -> Result<Changed, IndexError> {
    observer.begin(Stage::EncodingDocuments, total);
    let store = index.store().clone();
    let keep_text = keeps_text(&store.snapshot()?)?;
    // Read, and not yet written.
    let waiting = RefCell::new(HashSet::new());
    let skipped = Cell::new(0);
    let mut intake = Intake::new(documents);
    let documents = std::iter::from_fn(|| {
        loop {
            if let Err(stopped) = check_stop(observer) {
                return Some(Err(stopped));
            }
            let document = match intake.next()? {
                Ok(document) => document,
                Err(error) => return Some(Err(error)),
            };
            let is_known = || -> Result<bool, IndexError> {
                let snapshot = store.snapshot()?;
                Ok(waiting.borrow().contains(&document.id)
                    || snapshot.number(&document.id)?.is_some())
            };
            match (is_known(), existing) {
                (Err(error), _) => return Some(Err(error)),
                (Ok(true), Existing::Refuse) => {
                    return Some(Err(IndexError::KnownId(document.id)));
                }
                (Ok(true), Existing::Skip) => {
                    skipped.set(skipped.get() + 1);
                    observer.resumed(1);
                }
                (Ok(_), _) => {
                    waiting.borrow_mut().insert(document.id.clone());
                    return Some(Ok(document));
                }
            }
        }
    });
    let mut writer = BatchWriter::new(index, keep_text)?;
    let encoded = encoder.footprints_for(&store, documents, |document, footprints| {
        observer.advance(1);
        let flushed = writer.push(document, footprints)?;
        flushed.iter().for_each(|id| {
            waiting.borrow_mut().remove(id);
        });
        check_stop(observer)
    });
    // What came before a fault is wanted; what could not be written is not tried again.
    let written = writer.flush().map(drop);
    let changed = Changed {
        skipped: skipped.get(),
        ..writer.written()
    };
    encoded
        .and(written)
        .map_err(|source| IndexError::Incomplete {
            changed,
            source: Box::new(source),
        })?;
    Ok(changed)
}

/// Deletes documents, all or none; returns the ids that the index did not have.
pub fn delete(index: &mut LiveIndex, ids: &[String]) -> Result<(Changed, Vec<String>), IndexError> {
    let snapshot = index.store().snapshot()?;
    let mut unknown = Vec::new();
    for id in ids {
        if snapshot.number(id)?.is_none() {
            unknown.push(id.clone());
        }
    }
    drop(snapshot);
    let changes: Vec<Change<'_>> = ids.iter().map(|id| Change::Delete(id)).collect();
    let deleted = match unknown.len() < ids.len() {
        true => index.apply(&changes)? as u64,
        false => 0,
    };
    let changed = Changed {
        deleted,
        ..Changed::default()
    };
    Ok((changed, unknown))
}

/// An index keeps all texts or none: the first document tells.
fn keeps_text(snapshot: &Snapshot) -> Result<bool, IndexError> {
    match snapshot.documents()?.next() {
        Some(row) => Ok(snapshot.text(row?.0)?.is_some()),
        None => Ok(true),
    }
}
