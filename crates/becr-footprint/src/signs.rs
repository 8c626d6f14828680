//! One bit a dimension: the signs of vectors, by which a whole collection can be scanned.
//!
//! The share of dimensions in which two vectors have different signs estimates the angle between them. It is the cheapest
//! look there is: a million vectors of 384 dimensions are 48 MB. The best of it are then compared exactly.

use crate::Error;
use crate::lsh::dot;
use crate::packed::unpack;
use crate::simd;

/// Vectors of a tile: their words lie side by side, so that one register holds a word of all of them.
pub const LANES: usize = 16;

/// 32-bit words of the signs of a vector of `dim` dimensions.
#[must_use]
pub fn sign_words(dim: usize) -> usize {
    dim.div_ceil(32)
}

/// The signs of a vector: bit `i` is set if dimension `i` is below zero.
#[must_use]
pub fn signs(vector: &[f32]) -> Vec<u32> {
    let word = |part: &[f32]| {
        let bits = part.iter().enumerate();
        bits.fold(0, |word, (i, x)| word | u32::from(*x < 0.0) << i)
    };
    vector.chunks(32).map(word).collect()
}

/// The signs of a [packed](crate::pack) vector; `None` if it has no direction.
#[must_use]
pub fn packed_signs(packed: impl IntoIterator<Item = u32>) -> Option<Vec<u32>> {
    let mut words = packed.into_iter();
    let scale = f32::from_bits(words.next()?);
    if scale == 0.0 {
        return None;
    }
    let mut signs = Vec::new();
    for (n, eight) in words.enumerate() {
        if n % 4 == 0 {
            signs.push(0);
        }
        // The highest bit of each four is its sign.
        let byte = (0..8).fold(0, |byte, i| byte | (eight >> (4 * i + 3) & 1) << i);
        if let Some(last) = signs.last_mut() {
            *last |= byte << (8 * (n % 4));
        }
    }
    Some(signs)
}

/// Bytes of a tile of vectors whose signs have `words` words.
#[must_use]
pub fn tile_bytes(words: usize) -> usize {
    4 * words * LANES
}

/// Puts the signs of the vector at `place` into tiles.
pub fn set_signs(tiles: &mut [u8], place: usize, signs: &[u32]) {
    for (w, word) in signs.iter().enumerate() {
        let at = 4 * ((place / LANES * signs.len() + w) * LANES + place % LANES);
        tiles[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
}

/// The signs of the vector at `place`.
#[must_use]
pub fn signs_at(tiles: &[u8], place: usize, words: usize) -> Vec<u32> {
    let word = |w| {
        let at = 4 * ((place / LANES * words + w) * LANES + place % LANES);
        u32::from_le_bytes([tiles[at], tiles[at + 1], tiles[at + 2], tiles[at + 3]])
    };
    (0..words).map(word).collect()
}

/// Writes in how many dimensions the vectors in `tiles` have other signs than `query` into `out`.
pub fn sign_distances(tiles: &[u8], query: &[u32], out: &mut [u16]) -> Result<(), Error> {
    let expected = out.len() / LANES * tile_bytes(query.len());
    Error::check_length("signs of vectors, in bytes", expected, tiles.len())?;
    simd::signs::distances(tiles, query, out);
    Ok(())
}

/// The product of a vector and a [packed](crate::pack) one, which is unpacked into `buffer`.
#[must_use]
pub fn packed_dot(
    vector: &[f32],
    packed: impl IntoIterator<Item = u32>,
    buffer: &mut Vec<f32>,
) -> f32 {
    buffer.resize(vector.len(), 0.0);
    unpack(packed, buffer);
    dot(vector, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        assert_eq!(signs(&[1.0, -1.0, 0.0, -0.3, -0.0]), [0b1010]);
        assert_eq!(
            packed_signs(pack(&[1.0, -1.0, 0.0, -0.3])),
            Some(vec![0b1010])
        );
        assert_eq!(packed_signs(pack(&[0.0; 8])), None);
        assert_eq!(packed_signs([]), None);
    }

    proptest! {
        #[test]
        fn packing_keeps_signs(vector in prop::collection::vec(-1.0f32..1.0, 1..100)) {
            // The last word of a packed vector may be padded.
            let found = packed_signs(pack(&vector)).unwrap();
            let mask = |w: usize| match vector.len() - 32 * w {
                left if left < 32 => (1u32 << left) - 1,
                _ => u32::MAX,
            };
            let found: Vec<u32> = found.iter().enumerate().map(|(w, word)| word & mask(w)).collect();
            prop_assert_eq!(found, signs(&vector));
        }

        #[test]
        fn tiles_keep_what_was_put(words in 1usize..13, count in 1usize..50, seed in any::<u64>()) {
            let mut random = becr_basics::SplitMix64::new(seed);
            let rows: Vec<Vec<u32>> = (0..count)
                .map(|_| (0..words).map(|_| random.next_u64() as u32).collect())
                .collect();
            let places = count.next_multiple_of(LANES);
            let mut tiles = vec![0; places / LANES * tile_bytes(words)];
            for (place, row) in rows.iter().enumerate() {
                set_signs(&mut tiles, place, row);
            }
            let mut distances = vec![0; places];
            sign_distances(&tiles, &rows[0], &mut distances).unwrap();
            for (place, row) in rows.iter().enumerate() {
                prop_assert_eq!(&signs_at(&tiles, place, words), row);
                let expected: u32 = row.iter().zip(&rows[0]).map(|(a, b)| (a ^ b).count_ones()).sum();
                prop_assert_eq!(u32::from(distances[place]), expected);
            }
        }
    }

    #[test]
    fn tiles_of_another_length_are_refused() {
        assert!(sign_distances(&[0; 63], &[0], &mut [0; 16]).is_err());
        assert!(sign_distances(&[0; 64], &[0], &mut [0; 16]).is_ok());
    }
}
