//! A model's weights on a device.

use becr_model::{Config, LayerNorm, Linear, Matrix, Weights};
use burn::tensor::{DType, Tensor, TensorData, backend::Backend};

/// What weights are uploaded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To encode: what can be computed beforehand is.
    Inference,
    /// To be learned: every tensor is as it will be stored.
    Training,
}

/// Everything the forward pass needs, as far as the last kept layer.
#[derive(Debug, Clone)]
pub struct Parameters<B: Backend> {
    pub(crate) words: Tensor<B, 2>,
    /// Position and token type: the type is 0 unless said otherwise, so its row is added here once.
    pub(crate) positions: Tensor<B, 2>,
    /// What token type 1 has beyond type 0, as a row; only where both types are used.
    pub(crate) second_type: Option<Tensor<B, 2>>,
    pub(crate) norm: Norm<B>,
    pub(crate) layers: Vec<Layer<B>>,
    pub(crate) heads: usize,
    pub(crate) epsilon: f64,
    /// Attention scores are multiplied by this; `None` if the query weights are already.
    pub(crate) score_scale: Option<f32>,
    /// In training, rows are folded, since gradients of parameters are sums over them.
    pub(crate) purpose: Purpose,
}

/// One encoder layer.
#[derive(Debug, Clone)]
pub(crate) struct Layer<B: Backend> {
    /// Divided by the root of the head size, unless [`Parameters::score_scale`] does it.
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
#[derive(Debug, Clone)]
pub(crate) struct Affine<B: Backend> {
    pub(crate) weight: Tensor<B, 2>,
    pub(crate) bias: Tensor<B, 2>,
}

/// Scale and shift of a layer norm, as rows.
#[derive(Debug, Clone)]
pub(crate) struct Norm<B: Backend> {
    pub(crate) weight: Tensor<B, 2>,
    pub(crate) bias: Tensor<B, 2>,
}

impl<B: Backend> Parameters<B> {
    /// Uploads the embeddings and the first `depth` layers, as numbers of type `dtype`.
    pub fn upload(
        config: &Config,
        weights: &Weights,
        depth: usize,
        purpose: Purpose,
        (device, dtype): (&B::Device, DType),
    ) -> Self {
        let up = Upload::<B> { device, dtype };
        let embeddings = &weights.embeddings;
        let root = 1.0 / (config.head_size() as f32).sqrt();
        let (scale, score_scale) = match purpose {
            Purpose::Inference => (root, None),
            Purpose::Training => (1.0, Some(root)),
        };
        Self {
            words: up.matrix(&embeddings.word),
            positions: up.matrix(&positions(embeddings)),
            second_type: None,
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
            score_scale,
            purpose,
        }
    }

    /// Adds token type 1, for sequences of a query and a document. A model of one type stays as it is.
    pub fn with_second_type(
        mut self,
        weights: &Weights,
        (device, dtype): (&B::Device, DType),
    ) -> Self {
        let types = &weights.embeddings.token_type;
        if types.rows > 1 {
            let difference = types.row(1).iter().zip(types.row(0)).map(|(b, a)| b - a);
            self.second_type = Some(Upload::<B> { device, dtype }.row(difference.collect()));
        }
        self
    }
}

/// The numbers that norms are computed in: at least 32 bits.
pub(crate) fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
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
    dtype: DType,
}

impl<B: Backend> Upload<'_, B> {
    fn tensor(&self, values: Vec<f32>, shape: [usize; 2]) -> Tensor<B, 2> {
        Tensor::from_data(TensorData::new(values, shape), (self.device, self.dtype))
    }

    fn matrix(&self, matrix: &Matrix) -> Tensor<B, 2> {
        self.tensor(matrix.data.clone(), [matrix.rows, matrix.cols])
    }

    fn row(&self, values: Vec<f32>) -> Tensor<B, 2> {
        let columns = values.len();
        self.tensor(values, [1, columns])
    }

    fn norm(&self, norm: &LayerNorm) -> Norm<B> {
        let wide = Self {
            dtype: wide(self.dtype),
            ..*self
        };
        Norm {
            weight: wide.row(norm.weight.clone()),
            bias: wide.row(norm.bias.clone()),
        }
    }

    fn affine(&self, linear: &Linear, scale: f32) -> Affine<B> {
        let Matrix { rows, cols, data } = &linear.weight;
        let mut transposed = transpose(data, *cols);
        transposed.iter_mut().for_each(|value| *value *= scale);
        let weight = self.tensor(transposed, [*cols, *rows]);
        let bias = self.row(linear.bias.iter().map(|value| value * scale).collect());
        Affine { weight, bias }
    }
}

/// The transpose of a matrix whose rows have `columns` values.
pub(crate) fn transpose(data: &[f32], columns: usize) -> Vec<f32> {
    let rows = data.len() / columns;
    let mut transposed = vec![0.0; data.len()];
    for (row, values) in data.chunks_exact(columns).enumerate() {
        for (column, value) in values.iter().enumerate() {
            transposed[column * rows + row] = *value;
        }
    }
    transposed
}
