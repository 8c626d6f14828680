//! The mixer in training: all of its numbers in one row, and the forward pass over packed queries.
//!
//! An optimizer that goes through one long row of numbers launches a dozen kernels for it; through sixty tensors, it
//! would launch hundreds.

use crate::parameters::{Affine, Norm, Purpose, transpose};
use becr_model::{MixerKind, MixerWeights};
use burn::tensor::activation::{gelu, softmax};
use burn::tensor::{Tensor, backend::Backend};

/// Columns of [`MixerInput::places`] are a multiple of this, as matrix units like them.
const COLUMN_STEP: usize = 16;

/// Where the tensors of a mixer lie in one row of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixerLayout {
    parts: Vec<Part>,
    kind: MixerKind,
    heads: usize,
    layers: usize,
    positions: usize,
}

/// A tensor, or a third of the one that holds queries, keys and values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// Number of the tensor in [`MixerWeights::tensors`].
    tensor: usize,
    /// Where it begins there.
    start: usize,
    /// Rows and columns as the forward pass has them; vectors are rows.
    shape: [usize; 2],
    /// Matrices of linear layers are `outputs × inputs` in the model, and `inputs × outputs` here.
    transposed: bool,
}

impl MixerLayout {
    /// The layout of a mixer.
    pub fn new(weights: &MixerWeights) -> Self {
        let mut parts = Vec::new();
        for (tensor, named) in weights.tensors().iter().enumerate() {
            let thirds = if named.name.contains(".qkv.") { 3 } else { 1 };
            let (rows, columns) = match named.shape[..] {
                [rows, columns] => (rows / thirds, columns),
                _ => (1, named.data.len() / thirds),
            };
            let transposed = named.shape.len() == 2 && named.name.ends_with(".weight");
            for third in 0..thirds {
                parts.push(Part {
                    tensor,
                    start: third * rows * columns,
                    shape: match transposed {
                        true => [columns, rows],
                        false => [rows, columns],
                    },
                    transposed,
                });
            }
        }
        let shape = weights.shape();
        Self {
            parts,
            kind: shape.kind,
            heads: shape.heads,
            layers: shape.layers,
            positions: shape.positions,
        }
    }

    /// How many numbers there are.
    pub fn numbers(&self) -> usize {
        self.parts.iter().map(Part::numbers).sum()
    }

    /// Columns of [`MixerInput::places`].
    pub fn places(&self) -> usize {
        (self.positions + 2).next_multiple_of(COLUMN_STEP)
    }

    /// How many slots share in the vector of a query of so many words, see [`MixerInput::means`].
    pub fn sharers(&self, words: usize) -> usize {
        match self.kind {
            MixerKind::PreNorm => words,
            MixerKind::EncoderLayers => words + 1,
        }
    }

    /// The number of positions; in [`MixerInput::places`], the column of the query, and one more that of all words.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// All numbers of a mixer of this layout in one row.
    pub fn row(&self, weights: &MixerWeights) -> Vec<f32> {
        let tensors = weights.tensors();
        let mut row = Vec::with_capacity(self.numbers());
        for part in &self.parts {
            let values = &tensors[part.tensor].data[part.start..][..part.numbers()];
            match part.transposed {
                true => row.extend(transpose(values, part.shape[0])),
                false => row.extend(values),
            }
        }
        row
    }

    /// Takes the numbers of a row over into the weights.
    pub fn take(&self, row: &[f32], weights: &mut MixerWeights) {
        let mut tensors = weights.values_mut();
        let mut rest = row;
        for part in &self.parts {
            let (values, behind) = rest.split_at(part.numbers());
            rest = behind;
            let to = &mut tensors[part.tensor][part.start..][..part.numbers()];
            match part.transposed {
                true => to.copy_from_slice(&transpose(values, part.shape[1])),
                false => to.copy_from_slice(values),
            }
        }
    }

    /// Cuts a row on a device into its tensors.
    pub fn cut<B: Backend>(&self, row: &Tensor<B, 1>) -> Vec<Tensor<B, 2>> {
        let mut start = 0;
        let cut = |part: &Part| {
            let end = start + part.numbers();
            let piece = row.clone().slice(start..end).reshape(part.shape);
            start = end;
            piece
        };
        self.parts.iter().map(cut).collect()
    }
}

impl Part {
    fn numbers(&self) -> usize {
        self.shape[0] * self.shape[1]
    }
}

