//! Counting the rows of a class.

use super::super::adder::{Plane, add_eight, add_few, add_sixteen, ripple, row};
use super::plane::Bits;
use crate::prepared::Class;
use std::ptr::with_exposed_provenance;

/// Counts the ones of a class per token, modulo 2ᴺ. `rows` are the addresses of its rows, `AT` where in them the tokens begin.
///
/// # Safety
///
/// As many registers as asked for can be read there in every row.
#[inline(always)]
pub(super) unsafe fn sum<const N: usize, const REGISTERS: usize, const AT: usize>(
    rows: &[usize],
    class: &Class,
) -> [Bits<REGISTERS>; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let load = |row: usize| Bits::load(with_exposed_provenance::<u8>(row).add(AT));
        let turned_over = |row: usize| load(row).xor(Bits::all(0xFF));
        let (together, rows) = rows.split_at(class.turned_together);
        let mut digits = sum_together(together, &load);
        let (turned, rows) = rows.split_at(class.turned);
        if !turned.is_empty() {
            add_few(&mut digits, turned, &turned_over);
        }
        let (blocks, rest) = rows.as_chunks::<16>();
        for block in blocks {
            let sixteen = add_sixteen(&mut digits, |i| row(block, i, &load));
            ripple(&mut digits, 4, sixteen);
        }
        add_few(&mut digits, rest, &load);
        digits
    }
}

/// Counts the zeros of 0, 7, 15, 31 or 63 rows: as many rows as so many digits can count, so that there are no
/// carries, and the number of zeros has the opposite digits of the number of ones.
#[inline(always)]
unsafe fn sum_together<const N: usize, const REGISTERS: usize>(
    rows: &[usize],
    load: &impl Fn(usize) -> Bits<REGISTERS>,
) -> [Bits<REGISTERS>; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut digits = [Bits::zero(); N];
        let Some((block, rows)) = rows.split_first_chunk::<7>() else {
            return digits;
        };
        [digits[0], digits[1], digits[2]] = add_seven(|i| row(block, i, load));
        let Some((block, rows)) = rows.split_first_chunk::<8>() else {
            return opposite(digits, 3);
        };
        digits[3] = add_eight(&mut digits, |i| row(block, i, load));
        let Some((block, rows)) = rows.split_first_chunk::<16>() else {
            return opposite(digits, 4);
        };
        digits[4] = add_sixteen(&mut digits, |i| row(block, i, load));
        let Some((block, _)) = rows.split_first_chunk::<32>() else {
            return opposite(digits, 5);
        };
        let a = add_sixteen(&mut digits, |i| row(block, i, load));
        let b = add_sixteen(&mut digits, |i| row(block, 16 + i, load));
        [digits[4], digits[5]] = digits[4].full_add(a, b);
        opposite(digits, 6)
    }
}

/// Three digits, the sum of seven bits.
#[inline(always)]
unsafe fn add_seven<P: Plane>(bit: impl Fn(usize) -> P) -> [P; 3] {
    // SAFETY: every 64-bit ARM CPU has NEON.
    unsafe {
        let [ones, a] = bit(0).full_add(bit(1), bit(2));
        let [ones, b] = ones.full_add(bit(3), bit(4));
        let [ones, c] = ones.full_add(bit(5), bit(6));
        let [twos, fours] = a.full_add(b, c);
        [ones, twos, fours]
    }
}

/// Turns the first `count` digits over.
#[inline(always)]
unsafe fn opposite<const N: usize, const REGISTERS: usize>(
    mut digits: [Bits<REGISTERS>; N],
    count: usize,
) -> [Bits<REGISTERS>; N] {
    for digit in &mut digits[..count] {
        // SAFETY: every 64-bit ARM CPU has NEON.
        *digit = unsafe { digit.xor(Bits::all(0xFF)) };
    }
    digits
}
