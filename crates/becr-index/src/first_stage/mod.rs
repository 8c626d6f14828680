//! The first stage: BM25 over title and body, on `tantivy`.
//!
//! Three promises go beyond what the engine gives:
//!
//! - **A deleted document leaves no trace in the scores.** The engine's own statistics count deleted
//!   documents until their segment is merged; ours do not (`statistics.rs`).
//! - **The ranking does not depend on how the index was built.** Threads and merges lay documents out
//!   differently each time, which changes the order in which the engine adds up a score, and with it the
//!   last bit. We add the parts up again in a fixed order and break ties by document id ([`search`]).
//! - **Any query finds something to search for.** Stop words are indexed, left out of a query, and used
//!   all the same if it has nothing else ("The Who").

mod analysis;
mod check;
mod medium;
mod schema;
pub mod search;
mod statistics;
#[cfg(test)]
mod tests;
mod writer;

pub use analysis::StemTokenizer;
pub(crate) use check::check;
pub use search::{FirstStage, Hit};
pub use statistics::Counts;
pub use writer::{BYTES_PER_THREAD, Finished, Writer, threads};
