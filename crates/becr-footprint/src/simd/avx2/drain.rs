//! From histograms to sums of kernels, with eight bins per register.

use crate::Kernels;
use crate::kernels::{BINS, LANES, Parabolas};
use crate::pool::{COUNT_SHIFT, Histogram, SQUARES_MASK, SUM_MASK, SUM_SHIFT};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Bins of a part; parts whose bins are all empty are skipped.
const PART: usize = 8;

/// Kernels that are summed side by side.
const KERNELS: usize = 4;

/// Count, sum and sum of squares of the bins of a part.
type BinSums = [__m256; 3];

/// Drains `N` histograms together: the parabolas are loaded once for all of them. See [`super::Backend`].
///
/// # Safety
///
/// The CPU has AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
pub(super) unsafe fn drain<const N: usize>(
    histograms: &mut [Histogram; N],
    kernels: &Kernels,
    sums: &mut [f32],
) {
    let mut contents = [const { MaybeUninit::<[BinSums; N]>::uninit() }; BINS / PART];
    let mut parts = [0; BINS / PART];
    let mut filled = 0;
    for part in 0..BINS / PART {
        let any = histograms.iter().fold(_mm256_setzero_si256(), |any, h| {
            let [low, high] = load(h, part);
            _mm256_or_si256(any, _mm256_or_si256(low, high))
        });
        if _mm256_testz_si256(any, any) == 1 {
            continue;
        }
        contents[filled].write(histograms.each_mut().map(|h| take(h, part)));
        parts[filled] = part;
        filled += 1;
    }
    let count = kernels.len();
    for first in (0..count).step_by(KERNELS) {
        // Four kernels at a time; where fewer are left, the last one repeatedly, whose repetitions are not stored.
        let indexes: [usize; KERNELS] = std::array::from_fn(|i| (first + i).min(count - 1));
        let mut totals = [[_mm256_setzero_ps(); N]; KERNELS];
        for (contents, part) in contents[..filled].iter().zip(parts) {
            // SAFETY: as many contents have been written as are filled.
            let contents = unsafe { contents.assume_init_ref() };
            let parabolas = kernels.parabolas(part * PART / LANES);
            let lane = part * PART % LANES;
            for k in 0..KERNELS {
                let p: &Parabolas = &parabolas[indexes[k]];
                let [a, b, c] = [&p.a, &p.b, &p.c].map(|numbers| load_part(numbers, lane));
                for n in 0..N {
                    let [tokens, sum, squares] = contents[n];
                    let total = _mm256_fmadd_ps(tokens, a, totals[k][n]);
                    let total = _mm256_fmadd_ps(sum, b, total);
                    totals[k][n] = _mm256_fmadd_ps(squares, c, total);
                }
            }
        }
        for n in 0..N {
            let four = add_lanes(totals.map(|of_kernel| of_kernel[n]));
            for (i, k) in (first..count).take(KERNELS).enumerate() {
                if !Kernels::is_narrow(kernels.sigma()[k]) {
                    sums[n * count + k] += four[i];
                }
            }
        }
    }
}

/// Eight numbers, from `lane` on.
#[target_feature(enable = "avx2")]
#[inline]
fn load_part(numbers: &[f32; LANES], lane: usize) -> __m256 {
    let part = &numbers[lane..lane + PART];
    // SAFETY: the slice is of a register's size.
    unsafe { _mm256_loadu_ps(part.as_ptr()) }
}

/// The bins of a part.
#[target_feature(enable = "avx2")]
#[inline]
fn load(histogram: &Histogram, part: usize) -> [__m256i; 2] {
    let bins = &histogram.bins[PART * part..PART * (part + 1)];
    // SAFETY: eight bins are two registers.
    unsafe {
        [
            _mm256_loadu_si256(bins.as_ptr().cast()),
            _mm256_loadu_si256(bins[4..].as_ptr().cast()),
        ]
    }
}

/// The bins of a part as real numbers; empties them.
#[target_feature(enable = "avx2")]
#[inline]
fn take(histogram: &mut Histogram, part: usize) -> BinSums {
    let bins = load(histogram, part);
    histogram.bins[PART * part..PART * (part + 1)].fill(0);
    let sum_mask = _mm256_set1_epi64x(SUM_MASK as i64);
    let squares_mask = _mm256_set1_epi64x(SQUARES_MASK as i64);
    let counts = bins.map(|b| _mm256_srli_epi64::<{ COUNT_SHIFT as i32 }>(b));
    let sums =
        bins.map(|b| _mm256_and_si256(_mm256_srli_epi64::<{ SUM_SHIFT as i32 }>(b), sum_mask));
    let squares = bins.map(|b| _mm256_and_si256(b, squares_mask));
    [real(counts), real(sums), real(squares)]
}

/// Eight whole numbers below 2³¹, given as qwords, as real numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn real([low, high]: [__m256i; 2]) -> __m256 {
    // The even dwords of both, lane by lane, then in order.
    let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    let even = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
    _mm256_cvtepi32_ps(_mm256_permute4x64_epi64::<0b11_01_10_00>(even))
}

/// The sums of the lanes of four registers.
#[target_feature(enable = "avx2")]
#[inline]
fn add_lanes([a, b, c, d]: [__m256; KERNELS]) -> [f32; KERNELS] {
    let abcd = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    let four = _mm_add_ps(
        _mm256_castps256_ps128(abcd),
        _mm256_extractf128_ps::<1>(abcd),
    );
    let mut sums = [0.0; KERNELS];
    // SAFETY: four numbers are a register of 128 bits.
    unsafe { _mm_storeu_ps(sums.as_mut_ptr(), four) };
    sums
}
