//! Histograms of similarities, fine enough to take the place of the similarities themselves.
//!
//! A similarity is shared out among the four nodes around it with the weights of cubic interpolation. A kernel's sum
//! over tokens is then the product of the histogram and the kernel's values at the nodes, whatever its μ and σ: for
//! σ ≥ 0.1 to within 10⁻⁴ of itself, far into its tails.

/// Nodes over [−1, 1].
pub(crate) const BINS: usize = 512;

const STEP: f32 = 2.0 / (BINS - 1) as f32;

/// The similarities that the nodes stand for.
pub(crate) fn nodes() -> Vec<f32> {
    (0..BINS).map(|node| node as f32 * STEP - 1.0).collect()
}

/// Adds similarities to a histogram.
pub(crate) fn add(similarities: &[f32], bins: &mut [f32]) {
    for &similarity in similarities {
        let place = (similarity.clamp(-1.0, 1.0) + 1.0) / STEP;
        // The four nodes begin one before the similarity, except at the ends.
        let first = (place as usize).saturating_sub(1).min(BINS - 4);
        let x = place - first as f32;
        let weights = [
            -(x - 1.0) * (x - 2.0) * (x - 3.0) / 6.0,
            x * (x - 2.0) * (x - 3.0) / 2.0,
            -x * (x - 1.0) * (x - 3.0) / 2.0,
            x * (x - 1.0) * (x - 2.0) / 6.0,
        ];
        for (bin, weight) in bins[first..first + 4].iter_mut().zip(weights) {
            *bin += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_the_histogram_are_kernels_of_the_similarities() {
        let nodes = nodes();
        for i in 0..=2000 {
            let c = (i as f32 / 1000.0 - 1.0) * 1.0001;
            let mut bins = vec![0.0; BINS];
            add(&[c], &mut bins);
            for (mu, sigma) in [(0.3f64, 0.1f64), (1.0, 0.1), (-0.9, 0.2)] {
                let kernel = |c: f32| {
                    let z = (f64::from(c) - mu) / sigma;
                    (-0.5 * z * z).exp()
                };
                let exact = kernel(c.clamp(-1.0, 1.0));
                let found: f64 = bins
                    .iter()
                    .zip(&nodes)
                    .map(|(&bin, &node)| f64::from(bin) * kernel(node))
                    .sum();
                // Below the guard of the logarithm nothing matters.
                let error = (found - exact).abs() / exact.max(1e-8);
                assert!(error < 1e-4, "{c} {mu} {sigma}: {found} {exact}");
            }
        }
    }
}
