//! From documents to an index directory.
//!
//! | module | job |
//! |---|---|
//! | [`first_stage`] | BM25 over title and body, on `tantivy` |
//! | [`full`] | token groups and documents encoded and stored, with resume |
//! | [`live`] | the one writer of an index: store and first stage in step |
//! | [`change`] | add, update, delete, compact, merge |
//! | [`verify`] | checking a whole index |
//! | [`staging`] | a build that appears whole or not at all |
//! | [`manifest`] | what an index directory says of itself |
//!
//! ```
//! use becr_index::{first_stage::FirstStage, IndexBuilder};
//!
//! let folder = tempfile::tempdir()?;
//! let target = folder.path().join("notes.becr");
//! let mut builder = IndexBuilder::create(&target, false)?;
//! builder.add("bread", "Bread", "A dense crumb means the dough was proved too briefly.")?;
//! builder.add("tea", "Tea", "Green tea wants water that no longer boils.")?;
//! builder.finish()?;
//!
//! let hits = FirstStage::open(&target)?.search("why is my dough dense", 10)?;
//! assert_eq!(hits[0].id, "bread");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
pub mod change;
mod error;
pub mod first_stage;
pub mod full;
mod head;
pub mod live;
pub mod manifest;
mod size;
pub mod staging;
pub mod verify;

pub use build::{IndexBuilder, Summary};
pub use error::IndexError;
pub use head::head_of;
pub use size::FileSizes;
