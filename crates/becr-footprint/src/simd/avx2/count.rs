//! Counting the rows of a class.

use super::super::adder::{Plane, add_few, ripple, row};
use super::plane::{Ymm, add_eight, add_seven, add_sixteen};
use crate::prepared::Class;
use std::arch::x86_64::*;

/// Counts the ones of a class per token, modulo 2ᴺ. `places` are the offsets of its rows from `start`.
///
/// # Safety
///
/// The CPU has AVX2; 32 bytes can be read at every place.
#[inline(always)]
pub(super) unsafe fn sum<const N: usize>(
    places: &[u16],
    class: &Class,
    start: *const u8,
) -> [Ymm; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let load = |place: u16| Ymm(_mm256_loadu_si256(start.add(usize::from(place)).cast()));
        let (together, mut places) = places.split_at(class.turned_together);
        let mut digits = sum_together(together, &load);
        let mut turned = class.turned;
        while turned > 0 {
            let masks: &[Mask; 8] = MASKS[8 - turned.min(8)..].first_chunk().expect("eight");
            let turn =
                |i: usize, row: Ymm| row.xor(Ymm(_mm256_load_si256(masks[i].0.as_ptr().cast())));
            let Some((block, others)) = places.split_first_chunk::<8>() else {
                for i in 0..places.len().min(8) {
                    ripple(&mut digits, 0, turn(i, row(places, i, &load)));
                }
                return digits;
            };
            let eight = add_eight(&mut digits, |i| turn(i, row(block, i, &load)));
            ripple(&mut digits, 3, eight);
            places = others;
            turned = turned.saturating_sub(8);
        }
        let (blocks, rest) = places.as_chunks::<16>();
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
unsafe fn sum_together<const N: usize>(places: &[u16], load: &impl Fn(u16) -> Ymm) -> [Ymm; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let mut digits = [Ymm::zero(); N];
        let Some((block, places)) = places.split_first_chunk::<7>() else {
            return digits;
        };
        [digits[0], digits[1], digits[2]] = add_seven(|i| row(block, i, load));
        let Some((block, places)) = places.split_first_chunk::<8>() else {
            return opposite(digits, 3);
        };
        digits[3] = add_eight(&mut digits, |i| row(block, i, load));
        let Some((block, places)) = places.split_first_chunk::<16>() else {
            return opposite(digits, 4);
        };
        digits[4] = add_sixteen(&mut digits, |i| row(block, i, load));
        let Some((block, _)) = places.split_first_chunk::<32>() else {
            return opposite(digits, 5);
        };
        let a = add_sixteen(&mut digits, |i| row(block, i, load));
        let b = add_sixteen(&mut digits, |i| row(block, 16 + i, load));
        [digits[4], digits[5]] = digits[4].full_add(a, b);
        opposite(digits, 6)
    }
}

/// Turns the first `count` digits over.
#[inline(always)]
unsafe fn opposite<const N: usize>(mut digits: [Ymm; N], count: usize) -> [Ymm; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let all = Ymm(_mm256_set1_epi8(-1));
        for digit in &mut digits[..count] {
            *digit = digit.xor(all);
        }
        digits
    }
}

/// Ones for rows that are turned over, then zeros.
static MASKS: [Mask; 16] = {
    let mut masks = [const { Mask([0; 32]) }; 16];
    let mut i = 0;
    while i < 8 {
        masks[i] = Mask([0xFF; 32]);
        i += 1;
    }
    masks
};

#[repr(C, align(32))]
struct Mask([u8; 32]);
