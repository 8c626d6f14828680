//! What can go wrong.

use crate::Generation;
use std::path::PathBuf;

/// Why an index could not be opened, searched or changed. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The index's files, or work on them.
    #[error(transparent)]
    Index(#[from] becr_index::IndexError),
    /// The document store.
    #[error(transparent)]
    Store(#[from] becr_store::StoreError),
    /// The ranker.
    #[error(transparent)]
    Rank(becr_rank::RankError),
    /// A model's files.
    #[error(transparent)]
    Model(#[from] becr_model::ModelError),
    /// The encoder.
    #[error(transparent)]
    Encode(#[from] becr_encoder::EncodeError),
    /// The tokenizer that the index keeps.
    #[error(transparent)]
    Tokenizer(#[from] becr_text::pieces::TokenizerError),
    /// Ranking was asked of an index that has BM25 alone.
    #[error("{}: this is a lexical index, without footprints to re-rank with; build one with a model", .0.display())]
    Lexical(PathBuf),
    /// A composed query was asked of an index that has no token groups.
    #[error(
        "{}: this index was built for encoded queries alone and has no token groups to compose a query of; have the query \
         encoded, or build the index for composed queries too",
        .0.display()
    )]
    EncodedOnly(PathBuf),
    /// The index's model came without a head.
    #[error(
        "{}: the model of this index has no trained head; give one of the same encoder when opening, or train one",
        .0.display()
    )]
    NoHead(PathBuf),
    /// The model that the index was built with is not where it was.
    #[error(
        "{}: cannot read the model that this index was built with ({source}); give its directory when opening",
        index.display()
    )]
    ModelOfIndex {
        /// The index.
        index: PathBuf,
        /// Why not.
        source: Box<becr_model::ModelError>,
    },
    /// There is no model to build with: none was given, and none is built into this program.
    #[error("no model was given, and this program was built without the bundled one")]
    NoModel,
    /// A state of the index that nobody has kept.
    #[error(
        "generation {asked} of the index is gone, the newest is {newest}; keep a view to ask about what it found"
    )]
    Gone {
        /// What was asked for.
        asked: Generation,
        /// What there is.
        newest: Generation,
    },
    /// A document that the index does not have.
    #[error("no document \"{0}\" in this index")]
    UnknownDocument(String),
    /// The configuration that the index keeps of its model.
    #[error("{}: {reason}; build the index again", path.display())]
    Config {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The files of folders could not be read.
    #[error(transparent)]
    Corpus(#[from] becr_corpus::CorpusError),
    /// The index has never been in step with folders, and none were named.
    #[error("{}: this index does not know which folders its documents come from; name them", .0.display())]
    NoFolders(PathBuf),
    /// A folder's path that cannot be kept.
    #[error("{}: the path of this folder is not UTF-8 and cannot be remembered; rename it", .0.display())]
    FolderPath(PathBuf),
    /// A sync would remove documents that were never part of the folders.
    #[error(
        "{}: {count} of its documents, such as \"{example}\", are in none of these folders and would be removed: a sync \
         makes an index hold what the folders hold; say that they may be removed, or name all folders", index.display()
    )]
    Others {
        /// The index.
        index: PathBuf,
        /// How many.
        count: usize,
        /// One of them.
        example: String,
    },
    /// A sync would remove every document.
    #[error(
        "{}: there is no document in the folders, and {count} are in the index; check the folders, or say that none is \
         what you mean", index.display()
    )]
    AllVanished {
        /// The index.
        index: PathBuf,
        /// How many documents it has.
        count: usize,
    },
    /// A sync would remove many documents at once.
    #[error(
        "{}: {count} of its {total} documents would be removed{}; a folder that is not mounted looks like that, so say that it \
         is meant", index.display(), emptied(folder.as_deref())
    )]
    Loss {
        /// The index.
        index: PathBuf,
        /// How many would be removed.
        count: usize,
        /// How many it has.
        total: usize,
        /// A folder that lost all of its documents.
        folder: Option<String>,
    },
    /// Texts that are to be ranked have more WordPieces than may be encoded for one query.
    #[error(
        "the texts have {tokens} WordPieces or more that are not encoded yet, at most {budget} are encoded for one query; send \
         fewer or shorter texts, or index them and send ids"
    )]
    TextBudget {
        /// WordPieces of the texts, as far as they were counted.
        tokens: usize,
        /// How many may be.
        budget: usize,
    },
    /// A search was asked of an index that has no first stage.
    #[error(
        "{}: an index in a cluster re-ranks and finds nothing by itself; name an index of the same collection whose first stage \
         finds candidates, or re-rank those of another engine",
        .0.display()
    )]
    NoFirstStage(PathBuf),
    /// A change was asked of an index in a cluster.
    #[error(
        "{}: an index in a cluster is not changed in place; change the index that it was exported from, and export it again",
        .0.display()
    )]
    InCluster(PathBuf),
    /// The address of a cluster that cannot be read.
    #[error("{0}")]
    Cluster(String),
    /// Options that contradict each other.
    #[error("{0}")]
    Options(&'static str),
}

impl From<becr_rank::RankError> for Error {
    fn from(error: becr_rank::RankError) -> Self {
        match error {
            becr_rank::RankError::Options(reason) => Self::Options(reason),
            error => Self::Rank(error),
        }
    }
}

fn emptied(folder: Option<&str>) -> String {
    folder.map_or_else(String::new, |folder| {
        format!(", all of \"{folder}\" among them")
    })
}

impl Error {
    /// Whether the cluster that has the index cannot answer just now, as it is down or has lost it: the same question may be
    /// answered after a moment.
    pub fn is_passing(&self) -> bool {
        #[cfg(feature = "redis")]
        {
            let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
            while let Some(error) = cause {
                if let Some(error) = error.downcast_ref::<becr_redis::ClusterError>() {
                    use becr_redis::ClusterError::{Aged, Gone, NoIndex, Unreachable};
                    return matches!(error, Unreachable { .. } | Gone | NoIndex | Aged { .. });
                }
                cause = error.source();
            }
        }
        false
    }
}
