//! The rows of a tile in registers of 512 or 256 bits.

use super::super::adder::Plane;
use super::count::Subtract;
use crate::tile::{ROW, Tile};
use crate::workspace::Places;
use std::arch::x86_64::*;

/// Where the rows of a tile lie.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    start: *const u8,
    /// Bytes from one row to the next.
    stride: usize,
}

impl Rows {
    pub(super) fn new(tile: &Tile) -> Self {
        Self {
            start: tile.rows.as_ptr(),
            stride: tile.stride(),
        }
    }

    /// The row at an offset from the first one.
    #[inline(always)]
    pub(super) fn at(&self, place: u16) -> *const u8 {
        self.start.wrapping_add(usize::from(place))
    }

    /// The offsets of rows in this tile, from their offsets in the widest one.
    ///
    /// # Safety
    ///
    /// The CPU has AVX-512 F and BW.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) unsafe fn places<'a>(&self, wide: &'a [u16], buffer: &'a mut Places) -> &'a [u16] {
        if self.stride == ROW {
            return wide;
        }
        // offset · stride / 64, as the high half of a product with stride · 2¹⁶ / 64.
        let factor = _mm512_set1_epi16((self.stride << 10) as i16);
        let places = buffer.0.as_chunks_mut::<32>().0;
        for (wide, place) in wide.as_chunks::<32>().0.iter().zip(places) {
            // SAFETY: both are registers.
            unsafe {
                let wide = _mm512_loadu_si512(wide.as_ptr().cast());
                _mm512_store_si512(place.as_mut_ptr().cast(), _mm512_mulhi_epu16(wide, factor));
            }
        }
        &buffer.0[..wide.len()]
    }
}

/// A register that rows are read into; behind a row narrower than the register it holds whatever follows in memory.
///
/// # Safety
///
/// The CPU has AVX-512 F and VL; rows are those of a tile that is still there and has them.
pub(super) trait Load: Subtract {
    unsafe fn load(row: *const u8) -> Self;
}

/// For any tile.
impl Load for Zmm {
    #[inline(always)]
    unsafe fn load(row: *const u8) -> Self {
        // SAFETY: a tile lets 64 bytes of every row be read.
        Self(unsafe { _mm512_loadu_si512(row.cast()) })
    }
}

/// For tiles of at most 256 tokens.
impl Load for Ymm {
    #[inline(always)]
    unsafe fn load(row: *const u8) -> Self {
        // SAFETY: a tile lets 64 bytes of every row be read.
        Self(unsafe { _mm256_loadu_si256(row.cast()) })
    }
}

macro_rules! plane {
    ($name:ident, $register:ty, $class:ident, $carry:ident, $zero:ident, $xor:ident, $and:ident, $ternary:ident) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) $register);

        // SAFETY of every block: the trait's caller promises a CPU that has AVX-512 F and VL.
        impl Plane for $name {
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: see above.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $xor(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn and(self, other: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $and(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn full_add(self, b: Self, c: Self) -> [Self; 2] {
                // SAFETY: see above.
                unsafe {
                    let sum = $ternary::<0x96>(self.0, b.0, c.0);
                    [Self(sum), Self($carry(sum, b.0, c.0))]
                }
            }
        }

        /// The carry of a sum of which two of the three bits are given: they and the sum tell the third.
        ///
        /// In assembly, because the compiler writes the carry over one of the two bits. That saves a copy, which is
        /// free anyway, and makes the counting of rows a sixth slower on Zen 4.
        #[target_feature(enable = "avx512f,avx512vl")]
        #[inline]
        unsafe fn $carry(sum: $register, b: $register, c: $register) -> $register {
            let mut carry = sum;
            // SAFETY: the instruction touches its operands only.
            unsafe {
                std::arch::asm!(
                    "vpternlogq {carry}, {b}, {c}, 0x8E",
                    carry = inout($class) carry,
                    b = in($class) b,
                    c = in($class) c,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            carry
        }

        impl Subtract for $name {
            #[inline(always)]
            unsafe fn full_subtract(self, b: Self, borrow: Self) -> [Self; 2] {
                // SAFETY: see above.
                unsafe {
                    let difference = $ternary::<0x96>(self.0, b.0, borrow.0);
                    [
                        Self(difference),
                        Self($ternary::<0x8E>(self.0, b.0, borrow.0)),
                    ]
                }
            }
        }
    };
}
plane!(
    Zmm,
    __m512i,
    zmm_reg,
    carry_zmm,
    _mm512_setzero_si512,
    _mm512_xor_si512,
    _mm512_and_si512,
    _mm512_ternarylogic_epi64
);
plane!(
    Ymm,
    __m256i,
    ymm_reg,
    carry_ymm,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    _mm256_and_si256,
    _mm256_ternarylogic_epi64
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Implementation;

    #[test]
    fn places_are_those_of_the_rows() {
        if !Implementation::Avx512Vbmi.is_available() {
            return;
        }
        let bytes = vec![0; 256 * ROW];
        let wide: Vec<u16> = (0..256).rev().map(|row| row * ROW as u16).collect();
        let mut buffer = Places::default();
        for width in (16..=512).step_by(16) {
            let rows = Rows::new(&Tile {
                width,
                first: 0,
                tokens: width,
                rows: &bytes,
            });
            // SAFETY: the CPU was found able.
            let places = unsafe { rows.places(&wide, &mut buffer) };
            assert_eq!(places.len(), 256);
            for (row, &place) in (0..256).rev().zip(places) {
                let start = bytes[row * width / 8..].as_ptr();
                assert_eq!(rows.at(place), start, "{width}");
            }
        }
    }
}
