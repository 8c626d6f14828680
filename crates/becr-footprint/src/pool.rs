//! Kernel pooling: from the similarities of a term to a document's tokens to one number per kernel.
//!
//! Similarities are integers in units of 2⁻¹⁵. The high byte is the bin (bins of negative similarities come after the
//! others), the low byte the place `x` within it, and a kernel restricted to a bin is a parabola in `x` ([`Kernels`]). So the sum of a kernel over all tokens follows from
//! three numbers per bin: how many tokens fell in, and the sums of their `x` and `x²`. One addition per token
//! gathers all three, whatever the number of kernels, since they share a 64-bit word.

// Loops go over several arrays of lanes by the same index.
#![allow(clippy::needless_range_loop)]

use crate::Kernels;
use crate::kernels::{BINS, LANES};

/// Tiles of 512 tokens that a histogram's counters have room for.
pub(crate) const FLUSH_TILES: usize = 15;

pub(crate) const COUNT_SHIFT: u32 = 50;
pub(crate) const SUM_SHIFT: u32 = 29;
pub(crate) const SUM_MASK: u64 = (1 << (COUNT_SHIFT - SUM_SHIFT)) - 1;
pub(crate) const SQUARES_MASK: u64 = (1 << SUM_SHIFT) - 1;

/// `1`, `x` and `x²` in the fields of a bin.
static ADDENDS: [u64; 256] = {
    let mut addends = [0; 256];
    let mut x = 0;
    while x < 256 {
        addends[x as usize] = (1 << COUNT_SHIFT) | (x << SUM_SHIFT) | (x * x);
        x += 1;
    }
    addends
};

/// Count, `Σx` and `Σx²` per bin, in the order of the high byte as an unsigned number: negative similarities come last.
#[repr(C, align(64))]
pub(crate) struct Histogram {
    pub(crate) bins: [u64; BINS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: [0; BINS] }
    }
}

impl Histogram {
    /// Adds a token.
    #[inline(always)]
    pub(crate) fn add(&mut self, similarity: u16) {
        let [x, bin] = similarity.to_le_bytes();
        self.bins[usize::from(bin)] += ADDENDS[usize::from(x)];
    }

    /// Adds the kernels of all tokens to `sums` and empties the histogram.
    #[inline(always)]
    pub(crate) fn drain(&mut self, kernels: &Kernels, sums: &mut [f32]) {
        let mut contents = [BinSums::default(); BINS / LANES];
        let mut filled = 0;
        for (chunk, bins) in self.bins.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            if bins.iter().fold(0, |any, bin| any | bin) == 0 {
                continue;
            }
            contents[filled] = BinSums::new(chunk, bins);
            filled += 1;
            *bins = [0; LANES];
        }
        let wide = |k: &usize| !Kernels::is_narrow(kernels.sigma()[*k]);
        for k in (0..kernels.len()).filter(wide) {
            let mut partial = [0.0; LANES];
            for m in &contents[..filled] {
                let p = &kernels.parabolas(m.chunk)[k];
                for lane in 0..LANES {
                    partial[lane] += m.count[lane] * p.a[lane]
                        + m.sum[lane] * p.b[lane]
                        + m.squares[lane] * p.c[lane];
                }
            }
            sums[k] += tree_sum(&mut partial);
        }
    }
}

/// The contents of a chunk of bins as real numbers.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct BinSums {
    pub(crate) count: [f32; LANES],
    pub(crate) sum: [f32; LANES],
    pub(crate) squares: [f32; LANES],
    pub(crate) chunk: usize,
}

impl BinSums {
    #[inline(always)]
    fn new(chunk: usize, bins: &[u64; LANES]) -> Self {
        let mut contents = Self {
            chunk,
            ..Self::default()
        };
        for lane in 0..LANES {
            contents.count[lane] = (bins[lane] >> COUNT_SHIFT) as i32 as f32;
            contents.sum[lane] = ((bins[lane] >> SUM_SHIFT) & SUM_MASK) as i32 as f32;
            contents.squares[lane] = (bins[lane] & SQUARES_MASK) as i32 as f32;
        }
        contents
    }
}

/// Adds kernels too narrow for the histogram, token by token.
#[inline(always)]
pub(crate) fn add_narrow_kernels(similarities: &[i16], kernels: &Kernels, sums: &mut [f32]) {
    for &k in kernels.narrow() {
        let (mu, scale) = (
            kernels.mu()[k],
            -0.5 / (kernels.sigma()[k] * kernels.sigma()[k]),
        );
        sums[k] += similarities
            .iter()
            .map(|&c| {
                let d = f32::from(c) * (1.0 / 32768.0) - mu;
                exp(d * d * scale)
            })
            .sum::<f32>();
    }
}

