//! What several crates of BECR need and the standard library lacks, once each.
//!
//! ```
//! use becr_basics::{SplitMix64, escape, varint};
//!
//! let (mut a, mut b) = (SplitMix64::new(7), SplitMix64::new(7));
//! assert_eq!(a.next_u64(), b.next_u64());
//!
//! let mut bytes = Vec::new();
//! varint::push(300, &mut bytes);
//! assert_eq!(varint::pull(&mut &bytes[..]), Some(300));
//!
//! assert_eq!(escape("a < b"), "a &lt; b");
//! ```

mod document;
mod escape;
mod folder;
mod random;
pub mod varint;

pub use document::Document;
pub use escape::escape;
pub use folder::Folder;
pub use random::{SplitMix64, mix};
