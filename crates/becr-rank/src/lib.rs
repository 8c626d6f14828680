//! The composite ranker.

mod deep;
mod error;
mod explain;
mod features;
mod lexical;
mod options;
mod order;
mod query;
mod ranker;
mod score;
mod shading;

pub use error::RankError;
pub use explain::{Cell, Explanation, FeaturePart, Part, Row, TermPart};
pub use features::Examined;
pub use lexical::LEXICAL_FEATURES;
pub use options::{Options, Parts, Variant};
pub use order::ranking;
pub use query::{GroupUse, MAX_QUERY_WORDS, QueryEncoder, QueryTerm, RankQuery};
pub use ranker::Ranker;
pub use score::{Candidate, RankWorkspace, Scored, Timing};
pub use shading::{ShadedWord, Shading};
