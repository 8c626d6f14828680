//! BERT as a cross-encoder: *Passage Re-ranking with BERT* (Nogueira and Cho, 2019), with long documents as *CEDR* has
//! them (MacAvaney, Yates, Cohan, Goharian, SIGIR 2019).
//!
//! ```text
//! [CLS] query [SEP] piece [SEP]                                  token types 0 and 1; a sequence for each piece of the document
//! CLS    = mean of the pieces' [CLS] vectors
//! f(q,d) = wᵀ CLS + b                                            or, with a pooler, wᵀ tanh(P·CLS + p) + b
//! ```

use super::directory::Tensors;
use super::layers::{Affine, affine};
use super::options::BaselineConfig;
use crate::batch::JoinedPieces;
use crate::model::{Parameter, Place};
use burn::tensor::{Tensor, backend::Backend};

/// The network behind the encoder.
#[derive(Debug, Clone)]
pub(super) struct Bert<B: Backend> {
    pooler: Option<Affine<B>>,
    combine: Affine<B>,
    place: Place<B>,
}

/// What it has to learn beside the encoder.
pub(super) fn shapes(config: &BaselineConfig, dim: usize) -> Vec<(String, [usize; 2])> {
    let pooler = config.pooler.then(|| affine("pooler", dim, dim));
    let pooler = pooler.into_iter().flatten();
    pooler.chain(affine("combine", dim, 1)).collect()
}

impl<B: Backend> Bert<B> {
    pub(super) fn upload(config: &BaselineConfig, tensors: &Tensors, place: &Place<B>) -> Self {
        Self {
            pooler: config
                .pooler
                .then(|| Affine::upload("pooler", tensors, place)),
            combine: Affine::upload("combine", tensors, place),
            place: place.clone(),
        }
    }

    /// CLS, `[pair, dim]`, of the last layer's hidden states.
    pub(super) fn features(&self, pairs: &JoinedPieces, last: &Tensor<B, 2>) -> Tensor<B, 2> {
        pairs.joined.mean_cls(last, &self.place)
    }

    /// `[pair, 1]`.
    pub(super) fn scores(&self, cls: Tensor<B, 2>) -> Tensor<B, 2> {
        let pooled = match &self.pooler {
            Some(pooler) => pooler.apply(cls).tanh(),
            None => cls,
        };
        self.combine.apply(pooled)
    }

    pub(super) fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        if let Some(pooler) = &mut self.pooler {
            pooler.visit(show);
        }
        self.combine.visit(show);
    }
}
