//! BERT's forward pass on padded matrices.
//!
//! Numbers are 32 bits wide. A GPU with tensor cores multiplies 19 of them (TF32), which moves hidden states by a few
//! thousandths and about one footprint bit in 5,000.

use crate::parameters::{Affine, Layer, Norm, Parameters, Purpose, wide};
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

/// Rows of a part, at least: fewer would be more work than they save.
const ROWS_PER_FOLD: usize = 64;

/// Token ids with their padding, on the device.
pub struct Input<B: Backend> {
    /// `rows × length`.
    pub ids: Tensor<B, 2, Int>,
    /// 0 where a token is seen, [`MASKED`] where it is not: `rows × 1 × 1 × length` for padding, `rows × 1 × length ×
    /// length` where a row holds several sequences that do not see each other.
    pub mask: Tensor<B, 4>,
    /// The position of every token, `rows · length`, where a row holds several sequences; else they count along the row.
    pub positions: Option<Tensor<B, 1, Int>>,
    /// 1 for a token of type 1, a cross-encoder's document, else 0: `rows · length × 1`. Only with parameters that know
    /// this type ([`Parameters::with_second_type`]); without it every token has type 0.
    pub second: Option<Tensor<B, 2>>,
}

impl<B: Backend> Parameters<B> {
    /// Computes the hidden states one after the other and shows each, as `(rows · length) × dim`, with its
    /// index (0 is the embedding layer).
    pub fn forward(&self, input: Input<B>, mut show: impl FnMut(usize, &Tensor<B, 2>)) {
        let [rows, length] = input.ids.dims();
        let mut hidden = self.embed(input.ids, input.positions, input.second);
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

    fn embed(
        &self,
        ids: Tensor<B, 2, Int>,
        positions: Option<Tensor<B, 1, Int>>,
        second: Option<Tensor<B, 2>>,
    ) -> Tensor<B, 2> {
        let [rows, length] = ids.dims();
        let dim = self.words.dims()[1];
        let words = self.words.clone().select(0, ids.reshape([rows * length]));
        let sum = match positions {
            Some(positions) => words + self.positions.clone().select(0, positions),
            None => {
                let positions = self.positions.clone().slice(0..length);
                let sum = words.reshape([rows, length, dim]) + positions.unsqueeze::<3>();
                sum.reshape([rows * length, dim])
            }
        };
        let sum = match (&self.second_type, second) {
            (Some(kind), Some(second)) => sum + second.matmul(kind.clone()),
            _ => sum,
        };
        self.normed(&self.norm, sum)
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
    pub(crate) fn apply(&self, input: Tensor<B, 2>, purpose: Purpose) -> Tensor<B, 2> {
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
    pub(crate) fn apply(
        &self,
        input: Tensor<B, 2>,
        epsilon: f64,
        purpose: Purpose,
    ) -> Tensor<B, 2> {
        // In half precision, squares and their sums are computed in 32 bits.
        let given = input.dtype();
        let input = match wide(given) == given {
            true => input,
            false => input.cast(wide(given)),
        };
        let centred = input.clone() - input.mean_dim(1);
        let variance = (centred.clone() * centred.clone()).mean_dim(1);
        let normed = centred / (variance + epsilon).sqrt();
        let (weight, bias) = (self.weight.clone(), self.bias.clone());
        let result = match purpose {
            Purpose::Inference => normed * weight + bias,
            Purpose::Training => {
                unfolded(folded(normed, SUM_FOLDS) * weight.unsqueeze() + bias.unsqueeze())
            }
        };
        match wide(given) == given {
            true => result,
            false => result.cast(given),
        }
    }
}

/// Rows in up to `most` equal parts: `parts × rows of a part × columns`.
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

/// The most parts that `rows` fall into: a power of two, up to `most`, which is one too.
fn folds(rows: usize, most: usize) -> usize {
    let divisor = rows & rows.wrapping_neg();
    let mut parts = divisor.min(most).max(1);
    while parts > 1 && rows / parts < ROWS_PER_FOLD {
        parts /= 2;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;
    use becr_model::{Config, Weights};
    use burn::backend::Autodiff;
    use burn::tensor::{DType, TensorData};

    type Differentiable = Autodiff<Cpu>;

    /// The last hidden state of `rows` sequences of 16 tokens, and gradients of a product, a sum and both parts of a norm.
    fn computed(purpose: Purpose, rows: usize) -> [Vec<f64>; 5] {
        let config = Config::new(50, 32, 2, 2, 64, 16);
        let weights = Weights::random(&config, 3, 12.0);
        let to = (&Default::default(), DType::F64);
        let mut parameters =
            Parameters::<Differentiable>::upload(&config, &weights, 2, purpose, to);
        let layer = &mut parameters.layers[0];
        let learned = [
            &mut layer.ffn_in.weight,
            &mut layer.ffn_in.bias,
            &mut layer.ffn_norm.weight,
            &mut layer.ffn_norm.bias,
        ]
        .map(|parameter| {
            *parameter = parameter.clone().require_grad();
            parameter.clone()
        });
        let ids: Vec<i32> = (0..rows * 16).map(|at| (at * 7 % 50) as i32).collect();
        let input = Input {
            ids: Tensor::from_data(TensorData::new(ids, [rows, 16]), to.0),
            mask: Tensor::zeros([rows, 1, 1, 16], to),
            positions: None,
            second: None,
        };
        let mut last = None;
        parameters.forward(input, |_, hidden| last = Some(hidden.clone()));
        let last = last.unwrap();
        let of = |data: TensorData| -> Vec<f64> { data.iter::<f64>().collect() };
        let hidden = of(last.to_data());
        let gradients = last.powi_scalar(3).sum().backward();
        let [a, b, c, d] = learned.map(|p| of(p.grad(&gradients).unwrap().into_data()));
        [hidden, a, b, c, d]
    }

    #[test]
    fn rows_fold_into_equal_parts() {
        let cases = [
            (1, 1),
            (15, 1),
            (96, 1),
            (192, 2),
            (1008, 8),
            (1024, 16),
            (32_768, 16),
        ];
        for (rows, parts) in cases {
            assert_eq!(folds(rows, 16), parts, "{rows} rows");
        }
    }

    /// The last hidden states of rows of tokens.
    fn hidden(ids: &[i32], length: usize, mask: &[f32], positions: Option<&[i32]>) -> Vec<f32> {
        let config = Config::new(50, 32, 2, 2, 64, 16);
        let weights = Weights::random(&config, 3, 12.0);
        let to = (&Default::default(), DType::F32);
        let parameters = Parameters::<Cpu>::upload(&config, &weights, 2, Purpose::Inference, to);
        let rows = ids.len() / length;
        let seen = mask.len() / ids.len();
        let input = Input {
            ids: Tensor::from_data(TensorData::new(ids.to_vec(), [rows, length]), to.0),
            mask: Tensor::from_data(
                TensorData::new(mask.to_vec(), [rows, 1, seen, length]),
                to.0,
            ),
            positions: positions.map(|positions| {
                Tensor::from_data(TensorData::new(positions.to_vec(), [ids.len()]), to.0)
            }),
            second: None,
        };
        let mut last = None;
        parameters.forward(input, |_, hidden| last = Some(hidden.clone()));
        last.unwrap().into_data().to_vec().unwrap()
    }

    #[test]
    fn sequences_of_one_row_do_not_see_each_other() {
        let (a, b) = ([3, 14, 15, 9], [2, 6, 5]);
        let alone = [
            hidden(&a, 4, &[0.0; 4], None),
            hidden(&b, 3, &[0.0; 3], None),
        ]
        .concat();
        let of = |token: usize| usize::from(token >= 4);
        let mask: Vec<f32> = (0..49)
            .map(|at| match of(at / 7) == of(at % 7) {
                true => 0.0,
                false => MASKED,
            })
            .collect();
        let together = hidden(
            &[a.as_slice(), &b].concat(),
            7,
            &mask,
            Some(&[0, 1, 2, 3, 0, 1, 2]),
        );
        assert_eq!(alone.len(), together.len());
        for (a, b) in alone.iter().zip(&together) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }

    #[test]
    fn training_computes_what_encoding_does() {
        // 48, 512 and 2,048 rows: one part, the same number of parts of sums and products, and 16 against 32.
        for rows in [3, 32, 128] {
            let encoded = computed(Purpose::Inference, rows);
            let trained = computed(Purpose::Training, rows);
            for (encoded, trained) in encoded.iter().zip(&trained) {
                let largest = encoded.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                assert!(largest > 1e-3, "there is nothing to compare");
                assert_eq!(encoded.len(), trained.len());
                for (a, b) in encoded.iter().zip(trained) {
                    assert!((a - b).abs() < 1e-9 * largest, "{rows}: {a} and {b}");
                }
            }
        }
    }
}
