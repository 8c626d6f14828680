//! The mixer's forward pass: vectors of a query's words, each looked up by itself, into vectors of words in their query.
//!
//! [`becr_model::MixerWeights`] has the formulas. A query is a handful of rows, so everything happens on the calling
//! thread: results cannot depend on the number of threads.

#[cfg(test)]
mod tests;

use crate::kernel::{Buffer, Simd};
use crate::native::attention::{Projections, attend};
use crate::native::linear::Linear;
use crate::native::scratch::{Pool, Scratch, padded};
use crate::{EncodeError, Precision};
use becr_model::{LayerNorm, Matrix, MixerEnd, MixerLayer, MixerWeights};

/// Words of a query that are mixed. What comes after them is left as it is.
pub const MOST_MIXED_WORDS: usize = 64;

/// A mixer on the CPU at hand.
///
/// ```
/// use becr_encoder::{Mixed, Mixer};
/// use becr_model::{MixerKind, MixerShape, MixerWeights};
///
/// let kind = MixerKind::PreNorm;
/// let shape = MixerShape { kind, hidden: 8, layers: 2, feed_forward: 16, heads: 2, positions: 4 };
/// let mixer = Mixer::new(&MixerWeights::new(shape, "encoder", 1))?;
/// let (mut words, mut mixed) = (vec![0.0; 16], Mixed::default());
/// (words[0], words[9]) = (1.0, 1.0); // two words, two unit vectors
/// mixer.mix(&words, &mut mixed);
/// // One that was not trained leaves words as they are, and means them for the query.
/// assert_eq!(mixed.terms, words);
/// assert!((mixed.query[0] - 0.5f32.sqrt()).abs() < 1e-6);
/// # Ok::<(), becr_encoder::EncodeError>(())
/// ```
pub struct Mixer {
    simd: Simd,
    dim: usize,
    heads: usize,
    input: Linear,
    positions: Matrix,
    query: Vec<f32>,
    layers: Vec<Layer>,
    end: End,
    word_blend: f32,
    epsilon: f32,
    memory: Pool<Memory>,
}

enum End {
    PreNorm { norm: LayerNorm, output: Linear },
    EncoderLayers { residual: Linear, pooled: Linear },
}

/// What comes out of a mixer: unit vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mixed {
    /// One for each word, laid end to end.
    pub terms: Vec<f32>,
    /// The query's own; zeros without a word.
    pub query: Vec<f32>,
}

struct Layer {
    norm1: LayerNorm,
    /// The queries are scaled already.
    qkv: Linear,
    out: Linear,
    norm2: LayerNorm,
    up: Linear,
    down: Linear,
}

/// Working memory, kept from query to query. Rows lie [`padded`] apart.
#[derive(Default)]
struct Memory {
    states: Buffer,
    normed: Buffer,
    projections: Buffer,
    contexts: Buffer,
    wide: Buffer,
    change: Buffer,
    scratch: Scratch,
}

impl Layer {
    fn new(simd: Simd, precision: Precision, head_size: usize, weights: &MixerLayer) -> Self {
        let mut qkv = weights.qkv.clone();
        let scale = 1.0 / (head_size as f32).sqrt();
        let (queries, inputs) = (qkv.weight.rows / 3, qkv.weight.cols);
        let weight = qkv.weight.data[..queries * inputs].iter_mut();
        weight
            .chain(&mut qkv.bias[..queries])
            .for_each(|x| *x *= scale);
        let linear = |layer| Linear::side_by_side(simd, precision, &[layer]);
        Self {
            norm1: weights.norm1.clone(),
            qkv: linear(&qkv),
            out: linear(&weights.out),
            norm2: weights.norm2.clone(),
            up: linear(&weights.up),
            down: linear(&weights.down),
        }
    }
}

impl Mixer {
    /// Prepares weights for the int8 instructions of this processor: a model's mixer is stored in eight bits.
    pub fn new(weights: &MixerWeights) -> Result<Self, EncodeError> {
        Self::with_precision(weights, Precision::Int8)
    }

