//! Signs of products with NEON, sixteen vectors at a time.
//!
//! A sum in the order of [`dot`] takes two instructions for four products, a multiplication and an addition, and there is
//! no way around the second. But only signs are wanted: sums of fused products take half of these instructions and differ
//! by little, and where a sum is farther from zero than the two can differ, its sign is that of `dot`. The others, fewer
//! than one of a thousand, are computed in its order.
//!
//! How much they can differ: either sum is off by at most `n·u / (1 − n·u)` times the sum of the products' absolute values,
//! `u = 2⁻²⁴`, where `n` roundings lie between a product and the sum. That sum is at most the product of the lengths of
//! both vectors.

use super::dot;
use crate::lsh::MAX_BITS;
use std::arch::aarch64::*;

/// Vectors that are computed side by side.
const VECTORS: usize = 16;
/// Registers of their numbers.
const REGISTERS: usize = VECTORS / 4;
/// Hyperplanes that are computed side by side: as many as leave registers for their numbers.
const PLANES: usize = 4;
/// Dimensions at a time.
const STEP: usize = 8;

/// See [`super::footprints`]. `longest` is at least the length of every normal.
pub(super) fn footprints(
    matrix: &[f32],
    longest: f32,
    dim: usize,
    vectors: &[f32],
    out: &mut [u32],
) {
    let words = matrix.len() / (32 * dim);
    let mut packed = Vec::new();
    let blocks = vectors.chunks(VECTORS * dim);
    for (vectors, out) in blocks.zip(out.chunks_mut(VECTORS * words)) {
        let (fours, rest) = (vectors.len() / dim / 4, vectors.len() / dim % 4);
        // One vector alone takes fewer instructions in the plain way.
        match fours + usize::from(rest > 1) {
            0 => {}
            1 => block::<1>(matrix, longest, dim, vectors, &mut packed, out),
            2 => block::<2>(matrix, longest, dim, vectors, &mut packed, out),
            3 => block::<3>(matrix, longest, dim, vectors, &mut packed, out),
            _ => block::<REGISTERS>(matrix, longest, dim, vectors, &mut packed, out),
        }
        if rest == 1 {
            let (vectors, out) = (&vectors[4 * fours * dim..], &mut out[4 * fours * words..]);
            super::plain(matrix, dim, vectors, out);
        }
    }
}

/// At most `4 · N` vectors: their footprints, but that of a last one which is alone in its register may be wrong.
fn block<const N: usize>(
    matrix: &[f32],
    longest: f32,
    dim: usize,
    vectors: &[f32],
    packed: &mut Vec<f32>,
    out: &mut [u32],
) {
    pack::<N>(dim, vectors, packed);
    let bounds = bounds::<N>(dim, longest, packed);
    let mut signs = [[0; VECTORS]; MAX_BITS];
    let bits = matrix.len() / dim;
    for (planes, signs) in (matrix.chunks(PLANES * dim)).zip(signs[..bits].chunks_mut(PLANES)) {
        let at = (planes, vectors);
        tile::<N>(at, dim, packed, &bounds, signs);
    }
    for (word, signs) in signs[..bits].as_chunks::<32>().0.iter().enumerate() {
        let of_vectors = pack_signs(signs);
        for (out, of_vector) in out.chunks_mut(bits / 32).zip(of_vectors) {
            out[word] = of_vector;
        }
    }
}

