//! Weights of a given shape with random values: where training from scratch, benchmarks and tests begin.

use crate::Config;
use crate::weights::{Matrix, Source, Weights};
use becr_basics::SplitMix64;
use std::convert::Infallible;

impl Weights {
    /// Draws weights as BERT is initialised: matrices of deviation 0.02, zero biases, unit norms.
    ///
    /// The same seed gives the same weights. With such weights every layer changes the vectors little;
    /// `spread` multiplies the deviation (1.0 is BERT's) and gives biases and norms life too when above 1.
    pub fn random(config: &Config, seed: u64, spread: f32) -> Self {
        let mut source = Random {
            bits: SplitMix64::new(seed),
            spread,
        };
        match Self::build(config, &mut source) {
            Ok(weights) => weights,
            Err(never) => match never {},
        }
    }
}

struct Random {
    bits: SplitMix64,
    spread: f32,
}

impl Random {
    /// Sum of four uniform numbers, which is close to normal and has no tails; deviation 1.
    fn normal(&mut self) -> f32 {
        let bits = self.bits.next_u64();
        let sum: u64 = (0..4).map(|i| (bits >> (16 * i)) & 0xffff).sum();
        (sum as f32 / 65_535.0 - 2.0) * 3f32.sqrt()
    }
}

impl Source for Random {
    type Error = Infallible;

    fn matrix(&mut self, _name: &str, rows: usize, cols: usize) -> Result<Matrix, Infallible> {
        let data = (0..rows * cols)
            .map(|_| 0.02 * self.spread * self.normal())
            .collect();
        Ok(Matrix { rows, cols, data })
    }

    fn vector(&mut self, name: &str, len: usize) -> Result<Vec<f32>, Infallible> {
        let centre = if name.ends_with("LayerNorm.weight") {
            1.0
        } else {
            0.0
        };
        let deviation = 0.02 * (self.spread - 1.0).max(0.0);
        Ok((0..len)
            .map(|_| centre + deviation * self.normal())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_and_the_deviation_is_berts() {
        let config = Config::new(500, 32, 1, 2, 64, 16);
        let weights = Weights::random(&config, 7, 1.0);
        assert_eq!(weights, Weights::random(&config, 7, 1.0));
        assert_ne!(weights, Weights::random(&config, 8, 1.0));
        let words = &weights.embeddings.word.data;
        let deviation = (words.iter().map(|x| x * x).sum::<f32>() / words.len() as f32).sqrt();
        assert!((deviation - 0.02).abs() < 0.001, "{deviation}");
        assert!(weights.layers[0].ffn_norm.weight.iter().all(|&w| w == 1.0));
    }
}