    /// Prepares weights for the best vector instructions of this processor; `BECR_SIMD` overrides the choice.
    pub fn with_precision(
        weights: &MixerWeights,
        precision: Precision,
    ) -> Result<Self, EncodeError> {
        Ok(Self::with_simd(weights, precision, Simd::detect()?))
    }

    pub(crate) fn with_simd(weights: &MixerWeights, precision: Precision, simd: Simd) -> Self {
        let shape = weights.shape();
        let head_size = shape.hidden / shape.heads;
        let linear = |layer| Linear::side_by_side(simd, precision, &[layer]);
        let layers = weights.layers.iter();
        Self {
            simd,
            dim: shape.hidden,
            heads: shape.heads,
            input: linear(&weights.input),
            positions: weights.positions.clone(),
            query: weights.query.clone(),
            layers: layers
                .map(|layer| Layer::new(simd, precision, head_size, layer))
                .collect(),
            end: match &weights.end {
                MixerEnd::PreNorm { norm, output } => End::PreNorm {
                    norm: norm.clone(),
                    output: linear(output),
                },
                MixerEnd::EncoderLayers { residual, pooled } => End::EncoderLayers {
                    residual: linear(residual),
                    pooled: linear(pooled),
                },
            },
            word_blend: weights.word_blend,
            epsilon: shape.kind.epsilon(),
            memory: Pool::default(),
        }
    }

    /// Length of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Mixes the unit vectors of a query's words, stop words too, in their order and laid end to end.
    pub fn mix(&self, words: &[f32], out: &mut Mixed) {
        let dim = self.dim;
        let count = words.len() / dim;
        out.terms.clear();
        out.terms.extend_from_slice(&words[..count * dim]);
        // What the last layer gives is added to the words themselves, or stands in their place.
        let added = matches!(self.end, End::PreNorm { .. });
        out.query.clear();
        out.query.resize(dim, 0.0);
        if count == 0 {
            return;
        }
        let mixed = count.min(MOST_MIXED_WORDS);
        if added {
            for word in words.chunks_exact(dim).take(mixed) {
                add(&mut out.query, word);
            }
            out.query.iter_mut().for_each(|x| *x /= mixed as f32);
        }
        self.memory.with(|memory| {
            self.run(&words[..mixed * dim], memory);
            let stride = padded(dim);
            let mut changes = memory.change.chunks_exact(stride);
            let results =
                std::iter::once(&mut out.query[..]).chain(out.terms.chunks_exact_mut(dim));
            for (result, change) in results.take(1 + mixed).zip(&mut changes) {
                match added {
                    true => add(result, &change[..dim]),
                    false => result.copy_from_slice(&change[..dim]),
                }
                unit(result);
            }
        });
        self.blend(&words[..mixed * dim], &mut out.terms);
    }

    /// Brings some of the words back.
    fn blend(&self, words: &[f32], terms: &mut [f32]) {
        if self.word_blend == 0.0 {
            return;
        }
        let words = words.chunks_exact(self.dim);
        for (term, word) in terms.chunks_exact_mut(self.dim).zip(words) {
            let parts = term.iter_mut().zip(word);
            parts.for_each(|(x, own)| *x += self.word_blend * own);
            unit(term);
        }
    }

