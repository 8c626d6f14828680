//! What can go wrong with training data.

use std::path::{Path, PathBuf};

/// Why there is nothing to learn from.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file cannot be read or written.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process trains here.
    #[error("{}: another training is using this folder; wait for it, or name another [output] work", .0.display())]
    Busy(PathBuf),
    /// No query is left to train on, or to validate with.
    #[error("no query is left {purpose}; {remedy}\n{report}")]
    NoQueries {
        /// `to train on`, `to validate with` or `to test a fold with`.
        purpose: &'static str,
        /// What was read and left out.
        report: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The work directory holds an index of other data.
    #[error(
        "{}: this index was made from other data or with another model; name another [output] work directory, or pass \
         --restart to make it anew", .0.display()
    )]
    OtherIndex(PathBuf),
    /// The output directory holds another model.
    #[error("{}: there is another model here; name another [output] model, or pass --restart to replace it", .0.display())]
    OutputTaken(PathBuf),
    /// An index that was named does not go with the model that was named.
    #[error(
        "{}: built with encoder {found}, but the model in {} has encoder {expected}; name the model that the index was \
         built with, or leave [model] base out", index.display(), model.display()
    )]
    OtherModel {
        /// The index.
        index: PathBuf,
        /// Its encoder.
        found: String,
        /// The model.
        model: PathBuf,
        /// Its encoder.
        expected: String,
    },
    /// The head to go on from is not of the model to train.
    #[error(
        "{}: trained for encoder {found}, but the model in {} has encoder {expected}; name the head of this model in \
         [model] head, or leave it out to train a new one", head.display(), model.display()
    )]
    OtherHead {
        /// The head.
        head: PathBuf,
        /// Its encoder.
        found: String,
        /// The model.
        model: PathBuf,
        /// Its encoder.
        expected: String,
    },
    /// The head to go on from and the index have another γ.
    #[error(
        "{}: its `others.cls` is not that of the head that {} was built with, so its γ·CLS is not in the index; leave \
         [index] path out to let the training make its own index, or build the index again with this head beside \
         its model", head.display(), index.display()
    )]
    OtherGamma {
        /// The head.
        head: PathBuf,
        /// The index.
        index: PathBuf,
    },
    /// The model's directory has a fault.
    #[error(transparent)]
    Model(#[from] becr_model::ModelError),
    /// A corpus, a file of pairs or of queries has a fault.
    #[error("{0}; mend it, or set skip_faults = true to leave such lines out")]
    Corpus(#[from] becr_corpus::CorpusError),
    /// Judgements, runs or folds have a fault.
    #[error(transparent)]
    Eval(#[from] becr_eval::Error),
    /// The encoder could not be opened.
    #[error("{0}")]
    Encoder(Box<dyn std::error::Error + Send + Sync>),
    /// The index.
    #[error(transparent)]
    Index(#[from] becr_index::IndexError),
    /// The index's store.
    #[error(transparent)]
    Store(#[from] becr_store::StoreError),
}

impl DataError {
    /// A [`DataError::Io`] for `map_err`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }
}
