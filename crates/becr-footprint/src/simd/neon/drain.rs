//! From histograms to sums of kernels, with eight bins in two registers: the additions of AVX2, in its order.

use crate::Kernels;
use crate::kernels::{BINS, LANES, Parabolas};
use crate::pool::{COUNT_SHIFT, Histogram, SQUARES_MASK, SUM_MASK, SUM_SHIFT};
use std::arch::aarch64::*;
use std::mem::MaybeUninit;

/// Bins of a part; parts whose bins are all empty are skipped.
const PART: usize = 8;

/// Kernels that are summed side by side.
const KERNELS: usize = 2;

/// Eight numbers.
type Eight = [float32x4_t; 2];

/// Count, sum and sum of squares of the bins of a part.
type BinSums = [Eight; 3];

/// Drains `N` histograms together: the parabolas are loaded once for all of them. See [`super::Backend`].
#[inline(never)]
pub(super) fn drain<const N: usize>(
    histograms: &mut [Histogram; N],
    kernels: &Kernels,
    sums: &mut [f32],
) {
    let mut contents = [const { MaybeUninit::<[BinSums; N]>::uninit() }; BINS / PART];
    let mut parts = [0; BINS / PART];
    let mut filled = 0;
    for part in 0..BINS / PART {
        let bins = PART * part..PART * (part + 1);
        let mut any = 0;
        for histogram in &*histograms {
            any = (histogram.bins[bins.clone()].iter()).fold(any, |any, bin| any | bin);
        }
        if any == 0 {
            continue;
        }
        // A loop: `map` would make a call of each.
        // SAFETY: every 64-bit ARM CPU has NEON.
        let mut taken = [[[unsafe { vdupq_n_f32(0.0) }; 2]; 3]; N];
        for (taken, histogram) in taken.iter_mut().zip(&mut *histograms) {
            *taken = take(histogram, part);
        }
        contents[filled].write(taken);
        parts[filled] = part;
        filled += 1;
    }
    let count = kernels.len();
    for first in (0..count).step_by(KERNELS) {
        // Two kernels at a time; where one is left, it twice, whose repetition is not stored.
        let indexes: [usize; KERNELS] = std::array::from_fn(|i| (first + i).min(count - 1));
        // SAFETY: every 64-bit ARM CPU has NEON.
        let mut totals = [[[unsafe { vdupq_n_f32(0.0) }; 2]; N]; KERNELS];
        for (contents, part) in contents[..filled].iter().zip(parts) {
            // SAFETY: as many contents have been written as are filled.
            let contents = unsafe { contents.assume_init_ref() };
            let parabolas = kernels.parabolas(part * PART / LANES);
            let lane = part * PART % LANES;
            for k in 0..KERNELS {
                let p: &Parabolas = &parabolas[indexes[k]];
                let [a, b, c] = [load(&p.a, lane), load(&p.b, lane), load(&p.c, lane)];
                for n in 0..N {
                    let [tokens, sum, squares] = contents[n];
                    for half in 0..2 {
                        // SAFETY: every 64-bit ARM CPU has NEON.
                        unsafe {
                            let total = vfmaq_f32(totals[k][n][half], tokens[half], a[half]);
                            let total = vfmaq_f32(total, sum[half], b[half]);
                            totals[k][n][half] = vfmaq_f32(total, squares[half], c[half]);
                        }
                    }
                }
            }
        }
        for n in 0..N {
            for (i, k) in (first..count).take(KERNELS).enumerate() {
                if !Kernels::is_narrow(kernels.sigma()[k]) {
                    sums[n * count + k] += add_lanes(totals[i][n]);
                }
            }
        }
    }
}

/// Eight numbers, from `lane` on.
#[inline(always)]
fn load(numbers: &[f32; LANES], lane: usize) -> Eight {
    let part = &numbers[lane..lane + PART];
    // SAFETY: the slice is of two registers' size.
    unsafe { [vld1q_f32(part.as_ptr()), vld1q_f32(part[4..].as_ptr())] }
}

/// The bins of a part as real numbers; empties them.
#[inline(always)]
fn take(histogram: &mut Histogram, part: usize) -> BinSums {
    let bins = &mut histogram.bins[PART * part..PART * (part + 1)];
    // SAFETY: every 64-bit ARM CPU has NEON; two bins are a register.
    unsafe {
        let zero = vdupq_n_f32(0.0);
        let mut sums = [[zero; 2]; 3];
        for (half, bins) in bins.as_chunks::<4>().0.iter().enumerate() {
            let pair = [vld1q_u64(bins.as_ptr()), vld1q_u64(bins[2..].as_ptr())];
            let real = |low: uint64x2_t, high: uint64x2_t| {
                // The lower halves, which are whole numbers below 2³¹.
                let (low, high) = (vreinterpretq_s32_u64(low), vreinterpretq_s32_u64(high));
                vcvtq_f32_s32(vuzp1q_s32(low, high))
            };
            let counts = pair.map(|b| vshrq_n_u64::<{ COUNT_SHIFT as i32 }>(b));
            let sum_mask = vdupq_n_u64(SUM_MASK);
            let of_sum = pair.map(|b| vandq_u64(vshrq_n_u64::<{ SUM_SHIFT as i32 }>(b), sum_mask));
            let squares = pair.map(|b| vandq_u64(b, vdupq_n_u64(SQUARES_MASK)));
            sums[0][half] = real(counts[0], counts[1]);
            sums[1][half] = real(of_sum[0], of_sum[1]);
            sums[2][half] = real(squares[0], squares[1]);
        }
        bins.fill(0);
        sums
    }
}

/// The sum of eight numbers: neighbours first, then pairs, then the two halves.
#[inline(always)]
fn add_lanes([low, high]: Eight) -> f32 {
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let pairs = vpaddq_f32(low, high);
        let fours = vpaddq_f32(pairs, pairs);
        vgetq_lane_f32::<0>(fours) + vgetq_lane_f32::<1>(fours)
    }
}
