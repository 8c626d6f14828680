//! Memory for the kernels: buffers on cache-line boundaries, and matrices in panels.

use super::Simd;

/// Columns of the widest panel.
const MOST_COLUMNS: usize = 32;

/// One cache line, one AVX-512 register.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// Floats that start on a cache line, so that no vector load straddles two.
#[derive(Clone, Default)]
pub(crate) struct Buffer(Vec<Line>);

impl Buffer {
    /// At least `len` floats, zeros at first use and whatever was there before after that.
    pub(crate) fn at_least(&mut self, len: usize) -> &mut [f32] {
        let lines = len.div_ceil(16);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0.0; 16]));
        }
        self
    }
}

impl std::ops::Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: a `Line` is sixteen floats without padding, so `n` lines are `16 n` floats in a row.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 16 * self.0.len()) }
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 16 * self.0.len()) }
    }
}

/// The second factor of a product, `inner × cols`, cut into panels of a few columns each, in the order in which the
/// product reads it. The last panel is filled up with zeros.
#[derive(Clone, Default)]
pub(crate) struct Panels {
    data: Buffer,
    bias: Option<Buffer>,
    inner: usize,
    cols: usize,
    panel: usize,
}

impl Panels {
    /// The transpose of rows: `rows` yields the columns of the second factor, each of `inner` floats.
    pub(crate) fn from_columns<'a>(
        simd: Simd,
        inner: usize,
        rows: impl ExactSizeIterator<Item = &'a [f32]>,
    ) -> Self {
        let mut panels = Self::default();
        panels.set_columns(simd, inner, rows);
        panels
    }

    /// Adds a bias to every column of the product.
    pub(crate) fn with_bias(mut self, bias: &[f32]) -> Self {
        assert_eq!(bias.len(), self.cols, "one bias per column");
        let mut padded = Buffer::default();
        padded.at_least(self.cols.next_multiple_of(self.panel))[..bias.len()].copy_from_slice(bias);
        self.bias = Some(padded);
        self
    }

    /// Takes new values, reusing memory. `columns` yields the columns of the second factor.
    pub(crate) fn set_columns<'a>(
        &mut self,
        simd: Simd,
        inner: usize,
        mut columns: impl ExactSizeIterator<Item = &'a [f32]>,
    ) {
        self.resize(simd, inner, columns.len());
        let panel = self.panel;
        let mut group: [&[f32]; MOST_COLUMNS] = [&[]; MOST_COLUMNS];
        for data in self.data[..self.cols.next_multiple_of(panel) * inner]
            .chunks_exact_mut((panel * inner).max(1))
        {
            let mut count = 0;
            for (slot, column) in group[..panel].iter_mut().zip(columns.by_ref()) {
                *slot = column;
                count += 1;
            }
            // Row by row, so that the writes are in order: this runs for every head's keys.
            for (k, row) in data.chunks_exact_mut(panel).enumerate() {
                row.iter_mut()
                    .zip(&group[..count])
                    .for_each(|(to, column)| *to = column[k]);
            }
        }
    }

    /// Takes new values, reusing memory. `rows` yields the rows of the second factor, each of `cols` floats.
    pub(crate) fn set_rows<'a>(
        &mut self,
        simd: Simd,
        cols: usize,
        rows: impl ExactSizeIterator<Item = &'a [f32]>,
    ) {
        let inner = rows.len();
        self.resize(simd, inner, cols);
        let panel = self.panel;
        for (k, row) in rows.enumerate() {
            for (p, part) in row[..cols].chunks(panel).enumerate() {
                self.data[(p * inner + k) * panel..][..part.len()].copy_from_slice(part);
            }
        }
    }

    fn resize(&mut self, simd: Simd, inner: usize, cols: usize) {
        self.panel = simd.panel();
        self.bias = None; // it belonged to the old columns
        (self.inner, self.cols) = (inner, cols);
        let whole = (cols / self.panel) * self.panel * inner;
        let padded = cols.next_multiple_of(self.panel) * inner;
        // Old values in the padding would be harmless, but NaNs among them would cost time.
        self.data.at_least(padded)[whole..padded].fill(0.0);
    }

    pub(crate) fn inner(&self) -> usize {
        self.inner
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn panel(&self) -> usize {
        self.panel
    }

    pub(crate) fn data(&self) -> &[f32] {
        &self.data
    }

    pub(crate) fn bias(&self) -> Option<&[f32]> {
        self.bias.as_deref()
    }
}
