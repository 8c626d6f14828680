//! The direction of a vector in four bits a dimension: what is kept of vectors of which there is one per document or
//! token group.
//!
//! Word 0 is a scale, an f32; the others hold eight dimensions each, lowest bits first. A number `n` from −8 to 7 stands
//! for `(n + ½) · scale`, and the scale makes the vector's length 1. A vector without a direction has scale 0.

/// 32-bit words of a packed vector of `dim` dimensions.
#[must_use]
pub fn packed_words(dim: usize) -> usize {
    1 + dim.div_ceil(8)
}

/// Packs the direction of `vector`.
#[must_use]
pub fn pack(vector: &[f32]) -> Vec<u32> {
    let mut words = vec![0; packed_words(vector.len())];
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    if largest == 0.0 || !vector.iter().all(|x| x.is_finite()) {
        return words;
    }
    // Of twice the levels and a half, which are whole numbers: a sum that is exact in any order.
    let mut squares = 0;
    for (eight, word) in vector.chunks(8).zip(&mut words[1..]) {
        for (i, x) in eight.iter().enumerate() {
            let level = floor(8.0 * (x / largest)).clamp(-8, 7);
            squares += (2 * level + 1) * (2 * level + 1);
            *word |= (level as u32 & 15) << (4 * i);
        }
    }
    words[0] = (1.0 / (squares as f32 / 4.0).sqrt()).to_bits();
    words
}

/// `x.floor()` of small numbers, without the call that it is on processors that are not known to have an instruction for it.
fn floor(x: f32) -> i32 {
    let towards_zero = x as i32;
    towards_zero - i32::from(towards_zero as f32 > x)
}

/// Writes the vector that `words` hold into `out`, as many dimensions as it has.
pub fn unpack(words: impl IntoIterator<Item = u32>, out: &mut [f32]) {
    let mut words = words.into_iter();
    let scale = f32::from_bits(words.next().unwrap_or(0));
    for (eight, word) in out.chunks_mut(8).zip(words) {
        for (i, x) in eight.iter_mut().enumerate() {
            // Up and down again to spread the sign of the four bits.
            let level = (word << (28 - 4 * i)) as i32 >> 28;
            *x = (level as f32 + 0.5) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsh::dot;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let words = pack(&[1.0, -1.0, 0.0, 0.3]);
        // 8 is taken as 7; floor(2.4) = 2; levels and a half: 7.5, −7.5, 0.5, 2.5.
        assert_eq!(words[1], 0x2087);
        let scale = 1.0 / (7.5 * 7.5 * 2.0 + 0.25 + 6.25_f32).sqrt();
        assert_eq!(f32::from_bits(words[0]), scale);
        let mut back = [0.0; 4];
        unpack(words, &mut back);
        assert_eq!(back, [7.5, -7.5, 0.5, 2.5].map(|x: f32| x * scale));
    }

    #[test]
    fn vectors_without_a_direction_are_zero() {
        let (nan, infinite) = (f32::NAN, f32::INFINITY);
        for vector in [
            [0.0; 3],
            [nan, 0.0, 0.0],
            [nan, 1.0, 0.0],
            [1.0, infinite, 0.0],
        ] {
            let mut back = [1.0; 3];
            unpack(pack(&vector), &mut back);
            assert_eq!(back, [0.0; 3]);
        }
    }

    proptest! {
        #[test]
        fn floors_are_floors(x in -8.5f32..8.5) {
            let whole = x.round();
            for x in [x, whole, whole.next_down(), whole.next_up(), x * 1e-9] {
                prop_assert_eq!(floor(x), x.floor() as i32);
            }
        }

        #[test]
        fn directions_are_kept(vector in prop::collection::vec(-1.0f32..1.0, 1..100)) {
            let mut back = vec![0.0; vector.len()];
            unpack(pack(&vector), &mut back);
            let length = dot(&vector, &vector).sqrt();
            if length > 0.0 {
                prop_assert!((dot(&back, &back) - 1.0).abs() < 1e-5);
                // Each dimension is off by at most a sixteenth of the largest.
                let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                let lost = (vector.len() as f32).sqrt() * largest / 16.0 / length;
                prop_assert!(dot(&vector, &back) / length >= 1.0 - lost * lost - 1e-5);
            }
        }
    }
}
