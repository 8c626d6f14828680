//! ColBERT: *Efficient and Effective Passage Search via Contextualized Late Interaction over BERT* (Khattab and
//! Zaharia, SIGIR 2020).
//!
//! ```text
//! E_q    = normalise(P · BERT([CLS] [Q] q_1 … q_n [SEP] [MASK] … [MASK]))
//! E_d    = normalise(P · BERT([CLS] [D] d_1 … d_m [SEP]))        without punctuation
//! f(q,d) = Σ_i max_j E_q,i · E_d,j                               MaxSim
//! ```
//!
//! `[MASK]` fills a query up to 32 tokens: they are compared, but nothing attends to them. `[Q]` and `[D]` are BERT's
//! `[unused0]` and `[unused1]`.

use super::directory::Tensors;
use super::layers::{directions, learned};
use super::options::BaselineConfig;
use crate::batch::LatePairs;
use crate::model::{Parameter, Place};
use burn::tensor::{Tensor, backend::Backend};

/// Added to the similarity of what is no token: no maximum.
const NO_TOKEN: f32 = -1e4;

/// The network behind the encoder, whose last layer it reads: hidden states are `[sequence · token, dim]`.
#[derive(Debug, Clone)]
pub(super) struct Colbert<B: Backend> {
    /// P, `[dim, 128]`.
    projection: Tensor<B, 2>,
    place: Place<B>,
}

/// What it has to learn beside the encoder.
pub(super) fn shapes(config: &BaselineConfig, dim: usize) -> Vec<(String, [usize; 2])> {
    vec![("projection".to_owned(), [dim, config.projection])]
}

impl<B: Backend> Colbert<B> {
    pub(super) fn upload(tensors: &Tensors, place: &Place<B>) -> Self {
        Self {
            projection: tensors.upload("projection", place),
            place: place.clone(),
        }
    }

    /// E_d, `[pair, token, 128]`, which no query changes.
    pub(super) fn documents(&self, pairs: &LatePairs, hidden: Tensor<B, 2>) -> Tensor<B, 3> {
        let vectors = hidden.matmul(self.projection.clone());
        directions(pairs.tokens.pick(&vectors, &self.place))
    }

    /// `[pair, 1]`, of the queries' hidden states and E_d.
    pub(super) fn scores(
        &self,
        pairs: &LatePairs,
        hidden: Tensor<B, 2>,
        document: Tensor<B, 3>,
    ) -> Tensor<B, 2> {
        let place = &self.place;
        let (queries, length) = (pairs.queries.tokens.len(), pairs.queries.length);
        let query = hidden.matmul(self.projection.clone());
        let dim = query.dims()[1];
        let query = directions(query.reshape([queries, length, dim]));
        let [count, tokens, _] = document.dims();
        let candidates = count / queries;
        let document = document.reshape([queries, candidates * tokens, dim]);
        let similarities = query.matmul(document.swap_dims(1, 2));
        let absent = pairs.tokens.valid(place).neg().add_scalar(1.0);
        let absent = absent.mul_scalar(NO_TOKEN);
        let similarities = similarities + absent.reshape([queries, 1, candidates * tokens]);
        let best = similarities
            .reshape([queries, length, candidates, tokens])
            .max_dim(3)
            .reshape([queries, length, candidates]);
        let terms = place.tensor(pairs.terms.clone(), [queries, length, 1]);
        (best * terms).sum_dim(1).reshape([count, 1])
    }

    pub(super) fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        learned("projection", true, &mut self.projection, show);
    }
}
