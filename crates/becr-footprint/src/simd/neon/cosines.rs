//! From counts of classes to distances and weighted cosines: the arithmetic of AVX2, digit by digit.

use crate::prepared::{Size, Trio, WeightedSine};
use crate::workspace::Registers;
use std::arch::aarch64::*;

/// How distances become `t = (h − b/2) / (b/2)` in units of 2⁻¹⁵; 1 itself, which 16 bits do not hold, is taken as
/// 1 − 2⁻¹⁵.
pub(super) struct Scale {
    half: usize,
    /// The shift that brings `h − b/2` into units of 2⁻¹⁴ of the next power of two above `b/2`.
    word_shift: i16,
    /// For `b` that is no power of two: how much larger the next one is, as a part of `b`, in units of 2⁻¹⁵.
    stretch: i16,
}

impl Scale {
    pub(super) fn new(bits: usize) -> Self {
        let full = bits.next_power_of_two();
        Self {
            half: bits / 2,
            word_shift: 15 - full.ilog2() as i16,
            stretch: ((full - bits) * 32768 / bits) as i16,
        }
    }
}

/// Adds the weighted cosines of a trio's groups to the sums of their terms.
#[inline(always)]
pub(super) fn add(
    trio: &Trio,
    scale: &Scale,
    uses: &[WeightedSine],
    lanes: usize,
    work: &mut Registers,
) {
    match uses {
        [a, b, c] => add_uses(trio, scale, [a, b, c], lanes, work),
        [a, b] => add_uses(trio, scale, [a, b], lanes, work),
        [a] => add_uses(trio, scale, [a], lanes, work),
        _ => (),
    }
}

#[inline(always)]
fn add_uses<const USES: usize>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    lanes: usize,
    work: &mut Registers,
) {
    let is_lifted = uses.iter().any(|used| used.lift != 0);
    let is_one_term = uses.iter().all(|used| used.term == uses[0].term);
    if trio.size != Size::Bytes {
        add_words::<USES>(trio, scale, uses, lanes, work);
    } else if scale.stretch != 0 {
        add_bytes::<USES, false, true, false>(trio, scale, uses, lanes, work);
    } else if is_lifted {
        add_bytes::<USES, false, false, false>(trio, scale, uses, lanes, work);
    } else if is_one_term {
        add_bytes::<USES, true, false, true>(trio, scale, uses, lanes, work);
    } else {
        add_bytes::<USES, true, false, false>(trio, scale, uses, lanes, work);
    }
}

/// The coefficients of eight tokens that follow each other in a register of counts, by power.
type Coefficients = [int16x8_t; 4];

/// Those of every use, for both halves of each of two registers. Two neighbouring tokens share a lane of AVX2's.
#[inline(always)]
fn coefficients<const USES: usize>(uses: [&WeightedSine; USES]) -> [[[Coefficients; 2]; 2]; USES] {
    // SAFETY: every 64-bit ARM CPU has NEON; eight of sixteen numbers are a register.
    unsafe {
        let mut all = [[[[vdupq_n_s16(0); 4]; 2]; 2]; USES];
        for (all, used) in all.iter_mut().zip(uses) {
            for (power, numbers) in used.coefficients.iter().enumerate() {
                for lane in 0..2 {
                    let numbers = vld1q_s16(numbers[8 * lane..8 * lane + 8].as_ptr());
                    all[lane][0][power] = vzip1q_s16(numbers, numbers);
                    all[lane][1][power] = vzip2q_s16(numbers, numbers);
                }
            }
        }
        all
    }
}

