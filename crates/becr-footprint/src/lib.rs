//! The scoring engine: LSH footprints, composed similarity, kernel pooling.
//!
//! A token vector becomes a footprint of `b` sign bits ([`lsh`]). A document's footprints lie in tiles
//! ([`DocumentLayout`]), a query is a set of token groups that compose its terms ([`CompositeQuery`]). The
//! [`Engine`] compares them (`cos(π·h/b)` from the Hamming distance `h`, weighted and added per term) and pools the
//! similarities with RBF [`Kernels`]: the logarithms of the kernels' sums are what a ranker weighs and adds up. Footprints
//! may be [`Relative`] to a vector of the whole document, which takes over a third off their error. The project's
//! `docs/engine.md` explains with numbers how it is done.
//!
//! ```
//! use becr_footprint::{
//!     CompositeQuery, DocumentTokens, DocumentLayout, Engine, GroupWeight, Kernels, TiledDocument, Workspace,
//!     lsh::{HyperplaneKind, Hyperplanes},
//! };
//!
//! // One layer, vectors of four dimensions, footprints of 32 bits.
//! let planes = Hyperplanes::generate(4, 32, HyperplaneKind::Orthogonal, 7)?;
//! let hash = |vectors: &[[f32; 4]]| -> Result<Vec<u32>, becr_footprint::Error> {
//!     let mut footprints = vec![0; vectors.len()];
//!     for (vector, footprint) in vectors.iter().zip(footprints.chunks_mut(1)) {
//!         planes.footprint(vector, footprint)?;
//!     }
//!     Ok(footprints)
//! };
//!
//! // A query of one term, composed of a uni-gram and a word pair.
//! let groups = hash(&[[1.0, 0.2, 0.0, 0.1], [0.9, 0.4, 0.0, 0.3]])?;
//! let term = vec![GroupWeight { group: 0, weight: 0.2 }, GroupWeight { group: 1, weight: 0.8 }];
//! let query = CompositeQuery::from_footprints(32, 1, &groups, vec![term])?;
//!
//! // A document of three tokens, in tiles.
//! let rows = hash(&[[1.0, 0.3, 0.1, 0.2], [0.0, -1.0, 0.4, 0.0], [0.0, 0.1, -1.0, 0.5]])?;
//! let layout = DocumentLayout::new(1, 3, 32)?;
//! let mut tiles = vec![0; layout.bytes()];
//! layout.tile(&rows, &mut tiles)?;
//! let document = DocumentTokens::Footprints(TiledDocument::new(layout, &tiles)?);
//!
//! let (engine, mut work) = (Engine::new()?, Workspace::new());
//! let mut similarities = [0.0; 3];
//! engine.similarities(&query, &document, &mut work, &mut similarities)?;
//! assert!(similarities[0] > similarities[1] && similarities[0] > similarities[2]);
//!
//! let (kernels, mut log_sums) = (Kernels::paper(), [0.0; 11]);
//! engine.log_sums(&query, &kernels, &document, None, &mut work, &mut log_sums)?;
//! let score: f32 = log_sums.iter().map(|log_sum| 0.1 * log_sum).sum();
//! # assert!(score.is_finite());
//! # Ok::<(), becr_footprint::Error>(())
//! ```

mod engine;
mod error;
#[cfg(test)]
mod example;
mod kernels;
mod lanes;
pub mod lsh;
mod moments;
mod packed;
mod pool;
mod prefetch;
mod prepared;
mod query;
mod raw;
mod relative;
pub mod signs;
mod simd;
mod tile;
mod workspace;

pub use engine::{DocumentTokens, Engine};
pub use error::Error;
pub use kernels::{Kernels, MAX_KERNELS};
pub use packed::{pack, packed_words, unpack};
pub use query::{CompositeQuery, GroupWeight};
pub use raw::VectorDocument;
pub use relative::{Relation, Relative};
pub use simd::Implementation;
pub use tile::{DocumentLayout, TiledDocument};
pub use workspace::Workspace;
