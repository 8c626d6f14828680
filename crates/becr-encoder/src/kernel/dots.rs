//! Sums of products of bytes, in vectors of three widths: the int8 counterpart of [`Lanes`](super::lanes::Lanes).
//!
//! Every implementation computes the same integers. That is why plain AVX2 goes through 16 bits: `vpmaddubsw` alone
//! saturates when both bytes of a pair are large.

use super::lanes::{Lanes, Portable};

/// A vector of 32-bit sums, each over groups of four bytes: unsigned activations times signed weights.
///
/// # Safety
///
/// Methods must only run where [`Int8`](super::Int8) found the features of the implementation. `right` reads
/// `4 · Lanes::WIDTH` bytes, `left` reads four.
pub(super) trait Dots: Copy {
    /// The floats that sums are turned into, as many.
    type Lanes: Lanes;
    /// Four activations in every lane, prepared.
    type Left: Copy;
    /// Four weights of each column, prepared.
    type Right: Copy;
    /// Rows of a tile: as many as leave registers for the factors.
    const ROWS: usize;

    unsafe fn zero() -> Self;
    /// What sums begin with, given the sums of all weights of each column. Implementations that take activations less 128
    /// make up for it here.
    #[inline(always)]
    unsafe fn begin(_weights: *const i32) -> Self {
        Self::zero()
    }
    unsafe fn left(from: *const u8) -> Self::Left;
    unsafe fn right(from: *const i8) -> Self::Right;
    /// `self + left · right`.
    unsafe fn dot(self, left: Self::Left, right: Self::Right) -> Self;
    unsafe fn floats(self) -> Self::Lanes;

    /// Has two vectors of weights brought from memory. They may lie anywhere: nothing is read.
    #[inline(always)]
    unsafe fn ask_for(_weights: *const i8) {}
}

/// Plain integers.
#[derive(Clone, Copy)]
pub(super) struct PlainDots([i32; 4]);

