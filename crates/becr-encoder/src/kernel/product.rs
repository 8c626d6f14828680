//! The matrix product: a tile of `ROWS × 2` vectors of the result stays in registers while the inner dimension
//! runs from first to last. Every element is summed in that one order, whatever rows it is computed with: this is
//! what makes footprints independent of batches and threads.

use super::lanes::Lanes;
use super::math::gelu;

/// A product and what happens to it on its way out. The pointers' extents are promised by [`super::Simd::product`].
pub(super) struct Product {
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) cols: usize,
    /// `rows × inner` with this distance between rows.
    pub(super) a: *const f32,
    pub(super) a_stride: usize,
    /// Panels of `2 · WIDTH` columns, each `inner` rows long.
    pub(super) b: *const f32,
    /// `rows × cols` with this distance between rows.
    pub(super) out: *mut f32,
    pub(super) out_stride: usize,
    /// Added to each column, or null. Padded to whole panels.
    pub(super) bias: *const f32,
    /// Multiplied with each row, or null.
    pub(super) row_scale: *const f32,
    /// Apply GELU last.
    pub(super) gelu: bool,
}

/// # Safety
///
/// The processor has the features of `V`, and the pointers of `p` reach as far as its sizes say.
#[inline(always)]
pub(super) unsafe fn product<V: Lanes>(p: &Product) {
    let panel = 2 * V::WIDTH;
    for first_col in (0..p.cols).step_by(panel) {
        let b = p.b.add(first_col * p.inner);
        let cols = panel.min(p.cols - first_col);
        for first_row in (0..p.rows).step_by(V::ROWS) {
            let at = At {
                b,
                first_row,
                first_col,
                cols,
            };
            match V::ROWS.min(p.rows - first_row) {
                1 => tile::<V, 1>(p, &at),
                2 => tile::<V, 2>(p, &at),
                3 => tile::<V, 3>(p, &at),
                4 => tile::<V, 4>(p, &at),
                5 => tile::<V, 5>(p, &at),
                6 => tile::<V, 6>(p, &at),
                7 => tile::<V, 7>(p, &at),
                8 => tile::<V, 8>(p, &at),
                9 => tile::<V, 9>(p, &at),
                10 => tile::<V, 10>(p, &at),
                11 => tile::<V, 11>(p, &at),
                _ => tile::<V, 12>(p, &at),
            }
        }
    }
}

/// Which tile.
struct At {
    b: *const f32,
    first_row: usize,
    first_col: usize,
    cols: usize,
}

/// # Safety
///
/// As [`product`]; `at` lies inside it and has `ROWS` rows.
#[inline(always)]
unsafe fn tile<V: Lanes, const ROWS: usize>(p: &Product, at: &At) {
    if ROWS > V::ROWS {
        return; // never asked for; keeps the compiler from writing tiles that do not fit the registers
    }
    let a = p.a.add(at.first_row * p.a_stride);
    let mut sums = [[V::splat(0.0); 2]; ROWS];
    let mut b = at.b;
    for k in 0..p.inner {
        let columns = [V::load(b), V::load(b.add(V::WIDTH))];
        b = b.add(2 * V::WIDTH);
        for (row, sums) in sums.iter_mut().enumerate() {
            let x = V::splat(*a.add(row * p.a_stride + k));
            sums[0] = x.mul_add(columns[0], sums[0]);
            sums[1] = x.mul_add(columns[1], sums[1]);
        }
    }
    if !p.bias.is_null() {
        let bias = p.bias.add(at.first_col);
        let bias = [V::load(bias), V::load(bias.add(V::WIDTH))];
        for sums in &mut sums {
            *sums = [sums[0].add(bias[0]), sums[1].add(bias[1])];
        }
    }
    if !p.row_scale.is_null() {
        for (row, sums) in sums.iter_mut().enumerate() {
            let scale = V::splat(*p.row_scale.add(at.first_row + row));
            *sums = [sums[0].mul(scale), sums[1].mul(scale)];
        }
    }
    let out = p.out.add(at.first_row * p.out_stride + at.first_col);
    if at.cols == 2 * V::WIDTH {
        finish(&sums, out, p.out_stride, p.gelu);
    } else {
        // The last panel may be wider than the result: go through a buffer and copy what exists.
        let mut buffer = [0.0f32; 12 * 32];
        finish(&sums, buffer.as_mut_ptr(), 2 * V::WIDTH, p.gelu);
        for row in 0..ROWS {
            let from = buffer.as_ptr().add(row * 2 * V::WIDTH);
            std::ptr::copy_nonoverlapping(from, out.add(row * p.out_stride), at.cols);
        }
    }
}

/// # Safety
///
/// `out` has room for `ROWS` rows of two vectors at the given distance.
#[inline(always)]
pub(super) unsafe fn finish<V: Lanes, const ROWS: usize>(
    sums: &[[V; 2]; ROWS],
    out: *mut f32,
    stride: usize,
    with_gelu: bool,
) {
    for (row, sums) in sums.iter().enumerate() {
        let out = out.add(row * stride);
        sums[0].store(out);
        sums[1].store(out.add(V::WIDTH));
    }
    if with_gelu {
        // From memory, not from the registers: a loop instead of two dozen copies of the polynomial.
        for row in 0..ROWS {
            let out = out.add(row * stride);
            gelu(V::load(out)).store(out);
            let out = out.add(V::WIDTH);
            gelu(V::load(out)).store(out);
        }
    }
}
