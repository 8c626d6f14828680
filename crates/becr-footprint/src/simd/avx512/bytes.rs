//! From digits to a byte per token, and from the registers' order of tokens to the tile's, for either width of registers.

use super::super::x86::interleave;
use super::plane::{Load, Ymm, Zmm};
use crate::lanes::Lanes;
use std::arch::x86_64::*;

/// How planes of some width become bytes, and similarities are stored.
///
/// # Safety
///
/// The CPU has AVX-512 F, BW, DQ and VL, and GFNI.
pub(super) trait Width: Load {
    /// Registers of 64 tokens each.
    const REGISTERS: usize;

    /// The digits as bytes, 64 tokens per register. In every 128-bit lane, eight bytes are one octet of tokens and
    /// eight bytes are another.
    unsafe fn bytes(digits: [Self; 8]) -> [__m512i; 8];

    /// Stores the similarities that came of the lower octets of register `r` and of its upper ones.
    unsafe fn store(similarities: *mut i16, lanes: Lanes, r: usize, octets: [__m512i; 2]);
}

impl Width for Zmm {
    const REGISTERS: usize = 8;

    #[inline(always)]
    unsafe fn bytes(digits: [Zmm; 8]) -> [__m512i; 8] {
        let [a, b, c, d, e, f, g, h] = digits;
        // SAFETY: the caller's promise is ours.
        unsafe {
            let mut octets = interleave!(
                [h.0, g.0, f.0, e.0, d.0, c.0, b.0, a.0],
                _mm512_unpacklo_epi8,
                _mm512_unpackhi_epi8,
                _mm512_unpacklo_epi16,
                _mm512_unpackhi_epi16,
                _mm512_unpacklo_epi32,
                _mm512_unpackhi_epi32
            );
            for octets in &mut octets {
                *octets = transpose(*octets);
            }
            octets
        }
    }

    #[inline(always)]
    unsafe fn store(similarities: *mut i16, lanes: Lanes, r: usize, octets: [__m512i; 2]) {
        // SAFETY: the caller's promise is ours. What lanes beyond the tile's hold is overwritten by the next octets.
        unsafe {
            for (position, octets) in [(2 * r, octets[0]), (2 * r + 1, octets[1])] {
                let at = similarities.add(8 * lanes.first_octet(position));
                _mm512_storeu_si512(at.cast(), octets);
            }
        }
    }
}

impl Width for Ymm {
    const REGISTERS: usize = 4;

    #[inline(always)]
    unsafe fn bytes(digits: [Ymm; 8]) -> [__m512i; 8] {
        let [a, b, c, d, e, f, g, h] = digits;
        // SAFETY: the caller's promise is ours.
        unsafe {
            let octets = interleave!(
                [h.0, g.0, f.0, e.0, d.0, c.0, b.0, a.0],
                _mm256_unpacklo_epi8,
                _mm256_unpackhi_epi8,
                _mm256_unpacklo_epi16,
                _mm256_unpackhi_epi16,
                _mm256_unpacklo_epi32,
                _mm256_unpackhi_epi32
            );
            let mut bytes = [_mm512_setzero_si512(); 8];
            for r in 0..Self::REGISTERS {
                let low = _mm512_castsi256_si512(octets[2 * r]);
                bytes[r] = transpose(_mm512_inserti64x4::<1>(low, octets[2 * r + 1]));
            }
            bytes
        }
    }

    #[inline(always)]
    unsafe fn store(similarities: *mut i16, lanes: Lanes, r: usize, octets: [__m512i; 2]) {
        // SAFETY: the caller's promise is ours. What lanes beyond the tile's hold is overwritten by the next octets.
        unsafe {
            let [even, odd] = octets;
            let halves = [
                _mm512_castsi512_si256(even),
                _mm512_castsi512_si256(odd),
                _mm512_extracti64x4_epi64::<1>(even),
                _mm512_extracti64x4_epi64::<1>(odd),
            ];
            for (i, octets) in halves.into_iter().enumerate() {
                let at = similarities.add(8 * lanes.first_octet(4 * r + i));
                _mm256_storeu_si256(at.cast(), octets);
            }
        }
    }
}

/// Transposes the 8 × 8 bits of every qword: as a matrix over GF(2), it multiplies the unit vectors. The instruction
/// counts a matrix's rows from the last byte on, which is why the digits are interleaved from the last one on.
#[inline(always)]
unsafe fn transpose(x: __m512i) -> __m512i {
    // SAFETY: the callers of this module's functions promise GFNI and AVX-512 F.
    unsafe {
        let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
        _mm512_gf2p8affine_epi64_epi8::<0>(unit, x)
    }
}
