//! AVX-512 as Skylake-X has it: planes of 512 bits and full adders of two instructions.

use super::adder::{BYTE_DIGITS, DIGITS, Plane, sum_rows};
use super::cosine::{self, Counter};
use super::document::{self, Backend, TilePlace};
use super::x86::{fetch, interleave, load_short};
use super::{Job, Sink};
use crate::kernels::{BINS, LANES, Parabolas};
use crate::pool::{COUNT_SHIFT, Histogram, SQUARES_MASK, SUM_MASK, SUM_SHIFT};
use crate::{
    Kernels, Workspace, query::RowList, tile::Tile, workspace::Counts, workspace::Scratch,
};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// See [`super::Checked::log_sums`].
///
/// # Safety
///
/// The CPU has AVX-512 F, BW, DQ and VL, AVX2, FMA and BMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
pub(super) unsafe fn log_sums(job: Job, kernels: &Kernels, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::log_sums::<Avx512>(job, kernels, work, out) }
}

/// See [`super::Checked::similarities`].
///
/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
pub(super) unsafe fn similarities(job: Job, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::similarities::<Avx512>(job, work, out) }
}

pub(super) struct Avx512;

impl Backend for Avx512 {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        // SAFETY: the caller's promise is ours.
        unsafe { cosine::tile::<Self>(job, place, scratch, sink) }
    }

    #[inline(always)]
    unsafe fn add_histogram(histogram: &mut Histogram, kernels: &Kernels, sums: &mut [f32]) {
        // SAFETY: the caller's promise is ours.
        unsafe { drain(histogram, kernels, sums) }
    }
}

/// As [`Histogram::drain`], with a chunk of bins per register.
///
/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn drain(histogram: &mut Histogram, kernels: &Kernels, sums: &mut [f32]) {
    let mut moments = [const { MaybeUninit::<[__m512; 3]>::uninit() }; BINS / LANES];
    let mut chunks = [0; BINS / LANES];
    let mut filled = 0;
    let bins: *mut __m512i = histogram.bins.as_mut_ptr().cast();
    // SAFETY: the histogram is aligned and is 32 registers long; the coefficients of a kernel are 16
    // registers each; `filled` moments have been written.
    unsafe {
        for chunk in 0..BINS / LANES {
            let at = bins.add(2 * chunk);
            let (low, high) = (_mm512_load_si512(at), _mm512_load_si512(at.add(1)));
            let any = _mm512_or_si512(low, high);
            if _mm512_test_epi64_mask(any, any) == 0 {
                continue;
            }
            _mm512_store_si512(at, _mm512_setzero_si512());
            _mm512_store_si512(at.add(1), _mm512_setzero_si512());
            let real = |low: __m512i, high: __m512i| {
                let low = _mm512_castps256_ps512(_mm512_cvtepi64_ps(low));
                _mm512_insertf32x8::<1>(low, _mm512_cvtepi64_ps(high))
            };
            let sum = |x| {
                _mm512_and_si512(
                    _mm512_srli_epi64::<SUM_SHIFT>(x),
                    _mm512_set1_epi64(SUM_MASK as i64),
                )
            };
            let squares = |x| _mm512_and_si512(x, _mm512_set1_epi64(SQUARES_MASK as i64));
            moments[filled].write([
                real(
                    _mm512_srli_epi64::<COUNT_SHIFT>(low),
                    _mm512_srli_epi64::<COUNT_SHIFT>(high),
                ),
                real(sum(low), sum(high)),
                real(squares(low), squares(high)),
            ]);
            chunks[filled] = chunk;
            filled += 1;
        }
        let count = kernels.len();
        let moments = moments.as_ptr().cast::<[__m512; 3]>();
        for first in (0..count).step_by(4) {
            // Four kernels at a time; the last one again rather than none.
            let indexes = [0, 1, 2, 3].map(|i| (first + i).min(count - 1));
            let [mut a, mut b, mut c, mut d] = [[_mm512_setzero_ps(); 2]; 4];
            for (i, &chunk) in chunks[..filled].iter().enumerate() {
                let [tokens, sum, squares] = *moments.add(i);
                let parabolas = kernels.parabolas(chunk).as_ptr();
                // Two sums per kernel, which do not wait for each other.
                let add = |[x, y]: [__m512; 2], k: usize| {
                    let p: &Parabolas = &*parabolas.add(k);
                    let y = _mm512_fmadd_ps(sum, _mm512_load_ps(p.b.as_ptr()), y);
                    [
                        _mm512_fmadd_ps(tokens, _mm512_load_ps(p.a.as_ptr()), x),
                        _mm512_fmadd_ps(squares, _mm512_load_ps(p.c.as_ptr()), y),
                    ]
                };
                a = add(a, indexes[0]);
                b = add(b, indexes[1]);
                c = add(c, indexes[2]);
                d = add(d, indexes[3]);
            }
            let wide = (first..count).filter(|&k| !Kernels::is_narrow(kernels.sigma()[k]));
            let total = |[x, y]: [__m512; 2]| _mm512_reduce_add_ps(_mm512_add_ps(x, y));
            let totals = [total(a), total(b), total(c), total(d)];
            for k in wide.take_while(|k| *k < first + 4) {
                sums[k] += totals[k - first];
            }
        }
    }
}

