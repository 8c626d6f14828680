//! How well footprints estimate the cosines of real token vectors.

use anyhow::{Context, ensure};
use becr_footprint::lsh::{HyperplaneKind, Hyperplanes};
use safetensors::{Dtype, SafeTensors};
use std::io::Write;
use std::path::Path;

const BITS: [usize; 6] = [32, 64, 128, 256, 512, 1024];
/// Draws of hyperplanes that are averaged.
const SEEDS: u64 = 3;

/// The vectors of one layer of one text.
struct Layer {
    dim: usize,
    vectors: Vec<f32>,
}

/// Prints the root mean square and the mean of the errors over all pairs of tokens of a layer.
pub(super) fn print(file: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let layers = read(file)?;
    writeln!(
        out,
        "\nerror of cos(π·h/b) against the cosine, over all token pairs of each layer"
    )?;
    writeln!(
        out,
        "{:>5} {:>14} {:>14} {:>14} {:>14}",
        "bits", "gaussian rms", "mean", "orthogonal rms", "mean"
    )?;
    for bits in BITS {
        let gaussian = errors(&layers, HyperplaneKind::Gaussian, bits)?;
        let orthogonal = errors(&layers, HyperplaneKind::Orthogonal, bits)?;
        writeln!(
            out,
            "{bits:>5} {:>14.4} {:>14.4} {:>14.4} {:>14.4}",
            gaussian.0, gaussian.1, orthogonal.0, orthogonal.1
        )?;
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<Layer>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let tensors = SafeTensors::deserialize(&bytes)
        .with_context(|| format!("{} is not a safetensors file", file.display()))?;
    let mut layers = Vec::new();
    for (_, tensor) in tensors.tensors() {
        if let (Dtype::F32, &[count, tokens, dim]) = (tensor.dtype(), tensor.shape())
            && count * tokens * dim > 0
        {
            let (numbers, _) = tensor.data().as_chunks::<4>();
            let numbers: Vec<f32> = numbers.iter().map(|&b| f32::from_le_bytes(b)).collect();
            let split = numbers.chunks_exact(tokens * dim);
            layers.extend(split.map(|layer| Layer {
                dim,
                vectors: layer.to_vec(),
            }));
        }
    }
    ensure!(
        !layers.is_empty(),
        "{} holds no f32 tensor of [layers, tokens, dim]: write one with becr encode",
        file.display()
    );
    Ok(layers)
}

/// Root mean square and mean of the errors.
fn errors(layers: &[Layer], kind: HyperplaneKind, bits: usize) -> anyhow::Result<(f64, f64)> {
    let (mut squares, mut sum, mut pairs) = (0.0, 0.0, 0.0);
    let mut planes: Option<Hyperplanes> = None;
    for seed in 0..SEEDS {
        for layer in layers {
            if planes.as_ref().is_none_or(|p| p.dim() != layer.dim) {
                planes = Some(Hyperplanes::generate(layer.dim, bits, kind, seed)?);
            }
            let planes = planes.as_ref().context("just drawn")?;
            for_each_pair(layer, planes, |error| {
                squares += error * error;
                sum += error;
                pairs += 1.0;
            })?;
        }
        planes = None;
    }
    Ok(((squares / pairs).sqrt(), sum / pairs))
}

fn for_each_pair(
    layer: &Layer,
    planes: &Hyperplanes,
    mut visit: impl FnMut(f64),
) -> anyhow::Result<()> {
    let vectors: Vec<&[f32]> = layer.vectors.chunks_exact(layer.dim).collect();
    let mut footprints = vec![0; vectors.len() * planes.width()];
    for (vector, footprint) in vectors
        .iter()
        .zip(footprints.chunks_exact_mut(planes.width()))
    {
        planes.footprint(vector, footprint)?;
    }
    let footprints: Vec<&[u32]> = footprints.chunks_exact(planes.width()).collect();
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum()
    };
    for i in 0..vectors.len() {
        for j in 0..i {
            let (a, b) = (vectors[i], vectors[j]);
            let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
            let h: u32 = std::iter::zip(footprints[i], footprints[j])
                .map(|(a, b)| (a ^ b).count_ones())
                .sum();
            let estimate = (std::f64::consts::PI * f64::from(h) / planes.bits() as f64).cos();
            visit(estimate - cosine);
        }
    }
    Ok(())
}
