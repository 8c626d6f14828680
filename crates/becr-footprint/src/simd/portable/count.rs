//! Counting the rows of one group.

use super::super::adder::{DIGITS, add, add_few, add_sixteen, ripple, row};
use super::bytes;
use super::plane::Bits;
use crate::lanes::Lanes;
use crate::prepared::RowList;
use crate::tile::Tile;
use crate::workspace::Counts;

/// Writes how many of the list's rows are set, per token in its order; the high bytes only when `wide`.
#[inline(always)]
pub(super) fn count(tile: Tile, list: &RowList, wide: bool, counts: &mut Counts) {
    let (stride, lanes) = (tile.stride(), Lanes::new(tile.width));
    for lane in 0..stride.div_ceil(16) {
        let digits = sum_rows(&list.rows, |row| {
            let start = usize::from(row) * stride + 16 * lane;
            Bits::from_bytes(&tile.rows[start..start + 16])
        });
        let positions = (stride - 16 * lane).min(16);
        bytes::write(&digits, positions, wide, counts, |position| {
            lanes.first_octet(position) + lane
        });
    }
}

/// Sums the rows of a list, per token: digit `i` of the result counts 2ⁱ.
#[inline(always)]
fn sum_rows(list: &[u16], load: impl Fn(u16) -> Bits) -> [Bits; DIGITS] {
    let mut digits = [Bits::from_bytes(&[0; 16]); DIGITS];
    let (blocks, rest) = list.as_chunks::<64>();
    // SAFETY: these planes need no special CPU.
    unsafe {
        for block in blocks {
            let a = add_sixteen(&mut digits, |i| row(block, i, &load));
            let b = add_sixteen(&mut digits, |i| row(block, 16 + i, &load));
            let two_a = add(&mut digits[4], a, b);
            let a = add_sixteen(&mut digits, |i| row(block, 32 + i, &load));
            let b = add_sixteen(&mut digits, |i| row(block, 48 + i, &load));
            let two_b = add(&mut digits[4], a, b);
            let four = add(&mut digits[5], two_a, two_b);
            ripple(&mut digits, 6, four);
        }
        add_few(&mut digits, rest, &load);
    }
    digits
}
