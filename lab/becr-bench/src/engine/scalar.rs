//! The paper's formulas as one would first write them down: a word at a time, cosine and exponential from the
//! standard library.

use super::work::{TOKENS, Work};

/// The score of a document in rows, `[layer][token][word]`.
pub(super) fn score(work: &Work, document: &[u32]) -> f32 {
    let words = work.bits / 32;
    let (mu, sigma) = (work.kernels.mu(), work.kernels.sigma());
    let mut score = 0.0;
    for layer in 0..work.layers {
        for uses in &work.terms {
            let mut sums = vec![0.0_f32; mu.len()];
            for token in 0..TOKENS {
                let d = &document[(layer * TOKENS + token) * words..][..words];
                let mut similarity = 0.0;
                for used in uses {
                    let q = &work.footprints[(layer * work.groups + used.group) * words..][..words];
                    let h: u32 = d.iter().zip(q).map(|(d, q)| (d ^ q).count_ones()).sum();
                    let angle = std::f32::consts::PI * h as f32 / work.bits as f32;
                    similarity += used.weight * angle.cos();
                }
                for ((sum, mu), sigma) in sums.iter_mut().zip(mu).zip(sigma) {
                    *sum += (-(similarity - mu).powi(2) / (2.0 * sigma * sigma)).exp();
                }
            }
            score += sums
                .iter()
                .map(|s| 0.1 * (s + work.kernels.epsilon()).ln())
                .sum::<f32>();
        }
    }
    score / work.n as f32
}
