//! Functions of single vectors and of rows.

use super::lanes::Lanes;

/// `e^x` for `x ≤ 88`, to about one part in 10⁷; results below 10⁻³⁸ come out as 10⁻³⁸.
///
/// `x = n·ln 2 + r` with `|r| ≤ ln 2 / 2`; `e^r` is a polynomial and `2^n` is put together from bits.
///
/// # Safety
///
/// The processor has the features of `V`.
#[inline(always)]
pub(super) unsafe fn exp<V: Lanes>(x: V) -> V {
    // Adding 1.5·2²³ rounds to an integer, which then stands in the lowest bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(V::splat(-87.0));
    let shifted = x.mul_add(V::splat(std::f32::consts::LOG2_E), V::splat(ROUND));
    let n = shifted.sub(V::splat(ROUND));
    // ln 2 in two parts, the first of few bits, so that n times it is exact.
    let r = n.mul_add(V::splat(-0.693_359_4), x);
    let r = n.mul_add(V::splat(2.121_944_4e-4), r);
    let mut p = V::splat(1.0 / 720.0);
    for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p.mul_add(r, V::splat(c));
    }
    p.mul(shifted.exp2_of_low_bits())
}

/// `x·Φ(x)`, the exact GELU, to 2·10⁻⁷ times `|x|`.
///
/// With `P = erfc(|x|/√2)` it is `max(x, 0) − |x|·P/2`. For `P`: Abramowitz and Stegun, formula 7.1.26.
///
/// # Safety
///
/// The processor has the features of `V`.
#[inline(always)]
pub(super) unsafe fn gelu<V: Lanes>(x: V) -> V {
    let zero = V::splat(0.0);
    let magnitude = x.max(zero.sub(x));
    let y = magnitude.mul(V::splat(std::f32::consts::FRAC_1_SQRT_2));
    let t = V::splat(1.0).div(y.mul_add(V::splat(0.327_591_1), V::splat(1.0)));
    let mut p = V::splat(1.061_405_4);
    for c in [-1.453_152_1, 1.421_413_8, -0.284_496_74, 0.254_829_6] {
        p = p.mul_add(t, V::splat(c));
    }
    let tail = p.mul(t).mul(exp(zero.sub(y.mul(y))));
    magnitude.mul(V::splat(-0.5)).mul_add(tail, x.max(zero))
}

/// Replaces scores by `e^(score − largest)` and returns the sum of these. `len` is a multiple of the width;
/// what lies between the true end and `len` must be very negative.
///
/// # Safety
///
/// The processor has the features of `V`; `row` has `len` floats.
#[inline(always)]
pub(super) unsafe fn softmax<V: Lanes>(row: *mut f32, len: usize) -> f32 {
    let mut largest = V::load(row);
    for i in (V::WIDTH..len).step_by(V::WIDTH) {
        largest = largest.max(V::load(row.add(i)));
    }
    let largest = V::splat(largest.largest());
    let mut sum = V::splat(0.0);
    for i in (0..len).step_by(V::WIDTH) {
        let e = exp(V::load(row.add(i)).sub(largest));
        e.store(row.add(i));
        sum = sum.add(e);
    }
    sum.sum()
}

/// `out = norm(out + other) · weight + bias` over one row.
///
/// # Safety
///
/// The processor has the features of `V`; all pointers reach `len` floats.
#[inline(always)]
pub(super) unsafe fn add_norm<V: Lanes>(
    out: *mut f32,
    other: *const f32,
    weight: *const f32,
    bias: *const f32,
    len: usize,
    epsilon: f32,
) {
    let whole = len - len % V::WIDTH;
    let mut sums = V::splat(0.0);
    for i in (0..whole).step_by(V::WIDTH) {
        let x = V::load(out.add(i)).add(V::load(other.add(i)));
        x.store(out.add(i));
        sums = sums.add(x);
    }
    let mut sum = sums.sum();
    for i in whole..len {
        *out.add(i) += *other.add(i);
        sum += *out.add(i);
    }
    let mean = sum / len as f32;
    let mut squares = V::splat(0.0);
    for i in (0..whole).step_by(V::WIDTH) {
        let x = V::load(out.add(i)).sub(V::splat(mean));
        squares = x.mul_add(x, squares);
    }
    let mut square = squares.sum();
    for i in whole..len {
        let x = *out.add(i) - mean;
        square += x * x;
    }
    let scale = 1.0 / (square / len as f32 + epsilon).sqrt();
    for i in (0..whole).step_by(V::WIDTH) {
        let x = V::load(out.add(i)).sub(V::splat(mean)).mul(V::splat(scale));
        x.mul_add(V::load(weight.add(i)), V::load(bias.add(i)))
            .store(out.add(i));
    }
    for i in whole..len {
        *out.add(i) = (*out.add(i) - mean) * scale * *weight.add(i) + *bias.add(i);
    }
}
