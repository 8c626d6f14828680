//! AVX2: planes of 256 bits.

use super::adder::{BYTE_DIGITS, DIGITS, Plane, sum_rows};
use super::cosine::{self, Counter};
use super::document::{self, Backend, TilePlace};
use super::x86::{fetch, interleave, load_short};
use super::{Job, Sink};
use crate::{
    Kernels, Workspace, query::RowList, tile::Tile, workspace::Counts, workspace::Scratch,
};
use std::arch::x86_64::*;

/// See [`super::Checked::log_sums`].
///
/// # Safety
///
/// The CPU has AVX2, FMA and BMI2.
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
pub(super) unsafe fn log_sums(job: Job, kernels: &Kernels, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::log_sums::<Avx2>(job, kernels, work, out) }
}

/// See [`super::Checked::similarities`].
///
/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
pub(super) unsafe fn similarities(job: Job, work: &mut Workspace, out: &mut [f32]) {
    // SAFETY: the caller's promise is ours.
    unsafe { document::similarities::<Avx2>(job, work, out) }
}

struct Avx2;

impl Backend for Avx2 {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        // SAFETY: the caller's promise is ours.
        unsafe { cosine::tile::<Self>(job, place, scratch, sink) }
    }
}

impl Counter for Avx2 {
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
#[target_feature(enable = "avx2")]
unsafe fn count<const N: usize>(tile: Tile, list: &RowList, counts: &mut Counts) {
    // SAFETY: the caller's promise is ours; the tile has a row of `width / 8` bytes for every bit, and the list's
    // offsets are 8 × the indexes of bits.
    unsafe {
        let rows = tile.rows.as_ptr();
        let offsets = &list.offsets;
        match tile.width {
            512 => {
                for half in 0..2 {
                    let digits: [Ymm; N] = sum_rows(offsets, |offset| {
                        Ymm(_mm256_loadu_si256(
                            rows.add(usize::from(offset) * 8 + 32 * half).cast(),
                        ))
                    });
                    write_wide(&digits, counts, 2, half);
                }
            }
            256 => {
                let digits: [Ymm; N] = sum_rows(offsets, |offset| {
                    Ymm(_mm256_loadu_si256(rows.add(usize::from(offset) * 4).cast()))
                });
                write_wide(&digits, counts, 1, 0);
            }
            128 => write_short(&short::<0, N>(rows, offsets), counts),
            64 => write_short(&short::<1, N>(rows, offsets), counts),
            32 => write_short(&short::<2, N>(rows, offsets), counts),
            _ => write_short(&short::<3, N>(rows, offsets), counts),
        }
    }
}

/// Sums rows of `16 >> SHIFT` bytes.
///
/// # Safety
///
/// As for [`count`].
#[target_feature(enable = "avx2")]
unsafe fn short<const SHIFT: u32, const N: usize>(rows: *const u8, offsets: &[u16]) -> [Xmm; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        sum_rows(offsets, |offset| {
            Xmm(load_short::<SHIFT>(
                rows.add((usize::from(offset) * 2) >> SHIFT),
            ))
        })
    }
}

/// Writes the numbers of 256 tokens, which are half `half` of a tile of `halves` · 256.
#[target_feature(enable = "avx2")]
fn write_wide<const N: usize>(digits: &[Ymm; N], counts: &mut Counts, halves: usize, half: usize) {
    let zero = _mm256_setzero_si256();
    let write = |bytes: &mut [u8; 512], first: usize| {
        let eight: [__m256i; 8] =
            std::array::from_fn(|i| digits.get(first + i).map_or(zero, |d| d.0));
        let octets = interleave!(
            eight,
            _mm256_unpacklo_epi8,
            _mm256_unpackhi_epi8,
            _mm256_unpacklo_epi16,
            _mm256_unpackhi_epi16,
            _mm256_unpacklo_epi32,
            _mm256_unpackhi_epi32
        );
        for (r, &octets) in octets.iter().enumerate() {
            // Octets 2r of both lanes, then octets 2r + 1 of both lanes.
            let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(transpose(octets));
            let (even, odd) = (
                _mm256_castsi256_si128(ordered),
                _mm256_extracti128_si256::<1>(ordered),
            );
            for (octet, value) in [(2 * r, even), (2 * r + 1, odd)] {
                let at = (octet * halves + half) * 16;
                let place: &mut [u8; 16] =
                    (&mut bytes[at..at + 16]).try_into().expect("sixteen bytes");
                // SAFETY: `place` is sixteen bytes.
                unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), value) };
            }
        }
    };
    write(&mut counts.low, 0);
    if N > BYTE_DIGITS {
        write(&mut counts.high, BYTE_DIGITS);
    }
}

