//! What can go wrong while ranking.

use becr_store::{Shape, StoreError};

/// Why a query could not be read or documents could not be scored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The scoring engine refused, for example a head with too many kernels.
    #[error("the scoring engine: {0}")]
    Engine(#[from] becr_footprint::Error),
    /// The head has weights for another number of layers than the index keeps.
    #[error(
        "the head has weights for {head} layers, the index keeps {index}; use a head trained for this index's model"
    )]
    Layers {
        /// Rows of α in the head.
        head: usize,
        /// Layers of the index.
        index: usize,
    },
    /// The store's records are not those that the ranker was made for.
    #[error(
        "the ranker was made for {} layers of {} bits and vectors of {} words, the store has {} layers of {} bits and \
         vectors of {} words; make one for this store",
        ranker.layers, ranker.bits, ranker.vector, store.layers, store.bits, store.vector
    )]
    Shape {
        /// What the ranker was made for.
        ranker: Shape,
        /// What the store has.
        store: Shape,
    },
    /// A record is not of the index's shape.
    #[error(
        "a record has not the layers, bits and vectors of its index; becr verify names the documents"
    )]
    Record,
    /// Relative footprints of several layers, or of vectors without dimensions.
    #[error(
        "footprints that are relative need one layer and a vector, not {layers} layers and {words} words"
    )]
    Relative {
        /// Layers of the index.
        layers: u16,
        /// 32-bit words of a packed vector.
        words: u16,
    },
    /// The head was trained on another encoder than the one that made the index.
    #[error(
        "the head was trained for encoder {head}, the index was made with encoder {index}; use the head of the \
         index's model, or build the index again with the head's"
    )]
    OtherEncoder {
        /// The encoder that the head names.
        head: String,
        /// The encoder of the index.
        index: String,
    },
    /// The head was trained with a similarity that footprints do not give.
    #[error(
        "the head was trained with similarity \"cosine_of_sum\", the cosine of a term's composed vector, which cannot be \
         told from footprints; train one with similarity = \"sum_of_cosines\""
    )]
    Similarity,
    /// The head names a lexical feature that is not computed.
    #[error("the head's lexical feature {name:?} is not known; there are {}", known.join(", "))]
    UnknownFeature {
        /// The name in the head.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// A candidate is not, or no longer, in the store.
    #[error(
        "there is no document of number {0}; look the numbers up in the snapshot that is ranked with"
    )]
    NoDocument(u64),
    /// A place in the list of candidates that is not there.
    #[error("candidate {asked} of {candidates}")]
    NoCandidate {
        /// The place asked for, from 0.
        asked: usize,
        /// How many candidates there are.
        candidates: usize,
    },
    /// A kept layer that is not there.
    #[error("kept layer {asked} of {layers}, counting from 0")]
    NoLayer {
        /// The layer asked for.
        asked: usize,
        /// How many there are.
        layers: usize,
    },
    /// Token footprints were asked for where only documents' vectors are kept.
    #[error(
        "this index keeps one vector of each document and no footprints of its tokens; build one without --vectors-only"
    )]
    VectorsOnly,
    /// A mixer for vectors of another length, or an index that keeps no vectors.
    #[error(
        "the mixer takes vectors of {mixer} dimensions and hyperplanes of {bits} bits, the index keeps {index} dimensions and \
         {index_bits} bits; use the mixer of the index's model"
    )]
    Mixer {
        /// Dimensions of the hyperplanes.
        mixer: usize,
        /// Their number.
        bits: usize,
        /// Dimensions of the vectors that token groups keep; 0 if they keep none.
        index: usize,
        /// Bits of a footprint.
        index_bits: usize,
    },
    /// An encoded query needs the encoder and none was given.
    #[error("an encoded query goes through the encoder; give the model the index was made with")]
    NoEncoder,
    /// A composed query was asked of an index that has no token groups.
    #[error(
        "the index was built for encoded queries alone and has no token groups to compose a query of; have the query encoded, \
         or build the index for composed queries too"
    )]
    EncodedOnly,
    /// Options that contradict each other.
    #[error("{0}")]
    Options(&'static str),
    /// The encoder could not read the query.
    #[error("the encoder could not read the query: {0}")]
    Encoder(Box<dyn std::error::Error + Send + Sync>),
    /// The nodes of a cluster answered something else than scores.
    #[error(
        "the cluster's scores cannot be read; its module is of another version: load the one of this program, or leave it out"
    )]
    Remote,
    /// The document's text was not kept, or is not the text its footprints are of.
    #[error("document {number}: {reason}")]
    Text {
        /// Number of the document.
        number: u64,
        /// What is wrong.
        reason: &'static str,
    },
}