/// A mixer's tensors on a device.
#[derive(Debug, Clone)]
pub struct MixerParameters<B: Backend> {
    input: Affine<B>,
    positions: Tensor<B, 2>,
    query: Tensor<B, 2>,
    layers: Vec<MixerLayer<B>>,
    end: End<B>,
    kind: MixerKind,
    heads: usize,
    places: usize,
}

#[derive(Debug, Clone)]
enum End<B: Backend> {
    PreNorm {
        norm: Norm<B>,
        output: Affine<B>,
    },
    EncoderLayers {
        residual: Affine<B>,
        pooled: Affine<B>,
    },
}

#[derive(Debug, Clone)]
struct MixerLayer<B: Backend> {
    norm1: Norm<B>,
    query: Affine<B>,
    key: Affine<B>,
    value: Affine<B>,
    out: Affine<B>,
    norm2: Norm<B>,
    up: Affine<B>,
    down: Affine<B>,
}

/// Queries packed into rows of slots: a slot is a word, the query itself, or empty.
pub struct MixerInput<B: Backend> {
    /// The words' unit vectors, `rows × slots × dim`; zeros in slots of queries and in empty ones.
    pub words: Tensor<B, 3>,
    /// `rows · slots` by [`MixerLayout::places`]: a 1 for a word's position and one in the column of all words, or a 1
    /// in the column of the query.
    pub places: Tensor<B, 2>,
    /// `rows × 1 × slots × slots`: 0 within a query, [`MASKED`](crate::MASKED) elsewhere.
    pub mask: Tensor<B, 4>,
    /// `rows × slots × slots`: in the row of a query's slot, for each of its slots one over
    /// [`MixerLayout::sharers`]; zeros in other rows.
    pub means: Tensor<B, 3>,
}

impl<B: Backend> MixerParameters<B> {
    /// Puts tensors in their places; they are those of [`MixerLayout::cut`].
    ///
    /// # Panics
    /// If there are fewer tensors than the layout has.
    pub fn new(layout: &MixerLayout, tensors: Vec<Tensor<B, 2>>) -> Self {
        let mut tensors = tensors.into_iter();
        let mut next = || tensors.next().expect("one tensor for each part");
        fn affine<B: Backend>(next: &mut impl FnMut() -> Tensor<B, 2>) -> Affine<B> {
            Affine {
                weight: next(),
                bias: next(),
            }
        }
        fn norm<B: Backend>(next: &mut impl FnMut() -> Tensor<B, 2>) -> Norm<B> {
            Norm {
                weight: next(),
                bias: next(),
            }
        }
        let input = affine(&mut next);
        let (positions, query) = (next(), next());
        let layers = (0..layout.layers)
            .map(|_| {
                let norm1 = norm(&mut next);
                let weights = [(); 3].map(|()| next());
                let biases = [(); 3].map(|()| next());
                let mut thirds = weights
                    .into_iter()
                    .zip(biases)
                    .map(|(weight, bias)| Affine { weight, bias });
                let mut third = || thirds.next().expect("three of three");
                let (query, key, value) = (third(), third(), third());
                MixerLayer {
                    norm1,
                    query,
                    key,
                    value,
                    out: affine(&mut next),
                    norm2: norm(&mut next),
                    up: affine(&mut next),
                    down: affine(&mut next),
                }
            })
            .collect();
        Self {
            input,
            positions,
            query,
            layers,
            end: match layout.kind {
                MixerKind::PreNorm => End::PreNorm {
                    norm: norm(&mut next),
                    output: affine(&mut next),
                },
                MixerKind::EncoderLayers => End::EncoderLayers {
                    residual: affine(&mut next),
                    pooled: affine(&mut next),
                },
            },
            kind: layout.kind,
            heads: layout.heads,
            places: layout.places(),
        }
    }

