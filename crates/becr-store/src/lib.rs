//! What an index knows of its documents and of token groups, in LMDB.
//!
//! | module | job |
//! |---|---|
//! | [`Store`] | one environment with its tables, bound to an encoder |
//! | [`Update`] | a change, all or nothing, that keeps the statistics exact |
//! | [`Snapshot`] | a consistent view, lending records straight from the memory map |
//! | [`Record`], [`ForwardIndex`] | a document as one checked value |
//! | [`GroupRecord`] | a token group's footprints |
//! | [`DocumentStore`], [`GroupStore`] | what re-ranking asks of a store, embedded or not |
//!
//! Documents are independent of each other: to add, change or delete one touches its record and the counts of
//! its own words, whatever the size of the collection.
//!
//! ```
//! use becr_store::{Header, NewDocument, Shape, Store};
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

mod checksum;
mod digest;
mod env;
mod error;
mod forward;
mod group;
mod keys;
mod record;
mod size;
mod snapshot;
mod statistics;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod traits;
mod update;
mod varint;
mod verify;
mod wanted;

pub use error::StoreError;
pub use forward::{ForwardIndex, Words};
pub use group::{GroupRecord, words};
pub use record::{NewRecord, Record, Shape};
pub use size::TableSize;
pub use snapshot::{Snapshot, Stem};
pub use statistics::{DocumentFrequency, Totals};
pub use store::{Documents, Header, Store};
pub use text::Text;
pub use traits::{DocumentStore, FetchBuffer, Found, GroupStore};
pub use update::{NewDocument, Update};
pub use verify::Findings;
pub use wanted::Wanted;
