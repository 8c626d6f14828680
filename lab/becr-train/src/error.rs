//! What can go wrong.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// A training that could not go on.
#[derive(Debug, Error)]
pub enum TrainError {
    /// An option that makes no sense, or not together with another.
    #[error("option {name}: {problem}")]
    Option {
        /// The option.
        name: &'static str,
        /// What is wrong and what would do.
        problem: String,
    },
    /// Nothing to learn from at all.
    #[error("there are no examples to learn from")]
    NoExamples,
    /// A query to learn nothing from.
    #[error("query {id}: no {what} document; leave the query out")]
    Unusable {
        /// The query.
        id: String,
        /// `relevant` or `irrelevant`.
        what: &'static str,
    },
    /// A document that the index does not have.
    #[error(
        "query {id}: the index has no document number {number}; build the index from the corpus the examples name"
    )]
    Document {
        /// The query.
        id: String,
        /// The document.
        number: u64,
    },
    /// A document whose text the index did not keep.
    #[error(
        "query {id}: the index has no text of document number {number}; to train the encoder, build the index with texts"
    )]
    NoText {
        /// The query.
        id: String,
        /// The document.
        number: u64,
    },
    /// The loss or a gradient is not a number any more.
    #[error("step {step}: the {what} is {value} for the batch of queries {queries}; {remedy}")]
    NotFinite {
        /// The step.
        step: usize,
        /// `loss` or `gradient`.
        what: &'static str,
        /// NaN or infinite.
        value: f64,
        /// The queries of the batch.
        queries: String,
        /// Where the last good state lies, and what to try.
        remedy: String,
    },
    /// A checkpoint of another training.
    #[error("{}: {problem}; delete the folder, or choose another, to start anew", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What differs.
        problem: String,
    },
    /// A file of word vectors with a fault.
    #[error("{}:{line}: {problem}; expected GloVe's format, or word2vec's as text or binary", path.display())]
    Vectors {
        /// The file.
        path: PathBuf,
        /// The line, from 1; in a binary file the word, counted behind the first line.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The directory of a baseline with a fault.
    #[error("{}: {problem}", path.display())]
    Baseline {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Texts to be scored that could not be had.
    #[error("{0}")]
    Texts(Box<dyn std::error::Error + Send + Sync>),
    /// A device that does not work.
    #[error("{0}")]
    Device(String),
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The model's directory.
    #[error(transparent)]
    Model(#[from] becr_model::ModelError),
    /// The index's store.
    #[error(transparent)]
    Store(#[from] becr_store::StoreError),
    /// The ranker.
    #[error(transparent)]
    Rank(#[from] becr_rank::RankError),
    /// The tokenizer.
    #[error(transparent)]
    Tokenizer(#[from] becr_text::pieces::TokenizerError),
    /// The encoder.
    #[error(transparent)]
    Encode(#[from] becr_encoder::EncodeError),
    /// The scoring engine.
    #[error(transparent)]
    Engine(#[from] becr_footprint::Error),
    /// A file of queries, pairs or documents.
    #[error(transparent)]
    Corpus(#[from] becr_corpus::CorpusError),
    /// Runs, judgements and plots.
    #[error(transparent)]
    Eval(#[from] becr_eval::Error),
}

impl TrainError {
    /// For `map_err` on operations on the file `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// A wrong option.
    pub(crate) fn option(name: &'static str, problem: impl Into<String>) -> Self {
        Self::Option {
            name,
            problem: problem.into(),
        }
    }
}
