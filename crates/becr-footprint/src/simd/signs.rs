//! Counting in how many dimensions the signs of many vectors differ from those of one.
//!
//! One source, compiled three times: the compiler makes population counts of whole registers of it where the CPU has them, and
//! byte shuffles elsewhere.

use crate::signs::LANES;

/// Writes the distances of the vectors in `tiles` to `query` into `out`. A tile holds 16 vectors: their first words, side by
/// side, then their second words, and so on.
pub(crate) fn distances(tiles: &[u8], query: &[u32], out: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: the processor was just asked.
            return unsafe { x86::avx512(tiles, query, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just asked.
            return unsafe { x86::avx2(tiles, query, out) };
        }
    }
    plain(tiles, query, out);
}

#[inline(always)]
pub(crate) fn plain(tiles: &[u8], query: &[u32], out: &mut [u16]) {
    let rows = tiles.as_chunks::<{ 4 * LANES }>().0;
    let tiles = rows.chunks_exact(query.len().max(1));
    for (tile, out) in tiles.zip(out.as_chunks_mut::<LANES>().0) {
        let mut sums = [0u32; LANES];
        for (row, query) in tile.iter().zip(query) {
            let words = row.as_chunks::<4>().0;
            for lane in 0..LANES {
                sums[lane] += (u32::from_le_bytes(words[lane]) ^ query).count_ones();
            }
        }
        *out = sums.map(|sum| sum as u16);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::plain;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
    pub(super) fn avx512(tiles: &[u8], query: &[u32], out: &mut [u16]) {
        plain(tiles, query, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(tiles: &[u8], query: &[u32], out: &mut [u16]) {
        plain(tiles, query, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever instructions this CPU has: the numbers of a loop over bits.
        #[test]
        fn equal_to_counting_bits(
            words in 1usize..14,
            tiles in 0usize..5,
            seed in any::<u64>(),
        ) {
            let mut random = becr_basics::SplitMix64::new(seed);
            let query: Vec<u32> = (0..words).map(|_| random.next_u64() as u32).collect();
            let bytes: Vec<u8> = (0..tiles * words * 64).map(|_| random.next_u64() as u8).collect();
            let mut found = vec![0; tiles * LANES];
            distances(&bytes, &query, &mut found);
            let mut portable = vec![0; tiles * LANES];
            plain(&bytes, &query, &mut portable);
            prop_assert_eq!(&found, &portable);
            for (vector, found) in found.iter().enumerate() {
                let (tile, lane) = (vector / LANES, vector % LANES);
                let mut expected = 0;
                for (w, word) in query.iter().enumerate() {
                    for bit in 0..32 {
                        let byte = bytes[((tile * words + w) * LANES + lane) * 4 + bit / 8];
                        expected += u16::from((word >> bit & 1) as u8 != byte >> (bit % 8) & 1);
                    }
                }
                prop_assert_eq!(*found, expected);
            }
        }
    }
}
