//! From the order of the registers to that of the tokens.

use crate::lanes::Lanes;
use crate::tile::MAX_WIDTH;
use crate::workspace::{Numbers, Similarities};
use std::arch::aarch64::*;

/// Takes the similarities to a term out of its sums.
#[inline(never)]
pub(super) fn take(
    sums: &mut Numbers,
    count: usize,
    lanes: Lanes,
    similarities: &mut Similarities,
) {
    let positions: [usize; 16] = std::array::from_fn(|position| lanes.octets(position));
    assert!(8 * positions.iter().sum::<usize>() <= MAX_WIDTH, "a tile");
    for lane in 0..count {
        let sums = &mut sums.as_chunks_mut::<8>().0[lane / 2];
        // SAFETY: every 64-bit ARM CPU has NEON; sixteen numbers are two registers. The octets of all positions follow each
        // other, and there is room for as many.
        unsafe {
            let zero = vdupq_n_s16(0);
            let mut halves = [[zero; 8]; 2];
            for (r, pair) in sums.iter_mut().enumerate() {
                let at = pair[lane % 2].as_mut_ptr();
                (halves[0][r], halves[1][r]) = (vld1q_s16(at), vld1q_s16(at.add(8)));
                vst1q_s16(at, zero);
                vst1q_s16(at.add(8), zero);
            }
            let mut place = similarities.0.as_mut_ptr().add(8 * lane);
            for (octets, there) in halves.into_iter().zip(positions.as_chunks::<8>().0) {
                let octets = transpose(octets);
                for i in 0..8 {
                    if lane < there[i] {
                        vst1q_s16(place, octets[i]);
                    }
                    place = place.wrapping_add(8 * there[i]);
                }
            }
        }
    }
}

/// Transposes 8 × 8 numbers.
#[inline(always)]
fn transpose(x: [int16x8_t; 8]) -> [int16x8_t; 8] {
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let mut pairs = [vreinterpretq_s32_s16(x[0]); 8];
        for i in 0..4 {
            let (a, b) = (x[2 * i], x[2 * i + 1]);
            pairs[2 * i] = vreinterpretq_s32_s16(vtrn1q_s16(a, b));
            pairs[2 * i + 1] = vreinterpretq_s32_s16(vtrn2q_s16(a, b));
        }
        let mut fours = [vreinterpretq_s64_s32(pairs[0]); 8];
        for i in [0, 1, 4, 5] {
            let (a, b) = (pairs[i], pairs[i + 2]);
            fours[i] = vreinterpretq_s64_s32(vtrn1q_s32(a, b));
            fours[i + 2] = vreinterpretq_s64_s32(vtrn2q_s32(a, b));
        }
        let mut all = x;
        for i in 0..4 {
            let (a, b) = (fours[i], fours[i + 4]);
            all[i] = vreinterpretq_s16_s64(vtrn1q_s64(a, b));
            all[i + 4] = vreinterpretq_s16_s64(vtrn2q_s64(a, b));
        }
        all
    }
}
