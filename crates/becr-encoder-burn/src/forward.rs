//! BERT's forward pass on padded matrices.
//!
//! Numbers are 32 bits wide. A GPU with tensor cores multiplies 19 of them (TF32), which moves hidden states by a few
//! thousandths and about one footprint bit in 5,000.

use crate::parameters::{Affine, Layer, Norm, Parameters};
use burn::tensor::activation::{gelu, softmax};
use burn::tensor::{Int, Tensor, backend::Backend};

/// Added to the attention score of a padding token: its weight becomes exactly 0.
pub const MASKED: f32 = -1e4;

/// Token ids with their padding, on the device.
pub struct Input<B: Backend> {
    /// `rows × length`.
    pub ids: Tensor<B, 2, Int>,
    /// `rows × 1 × 1 × length`: 0 for a token, [`MASKED`] for padding.
    pub mask: Tensor<B, 4>,
}

impl<B: Backend> Parameters<B> {
    /// Computes the hidden states one after the other and shows each, as `(rows · length) × dim`, with its
    /// index (0 is the embedding layer).
    pub fn forward(&self, input: Input<B>, mut show: impl FnMut(usize, &Tensor<B, 2>)) {
        let [rows, length] = input.ids.dims();
        let mut hidden = self.embed(input.ids);
        show(0, &hidden);
        for (index, layer) in self.layers.iter().enumerate() {
            let attended = self.attend(layer, &hidden, &input.mask, [rows, length]);
            hidden = layer.attention_norm.apply(attended + hidden, self.epsilon);
            let inner = gelu(layer.ffn_in.apply(hidden.clone()));
            let outer = layer.ffn_out.apply(inner);
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
    ) -> Tensor<B, 2> {
        let dim = hidden.dims()[1];
        let by_head = |tensor: Tensor<B, 2>| -> Tensor<B, 4> {
            tensor
                .reshape([rows, length, self.heads, dim / self.heads])
                .swap_dims(1, 2)
        };
        let query = by_head(layer.query.apply(hidden.clone()));
        let key = by_head(layer.key.apply(hidden.clone()));
        let value = by_head(layer.value.apply(hidden.clone()));
        let scores = query.matmul(key.transpose());
        let scores = match self.score_scale {
            Some(scale) => scores * scale,
            None => scores,
        } + mask.clone();
        let context = softmax(scores, 3).matmul(value);
        let context = context.swap_dims(1, 2).reshape([rows * length, dim]);
        layer.attention_output.apply(context)
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
