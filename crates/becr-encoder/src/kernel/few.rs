//! Attention of one head over a short sequence: a row of scores is one or two vectors, which never leave the registers
//! before their softmax. Queries, words and pairs are such sequences, and laying out panels for them takes longer than
//! the products.
//!
//! Sums are formed in the order of [`product`](super::product) and [`softmax`](super::math::softmax): the same bits.

use super::lanes::Lanes;
use super::math::exp;

/// Scores of a row are computed in multiples of this, whatever the width of a vector.
pub(super) const STEP: usize = 16;
/// Most vectors of a row of scores.
const MOST_VECTORS: usize = 2;
/// Most scores of a row: two vectors of the widest kind.
const MOST: usize = 32;

/// Queries, keys and values of a sequence, and where the results go. The pointers' extents are promised by
/// [`super::Simd::attend_few`].
pub(super) struct Few {
    pub(super) tokens: usize,
    /// Floats of a query, a key and a value: a multiple of the width.
    pub(super) size: usize,
    /// The first token's, each; those of the next lie `stride` further.
    pub(super) queries: *const f32,
    pub(super) keys: *const f32,
    pub(super) values: *const f32,
    pub(super) stride: usize,
    /// Room for `size × MOST` floats.
    pub(super) columns: *mut f32,
    pub(super) out: *mut f32,
    pub(super) out_stride: usize,
}

/// Floats of working memory for heads of this size.
pub(super) fn room(size: usize) -> usize {
    size * MOST
}

/// Whether the scores of so many tokens fit, with heads of this size.
pub(super) fn fits(width: usize, tokens: usize, size: usize) -> bool {
    tokens.next_multiple_of(STEP) <= MOST_VECTORS * width && size.is_multiple_of(width)
}

/// # Safety
///
/// The processor has the features of `V`, the job [`fits`], and its pointers reach as far as its sizes say.
#[inline(always)]
pub(super) unsafe fn attend_few<V: Lanes>(p: &Few) {
    // Eight sums at a time hide the time that each addition takes.
    match p.tokens.next_multiple_of(STEP) / V::WIDTH {
        1 => in_blocks::<V, 1, 8>(p),
        _ => in_blocks::<V, 2, 4>(p),
    }
}

/// # Safety
///
/// As [`attend_few`]; a row of scores is `N` vectors.
#[inline(always)]
unsafe fn in_blocks<V: Lanes, const N: usize, const ROWS: usize>(p: &Few) {
    let length = N * V::WIDTH;
    for i in 0..p.size * N {
        V::splat(0.0).store(p.columns.add(i * V::WIDTH));
    }
    for token in 0..p.tokens {
        let key = p.keys.add(token * p.stride);
        for i in 0..p.size {
            *p.columns.add(i * length + token) = *key.add(i);
        }
    }
    // Behind the last token, scores are as low as can be.
    let mut lowest = [0.0f32; MOST];
    lowest[p.tokens..].fill(f32::MIN);
    for first in (0..p.tokens).step_by(ROWS) {
        block::<V, N, ROWS>(p, first, lowest.as_ptr());
    }
}

/// `ROWS` tokens from `first` on; what lies behind the last is the last once more.
///
/// # Safety
///
/// As [`in_blocks`]; `lowest` has a row of scores.
#[inline(always)]
unsafe fn block<V: Lanes, const N: usize, const ROWS: usize>(
    p: &Few,
    first: usize,
    lowest: *const f32,
) {
    let length = N * V::WIDTH;
    let row_of = |row: usize| (first + row).min(p.tokens - 1);
    let mut sums = [[V::splat(0.0); N]; ROWS];
    for i in 0..p.size {
        let column = p.columns.add(i * length);
        for (row, sums) in sums.iter_mut().enumerate() {
            let x = V::splat(*p.queries.add(row_of(row) * p.stride + i));
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = x.mul_add(V::load(column.add(n * V::WIDTH)), *sum);
            }
        }
    }
    let mut scores = [[0.0f32; MOST]; ROWS];
    let mut inverse = [0.0f32; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        for (n, sum) in sums.iter_mut().enumerate() {
            *sum = sum.add(V::load(lowest.add(n * V::WIDTH)));
        }
        let mut largest = sums[0];
        for sum in &sums[1..] {
            largest = largest.max(*sum);
        }
        let largest = V::splat(largest.largest());
        let mut total = V::splat(0.0);
        for (n, sum) in sums.iter().enumerate() {
            let e = exp(sum.sub(largest));
            e.store(scores[row].as_mut_ptr().add(n * V::WIDTH));
            total = total.add(e);
        }
        inverse[row] = 1.0 / total.sum();
    }
    for col in (0..p.size).step_by(V::WIDTH) {
        let mut sums = [V::splat(0.0); ROWS];
        for token in 0..p.tokens {
            let value = V::load(p.values.add(token * p.stride + col));
            for (scores, sum) in scores.iter().zip(&mut sums) {
                *sum = V::splat(scores[token]).mul_add(value, *sum);
            }
        }
        for (row, sum) in sums.iter().enumerate() {
            let out = p.out.add(row_of(row) * p.out_stride + col);
            sum.mul(V::splat(inverse[row])).store(out);
        }
    }
}
