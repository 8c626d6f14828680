//! A model's weights on a device.

use becr_model::{Config, LayerNorm, Linear, Matrix, Weights};
use burn::tensor::{Tensor, TensorData, backend::Backend};

/// Everything the forward pass needs, as far as the last kept layer.
#[derive(Debug)]
pub(crate) struct Parameters<B: Backend> {
    pub(crate) words: Tensor<B, 2>,
    /// Position and token type: the type is always 0, so its row is added here once.
    pub(crate) positions: Tensor<B, 2>,
    pub(crate) norm: Norm<B>,
    pub(crate) layers: Vec<Layer<B>>,
    pub(crate) heads: usize,
    pub(crate) epsilon: f64,
}

/// One encoder layer.
#[derive(Debug)]
pub(crate) struct Layer<B: Backend> {
    /// Already divided by the root of the head size.
    pub(crate) query: Affine<B>,
    pub(crate) key: Affine<B>,
    pub(crate) value: Affine<B>,
    pub(crate) attention_output: Affine<B>,
    pub(crate) attention_norm: Norm<B>,
    pub(crate) ffn_in: Affine<B>,
    pub(crate) ffn_out: Affine<B>,
    pub(crate) ffn_norm: Norm<B>,
}

/// `x · weight + bias`, with the weight as `inputs × outputs`.
#[derive(Debug)]
pub(crate) struct Affine<B: Backend> {
    pub(crate) weight: Tensor<B, 2>,
    pub(crate) bias: Tensor<B, 2>,
}

/// Scale and shift of a layer norm, as rows.
#[derive(Debug)]
pub(crate) struct Norm<B: Backend> {
    pub(crate) weight: Tensor<B, 2>,
    pub(crate) bias: Tensor<B, 2>,
}

impl<B: Backend> Parameters<B> {
    /// Uploads the embeddings and the first `depth` layers.
    pub(crate) fn upload(
        config: &Config,
        weights: &Weights,
        depth: usize,
        device: &B::Device,
    ) -> Self {
        let up = Upload::<B> { device };
        let embeddings = &weights.embeddings;
        let scale = 1.0 / (config.head_size() as f32).sqrt();
        Self {
            words: up.matrix(&embeddings.word),
            positions: up.matrix(&positions(embeddings)),
            norm: up.norm(&embeddings.layer_norm),
            layers: weights.layers[..depth]
                .iter()
                .map(|layer| Layer {
                    query: up.affine(&layer.query, scale),
                    key: up.affine(&layer.key, 1.0),
                    value: up.affine(&layer.value, 1.0),
                    attention_output: up.affine(&layer.attention_output, 1.0),
                    attention_norm: up.norm(&layer.attention_norm),
                    ffn_in: up.affine(&layer.ffn_in, 1.0),
                    ffn_out: up.affine(&layer.ffn_out, 1.0),
                    ffn_norm: up.norm(&layer.ffn_norm),
                })
                .collect(),
            heads: config.num_attention_heads,
            epsilon: config.layer_norm_eps,
        }
    }
}

fn positions(embeddings: &becr_model::Embeddings) -> Matrix {
    let mut sum = embeddings.position.clone();
    let kind = embeddings.token_type.row(0);
    for row in sum.data.chunks_exact_mut(kind.len()) {
        for (value, kind) in row.iter_mut().zip(kind) {
            *value += kind;
        }
    }
    sum
}

struct Upload<'a, B: Backend> {
    device: &'a B::Device,
}

impl<B: Backend> Upload<'_, B> {
    fn matrix(&self, matrix: &Matrix) -> Tensor<B, 2> {
        let data = TensorData::new(matrix.data.clone(), [matrix.rows, matrix.cols]);
        Tensor::from_data(data, self.device)
    }

    fn row(&self, values: Vec<f32>) -> Tensor<B, 2> {
        let columns = values.len();
        Tensor::from_data(TensorData::new(values, [1, columns]), self.device)
    }

    fn norm(&self, norm: &LayerNorm) -> Norm<B> {
        Norm {
            weight: self.row(norm.weight.clone()),
            bias: self.row(norm.bias.clone()),
        }
    }

    fn affine(&self, linear: &Linear, scale: f32) -> Affine<B> {
        let Matrix { rows, cols, data } = &linear.weight;
        let mut transposed = vec![0.0; data.len()];
        for (output, row) in data.chunks_exact(*cols).enumerate() {
            for (input, value) in row.iter().enumerate() {
                transposed[input * rows + output] = value * scale;
            }
        }
        let weight = Tensor::from_data(TensorData::new(transposed, [*cols, *rows]), self.device);
        let bias = self.row(linear.bias.iter().map(|value| value * scale).collect());
        Affine { weight, bias }
    }
}