    /// Leaves what comes out of the last layer in `memory.change`: of the query, then of its words.
    fn run(&self, words: &[f32], memory: &mut Memory) {
        let (simd, dim) = (self.simd, self.dim);
        let rows = 1 + words.len() / dim;
        let stride = padded(dim);
        let Memory {
            states,
            normed,
            projections,
            contexts,
            wide,
            change,
            scratch,
        } = memory;
        let states = &mut states.at_least(rows * stride)[..rows * stride];
        let normed = &mut normed.at_least(rows * stride)[..rows * stride];
        let contexts = &mut contexts.at_least(rows * stride)[..rows * stride];
        let change = &mut change.at_least(rows * stride)[..rows * stride];
        for (row, word) in normed.chunks_exact_mut(stride).zip(words.chunks_exact(dim)) {
            row[..dim].copy_from_slice(word);
        }
        let behind = &mut states[stride..];
        let bytes = &mut scratch.bytes;
        (self.input).apply(
            simd,
            rows - 1,
            (normed, stride),
            (behind, stride),
            false,
            bytes,
        );
        for (place, row) in behind.chunks_exact_mut(stride).enumerate() {
            let position = place.min(self.positions.rows - 1);
            add(&mut row[..dim], self.positions.row(position));
        }
        states[..dim].copy_from_slice(&self.query);
        let project = padded(3 * dim);
        let projections = projections.at_least(rows * project);
        let pre_norm = matches!(self.end, End::PreNorm { .. });
        for layer in &self.layers {
            match pre_norm {
                true => self.normalise(&layer.norm1, states, normed),
                false => normed.copy_from_slice(states),
            }
            let bytes = &mut scratch.bytes;
            let out = (&mut projections[..], project);
            layer
                .qkv
                .apply(simd, rows, (normed, stride), out, false, bytes);
            self.attend(rows, (projections, project), scratch, contexts);
            let bytes = &mut scratch.bytes;
            layer.out.apply(
                simd,
                rows,
                (contexts, stride),
                (change, stride),
                false,
                bytes,
            );
            add(states, change);
            match pre_norm {
                true => self.normalise(&layer.norm2, states, normed),
                false => {
                    self.normalise(&layer.norm1, states, normed);
                    states.copy_from_slice(normed);
                }
            }
            let up = padded(layer.up.cols());
            let wide = wide.at_least(rows * up);
            layer
                .up
                .apply(simd, rows, (normed, stride), (wide, up), true, bytes);
            layer
                .down
                .apply(simd, rows, (wide, up), (change, stride), false, bytes);
            add(states, change);
            if !pre_norm {
                self.normalise(&layer.norm2, states, normed);
                states.copy_from_slice(normed);
            }
        }
        let bytes = &mut scratch.bytes;
        match &self.end {
            End::PreNorm { norm, output } => {
                self.normalise(norm, states, normed);
                output.apply(simd, rows, (normed, stride), (change, stride), false, bytes);
            }
            End::EncoderLayers { residual, pooled } => {
                for (row, word) in normed.chunks_exact_mut(stride).zip(words.chunks_exact(dim)) {
                    row[..dim].copy_from_slice(word);
                }
                let (query, behind) = change.split_at_mut(stride);
                residual.apply(
                    simd,
                    rows - 1,
                    (normed, stride),
                    (behind, stride),
                    false,
                    bytes,
                );
                pooled.apply(simd, 1, (states, stride), (query, stride), false, bytes);
                add(behind, &states[stride..]);
                for state in states.chunks_exact(stride) {
                    let parts = query.iter_mut().zip(state);
                    parts.for_each(|(sum, x)| *sum += x / rows as f32);
                }
            }
        }
    }

    /// Attention of all heads, whose outputs come side by side.
    fn attend(
        &self,
        rows: usize,
        (projections, project): (&[f32], usize),
        scratch: &mut Scratch,
        contexts: &mut [f32],
    ) {
        let size = self.dim / self.heads;
        let from = Projections {
            rows: projections,
            stride: project,
            dim: self.dim,
            head_size: size,
        };
        for head in 0..self.heads {
            let out = (&mut contexts[head * size..], padded(self.dim));
            attend(self.simd, &from, &(0..rows), head, scratch, out);
        }
    }

    fn normalise(&self, norm: &LayerNorm, states: &[f32], out: &mut [f32]) {
        let stride = padded(self.dim);
        for (to, from) in out
            .chunks_exact_mut(stride)
            .zip(states.chunks_exact(stride))
        {
            let to = &mut to[..self.dim];
            to.fill(0.0);
            self.simd
                .add_norm(to, (&from[..self.dim], self.dim), norm, self.epsilon);
        }
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Scales a vector to length 1, if it has a direction.
fn unit(vector: &mut [f32]) {
    // Sixteen sums side by side: one after the other, additions wait for each other.
    let mut sums = [0.0f32; 16];
    for part in vector.chunks(16) {
        sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x * x);
    }
    let length = sums.iter().sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}
