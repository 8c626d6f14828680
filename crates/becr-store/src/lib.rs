//! What a store of documents and token groups holds, and what re-ranking asks of it, whoever keeps it.
//!
//! | module | job |
//! |---|---|
//! | [`Header`], [`Shape`] | what a store is bound to |
//! | [`Record`], [`ForwardIndex`] | a document as one checked value |
//! | [`GroupRecord`] | a token group's footprints |
//! | [`Totals`], [`Stem`], [`DocumentFrequency`] | collection statistics |
//! | [`DocumentStore`], [`GroupStore`] | what re-ranking asks of a store, embedded or not |
//!
//! The crates `becr-lmdb`, on disk, and `becr-memory` are stores.
//!
//! Documents are independent of each other: to add, change or delete one touches its record and the counts of
//! its own words, whatever the size of the collection.

mod checksum;
mod document;
mod error;
mod forward;
mod group;
mod header;
pub mod keys;
mod record;
mod statistics;
mod text;
mod traits;
mod varint;
mod wanted;

pub use document::{MAX_ID_BYTES, NewDocument};
pub use error::StoreError;
pub use forward::{ForwardIndex, Words};
pub use group::{GroupRecord, words};
pub use header::{Documents, FORMAT, Header};
pub use record::{NewRecord, Record, Shape};
pub use statistics::{DocumentFrequency, Field, FrequencyChange, Stem, Totals};
pub use text::Text;
pub use traits::{DocumentStore, FetchBuffer, Found, GroupStore};
pub use wanted::Wanted;
