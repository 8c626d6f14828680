//! The vanilla BERT ranker: query and document in one sequence, a linear layer on `[CLS]`. The paper trains it first and
//! BECR from its weights.

use super::encoder::{EncoderTensors, first_tokens};
use super::parameter::{Group, Learned, Parameter};
use super::place::Place;
use crate::batch::{Batch, Deep, Joined, Tokens};
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
            Deep::Joined(joined) => {
                let hidden = self.encoder.hidden(&joined.sequences, &self.place);
                let cls = joined.mean_cls(&hidden[hidden.len() - 1], &self.place);
                cls.matmul(self.linear.clone()).reshape(shape)
            }
            // It reads nothing but sequences of query and document.
            _ => self.place.zeros(shape),
        }
    }
}

impl Joined {
    /// `[pair, dim]`: the mean over a document's pieces of their `[CLS]` vectors.
    pub(crate) fn mean_cls<B: Backend>(
        &self,
        hidden: &Tensor<B, 2>,
        place: &Place<B>,
    ) -> Tensor<B, 2> {
        mean_of_pieces(&self.shares, first_tokens(hidden, &self.sequences), place)
    }
}

/// `[pair, dim]` of `[sequence, dim]`, with the shares of sequences in pairs.
pub(crate) fn mean_of_pieces<B: Backend>(
    shares: &[f32],
    vectors: Tensor<B, 2>,
    place: &Place<B>,
) -> Tensor<B, 2> {
    let sequences = vectors.dims()[0];
    let pairs = shares.len() / sequences;
    place
        .tensor(shares.to_vec(), [pairs, sequences])
        .matmul(vectors)
}

impl Tokens {
    /// `[row, token, dim]`: the vectors of tokens among those of all sequences.
    pub(crate) fn pick<B: Backend>(&self, hidden: &Tensor<B, 2>, place: &Place<B>) -> Tensor<B, 3> {
        let (rows, dim) = (self.places.len() / self.length, hidden.dims()[1]);
        let picked = hidden.clone().select(0, place.indices(self.places.clone()));
        picked.reshape([rows, self.length, dim])
    }

    /// `[row, token]`: 1 for a token, or its weight; 0 for padding.
    pub(crate) fn valid<B: Backend>(&self, place: &Place<B>) -> Tensor<B, 2> {
        let rows = self.places.len() / self.length;
        place.tensor(self.valid.clone(), [rows, self.length])
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
