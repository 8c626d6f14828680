//! Stores.
mod error;
mod forward;
mod record;
mod varint;
pub use error::StoreError;
pub use forward::{ForwardIndex, Words};
pub use record::{NewRecord, Record, Shape};
