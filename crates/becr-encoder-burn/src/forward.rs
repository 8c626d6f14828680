//! BERT's forward pass on padded matrices.
//!
//! Numbers are 32 bits wide. A GPU with tensor cores multiplies 19 of them (TF32), which moves hidden states by a few
//! thousandths and about one footprint bit in 5,000.

use crate::parameters::{Affine, Layer, Norm, Parameters, Purpose};
use burn::tensor::activation::{gelu, softmax};
use burn::tensor::{Int, Tensor, backend::Backend};

/// Added to the attention score of a padding token: its weight becomes exactly 0.
pub const MASKED: f32 = -1e4;

/// In training, rows are folded into up to so many parts where a row of parameters is added to each of them or
/// multiplied with it. Its gradient is a sum over all rows, in which a GPU gives each column to one thread: 3 ms for
/// 32,768 rows of 384 on an H200, and 0.07 ms as two short sums.
const SUM_FOLDS: usize = 256;

/// The same for products. The gradient of a weight is a product over all rows, with too few results to keep a GPU busy:
/// 3.0 ms in one piece and 0.33 ms in 16, for the same rows.
const PRODUCT_FOLDS: usize = 16;

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
            hidden = self.normed(&layer.attention_norm, attended + hidden);
            let inner = gelu(layer.ffn_in.apply(hidden.clone(), self.purpose));
            let outer = layer.ffn_out.apply(inner, self.purpose);
            hidden = self.normed(&layer.ffn_norm, outer + hidden);
            show(index + 1, &hidden);
        }
    }

    fn embed(&self, ids: Tensor<B, 2, Int>) -> Tensor<B, 2> {
        let [rows, length] = ids.dims();
        let dim = self.words.dims()[1];
        let words = self.words.clone().select(0, ids.reshape([rows * length]));
        let positions = self.positions.clone().slice(0..length);
        let sum = words.reshape([rows, length, dim]) + positions.unsqueeze::<3>();
        self.normed(&self.norm, sum.reshape([rows * length, dim]))
    }

    fn normed(&self, norm: &Norm<B>, input: Tensor<B, 2>) -> Tensor<B, 2> {
        norm.apply(input, self.epsilon, self.purpose)
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
        let query = by_head(layer.query.apply(hidden.clone(), self.purpose));
        let key = by_head(layer.key.apply(hidden.clone(), self.purpose));
        let value = by_head(layer.value.apply(hidden.clone(), self.purpose));
        let scores = query.matmul(key.transpose());
        let scores = match self.score_scale {
            Some(scale) => scores * scale,
            None => scores,
        } + mask.clone();
        let context = softmax(scores, 3).matmul(value);
        let context = context.swap_dims(1, 2).reshape([rows * length, dim]);
        layer.attention_output.apply(context, self.purpose)
    }
}

impl<B: Backend> Affine<B> {
    fn apply(&self, input: Tensor<B, 2>, purpose: Purpose) -> Tensor<B, 2> {
        match purpose {
            Purpose::Inference => input.matmul(self.weight.clone()) + self.bias.clone(),
            Purpose::Training => {
                let product = folded(input, PRODUCT_FOLDS).matmul(self.weight.clone().unsqueeze());
                let sum = folded(unfolded(product), SUM_FOLDS) + self.bias.clone().unsqueeze();
                unfolded(sum)
            }
        }
    }
}

impl<B: Backend> Norm<B> {
    fn apply(&self, input: Tensor<B, 2>, epsilon: f64, purpose: Purpose) -> Tensor<B, 2> {
        let centred = input.clone() - input.mean_dim(1);
        let variance = (centred.clone() * centred.clone()).mean_dim(1);
        let normed = centred / (variance + epsilon).sqrt();
        let (weight, bias) = (self.weight.clone(), self.bias.clone());
        match purpose {
            Purpose::Inference => normed * weight + bias,
            Purpose::Training => {
                unfolded(folded(normed, SUM_FOLDS) * weight.unsqueeze() + bias.unsqueeze())
            }
        }
    }
}

/// Rows in up to `most` equal parts, a power of two: `parts × rows of a part × columns`.
fn folded<B: Backend>(tensor: Tensor<B, 2>, most: usize) -> Tensor<B, 3> {
    let [rows, columns] = tensor.dims();
    let parts = folds(rows, most);
    tensor.reshape([parts, rows / parts, columns])
}

/// All rows in one part again.
fn unfolded<B: Backend>(tensor: Tensor<B, 3>) -> Tensor<B, 2> {
    let [parts, rows, columns] = tensor.dims();
    tensor.reshape([parts * rows, columns])
}

/// The largest power of two that divides `rows`, up to `most`, which is one too.
fn folds(rows: usize, most: usize) -> usize {
    (rows & rows.wrapping_neg()).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;
    use becr_model::{Config, Weights};
    use burn::tensor::{DType, TensorData};

    /// The last hidden state of `rows` sequences of `length` tokens.
    fn last(purpose: Purpose, rows: usize, length: usize) -> Vec<f32> {
        let config = Config::new(50, 32, 2, 2, 64, 16);
        let weights = Weights::random(&config, 3, 0.2);
        let to = (&Default::default(), DType::F32);
        let parameters = Parameters::<Cpu>::upload(&config, &weights, 2, purpose, to);
        let ids: Vec<i32> = (0..rows * length).map(|at| (at * 7 % 50) as i32).collect();
        let input = Input {
            ids: Tensor::from_data(TensorData::new(ids, [rows, length]), to.0),
            mask: Tensor::zeros([rows, 1, 1, length], to.0),
        };
        let mut values = Vec::new();
        parameters.forward(input, |layer, hidden| {
            if layer == 2 {
                values = hidden.to_data().to_vec().unwrap();
            }
        });
        values
    }

    #[test]
    fn rows_fold_into_equal_parts() {
        for (rows, parts) in [(0, 1), (1, 1), (15, 1), (24, 8), (32_768, 16)] {
            assert_eq!(folds(rows, 16), parts, "{rows} rows");
        }
    }

    #[test]
    fn training_computes_what_encoding_does() {
        for (rows, length) in [(3, 5), (3, 8), (32, 16)] {
            let encoded = last(Purpose::Inference, rows, length);
            let trained = last(Purpose::Training, rows, length);
            assert_eq!(encoded.len(), rows * length * 32);
            for (a, b) in encoded.iter().zip(&trained) {
                assert!((a - b).abs() < 1e-4, "{rows} × {length}: {a} and {b}");
            }
        }
    }
}
