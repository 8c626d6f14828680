//! The forward pass on CPUs.
//!
//! Tokens of all sequences are laid end to end, so nothing is computed for padding: linear layers see one tall
//! matrix, cut into blocks of rows; attention sees one sequence and head at a time. A block of rows goes through
//! everything between two attentions while it is in the cache.

pub(crate) mod attention;
mod layer;
pub(crate) mod linear;
pub(crate) mod scratch;
#[cfg(test)]
pub(crate) mod tests;

use crate::kernel::{Finish, Int8, Panels, Simd};
use crate::{
    Backend, Batch, EncodeError, Encoded, HiddenStates, Precision, Shape, Wanted, hyperplanes,
};
use becr_footprint::lsh::{Hyperplanes, pack_signs};
use becr_model::{Centres, Config, Embeddings, Weights};
use layer::Layer;
use rayon::prelude::*;
use scratch::{PassBuffers, Pool, Scratch, padded};
use std::ops::Range;

/// Most rows that a task takes through the linear layers: enough to make reading the weights cheap, few enough
/// for the activations to stay in the second-level cache.
const BLOCK_ROWS: usize = 192;

/// The forward pass on the CPU at hand. Work is spread over the current rayon pool.
///
/// Results do not depend on the batch that a sequence is in, nor on the number of threads: not in a single bit.
pub struct NativeEncoder {
    simd: Simd,
    precision: Precision,
    shape: Shape,
    heads: usize,
    epsilon: f32,
    embeddings: Embeddings,
    layers: Vec<Layer>,
    planes: Option<Panels>,
    hyperplanes: Option<Hyperplanes>,
    centres: Option<Centres>,
    scratch: Pool<Scratch>,
    passes: Pool<PassBuffers>,
}

impl NativeEncoder {
    /// [`with_precision`](Self::with_precision) in f32.
    pub fn new(config: &Config, weights: Weights) -> Result<Self, EncodeError> {
        Self::with_precision(config, weights, Precision::F32)
    }

    /// Prepares weights for the best vector instructions this processor has. `BECR_SIMD` (`avx512`, `avx2`,
    /// `neon`, `portable`) overrides the choice. Layers behind the last kept one are dropped.
    pub fn with_precision(
        config: &Config,
        weights: Weights,
        precision: Precision,
    ) -> Result<Self, EncodeError> {
        Self::with_simd(config, weights, precision, Simd::detect()?)
    }

    pub(crate) fn with_simd(
        config: &Config,
        weights: Weights,
        precision: Precision,
        simd: Simd,
    ) -> Result<Self, EncodeError> {
        let shape = Shape::new(config)?;
        let last = shape.layers.last().copied().unwrap_or(0);
        let hyperplanes = hyperplanes(config)?;
        let planes = hyperplanes.as_ref().map(|planes| {
            Panels::from_columns(
                simd,
                planes.dim(),
                planes.matrix().chunks_exact(planes.dim()),
            )
        });
        let layers = weights.layers.into_iter().take(last);
        Ok(Self {
            simd,
            precision,
            heads: config.num_attention_heads,
            epsilon: config.layer_norm_eps as f32,
            embeddings: weights.embeddings,
            layers: layers
                .map(|layer| Layer::new(simd, precision, config.head_size(), layer))
                .collect(),
            planes,
            hyperplanes,
            centres: weights.centres,
            scratch: Pool::default(),
            passes: Pool::default(),
            shape,
        })
    }

