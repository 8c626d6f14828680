//! Attention of one head over one sequence, in blocks of queries: the scores of a block are all that is held.

use super::scratch::{Scratch, padded};
use crate::kernel::{Finish, Simd};
use std::ops::Range;

/// Queries whose scores are held at a time.
const BLOCK_QUERIES: usize = 48;

/// Queries, keys and values of every token, side by side in one row.
pub(crate) struct Projections<'a> {
    pub(crate) rows: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) dim: usize,
    pub(crate) head_size: usize,
}

impl<'a> Projections<'a> {
    /// The part of each token's row that belongs to a head: `part` 0 is the query, 1 the key, 2 the value.
    fn part(
        &self,
        tokens: &Range<usize>,
        part: usize,
        head: usize,
    ) -> impl ExactSizeIterator<Item = &'a [f32]> {
        let (rows, stride, size) = (self.rows, self.stride, self.head_size);
        let column = part * self.dim + head * size;
        tokens
            .clone()
            .map(move |token| &rows[token * stride + column..][..size])
    }
}

/// Writes `softmax(Q·Kᵀ)·V` of one head to `out`, `tokens × head size`. The queries are scaled already.
pub(crate) fn attend(
    simd: Simd,
    from: &Projections<'_>,
    sequence: &Range<usize>,
    head: usize,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    let Scratch {
        wide,
        per_row,
        keys,
        values,
        ..
    } = scratch;
    let (tokens, size) = (sequence.len(), from.head_size);
    keys.set_columns(simd, size, from.part(sequence, 1, head));
    values.set_rows(simd, size, from.part(sequence, 2, head));
    let stride = padded(tokens);
    let scores = wide.at_least(BLOCK_QUERIES * stride);
    let inverse_sums = per_row.at_least(BLOCK_QUERIES);
    for (block, out) in out.chunks_mut(BLOCK_QUERIES * size).enumerate() {
        let rows = out.len() / size;
        let first = (sequence.start + block * BLOCK_QUERIES) * from.stride + head * size;
        simd.product(
            rows,
            (&from.rows[first..], from.stride),
            keys,
            (scores, stride),
            Finish::default(),
        );
        simd.softmax(&mut scores[..rows * stride], stride, tokens, inverse_sums);
        let normalise = Finish {
            row_scale: Some(inverse_sums),
            gelu: false,
        };
        simd.product(rows, (scores, stride), values, (out, size), normalise);
    }
}
