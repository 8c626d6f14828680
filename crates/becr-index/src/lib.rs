//! From documents to an index directory.
//!
//! | module | job |
//! |---|---|
//! | [`first_stage`] | BM25 over title and body, on `tantivy` |
//! | [`full`] | token groups and documents encoded and stored, with resume |
//! | [`live`] | the one writer of an index: store and first stage published together |
//! | [`add`](add()), [`delete`], [`compact`], [`merge`] | what changes an index |
//! | [`import`](import()) | an index directory from a store that is elsewhere |
//! | [`sync`] | bringing an index in step with a whole collection |
//! | [`verify`](verify()) | checking a whole index |
//! | [`staging`] | a build that appears whole or not at all |
//! | [`manifest`] | what an index directory says of itself |
//!
//! ```
//! use becr_index::{Document, IndexBuilder, first_stage::FirstStage};
//!
//! let folder = tempfile::tempdir()?;
//! let target = folder.path().join("notes.becr");
//! let mut builder = IndexBuilder::create(&target, false)?;
//! builder.add([
//!     Document::new("bread", "Bread", "A dense crumb means the dough was proved too briefly."),
//!     Document::new("tea", "Tea", "Green tea wants water that no longer boils."),
//! ].into_iter(), &())?;
//! builder.finish()?;
//!
//! let hits = FirstStage::open(&target)?.search("why is my dough dense", 10)?;
//! assert_eq!(hits[0].id, "bread");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod add;
mod build;
mod compact;
mod copy;
mod document;
mod durable;
mod error;
mod files;
pub mod first_stage;
pub mod full;
mod head;
mod import;
mod intake;
mod leftovers;
pub mod live;
pub mod manifest;
mod merge;
mod observer;
mod place;
mod plan;
mod size;
mod spool;
pub mod staging;
pub mod sync;
mod verify;
mod writers;

pub use add::{Changed, Existing, add, delete};
pub use becr_basics::Folder;
pub use build::{IndexBuilder, LexicalSummary};
pub use compact::compact;
pub use document::{Document, IntoDocument, SourceError};
pub use error::IndexError;
pub use files::FileSum;
pub use head::head_of;
pub use import::{SmallFile, import, manifest_of, small_files};
pub use intake::MAX_ID_BYTES;
pub use merge::merge;
pub use observer::{Observer, Stage};
pub use plan::{Plan, Work};
pub use size::FileSizes;
pub use verify::{Verification, verify};
