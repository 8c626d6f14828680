//! The RBF kernels: μ, σ, and what is precomputed from them.

use crate::Error;
use crate::moments::{PerKernel, Windows};

/// The most kernels an engine takes.
pub const MAX_KERNELS: usize = 32;

/// Kernels narrower than this are evaluated token by token: a parabola per bin no longer follows them.
const NARROWEST_BINNED: f32 = 0.08;

/// Bins over [−1, 1): the high byte of a similarity in units of 2⁻¹⁵, so that negative ones come last.
pub(crate) const BINS: usize = 256;

/// Bins or kernels that are worked on side by side.
pub(crate) const LANES: usize = 16;

/// A kernel within each of sixteen bins: the parabola `a + b·x + c·x²` in the low byte `x` of the similarity.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Parabolas {
    pub(crate) a: [f32; LANES],
    pub(crate) b: [f32; LANES],
    pub(crate) c: [f32; LANES],
}

/// `K` kernels: the pooled feature of kernel `k` is `ln(ε + Σ_j exp(−(c_j − μ_k)² / (2·σ_k²)))` over the
/// similarities `c_j` of a query term to the document's tokens.
#[derive(Debug, Clone)]
pub struct Kernels {
    mu: Vec<f32>,
    sigma: Vec<f32>,
    epsilon: f32,
    /// `[chunk of bins][kernel]`, so that what is needed together lies together.
    parabolas: Vec<Parabolas>,
    /// Kernels too narrow for parabolas.
    narrow: Vec<usize>,
    /// The others as polynomials.
    windows: Windows,
    /// All, sixteen at a time.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    sixteens: Vec<Sixteen>,
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
        let chunks = 0..BINS / LANES;
        let pairs = || mu.iter().zip(&sigma);
        let parabolas = chunks
            .flat_map(|chunk| pairs().map(move |(&m, &s)| Parabolas::new(m, s, chunk)))
            .collect();
        let narrow = (0..sigma.len())
            .filter(|&k| Self::is_narrow(sigma[k]))
            .collect();
        let wide: Vec<_> = pairs()
            .map(|(&mu, &sigma)| (!Self::is_narrow(sigma)).then_some((mu, sigma)))
            .collect();
        let sixteens = wide.chunks(LANES).map(Sixteen::new).collect();
        Ok(Self {
            windows: Windows::new(wide),
            sixteens,
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

    /// One per kernel, for a chunk of bins.
    #[inline(always)]
    pub(crate) fn parabolas(&self, chunk: usize) -> &[Parabolas] {
        &self.parabolas[chunk * self.len()..][..self.len()]
    }

    pub(crate) fn is_narrow(sigma: f32) -> bool {
        sigma < NARROWEST_BINNED
    }

    pub(crate) fn narrow(&self) -> &[usize] {
        &self.narrow
    }

    pub(crate) fn windows(&self) -> &Windows {
        &self.windows
    }

    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn sixteens(&self) -> &[Sixteen] {
        &self.sixteens
    }
}

/// Sixteen kernels side by side, or fewer.
#[derive(Debug, Clone)]
pub(crate) struct Sixteen {
    pub(crate) mu: PerKernel,
    /// `−½/σ²` for powers of two.
    pub(crate) scale: PerKernel,
    /// Those that are not too narrow.
    pub(crate) wide: u16,
}

impl Sixteen {
    fn new(kernels: &[Option<(f32, f32)>]) -> Self {
        let mut lanes = Self {
            mu: PerKernel([0.0; LANES]),
            scale: PerKernel([0.0; LANES]),
            wide: 0,
        };
        for (lane, kernel) in kernels.iter().enumerate() {
            if let Some((mu, sigma)) = *kernel {
                lanes.mu.0[lane] = mu;
                lanes.scale.0[lane] = -0.5 * std::f32::consts::LOG2_E / (sigma * sigma);
                lanes.wide |= 1 << lane;
            }
        }
        lanes
    }
}

impl Parabolas {
    /// Through the kernel at the three Chebyshev nodes of every bin.
    fn new(mu: f32, sigma: f32, chunk: usize) -> Self {
        let kernel = |c: f64| {
            let z = (c - f64::from(mu)) / f64::from(sigma);
            (-0.5 * z * z).exp()
        };
        let reach = 127.5 * (std::f64::consts::PI / 6.0).cos();
        let mut parabolas = Self {
            a: [0.0; LANES],
            b: [0.0; LANES],
            c: [0.0; LANES],
        };
        for lane in 0..LANES {
            let bin = (chunk * LANES + lane) as u8 as i8;
            let centre = 256.0 * f64::from(bin) + 127.5;
            let at = |x: f64| kernel((centre + x) / 32768.0);
            let (left, middle, right) = (at(-reach), at(0.0), at(reach));
            let slope = (right - left) / (2.0 * reach);
            let bend = (right - 2.0 * middle + left) / (2.0 * reach * reach);
            // From powers of (x − 127.5) to powers of x.
            parabolas.a[lane] = (middle - 127.5 * slope + 127.5 * 127.5 * bend) as f32;
            parabolas.b[lane] = (slope - 255.0 * bend) as f32;
            parabolas.c[lane] = bend as f32;
        }
        parabolas
    }
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
            let table: Vec<Parabolas> = (0..BINS / LANES)
                .map(|chunk| Parabolas::new(mu, sigma, chunk))
                .collect();
            for v in -32768..32768_i32 {
                let c = f64::from(v) / 32768.0;
                let z = (c - f64::from(mu)) / f64::from(sigma);
                let exact = (-0.5 * z * z).exp();
                let (bin, x) = ((v >> 8) as u8 as usize, (v & 255) as f32);
                let (p, lane) = (&table[bin / LANES], bin % LANES);
                let close = p.a[lane] + x * (p.b[lane] + x * p.c[lane]);
                let error = (f64::from(close) - exact).abs();
                assert!(
                    error <= tolerance * exact.max(1e-10),
                    "{mu} {sigma} {c}: {close} {exact}"
                );
            }
        }
    }
}
