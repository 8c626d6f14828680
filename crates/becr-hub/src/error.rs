//! What can go wrong, and what to do about it.

use crate::Name;
use std::path::{Path, PathBuf};

/// Why a model could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// No name of a model.
    #[error(
        "{0:?}: expected hf:owner/name or hf:owner/name@revision, such as hf:thenlper/gte-small; owner and name are of \
         letters, digits, - _ . without -- and no - at either end"
    )]
    Name(String),
    /// There is no place for the cache.
    #[error("no home directory to keep models of the hub in; set HF_HOME to a folder for them")]
    NoCache,
    /// The cache has not got the model and nobody may be asked.
    #[error(
        "{name}: HF_HUB_OFFLINE is set and {} has not got {file}; unset it, or download the model elsewhere and give its \
         directory", cache.display()
    )]
    Offline {
        /// The model.
        name: Name,
        /// The file that is missing.
        file: &'static str,
        /// The cache.
        cache: PathBuf,
    },
    /// The hub cannot be reached.
    #[error(
        "{name}: cannot reach {address}: {problem}; without a network, download the model elsewhere (config.json, \
         model.safetensors, tokenizer.json) and give its directory, or set HF_ENDPOINT to a mirror"
    )]
    Unreachable {
        /// The model.
        name: Name,
        /// What was asked.
        address: String,
        /// What happened.
        problem: String,
    },
    /// The hub does not show the model to us.
    #[error(
        "{name}: {address} answers {status}: there is no such model, or it is not for everybody; check the name, or accept \
         its terms on its page and set HF_TOKEN to a token of yours, or leave it in $HF_HOME/token with hf auth login; a token \
         that is no longer valid is refused too"
    )]
    Refused {
        /// The model.
        name: Name,
        /// What was asked.
        address: String,
        /// The answer.
        status: u16,
    },
    /// The repository has not got a file.
    #[error("{name}: {address} is not there; {remedy}")]
    Missing {
        /// The model.
        name: Name,
        /// What was asked.
        address: String,
        /// What to do.
        remedy: &'static str,
    },
    /// An answer that is none of the hub's.
    #[error("{name}: {address}: {problem}; is HF_ENDPOINT a hub?")]
    Answer {
        /// The model.
        name: Name,
        /// What was asked.
        address: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// A download that was cut off again and again.
    #[error(
        "{name}: {file} was cut off after {done} of {size} bytes: {problem}; the same command goes on where it stopped"
    )]
    CutOff {
        /// The model.
        name: Name,
        /// The file.
        file: &'static str,
        /// Bytes that are there.
        done: u64,
        /// Bytes that there should be.
        size: u64,
        /// What happened.
        problem: String,
    },
    /// A file that is not what the hub says it is.
    #[error(
        "{name}: {file} does not have the SHA-256 that the hub gives, {expected}; it was deleted, try again"
    )]
    Damaged {
        /// The model.
        name: Name,
        /// The file.
        file: &'static str,
        /// What its hash should be.
        expected: String,
    },
    /// The cache cannot be read or written.
    #[error("{}: {source}; HF_HOME names another folder for models of the hub", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl HubError {
    /// A [`HubError::Io`] for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
