//! Pooling by moments: over a window that most similarities lie in, every kernel is a polynomial.
//!
//! The similarities of a term to a document's tokens mostly lie close together. On a window of that width a polynomial of
//! degree 10 to 16 follows a kernel to within three thousandths of its largest value there. The kernel's sum over the
//! tokens in the window is then a weighted sum of the sums of their powers, which vector units add up many tokens at a time.
//! The few tokens outside are computed one by one: a kernel far from the window sees hardly any others. Windows are chosen
//! such that there are tokens outside on either side, or none far away; these few alone are much next to the error of the
//! polynomials, unless nearly all other tokens are the same.
//!
//! On wide windows the coefficients of powers are so large that the rounding of powers would show. There the sums are those of products
//! of Chebyshev polynomials, `T_i²` and `T_i·T_{i+1}`: twice of these is `T_{2i} + 1` and `T_{2i+1} + T₁`.

// Only AVX-512 works with this, but its tests run anywhere.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

use crate::kernels::LANES;
use crate::tile::MAX_WIDTH;
use std::f64::consts::PI;
use std::sync::{LazyLock, OnceLock};

/// The highest degree of the polynomials.
pub(crate) const DEGREE: usize = 16;
/// Windows begin and end at multiples of this, in units of 2⁻¹⁵, so that there are few enough to keep their polynomials.
const STEP: i32 = 256;
/// The highest degree for which sums are those of powers; beyond, of products of Chebyshev polynomials.
pub(crate) const HIGHEST_POWER: usize = 12;
/// Degrees, each with the largest radius of a window on which polynomials of that degree follow a kernel, in widths σ of
/// the kernel.
const REACHES: [(usize, f32); 3] = [(10, 1.45), (HIGHEST_POWER, 1.8), (DEGREE, 2.8)];
/// The edge of a window as a number of 14 fractional bits, a little below 1, so that twice of it fits 16 bits.
const EDGE: i32 = 16_220;
/// What the product of two numbers of 12 fractional bits must be divided by.
const UNIT: f64 = (1 << 24) as f64;

/// Similarities around a centre, in units of 2⁻¹⁵.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) centre: i16,
    pub(crate) radius: u16,
    /// Places left to shift a distance from the centre by, and what to multiply it with then, as numbers of 15
    /// fractional bits are: that makes the polynomials' argument, with 14 fractional bits.
    pub(crate) shift: u32,
    pub(crate) factor: i16,
    /// The degree of its polynomials.
    pub(crate) degree: usize,
}

impl Window {
    /// The smallest one that holds the similarities from `low` to `high`, if there is one.
    fn around([low, high]: [i16; 2]) -> Option<Self> {
        let (low, high) = (i32::from(low), i32::from(high));
        let centre = ((low + high) / 2 + STEP / 2).div_euclid(STEP) * STEP;
        let radius = (high - centre).max(centre - low).max(1);
        let radius = (radius + STEP - 1) / STEP * STEP;
        // Distances from the window's ends and centre must fit 16 bits.
        let fits = centre - radius >= i32::from(i16::MIN)
            && centre + radius <= i32::from(i16::MAX)
            && radius <= i32::from(i16::MAX) / 2;
        fits.then(|| {
            let shift = (radius as u16).leading_zeros() - 1;
            Self {
                centre: centre as i16,
                radius: radius as u16,
                shift,
                factor: ((EDGE << 15) / (radius << shift)) as i16,
                degree: DEGREE,
            }
        })
    }

    /// The distance from the centre whose argument is 1.
    fn unit(self) -> f64 {
        f64::from(1 << 29) / (f64::from(self.factor) * f64::from(1 << self.shift))
    }

    fn steps(self) -> usize {
        usize::from(self.radius) / STEP as usize
    }
}

/// A number for each of sixteen kernels.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct PerKernel(pub(crate) [f32; LANES]);

/// What the number of tokens in a window and the sums of their powers are multiplied with to make sums of kernels.
#[derive(Debug, Clone)]
pub(crate) struct Polynomials {
    rows: Vec<[PerKernel; TERMS]>,
}

/// Coefficients of a polynomial.
pub(crate) const TERMS: usize = DEGREE + 1;

impl Polynomials {
    fn new(window: Window, kernels: &[Option<(f32, f32)>]) -> Self {
        let lanes = |kernels: &[Option<(f32, f32)>]| {
            let mut rows = [PerKernel([0.0; LANES]); TERMS];
            for (lane, kernel) in kernels.iter().enumerate() {
                let Some((mu, sigma)) = *kernel else { continue };
                let coefficients = coefficients(window, f64::from(mu), f64::from(sigma));
                for (row, coefficient) in rows.iter_mut().zip(coefficients) {
                    row.0[lane] = coefficient as f32;
                }
            }
            rows
        };
        Self {
            rows: kernels.chunks(LANES).map(lanes).collect(),
        }
    }

