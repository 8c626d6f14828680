//! Plain Rust for any CPU: planes of 128 bits, which the compiler keeps in vector registers.

use super::adder::{DIGITS, Plane, sum_rows};
use super::cosine::{self, Counter};
use super::document::{Backend, TilePlace};
use super::{Job, Sink};
use crate::groups::RowList;
use crate::lanes::Lanes;
use crate::tile::Tile;
use crate::workspace::{Counts, Scratch};

pub(super) struct Portable;

impl Backend for Portable {
    #[inline(always)]
    unsafe fn tile(job: &Job, place: TilePlace, scratch: &mut Scratch, sink: &mut impl Sink) {
        // SAFETY: nothing here needs a special CPU.
        unsafe { cosine::tile::<Self>(job, place, scratch, sink) }
    }
}

impl Counter for Portable {
    const FMA: bool = false;

    #[inline(always)]
    unsafe fn count(tile: Tile, list: &RowList, wide: bool, counts: &mut Counts) {
        let (stride, lanes) = (tile.stride(), Lanes::new(tile.width));
        for lane in 0..stride.div_ceil(16) {
            // SAFETY: nothing here needs a special CPU.
            let digits: [Bits; DIGITS] = unsafe {
                sum_rows(&list.rows, |row| {
                    let start = usize::from(row) * stride + 16 * lane;
                    Bits::from_bytes(&tile.rows[start..start + 16])
                })
            };
            let positions = (stride - 16 * lane).min(16);
            write_counts(&digits, positions, wide, counts, |position| {
                lanes.first_octet(position) + lane
            });
        }
    }
}

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

/// Turns digits into a number per token, eight tokens at a time.
#[inline(always)]
fn write_counts(
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

/// 128 bits.
#[derive(Clone, Copy)]
struct Bits([u64; 2]);

impl Bits {
    /// From sixteen little-endian bytes.
    #[inline(always)]
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; 2];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Self(words)
    }

    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.0[0].to_le_bytes());
        bytes[8..].copy_from_slice(&self.0[1].to_le_bytes());
        bytes
    }

    #[inline(always)]
    fn map2(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self([f(self.0[0], other.0[0]), f(self.0[1], other.0[1])])
    }
}

impl Plane for Bits {
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([0; 2])
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.map2(other, |a, b| a ^ b)
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self.map2(other, |a, b| a & b)
    }
    #[inline(always)]
    unsafe fn full_add(self, b: Self, c: Self) -> [Self; 2] {
        let differ = self.map2(b, |a, b| a ^ b);
        let both = self.map2(b, |a, b| a & b);
        let carry = differ.map2(c, |d, c| d & c).map2(both, |x, y| x | y);
        [differ.map2(c, |d, c| d ^ c), carry]
    }
}
