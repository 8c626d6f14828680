//! From counts of classes to distances and weighted cosines.

use crate::sines::WeightedSine;
use crate::trios::{Size, Trio};
use crate::workspace::{HalfTile, Halves};
use std::arch::x86_64::*;

/// How distances become numbers of 16 bits, `t = (h − b/2) / (b/2)` in units of 2⁻¹⁵, 1 being taken as a little less.
pub(super) struct Scale {
    half: i16,
    /// `h − b/2` is doubled until `b` would be a power of two or exceed the number's range.
    byte_doublings: u32,
    word_shift: i32,
    /// What a power of two exceeds `b` by, as a part of it.
    stretch: i16,
}

impl Scale {
    pub(super) fn new(bits: usize) -> Self {
        let full = bits.next_power_of_two();
        Self {
            half: bits as i16 / 2,
            byte_doublings: (256 / full.min(256)).ilog2(),
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
    work: &mut Halves,
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        for half in 0..halves {
            match uses {
                [a, b, c] => add_uses(trio, scale, [a, b, c], half, work),
                [a, b] => add_uses(trio, scale, [a, b], half, work),
                [a] => add_uses(trio, scale, [a], half, work),
                _ => (),
            }
        }
    }
}

#[inline(always)]
unsafe fn add_uses<const USES: usize>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    half: usize,
    work: &mut Halves,
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        if trio.size != Size::Bytes {
            return add_words(trio, scale, uses, half, work);
        }
        if scale.stretch != 0 {
            add_bytes::<USES, true>(trio, scale, uses, half, work);
        } else {
            add_bytes::<USES, false>(trio, scale, uses, half, work);
        }
    }
}

/// What makes distances of counts: of the classes 0 and 1, of 2 and 3, and so on.
struct Constants {
    /// `T₀ + T₁`
    first: i16,
    /// `T₂ + T₃`
    last: i16,
    /// `(n₂ − T₂) + (n₃ − T₃)`
    last_opposite: i16,
    /// `T₀ + (n₁ − T₁)`
    even: i16,
    /// `T₂ + (n₃ − T₃)`
    odd: i16,
}

impl Constants {
    #[inline(always)]
    fn new(trio: &Trio) -> Self {
        let [s0, s1, s2, s3] = trio.classes.map(|class| class.shift() as i16);
        let [_, n1, n2, n3] = trio.classes.map(|class| class.len() as i16);
        Self {
            first: s0 + s1,
            last: s2 + s3,
            last_opposite: n2 + n3 - s2 - s3,
            even: s0 + n1 - s1,
            odd: s2 + n3 - s3,
        }
    }
}

