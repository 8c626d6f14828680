//! One encoder layer.

use super::linear::Linear;
use super::scratch::{Scratch, padded};
use super::{NativeEncoder, attention};
use crate::kernel::{Buffer, Simd};
use crate::{Batch, Precision};
use becr_model::LayerNorm;
use rayon::prelude::*;
use std::ops::Range;

/// The weights of a layer in the form the kernels read.
pub(super) struct Layer {
    /// Query, key and value side by side; the queries are scaled already.
    query_key_value: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    ffn_in: Linear,
    ffn_out: Linear,
    ffn_norm: LayerNorm,
}

/// What the layers of one forward pass share.
pub(super) struct Work<'a> {
    sequences: Vec<Range<usize>>,
    /// The sequence of each token.
    sequence_of: Vec<usize>,
    /// Queries, keys and values: one row per token.
    projections: &'a mut [f32],
    /// What attention found: per sequence, per head, `tokens × head size`.
    contexts: &'a mut [f32],
}

impl<'a> Work<'a> {
    pub(super) fn new(
        batch: &Batch,
        dim: usize,
        projections: &'a mut Buffer,
        contexts: &'a mut Buffer,
    ) -> Self {
        let sequences: Vec<_> = batch.sequences().collect();
        let numbered = sequences.iter().enumerate();
        let sequence_of = numbered
            .flat_map(|(i, range)| std::iter::repeat_n(i, range.len()))
            .collect();
        let tokens = batch.tokens();
        Self {
            sequences,
            sequence_of,
            projections: &mut projections.at_least(tokens * padded(3 * dim))
                [..tokens * padded(3 * dim)],
            contexts: &mut contexts.at_least(tokens * dim)[..tokens * dim],
        }
    }
}

impl Layer {
    pub(super) fn new(
        simd: Simd,
        precision: Precision,
        head_size: usize,
        weights: becr_model::Layer,
    ) -> Self {
        let side_by_side = |parts: &[&_]| Linear::side_by_side(simd, precision, parts);
        let becr_model::Layer {
            mut query,
            key,
            value,
            attention_output,
            attention_norm,
            ..
        } = weights;
        // Scores are divided by √(head size): do it once, here.
        let scale = 1.0 / (head_size as f32).sqrt();
        query
            .weight
            .data
            .iter_mut()
            .chain(&mut query.bias)
            .for_each(|x| *x *= scale);
        Self {
            query_key_value: side_by_side(&[&query, &key, &value]),
            attention_output: side_by_side(&[&attention_output]),
            attention_norm,
            ffn_in: side_by_side(&[&weights.ffn_in]),
            ffn_out: side_by_side(&[&weights.ffn_out]),
            ffn_norm: weights.ffn_norm,
        }
    }

    /// Replaces the hidden states of one layer by those of the next.
    pub(super) fn run(&self, encoder: &NativeEncoder, work: &mut Work<'_>, states: &mut [f32]) {
        self.project(encoder, work, states);
        self.attend(encoder, work);
        self.transform(encoder, work, states);
    }

    /// Queries, keys and values of every token.
    fn project(&self, encoder: &NativeEncoder, work: &mut Work<'_>, states: &[f32]) {
        let (simd, dim) = (encoder.simd, encoder.shape.dim);
        let (stride, out_stride) = (padded(dim), padded(3 * dim));
        let tokens = work.sequence_of.len();
        let block = encoder.block_rows(tokens);
        let out = work.projections[..tokens * out_stride].par_chunks_mut(block * out_stride);
        out.zip(states.par_chunks(block * dim))
            .for_each(|(out, states)| {
                encoder.scratch.with(|Scratch { input, bytes, .. }| {
                    let rows = states.len() / dim;
                    let input = copy_rows(input, states, dim, stride);
                    self.query_key_value.apply(
                        simd,
                        rows,
                        (input, stride),
                        (out, out_stride),
                        false,
                        bytes,
                    );
                });
            });
    }