/// Brings vectors into the order in which they are read, `[dimension][vector]`. Where there are fewer than `4 · N`, the last
/// one repeatedly.
fn pack<const N: usize>(dim: usize, vectors: &[f32], packed: &mut Vec<f32>) {
    let count = vectors.len() / dim;
    packed.resize(4 * N * dim, 0.0);
    let whole = dim - dim % 4;
    for n in 0..N {
        let mut four = [&vectors[..0]; 4];
        for (i, vector) in four.iter_mut().enumerate() {
            *vector = &vectors[(4 * n + i).min(count - 1) * dim..][..dim];
        }
        for k in (0..whole).step_by(4) {
            let [a, b, c, d] = four.map(|vector| vector[k..k + 4].as_ptr());
            let out = packed[4 * N * k..4 * N * (k + 4)].as_mut_ptr();
            // SAFETY: every 64-bit ARM CPU has NEON; the slices are of a register's size, and of `4 · N`.
            unsafe {
                let [a, b, c, d] = [vld1q_f32(a), vld1q_f32(b), vld1q_f32(c), vld1q_f32(d)];
                let (ab, cd) = (vtrn1q_f32(a, b), vtrn1q_f32(c, d));
                let (ab2, cd2) = (vtrn2q_f32(a, b), vtrn2q_f32(c, d));
                let pairs = |x, y| (vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y));
                let ((ab, cd), (ab2, cd2)) = (pairs(ab, cd), pairs(ab2, cd2));
                let rows = [
                    vtrn1q_f64(ab, cd),
                    vtrn1q_f64(ab2, cd2),
                    vtrn2q_f64(ab, cd),
                    vtrn2q_f64(ab2, cd2),
                ];
                for (i, row) in rows.into_iter().enumerate() {
                    vst1q_f32(out.add(4 * (N * i + n)), vreinterpretq_f32_f64(row));
                }
            }
        }
        for k in whole..dim {
            for (out, vector) in packed[4 * (N * k + n)..][..4].iter_mut().zip(four) {
                *out = vector[k];
            }
        }
    }
}

/// What sums must exceed for their signs to be known, for every vector.
fn bounds<const N: usize>(dim: usize, longest: f32, packed: &[f32]) -> [float32x4_t; N] {
    // SAFETY: every 64-bit ARM CPU has NEON; four numbers are a register.
    unsafe {
        let mut squares = [vdupq_n_f32(0.0); N];
        for row in packed[..4 * N * dim].chunks_exact(4 * N) {
            for (square, four) in squares.iter_mut().zip(row.as_chunks::<4>().0) {
                let x = vld1q_f32(four.as_ptr());
                *square = vfmaq_f32(*square, x, x);
            }
        }
        for square in &mut squares {
            let mut lanes = [0.0; 4];
            vst1q_f32(lanes.as_mut_ptr(), *square);
            for lane in &mut lanes {
                *lane = bound(dim, longest, *lane);
            }
            *square = vld1q_f32(lanes.as_ptr());
        }
        squares
    }
}

/// What the sum of a vector's products with any hyperplane must exceed. Infinite if the vector is so long or so short that
/// squares or sums could overflow or lose digits.
fn bound(dim: usize, longest: f32, square: f32) -> f32 {
    // In the order of `dot` there are up to 20 roundings beside those of the partial sums.
    let roundings = (dim + 20) as f32;
    let lengths = longest * square.sqrt();
    let is_safe = (1e-20..1e30).contains(&square) && (1e-10..1e15).contains(&longest);
    if is_safe && roundings < 1e5 {
        // Twice, for either sum; a little more for the roundings of this.
        2.1 * roundings * (0.5 * f32::EPSILON) * lengths
    } else {
        f32::INFINITY
    }
}

/// The signs of the products of a few hyperplanes with the vectors.
#[inline(always)]
fn tile<const N: usize>(
    (planes, vectors): (&[f32], &[f32]),
    dim: usize,
    packed: &[f32],
    bounds: &[float32x4_t; N],
    signs: &mut [[u8; VECTORS]],
) {
    assert!(planes.len() == PLANES * dim && packed.len() >= 4 * N * dim && signs.len() == PLANES);
    // SAFETY: every 64-bit ARM CPU has NEON; the assertion says how far planes and packed vectors reach.
    unsafe {
        let mut sums = [[vdupq_n_f32(0.0); N]; PLANES];
        let whole = dim - dim % STEP;
        let mut row = packed.as_ptr();
        for k in (0..whole).step_by(STEP) {
            let mut eight = [[sums[0][0]; 2]; PLANES];
            for (p, eight) in eight.iter_mut().enumerate() {
                let at = planes.as_ptr().add(p * dim + k);
                *eight = [vld1q_f32(at), vld1q_f32(at.add(4))];
            }
            for half in 0..2 {
                macro_rules! add {
                    ($lane:literal) => {
                        let x = load::<N>(row);
                        row = row.add(4 * N);
                        for p in 0..PLANES {
                            for n in 0..N {
                                sums[p][n] =
                                    vfmaq_laneq_f32::<$lane>(sums[p][n], x[n], eight[p][half]);
                            }
                        }
                    };
                }
                add!(0);
                add!(1);
                add!(2);
                add!(3);
            }
        }
        for k in whole..dim {
            let x = load::<N>(row);
            row = row.add(4 * N);
            for p in 0..PLANES {
                for n in 0..N {
                    sums[p][n] = vfmaq_n_f32(sums[p][n], x[n], planes[p * dim + k]);
                }
            }
        }
        let mut sure = vdupq_n_u32(u32::MAX);
        for (sums, signs) in sums.iter().zip(&mut *signs) {
            let mut positive = [vdup_n_u16(0); 4];
            for n in 0..N {
                sure = vandq_u32(sure, vcagtq_f32(sums[n], bounds[n]));
                positive[n] = vmovn_u32(vcgtzq_f32(sums[n]));
            }
            let low = vmovn_u16(vcombine_u16(positive[0], positive[1]));
            let high = vmovn_u16(vcombine_u16(positive[2], positive[3]));
            vst1q_u8(signs.as_mut_ptr(), vcombine_u8(low, high));
        }
        if vminvq_u32(sure) == 0 {
            // A copy: the sums themselves could not stay in registers if a function were given them.
            let sums = sums;
            decide((planes, vectors), dim, &sums, bounds, signs);
        }
    }
}

