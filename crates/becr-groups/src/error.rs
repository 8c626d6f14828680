//! What can go wrong, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// An error of counting, selecting or reading token groups.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to read or write.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what its name promises, or is damaged.
    #[error("{}: not a usable {expected}: {found}; {remedy}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
        /// What is wrong with it.
        found: String,
        /// How to get a good one.
        remedy: &'static str,
    },
    /// Two files were counted with different windows.
    #[error(
        "{}: its pairs are at most {found} words apart, expected {expected} as elsewhere; \
         count it again with --window {expected}",
        path.display()
    )]
    Window {
        /// The file that differs.
        path: PathBuf,
        /// The window of the others.
        expected: u32,
        /// Its own window.
        found: u32,
    },
    /// Nothing was given to merge.
    #[error("no count file to merge; name at least one")]
    NothingToMerge,
    /// The WordPieces, which are never left out, take more than the whole budget.
    #[error(
        "a token budget of {budget} bytes is too small: the {pieces} WordPieces of the vocabulary, \
         which every index needs, take {needed}; allow at least that much"
    )]
    Budget {
        /// The budget, in bytes.
        budget: u64,
        /// WordPieces that must be in.
        pieces: u64,
        /// What they take, in bytes.
        needed: u64,
    },
}

impl Error {
    /// For `map_err`: what was tried on which file.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }
}
