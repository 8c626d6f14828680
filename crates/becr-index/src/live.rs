//! A full index open for writing: the document store and the first stage, published together.
//!
//! The store publishes. A commit of the first stage leaves new files beside the old ones and a list of those that
//! count; the list goes into the store's own transaction, whose commit makes documents, statistics and list visible in
//! one step: a **generation**. Whoever dies before that leaves files that nobody refers to, which the next writer
//! removes; whoever reads has a store and a first stage of the same generation, always.

use crate::first_stage::Writer;
use crate::manifest::Manifest;
use crate::writers::WriterLock;
use crate::{Folder, IndexError};
use becr_lmdb::{Snapshot, Store, Update};
use becr_store::{Header, NewDocument, StoreError};
use std::path::{Path, PathBuf};

/// The one writer of an index.
pub struct LiveIndex {
    store: Store,
    first_stage: Writer,
    dir: PathBuf,
    manifest: Manifest,
    /// The first stage has changes that the store's last commit does not have: a change failed half-way.
    is_out_of_step: bool,
    _lock: WriterLock,
}

/// A change of an index: documents to put and to delete.
pub enum Change<'a> {
    /// Add the document, or replace the one that has its id.
    Put(NewDocument<'a>),
    /// Delete the document of this id.
    Delete(&'a str),
}

impl<'a> Change<'a> {
    fn is_put(&self) -> bool {
        matches!(self, Self::Put(_))
    }

    fn document(&self) -> Option<NewDocument<'a>> {
        match self {
            Self::Put(document) => Some(document.clone()),
            Self::Delete(_) => None,
        }
    }

    fn deleted(&self) -> Option<&'a str> {
        match self {
            Self::Put(_) => None,
            Self::Delete(id) => Some(id),
        }
    }
}

impl LiveIndex {
    /// Opens the index in `dir`, after the other writers of this process.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        if Manifest::read(dir)?.model.is_none() {
            return Err(IndexError::Lexical(dir.to_owned()));
        }
        let lock = WriterLock::acquire(dir)?;
        // Read again: a compaction that we waited for has moved the contents.
        let manifest = Manifest::read(dir)?;
        let store = Store::open(&manifest.store(dir))?;
        let first_stage = manifest.first_stage(dir);
        if !first_stage.is_dir() {
            return Err(IndexError::NotAnIndex {
                path: dir.to_owned(),
                reason: format!("no folder {}", first_stage.display()),
            });
        }
        manifest.clear_other_editions(dir);
        Self::new(dir, manifest, store, lock)
    }

    /// Opens the store and the first stage of a build, new or interrupted, in `dir`.
    pub(crate) fn build(dir: &Path, header: &Header) -> Result<Self, IndexError> {
        let lock = WriterLock::acquire(dir)?;
        let manifest = Manifest::default();
        let store = Store::create(&manifest.store(dir), header)?;
        Self::new(dir, manifest, store, lock)
    }

    fn new(
        dir: &Path,
        manifest: Manifest,
        store: Store,
        lock: WriterLock,
    ) -> Result<Self, IndexError> {
        let snapshot = store.snapshot()?;
        let first_stage = Writer::held(&manifest.first_stage(dir), snapshot.companion()?)?;
        let mut index = Self {
            store,
            first_stage,
            dir: dir.to_owned(),
            manifest,
            is_out_of_step: false,
            _lock: lock,
        };
        index.make_up(&snapshot)?;
        Ok(index)
    }

    /// The store, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Where the index is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the index says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Remembers the folders that the index is kept in step with.
    pub fn set_folders(&mut self, folders: &[Folder]) -> Result<(), IndexError> {
        if self.manifest.folders != folders {
            let manifest = Manifest {
                folders: folders.to_vec(),
                ..self.manifest.clone()
            };
            manifest.write(&self.dir)?;
            self.manifest = manifest;
        }
        Ok(())
    }

    /// Applies changes, durably, all or none: a new generation. Returns how many documents were deleted, replaced ones
    /// not counted.
    pub fn apply(&mut self, changes: &[Change<'_>]) -> Result<usize, IndexError> {
        self.check()?;
        let store = self.store.clone();
        let mut update = store.update()?;
        let mut deleted = 0;
        // Whole runs of puts and of deletions, so that a store is asked as rarely as can be.
        for run in changes.chunk_by(|a, b| a.is_put() == b.is_put()) {
            let puts: Vec<NewDocument<'_>> = run.iter().filter_map(Change::document).collect();
            update.put_all(&puts)?;
            let ids: Vec<&str> = run.iter().filter_map(Change::deleted).collect();
            let gone = update.delete_all(&ids)?;
            deleted += gone.into_iter().filter(|&gone| gone).count();
        }
        // From here on the first stage has what the store may not get.
        self.is_out_of_step = true;
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
        self.publish(update)?;
        Ok(deleted)
    }

    /// Writes to the store alone, for what the first stage does not hold: token groups.
    pub(crate) fn update_store(
        &self,
        write: impl FnOnce(&mut Update<'_>) -> Result<(), StoreError>,
    ) -> Result<(), IndexError> {
        let mut update = self.store.update()?;
        write(&mut update)?;
        Ok(update.commit()?)
    }

    /// Waits for the first stage's merges to end, and publishes what they made.
    pub fn finish(self) -> Result<(), IndexError> {
        self.check()?;
        let finished = self.first_stage.finish()?;
        let commit = finished.commit();
        let published = self.store.snapshot()?.companion()?.map(<[u8]>::to_vec);
        if let Some(commit) = commit.filter(|commit| Some(commit) != published.as_ref()) {
            let mut update = self.store.update()?;
            update.set_companion(&commit);
            update.commit()?;
        }
        finished.published();
        Ok(())
    }

    /// After an error half-way the first stage has changes that were not published. They are gone when the index is
    /// opened for writing again.
    fn check(&self) -> Result<(), IndexError> {
        match self.is_out_of_step {
            false => Ok(()),
            true => Err(IndexError::FailedWriter(self.dir.clone())),
        }
    }

    fn publish(&mut self, mut update: Update<'_>) -> Result<(), IndexError> {
        let commit = self.first_stage.commit()?;
        if let Some(commit) = &commit {
            update.set_companion(commit);
        }
        update.commit()?;
        self.is_out_of_step = false;
        if let Some(commit) = &commit {
            self.first_stage.published(commit);
        }
        Ok(())
    }

    /// Repeats in the first stage what notes in the store say it may lack. Only an earlier version of the program left
    /// notes, when it was killed.
    fn make_up(&mut self, snapshot: &Snapshot) -> Result<(), IndexError> {
        let pending = snapshot.pending()?;
        if pending.is_empty() {
            return Ok(());
        }
        for id in &pending {
            self.first_stage.delete(id);
            if let Some(number) = snapshot.number(id)? {
                let (title, body) = words_of(snapshot, number)?;
                self.first_stage.add(id, &title, &body)?;
            }
        }
        let store = self.store.clone();
        let mut update = store.update()?;
        update.transaction().settle(&pending)?;
        self.publish(update)
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
