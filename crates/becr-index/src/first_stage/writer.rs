//! Adding and deleting documents.

use super::schema::{self, Fields};
use crate::IndexError;
use std::path::{Path, PathBuf};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::Term;
use tantivy::{IndexWriter, TantivyDocument};

/// Memory of each indexing thread before it writes a segment.
pub const BYTES_PER_THREAD: usize = 96 << 20;

/// Beyond these, more threads bring little and cost memory.
const MAX_THREADS: usize = 8;

/// Threads that an index is written with.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS))
}

/// Writes to the first-stage index; there can be one at a time.
pub struct Writer {
    writer: IndexWriter,
    fields: Fields,
    dir: PathBuf,
}

impl Writer {
    /// A writer to a new first-stage index in `dir`, using all cores up to eight.
    pub fn create(dir: &Path) -> Result<Self, IndexError> {
        let (index, fields) = schema::create(dir)?;
        Self::new(&index, fields, dir)
    }

    /// A writer to the existing index in `dir`.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        let (index, fields) = schema::open(dir)?;
        let writer = Self::new(&index, fields, dir)?;
        // A writer that was killed leaves files that no commit knows of, under names that the next commit
        // may want.
        writer
            .writer
            .garbage_collect_files()
            .wait()
            .map_err(IndexError::engine(dir))?;
        Ok(writer)
    }

    /// A writer to the index of a build in `dir`, which may have been interrupted at any point.
    pub(crate) fn open_or_create(dir: &Path) -> Result<Self, IndexError> {
        let folder = dir.join(super::FOLDER);
        // The engine's own manifest is the last file that creating an index writes.
        if folder.join("meta.json").is_file() {
            return Self::open(dir);
        }
        if folder.exists() {
            let cleared = std::fs::remove_dir_all(&folder);
            cleared.map_err(IndexError::io(&folder, "cannot clear"))?;
        }
        Self::create(dir)
    }

    fn new(index: &tantivy::Index, fields: Fields, dir: &Path) -> Result<Self, IndexError> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads())
            .memory_budget_per_thread(BYTES_PER_THREAD)
            .build();
        let writer = index
            .writer_with_options(options)
            .map_err(IndexError::engine(dir))?;
        // Segments full of deleted documents cost every query a little: merge them away.
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(0.2);
        writer.set_merge_policy(Box::new(merging));
        Ok(Self {
            writer,
            fields,
            dir: dir.to_owned(),
        })
    }

    /// Adds a document.
    pub fn add(&self, id: &str, title: &str, body: &str) -> Result<(), IndexError> {
        let mut document = TantivyDocument::default();
        document.add_text(self.fields.id, id);
        document.add_u64(self.fields.title_words, count_words(title));
        document.add_u64(self.fields.body_words, count_words(body));
        document.add_text(self.fields.title, title);
        document.add_text(self.fields.body, body);
        self.writer
            .add_document(document)
            .map_err(IndexError::engine(&self.dir))?;
        Ok(())
    }

    /// Deletes a document; nothing happens if there is none of that id.
    pub fn delete(&self, id: &str) {
        self.writer
            .delete_term(Term::from_field_text(self.fields.id, id));
    }

    /// Makes what was added and deleted visible to searchers, and durable.
    pub fn commit(&mut self) -> Result<(), IndexError> {
        self.writer
            .commit()
            .map_err(IndexError::engine(&self.dir))?;
        Ok(())
    }

    /// Commits and waits for merges to end.
    pub fn finish(mut self) -> Result<(), IndexError> {
        self.commit()?;
        self.writer
            .wait_merging_threads()
            .map_err(IndexError::engine(&self.dir))
    }
}

fn count_words(text: &str) -> u64 {
    let mut scanner = becr_text::words::Scanner::new(text);
    let mut word = String::new();
    std::iter::from_fn(|| scanner.next_into(&mut word)).count() as u64
}
