//! From digits to bytes.

use super::plane::Bits;
use std::arch::aarch64::*;

/// Where the numbers of a pair of lanes are written: bytes into the first of each pair of arrays, lane by lane; 16-bit
/// numbers into an array for each lane.
pub(super) type Out = [[[i16; 16]; 2]; 8];

/// Writes numbers of up to eight digits as bytes, doubled `DOUBLINGS` times.
#[inline(always)]
pub(super) fn write<const N: usize, const REGISTERS: usize, const DOUBLINGS: usize>(
    digits: &[Bits<REGISTERS>; N],
    out: &mut Out,
) {
    const { assert!(REGISTERS <= 2) }
    for lane in 0..REGISTERS {
        let bytes = transpose(|i| {
            let digit = i.checked_sub(DOUBLINGS).and_then(|i| digits.get(i));
            digit.map(|digit| digit.0[lane])
        });
        for (pair, bytes) in out.iter_mut().zip(bytes) {
            // SAFETY: the first array has room for the bytes of both lanes.
            unsafe { vst1q_u8(pair[0].as_mut_ptr().cast::<u8>().add(16 * lane), bytes) };
        }
    }
}

/// Writes numbers of more than eight digits as 16-bit numbers.
#[inline(always)]
pub(super) fn write_words<const N: usize, const REGISTERS: usize>(
    digits: &[Bits<REGISTERS>; N],
    out: &mut Out,
) {
    const { assert!(REGISTERS <= 2) }
    for lane in 0..REGISTERS {
        let digit = |i: usize| digits.get(i).map(|digit| digit.0[lane]);
        let (low, high) = (transpose(digit), transpose(|i| digit(8 + i)));
        for (r, pair) in out.iter_mut().enumerate() {
            let at = pair[lane].as_mut_ptr().cast::<u8>();
            // SAFETY: the array has room for two registers.
            unsafe {
                vst1q_u8(at, vzip1q_u8(low[r], high[r]));
                vst1q_u8(at.add(16), vzip2q_u8(low[r], high[r]));
            }
        }
    }
}

/// Bit `i` of byte `p` of register `j` becomes bit `j` of byte `p` of register `i`: blocks of 4, 2 and 1 bits are
/// swapped. Registers that are not there are zero.
#[inline(always)]
fn transpose(register: impl Fn(usize) -> Option<uint8x16_t>) -> [uint8x16_t; 8] {
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let mut x = [vdupq_n_u8(0); 8];
        for (i, x) in x.iter_mut().enumerate() {
            *x = register(i).unwrap_or(*x);
        }
        for i in 0..4 {
            let (a, b) = (x[i], x[i + 4]);
            x[i] = vsliq_n_u8::<4>(a, b);
            x[i + 4] = vsriq_n_u8::<4>(b, a);
        }
        let mask = vdupq_n_u8(0x33);
        for i in [0, 1, 4, 5] {
            let (a, b) = (x[i], x[i + 2]);
            x[i] = vbslq_u8(mask, a, vshlq_n_u8::<2>(b));
            x[i + 2] = vbslq_u8(mask, vshrq_n_u8::<2>(a), b);
        }
        let mask = vdupq_n_u8(0x55);
        for i in [0, 2, 4, 6] {
            let (a, b) = (x[i], x[i + 1]);
            x[i] = vbslq_u8(mask, a, vshlq_n_u8::<1>(b));
            x[i + 1] = vbslq_u8(mask, vshrq_n_u8::<1>(a), b);
        }
        x
    }
}