    /// The instructions chosen: `avx512`, `avx2`, `neon` or `portable`.
    pub fn simd(&self) -> &'static str {
        self.simd.name()
    }

    /// The instructions of the linear layers: in int8 `amx`, `avx512-vnni`, `avx-vnni`, `avx2`, `neon-i8mm`,
    /// `neon-dotprod`, `neon` or `portable`.
    pub fn linear_simd(&self) -> &'static str {
        match self.precision {
            Precision::F32 => self.simd.name(),
            Precision::Int8 => Int8::beside(self.simd).name(),
        }
    }

    /// Runs the batch through the layers and shows `keep` the hidden states of each kept one as it comes.
    fn forward(
        &self,
        batch: &Batch,
        mut keep: impl FnMut(&[f32]) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        batch.check(&self.shape)?;
        self.passes.with(|buffers| {
            let PassBuffers {
                states,
                projections,
                contexts,
            } = buffers;
            let len = batch.tokens() * self.shape.dim;
            let states = &mut states.at_least(len)[..len];
            self.embed(batch, states);
            let mut kept = self.shape.layers.iter().copied().peekable();
            if kept.next_if_eq(&0).is_some() {
                keep(states)?;
            }
            let mut work = layer::Work::new(batch, self.shape.dim, projections, contexts);
            for (layer, number) in self.layers.iter().zip(1..) {
                layer.run(self, &mut work, states);
                if kept.next_if_eq(&number).is_some() {
                    keep(states)?;
                }
            }
            Ok(())
        })
    }

    /// The embedding layer: norm of word + position + token type 0.
    fn embed(&self, batch: &Batch, states: &mut [f32]) {
        let dim = self.shape.dim;
        let Embeddings {
            word,
            position,
            token_type,
            layer_norm,
        } = &self.embeddings;
        let places: Vec<usize> = batch
            .sequences()
            .flat_map(|sequence| 0..sequence.len())
            .collect();
        let rows = states.par_chunks_exact_mut(dim).with_min_len(64);
        rows.zip(batch.ids())
            .zip(&places)
            .for_each(|((row, &id), &place)| {
                let sum = word.row(id as usize).iter().zip(token_type.row(0));
                row.iter_mut().zip(sum).for_each(|(x, (w, t))| *x = w + t);
                self.simd
                    .add_norm(row, (position.row(place), dim), layer_norm, self.epsilon);
            });
    }

    /// Footprints of spans, given the hidden states of one layer.
    fn project(
        &self,
        planes: &Panels,
        states: &[f32],
        centre: &[f32],
        spans: &[Range<usize>],
        out: &mut [u32],
    ) -> Result<(), EncodeError> {
        let (dim, words) = (self.shape.dim, self.shape.width());
        let (stride, bits) = (padded(dim), 32 * words);
        let block = self.block_rows(spans.len());
        let blocks = out
            .par_chunks_mut(block * words)
            .zip(spans.par_chunks(block));
        blocks.try_for_each(|(out, spans)| {
            self.scratch.with(|Scratch { input, output, .. }| {
                let input = input.at_least(spans.len() * stride);
                for (row, span) in input.chunks_exact_mut(stride).zip(spans) {
                    mean(states, dim, span, centre, &mut row[..dim]);
                }
                let output = output.at_least(spans.len() * bits);
                let finish = Finish::default();
                self.simd
                    .product(spans.len(), (input, stride), planes, (output, bits), finish);
                Ok(pack_signs(&output[..spans.len() * bits], out)?)
            })
        })
    }

    /// Rows per task: small batches are still shared by all threads.
    fn block_rows(&self, rows: usize) -> usize {
        let share = rows
            .div_ceil(rayon::current_num_threads())
            .next_multiple_of(12);
        share.clamp(12, BLOCK_ROWS)
    }
}

/// The mean of the rows of a span, seen from `centre`, which may be empty.
fn mean(states: &[f32], dim: usize, span: &Range<usize>, centre: &[f32], out: &mut [f32]) {
    let mut rows = states[span.start * dim..span.end * dim].chunks_exact(dim);
    if let Some(first) = rows.next() {
        out.copy_from_slice(first);
    }
    for row in rows {
        out.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    if span.len() > 1 {
        let share = 1.0 / span.len() as f32;
        out.iter_mut().for_each(|x| *x *= share);
    }
    out.iter_mut().zip(centre).for_each(|(x, c)| *x -= c);
}

impl Backend for NativeEncoder {
    fn name(&self) -> &'static str {
        "native"
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn implementation(&self) -> Option<String> {
        Some(format!("{} {}", self.simd(), self.linear_simd()))
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn hyperplanes(&self) -> Option<&Hyperplanes> {
        self.hyperplanes.as_ref()
    }

    fn centres(&self) -> Option<&Centres> {
        self.centres.as_ref()
    }

    fn hidden_states(&self, batch: &Batch) -> Result<HiddenStates, EncodeError> {
        let mut layers = Vec::with_capacity(self.shape.layers.len());
        self.forward(batch, |states| {
            layers.push(states.to_vec());
            Ok(())
        })?;
        Ok(HiddenStates {
            dim: self.shape.dim,
            layers,
        })
    }

    fn encode(&self, batch: &Batch, wanted: &Wanted) -> Result<Encoded, EncodeError> {
        wanted.check(batch)?;
        let planes = self.planes.as_ref().ok_or(EncodeError::RawVectors)?;
        let (dim, words) = (self.shape.dim, self.shape.width());
        let per_layer = wanted.footprints.len() * words;
        let mut footprints = vec![0; self.shape.layers.len() * per_layer];
        let mut vectors = vec![0.0; wanted.vectors.len() * dim];
        let centres = wanted.centre.rows(self.centres.as_ref(), &self.shape);
        let mut layer = 0;
        self.forward(batch, |states| {
            let out = &mut footprints[layer * per_layer..][..per_layer];
            let centre = centres.get(layer).copied().unwrap_or_default();
            self.project(planes, states, centre, &wanted.footprints, out)?;
            layer += 1;
            if layer == self.shape.layers.len() {
                for (row, span) in vectors.chunks_exact_mut(dim).zip(&wanted.vectors) {
                    mean(states, dim, span, centre, row);
                }
            }
            Ok(())
        })?;
        Ok(Encoded {
            footprints,
            vectors,
        })
    }
}
