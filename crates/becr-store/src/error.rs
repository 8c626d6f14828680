//! What can go wrong with a store.

use std::path::{Path, PathBuf};

/// Why a store could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// No room is left. What was committed before is safe.
    #[error(
        "{}: no room is left to write (the disk, the quota or the largest file size is full); \
         what was committed before is safe, make room and go on", .0.display()
    )]
    Full(PathBuf),
    /// The file is shorter than what was written to it.
    #[error(
        "{}: truncated: {found} bytes of at least {expected}; restore the index from a copy or build it again",
        path.display()
    )]
    Truncated {
        /// The store's file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length it should have at least.
        expected: u64,
    },
    /// The database engine refused.
    #[error("{}: {source}", path.display())]
    Engine {
        /// The store.
        path: PathBuf,
        /// What the engine said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The directory holds no store.
    #[error("{}: there is no document store here; an index for lexical search alone has none", .0.display())]
    Missing(PathBuf),
    /// The folder has another store than the one that is open under its path.
    #[error(
        "{}: the store was replaced by another one while the old one is still in use here; drop the old store and its \
         snapshots, then open it again", .0.display()
    )]
    Replaced(PathBuf),
    /// Too many snapshots at a time.
    #[error(
        "{}: all {readers} reader slots are taken; drop snapshots, or end other programs that read the index",
        path.display()
    )]
    Readers {
        /// The store.
        path: PathBuf,
        /// How many slots there are.
        readers: u32,
    },
    /// The file where readers enter themselves cannot be written.
    #[error(
        "{}: permission denied: whoever reads an index enters himself here, so that a writer leaves what he sees alone; \
         get write permission for this file, or read a copy of the index", .0.display()
    )]
    Lock(PathBuf),
    /// The store was made for another encoder.
    #[error(
        "{}: the index was encoded with encoder {found}, the model at hand is encoder {expected}; \
         use the model it was built with, or build the index again", path.display()
    )]
    OtherEncoder {
        /// The store.
        path: PathBuf,
        /// The encoder the store was made with.
        found: String,
        /// The encoder asked for.
        expected: String,
    },
    /// Something in the store is not what was written.
    #[error("{}: {what} is damaged: {reason}; restore the index from a copy or build it again", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// Which part.
        what: String,
        /// How it shows.
        reason: String,
    },
    /// An external id that is too long.
    #[error(
        "the id of a document has {bytes} bytes, {limit} are possible: {id:?}…; give it a shorter one",
        limit = crate::MAX_ID_BYTES
    )]
    LongId {
        /// How it begins.
        id: String,
        /// Its length.
        bytes: usize,
    },
    /// Another writer was faster.
    #[error(
        "{}: the store is at generation {found}, the change was made from generation {expected}; make it again",
        path.display()
    )]
    Conflict {
        /// The store.
        path: PathBuf,
        /// The store's generation.
        found: u64,
        /// The generation that the change was made from.
        expected: u64,
    },
    /// What is to be written does not fit the store.
    #[error("{what}: {reason}")]
    Refused {
        /// Which document or group.
        what: String,
        /// Why.
        reason: String,
    },
}

impl StoreError {
    /// Turns the errors of the file system into ours, for `map_err`.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }
}
