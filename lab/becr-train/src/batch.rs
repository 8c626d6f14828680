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
    /// Queries joined with pieces of documents, for the vanilla ranker.
    Joined(Joined),
    /// Words of queries and documents, for KNRM and CONV-KNRM.
    Words(Box<WordPairs>),
    /// Queries joined with pieces of documents, for BERT and CEDR-KNRM.
    Pieces(Box<JoinedPieces>),
    /// Queries and documents apart, for ColBERT.
    Late(Box<LatePairs>),
    /// `[query][candidate][feature]`: what the last layers of KNRM, BERT and CEDR-KNRM read, where nothing before them
    /// is learned; 0 where there is no document.
    Features(Vec<f32>),
}

/// Words by their rows in a table of vectors.
#[derive(Debug, Clone, Default)]
pub(crate) struct WordRows {
    /// Words of every row, padding included.
    pub(crate) length: usize,
    /// `[row][word]`.
    pub(crate) ids: Vec<i32>,
    /// `[row][word]`: 1 for a word, 0 for padding.
    pub(crate) valid: Vec<f32>,
}

/// A query beside each of its documents, in words.
#[derive(Debug, Clone, Default)]
pub(crate) struct WordPairs {
    /// `[query][candidate]`: the query, again for each document.
    pub(crate) queries: WordRows,
    /// `[query][candidate]`: the document.
    pub(crate) documents: WordRows,
}

/// Rows of an encoder's output, picked out of all sequences.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    /// Tokens of every row, padding included.
    pub(crate) length: usize,
    /// `[row][token]`: where the token's vector lies among all of all sequences.
    pub(crate) places: Vec<i32>,
    /// `[row][token]`: 1 for a token, 0 for padding.
    pub(crate) valid: Vec<f32>,
}

/// `[CLS] query [SEP] piece [SEP]`, once for every piece of a document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Joined {
    pub(crate) sequences: Sequences,
    /// `[query · candidate][sequence]`: the sequence's share in what is averaged over a document's pieces.
    pub(crate) shares: Vec<f32>,
}

/// The same, and where its tokens are.
#[derive(Debug, Clone, Default)]
pub(crate) struct JoinedPieces {
    pub(crate) joined: Joined,
    /// Pieces of the longest document.
    pub(crate) pieces: usize,
    /// `[query · candidate][piece]`: the query's tokens in each piece.
    pub(crate) terms: Tokens,
    /// `[query · candidate]`: the document's tokens, piece after piece.
    pub(crate) tokens: Tokens,
}

/// Queries and documents in sequences of their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatePairs {
    /// `[query]`: all of one length. `tokens` are those that others attend to; those behind them are compared too.
    pub(crate) queries: Sequences,
    /// `[query][token]`: 1 where a token is compared.
    pub(crate) terms: Vec<f32>,
    /// Pieces of documents.
    pub(crate) documents: Sequences,
    /// `[query · candidate]`: the documents' tokens, piece after piece.
    pub(crate) tokens: Tokens,
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
    /// `[query][candidate]`: the documents; where `split` says so, their pieces one after the other.
    pub(crate) documents: Sequences,
    /// Where the tokens of each document are, if some are longer than a sequence.
    pub(crate) split: Option<Split>,
    /// `[query][candidate][token]`: 1 for a WordPiece, 0 for `[CLS]`, `[SEP]` and padding.
    pub(crate) valid: Vec<f32>,
    /// Seed of the noise on similarities; `None` when there is none.
    pub(crate) noise: Option<u64>,
}

/// Documents in pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Split {
    /// `[query · candidate][sequence]`: the sequence's share in the mean of a document's `[CLS]` vectors.
    pub(crate) shares: Vec<f32>,
    /// `[query · candidate]`: the document's tokens.
    pub(crate) tokens: Tokens,
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
    /// `[sequence]`: the first token of type 1; empty where all have type 0.
    pub(crate) second: Vec<usize>,
    /// `[layer][sequence][token][dim]`: what a frozen encoder has made of them; empty where the network's own is to run.
    pub(crate) states: Vec<Vec<f32>>,
}

impl Batch {
    /// How many queries there are.
    pub(crate) fn queries(&self) -> usize {
        self.ids.len()
    }
}