/// Adds all kernels of similarities that are real numbers, token by token.
pub(crate) fn add_exact(similarities: &[f32], kernels: &Kernels, sums: &mut [f32]) {
    for ((sum, mu), sigma) in sums.iter_mut().zip(kernels.mu()).zip(kernels.sigma()) {
        let scale = -0.5 / (sigma * sigma);
        let (chunks, rest) = similarities.as_chunks::<LANES>();
        let kernel = |c: f32| exp((c - mu) * (c - mu) * scale);
        let mut partial = [0.0; LANES];
        for chunk in chunks {
            for lane in 0..LANES {
                partial[lane] += kernel(chunk[lane]);
            }
        }
        *sum += tree_sum(&mut partial) + rest.iter().map(|&c| kernel(c)).sum::<f32>();
    }
}

/// `ln(ε + sum)` in place.
#[inline(always)]
pub(crate) fn logarithms(sums: &mut [f32], epsilon: f32) {
    for sum in sums {
        *sum = ln(*sum + epsilon);
    }
}

/// The sum of all lanes, halves added to halves.
#[inline(always)]
fn tree_sum<const L: usize>(lanes: &mut [f32; L]) -> f32 {
    let mut width = L / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// `e^x` for `x ≤ 0`, without branches so that it vectorises; relative error below 1e-5, and 0 below −87.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let scaled = x * std::f32::consts::LOG2_E;
    // Adding 1.5·2²³ rounds to an integer, which then stands in the low bits.
    let shifted = scaled.max(-126.0) + 12_582_912.0;
    let whole = shifted - 12_582_912.0;
    let f = scaled.max(-126.0) - whole;
    // Σ (f·ln 2)ⁱ / i! for |f| ≤ ½.
    let power = f * 1.540_353e-4 + 1.333_355_8e-3;
    let power = f * (f * power + 9.618_129e-3) + 5.550_411e-2;
    let power = f * (f * (f * power + 0.240_226_5) + std::f32::consts::LN_2) + 1.0;
    let exponent = f32::from_bits((shifted.to_bits().wrapping_add(127)) << 23);
    if x < -87.0 { 0.0 } else { power * exponent }
}

/// Natural logarithm of a positive normal number, without branches so that it vectorises.
#[inline(always)]
fn ln(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3F35_04F3;
    // The mantissa is brought to [√½, √2) by counting exponents from √½ on.
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i32) >> 23;
    let mantissa = f32::from_bits((shifted & 0x007F_FFFF).wrapping_add(SQRT_HALF));
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    let series = 1.0 + t2 * (1.0 / 3.0 + t2 * (0.2 + t2 * (1.0 / 7.0 + t2 * (1.0 / 9.0))));
    exponent as f32 * std::f32::consts::LN_2 + 2.0 * t * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_and_logarithm_agree_with_the_platform() {
        for i in 0..100_000 {
            let x = -(i as f32) * 0.00086;
            assert!(
                (exp(x) / x.exp() - 1.0).abs() < 1e-5,
                "exp({x}) = {}",
                exp(x)
            );
        }
        assert_eq!(exp(-1000.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        for i in 0..100_000 {
            let x = 1e-10 * 1.0004_f32.powi(i % 95_000);
            assert!(
                (ln(x) - x.ln()).abs() < 3e-6 * x.ln().abs().max(0.3),
                "ln({x}) = {}",
                ln(x)
            );
        }
    }

    #[test]
    fn histogram_sums_are_those_of_the_kernels() {
        let similarities: Vec<i16> = (0..7680_i32)
            .map(|i| (i * 7919 % 65536 - 32768) as i16)
            .collect();
        let kernels = Kernels::new(
            vec![-0.5, 0.0, 0.9, 1.0],
            vec![0.1, 0.3, 0.08, 0.001],
            1e-10,
        )
        .unwrap();
        let mut histogram = Histogram::default();
        for round in 0..2 {
            let mut sums = [0.0; 4];
            similarities.iter().for_each(|&c| histogram.add(c as u16));
            histogram.drain(&kernels, &mut sums);
            add_narrow_kernels(&similarities, &kernels, &mut sums);
            let mut exact = [0.0; 4];
            let real: Vec<f32> = similarities
                .iter()
                .map(|&c| f32::from(c) / 32768.0)
                .collect();
            add_exact(&real, &kernels, &mut exact);
            for (sum, exact) in sums.iter().zip(exact) {
                assert!(
                    (sum / exact - 1.0).abs() < 2e-4,
                    "{round}: {sums:?} {exact}"
                );
            }
        }
    }
}
