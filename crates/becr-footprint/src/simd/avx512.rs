//! AVX-512 as Skylake-X has it: planes of 512 bits and full adders of two instructions.

use super::adder::{BYTE_DIGITS, DIGITS};
use super::cosine::{self, Counter};
use super::document::{self, Backend, TilePlace};
use super::rows512::{Load, Rows, Ymm, Zmm};
use super::x86::{fetch, interleave};
use super::{Job, Sink, drain512};
use crate::groups::RowList;
use crate::lanes::Lanes;
use crate::pool::Histogram;
use crate::tile::Tile;
use crate::workspace::{Counts, Scratch};
use crate::{Kernels, Workspace};
use std::arch::x86_64::*;

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

struct Avx512;

impl Backend for Avx512 {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        // SAFETY: the caller's promise is ours.
        unsafe { cosine::tile::<Self>(job, place, scratch, sink) }
    }

    #[inline(always)]
    unsafe fn drain<const N: usize>(
        histograms: &mut [Histogram; N],
        kernels: &Kernels,
        sums: &mut [f32],
    ) {
        // SAFETY: the caller's promise is ours.
        unsafe { drain512::drain(histograms, kernels, sums) }
    }

    #[inline(always)]
    fn fetch(address: usize) {
        fetch(address);
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
}

/// # Safety
///
/// As for [`log_sums`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn count<const N: usize>(tile: Tile, list: &RowList, counts: &mut Counts) {
    let (rows, list) = (Rows::new(&tile), &list.rows[..]);
    // SAFETY: the caller's promise is ours; the tile has a row for every bit.
    let digits: [Zmm; N] = unsafe {
        if tile.width > 256 {
            Zmm::sum(&rows, list)
        } else {
            let mut digits = [Zmm(_mm512_setzero_si512()); N];
            let narrow = Ymm::sum::<N>(&rows, list);
            for i in 0..N {
                digits[i] = Zmm(_mm512_zextsi256_si512(narrow[i].0));
            }
            digits
        }
    };
    let lanes = Lanes::new(tile.width);
    write(&digits, lanes, &mut counts.low, 0);
    if N > BYTE_DIGITS {
        write(&digits, lanes, &mut counts.high, BYTE_DIGITS);
    }
}

/// Writes the numbers of the tokens, made of the eight digits from `first` on.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn write<const N: usize>(digits: &[Zmm; N], lanes: Lanes, bytes: &mut [u8; 512], first: usize) {
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
    // Octets at position 2r of all lanes, then those at position 2r + 1.
    let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (r, &octets) in octets.iter().enumerate() {
        let ordered = _mm512_permutexvar_epi64(order, transpose(octets));
        let (even, odd) = (
            _mm512_castsi512_si256(ordered),
            _mm512_extracti64x4_epi64::<1>(ordered),
        );
        for (position, octets) in [(2 * r, even), (2 * r + 1, odd)] {
            // What lanes beyond the tile's hold is overwritten by the next position.
            let at = 8 * lanes.first_octet(position);
            let place: &mut [u8; 32] = (&mut bytes[at..at + 32]).try_into().expect("32 bytes");
            // SAFETY: `place` is thirty-two bytes.
            unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), octets) };
        }
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
