//! Bringing an index in step with a collection: only what differs is encoded, what is no longer there is removed.
//!
//! What an index has of a document, its title, text and features, is compared with the document itself. So there is no
//! list of hashes that could part from the index, and a sync that was killed is gone on with by the next one: what it had
//! written is the same by then.

use crate::add::put;
use crate::full::DocumentEncoder;
use crate::intake::Intake;
use crate::live::LiveIndex;
use crate::observer::check_stop;
use crate::spool::{Spool, SpoolWriter};
use crate::{Changed, Document, Existing, IndexError, IntoDocument, Observer, Stage, delete};
use becr_lmdb::Snapshot;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Documents that differ, inside an index that is being synced; what a killed sync left is written over by the next.
const SPOOL: &str = "becr.sync";

/// How a collection differs from what an index has of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Ids that the index does not have.
    pub added: Vec<String>,
    /// Ids of documents that are not what the index has.
    pub changed: Vec<String>,
    /// Ids that only the index has.
    pub vanished: Vec<String>,
    /// Ids that only the index has, of documents that may be in what could not be read: they stay.
    pub kept: Vec<String>,
    /// How many documents are the same.
    pub unchanged: u64,
    /// The folders of ids that still have documents.
    #[serde(skip)]
    folders: HashSet<String>,
}

impl Difference {
    /// Documents that are lost rather than moved: what vanished, but for those whose file's name is among the names of the
    /// added ones; and the topmost folders that lost all of theirs, with how many. Folders are what stands in ids before a `/`.
    pub fn lost(&self) -> (usize, Vec<(&str, usize)>) {
        let name = |id: &'_ str| -> String { id.rsplit('/').next().unwrap_or(id).to_owned() };
        let added: HashSet<String> = self.added.iter().map(|id| name(id)).collect();
        let lost = self.vanished.iter().filter(|id| !added.contains(&name(id)));
        let mut emptied: BTreeMap<&str, usize> = BTreeMap::new();
        let mut count = 0;
        for id in lost {
            count += 1;
            let mut above = folders(id);
            if let Some(folder) = above.find(|folder| !self.folders.contains(*folder)) {
                *emptied.entry(folder).or_default() += 1;
            }
        }
        (count, emptied.into_iter().collect())
    }

    /// Takes documents that may still be there out of those that vanished.
    pub fn keep(&mut self, may_be_there: impl Fn(&str) -> bool) {
        let vanished = std::mem::take(&mut self.vanished);
        let (kept, vanished): (Vec<_>, _) = vanished.into_iter().partition(|id| may_be_there(id));
        self.folders
            .extend(kept.iter().flat_map(|id| folders(id)).map(str::to_owned));
        self.vanished = vanished;
        self.kept = kept;
    }

    /// How many documents the index had.
    pub fn before(&self) -> usize {
        self.changed.len() + self.vanished.len() + self.kept.len() + self.unchanged as usize
    }
}

/// The folders in an id, the topmost first.
fn folders(id: &str) -> impl Iterator<Item = &str> {
    id.match_indices('/').map(|(at, _)| &id[..at])
}

/// Compares a whole collection with what an index has, and changes nothing. `dir` is named in errors.
pub fn compare<D: IntoDocument>(
    dir: &Path,
    snapshot: &Snapshot,
    documents: impl Iterator<Item = D>,
    observer: &dyn Observer,
) -> Result<Difference, IndexError> {
    compare_each(dir, snapshot, documents, observer, |_| Ok(()))
}

/// The same, with each document that has to be encoded handed on.
fn compare_each<D: IntoDocument>(
    dir: &Path,
    snapshot: &Snapshot,
    documents: impl Iterator<Item = D>,
    observer: &dyn Observer,
    mut differs: impl FnMut(&Document) -> Result<(), IndexError>,
) -> Result<Difference, IndexError> {
    observer.begin(Stage::Comparing, None);
    let names = snapshot.feature_names()?;
    let mut difference = Difference::default();
    let mut seen = HashSet::new();
    for document in Intake::unique(documents) {
        let document = document?;
        observer.advance(1);
        check_stop(observer)?;
        for folder in folders(&document.id) {
            if !difference.folders.contains(folder) {
                difference.folders.insert(folder.to_owned());
            }
        }
        match snapshot.number(&document.id)? {
            None => {
                differs(&document)?;
                difference.added.push(document.id);
            }
            Some(number) => {
                seen.insert(number);
                match is_same(dir, snapshot, &names, number, &document)? {
                    true => difference.unchanged += 1,
                    false => {
                        differs(&document)?;
                        difference.changed.push(document.id);
                    }
                }
            }
        }
    }
    for row in snapshot.documents()? {
        let (number, id) = row?;
        if !seen.contains(&number) {
            difference.vanished.push(id.to_owned());
        }
    }
    Ok(difference)
}

