//! What an index knows of its documents and of token groups, in LMDB.
//!
//! | module | job |
//! |---|---|
//! | [`Store`] | one environment with its tables, bound to an encoder |
//! | [`Update`] | a change, all or nothing, that keeps the statistics exact |
//! | [`Snapshot`] | a consistent view, lending records straight from the memory map |
//!
//! What a record is and what re-ranking asks of a store is in [`becr_store`].
//!
//! ```
//! use becr_lmdb::Store;
//! use becr_store::{Header, NewDocument, Shape};
//!
//! let folder = tempfile::tempdir()?;
//! let header = Header::new("encoder-1", Shape::new(1, 32), 3);
//! let store = Store::create(folder.path(), &header)?;
//! let mut update = store.update()?;
//! update.put(&NewDocument {
//!     id: "bread",
//!     text: "Dense crumbs",
//!     footprints: &[1, 2, 3, 4],
//!     mean: &[0; 4],
//!     ..Default::default()
//! })?;
//! update.commit()?;
//!
//! let snapshot = store.snapshot()?;
//! let number = snapshot.number("bread")?.unwrap();
//! assert_eq!(snapshot.record(number)?.unwrap().footprints(), [1, 2, 3, 4]);
//! assert_eq!(snapshot.stem("crumb")?.frequency.body, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod blocks;
mod column;
mod engine;
mod env;
mod length;
mod pages;
mod pool;
mod reading;
mod registry;
mod size;
mod snapshot;
mod store;
mod sums;
#[cfg(test)]
mod tests;
mod transaction;

pub use size::TableSize;
pub use snapshot::Snapshot;
pub use store::Store;
pub use sums::TableFindings;
pub use transaction::{ReadTransaction, Transaction, WriteTransaction};

/// A change of the store, all or nothing: dropped without a commit, it never was.
pub type Update<'s> = becr_store::Update<'s, Store>;
