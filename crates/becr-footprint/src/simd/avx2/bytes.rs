//! From digits to bytes.

use super::plane::Ymm;
use std::arch::x86_64::*;

/// Writes numbers of up to eight digits as bytes, doubled `DOUBLINGS` times, into the first of each pair of registers.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn write<const N: usize, const DOUBLINGS: usize>(
    digits: &[Ymm; N],
    out: &mut [[[i16; 16]; 2]; 8],
) {
    // SAFETY: the caller's promise is ours; a register is what the first of a pair has room for.
    unsafe {
        let zero = _mm256_setzero_si256();
        let digit = |i: usize| digits.get(i).map_or(zero, |d| d.0);
        let bytes = transpose(std::array::from_fn(|i| {
            if i < DOUBLINGS {
                zero
            } else {
                digit(i - DOUBLINGS)
            }
        }));
        for (pair, bytes) in out.iter_mut().zip(bytes) {
            _mm256_store_si256(pair[0].as_mut_ptr().cast(), bytes);
        }
    }
}

/// Writes numbers of more than eight digits as 16-bit numbers, into both registers of each pair.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn write_words<const N: usize>(digits: &[Ymm; N], out: &mut [[[i16; 16]; 2]; 8]) {
    // SAFETY: the caller's promise is ours; pairs are of registers.
    unsafe {
        let zero = _mm256_setzero_si256();
        let digit = |i: usize| digits.get(i).map_or(zero, |d| d.0);
        let low = transpose(std::array::from_fn(digit));
        let high = transpose(std::array::from_fn(|i| digit(8 + i)));
        for (r, pair) in out.iter_mut().enumerate() {
            let even = _mm256_blendv_epi8(
                _mm256_slli_epi16::<8>(high[r]),
                low[r],
                _mm256_set1_epi16(0xFF),
            );
            let odd = _mm256_blendv_epi8(
                high[r],
                _mm256_srli_epi16::<8>(low[r]),
                _mm256_set1_epi16(0xFF),
            );
            _mm256_store_si256(pair[0].as_mut_ptr().cast(), even);
            _mm256_store_si256(pair[1].as_mut_ptr().cast(), odd);
        }
    }
}

/// Bit `i` of byte `p` of register `j` becomes bit `j` of byte `p` of register `i`: blocks of 4, 2 and 1 bits are
/// swapped.
#[inline(always)]
unsafe fn transpose(mut x: [__m256i; 8]) -> [__m256i; 8] {
    // SAFETY: the callers of this module's functions promise AVX2.
    unsafe {
        macro_rules! swap {
            ($distance:literal, $mask:literal) => {
                for i in 0..8 {
                    if i & $distance == 0 {
                        let (a, b) = (x[i], x[i + $distance]);
                        let differ = _mm256_and_si256(
                            _mm256_xor_si256(_mm256_srli_epi16::<$distance>(a), b),
                            _mm256_set1_epi8($mask),
                        );
                        x[i] = _mm256_xor_si256(a, _mm256_slli_epi16::<$distance>(differ));
                        x[i + $distance] = _mm256_xor_si256(b, differ);
                    }
                }
            };
        }
        swap!(4, 0x0F);
        swap!(2, 0x33);
        swap!(1, 0x55);
        x
    }
}
