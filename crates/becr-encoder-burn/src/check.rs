//! Whether a device computes what the processor does.
//!
//! Kernels that a framework joins or chooses by itself have given wrong vectors without a word: an index of them would rank
//! badly for ever. A few sequences say so before the first document.

use crate::turn::error;
use becr_encoder::{Backend, Batch, EncodeError, NativeEncoder, Wanted};
use becr_model::{Config, Weights};

/// Tokens of the sequences that are tried: a word, a sentence, a text. They are padded to different lengths.
const LENGTHS: [usize; 4] = [3, 14, 75, 200];
/// The cosine that is asked for. 19-bit numbers (TF32) reach .9999.
const ENOUGH: f64 = 0.999;

/// Refuses a device whose vectors are not those of our own code on the processor.
pub(crate) fn check_device(
    device: &dyn Backend,
    config: &Config,
    weights: &Weights,
) -> Result<(), EncodeError> {
    let shape = device.shape();
    if shape.bits.is_none() {
        return Ok(()); // our own code encodes footprints alone
    }
    let mut batch = Batch::new();
    let mut wanted = Wanted::default();
    for (number, length) in LENGTHS.into_iter().enumerate() {
        let length = length.min(shape.max_tokens);
        let ids = (0..length).map(|place| (number * 977 + place * 31 + 5) % shape.vocabulary);
        let tokens = batch.push(ids.map(|id| id as u32));
        wanted.vectors.extend(tokens.map(|token| token..token + 1));
    }
    let processor = NativeEncoder::new(config, weights.clone())?;
    let found = device.encode(&batch, &wanted)?.vectors;
    let expected = processor.encode(&batch, &wanted)?.vectors;
    let vectors = found
        .chunks_exact(shape.dim)
        .zip(expected.chunks_exact(shape.dim));
    let cosines: f64 = vectors.map(|(a, b)| cosine(a, b)).sum();
    let mean = cosines / wanted.vectors.len() as f64;
    match mean >= ENOUGH {
        true => Ok(()),
        // What is no number is no cosine either.
        false => Err(error(format!(
            "this device computes other vectors than the processor (mean cosine {mean:.4}, at least {ENOUGH} wanted); build \
             becr with `--features cuda-plain`, whose kernels are not tuned, or use the processor"
        ))),
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y));
        products.sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_computes_something_else_is_refused() {
        let config = Config::new(100, 32, 2, 2, 64, 40);
        let weights = Weights::random(&config, 1, 10.0);
        let device = crate::on_cpu(&config, &weights).unwrap();
        check_device(&*device, &config, &weights).unwrap();
        let others = Weights::random(&config, 2, 10.0);
        let refused = check_device(&*device, &config, &others);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("cuda-plain"), "{message}");
    }
}