/// For [`Size::Bytes`].
///
/// # Safety
///
/// As for [`add`].
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn add_bytes<const USES: usize, const STRETCH: bool>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    half: usize,
    work: &mut Halves,
) {
    let c = Constants::new(trio);
    let byte = |x: i16| _mm256_set1_epi8(x as i8);
    let (first, last, last_opposite) = (byte(c.first), byte(c.last), byte(c.last_opposite));
    let (even, odd, middle) = (byte(c.even), byte(c.odd), byte(scale.half));
    let stretch = _mm256_set1_epi16(scale.stretch);
    for r in 0..8 {
        let [t0, t1, t2, t3] = std::array::from_fn(|k| load(&work.counts[half][k][r][0]));
        let a = _mm256_add_epi8(_mm256_add_epi8(t0, t1), first);
        let b = _mm256_add_epi8(t2, t3);
        let c = _mm256_add_epi8(_mm256_sub_epi8(t0, t1), even);
        let d = _mm256_add_epi8(_mm256_sub_epi8(t2, t3), odd);
        let distances = [
            _mm256_adds_epu8(a, _mm256_add_epi8(b, last)),
            _mm256_adds_epu8(c, d),
            _mm256_adds_epu8(a, _mm256_sub_epi8(last_opposite, b)),
        ];
        for (used, distance) in uses.into_iter().zip(distances) {
            let mut k = _mm256_sub_epi8(distance, middle);
            for _ in 0..scale.byte_doublings {
                k = _mm256_adds_epi8(k, k);
            }
            let high = _mm256_set1_epi16(0xFF00_u16 as i16);
            let pair = [_mm256_slli_epi16::<8>(k), _mm256_and_si256(k, high)];
            let sums = &mut work.sums[used.term % 4][half][r];
            for (mut t, sum) in pair.into_iter().zip(sums) {
                if STRETCH {
                    t = _mm256_adds_epi16(t, _mm256_mulhrs_epi16(t, stretch));
                }
                add_sine(used, t, sum);
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
unsafe fn add_words<const USES: usize>(
    trio: &Trio,
    scale: &Scale,
    uses: [&WeightedSine; USES],
    half: usize,
    work: &mut Halves,
) {
    let c = Constants::new(trio);
    let word = |x: i16| _mm256_set1_epi16(x);
    let (first, last, last_opposite) = (word(c.first), word(c.last), word(c.last_opposite));
    let (even, odd, middle) = (word(c.even), word(c.odd), word(scale.half));
    let stretch = word(scale.stretch);
    let shift = _mm_cvtsi32_si128(scale.word_shift);
    for r in 0..8 {
        for parity in 0..2 {
            let [t0, t1, t2, t3] = std::array::from_fn(|k| {
                let counts: &HalfTile = &work.counts[half][k];
                if trio.size == Size::Any {
                    load(&counts[r][parity])
                } else {
                    let bytes = load(&counts[r][0]);
                    let bytes = if parity == 0 {
                        _mm256_slli_epi16::<8>(bytes)
                    } else {
                        bytes
                    };
                    _mm256_srai_epi16::<8>(bytes)
                }
            });
            let a = _mm256_add_epi16(_mm256_add_epi16(t0, t1), first);
            let b = _mm256_add_epi16(t2, t3);
            let c = _mm256_add_epi16(_mm256_sub_epi16(t0, t1), even);
            let d = _mm256_add_epi16(_mm256_sub_epi16(t2, t3), odd);
            let distances = [
                _mm256_add_epi16(a, _mm256_add_epi16(b, last)),
                _mm256_add_epi16(c, d),
                _mm256_add_epi16(a, _mm256_sub_epi16(last_opposite, b)),
            ];
            for (used, distance) in uses.into_iter().zip(distances) {
                let k = _mm256_sll_epi16(_mm256_sub_epi16(distance, middle), shift);
                let t = _mm256_adds_epi16(k, k);
                let t = _mm256_adds_epi16(t, _mm256_mulhrs_epi16(t, stretch));
                add_sine(used, t, &mut work.sums[used.term % 4][half][r][parity]);
            }
        }
    }
}

/// Adds the weighted sine of `t` to `sum`.
#[target_feature(enable = "avx2")]
#[inline]
fn add_sine(used: &WeightedSine, t: __m256i, sum: &mut [i16; 16]) {
    let [c7, c5, c3, c1] = &used.coefficients;
    let square = _mm256_mulhi_epi16(t, t);
    let square = _mm256_adds_epi16(square, square);
    let p = _mm256_add_epi16(_mm256_mulhrs_epi16(square, load(c7)), load(c5));
    let p = _mm256_add_epi16(_mm256_mulhrs_epi16(square, p), load(c3));
    let p = _mm256_add_epi16(_mm256_mulhrs_epi16(square, p), load(c1));
    let mut new = _mm256_adds_epi16(load(sum), _mm256_mulhrs_epi16(t, p));
    if used.lift > 0 {
        new = _mm256_adds_epi16(new, t);
    } else if used.lift < 0 {
        new = _mm256_subs_epi16(new, t);
    }
    // SAFETY: the array is of a register's size and alignment.
    unsafe { _mm256_store_si256(sum.as_mut_ptr().cast(), new) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(numbers: &[i16; 16]) -> __m256i {
    // SAFETY: the array is of a register's size.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}
