//! The matrix product of int8: as [`product`](super::product), on bytes four at a time.
//!
//! Sums are integers and so the same in any order; what follows is done to each element by itself. Rows are
//! independent of their neighbours as they are in f32.

use super::dots::Dots;
use super::lanes::Lanes;
use super::product::finish;

/// Columns of a panel, whatever the width of a vector: one layout for all implementations.
pub(super) const PANEL: usize = 32;

/// Weights are asked for this many bytes before they are needed: a query's few rows are done with a line of them sooner
/// than memory brings the next, and the processor's own guesses end with each page.
const AHEAD: usize = 4096;

/// A product of bytes and what happens to it on its way out. The pointers' extents are promised by
/// [`super::Int8::product`].
pub(super) struct Product8 {
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Bytes of a row of `a` and of a column of `b`: a multiple of 64.
    pub(super) inner: usize,
    /// `rows × inner`.
    pub(super) a: *const u8,
    /// Scale and lowest value of each row of `a`: an activation is `byte · scale + lowest`.
    pub(super) a_scale: *const f32,
    pub(super) a_lowest: *const f32,
    /// Panels of [`PANEL`] columns: `inner / 4` lines of four bytes of each column.
    pub(super) b: *const i8,
    /// For each column, padded to whole panels: its scale, the sum of its weights, its bias.
    pub(super) b_scale: *const f32,
    pub(super) b_sum: *const f32,
    pub(super) bias: *const f32,
    /// The same sums as integers, before they are scaled.
    pub(super) b_whole_sum: *const i32,
    /// `rows × cols` with this distance between rows.
    pub(super) out: *mut f32,
    pub(super) out_stride: usize,
    /// Apply GELU last.
    pub(super) gelu: bool,
}

/// # Safety
///
/// The processor has the features of `D`, and the pointers of `p` reach as far as its sizes say.
#[inline(always)]
pub(super) unsafe fn product8<D: Dots>(p: &Product8) {
    let step = 2 * D::Lanes::WIDTH;
    // Tiles of even height: a last one of a row or two would wait for its own sums.
    let tiles = p.rows.div_ceil(D::ROWS).max(1);
    let height = p.rows.div_ceil(tiles).max(1);
    for first_col in (0..p.cols).step_by(step) {
        let b =
            p.b.add((first_col - first_col % PANEL) * p.inner + 4 * (first_col % PANEL));
        for first_row in (0..p.rows).step_by(height) {
            let at = At {
                b,
                first_row,
                first_col,
            };
            match height.min(p.rows - first_row) {
                1 => tile::<D, 1>(p, &at),
                2 => tile::<D, 2>(p, &at),
                3 => tile::<D, 3>(p, &at),
                4 => tile::<D, 4>(p, &at),
                5 => tile::<D, 5>(p, &at),
                6 => tile::<D, 6>(p, &at),
                7 => tile::<D, 7>(p, &at),
                8 => tile::<D, 8>(p, &at),
                9 => tile::<D, 9>(p, &at),
                10 => tile::<D, 10>(p, &at),
                11 => tile::<D, 11>(p, &at),
                _ => tile::<D, 12>(p, &at),
            }
        }
    }
}

/// Which tile.
struct At {
    b: *const i8,
    first_row: usize,
    first_col: usize,
}

/// # Safety
///
/// As [`product8`]; `at` lies inside it and has `ROWS` rows.
#[inline(always)]
unsafe fn tile<D: Dots, const ROWS: usize>(p: &Product8, at: &At) {
    if ROWS > D::ROWS {
        return; // never asked for; keeps the compiler from writing tiles that do not fit the registers
    }
    let mut a = p.a.add(at.first_row * p.inner);
    let mut b = at.b;
    let whole = p.b_whole_sum.add(at.first_col);
    let begin = [D::begin(whole), D::begin(whole.add(D::Lanes::WIDTH))];
    let mut sums = [begin; ROWS];
    let first = at.first_row == 0;
    for _ in 0..p.inner / 4 {
        if first {
            D::ask_for(b.wrapping_add(AHEAD));
        }
        let columns = [D::right(b), D::right(b.add(4 * D::Lanes::WIDTH))];
        b = b.add(4 * PANEL);
        for (row, sums) in sums.iter_mut().enumerate() {
            let x = D::left(a.add(row * p.inner));
            sums[0] = sums[0].dot(x, columns[0]);
            sums[1] = sums[1].dot(x, columns[1]);
        }
        a = a.add(4);
    }
    // A loop: `map` would be compiled without the vector instructions of its caller, a call for each register.
    let mut floats = [[D::Lanes::splat(0.0); 2]; ROWS];
    for (floats, sums) in floats.iter_mut().zip(sums) {
        *floats = [sums[0].floats(), sums[1].floats()];
    }
    scale_out(p, at.first_row, at.first_col, floats);
}

