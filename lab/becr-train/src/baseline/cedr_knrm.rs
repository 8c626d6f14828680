//! CEDR-KNRM: *CEDR: Contextualized Embeddings for Document Ranking* (MacAvaney, Yates, Cohan, Goharian, SIGIR 2019).
//!
//! ```text
//! [CLS] query [SEP] piece [SEP]                                  query and document see each other
//! S_ij^l = cos(h^l(q_i), h^l(d_j))                               a similarity matrix for every layer, the embeddings too
//! φ      = for every layer, KNRM's soft-TF features of S^l       eleven kernels, one of them for exact matches
//! f(q,d) = wᵀ [φ; CLS] + b
//! ```
//!
//! Of a document in several pieces, the vectors of the query's tokens and of `[CLS]` are averaged over the pieces, those
//! of the document's tokens are put one after the other. Padding counts for nothing; in the authors' code it has
//! similarity 0, which the kernels around 0 see.

use super::directory::Tensors;
use super::kernels::{exact_and_soft, soft_counts};
use super::layers::{Affine, affine, cosines, directions};
use crate::batch::JoinedPieces;
use crate::model::{Parameter, Place};
use becr_model::Kernels;
use burn::tensor::{Tensor, backend::Backend};

/// Keeps the logarithm of a count of nothing finite, as in the authors' code.
const EPSILON: f32 = 1e-6;

/// The network behind the encoder.
#[derive(Debug, Clone)]
pub(super) struct CedrKnrm<B: Backend> {
    kernels: Kernels,
    combine: Affine<B>,
    place: Place<B>,
}

/// What it has to learn beside the encoder, which has so many layers.
pub(super) fn shapes(dim: usize, layers: usize) -> Vec<(String, [usize; 2])> {
    // The embeddings are a layer too.
    let features = (layers + 1) * exact_and_soft().mu.len();
    affine("combine", features + dim, 1).to_vec()
}

impl<B: Backend> CedrKnrm<B> {
    pub(super) fn upload(tensors: &Tensors, place: &Place<B>) -> Self {
        Self {
            kernels: Kernels {
                epsilon: EPSILON,
                ..exact_and_soft()
            },
            combine: Affine::upload("combine", tensors, place),
            place: place.clone(),
        }
    }

    /// `[φ; CLS]`, `[pair, feature]`, of the hidden states of every layer.
    pub(super) fn features(&self, pairs: &JoinedPieces, hidden: &[Tensor<B, 2>]) -> Tensor<B, 2> {
        let place = &self.place;
        let (query, document) = (&pairs.terms, &pairs.tokens);
        let tokens = document.valid(place);
        let count = tokens.dims()[0];
        // [pair, piece, term]: a term's share in its mean over the pieces.
        let shares: Tensor<B, 3> = query
            .valid(place)
            .reshape([count, pairs.pieces, query.length]);
        let terms = shares.clone().sum_dim(1).reshape([count, query.length]);
        let mut features = Vec::new();
        for layer in hidden {
            let dim = layer.dims()[1];
            let vectors =
                query
                    .pick(layer, place)
                    .reshape([count, pairs.pieces, query.length, dim]);
            let vectors = (vectors * shares.clone().unsqueeze_dim(3)).sum_dim(1);
            let similarities = cosines(
                vectors.reshape([count, query.length, dim]),
                directions(document.pick(layer, place)),
            );
            let counts = soft_counts(&similarities, &terms, &tokens, &self.kernels, place);
            features.push(counts);
        }
        features.push(pairs.joined.mean_cls(&hidden[hidden.len() - 1], place));
        Tensor::cat(features, 1)
    }

    /// `[pair, 1]`.
    pub(super) fn scores(&self, features: Tensor<B, 2>) -> Tensor<B, 2> {
        self.combine.apply(features)
    }

    pub(super) fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        self.combine.visit(show);
    }
}