    /// The mixed vectors of all slots, `(rows · slots) × dim`, before they are scaled to length 1: of words, and in the
    /// slots of queries the query vectors.
    pub fn forward(&self, input: MixerInput<B>) -> Tensor<B, 2> {
        let [rows, slots, dim] = input.words.dims();
        let flat = [rows * slots, dim];
        let words = input.words.clone().reshape(flat);
        let placed = self.placed(input.places.clone());
        let mut hidden = words.clone().matmul(self.input.weight.clone()) + placed;
        for layer in &self.layers {
            hidden = match self.kind {
                MixerKind::PreNorm => {
                    let normed = self.normed(&layer.norm1, hidden.clone());
                    hidden = hidden + self.attend(layer, &normed, &input.mask, [rows, slots]);
                    let normed = self.normed(&layer.norm2, hidden.clone());
                    hidden + layer.feed(normed)
                }
                MixerKind::EncoderLayers => {
                    let attended = self.attend(layer, &hidden, &input.mask, [rows, slots]);
                    hidden = self.normed(&layer.norm1, hidden + attended);
                    let fed = layer.feed(hidden.clone());
                    self.normed(&layer.norm2, hidden + fed)
                }
            };
        }
        match &self.end {
            End::PreNorm { norm, output } => {
                let change = output.apply(self.normed(norm, hidden), Purpose::Training);
                let means = input.means.matmul(input.words.clone());
                (input.words + means).reshape(flat) + change
            }
            End::EncoderLayers { residual, pooled } => {
                let column = |at: usize| input.places.clone().narrow(1, at, 1);
                let positions = self.positions.dims()[0];
                let (of_query, of_word) = (column(positions), column(positions + 1));
                let means = input
                    .means
                    .matmul(hidden.clone().reshape([rows, slots, dim]));
                let query = means.reshape(flat) + pooled.apply(hidden.clone(), Purpose::Training);
                let word = hidden + residual.apply(words, Purpose::Training);
                word * of_word + query * of_query
            }
        }
    }

    /// Positions, the query's own start, and the bias of words, all as one product: its gradient is one too.
    fn placed(&self, places: Tensor<B, 2>) -> Tensor<B, 2> {
        let [positions, dim] = self.positions.dims();
        let mut rows = vec![
            self.positions.clone(),
            self.query.clone(),
            self.input.bias.clone(),
        ];
        let rest = self.places - positions - 2;
        if rest > 0 {
            let options = (&self.positions.device(), self.positions.dtype());
            rows.push(Tensor::zeros([rest, dim], options));
        }
        places.matmul(Tensor::cat(rows, 0))
    }

    fn normed(&self, norm: &Norm<B>, input: Tensor<B, 2>) -> Tensor<B, 2> {
        norm.apply(input, f64::from(self.kind.epsilon()), Purpose::Training)
    }

    fn attend(
        &self,
        layer: &MixerLayer<B>,
        normed: &Tensor<B, 2>,
        mask: &Tensor<B, 4>,
        [rows, slots]: [usize; 2],
    ) -> Tensor<B, 2> {
        let dim = normed.dims()[1];
        let size = dim / self.heads;
        let by_head = |part: &Affine<B>| -> Tensor<B, 4> {
            let projected = part.apply(normed.clone(), Purpose::Training);
            projected
                .reshape([rows, slots, self.heads, size])
                .swap_dims(1, 2)
        };
        let (query, key) = (by_head(&layer.query), by_head(&layer.key));
        let value = by_head(&layer.value);
        let scores = query.matmul(key.transpose()) * (1.0 / (size as f32).sqrt()) + mask.clone();
        let context = softmax(scores, 3).matmul(value);
        let context = context.swap_dims(1, 2).reshape([rows * slots, dim]);
        layer.out.apply(context, Purpose::Training)
    }
}

impl<B: Backend> MixerLayer<B> {
    fn feed(&self, input: Tensor<B, 2>) -> Tensor<B, 2> {
        let inner = gelu(self.up.apply(input, Purpose::Training));
        self.down.apply(inner, Purpose::Training)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_model::MixerShape;

    #[test]
    fn numbers_come_back_as_they_went() {
        let shape = MixerShape {
            kind: MixerKind::EncoderLayers,
            hidden: 6,
            layers: 2,
            feed_forward: 10,
            heads: 2,
            positions: 3,
        };
        let mut weights = MixerWeights::new(shape, "tiny", 1);
        let mut number = 0.0;
        for values in weights.values_mut() {
            for value in values {
                number += 1.0;
                *value = number;
            }
        }
        let layout = MixerLayout::new(&weights);
        let row = layout.row(&weights);
        assert_eq!(row.len(), layout.numbers());
        assert_eq!(row.len() as f32, number);
        let mut back = MixerWeights::new(shape, "tiny", 2);
        layout.take(&row, &mut back);
        assert_eq!(back, weights);
        // Input weights come first, and are transposed.
        assert_eq!(row[1], weights.input.weight.row(1)[0]);
    }
}
