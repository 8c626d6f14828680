//! Re-ranking with BERT-quality matching on a CPU, and the reasons for it.
//!
//! A search engine finds candidates, BECR re-orders them in a few milliseconds. Documents meet BERT once, when they are
//! indexed; queries are composed of word vectors that were computed then. Scores are sums, so that each can be taken
//! apart and shown.
//!
//! ```no_run
//! use becr::{Build, Document, SearchOptions};
//!
//! let documents = [
//!     Document::new("bread", "Bread", "A dense crumb means the dough was proved too briefly."),
//!     Document::new("tea", "Tea", "Green tea wants water that no longer boils."),
//! ];
//! let (index, _) = Build::new().run("notes.becr", documents, &())?;
//!
//! for result in index.search("heavy loaf", &SearchOptions::default())?.results {
//!     println!("{} {:.2}", result.id, result.score);
//! }
//! # Ok::<(), becr::Error>(())
//! ```
//!
//! An [`Index`] is what you keep: it searches, re-ranks the candidates of another engine, explains, and takes documents
//! in and out, from any number of threads, for months. Another process may write to it meanwhile.
//!
//! | to | use |
//! |---|---|
//! | build an index from any iterator of documents | [`Build`], [`Document`] |
//! | open one | [`Index::open`], [`OpenOptions`] |
//! | find and re-rank | [`Index::search`], [`SearchOptions`] |
//! | re-rank what another engine found | [`Index::rerank`], [`Candidate`] |
//! | re-rank texts that are in no index | [`Index::rerank_texts`], [`TextCandidate`], [`TextCache`] |
//! | say why | [`Index::explain`], [`Reasons`], [`Snippet`] |
//! | change it | [`Index::add`], [`Index::update`], [`Index::delete`], [`Index::compact`] |
//! | keep it in step with folders | [`Index::sync`], [`SyncOptions`] |
//! | ask several things of the same state | [`View`], [`Generation`] |
//! | look after it | [`Index::stats`], [`Index::verify`] |
//! | share one index between machines | `cluster`, with the feature `redis` |
//! | read files and folders | [`corpus`] |
//! | show progress | [`Observer`] |
//!
//! # States
//!
//! What a writer commits, documents, statistics and first stage together, is a **generation**. Every call sees the
//! newest one that was published when it began, whichever process published it; a compaction is one too. An answer says
//! which generation it is of. A [`View`] keeps one: `explain` on it speaks of exactly what `search` on it found. The
//! state of a generation can be asked for by its name ([`Index::at`]) as long as it is the newest or a view of it lives;
//! after that, asking is [`Error::Gone`].
//!
//! # The score
//!
//! A sum: what the first stage says, how near the document is to the query, word by word and as a whole, and how much it is
//! like the best candidates. `docs/ranking.md` in the repository has it in one formula, the head's file line by line, and a
//! query worked through with numbers; [`Index::explain`] takes any score apart.
//!
//! # Two ways to read a query
//!
//! [`QueryMode::Composed`] looks word vectors up; [`QueryMode::Encoded`] has the encoder read the whole query, which
//! takes milliseconds, helps, most of all long questions, and needs no token groups ([`Build::mode`]). Which of them it is
//! where nobody says is up to the index and its head ([`Index::query_mode`]).
//!
//! # What is not caught
//!
//! Checksums cover every record that is read. The pages of the store's own trees have none: an index whose file was
//! damaged there can end the process with a signal. [`Index::verify`] finds such damage; have a child process call it.

mod build;
mod candidates;
#[cfg(feature = "redis")]
pub mod cluster;
mod decomposition;
mod error;
mod explain;
mod files;
mod generation;
mod index;
mod model_cache;
pub mod models;
mod opened;
mod options;
mod overlay;
mod reasons;
mod rerank;
mod search;
mod snippet;
mod stats;
mod stored;
mod suggest;
mod sync;
mod texts;
mod view;

pub use becr_encoder::{Encoder, Precision};
pub use becr_groups::Rules;
pub use becr_index::full::{FullSummary, Shard};
pub use becr_index::{
    Changed, Document, Existing, Folder, IndexError, IntoDocument, Observer, Plan, SourceError,
    Stage, Verification, Work,
};
pub use becr_model::{Head, Model, QueryMode};
pub use becr_rank::{
    ANCHOR_WEIGHT, Explanation, ListParts, Part, Parts, PartsRow, RankOptions, Scored, Scorer,
    Shading, Variant,
};
pub use becr_store::{Documents, Text};
pub use build::Build;
pub use candidates::{CandidateSource, FindBy, Hit};
pub use decomposition::{DecomposedGroup, QueryDecomposition};
pub use error::Error;
pub use explain::{ExplainAnswer, ExplainOptions, ExplainedDocument, ScoreDifference};
pub use generation::Generation;
pub use index::{Index, OpenOptions};
pub use options::{Details, SearchOptions};
pub use reasons::{PARTS, Reasons, label, plain, reason};
pub use rerank::{Candidate, GroupCoverage, RankTiming, RerankAnswer, scores_below};
pub use search::{ScoreParts, SearchAnswer, SearchResult, SearchTiming, StageTiming};
pub use snippet::Snippet;
pub use stats::{
    ClusterContents, IndexStats, PerDocument, QueryCoverage, RecordSizes, Share, StoreSizes,
};
pub use stored::StoreSnapshot;
pub use suggest::Suggestion;
pub use sync::{SyncOptions, SyncReport, folders};
pub use texts::{RankedFrom, TextAnswer, TextCache, TextCandidate};
pub use view::View;

/// Documents from files and folders: JSON lines, TSV, TREC, WARC, Markdown, HTML, text.
pub use becr_corpus as corpus;
