//! From a batch to scores.

use super::head::{HeadTensors, Similarities};
use super::parameter::{Learned, Parameter};
use super::place::Place;
use crate::batch::{Batch, Deep, Groups};
use crate::learn::Scores;
use burn::tensor::{Tensor, backend::Backend};

/// Everything that scores.
#[derive(Debug, Clone)]
pub(crate) struct Network<B: Backend> {
    pub(crate) head: HeadTensors<B>,
    pub(crate) place: Place<B>,
}

impl<B: Backend> Scores<B> for Network<B> {
    fn scores(&self, batch: &Batch) -> Tensor<B, 2> {
        let (head, place) = (&self.head, &self.place);
        let (queries, candidates) = (batch.queries(), batch.candidates);
        let pairs = queries * candidates;
        let deep = match &batch.deep {
            Deep::Pooled(pooled) => head.pooled(pooled, place),
            Deep::Histograms(histograms) => head.histograms(histograms, place),
            Deep::Groups(groups) => {
                head.similarities(self.composed(groups, queries, candidates), candidates)
            }
        };
        let features = batch.features.len() / pairs;
        let score = match features {
            0 => deep,
            _ => deep + head.features(place.tensor(batch.features.clone(), [pairs, features])),
        };
        score.reshape([queries, candidates])
    }
}

impl<B: Backend> Network<B> {
    /// Composes the similarities of token groups.
    fn composed(&self, batch: &Groups, queries: usize, candidates: usize) -> Similarities<B> {
        let place = &self.place;
        let &Groups {
            ref terms, tokens, ..
        } = batch;
        let width = batch.similarities.len() / (queries * terms.groups).max(1);
        let weights = self.head.composition(terms, queries, place);
        let groups = place.tensor(batch.similarities.clone(), [queries, terms.groups, width]);
        let means = place.tensor(batch.means.clone(), [queries, terms.groups, candidates]);
        let has_terms = |query: usize| {
            terms.weights[query * terms.terms..][..terms.terms]
                .iter()
                .any(|w| *w != 0.0)
        };
        let documents = batch.valid.chunks_exact(tokens.max(1)).enumerate();
        let comparable = documents.map(|(pair, valid)| {
            let known = has_terms(pair / candidates) && valid.iter().any(|valid| *valid > 0.0);
            f32::from(u8::from(known))
        });
        let comparable = comparable.collect();
        Similarities {
            comparable: place.tensor(comparable, [queries * candidates, 1]),
            tokens: weights.clone().matmul(groups),
            valid: place.tensor(batch.valid.clone(), [queries, 1, candidates * tokens]),
            means: weights.matmul(means),
            weights: place.tensor(terms.weights.clone(), [queries, terms.terms]),
        }
    }
}

impl<B: Backend> Learned<B> for Network<B> {
    fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        self.head.visit(show);
    }
}
