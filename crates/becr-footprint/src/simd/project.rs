//! Vectors to footprints: products with the hyperplanes, of which the signs are kept.
//!
//! The order of the additions is that of [`dot`](crate::lsh::dot) for every implementation and every number of vectors,
//! and none of them joins a product and a sum into one rounding: a vector has the same bits wherever it is hashed.

/// Partial sums of a product, which the compiler keeps in vector registers.
const LANES: usize = 16;
/// Vectors, and hyperplanes, that are multiplied with each other in one go: enough sums to hide the time that each takes.
const VECTORS: usize = 4;
const PLANES: usize = 2;

/// Writes the footprints of `vectors`, `[vector][dim]`, into `out`. `matrix` holds the normals, a multiple of 32 of them.
pub(crate) fn footprints(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn avx512(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
            all(matrix, dim, vectors, out);
        }
        #[target_feature(enable = "avx2")]
        fn avx2(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
            all(matrix, dim, vectors, out);
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor was just asked.
            return unsafe { avx512(matrix, dim, vectors, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just asked.
            return unsafe { avx2(matrix, dim, vectors, out) };
        }
    }
    all(matrix, dim, vectors, out);
}

#[inline(always)]
fn all(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
    let words = matrix.len() / (32 * dim);
    out.fill(0);
    let mut vectors = vectors.chunks_exact(VECTORS * dim);
    let mut out = out.chunks_exact_mut(VECTORS * words);
    for (vectors, out) in vectors.by_ref().zip(out.by_ref()) {
        some::<VECTORS>(matrix, dim, vectors, out);
    }
    let rest = vectors.remainder().chunks_exact(dim);
    for (vector, out) in rest.zip(out.into_remainder().chunks_exact_mut(words)) {
        some::<1>(matrix, dim, vector, out);
    }
}

#[inline(always)]
fn some<const N: usize>(matrix: &[f32], dim: usize, vectors: &[f32], out: &mut [u32]) {
    let words = matrix.len() / (32 * dim);
    let whole = dim - dim % LANES;
    for (pair, planes) in matrix.chunks_exact(PLANES * dim).enumerate() {
        let mut sums = [[[0.0f32; LANES]; PLANES]; N];
        let mut at = 0;
        while at < whole {
            for p in 0..PLANES {
                let plane: &[f32; LANES] = lanes(&planes[p * dim + at..]);
                for v in 0..N {
                    let vector: &[f32; LANES] = lanes(&vectors[v * dim + at..]);
                    for lane in 0..LANES {
                        sums[v][p][lane] += plane[lane] * vector[lane];
                    }
                }
            }
            at += LANES;
        }
        for v in 0..N {
            for p in 0..PLANES {
                let mut rest = 0.0;
                for i in whole..dim {
                    rest += planes[p * dim + i] * vectors[v * dim + i];
                }
                let mut sum = 0.0;
                for lane in 0..LANES {
                    sum += sums[v][p][lane];
                }
                let bit = pair * PLANES + p;
                out[v * words + bit / 32] |= u32::from(sum + rest > 0.0) << (bit % 32);
            }
        }
    }
}

/// The first numbers of a slice.
#[inline(always)]
fn lanes(values: &[f32]) -> &[f32; LANES] {
    match values.first_chunk() {
        Some(lanes) => lanes,
        None => &[0.0; LANES], // never: `whole` keeps within the slice
    }
}

#[cfg(test)]
mod tests {
    use crate::lsh::{HyperplaneKind, Hyperplanes, dot};
    use proptest::prelude::*;

    proptest! {
        /// Any number of vectors of any length, by whatever instructions: the signs of plain dot products.
        #[test]
        fn signs_are_those_of_dot_products(
            dim in 1usize..70,
            count in 0usize..11,
            seed in any::<u64>(),
        ) {
            let planes = Hyperplanes::generate(dim, 64, HyperplaneKind::Gaussian, seed).unwrap();
            let mut random = becr_basics::SplitMix64::new(seed);
            let mut number = || (random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0;
            let vectors: Vec<f32> = (0..count * dim).map(|_| number()).collect();
            let mut found = vec![u32::MAX; count * 2];
            planes.footprints(&vectors, &mut found).unwrap();
            for (vector, found) in vectors.chunks(dim).zip(found.chunks(2)) {
                for (bit, plane) in planes.matrix().chunks(dim).enumerate() {
                    let expected = dot(plane, vector) > 0.0;
                    prop_assert_eq!(found[bit / 32] >> (bit % 32) & 1 == 1, expected);
                }
                let mut alone = [0; 2];
                planes.footprint(vector, &mut alone).unwrap();
                prop_assert_eq!(&alone[..], found);
            }
        }
    }
}
