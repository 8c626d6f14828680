//! A store in memory, for tests and small tools. It is also the shortest example of a store.
//!
//! Rows are kept in as many versions as somebody can see: a [`Snapshot`] is a generation's number, costs nothing and stays as
//! it is.
//!
//! ```
//! use becr_memory::Store;
//! use becr_store::{DocumentStore, Header, NewDocument, Shape, StoreContents, WriteStore};
//!
//! let store = Store::new(Header::new("encoder-1", Shape::new(1, 32), 3));
//! let empty = store.snapshot();
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
//! assert_eq!(store.snapshot().numbers(&["bread"])?, [Some(0)]);
//! assert_eq!(empty.numbers(&["bread"])?, [None]);
//! assert_eq!((empty.generation()?, store.snapshot().generation()?), (0, 1));
//! # Ok::<(), becr_store::StoreError>(())
//! ```

mod reading;
mod store;
mod tables;

pub use store::{Snapshot, Store};
