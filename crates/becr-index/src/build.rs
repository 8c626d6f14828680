//! Building an index directory from documents.

use crate::IndexError;
use crate::first_stage::Writer;
use crate::manifest::Manifest;
use crate::staging::Staging;
use std::path::Path;

/// Builds an index directory, which appears when [`IndexBuilder::finish`] succeeds.
pub struct IndexBuilder {
    // Declared before `staging`, hence dropped before it: the engine must have closed its files when
    // an abandoned build is removed.
    writer: Writer,
    staging: Staging,
    documents: u64,
}

/// What a finished build holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Documents indexed.
    pub documents: u64,
    /// Size on disk.
    pub bytes: u64,
}

impl IndexBuilder {
    /// Starts the build of `target`; see [`Staging::create`] for what happens to what is there.
    pub fn create(target: &Path, overwrite: bool) -> Result<Self, IndexError> {
        let staging = Staging::create(target, overwrite)?;
        let writer = Writer::create(staging.path())?;
        Ok(Self {
            writer,
            staging,
            documents: 0,
        })
    }

    /// Adds a document. Its id must be new: the caller has checked.
    pub fn add(&mut self, id: &str, title: &str, body: &str) -> Result<(), IndexError> {
        self.writer.add(id, title, body)?;
        self.documents += 1;
        Ok(())
    }

    /// Commits and puts the index in its place.
    pub fn finish(self) -> Result<Summary, IndexError> {
        let Self {
            writer,
            staging,
            documents,
        } = self;
        writer.finish()?;
        Manifest::default().write(staging.path())?;
        let bytes = size_of_tree(staging.path());
        staging.publish()?;
        Ok(Summary { documents, bytes })
    }
}

/// Bytes of all files below `dir`; what cannot be read counts as nothing.
pub(crate) fn size_of_tree(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of_tree(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
