//! S_lexi: what the words of a query and of a document have in common, from the record's forward index and the
//! collection's statistics. The formulas are in the [crate's documentation](crate#lexical-features).

mod features;
mod first_stage;
mod query;
mod scan;
mod shares;
mod word_map;

pub(crate) use features::{COUNT, FIRST_STAGE, SUM_BM25, place};
pub use features::{
    FEATURES, Field, LEXICAL_FEATURES, LexicalFeature, LexicalValue, Measure, Pool, lexical_feature,
};
pub(crate) use first_stage::FirstStageScale;
pub(crate) use query::{LexicalParts, LexicalQuery};
pub(crate) use scan::Scan;
pub(crate) use shares::Shares;
pub(crate) use word_map::{Meaning, WordMap};

/// BM25's saturation of term frequencies.
const K1: f64 = 1.2;
/// BM25's normalisation by length.
const B: f64 = 0.75;

/// ln(1 + (N − df + 0.5) / (df + 0.5)).
pub(crate) fn idf(documents: u64, frequency: u32) -> f64 {
    idf_of(documents as f64, f64::from(frequency))
}

/// The same of a frequency that was estimated.
pub(crate) fn idf_of(documents: f64, frequency: f64) -> f64 {
    // A frequency counts documents, so there are at least as many.
    let (n, df) = (documents.max(frequency), frequency);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}
