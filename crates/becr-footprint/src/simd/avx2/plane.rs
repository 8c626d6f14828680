//! Bits of 256 tokens and their sums.
//!
//! AVX2 has no instruction for a function of three bits, so that a full adder takes five operations. Two full adders that
//! add to the same digit take nine if each pair of bits to add is given as one of the bits and whether they differ
//! ([`Pair`]), and eight if the two carries are wanted in that form too, as the adders of the next digit want them.

use super::super::adder::Plane;
use std::arch::x86_64::*;

/// A bit of 256 tokens.
#[derive(Clone, Copy)]
pub(super) struct Ymm(pub(super) __m256i);

// SAFETY of every block: the trait's caller promises a CPU that has AVX2.
impl Plane for Ymm {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_setzero_si256() })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_and_si256(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn full_add(self, b: Self, c: Self) -> [Self; 2] {
        // SAFETY: see above.
        unsafe {
            let differ = _mm256_xor_si256(b.0, c.0);
            let carry =
                _mm256_or_si256(_mm256_and_si256(b.0, c.0), _mm256_and_si256(differ, self.0));
            [Self(_mm256_xor_si256(differ, self.0)), Self(carry)]
        }
    }
}

impl Ymm {
    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: the caller promises AVX2.
        Self(unsafe { _mm256_or_si256(self.0, other.0) })
    }

    /// `¬self ∧ other`.
    #[inline(always)]
    unsafe fn not_and(self, other: Self) -> Self {
        // SAFETY: the caller promises AVX2.
        Self(unsafe { _mm256_andnot_si256(self.0, other.0) })
    }
}

/// Two bits: one of them, and whether they differ.
#[derive(Clone, Copy)]
struct Pair {
    one: Ymm,
    differ: Ymm,
}

impl Pair {
    #[inline(always)]
    unsafe fn new(a: Ymm, b: Ymm) -> Self {
        // SAFETY: the caller promises AVX2.
        let differ = unsafe { a.xor(b) };
        Self { one: a, differ }
    }

    /// Adds both bits to `digit` and returns the carry.
    #[inline(always)]
    unsafe fn add(self, digit: &mut Ymm) -> Ymm {
        // SAFETY: the caller promises AVX2.
        unsafe {
            let any = self.differ.or(digit.xor(self.one));
            *digit = digit.xor(self.differ);
            digit.xor(any)
        }
    }

    /// Adds the bits of two pairs to `digit` and returns the carries.
    #[inline(always)]
    unsafe fn add_both(self, other: Self, digit: &mut Ymm) -> Self {
        // SAFETY: the caller promises AVX2.
        unsafe {
            let any = self.differ.or(digit.xor(self.one));
            let sum = digit.xor(self.differ);
            *digit = sum.xor(other.differ);
            // The first carry is sum ⊕ any, the second sum ⊕ (other.same ∧ (sum ⊕ other.one)).
            Self {
                one: sum.xor(any),
                differ: any.xor(other.differ.not_and(sum.xor(other.one))),
            }
        }
    }
}

/// Three digits, the sum of seven bits.
///
/// # Safety
///
/// The CPU has AVX2, as for the other functions.
#[inline(always)]
pub(super) unsafe fn add_seven(bit: impl Fn(usize) -> Ymm) -> [Ymm; 3] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut ones = bit(0);
        let (a, b) = (Pair::new(bit(1), bit(2)), Pair::new(bit(3), bit(4)));
        let carries = a.add_both(b, &mut ones);
        let mut twos = Pair::new(bit(5), bit(6)).add(&mut ones);
        let fours = carries.add(&mut twos);
        [ones, twos, fours]
    }
}

/// Adds eight bits to the digits 0 and 1 and returns the carries, which count four.
#[inline(always)]
unsafe fn add_to_two<const N: usize>(digits: &mut [Ymm; N], bit: impl Fn(usize) -> Ymm) -> Pair {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let (a, b) = (Pair::new(bit(0), bit(1)), Pair::new(bit(2), bit(3)));
        let first = a.add_both(b, &mut digits[0]);
        let (a, b) = (Pair::new(bit(4), bit(5)), Pair::new(bit(6), bit(7)));
        let second = a.add_both(b, &mut digits[0]);
        first.add_both(second, &mut digits[1])
    }
}

/// Adds eight bits to the digits 0 to 2 and returns the carry, which counts eight.
#[inline(always)]
pub(super) unsafe fn add_eight<const N: usize>(
    digits: &mut [Ymm; N],
    bit: impl Fn(usize) -> Ymm,
) -> Ymm {
    // SAFETY: the caller's promise is ours.
    unsafe { add_to_two(digits, bit).add(&mut digits[2]) }
}

/// Adds sixteen bits to the digits 0 to 3 and returns the carry, which counts sixteen.
#[inline(always)]
pub(super) unsafe fn add_sixteen<const N: usize>(
    digits: &mut [Ymm; N],
    bit: impl Fn(usize) -> Ymm,
) -> Ymm {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let first = add_to_two(digits, &bit);
        let second = add_to_two(digits, |i| bit(8 + i));
        first.add_both(second, &mut digits[2]).add(&mut digits[3])
    }
}
