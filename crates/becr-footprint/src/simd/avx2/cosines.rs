//! From counts of classes to distances and weighted cosines.

use crate::prepared::{Size, Trio, WeightedSine};
use crate::workspace::Registers;
use std::arch::x86_64::*;

/// How distances become `t = (h − b/2) / (b/2)` in units of 2⁻¹⁵; 1 itself, which 16 bits do not hold, is taken as
/// 1 − 2⁻¹⁵.
pub(super) struct Scale {
    half: usize,
    /// The shift that brings `h − b/2` into units of 2⁻¹⁴ of the next power of two above `b/2`.
    word_shift: i32,
    /// For `b` that is no power of two: how much larger the next one is, as a part of `b`, in units of 2⁻¹⁵.
    stretch: i16,
}

impl Scale {
    pub(super) fn new(bits: usize) -> Self {
        let full = bits.next_power_of_two();
        Self {
            half: bits / 2,
            word_shift: 15 - full.ilog2() as i32,
            stretch: ((full - bits) * 32768 / bits) as i16,
        }
    }
}

/// Adds the weighted cosines of a trio's groups to the sums of their terms.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn add(
    trio: &Trio,
    scale: &Scale,
    uses: &[WeightedSine],
    halves: usize,
    work: &mut Registers,
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        match uses {
            [a, b, c] => add_uses(trio, scale, [a, b, c], halves, work),
            [a, b] => add_uses(trio, scale, [a, b], halves, work),
            [a] => add_uses(trio, scale, [a], halves, work),
            _ => (),
        }
    }
}

/// # Safety
///
/// As for [`add`].
#[inline(always)]
unsafe fn add_uses<const USES: usize>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    halves: usize,
    work: &mut Registers,
) {
    let is_lifted = uses.iter().any(|used| used.lift != 0);
    // SAFETY: the caller's promise is ours.
    unsafe {
        if trio.size != Size::Bytes && scale.stretch != 0 {
            add_words::<USES, true>(trio, scale, uses, halves, work);
        } else if trio.size != Size::Bytes {
            add_words::<USES, false>(trio, scale, uses, halves, work);
        } else if scale.stretch != 0 {
            add_bytes::<USES, false, true>(trio, scale, uses, halves, work);
        } else if is_lifted {
            add_bytes::<USES, false, false>(trio, scale, uses, halves, work);
        } else {
            add_bytes::<USES, true, false>(trio, scale, uses, halves, work);
        }
    }
}

/// For [`Size::Bytes`]. `STRETCH`: the number of bits is no power of two. `SIMPLE`: it is one, and no weight has a lift.
///
/// # Safety
///
/// As for [`add`].
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn add_bytes<const USES: usize, const SIMPLE: bool, const STRETCH: bool>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    halves: usize,
    work: &mut Registers,
) {
    let [_, n1, n2, n3] = trio.classes.map(|class| class.len());
    let byte = |x: usize| _mm256_set1_epi8((x << trio.doublings) as i8);
    let (n1, n3, n23, middle) = (byte(n1), byte(n3), byte(n2 + n3), byte(scale.half));
    let stretch = _mm256_set1_epi16(scale.stretch);
    let Registers { counts, sums, .. } = work;
    for r in 0..8 * halves {
        let [t0, t1, t2, t3] = std::array::from_fn(|k| load(&counts[k][r][0]));
        let (a, b) = (_mm256_add_epi8(t0, t1), _mm256_add_epi8(t2, t3));
        let c = _mm256_add_epi8(t0, _mm256_sub_epi8(n1, t1));
        let d = _mm256_add_epi8(t2, _mm256_sub_epi8(n3, t3));
        let distances = [
            _mm256_adds_epu8(a, b),
            _mm256_adds_epu8(c, d),
            _mm256_adds_epu8(a, _mm256_sub_epi8(n23, b)),
        ];
        let mut before = [_mm256_setzero_si256(); 2];
        for (i, used) in uses.into_iter().enumerate() {
            let k = _mm256_sub_epi8(distances[i], middle);
            let high = _mm256_set1_epi16(0xFF00_u16 as i16);
            let mut pair = [_mm256_slli_epi16::<8>(k), _mm256_and_si256(k, high)];
            for t in &mut pair {
                *t = if SIMPLE {
                    sine(used, *t)
                } else if STRETCH {
                    let stretched = _mm256_mulhrs_epi16(*t, stretch);
                    lifted_sine(used, _mm256_adds_epi16(*t, stretched))
                } else {
                    lifted_sine(used, *t)
                };
            }
            // Uses of the same term mostly come together.
            if i > 0 && uses[i - 1].term == used.term {
                pair = [0, 1].map(|parity| _mm256_adds_epi16(pair[parity], before[parity]));
            }
            before = pair;
            if uses.get(i + 1).is_none_or(|next| next.term != used.term) {
                for (at, sum) in sums[used.term % 4][r].iter_mut().zip(pair) {
                    store(at, _mm256_adds_epi16(load(at), sum));
                }
            }
        }
    }
}

