//! Counting the rows of three groups together.

use super::adder::{Plane, add, add_few, row};
use crate::groups::Triple;

/// Sums the rows of a short list.
///
/// # Safety
///
/// As for [`sum_rows`].
#[inline(always)]
unsafe fn sum_few<P: Plane, const N: usize>(list: &[u16], load: &impl Fn(u16) -> P) -> [P; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut digits = [P::zero(); N];
        let Some((first, list)) = list.split_first_chunk::<7>() else {
            add_few(&mut digits, list, load);
            return digits;
        };
        // Seven rows make three digits without a carry.
        let mut ones = row(first, 0, load);
        let mut twos = add(&mut ones, row(first, 1, load), row(first, 2, load));
        let a = add(&mut ones, row(first, 3, load), row(first, 4, load));
        let b = add(&mut ones, row(first, 5, load), row(first, 6, load));
        let fours = add(&mut twos, a, b);
        [digits[0], digits[1], digits[2]] = [ones, twos, fours];
        add_few(&mut digits, list, load);
        digits
    }
}

/// The sum of two numbers, of `M` digits as far as there are so many.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
unsafe fn plus<P: Plane, const N: usize, const M: usize>(a: &[P; N], b: &[P; N]) -> [P; M] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut sum = [P::zero(); M];
        let mut carry = a[0].and(b[0]);
        sum[0] = a[0].xor(b[0]);
        for i in 1..N {
            sum[i] = a[i];
            carry = add(&mut sum[i], b[i], carry);
        }
        if M > N {
            sum[N] = carry;
        }
        sum
    }
}

/// What becomes of the sums of a [`Triple`].
///
/// # Safety
///
/// As for [`Plane`].
pub(super) trait Take<P> {
    /// Takes how many rows of group `i` are set, modulo 256.
    unsafe fn group(&mut self, i: usize, digits: [P; 8]);

    /// Takes how many of all rows are set, modulo 256.
    unsafe fn all(&mut self, digits: [P; 8]);
}

/// Sums the rows of three groups together: every class of rows once, then the classes of each group. With `ALL` also
/// the rows of no group. The sum of a class has `C` digits, that of two classes `D`.
///
/// # Safety
///
/// As for [`sum_rows`].
#[inline(always)]
pub(super) unsafe fn sum_triple<P: Plane, const C: usize, const D: usize, const ALL: bool>(
    triple: &Triple,
    load: impl Fn(u16) -> P,
    taker: &mut impl Take<P>,
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let both: [P; C] = sum_few(triple.class(3), &load);
        let one: [P; C] = sum_few(triple.class(1), &load);
        let first: [P; D] = plus(&one, &both);
        let two: [P; C] = sum_few(triple.class(2), &load);
        let second: [P; D] = plus(&two, &both);
        let mut all = [P::zero(); 8];
        if ALL {
            let none: [P; C] = sum_few(triple.class(0), &load);
            let without: [P; D] = plus(&none, &one);
            all = plus(&without, &second);
        }
        let both: [P; C] = sum_few(triple.class(7), &load);
        let one: [P; C] = sum_few(triple.class(5), &load);
        let with_first: [P; D] = plus(&one, &both);
        taker.group(0, plus(&first, &with_first));
        let two: [P; C] = sum_few(triple.class(6), &load);
        let with_second: [P; D] = plus(&two, &both);
        taker.group(1, plus(&second, &with_second));
        let none: [P; C] = sum_few(triple.class(4), &load);
        let without: [P; D] = plus(&none, &one);
        let third = plus(&without, &with_second);
        if ALL {
            taker.all(plus(&all, &third));
        }
        taker.group(2, third);
    }
}
