//! A full index open for writing: the document store and the first stage, kept in step.
//!
//! The store is the truth. A commit writes it first, with a note of every document that changed; then the
//! first stage; then the notes are struck off. Whoever dies in between leaves notes, and the next writer
//! repeats those changes in the first stage, which harms nothing if they were made already.

use crate::IndexError;
use crate::first_stage::Writer;
use crate::manifest::Manifest;
use becr_lmdb::{Snapshot, Store, Update};
use becr_store::NewDocument;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The one writer of an index.
pub struct LiveIndex {
    store: Store,
    first_stage: Writer,
    /// Changes in the first stage that it has not committed.
    uncommitted: usize,
    dir: PathBuf,
    _lock: File,
}

/// A change of an index: documents to put and to delete.
pub enum Change<'a> {
    /// Add the document, or replace the one that has its id.
    Put(NewDocument<'a>),
    /// Delete the document of this id.
    Delete(&'a str),
}

impl LiveIndex {
    /// Opens the index in `dir`, and ends what an interrupted writer began.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        if Manifest::read(dir)?.model.is_none() {
            return Err(IndexError::Lexical(dir.to_owned()));
        }
        let lock = lock(dir)?;
        let store = Store::open(&store_folder(dir))?;
        let first_stage = Writer::open(dir)?;
        Self::recovered(dir, lock, store, first_stage)
    }

    /// Opens the store and the first stage of a build, new or interrupted, in `dir`.
    pub(crate) fn build(dir: &Path, header: &becr_store::Header) -> Result<Self, IndexError> {
        let lock = lock(dir)?;
        let store = Store::create(&store_folder(dir), header)?;
        let first_stage = Writer::open_or_create(dir)?;
        Self::recovered(dir, lock, store, first_stage)
    }

    fn recovered(
        dir: &Path,
        lock: File,
        store: Store,
        first_stage: Writer,
    ) -> Result<Self, IndexError> {
        let dir = dir.to_owned();
        let mut index = Self {
            store,
            first_stage,
            uncommitted: 0,
            dir,
            _lock: lock,
        };
        index.recover()?;
        Ok(index)
    }

    /// The store, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Applies changes, durably. Returns how many documents were deleted, replaced ones not counted.
    /// Searchers of the first stage see them after [`LiveIndex::commit`].
    pub fn apply(&mut self, changes: &[Change<'_>]) -> Result<usize, IndexError> {
        let mut update = self.store.update()?;
        let mut deleted = 0;
        for change in changes {
            match change {
                Change::Put(document) => {
                    update.put(document)?;
                    update.transaction().note(document.id)?;
                }
                Change::Delete(id) => {
                    deleted += usize::from(update.delete(id)?);
                    update.transaction().note(id)?;
                }
            }
        }
        update.commit()?;
        for change in changes {
            match change {
                Change::Put(document) => {
                    self.first_stage.delete(document.id);
                    self.first_stage
                        .add(document.id, document.title, document.text)?;
                }
                Change::Delete(id) => self.first_stage.delete(id),
            }
        }
        self.uncommitted += changes.len();
        Ok(deleted)
    }

    /// Writes to the store alone, for what the first stage does not hold: token groups.
    pub(crate) fn update_store(
        &self,
        write: impl FnOnce(&mut Update<'_>) -> Result<(), becr_store::StoreError>,
    ) -> Result<(), IndexError> {
        let mut update = self.store.update()?;
        write(&mut update)?;
        Ok(update.commit()?)
    }

    /// How many changes the first stage has yet to commit.
    pub fn uncommitted(&self) -> usize {
        self.uncommitted
    }

    /// Makes all changes visible in the first stage.
    pub fn commit(&mut self) -> Result<(), IndexError> {
        self.first_stage.commit()?;
        self.uncommitted = 0;
        let pending = self.store.snapshot()?.pending()?;
        if !pending.is_empty() {
            let mut update = self.store.update()?;
            update.transaction().settle(&pending)?;
            update.commit()?;
        }
        Ok(())
    }

    /// Commits and waits for merges to end.
    pub fn finish(mut self) -> Result<(), IndexError> {
        self.commit()?;
        self.first_stage.finish()
    }

    /// Where the index is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Repeats in the first stage what the store says it may lack.
    fn recover(&mut self) -> Result<(), IndexError> {
        let snapshot = self.store.snapshot()?;
        let pending = snapshot.pending()?;
        if pending.is_empty() {
            return Ok(());
        }
        for id in &pending {
            self.first_stage.delete(id);
            if let Some(number) = snapshot.number(id)? {
                let (title, body) = words_of(&snapshot, number)?;
                self.first_stage.add(id, &title, &body)?;
            }
        }
        drop(snapshot);
        self.commit()
    }
}

/// Title and body of a document from its forward index: words that give the same words again. The title is
/// as it was written if the text was kept.
pub(crate) fn words_of(snapshot: &Snapshot, number: u64) -> Result<(String, String), IndexError> {
    let spelled = |numbers: &[u32]| -> Result<String, IndexError> {
        let words: Result<Vec<&str>, _> = numbers
            .iter()
            .map(|&word| snapshot.spelling(word))
            .collect();
        Ok(words?.join(" "))
    };
    let Some(record) = snapshot.record(number)? else {
        return Ok(Default::default());
    };
    let words = record.forward().words();
    let title = match snapshot.text(number)? {
        Some(text) => text.title,
        None => spelled(&words.title)?,
    };
    Ok((title, spelled(&words.body)?))
}

/// The folder of the store inside an index directory.
pub fn store_folder(dir: &Path) -> PathBuf {
    dir.join("store")
}

/// The lock that keeps writers apart; it falls with the process.
fn lock(dir: &Path) -> Result<File, IndexError> {
    let path = dir.join("writer.lock");
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&path);
    let file = file.map_err(IndexError::io(&path, "cannot open for writing"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(IndexError::SecondWriter(dir.to_owned())),
        Err(std::fs::TryLockError::Error(e)) => Err(IndexError::io(&path, "cannot lock")(e)),
    }
}