    /// The coefficients of sixteen kernels at a time, by power.
    pub(crate) fn rows(&self) -> &[[PerKernel; TERMS]] {
        &self.rows
    }
}

/// Places in a window where a polynomial is fitted to its kernel.
const NODES: usize = 32;

/// The values of Chebyshev polynomials there.
static CHEBYSHEV: LazyLock<[[f64; TERMS]; NODES]> = LazyLock::new(|| {
    std::array::from_fn(|node| {
        let angle = (node as f64 + 0.5) * PI / NODES as f64;
        std::array::from_fn(|p| (p as f64 * angle).cos())
    })
});

/// The coefficients of a kernel's polynomial, for powers or products in units of [`UNIT`].
fn coefficients(window: Window, mu: f64, sigma: f64) -> [f64; TERMS] {
    let mut chebyshev = [0.0; TERMS];
    for values in CHEBYSHEV.iter() {
        let c = (f64::from(window.centre) + window.unit() * values[1]) / 32768.0;
        let kernel = (-0.5 * ((c - mu) / sigma).powi(2)).exp();
        for (coefficient, value) in chebyshev[..=window.degree].iter_mut().zip(values) {
            *coefficient += 2.0 / NODES as f64 * kernel * value;
        }
    }
    chebyshev[0] /= 2.0;
    let mut coefficients = if window.degree <= HIGHEST_POWER {
        of_powers(chebyshev)
    } else {
        of_products(chebyshev)
    };
    coefficients[1..].iter_mut().for_each(|c| *c /= UNIT);
    coefficients
}

/// From Chebyshev polynomials, T₀ = 1, T₁ = x and T_{i+1} = 2x·T_i − T_{i−1}, to powers.
fn of_powers(chebyshev: [f64; TERMS]) -> [f64; TERMS] {
    let mut powers = [0.0; TERMS];
    let (mut before, mut this) = ([0.0; TERMS], [0.0; TERMS]);
    (before[1], this[0]) = (1.0, 1.0); // T₋₁ = T₁
    for coefficient in chebyshev {
        for (power, t) in powers.iter_mut().zip(this) {
            *power += coefficient * t;
        }
        let mut next = before.map(|t| -t);
        for i in 1..TERMS {
            next[i] += 2.0 * this[i - 1];
        }
        (before, this) = (this, next);
    }
    powers
}

/// From Chebyshev polynomials to products of two: T_i is twice such a product, less 1 or T₁.
fn of_products(mut chebyshev: [f64; TERMS]) -> [f64; TERMS] {
    for i in 2..TERMS {
        chebyshev[i % 2] -= chebyshev[i];
        chebyshev[i] *= 2.0;
    }
    chebyshev
}

/// The polynomials of all windows, made when first asked for.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// Centre and width of the kernels, of those that polynomials follow.
    kernels: Vec<Option<(f32, f32)>>,
    /// Degrees, and the widest radius of such a degree, in steps.
    reaches: [(usize, usize); REACHES.len()],
    /// `[centre][radius]`.
    known: Vec<OnceLock<Box<Polynomials>>>,
}

impl Windows {
    pub(crate) fn new(kernels: Vec<Option<(f32, f32)>>) -> Self {
        let narrowest = kernels.iter().flatten().map(|k| k.1).reduce(f32::min);
        // A radius of more than ½ does not fit a window, however wide the kernels.
        let steps = |reach: f32| {
            let widest = narrowest.map_or(0.0, |sigma| (reach * sigma).min(0.5));
            (widest * 32768.0) as usize / STEP as usize
        };
        let reaches = REACHES.map(|(degree, reach)| (degree, steps(reach)));
        let radii = reaches[REACHES.len() - 1].1;
        Self {
            known: vec![OnceLock::new(); radii * (65536 / STEP as usize)],
            kernels,
            reaches,
        }
    }

    /// The window around bounds, if polynomials follow the kernels on it.
    pub(crate) fn around(&self, bounds: [i16; 2]) -> Option<Window> {
        let window = Window::around(bounds)?;
        let allowed = |reach: &&(usize, usize)| window.steps() <= reach.1;
        let &(degree, _) = self.reaches.iter().find(allowed)?;
        Some(Window { degree, ..window })
    }

    /// The polynomials of a window that is allowed.
    pub(crate) fn polynomials(&self, window: Window) -> &Polynomials {
        let centre = ((i32::from(window.centre) - i32::from(i16::MIN)) / STEP) as usize;
        let radii = self.reaches[REACHES.len() - 1].1;
        self.known[centre * radii + window.steps() - 1]
            .get_or_init(|| Box::new(Polynomials::new(window, &self.kernels)))
    }
}

