//! KNRM: *End-to-End Neural Ad-hoc Ranking with Kernel Pooling* (Xiong, Dai, Callan, Liu, Power, SIGIR 2017).
//!
//! ```text
//! M_ij   = cos(v(q_i), v(d_j))                                  translation layer
//! K_k(M_i) = Σ_j exp(−(M_ij − μ_k)² / 2σ_k²)                     kernels
//! φ(M)   = Σ_i log K(M_i)                                        soft-TF features
//! f(q,d) = tanh(wᵀφ(M) + b)                                      learning to rank
//! ```
//!
//! As in the authors' code, φ is multiplied by 0.01, or tanh would be flat from the beginning.

use super::directory::Tensors;
use super::kernels::{exact_and_soft, soft_counts};
use super::layers::{Affine, affine, cosines, directions, learned, with_exact};
use super::options::BaselineConfig;
use crate::batch::{WordPairs, WordRows};
use crate::model::{Parameter, Place};
use becr_model::Kernels;
use burn::tensor::{Bool, Tensor, TensorData, backend::Backend};

/// φ is scaled by this.
pub(super) const SCALE: f64 = 0.01;

/// The network.
#[derive(Debug, Clone)]
pub(super) struct Knrm<B: Backend> {
    embedding: Embedding<B>,
    kernels: Kernels,
    combine: Affine<B>,
    place: Place<B>,
}

/// A table of word vectors.
#[derive(Debug, Clone)]
pub(super) struct Embedding<B: Backend> {
    /// `[1 + word, dim]`; the first row is padding.
    vectors: Tensor<B, 2>,
    fixed: bool,
}

/// What it has to learn.
pub(super) fn shapes(words: [usize; 2]) -> Vec<(String, [usize; 2])> {
    let mut shapes = vec![("vectors".to_owned(), words)];
    shapes.extend(affine("combine", exact_and_soft().mu.len(), 1));
    shapes
}

impl<B: Backend> Knrm<B> {
    pub(super) fn upload(config: &BaselineConfig, tensors: &Tensors, place: &Place<B>) -> Self {
        Self {
            embedding: Embedding::upload(config, tensors, place),
            kernels: exact_and_soft(),
            combine: Affine::upload("combine", tensors, place),
            place: place.clone(),
        }
    }

    /// The directions of the documents' word vectors, which no query changes.
    pub(super) fn documents(&self, pairs: &WordPairs) -> Tensor<B, 3> {
        directions(self.embedding.embed(&pairs.documents, &self.place))
    }

    /// φ, `[pair, kernel]`.
    pub(super) fn features(&self, pairs: &WordPairs, documents: Tensor<B, 3>) -> Tensor<B, 2> {
        let place = &self.place;
        let query = self.embedding.embed(&pairs.queries, place);
        let translations = cosines(query.clone(), documents);
        let translations = with_exact(translations, pairs.same(1, place), query);
        let terms = pairs.queries.valid(place);
        let tokens = pairs.documents.valid(place);
        soft_counts(&translations, &terms, &tokens, &self.kernels, place)
    }

    /// `[pair, 1]`.
    pub(super) fn scores(&self, features: Tensor<B, 2>) -> Tensor<B, 2> {
        self.combine.apply(features.mul_scalar(SCALE)).tanh()
    }

    pub(super) fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        self.embedding.visit(show);
        self.combine.visit(show);
    }
}

impl<B: Backend> Embedding<B> {
    pub(super) fn upload(config: &BaselineConfig, tensors: &Tensors, place: &Place<B>) -> Self {
        Self {
            vectors: tensors.upload("vectors", place),
            fixed: config.keeps_vectors(),
        }
    }

    /// `[row, word, dim]`: the vectors of words, 0 for padding.
    pub(super) fn embed(&self, words: &WordRows, place: &Place<B>) -> Tensor<B, 3> {
        let rows = words.ids.len() / words.length;
        let dim = self.vectors.dims()[1];
        let vectors = self
            .vectors
            .clone()
            .select(0, place.indices(words.ids.clone()));
        vectors.reshape([rows, words.length, dim]) * words.valid(place).unsqueeze_dim(2)
    }

    pub(super) fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        if !self.fixed {
            learned("vectors", false, &mut self.vectors, show);
        }
    }
}

impl WordPairs {
    /// `[pair, term, token]`: whether the `words` words that begin at a query's and at a document's word are the same.
    pub(super) fn same<B: Backend>(&self, words: usize, place: &Place<B>) -> Tensor<B, 3, Bool> {
        let (terms, tokens) = (self.queries.length, self.documents.length);
        let pairs = self.queries.ids.len() / terms;
        let mut same = Vec::with_capacity(pairs * terms * tokens);
        let rows = self.queries.ids.chunks_exact(terms);
        for (query, document) in rows.zip(self.documents.ids.chunks_exact(tokens)) {
            // Behind the end are zeros, as in the convolution.
            let word = |row: &[i32], at: usize| row.get(at).copied().unwrap_or(0);
            for term in 0..terms {
                same.extend((0..tokens).map(|token| {
                    (0..words).all(|by| word(query, term + by) == word(document, token + by))
                }));
            }
        }
        let same = TensorData::new(same, [pairs, terms, tokens]);
        Tensor::from_data(same, &place.device)
    }
}

impl WordRows {
    /// `[row, word]`: 1 for a word, 0 for padding.
    pub(super) fn valid<B: Backend>(&self, place: &Place<B>) -> Tensor<B, 2> {
        let rows = self.ids.len() / self.length;
        place.tensor(self.valid.clone(), [rows, self.length])
    }
}