/// Whether the index has a document as it is.
fn is_same(
    dir: &Path,
    snapshot: &Snapshot,
    names: &[String],
    number: u64,
    document: &Document,
) -> Result<bool, IndexError> {
    let no_texts = || IndexError::NoTexts(dir.to_owned());
    let text = snapshot.text(number)?.ok_or_else(no_texts)?;
    if text.title != document.title || text.text != document.text {
        return Ok(false);
    }
    let Some(record) = snapshot.record(number)? else {
        return Ok(false);
    };
    let named = |(name, value): (u32, f32)| Some((names.get(name as usize)?.as_str(), value));
    let mut kept: Vec<(&str, u32)> = record
        .features()
        .filter_map(named)
        .map(|(name, value)| (name, value.to_bits()))
        .collect();
    let mut given: Vec<(&str, u32)> = document
        .features
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_bits()))
        .collect();
    kept.sort_unstable();
    given.sort_unstable();
    Ok(kept == given)
}

/// A comparison whose changes can be applied: the documents that differ wait in a file inside of the index.
pub struct SyncPlan {
    /// What differs.
    pub difference: Difference,
    spool: Option<Spool>,
}

impl SyncPlan {
    /// Compares a whole collection with an index that is open for writing.
    pub fn new<D: IntoDocument>(
        index: &LiveIndex,
        documents: impl Iterator<Item = D>,
        observer: &dyn Observer,
    ) -> Result<Self, IndexError> {
        let path = index.dir().join(SPOOL);
        let mut spool = SpoolWriter::create(&path)?;
        let snapshot = index.store().snapshot()?;
        let compared = compare_each(index.dir(), &snapshot, documents, observer, |document| {
            spool.push(document)
        });
        let finished = compared.and_then(|difference| Ok((difference, spool.finish()?)));
        match finished {
            Ok((difference, spool)) => Ok(Self {
                difference,
                spool: Some(spool),
            }),
            Err(error) => {
                SpoolWriter::clear(&path);
                Err(error)
            }
        }
    }

    /// Encodes what differs and puts it into the index, in batches.
    ///
    /// An error after some documents are in comes as [`IndexError::HalfSynced`]; the next sync goes on from there.
    pub fn put(
        &mut self,
        index: &mut LiveIndex,
        encoder: &DocumentEncoder<'_>,
        observer: &dyn Observer,
    ) -> Result<Changed, IndexError> {
        let Some(spool) = self.spool.take() else {
            return Ok(Changed::default());
        };
        let total = Some(spool.documents);
        let done = spool.read().and_then(|documents| {
            put(
                index,
                encoder,
                documents,
                Existing::Replace,
                total,
                observer,
            )
        });
        spool.remove();
        done.map_err(half_synced)
    }

    /// Removes what vanished, all in one generation; to be called when everything else is in.
    pub fn remove(&mut self, index: &mut LiveIndex) -> Result<Changed, IndexError> {
        let vanished = &self.difference.vanished;
        Ok(delete(index, vanished)?.0)
    }

    fn clear(&mut self) {
        if let Some(spool) = self.spool.take() {
            spool.remove();
        }
    }
}

impl Drop for SyncPlan {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What `add` says of a sync.
fn half_synced(error: IndexError) -> IndexError {
    match error {
        IndexError::Incomplete { changed, source } if changed.added + changed.replaced > 0 => {
            IndexError::HalfSynced { changed, source }
        }
        IndexError::Incomplete { source, .. } => *source,
        error => error,
    }
}
