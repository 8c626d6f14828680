//! Building a lexical index: the first stage alone.

use crate::first_stage::Writer;
use crate::intake::Intake;
use crate::manifest::Manifest;
use crate::size::size_of_tree;
use crate::staging::Staging;
use crate::{Document, IndexError, IntoDocument, Observer, Stage};
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
pub struct LexicalSummary {
    /// Documents indexed.
    pub documents: u64,
    /// Size on disk.
    pub bytes: u64,
}

impl IndexBuilder {
    /// Starts the build of `target`; see [`Staging::create`] for what happens to what is there.
    pub fn create(target: &Path, overwrite: bool) -> Result<Self, IndexError> {
        let staging = Staging::create(target, overwrite)?;
        let writer = Writer::create(&Manifest::default().first_stage(staging.path()))?;
        Ok(Self {
            writer,
            staging,
            documents: 0,
        })
    }

    /// Adds documents; returns how many came. Each id may come once in a build, and in one call.
    pub fn add<D: IntoDocument>(
        &mut self,
        documents: impl Iterator<Item = D>,
        observer: &dyn Observer,
    ) -> Result<u64, IndexError> {
        observer.begin(Stage::Indexing, None);
        let before = self.documents;
        for document in Intake::unique(documents) {
            let Document {
                id, title, text, ..
            } = document?;
            self.writer.add(&id, &title, &text)?;
            self.documents += 1;
            observer.advance(1);
        }
        Ok(self.documents - before)
    }

    /// How many documents came so far.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Commits and puts the index in its place.
    pub fn finish(self) -> Result<LexicalSummary, IndexError> {
        let Self {
            writer,
            staging,
            documents,
        } = self;
        writer.finish()?.published();
        Manifest::default().write(staging.path())?;
        let bytes = size_of_tree(staging.path());
        staging.publish()?;
        Ok(LexicalSummary { documents, bytes })
    }
}
