//! Counting the rows of three groups together.

use super::super::adder::{Plane, add, add_eight, add_few, add_seven, add_sixteen, ripple, row};
use crate::prepared::Triple;

/// Sums the rows of a class: first fifteen, which give four digits without a carry out of them, then as many as are left
/// over when the others are taken sixteen at a time, then those.
///
/// # Safety
///
/// As for [`Plane`]; `load` must be right to call with every offset of the list.
#[inline(always)]
unsafe fn sum_class<P: Plane, const N: usize>(list: &[u16], load: &impl Fn(u16) -> P) -> [P; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut digits = [P::zero(); N];
        let Some((first, list)) = list.split_first_chunk::<15>() else {
            add_few(&mut digits, list, load);
            return digits;
        };
        let bit = |i: usize| row(first, i, load);
        let mut ones = bit(0);
        let mut twos = add(&mut ones, bit(1), bit(2));
        let a = add(&mut ones, bit(3), bit(4));
        let b = add(&mut ones, bit(5), bit(6));
        let fours = add(&mut twos, a, b);
        [digits[0], digits[1], digits[2]] = [ones, twos, fours];
        digits[3] = add_eight(&mut digits, |i| bit(7 + i));
        let (few, sixteens) = list.split_at(list.len() % 16);
        let (block, few) = few.split_at(few.len() & 8);
        let (mut eight, mut rest) = (P::zero(), P::zero());
        if let Some(block) = block.first_chunk::<8>() {
            eight = add_eight(&mut digits, |i| row(block, i, load));
        }
        if !few.is_empty() {
            rest = add_seven(&mut digits, few, load);
        }
        let sixteen = add(&mut digits[3], eight, rest);
        ripple(&mut digits, 4, sixteen);
        for block in sixteens.as_chunks::<16>().0 {
            let sixteen = add_sixteen(&mut digits, |i| row(block, i, load));
            ripple(&mut digits, 4, sixteen);
        }
        digits
    }
}

/// Planes that can be subtracted.
///
/// # Safety
///
/// As for [`Plane`].
pub(super) trait Subtract: Plane {
    /// The difference of two bits and a borrow, and what must be borrowed for it.
    unsafe fn full_subtract(self, b: Self, borrow: Self) -> [Self; 2];
}

/// `a − b` modulo 256.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
unsafe fn minus<P: Subtract, const C: usize>(a: [P; C], b: [P; C]) -> [P; 8] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut borrow = P::zero();
        let mut difference = [borrow; 8];
        for i in 0..C {
            [difference[i], borrow] = a[i].full_subtract(b[i], borrow);
        }
        // Sign extension: the higher digits of the difference are its borrow.
        difference[C..].fill(borrow);
        difference
    }
}

/// Per opposite classes of a [`Triple`], how many more rows of the one are set than of the other, modulo 256. The sum
/// of a class has `C` digits.
///
/// # Safety
///
/// As for [`Plane`]; `load` must be right to call with every offset of the list.
#[inline(always)]
pub(super) unsafe fn differences<P: Subtract, const C: usize>(
    triple: &Triple,
    places: &[u16],
    load: impl Fn(u16) -> P,
    mut take: impl FnMut(usize, [P; 8]),
) {
    for (i, [one, other]) in [[0, 7], [1, 6], [2, 5], [4, 3]].into_iter().enumerate() {
        // SAFETY: the caller's promise is ours.
        unsafe {
            let one: [P; C] = sum_class(triple.class(places, one), &load);
            let other: [P; C] = sum_class(triple.class(places, other), &load);
            take(i, minus(one, other));
        }
    }
}