impl Counter for Avx512 {
    const FMA: bool = true;

    #[inline(always)]
    unsafe fn count(tile: Tile, list: &RowList, wide: bool, counts: &mut Counts) {
        // SAFETY: the caller's promise is ours.
        unsafe {
            if wide {
                count::<DIGITS>(tile, list, counts);
            } else {
                count::<BYTE_DIGITS>(tile, list, counts);
            }
        }
    }

    #[inline(always)]
    fn fetch(address: usize) {
        fetch(address);
    }
}

/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn count<const N: usize>(tile: Tile, list: &RowList, counts: &mut Counts) {
    // SAFETY: the caller's promise is ours, and that of the tile and the list as `sum_*` ask for it.
    unsafe {
        let (rows, offsets) = (tile.rows.as_ptr(), &list.offsets[..]);
        let digits: [Zmm; N] = match tile.width {
            512 => sum_512(rows, offsets),
            256 => sum_256::<N>(rows, offsets).map(|d| Zmm(_mm512_zextsi256_si512(d.0))),
            128 => sum_short::<0, N>(rows, offsets).map(|d| Zmm(_mm512_zextsi128_si512(d.0))),
            64 => sum_short::<1, N>(rows, offsets).map(|d| Zmm(_mm512_zextsi128_si512(d.0))),
            32 => sum_short::<2, N>(rows, offsets).map(|d| Zmm(_mm512_zextsi128_si512(d.0))),
            _ => sum_short::<3, N>(rows, offsets).map(|d| Zmm(_mm512_zextsi128_si512(d.0))),
        };
        write(&digits, tile.width, &mut counts.low, 0);
        if N > BYTE_DIGITS {
            write(&digits, tile.width, &mut counts.high, BYTE_DIGITS);
        }
    }
}

/// Sums rows of 64 bytes.
///
/// # Safety
///
/// The CPU has AVX-512 F and VL; `rows` points to as many rows as the list's offsets ask for.
#[inline(always)]
pub(super) unsafe fn sum_512<const N: usize>(rows: *const u8, offsets: &[u16]) -> [Zmm; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        sum_rows(offsets, |offset| {
            Zmm(_mm512_loadu_si512(rows.add(usize::from(offset) * 8).cast()))
        })
    }
}

/// Sums rows of 32 bytes.
///
/// # Safety
///
/// As for [`sum_512`].
#[inline(always)]
pub(super) unsafe fn sum_256<const N: usize>(rows: *const u8, offsets: &[u16]) -> [Ymm; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        sum_rows(offsets, |offset| {
            Ymm(_mm256_loadu_si256(rows.add(usize::from(offset) * 4).cast()))
        })
    }
}