/// What a term's similarities to the tokens of a layer come to.
#[repr(C, align(64))]
pub(crate) struct Moments {
    /// Sums of powers or products, sixteen parts of each, if there are tokens.
    pub(crate) powers: [[i32; LANES]; DEGREE],
    /// Similarities outside of the window, the first `found` of them.
    pub(crate) outside: [i16; OUTSIDE],
    pub(crate) found: usize,
    /// Tokens that were added, inside and outside.
    pub(crate) tokens: usize,
    /// Lanes that were added as if there were a token at the window's centre: tokens outside, and lanes without a token.
    pub(crate) others: usize,
    /// None if the term is pooled in its histogram.
    pub(crate) window: Option<Window>,
}

/// Room for similarities outside: those of two tiles, and a register that is stored behind them.
pub(crate) const OUTSIDE: usize = 2 * MAX_WIDTH + 32;

/// Tokens that can be added before the sums of powers could overflow.
pub(crate) const ROOM: usize = 3 * MAX_WIDTH;

/// Fewest tokens for which moments are faster than a histogram.
pub(crate) const FEWEST: usize = 64;

impl Default for Moments {
    fn default() -> Self {
        Self {
            powers: [[0; LANES]; DEGREE],
            outside: [0; OUTSIDE],
            found: 0,
            tokens: 0,
            others: 0,
            window: None,
        }
    }
}

impl Moments {
    /// True if there may be no room for another tile.
    pub(crate) fn is_full(&self) -> bool {
        self.tokens > ROOM - MAX_WIDTH || self.found > MAX_WIDTH
    }

    /// Forgets all tokens; the sums begin anew with the next ones.
    pub(crate) fn clear(&mut self) {
        (self.found, self.tokens, self.others) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_hold_what_they_are_made_for(a in any::<i16>(), b in any::<i16>()) {
            let (low, high) = (a.min(b), a.max(b));
            if let Some(window) = Window::around([low, high]) {
                let (centre, radius) = (i32::from(window.centre), i32::from(window.radius));
                prop_assert!(centre - radius <= low.into() && centre + radius >= high.into());
                prop_assert!(2 * radius <= i32::from(high) - i32::from(low) + 3 * STEP);
                let edge = ((radius << window.shift) * i32::from(window.factor)) >> 15;
                prop_assert!((16_100..=16_220).contains(&edge), "{window:?}: {edge}");
            } else {
                prop_assert!(i32::from(high) - i32::from(low) > 30_000 || low < -32_000 || high > 32_000);
            }
        }
    }

    #[test]
    fn polynomials_follow_kernels() {
        for (low, high) in [
            (-4000, 4000),
            (0, 5000),
            (-9000, -3000),
            (12_000, 17_000),
            (-7000, 7000),
            (-8000, 9000),
        ] {
            let window = Windows::new(vec![Some((0.0, 0.1))]).around([low, high]);
            let window = window.expect("allowed");
            for mu in [-0.9, -0.3, 0.0, 0.1, 0.5, 1.0] {
                let kernel = |c: f64| (-0.5 * ((c - mu) / 0.1).powi(2)).exp();
                let coefficients = coefficients(window, mu, 0.1);
                let edges = [-1.0, 1.0].map(|side| {
                    let c = f64::from(window.centre) + side * f64::from(window.radius);
                    kernel(c / 32768.0)
                });
                // The largest value in the window.
                let within =
                    (mu * 32768.0 - f64::from(window.centre)).abs() < f64::from(window.radius);
                let largest = if within { 1.0 } else { edges[0].max(edges[1]) };
                for c in low..=high {
                    let x = f64::from(c - window.centre) / window.unit();
                    let t = |i: usize| (i as f64 * x.acos()).cos();
                    let term = |i: usize| match window.degree {
                        ..=HIGHEST_POWER => x.powi(i as i32),
                        _ => t(i / 2) * t(i - i / 2),
                    };
                    let sum: f64 = (1..TERMS).map(|i| coefficients[i] * term(i)).sum();
                    let sum = coefficients[0] + UNIT * sum;
                    let error = sum - kernel(f64::from(c) / 32768.0);
                    assert!(
                        error.abs() < 2e-3 * largest,
                        "{mu} {window:?} {c}: {error} of {largest}"
                    );
                }
            }
        }
    }

    #[test]
    fn wide_windows_are_not_allowed() {
        for ends in [
            [i16::MIN, i16::MAX],
            [i16::MIN, 0],
            [0, i16::MAX],
            [i16::MAX; 2],
            [i16::MIN; 2],
        ] {
            assert_eq!(Window::around(ends), None);
        }
        let windows = Windows::new(vec![Some((0.5, 0.1)), None, Some((0.0, 0.3))]);
        let degree = |radius: i16| {
            windows
                .around([-radius, radius])
                .map(|window| window.degree)
        };
        assert_eq!(
            [100, 4_600, 5_000, 6_000, 7_400, 8_900, 9_000].map(degree),
            [10, 10, 12, 16, 16, 16, 0].map(|degree| (degree > 0).then_some(degree))
        );
        assert_eq!(Windows::new(vec![None]).around([0, 10]), None);
    }
}
