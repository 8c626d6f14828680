//! Vectors of floats of three widths behind one trait, so that every algorithm is written once.

/// A vector register of floats. The methods are inlined into functions compiled for the processor's features.
///
/// # Safety
///
/// Methods must only run where [`Simd`](super::Simd) found the features of the implementation; loads and stores
/// touch `WIDTH` floats.
pub(super) trait Lanes: Copy {
    /// Floats in a vector.
    const WIDTH: usize;
    /// Rows of a tile of the matrix product: as many as leave registers for the second factor.
    const ROWS: usize;

    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    /// `self · factor + term`.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// `2^n` from a float whose lowest mantissa bits hold the integer `n`.
    unsafe fn exp2_of_low_bits(self) -> Self;
    /// Sum of all lanes, in a fixed order.
    unsafe fn sum(self) -> f32;
    /// Largest lane.
    unsafe fn largest(self) -> f32;
    /// Stores the lowest byte of each lane's bits: `WIDTH` bytes.
    unsafe fn store_low_bytes(self, to: *mut u8);
}

/// Plain arrays, which the compiler turns into whatever the target's baseline has.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; 4]);

macro_rules! each_lane {
    ($a:expr, $b:expr, $op:expr) => {
        Self(std::array::from_fn(|i| $op($a.0[i], $b.0[i])))
    };
}

impl Lanes for Portable {
    const WIDTH: usize = 4;
    const ROWS: usize = 5;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(from.cast::<[f32; 4]>().read_unaligned())
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        to.cast::<[f32; 4]>().write_unaligned(self.0);
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        each_lane!(self, other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        each_lane!(self, other, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        each_lane!(self, other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        each_lane!(self, other, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        each_lane!(self, other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // Not `f32::mul_add`: without the instruction that is a function call.
        self.mul(factor).add(term)
    }

    #[inline(always)]
    unsafe fn exp2_of_low_bits(self) -> Self {
        Self(
            self.0
                .map(|x| f32::from_bits((x.to_bits() << 23).wrapping_add(127 << 23))),
        )
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let [a, b, c, d] = self.0;
        (a + c) + (b + d)
    }

    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        let [a, b, c, d] = self.0;
        a.max(b).max(c.max(d))
    }

    #[inline(always)]
    unsafe fn store_low_bytes(self, to: *mut u8) {
        to.cast::<[u8; 4]>()
            .write_unaligned(self.0.map(|x| x.to_bits() as u8));
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) use arm::Neon;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// Writes the methods that are one intrinsic each.
    macro_rules! intrinsics {
        ($($method:ident = $intrinsic:ident;)*) => {
            $(#[inline(always)]
            unsafe fn $method(self, other: Self) -> Self {
                Self($intrinsic(self.0, other.0))
            })*
        };
    }

    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256);

    impl Lanes for Avx2 {
        const WIDTH: usize = 8;
        const ROWS: usize = 6;

        intrinsics! {
            add = _mm256_add_ps; sub = _mm256_sub_ps; mul = _mm256_mul_ps; div = _mm256_div_ps; max = _mm256_max_ps;
        }

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            Self(_mm256_set1_ps(x))
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            Self(_mm256_loadu_ps(from))
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            _mm256_storeu_ps(to, self.0);
        }

        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
            Self(_mm256_fmadd_ps(self.0, factor.0, term.0))
        }

        #[inline(always)]
        unsafe fn exp2_of_low_bits(self) -> Self {
            let n = _mm256_slli_epi32::<23>(_mm256_castps_si256(self.0));
            Self(_mm256_castsi256_ps(_mm256_add_epi32(
                n,
                _mm256_set1_epi32(127 << 23),
            )))
        }

        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            let four = _mm_add_ps(
                _mm256_castps256_ps128(self.0),
                _mm256_extractf128_ps::<1>(self.0),
            );
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }

        #[inline(always)]
        unsafe fn largest(self) -> f32 {
            let four = _mm_max_ps(
                _mm256_castps256_ps128(self.0),
                _mm256_extractf128_ps::<1>(self.0),
            );
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }

