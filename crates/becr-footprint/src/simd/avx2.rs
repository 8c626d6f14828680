//! AVX2: planes of 256 bits.

use super::adder::{BYTE_DIGITS, DIGITS, Plane, sum_rows};
use super::cosine::{self, Counter};
use super::document::{self, Backend, TilePlace};
use super::x86::{fetch, interleave};
use super::{Job, Sink};
use crate::groups::RowList;
use crate::lanes::Lanes;
use crate::tile::Tile;
use crate::workspace::{Counts, Scratch};
use crate::{Kernels, Workspace};
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

    #[inline(always)]
    fn fetch(address: usize) {
        fetch(address);
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
}

/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx2")]
unsafe fn count<const N: usize>(tile: Tile, list: &RowList, counts: &mut Counts) {
    let (start, stride, lanes) = (tile.rows.as_ptr(), tile.stride(), Lanes::new(tile.width));
    for half in 0..stride.div_ceil(32) {
        // SAFETY: the caller's promise is ours; a tile has a row for every bit and lets 64 bytes of it be read.
        let digits: [Ymm; N] = unsafe {
            sum_rows(&list.rows, |row| {
                let at = start.add(usize::from(row) * stride + 32 * half);
                Ymm(_mm256_loadu_si256(at.cast()))
            })
        };
        let first_lane = 2 * half;
        write::<N, 0>(&digits, lanes, first_lane, &mut counts.low);
        if N > BYTE_DIGITS {
            write::<N, BYTE_DIGITS>(&digits, lanes, first_lane, &mut counts.high);
        }
    }
}

/// Writes the numbers of two lanes of tokens, made of the eight digits from `FIRST` on.
#[target_feature(enable = "avx2")]
fn write<const N: usize, const FIRST: usize>(
    digits: &[Ymm; N],
    lanes: Lanes,
    first_lane: usize,
    bytes: &mut [u8; 512],
) {
    let zero = _mm256_setzero_si256();
    let eight: [__m256i; 8] = std::array::from_fn(|i| digits.get(FIRST + i).map_or(zero, |d| d.0));
    let octets = interleave!(
        eight,
        _mm256_unpacklo_epi8,
        _mm256_unpackhi_epi8,
        _mm256_unpacklo_epi16,
        _mm256_unpackhi_epi16,
        _mm256_unpacklo_epi32,
        _mm256_unpackhi_epi32
    );
    // Most rows are as long as their registers: then every octet has a neighbour, and places follow each other evenly.
    let count = lanes.octets(0);
    let is_whole = count == lanes.octets(15) && count >= first_lane + 2;
    let mut at = 8 * first_lane;
    for (r, &octets) in octets.iter().enumerate() {
        // Octets at position 2r of both lanes, then those at position 2r + 1.
        let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(transpose(octets));
        let (even, odd) = (
            _mm256_castsi256_si128(ordered),
            _mm256_extracti128_si256::<1>(ordered),
        );
        for (position, octets) in [(2 * r, even), (2 * r + 1, odd)] {
            // SAFETY: the slices are eight or sixteen bytes.
            unsafe {
                if is_whole {
                    _mm_storeu_si128(bytes[at..at + 16].as_mut_ptr().cast(), octets);
                    at += 8 * count;
                    continue;
                }
                let place = &mut bytes[8 * (lanes.first_octet(position) + first_lane)..];
                match lanes.octets(position).saturating_sub(first_lane) {
                    0 => (),
                    1 => _mm_storel_epi64(place[..8].as_mut_ptr().cast(), octets),
                    _ => _mm_storeu_si128(place[..16].as_mut_ptr().cast(), octets),
                }
            }
        }
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
            unsafe fn full_add(self, b: Self, c: Self) -> [Self; 2] {
                // SAFETY: see above.
                unsafe {
                    let differ = $xor(self.0, b.0);
                    let carry = $or($and(self.0, b.0), $and(differ, c.0));
                    [Self($xor(differ, c.0)), Self(carry)]
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
