//! Weighted cosines as tables: what AVX-512 looks up.

// Only AVX-512 works with this, but its tests run anywhere.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

/// `weight · cos(π·h/b)` in units of 2⁻¹⁵ for every distance `h` that a byte holds. Entry `i` is that of the distance
/// `lowest + i` modulo 256, so that the first 128 entries are those around `b/2`, where nearly all distances lie. High and
/// low bytes are kept apart, in pieces of 64, as byte permutes take them.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct CosineTable {
    pub(crate) high: [[u8; 64]; 4],
    pub(crate) low: [[u8; 64]; 4],
}

impl CosineTable {
    /// One table per weight.
    pub(super) fn of_weights(bits: usize, weights: impl Iterator<Item = f32>) -> Vec<Self> {
        let cosines = cosines_from(lowest(bits), bits);
        weights.map(|weight| Self::new(&cosines, weight)).collect()
    }

    /// `cosines` by distance, from the lowest on.
    fn new(cosines: &[f64; 256], weight: f32) -> Self {
        let (mut high, mut low, mut lost) = ([[0; 64]; 4], [[0; 64]; 4], 0.0);
        let bytes = high
            .as_flattened_mut()
            .iter_mut()
            .zip(low.as_flattened_mut());
        for (i, ((high, low), cosine)) in bytes.zip(cosines).enumerate() {
            let wanted = f64::from(weight) * cosine * 32768.0;
            let value = (wanted + lost).round().clamp(-32767.0, 32767.0);
            // Among the distances that most tokens have, the rounding error of an entry is passed on to the next one.
            // Neighbouring errors then cancel out in the sum of a kernel, which sees many distances.
            lost = if (32..96).contains(&i) {
                wanted + lost - value
            } else {
                0.0
            };
            let value = value as i32;
            (*high, *low) = ((value >> 8) as u8, value as u8);
        }
        Self { high, low }
    }
}

/// `cos(π·h/b)` for every distance that a byte holds, counted from `lowest` on.
fn cosines_from(lowest: i8, bits: usize) -> [f64; 256] {
    std::array::from_fn(|i| {
        let h = (i as u8).wrapping_add_signed(lowest);
        (std::f64::consts::PI * f64::from(h) / bits as f64).cos()
    })
}

/// The distance that tables begin with: the lowest of the 128 around `bits / 2`.
pub(super) fn lowest(bits: usize) -> i8 {
    (bits.min(256) as i16 / 2 - 64) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_begin_with_the_lowest_near_distance() {
        for bits in [32, 96, 128, 224, 256] {
            let lowest = lowest(bits);
            let table = CosineTable::new(&cosines_from(lowest, bits), 0.7);
            for h in 0..(bits + 1).min(256) {
                let cosine = (std::f64::consts::PI * h as f64 / bits as f64).cos();
                let i = usize::from((h as u8).wrapping_sub(lowest as u8));
                let bytes = [table.low, table.high].map(|pieces| pieces[i / 64][i % 64]);
                let error = f64::from(i16::from_le_bytes(bytes)) - 0.7 * 32768.0 * cosine;
                assert!(error.abs() < 1.01, "{bits} {h}: {error}");
            }
        }
    }
}
