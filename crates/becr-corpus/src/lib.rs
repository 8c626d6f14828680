//! Document collections, query files and training pairs, streamed in bounded memory.
//!
//! A [`Corpus`] is an iterator over the [`Document`]s of files and folders, plain or compressed, in one of the
//! [`Format`]s. What is wrong in a file is a [`CorpusError`] with file, line, cause and remedy; by default it ends the
//! reading, with [`OnError::Skip`] it is counted in a [`SkipReport`].
//!
//! ```
//! use becr_corpus::{Corpus, CorpusOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("corpus.jsonl");
//! std::fs::write(&path, r#"{"id": 7, "title": "Lift", "text": "A wing in slipstream.", "pagerank": 0.5}"#)?;
//!
//! for document in Corpus::open(&[&path], &CorpusOptions::default())? {
//!     let document = document?;
//!     assert_eq!(document.id, "7");
//!     assert_eq!(document.features, [("pagerank".to_owned(), 0.5)]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod charset;
mod corpus;
mod docx;
mod eml;
mod error;
mod flow;
mod format;
mod front_matter;
mod hashed;
mod html;
mod http;
mod input;
mod ipynb;
mod json;
mod jsonl;
mod lines;
mod lzw;
mod markdown;
mod markup;
mod msmarco;
mod note;
mod org;
mod pairs;
mod pdf;
mod progress;
mod queries;
mod records;
mod restructured;
mod rewind;
mod sgml;
mod side;
mod skip;
mod topics;
mod unread;
mod walk;
mod warc;
mod web;

pub use becr_basics::{Document, Folder};
pub use corpus::{Corpus, CorpusOptions, MAX_ID_BYTES};
pub use error::{CorpusError, ErrorKind, Place};
pub use format::{Format, UnknownFormat};
pub use pairs::{Pair, Pairs};
pub use progress::Progress;
pub use queries::{Queries, Query, QueryOptions, TopicField, read_queries};
pub use side::SideFiles;
pub use skip::{OnError, SkipReport};
pub use unread::Unread;