/// Sums rows of `16 >> SHIFT` bytes.
///
/// # Safety
///
/// As for [`sum_512`].
#[inline(always)]
pub(super) unsafe fn sum_short<const SHIFT: u32, const N: usize>(
    rows: *const u8,
    offsets: &[u16],
) -> [Xmm; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        sum_rows(offsets, |offset| {
            Xmm(load_short::<SHIFT>(
                rows.add((usize::from(offset) * 2) >> SHIFT),
            ))
        })
    }
}

/// Writes the numbers of the first `width` tokens, made of the eight digits from `first` on.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn write<const N: usize>(digits: &[Zmm; N], width: usize, bytes: &mut [u8; 512], first: usize) {
    let zero = _mm512_setzero_si512();
    let eight: [__m512i; 8] = std::array::from_fn(|i| digits.get(first + i).map_or(zero, |d| d.0));
    let octets = interleave!(
        eight,
        _mm512_unpacklo_epi8,
        _mm512_unpackhi_epi8,
        _mm512_unpacklo_epi16,
        _mm512_unpackhi_epi16,
        _mm512_unpacklo_epi32,
        _mm512_unpackhi_epi32
    );
    // Octets 2r of all lanes, then octets 2r + 1 of all lanes; of the lanes that count.
    let order = match width {
        512 => _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
        256 => _mm512_setr_epi64(0, 2, 1, 3, 4, 5, 6, 7),
        _ => _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
    };
    let step = (width / 8).max(16);
    for (r, &octets) in octets.iter().enumerate() {
        let ordered = _mm512_permutexvar_epi64(order, transpose(octets));
        let mut place = [0; 64];
        // SAFETY: `place` is sixty-four bytes.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), ordered) };
        bytes[r * step..(r + 1) * step].copy_from_slice(&place[..step]);
    }
}

/// Transposes the 8 × 8 bits of every qword, by swapping blocks of 1, 2 and 4 bits.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose(x: __m512i) -> __m512i {
    // Ternary functions: (a ^ b) & c, and a ^ b ^ c.
    const DIFFER_AND: i32 = 0x28;
    const PARITY: i32 = 0x96;
    let mask = _mm512_set1_epi64(0x00AA_00AA_00AA_00AA);
    let t = _mm512_ternarylogic_epi64::<DIFFER_AND>(x, _mm512_srli_epi64::<7>(x), mask);
    let x = _mm512_ternarylogic_epi64::<PARITY>(x, t, _mm512_slli_epi64::<7>(t));
    let mask = _mm512_set1_epi64(0x0000_CCCC_0000_CCCC);
    let t = _mm512_ternarylogic_epi64::<DIFFER_AND>(x, _mm512_srli_epi64::<14>(x), mask);
    let x = _mm512_ternarylogic_epi64::<PARITY>(x, t, _mm512_slli_epi64::<14>(t));
    let mask = _mm512_set1_epi64(0x0000_0000_F0F0_F0F0);
    let t = _mm512_ternarylogic_epi64::<DIFFER_AND>(x, _mm512_srli_epi64::<28>(x), mask);
    _mm512_ternarylogic_epi64::<PARITY>(x, t, _mm512_slli_epi64::<28>(t))
}

macro_rules! plane {
    ($name:ident, $register:ty, $zero:ident, $xor:ident, $and:ident, $ternary:ident) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) $register);

        // SAFETY of every block: the trait's caller promises a CPU that has AVX-512 F and VL.
        impl Plane for $name {
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: see above.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $xor(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn and(self, other: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $and(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn parity(self, b: Self, c: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $ternary::<0x96>(self.0, b.0, c.0) })
            }
            #[inline(always)]
            unsafe fn majority(self, b: Self, c: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $ternary::<0xE8>(self.0, b.0, c.0) })
            }
        }
    };
}
plane!(
    Zmm,
    __m512i,
    _mm512_setzero_si512,
    _mm512_xor_si512,
    _mm512_and_si512,
    _mm512_ternarylogic_epi64
);
plane!(
    Ymm,
    __m256i,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    _mm256_and_si256,
    _mm256_ternarylogic_epi64
);
plane!(
    Xmm,
    __m128i,
    _mm_setzero_si128,
    _mm_xor_si128,
    _mm_and_si128,
    _mm_ternarylogic_epi64
);
