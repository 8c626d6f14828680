//! Operations to re-rank a list of candidates.
//!
//! Two kinds of numbers are told apart. **Traced** ones are in the unit of the paper's table, whose
//! authors ran a profiler over their PyTorch models: multiply-adds. We derive what can be derived and
//! say what cannot:
//!
//! - BECR: the four figures of the paper are proportional to candidates · m · n · L, at 16.24 operations
//!   for a query term, a document token and a layer. That constant is read off the table.
//! - BECR⁻ adds BERT for the n query words: 12·p² multiply-adds a word and transformer layer.
//! - BERT reads query and document together, in even pieces of at most 512 tokens: 12·p² a token and
//!   layer, and 2·s·p more for attention over the s tokens of a piece.
//!
//! **Counted** ones are those of our engine: XOR and population count of 64-bit words, for each vector of
//! a token group and each document token; one cosine for each of these; one addition for each of K
//! kernels, each term and each token, the kernels' values being tabulated.

use super::storage::Encoding;
use serde::Serialize;

/// The re-ranking of one query. The default is the paper's, with a query of three words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Workload {
    /// Candidates to re-rank.
    pub candidates: u64,
    /// m, tokens per document.
    pub tokens: f64,
    /// n, words of the query.
    pub query_words: u64,
    /// K, kernels.
    pub kernels: u64,
    /// Largest distance between the words of a pair.
    pub window: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            candidates: 150,
            tokens: 857.0,
            query_words: 3,
            kernels: 11,
            window: 3,
        }
    }
}

/// Operations for one query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Operations {
    /// n, words of the query.
    pub query_words: u64,
    /// Vectors of token groups that are compared with each document token, at each layer.
    pub group_vectors: u64,
    /// BECR at the stored layers, in the unit of the paper.
    pub becr: f64,
    /// BECR at all layers, in the unit of the paper.
    pub becr_all_layers: f64,
    /// BECR⁻ at the stored layers: the whole query through BERT.
    pub becr_minus: f64,
    /// BECR⁻ at all layers.
    pub becr_minus_all_layers: f64,
    /// BERT over query and documents.
    pub bert: f64,
    /// 64-bit words XORed and counted by our engine.
    pub hamming_words: f64,
    /// Cosines looked up and weighed by our engine.
    pub cosines: f64,
    /// Kernel values added up by our engine.
    pub kernel_additions: f64,
    /// Bytes of footprints read.
    pub bytes_read: f64,
}

/// The paper's operations for a query term, a document token and a layer, read off its table.
const TRACED_PER_CELL: f64 = 16.24;
/// What BERT reads at once, special tokens included.
const BERT_TOKENS: f64 = 512.0;

impl Operations {
    /// Operations for one query of `workload`.
    pub fn new(workload: &Workload, encoding: &Encoding) -> Self {
        let tokens = workload.candidates as f64 * workload.tokens;
        let terms = workload.query_words as f64;
        let (layers, stored) = (encoding.layers as f64, encoding.stored_layers as f64);
        let becr = |layers: f64| TRACED_PER_CELL * tokens * terms * layers;
        let query = terms * per_token(encoding);
        let vectors = group_vectors(workload.query_words, workload.window);
        let compared = tokens * stored * vectors as f64;
        Self {
            query_words: workload.query_words,
            group_vectors: vectors,
            becr: becr(stored),
            becr_all_layers: becr(layers),
            becr_minus: becr(stored) + query,
            becr_minus_all_layers: becr(layers) + query,
            bert: bert(workload, encoding),
            hamming_words: compared * encoding.bits.div_ceil(64) as f64,
            cosines: compared,
            kernel_additions: tokens * stored * terms * workload.kernels as f64,
            bytes_read: tokens * stored * encoding.bits as f64 / 8.0,
        }
    }
}

/// A word has one vector, a pair two.
fn group_vectors(words: u64, window: u64) -> u64 {
    let pairs: u64 = (1..=window.min(words))
        .map(|distance| words - distance)
        .sum();
    words + 2 * pairs
}

/// Multiply-adds of BERT's matrices for one token: attention has 4·p² weights a layer, the feed-forward
/// part 8·p².
fn per_token(encoding: &Encoding) -> f64 {
    let dim = encoding.dim as f64;
    transformer_layers(encoding) * 12.0 * dim * dim
}

/// The embeddings count as a layer but are only looked up.
fn transformer_layers(encoding: &Encoding) -> f64 {
    encoding.layers.saturating_sub(1) as f64
}

/// `[CLS] query [SEP] piece [SEP]` for each piece of each candidate.
fn bert(workload: &Workload, encoding: &Encoding) -> f64 {
    let extra = workload.query_words as f64 + 3.0;
    let pieces = (workload.tokens / (BERT_TOKENS - extra).max(1.0)).ceil();
    let length = workload.tokens / pieces.max(1.0) + extra;
    let attention = transformer_layers(encoding) * 2.0 * length * encoding.dim as f64;
    workload.candidates as f64 * pieces * length * (per_token(encoding) + attention)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(query_words: u64) -> Operations {
        let workload = Workload {
            query_words,
            ..Workload::default()
        };
        Operations::new(&workload, &Encoding::default())
    }

    #[test]
    fn the_papers_table() {
        let (three, five) = (operations(3), operations(5));
        let millions = |x: f64| (x / 1e6).round();
        assert_eq!(millions(three.becr), 31.0);
        assert_eq!(millions(five.becr), 52.0);
        assert_eq!(millions(three.becr_all_layers), 81.0);
        assert_eq!(millions(five.becr_all_layers), 136.0);
        let near = |ours: f64, paper: f64, share: f64| (ours / paper - 1.0).abs() < share;
        assert!(near(three.becr_minus, 287e6, 0.005));
        assert!(near(five.becr_minus, 478e6, 0.005));
        assert!(near(three.becr_minus_all_layers, 337e6, 0.005));
        assert!(near(five.becr_minus_all_layers, 562e6, 0.005));
        assert!(near(three.bert, 12.2e12, 0.01));
        assert!(near(five.bert, 12.2e12, 0.01));
    }

    #[test]
    fn our_engine() {
        let (three, five) = (operations(3), operations(5));
        assert_eq!((three.group_vectors, five.group_vectors), (9, 23));
        assert_eq!(three.bytes_read, 20_568_000.0);
        assert_eq!(three.hamming_words, 150.0 * 857.0 * 5.0 * 9.0 * 4.0);
        assert_eq!(three.kernel_additions, 150.0 * 857.0 * 5.0 * 3.0 * 11.0);
    }

    #[test]
    fn group_vectors_of_any_query() {
        assert_eq!([0, 1, 2].map(|words| group_vectors(words, 3)), [0, 1, 4]);
        assert_eq!(group_vectors(5, 1), 13);
        assert_eq!(group_vectors(5, 0), 5);
    }
}