/// For [`Size::Bytes`]. `STRETCH`: the number of bits is no power of two. `SIMPLE`: it is one, and no weight has a lift.
/// `ONE_TERM`: all uses are of the same term, as most often.
#[inline(never)]
fn add_bytes<const USES: usize, const SIMPLE: bool, const STRETCH: bool, const ONE_TERM: bool>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    lanes: usize,
    work: &mut Registers,
) {
    let [_, n1, n2, n3] = trio.classes.map(|class| class.len());
    let coefficients = coefficients(uses);
    let Registers { counts, sums, .. } = work;
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let byte = |x: usize| vdupq_n_u8((x << trio.doublings) as u8);
        let (n1, n3, n23, middle) = (byte(n1), byte(n3), byte(n2 + n3), byte(scale.half));
        let (zero, stretch) = (vdupq_n_s8(0), vdupq_n_s16(scale.stretch));
        for lane in 0..lanes {
            let (first, lane) = (lane / 2 * 8, lane % 2);
            // Two registers side by side share the loads of coefficients.
            for first in (first..first + 8).step_by(2) {
                let mut distances = [[middle; 3]; 2];
                for (i, distances) in distances.iter_mut().enumerate() {
                    let mut t = [middle; 4];
                    for (t, counts) in t.iter_mut().zip(&*counts) {
                        *t = load_bytes(&counts[first + i][0], lane);
                    }
                    let [t0, t1, t2, t3] = t;
                    let (a, b) = (vaddq_u8(t0, t1), vaddq_u8(t2, t3));
                    let c = vaddq_u8(t0, vsubq_u8(n1, t1));
                    let d = vaddq_u8(t2, vsubq_u8(n3, t3));
                    *distances = [
                        vqaddq_u8(a, b),
                        vqaddq_u8(c, d),
                        vqaddq_u8(a, vsubq_u8(n23, b)),
                    ];
                }
                let mut before = [[vdupq_n_s16(0); 2]; 2];
                for (u, used) in uses.into_iter().enumerate() {
                    // Uses of the same term mostly come together.
                    let goes_on = |next: Option<&&WeightedSine>| {
                        next.is_some_and(|next| ONE_TERM || next.term == used.term)
                    };
                    let (joins, ends) = (
                        u > 0 && goes_on(uses.get(u.wrapping_sub(1))),
                        !goes_on(uses.get(u + 1)),
                    );
                    for i in 0..2 {
                        let k = vreinterpretq_s8_u8(vsubq_u8(distances[i][u], middle));
                        // k · 256, and k², which is the upper half of its square.
                        let t = [vzip1q_s8(zero, k), vzip2q_s8(zero, k)];
                        let squares = [
                            vmull_s8(vget_low_s8(k), vget_low_s8(k)),
                            vmull_high_s8(k, k),
                        ];
                        let mut pair = before[i];
                        for half in 0..2 {
                            let t = vreinterpretq_s16_s8(t[half]);
                            let by = &coefficients[u][lane][half];
                            pair[half] = if SIMPLE {
                                polynomial(by, t, squares[half])
                            } else if STRETCH {
                                let t = vqaddq_s16(t, vqrdmulhq_s16(t, stretch));
                                sine(used.lift, by, t, upper_half_of_square(t))
                            } else {
                                sine(used.lift, by, t, squares[half])
                            };
                        }
                        if joins {
                            for half in 0..2 {
                                pair[half] = vqaddq_s16(pair[half], before[i][half]);
                            }
                        }
                        before[i] = pair;
                        if ends {
                            add_to(&mut sums[used.term % 4][first + i][lane], pair);
                        }
                    }
                }
            }
        }
    }
}