impl Dots for PlainDots {
    type Lanes = Portable;
    type Left = [u8; 4];
    type Right = [[i8; 4]; 4];
    const ROWS: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([0; 4])
    }

    #[inline(always)]
    unsafe fn left(from: *const u8) -> [u8; 4] {
        from.cast::<[u8; 4]>().read()
    }

    #[inline(always)]
    unsafe fn right(from: *const i8) -> [[i8; 4]; 4] {
        from.cast::<[[i8; 4]; 4]>().read()
    }

    #[inline(always)]
    unsafe fn dot(mut self, left: [u8; 4], right: [[i8; 4]; 4]) -> Self {
        for (sum, column) in self.0.iter_mut().zip(right) {
            for (a, b) in left.into_iter().zip(column) {
                *sum += i32::from(a) * i32::from(b);
            }
        }
        self
    }

    #[inline(always)]
    unsafe fn floats(self) -> Portable {
        Portable::load(self.0.map(|sum| sum as f32).as_ptr())
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) use arm::{DotprodDots, I8mmDots, NeonDots};
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2Dots, Avx512VnniDots, AvxVnniDots};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Dots;
    use crate::kernel::lanes::{Avx2, Avx512};
    use std::arch::x86_64::*;

    /// `vpdpbusd` on 512 bits.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512VnniDots(__m512i);

    impl Dots for Avx512VnniDots {
        type Lanes = Avx512;
        type Left = __m512i;
        type Right = __m512i;
        const ROWS: usize = 12;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Self(_mm512_setzero_si512())
        }

        #[inline(always)]
        unsafe fn left(from: *const u8) -> __m512i {
            _mm512_set1_epi32(from.cast::<i32>().read_unaligned())
        }

        #[inline(always)]
        unsafe fn right(from: *const i8) -> __m512i {
            _mm512_loadu_si512(from.cast())
        }

        #[inline(always)]
        unsafe fn dot(self, left: __m512i, right: __m512i) -> Self {
            Self(_mm512_dpbusd_epi32(self.0, left, right))
        }

        #[inline(always)]
        unsafe fn floats(self) -> Avx512 {
            Avx512::from_integers(self.0)
        }

        #[inline(always)]
        unsafe fn ask_for(weights: *const i8) {
            _mm_prefetch::<_MM_HINT_T0>(weights);
            _mm_prefetch::<_MM_HINT_T0>(weights.wrapping_add(64));
        }
    }

    /// `vpdpbusd` on 256 bits, on processors without AVX-512.
    #[derive(Clone, Copy)]
    pub(crate) struct AvxVnniDots(__m256i);

    impl Dots for AvxVnniDots {
        type Lanes = Avx2;
        type Left = __m256i;
        type Right = __m256i;
        const ROWS: usize = 6;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Self(_mm256_setzero_si256())
        }

        #[inline(always)]
        unsafe fn left(from: *const u8) -> __m256i {
            _mm256_set1_epi32(from.cast::<i32>().read_unaligned())
        }

        #[inline(always)]
        unsafe fn right(from: *const i8) -> __m256i {
            _mm256_loadu_si256(from.cast())
        }

        #[inline(always)]
        unsafe fn dot(self, left: __m256i, right: __m256i) -> Self {
            Self(_mm256_dpbusd_avx_epi32(self.0, left, right))
        }

        #[inline(always)]
        unsafe fn floats(self) -> Avx2 {
            Avx2::from_integers(self.0)
        }

        #[inline(always)]
        unsafe fn ask_for(weights: *const i8) {
            _mm_prefetch::<_MM_HINT_T0>(weights);
        }
    }

    /// Bytes 0 and 2 of each four, and bytes 1 and 3, widened to 16 bits.
    #[derive(Clone, Copy)]
    pub(crate) struct Halves(__m256i, __m256i);

    /// `vpmaddwd` on bytes widened to 16 bits: exact without VNNI.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2Dots(__m256i);

    impl Dots for Avx2Dots {
        type Lanes = Avx2;
        type Left = Halves;
        type Right = Halves;
        const ROWS: usize = 4;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Self(_mm256_setzero_si256())
        }

        #[inline(always)]
        unsafe fn left(from: *const u8) -> Halves {
            let bytes = _mm256_set1_epi32(from.cast::<i32>().read_unaligned());
            let even = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
            Halves(even, _mm256_srli_epi16::<8>(bytes))
        }

        #[inline(always)]
        unsafe fn right(from: *const i8) -> Halves {
            let bytes = _mm256_loadu_si256(from.cast());
            let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(bytes));
            Halves(even, _mm256_srai_epi16::<8>(bytes))
        }

        #[inline(always)]
        unsafe fn dot(self, left: Halves, right: Halves) -> Self {
            let even = _mm256_madd_epi16(left.0, right.0);
            let odd = _mm256_madd_epi16(left.1, right.1);
            Self(_mm256_add_epi32(_mm256_add_epi32(self.0, even), odd))
        }

        #[inline(always)]
        unsafe fn floats(self) -> Avx2 {
            Avx2::from_integers(self.0)
        }

        #[inline(always)]
        unsafe fn ask_for(weights: *const i8) {
            _mm_prefetch::<_MM_HINT_T0>(weights);
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Dots;
    use crate::kernel::lanes::Neon;
    use std::arch::aarch64::*;
    use std::arch::asm;

    /// The four activations at an address, as often as a register takes them.
    #[inline(always)]
    unsafe fn four(from: *const u8) -> uint8x16_t {
        vreinterpretq_u8_u32(vdupq_n_u32(from.cast::<u32>().read_unaligned()))
    }

    /// The same less 128, which are signed bytes.
    #[inline(always)]
    unsafe fn four_less_128(from: *const u8) -> int8x16_t {
        vreinterpretq_s8_u8(veorq_u8(four(from), vdupq_n_u8(0x80)))
    }

    /// What was taken from the sums with activations less 128.
    #[inline(always)]
    unsafe fn made_up(weights: *const i32) -> [int32x4_t; 2] {
        [
            vshlq_n_s32::<7>(vld1q_s32(weights)),
            vshlq_n_s32::<7>(vld1q_s32(weights.add(4))),
        ]
    }

    #[inline(always)]
    unsafe fn weights(from: *const i8) -> [int8x16_t; 2] {
        [vld1q_s8(from), vld1q_s8(from.add(16))]
    }

    /// `prfm` for two vectors of weights.
    #[inline(always)]
    unsafe fn ask_for(weights: *const i8) {
        asm!("prfm pldl1keep, [{}]", in(reg) weights, options(nostack, preserves_flags, readonly));
    }

    /// `usdot`, of the extension i8mm. In assembly, as its intrinsic is not stable.
    #[derive(Clone, Copy)]
    pub(crate) struct I8mmDots([int32x4_t; 2]);

    impl Dots for I8mmDots {
        type Lanes = Neon;
        type Left = uint8x16_t;
        type Right = [int8x16_t; 2];
        const ROWS: usize = 6;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Self([vdupq_n_s32(0); 2])
        }

        #[inline(always)]
        unsafe fn left(from: *const u8) -> uint8x16_t {
            four(from)
        }

        #[inline(always)]
        unsafe fn right(from: *const i8) -> [int8x16_t; 2] {
            weights(from)
        }

        #[inline(always)]
        unsafe fn dot(mut self, left: uint8x16_t, right: [int8x16_t; 2]) -> Self {
            for (sum, right) in self.0.iter_mut().zip(right) {
                asm!("usdot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) *sum, in(vreg) left, in(vreg) right,
                    options(pure, nomem, nostack, preserves_flags));
            }
            self
        }

        #[inline(always)]
        unsafe fn floats(self) -> Neon {
            Neon::from_integers(self.0)
        }

        #[inline(always)]
        unsafe fn ask_for(weights: *const i8) {
            ask_for(weights);
        }
    }

    /// `sdot`, of the extension dotprod, on activations less 128. In assembly, as its intrinsic is not stable.
    #[derive(Clone, Copy)]
    pub(crate) struct DotprodDots([int32x4_t; 2]);

    impl Dots for DotprodDots {
        type Lanes = Neon;
        type Left = int8x16_t;
        type Right = [int8x16_t; 2];
        const ROWS: usize = 6;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Self([vdupq_n_s32(0); 2])
        }

        #[inline(always)]
        unsafe fn begin(weights: *const i32) -> Self {
            Self(made_up(weights))
        }

        #[inline(always)]
        unsafe fn left(from: *const u8) -> int8x16_t {
            four_less_128(from)
        }

        #[inline(always)]
        unsafe fn right(from: *const i8) -> [int8x16_t; 2] {
            weights(from)
        }

        #[inline(always)]
        unsafe fn dot(mut self, left: int8x16_t, right: [int8x16_t; 2]) -> Self {
            for (sum, right) in self.0.iter_mut().zip(right) {
                asm!("sdot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) *sum, in(vreg) left, in(vreg) right,
                    options(pure, nomem, nostack, preserves_flags));
            }
            self
        }

        #[inline(always)]
        unsafe fn floats(self) -> Neon {
            Neon::from_integers(self.0)
        }

        #[inline(always)]
        unsafe fn ask_for(weights: *const i8) {
            ask_for(weights);
        }
    }

    /// `smull` on activations less 128: two products of signed bytes fit 16 bits, as no weight is −128.
    #[derive(Clone, Copy)]
    pub(crate) struct NeonDots([int32x4_t; 2]);

    impl Dots for NeonDots {
        type Lanes = Neon;
        type Left = int8x16_t;
        type Right = [int8x16_t; 2];
        const ROWS: usize = 4;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Self([vdupq_n_s32(0); 2])
        }

        #[inline(always)]
        unsafe fn begin(weights: *const i32) -> Self {
            Self(made_up(weights))
        }

        #[inline(always)]
        unsafe fn left(from: *const u8) -> int8x16_t {
            four_less_128(from)
        }

        #[inline(always)]
        unsafe fn right(from: *const i8) -> [int8x16_t; 2] {
            weights(from)
        }

        #[inline(always)]
        unsafe fn dot(mut self, left: int8x16_t, right: [int8x16_t; 2]) -> Self {
            for (sum, right) in self.0.iter_mut().zip(right) {
                let low = vmull_s8(vget_low_s8(left), vget_low_s8(right));
                let high = vmull_high_s8(left, right);
                *sum = vpadalq_s16(*sum, vpaddq_s16(low, high));
            }
            self
        }

        #[inline(always)]
        unsafe fn floats(self) -> Neon {
            Neon::from_integers(self.0)
        }

        #[inline(always)]
        unsafe fn ask_for(weights: *const i8) {
            ask_for(weights);
        }
    }
}
