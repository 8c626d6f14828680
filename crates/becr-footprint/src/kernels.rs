//! The RBF kernels: μ, σ, and what is precomputed from them.

use crate::Error;

/// The most kernels an engine takes.
pub const MAX_KERNELS: usize = 32;

/// Kernels narrower than this are evaluated token by token: a parabola per bin no longer follows them.
const NARROWEST_BINNED: f32 = 0.08;

/// Bins over [−1, 1): the high byte of a similarity in units of 2⁻¹⁵.
pub(crate) const BINS: usize = 256;

/// `K` kernels: the pooled feature of kernel `k` is `ln(ε + Σ_j exp(−(c_j − μ_k)² / (2·σ_k²)))` over the
/// similarities `c_j` of a query term to the document's tokens.
#[derive(Debug, Clone)]
pub struct Kernels {
    mu: Vec<f32>,
    sigma: Vec<f32>,
    epsilon: f32,
    /// `[kernel][coefficient 0..3][bin]`: within a bin, a kernel is a parabola in the low byte.
    parabolas: Vec<[[f32; BINS]; 3]>,
    /// Kernels too narrow for parabolas.
    narrow: Vec<usize>,
}

impl Kernels {
    /// The guard of the logarithm when none is given.
    pub const DEFAULT_EPSILON: f32 = 1e-10;

    /// Kernels with centres `mu` and widths `sigma`; `epsilon` guards the logarithm of an empty sum.
    pub fn new(mu: Vec<f32>, sigma: Vec<f32>, epsilon: f32) -> Result<Self, Error> {
        Error::check_length(
            "kernel widths σ, as many as centres μ",
            mu.len(),
            sigma.len(),
        )?;
        if mu.is_empty() || mu.len() > MAX_KERNELS {
            return Err(Error::KernelCount { found: mu.len() });
        }
        for (kernel, (&mu, &sigma)) in mu.iter().zip(&sigma).enumerate() {
            if !mu.is_finite() || !sigma.is_normal() || sigma < 0.0 {
                return Err(Error::Kernel { kernel, mu, sigma });
            }
        }
        if !epsilon.is_normal() || epsilon < 0.0 {
            return Err(Error::Epsilon { found: epsilon });
        }
        let parabolas = mu
            .iter()
            .zip(&sigma)
            .map(|(&m, &s)| parabolas(m, s))
            .collect();
        let narrow = (0..sigma.len())
            .filter(|&k| Self::is_narrow(sigma[k]))
            .collect();
        Ok(Self {
            mu,
            sigma,
            epsilon,
            parabolas,
            narrow,
        })
    }

    /// The paper's eleven kernels: μ = −0.9, −0.7 … 0.9 and 1.0, σ = 0.1.
    #[must_use]
    pub fn paper() -> Self {
        let mu = (0..10_u8)
            .map(|i| f32::from(i) * 0.2 - 0.9)
            .chain([1.0])
            .collect();
        Self::new(mu, vec![0.1; 11], Self::DEFAULT_EPSILON).expect("the paper's kernels are valid")
    }

    /// The number of kernels.
    #[must_use]
    pub fn len(&self) -> usize {
        self.mu.len()
    }

    /// False: there is at least one kernel.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mu.is_empty()
    }

    /// The centres.
    #[must_use]
    pub fn mu(&self) -> &[f32] {
        &self.mu
    }

    /// The widths.
    #[must_use]
    pub fn sigma(&self) -> &[f32] {
        &self.sigma
    }

    /// The guard of the logarithm.
    #[must_use]
    pub fn epsilon(&self) -> f32 {
        self.epsilon
    }

    pub(crate) fn parabolas(&self) -> &[[[f32; BINS]; 3]] {
        &self.parabolas
    }

    pub(crate) fn is_narrow(sigma: f32) -> bool {
        sigma < NARROWEST_BINNED
    }

    pub(crate) fn narrow(&self) -> &[usize] {
        &self.narrow
    }
}

/// For every bin the parabola `a + b·x + c·x²` through the kernel at the bin's three Chebyshev nodes, where `x` in
/// 0..=255 is the low byte of the similarity.
fn parabolas(mu: f32, sigma: f32) -> [[f32; BINS]; 3] {
    let kernel = |c: f64| {
        let z = (c - f64::from(mu)) / f64::from(sigma);
        (-0.5 * z * z).exp()
    };
    let reach = 127.5 * (std::f64::consts::PI / 6.0).cos();
    let mut coefficients = [[0.0; BINS]; 3];
    for bin in 0..BINS {
        let centre = 256.0 * bin as f64 + 127.5;
        let at = |x: f64| kernel((centre + x - 32768.0) / 32768.0);
        let (left, middle, right) = (at(-reach), at(0.0), at(reach));
        let slope = (right - left) / (2.0 * reach);
        let bend = (right - 2.0 * middle + left) / (2.0 * reach * reach);
        // From powers of (x − 127.5) to powers of x.
        coefficients[0][bin] = (middle - 127.5 * slope + 127.5 * 127.5 * bend) as f32;
        coefficients[1][bin] = (slope - 255.0 * bend) as f32;
        coefficients[2][bin] = bend as f32;
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_kernels_are_refused() {
        let kernels = |mu: &[f32], sigma: &[f32]| Kernels::new(mu.into(), sigma.into(), 1e-10);
        assert!(matches!(
            kernels(&[], &[]),
            Err(Error::KernelCount { found: 0 })
        ));
        assert!(matches!(
            kernels(&[0.0; 33], &[0.1; 33]),
            Err(Error::KernelCount { found: 33 })
        ));
        assert!(kernels(&[0.0, 1.0], &[0.1]).is_err());
        for sigma in [0.0, -0.1, f32::NAN, f32::INFINITY] {
            assert!(matches!(
                kernels(&[0.0], &[sigma]),
                Err(Error::Kernel { kernel: 0, .. })
            ));
        }
        assert!(kernels(&[f32::NAN], &[0.1]).is_err());
        assert!(Kernels::new(vec![0.0], vec![0.1], 0.0).is_err());
        assert!(kernels(&[0.0; 32], &[0.1; 32]).is_ok());
    }

    #[test]
    fn parabolas_follow_the_kernel_wherever_it_exceeds_the_guard() {
        for (mu, sigma, tolerance) in [(0.3, 0.1, 1e-3), (1.0, 0.08, 2.5e-3), (-0.2, 0.5, 2e-5)] {
            let table = parabolas(mu, sigma);
            for v in 0..65536_i32 {
                let c = f64::from(v - 32768) / 32768.0;
                let z = (c - f64::from(mu)) / f64::from(sigma);
                let exact = (-0.5 * z * z).exp();
                let (bin, x) = ((v >> 8) as usize, (v & 255) as f32);
                let close = table[0][bin] + x * (table[1][bin] + x * table[2][bin]);
                let error = (f64::from(close) - exact).abs();
                assert!(
                    error <= tolerance * exact.max(1e-10),
                    "{mu} {sigma} {c}: {close} {exact}"
                );
            }
        }
    }
}