/// Turns integer sums into results and stores them: `(scale · sum + lowest · Σ weights) · weight scale + bias`.
///
/// # Safety
///
/// As [`product8`]; `ROWS` rows and two vectors of columns from the given place lie inside it or its padding.
#[inline(always)]
pub(super) unsafe fn scale_out<V: Lanes, const ROWS: usize>(
    p: &Product8,
    first_row: usize,
    first_col: usize,
    mut sums: [[V; 2]; ROWS],
) {
    for half in 0..2 {
        let col = first_col + half * V::WIDTH;
        let scale = V::load(p.b_scale.add(col));
        let sum = V::load(p.b_sum.add(col));
        let bias = V::load(p.bias.add(col));
        for (row, sums) in sums.iter_mut().enumerate() {
            let a_scale = V::splat(*p.a_scale.add(first_row + row));
            let a_lowest = V::splat(*p.a_lowest.add(first_row + row));
            let shift = a_lowest.mul_add(sum, bias);
            sums[half] = sums[half].mul(scale).mul_add(a_scale, shift);
        }
    }
    let out = p.out.add(first_row * p.out_stride + first_col);
    let cols = (2 * V::WIDTH).min(p.cols - first_col);
    if cols == 2 * V::WIDTH {
        finish(&sums, out, p.out_stride, p.gelu);
    } else {
        // The last panel may be wider than the result: go through a buffer and copy what exists.
        let mut buffer = [0.0f32; 12 * 32];
        finish(&sums, buffer.as_mut_ptr(), 2 * V::WIDTH, p.gelu);
        for row in 0..ROWS {
            let from = buffer.as_ptr().add(row * 2 * V::WIDTH);
            std::ptr::copy_nonoverlapping(from, out.add(row * p.out_stride), cols);
        }
    }
}

/// Quantises a row to bytes and returns its scale and lowest value. Bytes behind `len` are left alone.
///
/// # Safety
///
/// The processor has the features of `V`; `row` reaches `len` floats, `out` as many bytes.
#[inline(always)]
pub(super) unsafe fn quantise<V: Lanes>(row: *const f32, len: usize, out: *mut u8) -> (f32, f32) {
    // Adding 1.5·2²³ rounds to an integer, which then stands in the lowest byte of the sum.
    const ROUND: f32 = 12_582_912.0;
    let whole = len - len % V::WIDTH;
    let (mut lowest, mut highest) = (f32::MAX, f32::MIN);
    if whole > 0 {
        let zero = V::splat(0.0);
        let mut high = V::load(row);
        let mut low = zero.sub(high); // the largest of the negated values is the lowest
        for i in (V::WIDTH..whole).step_by(V::WIDTH) {
            let x = V::load(row.add(i));
            high = high.max(x);
            low = low.max(zero.sub(x));
        }
        (lowest, highest) = (-low.largest(), high.largest());
    }
    for i in whole..len {
        lowest = lowest.min(*row.add(i));
        highest = highest.max(*row.add(i));
    }
    let scale = (highest - lowest) / 255.0;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    for i in (0..whole).step_by(V::WIDTH) {
        let x = V::load(row.add(i)).sub(V::splat(lowest));
        x.mul_add(V::splat(inverse), V::splat(ROUND))
            .store_low_bytes(out.add(i));
    }
    for i in whole..len {
        let x = (*row.add(i) - lowest) * inverse + ROUND;
        *out.add(i) = x.to_bits() as u8;
    }
    (scale, lowest)
}