/// `4 · N` numbers.
///
/// # Safety
///
/// They can be read.
#[inline(always)]
unsafe fn load<const N: usize>(from: *const f32) -> [float32x4_t; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut all = [vdupq_n_f32(0.0); N];
        if N == 4 {
            let float32x4x4_t(a, b, c, d) = vld1q_f32_x4(from);
            (all[0], all[1], all[2], all[3]) = (a, b, c, d);
            return all;
        }
        for (n, all) in all.iter_mut().enumerate() {
            *all = vld1q_f32(from.add(4 * n));
        }
        all
    }
}

/// The signs of the products that are too near zero, in the order of [`dot`].
#[cold]
#[inline(never)]
fn decide<const N: usize>(
    (planes, vectors): (&[f32], &[f32]),
    dim: usize,
    sums: &[[float32x4_t; N]; PLANES],
    bounds: &[float32x4_t; N],
    signs: &mut [[u8; VECTORS]],
) {
    for (sums, (signs, plane)) in sums.iter().zip(signs.iter_mut().zip(planes.chunks(dim))) {
        for n in 0..N {
            let mut sure = [0; 4];
            // SAFETY: every 64-bit ARM CPU has NEON; four numbers are a register.
            unsafe { vst1q_u32(sure.as_mut_ptr(), vcagtq_f32(sums[n], bounds[n])) };
            for (i, vector) in vectors.chunks(dim).skip(4 * n).take(4).enumerate() {
                if sure[i] == 0 {
                    signs[4 * n + i] = if dot(plane, vector) > 0.0 { 0xFF } else { 0 };
                }
            }
        }
    }
}

/// Signs of 32 hyperplanes, in all bits of a byte or in none, to a word for each vector.
fn pack_signs(signs: &[[u8; VECTORS]; 32]) -> [u32; VECTORS] {
    // SAFETY: every 64-bit ARM CPU has NEON; an array is of a register's size, and the words of sixteen vectors of four.
    unsafe {
        let mut bytes = [vdupq_n_u8(0); 4];
        for (byte, signs) in bytes.iter_mut().zip(signs.as_chunks::<8>().0) {
            for (bit, signs) in signs.iter().enumerate() {
                *byte = vbslq_u8(vdupq_n_u8(1 << bit), vld1q_u8(signs.as_ptr()), *byte);
            }
        }
        let [a, b, c, d] = bytes;
        let halves = |a, b| [vzip1q_u8(a, b), vzip2q_u8(a, b)].map(|x| vreinterpretq_u16_u8(x));
        let ([ab, ab2], [cd, cd2]) = (halves(a, b), halves(c, d));
        let words = [
            vzip1q_u16(ab, cd),
            vzip2q_u16(ab, cd),
            vzip1q_u16(ab2, cd2),
            vzip2q_u16(ab2, cd2),
        ];
        let mut out = [0; VECTORS];
        for (out, words) in out.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            vst1q_u32(out.as_mut_ptr(), vreinterpretq_u32_u16(words));
        }
        out
    }
}
