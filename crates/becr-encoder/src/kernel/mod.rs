//! The only unsafe module of this crate: vector code for the processor at hand.
//!
//! [`Simd`] names the implementations in order of preference and is made once, by asking the processor. Its
//! methods take slices, check every length, and then run the one generic algorithm compiled for that width.
//!
//! `unsafe fn`s inside state what they need; the blocks that call them say why it holds.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

#[cfg(target_arch = "x86_64")]
mod amx;
mod buffer;
mod dots;
mod few;
mod int8;
mod lanes;
mod math;
mod product;
mod product8;
#[cfg(test)]
mod tests;

use crate::EncodeError;
pub(crate) use buffer::{Buffer, Panels};
pub(crate) use int8::{BytePanels, ByteRows, Int8};
use lanes::{Lanes, Portable};

/// An implementation that this processor can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Simd {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

/// Runs a generic function with the lanes of the implementation, compiled for its features.
macro_rules! dispatch {
    ($simd:expr, $function:ident($($argument:ident: $kind:ty),*) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn avx512($($argument: $kind),*) -> $result {
            $function::<lanes::Avx512>($($argument),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2($($argument: $kind),*) -> $result {
            $function::<lanes::Avx2>($($argument),*)
        }
        match $simd {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => avx512($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => avx2($($argument),*),
            // Every 64-bit ARM processor has NEON, and the compiler uses it everywhere.
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => $function::<lanes::Neon>($($argument),*),
            Simd::Portable => $function::<Portable>($($argument),*),
        }
    }};
}
use dispatch;

/// What is done to the result of a product.
#[derive(Clone, Copy, Default)]
pub(crate) struct Finish<'a> {
    /// Multiplied with each row.
    pub(crate) row_scale: Option<&'a [f32]>,
    /// Apply GELU after the bias.
    pub(crate) gelu: bool,
}

/// Queries, keys and values of one head, which stand in rows of a sequence's tokens.
pub(crate) struct Head<'a> {
    /// From the first token's row on.
    pub(crate) rows: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) tokens: usize,
    /// Floats of a query, a key and a value.
    pub(crate) size: usize,
    /// Where in a row query, key and value begin.
    pub(crate) at: [usize; 3],
}

impl Simd {
    /// The best implementation for this processor, or the one that `BECR_SIMD` names.
    pub(crate) fn detect() -> Result<Self, EncodeError> {
        let available = Self::available();
        let Ok(name) = std::env::var("BECR_SIMD") else {
            return Ok(available[0]);
        };
        let known = match name.as_str() {
            "" => return Ok(available[0]),
            // The engine's name for the AVX-512 that it needs; the encoder needs less of it.
            "avx512" | "avx512-vbmi" => "avx512",
            "avx2" => "avx2",
            "neon" => "neon",
            "portable" => "portable",
            _ => {
                return Err(EncodeError::Simd {
                    name,
                    problem: "unknown name",
                });
            }
        };
        let found = available.into_iter().find(|simd| simd.name() == known);
        found.ok_or(EncodeError::Simd {
            name,
            problem: "this processor cannot run it",
        })
    }

