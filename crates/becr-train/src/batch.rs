//! The numbers of a few queries and their candidates as plain lists: what the network is given.
//!
//! Every query has the same number of candidates, the relevant one first; where there are fewer, `present` says so.
//! Indices go `[query][candidate]…`, query by query.

use becr_encoder::Centre;

/// A batch.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    /// The queries, to name them in errors.
    pub(crate) ids: Vec<String>,
    /// Candidates per query.
    pub(crate) candidates: usize,
    /// `[query][candidate]`: whether there is a document.
    pub(crate) present: Vec<bool>,
    /// `[query][candidate][feature]`, standardised; 0 where missing.
    pub(crate) features: Vec<f32>,
    /// `[query][candidate]`: what the score has besides and nothing learns, γ·CLS as records have it; empty without γ.
    pub(crate) fixed: Vec<f32>,
    /// What the deep part is computed from.
    pub(crate) deep: Deep,
}

/// What the deep part is computed from: the less is learned, the more is known beforehand.
#[derive(Debug, Clone)]
pub(crate) enum Deep {
    /// Kernels are fixed.
    Pooled(Pooled),
    /// The encoder is fixed.
    Histograms(Histograms),
    /// Nothing is fixed: the encoder runs.
    Texts(Box<Texts>),
    /// Query and document in one sequence each, for the vanilla ranker.
    Joined(Sequences),
}

/// Log-sums of the kernels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pooled {
    /// `[query][candidate][layer][kernel]`, summed over the terms with their weights.
    pub(crate) log_sums: Vec<f32>,
    /// `[query][candidate]`: similarity of the query and the document's mean vector.
    pub(crate) document_vector: Vec<f32>,
}

/// Histograms of the similarities of terms and tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histograms {
    /// `[row][layer][bin]`: a row is a term of a query at a candidate.
    pub(crate) bins: Vec<f32>,
    /// `[row]`: the term's weight.
    pub(crate) weights: Vec<f32>,
    /// `[row]`: which query and candidate, as an index into `[query][candidate]`.
    pub(crate) pairs: Vec<i32>,
    /// `[query][candidate]`: similarity of the query and the document's mean vector.
    pub(crate) document_vector: Vec<f32>,
}

/// How token groups make the terms of queries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// Terms per query; those that a query lacks have weight 0.
    pub(crate) terms: usize,
    /// Token groups per query; those that a query lacks are in no term.
    pub(crate) groups: usize,
    /// `[query][term][group][kind]`: the group's share in the term as a uni-gram (kind 0) or a pair at a distance.
    pub(crate) shares: Vec<f32>,
    /// `[query][term]`: ω.
    pub(crate) weights: Vec<f32>,
}

/// Sequences for the encoder.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    /// How the groups make terms.
    pub(crate) terms: Terms,
    /// The sequences that hold the token groups: words and pairs, or whole queries.
    pub(crate) groups: Sequences,
    /// Which centre they are seen from.
    pub(crate) centre: Centre,
    /// Pieces per token group; those that a group lacks have weight 0.
    pub(crate) pieces: usize,
    /// `[query][group][piece]`: where the piece lies in `groups`.
    pub(crate) places: Vec<i32>,
    /// `[query][group][piece]`: its weight in the mean.
    pub(crate) piece_weights: Vec<f32>,
    /// `[query][candidate]`: the documents.
    pub(crate) documents: Sequences,
    /// `[query][candidate][token]`: 1 for a WordPiece, 0 for `[CLS]`, `[SEP]` and padding.
    pub(crate) valid: Vec<f32>,
    /// Seed of the noise on similarities; `None` when there is none.
    pub(crate) noise: Option<u64>,
}

/// Sequences of one length, padded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequences {
    /// Tokens of every sequence, padding included.
    pub(crate) length: usize,
    /// `[sequence][token]`.
    pub(crate) ids: Vec<i32>,
    /// `[sequence]`: tokens without padding.
    pub(crate) tokens: Vec<usize>,
}

impl Batch {
    /// How many queries there are.
    pub(crate) fn queries(&self) -> usize {
        self.ids.len()
    }
}
