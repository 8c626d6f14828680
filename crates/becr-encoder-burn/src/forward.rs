//! BERT's forward pass on padded matrices.

use crate::parameters::{Affine, Layer, Norm, Parameters};
use burn::tensor::activation::{gelu, softmax};
use burn::tensor::{FloatDType, Int, Tensor, backend::Backend};

/// Added to the attention score of a padding token: its weight becomes exactly 0, and it fits 16 bits.
pub(crate) const MASKED: f32 = -1e4;

/// The numbers that matrix products work on. Sums, layer norms and footprints stay in 32 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits; a GPU with tensor cores multiplies 19 of them (TF32).
    #[default]
    Single,
    /// 16 bits (IEEE half), of which a product keeps as many digits as TF32 does.
    Half,
}

impl Precision {
    /// `tensor` as the products take it.
    pub(crate) fn low<B: Backend, const D: usize>(self, tensor: Tensor<B, D>) -> Tensor<B, D> {
        match self {
            Self::Single => tensor,
            Self::Half => tensor.cast(FloatDType::F16),
        }
    }

    /// `tensor` in 32 bits.
    pub(crate) fn full<B: Backend, const D: usize>(self, tensor: Tensor<B, D>) -> Tensor<B, D> {
        match self {
            Self::Single => tensor,
            Self::Half => tensor.cast(FloatDType::F32),
        }
    }
}

/// Token ids with their padding, on the device.
pub(crate) struct Input<B: Backend> {
    /// `rows × length`.
    pub(crate) ids: Tensor<B, 2, Int>,
    /// `rows × 1 × 1 × length`: 0 for a token, [`MASKED`] for padding.
    pub(crate) mask: Tensor<B, 4>,
}

impl<B: Backend> Parameters<B> {
    /// Computes the hidden states one after the other and shows each, as `(rows · length) × dim`, with its
    /// index (0 is the embedding layer).
    pub(crate) fn forward(
        &self,
        input: Input<B>,
        precision: Precision,
        mut show: impl FnMut(usize, &Tensor<B, 2>),
    ) {
        let [rows, length] = input.ids.dims();
        let mask = precision.low(input.mask);
        let mut hidden = self.embed(input.ids);
        show(0, &hidden);
        for (index, layer) in self.layers.iter().enumerate() {
            let attended = self.attend(layer, &hidden, &mask, [rows, length], precision);
            hidden = layer.attention_norm.apply(attended + hidden, self.epsilon);
            let inner = gelu(layer.ffn_in.apply(precision.low(hidden.clone())));
            let outer = precision.full(layer.ffn_out.apply(inner));
            hidden = layer.ffn_norm.apply(outer + hidden, self.epsilon);
            show(index + 1, &hidden);
        }
    }

    fn embed(&self, ids: Tensor<B, 2, Int>) -> Tensor<B, 2> {
        let [rows, length] = ids.dims();
        let dim = self.words.dims()[1];
        let words = self.words.clone().select(0, ids.reshape([rows * length]));
        let positions = self.positions.clone().slice(0..length);
        let sum = words.reshape([rows, length, dim]) + positions.unsqueeze::<3>();
        self.norm
            .apply(sum.reshape([rows * length, dim]), self.epsilon)
    }

    fn attend(
        &self,
        layer: &Layer<B>,
        hidden: &Tensor<B, 2>,
        mask: &Tensor<B, 4>,
        [rows, length]: [usize; 2],
        precision: Precision,
    ) -> Tensor<B, 2> {
        let dim = hidden.dims()[1];
        let input = precision.low(hidden.clone());
        let by_head = |tensor: Tensor<B, 2>| -> Tensor<B, 4> {
            tensor
                .reshape([rows, length, self.heads, dim / self.heads])
                .swap_dims(1, 2)
        };
        let query = by_head(layer.query.apply(input.clone()));
        let key = by_head(layer.key.apply(input.clone()));
        let value = by_head(layer.value.apply(input));
        let scores = query.matmul(key.transpose()) + mask.clone();
        let context = softmax(scores, 3).matmul(value);
        let context = context.swap_dims(1, 2).reshape([rows * length, dim]);
        precision.full(layer.attention_output.apply(context))
    }
}

impl<B: Backend> Affine<B> {
    fn apply(&self, input: Tensor<B, 2>) -> Tensor<B, 2> {
        input.matmul(self.weight.clone()) + self.bias.clone()
    }
}

impl<B: Backend> Norm<B> {
    fn apply(&self, input: Tensor<B, 2>, epsilon: f64) -> Tensor<B, 2> {
        let centred = input.clone() - input.mean_dim(1);
        let variance = (centred.clone() * centred.clone()).mean_dim(1);
        let deviation = (variance + epsilon).sqrt();
        centred / deviation * self.weight.clone() + self.bias.clone()
    }
}