    /// Every implementation this processor can run, best first.
    pub(crate) fn available() -> Vec<Self> {
        let mut list = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx2 && is_x86_feature_detected!("avx512f") {
                list.push(Self::Avx512);
            }
            if avx2 {
                list.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        list.push(Self::Neon);
        list.push(Self::Portable);
        list
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// Columns of a panel: two vectors.
    pub(crate) fn panel(self) -> usize {
        2 * self.width()
    }

    fn width(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => lanes::Avx512::WIDTH,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => lanes::Avx2::WIDTH,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => lanes::Neon::WIDTH,
            Self::Portable => Portable::WIDTH,
        }
    }

    /// Attention of one head over a short sequence, `out = softmax(Q·Kᵀ)·V`; the rows of `out` lie `out_stride` floats
    /// apart. Does nothing and says so if the sequence is not short enough. `columns` is working memory.
    pub(crate) fn attend_few(
        self,
        head: &Head<'_>,
        columns: &mut Buffer,
        (out, out_stride): (&mut [f32], usize),
    ) -> bool {
        use few::{Few, attend_few, fits, room};
        let Head {
            rows,
            stride,
            tokens,
            size,
            at: [query, key, value],
        } = *head;
        if tokens == 0 || size == 0 || !fits(self.width(), tokens, size) {
            return false;
        }
        let last = (tokens - 1) * stride;
        for at in [query, key, value] {
            assert!(rows.len() >= last + at + size, "rows of a head too short");
        }
        assert!(
            out_stride >= size && out.len() >= (tokens - 1) * out_stride + size,
            "result too short"
        );
        let part = |at: usize| rows[at..].as_ptr();
        let job = &Few {
            tokens,
            size,
            queries: part(query),
            keys: part(key),
            values: part(value),
            stride,
            columns: columns.at_least(room(size)).as_mut_ptr(),
            out: out.as_mut_ptr(),
            out_stride,
        };
        // SAFETY: `self` exists only if the processor has its features; the job fits, and the assertions above give the
        // pointers the extents that `attend_few` asks for.
        unsafe { dispatch!(self, attend_few(job: &Few) -> ()) }
        true
    }

    /// `out = finish(a · b)`: `rows` rows of `a` and `out`, which lie `a_stride` and `out_stride` floats apart.
    pub(crate) fn product(
        self,
        rows: usize,
        (a, a_stride): (&[f32], usize),
        b: &Panels,
        (out, out_stride): (&mut [f32], usize),
        finish: Finish<'_>,
    ) {
        use product::{Product, product};
        if rows == 0 {
            return;
        }
        let (inner, cols) = (b.inner(), b.cols());
        assert!(
            b.panel() == self.panel(),
            "panels of another implementation"
        );
        assert!(
            a_stride >= inner && a.len() >= (rows - 1) * a_stride + inner,
            "left factor too short"
        );
        assert!(
            out_stride >= cols && out.len() >= (rows - 1) * out_stride + cols,
            "result too short"
        );
        assert!(
            finish.row_scale.is_none_or(|scale| scale.len() >= rows),
            "too few row scales"
        );
        let job = Product {
            rows,
            inner,
            cols,
            a: a.as_ptr(),
            a_stride,
            b: b.data().as_ptr(),
            out: out.as_mut_ptr(),
            out_stride,
            bias: b.bias().map_or(std::ptr::null(), <[f32]>::as_ptr),
            row_scale: finish.row_scale.map_or(std::ptr::null(), <[f32]>::as_ptr),
            gelu: finish.gelu,
        };
        let job = &job;
        // SAFETY: `self` exists only if the processor has its features; the assertions above, and `Panels`, which
        // pads data and bias to whole panels, give the pointers the extents that `product` asks for.
        unsafe { dispatch!(self, product(job: &Product) -> ()) }
    }

    /// Turns each row of scores into `e^(score − largest)` and stores the sums' inverses. Rows lie `stride` apart;
    /// their first `len` floats count.
    pub(crate) fn softmax(
        self,
        scores: &mut [f32],
        stride: usize,
        len: usize,
        inverse_sums: &mut [f32],
    ) {
        use math::softmax;
        let padded = len.next_multiple_of(few::STEP);
        assert!(
            len > 0 && padded <= stride,
            "rows must be padded to whole vectors"
        );
        for (row, inverse) in scores.chunks_mut(stride).zip(inverse_sums) {
            assert!(row.len() >= padded, "a row of scores is too short");
            row[len..padded].fill(f32::MIN);
            let pointer = row.as_mut_ptr();
            // SAFETY: as in `product`; the row has `padded` floats, a multiple of every width.
            let sum = unsafe { dispatch!(self, softmax(pointer: *mut f32, padded: usize) -> f32) };
            *inverse = 1.0 / sum;
        }
    }

    /// `out = norm(out + other) · weight + bias` for each row of `weight.len()` floats; the rows of `other` lie
    /// `other_stride` apart.
    pub(crate) fn add_norm(
        self,
        out: &mut [f32],
        (other, other_stride): (&[f32], usize),
        norm: &becr_model::LayerNorm,
        epsilon: f32,
    ) {
        use math::add_norm;
        let len = norm.weight.len();
        assert!(
            norm.bias.len() == len && len > 0,
            "weight and bias of a norm differ in length"
        );
        for (row, other) in out.chunks_exact_mut(len).zip(other.chunks(other_stride)) {
            assert!(other.len() >= len, "the second term of a norm is too short");
            let (out, other) = (row.as_mut_ptr(), other.as_ptr());
            let (weight, bias) = (norm.weight.as_ptr(), norm.bias.as_ptr());
            // SAFETY: as in `product`; all four have `len` floats.
            unsafe {
                dispatch!(self, add_norm(
                    out: *mut f32, other: *const f32, weight: *const f32, bias: *const f32, len: usize, epsilon: f32
                ) -> ());
            }
        }
    }
}
