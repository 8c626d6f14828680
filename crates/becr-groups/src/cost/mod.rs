//! What an index costs: the paper's arithmetic, and predictions from a measured index.
//!
//! | module | job |
//! |---|---|
//! | [`storage`] | bytes of document and token-group embeddings, raw, compressed as in the paper, and in our records |
//! | [`paper`] | what the paper prints for its example |
//! | [`predict`] | from the sizes of an index that exists to those of another collection |
//!
//! ```
//! use becr_groups::cost::storage::{Collection, Encoding, Storage};
//!
//! let storage = Storage::new(&Collection::default(), &Encoding::default());
//! assert_eq!((storage.documents.raw / 1e12).round(), 1711.0); // TB
//! assert_eq!((storage.groups.compressed / 1e9).round(), 152.0); // GB
//! ```

pub mod paper;
pub mod predict;
pub mod storage;
