//! From files to examples: what a training learns from, and what it is judged by.
//!
//! ```text
//! sets ─ read, sample, shorten queries ─► queries with relevant documents, pool of documents   (sets, pool)
//! pool ─ index with the model's encoder ─► store and first stage                               (index)
//! queries ─ hash of their words ─► train, validation; or folds                                 (split)
//! queries ─ first stage, siblings, chance ─► examples; candidate lists                         (mining)
//! ```
//!
//! Everything that is drawn at random is drawn from the seed and from what it is drawn for (a query's words, a
//! document's id), not from a sequence: adding a set leaves the others as they were. A [`DataReport`] says what was used.

mod base;
mod candidates;
mod chance;
mod duplicates;
mod error;
mod index;
mod judged;
mod mining;
mod pairs;
mod pool;
mod prepare;
mod report;
mod sets;
mod shorten;
mod split;
#[cfg(test)]
mod tests;

pub use error::DataError;
pub use index::{IndexNote, TrainingIndex};
pub use mining::{Mined, Miner};
pub use pool::Pool;
pub use prepare::{Plan, Preparation, Prepared, Watch};
pub use report::{DataReport, FoldsReport, NegativeKind, SetReport, UseReport};
pub use sets::{Question, Sets};
pub use split::{CrossValidation, Roles, cross_validation, held_out};
