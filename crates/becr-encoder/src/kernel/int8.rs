//! The door to the int8 kernels: which implementation, weights and activations as bytes.
//!
//! Weights are symmetric, one scale to a column of the product (a row of the linear layer): the bundled model has them
//! so in its file, and quantising what was read from there gives the same integers again. Activations are quantised
//! row by row on the way in: 256 even steps from the row's lowest value to its highest, `x ≈ byte · scale + lowest`, so
//! that the skewed output of GELU wastes none of them. The lowest value's part of a product is known beforehand, it is
//! `lowest · Σ weights`.

#[cfg(target_arch = "x86_64")]
use super::amx;
use super::buffer::Buffer;
use super::dots;
use super::lanes::{self, Portable};
use super::product8::{self, PANEL, Product8};
use super::{Simd, dispatch};

/// Columns and rows of weights are padded to a multiple of this: the depth of an AMX tile.
const INNER_STEP: usize = 64;

/// An implementation of the int8 product that this processor can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Int8 {
    #[cfg(target_arch = "x86_64")]
    Amx,
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    NeonI8mm,
    #[cfg(target_arch = "aarch64")]
    NeonDotprod,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

impl Int8 {
    /// The best implementation beside `simd`'s floats.
    pub(crate) fn beside(simd: Simd) -> Self {
        Self::available(simd)[0]
    }

