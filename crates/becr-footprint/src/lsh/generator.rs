//! The fixed stream of Gaussian numbers behind a seed. Never change it: stored footprints depend on it.

use becr_basics::SplitMix64;

/// SplitMix64 feeding Marsaglia's polar method, with a logarithm of our own, since the platform's may differ
/// in the last bit from one C library to the next.
pub(super) struct Gaussian {
    random: SplitMix64,
    spare: Option<f64>,
}

impl Gaussian {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            spare: None,
        }
    }

    /// The next standard normal number.
    pub(super) fn sample(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (self.symmetric(), self.symmetric());
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let scale = (-2.0 * ln(square) / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Uniform in [−1, 1), a multiple of 2⁻⁵².
    fn symmetric(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 52) as f64) - 1.0
    }
}

/// Natural logarithm of a positive normal number, from exactly rounded operations only:
/// `ln(m·2^e) = e·ln 2 + 2·atanh((m − 1)/(m + 1))` with `m` in [√½, √2).
fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & MANTISSA) | (1023 << 52));
    if mantissa >= std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    // Σ t^(2i) / (2i + 1); |t| ≤ 0.172, so that the first term left out is below 1e-19.
    let series = (0..=11)
        .rev()
        .fold(0.0, |sum, i| sum * t2 + 1.0 / f64::from(2 * i + 1));
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * t * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_agrees_with_the_platform() {
        for x in [
            1e-30, 1e-3, 0.1, 0.5, 0.707, 0.708, 0.999_999, 1.0, 1.4, 2.0, 1e10,
        ] {
            let (ours, theirs) = (ln(x), f64::ln(x));
            assert!(
                (ours - theirs).abs() <= 4e-16 * theirs.abs().max(1.0),
                "{x}: {ours} {theirs}"
            );
        }
    }

    #[test]
    fn moments_are_those_of_the_standard_normal() {
        let mut gaussian = Gaussian::new(1);
        let n = 200_000;
        let (mut sum, mut squares, mut fourth) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let x = gaussian.sample();
            sum += x;
            squares += x * x;
            fourth += x * x * x * x;
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 0.01);
        assert!((squares / n - 1.0).abs() < 0.015);
        assert!((fourth / n - 3.0).abs() < 0.1);
    }

    #[test]
    fn the_stream_is_fixed() {
        let mut gaussian = Gaussian::new(42);
        let first: Vec<u64> = (0..4).map(|_| gaussian.sample().to_bits()).collect();
        assert_eq!(
            first,
            [
                4602551829477310604,
                13827798303728586361,
                13831820315493957524,
                13829667761681426350
            ]
        );
    }
}
