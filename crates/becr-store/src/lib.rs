//! What a store of documents and token groups holds, and what re-ranking asks of it, whoever keeps it.
//!
//! | module | job |
//! |---|---|
//! | [`Header`], [`Shape`] | what a store is bound to |
//! | [`Record`], [`ForwardIndex`] | a document as one checked value |
//! | [`GroupRecord`] | a token group's footprints |
//! | [`row`] | how rows are kept under keys, in Redis |
//! | [`Totals`], [`Stem`], [`DocumentFrequency`] | collection statistics |
//! | [`mod@column`] | the signs of all documents' vectors, to find the nearest ones by |
//! | [`DocumentStore`] | what re-ranking asks of a store, embedded or not |
//! | [`StoreContents`] | what else a store tells, to writers and to checks |
//! | [`WriteStore`], [`Batch`] | what a store does with a change |
//! | [`Update`] | a change in the making: tokenising, stemming, counting |
//! | [`digest()`], [`verify()`] | what a store holds, as a hash; whether it is sound |
//!
//! The crates `becr-lmdb`, on disk, and `becr-memory` are stores.
//!
//! Documents are independent of each other: to add, change or delete one touches its record and the counts of
//! its own words, whatever the size of the collection.

mod batch;
mod checksum;
pub mod column;
#[cfg(feature = "conformance")]
pub mod conformance;
mod contents;
mod digest;
mod document;
mod draft;
mod error;
mod fetch;
mod forward;
mod group;
mod header;
pub mod keys;
mod record;
pub mod row;
mod statistics;
mod text;
mod tokenised;
mod traits;
mod update;
mod verify;
mod vocabulary;
mod wanted;

pub use batch::{
    Batch, DeletedDocument, NewWord, PairChange, StemChange, StoredDocument, StoredGroup,
    WriteStore,
};
pub use contents::{StoreContents, Table, VisitRows};
pub use digest::digest;
pub use document::{MAX_ID_BYTES, NewDocument};
pub use error::StoreError;
pub use fetch::{FetchBuffer, FoundRecord};
pub use forward::{ForwardIndex, Words};
pub use group::{GroupRecord, u32s};
pub use header::{Documents, FORMAT, Header};
pub use record::{NewRecord, Record, Shape};
pub use statistics::{DocumentFrequency, Field, FrequencyChange, MISCOUNTED, Stem, Totals};
pub use text::Text;
pub use traits::{Answer, DocumentStore, Question, SplitWord, VisitRecords};
pub use update::Update;
pub use verify::{StoreFindings, verify};
pub use wanted::Wanted;