/// For the other sizes.
#[inline(never)]
fn add_words<const USES: usize>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    lanes: usize,
    work: &mut Registers,
) {
    let [_, n1, n2, n3] = trio.classes.map(|class| class.len());
    let coefficients = coefficients(uses);
    let Registers { counts, sums, .. } = work;
    // SAFETY: every 64-bit ARM CPU has NEON; a half of sixteen numbers is a register.
    unsafe {
        let word = |x: usize| vdupq_n_s16(x as i16);
        let (n1, n3, n23, middle) = (word(n1), word(n3), word(n2 + n3), word(scale.half));
        let (shift, stretch) = (vdupq_n_s16(scale.word_shift), vdupq_n_s16(scale.stretch));
        for lane in 0..lanes {
            let (first, lane) = (lane / 2 * 8, lane % 2);
            for r in first..first + 8 {
                for half in 0..2 {
                    let mut t = [middle; 4];
                    for (t, counts) in t.iter_mut().zip(&*counts) {
                        *t = if trio.size == Size::Any {
                            vld1q_s16(counts[r][lane][8 * half..].as_ptr())
                        } else {
                            let bytes = load_bytes(&counts[r][0], lane);
                            let bytes = [vget_low_u8(bytes), vget_high_u8(bytes)][half];
                            vreinterpretq_s16_u16(vmovl_u8(bytes))
                        };
                    }
                    let [t0, t1, t2, t3] = t;
                    let (a, b) = (vaddq_s16(t0, t1), vaddq_s16(t2, t3));
                    let c = vaddq_s16(t0, vsubq_s16(n1, t1));
                    let d = vaddq_s16(t2, vsubq_s16(n3, t3));
                    let distances = [
                        vaddq_s16(a, b),
                        vaddq_s16(c, d),
                        vaddq_s16(a, vsubq_s16(n23, b)),
                    ];
                    for (i, used) in uses.into_iter().enumerate() {
                        let k = vshlq_s16(vsubq_s16(distances[i], middle), shift);
                        let t = vqaddq_s16(k, k);
                        // Adds zero where the number of bits is a power of two.
                        let t = vqaddq_s16(t, vqrdmulhq_s16(t, stretch));
                        let by = &coefficients[i][lane][half];
                        let cosine = sine(used.lift, by, t, upper_half_of_square(t));
                        let at = sums[used.term % 4][r][lane][8 * half..].as_mut_ptr();
                        vst1q_s16(at, vqaddq_s16(vld1q_s16(at), cosine));
                    }
                }
            }
        }
    }
}

/// The weighted sine of `t`, with a lift or without. `half` is half the square of `t`.
#[inline(always)]
fn sine(lift: i16, by: &Coefficients, t: int16x8_t, half: int16x8_t) -> int16x8_t {
    if lift == 0 {
        return polynomial(by, t, half);
    }
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let rest = polynomial(by, t, vqaddq_s16(half, half));
        if lift > 0 {
            vqaddq_s16(rest, t)
        } else {
            vqsubq_s16(rest, t)
        }
    }
}

#[inline(always)]
fn polynomial([c7, c5, c3, c1]: &Coefficients, t: int16x8_t, square: int16x8_t) -> int16x8_t {
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let p = vaddq_s16(vqrdmulhq_s16(square, *c7), *c5);
        let p = vaddq_s16(vqrdmulhq_s16(square, p), *c3);
        let p = vaddq_s16(vqrdmulhq_s16(square, p), *c1);
        vqrdmulhq_s16(t, p)
    }
}

/// The upper 16 of the 32 bits of `t²`, which is `t²/2` as a fraction.
#[inline(always)]
fn upper_half_of_square(t: int16x8_t) -> int16x8_t {
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let low = vmull_s16(vget_low_s16(t), vget_low_s16(t));
        let high = vmull_high_s16(t, t);
        vuzp2q_s16(vreinterpretq_s16_s32(low), vreinterpretq_s16_s32(high))
    }
}

/// The bytes of a lane.
#[inline(always)]
fn load_bytes(numbers: &[i16; 16], lane: usize) -> uint8x16_t {
    let half = &numbers[8 * lane..8 * lane + 8];
    // SAFETY: the slice is of a register's size.
    unsafe { vld1q_u8(half.as_ptr().cast()) }
}

#[inline(always)]
fn add_to(sums: &mut [i16; 16], [low, high]: [int16x8_t; 2]) {
    let at = sums.as_mut_ptr();
    // SAFETY: the array is of two registers' size.
    unsafe {
        vst1q_s16(at, vqaddq_s16(vld1q_s16(at), low));
        vst1q_s16(at.add(8), vqaddq_s16(vld1q_s16(at.add(8)), high));
    }
}
