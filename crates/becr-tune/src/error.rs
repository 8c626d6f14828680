//! What can go wrong.

use std::path::PathBuf;
use thiserror::Error;

/// A fine-tuning that could not be done.
#[derive(Debug, Error)]
pub enum TuneError {
    /// The file cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no TOML, or has a key or a value that nobody knows.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// The values do not go together.
    #[error("{}: {message}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A head whose parts cannot be weighed one by one.
    #[error(
        "{}: this head scores every document by itself; fine-tuning by [tune] is for heads that go by the list of candidates, \
         such as the bundled model's: use a configuration with a section [train] instead (a build with `--features train`)",
        .0.display()
    )]
    NotListWise(PathBuf),
    /// Too little to learn from.
    #[error(
        "{found} of {judged} judged queries have a relevant and an irrelevant document among their candidates, and fine-tuning needs {least}: \
         judge more queries, or give more candidates"
    )]
    TooFew {
        /// Queries that can be learned from.
        found: usize,
        /// How many are needed.
        least: usize,
        /// Queries with judgements.
        judged: usize,
    },
    /// The index.
    #[error(transparent)]
    Index(#[from] becr::Error),
    /// The head.
    #[error(transparent)]
    Model(#[from] becr_model::ModelError),
    /// A file of queries.
    #[error(transparent)]
    Corpus(#[from] becr_corpus::CorpusError),
    /// Runs, judgements and folds.
    #[error(transparent)]
    Eval(#[from] becr_eval::Error),
}
