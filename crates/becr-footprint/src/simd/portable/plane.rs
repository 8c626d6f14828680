//! A bit of 128 tokens.

use super::super::adder::Plane;

#[derive(Clone, Copy)]
pub(super) struct Bits([u64; 2]);

impl Bits {
    /// From sixteen little-endian bytes.
    #[inline(always)]
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; 2];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Self(words)
    }

    pub(super) fn to_bytes(self) -> [u8; 16] {
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