    /// Every implementation that goes with `simd`, best first. All of them compute the same integers.
    pub(crate) fn available(simd: Simd) -> Vec<Self> {
        let mut list = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if simd == Simd::Avx512 && amx::available() {
                list.push(Self::Amx);
            }
            if simd == Simd::Avx512 && is_x86_feature_detected!("avx512vnni") {
                list.push(Self::Avx512Vnni);
            }
            if simd != Simd::Portable && is_x86_feature_detected!("avxvnni") {
                list.push(Self::AvxVnni);
            }
            if simd != Simd::Portable {
                list.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if simd == Simd::Neon {
            if std::arch::is_aarch64_feature_detected!("i8mm") {
                list.push(Self::NeonI8mm);
            }
            if std::arch::is_aarch64_feature_detected!("dotprod") {
                list.push(Self::NeonDotprod);
            }
            list.push(Self::Neon);
        }
        if list.is_empty() || simd == Simd::Portable {
            list.push(Self::Portable);
        }
        list
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx => "amx",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => "avx512-vnni",
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => "avx-vnni",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::NeonI8mm => "neon-i8mm",
            #[cfg(target_arch = "aarch64")]
            Self::NeonDotprod => "neon-dotprod",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// Lanes of the floats that results are computed in.
    #[cfg(test)]
    pub(crate) fn width(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx | Self::Avx512Vnni => 16,
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni | Self::Avx2 => 8,
            #[cfg(target_arch = "aarch64")]
            Self::NeonI8mm | Self::NeonDotprod | Self::Neon => 8,
            Self::Portable => 4,
        }
    }

    /// `out = gelu?(a · b + bias)`; the rows of `out` lie `out_stride` floats apart.
    pub(crate) fn product(
        self,
        a: &ByteRows,
        b: &BytePanels,
        (out, out_stride): (&mut [f32], usize),
        gelu: bool,
    ) {
        if a.rows == 0 {
            return;
        }
        assert_eq!(a.inner, b.inner, "factors of different lengths");
        assert!(
            a.bytes.len() >= a.rows * a.stride
                && a.scale.len() >= a.rows
                && a.lowest.len() >= a.rows,
            "left factor too short"
        );
        assert!(
            out_stride >= b.cols && out.len() >= (a.rows - 1) * out_stride + b.cols,
            "result too short"
        );
        let job = Product8 {
            rows: a.rows,
            cols: b.cols,
            inner: a.stride,
            a: a.bytes.as_ptr(),
            a_scale: a.scale.as_ptr(),
            a_lowest: a.lowest.as_ptr(),
            b: b.bytes.as_ptr(),
            b_scale: b.scale.as_ptr(),
            b_sum: b.sum.as_ptr(),
            b_whole_sum: b.whole_sum.as_ptr(),
            bias: b.bias.as_ptr(),
            out: out.as_mut_ptr(),
            out_stride,
            gelu,
        };
        // SAFETY: `self` exists only if the processor has its features; the assertions above and `BytePanels`, which
        // pads everything to whole panels, give the pointers the extents that `product8` asks for.
        unsafe { self.run(&job) }
    }

    /// # Safety
    ///
    /// As [`product8::product8`].
    unsafe fn run(self, job: &Product8) {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vnni")]
        unsafe fn avx512_vnni(job: &Product8) {
            product8::product8::<dots::Avx512VnniDots>(job);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,avxvnni")]
        unsafe fn avx_vnni(job: &Product8) {
            product8::product8::<dots::AvxVnniDots>(job);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(job: &Product8) {
            product8::product8::<dots::Avx2Dots>(job);
        }
        #[cfg(target_arch = "aarch64")]
        #[target_feature(enable = "i8mm")]
        unsafe fn neon_i8mm(job: &Product8) {
            product8::product8::<dots::I8mmDots>(job);
        }
        #[cfg(target_arch = "aarch64")]
        #[target_feature(enable = "dotprod")]
        unsafe fn neon_dotprod(job: &Product8) {
            product8::product8::<dots::DotprodDots>(job);
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx => amx::product_amx(job),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => avx512_vnni(job),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => avx_vnni(job),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2(job),
            #[cfg(target_arch = "aarch64")]
            Self::NeonI8mm => neon_i8mm(job),
            #[cfg(target_arch = "aarch64")]
            Self::NeonDotprod => neon_dotprod(job),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => product8::product8::<dots::NeonDots>(job),
            Self::Portable => product8::product8::<dots::PlainDots>(job),
        }
    }
}

/// Activations as bytes: the first factor of a product.
#[derive(Default)]
pub(crate) struct ByteRows {
    bytes: Vec<u8>,
    scale: Vec<f32>,
    lowest: Vec<f32>,
    rows: usize,
    inner: usize,
    stride: usize,
}

impl ByteRows {
    /// Quantises rows of `inner` floats that lie `stride` apart, reusing memory.
    pub(crate) fn set(
        &mut self,
        simd: Simd,
        rows: usize,
        inner: usize,
        (a, stride): (&[f32], usize),
    ) {
        use product8::quantise;
        assert!(
            rows == 0 || stride >= inner && a.len() >= (rows - 1) * stride + inner,
            "rows to quantise are too short"
        );
        (self.rows, self.inner) = (rows, inner);
        self.stride = inner.next_multiple_of(INNER_STEP);
        if self.bytes.len() < rows * self.stride {
            self.bytes.resize(rows * self.stride, 0);
        }
        self.scale.clear();
        self.lowest.clear();
        // What lies behind `inner` meets weights that are zero, so it may be anything.
        let rows = a.chunks(stride.max(1)).take(rows);
        for (row, out) in rows.zip(self.bytes.chunks_exact_mut(self.stride)) {
            let (row, out) = (row[..inner].as_ptr(), out.as_mut_ptr());
            // SAFETY: `simd` exists only if the processor has its features; `row` was just cut to `inner` floats and
            // `out` has a stride's bytes, which are no fewer.
            let (scale, lowest) = unsafe {
                dispatch!(simd, quantise(row: *const f32, inner: usize, out: *mut u8) -> (f32, f32))
            };
            self.scale.push(scale);
            self.lowest.push(lowest);
        }
    }

    /// The bytes of a row, its scale and its lowest value.
    #[cfg(test)]
    pub(crate) fn row(&self, i: usize) -> (&[u8], f32, f32) {
        let bytes = &self.bytes[i * self.stride..][..self.inner];
        (bytes, self.scale[i], self.lowest[i])
    }
}

/// Weights as bytes: the second factor of a product, in panels of [`PANEL`] columns, within a panel four values of
/// each column side by side, as `vpdpbusd` and AMX read them.
pub(crate) struct BytePanels {
    bytes: ByteLines,
    scale: Buffer,
    sum: Buffer,
    /// The sums of weights as integers.
    whole_sum: Vec<i32>,
    bias: Buffer,
    inner: usize,
    cols: usize,
}

impl BytePanels {
    /// Quantises the columns of the second factor, each of `inner` floats, and gives them a bias.
    pub(crate) fn from_columns<'a>(
        inner: usize,
        columns: impl ExactSizeIterator<Item = &'a [f32]>,
        bias: &[f32],
    ) -> Self {
        let cols = columns.len();
        assert_eq!(bias.len(), cols, "one bias per column");
        let (width, depth) = (
            cols.next_multiple_of(PANEL),
            inner.next_multiple_of(INNER_STEP),
        );
        let mut panels = Self {
            bytes: ByteLines::zeros(width * depth),
            scale: Buffer::default(),
            sum: Buffer::default(),
            whole_sum: vec![0; width],
            bias: Buffer::default(),
            inner,
            cols,
        };
        let scales = panels.scale.at_least(width);
        let sums = panels.sum.at_least(width);
        panels.bias.at_least(width)[..cols].copy_from_slice(bias);
        for (j, column) in columns.enumerate() {
            let most = column.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            let scale = most / 127.0;
            let bytes = &mut panels.bytes[(j / PANEL) * PANEL * depth..];
            let mut sum = 0;
            for (k, &x) in column[..inner].iter().enumerate() {
                let byte = match scale > 0.0 {
                    true => (x / scale).round().clamp(-127.0, 127.0) as i8,
                    false => 0,
                };
                bytes[(k / 4 * PANEL + j % PANEL) * 4 + k % 4] = byte;
                sum += i32::from(byte);
            }
            (scales[j], sums[j]) = (scale, sum as f32 * scale);
            panels.whole_sum[j] = sum;
        }
        panels
    }

    pub(crate) fn inner(&self) -> usize {
        self.inner
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// The bytes of a column and its scale.
    #[cfg(test)]
    pub(crate) fn column(&self, j: usize) -> (Vec<i8>, f32) {
        let depth = self.inner.next_multiple_of(INNER_STEP);
        let place =
            |k: usize| (j / PANEL) * PANEL * depth + (k / 4 * PANEL + j % PANEL) * 4 + k % 4;
        let bytes = (0..self.inner).map(|k| self.bytes[place(k)]);
        (bytes.collect(), self.scale[j])
    }
}

/// Bytes that start on a cache line.
struct ByteLines(Buffer);

impl ByteLines {
    fn zeros(len: usize) -> Self {
        let mut buffer = Buffer::default();
        buffer.at_least(len.div_ceil(4));
        Self(buffer)
    }
}

impl std::ops::Deref for ByteLines {
    type Target = [i8];

    fn deref(&self) -> &[i8] {
        // SAFETY: the same memory as bytes, which have no invalid values; all of it is initialised.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 4 * self.0.len()) }
    }
}

impl std::ops::DerefMut for ByteLines {
    fn deref_mut(&mut self) -> &mut [i8] {
        // SAFETY: as in `deref`; every pattern of bytes is a float, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 4 * self.0.len()) }
    }
}
