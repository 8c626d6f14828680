//! From histograms to sums of kernels, with sixteen bins per register.

use crate::Kernels;
use crate::kernels::{BINS, LANES, Parabolas};
use crate::pool::{COUNT_SHIFT, Histogram, SQUARES_MASK, SUM_MASK, SUM_SHIFT};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Count, sum and sum of squares of sixteen bins.
type BinSums = [__m512; 3];

/// Drains `N` histograms together: the parabolas are loaded once for all of them. See [`super::document::Backend`].
///
/// # Safety
///
/// The CPU has AVX-512 F and DQ.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline(never)]
pub(super) unsafe fn drain<const N: usize>(
    histograms: &mut [Histogram; N],
    kernels: &Kernels,
    sums: &mut [f32],
) {
    let mut contents = [const { MaybeUninit::<[BinSums; N]>::uninit() }; BINS / LANES];
    let mut chunks = [0; BINS / LANES];
    let mut filled = 0;
    let count = kernels.len();
    // SAFETY: the caller's promise is ours; a histogram is aligned and 32 registers long; `filled` contents have been
    // written; coefficients are aligned and a register each.
    unsafe {
        for chunk in 0..BINS / LANES {
            let mut any = _mm512_setzero_si512();
            for histogram in histograms.iter() {
                let [low, high] = load(histogram, chunk);
                any = _mm512_or_si512(any, _mm512_or_si512(low, high));
            }
            if _mm512_test_epi64_mask(any, any) == 0 {
                continue;
            }
            let mut all = [[_mm512_setzero_ps(); 3]; N];
            for (contents, histogram) in all.iter_mut().zip(histograms.iter_mut()) {
                *contents = take(histogram, chunk);
            }
            contents[filled].write(all);
            chunks[filled] = chunk;
            filled += 1;
        }
        let contents = contents.as_ptr().cast::<[BinSums; N]>();
        for first in (0..count).step_by(KERNELS) {
            // Four kernels at a time; where fewer are left, the last one repeatedly, whose repetitions are not stored.
            let indexes = [0, 1, 2, 3].map(|i| (first + i).min(count - 1));
            let mut totals = [[_mm512_setzero_ps(); N]; KERNELS];
            for (i, &chunk) in chunks[..filled].iter().enumerate() {
                let contents = &*contents.add(i);
                let parabolas = kernels.parabolas(chunk);
                for k in 0..KERNELS {
                    let p: &Parabolas = &parabolas[indexes[k]];
                    let a = _mm512_load_ps(p.a.as_ptr());
                    let b = _mm512_load_ps(p.b.as_ptr());
                    let c = _mm512_load_ps(p.c.as_ptr());
                    for n in 0..N {
                        let [tokens, sum, squares] = contents[n];
                        let total = _mm512_fmadd_ps(tokens, a, totals[k][n]);
                        let total = _mm512_fmadd_ps(sum, b, total);
                        totals[k][n] = _mm512_fmadd_ps(squares, c, total);
                    }
                }
            }
            for n in 0..N {
                let four = [totals[0][n], totals[1][n], totals[2][n], totals[3][n]];
                let four = add_lanes(four);
                for (i, k) in (first..count).take(KERNELS).enumerate() {
                    if !Kernels::is_narrow(kernels.sigma()[k]) {
                        sums[n * count + k] += four[i];
                    }
                }
            }
        }
    }
}

/// Kernels that are summed side by side.
const KERNELS: usize = 4;

/// The bins of a chunk.
#[inline(always)]
unsafe fn load(histogram: &Histogram, chunk: usize) -> [__m512i; 2] {
    let at: *const __m512i = histogram.bins.as_ptr().cast();
    // SAFETY: a histogram is aligned and 32 registers long; the caller promises AVX-512 F.
    unsafe {
        [
            _mm512_load_si512(at.add(2 * chunk)),
            _mm512_load_si512(at.add(2 * chunk + 1)),
        ]
    }
}

/// The bins of a chunk as real numbers; empties them.
#[inline(always)]
unsafe fn take(histogram: &mut Histogram, chunk: usize) -> BinSums {
    // SAFETY: a histogram is aligned and 32 registers long; the caller promises AVX-512 F and DQ.
    unsafe {
        let [low, high] = load(histogram, chunk);
        let at: *mut __m512i = histogram.bins.as_mut_ptr().cast();
        _mm512_store_si512(at.add(2 * chunk), _mm512_setzero_si512());
        _mm512_store_si512(at.add(2 * chunk + 1), _mm512_setzero_si512());
        let sum_mask = _mm512_set1_epi64(SUM_MASK as i64);
        let squares_mask = _mm512_set1_epi64(SQUARES_MASK as i64);
        [
            real(
                _mm512_srli_epi64::<COUNT_SHIFT>(low),
                _mm512_srli_epi64::<COUNT_SHIFT>(high),
            ),
            real(
                _mm512_and_si512(_mm512_srli_epi64::<SUM_SHIFT>(low), sum_mask),
                _mm512_and_si512(_mm512_srli_epi64::<SUM_SHIFT>(high), sum_mask),
            ),
            real(
                _mm512_and_si512(low, squares_mask),
                _mm512_and_si512(high, squares_mask),
            ),
        ]
    }
}

/// Sixteen whole numbers below 2³¹, given as qwords, as real numbers.
#[inline(always)]
unsafe fn real(low: __m512i, high: __m512i) -> __m512 {
    // SAFETY: the caller promises AVX-512 F.
    unsafe {
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        _mm512_cvtepi32_ps(_mm512_permutex2var_epi32(low, even, high))
    }
}

/// The sums of the lanes of four registers.
#[inline(always)]
pub(super) unsafe fn add_lanes([a, b, c, d]: [__m512; 4]) -> [f32; 4] {
    let mut sums = [0.0; 4];
    // SAFETY: the caller promises AVX-512 F; four numbers are one register of 128 bits.
    unsafe {
        let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        let abcd = _mm512_add_ps(
            _mm512_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm512_shuffle_ps::<0b11_10_11_10>(ab, cd),
        );
        let half = _mm256_add_ps(
            _mm512_castps512_ps256(abcd),
            _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(abcd))),
        );
        let quarter = _mm_add_ps(
            _mm256_castps256_ps128(half),
            _mm256_extractf128_ps::<1>(half),
        );
        _mm_storeu_ps(sums.as_mut_ptr(), quarter);
    }
    sums
}