    /// Attention, one task per sequence and head.
    fn attend(&self, encoder: &NativeEncoder, work: &mut Work<'_>) {
        let (dim, head_size) = (encoder.shape.dim, encoder.shape.dim / encoder.heads);
        let mut rest = &mut *work.contexts;
        let mut tasks = Vec::with_capacity(work.sequences.len() * encoder.heads);
        for sequence in &work.sequences {
            for head in 0..encoder.heads {
                let (out, behind) = rest.split_at_mut(sequence.len() * head_size);
                tasks.push((sequence.clone(), head, out));
                rest = behind;
            }
        }
        let projections = attention::Projections {
            rows: &*work.projections,
            stride: padded(3 * dim),
            dim,
            head_size,
        };
        // Token groups are thousands of tiny sequences: a task of its own for each would cost more than its work.
        let mean_tokens = work.sequence_of.len() / work.sequences.len().max(1);
        let least = (1024 / (mean_tokens * mean_tokens).max(1)).max(1);
        tasks
            .into_par_iter()
            .with_min_len(least)
            .for_each(|(sequence, head, out)| {
                encoder.scratch.with(|scratch| {
                    let out = (out, head_size);
                    attention::attend(encoder.simd, &projections, &sequence, head, scratch, out);
                });
            });
    }

    /// Everything behind attention: its output projection, the feed-forward part, and both norms.
    fn transform(&self, encoder: &NativeEncoder, work: &Work<'_>, states: &mut [f32]) {
        let (simd, dim, epsilon) = (encoder.simd, encoder.shape.dim, encoder.epsilon);
        let (stride, wide_stride) = (padded(dim), padded(self.ffn_in.cols()));
        let block = encoder.block_rows(work.sequence_of.len());
        states
            .par_chunks_mut(block * dim)
            .enumerate()
            .for_each(|(i, states)| {
                encoder.scratch.with(
                    |Scratch {
                         input,
                         output,
                         wide,
                         bytes,
                         ..
                     }| {
                        let rows = states.len() / dim;
                        let output = output.at_least(rows * stride);
                        let wide = wide.at_least(rows * wide_stride);
                        let contexts = input.at_least(rows * stride);
                        gather(work, i * block, encoder.heads, dim, contexts, stride, rows);
                        self.attention_output.apply(
                            simd,
                            rows,
                            (contexts, stride),
                            (output, stride),
                            false,
                            bytes,
                        );
                        simd.add_norm(states, (output, stride), &self.attention_norm, epsilon);

                        let input = copy_rows(input, states, dim, stride);
                        self.ffn_in.apply(
                            simd,
                            rows,
                            (input, stride),
                            (wide, wide_stride),
                            true,
                            bytes,
                        );
                        self.ffn_out.apply(
                            simd,
                            rows,
                            (wide, wide_stride),
                            (output, stride),
                            false,
                            bytes,
                        );
                        simd.add_norm(states, (output, stride), &self.ffn_norm, epsilon);
                    },
                );
            });
    }
}

/// Rows of `dim` floats at a distance of `stride`.
fn copy_rows<'a>(buffer: &'a mut Buffer, rows: &[f32], dim: usize, stride: usize) -> &'a mut [f32] {
    let buffer = buffer.at_least(rows.len() / dim * stride);
    for (to, from) in buffer.chunks_exact_mut(stride).zip(rows.chunks_exact(dim)) {
        to[..dim].copy_from_slice(from);
    }
    buffer
}

/// Brings the heads' outputs of tokens `first..first + rows` side by side.
fn gather(
    work: &Work<'_>,
    first: usize,
    heads: usize,
    dim: usize,
    out: &mut [f32],
    stride: usize,
    rows: usize,
) {
    let head_size = dim / heads;
    for (out, token) in out.chunks_exact_mut(stride).zip(first..first + rows) {
        let sequence = &work.sequences[work.sequence_of[token]];
        let of_sequence = &work.contexts[sequence.start * dim..sequence.end * dim];
        let of_heads = of_sequence.chunks_exact(sequence.len() * head_size);
        for (out, of_head) in out.chunks_exact_mut(head_size).zip(of_heads) {
            out.copy_from_slice(&of_head[(token - sequence.start) * head_size..][..head_size]);
        }
    }
}
