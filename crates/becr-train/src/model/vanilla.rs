//! The vanilla BERT ranker: query and document in one sequence, a linear layer on `[CLS]`. The paper trains it first and
//! BECR from its weights.

use super::encoder::EncoderTensors;
use super::parameter::{Group, Learned, Parameter};
use super::place::Place;
use crate::batch::{Batch, Deep};
use crate::learn::Scores;
use burn::tensor::{Tensor, backend::Backend};

/// The ranker.
#[derive(Debug, Clone)]
pub(crate) struct Vanilla<B: Backend> {
    pub(crate) encoder: EncoderTensors<B>,
    /// `[dim, 1]`.
    linear: Tensor<B, 2>,
    place: Place<B>,
}

impl<B: Backend> Vanilla<B> {
    /// An encoder of vectors of length `dim`, and a linear layer that knows nothing.
    pub(crate) fn new(encoder: EncoderTensors<B>, dim: usize, place: Place<B>) -> Self {
        Self {
            encoder,
            linear: place.zeros([dim, 1]),
            place,
        }
    }
}

impl<B: Backend> Scores<B> for Vanilla<B> {
    fn scores(&self, batch: &Batch) -> Tensor<B, 2> {
        let shape = [batch.queries(), batch.candidates];
        match &batch.deep {
            Deep::Joined(sequences) => {
                let cls = self.encoder.cls(sequences, &self.place);
                cls.matmul(self.linear.clone()).reshape(shape)
            }
            // It reads nothing but sequences of query and document.
            _ => self.place.zeros(shape),
        }
    }
}

impl<B: Backend> Learned<B> for Vanilla<B> {
    fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        self.encoder.visit(show);
        show(Parameter {
            name: "linear",
            group: Group::Head,
            decays: true,
            least: None,
            value: &mut self.linear,
        });
    }
}