/// For the other sizes.
///
/// # Safety
///
/// As for [`add`].
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn add_words<const USES: usize, const STRETCH: bool>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    halves: usize,
    work: &mut Registers,
) {
    let [_, n1, n2, n3] = trio.classes.map(|class| class.len());
    let word = |x: usize| _mm256_set1_epi16(x as i16);
    let (n1, n3, n23, middle) = (word(n1), word(n3), word(n2 + n3), word(scale.half));
    let stretch = _mm256_set1_epi16(scale.stretch);
    let shift = _mm_cvtsi32_si128(scale.word_shift);
    for r in 0..8 * halves {
        for parity in 0..2 {
            let [t0, t1, t2, t3] = std::array::from_fn(|k| {
                let counts = &work.counts[k][r];
                if trio.size == Size::Any {
                    load(&counts[parity])
                } else {
                    let bytes = load(&counts[0]);
                    if parity == 0 {
                        _mm256_and_si256(bytes, _mm256_set1_epi16(0xFF))
                    } else {
                        _mm256_srli_epi16::<8>(bytes)
                    }
                }
            });
            let (a, b) = (_mm256_add_epi16(t0, t1), _mm256_add_epi16(t2, t3));
            let c = _mm256_add_epi16(t0, _mm256_sub_epi16(n1, t1));
            let d = _mm256_add_epi16(t2, _mm256_sub_epi16(n3, t3));
            let distances = [
                _mm256_add_epi16(a, b),
                _mm256_add_epi16(c, d),
                _mm256_add_epi16(a, _mm256_sub_epi16(n23, b)),
            ];
            for (used, distance) in uses.into_iter().zip(distances) {
                let k = _mm256_sll_epi16(_mm256_sub_epi16(distance, middle), shift);
                let mut t = _mm256_adds_epi16(k, k);
                if STRETCH {
                    t = _mm256_adds_epi16(t, _mm256_mulhrs_epi16(t, stretch));
                }
                let at = &mut work.sums[used.term % 4][r][parity];
                store(at, _mm256_adds_epi16(load(at), lifted_sine(used, t)));
            }
        }
    }
}

/// The weighted sine of `t`, without a lift.
#[target_feature(enable = "avx2")]
#[inline]
fn sine(used: &WeightedSine, t: __m256i) -> __m256i {
    polynomial(used, t, _mm256_mulhi_epi16(t, t))
}

/// The weighted sine of `t`, with a lift or without.
#[target_feature(enable = "avx2")]
#[inline]
fn lifted_sine(used: &WeightedSine, t: __m256i) -> __m256i {
    if used.lift == 0 {
        return sine(used, t);
    }
    let half = _mm256_mulhi_epi16(t, t);
    let rest = polynomial(used, t, _mm256_adds_epi16(half, half));
    if used.lift > 0 {
        _mm256_adds_epi16(rest, t)
    } else {
        _mm256_subs_epi16(rest, t)
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn polynomial(used: &WeightedSine, t: __m256i, square: __m256i) -> __m256i {
    let [c7, c5, c3, c1] = &used.coefficients;
    let p = _mm256_add_epi16(_mm256_mulhrs_epi16(square, load(c7)), load(c5));
    let p = _mm256_add_epi16(_mm256_mulhrs_epi16(square, p), load(c3));
    let p = _mm256_add_epi16(_mm256_mulhrs_epi16(square, p), load(c1));
    _mm256_mulhrs_epi16(t, p)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(numbers: &[i16; 16]) -> __m256i {
    // SAFETY: the array is of a register's size.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(numbers: &mut [i16; 16], value: __m256i) {
    // SAFETY: the array is of a register's size.
    unsafe { _mm256_storeu_si256(numbers.as_mut_ptr().cast(), value) }
}