/// Writes the numbers of up to 128 tokens.
#[target_feature(enable = "avx2")]
fn write_short<const N: usize>(digits: &[Xmm; N], counts: &mut Counts) {
    let zero = _mm_setzero_si128();
    let write = |bytes: &mut [u8; 512], first: usize| {
        let eight: [__m128i; 8] =
            std::array::from_fn(|i| digits.get(first + i).map_or(zero, |d| d.0));
        let octets = interleave!(
            eight,
            _mm_unpacklo_epi8,
            _mm_unpackhi_epi8,
            _mm_unpacklo_epi16,
            _mm_unpackhi_epi16,
            _mm_unpacklo_epi32,
            _mm_unpackhi_epi32
        );
        let (places, _) = bytes.as_chunks_mut::<16>();
        for (place, octets) in places.iter_mut().zip(octets) {
            let value = _mm256_castsi256_si128(transpose(_mm256_castsi128_si256(octets)));
            // SAFETY: `place` is sixteen bytes.
            unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), value) };
        }
    };
    write(&mut counts.low, 0);
    if N > BYTE_DIGITS {
        write(&mut counts.high, BYTE_DIGITS);
    }
}

/// Transposes the 8 × 8 bits of every qword, by swapping blocks of 1, 2 and 4 bits.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose(x: __m256i) -> __m256i {
    let step1 = |x: __m256i| {
        let t = _mm256_and_si256(
            _mm256_xor_si256(x, _mm256_srli_epi64::<7>(x)),
            _mm256_set1_epi64x(0x00AA_00AA_00AA_00AA),
        );
        _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64::<7>(t)))
    };
    let step2 = |x: __m256i| {
        let t = _mm256_and_si256(
            _mm256_xor_si256(x, _mm256_srli_epi64::<14>(x)),
            _mm256_set1_epi64x(0x0000_CCCC_0000_CCCC),
        );
        _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64::<14>(t)))
    };
    let step3 = |x: __m256i| {
        let t = _mm256_and_si256(
            _mm256_xor_si256(x, _mm256_srli_epi64::<28>(x)),
            _mm256_set1_epi64x(0x0000_0000_F0F0_F0F0),
        );
        _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64::<28>(t)))
    };
    step3(step2(step1(x)))
}

macro_rules! plane {
    ($name:ident, $register:ty, $zero:ident, $xor:ident, $and:ident, $or:ident) => {
        #[derive(Clone, Copy)]
        struct $name($register);

        // SAFETY of every block: the trait's caller promises a CPU that has AVX2.
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
                Self(unsafe { $xor($xor(self.0, b.0), c.0) })
            }
            #[inline(always)]
            unsafe fn majority(self, b: Self, c: Self) -> Self {
                // SAFETY: see above.
                unsafe {
                    // `a ^ b` is shared with the parity.
                    let differ = $xor(self.0, b.0);
                    Self($or($and(self.0, b.0), $and(differ, c.0)))
                }
            }
        }
    };
}
plane!(
    Ymm,
    __m256i,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    _mm256_and_si256,
    _mm256_or_si256
);
plane!(
    Xmm,
    __m128i,
    _mm_setzero_si128,
    _mm_xor_si128,
    _mm_and_si128,
    _mm_or_si128
);
