//! The mixer of composed queries: how long a query of so many words takes, on one core.

use super::Args;
use becr_encoder::{Mixed, Mixer, Precision};
use becr_model::{Config, MIXER_FILE, MixerKind, MixerShape, MixerWeights};
use serde::Serialize;
use std::io::Write;
use std::time::{Duration, Instant};

const WORDS: [usize; 4] = [3, 5, 8, 12];

/// Queries in a row that are timed together: a clock takes longer than some of what is measured here.
const QUERIES: u32 = 16;

#[derive(Serialize)]
pub(super) struct MixerRow {
    mixer: String,
    precision: &'static str,
    words: usize,
    /// Of one query, the fastest of many.
    microseconds: f64,
}

/// Measures the mixer of the model, if one was named; else some shapes with random weights.
pub(super) fn measure(args: &Args) -> anyhow::Result<Vec<MixerRow>> {
    let mut mixers = Vec::new();
    match &args.model {
        Some(model) => {
            let path = model.join(MIXER_FILE);
            if path.is_file() {
                let config = Config::read(&model.join("config.json"))?;
                mixers.push(MixerWeights::read(&path, config.hidden_size)?);
            }
        }
        None => {
            for (kind, layers, feed_forward, heads) in [
                (MixerKind::PreNorm, 2, 768, 6),
                (MixerKind::PreNorm, 4, 1536, 6),
                (MixerKind::EncoderLayers, 4, 1536, 12),
            ] {
                let shape = MixerShape {
                    kind,
                    hidden: 384,
                    layers,
                    feed_forward,
                    heads,
                    positions: 32,
                };
                mixers.push(MixerWeights::new(shape, "random", 1));
            }
        }
    }
    let mut rows = Vec::new();
    for weights in &mixers {
        for &precision in &args.precisions {
            let mixer = Mixer::with_precision(weights, precision)?;
            let time = Duration::from_secs_f64(args.seconds / WORDS.len() as f64);
            rows.extend(WORDS.map(|words| row(weights, precision, &mixer, words, time)));
        }
    }
    Ok(rows)
}

fn row(
    weights: &MixerWeights,
    precision: Precision,
    mixer: &Mixer,
    words: usize,
    time: Duration,
) -> MixerRow {
    let shape = weights.shape();
    let value = |at: usize| ((at * 7919 + 13) % 1009) as f32 / 504.0 - 1.0;
    let mut vectors: Vec<f32> = (0..words * shape.hidden).map(value).collect();
    for vector in vectors.chunks_exact_mut(shape.hidden) {
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
    }
    let mut mixed = Mixed::default();
    let mut best = f64::MAX;
    let begun = Instant::now();
    while begun.elapsed() < time {
        let start = Instant::now();
        for _ in 0..QUERIES {
            mixer.mix(std::hint::black_box(&vectors), &mut mixed);
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(QUERIES));
    }
    let kind = match shape.kind {
        MixerKind::PreNorm => "pre-norm",
        MixerKind::EncoderLayers => "encoder",
    };
    MixerRow {
        mixer: format!("{kind} {}×{}", shape.layers, shape.feed_forward),
        precision: precision.name(),
        words,
        microseconds: 1e6 * best,
    }
}

pub(super) fn print(rows: &[MixerRow], out: &mut dyn Write) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nmixer, layers × feed-forward  precision  words  µs a query"
    )?;
    for row in rows {
        writeln!(
            out,
            "{:<28}  {:<9}  {:>5}  {:>10.0}",
            row.mixer, row.precision, row.words, row.microseconds
        )?;
    }
    Ok(())
}
