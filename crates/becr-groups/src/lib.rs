//! Which token groups are worth pre-computing, and what an index costs.
//!
//! A query is composed from token groups, words and ordered word pairs, whose footprints were computed
//! before. This crate decides which: it counts the corpus in bounded memory, adds a query log if there
//! is one, and keeps what is frequent, or the most useful that fits a budget.
//!
//! | module or type | job |
//! |---|---|
//! | [`Counter`] | words and pairs of a corpus (or of queries) → a [`CountFile`]; many can be merged |
//! | [`Sources`], [`Rules`] | counts, log, vocabulary → a [`GroupList`] and a [`SelectionReport`] |
//! | [`GroupList`] | the groups in order, with document frequencies; [`Coverage`] of given queries |
//! | [`cost`] | the paper's storage and operation counts, for any collection |
//!
//! ```
//! use becr_groups::{CountOptions, Counter, Rules, Sources, Vocabulary};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let options = CountOptions {
//!     window: 3,
//!     memory: 64 << 20,
//!     scratch: folder.path().to_owned(),
//! };
//! let mut counter = Counter::new(&options);
//! counter.add(&["Dense retrieval", "Neural ranking of documents"])?;
//! counter.add(&["Sparse retrieval", "Lexical ranking of documents"])?;
//! let counts = counter.finish(&folder.path().join("corpus.counts"))?;
//!
//! let vocabulary = Vocabulary::new(["[CLS]", "rank", "##ing"]);
//! let sources = Sources { counts: &counts, log: None, vocabulary: &vocabulary };
//! let (list, report) = sources.select(&Rules::default(), &folder.path().join("groups"))?;
//! let keys: Result<Vec<String>, _> = list.iter()?.map(|g| g.map(|g| g.group.to_string())).collect();
//! assert_eq!(
//!     keys?,
//!     ["##ing", "documents", "of", "of documents", "rank", "ranking", "ranking documents", "ranking of", "retrieval"]
//! );
//! assert_eq!((report.pieces.groups, report.words.groups, report.pairs.groups), (2, 4, 3));
//! # Ok(())
//! # }
//! ```

pub mod cost;
mod counter;
mod coverage;
mod error;
mod file;
mod list;
mod merge;
mod output;
mod report;
mod selection;
mod table;
mod usefulness;
mod vocabulary;

pub use counter::{CountOptions, Counter, MAX_WORD_CHARS};
pub use coverage::{Coverage, Share};
pub use error::Error;
pub use file::{CountFile, Entries, Entry, Totals};
pub use list::{Group, GroupList, Groups};
pub use report::{Cut, Kept, SelectionReport};
pub use selection::{Frequency, Rules, Sources};
pub use usefulness::RecordBytes;
pub use vocabulary::Vocabulary;

#[cfg(test)]
mod tests;
