//! Adding and deleting documents.

use super::medium::{META, Medium, segment_files};
use super::schema::{self, Fields};
use crate::IndexError;
use std::path::{Path, PathBuf};
use tantivy::index::SegmentComponent;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::Term;
use tantivy::{IndexWriter, TantivyDocument};

/// Memory of each indexing thread before it writes a segment.
pub const BYTES_PER_THREAD: usize = 96 << 20;

/// Beyond these, more threads bring little and cost memory.
const MAX_THREADS: usize = 8;

/// The files of a segment.
pub(super) const COMPONENTS: [SegmentComponent; 7] = [
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::Terms,
    SegmentComponent::Store,
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Delete,
];

/// Threads that an index is written with.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS))
}

/// Writes to the first-stage index; there can be one at a time.
pub struct Writer {
    writer: IndexWriter,
    fields: Fields,
    medium: Medium,
    folder: PathBuf,
}

impl Writer {
    /// A writer to a new first-stage index in `folder`, which publishes its own commits, using all cores up to eight.
    pub fn create(folder: &Path) -> Result<Self, IndexError> {
        std::fs::create_dir(folder).map_err(IndexError::io(folder, "cannot create"))?;
        let create = || {
            let medium = Medium::open(folder)?;
            let (index, fields) = schema::create(medium.clone())?;
            Self::new(&index, fields, medium, folder, threads())
        };
        create().map_err(IndexError::engine(folder))
    }

    /// A writer to the first-stage index in `folder`, new or old, whose commits somebody else publishes: `meta` is the
    /// one that is published, if there is one. One thread: documents come no faster than they are encoded.
    pub fn held(folder: &Path, meta: Option<&[u8]>) -> Result<Self, IndexError> {
        std::fs::create_dir_all(folder).map_err(IndexError::io(folder, "cannot create"))?;
        let open = || {
            let medium = Medium::held(folder, meta)?;
            let known = meta.is_some() || folder.join(META).is_file();
            let (index, fields) = match known {
                true => schema::open(medium.clone())?,
                false => schema::create(medium.clone())?,
            };
            sweep(folder, &index)?;
            Self::new(&index, fields, medium, folder, 1)
        };
        open().map_err(IndexError::engine_beside_store(folder))
    }

    fn new(
        index: &tantivy::Index,
        fields: Fields,
        medium: Medium,
        folder: &Path,
        threads: usize,
    ) -> tantivy::Result<Self> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(BYTES_PER_THREAD)
            .build();
        let writer = index.writer_with_options(options)?;
        // Segments full of deleted documents cost every query a little: merge them away.
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(0.2);
        writer.set_merge_policy(Box::new(merging));
        Ok(Self {
            writer,
            fields,
            medium,
            folder: folder.to_owned(),
        })
    }

    fn failed(&self, error: tantivy::TantivyError) -> IndexError {
        match self.medium.is_held() {
            true => IndexError::engine_beside_store(&self.folder)(error),
            false => IndexError::engine(&self.folder)(error),
        }
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
            .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Deletes a document; nothing happens if there is none of that id.
    pub fn delete(&self, id: &str) {
        self.writer
            .delete_term(Term::from_field_text(self.fields.id, id));
    }

    /// Makes what was added and deleted durable: searchers see it now, or when the commit is published. Returns what
    /// is to be published, if somebody else does it.
    pub fn commit(&mut self) -> Result<Option<Vec<u8>>, IndexError> {
        self.writer.commit().map_err(|error| self.failed(error))?;
        Ok(self.medium.meta())
    }

    /// A commit was published: files that it does not have are not needed any more.
    pub fn published(&self, commit: &[u8]) {
        self.medium.published(commit);
    }

    /// The newest list of segments, which a merge may have made after the last commit.
    #[cfg(test)]
    pub(super) fn newest(&self) -> Option<Vec<u8>> {
        self.medium.meta()
    }

    /// Commits and waits for merges to end. Returns what is to be published, if somebody else does it.
    pub fn finish(mut self) -> Result<Finished, IndexError> {
        self.commit()?;
        self.writer
            .wait_merging_threads()
            .map_err(IndexError::engine(&self.folder))?;
        Ok(Finished(self.medium))
    }
}

/// A first-stage index whose writer is done.
pub struct Finished(Medium);

impl Finished {
    /// The commit that is to be published, if somebody else does it.
    pub fn commit(&self) -> Option<Vec<u8>> {
        self.0.meta()
    }

    /// It was published.
    pub fn published(self) {
        if let Some(commit) = self.0.meta() {
            self.0.published(&commit);
        }
    }
}

/// Removes files that the published commit does not have: those of a writer that was killed, whose names the next
/// commit may want.
fn sweep(folder: &Path, index: &tantivy::Index) -> tantivy::Result<()> {
    let known = segment_files(index)?;
    for entry in std::fs::read_dir(folder)?.flatten() {
        let name = PathBuf::from(entry.file_name());
        let is_segment = name.extension().is_some() && !name.to_string_lossy().starts_with('.');
        if is_segment && name != Path::new(META) && !known.contains(&name) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    Ok(())
}

fn count_words(text: &str) -> u64 {
    let mut scanner = becr_text::words::Scanner::new(text);
    let mut word = String::new();
    std::iter::from_fn(|| scanner.next_into(&mut word)).count() as u64
}
