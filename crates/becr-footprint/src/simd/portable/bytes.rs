//! From digits to a number per token.

use super::super::adder::DIGITS;
use super::plane::Bits;
use crate::workspace::Counts;

/// Bytes of eight bits each: `SPREAD[x]` holds bit `i` of `x` in byte `i`.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[x] |= ((x as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        x += 1;
    }
    table
};

/// Turns digits into a number per token, eight tokens at a time. `octet` says which eight tokens lie at a position.
#[inline(always)]
pub(super) fn write(
    digits: &[Bits; DIGITS],
    positions: usize,
    wide: bool,
    counts: &mut Counts,
    octet: impl Fn(usize) -> usize,
) {
    let bytes: [[u8; 16]; DIGITS] = std::array::from_fn(|i| digits[i].to_bytes());
    for position in 0..positions {
        let number = |digits: std::ops::Range<usize>| {
            digits.clone().fold(0, |sum, digit| {
                sum | SPREAD[usize::from(bytes[digit][position])] << (digit - digits.start)
            })
        };
        let at = 8 * octet(position);
        counts.low[at..at + 8].copy_from_slice(&number(0..8).to_le_bytes());
        if wide {
            counts.high[at..at + 8].copy_from_slice(&number(8..DIGITS).to_le_bytes());
        }
    }
}
