//! Attention of one head over one sequence, in blocks of queries: the scores of a block are all that is held.

use super::scratch::{Scratch, padded};
use crate::kernel::{Finish, Head, Simd};
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
    fn column(&self, part: usize, head: usize) -> usize {
        part * self.dim + head * self.head_size
    }

    /// The part of each token's row that belongs to a head: `part` 0 is the query, 1 the key, 2 the value.
    fn part(
        &self,
        tokens: &Range<usize>,
        part: usize,
        head: usize,
    ) -> impl ExactSizeIterator<Item = &'a [f32]> {
        let (rows, stride, size) = (self.rows, self.stride, self.head_size);
        let column = self.column(part, head);
        tokens
            .clone()
            .map(move |token| &rows[token * stride + column..][..size])
    }
}

/// Writes `softmax(Q·Kᵀ)·V` of one head to `out`, a row of head size for each token, `out_stride` apart. The queries are
/// scaled already.
pub(crate) fn attend(
    simd: Simd,
    from: &Projections<'_>,
    sequence: &Range<usize>,
    head: usize,
    scratch: &mut Scratch,
    (out, out_stride): (&mut [f32], usize),
) {
    let one = Head {
        rows: &from.rows[sequence.start * from.stride..],
        stride: from.stride,
        tokens: sequence.len(),
        size: from.head_size,
        at: [0, 1, 2].map(|part| from.column(part, head)),
    };
    if simd.attend_few(&one, &mut scratch.wide, (out, out_stride)) {
        return;
    }
    attend_in_blocks(simd, from, sequence, head, scratch, (out, out_stride));
}

/// The same for any number of tokens.
fn attend_in_blocks(
    simd: Simd,
    from: &Projections<'_>,
    sequence: &Range<usize>,
    head: usize,
    scratch: &mut Scratch,
    (out, out_stride): (&mut [f32], usize),
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
    for (block, out) in out.chunks_mut(BLOCK_QUERIES * out_stride).enumerate() {
        let rows = BLOCK_QUERIES.min(tokens - block * BLOCK_QUERIES);
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
        simd.product(rows, (scores, stride), values, (out, out_stride), normalise);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Short sequences have a way of their own, with the same bits.
        #[test]
        fn short_sequences_are_no_other(
            tokens in 1usize..40, heads in 1usize..3, halves in 1usize..6, odd in 0usize..2, seed: u32
        ) {
            let size = 8 * halves + odd;
            let dim = heads * size;
            let stride = padded(3 * dim);
            let number = |i: usize| {
                let bits = (i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed);
                (bits.wrapping_mul(bits | 1) >> 8) as f32 / (1 << 22) as f32 - 2.0
            };
            let rows: Vec<f32> = (0..(tokens + 2) * stride).map(number).collect();
            let from = Projections { rows: &rows, stride, dim, head_size: size };
            let sequence = 2..tokens + 2;
            for simd in Simd::available() {
                let mut scratch = Scratch::default();
                let (mut out, mut expected) = (vec![7.0; tokens * dim], vec![7.0; tokens * dim]);
                for head in 0..heads {
                    let column = head * size;
                    attend(simd, &from, &sequence, head, &mut scratch, (&mut out[column..], dim));
                    attend_in_blocks(simd, &from, &sequence, head, &mut scratch, (&mut expected[column..], dim));
                }
                let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
                prop_assert_eq!(bits(&out), bits(&expected));
            }
        }
    }
}
