//! Vectors to footprints: products with the hyperplanes, of which the signs are kept.
//!
//! The order of the additions is that of [`dot`] for every implementation and every number of vectors, and none of them
//! joins a product and a sum into one rounding: a vector has the same bits wherever it is hashed. (NEON does join them, where
//! it can tell that the sign is the same.)

use crate::lsh::dot;

#[cfg(target_arch = "aarch64")]
mod neon;

/// Writes the footprints of `vectors`, `[vector][dim]`, into `out`. `matrix` holds the normals, a multiple of 32 of them,
/// none of which is longer than `longest`.
#[cfg_attr(not(target_arch = "aarch64"), allow(unused_variables))]
pub(crate) fn footprints(
    matrix: &[f32],
    longest: f32,
    dim: usize,
    vectors: &[f32],
    out: &mut [u32],
) {
    #[cfg(target_arch = "aarch64")]
    return neon::footprints(matrix, longest, dim, vectors, out);
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor was just asked.
            return unsafe { x86::avx512(matrix, dim, vectors, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just asked.
            return unsafe { x86::avx2(matrix, dim, vectors, out) };
        }
    }
    #[cfg(not(target_arch = "aarch64"))]
    plain(matrix, dim, vectors, out);
}

fn plain(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
    let words = matrix.len() / (32 * dim);
    for (vector, out) in vectors.chunks_exact(dim).zip(out.chunks_exact_mut(words)) {
        for (word, planes) in out.iter_mut().zip(matrix.chunks_exact(32 * dim)) {
            *word = 0;
            for (bit, plane) in planes.chunks_exact(dim).enumerate() {
                *word |= u32::from(dot(plane, vector) > 0.0) << bit;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Partial sums of a product.
    const LANES: usize = 16;
    /// Vectors that a hyperplane is multiplied with while it is at hand.
    const VECTORS: usize = 4;

    /// Blocks of vectors by the given function for as many of them.
    macro_rules! in_blocks {
        ($some:ident($matrix:expr, $dim:expr, $vectors:expr, $out:expr)) => {{
            let words = $matrix.len() / (32 * $dim);
            let mut vectors = $vectors.chunks_exact(VECTORS * $dim);
            let mut out = $out.chunks_exact_mut(VECTORS * words);
            for (vectors, out) in vectors.by_ref().zip(out.by_ref()) {
                $some::<VECTORS>($matrix, $dim, vectors, out);
            }
            let (vectors, out) = (vectors.remainder(), out.into_remainder());
            match vectors.len() / $dim {
                1 => $some::<1>($matrix, $dim, vectors, out),
                2 => $some::<2>($matrix, $dim, vectors, out),
                3 => $some::<3>($matrix, $dim, vectors, out),
                _ => {}
            }
        }};
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
        in_blocks!(some512(matrix, dim, vectors, out));
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
        in_blocks!(some256(matrix, dim, vectors, out));
    }

    /// `N` vectors with two hyperplanes at a time: eight sums, which hide the time that each addition takes.
    #[target_feature(enable = "avx512f")]
    fn some512<const N: usize>(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
        let whole = dim - dim % LANES;
        assert!(vectors.len() == N * dim, "as many vectors as were said");
        out.fill(0);
        for (pair, planes) in matrix.chunks_exact(2 * dim).enumerate() {
            let mut sums = [[_mm512_setzero_ps(); 2]; N];
            let mut at = 0;
            while at < whole {
                // SAFETY: `at + LANES` is at most `dim`, and there are two planes and `N` vectors of `dim` numbers.
                unsafe {
                    let planes = planes.as_ptr().add(at);
                    let (a, b) = (_mm512_loadu_ps(planes), _mm512_loadu_ps(planes.add(dim)));
                    for v in 0..N {
                        let x = _mm512_loadu_ps(vectors.as_ptr().add(v * dim + at));
                        sums[v][0] = _mm512_add_ps(sums[v][0], _mm512_mul_ps(a, x));
                        sums[v][1] = _mm512_add_ps(sums[v][1], _mm512_mul_ps(b, x));
                    }
                }
                at += LANES;
            }
            for v in 0..N {
                for p in 0..2 {
                    let mut parts = [0.0; LANES];
                    // SAFETY: there is room for all lanes.
                    unsafe { _mm512_storeu_ps(parts.as_mut_ptr(), sums[v][p]) };
                    let rest = (&planes[p * dim..][..dim], &vectors[v * dim..][..dim]);
                    set(out, N, v, 2 * pair + p, sum(&parts, rest, whole));
                }
            }
        }
    }

    /// `N` vectors with one hyperplane at a time: eight sums of half the width.
    #[target_feature(enable = "avx2")]
    fn some256<const N: usize>(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
        const HALF: usize = LANES / 2;
        let whole = dim - dim % LANES;
        assert!(vectors.len() == N * dim, "as many vectors as were said");
        out.fill(0);
        for (bit, plane) in matrix.chunks_exact(dim).enumerate() {
            let mut sums = [[_mm256_setzero_ps(); 2]; N];
            let mut at = 0;
            while at < whole {
                // SAFETY: `at + LANES` is at most `dim`, which a plane has, and `N` vectors each.
                unsafe {
                    let plane = plane.as_ptr().add(at);
                    let (a, b) = (_mm256_loadu_ps(plane), _mm256_loadu_ps(plane.add(HALF)));
                    for v in 0..N {
                        let x = vectors.as_ptr().add(v * dim + at);
                        let (x, y) = (_mm256_loadu_ps(x), _mm256_loadu_ps(x.add(HALF)));
                        sums[v][0] = _mm256_add_ps(sums[v][0], _mm256_mul_ps(a, x));
                        sums[v][1] = _mm256_add_ps(sums[v][1], _mm256_mul_ps(b, y));
                    }
                }
                at += LANES;
            }
            for v in 0..N {
                let mut parts = [0.0; LANES];
                // SAFETY: there is room for all lanes of both.
                unsafe {
                    _mm256_storeu_ps(parts.as_mut_ptr(), sums[v][0]);
                    _mm256_storeu_ps(parts.as_mut_ptr().add(HALF), sums[v][1]);
                }
                let rest = (plane, &vectors[v * dim..][..dim]);
                set(out, N, v, bit, sum(&parts, rest, whole));
            }
        }
    }

    /// Partial sums and what lies behind them, in the order of `dot`.
    #[inline(always)]
    fn sum(parts: &[f32; LANES], (plane, vector): (&[f32], &[f32]), whole: usize) -> f32 {
        let mut rest = 0.0;
        for i in whole..plane.len() {
            rest += plane[i] * vector[i];
        }
        let mut sum = 0.0;
        for part in parts {
            sum += part;
        }
        sum + rest
    }

    /// Sets a bit of the `v`-th of `count` footprints if the vector lies on that side.
    #[inline(always)]
    fn set(out: &mut [u32], count: usize, v: usize, bit: usize, product: f32) {
        let words = out.len() / count;
        out[v * words + bit / 32] |= u32::from(product > 0.0) << (bit % 32);
    }
}

#[cfg(test)]
mod tests {
    use super::plain;
    use crate::lsh::{HyperplaneKind, Hyperplanes};
    use proptest::prelude::*;

    proptest! {
        /// Any number of vectors of any length, by whatever instructions: the bits of plain code.
        #[test]
        fn every_implementation_gives_the_same_bits(
            dim in 1usize..70,
            count in 0usize..41,
            seed in any::<u64>(),
            scale in prop::sample::select(vec![1.0_f32, 1e-42, 1e-24, 1e-12, 1e18, 1e38, f32::INFINITY]),
            opposite in any::<bool>(),
        ) {
            let planes = Hyperplanes::generate(dim, 64, HyperplaneKind::Gaussian, seed).unwrap();
            let mut random = becr_basics::SplitMix64::new(seed);
            let mut number = || (random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0;
            let mut vectors: Vec<f32> = (0..count * dim).map(|_| number() * scale).collect();
            if opposite && dim > 1 {
                // Products with the first hyperplane that cancel out, but for a rounding error.
                for vector in vectors.chunks_mut(dim) {
                    let along: f32 = vector[1..].iter().zip(&planes.matrix()[1..]).map(|(x, y)| x * y).sum();
                    vector[0] = -along / planes.matrix()[0];
                }
            }
            let mut expected = vec![u32::MAX; count * 2];
            plain(planes.matrix(), dim, &vectors, &mut expected);
            let mut found = vec![u32::MAX; count * 2];
            planes.footprints(&vectors, &mut found).unwrap();
            prop_assert_eq!(&found, &expected);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                found.fill(u32::MAX);
                // SAFETY: the processor was just asked.
                unsafe { super::x86::avx2(planes.matrix(), dim, &vectors, &mut found) };
                prop_assert_eq!(&found, &expected);
            }
            for (vector, expected) in vectors.chunks(dim).zip(expected.chunks(2)) {
                let mut alone = [0; 2];
                planes.footprint(vector, &mut alone).unwrap();
                prop_assert_eq!(&alone[..], expected);
            }
        }
    }
}
