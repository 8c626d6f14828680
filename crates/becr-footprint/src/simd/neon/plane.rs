//! Bits of 128 or 256 tokens and their sums.
//!
//! Two registers side by side share the instructions that find a row. A full adder takes three instructions each.

use super::super::adder::Plane;
use std::arch::aarch64::*;
use std::arch::asm;

/// A bit of 128 tokens per register.
#[derive(Clone, Copy)]
pub(super) struct Bits<const REGISTERS: usize>(pub(super) [uint8x16_t; REGISTERS]);

impl<const REGISTERS: usize> Bits<REGISTERS> {
    /// The bits of all tokens from an address on.
    ///
    /// # Safety
    ///
    /// As many registers can be read there.
    #[inline(always)]
    pub(super) unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise is ours.
        let mut bits = Self([unsafe { vdupq_n_u8(0) }; REGISTERS]);
        for (i, register) in bits.0.iter_mut().enumerate() {
            // SAFETY: the caller's promise is ours.
            *register = unsafe { vld1q_u8(from.add(16 * i)) };
        }
        bits
    }

    /// The same bits for all tokens.
    #[inline(always)]
    pub(super) fn all(byte: u8) -> Self {
        // SAFETY: every 64-bit ARM CPU has NEON.
        Self([unsafe { vdupq_n_u8(byte) }; REGISTERS])
    }

    #[inline(always)]
    fn map2(self, b: Self, f: impl Fn(uint8x16_t, uint8x16_t) -> uint8x16_t) -> Self {
        let mut result = self;
        for (i, register) in result.0.iter_mut().enumerate() {
            *register = f(self.0[i], b.0[i]);
        }
        result
    }
}

// SAFETY of every block: every 64-bit ARM CPU has NEON.
impl<const REGISTERS: usize> Plane for Bits<REGISTERS> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self::all(0)
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: see above.
        self.map2(other, |a, b| unsafe { veorq_u8(a, b) })
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: see above.
        self.map2(other, |a, b| unsafe { vandq_u8(a, b) })
    }
    #[inline(always)]
    unsafe fn full_add(self, b: Self, c: Self) -> [Self; 2] {
        let (mut sum, mut carry) = (self, self);
        for i in 0..REGISTERS {
            // SAFETY: see above.
            unsafe {
                let differ = veorq_u8(b.0[i], c.0[i]);
                sum.0[i] = veorq_u8(differ, self.0[i]);
                carry.0[i] = select(differ, self.0[i], b.0[i]);
            }
        }
        [sum, carry]
    }
}

/// The bits of `a` where the mask is set, those of `b` elsewhere.
///
/// In assembly, because the compiler knows what a carry is and takes three instructions for it.
#[inline(always)]
fn select(mask: uint8x16_t, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    let mut selected = mask;
    // SAFETY: the instruction touches its operands only.
    unsafe {
        asm!(
            "bsl {0:v}.16b, {1:v}.16b, {2:v}.16b",
            inout(vreg) selected,
            in(vreg) a,
            in(vreg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    selected
}
