//! From a batch to scores.

use super::encoder::EncoderTensors;
use super::head::HeadTensors;
use super::parameter::{Learned, Parameter};
use super::place::Place;
use crate::batch::{Batch, Deep, Terms, Texts};
use crate::learn::Scores;
use burn::tensor::{Tensor, backend::Backend};

/// Everything that scores.
#[derive(Debug, Clone)]
pub(crate) struct Network<B: Backend> {
    pub(crate) head: HeadTensors<B>,
    /// Only where it is trained.
    pub(crate) encoder: Option<EncoderTensors<B>>,
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
            Deep::Texts(texts) => self.read(texts, queries, candidates),
            // Only other rankers read these.
            Deep::Joined(_)
            | Deep::Words(_)
            | Deep::Pieces(_)
            | Deep::Late(_)
            | Deep::Features(_) => place.zeros([pairs, 1]),
        };
        let features = batch.features.len() / pairs;
        let score = match features {
            0 => deep,
            _ => deep + head.features(place.tensor(batch.features.clone(), [pairs, features])),
        };
        let score = match batch.fixed.is_empty() {
            true => score,
            false => score + place.tensor(batch.fixed.clone(), [pairs, 1]),
        };
        score.reshape([queries, candidates])
    }
}

impl<B: Backend> Network<B> {
    /// The deep part where the encoder runs, and γ·CLS with it.
    fn read(&self, texts: &Texts, queries: usize, candidates: usize) -> Tensor<B, 2> {
        let (head, place) = (&self.head, &self.place);
        let Some(encoder) = &self.encoder else {
            return place.zeros([queries * candidates, 1]);
        };
        let (found, cls) = encoder.compare(head, texts, queries, candidates, place);
        let deep = head.similarities(found, candidates);
        match head.cls(cls) {
            Some(score) => deep + score,
            None => deep,
        }
    }
}

impl<B: Backend> Learned<B> for Network<B> {
    fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        self.head.visit(show);
        if let Some(encoder) = &mut self.encoder {
            encoder.visit(show);
        }
    }
}

impl Terms {
    /// `[query · candidate, 1]`: 1 where a document has a token and its query a term, else 0.
    pub(crate) fn comparable<B: Backend>(
        &self,
        valid: &[f32],
        candidates: usize,
        tokens: usize,
        place: &Place<B>,
    ) -> Tensor<B, 2> {
        let has_terms = |query: usize| {
            self.weights[query * self.terms..][..self.terms]
                .iter()
                .any(|w| *w != 0.0)
        };
        let documents = valid.chunks_exact(tokens.max(1)).enumerate();
        let comparable: Vec<f32> = documents
            .map(|(pair, valid)| {
                let known = has_terms(pair / candidates) && valid.iter().any(|valid| *valid > 0.0);
                f32::from(u8::from(known))
            })
            .collect();
        let pairs = comparable.len();
        place.tensor(comparable, [pairs, 1])
    }
}