        #[inline(always)]
        unsafe fn store_low_bytes(self, to: *mut u8) {
            let first = _mm256_set1_epi32(0x0c08_0400);
            let bytes = _mm256_shuffle_epi8(_mm256_castps_si256(self.0), first);
            let low = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
            let high = _mm_cvtsi128_si32(_mm256_extracti128_si256::<1>(bytes));
            to.cast::<[i32; 2]>().write_unaligned([low, high]);
        }
    }

    impl Avx2 {
        #[inline(always)]
        pub(crate) unsafe fn from_integers(integers: __m256i) -> Self {
            Self(_mm256_cvtepi32_ps(integers))
        }
    }

    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512);

    impl Lanes for Avx512 {
        const WIDTH: usize = 16;
        const ROWS: usize = 12;

        intrinsics! {
            add = _mm512_add_ps; sub = _mm512_sub_ps; mul = _mm512_mul_ps; div = _mm512_div_ps; max = _mm512_max_ps;
        }

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            Self(_mm512_set1_ps(x))
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            Self(_mm512_loadu_ps(from))
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            _mm512_storeu_ps(to, self.0);
        }

        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
            Self(_mm512_fmadd_ps(self.0, factor.0, term.0))
        }

        #[inline(always)]
        unsafe fn exp2_of_low_bits(self) -> Self {
            let n = _mm512_slli_epi32::<23>(_mm512_castps_si512(self.0));
            Self(_mm512_castsi512_ps(_mm512_add_epi32(
                n,
                _mm512_set1_epi32(127 << 23),
            )))
        }

        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            _mm512_reduce_add_ps(self.0)
        }

        #[inline(always)]
        unsafe fn largest(self) -> f32 {
            _mm512_reduce_max_ps(self.0)
        }

        #[inline(always)]
        unsafe fn store_low_bytes(self, to: *mut u8) {
            _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(_mm512_castps_si512(self.0)));
        }
    }

    impl Avx512 {
        #[inline(always)]
        pub(crate) unsafe fn from_integers(integers: __m512i) -> Self {
            Self(_mm512_cvtepi32_ps(integers))
        }

        /// Reads `WIDTH` integers.
        #[inline(always)]
        pub(crate) unsafe fn of_integers(from: *const i32) -> Self {
            Self::from_integers(_mm512_loadu_si512(from.cast()))
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Lanes;
    use std::arch::aarch64::*;

    /// Two registers as one vector of AVX2's width: the same results as there, in every bit.
    #[derive(Clone, Copy)]
    pub(crate) struct Neon(float32x4_t, float32x4_t);

    /// Writes the methods that are one intrinsic for each register.
    macro_rules! intrinsics {
        ($($method:ident = $intrinsic:ident;)*) => {
            $(#[inline(always)]
            unsafe fn $method(self, other: Self) -> Self {
                Self($intrinsic(self.0, other.0), $intrinsic(self.1, other.1))
            })*
        };
    }

    impl Lanes for Neon {
        const WIDTH: usize = 8;
        const ROWS: usize = 6;

        intrinsics! {
            add = vaddq_f32; sub = vsubq_f32; mul = vmulq_f32; div = vdivq_f32; max = vmaxq_f32;
        }

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            Self(vdupq_n_f32(x), vdupq_n_f32(x))
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            Self(vld1q_f32(from), vld1q_f32(from.add(4)))
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            vst1q_f32(to, self.0);
            vst1q_f32(to.add(4), self.1);
        }

        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
            Self(
                vfmaq_f32(term.0, self.0, factor.0),
                vfmaq_f32(term.1, self.1, factor.1),
            )
        }

        #[inline(always)]
        unsafe fn exp2_of_low_bits(self) -> Self {
            let power = |x: float32x4_t| {
                let n = vshlq_n_s32::<23>(vreinterpretq_s32_f32(x));
                vreinterpretq_f32_s32(vaddq_s32(n, vdupq_n_s32(127 << 23)))
            };
            Self(power(self.0), power(self.1))
        }

        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            let four = vaddq_f32(self.0, self.1);
            vaddv_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)))
        }

        #[inline(always)]
        unsafe fn largest(self) -> f32 {
            vmaxvq_f32(vmaxq_f32(self.0, self.1))
        }

        #[inline(always)]
        unsafe fn store_low_bytes(self, to: *mut u8) {
            let (low, high) = (vreinterpretq_u16_f32(self.0), vreinterpretq_u16_f32(self.1));
            vst1_u8(to, vmovn_u16(vuzp1q_u16(low, high)));
        }
    }

    impl Neon {
        #[inline(always)]
        pub(crate) unsafe fn from_integers([low, high]: [int32x4_t; 2]) -> Self {
            Self(vcvtq_f32_s32(low), vcvtq_f32_s32(high))
        }
    }
}
